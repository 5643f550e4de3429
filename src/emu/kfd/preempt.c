// SPDX-License-Identifier: MIT
/*
 * The series' ioctl and its aliases. A queue that its own program preempted is held once, however
 * often. Open files hold it independently (GP_KFD_PREEMPT_TARGET): each queue has a list of their
 * holds, and is released when the list is empty.
 */
#include "emu/kfd/preempt.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "emu/kfd/call.h"
#include "emu/kfd/node.h"
#include "emu/kfd/priority.h"
#include "emu/kfd/queue.h"
#include "emu/kfd/topology.h"
#include "emu/kfd/tracer.h"

/* An open file that holds a queue. */
struct emu_hold {
	struct emu_hold *next;
	uint64_t file;
	uint32_t pasid; /* of the owner */
	_Atomic uint32_t *count; /* of the owner's holds; it outlives them */
};

/*
 * Firmware saves the waves of a queue that it unmaps, and does nothing else; without context save
 * it waits for them, which nobody may ask for, as the driver resets what does not end in time.
 */
static uint32_t types(const struct emu_machine *m)
{
	uint32_t save = m->config.cwsr ? 1u << GP_KFD_PREEMPT_SAVE : 0;

	if (m->config.sched != EMU_SCHED_NONE)
		return save;
	return save | 1u << GP_KFD_PREEMPT_DRAIN | 1u << GP_KFD_PREEMPT_RESET;
}

static bool can(const struct emu_machine *m, uint32_t type)
{
	return types(m) & 1u << type;
}

static enum emu_stop_type stop_type(uint32_t type)
{
	static const enum emu_stop_type how[] = {
		[GP_KFD_PREEMPT_DRAIN] = EMU_STOP_DRAIN,
		[GP_KFD_PREEMPT_RESET] = EMU_STOP_RESET,
		[GP_KFD_PREEMPT_SAVE] = EMU_STOP_SAVE,
	};

	return how[type];
}

/* A queue that goes, or never runs again, is not held. With the node's lock. */
static int check_preemptible(const struct emu_queue *q)
{
	if (q->destroying)
		return -EBUSY;
	return q->held & EMU_HELD_RESET ? -EACCES : 0;
}

/*
 * The caller's own queue
 */

/* With the node's lock. A failed preemption holds nothing: the queue would never be resumed. */
static int preempt(struct emu_node *n, struct emu_queue *q, uint32_t type, uint64_t timeout_ns)
{
	int err;

	if (!can(n->m, type))
		return -EOPNOTSUPP;
	if (q->held & EMU_HELD_PREEMPTED)
		return -EALREADY;
	err = check_preemptible(q);
	if (err)
		return err;
	err = emu_sched_hold(n, &q, 1, EMU_HELD_PREEMPTED, stop_type(type), timeout_ns);
	/* It hung, and was reset on the way. */
	if (!err && q->held & EMU_HELD_RESET)
		err = -EACCES;
	if (err)
		emu_sched_release(n, &q, 1, EMU_HELD_PREEMPTED);
	return err;
}

