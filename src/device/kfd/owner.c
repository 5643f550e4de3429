// SPDX-License-Identifier: MIT
/* Holds and releases the queues of this process, and keeps what their program wants of them. */
#include "device/kfd/owned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Targets are on the stack, which may be small; larger sets take several calls. */
#define BATCH_MAX 128
#define WORDS (GP__KFD_QUEUES_MAX / 64)

/*
 * Beginning and end
 */

static void init_locks(struct gp__kfd_owner *o)
{
	pthread_rwlock_init(&o->control_lock, NULL);
	for (size_t i = 0; i < GP__KFD_QUEUES_MAX; i++)
		pthread_mutex_init(&o->entry[i].lock, NULL);
}

int gp__kfd_owner_create(gp__kfd_ioctl_fn next, enum gp__kfd_way way,
			 const struct gp__kfd_owner_events *events, struct gp__kfd_owner **owner)
{
	struct gp__kfd_owner *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->next = next;
	if (events)
		o->events = *events;
	o->asked = way;
	o->way = (int)way;
	o->generation = 1;
	o->kfd = -1;
	init_locks(o);
	*owner = o;
	return 0;
}

void gp__kfd_owner_prioritize(struct gp__kfd_owner *o, uint32_t (*fn)(void *data, uint32_t gpu_id),
			      void *data)
{
	o->priority = fn;
	o->priority_data = data;
}

void gp__kfd_owner_forget(struct gp__kfd_owner *o)
{
	/* Threads of the parent may have held the locks, and do not exist in the child. */
	init_locks(o);
	for (size_t i = 0; i < GP__KFD_QUEUES_MAX; i++)
		o->entry[i].exists = o->entry[i].going = false;
	atomic_fetch_add(&o->generation, 1);
	/* The debugger belongs to the parent. */
	if (o->is_open && o->control.events >= 0)
		close(o->control.events);
	if (o->kfd_is_ours)
		close(o->kfd);
	o->kfd = -1;
	o->kfd_is_ours = o->is_open = false;
	o->runtime_calls = 0;
	o->reset_event = 0;
	o->end = 0;
}

/*
 * The way
 */

/* Releases all that @c holds. With the control's lock for writing. */
static void release_all(struct gp__kfd_owner *o, struct gp__kfd_control *c)
{
	struct gp__kfd_target t[BATCH_MAX];
	uint32_t end = atomic_load(&o->end);
	size_t n = 0;

	for (uint32_t id = 0; id < end; id++) {
		struct gp__kfd_entry *e = &o->entry[id];

		if (gp__kfd_entry_held(o, e))
			t[n++].queue = &e->info;
		if (n && (n == BATCH_MAX || id == end - 1)) {
			gp__kfd_control(c, GP__KFD_RELEASE, t, n);
			n = 0;
		}
	}
}

/* Everything that @c holds runs afterwards, unless another control holds it. */
static void close_control(struct gp__kfd_owner *o, struct gp__kfd_control *c)
{
	/* Queues that a debugger holds are released when it detaches. */
	if (c->way != GP__KFD_WAY_DBGTRAP)
		release_all(o, c);
	gp__kfd_control_close(c);
	atomic_fetch_add(&o->generation, 1);
}

static int open_as(struct gp__kfd_owner *o, int way)
{
	if (way == GP__KFD_WAY_DBGTRAP && o->runtime_calls)
		return -ESHUTDOWN;
	return gp__kfd_control_open_by(&o->control, o->next, o->kfd, 0, (enum gp__kfd_way)way);
}

static void use_update(struct gp__kfd_owner *o, int error)
{
	atomic_store(&o->way, GP__KFD_WAY_UPDATE);
	atomic_store(&o->way_error, error);
}

static bool is_in(const uint64_t *set, uint32_t id)
{
	return set[id / 64] >> id % 64 & 1;
}

static void put_in(uint64_t *set, uint32_t id)
{
	set[id / 64] |= 1ull << id % 64;
}

