// SPDX-License-Identifier: MIT
/*
 * RUNTIME_ENABLE and DBG_TRAP: permissions, and the start and end of a debug session. Checks come
 * in amdkfd's order.
 *
 * The driver holds the target's mutex while it copies to and from the debugger. Here a debugger may
 * take for ever to answer, so each step checks its permission, copies without the lock, and checks
 * again.
 */
#include "emu/kfd/debug_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/kfd/call.h"
#include "emu/kfd/node.h"
#include "emu/kfd/queue.h"
#include "emu/kfd/tracer.h"

#define TMA_DEBUGGED 2

int emu_debug_init(struct emu_process *p)
{
	p->debug.event_fd = p->debug.answered_fd = -1;
	return -pthread_mutex_init(&p->debug.lock, NULL);
}

void emu_debug_destroy(struct emu_process *p)
{
	if (p->debug.answered_fd >= 0)
		close(p->debug.answered_fd);
	pthread_mutex_destroy(&p->debug.lock);
}

/*
 * The hardware's side of a session
 */

int emu_debug_refresh(struct emu_process *p)
{
	int err = 0;

	for (uint32_t i = 0; i < p->m->config.nr_gpus && !err; i++) {
		struct emu_node *n = p->m->node[i];

		pthread_mutex_lock(&n->lock);
		err = emu_sched_unmap(n, 0);
		if (!err)
			emu_sched_map(n);
		pthread_mutex_unlock(&n->lock);
	}
	return err;
}

static void tell_handlers(struct emu_process *p, bool debugged)
{
	for (uint32_t i = 0; i < p->m->config.nr_gpus; i++) {
		if (p->node[i].tma_words)
			atomic_store(&p->node[i].tma_words[TMA_DEBUGGED], debugged);
	}
}

bool emu_debug_is_active(const struct emu_process *p)
{
	return p->debug.activated;
}

static void set_runtime(struct emu_process *p, const struct gp_kfd_runtime_info *info)
{
	pthread_mutex_lock(&p->debug.lock);
	p->debug.runtime = *info;
	pthread_mutex_unlock(&p->debug.lock);
}

static void set_runtime_state(struct emu_process *p, uint32_t state)
{
	struct gp_kfd_runtime_info info = p->debug.runtime;

	info.runtime_state = state;
	set_runtime(p, &info);
}

/* The caller gets success all the same, and sees from the state that nothing was activated. */
static void activate(struct emu_process *p)
{
	p->debug.activated = true;
	tell_handlers(p, true);
	if (!emu_debug_refresh(p))
		return;
	set_runtime_state(p, GP_KFD_RUNTIME_ERROR);
	p->debug.activated = false;
	tell_handlers(p, false);
	emu_debug_refresh(p);
}

static void deactivate(struct emu_process *p)
{
	emu_debug_resume(p, NULL, 0);
	p->debug.flags = 0;
	p->debug.activated = false;
	tell_handlers(p, false);
	emu_debug_clear_waves(p);
}

/*
 * The session
 */

void emu_debug_disable(struct emu_process *p)
{
	struct emu_debug *d = &p->debug;
	int fd;

	if (!d->enabled)
		return;
	if (d->runtime.runtime_state == GP_KFD_RUNTIME_ENABLED)
		deactivate(p);
	else if (d->runtime.runtime_state != GP_KFD_RUNTIME_DISABLED)
		set_runtime_state(p, GP_KFD_RUNTIME_ENABLED); /* for the next debugger */
	pthread_mutex_lock(&d->lock);
	fd = d->event_fd;
	d->event_fd = -1;
	d->enabled = false;
	pthread_mutex_unlock(&d->lock);
	close(fd);
	d->debugger = 0;
	emu_debug_clear_all(p);
}

static int check_enable(struct emu_process *target)
{
	return target->debug.enabled ? -EALREADY : 0;
}

/*
 * The debugger's pipe must not block us, and its flags are not ours to change, so it is opened
 * again. If another user owns it, that fails and the debugger's descriptor is used.
 */
