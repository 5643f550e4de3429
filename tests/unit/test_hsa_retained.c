/* SPDX-License-Identifier: MIT */
/* Retained packets of a queue that is reset, against a packet processor of this test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "join/hsa/abi.h"
#include "join/hsa/ring.h"

enum { SIZE = 128, SIGNALS = 8, LONG = 5000 };

struct queue {
	struct gp__aql_packet theirs[SIZE], ours[SIZE];
	_Atomic uint64_t read, write;
	struct gp__hsa_signal own[GP__AQL_RETAINED_MAX], signal[SIGNALS];
	struct gp__aql_ring ring;
	struct gp__aql_retained retained;
	unsigned int nr_rings;
	/* The packet processor's state. */
	uint64_t next; /* packet */
	bool begun, early; /* the next one; its slot was free when it began */
	uint32_t ended[LONG]; /* which kernels, in order */
	uint32_t nr_ended;
};

static void note_ring(void *data, uint64_t index)
{
	struct queue *q = data;

	assert_int_equal(index + 1, q->write);
	q->nr_rings++;
}

static void move_signal(void *data, uint64_t signal)
{
	(void)data;
	((struct gp__hsa_signal *)(uintptr_t)signal)->value--;
}

static struct queue *begin(void)
{
	struct queue *q = calloc(1, sizeof(*q));
	uint64_t own[GP__AQL_RETAINED_MAX];

	assert_non_null(q);
	for (uint32_t i = 0; i < GP__AQL_RETAINED_MAX; i++)
		own[i] = (uint64_t)(uintptr_t)&q->own[i];
	for (int i = 0; i < SIZE; i++)
		q->ours[i].header = GP__AQL_INVALID;
	gp__aql_ring_init(&q->ring, &q->read, &q->write, note_ring, q);
	gp__aql_retained_init(&q->retained, q->theirs, q->ours, SIZE, 0, own);
	q->retained.end = move_signal;
	gp__aql_ring_retain(&q->ring, &q->retained);
	gp__aql_ring_set_gate(&q->ring, GP__AQL_NARROW);
	return q;
}

static void end(struct queue *q)
{
	gp__aql_ring_destroy(&q->ring);
	free(q);
}

/*
 * The program
 */

static struct gp__aql_packet kernel(uint32_t number, struct gp__hsa_signal *signal)
{
	struct gp__aql_packet p = { .header = GP__AQL_DISPATCH | GP__AQL_BARRIER_BIT,
				    .signal = (uint64_t)(uintptr_t)signal };

	p.more[0] = number;
	return p;
}

static void write_packet(struct queue *q, uint64_t at, const struct gp__aql_packet *p)
{
	assert_int_equal(q->theirs[at % SIZE].header, GP__AQL_INVALID);
	memcpy(&q->theirs[at % SIZE], p, sizeof(*p));
}

static void launch(struct queue *q, struct gp__aql_packet p)
{
	uint64_t at = atomic_fetch_add(&q->ring.write, 1);

	write_packet(q, at, &p);
	gp__aql_ring_announce(&q->ring, at);
}

static void launch_kernel(struct queue *q, uint32_t number)
{
	launch(q, kernel(number, NULL));
}

/*
 * The packet processor
 */

static bool begin_packet(struct queue *q, bool early)
{
	struct gp__aql_packet *p = &q->ours[q->next % SIZE];

	if (q->begun || q->next == q->write || (p->header & 0xff) == GP__AQL_INVALID)
		return false;
	q->begun = true;
	q->early = early;
	if (early)
		q->read = q->next + 1;
	return true;
}

static void end_packet(struct queue *q)
{
	struct gp__aql_packet *p = &q->ours[q->next % SIZE];

	if (!q->begun)
		return;
	if ((p->header & 0xff) == GP__AQL_DISPATCH) {
		assert_in_range(q->nr_ended, 0, LONG - 1);
		q->ended[q->nr_ended++] = p->more[0];
	}
	if (p->signal)
		((struct gp__hsa_signal *)(uintptr_t)p->signal)->value--;
	p->header = GP__AQL_INVALID;
	q->begun = false;
	q->read = ++q->next;
}

static void run(struct queue *q, unsigned int n)
{
	while (n-- && begin_packet(q, false))
		end_packet(q);
}

/* A reset ends the running packet; where the processor continues and what the read index says is
 * not specified. */
static void drop(struct queue *q, bool again)
{
	if (q->begun && (q->early || !again))
		q->next++;
	q->begun = false;
	gp__aql_ring_drop(&q->ring);
}

static bool hold(struct queue *q)
{
	gp__aql_ring_set_gate(&q->ring, GP__AQL_HELD);
	return gp__aql_ring_can_drop(&q->ring);
}

static void go(struct queue *q)
{
	gp__aql_ring_set_gate(&q->ring, GP__AQL_NARROW);
}

