// SPDX-License-Identifier: MIT
/* The AMD backend in a program: orders of the agent against libraries that see launches. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/kfd/backend.h"
#include "device/kfd/join.h"
#include "fake_kfd.h"

static struct {
	void *join;
	pthread_t agent;
	atomic_bool is_told, is_started;
	bool is_narrow; /* as the library was told last */
} t;

static int no_ioctl(int fd, unsigned long request, void *argument)
{
	(void)fd, (void)request, (void)argument;
	errno = ENODEV;
	return -1;
}

static void *tell_of_another_program(void *data)
{
	gp__backend_amd.program->queue.alone(t.join, false);
	t.is_told = true;
	return data;
}

/* While the library is being told, another program comes: the agent says so if it can by then. */
static void narrow(bool is_narrow)
{
	if (!atomic_exchange(&t.is_started, true)) {
		assert_int_equal(pthread_create(&t.agent, NULL, tell_of_another_program, NULL), 0);
		for (int i = 0; i < 100 && !t.is_told; i++)
			usleep(1000);
	}
	t.is_narrow = is_narrow;
}

static void a_launch_library_hears_of_another_program_while_it_loads(void **state)
{
	static const struct gp__kfd_launches launches = { .narrow = narrow };
	static const struct gp__port_ops ops;
	static const struct gp__request request;
	struct gp__port port = { &ops, &request };
	char why[GP__WIRE_TEXT_MAX];

	(void)state;
	assert_int_equal(gp__backend_amd.program->create(&port, no_ioctl, &t.join, why), 0);
	gp__kfd_join_launches(t.join, &launches);
	pthread_join(t.agent, NULL);
	assert_true(t.is_narrow);
	gp__kfd_owner_destroy(gp__kfd_join_owner(t.join));
	free(t.join);
}

/*
 * A program that was declared idempotent, on a kernel with the series
 */

static struct {
	void *join;
	uint64_t write_index, read_index;
	bool is_withheld, is_told_held;
} idempotent;

static int port_add(struct gp__port *port, const struct gp__queue_desc *queue)
{
	(void)port, (void)queue;
	return 0;
}

static void port_lost(struct gp__port *port, u32 id)
{
	(void)port, (void)id;
}

static void port_work(struct gp__port *port, u32 id, bool has_work, u32 pending, u64 now)
{
	(void)port, (void)id, (void)has_work, (void)pending, (void)now;
}

static void port_say(struct gp__port *port, const char *text, bool unscheduled)
{
	(void)port, (void)unscheduled;
	print_message("%s\n", text);
}

static bool is_loaded(void)
{
	return true;
}

static void rest(uint32_t id)
{
	(void)id;
}

static bool waits(uint32_t id)
{
	(void)id;
	return false;
}

static int withhold(uint32_t id, bool held)
{
	(void)id;
	idempotent.is_withheld = held;
	return 0;
}

static bool hold_to_drop(uint32_t id)
{
	return !withhold(id, true);
}

static void dropped(uint32_t id)
{
	(void)id;
}

static void set_held(bool held)
{
	idempotent.is_told_held = held;
}

static void set_narrow(bool is_narrow)
{
	(void)is_narrow;
}

static bool advance(uint64_t now)
{
	(void)now;
	return false;
}

static uint32_t make_queue(int fd)
{
	struct gp_kfd_create_queue args = {
		.write_pointer_address = (uintptr_t)&idempotent.write_index,
		.read_pointer_address = (uintptr_t)&idempotent.read_index,
		.ring_size = 4096,
		.gpu_id = 4711,
		.queue_type = GP_KFD_QUEUE_COMPUTE_AQL,
		.queue_percentage = 100,
	};

	assert_int_equal(
		gp__backend_amd.program->ioctl(idempotent.join, fd, GP_KFD_CREATE_QUEUE, &args), 0);
	return args.queue_id;
}

/* The program preempts a queue itself, so the backend gives up the series while one is held. */
static void launches_go_on_after_a_drop_although_the_way_has_changed(void **state)
{
	static const struct gp__kfd_launches launches = { .is_loaded = is_loaded,
							  .rest = rest,
							  .waits = waits,
							  .hold = withhold,
							  .hold_to_drop = hold_to_drop,
							  .dropped = dropped,
							  .set_held = set_held,
							  .narrow = set_narrow,
							  .advance = advance };
	static const struct gp__port_ops ops = {
		.add = port_add, .lost = port_lost, .work = port_work, .say = port_say
	};
	static const struct gp__request request = { .level = 2, .idempotent = true };
	static struct gp__port port = { &ops, &request };
	const struct gp__program_ops *program = gp__backend_amd.program;
	struct gp_kfd_preempt_queue theirs = { 0 };
	int fd = open(FAKE_DEVICE, O_RDWR | O_CLOEXEC), result;
	char why[GP__WIRE_TEXT_MAX];
	struct gp__kfd_join *j;
	uint32_t id;

	(void)state;
	fake_reset();
	setenv(GP__ENV_WAY, "preempt", 1);
	assert_int_equal(program->create(&port, fake_ioctl, &idempotent.join, why), 0);
	/* As the backend asks /dev/kfd, which need not exist. */
	j = idempotent.join;
	assert_int_equal(gp__kfd_query_series(fake_ioctl, fd, 0, &j->series), 0);
	gp__kfd_join_launches(idempotent.join, &launches);
	theirs.queue_id = make_queue(fd);
	id = make_queue(fd);
	program->queue.hold(idempotent.join, &id, &result, 1);
	assert_int_equal(result, 0);
	assert_true(idempotent.is_withheld);
	assert_true(idempotent.is_told_held);
	assert_false(fake_runs(id));
	assert_int_equal(program->ioctl(idempotent.join, fd, GP_KFD_PREEMPT_QUEUE, &theirs), 0);
	assert_false(fake_runs(id));
	program->queue.release(idempotent.join, &id, &result, 1);
	assert_int_equal(result, 0);
	assert_true(fake_runs(id));
	assert_false(idempotent.is_withheld);
	assert_false(idempotent.is_told_held);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_library_hears_of_another_program_while_it_loads),
		cmocka_unit_test(launches_go_on_after_a_drop_although_the_way_has_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
