// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preemption of single queues by user space
 *
 * Keeps the holds of each queue, and checks who may hold it. The device queue
 * manager preempts and resumes (kfd_dqm_preempt_queues()).
 *
 * The process that created a queue holds it once, whichever thread asks. Each
 * other process holds it for itself: such a hold belongs to an open file and
 * ends with it, so that no queue stays held by a process that is gone. The
 * scheduler of the node, where there is one, is one more holder.
 *
 * Locks: the mutex of the process that the queues belong to, then that of the
 * device queue manager. The holds of a queue are under the latter alone,
 * because a file that is closed does not know which processes' queues it holds.
 */

#include <linux/capability.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/linux/kfd_ioctl.h>

#include "kfd_device_queue_manager.h"
#include "kfd_preempt.h"
#include "kfd_priv.h"
#include "kfd_topology.h"

struct kfd_preempt_hold {
	struct list_head list;		/* in queue.preempt_holds, or in batch.spare */
	struct kfd_process *owner;	/* with a reference */
	struct file *file;		/* compared, never used */
};

static bool type_is_valid(u32 type)
{
	return type <= KFD_IOC_PREEMPT_SAVE;
}

static bool queue_is_held(const struct queue *q)
{
	return q->is_preempted_by_owner || q->is_preempted_by_scheduler ||
	       !list_empty(&q->preempt_holds);
}

/*
 * A single queue of the caller
 */

static int preempt_own(struct queue *q, u32 type)
{
	struct device_queue_manager *dqm = q->device->dqm;
	LIST_HEAD(queues);
	int r = 0;

	if (!(kfd_dqm_preempt_types(dqm) & BIT(type)))
		return -EOPNOTSUPP;
	if (q->is_preempted_by_owner)
		return -EALREADY;
	if (q->properties.is_being_destroyed)
		return -EBUSY;

	if (!q->properties.is_preempted) {
		list_add(&q->preempt_link, &queues);
		r = kfd_dqm_preempt_queues(dqm, &queues, type);
		list_del_init(&q->preempt_link);
	}
	if (!r)
		q->is_preempted_by_owner = true;

	return r;
}

static int resume_own(struct queue *q)
{
	LIST_HEAD(queues);
	int r;

	if (!q->is_preempted_by_owner)
		return -EINVAL;

	q->is_preempted_by_owner = false;
	if (queue_is_held(q))
		return 0;

	list_add(&q->preempt_link, &queues);
	r = kfd_dqm_resume_queues(q->device->dqm, &queues);
	list_del_init(&q->preempt_link);

	return r;
}

int kfd_ioctl_preempt_queue(struct file *filep, struct kfd_process *p, void *data)
{
	struct kfd_ioctl_preempt_queue_args *args = data;
	struct queue *q;
	int r = -EINVAL;

	if (args->pad || !type_is_valid(args->preempt_type))
		return -EINVAL;

	mutex_lock(&p->mutex);
	q = pqm_get_user_queue(&p->pqm, args->queue_id);
	if (q) {
		dqm_lock(q->device->dqm);
		r = preempt_own(q, args->preempt_type);
		dqm_unlock(q->device->dqm);
	}
	mutex_unlock(&p->mutex);

	return r;
}

int kfd_ioctl_resume_queue(struct file *filep, struct kfd_process *p, void *data)
{
	struct kfd_ioctl_resume_queue_args *args = data;
	struct queue *q;
	int r = -EINVAL;

	if (args->pad[0] || args->pad[1] || args->pad[2])
		return -EINVAL;

	mutex_lock(&p->mutex);
	q = pqm_get_user_queue(&p->pqm, args->queue_id);
	if (q) {
		dqm_lock(q->device->dqm);
		r = resume_own(q);
		dqm_unlock(q->device->dqm);
	}
	mutex_unlock(&p->mutex);

	return r;
}