static int take_event_fd(struct emu_call *call, uint32_t number, bool *is_ours)
{
	int fd = emu_call_get_fd(call, number), ours;
	struct stat st;
	char name[40];

	*is_ours = false;
	if (fd < 0 || fstat(fd, &st) || !S_ISFIFO(st.st_mode))
		return fd;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	ours = open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (ours < 0)
		return fd;
	close(fd);
	*is_ours = true;
	return ours;
}

static void begin(struct emu_call *call, struct emu_process *target, int fd, bool is_ours,
		  uint64_t wanted)
{
	struct emu_debug *d = &target->debug;

	/* Otherwise the runtime does that when it starts. */
	if (d->runtime.runtime_state == GP_KFD_RUNTIME_ENABLED)
		activate(target);
	d->debugger = target == call->process ? 0 : call->process->pasid;
	pthread_mutex_lock(&d->lock);
	d->enabled = true;
	d->event_fd = fd;
	d->event_is_ours = is_ours;
	d->wanted = wanted;
	pthread_mutex_unlock(&d->lock);
}

static int enable(struct emu_call *call, struct emu_process *target, struct gp_kfd_dbg_trap *trap)
{
	struct gp_kfd_dbg_enable *args = &trap->enable;
	struct gp_kfd_runtime_info info;
	bool is_ours;
	int fd, err;

	pthread_mutex_lock(&target->lock);
	err = check_enable(target);
	pthread_mutex_unlock(&target->lock);
	if (err)
		return err;
	fd = take_event_fd(call, args->dbg_fd, &is_ours);
	if (fd < 0)
		return fd;
	pthread_mutex_lock(&target->lock);
	err = check_enable(target);
	if (!err)
		begin(call, target, fd, is_ours, args->exception_mask);
	info = target->debug.runtime;
	pthread_mutex_unlock(&target->lock);
	if (err) {
		close(fd);
		return err;
	}
	err = emu_copy_to_user(call, args->rinfo_ptr, &info,
			       args->rinfo_size < sizeof(info) ? args->rinfo_size : sizeof(info));
	args->rinfo_size = sizeof(info);
	if (err) {
		pthread_mutex_lock(&target->lock);
		if (target->debug.event_fd == fd)
			emu_debug_disable(target);
		pthread_mutex_unlock(&target->lock);
	}
	return err;
}

/* A process that @debugger debugs, with a reference. NULL: there is none left. */
static struct emu_process *find_debugged(struct emu_process *debugger)
{
	struct emu_machine *m = debugger->m;
	struct emu_process *p;

	pthread_mutex_lock(&m->lock);
	for (p = m->processes; p; p = p->next) {
		if (p->refs && p->debug.debugger == debugger->pasid)
			break;
	}
	if (p)
		p->refs++;
	pthread_mutex_unlock(&m->lock);
	return p;
}

void emu_debug_end(struct emu_process *p)
{
	struct emu_process *target;

	pthread_mutex_lock(&p->lock);
	emu_debug_disable(p);
	pthread_mutex_unlock(&p->lock);
	while ((target = find_debugged(p))) {
		pthread_mutex_lock(&target->lock);
		if (target->debug.debugger == p->pasid)
			emu_debug_disable(target);
		pthread_mutex_unlock(&target->lock);
		emu_process_put(target);
	}
}

/*
 * The runtime reports that it starts and ends, and waits until the debugger has been notified. The
 * process's lock is held, and released for the wait.
 */

static int make_semaphore(struct emu_debug *d)
{
	if (d->answered_fd < 0)
		d->answered_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	return d->answered_fd < 0 ? -ENOMEM : 0;
}

static int await_answer(struct emu_call *call, struct emu_process *p)
{
	int err = make_semaphore(&p->debug);
	uint64_t one;

	pthread_mutex_unlock(&p->lock);
	while (!err && read(p->debug.answered_fd, &one, sizeof(one)) != sizeof(one))
		err = emu_call_wait(call, p->debug.answered_fd, -1);
	pthread_mutex_lock(&p->lock);
	p->debug.retries = err != 0;
	return err;
}

