// SPDX-License-Identifier: MIT
/* Each way of holding queues, against a driver that fails as it is told to. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device/kfd/control.h"
#include "fake_kfd.h"
#include "host.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))
#define TRAP _IOC_NR(GP_KFD_DBG_TRAP)
#define UPDATE _IOC_NR(GP_KFD_UPDATE_QUEUE)
#define SERIES _IOC_NR(GP_KFD_PREEMPT)

enum { QUEUES = 4 };

struct lab {
	int kfd;
	struct gp__kfd_control c;
	struct gp__kfd_queue_info queue[QUEUES];
	struct gp__kfd_target t[QUEUES];
};

static int make_lab(void **state)
{
	static struct lab lab;

	fake_reset();
	lab = (struct lab){ .kfd = open(FAKE_DEVICE, O_RDWR | O_CLOEXEC) };
	for (int i = 0; i < QUEUES; i++) {
		lab.queue[i] = (struct gp__kfd_queue_info){ .id = fake_create(),
							    .ring = 0x7000000,
							    .ring_bytes = 4096,
							    .percentage = 100,
							    .priority = 7 };
		lab.t[i].queue = &lab.queue[i];
	}
	*state = &lab;
	return 0;
}

static int end_lab(void **state)
{
	struct lab *lab = *state;

	close(lab->kfd);
	return 0;
}

static void open_way(struct lab *lab, enum gp__kfd_way way)
{
	assert_int_equal(gp__kfd_control_open_by(&lab->c, fake_ioctl, lab->kfd, 0, way), 0);
}

static int set(struct lab *lab, enum gp__kfd_verb verb, size_t n)
{
	return gp__kfd_control(&lab->c, verb, lab->t, n);
}

static void assert_running(const struct lab *lab, int first, int n, bool running)
{
	for (int i = first; i < first + n; i++)
		assert_int_equal(fake_runs(lab->queue[i].id), running);
}

static void fail_once(uint32_t nr, int op, int err, bool has_effect)
{
	fake_fail((struct fake_failure){
		.nr = nr, .op = op, .err = err, .has_effect = has_effect, .times = 1 });
}

static void fail_id(uint32_t nr, int op, uint32_t id, uint32_t bit, bool has_effect)
{
	fake_fail((struct fake_failure){
		.nr = nr, .op = op, .bit = bit, .id = id, .has_effect = has_effect, .times = 1 });
}

/*
 * All ways
 */

static void names_are_parsed(void **state)
{
	(void)state;
	for (int i = 0; i < GP__KFD_WAYS; i++)
		assert_int_equal(gp__kfd_way_parse(gp__kfd_way_name(i)), i);
	assert_int_equal(gp__kfd_way_parse("updates"), -1);
	assert_int_equal(gp__kfd_way_parse(""), -1);
}

static void queues_are_held_and_released(void **state)
{
	for (int way = 0; way < GP__KFD_WAYS; way++) {
		struct lab *lab;

		make_lab(state);
		lab = *state;
		open_way(lab, way);
		assert_int_equal(set(lab, GP__KFD_SAVE, QUEUES - 1), QUEUES - 1);
		assert_running(lab, 0, QUEUES - 1, false);
		assert_running(lab, QUEUES - 1, 1, true);
		/* Held queues stay held, and running ones run. */
		assert_int_equal(set(lab, GP__KFD_SAVE, QUEUES), QUEUES);
		assert_running(lab, 0, QUEUES, false);
		assert_int_equal(set(lab, GP__KFD_RELEASE, 1), 1);
		assert_running(lab, 0, 1, true);
		assert_int_equal(set(lab, GP__KFD_RELEASE, QUEUES), QUEUES);
		assert_running(lab, 0, QUEUES, true);
		assert_int_equal(set(lab, GP__KFD_RELEASE, 1), 1);
		gp__kfd_control_close(&lab->c);
		assert_false(fake.debugged);
		end_lab(state);
	}
	make_lab(state);
}

