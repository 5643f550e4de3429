// SPDX-License-Identifier: MIT
#include "join/nvidia.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "device/nvrm/gpus.h"
#include "device/nvrm/monitor.h"
#include "join/agent.h"
#include "join/touch.h"

/* In microseconds. The driver's own is a millisecond or two. */
#define SLICE_LEAST 1
#define SLICE_MOST 20000
#define SLICE_PER_WEIGHT 100
#define PAUSE_NS (10 * GP__MS)

struct gp__nvidia {
	struct gp__nvrm_owner *owner;
	struct gp__agent *agent;
	struct gp__nvrm_monitor *monitor;
	struct gp__touch *touch;
	struct gp__wish wish;
	void (*say)(const char *text);
	pthread_mutex_t lock; /* of the GPUs, and while the monitor is made */
	struct gp__nvrm_gpu gpu[GP__NVRM_GPUS_MAX];
	int nr_gpus;
	atomic_bool alone; /* nobody else is on the GPUs: their contexts stay loaded */
	bool said;
};

static void say(struct gp__nvidia *nv, const char *text)
{
	if (!nv->said)
		nv->say(text);
	nv->said = true;
}

/*
 * Orders
 */

static void hold(struct gp__nvidia *nv, const u32 *ids, const int *results, size_t n, bool held)
{
	for (size_t i = 0; i < n; i++) {
		if (!results[i])
			gp__nvrm_monitor_hold(nv->monitor, ids[i], held);
	}
}

static void stop(void *data, const u32 *ids, int *results, size_t n)
{
	struct gp__nvidia *nv = data;

	gp__nvrm_owner_set(nv->owner, nv->wish.level == 2 ? GP__NVRM_DRAIN : GP__NVRM_HOLD, ids,
			   results, n);
	hold(nv, ids, results, n, true);
}

static void start(void *data, const u32 *ids, int *results, size_t n)
{
	struct gp__nvidia *nv = data;

	gp__nvrm_owner_set(nv->owner, GP__NVRM_START, ids, results, n);
	hold(nv, ids, results, n, false);
}

static u64 slice_of(u32 weight)
{
	switch (weight) {
	case 0:
		return 0;
	case GP__WEIGHT_LEAST:
		return SLICE_LEAST;
	case GP__WEIGHT_MOST:
		return SLICE_MOST;
	default:
		return gp__min_u64((u64)weight * SLICE_PER_WEIGHT, SLICE_MOST);
	}
}

static int weigh(void *data, u32 id, u32 weight)
{
	struct gp__nvidia *nv = data;

	return gp__nvrm_owner_slice(nv->owner, id, slice_of(weight));
}

static void is_alone(void *data, bool alone)
{
	struct gp__nvidia *nv = data;

	nv->alone = alone;
	gp__nvrm_monitor_calm(nv->monitor, alone);
}

/*
 * Work
 */

static void became_ready(void *data, uint32_t id, uint32_t pending, uint64_t now)
{
	struct gp__nvidia *nv = data;

	if (!gp__nvrm_monitor_sees(nv->monitor))
		gp__agent_sees(nv->agent, id, GP__WIRE_SEES_PRESENCE);
	gp__agent_work(nv->agent, id, true, pending, now);
}

static void became_idle(void *data, uint32_t id, uint64_t now)
{
	struct gp__nvidia *nv = data;

	gp__agent_work(nv->agent, id, false, 0, now);
}

/* What the driver says of the GPU; false: it is not to be found. */
static bool find_gpu(struct gp__nvidia *nv, const char *uuid, struct gp__nvrm_gpu *gpu)
{
	bool found = false;

	pthread_mutex_lock(&nv->lock);
	if (nv->nr_gpus <= 0)
		nv->nr_gpus = gp__nvrm_gpus(GP__NVRM_PROC, nv->gpu, GP__NVRM_GPUS_MAX);
	for (int i = 0; i < nv->nr_gpus && !found; i++) {
		found = !strcmp(nv->gpu[i].uuid, uuid);
		*gpu = nv->gpu[i];
	}
	pthread_mutex_unlock(&nv->lock);
	return found;
}

static bool find_node(void *data, const struct gp__nvrm_group_info *group, char *path, size_t size)
{
	struct gp__nvrm_gpu gpu;

	if (!find_gpu(data, group->uuid, &gpu))
		return false;
	snprintf(path, size, "/dev/nvidia%d", gpu.minor);
	return true;
}

/*
 * A patient program that pauses between two steps is not done: who announces work wants it held
 * then, too, and not a millisecond after its next kernel.
 */
static u64 settle_ns(const struct gp__nvidia *nv)
{
	return nv->wish.hints.prio < GP__PRIO_NORMAL ? PAUSE_NS : 0;
}

static int make_monitor(struct gp__nvidia *nv)
{
	const struct gp__nvrm_monitor_options options = { .owner = nv->owner,
							  .settle_ns = settle_ns(nv),
							  .node = find_node,
							  .ready = became_ready,
							  .idle = became_idle,
							  .data = nv };

	return gp__nvrm_monitor_create(&options, &nv->monitor);
}

/* Threads may make their first contexts at the same time. */
static struct gp__nvrm_monitor *get_monitor(struct gp__nvidia *nv)
{
	struct gp__nvrm_monitor *monitor;

	pthread_mutex_lock(&nv->lock);
	if (!nv->monitor)
		make_monitor(nv);
	monitor = nv->monitor;
	pthread_mutex_unlock(&nv->lock);
	return monitor;
}

/*
 * Groups
 */

