// SPDX-License-Identifier: MIT
/*
 * gpreempt/kfd.h on an emulated machine, as an external program uses it: what works, what is
 * refused and with which message, and that nothing is lost or done twice, whatever is done to
 * queues.
 *
 * Usage: test_kfd_api CODE OTHER-CODE KERNEL on|off|none [SEED], as a command of 'gpreempt emu exec
 * --kernel KERNEL --cwsr on|off'. The other code is for another GPU model.
 */
#include <errno.h>
#include <gpreempt/kfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/test.h"

#define COMMANDS 120
#define STEPS 150
#define LANES 64

static const char *code_path, *other_code_path;
static bool has_series, has_dbgtrap, saves_waves, drains;
static unsigned int seed = 1;

/* The arguments of a kernel "sign" or "fill". */
struct args {
	uint64_t a, b;
	uint32_t id, rounds;
};

struct lab {
	struct gp_kfd *gpu;
	struct gp_kfd_code *code;
	uint64_t sign, fill, gate;
};

static int begin_on(struct lab *lab, uint32_t index)
{
	struct gp_error err;

	if (gp_kfd_open(index, &lab->gpu, &err) ||
	    gp_kfd_load(lab->gpu, code_path, &lab->code, &err) ||
	    gp_kfd_kernel(lab->code, "sign", &lab->sign, &err) ||
	    gp_kfd_kernel(lab->code, "fill", &lab->fill, &err) ||
	    gp_kfd_kernel(lab->code, "gate", &lab->gate, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return -1;
	}
	return 0;
}

static int end_of(struct lab *lab)
{
	gp_kfd_unload(lab->code);
	return gp_kfd_close(lab->gpu);
}

static int begin(void **state)
{
	*state = calloc(1, sizeof(struct lab));
	return *state ? begin_on(*state, 0) : -1;
}

static int end(void **state)
{
	int rc = end_of(*state);

	free(*state);
	return rc;
}

static void *memory(struct lab *lab, size_t size)
{
	struct gp_error err;
	void *at;

	if (gp_kfd_alloc(lab->gpu, size, &at, &err))
		fail_msg("%s", err.message);
	return at;
}

static struct gp_kfd_queue *hw_queue(struct lab *lab, uint32_t flags, int way, int level2)
{
	struct gp_kfd_queue_options options = GP_KFD_QUEUE_OPTIONS_INIT;
	struct gp_kfd_queue *hwq;
	struct gp_error err;

	options.flags = flags;
	options.way = way;
	options.level2 = level2;
	options.depth = 256;
	if (gp_kfd_queue_create(lab->gpu, &options, &hwq, &err))
		fail_msg("%s", err.message);
	return hwq;
}

static struct gp_queue *scheduled_queue_of(struct gp_kfd_queue *hwq, int level,
					   struct gp_sched *sched, int priority)
{
	struct gp_queue_options options = GP_QUEUE_OPTIONS_INIT;
	struct gp_queue *queue;
	struct gp_error err;

	options.level = level;
	options.flags = GP_QUEUE_STRICT_LEVEL;
	options.wide_window = 64;
	options.sched = sched;
	options.priority = priority;
	if (gp_queue_create(gp_kfd_ops(hwq), hwq, &options, &queue, &err))
		fail_msg("%s", err.message);
	return queue;
}

static struct gp_queue *queue_of(struct gp_kfd_queue *hwq, int level)
{
	return scheduled_queue_of(hwq, level, NULL, 0);
}

static struct gp_kfd_command command(uint64_t kernel, const void *kernarg)
{
	struct gp_kfd_command c = GP_KFD_COMMAND_INIT;

	c.kernel = kernel;
	c.kernarg = kernarg;
	c.grid[0] = c.group[0] = LANES;
	return c;
}

/*
 * Refusals
 */

static void test_a_gpu_that_is_not_there(void **state)
{
	struct gp_kfd *gpu;
	struct gp_error err;

	(void)state;
	assert_int_equal(gp_kfd_open(7, &gpu, &err), -ENODEV);
	assert_null(gpu);
	assert_string_equal(err.message, "there is no GPU 7: the last one is 1");
}

static void expect_refused(struct lab *lab, const struct gp_kfd_queue_options *options, int rc,
			   const char *words)
{
	struct gp_kfd_queue *hwq;
	struct gp_error err;

	assert_int_equal(gp_kfd_queue_create(lab->gpu, options, &hwq, &err), rc);
	assert_int_equal(gp_kfd_queue_create(lab->gpu, options, &hwq, NULL), rc);
	assert_null(hwq);
	assert_int_equal(err.code, rc);
	if (!strstr(err.message, words))
		fail_msg("\"%s\" does not say \"%s\"", err.message, words);
}

static void test_queues_that_cannot_be(void **state)
{
	struct gp_kfd_queue_options o = GP_KFD_QUEUE_OPTIONS_INIT;

	o.level2 = GP_KFD_LEVEL2_FLUSH;
	expect_refused(*state, &o, -EOPNOTSUPP, "declared idempotent");
	o.level2 = 9;
	expect_refused(*state, &o, -EINVAL, "level2 is 9");
	o.level2 = 0;
	o.way = -1;
	expect_refused(*state, &o, -EINVAL, "way is -1");
	o.way = 0;
	o.depth = 100;
	expect_refused(*state, &o, -EINVAL, "power of two from 64 to 65536");
	o.depth = 0;
	o.flags = 0x10;
	expect_refused(*state, &o, -EINVAL, "flags 0x10");
	o.flags = 0;
	o.size = 3;
	expect_refused(*state, &o, -EINVAL, "size is not set");
	o.size = sizeof(o);
	o.way = GP_KFD_WAY_PREEMPT;
	if (!saves_waves)
		expect_refused(*state, &o, -EOPNOTSUPP, "cwsr_enable=1");
	else if (!has_series)
		expect_refused(*state, &o, -EOPNOTSUPP, "gpreempt's kernel series");
	o.way = 0;
	o.level2 = GP_KFD_LEVEL2_DRAIN;
	if (!drains)
		expect_refused(*state, &o, -EOPNOTSUPP, "cannot drain");
}

static void test_code_that_cannot_be_loaded(void **state)
{
	struct lab *lab = *state;
	struct gp_kfd_code *code;
	struct gp_error err;
	uint64_t kernel;

	assert_int_equal(gp_kfd_load(lab->gpu, "/nonexistent", &code, &err), -ENOENT);
	assert_non_null(strstr(err.message, "cannot read /nonexistent"));
	assert_int_equal(gp_kfd_load(lab->gpu, "/proc/self/exe", &code, &err), -ENOEXEC);
	assert_non_null(strstr(err.message, "is not a code object"));
	assert_int_equal(gp_kfd_load(lab->gpu, other_code_path, &code, &err), -ENOEXEC);
	assert_non_null(strstr(err.message, "but the GPU is a"));
	assert_int_equal(gp_kfd_kernel(lab->code, "no_such", &kernel, &err), -ENOENT);
	assert_string_equal(err.message, "the code has no kernel 'no_such'");
	assert_int_equal(gp_kfd_kernel(lab->code, "calls", &kernel, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.message, "scratch"));
}

static void test_a_device_in_use_is_not_closed(void **state)
{
	struct lab *lab = *state;
	void *at = memory(lab, 1);

	assert_int_equal(gp_kfd_close(lab->gpu), -EBUSY);
	gp_kfd_free(lab->gpu, at);
	gp_kfd_free(lab->gpu, NULL);
	gp_kfd_free(lab->gpu, lab);
	assert_int_equal(gp_kfd_close(lab->gpu), -EBUSY);
	assert_int_equal(gp_kfd_close(NULL), 0);
	gp_kfd_unload(NULL);
	gp_kfd_queue_destroy(NULL);
}

static void test_commands_that_no_gpu_can_do(void **state)
{
	struct lab *lab = *state;
	struct gp_kfd_queue *hwq = hw_queue(lab, 0, 0, 0);
	struct gp_queue *queue = queue_of(hwq, 1);
	struct gp_kfd_command good = GP_KFD_COMMAND_INIT, bad[4];
	uint64_t ticket;

	for (int i = 0; i < 4; i++)
		bad[i] = command(lab->sign, NULL);
	bad[0].group[0] = 2048;
	bad[1].grid[0] = 0;
	bad[2].lds_bytes = 65537;
	bad[3].reserved = 1;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(gp_queue_submit(queue, &bad[i], &ticket), 0);
		assert_int_equal(gp_queue_wait(queue, ticket, -1), -EINVAL);
	}
	/* It continues with a valid packet: a barrier. */
	assert_int_equal(gp_queue_submit(queue, &good, &ticket), 0);
	assert_int_equal(gp_queue_wait(queue, ticket, -1), 0);
	gp_queue_destroy(queue);
	gp_kfd_queue_destroy(hwq);
}

