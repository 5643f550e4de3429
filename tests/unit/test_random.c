// SPDX-License-Identifier: MIT
/* The simulator's random numbers: reproducible, independent of each other, and of the right shape.
 */
#include "test.h"

#include <math.h>

#include "base/clock.h"
#include "sim/random.h"

#define SAMPLES 200000

static struct gp__rng rng_of(uint64_t seed, const char *owner, enum gp__draw draw)
{
	struct gp__rng rng;

	gp__rng_init(&rng, seed, owner, draw);
	return rng;
}

/* Written down once: a change here changes every published result. */
static void test_values_never_change(void **state)
{
	static const uint64_t expected[] = {
		0x554d9f3339069fe7ull,
		0x4491893c4cc95dbcull,
		0xf66fd987deab72efull,
		0x87d59978c89135eeull,
	};
	struct gp__rng rng = rng_of(1, "train", GP__DRAW_KERNEL);

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_true(gp__rng_u64(&rng) == expected[i]);
}

static int same_numbers(struct gp__rng a, struct gp__rng b)
{
	int same = 0;

	for (int i = 0; i < 1000; i++)
		same += gp__rng_u64(&a) == gp__rng_u64(&b);
	return same;
}

static void test_streams_are_apart(void **state)
{
	struct gp__rng rng = rng_of(1, "a", GP__DRAW_KERNEL);

	(void)state;
	assert_int_equal(same_numbers(rng, rng_of(1, "a", GP__DRAW_KERNEL)), 1000);
	assert_int_equal(same_numbers(rng, rng_of(2, "a", GP__DRAW_KERNEL)), 0);
	assert_int_equal(same_numbers(rng, rng_of(1, "b", GP__DRAW_KERNEL)), 0);
	assert_int_equal(same_numbers(rng, rng_of(1, "a", GP__DRAW_GAP)), 0);
}

static void test_chance(void **state)
{
	struct gp__rng rng = rng_of(3, "gpu", GP__DRAW_FAIL);
	int hits = 0;

	(void)state;
	for (int i = 0; i < SAMPLES; i++) {
		assert_false(gp__rng_chance(&rng, 0));
		assert_true(gp__rng_chance(&rng, 1));
		hits += gp__rng_chance(&rng, 0.1);
	}
	assert_true(fabs((double)hits / SAMPLES - 0.1) < 0.005);
}

struct moments {
	double mean;
	double deviation;
	uint64_t least;
	uint64_t most;
};

static struct moments measure(const struct gp__dist *dist)
{
	struct gp__rng rng = rng_of(7, "p", GP__DRAW_KERNEL);
	struct moments m = { .least = UINT64_MAX };
	double sum = 0, squares = 0;

	for (int i = 0; i < SAMPLES; i++) {
		uint64_t ns = gp__dist_sample(dist, &rng);

		sum += (double)ns;
		squares += (double)ns * (double)ns;
		m.least = ns < m.least ? ns : m.least;
		m.most = ns > m.most ? ns : m.most;
	}
	m.mean = sum / SAMPLES;
	m.deviation = sqrt(squares / SAMPLES - m.mean * m.mean);
	return m;
}

static void assert_near(double value, double expected)
{
	if (fabs(value - expected) > expected / 50)
		fail_msg("%g is not near %g", value, expected);
}

static void test_fixed(void **state)
{
	struct moments m = measure(&(struct gp__dist){ .a_ns = 20 });

	(void)state;
	assert_int_equal(m.least, 20);
	assert_int_equal(m.most, 20);
}

static void test_uniform(void **state)
{
	struct gp__dist dist = { .kind = GP__DIST_UNIFORM, .a_ns = 100, .b_ns = 300 };
	struct moments m = measure(&dist);

	(void)state;
	assert_int_equal(m.least, 100);
	assert_int_equal(m.most, 300);
	assert_near(m.mean, 200);
	assert_near(m.deviation, 200 / sqrt(12));
}

static void test_exp(void **state)
{
	struct gp__dist dist = { .kind = GP__DIST_EXP, .a_ns = GP__MS };
	struct moments m = measure(&dist);

	(void)state;
	assert_near(m.mean, 1e6);
	assert_near(m.deviation, 1e6);
	assert_true(m.least >= 1);
}

static void test_lognormal(void **state)
{
	struct gp__dist dist = { .kind = GP__DIST_LOGNORMAL, .a_ns = GP__MS, .sigma = 0.5 };
	struct moments m = measure(&dist);
	double mean = 1e6 * exp(0.125);

	(void)state;
	assert_near(m.mean, mean);
	assert_near(m.deviation, mean * sqrt(exp(0.25) - 1));
}

static void test_lognormal_median(void **state)
{
	struct gp__dist dist = { .kind = GP__DIST_LOGNORMAL, .a_ns = GP__MS, .sigma = 2 };
	struct gp__rng rng = rng_of(9, "p", GP__DRAW_KERNEL);
	int below = 0;

	(void)state;
	for (int i = 0; i < SAMPLES; i++)
		below += gp__dist_sample(&dist, &rng) < GP__MS;
	assert_true(fabs((double)below / SAMPLES - 0.5) < 0.005);
}

static void test_bounds(void **state)
{
	struct gp__dist wide = { .kind = GP__DIST_LOGNORMAL, .a_ns = GP__TIME_MAX_NS, .sigma = 5 };
	struct gp__dist tiny = { .kind = GP__DIST_EXP, .a_ns = 1 };
	struct gp__dist all = { .kind = GP__DIST_UNIFORM, .b_ns = GP__TIME_MAX_NS };

	(void)state;
	assert_true(measure(&wide).most == GP__TIME_MAX_NS);
	assert_true(measure(&tiny).least == 1);
	assert_true(measure(&all).most <= GP__TIME_MAX_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_never_change),
		cmocka_unit_test(test_streams_are_apart),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_uniform),
		cmocka_unit_test(test_exp),
		cmocka_unit_test(test_lognormal),
		cmocka_unit_test(test_lognormal_median),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
