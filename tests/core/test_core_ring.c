// SPDX-License-Identifier: MIT
/* Whether a queue has work, from its ring: what is read of it, and what follows from that. */
#include "../unit/test.h"

#include <string.h>

#include "core/ring.h"

#define GRACE 1000
#define RING_BYTES 1024
#define PACKETS (RING_BYTES / 64)

/*
 * What follows from what is seen
 */

static enum gp__ring_event look(struct gp__ring *ring, u64 rptr, u64 wptr, u64 now)
{
	const struct gp__ring_sight sight = { .rptr = rptr, .wptr = wptr, .pending = wptr - rptr };

	return gp__ring_look(ring, &sight, true, GRACE, now);
}

static enum gp__ring_event look_at_signal(struct gp__ring *ring, u64 index, s64 signal)
{
	const struct gp__ring_sight sight = {
		.rptr = index, .wptr = index, .has_signal = true, .signal = signal
	};

	return gp__ring_look(ring, &sight, true, GRACE, 1);
}

static void work_comes_with_the_write_pointer(void **unused)
{
	struct gp__ring ring = { 0 };

	assert_int_equal(look(&ring, 0, 0, 0), GP__RING_NOTHING);
	assert_int_equal(look(&ring, 0, 1, 1), GP__RING_READY);
	assert_int_equal(look(&ring, 0, 2, 2), GP__RING_NOTHING);
	assert_true(ring.is_busy);
	(void)unused;
}

static void work_may_be_there_at_the_first_look(void **unused)
{
	struct gp__ring ring = { 0 }, consumed = { 0 }, done = { 0 };

	assert_int_equal(look(&ring, 5, 6, 0), GP__RING_READY);
	assert_int_equal(look(&consumed, 6, 6, 0), GP__RING_READY);
	assert_int_equal(look(&consumed, 6, 6, GRACE), GP__RING_IDLE);
	assert_int_equal(look_at_signal(&done, 6, 0), GP__RING_NOTHING);
	(void)unused;
}

static void consumed_is_not_done(void **unused)
{
	struct gp__ring ring = { 0 };

	look(&ring, 0, 1, 0);
	assert_int_equal(look(&ring, 1, 1, 10), GP__RING_NOTHING);
	assert_int_equal(look(&ring, 1, 1, 10 + GRACE - 1), GP__RING_NOTHING);
	assert_int_equal(look(&ring, 1, 1, 10 + GRACE), GP__RING_IDLE);
	(void)unused;
}

/* It came and was consumed between two looks: it may still run. */
static void consumed_unseen_is_work(void **unused)
{
	struct gp__ring ring = { 0 };

	look(&ring, 0, 0, 0);
	assert_int_equal(look(&ring, 1, 1, 1), GP__RING_READY);
	(void)unused;
}

static void a_signal_that_fired_ends_it(void **unused)
{
	struct gp__ring ring = { 0 };

	look(&ring, 0, 1, 0);
	assert_int_equal(look_at_signal(&ring, 1, 1), GP__RING_NOTHING);
	assert_int_equal(look_at_signal(&ring, 1, 0), GP__RING_IDLE);
	look(&ring, 1, 2, 0);
	assert_int_equal(look_at_signal(&ring, 2, 5), GP__RING_NOTHING);
	assert_int_equal(look_at_signal(&ring, 2, 4), GP__RING_IDLE);
	(void)unused;
}

/* Of other packets: its value was another before. */
static void another_signal_is_not_compared(void **unused)
{
	struct gp__ring ring = { 0 };

	look(&ring, 0, 1, 0);
	assert_int_equal(look_at_signal(&ring, 1, 5), GP__RING_NOTHING);
	assert_int_equal(look_at_signal(&ring, 2, 4), GP__RING_NOTHING);
	(void)unused;
}

static void preempted_is_not_done(void **unused)
{
	const struct gp__ring_sight sight = { .rptr = 1, .wptr = 1 };
	struct gp__ring ring = { 0 };

	look(&ring, 0, 1, 0);
	look(&ring, 1, 1, 1);
	assert_int_equal(gp__ring_look(&ring, &sight, false, GRACE, 9 * GRACE), GP__RING_NOTHING);
	assert_int_equal(look(&ring, 1, 1, 9 * GRACE + 1), GP__RING_NOTHING);
	assert_int_equal(look(&ring, 1, 1, 10 * GRACE), GP__RING_IDLE);
	(void)unused;
}