/* Holds what is held by the current way, too, and sorts it into @kept or @lost. */
static void hold_again(struct gp__kfd_owner *o, uint32_t end, uint64_t *kept, uint64_t *lost)
{
	for (uint32_t id = 0; id < end; id++) {
		struct gp__kfd_entry *e = &o->entry[id];
		struct gp__kfd_target t = { .queue = &e->info };

		if (!gp__kfd_entry_held(o, e) || e->going)
			continue;
		gp__kfd_control(&o->control, GP__KFD_SAVE, &t, 1);
		put_in(t.result ? lost : kept, id);
		if (t.result)
			e->error = t.undone ? t.undone : t.result;
		e->stuck = t.undone != 0;
	}
}

/*
 * Changes from another way to update. Held queues stay held: update holds them before the other way
 * releases them. With the locks of all queues below @end and the control's for writing. @lost:
 * queues that run now, since update could not hold them.
 */
static void fall_back(struct gp__kfd_owner *o, uint32_t end, int error, uint64_t *lost)
{
	struct gp__kfd_control before = o->control;
	uint64_t kept[WORDS] = { 0 };

	if (!o->is_open) {
		use_update(o, error);
		return;
	}
	/* It cannot fail for the process's own queues. */
	o->is_open = !open_as(o, GP__KFD_WAY_UPDATE);
	hold_again(o, end, kept, lost);
	close_control(o, &before);
	for (uint32_t id = 0; id < end; id++) {
		if (is_in(kept, id))
			o->entry[id].hold = atomic_load(&o->generation);
	}
	use_update(o, error);
}

static void lock_all(struct gp__kfd_owner *o, uint32_t end)
{
	for (uint32_t id = 0; id < end; id++)
		pthread_mutex_lock(&o->entry[id].lock);
	pthread_rwlock_wrlock(&o->control_lock);
}

static void unlock_all(struct gp__kfd_owner *o, uint32_t end)
{
	pthread_rwlock_unlock(&o->control_lock);
	for (uint32_t id = 0; id < end; id++)
		pthread_mutex_unlock(&o->entry[id].lock);
}

/* Without locks: a listener may use the owner. */
static void tell_lost(struct gp__kfd_owner *o, const uint64_t *lost)
{
	for (uint32_t id = 0; id < GP__KFD_QUEUES_MAX; id++) {
		struct gp__kfd_entry *e = &o->entry[id];
		struct gp__kfd_queue_info info;

		if (!is_in(lost, id) || !o->events.lost)
			continue;
		pthread_mutex_lock(&e->lock);
		info = e->info;
		pthread_mutex_unlock(&e->lock);
		o->events.lost(o->events.data, &info);
	}
}

void gp__kfd_owner_give_up(struct gp__kfd_owner *o, enum gp__kfd_way way, int error)
{
	uint32_t end = atomic_load(&o->end);
	uint64_t lost[WORDS] = { 0 };

	if (atomic_load(&o->way) != (int)way)
		return;
	lock_all(o, end);
	if (atomic_load(&o->way) == (int)way)
		fall_back(o, end, error, lost);
	unlock_all(o, end);
	tell_lost(o, lost);
}

void gp__kfd_owner_runtime_call(struct gp__kfd_owner *o, bool begins)
{
	uint32_t end = atomic_load(&o->end);
	uint64_t lost[WORDS] = { 0 };

	lock_all(o, end);
	o->runtime_calls += begins ? 1 : -1;
	if (begins && o->is_open && o->control.way == GP__KFD_WAY_DBGTRAP)
		fall_back(o, end, -ESHUTDOWN, lost);
	unlock_all(o, end);
	tell_lost(o, lost);
}

/* With the control's lock for writing. */
static int open_control(struct gp__kfd_owner *o)
{
	int way = atomic_load(&o->way), err;

	if (o->is_open)
		return 0;
	if (o->kfd < 0)
		return -ENOENT;
	err = open_as(o, way);
	if (err && way != GP__KFD_WAY_UPDATE) {
		use_update(o, err);
		err = open_as(o, GP__KFD_WAY_UPDATE);
	}
	o->is_open = !err;
	return err;
}