/* The level at which they are held; 0: not at the one that is wanted. */
static u32 effective_level(struct gp__nvidia *nv)
{
	char folder[128], text[512];

	if (gp__nvrm_has_mps(folder, sizeof(folder))) {
		snprintf(text, sizeof(text),
			 "NVIDIA's multi-process service (MPS) is on in %s, and runs everybody's "
			 "work as one: this program runs without a priority; end it with 'echo "
			 "quit | nvidia-cuda-mps-control'",
			 folder);
		say(nv, text);
		return 0;
	}
	if (nv->wish.level == 1) {
		say(nv, "level 1 is not to be had for this program, which launches on NVIDIA GPUs "
			"by itself: it runs without a priority; leave --level out, or use 3");
		return 0;
	}
	return nv->wish.level == 2 ? 2 : 3;
}

/* The same in every program: the UUID without its hyphens. */
static void name_device(struct gp__nvidia *nv, const char *uuid, struct gp__agent_queue *q)
{
	size_t n = (size_t)snprintf(q->device, sizeof(q->device), "nvidia-");
	struct gp__nvrm_gpu gpu;

	for (const char *c = uuid + strlen("GPU-"); *c && n < sizeof(q->device) - 1; c++) {
		if (*c != '-')
			q->device[n++] = *c;
	}
	q->device[n] = '\0';
	if (find_gpu(nv, uuid, &gpu))
		snprintf(q->device_name, sizeof(q->device_name), "%s", gpu.name);
}

static void group_added(void *data, const struct gp__nvrm_group_info *group)
{
	struct gp__nvidia *nv = data;
	struct gp__agent_queue q = { .id = group->id,
				     .level_requested = nv->wish.level ? nv->wish.level : 3,
				     .weigh_flags = GP__WIRE_CAN_WEIGH | GP__WIRE_CAN_YIELD,
				     .hints = nv->wish.hints };

	if (strncmp(group->uuid, "GPU-", 4)) {
		say(nv, "the NVIDIA driver does not say on which GPU this program is: it runs "
			"without a priority");
		return;
	}
	q.level = effective_level(nv);
	if (!q.level)
		return;
	if (!get_monitor(nv))
		return;
	name_device(nv, group->uuid, &q);
	memcpy(q.tag, nv->wish.tag, sizeof(q.tag));
	if (gp__agent_add(nv->agent, &q) || gp__nvrm_monitor_add(nv->monitor, group))
		say(nv, "there is no memory left to schedule this program's work on NVIDIA GPUs: "
			"it runs without a priority");
}

static void group_removed(void *data, const struct gp__nvrm_group_info *group)
{
	struct gp__nvidia *nv = data;

	if (nv->monitor)
		gp__nvrm_monitor_remove(nv->monitor, group->id);
	gp__agent_remove(nv->agent, group->id);
}

static void group_cannot(void *data, const char *why)
{
	struct gp__nvidia *nv = data;
	char text[256];

	snprintf(text, sizeof(text), "%s: it runs without a priority", why);
	say(nv, text);
}

/*
 * Beginning
 */

static void agent_says(void *data, const char *text)
{
	struct gp__nvidia *nv = data;

	nv->say(text);
}

static int make_agent(struct gp__nvidia *nv)
{
	struct gp__agent_options options = {
		.program = program_invocation_short_name,
		.say = agent_says,
		.ops = { .stop = stop, .start = start, .weigh = weigh, .alone = is_alone },
		.data = nv,
	};
	char path[108];
	int err = gp__wire_path(path, sizeof(path));

	options.path = path;
	return err ? err : gp__agent_create(&options, &nv->agent);
}

int gp__nvidia_create(gp__nvrm_ioctl_fn next, const struct gp__wish *wish,
		      void (*say_it)(const char *text), struct gp__nvidia **nvidia)
{
	struct gp__nvidia *nv = calloc(1, sizeof(*nv));
	const struct gp__nvrm_owner_events events = { group_added, group_removed, group_cannot,
						      nv };
	int err;

	if (!nv)
		return -ENOMEM;
	nv->wish = *wish;
	nv->say = say_it;
	pthread_mutex_init(&nv->lock, NULL);
	err = make_agent(nv);
	if (!err)
		err = gp__touch_create(NULL, &nv->touch);
	if (!err)
		err = gp__nvrm_owner_create(next, &events, &nv->owner);
	if (err) {
		gp__touch_destroy(nv->touch);
		gp__agent_destroy(nv->agent);
		free(nv);
		return err;
	}
	if (wish->copies)
		gp__nvrm_owner_take_copies(nv->owner);
	*nvidia = nv;
	return 0;
}

int gp__nvidia_ioctl(struct gp__nvidia *nv, int fd, unsigned long request, void *args)
{
	return gp__nvrm_owner_ioctl(nv->owner, fd, request, args);
}

/* The monitor's thread is not in the child; what it had is left behind. */
void gp__nvidia_forget(struct gp__nvidia *nv)
{
	pthread_mutex_init(&nv->lock, NULL);
	gp__nvrm_owner_forget(nv->owner);
	gp__agent_forget(nv->agent);
	gp__touch_forget(nv->touch);
	nv->monitor = NULL;
}

int gp__nvidia_arriving(struct gp__nvidia *nv, uint64_t at)
{
	int err = gp__agent_arriving(nv->agent, at);

	if (!at || (!err && !nv->alone))
		gp__touch_at(nv->touch, at);
	return err;
}

void gp__nvidia_exit(struct gp__nvidia *nv)
{
	gp__touch_end(nv->touch);
}
