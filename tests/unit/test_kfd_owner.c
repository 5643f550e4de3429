// SPDX-License-Identifier: MIT
/* Combines the runtime's wishes and ours, on a fake driver that implements only the rules. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/kfd/owner.h"
#include "fake_kfd.h"
#include "host.h"

#define TRAP _IOC_NR(GP_KFD_DBG_TRAP)
#define UPDATE _IOC_NR(GP_KFD_UPDATE_QUEUE)
#define DESTROY _IOC_NR(GP_KFD_DESTROY_QUEUE)

static const uint32_t zero[] = { 0 }, both[] = { 0, 1 };

struct lab {
	int kfd;
	struct gp__kfd_owner *o;
	/* The events, as letters. */
	char told[64];
	struct gp__kfd_queue_info last;
};

static void tell(struct lab *lab, char what, const struct gp__kfd_queue_info *queue)
{
	size_t n = strlen(lab->told);

	if (n < sizeof(lab->told) - 1)
		lab->told[n] = what;
	lab->last = *queue;
}

static void added(void *data, const struct gp__kfd_queue_info *queue)
{
	tell(data, '+', queue);
}

static void removed(void *data, const struct gp__kfd_queue_info *queue)
{
	tell(data, '-', queue);
}

static void changed(void *data, const struct gp__kfd_queue_info *queue)
{
	tell(data, '!', queue);
}

static void lost(void *data, const struct gp__kfd_queue_info *queue)
{
	tell(data, '?', queue);
}

static void begin(struct lab *lab, enum gp__kfd_way way)
{
	const struct gp__kfd_owner_events events = { added, removed, changed, lost, lab };

	fake_reset();
	*lab = (struct lab){ .kfd = open(FAKE_DEVICE, O_RDWR | O_CLOEXEC) };
	assert_int_equal(gp__kfd_owner_create(fake_ioctl, way, &events, &lab->o), 0);
}

static void end(struct lab *lab)
{
	gp__kfd_owner_destroy(lab->o);
	close(lab->kfd);
	assert_int_equal(fake.deadlocks, 0);
}

/*
 * The program
 */

static int call(struct lab *lab, unsigned long request, void *args)
{
	return gp__kfd_owner_ioctl(lab->o, lab->kfd, request, args);
}

/* The owner reads these to find the busiest queue. */
static uint64_t write_index, read_index;

static struct gp_kfd_create_queue usual_queue(void)
{
	return (struct gp_kfd_create_queue){
		.ring_base_address = 0x10000,
		.write_pointer_address = (uintptr_t)&write_index,
		.read_pointer_address = (uintptr_t)&read_index,
		.ring_size = 4096,
		.gpu_id = 4711,
		.queue_type = GP_KFD_QUEUE_COMPUTE_AQL,
		.queue_percentage = 100,
		.queue_priority = 7,
		.ctx_save_restore_address = 0x30000,
		.ctx_save_restore_size = 0x1000,
	};
}

static uint32_t make_queue(struct lab *lab)
{
	struct gp_kfd_create_queue args = usual_queue();

	assert_int_equal(call(lab, GP_KFD_CREATE_QUEUE, &args), 0);
	return args.queue_id;
}

static int change(struct lab *lab, uint32_t id, uint32_t percentage)
{
	struct gp_kfd_update_queue args = { .ring_base_address = 0x40000,
					    .queue_id = id,
					    .ring_size = 8192,
					    .queue_percentage = percentage,
					    .queue_priority = 9 };

	return call(lab, GP_KFD_UPDATE_QUEUE, &args);
}

static int remove_queue(struct lab *lab, uint32_t id)
{
	struct gp_kfd_destroy_queue args = { .queue_id = id };

	return call(lab, GP_KFD_DESTROY_QUEUE, &args);
}

static int enable_runtime(struct lab *lab, bool on)
{
	struct gp_kfd_runtime_enable args = { .mode_mask = on };

	return call(lab, GP_KFD_RUNTIME_ENABLE, &args);
}

/*
 * We
 */

static int set(struct lab *lab, enum gp__kfd_verb verb, const uint32_t *ids, size_t n)
{
	int results[8];

	return gp__kfd_owner_set(lab->o, verb, ids, results, n);
}

static struct gp__kfd_owned look(struct lab *lab, uint32_t id)
{
	struct gp__kfd_owned list[FAKE_QUEUES] = { 0 };
	size_t n = gp__kfd_owner_list(lab->o, list, FAKE_QUEUES);