static int has_queues(const struct emu_process *p)
{
	for (uint32_t i = 0; i < EMU_QUEUES_MAX; i++) {
		if (p->queue[i])
			return true;
	}
	return false;
}

static int runtime_on(struct emu_call *call, struct emu_process *p,
		      const struct gp_kfd_runtime_enable *args)
{
	const struct gp_kfd_runtime_info info = {
		.r_debug = args->r_debug,
		.runtime_state = GP_KFD_RUNTIME_ENABLED,
		.ttmp_setup = !!(args->mode_mask & GP_KFD_RUNTIME_ENABLE_TTMP_SAVE),
	};

	if (!p->debug.retries) {
		if (p->debug.runtime.runtime_state != GP_KFD_RUNTIME_DISABLED)
			return -EBUSY;
		if (has_queues(p))
			return -EEXIST;
		set_runtime(p, &info);
		if (p->debug.enabled) {
			activate(p);
			emu_debug_raise_process(p, GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME));
		}
	}
	return p->debug.enabled ? await_answer(call, p) : 0;
}

static int runtime_off(struct emu_call *call, struct emu_process *p)
{
	struct gp_kfd_runtime_info info = p->debug.runtime;
	bool was_enabled = info.runtime_state == GP_KFD_RUNTIME_ENABLED;
	int err;

	info.runtime_state = GP_KFD_RUNTIME_DISABLED;
	info.r_debug = 0;
	set_runtime(p, &info);
	if (p->debug.enabled) {
		if (was_enabled)
			deactivate(p);
		if (!p->debug.retries)
			emu_debug_raise_process(p, GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME));
		err = await_answer(call, p);
		if (err)
			return err;
	}
	info = p->debug.runtime;
	info.ttmp_setup = 0;
	set_runtime(p, &info);
	emu_debug_refresh(p);
	return 0;
}

int emu_runtime_enable(struct emu_call *call, struct gp_kfd_runtime_enable *args)
{
	struct emu_process *p = call->process;
	int err;

	pthread_mutex_lock(&p->lock);
	if (args->mode_mask & GP_KFD_RUNTIME_ENABLE_MODE)
		err = runtime_on(call, p, args);
	else
		err = runtime_off(call, p);
	pthread_mutex_unlock(&p->lock);
	return err;
}

/* A memory violation that the debugger lets take its course. */
static int send_fault(struct emu_process *p, uint32_t gpu_id)
{
	struct gp_kfd_memory_exception fault;
	struct emu_node *n;
	uint32_t node;

	if (!emu_process_node(p, gpu_id, &node))
		return -ENODEV;
	n = p->m->node[node];
	pthread_mutex_lock(&p->debug.lock);
	fault = p->debug.node[node].fault;
	pthread_mutex_unlock(&p->debug.lock);
	fault.gpu_id = gpu_id;
	pthread_mutex_lock(&n->lock);
	emu_sched_evict(n, p);
	pthread_mutex_unlock(&n->lock);
	emu_event_memory(p, &fault);
	return 0;
}

static int send_runtime_event(struct emu_process *p,
			      const struct gp_kfd_dbg_send_runtime_event *args)
{
	const uint64_t fault = GP_KFD_EC_MASK(GP_KFD_EC_DEVICE_MEMORY_VIOLATION),
		       runtime = GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME), one = 1;
	uint64_t rest = args->exception_mask & ~(fault | runtime);
	struct emu_queue *q;
	int err = 0;

	if (args->exception_mask & fault)
		err = send_fault(p, args->gpu_id);
	if (!err && args->exception_mask & runtime) {
		err = make_semaphore(&p->debug);
		if (!err && write(p->debug.answered_fd, &one, sizeof(one)) < 0)
			err = -errno;
	}
	if (err || !rest)
		return err;
	q = emu_queue_find(p, args->queue_id);
	if (q)
		emu_debug_tell_runtime(q, rest);
	return 0;
}

/*
 * The compute engine executes one memory operation of a wave after the other, so this request
 * changes nothing.
 */