/*
 * Capabilities
 */

static void test_the_best_there_is(void **state)
{
	struct lab *lab = *state;
	struct gp_kfd_info info = GP_KFD_INFO_INIT;
	struct gp_kfd_queue_info queue_info = GP_KFD_QUEUE_INFO_INIT;
	struct gp_kfd_queue *hwq = hw_queue(lab, GP_KFD_QUEUE_IDEMPOTENT, 0, 0);

	assert_int_equal(gp_kfd_info(lab->gpu, &info), 0);
	assert_true(info.gfx_version == 90010 || info.gfx_version == 90402);
	assert_int_equal(info.can_save, saves_waves);
	assert_int_equal(info.can_drain, drains);
	assert_int_equal(info.series, has_series);
	assert_int_equal(info.shared, 0);
	assert_int_equal(gp_kfd_queue_info(hwq, &queue_info), 0);
	if (!saves_waves)
		assert_int_equal(queue_info.way, 0);
	else
		assert_int_equal(queue_info.way,
				 has_series ? GP_KFD_WAY_PREEMPT : GP_KFD_WAY_UPDATE);
	assert_int_equal(queue_info.level2, drains ? GP_KFD_LEVEL2_DRAIN : GP_KFD_LEVEL2_FLUSH);
	gp_kfd_queue_destroy(hwq);
	hwq = hw_queue(lab, 0, 0, 0);
	gp_kfd_queue_info(hwq, &queue_info);
	assert_int_equal(queue_info.level2, drains ? GP_KFD_LEVEL2_DRAIN : GP_KFD_LEVEL2_NONE);
	gp_kfd_queue_destroy(hwq);
}

