// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preemption of single queues by user space
 *
 * Keeps the holds of each queue, and checks who may hold it. The device queue
 * manager preempts and resumes (kfd_dqm_preempt_queues()).
 *
 * The process that created a queue holds it once, whichever thread asks. Open
 * files hold it each for itself (KFD_IOC_PREEMPT_TARGET): such a hold ends with
 * the file, so that no queue stays held by a process that is gone. The scheduler
 * of the node, where there is one, is one more holder.
 *
 * Locks: the mutex of the process that the queues belong to, then that of the
 * device queue manager, then that of the process that holds. The holds of a
 * queue are under the second, because a file that is closed does not know which
 * processes' queues it holds; the table in which one of them is found, and the
 * number of a process's holds, are under the third. How many holds a user has is
 * counted without a lock of this file.
 */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/hash.h>
#include <linux/magic.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>
#include <uapi/linux/kfd_ioctl.h>

#include "kfd_device_queue_manager.h"
#include "kfd_preempt.h"
#include "kfd_priv.h"
#include "kfd_topology.h"

static bool kfd_preempt_aliases;
module_param(kfd_preempt_aliases, bool, 0644);
MODULE_PARM_DESC(kfd_preempt_aliases, "Have ioctls 0x87 and 0x88, which another driver uses for something else (false = no (default), true = yes)");

struct kfd_preempt_hold {
	struct list_head list;		/* in queue.preempt_holds, or in batch.spare */
	struct hlist_node node;		/* in kfd_process.preempt_table of the owner */
	struct kfd_process *owner;	/* with a reference, once it is in the two */
	const struct queue *q;
	struct file *file;		/* compared, never used */
	kuid_t uid;			/* of the user that it counts for */
};

/* How many holds each user has, by its id; no entry: none */
static DEFINE_XARRAY(user_holds);

static bool type_is_valid(u32 type)
{
	return type <= KFD_IOC_PREEMPT_SAVE;
}

static bool queue_is_held(const struct queue *q)
{
	return q->is_preempted_by_owner || q->is_preempted_by_scheduler ||
	       !list_empty(&q->preempt_holds);
}

/* A queue that goes, or never runs again, is not held. */
static int check_preemptible(const struct queue *q)
{
	if (q->properties.is_being_destroyed)
		return -EBUSY;

	return q->properties.is_reset ? -EACCES : 0;
}

/*
 * The aliases: a single queue of the caller
 */

