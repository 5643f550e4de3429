// SPDX-License-Identifier: MIT
/*
 * The monitor's thread over rings that the test writes itself. Nothing here depends on how fast
 * the host is: what must happen is waited for, and what must not is given some periods to happen.
 */
#include "core/core.h"
#include "device/kfd/monitor.h"
#include "base/peek.h"
#include "policy/policy.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
#define PACKETS 64
#define PACKET_WORDS 8
#define SIGNAL_WORD 7
#define PATIENCE_MS 20000
#define FEW_PERIODS_MS 30
#define RINGS_MAX 300

struct ring {
	/* As the runtime has them, each on a page that can go away. */
	_Atomic uint64_t *read, *write;
	_Atomic uint64_t *packet;
	_Atomic int64_t *signal; /* kind, value */
	struct gp__kfd_queue_info info;
	atomic_uint nr_ready, nr_idle, nr_denied;
	_Atomic bool waits; /* a window has more than is in the ring */
	_Atomic bool arrived; /* the hook has reported a launch */
	_Atomic uint64_t pending;
};

static struct gp__kfd_monitor *monitor;
static atomic_int waves = -1;

static void *page(void)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static struct ring *new_ring(uint32_t type)
{
	struct ring *r = calloc(1, sizeof(*r));

	r->read = page();
	r->write = page();
	r->packet = page();
	r->signal = page();
	r->info = (struct gp__kfd_queue_info){ .type = type,
					       .ring_bytes = PAGE,
					       .ring = (uint64_t)r->packet,
					       .read_index = (uint64_t)r->read,
					       .write_index = (uint64_t)r->write };
	return r;
}

static void free_ring(struct ring *r)
{
	munmap((void *)r->read, PAGE);
	munmap((void *)r->write, PAGE);
	munmap((void *)r->packet, PAGE);
	munmap((void *)r->signal, PAGE);
	free(r);
}

static void submit(struct ring *r, bool with_signal)
{
	uint64_t n = atomic_load(r->write);

	atomic_store(&r->signal[1], 1);
	atomic_store(&r->packet[n % PACKETS * PACKET_WORDS + SIGNAL_WORD],
		     with_signal ? (uint64_t)r->signal : 0);
	atomic_store(r->write, n + 1);
}

static void fetch(struct ring *r)
{
	atomic_store(r->read, atomic_load(r->write));
}

static void finish(struct ring *r)
{
	atomic_store(&r->signal[1], 0);
}

static void on_ready(void *data, void *cookie, uint64_t pending, uint64_t now)
{
	struct ring *r = cookie;

	(void)data;
	assert_true(now);
	atomic_store(&r->pending, pending);
	atomic_fetch_add(&r->nr_ready, 1);
}

static bool on_arrived(void *data, void *cookie)
{
	struct ring *r = cookie;

	(void)data;
	return atomic_exchange(&r->arrived, false);
}

static bool on_idle(void *data, void *cookie, uint64_t now)
{
	struct ring *r = cookie;

	(void)data;
	assert_true(now);
	if (atomic_load(&r->waits)) {
		atomic_fetch_add(&r->nr_denied, 1);
		return false;
	}
	atomic_fetch_add(&r->nr_idle, 1);
	return true;
}

static int on_waves(void *data, const struct gp__kfd_queue_info *queue)
{
	(void)data;
	(void)queue;
	return atomic_load(&waves);
}

static void start(struct gp__kfd_monitor_options o)
{
	o.arrived = on_arrived;
	o.ready = on_ready;
	o.idle = on_idle;
	o.waves = on_waves;
	atomic_store(&waves, -1);
	assert_int_equal(gp__kfd_monitor_create(&o, &monitor), 0);
}

/* Acts as a launch hook. */
static void arrive(struct ring *r)
{
	atomic_store(&r->arrived, true);
	gp__kfd_monitor_kick(monitor);
}

static void pause_ms(unsigned int ms)
{
	usleep(1000 * ms);
}

static void wait_for_count(atomic_uint *count, unsigned int value)
{
	for (int i = 0; i < PATIENCE_MS && atomic_load(count) < value; i++)
		pause_ms(1);
	assert_int_equal(atomic_load(count), value);
}