static void signals_are_passed_over(void **state)
{
	struct lab *lab = *state;

	open_way(lab, GP__KFD_WAY_UPDATE);
	fake_fail((struct fake_failure){ .nr = UPDATE, .op = -1, .err = EINTR, .times = 20 });
	assert_int_equal(set(lab, GP__KFD_SAVE, 1), 1);
	assert_running(lab, 0, 1, false);
	/* A bounded number of retries; a queue that cannot be held runs. */
	assert_int_equal(set(lab, GP__KFD_RELEASE, 1), 1);
	fake_fail((struct fake_failure){ .nr = UPDATE, .op = -1, .err = EINTR, .times = 1000 });
	assert_int_equal(set(lab, GP__KFD_SAVE, 1), -EINTR);
	assert_int_equal(lab->t[0].undone, 0);
	assert_running(lab, 0, 1, true);
}

static void no_queue_and_too_many_are_refused(void **state)
{
	static struct gp__kfd_target many[GP__KFD_QUEUES_MAX + 1];
	struct lab *lab = *state;

	for (size_t i = 0; i < N(many); i++)
		many[i].queue = &lab->queue[0];
	for (int way = 0; way < GP__KFD_WAYS; way++) {
		open_way(lab, way);
		assert_int_equal(set(lab, GP__KFD_SAVE, 0), -ENODATA);
		assert_int_equal(gp__kfd_control(&lab->c, GP__KFD_SAVE, many, N(many)), -E2BIG);
		assert_int_equal(many[N(many) - 1].result, -E2BIG);
		gp__kfd_control_close(&lab->c);
	}
	assert_running(lab, 0, QUEUES, true);
}

static void unknown_queues_are_refused_and_the_others_held(void **state)
{
	for (int way = 0; way < GP__KFD_WAYS; way++) {
		struct lab *lab;

		make_lab(state);
		lab = *state;
		open_way(lab, way);
		lab->queue[1].id = 60;
		assert_int_equal(set(lab, GP__KFD_SAVE, QUEUES), QUEUES - 1);
		assert_int_equal(lab->t[1].result, way == GP__KFD_WAY_UPDATE ? -EFAULT : -EINVAL);
		assert_int_equal(lab->t[0].result, 0);
		assert_running(lab, 2, 2, false);
		assert_int_equal(set(lab, GP__KFD_RELEASE, QUEUES), QUEUES - 1);
		assert_running(lab, 2, 2, true);
		/* The only target failed, so the call failed. */
		lab->t[0].queue = &lab->queue[1];
		assert_true(set(lab, GP__KFD_SAVE, 1) < 0);
		assert_true(set(lab, GP__KFD_RELEASE, 1) < 0);
		gp__kfd_control_close(&lab->c);
		end_lab(state);
	}
	make_lab(state);
}

/* The calls that hold and that release one queue. */
struct calls {
	uint32_t stop, start;
	int stop_op, start_op;
};

static const struct calls calls_of[GP__KFD_WAYS] = {
	[GP__KFD_WAY_UPDATE] = { UPDATE, UPDATE, -1, -1 },
	[GP__KFD_WAY_DBGTRAP] = { TRAP, TRAP, GP_KFD_DBG_SUSPEND_QUEUES, GP_KFD_DBG_RESUME_QUEUES },
	[GP__KFD_WAY_PREEMPT] = { SERIES, SERIES, GP_KFD_OP_PREEMPT, GP_KFD_OP_RESUME },
};

/* Whether or not it took effect, the queue runs. */
static void a_failed_hold_leaves_the_queue_running(void **state)
{
	static const int errors[] = { ETIME, ETIMEDOUT, EIO, EACCES, EAGAIN };

	for (size_t i = 0; i < 2 * N(errors) * GP__KFD_WAYS; i++) {
		int way = (int)(i / (2 * N(errors))), err = errors[i / 2 % N(errors)];
		const struct calls *calls = &calls_of[way];
		struct lab *lab;

		make_lab(state);
		lab = *state;
		open_way(lab, way);
		fake.queue[0].is_new = false;
		fail_once(calls->stop, calls->stop_op, err, i % 2);
		assert_int_equal(set(lab, GP__KFD_SAVE, 1), -err);
		assert_int_equal(lab->t[0].result, -err);
		assert_int_equal(lab->t[0].undone, 0);
		assert_running(lab, 0, QUEUES, true);
		gp__kfd_control_close(&lab->c);
		end_lab(state);
	}
	make_lab(state);
}

