// SPDX-License-Identifier: MIT
/*
 * Carries out the program's own calls. Each keeps its result and errno, and none fails because of
 * us.
 *
 * Arguments are copied before the RM sees them, as it may write into them; its answer is read from
 * where it has just written.
 */
#include "device/nvrm/owned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/own_memory.h"
#include "device/nvrm/layout.h"

#define WHY_MAX 192
#define DEPTH_MAX 8 /* of the tree of objects; those that are followed have four levels */

/*
 * Reporting groups. These functions take the lock and drop it for each group that they report.
 */

typedef bool group_fn(struct gp__nvrm_owner *o, const struct gp__nvrm_object *group,
		      const struct gp__nvrm_object *by);

/* Reports groups as removed: from here on they are not held. */
static void tell_removed(struct gp__nvrm_owner *o, group_fn *is_affected,
			 const struct gp__nvrm_object *by)
{
	struct gp__nvrm_group_info info;
	bool found;

	do {
		found = false;
		pthread_mutex_lock(&o->lock);
		for (struct gp__nvrm_object *x = o->objects; x && !found; x = x->next) {
			if (x->kind != GP__NVRM_GROUP || !x->told || !is_affected(o, x, by))
				continue;
			x->told = false;
			found = true;
			info = gp__nvrm_info(o, x);
		}
		pthread_mutex_unlock(&o->lock);
		if (found && o->events.removed)
			o->events.removed(o->events.data, &info);
	} while (found);
}

/* Releases the affected groups, restores the program's time slices and unmaps their indices. With
 * the lock. */
static void release_groups(struct gp__nvrm_owner *o, group_fn *is_affected,
			   const struct gp__nvrm_object *by)
{
	for (struct gp__nvrm_object *x = o->objects; x; x = x->next)
		x->asked = gp__nvrm_is_kind(x, GP__NVRM_GROUP) && is_affected(o, x, by);
	gp__nvrm_set_asked(o, GP__NVRM_RELEASE);
	for (struct gp__nvrm_object *x = o->objects; x; x = x->next) {
		if (!gp__nvrm_is_kind(x, GP__NVRM_GROUP) || !is_affected(o, x, by))
			continue;
		gp__nvrm_restore_slice(o, x);
		for (struct gp__nvrm_object *c = o->objects; c; c = c->next) {
			if (gp__nvrm_is_in(c, x))
				gp__nvrm_unmap(o, c);
		}
	}
}

static bool is_any(struct gp__nvrm_owner *o, const struct gp__nvrm_object *group,
		   const struct gp__nvrm_object *by)
{
	(void)o;
	(void)group;
	(void)by;
	return true;
}

static void give_up(struct gp__nvrm_owner *o, const char *why)
{
	bool first;

	pthread_mutex_lock(&o->lock);
	first = !o->cannot;
	o->cannot = true;
	pthread_mutex_unlock(&o->lock);
	if (!first)
		return;
	tell_removed(o, is_any, NULL);
	pthread_mutex_lock(&o->lock);
	release_groups(o, is_any, NULL);
	pthread_mutex_unlock(&o->lock);
	if (o->events.cannot)
		o->events.cannot(o->events.data, why);
}

static void give_up_form(struct gp__nvrm_owner *o)
{
	give_up(o, "this program calls the NVIDIA driver in a form that gpreempt does not know");
}

static void give_up_generation(struct gp__nvrm_owner *o, uint32_t class)
{
	char why[WHY_MAX];

	snprintf(why, sizeof(why),
		 "this GPU is of a generation that gpreempt does not know (its channels have the "
		 "class 0x%x)",
		 class);
	give_up(o, why);
}

/* Finds a group that can be held and was not reported yet; with the lock. */
static struct gp__nvrm_object *find_untold(struct gp__nvrm_owner *o)
{
	for (struct gp__nvrm_object *x = o->objects; x && !o->nr_telling; x = x->next) {
		if (x->kind == GP__NVRM_GROUP && !x->told && gp__nvrm_is_ready(o, x))
			return x;
	}
	return NULL;
}

