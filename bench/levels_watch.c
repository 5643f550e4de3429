// SPDX-License-Identifier: MIT
#include "levels_watch.h"

#include "base/stats.h"

#include <string.h>

static int nlaunch(void *hwq, void *cmd)
{
	struct levels_watch *w = hwq;

	return w->inner->nlaunch(w->hwq, cmd);
}

static int sync_command(void *hwq, void *cmd)
{
	struct levels_watch *w = hwq;

	return w->inner->sync(w->hwq, cmd);
}

static int64_t pending(void *hwq)
{
	struct levels_watch *w = hwq;

	return w->inner->pending(w->hwq);
}

static int timed(struct levels_watch *w, enum levels_verb verb, int (*call)(void *hwq))
{
	uint64_t begin = 0, end = 0;
	int rc;

	gp_kfd_clock(w->gpu, &begin);
	rc = call(w->hwq);
	gp_kfd_clock(w->gpu, &end);
	w->total_ns += end - begin;
	if (!rc && w->nr[verb] < LEVELS_VERBS_MAX)
		w->device[verb][w->nr[verb]++] = (double)(end - begin);
	return rc;
}

static int deactivate(void *hwq)
{
	struct levels_watch *w = hwq;

	return timed(w, LEVELS_STOP, w->inner->deactivate);
}

static int reactivate(void *hwq)
{
	struct levels_watch *w = hwq;

	return timed(w, LEVELS_START, w->inner->reactivate);
}

static int interrupt(void *hwq)
{
	struct levels_watch *w = hwq;

	return timed(w, LEVELS_STOP, w->inner->interrupt);
}

static int restore(void *hwq)
{
	struct levels_watch *w = hwq;

	return timed(w, LEVELS_START, w->inner->restore);
}

void levels_watch(struct levels_watch *w, struct gp_kfd *gpu, struct gp_kfd_queue *hwq)
{
	const struct gp_device_ops *inner = gp_kfd_ops(hwq);

	w->gpu = gpu;
	w->hwq = hwq;
	w->inner = inner;
	memset(w->nr, 0, sizeof(w->nr));
	w->total_ns = 0;
	w->ops = (struct gp_device_ops){
		.size = sizeof(w->ops),
		.nlaunch = nlaunch,
		.sync = sync_command,
		.pending = pending,
		.deactivate = inner->deactivate ? deactivate : NULL,
		.reactivate = inner->reactivate ? reactivate : NULL,
		.interrupt = inner->interrupt ? interrupt : NULL,
		.restore = inner->restore ? restore : NULL,
	};
}

double levels_device_ns(struct levels_watch *w, enum levels_verb verb)
{
	struct gp__stats stats;

	return gp__stats_of(w->device[verb], w->nr[verb], &stats) ? -1 : stats.median;
}