static void a_release_is_retried_and_then_reported(void **state)
{
	for (int way = 0; way < GP__KFD_WAYS; way++) {
		const struct calls *calls = &calls_of[way];
		struct lab *lab;

		make_lab(state);
		lab = *state;
		open_way(lab, way);
		assert_int_equal(set(lab, GP__KFD_SAVE, 1), 1);
		fake_fail((struct fake_failure){
			.nr = calls->start, .op = calls->start_op, .err = EIO, .times = 4 });
		assert_int_equal(set(lab, GP__KFD_RELEASE, 1), 1);
		assert_running(lab, 0, 1, true);
		assert_int_equal(set(lab, GP__KFD_SAVE, 1), 1);
		fake_fail((struct fake_failure){
			.nr = calls->start, .op = calls->start_op, .err = EIO, .times = 5 });
		assert_int_equal(set(lab, GP__KFD_RELEASE, 1), -EIO);
		assert_running(lab, 0, 1, false);
		/* It is not given up. */
		assert_int_equal(set(lab, GP__KFD_RELEASE, 1), 1);
		assert_running(lab, 0, 1, true);
		gp__kfd_control_close(&lab->c);
		end_lab(state);
	}
	make_lab(state);
}

static void a_hold_that_cannot_be_undone_says_so(void **state)
{
	struct lab *lab = *state;

	open_way(lab, GP__KFD_WAY_UPDATE);
	fail_once(UPDATE, -1, ETIME, true);
	fake_fail((struct fake_failure){ .nr = UPDATE, .op = -1, .err = EIO, .times = 5 });
	assert_int_equal(set(lab, GP__KFD_SAVE, 1), -ETIME);
	assert_int_equal(lab->t[0].undone, -EIO);
	assert_running(lab, 0, 1, false);
}

static void refusals_are_not_tried_again(void **state)
{
	struct lab *lab = *state;

	open_way(lab, GP__KFD_WAY_UPDATE);
	lab->queue[0].id = 60;
	assert_int_equal(set(lab, GP__KFD_RELEASE, 1), -EFAULT);
	assert_int_equal(set(lab, GP__KFD_SAVE, 1), -EFAULT);
	assert_int_equal(fake.calls[UPDATE], 2);
}

/*
 * update
 */

static void update_passes_what_the_runtime_set(void **state)
{
	struct lab *lab = *state;
	const struct fake_queue *q = &fake.queue[0];

	open_way(lab, GP__KFD_WAY_UPDATE);
	lab->queue[0].percentage = 0x350; /* to XCC 3, half */
	lab->queue[0].priority = 11;
	lab->queue[0].ring_bytes = 8192;
	assert_int_equal(set(lab, GP__KFD_SAVE, 1), 1);
	assert_int_equal(q->percentage, 0x300);
	assert_int_equal(q->ring, 0x7000000);
	assert_int_equal(q->ring_size, 8192);
	assert_int_equal(q->priority, 11);
	assert_int_equal(set(lab, GP__KFD_RELEASE, 1), 1);
	assert_int_equal(q->percentage, 0x350);
	/* A release does not start a queue that the runtime has stopped. */
	lab->queue[0].percentage = 0;
	assert_int_equal(set(lab, GP__KFD_RELEASE, 1), 1);
	assert_false(fake_runs(0));
}

static uint32_t updated[QUEUES];
static size_t nr_updated;

static int note_updates(int fd, unsigned long request, void *args)
{
	if (request == GP_KFD_UPDATE_QUEUE && nr_updated < QUEUES)
		updated[nr_updated++] = ((const struct gp_kfd_update_queue *)args)->queue_id;
	return fake_ioctl(fd, request, args);
}

/* The state of the last one is unknown. */
static void update_holds_the_busiest_queue_first_and_releases_it_last(void **state)
{
	static const int order[QUEUES] = { 3, 1, 2, 0 }, restart[QUEUES] = { 0, 2, 1, 3 };
	static uint64_t written[QUEUES] = { 0, 5, 1, 0 };
	struct lab *lab = *state;

	needs_process_vm();
	nr_updated = 0;
	assert_int_equal(
		gp__kfd_control_open_by(&lab->c, note_updates, lab->kfd, 0, GP__KFD_WAY_UPDATE), 0);
	for (int i = 0; i < QUEUES; i++)
		lab->queue[i].write_index = i == QUEUES - 1 ? 8 : (uint64_t)&written[i];
	assert_int_equal(set(lab, GP__KFD_SAVE, QUEUES), QUEUES);
	assert_running(lab, 0, QUEUES, false);
	for (int i = 0; i < QUEUES; i++)
		assert_int_equal(updated[i], lab->queue[order[i]].id);
	nr_updated = 0;
	assert_int_equal(set(lab, GP__KFD_RELEASE, QUEUES), QUEUES);
	assert_running(lab, 0, QUEUES, true);
	for (int i = 0; i < QUEUES; i++)
		assert_int_equal(updated[i], lab->queue[restart[i]].id);
	gp__kfd_control_close(&lab->c);
}

