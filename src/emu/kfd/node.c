// SPDX-License-Identifier: MIT
#include "emu/kfd/node.h"

#include "base/clock.h"
#include "emu/kfd/doorbell.h"
#include "emu/kfd/queue.h"
#include "emu/kfd/trace.h"
#include "emu/protocol.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/*
 * After work, more work is likely: poll without pause for this long, and then for as long again
 * while no other thread wants the processor.
 */
#define HOT_NS 50000
#define WARM_NS 200000
/*
 * A packet that waits for memory is polled ever less often, and still less often when the program
 * has waited for a second.
 */
#define WAIT_FIRST_NS 20000
#define WAIT_LAST_NS 1000000
#define WAIT_LONG_NS 4000000
#define LONG_NS GP__S
/* Doorbells are not protected for a shorter sleep. */
#define ARM_NS WAIT_LAST_NS
/* Waves can ring doorbells as well, which raises no fault. */
#define RUN_NS 1000000
#define BLIND_NS 2000000
/*
 * A thread that faulted on a doorbell may get a processor only later: doorbells are not protected
 * again for so long, and for twice as long if it faulted again before it could ring.
 */
#define OPEN_NS 50000000
#define OPEN_MOST_NS (10 * GP__S)
#define FOREVER UINT64_MAX

/*
 * Bursts of small kernels leave gaps. For so long after the last work doorbells stay unprotected,
 * and the front end sleeps for part of that time, so that work never waits for much longer than the
 * gap. A protected doorbell would cost the program two context switches instead.
 */
#define SETTLE_NS 5000000
#define SETTLE_PART 4

/* Any 16 bits that are not 0: the driver derives them from the hardware's identity. */
#define FIRST_GPU_ID 0x6b21
#define GPU_ID_STEP 0x0b0d

void emu_node_enter(struct emu_node *n)
{
	atomic_fetch_add(&n->nr_entering, 1);
	pthread_mutex_lock(&n->front_lock);
	atomic_fetch_sub(&n->nr_entering, 1);
}

void emu_node_leave(struct emu_node *n)
{
	pthread_mutex_unlock(&n->front_lock);
}

static void write_wake(struct emu_node *n)
{
	uint64_t one = 1;

	/* This can only fail if it is readable already. */
	if (write(n->wake_fd, &one, sizeof(one)) != sizeof(one))
		return;
}

/* Either the front end is seen to be asleep here, or it checks for work after it has said so. */
void emu_node_wake(struct emu_node *n)
{
	if (atomic_load(&n->asleep))
		write_wake(n);
}

void emu_node_quiesce(struct emu_node *n)
{
	emu_node_enter(n);
	emu_node_leave(n);
	n->engine->gpu_quiesce(n->gpu);
}

void emu_node_reset(struct emu_node *n)
{
	atomic_store(&n->hung, true);
	emu_node_wake(n);
}

uint64_t emu_node_clock(struct emu_node *n)
{
	return n->engine->gpu_clock(n->gpu);
}

uint64_t emu_node_ticks(struct emu_node *n)
{
	return n->engine->gpu_clock(n->gpu) / EMU_TICK_NS;
}

/*
 * The front end
 */

static void look_locked(struct emu_node *n, struct emu_look *look)
{
	*look = (struct emu_look){ 0 };
	emu_cp_complete(n, look);
	emu_cp_run(n, look);
	emu_sdma_run(n, look);
}

static void look_around(struct emu_node *n, struct emu_look *look)
{
	while (atomic_load(&n->nr_entering))
		sched_yield();
	pthread_mutex_lock(&n->front_lock);
	look_locked(n, look);
	pthread_mutex_unlock(&n->front_lock);
}

/*
 * The start of the idle time, the length of the last sleep, and the time until doorbells are
 * protected.
 */
struct rest {
	uint64_t idle_since, slept;
	uint64_t open_until, open_ns;
};

/* The next sleep of a node whose packets wait for memory. */
static uint64_t next_wait(const struct rest *r, uint64_t now)
{
	uint64_t limit = now - r->idle_since > LONG_NS ? WAIT_LONG_NS : WAIT_LAST_NS;
	uint64_t next = r->slept ? 2 * r->slept : WAIT_FIRST_NS;

	return next < limit ? next : limit;
}

static uint64_t earlier(uint64_t longest, uint64_t at, uint64_t now)
{
	uint64_t left = at > now ? at - now : 1;

	return left < longest ? left : longest;
}

uint64_t emu_node_settle(uint64_t idle_ns)
{
	return idle_ns < SETTLE_NS ? idle_ns / SETTLE_PART : FOREVER;
}

/* The longest sleep of the front end after it found nothing to do. */
static uint64_t time_to_sleep(struct emu_node *n, const struct emu_look *look, const struct rest *r,
			      uint64_t now)
{
	uint64_t longest = emu_node_settle(now - r->idle_since);
	uint64_t slice_end = atomic_load(&n->slice_end);

	if (look->runs)
		longest = earlier(longest, now + RUN_NS, now);
	if (look->waits)
		longest = earlier(longest, now + next_wait(r, now), now);
	if (slice_end && atomic_load(&n->slice_wanted))
		longest = earlier(longest, slice_end, now);
	if (n->reset_at)
		longest = earlier(longest, n->reset_at, now);
	return longest;
}

static bool is_wanted(struct emu_node *n)
{
	return atomic_load(&n->quit) || atomic_load(&n->troubled) || atomic_load(&n->hung);
}

