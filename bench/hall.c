// SPDX-License-Identifier: MIT
#include "hall.h"

#include "base/clock.h"
#include "wire/client.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define BACKGROUND 40 /* changes of other work in a round */
#define LATE_NS (10 * GP__MS)
#define PATIENCE_NS (20 * GP__S)
#define EVENTS 64
#define PRIO_URGENT 15
#define PRIO_PATIENT 2
#define TAGS 50u

static u64 draw(struct hall *h, u64 n)
{
	h->seed = h->seed * 6364136223846793005u + 1442695040888963407u;
	return (h->seed >> 33) % n;
}

/*
 * Agents
 */

static int add_queue(struct hall_agent *a, u32 program, u32 slot)
{
	struct gp__wire_queue_add q = { .head = { sizeof(q), GP__WIRE_QUEUE_ADD, 0, 0, 0 },
					.slot = slot,
					.level_requested = 3,
					.level = 3,
					.device_name = "a GPU",
					.hints.prio = a->urgent ? PRIO_URGENT : PRIO_PATIENT };

	snprintf(q.device, sizeof(q.device), "gpu-%u", a->gpu);
	snprintf(q.tag, sizeof(q.tag), "tag-%u", program % TAGS);
	return gp__wire_client_request(&a->client, &q, NULL);
}

static int join(struct hall *h, u32 i)
{
	struct hall_agent *a = &h->agent[i];
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = i };
	char text[GP__WIRE_TEXT_MAX], name[32];
	int err;

	snprintf(name, sizeof(name), "program-%u", i);
	*a = (struct hall_agent){ .gpu = i % h->nr_gpus, .urgent = i < h->nr_gpus };
	err = gp__wire_client_open(&a->client, h->daemon.socket, name, HALL_QUEUES, text);
	if (err)
		return err;
	h->nr_agents++;
	for (u32 slot = 0; !err && slot < HALL_QUEUES; slot++)
		err = add_queue(a, i, slot);
	if (!err && epoll_ctl(h->epoll, EPOLL_CTL_ADD, a->client.notify_fd, &e))
		err = -errno;
	return err;
}

void hall_close(struct hall *h)
{
	while (h->nr_agents)
		gp__wire_client_close(&h->agent[--h->nr_agents].client);
	if (h->epoll >= 0)
		close(h->epoll);
	stage_daemon_end(&h->daemon);
}

static void set_work(struct hall *h, struct hall_agent *a, u32 slot, bool has_work)
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

static void set_stopped(struct hall *h, struct hall_agent *a, u32 slot, bool stopped)
{
	if (a->stopped[slot] != stopped && a->has_work[slot])
		h->nr_held += stopped ? 1u : -1u;
	a->stopped[slot] = stopped;
}

static void take_figures(struct hall *h, const struct hall_agent *a, u64 issued_ns, u64 now,
			 bool stops)
{
	struct hall_figures *f = &h->figures[stops ? HALL_STOPS : HALL_RUNS];
	u64 said_ns = h->said_ns[a->gpu];

	/* Other orders of this round have another reason. */
	if (stops != h->urgent || issued_ns < said_ns)
		return;
	gp__hist_record(&f->decided_ns, issued_ns - said_ns);
	gp__hist_record(&f->taken_ns, now - said_ns);
	f->late += issued_ns - said_ns > LATE_NS;
}

static void obey(struct hall *h, struct hall_agent *a)
{
	u64 notifies;

	if (read(a->client.notify_fd, &notifies, sizeof(notifies)) < 0)
		return;
	for (u32 i = 0; i < HALL_QUEUES; i++) {
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
		for (u32 slot = 0; slot < HALL_QUEUES; slot++)
			set_work(h, &h->agent[i], slot, urgent);
	}
}

static void change_others(struct hall *h)
{
	for (int i = 0; i < BACKGROUND; i++) {
		u32 patient = h->nr_gpus + (u32)draw(h, HALL_PROGRAMS - h->nr_gpus);
		u32 slot = (u32)draw(h, HALL_QUEUES);
		struct hall_agent *a = &h->agent[patient];

		set_work(h, a, slot, !a->has_work[slot]);
	}
}

int hall_play(struct hall *h)
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

/* A program takes three descriptors here. */
static void allow_descriptors(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r)) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

int hall_open(struct hall *h, struct gp__bench_run *run, u32 nr_gpus)
{
	int err;

	allow_descriptors();
	*h = (struct hall){ .run = run, .nr_gpus = nr_gpus, .seed = nr_gpus, .epoll = -1 };
	err = stage_daemon_start(&h->daemon, -1, false);
	if (err)
		return gp__bench_fail(h->run, err, "gpreemptd cannot be started");
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (h->epoll < 0)
		return -errno;
	for (u32 i = 0; !err && i < HALL_PROGRAMS; i++)
		err = join(h, i);
	if (err)
		return gp__bench_fail(h->run, err, "program %u cannot join", h->nr_agents);
	for (u32 i = h->nr_gpus; i < HALL_PROGRAMS; i++) {
		for (u32 slot = 0; slot < HALL_QUEUES; slot++)
			set_work(h, &h->agent[i], slot, true);
	}
	err = hall_play(h);
	/* The first round has cold caches and does not count. */
	hall_forget(h);
	return err;
}

void hall_forget(struct hall *h)
{
	for (int k = 0; k < HALL_KINDS; k++)
		h->figures[k] = (struct hall_figures){ 0 };
}