static int set_flags(struct emu_process *p, struct gp_kfd_dbg_set_flags *args)
{
	uint32_t old = p->debug.flags;
	int err;

	if (p->m->config.nr_gpus && args->flags & GP_KFD_DBG_FLAG_SINGLE_ALU_OP) {
		args->flags = old;
		return -EACCES;
	}
	p->debug.flags = args->flags;
	args->flags = old;
	err = emu_debug_refresh(p);
	if (err)
		p->debug.flags = old;
	return err;
}

/*
 * Operations. Each is called without a lock, after a first check; emu_debug_enter() takes the
 * target's lock and checks again.
 */

static bool needs_runtime(uint32_t op)
{
	return op == GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE || op == GP_KFD_DBG_SET_WAVE_LAUNCH_MODE ||
	       op == GP_KFD_DBG_SUSPEND_QUEUES || op == GP_KFD_DBG_RESUME_QUEUES ||
	       op == GP_KFD_DBG_SET_NODE_ADDRESS_WATCH ||
	       op == GP_KFD_DBG_CLEAR_NODE_ADDRESS_WATCH || op == GP_KFD_DBG_SET_FLAGS;
}

static int check(struct emu_process *target, const struct gp_kfd_dbg_trap *trap)
{
	uint32_t node;

	if (trap->op != GP_KFD_DBG_ENABLE && !target->debug.enabled)
		return -EINVAL;
	if (needs_runtime(trap->op) &&
	    target->debug.runtime.runtime_state != GP_KFD_RUNTIME_ENABLED)
		return -EPERM;
	if (trap->op == GP_KFD_DBG_SET_NODE_ADDRESS_WATCH &&
	    !emu_process_node(target, trap->set_address_watch.gpu_id, &node))
		return -ENODEV;
	if (trap->op == GP_KFD_DBG_CLEAR_NODE_ADDRESS_WATCH &&
	    !emu_process_node(target, trap->clear_address_watch.gpu_id, &node))
		return -ENODEV;
	return 0;
}

static int enter(struct emu_process *target, const struct gp_kfd_dbg_trap *trap)
{
	int err;

	pthread_mutex_lock(&target->lock);
	err = check(target, trap);
	if (err)
		pthread_mutex_unlock(&target->lock);
	return err;
}

/* Operations that need only their arguments. */
static int run_plain(struct emu_process *target, struct gp_kfd_dbg_trap *trap)
{
	switch (trap->op) {
	case GP_KFD_DBG_DISABLE:
		emu_debug_disable(target);
		return 0;
	case GP_KFD_DBG_SEND_RUNTIME_EVENT:
		return send_runtime_event(target, &trap->send_runtime_event);
	case GP_KFD_DBG_SET_EXCEPTIONS_ENABLED:
		emu_debug_set_wanted(target, trap->set_exceptions_enabled.exception_mask);
		return 0;
	case GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE:
		return emu_debug_set_override(target, &trap->launch_override);
	case GP_KFD_DBG_SET_WAVE_LAUNCH_MODE:
		return emu_debug_set_launch_mode(target, &trap->launch_mode);
	case GP_KFD_DBG_SET_NODE_ADDRESS_WATCH:
		return emu_debug_set_watch(target, &trap->set_address_watch);
	case GP_KFD_DBG_CLEAR_NODE_ADDRESS_WATCH:
		return emu_debug_clear_watch(target, &trap->clear_address_watch);
	case GP_KFD_DBG_SET_FLAGS:
		return set_flags(target, &trap->set_flags);
	case GP_KFD_DBG_QUERY_DEBUG_EVENT:
		return emu_debug_query_event(target, &trap->query_debug_event);
	default:
		return -EINVAL;
	}
}

/* Reads the ids of a batch; NULL with *@err 0 where there is no array. */
static uint32_t *copy_ids(struct emu_call *call, uint64_t from, uint32_t nr, int *err)
{
	uint32_t *ids;

	*err = 0;
	if (!from || nr > EMU_QUEUES_MAX) {
		*err = nr ? -EINVAL : 0;
		return NULL;
	}
	ids = calloc(nr + 1, sizeof(*ids));
	if (!ids)
		*err = -ENOMEM;
	else
		*err = emu_copy_from_user(call, ids, from, nr * sizeof(*ids));
	if (*err) {
		free(ids);
		return NULL;
	}
	return ids;
}

