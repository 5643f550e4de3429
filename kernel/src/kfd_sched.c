// SPDX-License-Identifier: GPL-2.0-only
/*
 * A scheduler of queues by priority: the driver's part of it
 *
 * The priorities of the hardware take no waves off it, so the most urgent queue
 * waits for whatever runs. A thread looks at the rings of a node's queues, tells a
 * core which of them have work, and preempts and resumes what that decides.
 * gpreempt/node/node.h has the scheduler itself; here are the driver functions
 * that it calls, its thread and its lock. The nodes of a device, its partitions,
 * share a thread.
 *
 * The thread never waits for a program: it takes no process's lock, and faults
 * nothing in.
 */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kfd_device_queue_manager.h"
#include "kfd_preempt.h"
#include "kfd_priv.h"
#include "kfd_sched.h"
#include "kfd_sched_internal.h"

#define CREATE_TRACE_POINTS
#include "kfd_sched_trace.h"

/* Some two thousand lines */
#define LOG_BYTES (128 * 1024)

/* A look that took longer waited for the firmware, without a CPU. */
#define REST_NS_MAX (100 * NSEC_PER_MSEC)

static bool kfd_sched;
module_param(kfd_sched, bool, 0444);
MODULE_PARM_DESC(kfd_sched, "Schedule compute queues by their priority (false = off (default), true = on)");

void kfd_sched_kick(struct kfd_sched *s)
{
	WRITE_ONCE(s->is_kicked, true);
	/* The thread that sees its flag sees the node's; pairs with the xchg() in run_thread(). */
	smp_store_release(&s->thread->is_kicked, true);
	wake_up(&s->thread->wait);
}

/*
 * Driver functions
 */

static struct kfd_sched *sched_of(struct gp__node_sched *n)
{
	return container_of(n, struct kfd_sched, sched);
}

static u64 sched_now(struct gp__node_sched *n)
{
	return ktime_get_ns();
}

static void *sched_alloc(size_t bytes)
{
	return kzalloc(bytes, GFP_KERNEL);
}

static void sched_free(void *memory)
{
	kfree(memory);
}

static bool sched_begin_reading(struct gp__node_sched *n, void *program)
{
	struct kfd_process *p = program;
	struct kfd_sched *s = sched_of(n);

	s->mm = get_task_mm(p->lead_thread);
	if (!s->mm)
		return false;

	kthread_use_mm(s->mm);
	return true;
}

static void sched_end_reading(struct gp__node_sched *n, void *program)
{
	struct kfd_sched *s = sched_of(n);

	kthread_unuse_mm(s->mm);
	/* The last user cleans up, which takes locks that are not to be waited for here. */
	mmput_async(s->mm);
	s->mm = NULL;
}

/*
 * The thread looks at the queues of all programs, and must not wait for one of
 * them: a page may be under userfaultfd, or a file of FUSE.
 */
bool kfd_sched_read_user(void *queue, u64 address, void *to, size_t bytes)
{
	/* Earlier reads are not newer than this one. */
	rmb();
	return !copy_from_user_nofault(to, u64_to_user_ptr(address), bytes);
}

static bool sched_is_running(void *queue)
{
	return READ_ONCE(((struct queue *)queue)->properties.is_active);
}

/* Read without the lock of the DQM: the next look sees what has changed meanwhile. */
static bool sched_is_away(void *queue)
{
	const struct queue *q = queue;
	const struct queue_properties *p = &q->properties;

	return READ_ONCE(p->is_evicted) || READ_ONCE(p->is_suspended) || READ_ONCE(p->is_reset) ||
	       READ_ONCE(q->is_preempted_by_owner) || !list_empty(&q->preempt_holds) ||
	       !READ_ONCE(p->queue_size) || !READ_ONCE(p->queue_address) ||
	       !READ_ONCE(p->queue_percent);
}

static bool has_waves(struct kfd_sched *s, const struct queue *q, int xcc)
{
	int i, most;

	memset(s->occupancy, 0, AMDGPU_MAX_QUEUES * sizeof(*s->occupancy));
	s->node->kfd2kgd->get_cu_occupancy(s->node->adev, s->occupancy, &most, xcc);
	for (i = 0; i < AMDGPU_MAX_QUEUES; i++)
		if (s->occupancy[i].wave_cnt &&
		    s->occupancy[i].doorbell_off == q->properties.doorbell_off)
			return true;

	return false;
}