int emu_preempt_queue(struct emu_call *call, struct gp_kfd_preempt_queue *args)
{
	struct emu_process *p = call->process;
	struct emu_queue *q;
	int err = -EINVAL;

	if (args->pad || args->preempt_type > GP_KFD_PREEMPT_SAVE)
		return -EINVAL;
	pthread_mutex_lock(&p->lock);
	q = emu_queue_find(p, args->queue_id);
	if (q) {
		pthread_mutex_lock(&q->node->lock);
		err = preempt(q->node, q, args->preempt_type, args->timeout_ms * GP__MS);
		pthread_mutex_unlock(&q->node->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

int emu_resume_queue(struct emu_call *call, struct gp_kfd_resume_queue *args)
{
	struct emu_process *p = call->process;
	struct emu_queue *q;
	int err = -EINVAL;

	if (args->pad[0] || args->pad[1] || args->pad[2])
		return -EINVAL;
	pthread_mutex_lock(&p->lock);
	q = emu_queue_find(p, args->queue_id);
	if (q) {
		pthread_mutex_lock(&q->node->lock);
		if (q->held & EMU_HELD_PREEMPTED)
			err = emu_sched_release(q->node, &q, 1, EMU_HELD_PREEMPTED);
		pthread_mutex_unlock(&q->node->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

/*
 * Holds of open files
 */

static struct emu_hold **find_hold(struct emu_queue *q, uint64_t file)
{
	struct emu_hold **link = &q->holds;

	while (*link && (*link)->file != file)
		link = &(*link)->next;
	return link;
}

static int add_hold(struct emu_queue *q, const struct emu_call *call)
{
	struct emu_hold *h;

	if (*find_hold(q, call->file))
		return 0;
	h = malloc(sizeof(*h));
	if (!h)
		return -ENOMEM;
	*h = (struct emu_hold){ q->holds, call->file, call->process->pasid,
				&call->process->nr_holds };
	atomic_fetch_add(h->count, 1);
	q->holds = h;
	return 0;
}

static void free_hold(struct emu_hold **link)
{
	struct emu_hold *h = *link;

	*link = h->next;
	atomic_fetch_sub(h->count, 1);
	free(h);
}

static void remove_hold(struct emu_queue *q, uint64_t file)
{
	struct emu_hold **link = find_hold(q, file);

	if (*link)
		free_hold(link);
}

void emu_preempt_forget(struct emu_queue *q)
{
	while (q->holds)
		free_hold(&q->holds);
}

/* Removes all holds of a file or, if that is 0, of a process. */
static void remove_matching(struct emu_queue *q, uint64_t file, uint32_t pasid)
{
	struct emu_hold **link = &q->holds;

	while (*link) {
		struct emu_hold *h = *link;

		if (file ? h->file != file : h->pasid != pasid) {
			link = &h->next;
			continue;
		}
		free_hold(link);
	}
}

static void let_go(struct emu_node *n, uint64_t file, uint32_t pasid)
{
	struct emu_queue *batch[EMU_QUEUES_PER_GPU_MAX];
	uint32_t nr = 0;

	pthread_mutex_lock(&n->lock);
	for (struct emu_queue *q = n->queues; q; q = q->next) {
		if (!q->holds)
			continue;
		remove_matching(q, file, pasid);
		if (!q->holds)
			batch[nr++] = q;
	}
	emu_sched_release(n, batch, nr, EMU_HELD_BATCH);
	pthread_mutex_unlock(&n->lock);
}

void emu_preempt_file_closed(struct emu_machine *m, uint64_t file)
{
	for (uint32_t i = 0; i < m->config.nr_gpus; i++)
		let_go(m->node[i], file, 0);
}

void emu_preempt_end(struct emu_process *p)
{
	for (uint32_t i = 0; i < p->m->config.nr_gpus; i++)
		let_go(p->m->node[i], 0, p->pasid);
}

/*
 * Several queues of one process
 */

/* A call for queues of one process, and its results. */
struct batch {
	const struct emu_call *call;
	const struct gp_kfd_preempt *args;
	uint32_t *ids;
	uint64_t named[EMU_QUEUES_MAX / 64]; /* ids of queues */
	bool is_own;
	int done;
	int err; /* of the first queue that failed */
};

/* Queues of one node that change, and the positions of their ids. */
struct part {
	struct emu_queue *queue[EMU_QUEUES_MAX];
	uint32_t index[EMU_QUEUES_MAX];
	bool was_held[EMU_QUEUES_MAX]; /* held by the caller before */
	uint32_t nr;
};

static bool is_held_by(struct emu_queue *q, const struct batch *b)
{
	return b->is_own ? q->held & EMU_HELD_PREEMPTED : *find_hold(q, b->call->file) != NULL;
}

/* 0: the queue can get into the requested state, or is in it already. */
static int prepare(struct emu_queue *q, const struct batch *b)
{
	int err;

	if (b->args->op == GP_KFD_OP_RESUME)
		return 0;
	err = check_preemptible(q);
	return err || b->is_own ? err : add_hold(q, b->call);
}

static void fail(struct batch *b, uint32_t i, int err)
{
	b->ids[i] |= GP_KFD_QUEUE_ERROR;
	if (!b->err)
		b->err = err;
}

/* The queue of an id that no earlier one was of. */
static struct emu_queue *take_named(struct emu_process *p, struct batch *b, uint32_t i)
{
	struct emu_queue *q = emu_queue_find(p, b->ids[i] & ~GP_KFD_QUEUE_INVALID);

	if (!q || b->named[q->id / 64] >> q->id % 64 & 1)
		return NULL;
	return q;
}

static void mark_named(struct batch *b, uint32_t i, const struct emu_queue *q)
{
	b->named[q->id / 64] |= 1ull << q->id % 64;
	b->ids[i] &= ~GP_KFD_QUEUE_INVALID;
}

static void gather(struct emu_process *p, struct emu_node *n, struct batch *b, struct part *part)
{
	part->nr = 0;
	for (uint32_t i = 0; i < b->args->queues.num_queues; i++) {
		struct emu_queue *q = take_named(p, b, i);
		bool was_held;
		int err;

		if (!q || q->node != n)
			continue;
		mark_named(b, i, q);
		was_held = is_held_by(q, b);
		err = prepare(q, b);
		if (err) {
			fail(b, i, err);
			continue;
		}
		part->queue[part->nr] = q;
		part->was_held[part->nr] = was_held;
		part->index[part->nr++] = i;
	}
}

static void conclude(struct batch *b, uint32_t i, int err)
{
	if (err)
		fail(b, i, err);
	else
		b->done++;
}

/* Ends the caller's holds on some of them, which it reorders; holds of others stay. */
static int release(struct emu_node *n, const struct batch *b, struct emu_queue **queue, uint32_t nr,
		   uint32_t why)
{
	uint32_t nr_free = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (!b->is_own)
			remove_hold(queue[i], b->call->file);
		if (b->is_own || !queue[i]->holds)
			queue[nr_free++] = queue[i];
	}
	return emu_sched_release(n, queue, nr_free, why);
}

/* A queue that could not be held is held by the caller only if it was before. */
static void hold(struct emu_node *n, struct batch *b, struct part *part, uint32_t why)
{
	uint32_t nr_failed = 0;
	int err = emu_sched_hold(n, part->queue, part->nr, why, stop_type(b->args->queues.type), 0);

	for (uint32_t i = 0; i < part->nr; i++) {
		struct emu_queue *q = part->queue[i];
		/* It hung, and was reset on the way. */
		int result = !err && q->held & EMU_HELD_RESET ? -EACCES : err;

		conclude(b, part->index[i], result);
		if (result && !part->was_held[i])
			part->queue[nr_failed++] = q;
	}
	release(n, b, part->queue, nr_failed, why);
}

static void resume(struct emu_node *n, struct batch *b, struct part *part, uint32_t why)
{
	uint32_t nr_held = 0;
	int err;

	for (uint32_t i = 0; i < part->nr; i++) {
		if (part->was_held[i])
			part->queue[nr_held++] = part->queue[i];
	}
	err = release(n, b, part->queue, nr_held, why);
	for (uint32_t i = 0; i < part->nr; i++)
		conclude(b, part->index[i], err);
}

static void run_on_node(struct emu_process *p, struct emu_node *n, struct batch *b)
{
	uint32_t why = b->is_own ? EMU_HELD_PREEMPTED : EMU_HELD_BATCH;
	struct part part;

	pthread_mutex_lock(&n->lock);
	gather(p, n, b, &part);
	if (b->args->op == GP_KFD_OP_PREEMPT)
		hold(n, b, &part, why);
	else
		resume(n, b, &part, why);
	pthread_mutex_unlock(&n->lock);
}

/*
 * Priorities. The scheduler of the node, if there is one, moves the queue to its new group.
 */

static void set_priorities(struct emu_process *p, struct batch *b)
{
	for (uint32_t i = 0; i < b->args->queues.num_queues; i++) {
		struct emu_queue *q = take_named(p, b, i);

		if (!q)
			continue;
		mark_named(b, i, q);
		b->done++;
		/* Whether the program is split is its own choice. */
		q->logical_priority &= GP_KFD_PRIORITY_SPLIT;
		q->logical_priority |= b->args->queues.logical_priority;
		emu_topology_set_priority(q);
		/* An administrator's rights are not those of the program whose queue it changes. */
		emu_priority_update_queue(q, !b->call->uid && b->call->pid == p->pid);
	}
}

/*
 * The target
 */

/* Whether a file holds a queue of a process. */
static bool file_holds_some(struct emu_machine *m, uint64_t file, const struct emu_process *target)
{
	bool found = false;

	for (uint32_t i = 0; i < m->config.nr_gpus; i++) {
		struct emu_node *n = m->node[i];

		pthread_mutex_lock(&n->lock);
		for (struct emu_queue *q = n->queues; q && !found; q = q->next)
			found = q->process == target && *find_hold(q, file);
		pthread_mutex_unlock(&n->lock);
	}
	return found;
}

/* The traced process of the caller, the caller itself, or any process for an administrator. */
static bool may_hold(const struct emu_call *call, const struct emu_process *target)
{
	return !call->uid || target == call->process || emu_tracer_is(call->pid, 0, target->pid);
}

/* The process that a pidfd of the client refers to; -errno. */
static pid_t pid_of(struct emu_call *call, int32_t client_fd)
{
	int fd = client_fd < 0 ? -EBADF : emu_call_get_fd(call, (uint32_t)client_fd);
	char name[40], line[64];
	int pid = -EBADF;
	FILE *f;

	if (fd < 0)
		return fd;
	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Pid: %d", &pid) == 1)
			break;
	}
	if (f)
		fclose(f);
	close(fd);
	/* -1: it has ended. */
	return pid == -1 ? -ESRCH : pid;
}

static int find_target(struct emu_call *call, const struct gp_kfd_preempt *args,
		       struct emu_process **target)
{
	pid_t pid = args->flags & GP_KFD_PREEMPT_TARGET ? pid_of(call, args->pidfd) : call->pid;

	if (pid == -EBADF || pid == -ECONNRESET)
		return pid;
	pid = pid > 0 ? emu_tracer_process(pid) : -ESRCH;
	*target = pid > 0 ? emu_process_find(call->m, pid) : NULL;
	if (!*target)
		return -ESRCH;
	/* A file that holds queues had the right once, and may always resume them. */
	if (!(args->flags & GP_KFD_PREEMPT_TARGET) || may_hold(call, *target) ||
	    (args->op == GP_KFD_OP_RESUME && file_holds_some(call->m, call->file, *target)))
		return 0;
	emu_process_put(*target);
	return -EPERM;
}

/*
 * The call
 */

/* The abilities of a node. */
static int query(struct emu_call *call, struct gp_kfd_preempt_query *args)
{
	const struct emu_config *c = &call->m->config;
	uint32_t gpu_id = args->gpu_id;

	if (!gpu_id && c->nr_gpus)
		gpu_id = call->m->node[0]->gpu_id;
	if (!emu_machine_node(call->m, gpu_id))
		return -EINVAL;
	*args = (struct gp_kfd_preempt_query){
		.magic = GP_KFD_PREEMPT_MAGIC,
		.version = GP_KFD_PREEMPT_VERSION,
		.features = GP_KFD_FEATURE_QUEUES | GP_KFD_FEATURE_TARGET |
			    GP_KFD_FEATURE_LOGICAL_PRIORITY | GP_KFD_FEATURE_SET_PRIORITY |
			    (c->kfd_sched ? GP_KFD_FEATURE_SCHEDULER : 0) |
			    (c->preempt_aliases ? GP_KFD_FEATURE_ALIASES : 0),
		.gpu_id = gpu_id,
		.types = types(call->m),
		.timeout_ms = emu_sched_timeout_ms(c),
		.holds_max = EMU_HOLDS_MAX,
	};
	return 0;
}

static bool is_zero(const void *bytes, size_t size)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < size; i++) {
		if (b[i])
			return false;
	}
	return true;
}

int emu_preempt_check(const void *args, uint32_t size)
{
	const uint8_t *bytes = args;
	size_t known = sizeof(struct gp_kfd_preempt);

	return size > known && !is_zero(bytes + known, size - known) ? -E2BIG : 0;
}

/* Fields that the operation does not use are zero. */
static int check_query(const struct gp_kfd_preempt *args)
{
	struct gp_kfd_preempt rest = *args;

	rest.op = rest.query.gpu_id = 0;
	return is_zero(&rest, sizeof(rest)) ? 0 : -EINVAL;
}

static int check_queues(const struct gp_kfd_preempt *args)
{
	const size_t used = offsetof(struct gp_kfd_preempt, queues) + sizeof(args->queues);
	const struct gp_kfd_preempt_queues *q = &args->queues;

	if (args->flags & ~GP_KFD_PREEMPT_TARGET || args->pad || q->pad ||
	    (args->pidfd && !(args->flags & GP_KFD_PREEMPT_TARGET)) ||
	    !is_zero((const uint8_t *)args + used, sizeof(*args) - used))
		return -EINVAL;
	if (q->num_queues > EMU_QUEUES_MAX || (q->num_queues && !q->queue_array_ptr))
		return -EINVAL;
	if (q->type > (args->op == GP_KFD_OP_PREEMPT ? GP_KFD_PREEMPT_SAVE : 0))
		return -EINVAL;
	if (q->logical_priority & GP_KFD_PRIORITY_SPLIT)
		return -EINVAL;
	return q->logical_priority && args->op != GP_KFD_OP_SET_PRIORITY ? -EINVAL : 0;
}

/* Queues of the target, with its lock. */
static int check_type(struct emu_call *call, struct emu_process *target, const struct batch *b)
{
	if (b->args->op != GP_KFD_OP_PREEMPT || can(call->m, b->args->queues.type))
		return 0;
	for (uint32_t i = 0; i < b->args->queues.num_queues; i++) {
		if (emu_queue_find(target, b->ids[i] & ~GP_KFD_QUEUE_INVALID))
			return -EOPNOTSUPP;
	}
	return 0;
}

static int run_batch(struct emu_call *call, struct emu_process *target, struct batch *b)
{
	int err;

	pthread_mutex_lock(&target->lock);
	err = check_type(call, target, b);
	for (uint32_t i = 0; !err && i < b->args->queues.num_queues; i++)
		b->ids[i] |= GP_KFD_QUEUE_INVALID;
	if (!err && b->args->op == GP_KFD_OP_SET_PRIORITY)
		set_priorities(target, b);
	for (uint32_t i = 0; i < call->m->config.nr_gpus; i++) {
		if (!err && b->args->op != GP_KFD_OP_SET_PRIORITY)
			run_on_node(target, call->m->node[i], b);
	}
	pthread_mutex_unlock(&target->lock);
	return err;
}

/* Whether a process and its user may have so many more holds. */
static int check_holds(const struct emu_call *call, uint32_t nr)
{
	uint32_t of_user;

	if (atomic_load(&call->process->nr_holds) + nr > EMU_HOLDS_MAX)
		return -EDQUOT;
	of_user = call->uid ? emu_process_holds_of_user(call->m, call->uid) : 0;
	return of_user + nr > EMU_USER_HOLDS_MAX ? -EDQUOT : 0;
}

static int run_on_target(struct emu_call *call, struct emu_process *target,
			 const struct gp_kfd_preempt *args)
{
	size_t bytes = args->queues.num_queues * sizeof(uint32_t);
	struct batch b = {
		.call = call,
		.args = args,
		.ids = malloc(bytes + 1),
		.is_own = !(args->flags & GP_KFD_PREEMPT_TARGET),
	};
	int err = b.ids ? emu_copy_from_user(call, b.ids, args->queues.queue_array_ptr, bytes)
			: -ENOMEM;

	if (!err && args->op == GP_KFD_OP_PREEMPT && !b.is_own)
		err = check_holds(call, args->queues.num_queues);
	if (!err)
		err = run_batch(call, target, &b);
	if (!err)
		err = emu_copy_to_user(call, args->queues.queue_array_ptr, b.ids, bytes);
	free(b.ids);
	if (err)
		return err;
	return b.done || !b.err ? b.done : b.err;
}

static int act_on_queues(struct emu_call *call, const struct gp_kfd_preempt *args)
{
	struct emu_process *target;
	int result = check_queues(args);

	/* Unlike a program that makes a queue, one that asks for this alone hears of it. */
	if (!result && emu_priority_granted(args->queues.logical_priority, !call->uid) !=
			       args->queues.logical_priority)
		result = -EACCES;
	if (!result)
		result = find_target(call, args, &target);
	if (result)
		return result;
	result = run_on_target(call, target, args);
	emu_process_put(target);
	return result;
}

int emu_preempt(struct emu_call *call, struct gp_kfd_preempt *args)
{
	int err;

	switch (args->op) {
	case GP_KFD_OP_QUERY:
		err = check_query(args);
		return err ? err : query(call, &args->query);
	case GP_KFD_OP_PREEMPT:
	case GP_KFD_OP_RESUME:
	case GP_KFD_OP_SET_PRIORITY:
		return act_on_queues(call, args);
	default:
		return -EINVAL;
	}
}