static int suspend(struct emu_call *call, struct emu_process *target, struct gp_kfd_dbg_trap *trap)
{
	const struct gp_kfd_dbg_suspend_queues *args = &trap->suspend_queues;
	int err, done;
	uint32_t *ids = copy_ids(call, args->queue_array_ptr, args->num_queues, &err);

	if (!ids)
		return err;
	/* The grace period is for schedulers of other hardware. */
	done = enter(target, trap);
	if (!done) {
		done = emu_debug_suspend(target, ids, args->num_queues, args->exception_mask);
		pthread_mutex_unlock(&target->lock);
		err = emu_copy_to_user(call, args->queue_array_ptr, ids,
				       args->num_queues * sizeof(*ids));
	}
	free(ids);
	return err == -ECONNRESET ? err : done;
}

static int resume(struct emu_call *call, struct emu_process *target, struct gp_kfd_dbg_trap *trap)
{
	const struct gp_kfd_dbg_resume_queues *args = &trap->resume_queues;
	uint32_t *ids = NULL;
	int err = 0, done;

	/* Without an array, all queues are meant, whatever the count says. */
	if (args->queue_array_ptr) {
		ids = copy_ids(call, args->queue_array_ptr, args->num_queues, &err);
		if (!ids)
			return err;
	}
	done = enter(target, trap);
	if (!done) {
		done = emu_debug_resume(target, ids, args->num_queues);
		pthread_mutex_unlock(&target->lock);
		if (ids)
			err = emu_copy_to_user(call, args->queue_array_ptr, ids,
					       args->num_queues * sizeof(*ids));
	}
	free(ids);
	return err == -ECONNRESET ? err : done;
}

static int query_info(struct emu_call *call, struct emu_process *target,
		      struct gp_kfd_dbg_trap *trap)
{
	struct gp_kfd_dbg_query_exception_info *args = &trap->query_exception_info;
	union emu_exception_info info;
	uint32_t size = 0;
	int err;

	if (!args->info_ptr)
		return -EINVAL;
	err = enter(target, trap);
	if (err)
		return err;
	err = emu_debug_query_info(target, args, &info, &size);
	pthread_mutex_unlock(&target->lock);
	if (!err)
		err = emu_copy_to_user(call, args->info_ptr, &info,
				       args->info_size < size ? args->info_size : size);
	if (err)
		return err;
	args->info_size = size;
	if (!args->clear_exception)
		return 0;
	err = enter(target, trap);
	if (err)
		return 0; /* the session has ended, and its exceptions with it */
	emu_debug_clear_exception(target, args);
	pthread_mutex_unlock(&target->lock);
	return 0;
}

/* Copies entries of @size bytes into the caller's entries of *@entry_size bytes. */
static int copy_entries(struct emu_call *call, const struct gp_kfd_dbg_snapshot *args,
			const void *entries, size_t size, uint32_t nr, uint32_t stride)
{
	size_t n = stride < size ? stride : size;
	int err = 0;

	for (uint32_t i = 0; i < nr && !err; i++)
		err = emu_copy_to_user(call, args->snapshot_buf_ptr + (uint64_t)i * stride,
				       (const uint8_t *)entries + i * size, n);
	return err;
}

static int snapshot_queues(struct emu_call *call, struct emu_process *target,
			   struct gp_kfd_dbg_trap *trap)
{
	struct gp_kfd_dbg_snapshot *args = &trap->snapshot;
	uint32_t stride = args->entry_size, max = args->num_entries;
	struct gp_kfd_queue_snapshot *entries;
	uint32_t size = sizeof(*entries);
	int err;

