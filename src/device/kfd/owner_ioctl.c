// SPDX-License-Identifier: MIT
/*
 * Carries out the program's own calls. Each keeps its result and errno, and none fails because of
 * us.
 *
 * As in the driver, the number says which call it is, and the size how much of its arguments is
 * present; the rest is zero.
 */
#include "device/kfd/owned.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own_memory.h"
#include "device/kfd/way.h"

/* Larger than the arguments of any known call, newer versions included. */
#define ARGS_MAX 256
#define PERCENTAGE_MASK 0xffu

union arguments {
	uint8_t bytes[ARGS_MAX];
	struct gp_kfd_create_queue create;
	struct gp_kfd_update_queue update;
	struct gp_kfd_destroy_queue destroy;
	struct gp_kfd_dbg_trap trap;
	struct gp_kfd_preempt preempt;
};

/* Reads the arguments before the driver does; the driver refuses a bad address. */
static bool read_arguments(unsigned long request, const void *args, union arguments *copy)
{
	size_t size = _IOC_SIZE(request);

	memset(copy, 0, sizeof(*copy));
	return size <= sizeof(*copy) && args && gp__read_own_memory(copy, args, size);
}

static struct gp__kfd_entry *find(struct gp__kfd_owner *o, uint32_t id)
{
	return id < atomic_load(&o->end) ? &o->entry[id] : NULL;
}

static void tell(void (*what)(void *data, const struct gp__kfd_queue_info *queue),
		 const struct gp__kfd_owner *o, const struct gp__kfd_queue_info *queue)
{
	int err = errno;

	if (what)
		what(o->events.data, queue);
	errno = err;
}

/*
 * Creating a queue
 */

static bool is_same_device(int a, int b)
{
	struct stat of_a, of_b;

	return !fstat(a, &of_a) && !fstat(b, &of_b) && of_a.st_dev == of_b.st_dev &&
	       of_a.st_ino == of_b.st_ino && of_a.st_rdev == of_b.st_rdev;
}

/* With the control's lock. */
static bool has_descriptor(const struct gp__kfd_owner *o, int fd)
{
	return o->kfd >= 0 && is_same_device(o->kfd, fd);
}

/*
 * Keeps a duplicate of the descriptor, since programs close theirs. A program may close the
 * duplicate, too; its number then belongs to another file and is not closed. To the driver, all
 * descriptors of a process are equal.
 *
 * The lock is only taken for writing if there is something to change: that waits for a queue that
 * drains.
 */
static void keep_descriptor(struct gp__kfd_owner *o, int fd)
{
	bool has;

	pthread_rwlock_rdlock(&o->control_lock);
	has = has_descriptor(o, fd);
	pthread_rwlock_unlock(&o->control_lock);
	if (has)
		return;
	pthread_rwlock_wrlock(&o->control_lock);
	if (!has_descriptor(o, fd)) {
		int ours = gp__fd_duplicate(fd);

		o->kfd_is_ours = ours >= 0;
		o->kfd = ours < 0 ? fd : ours;
		o->control.kfd = o->kfd;
	}
	pthread_rwlock_unlock(&o->control_lock);
}

static void add(struct gp__kfd_owner *o, int fd, const struct gp_kfd_create_queue *args)
{
	struct gp__kfd_entry *e = &o->entry[args->queue_id];
	const struct gp__kfd_queue_info info = {
		.id = args->queue_id,
		.gpu_id = args->gpu_id,
		.type = args->queue_type,
		.ring_bytes = args->ring_size,
		.ring = args->ring_base_address,
		.read_index = args->read_pointer_address,
		.write_index = args->write_pointer_address,
		.save_area = args->ctx_save_restore_address,
		.save_bytes = args->ctx_save_restore_size,
		.percentage = args->queue_percentage,
		.priority = args->queue_priority,
	};
	uint32_t end = atomic_load(&o->end);

	keep_descriptor(o, fd);
	pthread_mutex_lock(&e->lock);
	gp__kfd_owner_clear(o, e);
	e->info = info;
	atomic_store(&e->write_index, info.write_index);
	e->serial++;
	e->going = false;
	e->exists = true;
	pthread_mutex_unlock(&e->lock);
	while (end <= info.id && !atomic_compare_exchange_weak(&o->end, &end, info.id + 1))
		;
	tell(o->events.added, o, &info);
}

