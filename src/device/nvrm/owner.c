// SPDX-License-Identifier: MIT
#include "device/nvrm/owned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Objects
 */

struct gp__nvrm_object *gp__nvrm_find(struct gp__nvrm_owner *o, uint32_t client, uint32_t handle)
{
	for (struct gp__nvrm_object *x = o->objects; x; x = x->next) {
		if (x->client == client && x->handle == handle && !x->going)
			return x;
	}
	return NULL;
}

struct gp__nvrm_object *gp__nvrm_find_group(struct gp__nvrm_owner *o, uint32_t id)
{
	for (struct gp__nvrm_object *x = o->objects; x; x = x->next) {
		if (gp__nvrm_is_kind(x, GP__NVRM_GROUP) && x->id == id && x->told)
			return x;
	}
	return NULL;
}

static struct gp__nvrm_object *subdevice_of(struct gp__nvrm_owner *o, uint32_t client,
					    uint32_t device)
{
	for (struct gp__nvrm_object *x = o->objects; x; x = x->next) {
		if (gp__nvrm_is_kind(x, GP__NVRM_SUBDEVICE) && x->client == client &&
		    x->parent == device)
			return x;
	}
	return NULL;
}

struct gp__nvrm_object *gp__nvrm_subdevice(struct gp__nvrm_owner *o,
					   const struct gp__nvrm_object *group)
{
	return subdevice_of(o, group->client, group->parent);
}

struct gp__nvrm_group_info gp__nvrm_info(struct gp__nvrm_owner *o,
					 const struct gp__nvrm_object *group)
{
	struct gp__nvrm_group_info info = { .id = group->id };

	for (const struct gp__nvrm_object *x = o->objects; x; x = x->next)
		info.nr_channels +=
			gp__nvrm_is_kind(x, GP__NVRM_CHANNEL) && gp__nvrm_is_in(x, group);
	memcpy(info.uuid, group->uuid, sizeof(info.uuid));
	info.gpu_bytes = group->gpu_bytes;
	return info;
}

bool gp__nvrm_is_ready(struct gp__nvrm_owner *o, const struct gp__nvrm_object *group)
{
	const struct gp__nvrm_object *c = gp__nvrm_find(o, group->client, group->client);

	return gp__nvrm_is_kind(group, GP__NVRM_GROUP) && group->computes && !o->cannot && c &&
	       c->fd >= 0 && gp__nvrm_subdevice(o, group) && gp__nvrm_info(o, group).nr_channels;
}

void gp__nvrm_drop(struct gp__nvrm_owner *o, struct gp__nvrm_object *x)
{
	struct gp__nvrm_object **at = &o->objects;

	while (*at && *at != x)
		at = &(*at)->next;
	if (*at)
		*at = x->next;
	gp__nvrm_unmap(o, x);
	if (x->fd >= 0)
		close(x->fd);
	free(x);
}

/*
 * Calls
 */

static int error_of(uint32_t status)
{
	switch (status) {
	case 0:
		return 0;
	case GP__NVRM_NOT_SUPPORTED:
		return -EOPNOTSUPP;
	case GP__NVRM_INSUFFICIENT_PERMISSIONS:
		return -EPERM;
	case GP__NVRM_CARD_NOT_PRESENT:
	case GP__NVRM_GPU_IS_LOST:
	case GP__NVRM_GPU_IN_RESET:
	case GP__NVRM_RESET_REQUIRED:
		return -ENODEV;
	case GP__NVRM_RC_ERROR:
		return -EACCES; /* as amdkfd says that queues are lost */
	default:
		return -EIO;
	}
}

int gp__nvrm_call(struct gp__nvrm_owner *o, uint32_t client, uint32_t object, uint32_t cmd,
		  void *params, uint32_t size, uint32_t *status)
{
	struct gp__nvrm_control args = { .client = client,
					 .object = object,
					 .cmd = cmd,
					 .params = (uint64_t)(uintptr_t)params,
					 .params_size = size };
	const struct gp__nvrm_object *c = gp__nvrm_find(o, client, client);

	*status = 0;
	if (!c || c->fd < 0)
		return -ENODEV;
	if (o->next(c->fd, GP__NVRM_CONTROL, &args) < 0)
		return -errno;
	*status = args.status;
	return error_of(args.status);
}

/* Asks for the name of the GPU with this subdevice, which may be NULL. */
static void read_name(struct gp__nvrm_owner *o, const struct gp__nvrm_object *sub,
		      char uuid[GP__NVRM_UUID_MAX])
{
	struct gp__nvrm_gpu_id id = { 0 };
	uint32_t status;

	if (!sub || gp__nvrm_call(o, sub->client, sub->handle, GP__NVRM_CMD_GPU_ID, &id, sizeof(id),
				  &status))
		return;
	id.data[GP__NVRM_UUID_MAX - 1] = '\0';
	memcpy(uuid, id.data, GP__NVRM_UUID_MAX);
}

