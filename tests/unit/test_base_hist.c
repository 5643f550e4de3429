// SPDX-License-Identifier: MIT
#include "test.h"

#include "base/hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct gp__hist h, other;

static int setup(void **state)
{
	(void)state;
	memset(&h, 0, sizeof(h));
	memset(&other, 0, sizeof(other));
	return 0;
}

static uint64_t quantile(double q)
{
	uint64_t value = 0;

	assert_int_equal(gp__hist_quantile(&h, q, &value), 0);
	return value;
}

static void assert_close(uint64_t got, uint64_t exact)
{
	double error = ((double)got - (double)exact) / (double)exact;

	if (error < -0.008 || error > 0.008)
		fail_msg("%llu is not close to %llu", (unsigned long long)got,
			 (unsigned long long)exact);
}

static void test_empty_is_not_zero(void **state)
{
	uint64_t value = 7;
	double mean = 7;

	(void)state;
	assert_int_equal(gp__hist_quantile(&h, 0.5, &value), -ENODATA);
	assert_int_equal(gp__hist_quantile(&h, 0, &value), -ENODATA);
	assert_int_equal(gp__hist_quantile(&h, 1, &value), -ENODATA);
	assert_int_equal(gp__hist_mean(&h, &mean), -ENODATA);
	assert_int_equal(value, 7);
	assert_true(mean == 7);
	gp__hist_record(&h, 0);
	assert_int_equal(quantile(0.5), 0);
	assert_int_equal(h.count, 1);
}

static void test_bad_quantile(void **state)
{
	uint64_t value;

	(void)state;
	gp__hist_record(&h, 1);
	assert_int_equal(gp__hist_quantile(&h, -0.1, &value), -EINVAL);
	assert_int_equal(gp__hist_quantile(&h, 1.1, &value), -EINVAL);
	assert_int_equal(gp__hist_quantile(&h, 0.0 / 0.0, &value), -EINVAL);
}

static void test_small_values_are_exact(void **state)
{
	(void)state;
	for (uint64_t v = 0; v < 128; v++)
		gp__hist_record(&h, v);
	for (uint64_t v = 1; v <= 128; v++)
		assert_int_equal(quantile((double)v / 128), v - 1);
}

/* Each power of two, its neighbours and a value between: on their own, all are close. */
static void test_every_size_is_close(void **state)
{
	(void)state;
	for (unsigned int bit = 1; bit < 64; bit++) {
		for (int offset = -1; offset <= 1; offset++) {
			uint64_t v = (1ull << bit) + (uint64_t)(int64_t)offset;

			memset(&h, 0, sizeof(h));
			/* Outliers on both sides keep min and max from hiding the bucket. */
			gp__hist_record(&h, 0);
			for (int i = 0; i < 5; i++)
				gp__hist_record(&h, v);
			gp__hist_record(&h, UINT64_MAX);
			if (v)
				assert_close(quantile(0.5), v);
		}
	}
}

static void test_quantiles_are_ranks(void **state)
{
	(void)state;
	for (uint64_t v = 1; v <= 1000; v++)
		gp__hist_record(&h, v * 1000);
	assert_int_equal(quantile(0), 1000);
	assert_close(quantile(0.001), 1000);
	assert_close(quantile(0.5), 500000);
	assert_close(quantile(0.99), 990000);
	assert_close(quantile(0.999), 999000);
	assert_int_equal(quantile(1), 1000000);
}

static void test_never_outside_min_max(void **state)
{
	(void)state;
	gp__hist_record(&h, 1000001);
	assert_int_equal(quantile(0.5), 1000001);
	assert_int_equal(quantile(0.999), 1000001);
}

static void test_mean_beyond_64_bits(void **state)
{
	double mean;

	(void)state;
	for (int i = 0; i < 1000; i++)
		gp__hist_record(&h, UINT64_MAX);
	assert_int_equal(gp__hist_mean(&h, &mean), 0);
	assert_true(mean > 1.84e19 && mean < 1.85e19);
	memset(&h, 0, sizeof(h));
	gp__hist_record(&h, 1);
	gp__hist_record(&h, 2);
	assert_int_equal(gp__hist_mean(&h, &mean), 0);
	assert_true(mean == 1.5);
}

static void test_merge_is_recording_both(void **state)
{
	struct gp__hist *both = calloc(1, sizeof(*both));

	(void)state;
	assert_non_null(both);
	for (uint64_t v = 1; v < 1000; v++) {
		gp__hist_record(v % 3 ? &h : &other, v * v * v);
		gp__hist_record(both, v * v * v);
	}
	gp__hist_merge(&h, &other);
	assert_memory_equal(&h, both, sizeof(h));
	free(both);
}

static void test_merge_with_empty(void **state)
{
	uint64_t value;

	(void)state;
	gp__hist_record(&h, 5);
	gp__hist_merge(&h, &other);
	assert_int_equal(quantile(0), 5);
	gp__hist_merge(&other, &h);
	assert_int_equal(gp__hist_quantile(&other, 0, &value), 0);
	assert_int_equal(value, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_empty_is_not_zero, setup),
		cmocka_unit_test_setup(test_bad_quantile, setup),
		cmocka_unit_test_setup(test_small_values_are_exact, setup),
		cmocka_unit_test_setup(test_every_size_is_close, setup),
		cmocka_unit_test_setup(test_quantiles_are_ranks, setup),
		cmocka_unit_test_setup(test_never_outside_min_max, setup),
		cmocka_unit_test_setup(test_mean_beyond_64_bits, setup),
		cmocka_unit_test_setup(test_merge_is_recording_both, setup),
		cmocka_unit_test_setup(test_merge_with_empty, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