static void update_is_for_own_queues_and_saving(void **state)
{
	struct lab *lab = *state;

	assert_int_equal(
		gp__kfd_control_open_by(&lab->c, fake_ioctl, lab->kfd, 1, GP__KFD_WAY_UPDATE),
		-EBADF);
	open_way(lab, GP__KFD_WAY_UPDATE);
	assert_int_equal(set(lab, GP__KFD_DRAIN, 1), -EOPNOTSUPP);
	assert_int_equal(set(lab, GP__KFD_RESET, 1), -EOPNOTSUPP);
	assert_int_equal(lab->t[0].result, -EOPNOTSUPP);
	/* The own pid means this process. */
	assert_int_equal(gp__kfd_control_open_by(&lab->c, fake_ioctl, lab->kfd, getpid(),
						 GP__KFD_WAY_UPDATE),
			 0);
	assert_int_equal(fake.calls[UPDATE], 0);
}

/*
 * dbgtrap
 */

static int open_dbgtrap(struct lab *lab)
{
	return gp__kfd_control_open_by(&lab->c, fake_ioctl, lab->kfd, 0, GP__KFD_WAY_DBGTRAP);
}

static void dbgtrap_holds_all_in_one_call(void **state)
{
	struct lab *lab = *state;

	open_way(lab, GP__KFD_WAY_DBGTRAP);
	/* At first the queues are new to the debugger. */
	assert_int_equal(set(lab, GP__KFD_SAVE, QUEUES), QUEUES);
	assert_int_equal(fake.operations[GP_KFD_DBG_SUSPEND_QUEUES], 2);
	assert_int_equal(fake.operations[GP_KFD_DBG_GET_QUEUE_SNAPSHOT], 1);
	assert_int_equal(set(lab, GP__KFD_RELEASE, QUEUES), QUEUES);
	assert_int_equal(set(lab, GP__KFD_SAVE, QUEUES), QUEUES);
	assert_int_equal(fake.operations[GP_KFD_DBG_SUSPEND_QUEUES], 3);
	assert_int_equal(fake.operations[GP_KFD_DBG_RESUME_QUEUES], 1);
	/* Closing releases everything. */
	gp__kfd_control_close(&lab->c);
	assert_running(lab, 0, QUEUES, true);
	assert_false(fake.debugged);
}

static void dbgtrap_has_a_grace_period(void **state)
{
	struct lab *lab = *state;

	assert_int_equal(gp__kfd_grace(0, 1700), 0);
	assert_int_equal(gp__kfd_grace(1, 100), 1);
	assert_int_equal(gp__kfd_grace(100, 1700), 170);
	assert_int_equal(gp__kfd_grace(100, 0), 100);
	assert_int_equal(gp__kfd_grace(151, 1700), 255);
	assert_int_equal(gp__kfd_grace(UINT32_MAX, UINT32_MAX), 255);
	open_way(lab, GP__KFD_WAY_DBGTRAP);
	assert_int_equal(set(lab, GP__KFD_SAVE, 1), 1);
	assert_int_equal(fake.grace, 0);
	lab->c.grace = 17;
	assert_int_equal(set(lab, GP__KFD_SAVE, 1), 1);
	assert_int_equal(fake.grace, 17);
}

static void dbgtrap_reports_each_queue(void **state)
{
	struct lab *lab = *state;

	open_way(lab, GP__KFD_WAY_DBGTRAP);
	assert_int_equal(set(lab, GP__KFD_SAVE, QUEUES), QUEUES);
	assert_int_equal(set(lab, GP__KFD_RELEASE, QUEUES), QUEUES);
	fail_id(TRAP, GP_KFD_DBG_SUSPEND_QUEUES, 1, GP_KFD_QUEUE_ERROR, true);
	assert_int_equal(set(lab, GP__KFD_SAVE, QUEUES), QUEUES - 1);
	assert_int_equal(lab->t[1].result, -EIO);
	assert_int_equal(lab->t[1].undone, 0);
	assert_running(lab, 1, 1, true);
	assert_running(lab, 2, 2, false);
	fail_id(TRAP, GP_KFD_DBG_RESUME_QUEUES, 2, GP_KFD_QUEUE_ERROR, false);
	assert_int_equal(set(lab, GP__KFD_RELEASE, QUEUES), QUEUES);
	assert_running(lab, 0, QUEUES, true);
	gp__kfd_control_close(&lab->c);
}

