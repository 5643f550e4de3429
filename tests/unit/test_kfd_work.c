// SPDX-License-Identifier: MIT
/*
 * Reports of a queue's work by a launch hook and a monitor that do not wait for each other.
 */
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/kfd/monitor.h"
#include "device/kfd/work.h"

#define QUEUE 3
#define LAUNCHES 200000

static struct {
	struct gp__kfd_work work;
	atomic_uint nr_ready, nr_idle;
	atomic_bool is_busy;
	atomic_bool blocks, is_blocked; /* the monitor, in the middle of a look */
	atomic_ulong launched; /* by the program */
	atomic_ulong done; /* by the GPU */
	atomic_bool reports; /* the hook reports the next launch */
	atomic_bool ends;
} t;

static void report(void *data, uint32_t id, bool has_work, uint64_t pending, uint64_t now)
{
	(void)data, (void)pending, (void)now;
	assert_int_equal(id, QUEUE);
	/* Each change once. */
	assert_true(atomic_exchange(&t.is_busy, has_work) != has_work);
	atomic_fetch_add(has_work ? &t.nr_ready : &t.nr_idle, 1);
}

static int begin(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	gp__kfd_work_init(&t.work, report, NULL);
	gp__kfd_work_add(&t.work, QUEUE);
	return 0;
}

static void each_change_is_reported_once(void **state)
{
	uint64_t count;

	(void)state;
	gp__kfd_work_arrived(&t.work, QUEUE, 1);
	gp__kfd_work_ready(&t.work, QUEUE, 1, 2);
	assert_int_equal(t.nr_ready, 1);
	assert_true(gp__kfd_work_take(&t.work, QUEUE));
	assert_false(gp__kfd_work_take(&t.work, QUEUE));
	count = gp__kfd_work_count(&t.work, QUEUE);
	assert_true(gp__kfd_work_idle(&t.work, QUEUE, count, 3));
	assert_true(gp__kfd_work_idle(&t.work, QUEUE, count, 4));
	assert_int_equal(t.nr_idle, 1);
}

static void a_launch_after_the_look_is_not_lost(void **state)
{
	uint64_t count;

	(void)state;
	gp__kfd_work_ready(&t.work, QUEUE, 1, 1);
	count = gp__kfd_work_count(&t.work, QUEUE);
	gp__kfd_work_arrived(&t.work, QUEUE, 2);
	assert_false(gp__kfd_work_idle(&t.work, QUEUE, count, 3));
	/* Nor where it was counted, but the monitor has not heard of it. */
	count = gp__kfd_work_count(&t.work, QUEUE);
	assert_false(gp__kfd_work_idle(&t.work, QUEUE, count, 4));
	assert_true(t.is_busy);
	assert_true(gp__kfd_work_take(&t.work, QUEUE));
	assert_true(gp__kfd_work_idle(&t.work, QUEUE, count, 5));
	assert_false(t.is_busy);
}

static void unknown_queues_are_ignored(void **state)
{
	(void)state;
	gp__kfd_work_arrived(&t.work, QUEUE + 1, 1);
	gp__kfd_work_arrived(&t.work, UINT32_MAX, 1);
	gp__kfd_work_ready(&t.work, GP__KFD_QUEUES_MAX, 1, 1);
	assert_true(gp__kfd_work_idle(&t.work, UINT32_MAX, 0, 1));
	gp__kfd_work_remove(&t.work, QUEUE);
	gp__kfd_work_arrived(&t.work, QUEUE, 1);
	assert_int_equal(t.nr_ready, 0);
}

static bool block(void *data, uint64_t now)
{
	(void)data, (void)now;
	while (atomic_load(&t.blocks)) {
		atomic_store(&t.is_blocked, true);
		usleep(1000);
	}
	return false;
}

/* The monitor stands still in the middle of a look, as in a debugger, with its lock. */
static void a_launch_does_not_wait_for_the_monitor(void **state)
{
	static uint64_t indices[2];
	const struct gp__kfd_queue_info queue = { .id = QUEUE,
						  .type = GP_KFD_QUEUE_COMPUTE_AQL,
						  .ring_bytes = 4096,
						  .read_index = (uint64_t)(uintptr_t)&indices[0],
						  .write_index = (uint64_t)(uintptr_t)&indices[1] };
	struct gp__kfd_monitor *monitor;

	(void)state;
	atomic_store(&t.blocks, true);
	assert_int_equal(gp__kfd_monitor_create(
				 &(struct gp__kfd_monitor_options){ .prepare = block }, &monitor),
			 0);
	assert_int_equal(gp__kfd_monitor_add(monitor, &queue, &t), 0);
	while (!atomic_load(&t.is_blocked))
		usleep(1000);
	for (int i = 0; i < 1000; i++) {
		gp__kfd_work_arrived(&t.work, QUEUE, gp__clock_ns());
		gp__kfd_monitor_kick(monitor);
	}
	assert_true(t.is_busy);
	assert_true(atomic_load(&t.blocks));
	atomic_store(&t.blocks, false);
	gp__kfd_monitor_destroy(monitor);
}

/* The monitor as the backend has it: it looks, lets the queue rest, and looks again. */
static void *look(void *data)
{
	while (!atomic_load(&t.ends) || atomic_load(&t.is_busy)) {
		bool news = gp__kfd_work_take(&t.work, QUEUE);
		unsigned long done = atomic_load(&t.done), launched = atomic_load(&t.launched);
		uint64_t count;

		if (done != launched || news) {
			gp__kfd_work_ready(&t.work, QUEUE, 1, 1);
			atomic_store(&t.done, launched);
			continue;
		}
		count = gp__kfd_work_count(&t.work, QUEUE);
		atomic_store(&t.reports, true);
		gp__kfd_work_idle(&t.work, QUEUE, count, 1);
	}
	return data;
}

static void any_interleaving_ends_idle_and_none_is_missed(void **state)
{
	pthread_t thread;

	(void)state;
	atomic_store(&t.reports, true);
	assert_int_equal(pthread_create(&thread, NULL, look, NULL), 0);
	for (unsigned long i = 0; i < LAUNCHES; i++) {
		atomic_fetch_add(&t.launched, 1);
		if (atomic_exchange(&t.reports, false)) {
			gp__kfd_work_arrived(&t.work, QUEUE, 1);
			assert_true(atomic_load(&t.is_busy) || atomic_load(&t.done) > i);
		}
	}
	atomic_store(&t.ends, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(t.done, LAUNCHES);
	assert_false(t.is_busy);
	assert_int_equal(t.nr_ready, t.nr_idle);
	assert_true(t.nr_ready > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_change_is_reported_once, begin),
		cmocka_unit_test_setup(a_launch_after_the_look_is_not_lost, begin),
		cmocka_unit_test_setup(unknown_queues_are_ignored, begin),
		cmocka_unit_test_setup(a_launch_does_not_wait_for_the_monitor, begin),
		cmocka_unit_test_setup(any_interleaving_ends_idle_and_none_is_missed, begin),
	};

	return cmocka_run_group_tests_name("work of queues", tests, NULL, NULL);
}
