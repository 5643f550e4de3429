/* SPDX-License-Identifier: MIT */
/* The launch window over an AQL ring, against a packet processor of this test. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "join/hsa/ring.h"

/*
 * By hand
 */

struct queue {
	_Atomic uint64_t read, write;
	struct gp__aql_ring ring;
	unsigned int nr_rings;
	uint64_t rang; /* the index of the latest doorbell */
};

static void note_ring(void *data, uint64_t index)
{
	struct queue *q = data;

	q->nr_rings++;
	q->rang = index;
}

static void begin(struct queue *q)
{
	memset(q, 0, sizeof(*q));
	gp__aql_ring_init(&q->ring, &q->read, &q->write, note_ring, q);
}

/* A thread writes a packet and rings the doorbell. */
static void launch(struct queue *q)
{
	gp__aql_ring_announce(&q->ring, atomic_fetch_add(&q->ring.write, 1));
}

static void an_open_window_submits_everything(void **state)
{
	struct queue q;

	(void)state;
	begin(&q);
	for (uint64_t i = 0; i < 100; i++) {
		launch(&q);
		assert_int_equal(q.write, i + 1);
		assert_int_equal(q.rang, i);
		assert_int_equal(q.nr_rings, i + 1);
	}
	assert_false(gp__aql_ring_advance(&q.ring, 0));
	gp__aql_ring_destroy(&q.ring);
}

static void no_more_packets_are_in_flight_than_the_window_allows(void **state)
{
	struct queue q;

	(void)state;
	begin(&q);
	gp__aql_ring_set_width(&q.ring, 3);
	gp__aql_ring_set_gate(&q.ring, GP__AQL_NARROW);
	for (int i = 0; i < 10; i++)
		launch(&q);
	assert_int_equal(q.write, 3);
	assert_true(gp__aql_ring_advance(&q.ring, 0));
	assert_int_equal(q.write, 3);
	q.read = 2;
	assert_true(gp__aql_ring_advance(&q.ring, 0));
	assert_int_equal(q.write, 5);
	assert_int_equal(q.rang, 4);
	q.read = 7;
	assert_false(gp__aql_ring_advance(&q.ring, 0));
	assert_int_equal(q.write, 10);
	gp__aql_ring_destroy(&q.ring);
}

/* Packets take 100 us each, so a budget of 1 ms allows 10. */
static void a_tuned_window_follows_the_budget(void **state)
{
	struct queue q;
	uint64_t now = 1000000000;

	(void)state;
	begin(&q);
	gp__aql_ring_set_budget(&q.ring, 1000000);
	gp__aql_ring_set_gate(&q.ring, GP__AQL_NARROW);
	for (int i = 0; i < 500; i++)
		launch(&q);
	gp__aql_ring_advance(&q.ring, now);
	for (int i = 0; i < 400; i++) {
		now += 50000;
		q.read += i % 2;
		gp__aql_ring_advance(&q.ring, now);
	}
	assert_in_range(q.write - q.read, 8, 12);
	gp__aql_ring_destroy(&q.ring);
}

static void a_held_ring_submits_nothing(void **state)
{
	struct queue q;

	(void)state;
	begin(&q);
	launch(&q);
	gp__aql_ring_set_gate(&q.ring, GP__AQL_HELD);
	launch(&q);
	launch(&q);
	q.read = 1;
	assert_false(gp__aql_ring_advance(&q.ring, 0));
	assert_int_equal(q.write, 1);
	assert_int_equal(q.nr_rings, 1);
	gp__aql_ring_set_gate(&q.ring, GP__AQL_OPEN);
	assert_int_equal(q.write, 3);
	assert_int_equal(q.rang, 2);
	assert_int_equal(q.nr_rings, 2);
	gp__aql_ring_destroy(&q.ring);
}

/* A packet processor that waits at an invalid packet looks again only when the doorbell rings. */
static void a_late_packet_rings_the_doorbell(void **state)
{
	struct queue q;
	uint64_t late;

	(void)state;
	begin(&q);
	late = atomic_fetch_add(&q.ring.write, 1);
	launch(&q);
	assert_int_equal(q.write, 2);
	gp__aql_ring_announce(&q.ring, late);
	assert_int_equal(q.write, 2);
	assert_int_equal(q.nr_rings, 2);
	assert_int_equal(q.rang, late);
	gp__aql_ring_destroy(&q.ring);
}

/* A retained packet was valid when it was copied, so its doorbell has been rung. */
static void a_late_thread_does_not_ring_for_retained_packets(void **state)
{
	struct queue q;
	uint64_t late;

	(void)state;
	begin(&q);
	gp__aql_ring_set_gate(&q.ring, GP__AQL_HELD);
	late = atomic_fetch_add(&q.ring.write, 1);
	launch(&q);
	gp__aql_ring_announce(&q.ring, late);
	assert_int_equal(q.nr_rings, 0);
	gp__aql_ring_set_width(&q.ring, 1);
	gp__aql_ring_set_gate(&q.ring, GP__AQL_NARROW);
	assert_int_equal(q.write, 1);
	gp__aql_ring_destroy(&q.ring);
}