	for (size_t i = 0; i < n; i++) {
		if (list[i].queue.id == id)
			return list[i];
	}
	fail_msg("queue %u is not listed", id);
	return list[0];
}

static void queues_are_listed_as_they_were_made(void **state)
{
	struct gp__kfd_owned list[2];
	struct lab lab;

	(void)state;
	begin(&lab, GP__KFD_WAY_UPDATE);
	assert_int_equal(gp__kfd_owner_list(lab.o, list, 2), 0);
	assert_int_equal(make_queue(&lab), 0);
	assert_int_equal(make_queue(&lab), 1);
	assert_int_equal(make_queue(&lab), 2);
	assert_int_equal(gp__kfd_owner_list(lab.o, list, 2), 3);
	assert_int_equal(list[1].queue.id, 1);
	assert_int_equal(list[1].queue.gpu_id, 4711);
	assert_int_equal(list[1].queue.type, GP_KFD_QUEUE_COMPUTE_AQL);
	assert_int_equal(list[1].queue.ring, 0x10000);
	assert_int_equal(list[1].queue.ring_bytes, 4096);
	assert_int_equal(list[1].queue.read_index, (uintptr_t)&read_index);
	assert_int_equal(list[1].queue.write_index, (uintptr_t)&write_index);
	assert_int_equal(list[1].queue.save_area, 0x30000);
	assert_int_equal(list[1].queue.save_bytes, 0x1000);
	assert_int_equal(list[1].queue.percentage, 100);
	assert_int_equal(list[1].queue.priority, 7);
	assert_false(list[1].held);
	assert_int_equal(remove_queue(&lab, 0), 0);
	assert_int_equal(gp__kfd_owner_list(lab.o, list, 2), 2);
	assert_int_equal(list[0].queue.id, 1);
	assert_int_equal(change(&lab, 2, 50), 0);
	assert_int_equal(lab.last.percentage, 50);
	assert_string_equal(lab.told, "+++-!");
	end(&lab);
}

static void queues_are_held_and_released(void **state)
{
	static const uint32_t some[] = { 2, 0, 2, 99, 5000 };
	struct lab lab;
	int results[5];

	(void)state;
	for (int way = 0; way < GP__KFD_WAYS; way++) {
		begin(&lab, way);
		for (int i = 0; i < 3; i++)
			make_queue(&lab);
		assert_int_equal(gp__kfd_owner_set(lab.o, GP__KFD_SAVE, some, results, 5), 3);
		assert_int_equal(results[0], 0);
		assert_int_equal(results[2], 0);
		assert_int_equal(results[3], -ENOENT);
		assert_int_equal(results[4], -ENOENT);
		assert_false(fake_runs(0));
		assert_true(fake_runs(1));
		assert_false(fake_runs(2));
		assert_true(look(&lab, 2).held);
		assert_false(look(&lab, 1).held);
		assert_int_equal(gp__kfd_owner_set(lab.o, GP__KFD_RELEASE, some, results, 2), 2);
		assert_true(fake_runs(0));
		assert_true(fake_runs(2));
		assert_int_equal(set(&lab, GP__KFD_SAVE, some + 3, 2), -ENOENT);
		assert_int_equal(set(&lab, GP__KFD_SAVE, some, 0), -ENODATA);
		assert_int_equal(gp__kfd_owner_way(lab.o, NULL), way);
		end(&lab);
	}
}

static void what_is_as_asked_costs_no_call(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab, GP__KFD_WAY_UPDATE);
	make_queue(&lab);
	assert_int_equal(set(&lab, GP__KFD_RELEASE, zero, 1), 1);
	assert_int_equal(fake.calls[UPDATE], 0);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	assert_int_equal(fake.calls[UPDATE], 1);
	end(&lab);
}

static void several_are_held_in_one_call(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab, GP__KFD_WAY_PREEMPT);
	make_queue(&lab);
	make_queue(&lab);
	assert_int_equal(set(&lab, GP__KFD_DRAIN, both, 2), 2);
	assert_int_equal(fake.operations[GP_KFD_OP_PREEMPT], 1);
	assert_int_equal(fake.queue[1].preempt_type, GP_KFD_PREEMPT_DRAIN);
	end(&lab);
	assert_true(fake_runs(0));
	assert_true(fake_runs(1));
}

/*
 * The runtime changes a queue that is held
 */