/* Takes the lock for reading and opens the control; or -errno, without the lock. */
static int enter_control(struct gp__kfd_owner *o)
{
	int err = 0;

	pthread_rwlock_rdlock(&o->control_lock);
	while (!err && !o->is_open) {
		pthread_rwlock_unlock(&o->control_lock);
		pthread_rwlock_wrlock(&o->control_lock);
		err = open_control(o);
		pthread_rwlock_unlock(&o->control_lock);
		if (!err)
			pthread_rwlock_rdlock(&o->control_lock);
	}
	return err;
}

enum gp__kfd_way gp__kfd_owner_way(struct gp__kfd_owner *o, int *error)
{
	if (error)
		*error = atomic_load(&o->way_error);
	return (enum gp__kfd_way)atomic_load(&o->way);
}

void gp__kfd_owner_explain_way(struct gp__kfd_owner *o, char *text, size_t size)
{
	/* Without a pid: a process needs no permission to debug itself. */
	const struct gp__kfd_control asked = { .way = o->asked };
	int error = atomic_load(&o->way_error);

	text[0] = '\0';
	if (error)
		gp__kfd_explain(&asked, GP__KFD_SAVE, error, text, size);
}

/*
 * Holding and releasing
 */

/* Queues of a set, in the order of their ids and with their locks. */
struct batch {
	struct gp__kfd_owner *o;
	enum gp__kfd_verb verb;
	struct gp__kfd_entry *entry[BATCH_MAX];
	struct gp__kfd_target target[BATCH_MAX];
	size_t n;
};

static void record(struct gp__kfd_owner *o, enum gp__kfd_verb verb, struct gp__kfd_entry *e,
		   const struct gp__kfd_target *t)
{
	if (t->result)
		e->error = t->result;
	if (t->undone)
		e->error = t->undone;
	if (!t->result)
		e->hold = verb == GP__KFD_RELEASE ? 0 : atomic_load(&o->generation);
	if (!t->result || verb != GP__KFD_RELEASE)
		e->stuck = t->undone != 0;
}

static void run(struct batch *b)
{
	int err;

	if (!b->n)
		return;
	err = enter_control(b->o);
	if (err) {
		for (size_t i = 0; i < b->n; i++)
			b->target[i].result = err;
		return;
	}
	gp__kfd_control(&b->o->control, b->verb, b->target, b->n);
	for (size_t i = 0; i < b->n; i++)
		record(b->o, b->verb, b->entry[i], &b->target[i]);
	pthread_rwlock_unlock(&b->o->control_lock);
}

/* Reports a result for each time that the id was given. */
static void report(const uint32_t *ids, int *results, size_t n, uint32_t id, int result)
{
	for (size_t i = 0; i < n; i++) {
		if (ids[i] == id)
			results[i] = result;
	}
}

static bool is_as_asked(const struct gp__kfd_owner *o, const struct gp__kfd_entry *e,
			enum gp__kfd_verb verb)
{
	if (verb == GP__KFD_RELEASE)
		return !gp__kfd_entry_held(o, e) && !e->stuck;
	return gp__kfd_entry_held(o, e);
}

/* Removes the lowest id from the set. False: it is empty. */
static bool take(uint64_t *set, uint32_t *id)
{
	for (uint32_t i = 0; i < WORDS; i++) {
		if (!set[i])
			continue;
		*id = i * 64 + (uint32_t)__builtin_ctzll(set[i]);
		set[i] &= set[i] - 1;
		return true;
	}
	return false;
}

/*
 * Locks the next queues of the set and removes them from it; queues with nothing to do are reported
 * at once. False: the set is empty.
 */
static bool gather(struct batch *b, uint64_t *set, const uint32_t *ids, int *results, size_t n)
{
	uint32_t id;

	b->n = 0;
	while (b->n < BATCH_MAX) {
		struct gp__kfd_entry *e;
		bool there;

		if (!take(set, &id))
			return false;
		e = &b->o->entry[id];
		pthread_mutex_lock(&e->lock);
		there = e->exists && !e->going;
		if (there && !is_as_asked(b->o, e, b->verb)) {
			b->target[b->n].queue = &e->info;
			b->entry[b->n++] = e;
			continue;
		}
		pthread_mutex_unlock(&e->lock);
		report(ids, results, n, id, there ? 0 : -ENOENT);
	}
	return true;
}