/* False: the driver's layouts are others than ours, as @why says. With the lock. */
static bool test_once(struct gp__nvrm_owner *o, struct gp__nvrm_object *group, char *why,
		      size_t size)
{
	if (o->tested)
		return true;
	o->tested = true;
	return gp__nvrm_layout_test(o, group, gp__nvrm_subdevice(o, group), why, size);
}

/* Reports groups that can be held and were not reported yet. */
static void tell_added(struct gp__nvrm_owner *o)
{
	struct gp__nvrm_group_info info;
	struct gp__nvrm_object *x;
	char why[WHY_MAX] = "";

	do {
		pthread_mutex_lock(&o->lock);
		x = find_untold(o);
		if (x && !test_once(o, x, why, sizeof(why)))
			x = NULL;
		if (x) {
			gp__nvrm_name_gpu(o, x);
			x->told = true;
			info = gp__nvrm_info(o, x);
		}
		pthread_mutex_unlock(&o->lock);
		if (x && o->events.added)
			o->events.added(o->events.data, &info);
	} while (x);
	if (*why)
		give_up(o, why);
}

/* Forgets the object that had this handle, which the RM has reused. */
static void forget_handle(struct gp__nvrm_owner *o, uint32_t client, uint32_t handle);

/*
 * Creating an object
 */

static enum gp__nvrm_kind kind_of(uint32_t class)
{
	switch (class) {
	case GP__NVRM_CLASS_ROOT:
	case GP__NVRM_CLASS_ROOT_PRIVILEGED:
	case GP__NVRM_CLASS_ROOT_CLIENT:
		return GP__NVRM_CLIENT;
	case GP__NVRM_CLASS_DEVICE:
		return GP__NVRM_DEVICE;
	case GP__NVRM_CLASS_SUBDEVICE:
		return GP__NVRM_SUBDEVICE;
	case GP__NVRM_CLASS_GROUP:
		return GP__NVRM_GROUP;
	case GP__NVRM_CLASS_MIG_PARTITION:
		return GP__NVRM_MIG;
	default:
		return class >= GP__NVRM_CLASS_CHANNEL_FIRST && class <= 0xffff &&
				       (class & 0xff) == GP__NVRM_CLASS_CHANNEL
			       ? GP__NVRM_CHANNEL
			       : GP__NVRM_NO_KIND;
	}
}

static bool is_compute(uint32_t class)
{
	return class > 0x9000 && class <= 0xffff && (class & 0xff) == GP__NVRM_CLASS_COMPUTE;
}

/* The arguments of its creation. */
struct made {
	struct gp__nvrm_alloc32 call; /* both forms have the same beginning */
	struct gp__nvrm_group_params group;
	struct gp__nvrm_channel_params channel;
	bool known; /* the parameters could be read */
};

static void read_params(struct made *m)
{
	const void *from = (const void *)(uintptr_t)m->call.params;

	switch (kind_of(m->call.class)) {
	case GP__NVRM_GROUP:
		m->known = gp__read_own_memory(&m->group, from, sizeof(m->group));
		break;
	case GP__NVRM_CHANNEL:
		m->known = gp__read_own_memory(&m->channel, from, sizeof(m->channel));
		break;
	default:
		break;
	}
}

static bool is_graphics(uint32_t engine)
{
	return engine >= GP__NVRM_ENGINE_GRAPHICS && engine <= GP__NVRM_ENGINE_GRAPHICS_LAST;
}

static bool is_copy(uint32_t engine)
{
	return engine >= GP__NVRM_ENGINE_COPY && engine <= GP__NVRM_ENGINE_COPY_LAST;
}

static void fill_object(const struct gp__nvrm_owner *o, struct gp__nvrm_object *x, int fd,
			const struct made *m)
{
	x->verb = GP__NVRM_RELEASE;
	switch (x->kind) {
	case GP__NVRM_CLIENT:
		x->client = x->handle;
		x->fd = gp__fd_duplicate(fd);
		break;
	case GP__NVRM_GROUP:
		x->engine = m->known ? m->group.engine : 0;
		x->computes = is_graphics(x->engine);
		x->copies = o->takes_copies && is_copy(x->engine);
		break;
	case GP__NVRM_CHANNEL:
		x->userd.memory = m->known ? m->channel.userd_memory[0] : 0;
		x->userd.offset = m->known ? m->channel.userd_offset[0] : 0;
		x->userd.ring = m->known ? m->channel.ring : 0;
		x->userd.entries = m->known ? m->channel.entries : 0;
		break;
	default:
		break;
	}
}