/*
 * Tests
 */

static void the_programs_signal_is_decremented_when_its_packet_has_ended(void **state)
{
	struct queue *q = begin();

	(void)state;
	q->signal[0].value = 3;
	launch(q, kernel(1, &q->signal[0]));
	launch(q, kernel(2, &q->signal[0]));
	q->own[0].start = 7;
	q->own[0].end = 9;
	run(q, 1);
	assert_int_equal(q->signal[0].value, 3);
	assert_true(gp__aql_ring_advance(&q->ring, 0));
	assert_int_equal(q->signal[0].value, 2);
	assert_int_equal(q->signal[0].start, 7);
	assert_int_equal(q->signal[0].end, 9);
	run(q, 1);
	assert_false(gp__aql_ring_advance(&q->ring, 0));
	assert_int_equal(q->signal[0].value, 1);
	end(q);
}

static void dropped_packets_are_submitted_again(void **state)
{
	for (int early = 0; early < 2; early++) {
		for (int again = 0; again < 2; again++) {
			struct queue *q = begin();

			(void)state;
			for (uint32_t i = 0; i < 4; i++)
				launch_kernel(q, i);
			run(q, 1);
			begin_packet(q, early);
			assert_true(hold(q));
			launch_kernel(q, 4);
			drop(q, again);
			run(q, SIZE);
			assert_int_equal(q->nr_ended, 1);
			go(q);
			run(q, SIZE);
			assert_int_equal(q->nr_ended, 5);
			for (uint32_t i = 0; i < 5; i++)
				assert_int_equal(q->ended[i], i);
			gp__aql_ring_advance(&q->ring, 0);
			assert_int_equal(gp__aql_ring_read(&q->ring), 5);
			end(q);
		}
	}
}

static void no_packet_is_dropped_twice(void **state)
{
	struct queue *q = begin();

	(void)state;
	launch_kernel(q, 1);
	begin_packet(q, false);
	assert_true(hold(q));
	drop(q, false);
	go(q);
	launch_kernel(q, 2);
	begin_packet(q, false);
	assert_false(hold(q));
	end_packet(q);
	go(q);
	begin_packet(q, false);
	assert_true(hold(q));
	end(q);
}

static void an_idle_queue_has_nothing_to_drop(void **state)
{
	struct queue *q = begin();

	(void)state;
	assert_false(hold(q));
	go(q);
	launch_kernel(q, 1);
	run(q, 1);
	assert_false(hold(q));
	end(q);
}