static void an_update_does_not_release_what_is_held(void **state)
{
	struct lab lab;

	(void)state;
	for (int way = 0; way < GP__KFD_WAYS; way++) {
		begin(&lab, way);
		make_queue(&lab);
		assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
		assert_int_equal(change(&lab, 0, 60), 0);
		assert_false(fake_runs(0));
		/* Everything else reaches the driver at once. */
		assert_int_equal(fake.queue[0].ring, 0x40000);
		assert_int_equal(fake.queue[0].ring_size, 8192);
		assert_int_equal(fake.queue[0].priority, 9);
		assert_int_equal(look(&lab, 0).queue.percentage, 60);
		assert_int_equal(look(&lab, 0).queue.ring, 0x40000);
		assert_int_equal(set(&lab, GP__KFD_RELEASE, zero, 1), 1);
		assert_true(fake_runs(0));
		assert_int_equal(fake.queue[0].percentage, 60);
		assert_int_equal(fake.queue[0].ring, 0x40000);
		end(&lab);
	}
}

static void a_release_does_not_start_what_the_runtime_stopped(void **state)
{
	struct lab lab;

	(void)state;
	for (int way = 0; way < GP__KFD_WAYS; way++) {
		begin(&lab, way);
		make_queue(&lab);
		assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
		assert_int_equal(change(&lab, 0, 0), 0);
		assert_int_equal(set(&lab, GP__KFD_RELEASE, zero, 1), 1);
		assert_false(fake_runs(0));
		assert_int_equal(change(&lab, 0, 100), 0);
		assert_true(fake_runs(0));
		end(&lab);
	}
}

static void what_the_driver_refuses_is_not_remembered(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab, GP__KFD_WAY_UPDATE);
	make_queue(&lab);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	errno = 0;
	fake_fail((struct fake_failure){ .nr = UPDATE, .op = -1, .err = EINVAL, .times = 1 });
	assert_int_equal(change(&lab, 0, 60), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(look(&lab, 0).queue.percentage, 100);
	/* But values that it stored before it failed count. */
	fake_fail((struct fake_failure){
		.nr = UPDATE, .op = -1, .err = ETIME, .has_effect = true, .times = 1 });
	assert_int_equal(change(&lab, 0, 60), -1);
	assert_int_equal(errno, ETIME);
	assert_int_equal(look(&lab, 0).queue.percentage, 60);
	assert_false(fake_runs(0));
	end(&lab);
	assert_true(fake_runs(0));
}

/*
 * Queues are destroyed
 */

static void a_destroyed_queue_is_released_first(void **state)
{
	struct lab lab;

	(void)state;
	for (int way = 0; way < GP__KFD_WAYS; way++) {
		begin(&lab, way);
		make_queue(&lab);
		make_queue(&lab);
		assert_int_equal(set(&lab, GP__KFD_SAVE, both, 2), 2);
		assert_int_equal(remove_queue(&lab, 0), 0);
		assert_int_equal(set(&lab, GP__KFD_RELEASE, zero, 1), -ENOENT);
		assert_false(fake_runs(1));
		/* The next queue with its id is another one. */
		assert_int_equal(make_queue(&lab), 0);
		assert_true(fake_runs(0));
		assert_false(look(&lab, 0).held);
		end(&lab);
		assert_true(fake_runs(1));
	}
}

static void a_queue_that_does_not_go_after_all_is_there_and_runs(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab, GP__KFD_WAY_DBGTRAP);
	make_queue(&lab);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	fake_fail((struct fake_failure){ .nr = DESTROY, .op = -1, .err = EBUSY, .times = 1 });
	assert_int_equal(remove_queue(&lab, 0), -1);
	assert_int_equal(errno, EBUSY);
	assert_true(fake_runs(0));
	assert_false(look(&lab, 0).held);
	assert_string_equal(lab.told, "+-+");
	end(&lab);
}

static void a_debugger_that_cannot_release_detaches(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab, GP__KFD_WAY_DBGTRAP);
	make_queue(&lab);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	fake_fail((struct fake_failure){
		.nr = TRAP, .op = GP_KFD_DBG_RESUME_QUEUES, .err = EIO, .times = 5 });
	assert_int_equal(remove_queue(&lab, 0), 0);
	assert_false(fake.debugged);
	assert_int_equal(gp__kfd_owner_way(lab.o, NULL), GP__KFD_WAY_UPDATE);
	end(&lab);
}

/*
 * The program's own actions win
 */

/* A driver that checks queue 0 after each call. */
static bool watching;
static int watched_runs;

