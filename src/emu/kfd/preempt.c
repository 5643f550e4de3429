// SPDX-License-Identifier: MIT
/*
 * PREEMPT_QUEUE, RESUME_QUEUE and PREEMPT_BATCH. A queue that its own program preempted is held
 * once, however often. Other processes hold it independently: each queue has a list of their holds,
 * and is released when the list is empty.
 */
#include "emu/kfd/preempt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "emu/kfd/call.h"
#include "emu/kfd/node.h"
#include "emu/kfd/queue.h"
#include "emu/kfd/tracer.h"

/* An open file of another process that holds a queue. */
struct emu_hold {
	struct emu_hold *next;
	uint64_t file;
	uint32_t pasid; /* of the owner */
};

static uint32_t types(const struct emu_machine *m)
{
	uint32_t all = 1u << GP_KFD_PREEMPT_DRAIN | 1u << GP_KFD_PREEMPT_RESET;

	return m->config.cwsr ? all | 1u << GP_KFD_PREEMPT_SAVE : all;
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
	if (q->destroying)
		return -EBUSY;
	err = emu_sched_hold(n, &q, 1, EMU_HELD_PREEMPTED, stop_type(type), timeout_ns);
	/* Like UPDATE_QUEUE: it hung, and there is nothing left to resume. */
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

int emu_preempt_query(struct emu_call *call, struct gp_kfd_preempt_query *args)
{
	const struct emu_config *c = &call->m->config;
	uint32_t gpu_id = args->gpu_id;

	if (!gpu_id && c->nr_gpus)
		gpu_id = call->m->node[0]->gpu_id;
	if (!emu_machine_node(call->m, gpu_id))
		return -EINVAL;
	*args = (struct gp_kfd_preempt_query){
		.gpu_id = gpu_id,
		.version = GP_KFD_PREEMPT_VERSION,
		.features = GP_KFD_FEATURE_BATCH | GP_KFD_FEATURE_TARGET_PID |
			    GP_KFD_FEATURE_LOGICAL_PRIORITY,
		.types = types(call->m),
		.default_timeout_ms =
			c->preempt_timeout_ms ? c->preempt_timeout_ms : EMU_PREEMPT_TIMEOUT_MS,
	};
	return 0;
}

/*
 * Holds of other processes
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
	*h = (struct emu_hold){ q->holds, call->file, call->process->pasid };
	q->holds = h;
	return 0;
}

/* False: there was none. */
static bool remove_hold(struct emu_queue *q, uint64_t file)
{
	struct emu_hold **link = find_hold(q, file), *h = *link;

	if (!h)
		return false;
	*link = h->next;
	free(h);
	return true;
}

void emu_preempt_forget(struct emu_queue *q)
{
	while (q->holds)
		remove_hold(q, q->holds->file);
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
		*link = h->next;
		free(h);
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
 * Batches
 */

/* A batch for the queues of one process, and its results. */
struct batch {
	const struct emu_call *call;
	const struct gp_kfd_preempt_batch *args;
	uint32_t *ids;
	bool is_own;
	int done;
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

/* Whether the queue can get into the requested state; it may be in it already. */
static bool applies(struct emu_queue *q, const struct batch *b)
{
	if (b->args->op == GP_KFD_BATCH_RESUME)
		return true;
	if (q->destroying || q->held & EMU_HELD_RESET)
		return false;
	return b->is_own || !add_hold(q, b->call);
}

static void gather(struct emu_process *p, struct emu_node *n, struct batch *b, struct part *part)
{
	part->nr = 0;
	for (uint32_t i = 0; i < b->args->num_queues; i++) {
		/* Processed queues have their bit set, and so has the second of two equal ids. */
		struct emu_queue *q = emu_queue_find(p, b->ids[i] & ~GP_KFD_QUEUE_INVALID);
		bool is_new = b->ids[i] & GP_KFD_QUEUE_INVALID, was_held;

		for (uint32_t j = 0; j < part->nr; j++)
			is_new &= part->queue[j] != q;
		if (!q || q->node != n || !is_new)
			continue;
		was_held = is_held_by(q, b);
		if (!applies(q, b)) {
			b->ids[i] ^= GP_KFD_QUEUE_INVALID | GP_KFD_QUEUE_ERROR;
			continue;
		}
		part->queue[part->nr] = q;
		part->was_held[part->nr] = was_held;
		part->index[part->nr++] = i;
	}
}

/*
 * Releases the queues that the caller had held before this batch, or those that only this batch
 * holds. Holds of others stay.
 */
static int release(struct emu_node *n, const struct batch *b, struct part *part, uint32_t why,
		   bool was_held)
{
	struct emu_queue *free_now[EMU_QUEUES_MAX];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < part->nr; i++) {
		struct emu_queue *q = part->queue[i];

		if (part->was_held[i] != was_held)
			continue;
		if (!b->is_own)
			remove_hold(q, b->call->file);
		if (b->is_own || !q->holds)
			free_now[nr++] = q;
	}
	return emu_sched_release(n, free_now, nr, why);
}

static int hold(struct emu_node *n, const struct batch *b, struct part *part, uint32_t why)
{
	int err = emu_sched_hold(n, part->queue, part->nr, why, stop_type(b->args->preempt_type),
				 b->args->timeout_ms * GP__MS);

	if (err)
		release(n, b, part, why, false);
	return err;
}

static void run_on_node(struct emu_process *p, struct emu_node *n, struct batch *b)
{
	uint32_t why = b->is_own ? EMU_HELD_PREEMPTED : EMU_HELD_BATCH;
	struct part part;
	int err;

	pthread_mutex_lock(&n->lock);
	gather(p, n, b, &part);
	if (b->args->op == GP_KFD_BATCH_PREEMPT)
		err = hold(n, b, &part, why);
	else
		err = release(n, b, &part, why, true);
	pthread_mutex_unlock(&n->lock);
	for (uint32_t i = 0; i < part.nr; i++) {
		b->ids[part.index[i]] &= ~GP_KFD_QUEUE_INVALID;
		if (err)
			b->ids[part.index[i]] |= GP_KFD_QUEUE_ERROR;
	}
	b->done += err ? 0 : (int)part.nr;
}

static int check_batch(const struct gp_kfd_preempt_batch *args)
{
	if (args->pad || args->op > GP_KFD_BATCH_RESUME || args->num_queues > EMU_QUEUES_MAX)
		return -EINVAL;
	if (args->num_queues && !args->queue_array_ptr)
		return -EINVAL;
	if (args->op == GP_KFD_BATCH_PREEMPT && args->preempt_type > GP_KFD_PREEMPT_SAVE)
		return -EINVAL;
	return 0;
}

/*
 * Like ptrace: the same user, and not a program with more rights than that user, whose /proc folder
 * belongs to root; or the caller traces it already; or the caller is an administrator.
 */
static bool may_hold(const struct emu_call *call, const struct emu_process *target)
{
	char name[32];
	struct stat st;

	if (!call->uid)
		return true;
	snprintf(name, sizeof(name), "/proc/%d", (int)target->pid);
	if (call->uid == target->uid && !stat(name, &st) && st.st_uid == call->uid)
		return true;
	return emu_tracer_is(call->pid, 0, target->pid);
}

static int find_target(struct emu_call *call, uint32_t pid, struct emu_process **target)
{
	pid_t of = pid ? emu_tracer_process((pid_t)pid) : call->pid;

	*target = of > 0 ? emu_process_find(call->m, of) : NULL;
	if (!*target)
		return -ESRCH;
	if (*target == call->process || may_hold(call, *target))
		return 0;
	emu_process_put(*target);
	return -EPERM;
}

static int run_batch(struct emu_call *call, struct emu_process *target,
		     const struct gp_kfd_preempt_batch *args, uint32_t *ids)
{
	struct batch b = {
		.call = call, .args = args, .ids = ids, .is_own = target == call->process
	};
	bool lacks = args->op == GP_KFD_BATCH_PREEMPT && !can(call->m, args->preempt_type);

	pthread_mutex_lock(&target->lock);
	for (uint32_t i = 0; i < args->num_queues; i++) {
		if (lacks && emu_queue_find(target, ids[i] & ~GP_KFD_QUEUE_INVALID))
			b.done = -EOPNOTSUPP;
		ids[i] |= GP_KFD_QUEUE_INVALID;
	}
	for (uint32_t i = 0; i < call->m->config.nr_gpus && b.done >= 0; i++)
		run_on_node(target, call->m->node[i], &b);
	pthread_mutex_unlock(&target->lock);
	return b.done;
}

int emu_preempt_batch(struct emu_call *call, struct gp_kfd_preempt_batch *args)
{
	size_t bytes = args->num_queues * sizeof(uint32_t);
	struct emu_process *target;
	int err = check_batch(args), done = 0;
	uint32_t *ids;

	if (!err)
		err = find_target(call, args->pid, &target);
	if (err)
		return err;
	ids = malloc(bytes + 1);
	err = ids ? emu_copy_from_user(call, ids, args->queue_array_ptr, bytes) : -ENOMEM;
	if (!err) {
		done = run_batch(call, target, args, ids);
		err = done < 0 ? done : emu_copy_to_user(call, args->queue_array_ptr, ids, bytes);
	}
	free(ids);
	emu_process_put(target);
	return err ? err : done;
}
