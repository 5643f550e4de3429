// SPDX-License-Identifier: MIT
#include "fake_rm.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define OBJECT_NOT_FOUND 0x57
#define IN_USE 0x17
#define SLICE_DEFAULT 1024

/* The sizes of NVIDIA's open kernel modules. */
const struct fake_rm_driver fake_rm_drivers[] = {
	{ .version = "535.104.05", .channel = 360, .memory = 120 },
	{ .version = "545.23.06", .channel = 360, .memory = 128 },
	{ .version = "550.54.14", .channel = 360, .memory = 128 },
	{ .version = "570.86.15", .channel = 368, .memory = 128 },
	{ .version = "580.159.04", .channel = 368, .memory = 128 },
	{ .version = "595.44.02", .channel = 368, .memory = 128 },
	{ 0 },
};

struct fake_rm fake_rm;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void fake_rm_reset(void)
{
	memset(&fake_rm, 0, sizeof(fake_rm));
	fake_rm.last_client = 0xc1d00000;
	fake_rm.uuid = "GPU-00000000-1111-2222-3333-444444444444";
}

static struct fake_rm_object *find(uint32_t client, uint32_t handle)
{
	for (uint32_t i = 0; i < fake_rm.nr; i++) {
		struct fake_rm_object *x = &fake_rm.object[i];

		if (x->there && x->client == client && x->handle == handle)
			return x;
	}
	return NULL;
}

const struct fake_rm_object *fake_rm_find(uint32_t client, uint32_t handle)
{
	const struct fake_rm_object *x;

	pthread_mutex_lock(&lock);
	x = find(client, handle);
	pthread_mutex_unlock(&lock);
	return x;
}

static bool is_channel(const struct fake_rm_object *x)
{
	return (x->class & 0xff) == GP__NVRM_CLASS_CHANNEL &&
	       x->class >= GP__NVRM_CLASS_CHANNEL_FIRST;
}

uint32_t fake_rm_count(uint32_t client, uint32_t group, enum fake_rm_state state)
{
	uint32_t n = 0;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < fake_rm.nr; i++) {
		const struct fake_rm_object *x = &fake_rm.object[i];

		n += x->there && x->client == client && x->parent == group && is_channel(x) &&
		     x->state == state;
	}
	pthread_mutex_unlock(&lock);
	return n;
}

/* Counts down; true: this call fails. */
static bool fails(uint32_t *in)
{
	return *in && !--*in;
}

static int fail(uint32_t *status)
{
	if (!fake_rm.status) {
		errno = EIO;
		return -1;
	}
	*status = fake_rm.status;
	return 0;
}

static uint32_t make(uint32_t client, uint32_t parent, uint32_t *handle, uint32_t class)
{
	bool root = class == GP__NVRM_CLASS_ROOT_CLIENT || class <= 1;
	struct fake_rm_object *x = NULL;

	if (root)
		client = parent = *handle = ++fake_rm.last_client;
	else if (!find(client, parent) && parent != client)
		return OBJECT_NOT_FOUND;
	if (find(client, *handle))
		return IN_USE;
	for (uint32_t i = 0; i < fake_rm.nr && !x; i++)
		x = fake_rm.object[i].there ? NULL : &fake_rm.object[i];
	if (!x && fake_rm.nr < FAKE_RM_OBJECTS)
		x = &fake_rm.object[fake_rm.nr++];
	if (!x)
		return IN_USE;
	*x = (struct fake_rm_object){ .there = true,
				      .client = client,
				      .handle = *handle,
				      .parent = parent,
				      .class = class,
				      .slice = SLICE_DEFAULT };
	return 0;
}

/* As the RM does, in large pages. */
static void round_up(struct gp__nvrm_memory_params *params)
{
	params->size = (params->size + FAKE_RM_PAGE - 1) / FAKE_RM_PAGE * FAKE_RM_PAGE;
}

/* The RM takes as much as its own version has, whatever the caller says. */
static void copy_params(const struct gp__nvrm_alloc48 *args)
{
	const uint8_t *from = (const uint8_t *)(uintptr_t)args->params;
	bool channel = args->class >= GP__NVRM_CLASS_CHANNEL_FIRST &&
		       (args->class & 0xff) == GP__NVRM_CLASS_CHANNEL;
	uint32_t size = 0;

	if (fake_rm.driver && channel)
		size = fake_rm.driver->channel;
	else if (fake_rm.driver && args->class == GP__NVRM_CLASS_MEMORY)
		size = fake_rm.driver->memory;
	for (uint32_t i = 0; i < size; i++)
		fake_rm.copied += from[i];
}

static int alloc(unsigned long request, struct gp__nvrm_alloc48 *args)
{
	uint32_t status = fake_rm.broken;

	if (!status)
		status = make(args->client, args->parent, &args->object, args->class);
	if (!status)
		copy_params(args);
	if (!status && args->class == GP__NVRM_CLASS_MEMORY)
		round_up((void *)(uintptr_t)args->params);
	if (_IOC_SIZE(request) == sizeof(*args))
		args->status = status;
	else
		((struct gp__nvrm_alloc32 *)(void *)args)->status = status;
	return 0;
}

static void free_tree(uint32_t client, uint32_t handle)
{
	struct fake_rm_object *x = find(client, handle);

	if (!x)
		return;
	fake_rm.held_frees += is_channel(x) && x->state != FAKE_RM_RUNS;
	x->there = false;
	for (uint32_t i = 0; i < fake_rm.nr; i++) {
		struct fake_rm_object *c = &fake_rm.object[i];

		if (c->there && c->client == client && (c->parent == handle || client == handle))
			free_tree(client, c->handle);
	}
}