static int preempt_own(struct queue *q, u32 type)
{
	struct device_queue_manager *dqm = q->device->dqm;
	LIST_HEAD(queues);
	int r;

	if (!(kfd_dqm_preempt_types(dqm) & BIT(type)))
		return -EOPNOTSUPP;
	if (q->is_preempted_by_owner)
		return -EALREADY;
	r = check_preemptible(q);
	if (r)
		return r;

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

static int kfd_ioctl_preempt_queue(struct file *filep, struct kfd_process *p, void *data)
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

static int kfd_ioctl_resume_queue(struct file *filep, struct kfd_process *p, void *data)
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

/*
 * Holds of open files
 */

static struct hlist_head *bucket_of(struct kfd_process *owner, const struct queue *q)
{
	return &owner->preempt_table[hash_ptr(q, KFD_PREEMPT_TABLE_BITS)];
}

static struct kfd_preempt_hold *find_hold(struct kfd_process *owner, const struct queue *q,
					  const struct file *file)
{
	struct kfd_preempt_hold *hold, *found = NULL;

	if (!READ_ONCE(owner->preempt_table))
		return NULL;

	spin_lock(&owner->preempt_lock);
	hlist_for_each_entry(hold, bucket_of(owner, q), node) {
		if (hold->q == q && hold->file == file) {
			found = hold;
			break;
		}
	}
	spin_unlock(&owner->preempt_lock);

	return found;
}

/* Takes neither the lock of the target nor that of its devices: anybody may ask. */
static bool file_holds_some(struct kfd_process *owner, const struct file *file,
			    const struct kfd_process *target)
{
	struct kfd_preempt_hold *hold;
	bool found = false;
	unsigned int i;

	if (!READ_ONCE(owner->preempt_table))
		return false;

	spin_lock(&owner->preempt_lock);
	for (i = 0; i < BIT(KFD_PREEMPT_TABLE_BITS) && !found; i++)
		hlist_for_each_entry(hold, &owner->preempt_table[i], node)
			found |= hold->file == file && hold->q->process == target;
	spin_unlock(&owner->preempt_lock);

	return found;
}

static void add_hold(struct queue *q, struct kfd_preempt_hold *hold,
		     struct kfd_process *owner, struct file *file, kuid_t uid)
{
	kref_get(&owner->ref);
	hold->owner = owner;
	hold->file = file;
	hold->uid = uid;
	hold->q = q;
	list_move(&hold->list, &q->preempt_holds);
	spin_lock(&owner->preempt_lock);
	hlist_add_head(&hold->node, bucket_of(owner, q));
	spin_unlock(&owner->preempt_lock);
}

/*
 * Adds to the holds of a user. Allocates only for a user that has none, so one
 * that is removed needs no memory.
 */
static int count_for_user(kuid_t uid, long nr)
{
	void *old, *seen = xa_load(&user_holds, __kuid_val(uid));

	do {
		unsigned long holds = (seen ? xa_to_value(seen) : 0) + nr;

		if (nr > 0 && holds > KFD_PREEMPT_USER_HOLDS_MAX && !capable(CAP_SYS_RESOURCE))
			return -EDQUOT;
		old = seen;
		seen = xa_cmpxchg(&user_holds, __kuid_val(uid), old,
				  holds ? xa_mk_value(holds) : NULL,
				  nr > 0 ? GFP_KERNEL : GFP_NOWAIT);
		if (xa_is_err(seen))
			return xa_err(seen);
	} while (seen != old);

	return 0;
}

static void remove_hold(struct kfd_preempt_hold *hold)
{
	struct kfd_process *owner = hold->owner;

	spin_lock(&owner->preempt_lock);
	hlist_del(&hold->node);
	owner->preempt_holds--;
	spin_unlock(&owner->preempt_lock);
	count_for_user(hold->uid, -1);
	list_del(&hold->list);
	kfree(hold);
	kfd_unref_process(owner);
}

/* A process has a table from its first hold on. */
static int make_table(struct kfd_process *owner)
{
	struct hlist_head *table;

	if (READ_ONCE(owner->preempt_table))
		return 0;

	table = kvcalloc(BIT(KFD_PREEMPT_TABLE_BITS), sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		return -ENOMEM;

	spin_lock(&owner->preempt_lock);
	if (!owner->preempt_table)
		swap(owner->preempt_table, table);
	spin_unlock(&owner->preempt_lock);
	kvfree(table);

	return 0;
}

static int count_for_process(struct kfd_process *owner, long nr)
{
	int r = 0;

	spin_lock(&owner->preempt_lock);
	if (nr > 0 && owner->preempt_holds + nr > KFD_PREEMPT_HOLDS_MAX)
		r = -EDQUOT;
	else
		owner->preempt_holds += nr;
	spin_unlock(&owner->preempt_lock);

	return r;
}

/* Counts holds that are about to be made; those that are not are given back. */
static int reserve_holds(struct kfd_process *owner, kuid_t uid, u32 nr)
{
	int r = count_for_process(owner, nr);

	if (r)
		return r;

	r = count_for_user(uid, nr);
	if (r)
		count_for_process(owner, -(long)nr);

	return r;
}

static void unreserve_holds(struct kfd_process *owner, kuid_t uid, u32 nr)
{
	if (!nr)
		return;

	count_for_process(owner, -(long)nr);
	count_for_user(uid, -(long)nr);
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
	if (READ_ONCE(p->preempt_holds))
		release_holds(p, filep);
}

void kfd_preempt_process_ended(struct kfd_process *p)
{
	if (READ_ONCE(p->preempt_holds))
		release_holds(p, NULL);
}

void kfd_preempt_process_freed(struct kfd_process *p)
{
	kvfree(p->preempt_table);
}

/*
 * Checkpoints
 */

#define CHECKPOINT_PREEMPTED	BIT(0)	/* by its process */
#define CHECKPOINT_RESET	BIT(1)

/* A file of the process that holds one of its own queues is another file afterwards. */
static bool is_held_by_own_file(const struct queue *q)
{
	const struct kfd_preempt_hold *hold;

	list_for_each_entry(hold, &q->preempt_holds, list)
		if (hold->owner == q->process)
			return true;

	return false;
}

int kfd_preempt_checkpoint(struct queue *q, u32 *state)
{
	int r = 0;

	dqm_lock(q->device->dqm);
	*state = (q->is_preempted_by_owner ? CHECKPOINT_PREEMPTED : 0) |
		 (q->properties.is_reset ? CHECKPOINT_RESET : 0);
	if (is_held_by_own_file(q))
		r = -EBUSY;
	dqm_unlock(q->device->dqm);

	return r;
}

int kfd_preempt_restore(struct queue_properties *p, u32 state)
{
	if (state & ~(CHECKPOINT_PREEMPTED | CHECKPOINT_RESET))
		return -EINVAL;

	p->is_preempted = state & CHECKPOINT_PREEMPTED;
	p->is_reset = state & CHECKPOINT_RESET;

	return 0;
}

/*
 * Holds of the scheduler
 */

/* Queues that somebody holds anyway are done. */
static void hold_for_scheduler(struct list_head *queues)
{
	struct queue *q, *next;

	list_for_each_entry_safe(q, next, queues, preempt_link) {
		q->is_preempted_by_scheduler = true;
		if (q->properties.is_preempted)
			list_del_init(&q->preempt_link);
	}
}

static void unhold_for_scheduler(struct list_head *queues)
{
	struct queue *q, *next;

	list_for_each_entry_safe(q, next, queues, preempt_link) {
		q->is_preempted_by_scheduler = false;
		/* After a resume that failed, nobody holds it. */
		if (queue_is_held(q) || !q->properties.is_preempted)
			list_del_init(&q->preempt_link);
	}
}

int kfd_preempt_for_scheduler(struct device_queue_manager *dqm, struct list_head *hold,
			      u32 type, struct list_head *release)
{
	struct queue *q;
	int r;

	hold_for_scheduler(hold);
	unhold_for_scheduler(release);
	r = kfd_dqm_change_queues(dqm, hold, type, release);
	list_for_each_entry(q, hold, preempt_link)
		q->is_preempted_by_scheduler = false;

	return r;
}

/*
 * Several queues of one process
 */

struct batch {
	const struct kfd_ioctl_preempt_queues_args *args;
	u32 op;
	bool is_own;			/* the process holds, not the file */
	struct kfd_process *caller;
	struct kfd_process *target;
	struct file *file;
	kuid_t uid;			/* of the caller */
	u32 *ids;
	struct list_head spare;		/* a hold for each queue that may need one */
	u32 reserved;			/* of them */
	int done;
	int r;				/* of the first queue that failed */
	DECLARE_BITMAP(named, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);	/* by queue id */
	DECLARE_BITMAP(changing, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);	/* by place in ids */
};

static struct queue *batch_queue(struct batch *b, u32 i)
{
	return pqm_get_user_queue(&b->target->pqm,
				  b->ids[i] & ~KFD_DBG_QUEUE_INVALID_MASK);
}

static bool is_held_by_caller(const struct batch *b, struct queue *q)
{
	return b->is_own ? q->is_preempted_by_owner : !!find_hold(b->caller, q, b->file);
}

static void hold_for_caller(struct batch *b, struct queue *q)
{
	if (b->is_own) {
		q->is_preempted_by_owner = true;
		return;
	}

	add_hold(q, list_first_entry(&b->spare, struct kfd_preempt_hold, list), b->caller,
		 b->file, b->uid);
	b->reserved--;
}

static void unhold_for_caller(struct batch *b, struct queue *q)
{
	if (b->is_own)
		q->is_preempted_by_owner = false;
	else
		remove_hold(find_hold(b->caller, q, b->file));
}

/* Returns whether the hardware has to do something, or an error. */
static int prepare_queue(struct batch *b, struct queue *q)
{
	int r;

	if (b->op == KFD_IOC_PREEMPT_OP_RESUME) {
		if (!is_held_by_caller(b, q))
			return 0;
		unhold_for_caller(b, q);
		return !queue_is_held(q);
	}

	r = check_preemptible(q);
	if (r)
		return r;
	if (is_held_by_caller(b, q))
		return 0;
	hold_for_caller(b, q);
	return !q->properties.is_preempted;
}

static void fail(struct batch *b, u32 i, int r)
{
	b->ids[i] |= KFD_DBG_QUEUE_ERROR_MASK;
	if (!b->r)
		b->r = r;
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
			fail(b, i, r);
		} else if (r) {
			list_add_tail(&q->preempt_link, queues);
			__set_bit(i, b->changing);
		} else {
			b->done++;
		}
	}
}