static int watching_ioctl(int fd, unsigned long request, void *args)
{
	int result = fake_ioctl(fd, request, args);

	watched_runs += watching && fake_runs(0);
	return result;
}

static void the_end_of_the_runtime_ends_our_debugger(void **state)
{
	char why[GP__KFD_EXPLAIN_MAX];
	struct lab lab;
	int error;

	(void)state;
	begin(&lab, GP__KFD_WAY_DBGTRAP);
	fake.runtime = GP_KFD_RUNTIME_DISABLED;
	assert_int_equal(enable_runtime(&lab, true), 0);
	make_queue(&lab);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	assert_true(fake.debugged);
	assert_int_equal(enable_runtime(&lab, false), 0);
	assert_false(fake.debugged);
	assert_int_equal(gp__kfd_owner_way(lab.o, &error), GP__KFD_WAY_UPDATE);
	assert_int_equal(error, -ESHUTDOWN);
	gp__kfd_owner_explain_way(lab.o, why, sizeof(why));
	assert_non_null(strstr(why, "runtime began or ended"));
	/* Held queues are held by the other way. */
	assert_false(fake_runs(0));
	assert_true(look(&lab, 0).held);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	assert_int_equal(fake.calls[UPDATE], 1);
	assert_int_equal(set(&lab, GP__KFD_RELEASE, zero, 1), 1);
	assert_true(fake_runs(0));
	assert_null(strchr(lab.told, '?'));
	end(&lab);
}

static void a_debugger_of_the_programs_own_finds_none(void **state)
{
	struct gp_kfd_runtime_info info;
	struct gp_kfd_dbg_trap args = { .pid = (uint32_t)getpid(), .op = GP_KFD_DBG_ENABLE };
	struct lab lab;
	int error;

	(void)state;
	begin(&lab, GP__KFD_WAY_DBGTRAP);
	make_queue(&lab);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	args.enable.rinfo_ptr = (uint64_t)&info;
	assert_int_equal(call(&lab, GP_KFD_DBG_TRAP, &args), 0);
	fake.debugged_by_program = true;
	assert_int_equal(gp__kfd_owner_way(lab.o, &error), GP__KFD_WAY_UPDATE);
	assert_int_equal(error, -EALREADY);
	assert_false(fake_runs(0));
	assert_true(fake.debugged);
	assert_int_equal(set(&lab, GP__KFD_RELEASE, zero, 1), 1);
	assert_true(fake_runs(0));
	end(&lab);
}

/* Both ways hold it before one releases it: at no time does it run. */
static void nothing_runs_between_two_ways(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab, GP__KFD_WAY_DBGTRAP);
	gp__kfd_owner_destroy(lab.o);
	assert_int_equal(gp__kfd_owner_create(watching_ioctl, GP__KFD_WAY_DBGTRAP, NULL, &lab.o),
			 0);
	watched_runs = 0;
	make_queue(&lab);
	make_queue(&lab);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	watching = true;
	assert_int_equal(enable_runtime(&lab, false), 0);
	watching = false;
	assert_int_equal(watched_runs, 0);
	assert_true(fake_runs(1));
	end(&lab);
}

static void what_cannot_be_held_any_longer_is_told(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab, GP__KFD_WAY_DBGTRAP);
	make_queue(&lab);
	make_queue(&lab);
	assert_int_equal(set(&lab, GP__KFD_SAVE, both, 2), 2);
	fake_fail((struct fake_failure){
		.nr = UPDATE, .op = -1, .err = ETIME, .has_effect = true, .times = 1 });
	assert_int_equal(enable_runtime(&lab, false), 0);
	assert_string_equal(lab.told, "++?");
	assert_int_equal(lab.last.id, 0);
	assert_true(fake_runs(0));
	assert_false(look(&lab, 0).held);
	assert_int_equal(look(&lab, 0).error, -ETIME);
	assert_false(fake_runs(1));
	assert_true(look(&lab, 1).held);
	assert_int_equal(set(&lab, GP__KFD_SAVE, both, 2), 2);
	assert_false(fake_runs(0));
	end(&lab);
}

static void a_debugger_of_others_is_no_matter(void **state)
{
	struct gp_kfd_dbg_trap args = { .pid = 1, .op = GP_KFD_DBG_GET_DEVICE_SNAPSHOT };
	struct lab lab;

	(void)state;
	begin(&lab, GP__KFD_WAY_DBGTRAP);
	make_queue(&lab);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	call(&lab, GP_KFD_DBG_TRAP, &args);
	assert_int_equal(gp__kfd_owner_way(lab.o, NULL), GP__KFD_WAY_DBGTRAP);
	assert_false(fake_runs(0));
	end(&lab);
}