/* 0: the RM does not say. */
static uint64_t read_size(struct gp__nvrm_owner *o, const struct gp__nvrm_object *sub)
{
	struct gp__nvrm_info size = { .index = GP__NVRM_MEMORY_KIB };
	struct gp__nvrm_infos infos = { .nr = 1, .list = (uint64_t)(uintptr_t)&size };
	uint32_t status;

	if (!sub || gp__nvrm_call(o, sub->client, sub->handle, GP__NVRM_CMD_MEMORY_INFO, &infos,
				  sizeof(infos), &status))
		return 0;
	return (uint64_t)size.value << 10;
}

void gp__nvrm_name_gpu(struct gp__nvrm_owner *o, struct gp__nvrm_object *group)
{
	const struct gp__nvrm_object *sub = gp__nvrm_subdevice(o, group);

	if (*group->uuid)
		return;
	read_name(o, sub, group->uuid);
	group->gpu_bytes = read_size(o, sub);
}

/*
 * Memory
 */

/* Adds up what was allocated from the device, itself or one of its GPU; with the lock. */
static bool sum_device(struct gp__nvrm_owner *o, struct gp__nvrm_object *device, const char *uuid,
		       uint64_t *bytes)
{
	const struct gp__nvrm_object *sub = subdevice_of(o, device->client, device->handle);
	uint64_t sum = 0;
	bool known = gp__nvrm_memory_sum(&o->memory, device->client, device->handle, &sum);

	if (sub)
		known &= gp__nvrm_memory_sum(&o->memory, sub->client, sub->handle, &sum);
	if (!*device->uuid)
		read_name(o, sub, device->uuid);
	if (sum && !*device->uuid)
		return false;
	if (!strcmp(device->uuid, uuid))
		*bytes += sum;
	return known;
}

bool gp__nvrm_owner_memory(struct gp__nvrm_owner *o, const char *uuid, uint64_t *bytes)
{
	bool known;

	*bytes = 0;
	pthread_mutex_lock(&o->lock);
	known = !o->cannot;
	for (struct gp__nvrm_object *x = o->objects; x; x = x->next) {
		if (gp__nvrm_is_kind(x, GP__NVRM_DEVICE))
			known &= sum_device(o, x, uuid, bytes);
	}
	pthread_mutex_unlock(&o->lock);
	return known;
}

/*
 * Holding
 */

/* Channels of one GPU that get the same command. */
struct batch {
	struct gp__nvrm_owner *o;
	const struct gp__nvrm_object *sub;
	struct gp__nvrm_disable args;
	uint32_t status;
	int err; /* the first one */
};

static void send(struct batch *b)
{
	uint32_t status;
	int err;

	if (!b->args.nr)
		return;
	err = gp__nvrm_call(b->o, b->sub->client, b->sub->handle, GP__NVRM_CMD_DISABLE_CHANNELS,
			    &b->args, sizeof(b->args), &status);
	if (err && !b->err) {
		b->err = err;
		b->status = status;
	}
	b->args.nr = 0;
}

static void add_channel(struct batch *b, const struct gp__nvrm_object *channel)
{
	b->args.client[b->args.nr] = channel->client;
	b->args.channel[b->args.nr++] = channel->handle;
	if (b->args.nr == GP__NVRM_CHANNELS_AT_ONCE)
		send(b);
}

bool gp__nvrm_goes_with(const struct gp__nvrm_object *other, const struct gp__nvrm_object *group)
{
	if (other == group)
		return true;
	return other->copies && group->computes && gp__nvrm_is_same_gpu(other, group);
}

/* Does not enable channels that the program has disabled. */
static void add_channels(struct batch *b, const struct gp__nvrm_object *group)
{
	for (struct gp__nvrm_object *x = b->o->objects; x; x = x->next) {
		if (gp__nvrm_is_kind(x, GP__NVRM_CHANNEL) && gp__nvrm_is_in(x, group) &&
		    (b->args.disable || !x->program_disabled))
			add_channel(b, x);
	}
}

static void add_group(struct batch *b, const struct gp__nvrm_object *group)
{
	for (struct gp__nvrm_object *x = b->o->objects; x; x = x->next) {
		if (gp__nvrm_is_kind(x, GP__NVRM_GROUP) && gp__nvrm_goes_with(x, group))
			add_channels(b, x);
	}
}