static void a_doorbell_beyond_the_last_packet_announces_that_packet(void **state)
{
	struct queue q;

	(void)state;
	begin(&q);
	gp__aql_ring_announce(&q.ring, 0);
	assert_int_equal(q.write, 0);
	gp__aql_ring_announce(&q.ring, atomic_fetch_add(&q.ring.write, 1) + 1);
	assert_int_equal(q.write, 1);
	assert_int_equal(q.rang, 0);
	gp__aql_ring_destroy(&q.ring);
}

static void foreign_packets_are_not_overwritten(void **state)
{
	struct queue q;

	(void)state;
	begin(&q);
	launch(&q);
	assert_false(gp__aql_ring_is_foreign(&q.ring));
	atomic_fetch_add(&q.write, 2);
	assert_true(gp__aql_ring_is_foreign(&q.ring));
	assert_int_equal(q.ring.write, 3);
	launch(&q);
	assert_int_equal(q.write, 4);
	gp__aql_ring_destroy(&q.ring);
}

/*
 * With threads
 */

enum { RING = 64, THREADS = 3, PACKETS = 20000, IN_ALL = THREADS * PACKETS };

struct machine {
	_Atomic uint64_t read, write, doorbell;
	_Atomic uint32_t packet[RING]; /* 0: not valid */
	struct gp__aql_ring ring;
	atomic_bool over;
	uint32_t nr_of[THREADS + 1];
	bool wrong;
};

static void ring_machine(void *data, uint64_t index)
{
	struct machine *m = data;

	(void)index;
	atomic_fetch_add(&m->doorbell, 1);
}

/* Looks only after the doorbell was rung, as the hardware does. */
static void *process_packets(void *data)
{
	struct machine *m = data;
	uint64_t seen = 0, done = 0;

	while (done < IN_ALL) {
		uint64_t rung = atomic_load(&m->doorbell), write;

		if (rung == seen) {
			sched_yield();
			continue;
		}
		seen = rung;
		write = atomic_load(&m->write);
		while (done < write) {
			uint32_t who = atomic_exchange(&m->packet[done % RING], 0);

			if (!who)
				break;
			m->nr_of[who]++;
			atomic_store(&m->read, ++done);
		}
	}
	return NULL;
}

struct thread {
	struct machine *m;
	uint32_t who;
};

static void *launch_packets(void *data)
{
	struct thread *t = data;
	struct machine *m = t->m;

	for (int i = 0; i < PACKETS; i++) {
		uint64_t at = atomic_fetch_add(&m->ring.write, 1);

		while (at - atomic_load(&m->read) >= RING)
			sched_yield();
		if (atomic_load(&m->packet[at % RING]))
			m->wrong = true;
		atomic_store(&m->packet[at % RING], t->who);
		gp__aql_ring_announce(&m->ring, at);
	}
	return NULL;
}

static void *move_window(void *data)
{
	struct machine *m = data;
	unsigned int seed = 1;

	while (!atomic_load(&m->over)) {
		gp__aql_ring_set_width(&m->ring, (unsigned int)rand_r(&seed) % 20);
		gp__aql_ring_set_gate(&m->ring, (enum gp__aql_gate)(rand_r(&seed) % 3));
		for (int i = 0; i < 10; i++)
			gp__aql_ring_advance(&m->ring, 0);
		sched_yield();
	}
	gp__aql_ring_set_gate(&m->ring, GP__AQL_OPEN);
	return NULL;
}

static void every_packet_is_processed_once_whatever_the_window_does(void **state)
{
	struct machine m = { .wrong = false };
	struct thread thread[THREADS];
	pthread_t producer[THREADS], processor, mover;

	(void)state;
	gp__aql_ring_init(&m.ring, &m.read, &m.write, ring_machine, &m);
	assert_int_equal(pthread_create(&processor, NULL, process_packets, &m), 0);
	assert_int_equal(pthread_create(&mover, NULL, move_window, &m), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		thread[i] = (struct thread){ &m, i + 1 };
		assert_int_equal(pthread_create(&producer[i], NULL, launch_packets, &thread[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(producer[i], NULL);
	atomic_store(&m.over, true);
	pthread_join(mover, NULL);
	pthread_join(processor, NULL);
	assert_false(m.wrong);
	for (int i = 1; i <= THREADS; i++)
		assert_int_equal(m.nr_of[i], PACKETS);
	assert_int_equal(m.write, IN_ALL);
	gp__aql_ring_destroy(&m.ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_open_window_submits_everything),
		cmocka_unit_test(no_more_packets_are_in_flight_than_the_window_allows),
		cmocka_unit_test(a_tuned_window_follows_the_budget),
		cmocka_unit_test(a_held_ring_submits_nothing),
		cmocka_unit_test(a_late_packet_rings_the_doorbell),
		cmocka_unit_test(a_late_thread_does_not_ring_for_retained_packets),
		cmocka_unit_test(a_doorbell_beyond_the_last_packet_announces_that_packet),
		cmocka_unit_test(foreign_packets_are_not_overwritten),
		cmocka_unit_test(every_packet_is_processed_once_whatever_the_window_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