static uint64_t looks(void)
{
	struct gp__kfd_monitor_stats stats;

	gp__kfd_monitor_stats(monitor, &stats);
	return stats.looks;
}

static void wait_for_looks(unsigned int n)
{
	uint64_t before = looks();

	for (int i = 0; i < PATIENCE_MS && looks() < before + n; i++)
		pause_ms(1);
	assert_true(looks() >= before + n);
}

/*
 * Peeking
 */

static void words_that_are_not_there_are_no_crash(void **state)
{
	struct gp__word word[1200];
	struct gp__peek p;
	uint64_t *memory =
		mmap(NULL, 2ul * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(gp__peek_open(&p), 0);
	for (size_t i = 0; i < 1200; i++) {
		memory[i % 512] = i % 512;
		word[i].at = i % 7 == 3 ? 8 : (uint64_t)&memory[i % 512];
	}
	assert_int_equal(gp__peek(&p, word, 1200), 1200 - 171);
	for (size_t i = 0; i < 1200; i++) {
		assert_int_equal(word[i].there, i % 7 != 3);
		if (word[i].there)
			assert_int_equal(word[i].value, i % 512);
	}
	/* A word that begins on a page and ends beyond it. */
	munmap((char *)memory + PAGE, PAGE);
	word[0].at = (uint64_t)memory + PAGE - 4;
	word[1].at = (uint64_t)memory;
	assert_int_equal(gp__peek(&p, word, 2), 1);
	assert_false(word[0].there);
	assert_int_equal(gp__peek(&p, word, 0), 0);
	gp__peek_close(&p);
	munmap(memory, PAGE);
}

/*
 * The monitor
 */

static void work_is_seen_to_come_and_to_end(void **state)
{
	struct ring *r = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);

	(void)state;
	start((struct gp__kfd_monitor_options){ 0 });
	assert_int_equal(gp__kfd_monitor_add(monitor, &r->info, r), 0);
	assert_int_equal(gp__kfd_monitor_add(monitor, &r->info, r), -EEXIST);
	wait_for_looks(3);
	assert_int_equal(atomic_load(&r->nr_ready), 0);
	for (unsigned int i = 1; i <= 3 * PACKETS; i++) {
		submit(r, true);
		wait_for_count(&r->nr_ready, i);
		assert_int_equal(atomic_load(&r->pending), 1);
		fetch(r);
		wait_for_looks(2);
		assert_int_equal(atomic_load(&r->nr_idle), i - 1);
		finish(r);
		wait_for_count(&r->nr_idle, i);
	}
	gp__kfd_monitor_destroy(monitor);
	free_ring(r);
}

/* A window has work that is not in the ring yet: the queue stays busy, and its end is seen
 * later. */
static void a_queue_that_has_more_elsewhere_is_not_idle(void **state)
{
	struct ring *r = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);

	(void)state;
	start((struct gp__kfd_monitor_options){ 0 });
	assert_int_equal(gp__kfd_monitor_add(monitor, &r->info, r), 0);
	submit(r, true);
	wait_for_count(&r->nr_ready, 1);
	atomic_store(&r->waits, true);
	fetch(r);
	finish(r);
	for (int i = 0; i < PATIENCE_MS && !atomic_load(&r->nr_denied); i++)
		pause_ms(1);
	assert_true(atomic_load(&r->nr_denied) > 0);
	assert_int_equal(atomic_load(&r->nr_idle), 0);
	for (int i = 0; i < 1000; i++)
		arrive(r);
	atomic_store(&r->waits, false);
	wait_for_count(&r->nr_idle, 1);
	assert_int_equal(atomic_load(&r->nr_ready), 1);
	gp__kfd_monitor_destroy(monitor);
	free_ring(r);
}