/*
 * Seeing it, in a program's memory
 */

struct program {
	u64 rptr, wptr;
	u64 signal[2];
	u8 ring[RING_BYTES];
};

#define AT(member) offsetof(struct program, member)

/* Addresses are those in the program; what is beyond it is not there. */
static bool read_program(void *data, u64 address, void *to, size_t bytes)
{
	if (address > sizeof(struct program) - bytes)
		return false;
	memcpy(to, (const u8 *)data + address, bytes);
	return true;
}

static const struct gp__ring_place aql = { .ring = AT(ring),
					   .bytes = RING_BYTES,
					   .read_ptr = AT(rptr),
					   .write_ptr = AT(wptr),
					   .is_aql = true };

static int see(struct program *p, const struct gp__ring_place *place, struct gp__ring_sight *sight)
{
	const struct gp__ring_reader from = { read_program, p };

	return gp__ring_read(place, &from, sight);
}

static void set_signal(struct program *p, u32 slot, u64 handle)
{
	memcpy(&p->ring[slot * 64 + 56], &handle, sizeof(handle));
}

static void pointers_and_signal_are_read(void **unused)
{
	struct program p = { .wptr = PACKETS + 3, .rptr = PACKETS + 2, .signal = { 0, 7 } };
	struct gp__ring_sight sight;

	set_signal(&p, 2, AT(signal));
	assert_int_equal(see(&p, &aql, &sight), 0);
	assert_int_equal(sight.pending, 1);
	assert_false(sight.has_signal);
	p.rptr++;
	assert_int_equal(see(&p, &aql, &sight), 0);
	assert_int_equal(sight.pending, 0);
	assert_true(sight.has_signal);
	assert_int_equal(sight.signal, 7);
	(void)unused;
}

static void nonsense_is_refused(void **unused)
{
	struct program p = { .rptr = 1 };
	struct gp__ring_place odd = aql;
	struct gp__ring_sight sight;

	assert_int_equal(see(&p, &aql, &sight), -ERANGE);
	p.wptr = PACKETS + 2;
	assert_int_equal(see(&p, &aql, &sight), -ERANGE);
	odd.bytes = 12;
	odd.is_aql = false;
	assert_int_equal(see(&p, &odd, &sight), -ERANGE);
	(void)unused;
}

static void what_is_not_there_is_unknown(void **unused)
{
	struct program p = { .rptr = 1, .wptr = 1 };
	struct gp__ring_place place = aql;
	struct gp__ring_sight sight;

	for (int is_aql = 0; is_aql < 2; is_aql++) {
		place = aql;
		place.is_aql = is_aql;
		place.write_ptr = ~(u64)0;
		assert_int_equal(see(&p, &place, &sight), -EFAULT);
		place.write_ptr = AT(wptr);
		place.read_ptr = sizeof(p);
		assert_int_equal(see(&p, &place, &sight), -EFAULT);
	}
	/* A signal that is nowhere says nothing, and neither does a ring. */
	set_signal(&p, 0, ~(u64)0 - 8);
	assert_int_equal(see(&p, &aql, &sight), 0);
	assert_false(sight.has_signal);
	place = aql;
	place.ring = sizeof(p);
	assert_int_equal(see(&p, &place, &sight), 0);
	assert_false(sight.has_signal);
	(void)unused;
}

static void pm4_goes_round(void **unused)
{
	struct program p = { .rptr = RING_BYTES / 4 - 8, .wptr = 8 };
	struct gp__ring_place place = aql;
	struct gp__ring_sight sight;

	place.is_aql = false;
	assert_int_equal(see(&p, &place, &sight), 0);
	assert_int_equal(sight.pending, 16);
	(void)unused;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_comes_with_the_write_pointer),
		cmocka_unit_test(work_may_be_there_at_the_first_look),
		cmocka_unit_test(consumed_is_not_done),
		cmocka_unit_test(consumed_unseen_is_work),
		cmocka_unit_test(a_signal_that_fired_ends_it),
		cmocka_unit_test(another_signal_is_not_compared),
		cmocka_unit_test(preempted_is_not_done),
		cmocka_unit_test(pointers_and_signal_are_read),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(what_is_not_there_is_unknown),
		cmocka_unit_test(pm4_goes_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