static void the_programs_own_preemption_is_not_mixed_with_ours(void **state)
{
	struct gp_kfd_preempt_queue args = { .queue_id = 0, .preempt_type = GP_KFD_PREEMPT_SAVE };
	struct gp_kfd_resume_queue resume = { .queue_id = 0 };
	struct lab lab;

	(void)state;
	begin(&lab, GP__KFD_WAY_PREEMPT);
	make_queue(&lab);
	make_queue(&lab);
	assert_int_equal(set(&lab, GP__KFD_SAVE, both, 2), 2);
	assert_int_equal(call(&lab, GP_KFD_PREEMPT_QUEUE, &args), 0);
	assert_false(fake_runs(1));
	assert_true(look(&lab, 1).held);
	assert_int_equal(call(&lab, GP_KFD_RESUME_QUEUE, &resume), 0);
	assert_false(fake_runs(0));
	assert_int_equal(set(&lab, GP__KFD_RELEASE, both, 2), 2);
	assert_true(fake_runs(0));
	end(&lab);
}

static void a_way_that_cannot_be_had_is_replaced_and_said(void **state)
{
	static const char *const reasons[] = {
		[GP__KFD_WAY_DBGTRAP] = "Linux 6.5", [GP__KFD_WAY_PREEMPT] = "gpreempt's series"
	};
	char why[GP__KFD_EXPLAIN_MAX];
	struct lab lab;
	int error;

	(void)state;
	for (int way = GP__KFD_WAY_DBGTRAP; way < GP__KFD_WAYS; way++) {
		begin(&lab, way);
		gp__kfd_owner_explain_way(lab.o, why, sizeof(why));
		assert_string_equal(why, "");
		fake.has_dbg = fake.has_series = false;
		make_queue(&lab);
		assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
		assert_false(fake_runs(0));
		assert_int_equal(gp__kfd_owner_way(lab.o, &error), GP__KFD_WAY_UPDATE);
		assert_int_equal(error, -ENOTTY);
		gp__kfd_owner_explain_way(lab.o, why, sizeof(why));
		assert_non_null(strstr(why, reasons[way]));
		assert_int_equal(set(&lab, GP__KFD_RELEASE, zero, 1), 1);
		assert_int_equal(set(&lab, GP__KFD_DRAIN, zero, 1), -EOPNOTSUPP);
		end(&lab);
	}
}

/*
 * Failures
 */

static void a_failed_hold_is_reported_and_leaves_it_running(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab, GP__KFD_WAY_UPDATE);
	make_queue(&lab);
	fake_fail((struct fake_failure){
		.nr = UPDATE, .op = -1, .err = ETIME, .has_effect = true, .times = 1 });
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), -ETIME);
	assert_true(fake_runs(0));
	assert_false(look(&lab, 0).held);
	assert_int_equal(look(&lab, 0).error, -ETIME);
	/* A hold that could not be undone is undone by the next release. */
	fake_fail((struct fake_failure){
		.nr = UPDATE, .op = -1, .err = ETIME, .has_effect = true, .times = 1 });
	fake_fail((struct fake_failure){ .nr = UPDATE, .op = -1, .err = EIO, .times = 5 });
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), -ETIME);
	assert_false(fake_runs(0));
	assert_int_equal(look(&lab, 0).error, -EIO);
	assert_int_equal(set(&lab, GP__KFD_RELEASE, zero, 1), 1);
	assert_true(fake_runs(0));
	end(&lab);
}

static void a_failed_release_is_reported_and_can_be_repeated(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab, GP__KFD_WAY_UPDATE);
	make_queue(&lab);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	fake_fail((struct fake_failure){ .nr = UPDATE, .op = -1, .err = EIO, .times = 5 });
	assert_int_equal(set(&lab, GP__KFD_RELEASE, zero, 1), -EIO);
	assert_true(look(&lab, 0).held);
	assert_int_equal(look(&lab, 0).error, -EIO);
	assert_int_equal(set(&lab, GP__KFD_RELEASE, zero, 1), 1);
	assert_true(fake_runs(0));
	end(&lab);
}

/*
 * Arguments
 */

static uint32_t fifteen_on_seven(void *data, uint32_t gpu_id)
{
	*(int *)data += 1;
	return gpu_id == 7 ? 16 : 0;
}

