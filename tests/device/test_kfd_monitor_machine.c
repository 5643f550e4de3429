// SPDX-License-Identifier: MIT
/* A kernel that runs long is seen to run, on an emulated machine, with and without a signal. */
#include "device/kfd/monitor.h"
#include "device/kfd/waves.h"
#include "gate.h"
#include "../unit/test.h"

#include <stdio.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define KERNEL_MS 250 /* longer than the monitor waits if the driver does not report waves */
/* The limit for a kernel if the driver does not report waves. */
#define BLIND_NS 3000000000ull

static struct gate gate; /* a process opens a GPU once */

struct counts {
	atomic_uint ready, idle;
};

static void on_ready(void *data, void *cookie, uint64_t pending, uint64_t now)
{
	struct counts *c = data;

	(void)cookie;
	(void)pending;
	(void)now;
	atomic_fetch_add(&c->ready, 1);
}

static bool on_idle(void *data, void *cookie, uint64_t now)
{
	struct counts *c = data;

	(void)cookie;
	(void)now;
	atomic_fetch_add(&c->idle, 1);
	return true;
}

static void wait_for(atomic_uint *count, unsigned int value)
{
	for (int i = 0; i < PATIENCE_MS && atomic_load(count) < value; i++)
		usleep(1000);
	assert_int_equal(atomic_load(count), value);
}

static void watch_long_kernels(bool with_signal)
{
	struct counts c = { 0 };
	struct gp__kfd_queue_info info = gp__kfd_queue_info(&gate.q);
	bool told = gp__kfd_waves(getpid(), info.gpu_id, info.id) >= 0;
	const struct gp__kfd_monitor_options o = {
		.ready = on_ready, .idle = on_idle, .data = &c, .blind_ns = told ? 0 : BLIND_NS
	};
	struct gp__kfd_monitor *monitor;

	assert_int_equal(gp__kfd_monitor_create(&o, &monitor), 0);
	assert_int_equal(gp__kfd_monitor_add(monitor, &info, &gate), 0);
	for (unsigned int i = 1; i <= 2; i++) {
		gate_close(&gate, with_signal);
		wait_for(&c.ready, i);
		usleep(1000 * KERNEL_MS);
		/* The packet was fetched long ago. */
		assert_int_equal(*(volatile uint64_t *)info.read_index,
				 *(volatile uint64_t *)info.write_index);
		assert_int_equal(atomic_load(&c.idle), i - 1);
		gate_open(&gate);
		wait_for(&c.idle, i);
		assert_int_equal(atomic_load(&c.ready), i);
	}
	gp__kfd_monitor_destroy(monitor);
}

static void a_long_kernel_with_a_signal(void **state)
{
	(void)state;
	watch_long_kernels(true);
}

static void a_long_kernel_without_a_signal(void **state)
{
	(void)state;
	watch_long_kernels(false);
}

static void the_driver_tells_of_waves_or_of_nothing(void **state)
{
	const uint32_t gpu = gate.u.node.gpu_id, id = gate.q.id;
	int waves;

	(void)state;
	gate_close(&gate, true);
	waves = gp__kfd_waves(getpid(), gpu, id);
	if (waves < 0)
		print_message("this machine has no cu_occupancy\n");
	else
		assert_int_equal(waves, 1);
	/* An id that is not a queue of this process has no answer. */
	assert_int_equal(gp__kfd_waves(getpid(), gpu, id + 1), -1);
	assert_int_equal(gp__kfd_waves(getpid(), gpu + 1, id), -1);
	assert_int_equal(gp__kfd_waves(1, gpu, id), -1);
	gate_open(&gate);
	for (int i = 0; i < PATIENCE_MS && gp__kfd_waves(getpid(), gpu, id) > 0; i++)
		usleep(1000);
	assert_int_equal(gp__kfd_waves(getpid(), gpu, id), waves < 0 ? -1 : 0);
}

static const char *kernels;

static int begin(void **state)
{
	(void)state;
	gate_begin(&gate, kernels);
	return 0;
}

static int end(void **state)
{
	(void)state;
	gate_end(&gate);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_kernel_with_a_signal),
		cmocka_unit_test(a_long_kernel_without_a_signal),
		cmocka_unit_test(the_driver_tells_of_waves_or_of_nothing),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: %s KERNELS\n", argv[0]);
		return 2;
	}
	kernels = argv[1];
	return cmocka_run_group_tests_name("kfd_monitor_machine", tests, begin, end);
}