static int sched_waves(struct gp__node_sched *n, void *queue)
{
	struct kfd_sched *s = sched_of(n);
	int xcc;

	if (!s->node->kfd2kgd->get_cu_occupancy || !s->occupancy)
		return -1;

	for_each_inst(xcc, s->node->xcc_mask)
		if (has_waves(s, queue, xcc))
			return 1;

	return 0;
}

static int pid_of(const struct gp__node_queue *sq)
{
	return sq->group->pid;
}

static u32 id_of(const struct gp__node_queue *sq)
{
	return ((struct queue *)sq->queue)->properties.queue_id;
}

static void link_queues(struct gp__link *actions, struct list_head *queues)
{
	struct gp__node_queue *sq;

	gp__node_each(sq, actions)
		list_add_tail(&((struct queue *)sq->queue)->preempt_link, queues);
}

/* A queue that is still linked was not preempted or resumed. */
static void take_results(struct gp__link *actions, int r)
{
	struct gp__node_queue *sq;

	gp__node_each(sq, actions) {
		struct queue *q = sq->queue;

		sq->result = list_empty(&q->preempt_link) ? 0 : r;
		list_del_init(&q->preempt_link);
	}
}

static void trace_actions(struct kfd_sched *s, struct gp__link *actions, bool preempt, u64 begun)
{
	struct gp__node_queue *sq;

	gp__node_each(sq, actions)
		trace_kfd_sched_action(s->node->id, pid_of(sq), id_of(sq), preempt,
				       gp__rule_name(sq->core.why.rule), sq->result,
				       ktime_get_ns() - begun);
}

static void sched_change(struct gp__node_sched *n, struct gp__link *hold,
			 struct gp__link *release)
{
	struct kfd_sched *s = sched_of(n);
	u64 begun = ktime_get_ns();
	LIST_HEAD(to_hold);
	LIST_HEAD(to_release);
	int r;

	dqm_lock(s->node->dqm);
	link_queues(hold, &to_hold);
	link_queues(release, &to_release);
	r = kfd_preempt_for_scheduler(s->node->dqm, &to_hold, KFD_IOC_PREEMPT_SAVE, &to_release);
	take_results(hold, r);
	take_results(release, r);
	dqm_unlock(s->node->dqm);
	trace_actions(s, hold, true, begun);
	trace_actions(s, release, false, begun);
}

static void sched_saw(struct gp__node_sched *n, const struct gp__node_queue *sq)
{
	trace_kfd_sched_ring(n->id, pid_of(sq), id_of(sq), sq->ring.is_busy, sq->ring.read,
			     sq->ring.write);
}

static const struct gp__node_driver driver = {
	.now = sched_now,
	.alloc = sched_alloc,
	.free = sched_free,
	.begin_reading = sched_begin_reading,
	.end_reading = sched_end_reading,
	.read = kfd_sched_read_user,
	.is_running = sched_is_running,
	.is_away = sched_is_away,
	.waves = sched_waves,
	.change = sched_change,
	.saw = sched_saw,
};

/*
 * Queues
 */

struct gp__ring_place kfd_sched_ring(const struct queue_properties *p)
{
	return (struct gp__ring_place){
		.ring = p->queue_address,
		.bytes = p->queue_size,
		.read_index = (uintptr_t)p->read_ptr,
		.write_index = (uintptr_t)p->write_ptr,
		.kind = p->format == KFD_QUEUE_FORMAT_AQL ? GP__RING_AQL : GP__RING_PM4,
	};
}

static struct gp__node_options options_of(struct queue *q)
{
	struct task_struct *task = q->process->lead_thread;
	/* An administrator's rights are not those of the program whose queue it changes. */
	bool is_own = same_thread_group(current, task);
	u32 asked = gp__node_asked(q->properties.logical_priority, q->properties.priority);
	/* An urgent one was granted when it was given. */
	u32 logical = q->properties.logical_priority & ~KFD_IOC_PRIORITY_SPLIT;

	return (struct gp__node_options){
		.queue = q,
		.program = q->process,
		.pid = task_tgid_nr(task),
		.user = from_kuid(&init_user_ns, task_uid(task)),
		.tag = task->comm,
		.is_given = logical,
		.asked = asked,
		.priority = gp__node_granted(asked, asked <= GP__PRIO_NORMAL ||
						    logical > KFD_NORMAL_PRIORITY + 1 ||
						    (is_own && capable(CAP_SYS_NICE))),
		.own = gp__node_own(q->properties.priority),
		.place = kfd_sched_ring(&q->properties),
	};
}

