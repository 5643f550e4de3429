// SPDX-License-Identifier: MIT
/*
 * Controls the program: holds and releases its queues, through the ioctl of gpreempt's kernel
 * series or as the program's debugger, and tells how much memory it uses.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device/kfd/can.h"
#include "device/kfd/remote.h"
#include "watch/watch.h"

/* The series needs no debugger. Without context save it may only drain. */
static enum gp__kfd_way choose_way(struct watch *w)
{
	struct gp_kfd_preempt_query series;
	bool saves = gp__kfd_cwsr_enable() != 0;

	gp__kfd_query_series(gp__kfd_libc_ioctl, w->kfd, 0, &series);
	w->verb = GP__KFD_SAVE;
	w->level = saves ? 3 : 2;
	if (!(series.features & GP_KFD_FEATURE_TARGET))
		return GP__KFD_WAY_DBGTRAP;
	if (gp__kfd_series_can(&series, GP_KFD_PREEMPT_SAVE))
		return GP__KFD_WAY_PREEMPT;
	/* The debugger drains under the name of saving. */
	if (!gp__kfd_series_can(&series, GP_KFD_PREEMPT_DRAIN))
		return GP__KFD_WAY_DBGTRAP;
	w->verb = GP__KFD_DRAIN;
	w->level = 2;
	return GP__KFD_WAY_PREEMPT;
}

int watch_open_control(struct watch *w, char why[GP__WIRE_TEXT_MAX])
{
	char reason[GP__KFD_EXPLAIN_MAX];
	enum gp__kfd_way way;
	int err;

	w->kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (w->kfd < 0) {
		err = -errno;
		gp__kfd_explain(NULL, GP__KFD_SAVE, err, reason, sizeof(reason));
		gp__wire_text(why, GP__WIRE_TEXT_MAX, reason);
		return err;
	}
	way = choose_way(w);
	w->control = (struct gp__kfd_control){
		.way = way, .pid = w->pid, .events = -1, .runtime = GP__KFD_RUNTIME_UNKNOWN
	};
	err = gp__kfd_control_open(&w->control, w->kfd, w->pid, way);
	w->is_open = !err;
	if (err) {
		gp__kfd_explain(&w->control, w->verb, err, reason, sizeof(reason));
		gp__wire_text(why, GP__WIRE_TEXT_MAX, reason);
	}
	return err;
}

void watch_close_control(struct watch *w)
{
	if (w->is_open)
		gp__kfd_control_close(&w->control);
	w->is_open = false;
	if (w->kfd >= 0)
		close(w->kfd);
	w->kfd = -1;
}

void watch_answer(struct watch *w)
{
	pthread_mutex_lock(&w->lock);
	gp__kfd_control_answer(&w->control);
	pthread_mutex_unlock(&w->lock);
}

/*
 * Orders
 */

/* The driver says of a queue that is gone, and of others, that it does not know it. */
static int result_of(const struct watch *w, const struct gp__kfd_target *t)
{
	uint64_t identity;

	if (t->result && !gp__kfd_remote_identify(w->pid, t->queue->id, &identity))
		return -ENOENT;
	return t->result;
}

static void set(struct watch *w, enum gp__kfd_verb verb, const u32 *ids, int *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		w->info[i] = (struct gp__kfd_queue_info){ .id = ids[i] };
		w->target[i] = (struct gp__kfd_target){ .queue = &w->info[i] };
	}
	pthread_mutex_lock(&w->lock);
	gp__kfd_control(&w->control, verb, w->target, n);
	pthread_mutex_unlock(&w->lock);
	for (size_t i = 0; i < n; i++)
		results[i] = result_of(w, &w->target[i]);
}

static void hold(void *state, const u32 *ids, int *results, size_t n)
{
	struct watch *w = state;

	gp__watch_hold(&w->queues, ids, n);
	set(w, w->verb, ids, results, n);
	gp__watch_hold_done(&w->queues, ids, results, n);
}

static void release(void *state, const u32 *ids, int *results, size_t n)
{
	struct watch *w = state;

	set(w, GP__KFD_RELEASE, ids, results, n);
	gp__watch_release_done(&w->queues, ids, results, n);
}

static bool measure_memory(void *state, const char *device, u64 *bytes)
{
	const struct watch *w = state;
	char key[GP__WIRE_DEVICE_MAX];

	for (int i = 0; i < w->nr_nodes; i++) {
		gp__kfd_node_key(&w->node[i], key, sizeof(key));
		if (!strcmp(key, device))
			return gp__kfd_memory_used(w->pid, w->node[i].gpu_id, bytes);
	}
	return false;
}

static void set_alone(void *state, bool alone)
{
	struct watch *w = state;

	gp__watch_set_calm(&w->queues, alone);
}

const struct gp__queue_ops watch_queue_ops = {
	.hold = hold,
	.release = release,
	.memory = measure_memory,
	.alone = set_alone,
};