int kfd_ioctl_preempt_query(struct file *filep, struct kfd_process *p, void *data)
{
	struct kfd_ioctl_preempt_query_args *args = data;
	struct kfd_process_device *pdd = NULL;
	int r = -EINVAL;

	mutex_lock(&p->mutex);
	if (args->gpu_id)
		pdd = kfd_process_device_data_by_id(p, args->gpu_id);
	else if (p->n_pdds)
		pdd = p->pdds[0];
	if (pdd) {
		struct device_queue_manager *dqm = pdd->dev->dqm;

		memset(args, 0, sizeof(*args));
		args->gpu_id = pdd->user_gpu_id;
		args->version = KFD_IOC_PREEMPT_VERSION;
		args->features = KFD_IOC_PREEMPT_FEATURE_BATCH |
				 KFD_IOC_PREEMPT_FEATURE_TARGET_PID |
				 KFD_IOC_PREEMPT_FEATURE_LOGICAL_PRIORITY;
		args->types = kfd_dqm_preempt_types(dqm);
		args->default_timeout_ms = kfd_dqm_preempt_timeout_ms(dqm);
		r = 0;
	}
	mutex_unlock(&p->mutex);

	return r;
}

/*
 * Holds of other processes' queues
 */

static struct kfd_preempt_hold *find_hold(struct queue *q, const struct file *file)
{
	struct kfd_preempt_hold *hold;

	list_for_each_entry(hold, &q->preempt_holds, list)
		if (hold->file == file)
			return hold;

	return NULL;
}

static void add_hold(struct queue *q, struct kfd_preempt_hold *hold,
		     struct kfd_process *owner, struct file *file)
{
	kref_get(&owner->ref);
	atomic_inc(&owner->preempt_holds);
	hold->owner = owner;
	hold->file = file;
	list_move(&hold->list, &q->preempt_holds);
}

static void remove_hold(struct kfd_preempt_hold *hold)
{
	atomic_dec(&hold->owner->preempt_holds);
	kfd_unref_process(hold->owner);
	list_del(&hold->list);
	kfree(hold);
}

void kfd_preempt_forget(struct queue *q)
{
	struct kfd_preempt_hold *hold, *next;

	list_for_each_entry_safe(hold, next, &q->preempt_holds, list)
		remove_hold(hold);
}

/* Removes the holds of a file, or where that is NULL of a process. True: none is left. */
static bool remove_holds(struct queue *q, const struct kfd_process *owner,
			 const struct file *file)
{
	struct kfd_preempt_hold *hold, *next;
	bool found = false;

	list_for_each_entry_safe(hold, next, &q->preempt_holds, list) {
		if (file ? hold->file != file : hold->owner != owner)
			continue;
		remove_hold(hold);
		found = true;
	}

	return found && !queue_is_held(q);
}

static void release_on_node(struct kfd_node *node, const struct kfd_process *owner,
			    const struct file *file)
{
	struct device_queue_manager *dqm = node->dqm;
	struct device_process_node *cur;
	struct queue *q, *next;
	LIST_HEAD(queues);
	int r;

	dqm_lock(dqm);
	list_for_each_entry(cur, &dqm->queues, list)
		list_for_each_entry(q, &cur->qpd->queues_list, list)
			if (remove_holds(q, owner, file))
				list_add_tail(&q->preempt_link, &queues);

	r = kfd_dqm_resume_queues(dqm, &queues);
	if (r)
		dev_err(node->adev->dev, "Failed to resume queues of a closed file: %d\n", r);
	list_for_each_entry_safe(q, next, &queues, preempt_link)
		list_del_init(&q->preempt_link);
	dqm_unlock(dqm);
}

static void release_holds(const struct kfd_process *owner, const struct file *file)
{
	struct kfd_node *node;
	u8 i;

	for (i = 0; !kfd_topology_enum_kfd_devices(i, &node); i++)
		if (node)
			release_on_node(node, owner, file);
}

void kfd_preempt_file_closed(struct kfd_process *p, struct file *filep)
{
	/* Most programs hold nothing of others, and need not wait for any device. */
	if (atomic_read(&p->preempt_holds))
		release_holds(p, filep);
}

void kfd_preempt_process_ended(struct kfd_process *p)
{
	if (atomic_read(&p->preempt_holds))
		release_holds(p, NULL);
}

/*
 * Holds of the scheduler
 */

int kfd_preempt_for_scheduler(struct device_queue_manager *dqm, struct list_head *queues,
			      u32 type)
{
	struct queue *q, *next;
	int r;

	list_for_each_entry_safe(q, next, queues, preempt_link) {
		q->is_preempted_by_scheduler = true;
		if (q->properties.is_preempted)
			list_del_init(&q->preempt_link);
	}

	r = kfd_dqm_preempt_queues(dqm, queues, type);
	list_for_each_entry(q, queues, preempt_link)
		q->is_preempted_by_scheduler = false;

	return r;
}