/* The priority for a queue that its program gives none; 0: none. */
static uint32_t missing_priority(struct gp__kfd_owner *o, unsigned long request, const void *args,
				 union arguments *copy)
{
	/* Longer arguments may have another meaning. */
	if (!o->priority || _IOC_SIZE(request) > sizeof(copy->create) ||
	    !read_arguments(request, args, copy) || copy->create.logical_priority)
		return 0;
	return o->priority(o->priority_data, copy->create.gpu_id);
}

/* Calls the driver. Arguments of older runtimes have no room for a priority. */
static int create_with_priority(struct gp__kfd_owner *o, int fd, unsigned long request, void *args)
{
	union arguments copy;
	uint32_t priority = missing_priority(o, request, args, &copy);
	int result;

	if (!priority)
		return o->next(fd, request, args);
	copy.create.logical_priority = priority;
	result = o->next(fd, GP_KFD_CREATE_QUEUE, &copy);
	copy.create.logical_priority = 0;
	if (!result)
		memcpy(args, &copy, _IOC_SIZE(request));
	return result;
}

static int create(struct gp__kfd_owner *o, int fd, unsigned long request, void *args)
{
	struct gp_kfd_create_queue made = { 0 };
	size_t size = _IOC_SIZE(request), end = offsetof(struct gp_kfd_create_queue, queue_id) + 4;
	int result = create_with_priority(o, fd, request, args), err = errno;

	/* Arguments that end before the id do not return it. */
	if (!result && size >= end) {
		memcpy(&made, args, size < sizeof(made) ? size : sizeof(made));
		if (made.queue_id < GP__KFD_QUEUES_MAX)
			add(o, fd, &made);
	}
	errno = err;
	return result;
}

/*
 * Changing a queue
 */

/* Unless it refused the call, the driver has stored the arguments. An interrupted call is made
 * again. */
static bool is_stored(int result, int err)
{
	return !result || (err != EINTR && !gp__kfd_is_refusal(-err));
}

static void remember(struct gp__kfd_queue_info *info, const struct gp_kfd_update_queue *args)
{
	info->ring = args->ring_base_address;
	info->ring_bytes = args->ring_size;
	info->percentage = args->queue_percentage;
	info->priority = args->queue_priority;
}

/* Gives the driver the runtime's ring and priority now, and its percentage at the release. */
static int update_held(struct gp__kfd_owner *o, int fd, unsigned long request,
		       const union arguments *args)
{
	union arguments ours = *args;

	ours.update.queue_percentage &= ~PERCENTAGE_MASK;
	return o->next(fd, request, &ours);
}

static int update(struct gp__kfd_owner *o, int fd, unsigned long request, void *args)
{
	union arguments copy;
	struct gp__kfd_entry *e = NULL;
	struct gp__kfd_queue_info info;
	bool changed = false;
	int result, err;

	if (read_arguments(request, args, &copy))
		e = find(o, copy.update.queue_id);
	if (!e)
		return o->next(fd, request, args);
	pthread_mutex_lock(&e->lock);
	if (gp__kfd_entry_held(o, e) && atomic_load(&o->way) == GP__KFD_WAY_UPDATE)
		result = update_held(o, fd, request, &copy);
	else
		result = o->next(fd, request, args);
	err = errno;
	if (e->exists && is_stored(result, err)) {
		remember(&e->info, &copy.update);
		info = e->info;
		changed = true;
	}
	pthread_mutex_unlock(&e->lock);
	errno = err;
	if (changed)
		tell(o->events.changed, o, &info);
	return result;
}

/*
 * Destroying a queue
 */

/* From here on the queue is not held. False: it is not ours, or another thread destroys it
 * already. */
static bool begin_to_go(struct gp__kfd_entry *e, struct gp__kfd_queue_info *info, uint32_t *serial)
{
	bool goes;

	pthread_mutex_lock(&e->lock);
	goes = e->exists && !e->going;
	if (goes) {
		e->going = true;
		*info = e->info;
		*serial = e->serial;
	}
	pthread_mutex_unlock(&e->lock);
	return goes;
}

/* The driver does not destroy a queue before a debugger has resumed it. */
static void free_queue(struct gp__kfd_owner *o, struct gp__kfd_entry *e)
{
	int err;

	pthread_mutex_lock(&e->lock);
	err = gp__kfd_owner_release(o, e);
	pthread_mutex_unlock(&e->lock);
	if (err)
		gp__kfd_owner_give_up(o, GP__KFD_WAY_DBGTRAP, err);
}