/* True: a thread faulted on a doorbell. */
static bool wait_for(struct emu_node *n, struct pollfd *fds, uint32_t nr, uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	struct pollfd wake = { .events = POLLIN };
	bool rings = false;
	uint64_t drained;

	if (!fds)
		fds = &wake;
	fds[nr].fd = n->wake_fd;
	fds[nr].events = POLLIN;
	ppoll(fds, nr + 1, ns == FOREVER ? NULL : &ts, NULL);
	if (fds[nr].revents & POLLIN && read(n->wake_fd, &drained, sizeof(drained)) < 0)
		drained = 0; /* another thread has read the wake-up */
	for (uint32_t i = 0; i < nr; i++)
		rings |= fds[i].revents & POLLIN;
	return rings;
}

/* The program that rang may get a processor at once or late: the gap begins anew. */
static void keep_open(struct rest *r)
{
	uint64_t now = gp__clock_ns();

	r->open_ns = r->open_ns ? 2 * r->open_ns : OPEN_NS;
	if (r->open_ns > OPEN_MOST_NS)
		r->open_ns = OPEN_MOST_NS;
	r->open_until = now + r->open_ns;
	r->idle_since = now;
}

/*
 * Checks for work once more after the node is marked as asleep and the doorbells are protected, so
 * that no wake-up is lost. Only this check decides how long to sleep: the mapped queues may have
 * changed since the one before, and an unmapped queue may want a slot.
 */
static uint64_t look_before_sleep(struct emu_node *n, struct rest *r, uint64_t ns, bool blind,
				  struct emu_look *look)
{
	uint64_t now, last;

	look_locked(n, look);
	now = gp__clock_ns();
	last = time_to_sleep(n, look, r, now);
	if (blind && last > BLIND_NS)
		last = BLIND_NS;
	if (look->waits)
		r->slept = next_wait(r, now);
	return last < ns ? last : ns;
}

static void sleep_for(struct emu_node *n, struct rest *r, uint64_t ns)
{
	struct pollfd *fds = NULL;
	struct emu_look look;
	uint32_t nr = 0;
	bool blind = false;

	atomic_store(&n->asleep, true);
	pthread_mutex_lock(&n->front_lock);
	if (ns >= ARM_NS && gp__clock_ns() >= r->open_until)
		fds = emu_doorbell_arm(n, &nr, &blind);
	ns = look_before_sleep(n, r, ns, blind || !fds, &look);
	pthread_mutex_unlock(&n->front_lock);
	if (look.busy)
		r->slept = 0;
	else if (!is_wanted(n) && wait_for(n, fds, nr, ns))
		keep_open(r);
	atomic_store(&n->asleep, false);
	if (fds) {
		pthread_mutex_lock(&n->front_lock);
		emu_doorbell_disarm(n);
		pthread_mutex_unlock(&n->front_lock);
	}
	free(fds);
}

static void *front_end(void *arg)
{
	struct emu_node *n = arg;
	struct rest r = { .idle_since = gp__clock_ns() };
	struct emu_look look;

	while (!atomic_load(&n->quit)) {
		uint64_t now;

		look_around(n, &look);
		emu_sched_tend(n);
		now = gp__clock_ns();
		if (look.busy)
			r = (struct rest){ .idle_since = now };
		else if (now - r.idle_since < HOT_NS)
			continue;
		else if (now - r.idle_since < WARM_NS)
			sched_yield();
		else
			sleep_for(n, &r, time_to_sleep(n, &look, &r, now));
	}
	return NULL;
}

/*
 * Creation
 */

static bool make_gpu(struct emu_node *n)
{
	const struct emu_config *c = &n->m->config;
	const struct emu_gpu_config config = {
		.target = c->chip->target,
		.nr_xccs = c->nr_xccs,
		.xcc_cus = c->xcc_cus,
		.threads = c->threads > 0 ? c->threads : 1,
		.nice = c->nice,
		.cwsr = c->cwsr,
		.trace = c->trace ? emu_trace_change : NULL,
		.trace_ctx = n,
	};

	n->gpu = n->engine->gpu_new(&config);
	return n->gpu;
}

static void destroy(struct emu_node *n)
{
	if (n->wake_fd >= 0)
		close(n->wake_fd);
	if (n->gpu)
		n->engine->gpu_free(n->gpu);
	emu_smi_destroy(&n->smi);
	pthread_mutex_destroy(&n->front_lock);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

struct emu_node *emu_node_new(struct emu_machine *m, uint32_t index)
{
	struct emu_node *n = calloc(1, sizeof(*n));

	if (!n)
		goto failed;
	n->m = m;
	n->engine = m->config.chip->engine;
	n->index = index;
	n->gpu_id = FIRST_GPU_ID + index * GPU_ID_STEP;
	n->render_minor = EMU_RENDER_MINOR + index;
	n->topology_node = 1 + index;
	pthread_mutex_init(&n->lock, NULL);
	pthread_mutex_init(&n->front_lock, NULL);
	emu_smi_init(&n->smi);
	if (m->config.faults.gpu_reset_ns)
		n->reset_at = gp__clock_ns() + m->config.faults.gpu_reset_ns;
	n->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (n->wake_fd < 0 || !make_gpu(n) || pthread_create(&n->thread, NULL, front_end, n)) {
		destroy(n);
		goto failed;
	}
	return n;
failed:
	fprintf(stderr,
		"cannot create GPU %u: out of memory or threads, or too many compute units\n",
		index);
	return NULL;
}

void emu_node_free(struct emu_node *n)
{
	atomic_store(&n->quit, true);
	write_wake(n);
	pthread_join(n->thread, NULL);
	destroy(n);
}