static void a_long_kernel_is_not_idle_with_and_without_a_signal(void **state)
{
	struct ring *r = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);

	(void)state;
	start((struct gp__kfd_monitor_options){ .grace_ns = 5000000 });
	assert_int_equal(gp__kfd_monitor_add(monitor, &r->info, r), 0);
	submit(r, true);
	fetch(r);
	wait_for_count(&r->nr_ready, 1);
	pause_ms(60);
	assert_int_equal(atomic_load(&r->nr_idle), 0);
	finish(r);
	wait_for_count(&r->nr_idle, 1);
	/* The driver reports waves. */
	atomic_store(&waves, 1);
	submit(r, false);
	fetch(r);
	wait_for_count(&r->nr_ready, 2);
	pause_ms(150);
	assert_int_equal(atomic_load(&r->nr_idle), 1);
	atomic_store(&waves, 0);
	wait_for_count(&r->nr_idle, 2);
	/* The driver does not report: only time decides. */
	atomic_store(&waves, -1);
	submit(r, false);
	fetch(r);
	wait_for_count(&r->nr_ready, 3);
	wait_for_count(&r->nr_idle, 3);
	gp__kfd_monitor_destroy(monitor);
	free_ring(r);
}

static void memory_that_goes_away_is_counted(void **state)
{
	struct gp__kfd_monitor_stats stats;
	struct ring *r = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);
	struct ring *other = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);

	(void)state;
	start((struct gp__kfd_monitor_options){ .blind_ns = 1000000 });
	assert_int_equal(gp__kfd_monitor_add(monitor, &r->info, r), 0);
	assert_int_equal(gp__kfd_monitor_add(monitor, &other->info, other), 0);
	submit(r, true);
	wait_for_count(&r->nr_ready, 1);
	fetch(r);
	/* A signal that cannot be read is none. */
	munmap((void *)r->signal, PAGE);
	wait_for_count(&r->nr_idle, 1);
	r->signal = page();
	submit(r, true);
	wait_for_count(&r->nr_ready, 2);
	fetch(r);
	munmap((void *)r->packet, PAGE);
	wait_for_count(&r->nr_idle, 2);
	/* With the indices gone it stays what it was; the other is seen as before. */
	r->packet = page();
	r->info.ring = (uint64_t)r->packet;
	submit(r, true);
	wait_for_count(&r->nr_ready, 3);
	munmap((void *)r->read, PAGE);
	pause_ms(FEW_PERIODS_MS);
	submit(other, true);
	wait_for_count(&other->nr_ready, 1);
	fetch(other);
	finish(other);
	wait_for_count(&other->nr_idle, 1);
	assert_int_equal(atomic_load(&r->nr_idle), 2);
	gp__kfd_monitor_stats(monitor, &stats);
	assert_true(stats.unreadable > 0);
	gp__kfd_monitor_destroy(monitor);
	r->read = page();
	free_ring(r);
	free_ring(other);
}

static void a_queue_that_is_held_does_not_become_idle(void **state)
{
	struct ring *r = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);

	(void)state;
	start((struct gp__kfd_monitor_options){ .grace_ns = 1000000, .blind_ns = 1000000 });
	assert_int_equal(gp__kfd_monitor_add(monitor, &r->info, r), 0);
	gp__kfd_monitor_hold(monitor, r, true);
	atomic_store(&waves, 0);
	submit(r, false);
	fetch(r);
	wait_for_count(&r->nr_ready, 1);
	pause_ms(FEW_PERIODS_MS);
	assert_int_equal(atomic_load(&r->nr_idle), 0);
	gp__kfd_monitor_hold(monitor, r, false);
	wait_for_count(&r->nr_idle, 1);
	gp__kfd_monitor_destroy(monitor);
	free_ring(r);
}

static void rings_without_packets_end_after_the_grace_time(void **state)
{
	struct ring *sdma = new_ring(GP_KFD_QUEUE_SDMA), *pm4 = new_ring(GP_KFD_QUEUE_COMPUTE);

	(void)state;
	start((struct gp__kfd_monitor_options){ .blind_ns = 1000000 });
	assert_int_equal(gp__kfd_monitor_add(monitor, &sdma->info, sdma), 0);
	assert_int_equal(gp__kfd_monitor_add(monitor, &pm4->info, pm4), 0);
	atomic_store(sdma->write, 64);
	atomic_store(pm4->write, 32);
	wait_for_count(&sdma->nr_ready, 1);
	wait_for_count(&pm4->nr_ready, 1);
	assert_int_equal(atomic_load(&sdma->pending), 64);
	assert_int_equal(atomic_load(&pm4->pending), 32);
	pause_ms(FEW_PERIODS_MS);
	assert_int_equal(atomic_load(&sdma->nr_idle), 0);
	fetch(sdma);
	fetch(pm4);
	wait_for_count(&sdma->nr_idle, 1);
	wait_for_count(&pm4->nr_idle, 1);
	gp__kfd_monitor_destroy(monitor);
	free_ring(sdma);
	free_ring(pm4);
}