static void dbgtrap_needs_the_runtime_and_to_be_alone(void **state)
{
	struct lab *lab = *state;

	fake.runtime = GP_KFD_RUNTIME_DISABLED;
	assert_int_equal(open_dbgtrap(lab), -EPERM);
	assert_false(fake.debugged);
	fake.runtime = GP_KFD_RUNTIME_ENABLED;
	fake.one_debugger = true;
	assert_int_equal(open_dbgtrap(lab), -EBUSY);
	assert_false(fake.debugged);
	fake.one_debugger = false;
	fake.debugged = true;
	assert_int_equal(open_dbgtrap(lab), -EALREADY);
	assert_true(fake.debugged);
	fake.has_dbg = false;
	assert_int_equal(open_dbgtrap(lab), -ENOTTY);
	assert_running(lab, 0, QUEUES, true);
}

static void dbgtrap_does_not_outlive_the_runtime(void **state)
{
	struct lab *lab = *state;

	open_way(lab, GP__KFD_WAY_DBGTRAP);
	fake.runtime = GP_KFD_RUNTIME_DISABLED;
	assert_int_equal(set(lab, GP__KFD_SAVE, QUEUES), -EPERM);
	assert_int_equal(lab->t[QUEUES - 1].result, -EPERM);
	gp__kfd_control_close(&lab->c);
	assert_false(fake.debugged);
}

static void dbgtrap_cannot_drain(void **state)
{
	struct lab *lab = *state;

	open_way(lab, GP__KFD_WAY_DBGTRAP);
	assert_int_equal(set(lab, GP__KFD_DRAIN, 1), -EOPNOTSUPP);
	gp__kfd_control_close(&lab->c);
}

/*
 * preempt
 */

static int open_preempt(struct lab *lab, pid_t pid)
{
	return gp__kfd_control_open_by(&lab->c, fake_ioctl, lab->kfd, pid, GP__KFD_WAY_PREEMPT);
}

static void preempt_has_each_type(void **state)
{
	static const uint32_t types[] = { [GP__KFD_SAVE] = GP_KFD_PREEMPT_SAVE,
					  [GP__KFD_DRAIN] = GP_KFD_PREEMPT_DRAIN,
					  [GP__KFD_RESET] = GP_KFD_PREEMPT_RESET };
	struct lab *lab = *state;

	assert_int_equal(open_preempt(lab, 0), 0);
	for (int verb = 0; verb < GP__KFD_RELEASE; verb++) {
		assert_int_equal(set(lab, verb, 1), 1);
		assert_int_equal(fake.queue[0].preempt_type, types[verb]);
		assert_int_equal(set(lab, GP__KFD_RELEASE, 1), 1);
		assert_int_equal(set(lab, verb, QUEUES), QUEUES);
		assert_int_equal(fake.queue[1].preempt_type, types[verb]);
		assert_int_equal(set(lab, GP__KFD_RELEASE, QUEUES), QUEUES);
	}
	assert_int_equal(fake.operations[GP_KFD_OP_PREEMPT], 6);
	fail_once(SERIES, GP_KFD_OP_PREEMPT, EOPNOTSUPP, false);
	assert_int_equal(set(lab, GP__KFD_DRAIN, 1), -EOPNOTSUPP);
	assert_int_equal(fake.operations[GP_KFD_OP_RESUME], 6);
}