static bool add(struct gp__nvrm_owner *o, int fd, const struct made *m)
{
	struct gp__nvrm_object *x = calloc(1, sizeof(*x)), *parent;
	bool fits;

	if (!x)
		return false;
	*x = (struct gp__nvrm_object){ .kind = kind_of(m->call.class),
				       .client = m->call.client,
				       .handle = m->call.object,
				       .parent = m->call.parent,
				       .fd = -1 };
	fill_object(o, x, fd, m);
	forget_handle(o, x->client, x->handle);
	pthread_mutex_lock(&o->lock);
	if (x->kind == GP__NVRM_GROUP)
		x->id = ++o->last_id;
	x->next = o->objects;
	o->objects = x;
	parent = x->kind == GP__NVRM_CHANNEL ? gp__nvrm_find(o, x->client, x->parent) : NULL;
	if (parent)
		gp__nvrm_hold_again(o, parent);
	fits = !parent || parent->kind == GP__NVRM_GROUP;
	pthread_mutex_unlock(&o->lock);
	return fits;
}

/* A program may leave the purpose of a channel to the objects it creates on it. */
static void note_compute(struct gp__nvrm_owner *o, const struct made *m)
{
	struct gp__nvrm_object *channel, *group;

	pthread_mutex_lock(&o->lock);
	channel = gp__nvrm_find(o, m->call.client, m->call.parent);
	group = channel && channel->kind == GP__NVRM_CHANNEL
			? gp__nvrm_find(o, channel->client, channel->parent)
			: NULL;
	if (group && group->kind == GP__NVRM_GROUP)
		group->computes = true;
	pthread_mutex_unlock(&o->lock);
}

/*
 * Memory
 */

static void tell_memory(const struct gp__nvrm_owner *o)
{
	if (o->events.memory)
		o->events.memory(o->events.data);
}

static bool is_on_gpu(uint32_t attributes)
{
	return !(attributes & GP__NVRM_ATTRIBUTE_LOCATION);
}

static void take_memory(struct gp__nvrm_owner *o, const struct made *m)
{
	struct gp__nvrm_memory_params p;

	if (!gp__read_own_memory(&p, (const void *)(uintptr_t)m->call.params, sizeof(p)))
		gp__nvrm_memory_lose(&o->memory);
	else if (is_on_gpu(p.attributes))
		gp__nvrm_memory_add(&o->memory, m->call.client, m->call.parent, m->call.object,
				    p.size);
	tell_memory(o);
}

/*
 * The RM may give the handle of freed memory to another thread before the call returns, so a piece
 * is removed first. @freed: the RM has done it.
 */
static void end_free(struct gp__nvrm_owner *o, bool was_piece, bool freed)
{
	if (was_piece && !freed)
		gp__nvrm_memory_lose(&o->memory);
	if (was_piece)
		tell_memory(o);
}

static void take_heap(struct gp__nvrm_owner *o, const struct gp__nvrm_heap *h)
{
	switch (h->function) {
	case GP__NVRM_HEAP_ALLOC:
		if (is_on_gpu(h->attributes) && !(h->flags & GP__NVRM_HEAP_VIRTUAL))
			gp__nvrm_memory_add(&o->memory, h->client, h->device, h->memory, h->size);
		break;
	case GP__NVRM_HEAP_ALLOC_TILED:
	case GP__NVRM_HEAP_ALLOC_RANGE:
		gp__nvrm_memory_lose(&o->memory);
		break;
	default:
		return;
	}
	tell_memory(o);
}

