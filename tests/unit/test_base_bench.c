// SPDX-License-Identifier: MIT
/* stats and bench: medians, intervals, and what a benchmark prints. */
#include "test.h"
#include "capture.h"

#include "base/bench.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

static struct capture c;

static int setup(void **state)
{
	(void)state;
	capture_start(&c);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	capture_end(&c);
	return 0;
}

static void test_median(void **state)
{
	double odd[] = { 5, 1, 3 };
	double even[] = { 4, 1, 3, 2 };
	struct gp__stats s;

	(void)state;
	assert_int_equal(gp__stats_of(odd, 0, &s), -ENODATA);
	assert_int_equal(gp__stats_of(odd, 3, &s), 0);
	assert_true(s.median == 3 && s.min == 1 && s.max == 5 && s.n == 3);
	assert_int_equal(gp__stats_of(even, 4, &s), 0);
	assert_true(s.median == 2.5);
	assert_int_equal(gp__stats_of(odd, 1, &s), 0);
	assert_true(s.median == 1);
}

/* The ranks are those of the published tables for the median at 95 %. */
static void test_interval_ranks(void **state)
{
	static const struct {
		size_t n;
		unsigned int lo, hi;
	} cases[] = {
		{ 5, 0, 0 },	{ 6, 1, 6 },	 { 8, 1, 8 },	     { 9, 2, 8 },
		{ 10, 2, 9 },	{ 15, 4, 12 },	 { 20, 6, 15 },	     { 21, 6, 16 },
		{ 30, 10, 21 }, { 100, 40, 61 }, { 1001, 470, 532 },
	};
	static double samples[1001];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gp__stats s;

		for (size_t j = 0; j < cases[i].n; j++)
			samples[j] = (double)(cases[i].n - j);
		assert_int_equal(gp__stats_of(samples, cases[i].n, &s), 0);
		assert_int_equal(s.has_ci, cases[i].lo > 0);
		assert_int_equal((unsigned int)s.ci_lo, cases[i].lo);
		assert_int_equal((unsigned int)s.ci_hi, cases[i].hi);
	}
}

static int sleep_us(void *arg, uint64_t times)
{
	const struct timespec ts = { .tv_nsec = *(long *)arg * 1000 };

	while (times--)
		nanosleep(&ts, NULL);
	return 0;
}

static int fail_at_once(void *arg, uint64_t times)
{
	(void)arg;
	(void)times;
	return -ENODEV;
}

static int bench_sleeps(struct gp__bench_run *run)
{
	struct gp__bench_pair pair;
	struct gp__stats ns;
	long shorter = 1000, longer = 3000;
	json_t *row = json_object();
	int err;

	err = gp__bench_hot(run, sleep_us, &shorter, &ns);
	gp__bench_set(row, "hot", "ns", &ns);
	if (!err)
		err = gp__bench_cold(run, sleep_us, NULL, &shorter, &ns);
	gp__bench_set(row, "cold", "ns", &ns);
	if (!err)
		err = gp__bench_compare(run, sleep_us, &longer, sleep_us, &shorter, &pair);
	gp__bench_set(row, "ratio", "", &pair.ratio);
	gp__bench_row(run, row);
	return err;
}

static char turns[64];
static size_t n_turns;

struct player {
	char name;
};

static int note_turn(void *arg, uint64_t times)
{
	const struct player *player = arg;
	long us = 1500;

	if (n_turns < sizeof(turns) - 1)
		turns[n_turns++] = player->name;
	return sleep_us(&us, times);
}

static int bench_turns(struct gp__bench_run *run)
{
	struct player a = { 'a' }, b = { 'b' };
	struct gp__bench_pair pair;
	int err = gp__bench_compare(run, note_turn, &a, note_turn, &b, &pair);

	gp__bench_row(run, json_pack("{s:I}", "n", (json_int_t)pair.ratio.n));
	return err;
}

static int bench_endless(struct gp__bench_run *run)
{
	long us = 20000;
	struct gp__stats ns;
	int err = gp__bench_hot(run, sleep_us, &us, &ns);

	gp__bench_row(run, json_pack("{s:I}", "n", (json_int_t)ns.n));
	assert_int_equal(gp__bench_left_ns(run), 0);
	/* Whatever comes after the end still has a value. */
	if (!err)
		err = gp__bench_cold(run, sleep_us, NULL, &us, &ns);
	assert_int_equal(ns.n, 1);
	return err;
}

static int bench_fails(struct gp__bench_run *run)
{
	struct gp__stats ns;
	struct gp__bench_pair pair;
	long us = 1;

	assert_int_equal(gp__bench_cold(run, fail_at_once, NULL, NULL, &ns), -ENODEV);
	assert_int_equal(gp__bench_compare(run, sleep_us, &us, fail_at_once, NULL, &pair), -ENODEV);
	return gp__bench_fail(run, gp__bench_hot(run, fail_at_once, NULL, &ns), "no %s", "GPU");
}

static int bench_empty(struct gp__bench_run *run)
{
	(void)run;
	return 0;
}