int kfd_resume_for_scheduler(struct device_queue_manager *dqm, struct list_head *queues)
{
	struct queue *q, *next;

	list_for_each_entry_safe(q, next, queues, preempt_link) {
		q->is_preempted_by_scheduler = false;
		/* After a resume that failed, nobody holds it. */
		if (queue_is_held(q) || !q->properties.is_preempted)
			list_del_init(&q->preempt_link);
	}

	return kfd_dqm_resume_queues(dqm, queues);
}

/*
 * Several queues of one process
 */

struct batch {
	const struct kfd_ioctl_preempt_batch_args *args;
	struct kfd_process *caller;
	struct kfd_process *target;
	struct file *file;
	u32 *ids;
	struct list_head spare;		/* a hold for each queue that may need one */
	int done;
	DECLARE_BITMAP(named, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);	/* by queue id */
	DECLARE_BITMAP(changing, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);	/* by place in ids */
};

static struct queue *batch_queue(struct batch *b, u32 i)
{
	return pqm_get_user_queue(&b->target->pqm,
				  b->ids[i] & ~KFD_DBG_QUEUE_INVALID_MASK);
}

static bool is_own(const struct batch *b)
{
	return b->caller == b->target;
}

static bool is_held_by_caller(const struct batch *b, struct queue *q)
{
	return is_own(b) ? q->is_preempted_by_owner : !!find_hold(q, b->file);
}

static void hold_for_caller(struct batch *b, struct queue *q)
{
	if (is_own(b))
		q->is_preempted_by_owner = true;
	else
		add_hold(q, list_first_entry(&b->spare, struct kfd_preempt_hold, list),
			 b->caller, b->file);
}

static void unhold_for_caller(struct batch *b, struct queue *q)
{
	if (is_own(b))
		q->is_preempted_by_owner = false;
	else
		remove_hold(find_hold(q, b->file));
}

/* Returns whether the hardware has to do something, or an error. */
static int prepare_queue(struct batch *b, struct queue *q)
{
	if (b->args->op == KFD_IOC_PREEMPT_BATCH_RESUME) {
		if (!is_held_by_caller(b, q))
			return 0;
		unhold_for_caller(b, q);
		return !queue_is_held(q);
	}

	if (q->properties.is_being_destroyed)
		return -EBUSY;
	if (is_held_by_caller(b, q))
		return 0;
	hold_for_caller(b, q);
	return !q->properties.is_preempted;
}

static void prepare(struct batch *b, struct kfd_node *node, struct list_head *queues)
{
	u32 i;

	for (i = 0; i < b->args->num_queues; i++) {
		struct queue *q = batch_queue(b, i);
		int r;

		if (!q || q->device != node ||
		    __test_and_set_bit(q->properties.queue_id, b->named))
			continue;

		b->ids[i] &= ~KFD_DBG_QUEUE_INVALID_MASK;
		r = prepare_queue(b, q);
		if (r < 0) {
			b->ids[i] |= KFD_DBG_QUEUE_ERROR_MASK;
		} else if (r) {
			list_add_tail(&q->preempt_link, queues);
			__set_bit(i, b->changing);
		} else {
			b->done++;
		}
	}
}

/* A queue that is left in the list has failed. */
static void conclude(struct batch *b)
{
	u32 i;

	for_each_set_bit(i, b->changing, b->args->num_queues) {
		struct queue *q = batch_queue(b, i);

		if (list_empty(&q->preempt_link)) {
			b->done++;
			continue;
		}
		list_del_init(&q->preempt_link);
		b->ids[i] |= KFD_DBG_QUEUE_ERROR_MASK;
		if (b->args->op == KFD_IOC_PREEMPT_BATCH_PREEMPT)
			unhold_for_caller(b, q);
	}
	bitmap_zero(b->changing, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);
}

static void run_on_node(struct batch *b, struct kfd_node *node)
{
	struct device_queue_manager *dqm = node->dqm;
	LIST_HEAD(queues);

	dqm_lock(dqm);
	prepare(b, node, &queues);
	if (b->args->op == KFD_IOC_PREEMPT_BATCH_PREEMPT)
		kfd_dqm_preempt_queues(dqm, &queues, b->args->preempt_type);
	else
		kfd_dqm_resume_queues(dqm, &queues);
	conclude(b);
	dqm_unlock(dqm);
}