static void packets_that_cannot_run_again_are_not_dropped(void **state)
{
	struct gp__aql_packet packet[] = {
		{ .header = GP__AQL_BARRIER_AND, .more = { [2] = 1 } },
		{ .header = GP__AQL_BARRIER_OR, .word = { [1] = 1 } },
		{ .header = GP__AQL_VENDOR, .setup = GP__AQL_AMD_BARRIER_VALUE },
		{ .header = GP__AQL_VENDOR, .setup = 1 },
		{ .header = GP__AQL_DISPATCH, .scratch_bytes = 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(packet) / sizeof(packet[0]); i++) {
		struct queue *q = begin();

		launch(q, packet[i]);
		assert_int_equal(q->write, 1);
		launch_kernel(q, 1);
		assert_false(hold(q));
		/* The end of a later packet with a barrier bit shows that it has ended. */
		go(q);
		run(q, 2);
		launch_kernel(q, 2);
		launch_kernel(q, 3);
		run(q, 1);
		assert_true(hold(q));
		end(q);
	}
}

/* Untracked packets signal the program directly, which must not happen before earlier packets. */
static void untracked_packets_wait_for_retained_ones(void **state)
{
	struct queue *q = begin();

	(void)state;
	q->signal[0].value = q->signal[1].value = 1;
	launch(q, kernel(1, &q->signal[0]));
	gp__aql_ring_set_gate(&q->ring, GP__AQL_OPEN);
	launch(q, kernel(2, &q->signal[1]));
	assert_int_equal(q->write, 1);
	run(q, 1);
	assert_false(gp__aql_ring_advance(&q->ring, 0));
	assert_int_equal(q->signal[0].value, 0);
	assert_int_equal(q->write, 2);
	run(q, 1);
	assert_int_equal(q->signal[1].value, 0);
	assert_false(hold(q));
	end(q);
}

static void no_more_packets_are_submitted_than_can_be_retained_or_are_valid(void **state)
{
	struct queue *q = begin();
	struct gp__aql_packet late = kernel(0, NULL);

	(void)state;
	atomic_fetch_add(&q->ring.write, 1);
	launch_kernel(q, 1);
	assert_int_equal(q->write, 0);
	assert_int_equal(q->nr_rings, 0);
	write_packet(q, 0, &late);
	gp__aql_ring_announce(&q->ring, 0);
	assert_int_equal(q->write, 2);
	for (uint32_t i = 2; i < GP__AQL_RETAINED_MAX; i++)
		launch_kernel(q, i);
	assert_int_equal(q->write, GP__AQL_RETAINED_MAX);
	assert_int_equal(gp__aql_ring_read(&q->ring), 0);
	begin_packet(q, true);
	assert_int_equal(gp__aql_ring_read(&q->ring), 1);
	launch_kernel(q, GP__AQL_RETAINED_MAX);
	assert_true(gp__aql_ring_advance(&q->ring, 0));
	assert_int_equal(q->write, GP__AQL_RETAINED_MAX);
	end_packet(q);
	gp__aql_ring_advance(&q->ring, 0);
	assert_int_equal(q->write, GP__AQL_RETAINED_MAX + 1);
	end(q);
}

/* The runtime finds a kernel that needs scratch memory by the queue's read index. */
static void kernels_with_scratch_keep_the_programs_index(void **state)
{
	struct queue *q = begin();
	struct gp__aql_packet p = kernel(3, NULL);

	(void)state;
	launch_kernel(q, 1);
	launch_kernel(q, 2);
	begin_packet(q, false);
	assert_true(hold(q));
	drop(q, false);
	go(q);
	assert_int_equal(q->retained.shift, 2);
	p.scratch_bytes = 16;
	launch(q, p);
	for (int i = 0; i < 3 && q->nr_ended < 2; i++) {
		run(q, SIZE);
		gp__aql_ring_advance(&q->ring, 0);
	}
	gp__aql_ring_advance(&q->ring, 0);
	run(q, SIZE - 2 - 3);
	gp__aql_ring_advance(&q->ring, 0);
	while (q->nr_ended < 3) {
		assert_int_equal(q->ours[2].scratch_bytes, 16);
		assert_int_equal(q->ours[2].header & 0xff, GP__AQL_DISPATCH);
		assert_true(gp__aql_ring_read(&q->ring) <= 2);
		assert_true(begin_packet(q, false));
		if ((q->ours[q->next % SIZE].header & 0xff) == GP__AQL_DISPATCH)
			assert_int_equal(q->next % SIZE, 2);
		end_packet(q);
	}
	assert_int_equal(q->ended[2], 3);
	/* From here on the program may overwrite it. */
	assert_int_equal(gp__aql_ring_read(&q->ring), 3);
	assert_int_equal(q->ours[2].header & 0xff, GP__AQL_INVALID);
	end(q);
}

/* A random program is held and dropped at random: each kernel ends once, and in order. */
static void every_kernel_ends_once_whatever_is_dropped(void **state)
{
	struct queue *q = begin();
	unsigned int seed = 5, drops = 0;
	uint32_t launched = 0, moved = 0;

	(void)state;
	q->signal[0].value = LONG;
	while (q->nr_ended < LONG) {
		switch (rand_r(&seed) % 6) {
		case 0:
			if (launched < LONG && q->ring.write - gp__aql_ring_read(&q->ring) < SIZE) {
				bool has_signal = rand_r(&seed) % 2;

				launch(q, kernel(launched++, has_signal ? &q->signal[0] : NULL));
				moved += has_signal;
			}
			break;
		case 1:
			if (hold(q)) {
				drop(q, rand_r(&seed) % 2);
				drops++;
			}
			go(q);
			break;
		case 2:
			gp__aql_ring_set_gate(&q->ring,
					      rand_r(&seed) % 8 ? GP__AQL_NARROW : GP__AQL_OPEN);
			break;
		case 3:
			gp__aql_ring_advance(&q->ring, 0);
			break;
		case 4:
			begin_packet(q, rand_r(&seed) % 2);
			break;
		default:
			end_packet(q);
			break;
		}
	}
	gp__aql_ring_advance(&q->ring, 0);
	for (uint32_t i = 0; i < LONG; i++)
		assert_int_equal(q->ended[i], i);
	assert_int_equal(q->signal[0].value, LONG - moved);
	assert_in_range(drops, 50, UINT32_MAX);
	end(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_programs_signal_is_decremented_when_its_packet_has_ended),
		cmocka_unit_test(dropped_packets_are_submitted_again),
		cmocka_unit_test(no_packet_is_dropped_twice),
		cmocka_unit_test(an_idle_queue_has_nothing_to_drop),
		cmocka_unit_test(packets_that_cannot_run_again_are_not_dropped),
		cmocka_unit_test(untracked_packets_wait_for_retained_ones),
		cmocka_unit_test(no_more_packets_are_submitted_than_can_be_retained_or_are_valid),
		cmocka_unit_test(kernels_with_scratch_keep_the_programs_index),
		cmocka_unit_test(every_kernel_ends_once_whatever_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