/* The driver gets a priority, and the program does not notice. */
static void queues_get_a_logical_priority(void **state)
{
	struct gp_kfd_create_queue args = usual_queue();
	struct lab lab;
	int asked = 0;

	(void)state;
	begin(&lab, GP__KFD_WAY_UPDATE);
	gp__kfd_owner_prioritize(lab.o, fifteen_on_seven, &asked);
	args.gpu_id = 7;
	assert_int_equal(call(&lab, GP_KFD_CREATE_QUEUE, &args), 0);
	assert_int_equal(fake.queue[0].made.logical_priority, 16);
	assert_int_equal(args.logical_priority, 0);
	args.gpu_id = 8;
	assert_int_equal(call(&lab, GP_KFD_CREATE_QUEUE, &args), 0);
	assert_int_equal(fake.queue[1].made.logical_priority, 0);
	assert_int_equal(asked, 2);
	/* A priority that the program gives stays, and ours is not asked for. */
	args.gpu_id = 7;
	args.logical_priority = 3;
	assert_int_equal(call(&lab, GP_KFD_CREATE_QUEUE, &args), 0);
	assert_int_equal(fake.queue[2].made.logical_priority, 3);
	assert_int_equal(args.logical_priority, 3);
	/* Arguments of older programs have no room for it, and are left unchanged. */
	args = usual_queue();
	args.gpu_id = 7;
	args.sdma_engine_id = args.logical_priority = 0xa5a5a5a5;
	assert_int_equal(call(&lab, _IOC(_IOC_READ | _IOC_WRITE, GP_KFD_MAGIC, 2, 88), &args), 0);
	assert_int_equal(fake.queue[3].made.logical_priority, 16);
	assert_int_equal(args.queue_id, 3);
	assert_int_equal(args.sdma_engine_id, 0xa5a5a5a5);
	assert_int_equal(args.logical_priority, 0xa5a5a5a5);
	/* Requests of Linux 7.2 end with the size of a second ring, which stays. */
	args = usual_queue();
	args.gpu_id = 7;
	args.metadata_ring_size = 4096;
	args.logical_priority = 0xa5a5a5a5;
	assert_int_equal(call(&lab, _IOC(_IOC_READ | _IOC_WRITE, GP_KFD_MAGIC, 2, 96), &args), 0);
	assert_int_equal(fake.queue[4].made.metadata_ring_size, 4096);
	assert_int_equal(fake.queue[4].made.logical_priority, 16);
	assert_int_equal(args.metadata_ring_size, 4096);
	assert_int_equal(args.logical_priority, 0xa5a5a5a5);
	end(&lab);
}

static void older_and_newer_arguments_are_understood(void **state)
{
	struct {
		struct gp_kfd_update_queue known;
		uint64_t more[4];
	} newer = { .known = { .queue_id = 0, .ring_size = 4096, .queue_percentage = 100 } };
	struct gp_kfd_create_queue args = usual_queue();
	struct lab lab;

	(void)state;
	begin(&lab, GP__KFD_WAY_UPDATE);
	/* From before queues could choose an engine. */
	assert_int_equal(call(&lab, _IOC(_IOC_READ | _IOC_WRITE, GP_KFD_MAGIC, 2, 88), &args), 0);
	assert_int_equal(look(&lab, 0).queue.save_bytes, 0x1000);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	assert_int_equal(call(&lab, _IOC(_IOC_WRITE, GP_KFD_MAGIC, 7, sizeof(newer)), &newer), 0);
	assert_false(fake_runs(0));
	assert_int_equal(newer.known.queue_percentage, 100);
	/* So short that the percentage is missing: then it is none. */
	assert_int_equal(call(&lab, _IOC(_IOC_WRITE, GP_KFD_MAGIC, 7, 16), &newer), 0);
	assert_int_equal(set(&lab, GP__KFD_RELEASE, zero, 1), 1);
	assert_false(fake_runs(0));
	end(&lab);
}

