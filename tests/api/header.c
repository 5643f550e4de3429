/* SPDX-License-Identifier: MIT */
/*
 * The headers in strict C89 and in C++17: they must compile without a warning,
 * link, and create a queue. Compiled as both.
 */
#include <gpreempt/kfd.h>

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
	struct gp_kfd_queue_options kfd_options = GP_KFD_QUEUE_OPTIONS_INIT;
	struct gp_kfd_command command = GP_KFD_COMMAND_INIT;
	struct gp_kfd_info info = GP_KFD_INFO_INIT;
	struct gp_kfd_queue_info queue_info = GP_KFD_QUEUE_INFO_INIT;
	struct gp_kfd *gpu = NULL;
	int launched = 0;

	/* More GPUs than there are. */
	if (!gp_kfd_open(4711, &gpu, &err) || gpu || !err.message[0] || gp_kfd_close(gpu))
		return 1;
	if (kfd_options.depth || command.kernel || info.shared || queue_info.way)
		return 1;
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