static int heap(struct gp__nvrm_owner *o, int fd, unsigned long request, void *args)
{
	bool fits = _IOC_SIZE(request) == sizeof(struct gp__nvrm_heap), frees;
	struct gp__nvrm_heap h = { 0 };
	int result, err;

	fits = fits && gp__read_own_memory(&h, args, sizeof(h));
	frees = h.function == GP__NVRM_HEAP_FREE &&
		gp__nvrm_memory_remove(&o->memory, h.client, h.memory);
	result = o->next(fd, request, args);
	err = errno;
	fits = fits && !result && gp__read_own_memory(&h, args, sizeof(h));
	if (!result && !fits)
		gp__nvrm_memory_lose(&o->memory);
	else if (!result && !h.status)
		take_heap(o, &h);
	end_free(o, frees, !result && !h.status);
	errno = err;
	return result;
}

/*
 * Objects
 */

static void take_made(struct gp__nvrm_owner *o, int fd, const struct made *m)
{
	if (m->call.class == GP__NVRM_CLASS_MEMORY) {
		take_memory(o, m);
		return;
	}
	if (kind_of(m->call.class) == GP__NVRM_CHANNEL && !o->takes_any &&
	    !gp__nvrm_channel_known(m->call.class))
		give_up_generation(o, m->call.class);
	if (kind_of(m->call.class) == GP__NVRM_MIG)
		give_up(o, "this program runs on a part of a GPU (MIG), whose channels cannot be "
			   "held separately");
	else if (is_compute(m->call.class))
		note_compute(o, m);
	else if (!add(o, fd, m))
		give_up(o, "this program has a channel without a group, or memory is exhausted");
	tell_added(o);
}

/* Reads the object's handle and the status that the RM has written. */
static uint32_t read_answer(size_t size, const void *args, struct made *m)
{
	const struct gp__nvrm_alloc32 *small = args;
	const struct gp__nvrm_alloc48 *large = args;

	m->call.object = small->object;
	return size == sizeof(*large) ? large->status : small->status;
}

static int alloc(struct gp__nvrm_owner *o, int fd, unsigned long request, void *args)
{
	size_t size = _IOC_SIZE(request);
	struct made m = { 0 };
	bool fits =
		size == sizeof(struct gp__nvrm_alloc32) || size == sizeof(struct gp__nvrm_alloc48);
	bool matters = fits && gp__read_own_memory(&m.call, args, sizeof(m.call));
	int result, err;

	matters = matters && (kind_of(m.call.class) || is_compute(m.call.class) ||
			      m.call.class == GP__NVRM_CLASS_MEMORY);
	if (matters)
		read_params(&m);
	result = o->next(fd, request, args);
	err = errno;
	if (!result && !fits)
		give_up_form(o);
	else if (!result && matters && !read_answer(size, args, &m))
		take_made(o, fd, &m);
	errno = err;
	return result;
}

/* A duplicate is another handle of the same object: it serves to address the GPU; the rest is held
 * by the first handle. */
static int duplicate_object(struct gp__nvrm_owner *o, int fd, unsigned long request, void *args)
{
	const struct gp__nvrm_dup *d = args;
	int result = o->next(fd, request, args), err = errno;
	struct gp__nvrm_object *from;
	struct made m = { 0 };

	if (!result && _IOC_SIZE(request) != sizeof(*d)) {
		give_up_form(o);
	} else if (!result && !d->status) {
		pthread_mutex_lock(&o->lock);
		from = gp__nvrm_find(o, d->from_client, d->from_object);
		if (from && from->kind == GP__NVRM_DEVICE)
			m.call.class = GP__NVRM_CLASS_DEVICE;
		else if (from && from->kind == GP__NVRM_SUBDEVICE)
			m.call.class = GP__NVRM_CLASS_SUBDEVICE;
		pthread_mutex_unlock(&o->lock);
		m.call.client = d->client;
		m.call.parent = d->parent;
		m.call.object = d->object;
		if (m.call.class)
			take_made(o, fd, &m);
	}
	errno = err;
	return result;
}

/*
 * Freeing an object
 */

static const struct gp__nvrm_object *parent_of(struct gp__nvrm_owner *o,
					       const struct gp__nvrm_object *x)
{
	return x->kind == GP__NVRM_CLIENT ? NULL : gp__nvrm_find(o, x->client, x->parent);
}