/* A queue that was removed and did not go after all is not held any more. */
static void release_queue(struct kfd_sched *s, struct queue *q)
{
	LIST_HEAD(none);
	LIST_HEAD(queues);

	dqm_lock(s->node->dqm);
	if (q->is_preempted_by_scheduler) {
		list_add(&q->preempt_link, &queues);
		kfd_preempt_for_scheduler(s->node->dqm, &none, KFD_IOC_PREEMPT_SAVE, &queues);
		list_del_init(&q->preempt_link);
	}
	dqm_unlock(s->node->dqm);
}

bool kfd_sched_schedules(const struct queue *q)
{
	return q->device->sched && q->properties.type == KFD_QUEUE_TYPE_COMPUTE;
}

void kfd_sched_add_queue(struct queue *q)
{
	struct kfd_sched *s = q->device->sched;
	struct gp__node_options o;

	if (!kfd_sched_schedules(q))
		return;

	o = options_of(q);
	mutex_lock(&s->lock);
	release_queue(s, q);
	if (!q->sched)
		q->sched = gp__node_add(&s->sched, &o);
	mutex_unlock(&s->lock);
	kfd_sched_kick(s);
}

/* With the lock. */
static void remove_queue(struct kfd_sched *s, struct gp__node_queue *sq)
{
	((struct queue *)sq->queue)->sched = NULL;
	gp__node_remove(&s->sched, sq);
}

void kfd_sched_remove_queue(struct queue *q)
{
	struct kfd_sched *s = q->device->sched;

	if (!s)
		return;

	mutex_lock(&s->lock);
	if (q->sched)
		remove_queue(s, q->sched);
	mutex_unlock(&s->lock);
	kfd_sched_kick(s);
}

void kfd_sched_queue_updated(struct queue *q)
{
	struct kfd_sched *s = q->device->sched;
	struct gp__node_options o;

	if (!s)
		return;

	o = options_of(q);
	mutex_lock(&s->lock);
	if (q->sched)
		q->sched = gp__node_update(&s->sched, q->sched, &o);
	mutex_unlock(&s->lock);
	kfd_sched_kick(s);
}

void kfd_sched_remove_process(struct kfd_node *node, struct kfd_process *p)
{
	struct kfd_sched *s = node->sched;
	struct gp__node_queue *sq;

	if (!s)
		return;

	mutex_lock(&s->lock);
	while ((sq = gp__node_of_program(&s->sched, p)))
		remove_queue(s, sq);
	mutex_unlock(&s->lock);
	kfd_sched_kick(s);
}

static_assert(KFD_NORMAL_PRIORITY == GP__PRIO_NORMAL);

static const struct kfd_preempt_scheduler preempt_scheduler = {
	.priority_changed = kfd_sched_queue_updated,
};

/*
 * The thread
 */

/* Returns when it is next to be looked at. */
static u64 look_at_node(struct kfd_sched *s)
{
	u64 now, wait;

	mutex_lock(&s->lock);
	now = ktime_get_ns();
	if (xchg(&s->is_kicked, false) || s->due <= now) {
		gp__node_tick(&s->sched);
		wait = gp__node_wait_ns(&s->sched);
		s->due = wait == GP__NEVER ? GP__NEVER : ktime_get_ns() + wait;
	}
	mutex_unlock(&s->lock);

	return s->due;
}

static u64 look_at_nodes(struct kfd_sched_thread *t)
{
	struct kfd_sched *s;
	u64 due = GP__NEVER;

	mutex_lock(&t->lock);
	list_for_each_entry(s, &t->nodes, link)
		due = min(due, look_at_node(s));
	mutex_unlock(&t->lock);

	return due;
}

static ktime_t pause_until(u64 due)
{
	u64 now = ktime_get_ns();

	if (due == GP__NEVER)
		return KTIME_MAX;

	return due > now ? due - now : 0;
}

/* Also when it is kicked: it keeps ordinary threads off its CPU for at most half of the time. */
static void rest_until(u64 end)
{
	u64 us = div_u64(pause_until(end), NSEC_PER_USEC);

	if (us)
		usleep_range_state(us, us + us / 4, TASK_IDLE);
}

static int run_thread(void *data)
{
	struct kfd_sched_thread *t = data;
	u64 due = 0, rested = 0, begin, end;

	while (!kthread_should_stop()) {
		wait_event_interruptible_hrtimeout(t->wait,
						   READ_ONCE(t->is_kicked) || kthread_should_stop(),
						   pause_until(due));
		rest_until(rested);
		begin = ktime_get_ns();
		xchg(&t->is_kicked, false);
		due = look_at_nodes(t);
		end = ktime_get_ns();
		rested = end + min(end - begin, REST_NS_MAX);
		due = max(due, rested);
	}

	return 0;
}