static int free_object(struct gp__nvrm_free *args)
{
	if (fails(&fake_rm.free_fails_in))
		return fail(&args->status);
	args->status = find(args->client, args->object) ? 0 : OBJECT_NOT_FOUND;
	free_tree(args->client, args->object);
	return 0;
}

/* As on hardware: a channel that was disabled with only_scheduling must be enabled with it and then
 * without. Channels are processed up to the first that does not exist. */
static int disable(struct gp__nvrm_control *args, const struct gp__nvrm_disable *d)
{
	fake_rm.nr_disables += d->disable;
	fake_rm.nr_enables += !d->disable;
	if (fails(d->disable ? &fake_rm.disable_fails_in : &fake_rm.enable_fails_in))
		return fail(&args->status);
	for (uint32_t i = 0; i < d->nr; i++) {
		struct fake_rm_object *x = find(d->client[i], d->channel[i]);

		if (!x || !is_channel(x)) {
			fake_rm.unknown++;
			args->status = OBJECT_NOT_FOUND;
			return 0;
		}
		if (d->only_scheduling)
			x->descheduled = d->disable;
		if (d->disable)
			x->state = d->only_scheduling ? FAKE_RM_DRAINED : FAKE_RM_HELD;
		else if (!d->only_scheduling && !x->descheduled)
			x->state = FAKE_RM_RUNS;
	}
	return 0;
}

/* The size of a control's parameters in this version of the driver; 0: it is not compared. */
static uint32_t size_of(uint32_t cmd)
{
	static const struct fake_rm_driver ours = { .version = "580" };
	const struct fake_rm_driver *d = fake_rm.driver ? fake_rm.driver : &ours;

	switch (cmd) {
	case GP__NVRM_CMD_DISABLE_CHANNELS:
		return d->disable ? d->disable : 536;
	case (uint32_t)GP__NVRM_CMD_SET_TIMESLICE:
	case (uint32_t)GP__NVRM_CMD_GET_TIMESLICE:
		return d->slice ? d->slice : 8;
	case GP__NVRM_CMD_GPU_ID:
		return d->gpu_id ? d->gpu_id : 268;
	case GP__NVRM_CMD_MEMORY_INFO:
		return 16;
	default:
		return 0;
	}
}

/* The RM checks this before it carries out a control; 0: nothing is wrong. */
static uint32_t refuse(const struct gp__nvrm_control *args)
{
	uint32_t size = size_of(args->cmd);

	if (fake_rm.broken)
		return fake_rm.broken;
	if (fake_rm.driver && fake_rm.driver->no_slice &&
	    args->cmd == (uint32_t)GP__NVRM_CMD_SET_TIMESLICE)
		return GP__NVRM_NOT_SUPPORTED;
	return size && size != args->params_size ? GP__NVRM_INVALID_PARAM_STRUCT : 0;
}

static int control(struct gp__nvrm_control *args)
{
	struct fake_rm_object *x = find(args->client, args->object);
	void *params = (void *)(uintptr_t)args->params;

	args->status = x ? refuse(args) : OBJECT_NOT_FOUND;
	fake_rm.unknown += !x;
	if (args->status)
		return 0;
	switch (args->cmd) {
	case GP__NVRM_CMD_DISABLE_CHANNELS:
		return disable(args, params);
	case (uint32_t)GP__NVRM_CMD_SET_TIMESLICE:
		fake_rm.nr_slices++;
		if (fails(&fake_rm.slice_fails_in))
			return fail(&args->status);
		memcpy(&x->slice, params, sizeof(x->slice));
		break;
	case (uint32_t)GP__NVRM_CMD_GET_TIMESLICE:
		memcpy(params, &x->slice, sizeof(x->slice));
		break;
	case GP__NVRM_CMD_GPU_ID:
		snprintf(((struct gp__nvrm_gpu_id *)params)->data, 256, "%s", fake_rm.uuid);
		break;
	case GP__NVRM_CMD_MEMORY_INFO:
		((struct gp__nvrm_info *)(uintptr_t)((struct gp__nvrm_infos *)params)->list)
			->value = fake_rm.gpu_kib;
		break;
	default:
		break;
	}
	return 0;
}

static int heap(struct gp__nvrm_heap *args)
{
	if (args->function == GP__NVRM_HEAP_ALLOC)
		args->status =
			make(args->client, args->device, &args->memory, GP__NVRM_CLASS_MEMORY);
	else if (args->function == GP__NVRM_HEAP_FREE)
		free_tree(args->client, args->memory);
	return 0;
}

static int dup_object(struct gp__nvrm_dup *args)
{
	const struct fake_rm_object *x = find(args->from_client, args->from_object);

	args->status =
		x ? make(args->client, args->parent, &args->object, x->class) : OBJECT_NOT_FOUND;
	return 0;
}

static int answer(unsigned long request, void *args)
{
	switch (_IOC_NR(request)) {
	case GP__NVRM_NR_ALLOC:
		return alloc(request, args);
	case GP__NVRM_NR_FREE:
		return free_object(args);
	case GP__NVRM_NR_CONTROL:
		return control(args);
	case GP__NVRM_NR_DUP:
		return dup_object(args);
	case GP__NVRM_NR_HEAP:
		return heap(args);
	case GP__NVRM_NR_MAP:
		fake_rm.nr_maps++;
		((struct gp__nvrm_map *)args)->status = 0;
		return 0;
	case GP__NVRM_NR_UNMAP:
		fake_rm.nr_unmaps++;
		return 0;
	case GP__NVRM_NR_XFER:
		return 0;
	default:
		errno = ENOTTY;
		return -1;
	}
}

int fake_rm_ioctl(int fd, unsigned long request, void *args)
{
	int result;

	(void)fd;
	pthread_mutex_lock(&lock);
	result = answer(request, args);
	pthread_mutex_unlock(&lock);
	return result;
}
