// SPDX-License-Identifier: MIT
#include "device/nvrm/backend.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "device/level.h"
#include "device/nvrm/abi.h"
#include "device/nvrm/gpus.h"
#include "device/nvrm/layout.h"
#include "device/nvrm/machine.h"
#include "device/nvrm/monitor.h"
#include "device/nvrm/owner.h"
#include "device/nvrm/warmup.h"
#include "device/watch.h"

/* In microseconds. The driver's default is one or two milliseconds. */
#define SLICE_LEAST 1
#define SLICE_MOST 20000
#define SLICE_PER_WEIGHT 100
#define PAUSE_NS (10 * GP__MS)

struct nvidia {
	struct gp__port *port;
	struct gp__nvrm_owner *owner;
	struct gp__watch watch;
	struct gp__warmup *warmup;
	pthread_mutex_t gpus_lock; /* after the monitor's own; of: */
	struct gp__nvrm_gpu gpu[GP__NVRM_GPUS_MAX];
	int nr_gpus;
};

/*
 * Orders
 */

static u32 effective_level(const struct nvidia *nv)
{
	return gp__port_level(nv->port, GP__HAS_LEVEL(2) | GP__HAS_LEVEL(3));
}

static void hold(void *state, const u32 *ids, int *results, size_t n)
{
	struct nvidia *nv = state;

	gp__watch_hold(&nv->watch, ids, n);
	gp__nvrm_owner_set(nv->owner, effective_level(nv) == 2 ? GP__NVRM_DRAIN : GP__NVRM_HOLD,
			   ids, results, n);
	gp__watch_hold_done(&nv->watch, ids, results, n);
}