/* It runs before ordinary threads: urgent work waits for it, and so may others for its locks. */
static struct kfd_sched_thread *start_looking(u32 id)
{
	struct kfd_sched_thread *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return NULL;

	init_waitqueue_head(&t->wait);
	mutex_init(&t->lock);
	INIT_LIST_HEAD(&t->nodes);
	t->task = kthread_run(run_thread, t, "kfd_sched_%x", id);
	if (IS_ERR(t->task)) {
		kfree(t);
		return NULL;
	}
	sched_set_fifo_low(t->task);

	return t;
}

/* The first node of a device starts its thread; nodes come and go one after the other. */
static int join_thread(struct kfd_sched *s)
{
	struct kfd_dev *dev = s->node->kfd;

	if (!dev->sched_thread)
		dev->sched_thread = start_looking(s->node->id);
	if (!dev->sched_thread)
		return -ENOMEM;

	s->thread = dev->sched_thread;
	mutex_lock(&s->thread->lock);
	list_add_tail(&s->link, &s->thread->nodes);
	mutex_unlock(&s->thread->lock);

	return 0;
}

static void leave_thread(struct kfd_sched *s)
{
	struct kfd_sched_thread *t = s->thread;

	mutex_lock(&t->lock);
	list_del(&s->link);
	mutex_unlock(&t->lock);
	if (!list_empty(&t->nodes))
		return;

	kthread_stop(t->task);
	s->node->kfd->sched_thread = NULL;
	kfree(t);
}

static void set_paused(struct kfd_node *node, bool is_paused)
{
	struct kfd_sched *s = node->sched;

	if (!s)
		return;

	/* With the lock, so that an action that has begun is done. */
	mutex_lock(&s->lock);
	gp__node_pause(&s->sched, is_paused);
	mutex_unlock(&s->lock);
	kfd_sched_kick(s);
}

void kfd_sched_pause(struct kfd_node *node)
{
	set_paused(node, true);
}

void kfd_sched_continue(struct kfd_node *node)
{
	set_paused(node, false);
}

static void init_scheduler(struct kfd_sched *s, struct kfd_node *node)
{
	struct gp__log_keep log = { .text = kvmalloc(LOG_BYTES, GFP_KERNEL), .room = LOG_BYTES };

	s->node = node;
	if (!log.text)
		dev_warn(node->adev->dev, "No memory for a log of the scheduler\n");
	s->occupancy = kcalloc(AMDGPU_MAX_QUEUES, sizeof(*s->occupancy), GFP_KERNEL);
	mutex_init(&s->lock);
	gp__node_init(&s->sched, &driver, node->id, &log);
}

void kfd_sched_init(struct kfd_node *node)
{
	struct kfd_sched *s;

	if (!kfd_sched)
		return;

	/* To wait for waves, which may never end, would be to reset the device in the end. */
	if (!(kfd_dqm_preempt_types(node->dqm) & BIT(KFD_IOC_PREEMPT_SAVE))) {
		dev_warn(node->adev->dev,
			 "Queues cannot be saved, so they are not scheduled by their priority\n");
		return;
	}

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		goto fail;

	init_scheduler(s, node);
	if (join_thread(s)) {
		kvfree(s->sched.log.text);
		kfree(s->occupancy);
		kfree(s);
		goto fail;
	}
	if (kfd_sched_add_files(s)) {
		kfd_sched_remove_files(s);
		leave_thread(s);
		kfd_sched_put(s);
		goto fail;
	}

	node->sched = s;
	WRITE_ONCE(node->preempt_scheduler, &preempt_scheduler);
	return;

fail:
	dev_warn(node->adev->dev, "Queues are not scheduled by their priority\n");
}

void kfd_sched_fini(struct kfd_node *node)
{
	struct kfd_sched *s = node->sched;

	if (!s)
		return;

	WRITE_ONCE(node->preempt_scheduler, NULL);
	node->sched = NULL;
	kfd_sched_remove_files(s);
	leave_thread(s);
	while (!gp__list_empty(&s->sched.groups)) {
		struct gp__node_group *g =
			container_of(s->sched.groups.next, struct gp__node_group, link);

		remove_queue(s, gp__node_of_program(&s->sched, g->program));
	}
	kfd_sched_put(s);
}