static void without_queues_nothing_is_polled(void **state)
{
	struct ring *r = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);
	struct gp__kfd_monitor_stats before, after;

	(void)state;
	start((struct gp__kfd_monitor_options){ 0 });
	assert_int_equal(gp__kfd_monitor_add(monitor, &r->info, r), 0);
	wait_for_looks(1);
	gp__kfd_monitor_remove(monitor, r);
	gp__kfd_monitor_remove(monitor, r); /* it has gone: nothing */
	submit(r, true);
	/* It may be about to find out; from then on it takes no time at all. */
	gp__kfd_monitor_stats(monitor, &after);
	for (int i = 0; i < PATIENCE_MS / 200; i++) {
		before = after;
		pause_ms(200);
		gp__kfd_monitor_stats(monitor, &after);
		if (before.cpu_ns == after.cpu_ns)
			break;
	}
	assert_int_equal(before.looks, after.looks);
	assert_int_equal(before.cpu_ns, after.cpu_ns);
	assert_int_equal(atomic_load(&r->nr_ready), 0);
	gp__kfd_monitor_destroy(monitor);
	free_ring(r);
}

/* A calm monitor polls rarely, but not once another program has work. */
static void calm_ends_at_once(void **state)
{
	struct ring *r = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);
	uint64_t before;

	(void)state;
	start((struct gp__kfd_monitor_options){ .busy_period_ns = 3600ull * 1000000000,
						.calm_period_ns = 3600ull * 1000000000,
						.calm_busy_period_ns = 3600ull * 1000000000 });
	assert_int_equal(gp__kfd_monitor_add(monitor, &r->info, r), 0);
	gp__kfd_monitor_calm(monitor, true);
	for (int i = 0; i < PATIENCE_MS && !looks(); i++)
		pause_ms(1);
	before = looks();
	assert_true(before >= 1);
	pause_ms(FEW_PERIODS_MS);
	assert_int_equal(looks(), before);
	submit(r, true);
	gp__kfd_monitor_calm(monitor, false);
	wait_for_count(&r->nr_ready, 1);
	/* The end comes before the next look. */
	gp__kfd_monitor_destroy(monitor);
	free_ring(r);
}

/* A told queue is not polled between its work, however short the periods are. */
static void a_queue_whose_arrivals_are_told_is_looked_at_while_it_has_work(void **state)
{
	struct ring *r = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);
	uint64_t before;

	(void)state;
	start((struct gp__kfd_monitor_options){ .busy_period_ns = 100000,
						.idle_period_ns = 100000 });
	assert_int_equal(gp__kfd_monitor_add(monitor, &r->info, r), 0);
	gp__kfd_monitor_told(monitor, r, true);
	for (uint32_t i = 1; i <= 3; i++) {
		pause_ms(FEW_PERIODS_MS);
		before = looks();
		pause_ms(FEW_PERIODS_MS);
		assert_int_equal(looks(), before);
		submit(r, true);
		arrive(r);
		arrive(r);
		fetch(r);
		for (int k = 0; k < PATIENCE_MS && looks() < before + 3; k++)
			pause_ms(1);
		assert_true(looks() >= before + 3);
		finish(r);
		wait_for_count(&r->nr_idle, i);
	}
	/* The hook has reported the arrivals. */
	assert_int_equal(r->nr_ready, 0);
	gp__kfd_monitor_destroy(monitor);
	free_ring(r);
}

/* Queues without a hook beside one that has it; when that has work, all are polled. */
static void beside_a_queue_that_is_told_others_are_looked_at_seldom(void **state)
{
	struct ring *r = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);
	struct ring *other = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);
	uint64_t before;

	(void)state;
	start((struct gp__kfd_monitor_options){ .busy_period_ns = 1000,
						.idle_period_ns = 1000,
						.rest_period_ns = 3600ull * 1000000000 });
	assert_int_equal(gp__kfd_monitor_add(monitor, &r->info, r), 0);
	assert_int_equal(gp__kfd_monitor_add(monitor, &other->info, other), 0);
	gp__kfd_monitor_told(monitor, r, true);
	/* A 64th of the time that has passed is the pause between two looks. */
	pause_ms(1000);
	before = looks();
	pause_ms(500);
	assert_true(looks() - before <= 33);
	submit(other, true);
	submit(r, true);
	arrive(r);
	wait_for_count(&other->nr_ready, 1);
	assert_int_equal(r->nr_ready, 0);
	gp__kfd_monitor_destroy(monitor);
	free_ring(r);
	free_ring(other);
}