/* Applies the verb to the asked groups of one GPU. */
static void tell_gpu(struct batch *b, const struct gp__nvrm_object *like, enum gp__nvrm_verb verb)
{
	memset(&b->args, 0, sizeof(b->args));
	b->args.disable = verb != GP__NVRM_RELEASE;
	b->args.only_scheduling = verb == GP__NVRM_DRAIN;
	for (struct gp__nvrm_object *x = b->o->objects; x; x = x->next) {
		if (gp__nvrm_is_kind(x, GP__NVRM_GROUP) && x->asked &&
		    gp__nvrm_is_same_gpu(x, like))
			add_group(b, x);
	}
	send(b);
}

/* Noted before the call: even a partly failed drain may have to be undone. */
static void note_drained(struct batch *b, const struct gp__nvrm_object *like)
{
	for (struct gp__nvrm_object *x = b->o->objects; x; x = x->next) {
		if (gp__nvrm_is_kind(x, GP__NVRM_GROUP) && x->asked &&
		    gp__nvrm_is_same_gpu(x, like))
			x->drained = true;
	}
}

static void undrain_gpu(struct batch *b, const struct gp__nvrm_object *like)
{
	memset(&b->args, 0, sizeof(b->args));
	b->args.only_scheduling = true;
	for (struct gp__nvrm_object *x = b->o->objects; x; x = x->next) {
		if (gp__nvrm_is_kind(x, GP__NVRM_GROUP) && x->asked &&
		    gp__nvrm_is_same_gpu(x, like) && x->drained)
			add_group(b, x);
	}
	send(b);
}

static void finish_gpu(struct gp__nvrm_owner *o, const struct gp__nvrm_object *like,
		       enum gp__nvrm_verb now, int result, uint32_t status)
{
	uint32_t client = like->client, parent = like->parent;

	for (struct gp__nvrm_object *x = o->objects; x; x = x->next) {
		if (!x->asked || x->client != client || x->parent != parent)
			continue;
		x->asked = false;
		x->result = result;
		x->verb = now;
		x->drained &= now != GP__NVRM_RELEASE;
		if (status)
			x->status = status;
	}
}

static void set_gpu(struct gp__nvrm_owner *o, struct gp__nvrm_object *like, enum gp__nvrm_verb verb)
{
	struct batch b = { .o = o, .sub = gp__nvrm_subdevice(o, like) };
	enum gp__nvrm_verb before = like->verb;

	if (!b.sub) {
		finish_gpu(o, like, before, -ENODEV, 0);
		return;
	}
	/* A drained group needs both calls to run again, as tests on hardware have shown. */
	if (verb == GP__NVRM_RELEASE)
		undrain_gpu(&b, like);
	else if (verb == GP__NVRM_DRAIN)
		note_drained(&b, like);
	tell_gpu(&b, like, verb);
	if (b.err && verb != GP__NVRM_RELEASE) {
		/* Some may be held: all are released, or else their state is unknown. */
		struct batch back = { .o = o, .sub = b.sub };

		undrain_gpu(&back, like);
		tell_gpu(&back, like, GP__NVRM_RELEASE);
		finish_gpu(o, like, back.err ? verb : GP__NVRM_RELEASE, b.err, b.status);
		return;
	}
	finish_gpu(o, like, b.err ? before : verb, b.err, b.status);
}

void gp__nvrm_set_asked(struct gp__nvrm_owner *o, enum gp__nvrm_verb verb)
{
	for (struct gp__nvrm_object *x = o->objects; x; x = x->next) {
		if (!x->asked)
			continue;
		/* The state is unknown if both the hold and the release failed. */
		if (x->verb == verb && !x->result) {
			x->asked = false;
			x->result = 0;
			continue;
		}
		set_gpu(o, x, verb);
	}
}

void gp__nvrm_hold_again(struct gp__nvrm_owner *o, const struct gp__nvrm_object *changed)
{
	for (struct gp__nvrm_object *x = o->objects; x; x = x->next) {
		enum gp__nvrm_verb verb = x->verb;

		if (!gp__nvrm_is_kind(x, GP__NVRM_GROUP) || verb == GP__NVRM_RELEASE ||
		    !gp__nvrm_goes_with(changed, x))
			continue;
		x->verb = GP__NVRM_RELEASE;
		x->asked = true;
		gp__nvrm_set_asked(o, verb);
	}
}

void gp__nvrm_owner_set(struct gp__nvrm_owner *o, enum gp__nvrm_verb verb, const uint32_t *ids,
			int *results, size_t n)
{
	pthread_mutex_lock(&o->lock);
	for (size_t i = 0; i < n; i++) {
		struct gp__nvrm_object *g = gp__nvrm_find_group(o, ids[i]);

		if (g)
			g->asked = true;
	}
	gp__nvrm_set_asked(o, verb);
	for (size_t i = 0; i < n; i++) {
		const struct gp__nvrm_object *g = gp__nvrm_find_group(o, ids[i]);

		results[i] = g ? g->result : -ENOENT;
	}
	pthread_mutex_unlock(&o->lock);
}