static bool is_within(struct gp__nvrm_owner *o, const struct gp__nvrm_object *x,
		      const struct gp__nvrm_object *top)
{
	if (x->client != top->client)
		return false;
	if (top->kind == GP__NVRM_CLIENT)
		return true;
	for (int i = 0; x && i < DEPTH_MAX; i++, x = parent_of(o, x)) {
		if (x == top)
			return true;
	}
	return false;
}

/* Freeing affects a group if its parent is freed, a channel that is held with it, or the subdevice
 * by which it is held. */
static bool is_affected(struct gp__nvrm_owner *o, const struct gp__nvrm_object *group,
			const struct gp__nvrm_object *by)
{
	const struct gp__nvrm_object *of = by;

	if (by->kind == GP__NVRM_SUBDEVICE)
		return gp__nvrm_is_same_gpu(by, group);
	if (by->kind == GP__NVRM_CHANNEL)
		of = gp__nvrm_find(o, by->client, by->parent);
	if (of && of->kind == GP__NVRM_GROUP)
		return gp__nvrm_goes_with(of, group);
	return is_within(o, group, by);
}

/* By value: the object may be freed while the lock is not held. */
static bool begin_to_go(struct gp__nvrm_owner *o, const struct gp__nvrm_free *call,
			struct gp__nvrm_object *what)
{
	const struct gp__nvrm_object *x;

	pthread_mutex_lock(&o->lock);
	x = gp__nvrm_find(o, call->client, call->object);
	if (x) {
		*what = *x;
		o->nr_telling++;
	}
	pthread_mutex_unlock(&o->lock);
	return x != NULL;
}

static uint32_t mark_going(struct gp__nvrm_owner *o, const struct gp__nvrm_free *call)
{
	struct gp__nvrm_object *top;
	uint32_t mark = 0;

	pthread_mutex_lock(&o->lock);
	o->nr_telling--;
	top = gp__nvrm_find(o, call->client, call->object);
	if (top) {
		release_groups(o, is_affected, top);
		mark = ++o->last_free;
		/* Children come first, whose parents are found while they are not going: newer
		 * objects precede older ones. */
		for (struct gp__nvrm_object *x = o->objects; x; x = x->next) {
			if (!x->going && x != top && is_within(o, x, top))
				x->going = mark;
		}
		top->going = mark;
	}
	pthread_mutex_unlock(&o->lock);
	return mark;
}

static void end_going(struct gp__nvrm_owner *o, uint32_t mark, bool gone)
{
	struct gp__nvrm_object *x, *next;

	pthread_mutex_lock(&o->lock);
	for (x = o->objects; x; x = next) {
		next = x->next;
		if (x->going != mark)
			continue;
		x->going = 0;
		if (gone)
			gp__nvrm_drop(o, x);
	}
	pthread_mutex_unlock(&o->lock);
}

/* tell_removed() uses only its handles, so a copy will do. */
static bool is_affected_by_copy(struct gp__nvrm_owner *o, const struct gp__nvrm_object *group,
				const struct gp__nvrm_object *by)
{
	const struct gp__nvrm_object *x = gp__nvrm_find(o, by->client, by->handle);

	return x && is_affected(o, group, x);
}

static void forget_handle(struct gp__nvrm_owner *o, uint32_t client, uint32_t handle)
{
	const struct gp__nvrm_free call = { .client = client, .object = handle };
	struct gp__nvrm_object what;
	uint32_t mark;

	if (!begin_to_go(o, &call, &what))
		return;
	tell_removed(o, is_affected_by_copy, &what);
	mark = mark_going(o, &call);
	if (mark)
		end_going(o, mark, true);
}

static int free_unknown(struct gp__nvrm_owner *o, int fd, unsigned long request, void *args)
{
	int result = o->next(fd, request, args), err = errno;

	if (!result && _IOC_SIZE(request) != sizeof(struct gp__nvrm_free))
		give_up_form(o);
	errno = err;
	return result;
}

/* Frees an object that is not followed: memory, perhaps. */
static int free_memory(struct gp__nvrm_owner *o, int fd, unsigned long request, void *args,
		       const struct gp__nvrm_free *call)
{
	bool was_piece = gp__nvrm_memory_remove(&o->memory, call->client, call->object);
	int result = o->next(fd, request, args), err = errno;

	end_free(o, was_piece, !result && !((struct gp__nvrm_free *)args)->status);
	errno = err;
	return result;
}

