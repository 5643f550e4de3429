// SPDX-License-Identifier: MIT
#include "test.h"

#include "base/clock.h"
#include "queue/window.h"

static void test_fit(void **state)
{
	(void)state;
	/* Nothing measured yet. */
	assert_int_equal(gp__window_fit(500 * GP__US, 0, 64), 2);
	/* As many as drain within the budget. */
	assert_int_equal(gp__window_fit(500 * GP__US, 100 * GP__US, 64), 5);
	assert_int_equal(gp__window_fit(500 * GP__US, 5 * GP__US, 64), 64);
	assert_int_equal(gp__window_fit(500 * GP__US, 250 * GP__US, 64), 2);
	/* The budget is kept with one, which is long enough not to starve. */
	assert_int_equal(gp__window_fit(500 * GP__US, 300 * GP__US, 64), 1);
	/* A single command is over the budget already. */
	assert_int_equal(gp__window_fit(500 * GP__US, 5 * GP__MS, 64), 1);
	/* A tight budget must not leave the device idle half of the time. */
	assert_int_equal(gp__window_fit(50 * GP__US, 30 * GP__US, 64), 2);
	assert_int_equal(gp__window_fit(50 * GP__US, 51 * GP__US, 64), 1);
	assert_int_equal(gp__window_fit(500 * GP__US, 1, 1), 1);
}

static void test_batch(void **state)
{
	(void)state;
	assert_int_equal(gp__window_batch(0, 1024), 1);
	assert_int_equal(gp__window_batch(10 * GP__US, 1024), 5);
	assert_int_equal(gp__window_batch(10 * GP__US, 4), 2);
	assert_int_equal(gp__window_batch(1, 1), 1);
	assert_int_equal(gp__window_batch(1 * GP__MS, 64), 1);
}

/* n commands of `each` one after another, seen exactly, the device always busy. */
static uint64_t run(struct gp__window *w, uint64_t now, unsigned int n, uint64_t each)
{
	while (n--) {
		now += each;
		gp__window_complete(w, 1, true, true, now);
	}
	return now;
}

static void test_settles_on_stable_times(void **state)
{
	static const uint64_t times[] = { 1 * GP__US,	7 * GP__US,   40 * GP__US, 90 * GP__US,
					  249 * GP__US, 400 * GP__US, 3 * GP__MS };
	struct gp__window w;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		gp__window_init(&w, 500 * GP__US, GP__WINDOW_MAX);
		gp__window_start(&w, 0);
		run(&w, 0, 40, times[i]);
		assert_int_equal(w.est_ns, times[i]);
		assert_int_equal(w.size, gp__window_fit(500 * GP__US, times[i], GP__WINDOW_MAX));
		if (times[i] <= 500 * GP__US)
			assert_true(w.size * times[i] <= 500 * GP__US);
	}
}

static void test_up_fast_down_slowly(void **state)
{
	struct gp__window w;
	uint64_t now;
	unsigned int up = 0, down = 0;

	(void)state;
	gp__window_init(&w, 500 * GP__US, GP__WINDOW_MAX);
	gp__window_start(&w, 0);
	now = run(&w, 0, 40, 10 * GP__US);
	while (w.est_ns < 90 * GP__US) {
		now = run(&w, now, 1, 100 * GP__US);
		up++;
	}
	now = run(&w, now, 20, 100 * GP__US);
	while (w.est_ns > 20 * GP__US) {
		now = run(&w, now, 1, 10 * GP__US);
		down++;
	}
	assert_in_range(up, 2, 6);
	assert_in_range(down, 3 * up, 100);
}

static void test_lone_outlier_is_outvoted(void **state)
{
	struct gp__window w;
	uint64_t now;

	(void)state;
	gp__window_init(&w, 500 * GP__US, GP__WINDOW_MAX);
	gp__window_start(&w, 0);
	now = run(&w, 0, 40, 10 * GP__US);
	now = run(&w, now, 1, 50 * GP__MS);
	now = run(&w, now, 5, 10 * GP__US);
	assert_int_equal(w.est_ns, 10 * GP__US);
	assert_int_equal(w.size, 50);
}

static void test_grows_by_doubling(void **state)
{
	struct gp__window w;

	(void)state;
	gp__window_init(&w, 500 * GP__US, GP__WINDOW_MAX);
	gp__window_start(&w, 0);
	run(&w, 0, 1, 1 * GP__US);
	assert_int_equal(w.size, 4);
	run(&w, 1 * GP__US, 1, 1 * GP__US);
	assert_int_equal(w.size, 8);
}

/* Completions noticed late, with the device long idle, must not raise the estimate. */
static void test_looking_late_does_not_raise(void **state)
{
	struct gp__window w;
	uint64_t now;

	(void)state;
	gp__window_init(&w, 500 * GP__US, GP__WINDOW_MAX);
	gp__window_start(&w, 0);
	now = run(&w, 0, 40, 10 * GP__US);
	gp__window_start(&w, now);
	gp__window_complete(&w, 1, false, true, now + 1000 * GP__MS);
	gp__window_complete(&w, 1, true, true, now + 1001 * GP__MS);
	assert_int_equal(w.est_ns, 10 * GP__US);
}

/* A burst of late looks says an upper bound, which is welcome if it is lower. */
static void test_looking_late_may_lower(void **state)
{
	struct gp__window w;
	uint64_t now;
	unsigned int i;

	(void)state;
	gp__window_init(&w, 500 * GP__US, GP__WINDOW_MAX);
	gp__window_start(&w, 0);
	now = run(&w, 0, 40, 100 * GP__US);
	for (i = 0; i < 40; i++) {
		gp__window_start(&w, now);
		now += 20 * GP__US;
		gp__window_complete(&w, 2, false, false, now);
	}
	assert_in_range(w.est_ns, 10 * GP__US, 12 * GP__US);
}

static void test_break_discards_the_span(void **state)
{
	struct gp__window w;
	uint64_t now;

	(void)state;
	gp__window_init(&w, 500 * GP__US, GP__WINDOW_MAX);
	gp__window_start(&w, 0);
	now = run(&w, 0, 40, 10 * GP__US);
	gp__window_break(&w);
	gp__window_complete(&w, 1, true, true, now + 900 * GP__MS);
	now = run(&w, now + 900 * GP__MS, 3, 10 * GP__US);
	assert_int_equal(w.est_ns, 10 * GP__US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_settles_on_stable_times),
		cmocka_unit_test(test_up_fast_down_slowly),
		cmocka_unit_test(test_lone_outlier_is_outvoted),
		cmocka_unit_test(test_grows_by_doubling),
		cmocka_unit_test(test_looking_late_does_not_raise),
		cmocka_unit_test(test_looking_late_may_lower),
		cmocka_unit_test(test_break_discards_the_span),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
