/* SPDX-License-Identifier: MIT */
/*
 * The header in strict C89 and in C++17: it must compile without a warning,
 * link, and create a queue. Compiled as both.
 */
#include <gpreempt/gpreempt.h>

#include <stdio.h>
#include <string.h>

static int nlaunch(void *hwq, void *cmd)
{
	(void)cmd;
	++*(int *)hwq;
	return 0;
}

static int sync_command(void *hwq, void *cmd)
{
	(void)hwq;
	(void)cmd;
	return 0;
}

/* The initialisers are good for objects that live as long as the program, too. */
static struct gp_sched_options for_ever = GP_SCHED_OPTIONS_INIT;

int main(void)
{
	struct gp_queue_options options = GP_QUEUE_OPTIONS_INIT;
	struct gp_device_ops ops = GP_DEVICE_OPS_INIT;
	struct gp_queue_stats stats = GP_QUEUE_STATS_INIT;
	struct gp_suspend_result result = GP_SUSPEND_RESULT_INIT;
	struct gp_queue *queue = NULL;
	struct gp_error err;
	uint64_t ticket = 0;
	int launched = 0;

	ops.nlaunch = nlaunch;
	ops.sync = sync_command;
	options.level = 3;
	if (for_ever.size != sizeof(for_ever) || for_ever.policy)
		return 1;
	if (gp_queue_create(&ops, &launched, &options, &queue, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	if (gp_queue_submit(queue, &launched, &ticket) || gp_queue_wait(queue, ticket, -1))
		return 1;
	if (gp_queue_suspend(queue, GP_SUSPEND_DRAIN, -1, &result, &err) || result.level != 1)
		return 1;
	if (gp_queue_resume(queue, &err) || gp_queue_stats(queue, &stats))
		return 1;
	gp_queue_destroy(queue);
	return launched != 1 || stats.completed != 1 || stats.level_requested != 3 ||
	       stats.level_effective != 1 || strcmp(gp_version(), GPREEMPT_TEST_VERSION) != 0;
}