static int free_object(struct gp__nvrm_owner *o, int fd, unsigned long request, void *args)
{
	struct gp__nvrm_free call;
	struct gp__nvrm_object what;
	uint32_t mark;
	int result, err;

	if (_IOC_SIZE(request) != sizeof(call) || !gp__read_own_memory(&call, args, sizeof(call)))
		return free_unknown(o, fd, request, args);
	if (!begin_to_go(o, &call, &what))
		return free_memory(o, fd, request, args, &call);
	tell_removed(o, is_affected_by_copy, &what);
	mark = mark_going(o, &call);
	tell_added(o); /* others may have been created meanwhile */
	result = o->next(fd, request, args);
	err = errno;
	if (mark)
		end_going(o, mark, !result && !((struct gp__nvrm_free *)args)->status);
	if (!result && !((struct gp__nvrm_free *)args)->status) {
		gp__nvrm_memory_remove_of(&o->memory, call.client, call.object);
		tell_memory(o);
	}
	tell_added(o);
	errno = err;
	return result;
}

/*
 * Controls
 */

static int set_timeslice(struct gp__nvrm_owner *o, int fd, unsigned long request,
			 struct gp__nvrm_control *args, const struct gp__nvrm_control *copy)
{
	struct gp__nvrm_control ours = *copy;
	struct gp__nvrm_object *g;
	uint64_t wish, slice;
	int result;

	if (copy->params_size != sizeof(wish) ||
	    !gp__read_own_memory(&wish, (const void *)(uintptr_t)copy->params, sizeof(wish)))
		return o->next(fd, request, args);
	pthread_mutex_lock(&o->lock);
	g = gp__nvrm_find(o, copy->client, copy->object);
	if (g && g->slice_us) {
		slice = g->slice_us;
		ours.params = (uint64_t)(uintptr_t)&slice;
		result = o->next(fd, request, &ours);
		if (!result)
			args->status = ours.status;
	} else {
		result = o->next(fd, request, args);
	}
	if (g && !result && !args->status)
		g->program_slice_us = wish;
	pthread_mutex_unlock(&o->lock);
	return result;
}

/* A group stays held when it is scheduled again. */
static int schedule_group(struct gp__nvrm_owner *o, int fd, unsigned long request,
			  struct gp__nvrm_control *args, const struct gp__nvrm_control *copy)
{
	int result = o->next(fd, request, args), err = errno;
	struct gp__nvrm_object *g;

	pthread_mutex_lock(&o->lock);
	g = gp__nvrm_find(o, copy->client, copy->object);
	if (g)
		gp__nvrm_hold_again(o, g);
	pthread_mutex_unlock(&o->lock);
	errno = err;
	return result;
}

static bool is_held(struct gp__nvrm_owner *o, const struct gp__nvrm_object *channel)
{
	const struct gp__nvrm_object *of = gp__nvrm_find(o, channel->client, channel->parent);
	bool held = false;

	for (struct gp__nvrm_object *x = o->objects; x && of && !held; x = x->next)
		held = gp__nvrm_is_kind(x, GP__NVRM_GROUP) && x->verb != GP__NVRM_RELEASE &&
		       gp__nvrm_goes_with(of, x);
	return held;
}

/* Removes held channels from a list to be enabled; the program's wish is remembered. */
static bool keep_held(struct gp__nvrm_owner *o, struct gp__nvrm_disable *d)
{
	uint32_t n = 0, nr = d->nr;

	for (uint32_t i = 0; i < nr; i++) {
		struct gp__nvrm_object *c = gp__nvrm_find(o, d->client[i], d->channel[i]);

		if (c && is_held(o, c)) {
			c->program_disabled = false;
			continue;
		}
		d->client[n] = d->client[i];
		d->channel[n++] = d->channel[i];
	}
	d->nr = n;
	return n != nr;
}