static void preempt_reports_each_queue(void **state)
{
	struct lab *lab = *state;

	assert_int_equal(open_preempt(lab, 0), 0);
	fail_id(SERIES, GP_KFD_OP_PREEMPT, 3, GP_KFD_QUEUE_ERROR, true);
	assert_int_equal(set(lab, GP__KFD_SAVE, QUEUES), QUEUES - 1);
	assert_int_equal(lab->t[3].result, -EIO);
	assert_int_equal(lab->t[3].undone, 0);
	assert_running(lab, 3, 1, true);
	assert_running(lab, 0, 3, false);
	/* A queue that runs already. */
	assert_int_equal(set(lab, GP__KFD_RELEASE, QUEUES), QUEUES);
	assert_running(lab, 0, QUEUES, true);
	fake.queue[2].destroying = true;
	lab->t[0].queue = &lab->queue[2];
	assert_int_equal(set(lab, GP__KFD_SAVE, 1), -EBUSY);
}

static void preempt_asks_before_it_calls(void **state)
{
	struct lab *lab = *state;

	fake.features = 0;
	assert_int_equal(open_preempt(lab, 0), 0);
	assert_int_equal(open_preempt(lab, 1), -EOPNOTSUPP);
	/* Another driver has something else at this number, and answers 0 as well. */
	fake.magic = 1;
	assert_int_equal(open_preempt(lab, 0), -ENOTTY);
	assert_int_equal(lab->c.series.version, 0);
	fake.has_series = false;
	assert_int_equal(open_preempt(lab, 0), -ENOTTY);
}

/* A single queue keeps the driver's error; those that do not exist keep theirs. */
static void preempt_keeps_the_reason(void **state)
{
	struct lab *lab = *state;

	assert_int_equal(open_preempt(lab, 0), 0);
	fail_id(SERIES, GP_KFD_OP_PREEMPT, 0, GP_KFD_QUEUE_ERROR, false);
	lab->queue[1].id = 60;
	assert_int_equal(set(lab, GP__KFD_SAVE, 2), 0);
	assert_int_equal(lab->t[0].result, -EIO);
	assert_int_equal(lab->t[1].result, -EINVAL);
	assert_running(lab, 0, 1, true);
}

/* Queues of others are held for the open file, and released at the end. */
static void preempt_of_others_ends_with_the_control(void **state)
{
	struct lab *lab = *state;

	assert_int_equal(open_preempt(lab, 1), 0);
	assert_int_equal(set(lab, GP__KFD_SAVE, 1), 1);
	assert_true(fake.targeted);
	assert_int_equal(set(lab, GP__KFD_SAVE, QUEUES), QUEUES);
	assert_int_equal(set(lab, GP__KFD_RELEASE, 1), 1);
	assert_running(lab, 1, QUEUES - 1, false);
	fake.operations[GP_KFD_OP_RESUME] = 0;
	gp__kfd_control_close(&lab->c);
	assert_running(lab, 0, QUEUES, true);
	assert_int_equal(fake.operations[GP_KFD_OP_RESUME], 1);
}

static void preempt_that_is_forbidden_is_so_for_all(void **state)
{
	struct lab *lab = *state;

	assert_int_equal(open_preempt(lab, 1), 0);
	fake_fail((struct fake_failure){
		.nr = SERIES, .op = GP_KFD_OP_PREEMPT, .err = EPERM, .times = 2 });
	assert_int_equal(set(lab, GP__KFD_SAVE, QUEUES), -EPERM);
	for (int i = 0; i < QUEUES; i++)
		assert_int_equal(lab->t[i].result, -EPERM);
}

/*
 * Sentences
 */

struct refusal {
	enum gp__kfd_way way;
	pid_t pid;
	enum gp__kfd_verb verb;
	int err;
	const char *says;
};