static int bench_kinds(struct gp__bench_run *run)
{
	gp__bench_device(run, "emulated");
	gp__bench_row(run, json_pack("{s:s, s:i, s:f, s:b, s:n}", "name", "a", "whole", 12, "real",
				     0.25, "flag", 1, "unknown"));
	gp__bench_row(run, json_pack("{s:s, s:f}", "name", "b", "real", 123456.7));
	return 0;
}

static int run_bench(int (*fn)(struct gp__bench_run *run), struct gp__bench_options options)
{
	const struct gp__bench bench = { "testing", "a test", fn, NULL };
	int err = gp__bench_main(&c.env, &bench, &options);

	capture_flush(&c);
	return err;
}

static double number(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	assert_true(json_is_real(value));
	return json_real_value(value);
}

static void test_measured_values(void **state)
{
	json_t *root, *row;

	(void)state;
	c.env.json = true;
	assert_int_equal(
		run_bench(bench_sleeps, (struct gp__bench_options){ true, 7, -1, 0, NULL }), 0);
	root = json_loads(c.out, 0, NULL);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "bench")), "testing");
	assert_int_equal(json_integer_value(json_object_get(root, "schema")), 1);
	row = json_array_get(json_object_get(root, "results"), 0);
	/* A sleep is never shorter than asked for; how much longer is the machine's affair. */
	assert_true(number(row, "hot_ns") >= 1e6);
	assert_true(number(row, "hot_lo_ns") <= number(row, "hot_ns"));
	assert_true(number(row, "hot_hi_ns") >= number(row, "hot_ns"));
	assert_true(number(row, "cold_ns") >= 1e6);
	assert_true(number(row, "ratio") > 1);
	json_decref(root);
}

/* A call of each to find the number of calls in a repeat, then pairs in alternating order. */
static void test_pairs_are_interleaved(void **state)
{
	(void)state;
	assert_int_equal(run_bench(bench_turns, (struct gp__bench_options){ true, 5, -1, 0, NULL }),
			 0);
	assert_string_equal(turns, "ab"
				   "ab"
				   "ba"
				   "ab"
				   "ba"
				   "ab");
}

static void test_the_budget_ends_it(void **state)
{
	json_t *root;
	json_t *row;

	(void)state;
	c.env.json = true;
	assert_int_equal(
		run_bench(bench_endless, (struct gp__bench_options){ true, 1001, -1, 1, NULL }), 0);
	root = json_loads(c.out, 0, NULL);
	assert_non_null(root);
	assert_true(json_is_false(json_object_get(root, "complete")));
	row = json_array_get(json_object_get(root, "results"), 0);
	assert_in_range(json_integer_value(json_object_get(row, "n")), 1, 50);
	json_decref(root);
}

static void test_failure_is_told(void **state)
{
	(void)state;
	assert_int_equal(run_bench(bench_fails, (struct gp__bench_options){ true, 3, -1, 0, NULL }),
			 -ENODEV);
	assert_string_equal(c.err, "prog: benchmark testing: no GPU: No such device\n");
	assert_string_equal(c.out, "");
}

static void test_nothing_measured_is_a_failure(void **state)
{
	(void)state;
	assert_int_equal(run_bench(bench_empty, (struct gp__bench_options){ true, 3, -1, 0, NULL }),
			 -ENODATA);
	assert_non_null(strstr(c.err, "nothing was measured"));
}

static void test_table_from_rows(void **state)
{
	(void)state;
	assert_int_equal(
		run_bench(bench_kinds, (struct gp__bench_options){ false, 0, -1, 0, NULL }), 0);
	assert_non_null(strstr(c.out, "testing: a test\n"));
	assert_non_null(strstr(c.out, "device: emulated, median of 21 repeats\n"));
	assert_non_null(strstr(c.out, "name whole   real flag unknown\n"
				      "a       12   0.25  yes       -\n"
				      "b        - 123457    -       -\n"));
}

static int first_allowed_cpu(void)
{
	cpu_set_t set;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	return cpu;
}

static int bench_where(struct gp__bench_run *run)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	assert_int_equal(CPU_COUNT(&set), 1);
	return bench_kinds(run);
}

static void test_pinned_while_it_runs(void **state)
{
	struct gp__bench_options options = { true, 3, first_allowed_cpu(), 0, NULL };
	cpu_set_t before, after;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(run_bench(bench_where, options), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
}

static void test_bad_cpu(void **state)
{
	(void)state;
	assert_int_equal(
		run_bench(bench_kinds, (struct gp__bench_options){ true, 3, 1 << 20, 0, NULL }),
		-EINVAL);
	assert_non_null(strstr(c.err, "cannot run on CPU 1048576"));
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_median),
		CASE(test_interval_ranks),
		CASE(test_measured_values),
		CASE(test_pairs_are_interleaved),
		CASE(test_the_budget_ends_it),
		CASE(test_failure_is_told),
		CASE(test_nothing_measured_is_a_failure),
		CASE(test_table_from_rows),
		CASE(test_pinned_while_it_runs),
		CASE(test_bad_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