static void bad_calls_fail_as_without_us(void **state)
{
	static const unsigned long requests[] = { GP_KFD_CREATE_QUEUE,	GP_KFD_UPDATE_QUEUE,
						  GP_KFD_DESTROY_QUEUE, GP_KFD_RUNTIME_ENABLE,
						  GP_KFD_DBG_TRAP,	GP_KFD_PREEMPT_QUEUE,
						  GP_KFD_PREEMPT };
	struct lab lab;
	int asked = 0;

	(void)state;
	needs_process_vm();
	begin(&lab, GP__KFD_WAY_UPDATE);
	gp__kfd_owner_prioritize(lab.o, fifteen_on_seven, &asked);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		assert_int_equal(call(&lab, requests[i], NULL), -1);
		assert_int_equal(errno, EFAULT);
		assert_int_equal(call(&lab, requests[i], (void *)64), -1);
		assert_int_equal(errno, EFAULT);
		assert_int_equal(gp__kfd_owner_ioctl(lab.o, -1, requests[i], &lab), -1);
		assert_int_equal(errno, EBADF);
	}
	assert_int_equal(remove_queue(&lab, 3), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(remove_queue(&lab, UINT32_MAX), -1);
	assert_int_equal(change(&lab, 3, 100), -1);
	assert_int_equal(errno, EFAULT);
	end(&lab);
}

/*
 * Descriptors, processes, threads
 */

static void programs_may_close_every_descriptor(void **state)
{
	int other;
	struct lab lab;

	(void)state;
	begin(&lab, GP__KFD_WAY_UPDATE);
	make_queue(&lab);
	close(lab.kfd);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	assert_false(fake_runs(0));
	/* Closes ours, too; other files have the numbers now. */
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	other = open("/", O_RDONLY | O_CLOEXEC);
	assert_int_equal(set(&lab, GP__KFD_RELEASE, zero, 1), -EBADF);
	lab.kfd = open(FAKE_DEVICE, O_RDWR | O_CLOEXEC);
	make_queue(&lab);
	assert_int_equal(set(&lab, GP__KFD_RELEASE, zero, 1), 1);
	assert_true(fake_runs(0));
	close(other);
	end(&lab);
}

static void a_child_has_no_queues(void **state)
{
	struct gp__kfd_owned list[1];
	struct lab lab;
	int status;
	pid_t pid;

	(void)state;
	begin(&lab, GP__KFD_WAY_DBGTRAP);
	make_queue(&lab);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	pid = fork();
	if (!pid) {
		gp__kfd_owner_forget(lab.o);
		_exit(gp__kfd_owner_list(lab.o, list, 1) != 0 ||
		      set(&lab, GP__KFD_RELEASE, zero, 1) != -ENOENT || !fake.debugged);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(look(&lab, 0).held);
	end(&lab);
}

/* A driver that is asked about queue 1 and takes its time. */
static sem_t asked, may_answer;

static int slow_ioctl(int fd, unsigned long request, void *args)
{
	const struct gp_kfd_update_queue *update = args;

	if (request == GP_KFD_UPDATE_QUEUE && update->queue_id == 1 && !update->queue_percentage) {
		sem_post(&asked);
		sem_wait(&may_answer);
	}
	return fake_ioctl(fd, request, args);
}

static void *stop_queue_1(void *data)
{
	static const uint32_t one[] = { 1 };

	set(data, GP__KFD_SAVE, one, 1);
	return NULL;
}

static void one_queue_does_not_wait_for_another(void **state)
{
	struct gp_kfd_create_queue other = usual_queue();
	struct gp__kfd_queue_info found;
	struct lab lab;
	pthread_t thread;

	(void)state;
	begin(&lab, GP__KFD_WAY_UPDATE);
	gp__kfd_owner_destroy(lab.o);
	assert_int_equal(gp__kfd_owner_create(slow_ioctl, GP__KFD_WAY_UPDATE, NULL, &lab.o), 0);
	sem_init(&asked, 0, 0);
	sem_init(&may_answer, 0, 0);
	make_queue(&lab);
	make_queue(&lab);
	assert_int_equal(pthread_create(&thread, NULL, stop_queue_1, &lab), 0);
	sem_wait(&asked);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	assert_int_equal(change(&lab, 0, 100), 0);
	assert_int_equal(set(&lab, GP__KFD_RELEASE, zero, 1), 1);
	assert_true(fake_runs(0));
	assert_int_equal(remove_queue(&lab, 0), 0);
	assert_true(fake_runs(1));
	/* Nor does the creation of one, whose id is looked up. */
	other.write_pointer_address = (uintptr_t)&other;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(call(&lab, GP_KFD_CREATE_QUEUE, &other), 0);
		assert_true(gp__kfd_owner_find(lab.o, &other, &found));
		assert_int_equal(remove_queue(&lab, 0), 0);
		assert_false(gp__kfd_owner_find(lab.o, &other, &found));
		make_queue(&lab);
		assert_int_equal(call(&lab, GP_KFD_CREATE_QUEUE, &other), 0);
		assert_true(gp__kfd_owner_find(lab.o, &other, &found));
		assert_int_equal(found.id, other.queue_id);
		assert_true(gp__kfd_owner_get(lab.o, other.queue_id, &found));
		assert_int_equal(found.write_index, (uintptr_t)&other);
		assert_int_equal(remove_queue(&lab, other.queue_id), 0);
		assert_false(gp__kfd_owner_get(lab.o, other.queue_id, &found));
		assert_false(gp__kfd_owner_get(lab.o, UINT32_MAX, &found));
		assert_int_equal(remove_queue(&lab, 0), 0);
	}
	sem_post(&may_answer);
	pthread_join(thread, NULL);
	assert_false(fake_runs(1));
	end(&lab);
}