static void test_times_are_of_the_gpus_clock(void **state)
{
	struct lab *lab = *state;
	struct gp_kfd_queue *hwq = hw_queue(lab, 0, 0, 0);
	struct gp_queue *queue = queue_of(hwq, 1);
	struct args *args = memory(lab, 4096);
	struct gp_kfd_command c[2];
	uint64_t before, after;

	*args = (struct args){ .a = (uint64_t)&args[1], .b = (uint64_t)&args[2], .rounds = 1000 };
	assert_int_equal(gp_kfd_clock(lab->gpu, &before), 0);
	for (int i = 0; i < 2; i++) {
		c[i] = command(lab->sign, args);
		assert_int_equal(gp_queue_submit(queue, &c[i], NULL), 0);
	}
	assert_int_equal(gp_queue_wait_all(queue, -1), 0);
	assert_int_equal(gp_kfd_clock(lab->gpu, &after), 0);
	/* A tick is 10 ns. */
	assert_true(c[0].start_ns + 10 >= before && c[0].start_ns < c[0].end_ns);
	assert_true(c[0].end_ns <= c[1].start_ns && c[1].start_ns < c[1].end_ns);
	assert_true(c[1].end_ns <= after + 10);
	gp_queue_destroy(queue);
	gp_kfd_queue_destroy(hwq);
	gp_kfd_free(lab->gpu, args);
}

/*
 * Operations on queues in any order
 */

struct trial {
	struct lab *lab;
	const char *name;
	int level, way, level2;
	bool idempotent;
	struct gp_sched *sched;
	int priority;
	unsigned int seed;
	/* The results. */
	char wrong[256];
	struct gp_kfd_queue_info info;
	uint64_t suspends;
};

static int number(struct trial *t, int below)
{
	return (int)(rand_r(&t->seed) / (RAND_MAX + 1.0) * below);
}

__attribute__((format(printf, 2, 3))) static void complain(struct trial *t, const char *fmt, ...)
{
	va_list ap;

	if (t->wrong[0])
		return;
	va_start(ap, fmt);
	vsnprintf(t->wrong, sizeof(t->wrong), fmt, ap);
	va_end(ap);
}