/* More than the thread tells at once; and queues go while it tells. */
static void many_queues_at_once(void **state)
{
	struct ring *r[RINGS_MAX];

	(void)state;
	start((struct gp__kfd_monitor_options){ 0 });
	for (int i = 0; i < RINGS_MAX; i++) {
		r[i] = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);
		submit(r[i], true);
		assert_int_equal(gp__kfd_monitor_add(monitor, &r[i]->info, r[i]), 0);
	}
	for (int i = 0; i < RINGS_MAX; i += 3) {
		gp__kfd_monitor_remove(monitor, r[i]);
		free_ring(r[i]);
	}
	for (int i = 0; i < RINGS_MAX; i++) {
		if (i % 3 == 0)
			continue;
		wait_for_count(&r[i]->nr_ready, 1);
		fetch(r[i]);
		finish(r[i]);
	}
	for (int i = 0; i < RINGS_MAX; i++) {
		if (i % 3 == 0)
			continue;
		wait_for_count(&r[i]->nr_idle, 1);
		assert_int_equal(atomic_load(&r[i]->nr_ready), 1);
	}
	gp__kfd_monitor_destroy(monitor);
	for (int i = 0; i < RINGS_MAX; i++) {
		if (i % 3)
			free_ring(r[i]);
	}
}

/* Programs make and destroy queues all the time, while others work. */
static void *come_and_go(void *arg)
{
	(void)arg;
	for (int i = 0; i < 300; i++) {
		struct ring *r = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);

		if (i % 2)
			submit(r, true);
		assert_int_equal(gp__kfd_monitor_add(monitor, &r->info, r), 0);
		if (i % 5 == 0)
			usleep(100);
		gp__kfd_monitor_remove(monitor, r);
		free_ring(r); /* it must not be read or reported any more */
	}
	return NULL;
}

static void queues_come_and_go(void **state)
{
	struct ring *r = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);
	pthread_t thread[3];

	(void)state;
	start((struct gp__kfd_monitor_options){ .busy_period_ns = 1000 });
	assert_int_equal(gp__kfd_monitor_add(monitor, &r->info, r), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, NULL), 0);
	for (unsigned int i = 1; i <= 50; i++) {
		submit(r, true);
		wait_for_count(&r->nr_ready, i);
		fetch(r);
		finish(r);
		wait_for_count(&r->nr_idle, i);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	gp__kfd_monitor_destroy(monitor);
	free_ring(r);
}

/*
 * Through the core
 */

struct program {
	struct gp__entity entity;
	struct gp__queue queue;
	struct ring *ring;
	atomic_uint nr_held, nr_released;
	struct gp__why why; /* of the latest */
};

/* As an agent and a daemon would be, in one. */
struct scheduler {
	pthread_mutex_t lock;
	struct gp__core core;
	struct gp__dev dev;
	struct gp__owner owner;
	struct program program[2];
};

static void carry_out(struct scheduler *s, uint64_t now)
{
	struct gp__action a;

	while (gp__core_pop(&s->core, &a)) {
		struct program *p = container_of(a.queue, struct program, queue);
		bool hold = a.verb == GP__VERB_HOLD;

		p->why = a.why;
		gp__kfd_monitor_hold(monitor, p, hold);
		assert_int_equal(gp__queue_ack(a.queue, 0, now), 0);
		atomic_fetch_add(hold ? &p->nr_held : &p->nr_released, 1);
	}
}

static void scheduler_ready(void *data, void *cookie, uint64_t pending, uint64_t now)
{
	struct scheduler *s = data;
	struct program *p = cookie;

	pthread_mutex_lock(&s->lock);
	gp__queue_ready(&p->queue, (u32)pending, now);
	carry_out(s, now);
	pthread_mutex_unlock(&s->lock);
}