/* All or nothing: a type that one of the devices cannot do is refused for all of them. */
static int check_type(struct batch *b)
{
	u32 i;

	if (b->args->op == KFD_IOC_PREEMPT_BATCH_RESUME)
		return 0;

	for (i = 0; i < b->args->num_queues; i++) {
		struct queue *q = batch_queue(b, i);

		if (q && !(kfd_dqm_preempt_types(q->device->dqm) & BIT(b->args->preempt_type)))
			return -EOPNOTSUPP;
	}

	return 0;
}

static int run_batch(struct batch *b)
{
	int i, r;

	for (i = 0; i < b->args->num_queues; i++)
		b->ids[i] |= KFD_DBG_QUEUE_INVALID_MASK;

	mutex_lock(&b->target->mutex);
	r = check_type(b);
	for (i = 0; !r && i < b->target->n_pdds; i++)
		run_on_node(b, b->target->pdds[i]->dev);
	mutex_unlock(&b->target->mutex);

	return r;
}

static bool may_hold(const struct kfd_process *target)
{
	struct task_struct *task = target->lead_thread, *tracer;
	bool is_tracer;

	rcu_read_lock();
	tracer = ptrace_parent(task);
	is_tracer = tracer && same_thread_group(tracer, current);
	rcu_read_unlock();

	return is_tracer || ptrace_may_access(task, PTRACE_MODE_ATTACH_REALCREDS) ||
	       capable(CAP_SYS_ADMIN);
}

/* With a reference to it. */
static struct kfd_process *find_target(struct kfd_process *caller, u32 nr)
{
	struct kfd_process *target;
	struct pid *pid;

	if (!nr) {
		kref_get(&caller->ref);
		return caller;
	}

	pid = find_get_pid(nr);
	target = pid ? kfd_lookup_process_by_pid(pid) : NULL;
	put_pid(pid);
	if (!target)
		return ERR_PTR(-ESRCH);
	if (target == caller || may_hold(target))
		return target;

	kfd_unref_process(target);
	return ERR_PTR(-EPERM);
}

/* Under the DQM lock nothing may be allocated that could wait for memory to be reclaimed. */
static int make_spare_holds(struct batch *b)
{
	u32 i;

	for (i = 0; i < b->args->num_queues; i++) {
		struct kfd_preempt_hold *hold = kmalloc(sizeof(*hold), GFP_KERNEL_ACCOUNT);

		if (!hold)
			return -ENOMEM;
		list_add(&hold->list, &b->spare);
	}

	return 0;
}

static void free_batch(struct batch *b)
{
	struct kfd_preempt_hold *hold, *next;

	list_for_each_entry_safe(hold, next, &b->spare, list)
		kfree(hold);
	kfree(b->ids);
	kfree(b);
}

static int do_batch(struct batch *b, u32 __user *user_ids)
{
	size_t size = array_size(b->args->num_queues, sizeof(u32));
	int r = 0;

	b->ids = memdup_user(user_ids, size);
	if (IS_ERR(b->ids)) {
		r = PTR_ERR(b->ids);
		b->ids = NULL;
		return r;
	}
	if (!is_own(b) && b->args->op == KFD_IOC_PREEMPT_BATCH_PREEMPT)
		r = make_spare_holds(b);
	if (!r)
		r = run_batch(b);
	if (!r && copy_to_user(user_ids, b->ids, size))
		r = -EFAULT;

	return r ? r : b->done;
}

int kfd_ioctl_preempt_batch(struct file *filep, struct kfd_process *p, void *data)
{
	struct kfd_ioctl_preempt_batch_args *args = data;
	struct kfd_process *target;
	struct batch *b;
	int r;

	if (args->pad || args->op > KFD_IOC_PREEMPT_BATCH_RESUME ||
	    args->num_queues > KFD_MAX_NUM_OF_QUEUES_PER_PROCESS ||
	    (args->num_queues && !args->queue_array_ptr))
		return -EINVAL;
	if (args->op == KFD_IOC_PREEMPT_BATCH_PREEMPT && !type_is_valid(args->preempt_type))
		return -EINVAL;

	target = find_target(p, args->pid);
	if (IS_ERR(target))
		return PTR_ERR(target);

	b = kzalloc(sizeof(*b), GFP_KERNEL);
	if (b) {
		b->args = args;
		b->caller = p;
		b->target = target;
		b->file = filep;
		INIT_LIST_HEAD(&b->spare);
		r = do_batch(b, u64_to_user_ptr(args->queue_array_ptr));
		free_batch(b);
	} else {
		r = -ENOMEM;
	}
	kfd_unref_process(target);

	return r;
}