static void remember_disabled(struct gp__nvrm_owner *o, const struct gp__nvrm_disable *d)
{
	for (uint32_t i = 0; i < d->nr; i++) {
		struct gp__nvrm_object *c = gp__nvrm_find(o, d->client[i], d->channel[i]);

		if (c && c->kind == GP__NVRM_CHANNEL)
			c->program_disabled = d->disable;
	}
}

static int disable_channels(struct gp__nvrm_owner *o, int fd, unsigned long request,
			    struct gp__nvrm_control *args, const struct gp__nvrm_control *copy)
{
	struct gp__nvrm_control ours = *copy;
	struct gp__nvrm_disable d;
	int result = 0;

	if (copy->params_size != sizeof(d) ||
	    !gp__read_own_memory(&d, (const void *)(uintptr_t)copy->params, sizeof(d)) ||
	    d.nr > GP__NVRM_CHANNELS_AT_ONCE)
		return o->next(fd, request, args);
	pthread_mutex_lock(&o->lock);
	if (!d.disable && keep_held(o, &d)) {
		ours.params = (uint64_t)(uintptr_t)&d;
		ours.status = 0;
		if (d.nr)
			result = o->next(fd, request, &ours);
		if (!result)
			args->status = ours.status;
	} else {
		result = o->next(fd, request, args);
	}
	if (!result && !args->status)
		remember_disabled(o, &d);
	pthread_mutex_unlock(&o->lock);
	return result;
}

static int control(struct gp__nvrm_owner *o, int fd, unsigned long request, void *args)
{
	struct gp__nvrm_control copy;
	int result, err;

	if (_IOC_SIZE(request) != sizeof(copy)) {
		result = o->next(fd, request, args);
		err = errno;
		if (!result)
			give_up_form(o);
		errno = err;
		return result;
	}
	if (!gp__read_own_memory(&copy, args, sizeof(copy)))
		return o->next(fd, request, args);
	switch (copy.cmd) {
	case (uint32_t)GP__NVRM_CMD_SET_TIMESLICE:
		return set_timeslice(o, fd, request, args, &copy);
	case (uint32_t)GP__NVRM_CMD_GROUP_SCHEDULE:
		return schedule_group(o, fd, request, args, &copy);
	case GP__NVRM_CMD_DISABLE_CHANNELS:
		return disable_channels(o, fd, request, args, &copy);
	default:
		return o->next(fd, request, args);
	}
}

/* Unwraps one of the calls above; libraries wrap calls with large arguments. */
static int transfer(struct gp__nvrm_owner *o, int fd, unsigned long request, void *args)
{
	uint32_t nr = 0;
	int result, err;

	if (_IOC_SIZE(request) < sizeof(nr) || !gp__read_own_memory(&nr, args, sizeof(nr)))
		nr = 0;
	result = o->next(fd, request, args);
	err = errno;
	if (!result && nr == GP__NVRM_NR_HEAP)
		gp__nvrm_memory_lose(&o->memory);
	else if (!result && nr != GP__NVRM_NR_XFER &&
		 gp__nvrm_owner_wants(_IOC(_IOC_READ | _IOC_WRITE, GP__NVRM_TYPE, nr & 0xff, 0)))
		give_up_form(o);
	errno = err;
	return result;
}

typedef int call_fn(struct gp__nvrm_owner *o, int fd, unsigned long request, void *args);

static call_fn *find_call(unsigned long request)
{
	if (_IOC_TYPE(request) != GP__NVRM_TYPE)
		return NULL;
	switch (_IOC_NR(request)) {
	case GP__NVRM_NR_ALLOC:
		return alloc;
	case GP__NVRM_NR_FREE:
		return free_object;
	case GP__NVRM_NR_CONTROL:
		return control;
	case GP__NVRM_NR_HEAP:
		return heap;
	case GP__NVRM_NR_DUP:
		return duplicate_object;
	case GP__NVRM_NR_XFER:
		return transfer;
	default:
		return NULL;
	}
}

bool gp__nvrm_owner_wants(unsigned long request)
{
	return find_call(request) != NULL;
}

int gp__nvrm_owner_ioctl(struct gp__nvrm_owner *o, int fd, unsigned long request, void *args)
{
	call_fn *call = find_call(request);

	return call ? call(o, fd, request, args) : o->next(fd, request, args);
}