	args->num_entries = 0;
	if (!stride)
		return -EINVAL;
	args->entry_size = stride < size ? stride : size;
	if (max > EMU_QUEUES_MAX)
		max = EMU_QUEUES_MAX;
	entries = calloc(max + 1, size);
	if (!entries)
		return -ENOMEM;
	err = enter(target, trap);
	if (!err) {
		args->num_entries =
			emu_debug_snapshot_queues(target, entries, max, args->exception_mask);
		pthread_mutex_unlock(&target->lock);
		err = copy_entries(call, args, entries, size,
				   args->num_entries < max ? args->num_entries : max, stride);
	}
	free(entries);
	return err;
}

static int snapshot_nodes(struct emu_call *call, struct emu_process *target,
			  struct gp_kfd_dbg_trap *trap)
{
	struct gp_kfd_device_snapshot entries[EMU_GPUS_MAX] = { 0 };
	struct gp_kfd_dbg_snapshot *args = &trap->snapshot;
	uint32_t stride = args->entry_size, nr = args->num_entries, size = sizeof(entries[0]);
	int err;

	if (!args->snapshot_buf_ptr)
		return -EINVAL;
	err = enter(target, trap);
	if (err)
		return err;
	if (nr > target->m->config.nr_gpus)
		nr = target->m->config.nr_gpus;
	args->num_entries = emu_debug_snapshot_nodes(target, entries, nr, args->exception_mask);
	pthread_mutex_unlock(&target->lock);
	args->entry_size = stride < size ? stride : size;
	return copy_entries(call, args, entries, size, nr, stride);
}

static int run(struct emu_call *call, struct emu_process *target, struct gp_kfd_dbg_trap *trap)
{
	int err = enter(target, trap);

	if (err)
		return err;
	pthread_mutex_unlock(&target->lock);
	switch (trap->op) {
	case GP_KFD_DBG_ENABLE:
		return enable(call, target, trap);
	case GP_KFD_DBG_SUSPEND_QUEUES:
		return suspend(call, target, trap);
	case GP_KFD_DBG_RESUME_QUEUES:
		return resume(call, target, trap);
	case GP_KFD_DBG_QUERY_EXCEPTION_INFO:
		return query_info(call, target, trap);
	case GP_KFD_DBG_GET_QUEUE_SNAPSHOT:
		return snapshot_queues(call, target, trap);
	case GP_KFD_DBG_GET_DEVICE_SNAPSHOT:
		return snapshot_nodes(call, target, trap);
	default:
		err = enter(target, trap);
		if (err)
			return err;
		err = run_plain(target, trap);
		pthread_mutex_unlock(&target->lock);
		return err;
	}
}

/*
 * A tracer may debug the process. A debugger that has begun may continue when it no longer traces
 * it.
 */
static bool may_debug(const struct emu_call *call, struct emu_process *target)
{
	bool is_debugger;

	if (target == call->process)
		return true;
	pthread_mutex_lock(&target->lock);
	is_debugger = target->debug.debugger == call->process->pasid;
	pthread_mutex_unlock(&target->lock);
	return is_debugger || emu_tracer_is(call->pid, call->thread, target->pid);
}

/* A tracer can debug a program before that has opened any file. */
static struct emu_process *find_target(struct emu_call *call, const struct gp_kfd_dbg_trap *args)
{
	pid_t pid = emu_tracer_process((pid_t)args->pid);

	if (pid <= 0)
		return NULL;
	if (args->op == GP_KFD_DBG_ENABLE && pid != call->pid &&
	    emu_tracer_is(call->pid, call->thread, pid))
		return emu_process_adopt(call->m, pid);
	return emu_process_find(call->m, pid);
}

int emu_dbg_trap(struct emu_call *call, struct gp_kfd_dbg_trap *args)
{
	struct emu_process *target;
	int result;

	/* Nobody debugs where the driver schedules by itself. */
	if (call->m->config.sched == EMU_SCHED_NONE)
		return -EINVAL;
	target = find_target(call, args);
	if (!target)
		return -ESRCH;
	result = may_debug(call, target) ? run(call, target, args) : -EPERM;
	emu_process_put(target);
	return result;
}