static int sum(const int *results, size_t n)
{
	bool same = true;
	int done = 0;

	for (size_t i = 0; i < n; i++) {
		done += !results[i];
		same &= results[i] == results[0];
	}
	return !done && same ? results[0] : done;
}

int gp__kfd_owner_set(struct gp__kfd_owner *o, enum gp__kfd_verb verb, const uint32_t *ids,
		      int *results, size_t n)
{
	uint64_t set[WORDS] = { 0 };
	struct batch b;
	bool more;

	if (!n)
		return -ENODATA;
	b.o = o;
	b.verb = verb;
	for (size_t i = 0; i < n; i++) {
		results[i] = -ENOENT;
		if (ids[i] < GP__KFD_QUEUES_MAX)
			set[ids[i] / 64] |= 1ull << ids[i] % 64;
	}
	do {
		more = gather(&b, set, ids, results, n);
		run(&b);
		for (size_t i = 0; i < b.n; i++) {
			report(ids, results, n, b.entry[i]->info.id, b.target[i].result);
			pthread_mutex_unlock(&b.entry[i]->lock);
		}
	} while (more);
	return sum(results, n);
}

int gp__kfd_owner_release(struct gp__kfd_owner *o, struct gp__kfd_entry *e)
{
	struct batch b = { .o = o, .verb = GP__KFD_RELEASE, .entry = { e }, .n = 1 };

	if (is_as_asked(o, e, GP__KFD_RELEASE))
		return 0;
	b.target[0].queue = &e->info;
	run(&b);
	return b.target[0].result;
}

void gp__kfd_owner_clear(struct gp__kfd_owner *o, struct gp__kfd_entry *e)
{
	pthread_rwlock_rdlock(&o->control_lock);
	e->hold = 0;
	pthread_rwlock_unlock(&o->control_lock);
	e->stuck = false;
	e->error = 0;
}

bool gp__kfd_owner_find(struct gp__kfd_owner *o, const void *write_index,
			struct gp__kfd_queue_info *queue)
{
	uint64_t wanted = (uintptr_t)write_index;
	uint32_t end = atomic_load(&o->end);
	bool found = false;

	for (uint32_t id = 0; id < end && !found; id++) {
		struct gp__kfd_entry *e = &o->entry[id];

		if (atomic_load(&e->write_index) != wanted)
			continue;
		pthread_mutex_lock(&e->lock);
		found = e->exists && !e->going && e->info.write_index == wanted;
		if (found)
			*queue = e->info;
		pthread_mutex_unlock(&e->lock);
	}
	return found;
}

bool gp__kfd_owner_get(struct gp__kfd_owner *o, uint32_t id, struct gp__kfd_queue_info *queue)
{
	struct gp__kfd_entry *e = id < atomic_load(&o->end) ? &o->entry[id] : NULL;
	bool found;

	if (!e)
		return false;
	pthread_mutex_lock(&e->lock);
	found = e->exists && !e->going;
	*queue = e->info;
	pthread_mutex_unlock(&e->lock);
	return found;
}

size_t gp__kfd_owner_list(struct gp__kfd_owner *o, struct gp__kfd_owned *list, size_t max)
{
	uint32_t end = atomic_load(&o->end);
	size_t n = 0;

	for (uint32_t id = 0; id < end; id++) {
		struct gp__kfd_entry *e = &o->entry[id];

		pthread_mutex_lock(&e->lock);
		if (e->exists && !e->going) {
			if (n < max)
				list[n] = (struct gp__kfd_owned){ e->info, gp__kfd_entry_held(o, e),
								  e->error };
			n++;
		}
		pthread_mutex_unlock(&e->lock);
	}
	return n;
}

void gp__kfd_owner_destroy(struct gp__kfd_owner *o)
{
	if (!o)
		return;
	if (o->is_open)
		close_control(o, &o->control);
	if (o->kfd_is_ours)
		close(o->kfd);
	pthread_rwlock_destroy(&o->control_lock);
	for (size_t i = 0; i < GP__KFD_QUEUES_MAX; i++)
		pthread_mutex_destroy(&o->entry[i].lock);
	free(o);
}