/* The id may belong to a new queue by now. True: the queue still exists. */
static bool end_going(struct gp__kfd_owner *o, struct gp__kfd_entry *e, uint32_t serial, bool gone)
{
	bool stays = false;

	pthread_mutex_lock(&e->lock);
	if (e->serial == serial) {
		e->going = false;
		e->exists = stays = !gone;
		if (gone)
			gp__kfd_owner_clear(o, e);
	}
	pthread_mutex_unlock(&e->lock);
	return stays;
}

static int destroy(struct gp__kfd_owner *o, int fd, unsigned long request, void *args)
{
	union arguments copy;
	struct gp__kfd_entry *e = NULL;
	struct gp__kfd_queue_info info;
	uint32_t serial;
	int result, err;

	if (read_arguments(request, args, &copy))
		e = find(o, copy.destroy.queue_id);
	if (!e || !begin_to_go(e, &info, &serial))
		return o->next(fd, request, args);
	tell(o->events.removed, o, &info);
	free_queue(o, e);
	result = o->next(fd, request, args);
	err = errno;
	if (end_going(o, e, serial, !result))
		tell(o->events.added, o, &info);
	errno = err;
	return result;
}

/*
 * The runtime and debuggers
 */

/* With our debugger attached, the driver would wait for our answer. */
static int runtime(struct gp__kfd_owner *o, int fd, unsigned long request, void *args)
{
	int result, err;

	gp__kfd_owner_runtime_call(o, true);
	result = o->next(fd, request, args);
	err = errno;
	gp__kfd_owner_runtime_call(o, false);
	errno = err;
	return result;
}

/* The driver accepts a thread's id for its process. */
static bool is_us(uint32_t pid)
{
	return pid == (uint32_t)getpid() || !syscall(SYS_tgkill, getpid(), pid, 0);
}

/* Our debugger detaches before the program's own attaches. */
static int debug(struct gp__kfd_owner *o, int fd, unsigned long request, void *args)
{
	union arguments copy;

	if (!read_arguments(request, args, &copy) || is_us(copy.trap.pid))
		gp__kfd_owner_give_up(o, GP__KFD_WAY_DBGTRAP, -EALREADY);
	return o->next(fd, request, args);
}

/* A process can hold its own queues only once, without a target: from now on the program does. */
static int preempt(struct gp__kfd_owner *o, int fd, unsigned long request, void *args)
{
	union arguments copy;
	bool holds = read_arguments(request, args, &copy) &&
		     (copy.preempt.op == GP_KFD_OP_PREEMPT || copy.preempt.op == GP_KFD_OP_RESUME);

	if (holds && !(copy.preempt.flags & GP_KFD_PREEMPT_TARGET))
		gp__kfd_owner_give_up(o, GP__KFD_WAY_PREEMPT, -EALREADY);
	return o->next(fd, request, args);
}

/* The numbers of the aliases have another meaning where the kernel does not have them. */
static int preempt_alias(struct gp__kfd_owner *o, int fd, unsigned long request, void *args)
{
	if (_IOC_SIZE(request) == sizeof(struct gp_kfd_preempt_queue))
		gp__kfd_owner_give_up(o, GP__KFD_WAY_PREEMPT, -EALREADY);
	return o->next(fd, request, args);
}

typedef int call_fn(struct gp__kfd_owner *o, int fd, unsigned long request, void *args);

static call_fn *find_call(unsigned long request)
{
	if (_IOC_TYPE(request) != GP_KFD_MAGIC)
		return NULL;
	switch (_IOC_NR(request)) {
	case _IOC_NR(GP_KFD_CREATE_QUEUE):
		return create;
	case _IOC_NR(GP_KFD_UPDATE_QUEUE):
		return update;
	case _IOC_NR(GP_KFD_DESTROY_QUEUE):
		return destroy;
	case _IOC_NR(GP_KFD_RUNTIME_ENABLE):
		return runtime;
	case _IOC_NR(GP_KFD_DBG_TRAP):
		return debug;
	case _IOC_NR(GP_KFD_PREEMPT_QUEUE):
	case _IOC_NR(GP_KFD_RESUME_QUEUE):
		return preempt_alias;
	case _IOC_NR(GP_KFD_PREEMPT):
		return preempt;
	default:
		return NULL;
	}
}

bool gp__kfd_owner_wants(unsigned long request)
{
	return find_call(request) != NULL;
}

int gp__kfd_owner_ioctl(struct gp__kfd_owner *o, int fd, unsigned long request, void *args)
{
	call_fn *call = find_call(request);

	return call ? call(o, fd, request, args) : o->next(fd, request, args);
}