static void release(void *state, const u32 *ids, int *results, size_t n)
{
	struct nvidia *nv = state;

	gp__nvrm_owner_set(nv->owner, GP__NVRM_RELEASE, ids, results, n);
	gp__watch_release_done(&nv->watch, ids, results, n);
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

static int weigh(void *state, u32 id, u32 weight)
{
	struct nvidia *nv = state;

	return gp__nvrm_owner_slice(nv->owner, id, slice_of(weight));
}

static void set_alone(void *state, bool alone)
{
	struct nvidia *nv = state;

	gp__watch_set_calm(&nv->watch, alone);
}

/*
 * Work
 */

static void became_ready(void *data, uint32_t id, uint32_t pending, uint64_t now)
{
	struct nvidia *nv = data;

	if (!gp__nvrm_monitor_sees(gp__watch_monitor(&nv->watch)))
		gp__port_sees(nv->port, id, GP__WIRE_SEES_PRESENCE);
	gp__port_work(nv->port, id, true, pending, now);
}

static void became_idle(void *data, uint32_t id, uint64_t since)
{
	struct nvidia *nv = data;

	gp__port_work(nv->port, id, false, 0, since);
}

/* False: the driver does not list the GPU. */
static bool find_gpu(struct nvidia *nv, const char *uuid, struct gp__nvrm_gpu *gpu)
{
	bool found = false;

	pthread_mutex_lock(&nv->gpus_lock);
	if (nv->nr_gpus <= 0)
		nv->nr_gpus = gp__nvrm_gpus(GP__NVRM_PROC, nv->gpu, GP__NVRM_GPUS_MAX);
	for (int i = 0; i < nv->nr_gpus && !found; i++) {
		found = !strcmp(nv->gpu[i].uuid, uuid);
		*gpu = nv->gpu[i];
	}
	pthread_mutex_unlock(&nv->gpus_lock);
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
 * A patient program that pauses between two steps is not idle: announced work should find it held,
 * not a millisecond after its next kernel.
 */
static u64 settle_ns(const struct nvidia *nv)
{
	return nv->port->request->hints.prio < GP__PRIO_NORMAL ? PAUSE_NS : 0;
}

/*
 * The monitor
 */

static void *create_monitor(void *state)
{
	struct nvidia *nv = state;
	const struct gp__nvrm_monitor_options options = { .owner = nv->owner,
							  .times.settle_ns = settle_ns(nv),
							  .node = find_node,
							  .ready = became_ready,
							  .idle = became_idle,
							  .data = nv };
	struct gp__nvrm_monitor *monitor;

	return gp__nvrm_monitor_create(&options, &monitor) ? NULL : monitor;
}

static int add_to_monitor(void *state, void *monitor, const void *group)
{
	(void)state;
	return gp__nvrm_monitor_add(monitor, group);
}

static void hold_in_monitor(void *monitor, u32 id, bool held)
{
	gp__nvrm_monitor_hold(monitor, id, held);
}

static void calm_monitor(void *monitor, bool calm)
{
	gp__nvrm_monitor_calm(monitor, calm);
}

static const struct gp__watch_ops watch_ops = { create_monitor, add_to_monitor, hold_in_monitor,
						calm_monitor };

/*
 * Groups
 */

/* False, with a reason for the user: MPS runs the work of all programs as one. */
static bool is_without_mps(struct nvidia *nv)
{
	char folder[128], text[512];

	if (!gp__nvrm_has_mps(folder, sizeof(folder)))
		return true;
	snprintf(text, sizeof(text),
		 "NVIDIA's multi-process service (MPS), in %s, runs the work of all programs as "
		 "one, so this program runs unscheduled; end MPS with 'echo quit | "
		 "nvidia-cuda-mps-control'",
		 folder);
	gp__port_say_unscheduled(nv->port, text);
	return false;
}

/* Names the GPU the same in every program: by its UUID without hyphens. */
static void make_key(const char *uuid, char key[GP__WIRE_DEVICE_MAX])
{
	size_t n = (size_t)snprintf(key, GP__WIRE_DEVICE_MAX, "nvidia-");

	for (const char *c = uuid + strlen("GPU-"); *c && n < GP__WIRE_DEVICE_MAX - 1; c++) {
		if (*c != '-')
			key[n++] = *c;
	}
	key[n] = '\0';
}

/* False: no GPU of the driver is called so. */
static bool find_uuid(struct nvidia *nv, const char *key, char uuid[GP__NVRM_UUID_MAX])
{
	char theirs[GP__WIRE_DEVICE_MAX];
	bool found = false;

	pthread_mutex_lock(&nv->gpus_lock);
	for (int i = 0; i < nv->nr_gpus && !found; i++) {
		if (strlen(nv->gpu[i].uuid) < strlen("GPU-"))
			continue;
		make_key(nv->gpu[i].uuid, theirs);
		found = !strcmp(theirs, key);
		memcpy(uuid, nv->gpu[i].uuid, GP__NVRM_UUID_MAX);
	}
	pthread_mutex_unlock(&nv->gpus_lock);
	return found;
}

static bool measure_memory(void *state, const char *device, u64 *bytes)
{
	struct nvidia *nv = state;
	char uuid[GP__NVRM_UUID_MAX];

	return find_uuid(nv, device, uuid) && gp__nvrm_owner_memory(nv->owner, uuid, bytes);
}

static void name_device(struct nvidia *nv, const char *uuid, struct gp__queue_desc *q)
{
	struct gp__nvrm_gpu gpu;

	make_key(uuid, q->device);
	if (find_gpu(nv, uuid, &gpu))
		snprintf(q->device_name, sizeof(q->device_name), "%s", gpu.name);
}

static void group_added(void *data, const struct gp__nvrm_group_info *group)
{
	struct nvidia *nv = data;
	struct gp__queue_desc q = { .id = group->id,
				    .level = effective_level(nv),
				    .weigh_flags = GP__WIRE_CAN_WEIGH | GP__WIRE_CAN_YIELD };

	if (strncmp(group->uuid, "GPU-", 4)) {
		gp__port_say_unscheduled(
			nv->port, "the NVIDIA driver does not say which GPU this program uses; "
				  "the program runs unscheduled");
		return;
	}
	if (!is_without_mps(nv))
		return;
	gp__port_say_level(nv->port, q.level, "NVIDIA GPUs have levels 2 and 3");
	name_device(nv, group->uuid, &q);
	q.device_memory = group->gpu_bytes;
	if (gp__watch_add(&nv->watch, &q, group))
		gp__port_say_unscheduled(
			nv->port,
			"out of memory; a channel group of this program runs unscheduled");
	gp__port_note(nv->port, q.id, GP__WIRE_NOTE_WHOLE);
}

static void group_removed(void *data, const struct gp__nvrm_group_info *group)
{
	struct nvidia *nv = data;

	if (gp__watch_monitor(&nv->watch))
		gp__nvrm_monitor_remove(gp__watch_monitor(&nv->watch), group->id);
	gp__port_remove(nv->port, group->id);
}

static void memory_changed(void *data)
{
	struct nvidia *nv = data;

	gp__port_memory(nv->port);
}

static void group_cannot(void *data, const char *why)
{
	struct nvidia *nv = data;
	char text[256];

	snprintf(text, sizeof(text), "%s; the program runs unscheduled", why);
	gp__port_say_unscheduled(nv->port, text);
}

/*
 * Beginning
 */

static bool is_device(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && major(st.st_rdev) == GP__NVRM_MAJOR;
}

/* False, with a line for the user: the driver's layouts are not known, so its calls are not
 * touched. */
static bool is_known_driver(struct gp__port *port)
{
	struct gp__nvrm_driver driver = { .open = false };
	char why[128], text[512];

	gp__nvrm_driver(GP__NVRM_PROC, &driver);
	if (port->request->any_driver || gp__nvrm_driver_known(&driver, why, sizeof(why)))
		return true;
	snprintf(text, sizeof(text),
		 "%s, so this program runs unscheduled; 'gpreempt probe' tries what the driver can "
		 "do, and 'gpreempt run --any-driver' uses it all the same",
		 why);
	gp__port_say_unscheduled(port, text);
	return false;
}

static int create(struct gp__port *port, gp__ioctl_fn *next, void **state,
		  char why[GP__WIRE_TEXT_MAX])
{
	struct gp__nvrm_owner_events events = { .added = group_added,
						.removed = group_removed,
						.memory = memory_changed,
						.cannot = group_cannot };
	struct nvidia *nv;
	int err;

	(void)why;
	/* Only a joined program's channel groups are followed. */
	if (!port || !is_known_driver(port))
		return 0;
	nv = events.data = calloc(1, sizeof(*nv));
	if (!nv)
		return -ENOMEM;
	nv->port = port;
	gp__watch_init(&nv->watch, &watch_ops, nv, port);
	pthread_mutex_init(&nv->gpus_lock, NULL);
	err = gp__warmup_create(NULL, &nv->warmup);
	if (!err)
		err = gp__nvrm_owner_create(next, &events, &nv->owner);
	if (err) {
		gp__warmup_destroy(nv->warmup);
		free(nv);
		return err;
	}
	if (port->request->copies)
		gp__nvrm_owner_take_copies(nv->owner);
	if (port->request->any_driver)
		gp__nvrm_owner_take_any(nv->owner);
	*state = nv;
	return 0;
}

static int carry_out(void *state, int fd, unsigned long request, void *argument)
{
	struct nvidia *nv = state;

	return gp__nvrm_owner_ioctl(nv->owner, fd, request, argument);
}

/* A child does not have the monitor's thread; the monitor's memory is left behind. */
static void forget(void *state)
{
	struct nvidia *nv = state;

	gp__watch_init(&nv->watch, &watch_ops, nv, nv->port);
	pthread_mutex_init(&nv->gpus_lock, NULL);
	gp__nvrm_owner_forget(nv->owner);
	gp__warmup_forget(nv->warmup);
}

/* Loads the context onto the GPU just before work arrives for which others were held. While no
 * other program is on the GPU, the context stays loaded. */
static void announced(void *state, u64 at, bool accepted)
{
	struct nvidia *nv = state;

	if (!at || (accepted && !nv->watch.calm))
		gp__warmup_at(nv->warmup, at);
}

/* libcuda is torn down next, so it is not called any more. */
static void end(void *state)
{
	struct nvidia *nv = state;

	gp__warmup_end(nv->warmup);
}

static bool is_beneath(const char *platform)
{
	return !strcmp(platform, "NVIDIA CUDA");
}

static const struct gp__program_ops program = {
	.wants = gp__nvrm_owner_wants,
	.is_device = is_device,
	.create = create,
	.ioctl = carry_out,
	.forget = forget,
	.announced = announced,
	.exit = end,
	.queue = { .hold = hold,
		   .release = release,
		   .weigh = weigh,
		   .memory = measure_memory,
		   .alone = set_alone },
};

const struct gp__backend gp__backend_nvidia = {
	.name = "nvidia",
	.text = "channel groups of NVIDIA GPUs are held and weighed through the stock driver",
	.program = &program,
	.is_beneath = is_beneath,
	.count = gp__nvrm_machine_count,
	.probe = gp__nvrm_machine_probe,
	.doctor = gp__nvrm_machine_doctor,
};