/*
 * Time slices
 */

static int get_slice(struct gp__nvrm_owner *o, struct gp__nvrm_object *g, uint64_t *us)
{
	return gp__nvrm_call(o, g->client, g->handle, (uint32_t)GP__NVRM_CMD_GET_TIMESLICE, us,
			     sizeof(*us), &g->status);
}

static int set_slice(struct gp__nvrm_owner *o, struct gp__nvrm_object *g, uint64_t us)
{
	uint64_t is = 0;
	int err;

	if (!g->program_slice_us && !g->slice_us) {
		err = get_slice(o, g, &g->program_slice_us);
		if (err)
			return err;
	}
	if (!us && !g->slice_us)
		return 0;
	is = us ? us : g->program_slice_us;
	err = gp__nvrm_call(o, g->client, g->handle, (uint32_t)GP__NVRM_CMD_SET_TIMESLICE, &is,
			    sizeof(is), &g->status);
	if (!err)
		g->slice_us = us;
	return err;
}

void gp__nvrm_restore_slice(struct gp__nvrm_owner *o, struct gp__nvrm_object *group)
{
	if (group->slice_us)
		set_slice(o, group, 0);
}

int gp__nvrm_owner_slice(struct gp__nvrm_owner *o, uint32_t id, uint64_t us)
{
	struct gp__nvrm_object *g;
	int err = -ENOENT;

	pthread_mutex_lock(&o->lock);
	g = gp__nvrm_find_group(o, id);
	if (g)
		err = set_slice(o, g, us);
	pthread_mutex_unlock(&o->lock);
	return err;
}

int gp__nvrm_owner_get_slice(struct gp__nvrm_owner *o, uint32_t id, uint64_t *us)
{
	struct gp__nvrm_object *g;
	int err = -ENOENT;

	*us = 0;
	pthread_mutex_lock(&o->lock);
	g = gp__nvrm_find_group(o, id);
	if (g)
		err = get_slice(o, g, us);
	pthread_mutex_unlock(&o->lock);
	return err;
}

size_t gp__nvrm_owner_list(struct gp__nvrm_owner *o, struct gp__nvrm_owned *list, size_t max)
{
	size_t n = 0;

	pthread_mutex_lock(&o->lock);
	for (struct gp__nvrm_object *x = o->objects; x; x = x->next) {
		if (!gp__nvrm_is_kind(x, GP__NVRM_GROUP) || !x->told)
			continue;
		if (n < max)
			list[n] = (struct gp__nvrm_owned){ gp__nvrm_info(o, x),
							   x->verb != GP__NVRM_RELEASE, x->slice_us,
							   x->status };
		n++;
	}
	pthread_mutex_unlock(&o->lock);
	return n;
}

/*
 * Beginning and end
 */

int gp__nvrm_owner_create(gp__nvrm_ioctl_fn next, const struct gp__nvrm_owner_events *events,
			  struct gp__nvrm_owner **owner)
{
	struct gp__nvrm_owner *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->next = next;
	if (events)
		o->events = *events;
	pthread_mutex_init(&o->lock, NULL);
	gp__nvrm_memory_init(&o->memory);
	*owner = o;
	return 0;
}

void gp__nvrm_owner_take_copies(struct gp__nvrm_owner *o)
{
	o->takes_copies = true;
}

void gp__nvrm_owner_take_any(struct gp__nvrm_owner *o)
{
	o->takes_any = true;
}

/* A thread of the parent may have held the lock, and does not exist in the child. */
void gp__nvrm_owner_forget(struct gp__nvrm_owner *o)
{
	pthread_mutex_init(&o->lock, NULL);
	gp__nvrm_memory_init(&o->memory);
	while (o->objects) {
		struct gp__nvrm_object *x = o->objects;

		o->objects = x->next;
		/* The mappings, and the RM's record of them, belong to the parent. */
		if (x->userd.page)
			close(x->userd.fd);
		if (x->fd >= 0)
			close(x->fd);
		free(x);
	}
}

void gp__nvrm_owner_destroy(struct gp__nvrm_owner *o)
{
	if (!o)
		return;
	for (struct gp__nvrm_object *x = o->objects; x; x = x->next)
		x->asked = x->kind == GP__NVRM_GROUP;
	gp__nvrm_set_asked(o, GP__NVRM_RELEASE);
	for (struct gp__nvrm_object *x = o->objects; x; x = x->next)
		gp__nvrm_restore_slice(o, x);
	while (o->objects)
		gp__nvrm_drop(o, o->objects);
	gp__nvrm_memory_destroy(&o->memory);
	pthread_mutex_destroy(&o->lock);
	free(o);
}