/* A random operation; unfinished ones are completed. */
static void step(struct trial *t, struct gp_queue *queue, struct gp_kfd_command *commands,
		 int *submitted)
{
	struct gp_error err = { 0 };
	int rc;

	switch (number(t, 6)) {
	case 0:
	case 1:
		for (int n = number(t, 8); n-- && *submitted < COMMANDS;) {
			if (gp_queue_submit(queue, &commands[(*submitted)++], NULL))
				complain(t, "submit fails");
		}
		break;
	case 2:
		rc = gp_queue_suspend(queue, 0, -1, NULL, &err);
		if (rc)
			complain(t, "suspend: %d %s", rc, err.message);
		break;
	case 3:
		rc = gp_queue_suspend(queue, GP_SUSPEND_DRAIN, -1, NULL, &err);
		if (rc)
			complain(t, "suspend and drain: %d %s", rc, err.message);
		break;
	case 4:
		usleep((useconds_t)number(t, 3000));
		break;
	default:
		rc = gp_queue_resume(queue, &err);
		if (rc)
			complain(t, "resume: %d %s", rc, err.message);
	}
}

static void check_book(struct trial *t, const uint32_t *next, const uint32_t *book)
{
	if (*next != COMMANDS)
		complain(t, "%u commands were done instead of %d", *next, COMMANDS);
	for (uint32_t i = 0; i < COMMANDS; i++) {
		if (book[i] != i)
			complain(t, "command %u was done as number %u", book[i], i);
	}
}

static void check_table(struct trial *t, const uint32_t *wrong, const uint32_t *table)
{
	if (*wrong)
		complain(t, "%u commands began before the one before had ended", *wrong / LANES);
	for (uint32_t i = 0; i < COMMANDS * LANES; i++) {
		uint32_t id = i / LANES + i % LANES;

		if (table[i] != id * 1664525 + 1013904223)
			complain(t, "command %u was not done", i / LANES);
	}
}

static void run_trial(struct trial *t, struct gp_queue *queue, struct args *args, void *results)
{
	struct gp_kfd_command commands[COMMANDS];
	uint32_t *counter = results, *places = counter + LANES;
	struct gp_queue_stats stats = GP_QUEUE_STATS_INIT;
	struct gp_error err;
	int submitted = 0;

	for (uint32_t i = 0; i < COMMANDS; i++) {
		bool fill = t->idempotent;

		args[i] = (struct args){ .a = (uint64_t)(fill ? places : counter),
					 .b = (uint64_t)(fill ? counter : places),
					 .id = i,
					 .rounds = (uint32_t)number(t, 3000) };
		commands[i] = command(fill ? t->lab->fill : t->lab->sign, &args[i]);
	}
	for (int i = 0; i < STEPS && submitted < COMMANDS; i++)
		step(t, queue, commands, &submitted);
	while (submitted < COMMANDS)
		gp_queue_submit(queue, &commands[submitted++], NULL);
	if (gp_queue_resume(queue, &err))
		complain(t, "the last resume: %s", err.message);
	if (gp_queue_wait_all(queue, -1) || gp_queue_stats(queue, &stats))
		complain(t, "waiting for all fails");
	if (stats.completed != COMMANDS || stats.failed)
		complain(t, "%d completed, %d failed", (int)stats.completed, (int)stats.failed);
	if (stats.level_effective != t->level)
		complain(t, "level %d instead of %d", stats.level_effective, t->level);
	t->suspends = stats.suspends;
	if (t->idempotent)
		check_table(t, counter, places);
	else
		check_book(t, counter, places);
}

static void *trial_main(void *arg)
{
	struct trial *t = arg;
	uint32_t flags = t->idempotent ? GP_KFD_QUEUE_IDEMPOTENT : 0;
	struct gp_kfd_queue *hwq = hw_queue(t->lab, flags, t->way, t->level2);
	struct gp_queue *queue = scheduled_queue_of(hwq, t->level, t->sched, t->priority);
	struct args *args = memory(t->lab, COMMANDS * sizeof(*args));
	void *results = memory(t->lab, (COMMANDS + 1) * LANES * sizeof(uint32_t));

	run_trial(t, queue, args, results);
	t->info.size = sizeof(t->info);
	gp_kfd_queue_info(hwq, &t->info);
	gp_queue_destroy(queue);
	gp_kfd_queue_destroy(hwq);
	gp_kfd_free(t->lab->gpu, args);
	gp_kfd_free(t->lab->gpu, results);
	return NULL;
}