/* A driver in which something else happens before a call reaches it, or after. */
static struct lab *meddled;

static int meddling_ioctl(int fd, unsigned long request, void *args)
{
	int result;

	if (request == GP_KFD_RUNTIME_ENABLE)
		assert_int_equal(set(meddled, GP__KFD_SAVE, zero, 1), 1);
	result = fake_ioctl(fd, request, args);
	if (request == GP_KFD_DESTROY_QUEUE)
		make_queue(meddled);
	return result;
}

static void begin_meddling(struct lab *lab, enum gp__kfd_way way)
{
	begin(lab, way);
	gp__kfd_owner_destroy(lab->o);
	assert_int_equal(gp__kfd_owner_create(meddling_ioctl, way, NULL, &lab->o), 0);
	meddled = lab;
	make_queue(lab);
}

static void an_id_may_be_used_again_before_its_end_is_told(void **state)
{
	struct lab lab;

	(void)state;
	begin_meddling(&lab, GP__KFD_WAY_UPDATE);
	assert_int_equal(remove_queue(&lab, 0), 0);
	assert_int_equal(look(&lab, 0).queue.id, 0);
	assert_int_equal(set(&lab, GP__KFD_SAVE, zero, 1), 1);
	assert_false(fake_runs(0));
	end(&lab);
}

static void no_debugger_comes_while_the_runtime_does(void **state)
{
	struct lab lab;

	(void)state;
	begin_meddling(&lab, GP__KFD_WAY_DBGTRAP);
	assert_int_equal(enable_runtime(&lab, false), 0);
	assert_int_equal(gp__kfd_owner_way(lab.o, NULL), GP__KFD_WAY_UPDATE);
	assert_false(fake_runs(0));
	end(&lab);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_are_listed_as_they_were_made),
		cmocka_unit_test(queues_are_held_and_released),
		cmocka_unit_test(what_is_as_asked_costs_no_call),
		cmocka_unit_test(several_are_held_in_one_call),
		cmocka_unit_test(an_update_does_not_release_what_is_held),
		cmocka_unit_test(a_release_does_not_start_what_the_runtime_stopped),
		cmocka_unit_test(what_the_driver_refuses_is_not_remembered),
		cmocka_unit_test(a_destroyed_queue_is_released_first),
		cmocka_unit_test(a_queue_that_does_not_go_after_all_is_there_and_runs),
		cmocka_unit_test(a_debugger_that_cannot_release_detaches),
		cmocka_unit_test(the_end_of_the_runtime_ends_our_debugger),
		cmocka_unit_test(a_debugger_of_the_programs_own_finds_none),
		cmocka_unit_test(nothing_runs_between_two_ways),
		cmocka_unit_test(what_cannot_be_held_any_longer_is_told),
		cmocka_unit_test(a_debugger_of_others_is_no_matter),
		cmocka_unit_test(the_programs_own_preemption_is_not_mixed_with_ours),
		cmocka_unit_test(a_way_that_cannot_be_had_is_replaced_and_said),
		cmocka_unit_test(a_failed_hold_is_reported_and_leaves_it_running),
		cmocka_unit_test(a_failed_release_is_reported_and_can_be_repeated),
		cmocka_unit_test(queues_get_a_logical_priority),
		cmocka_unit_test(older_and_newer_arguments_are_understood),
		cmocka_unit_test(bad_calls_fail_as_without_us),
		cmocka_unit_test(programs_may_close_every_descriptor),
		cmocka_unit_test(a_child_has_no_queues),
		cmocka_unit_test(one_queue_does_not_wait_for_another),
		cmocka_unit_test(an_id_may_be_used_again_before_its_end_is_told),
		cmocka_unit_test(no_debugger_comes_while_the_runtime_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
