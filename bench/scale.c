// SPDX-License-Identifier: MIT
/*
 * Measures the decisions of gpreemptd with 200 programs and 2,000 queues. The daemon is the real
 * one; the programs are agents in this process, which acknowledge every order at once. All of them
 * have work, and some run out of it and get new work in every round. Then one program on each GPU
 * gets urgent work: all other queues there are held, and released when it ends.
 *
 * A decision is one order: the time from the report of the urgent program's agent until the order
 * is written, and until an agent takes it. The agents share one thread, so the second depends on
 * this process as much as on the daemon.
 */
#include "benches.h"
#include "stage.h"

#include "base/clock.h"
#include "base/hist.h"
#include "base/json.h"
#include "base/latency.h"
#include "wire/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define PROGRAMS 200u
#define QUEUES 10u /* of each */
#define ROUNDS_PER_REPEAT 5
#define QUICK_ROUNDS 10
#define BACKGROUND 40 /* changes of other work in a round */
#define LATE_NS (10 * GP__MS)
#define PATIENCE_NS (20 * GP__S)
#define EVENTS 64
#define PRIO_URGENT 15
#define PRIO_PATIENT 2

enum { STOPS, RUNS, KINDS };

struct agent {
	struct gp__wire_client client;
	bool urgent;
	u32 gpu;
	u32 number[QUEUES]; /* of the latest acknowledged order */
	bool has_work[QUEUES], stopped[QUEUES];
};

struct figures {
	struct gp__hist decided_ns, taken_ns;
	u64 late;
};

struct hall {
	struct gp__bench_run *run;
	struct stage_daemon daemon;
	struct agent agent[PROGRAMS];
	u32 nr_gpus, nr_agents;
	int epoll;
	u64 seed;
	u32 nr_held, nr_waited_for; /* patient queues with work: held, and in all */
	u64 said_ns[PROGRAMS]; /* by GPU: when its urgent program reported a change */
	bool urgent; /* the reported state */
	struct figures figures[KINDS];
};

static u64 draw(struct hall *h, u64 n)
{
	h->seed = h->seed * 6364136223846793005u + 1442695040888963407u;
	return (h->seed >> 33) % n;
}

/*
 * Agents
 */

static int add_queue(struct hall *h, struct agent *a, u32 slot)
{
	struct gp__wire_queue_add q = { .head = { sizeof(q), GP__WIRE_QUEUE_ADD, 0, 0, 0 },
					.slot = slot,
					.level_requested = 3,
					.level = 3,
					.device_name = "a GPU",
					.hints.prio = a->urgent ? PRIO_URGENT : PRIO_PATIENT };

	(void)h;
	snprintf(q.device, sizeof(q.device), "gpu-%u", a->gpu);
	return gp__wire_client_request(&a->client, &q, NULL);
}

static int join(struct hall *h, u32 i)
{
	struct agent *a = &h->agent[i];
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = i };
	char text[GP__WIRE_TEXT_MAX];
	int err;

	*a = (struct agent){ .gpu = i % h->nr_gpus, .urgent = i < h->nr_gpus };
	err = gp__wire_client_open(&a->client, h->daemon.socket, a->urgent ? "urgent" : "patient",
				   QUEUES, text);
	if (err)
		return err;
	h->nr_agents++;
	for (u32 slot = 0; !err && slot < QUEUES; slot++)
		err = add_queue(h, a, slot);
	if (!err && epoll_ctl(h->epoll, EPOLL_CTL_ADD, a->client.notify_fd, &e))
		err = -errno;
	return err;
}

static void leave_all(struct hall *h)
{
	while (h->nr_agents)
		gp__wire_client_close(&h->agent[--h->nr_agents].client);
	if (h->epoll >= 0)
		close(h->epoll);
}

static void set_work(struct hall *h, struct agent *a, u32 slot, bool has_work)
{
	if (a->has_work[slot] == has_work)
		return;
	a->has_work[slot] = has_work;
	if (!a->urgent) {
		h->nr_waited_for += has_work ? 1u : -1u;
		h->nr_held += a->stopped[slot] ? has_work ? 1u : -1u : 0u;
	}
	gp__wire_client_work(&a->client, slot, has_work, has_work, gp__clock_ns());
}

static void set_stopped(struct hall *h, struct agent *a, u32 slot, bool stopped)
{
	if (a->stopped[slot] != stopped && a->has_work[slot])
		h->nr_held += stopped ? 1u : -1u;
	a->stopped[slot] = stopped;
}

static void take_figures(struct hall *h, const struct agent *a, u64 issued_ns, u64 now, bool stops)
{
	struct figures *f = &h->figures[stops ? STOPS : RUNS];
	u64 said_ns = h->said_ns[a->gpu];

	/* Other orders of this round have another reason. */
	if (stops != h->urgent || issued_ns < said_ns)
		return;
	gp__hist_record(&f->decided_ns, issued_ns - said_ns);
	gp__hist_record(&f->taken_ns, now - said_ns);
	f->late += issued_ns - said_ns > LATE_NS;
}

static void obey(struct hall *h, struct agent *a)
{
	u64 notifies;

	if (read(a->client.notify_fd, &notifies, sizeof(notifies)) < 0)
		return;
	for (u32 i = 0; i < QUEUES; i++) {
		const struct gp__wire_order_slot *slot = &a->client.order->slot[i];
		u64 order = atomic_load_explicit(&slot->order, memory_order_acquire);
		u64 now, issued_ns = atomic_load(&slot->issued_ns);
		bool stops = gp__wire_order_verb(order) == GP__WIRE_HOLD;

		if (gp__wire_order_number(order) == a->number[i])
			continue;
		now = gp__clock_ns();
		a->number[i] = gp__wire_order_number(order);
		set_stopped(h, a, i, stops);
		take_figures(h, a, issued_ns, now, stops);
		gp__wire_client_done(&a->client, i, a->number[i], 0, now, 0);
	}
}