/* All queues at once: each stop of one unmaps the others, too. */
static void run_trials(struct lab *lab, struct trial *trials, int n)
{
	pthread_t threads[8];

	for (int i = 0; i < n; i++) {
		trials[i].lab = lab;
		trials[i].seed = seed + (unsigned int)i;
		assert_int_equal(pthread_create(&threads[i], NULL, trial_main, &trials[i]), 0);
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < n; i++) {
		if (trials[i].wrong[0])
			fail_msg("%s: %s (seed %u)", trials[i].name, trials[i].wrong, seed);
		print_message("%-8s %3d stops, %d flushes, %d commands repeated\n", trials[i].name,
			      (int)trials[i].suspends, (int)trials[i].info.flushes,
			      (int)trials[i].info.repeated);
	}
}

static void test_nothing_is_lost_at_any_level(void **state)
{
	const struct trial all[] = {
		{ .name = "level 1", .level = 1 },
		{ .name = "flush", .level = 2, .level2 = GP_KFD_LEVEL2_FLUSH, .idempotent = true },
		{ .name = "drain", .level = 2, .level2 = GP_KFD_LEVEL2_DRAIN },
		{ .name = "update", .level = 3, .way = GP_KFD_WAY_UPDATE },
		{ .name = "preempt", .level = 3, .way = GP_KFD_WAY_PREEMPT },
	};
	struct trial trials[5];
	int n = 0;

	for (int i = 0; i < 5; i++) {
		if ((all[i].level == 3 && !saves_waves) ||
		    (all[i].level2 == GP_KFD_LEVEL2_DRAIN && !drains) ||
		    (all[i].way == GP_KFD_WAY_PREEMPT && !has_series))
			continue;
		trials[n++] = all[i];
	}
	run_trials(*state, trials, n);
}

/* The program and a scheduler stop the same queues independently. */
static void test_nothing_is_lost_under_a_scheduler(void **state)
{
	struct trial trials[] = {
		{ .name = "level 1", .level = 1, .priority = 9 },
		{ .name = "flush", .level = 2, .level2 = GP_KFD_LEVEL2_FLUSH, .idempotent = true },
		{ .name = "level 3", .level = 3, .priority = 5 },
		{ .name = "urgent", .level = 3, .priority = GP_PRIORITY_ONLINE },
	};
	struct gp_sched_options options = GP_SCHED_OPTIONS_INIT;
	struct gp_sched *sched;
	int n = saves_waves ? 4 : 2;

	/* So that the other queues run in between. */
	options.params = "max_hold_ms=20 grant_ms=5";
	assert_int_equal(gp_sched_create(&options, &sched, NULL), 0);
	for (int i = 0; i < n; i++)
		trials[i].sched = sched;
	run_trials(*state, trials, n);
	assert_int_equal(gp_sched_destroy(sched), 0);
}

/* Another process's address space, and no events: waiting uses the clock. */
static void run_elsewhere(uint32_t gpu, int shared)
{
	struct trial trials[] = {
		{ .name = "level 1", .level = 1 },
		{ .name = "flush", .level = 2, .level2 = GP_KFD_LEVEL2_FLUSH, .idempotent = true },
	};
	struct gp_kfd_info info = GP_KFD_INFO_INIT;
	struct lab lab = { 0 };

	assert_int_equal(begin_on(&lab, gpu), 0);
	gp_kfd_info(lab.gpu, &info);
	assert_int_equal(info.shared, shared);
	run_trials(&lab, trials, 2);
	assert_int_equal(end_of(&lab), 0);
}

static void test_a_gpu_that_this_process_has_already(void **state)
{
	(void)state;
	run_elsewhere(0, 1);
}

static void test_a_second_gpu(void **state)
{
	(void)state;
	run_elsewhere(1, 0);
}

static void test_nothing_is_lost_as_a_debugger(void **state)
{
	struct trial trials[] = {
		{ .name = "dbgtrap", .level = 3, .way = GP_KFD_WAY_DBGTRAP },
		{ .name = "other", .level = 3, .way = GP_KFD_WAY_DBGTRAP },
	};

	if (!has_dbgtrap) {
		print_message("this kernel has no DBG_TRAP\n");
		skip();
	}
	run_trials(*state, trials, 2);
}