static void refusals_are_explained(void **state)
{
	static const struct refusal refusals[] = {
		{ GP__KFD_WAY_UPDATE, 1, GP__KFD_SAVE, EBADF, "let the program join" },
		{ GP__KFD_WAY_UPDATE, 0, GP__KFD_SAVE, EBADF, "after fork()" },
		{ GP__KFD_WAY_UPDATE, 0, GP__KFD_SAVE, EFAULT, "list the queues" },
		{ GP__KFD_WAY_UPDATE, 0, GP__KFD_DRAIN, EOPNOTSUPP, "use preempt" },
		{ GP__KFD_WAY_UPDATE, 0, GP__KFD_SAVE, ENODATA, "give at least one" },
		{ GP__KFD_WAY_UPDATE, 0, GP__KFD_SAVE, E2BIG, "more than 1024 queues" },
		{ GP__KFD_WAY_UPDATE, 0, GP__KFD_SAVE, ETIME, "was released" },
		{ GP__KFD_WAY_UPDATE, 0, GP__KFD_SAVE, EIO, "kernel's log" },
		{ GP__KFD_WAY_DBGTRAP, 0, GP__KFD_SAVE, ENOTTY, "Linux 6.5" },
		{ GP__KFD_WAY_DBGTRAP, 0, GP__KFD_SAVE, EINVAL, "sched_policy" },
		{ GP__KFD_WAY_DBGTRAP, 0, GP__KFD_SAVE, EPERM, "5.7" },
		{ GP__KFD_WAY_DBGTRAP, 1, GP__KFD_SAVE, EPERM, "ptrace_scope" },
		{ GP__KFD_WAY_DBGTRAP, 1, GP__KFD_SAVE, ENOTTY, "let the program join" },
		{ GP__KFD_WAY_DBGTRAP, 1, GP__KFD_SAVE, EALREADY, "let the program join" },
		{ GP__KFD_WAY_DBGTRAP, 0, GP__KFD_SAVE, EALREADY, "rocgdb" },
		{ GP__KFD_WAY_DBGTRAP, 0, GP__KFD_SAVE, EBUSY, "allows only one" },
		{ GP__KFD_WAY_DBGTRAP, 1, GP__KFD_SAVE, ESRCH, "no such process" },
		{ GP__KFD_WAY_DBGTRAP, 0, GP__KFD_SAVE, ESHUTDOWN, "runtime began or ended" },
		{ GP__KFD_WAY_PREEMPT, 0, GP__KFD_SAVE, EALREADY, "preempts its queues itself" },
		{ GP__KFD_WAY_PREEMPT, 0, GP__KFD_SAVE, ENOTTY, "gpreempt's series" },
		{ GP__KFD_WAY_PREEMPT, 0, GP__KFD_SAVE, EOPNOTSUPP, "cwsr_enable=1" },
		{ GP__KFD_WAY_PREEMPT, 1, GP__KFD_SAVE, EPERM, "CAP_SYS_ADMIN" },
		{ GP__KFD_WAY_PREEMPT, 1, GP__KFD_SAVE, EDQUOT, "release some" },
		{ GP__KFD_WAY_PREEMPT, 0, GP__KFD_SAVE, EINVAL, "no such queue" },
	};
	char text[GP__KFD_EXPLAIN_MAX];

	(void)state;
	for (size_t i = 0; i < N(refusals); i++) {
		const struct refusal *r = &refusals[i];
		struct gp__kfd_control c = { .way = r->way,
					     .pid = r->pid,
					     .runtime = GP__KFD_RUNTIME_UNKNOWN };

		gp__kfd_explain(&c, r->verb, -r->err, text, sizeof(text));
		assert_non_null(strstr(text, r->says));
		assert_non_null(strstr(text, strerrorname_np(r->err)));
	}
}

static void says_of_types(uint32_t types, enum gp__kfd_verb verb, const char *remedy)
{
	struct gp__kfd_control c = { .way = GP__KFD_WAY_PREEMPT,
				     .series = { .version = 1, .types = types } };
	char text[GP__KFD_EXPLAIN_MAX], end[80];

	snprintf(end, sizeof(end), "%s (EOPNOTSUPP)", remedy);
	gp__kfd_explain(&c, verb, -EOPNOTSUPP, text, sizeof(text));
	assert_true(strlen(text) > strlen(end));
	assert_string_equal(text + strlen(text) - strlen(end), end);
}

/* The remedy is a type that the GPU's scheduler offers, or else a way that exists everywhere. */
static void remedies_exist(void **state)
{
	const uint32_t save = 1u << GP_KFD_PREEMPT_SAVE, drain = 1u << GP_KFD_PREEMPT_DRAIN;
	const char *ways = "use update or dbgtrap, which wait until running work has finished";

	(void)state;
	says_of_types(drain, GP__KFD_SAVE, "or use DRAIN");
	says_of_types(0, GP__KFD_SAVE, ways);
	says_of_types(save, GP__KFD_DRAIN, "shows; use SAVE");
	says_of_types(save, GP__KFD_RESET, "; use SAVE");
	says_of_types(0, GP__KFD_DRAIN, ways);
	says_of_types(0, GP__KFD_RESET, ways);
}

