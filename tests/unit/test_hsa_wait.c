// SPDX-License-Identifier: MIT
/* Waits of a program for its signals, with a runtime of this test behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "join/hsa/abi.h"
#include "join/hsa/wait.h"

#define TICKS_PER_S 100000000
#define CALLS_MAX 8

static struct {
	unsigned int nr_calls, met_at, nr_asked;
	uint32_t state[CALLS_MAX];
	uint64_t timeout[CALLS_MAX];
	bool gives_up; /* the signal is destroyed */
	unsigned int held_at, released_at; /* by another thread, during this call */
	struct gp__hsa_waits waits;
} t;

static uint32_t info(uint32_t attribute, void *value)
{
	assert_int_equal(attribute, GP__HSA_INFO_TICKS_PER_S);
	*(uint64_t *)value = TICKS_PER_S;
	t.nr_asked++;
	return 0;
}

static int64_t runtime_waits(uint64_t signal, uint32_t condition, int64_t value, uint64_t timeout,
			     uint32_t state)
{
	unsigned int call = ++t.nr_calls;

	assert_int_equal(signal, 77);
	assert_int_equal(condition, GP__HSA_LT);
	assert_int_equal(value, 1);
	assert_true(call <= CALLS_MAX);
	t.state[call - 1] = state;
	t.timeout[call - 1] = timeout;
	if (call == t.held_at)
		atomic_store(&t.waits.held, true);
	if (call == t.released_at)
		atomic_store(&t.waits.held, false);
	if (call == t.met_at)
		return 0;
	if (!t.gives_up)
		usleep((unsigned int)(timeout * 1000000 / TICKS_PER_S));
	return 1;
}

static int64_t wait_for(uint64_t timeout, uint32_t state)
{
	return gp__hsa_wait(&t.waits, info, runtime_waits, 77, GP__HSA_LT, 1, timeout, state);
}

static int begin(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	return 0;
}

static void a_wait_polls_until_its_signal_comes(void **state)
{
	(void)state;
	t.met_at = 3;
	assert_int_equal(wait_for(UINT64_MAX, GP__HSA_WAIT_ACTIVE), 0);
	assert_int_equal(t.nr_calls, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(t.state[i], GP__HSA_WAIT_ACTIVE);
	assert_int_equal(t.nr_asked, 1);
}

static void a_wait_of_a_held_program_sleeps_until_the_release(void **state)
{
	(void)state;
	t.held_at = 2;
	t.released_at = 4;
	t.met_at = 5;
	assert_int_equal(wait_for(UINT64_MAX, GP__HSA_WAIT_ACTIVE), 0);
	assert_int_equal(t.state[1], GP__HSA_WAIT_ACTIVE);
	assert_int_equal(t.state[2], GP__HSA_WAIT_BLOCKED);
	assert_int_equal(t.state[3], GP__HSA_WAIT_BLOCKED);
	assert_int_equal(t.state[4], GP__HSA_WAIT_ACTIVE);
	assert_true(t.timeout[2] > t.timeout[1]);
}

static void a_wait_that_sleeps_or_has_a_limit_is_the_runtimes_own(void **state)
{
	(void)state;
	atomic_store(&t.waits.held, true);
	assert_int_equal(wait_for(1000, GP__HSA_WAIT_ACTIVE), 1);
	assert_int_equal(t.state[0], GP__HSA_WAIT_ACTIVE);
	assert_int_equal(t.timeout[0], 1000);
	t.met_at = 2;
	assert_int_equal(wait_for(UINT64_MAX, GP__HSA_WAIT_BLOCKED), 0);
	assert_int_equal(t.state[1], GP__HSA_WAIT_BLOCKED);
	assert_true(t.timeout[1] == UINT64_MAX);
	assert_int_equal(t.nr_calls, 2);
}

static void a_wait_that_the_runtime_gives_up_ends(void **state)
{
	(void)state;
	t.gives_up = true;
	atomic_store(&t.waits.held, true);
	assert_int_equal(wait_for(UINT64_MAX, GP__HSA_WAIT_ACTIVE), 1);
	assert_int_equal(t.nr_calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_wait_polls_until_its_signal_comes, begin),
		cmocka_unit_test_setup(a_wait_of_a_held_program_sleeps_until_the_release, begin),
		cmocka_unit_test_setup(a_wait_that_sleeps_or_has_a_limit_is_the_runtimes_own,
				       begin),
		cmocka_unit_test_setup(a_wait_that_the_runtime_gives_up_ends, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
