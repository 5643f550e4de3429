// SPDX-License-Identifier: MIT
/*
 * Measures the cost of a decision: entities with one queue each on one device under hpf get work,
 * run out of it, end and are replaced at random. Every call into the core is an event: added,
 * removed, ready, idle, the acknowledgement of each action, and timers.
 */
#include "benches.h"

#include "policy/policy.h"

#include <errno.h>
#include <stdlib.h>

/* The time between two events of a busy machine: a hundred thousand a second. */
#define STEP_NS (10 * GP__US)
/* The programs belong to so many users. */
#define USERS 4

struct subject {
	struct gp__entity e;
	struct gp__queue q;
};

struct load {
	struct gp__core core;
	struct gp__dev dev;
	struct gp__owner owners[USERS];
	struct subject *subjects;
	uint64_t n, rng, now, events, actions;
};

static uint64_t draw(struct load *l, uint64_t n)
{
	l->rng = l->rng * 6364136223846793005u + 1442695040888963407u;
	return (l->rng >> 33) % n;
}

/* Acknowledges all actions at once. */
static void acknowledge(struct load *l)
{
	struct gp__action a;

	while (gp__core_pop(&l->core, &a)) {
		gp__queue_ack(a.queue, 0, l->now);
		l->events++;
		l->actions++;
	}
}

static void add(struct load *l, struct subject *s)
{
	static const int32_t prios[] = { GP__PRIO_OFFLINE, GP__PRIO_NORMAL, GP__PRIO_ONLINE };
	struct gp__hints h = { .prio = prios[draw(l, 3)] };
	uint32_t id = (uint32_t)(s - l->subjects) + 1;

	gp__entity_add(&l->owners[id % USERS], &s->e, id, 1, GP__CLASS_OTHER, "bench", &h, l->now);
	gp__queue_add(&s->e, &s->q, id, 3, 3, l->now);
}

/* Replaces a program by a new one, which has work at once and may have to be held. */
static void replace(struct load *l, struct subject *s)
{
	gp__entity_remove(&s->e, l->now);
	acknowledge(l);
	add(l, s);
	gp__queue_ready(&s->q, 1, l->now);
	l->events += 4;
}

static void toggle(struct load *l, struct subject *s)
{
	if (s->q.ready)
		gp__queue_idle(&s->q, l->now, 0, l->now);
	else
		gp__queue_ready(&s->q, 1, l->now);
	l->events++;
}

static void step(struct load *l)
{
	struct subject *s = &l->subjects[draw(l, l->n)];

	l->now += STEP_NS;
	if (gp__core_wake(&l->core) <= l->now) {
		gp__core_tick(&l->core, l->now);
		l->events++;
		acknowledge(l);
	}
	if (draw(l, 4))
		toggle(l, s);
	else
		replace(l, s);
	acknowledge(l);
}

static int run_events(void *arg, uint64_t times)
{
	struct load *l = arg;
	uint64_t end = l->events + times;

	while (l->events < end)
		step(l);
	return 0;
}

static int load_init(struct load *l, uint64_t n)
{
	*l = (struct load){ .n = n, .rng = n };
	l->subjects = calloc(n, sizeof(*l->subjects));
	if (!l->subjects)
		return -ENOMEM;
	gp__core_init(&l->core, &gp__policy_hpf);
	/* No rate limit, so that every decision is carried out. */
	gp__core_configure(&l->core, GP__CFG_SWITCHES_PER_S, 0, 0);
	gp__dev_add(&l->core, &l->dev, 0, 0, false, 0);
	for (uint32_t i = 0; i < USERS; i++)
		gp__owner_init(&l->owners[i], &l->dev, i);
	for (uint64_t i = 0; i < n; i++)
		add(l, &l->subjects[i]);
	/* Warm-up: every entity gets work and runs out of it. */
	return run_events(l, 20 * n);
}

static json_t *row_of(const struct load *l, const struct gp__stats *ns, uint64_t events,
		      uint64_t actions)
{
	json_t *row = json_object();

	json_object_set_new(row, "entities", json_integer((json_int_t)l->n));
	json_object_set_new(row, "ns_per_event", json_real(ns->median));
	json_object_set_new(row, "ns_per_event_lo",
			    ns->has_ci ? json_real(ns->ci_lo) : json_null());
	json_object_set_new(row, "ns_per_event_hi",
			    ns->has_ci ? json_real(ns->ci_hi) : json_null());
	json_object_set_new(row, "actions_per_event", json_real((double)actions / (double)events));
	return row;
}

static int measure(struct gp__bench_run *run, uint64_t n)
{
	struct load *l = malloc(sizeof(*l));
	struct gp__stats ns;
	uint64_t events, actions;
	int err = l ? load_init(l, n) : -ENOMEM;

	if (err)
		goto out;
	events = l->events;
	actions = l->actions;
	err = gp__bench_hot(run, run_events, l, &ns);
	if (!err)
		gp__bench_row(run, row_of(l, &ns, l->events - events, l->actions - actions));
out:
	if (l)
		free(l->subjects);
	free(l);
	return err;
}

int bench_decide(struct gp__bench_run *run)
{
	static const uint64_t sizes[] = { 10, 100, 1000, 10000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int err = measure(run, sizes[i]);

		if (err)
			return err;
	}
	return 0;
}