/* A queue that is left in the list has failed. */
static void conclude(struct batch *b, int r)
{
	u32 i;

	for_each_set_bit(i, b->changing, b->args->num_queues) {
		struct queue *q = batch_queue(b, i);

		if (list_empty(&q->preempt_link)) {
			b->done++;
			continue;
		}
		list_del_init(&q->preempt_link);
		fail(b, i, r);
		if (b->op == KFD_IOC_PREEMPT_OP_PREEMPT)
			unhold_for_caller(b, q);
	}
	bitmap_zero(b->changing, KFD_MAX_NUM_OF_QUEUES_PER_PROCESS);
}

static void run_on_node(struct batch *b, struct kfd_node *node)
{
	struct device_queue_manager *dqm = node->dqm;
	LIST_HEAD(queues);
	int r;

	dqm_lock(dqm);
	prepare(b, node, &queues);
	if (b->op == KFD_IOC_PREEMPT_OP_PREEMPT)
		r = kfd_dqm_preempt_queues(dqm, &queues, b->args->type);
	else
		r = kfd_dqm_resume_queues(dqm, &queues);
	conclude(b, r);
	dqm_unlock(dqm);
}

/* The scheduler of the node, where there is one, moves the queue to its new group. */
static void set_priorities(struct batch *b)
{
	const struct kfd_preempt_scheduler *scheduler;
	u32 i;

	for (i = 0; i < b->args->num_queues; i++) {
		struct queue *q = batch_queue(b, i);

		if (!q || __test_and_set_bit(q->properties.queue_id, b->named))
			continue;

		b->ids[i] &= ~KFD_DBG_QUEUE_INVALID_MASK;
		/* Whether the program is split is its own choice. */
		q->properties.logical_priority &= KFD_IOC_PRIORITY_SPLIT;
		q->properties.logical_priority |= b->args->logical_priority;
		/* It goes with its device. */
		scheduler = READ_ONCE(q->device->preempt_scheduler);
		if (scheduler)
			scheduler->priority_changed(q);
		b->done++;
	}
}