/* Running work is always dropped here: it waits for a gate that opens later. */
static void test_flushed_work_is_restarted(void **state)
{
	struct lab *lab = *state;
	struct gp_kfd_queue *hwq = hw_queue(lab, GP_KFD_QUEUE_IDEMPOTENT, 0, GP_KFD_LEVEL2_FLUSH);
	struct gp_queue *queue = queue_of(hwq, 2);
	struct gp_suspend_result result = GP_SUSPEND_RESULT_INIT;
	struct gp_kfd_queue_info info = GP_KFD_QUEUE_INFO_INIT;
	uint64_t *args = memory(lab, 4096);
	_Atomic uint32_t *arrived = (void *)&args[8];
	struct gp_kfd_command c = command(lab->gate, args), barrier = GP_KFD_COMMAND_INIT;

	for (int i = 0; i < 4; i++)
		args[i] = (uint64_t)(arrived + i);
	assert_int_equal(gp_queue_submit(queue, &c, NULL), 0);
	assert_int_equal(gp_queue_submit(queue, &barrier, NULL), 0);
	while (!atomic_load(arrived))
		usleep(100);
	for (uint32_t turn = 1; turn <= 3; turn++) {
		assert_int_equal(gp_queue_suspend(queue, GP_SUSPEND_DRAIN, -1, &result, NULL), 0);
		assert_int_equal(result.level, 2);
		assert_int_equal(result.may_run, 0);
		assert_int_equal(gp_queue_resume(queue, NULL), 0);
		while (atomic_load(arrived) == turn)
			usleep(100);
	}
	atomic_store(arrived + 1, 1);
	assert_int_equal(gp_queue_wait_all(queue, -1), 0);
	assert_int_equal(*arrived, 4);
	assert_int_equal(arrived[2], 1); /* left once */
	gp_kfd_queue_info(hwq, &info);
	assert_int_equal(info.flushes, 3);
	assert_int_equal(info.repeated, 6);
	gp_queue_destroy(queue);
	gp_kfd_queue_destroy(hwq);
	gp_kfd_free(lab->gpu, args);
}

/* The driver evicts all queues of the process: so this comes last. */
static void test_a_bad_access_is_the_commands_result(void **state)
{
	struct lab *lab = *state;
	struct gp_kfd_queue *hwq = hw_queue(lab, 0, 0, 0);
	struct gp_queue *queue = queue_of(hwq, 1);
	struct args *args = memory(lab, 4096);
	struct gp_kfd_command c = command(lab->sign, args), next = GP_KFD_COMMAND_INIT;
	uint64_t ticket[2];

	*args = (struct args){ .a = 0x1000, .b = 0x1000 };
	assert_int_equal(gp_queue_submit(queue, &c, &ticket[0]), 0);
	assert_int_equal(gp_queue_submit(queue, &next, &ticket[1]), 0);
	assert_int_equal(gp_queue_wait(queue, ticket[0], -1), -EFAULT);
	assert_int_equal(gp_queue_wait(queue, ticket[1], -1), -EFAULT);
	gp_queue_destroy(queue);
	gp_kfd_queue_destroy(hwq);
	gp_kfd_free(lab->gpu, args);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_lost_as_a_debugger),
		cmocka_unit_test(test_a_gpu_that_is_not_there),
		cmocka_unit_test(test_queues_that_cannot_be),
		cmocka_unit_test(test_code_that_cannot_be_loaded),
		cmocka_unit_test(test_a_device_in_use_is_not_closed),
		cmocka_unit_test(test_commands_that_no_gpu_can_do),
		cmocka_unit_test(test_the_best_there_is),
		cmocka_unit_test(test_times_are_of_the_gpus_clock),
		cmocka_unit_test(test_flushed_work_is_restarted),
		cmocka_unit_test(test_nothing_is_lost_at_any_level),
		cmocka_unit_test(test_nothing_is_lost_under_a_scheduler),
		cmocka_unit_test(test_a_gpu_that_this_process_has_already),
		cmocka_unit_test(test_a_second_gpu),
		cmocka_unit_test(test_a_bad_access_is_the_commands_result),
	};

	if (argc < 5) {
		fprintf(stderr, "usage: %s CODE OTHER-CODE KERNEL on|off [SEED]\n", argv[0]);
		return 2;
	}
	code_path = argv[1];
	other_code_path = argv[2];
	has_series = !strcmp(argv[3], "gpreempt");
	saves_waves = strcmp(argv[4], "off") != 0;
	has_dbgtrap = !strcmp(argv[4], "on") && strcmp(argv[3], "6.1") != 0;
	drains = !strcmp(argv[4], "off") || !strcmp(argv[4], "none");
	if (argc > 5)
		seed = (unsigned int)strtoul(argv[5], NULL, 0);
	return cmocka_run_group_tests(tests, begin, end);
}