static void devices_that_cannot_be_opened_are_explained(void **state)
{
	char text[GP__KFD_EXPLAIN_MAX];

	(void)state;
	gp__kfd_explain(NULL, GP__KFD_SAVE, -EACCES, text, sizeof(text));
	assert_non_null(strstr(text, "group render"));
	gp__kfd_explain(NULL, GP__KFD_SAVE, -ENOENT, text, sizeof(text));
	assert_non_null(strstr(text, "modprobe amdgpu"));
}

/* Every error, also unexpected ones, has a whole sentence with its name. */
static void every_error_has_a_sentence_that_fits(void **state)
{
	char text[GP__KFD_EXPLAIN_MAX], name[32];

	(void)state;
	for (int i = 0; i < 134 * (GP__KFD_WAYS + 1) * GP__KFD_VERBS; i++) {
		int err = i % 134 + 1, way = i / 134 % (GP__KFD_WAYS + 1);
		struct gp__kfd_control c = { .way = way, .pid = i % 2 };

		gp__kfd_explain(way < GP__KFD_WAYS ? &c : NULL, i / 134 / (GP__KFD_WAYS + 1), -err,
				text, sizeof(text));
		snprintf(name, sizeof(name), "(%s)",
			 strerrorname_np(err) ? strerrorname_np(err) : "?");
		assert_non_null(strstr(text, name));
		assert_string_equal(text + strlen(text) - strlen(name), name);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_lab, end_lab)

/* A debugger for a moment needs no runtime that allows it to suspend queues. */
static void a_snapshot_needs_no_runtime(void **state)
{
	struct gp_kfd_queue_snapshot entry[QUEUES + 1] = { 0 };
	struct lab *lab = *state;

	fake.runtime = GP_KFD_RUNTIME_DISABLED;
	assert_int_equal(
		gp__kfd_control_open_by(&lab->c, fake_ioctl, lab->kfd, 0, GP__KFD_WAY_DBGTRAP),
		-EPERM);
	assert_int_equal(gp__kfd_debug_open_by(&lab->c, fake_ioctl, lab->kfd, 0), 0);
	fake.queue[lab->queue[0].id].is_new = true;
	assert_int_equal(gp__kfd_debug_snapshot(&lab->c, entry, QUEUES + 1), QUEUES);
	for (int i = 0; i < QUEUES; i++)
		assert_int_equal(entry[i].queue_id, lab->queue[i].id);
	assert_int_equal(gp__kfd_debug_snapshot(&lab->c, entry, 2), 2);
	/* A snapshot acknowledges nothing for the debugger. */
	assert_true(fake.queue[lab->queue[0].id].is_new);
	gp__kfd_control_close(&lab->c);
	assert_false(fake.debugged);
	fake.has_dbg = false;
	assert_int_equal(gp__kfd_debug_open_by(&lab->c, fake_ioctl, lab->kfd, 0), -ENOTTY);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(names_are_parsed),
		TEST(queues_are_held_and_released),
		TEST(signals_are_passed_over),
		TEST(no_queue_and_too_many_are_refused),
		TEST(unknown_queues_are_refused_and_the_others_held),
		TEST(a_failed_hold_leaves_the_queue_running),
		TEST(a_release_is_retried_and_then_reported),
		TEST(a_hold_that_cannot_be_undone_says_so),
		TEST(refusals_are_not_tried_again),
		TEST(update_passes_what_the_runtime_set),
		TEST(update_holds_the_busiest_queue_first_and_releases_it_last),
		TEST(update_is_for_own_queues_and_saving),
		TEST(dbgtrap_holds_all_in_one_call),
		TEST(dbgtrap_has_a_grace_period),
		TEST(dbgtrap_reports_each_queue),
		TEST(dbgtrap_needs_the_runtime_and_to_be_alone),
		TEST(dbgtrap_does_not_outlive_the_runtime),
		TEST(dbgtrap_cannot_drain),
		TEST(preempt_has_each_type),
		TEST(preempt_reports_each_queue),
		TEST(preempt_asks_before_it_calls),
		TEST(preempt_keeps_the_reason),
		TEST(preempt_of_others_ends_with_the_control),
		TEST(preempt_that_is_forbidden_is_so_for_all),
		TEST(refusals_are_explained),
		TEST(remedies_exist),
		TEST(devices_that_cannot_be_opened_are_explained),
		TEST(every_error_has_a_sentence_that_fits),
		TEST(a_snapshot_needs_no_runtime),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