/* All or nothing: a type that one of the devices cannot do is refused for all of them. */
static int check_type(struct batch *b)
{
	u32 i;

	if (b->op != KFD_IOC_PREEMPT_OP_PREEMPT)
		return 0;

	for (i = 0; i < b->args->num_queues; i++) {
		struct queue *q = batch_queue(b, i);

		if (q && !(kfd_dqm_preempt_types(q->device->dqm) & BIT(b->args->type)))
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
	if (!r && b->op == KFD_IOC_PREEMPT_OP_SET_PRIORITY)
		set_priorities(b);
	else
		for (i = 0; !r && i < b->target->n_pdds; i++)
			run_on_node(b, b->target->pdds[i]->dev);
	mutex_unlock(&b->target->mutex);

	return r;
}

/*
 * Whose queues
 */

/*
 * As for the debugger, and for the administrator. A program that may only become
 * the tracer does so first: security modules have a say in that.
 *
 * A call keeps others from the lock of its target for a while, so those without
 * the right get nowhere. A file that holds queues had it once, and may always
 * resume them: the tracer may be somebody else by then.
 */
static bool may_hold(const struct kfd_process *target)
{
	struct task_struct *tracer;
	bool is_tracer;

	rcu_read_lock();
	tracer = ptrace_parent(target->lead_thread);
	is_tracer = tracer && same_thread_group(tracer, current);
	rcu_read_unlock();

	return is_tracer || capable(CAP_SYS_ADMIN);
}

/* With a reference to it. */
static struct pid *get_pid_of(int pidfd)
{
	struct file *file = fget(pidfd);
	struct pid *pid = ERR_PTR(-EBADF);

	if (!file)
		return pid;
	/* All inodes of this filesystem belong to a struct pid, for as long as they exist. */
	if (file_inode(file)->i_sb->s_magic == PID_FS_MAGIC)
		pid = get_pid(file_inode(file)->i_private);
	fput(file);

	return pid;
}

/* With a reference to it. */
static struct kfd_process *find_target(struct kfd_process *caller, const struct file *file,
				       const struct kfd_ioctl_preempt_args *args)
{
	struct kfd_process *target;
	struct pid *pid;

	if (!(args->flags & KFD_IOC_PREEMPT_TARGET)) {
		kref_get(&caller->ref);
		return caller;
	}

	pid = get_pid_of(args->pidfd);
	if (IS_ERR(pid))
		return ERR_CAST(pid);

	target = kfd_lookup_process_by_pid(pid);
	put_pid(pid);
	if (!target)
		return ERR_PTR(-ESRCH);
	if (target == caller || may_hold(target) ||
	    (args->op == KFD_IOC_PREEMPT_OP_RESUME && file_holds_some(caller, file, target)))
		return target;

	kfd_unref_process(target);
	return ERR_PTR(-EPERM);
}

/*
 * The ioctl
 */

/* Under the DQM lock nothing may be allocated that could wait for memory to be reclaimed. */
static int make_spare_holds(struct batch *b)
{
	int r = make_table(b->caller);
	u32 i;

	if (!r)
		r = reserve_holds(b->caller, b->uid, b->args->num_queues);
	if (r)
		return r;

	b->reserved = b->args->num_queues;
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
	unreserve_holds(b->caller, b->uid, b->reserved);
	kfree(b->ids);
	kfree(b);
}

static int do_batch(struct batch *b)
{
	size_t size = array_size(b->args->num_queues, sizeof(u32));
	u32 __user *user_ids = u64_to_user_ptr(b->args->queue_array_ptr);
	int r = 0;

	b->ids = memdup_user(user_ids, size);
	if (IS_ERR(b->ids)) {
		r = PTR_ERR(b->ids);
		b->ids = NULL;
		return r;
	}
	if (!b->is_own && b->op == KFD_IOC_PREEMPT_OP_PREEMPT)
		r = make_spare_holds(b);
	if (!r)
		r = run_batch(b);
	if (!r && copy_to_user(user_ids, b->ids, size))
		r = -EFAULT;
	if (r)
		return r;

	return b->done ? b->done : b->r;
}

static int check_queues(const struct kfd_ioctl_preempt_args *args)
{
	const struct kfd_ioctl_preempt_queues_args *q = &args->queues;
	u32 types = args->op == KFD_IOC_PREEMPT_OP_PREEMPT ? KFD_IOC_PREEMPT_SAVE : 0;

	if (args->flags & ~KFD_IOC_PREEMPT_TARGET || args->pad || q->pad ||
	    (args->pidfd && !(args->flags & KFD_IOC_PREEMPT_TARGET)) ||
	    memchr_inv(q + 1, 0, (void *)(args + 1) - (void *)(q + 1)))
		return -EINVAL;
	if (q->num_queues > KFD_MAX_NUM_OF_QUEUES_PER_PROCESS ||
	    (q->num_queues && !q->queue_array_ptr) || q->type > types)
		return -EINVAL;
	if (!q->logical_priority)
		return 0;
	if (args->op != KFD_IOC_PREEMPT_OP_SET_PRIORITY ||
	    q->logical_priority & KFD_IOC_PRIORITY_SPLIT)
		return -EINVAL;
	/* Unlike a program that makes a queue, one that asks for this alone hears of it. */
	return kfd_granted_priority(q->logical_priority) == q->logical_priority ? 0 : -EACCES;
}

static int act_on_queues(struct file *filep, struct kfd_process *p,
			 const struct kfd_ioctl_preempt_args *args)
{
	struct kfd_process *target;
	struct batch *b;
	int r;

	r = check_queues(args);
	if (r)
		return r;

	target = find_target(p, filep, args);
	if (IS_ERR(target))
		return PTR_ERR(target);

	b = kzalloc(sizeof(*b), GFP_KERNEL);
	if (b) {
		b->args = &args->queues;
		b->op = args->op;
		b->is_own = !(args->flags & KFD_IOC_PREEMPT_TARGET);
		b->caller = p;
		b->target = target;
		b->file = filep;
		b->uid = current_uid();
		INIT_LIST_HEAD(&b->spare);
		r = do_batch(b);
		free_batch(b);
	} else {
		r = -ENOMEM;
	}
	kfd_unref_process(target);

	return r;
}

static int check_query(const struct kfd_ioctl_preempt_args *args)
{
	struct kfd_ioctl_preempt_args rest = *args;

	rest.op = 0;
	rest.query.gpu_id = 0;

	return memchr_inv(&rest, 0, sizeof(rest)) ? -EINVAL : 0;
}

static u32 features_of(const struct kfd_node *node)
{
	u32 features = KFD_IOC_PREEMPT_FEATURE_QUEUES | KFD_IOC_PREEMPT_FEATURE_TARGET |
		       KFD_IOC_PREEMPT_FEATURE_LOGICAL_PRIORITY |
		       KFD_IOC_PREEMPT_FEATURE_SET_PRIORITY;

	if (READ_ONCE(node->preempt_scheduler))
		features |= KFD_IOC_PREEMPT_FEATURE_SCHEDULER;
	if (READ_ONCE(kfd_preempt_aliases))
		features |= KFD_IOC_PREEMPT_FEATURE_ALIASES;

	return features;
}

static int query(struct kfd_process *p, struct kfd_ioctl_preempt_query_args *args)
{
	struct kfd_process_device *pdd = NULL;
	int r = -EINVAL;

	mutex_lock(&p->mutex);
	if (args->gpu_id)
		pdd = kfd_process_device_data_by_id(p, args->gpu_id);
	else if (p->n_pdds)
		pdd = p->pdds[0];
	if (pdd) {
		struct device_queue_manager *dqm = pdd->dev->dqm;

		args->magic = KFD_IOC_PREEMPT_MAGIC;
		args->version = KFD_IOC_PREEMPT_VERSION;
		args->features = features_of(pdd->dev);
		args->gpu_id = pdd->user_gpu_id;
		args->types = kfd_dqm_preempt_types(dqm);
		args->timeout_ms = kfd_dqm_preempt_timeout_ms(dqm);
		args->holds_max = KFD_PREEMPT_HOLDS_MAX;
		r = 0;
	}
	mutex_unlock(&p->mutex);

	return r;
}

static int kfd_ioctl_preempt(struct file *filep, struct kfd_process *p, void *data)
{
	struct kfd_ioctl_preempt_args *args = data;
	int r;

	switch (args->op) {
	case KFD_IOC_PREEMPT_OP_QUERY:
		r = check_query(args);
		return r ? r : query(p, &args->query);
	case KFD_IOC_PREEMPT_OP_PREEMPT:
	case KFD_IOC_PREEMPT_OP_RESUME:
	case KFD_IOC_PREEMPT_OP_SET_PRIORITY:
		return act_on_queues(filep, p, args);
	default:
		return -EINVAL;
	}
}

/* A newer caller may know more, if it does not use it. */
static int check_size(void *data, unsigned int size)
{
	const unsigned int known = sizeof(struct kfd_ioctl_preempt_args);

	return size > known && memchr_inv(data + known, 0, size - known) ? -E2BIG : 0;
}

static const struct amdkfd_ioctl_desc ioctls[] = {
	{
		.cmd = AMDKFD_IOC_PREEMPT,
		.func = kfd_ioctl_preempt,
		.validate = check_size,
		.name = "AMDKFD_IOC_PREEMPT"
	}, {
		.cmd = AMDKFD_IOC_PREEMPT_QUEUE,
		.func = kfd_ioctl_preempt_queue,
		.name = "AMDKFD_IOC_PREEMPT_QUEUE"
	}, {
		.cmd = AMDKFD_IOC_RESUME_QUEUE,
		.func = kfd_ioctl_resume_queue,
		.name = "AMDKFD_IOC_RESUME_QUEUE"
	},
};

const struct amdkfd_ioctl_desc *kfd_preempt_ioctl(unsigned int nr)
{
	unsigned int i, nr_ioctls = READ_ONCE(kfd_preempt_aliases) ? ARRAY_SIZE(ioctls) : 1;

	for (i = 0; i < nr_ioctls; i++)
		if (_IOC_NR(ioctls[i].cmd) == nr)
			return &ioctls[i];

	return NULL;
}
