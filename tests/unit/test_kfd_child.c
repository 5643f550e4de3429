// SPDX-License-Identifier: MIT
/* Functions in child processes that return, die, leave and hang. */
#include "device/kfd/child.h"
#include "test.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LONG_MS 60000
#define SHORT_MS 100

static _Atomic int *shared;

static void count(void *arg)
{
	atomic_fetch_add((_Atomic int *)arg, 1);
}

static void count_and_abort(void *arg)
{
	count(arg);
	signal(SIGABRT, SIG_DFL);
	abort();
}

static void count_and_leave(void *arg)
{
	count(arg);
	_exit(0);
}

static void count_and_hang(void *arg)
{
	count(arg);
	for (;;)
		pause();
}

static void what_a_child_finds_is_seen(void **state)
{
	int number = 99;

	(void)state;
	atomic_store(shared, 0);
	for (int i = 1; i <= 20; i++) {
		assert_int_equal(gp__child_run(count, (void *)shared, LONG_MS, &number),
				 GP__CHILD_DONE);
		assert_int_equal(atomic_load(shared), i);
		assert_int_equal(number, 0);
	}
}

static void a_child_that_dies_is_told_of(void **state)
{
	int number;

	(void)state;
	atomic_store(shared, 0);
	assert_int_equal(gp__child_run(count_and_abort, (void *)shared, LONG_MS, &number),
			 GP__CHILD_DIED);
	assert_int_equal(number, SIGABRT);
	assert_int_equal(gp__child_run(count_and_leave, (void *)shared, LONG_MS, &number),
			 GP__CHILD_DIED);
	assert_int_equal(number, 0);
	assert_int_equal(gp__child_run(count_and_leave, (void *)shared, LONG_MS, NULL),
			 GP__CHILD_DIED);
	assert_int_equal(atomic_load(shared), 3);
}

static void a_child_that_hangs_is_killed(void **state)
{
	int number;

	(void)state;
	assert_int_equal(gp__child_run(count_and_hang, (void *)shared, SHORT_MS, &number),
			 GP__CHILD_HUNG);
	assert_int_equal(number, SIGKILL);
	assert_int_equal(gp__child_run(count_and_hang, (void *)shared, 0, NULL), GP__CHILD_HUNG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_child_finds_is_seen),
		cmocka_unit_test(a_child_that_dies_is_told_of),
		cmocka_unit_test(a_child_that_hangs_is_killed),
	};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return cmocka_run_group_tests_name("kfd_child", tests, NULL, NULL);
}