/* Waits until all patient queues with work are held, or none is. */
static int serve_until(struct hall *h, bool held)
{
	u64 deadline = gp__clock_ns() + PATIENCE_NS;
	struct epoll_event events[EVENTS];

	while (held ? h->nr_held < h->nr_waited_for : h->nr_held) {
		int n = epoll_wait(h->epoll, events, EVENTS, 100);

		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++)
			obey(h, &h->agent[events[i].data.u32]);
		if (gp__clock_ns() > deadline)
			return -ETIME;
	}
	return 0;
}

/*
 * Rounds
 */

static void be_urgent(struct hall *h, bool urgent)
{
	h->urgent = urgent;
	for (u32 i = 0; i < h->nr_gpus; i++) {
		h->said_ns[i] = gp__clock_ns();
		for (u32 slot = 0; slot < QUEUES; slot++)
			set_work(h, &h->agent[i], slot, urgent);
	}
}

static void change_others(struct hall *h)
{
	for (int i = 0; i < BACKGROUND; i++) {
		u32 patient = h->nr_gpus + (u32)draw(h, PROGRAMS - h->nr_gpus);
		u32 slot = (u32)draw(h, QUEUES);
		struct agent *a = &h->agent[patient];

		set_work(h, a, slot, !a->has_work[slot]);
	}
}

static int play_round(struct hall *h)
{
	int err;

	change_others(h);
	be_urgent(h, true);
	err = serve_until(h, true);
	if (err)
		return err;
	change_others(h);
	be_urgent(h, false);
	return serve_until(h, false);
}

static int begin(struct hall *h)
{
	int err = stage_daemon_start(&h->daemon, -1, false);

	if (err)
		return gp__bench_fail(h->run, err, "gpreemptd cannot be started");
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (h->epoll < 0)
		return -errno;
	for (u32 i = 0; !err && i < PROGRAMS; i++)
		err = join(h, i);
	if (err)
		return gp__bench_fail(h->run, err, "program %u cannot join", h->nr_agents);
	for (u32 i = h->nr_gpus; i < PROGRAMS; i++) {
		for (u32 slot = 0; slot < QUEUES; slot++)
			set_work(h, &h->agent[i], slot, true);
	}
	return play_round(h);
}

static void add_rows(struct hall *h)
{
	static const char *const kinds[KINDS] = { [STOPS] = "stop", [RUNS] = "run" };

	for (int k = 0; k < KINDS; k++) {
		const struct figures *f = &h->figures[k];
		json_t *row = json_pack("{s:i, s:i, s:i, s:s}", "programs", (int)PROGRAMS, "queues",
					(int)(PROGRAMS * QUEUES), "gpus", (int)h->nr_gpus, "order",
					kinds[k]);

		gp__json_set_u64(row, "decisions", true, f->decided_ns.count);
		gp__json_set_quantile_us(row, "decided_p50_us", &f->decided_ns, 0.5);
		gp__json_set_quantile_us(row, "decided_p99_us", &f->decided_ns, 0.99);
		gp__json_set_quantile_us(row, "decided_max_us", &f->decided_ns, 1);
		gp__json_set_quantile_us(row, "taken_p99_us", &f->taken_ns, 0.99);
		gp__bench_row(h->run, row);
	}
}

static int measure(struct gp__bench_run *run, struct hall *h, u32 nr_gpus, u64 budget_ns)
{
	unsigned int rounds = gp__bench_repeats(run) * ROUNDS_PER_REPEAT, n = 0;
	u64 end = gp__clock_ns() + budget_ns;
	int err;

	if (gp__bench_quick(run))
		rounds = QUICK_ROUNDS;
	*h = (struct hall){ .run = run, .nr_gpus = nr_gpus, .seed = nr_gpus, .epoll = -1 };
	err = begin(h);
	/* The first round has cold caches and does not count. */
	for (int k = 0; k < KINDS; k++)
		h->figures[k] = (struct figures){ 0 };
	while (!err && n < rounds && (!n || gp__clock_ns() < end)) {
		err = play_round(h);
		n++;
	}
	leave_all(h);
	stage_daemon_end(&h->daemon);
	if (err)
		return gp__bench_fail(run, err, "%u GPUs, round %u", nr_gpus, n);
	if (n < rounds)
		gp__bench_cut_short(run);
	add_rows(h);
	return 0;
}

/* A program takes three descriptors here. */
static void allow_descriptors(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r)) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

int bench_scale(struct gp__bench_run *run)
{
	static const u32 gpus[] = { 1, 8 };
	enum { SIZES = sizeof(gpus) / sizeof(gpus[0]) };
	struct hall *h = malloc(sizeof(*h));
	u64 late = 0;
	int err = h ? 0 : -ENOMEM;

	allow_descriptors();
	gp__prefer_latency(); /* like agents */
	for (u32 i = 0; !err && i < SIZES; i++) {
		err = measure(run, h, gpus[i], gp__bench_left_ns(run) / (SIZES - i));
		if (!err)
			late += h->figures[STOPS].late + h->figures[RUNS].late;
	}
	free(h);
	if (!err)
		gp__bench_summary(run, "later_than_10_ms", json_integer((json_int_t)late),
				  "%llu decisions were written later than after 10 ms",
				  (unsigned long long)late);
	return err;
}