static bool scheduler_idle(void *data, void *cookie, uint64_t now)
{
	struct scheduler *s = data;
	struct program *p = cookie;

	pthread_mutex_lock(&s->lock);
	gp__queue_idle(&p->queue, now, 0, now);
	carry_out(s, now);
	pthread_mutex_unlock(&s->lock);
	return true;
}

static void add_program(struct scheduler *s, int i, int prio)
{
	const struct gp__hints hints = { .prio = prio };
	struct program *p = &s->program[i];

	assert_int_equal(gp__entity_add(&s->owner, &p->entity, (u32)i + 1, (u32)i + 1,
					GP__CLASS_OTHER, "", &hints, 1),
			 0);
	gp__queue_add(&p->entity, &p->queue, (u32)i + 1, 3, 3, 1);
	p->ring = new_ring(GP_KFD_QUEUE_COMPUTE_AQL);
	assert_int_equal(gp__kfd_monitor_add(monitor, &p->ring->info, p), 0);
}

static void seen_work_makes_the_core_hold_and_release(void **state)
{
	struct scheduler *s = calloc(1, sizeof(*s));
	const struct gp__kfd_monitor_options o = { .ready = scheduler_ready,
						   .idle = scheduler_idle,
						   .data = s };
	struct program *offline = &s->program[0], *online = &s->program[1];

	(void)state;
	pthread_mutex_init(&s->lock, NULL);
	gp__core_init(&s->core, gp__policy_find("hpf"));
	gp__core_configure(&s->core, GP__CFG_LINGER_US, 0, 1);
	gp__core_configure(&s->core, GP__CFG_SWITCHES_PER_S, 0, 1);
	gp__dev_add(&s->core, &s->dev, 0, 0, false, 1);
	gp__owner_init(&s->owner, &s->dev, 0);
	assert_int_equal(gp__kfd_monitor_create(&o, &monitor), 0);
	add_program(s, 0, 2);
	add_program(s, 1, 15);
	/* The less urgent has work; its packet is fetched and runs on. */
	submit(offline->ring, true);
	fetch(offline->ring);
	for (unsigned int i = 1; i <= 10; i++) {
		/* The more urgent gets some: an inversion, which the core ends. */
		submit(online->ring, true);
		wait_for_count(&offline->nr_held, i);
		fetch(online->ring);
		wait_for_looks(3);
		assert_int_equal(atomic_load(&offline->nr_released), i - 1);
		pthread_mutex_lock(&s->lock);
		assert_int_equal(offline->why.rule, GP__RULE_PRIORITY);
		assert_int_equal(offline->why.by, online->entity.id);
		assert_int_equal(gp__entity_state(&offline->entity), GP__STATE_HELD);
		assert_int_equal(gp__entity_state(&online->entity), GP__STATE_FREE);
		pthread_mutex_unlock(&s->lock);
		finish(online->ring);
		wait_for_count(&offline->nr_released, i);
	}
	assert_int_equal(atomic_load(&online->nr_held), 0);
	gp__kfd_monitor_destroy(monitor);
	free_ring(offline->ring);
	free_ring(online->ring);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_that_are_not_there_are_no_crash),
		cmocka_unit_test(work_is_seen_to_come_and_to_end),
		cmocka_unit_test(a_queue_that_has_more_elsewhere_is_not_idle),
		cmocka_unit_test(a_long_kernel_is_not_idle_with_and_without_a_signal),
		cmocka_unit_test(memory_that_goes_away_is_counted),
		cmocka_unit_test(a_queue_that_is_held_does_not_become_idle),
		cmocka_unit_test(rings_without_packets_end_after_the_grace_time),
		cmocka_unit_test(without_queues_nothing_is_polled),
		cmocka_unit_test(calm_ends_at_once),
		cmocka_unit_test(a_queue_whose_arrivals_are_told_is_looked_at_while_it_has_work),
		cmocka_unit_test(beside_a_queue_that_is_told_others_are_looked_at_seldom),
		cmocka_unit_test(many_queues_at_once),
		cmocka_unit_test(queues_come_and_go),
		cmocka_unit_test(seen_work_makes_the_core_hold_and_release),
	};

	return cmocka_run_group_tests_name("kfd_monitor", tests, NULL, NULL);
}
