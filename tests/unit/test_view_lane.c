// SPDX-License-Identifier: MIT
/* A lane against the same history looked at nanosecond by nanosecond. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "view/lane.h"

#define BIN 4u
#define WINDOW (BIN * GP__LANE_BINS)

static uint64_t all_known(const struct gp__lane *l, uint32_t columns)
{
	uint64_t known = 0;

	for (uint32_t i = 0; i < columns; i++)
		known += gp__lane_column(l, columns, i).known;
	return known;
}

static void what_it_did_is_summed_up(void **state)
{
	struct gp__lane l;
	struct gp__lane_bin sum;

	(void)state;
	gp__lane_init(&l, WINDOW, 100);
	gp__lane_set(&l, GP__LANE_RUN, 100);
	gp__lane_set(&l, GP__LANE_HELD, 130);
	gp__lane_set(&l, GP__LANE_RUN, 150);
	gp__lane_set(&l, GP__LANE_IDLE, 151);
	gp__lane_advance(&l, 161);
	sum = gp__lane_sum(&l);
	assert_int_equal(sum.known, 61);
	assert_int_equal(sum.run, 31);
	assert_int_equal(sum.held, 20);
	assert_int_equal(sum.nr_waits, 1);
	assert_int_equal(sum.waited, 20);
	assert_int_equal(sum.longest_wait, 20);
}

static void the_time_is_divided(void **state)
{
	struct gp__lane l;
	struct gp__lane_bin sum;

	(void)state;
	gp__lane_init(&l, WINDOW, 100);
	gp__lane_set(&l, GP__LANE_RUN, 100);
	gp__lane_share(&l, 1, 2, 120);
	gp__lane_share(&l, 1, 1, 140);
	gp__lane_set(&l, GP__LANE_YIELD, 150);
	gp__lane_share(&l, 1, 4, 150);
	gp__lane_advance(&l, 160);
	sum = gp__lane_sum(&l);
	assert_int_equal(sum.known, 60);
	assert_int_equal(sum.run, 20 + 10 + 10);
	assert_int_equal(sum.yielded, 10);
	assert_int_equal(sum.held + sum.nr_waits, 0);
}

static void what_is_not_known_counts_for_nothing(void **state)
{
	struct gp__lane l;

	(void)state;
	gp__lane_init(&l, WINDOW, 0);
	gp__lane_advance(&l, 500);
	assert_int_equal(gp__lane_sum(&l).known, 0);
}

static void time_does_not_go_back(void **state)
{
	struct gp__lane l;

	(void)state;
	gp__lane_init(&l, WINDOW, 1000);
	gp__lane_set(&l, GP__LANE_RUN, 1000);
	gp__lane_set(&l, GP__LANE_IDLE, 900);
	gp__lane_advance(&l, 1010);
	assert_int_equal(gp__lane_sum(&l).run, 0);
	assert_int_equal(gp__lane_sum(&l).known, 10);
}

static void what_is_long_ago_is_forgotten(void **state)
{
	struct gp__lane l;

	(void)state;
	gp__lane_init(&l, WINDOW, 0);
	gp__lane_set(&l, GP__LANE_RUN, 0);
	gp__lane_set(&l, GP__LANE_IDLE, 50);
	gp__lane_advance(&l, 10 * WINDOW);
	assert_int_equal(gp__lane_sum(&l).run, 0);
	assert_true(gp__lane_sum(&l).known <= WINDOW);
	assert_true(gp__lane_sum(&l).known > WINDOW - 2 * BIN);
}

static void as_many_columns_as_fit(void **state)
{
	(void)state;
	assert_int_equal(gp__lane_columns(0), 0);
	for (uint32_t most = 1; most < 2000; most++) {
		assert_in_range(gp__lane_columns(most), 1, most);
		assert_true(2 * gp__lane_columns(most) >=
			    (most < GP__LANE_BINS ? most : GP__LANE_BINS));
	}
}

/* The kinds of the last moments, one by one. */
static struct gp__lane_bin expected(const uint8_t *kinds, uint64_t from, uint64_t to)
{
	struct gp__lane_bin sum = { 0 };

	for (uint64_t t = from; t < to; t++) {
		sum.known += kinds[t] != GP__LANE_UNKNOWN;
		sum.run += kinds[t] == GP__LANE_RUN;
		sum.held += kinds[t] == GP__LANE_HELD;
	}
	return sum;
}

static void a_random_history_is_as_it_was(void **state)
{
	const uint64_t end = 20 * WINDOW;
	uint8_t *kinds = calloc(end, 1);
	struct gp__lane l;
	uint64_t now = 0;

	(void)state;
	assert_non_null(kinds);
	srand(1);
	gp__lane_init(&l, WINDOW, 0);
	while (now < end) {
		enum gp__lane_kind kind = (enum gp__lane_kind)(rand() % 4);
		uint64_t until = now + (uint64_t)(rand() % (rand() % 50 ? 40 : 3 * (int)WINDOW));
		struct gp__lane_bin got, want;
		uint64_t oldest;

		until = until < end ? until : end;
		memset(kinds + now, (int)kind, until - now);
		gp__lane_set(&l, kind, now);
		gp__lane_advance(&l, until);
		now = until;
		/* Whole moments, and the one that is not over. */
		oldest = now / BIN >= GP__LANE_BINS ? (now / BIN - GP__LANE_BINS + 1) * BIN : 0;
		got = gp__lane_sum(&l);
		want = expected(kinds, oldest, now);
		assert_int_equal(got.known, want.known);
		assert_int_equal(got.run, want.run);
		assert_int_equal(got.held, want.held);
		/* Columns show all of it but what they have no room for, once. */
		for (uint32_t columns = 1; columns <= GP__LANE_BINS; columns = columns * 3 + 1)
			assert_true(all_known(&l, columns) <= got.known);
		assert_int_equal(all_known(&l, GP__LANE_BINS), got.known);
	}
	free(kinds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_did_is_summed_up),
		cmocka_unit_test(the_time_is_divided),
		cmocka_unit_test(what_is_not_known_counts_for_nothing),
		cmocka_unit_test(time_does_not_go_back),
		cmocka_unit_test(what_is_long_ago_is_forgotten),
		cmocka_unit_test(as_many_columns_as_fit),
		cmocka_unit_test(a_random_history_is_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
