// SPDX-License-Identifier: MIT
/*
 * The scheduler below the driver, and the driver's part of it. The hardware scheduler maps and
 * unmaps all queues at once: a change of one queue interrupts all queues of the node. MES, and the
 * driver where no firmware schedules, map and unmap queues one by one.
 */
#include "emu/kfd/queue.h"

#include "base/clock.h"
#include "emu/kfd/node.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* The time slice, where there are more queues than slots. */
#define SLICE_NS 20000000
#define RESET_TIMEOUT_NS (10 * GP__S)

int emu_pipe_priority(uint32_t priority)
{
	if (priority < 7)
		return 0;
	return priority < 11 ? 1 : 2;
}

uint32_t emu_sched_timeout_ms(const struct emu_config *config)
{
	static const uint32_t ms[] = {
		[EMU_SCHED_HWS] = EMU_PREEMPT_TIMEOUT_MS,
		[EMU_SCHED_MES] = 2100,
		[EMU_SCHED_NONE] = 4000,
	};

	return config->preempt_timeout_ms ? config->preempt_timeout_ms : ms[config->sched];
}

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = gp__timespec(ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

/*
 * Unmapping
 */

/* The queue is no longer processed, and its waves begin to leave. With the front end's lock. */
static void begin_to_leave(struct emu_queue *q, enum emu_stop_type how)
{
	q->mapped = false;
	q->node->nr_mapped--;
	if (!emu_queue_is_sdma(q))
		q->node->engine->queue_stop(q->node->gpu, q->hw, how);
}

/* Which queues are unmapped together. */
struct change {
	const struct emu_queue *queue; /* it changes; NULL: only those that may no longer run */
	bool all;
};

static bool leaves(const struct emu_queue *q, struct change c)
{
	return c.all || q->node->m->config.sched == EMU_SCHED_HWS || q == c.queue || !q->active;
}

/* Removes the queues that leave from the list of mapped ones, in their order. */
static struct emu_queue *take_leaving(struct emu_node *n, struct change c)
{
	struct emu_queue *leaving = NULL, **last = &leaving, **link = &n->mapped, *q;

	while ((q = *link)) {
		if (!leaves(q, c)) {
			link = &q->next_in_turn;
			continue;
		}
		*link = q->next_in_turn;
		q->next_in_turn = NULL;
		*last = q;
		last = &q->next_in_turn;
	}
	return leaving;
}

static void begin_to_leave_all(struct emu_node *n, struct change c, bool reset,
			       struct emu_queue **leaving)
{
	struct emu_queue *q;

	emu_node_enter(n);
	*leaving = take_leaving(n, c);
	n->unmapped = NULL;
	for (q = *leaving; q; q = q->next_in_turn) {
		enum emu_stop_type how = q->stop_as ? q->stop_as : EMU_STOP_SAVE;

		/* A hanging queue does not react to a reset request, either. */
		if (q->hangs && how == EMU_STOP_RESET)
			how = EMU_STOP_SAVE;
		begin_to_leave(q, reset || atomic_load(&n->m->quit) ? EMU_STOP_RESET : how);
	}
	emu_node_leave(n);
}

/*
 * Waves did not drain in time: they are saved instead, if that is possible, so that nothing is
 * lost.
 */
static int save_instead(struct emu_queue *q)
{
	const struct emu_engine *engine = q->node->engine;
	struct emu_gpu *gpu = q->node->gpu;
	int err = -ETIME;

	if (q->stop_as == EMU_STOP_DRAIN &&
	    engine->queue_stop(gpu, q->hw, EMU_STOP_SAVE) == EMU_STOP_SAVE)
		err = engine->queue_wait(gpu, q->hw, RESET_TIMEOUT_NS);
	q->not_drained = err != -ETIME;
	return err;
}

/*
 * Resets a hung queue, since 6.12: its waves are dropped, it never runs again, and its process is
 * notified. Other queues are not affected.
 */
static int reset_queue(struct emu_queue *q)
{
	struct emu_node *n = q->node;
	int err;

	if (emu_is_6_1(n->m) || atomic_load(&n->hung))
		return -ETIME;
	n->engine->queue_stop(n->gpu, q->hw, EMU_STOP_RESET);
	err = n->engine->queue_wait(n->gpu, q->hw, RESET_TIMEOUT_NS);
	if (err == -ETIME)
		return err;
	q->held |= EMU_HELD_RESET;
	emu_sched_judge(q);
	q->process->node[n->index].reset = true;
	emu_event_reset(q->process, n->gpu_id);
	return 0;
}

/* A job that was lost has failed, and is reported to its queue as any failed job. */
static int wait_to_leave(struct emu_queue *q, uint64_t deadline)
{
	struct emu_node *n = q->node;
	uint64_t now = gp__clock_ns();
	int err;

	if (emu_queue_is_sdma(q))
		return 0;
	err = n->engine->queue_wait(n->gpu, q->hw, now < deadline ? deadline - now : 0);
	if (err == -ETIME)
		err = save_instead(q);
	if (err == -ETIME)
		err = reset_queue(q);
	if (err == -ETIME)
		return err;
	n->engine->queue_unmap(n->gpu, q->hw);
	return 0;
}

/* Puts queues back that did not leave, until the node is reset. */
static void is_hung(struct emu_node *n, struct emu_queue *left)
{
	struct emu_queue **last = &n->mapped;

	emu_node_enter(n);
	while (*last)
		last = &(*last)->next_in_turn;
	*last = left;
	for (; left; left = left->next_in_turn) {
		left->mapped = true;
		n->nr_mapped++;
	}
	emu_node_leave(n);
	emu_node_reset(n);
}

static int wait_for_all(struct emu_node *n, struct emu_queue *leaving, uint64_t deadline)
{
	struct emu_look look = { 0 };
	int err = 0;

	for (; leaving; leaving = leaving->next_in_turn) {
		err = wait_to_leave(leaving, deadline);
		if (err)
			break;
		leaving->nr_preemptions++;
		leaving->stop_as = EMU_STOP_NONE;
		atomic_fetch_add(&n->nr_unmaps, 1);
	}
	/* Finished jobs are processed before the caller learns that all queues are unmapped. */
	emu_node_enter(n);
	emu_cp_complete(n, &look);
	emu_node_leave(n);
	if (err)
		is_hung(n, leaving);
	return err;
}

static bool any_leaves(const struct emu_node *n, struct change c)
{
	const struct emu_queue *q = n->mapped;

	while (q && !leaves(q, c))
		q = q->next_in_turn;
	return q;
}

static int unmap(struct emu_node *n, struct change c, uint64_t timeout_ns)
{
	const struct emu_faults *faults = &n->m->config.faults;
	uint64_t least = emu_sched_timeout_ms(&n->m->config) * GP__MS, start = gp__clock_ns();
	struct emu_queue *leaving;

	if (atomic_load(&n->hung))
		return -EIO;
	if (!any_leaves(n, c)) {
		emu_node_enter(n);
		n->unmapped = NULL;
		emu_node_leave(n);
		return 0;
	}
	if (timeout_ns < least)
		timeout_ns = least;
	if (faults->preempt_timeout && emu_chance(n->m, faults->preempt_timeout)) {
		sleep_ns(timeout_ns);
		emu_node_reset(n);
		return -ETIME;
	}
	begin_to_leave_all(n, c, false, &leaving);
	if (faults->preempt_slow_ns)
		sleep_ns(faults->preempt_slow_ns);
	return wait_for_all(n, leaving, start + timeout_ns);
}

int emu_sched_unmap(struct emu_node *n, uint64_t timeout_ns)
{
	return unmap(n, (struct change){ .all = true }, timeout_ns);
}

int emu_sched_unmap_queue(struct emu_queue *q)
{
	return unmap(q->node, (struct change){ .queue = q }, 0);
}

/*
 * Mapping
 */

static void map(struct emu_queue *q, struct emu_queue ***last)
{
	struct emu_node *n = q->node;

	q->mapped = true;
	q->mapped_since = emu_node_clock(n);
	n->nr_mapped++;
	q->next_in_turn = NULL;
	**last = q;
	*last = &q->next_in_turn;
	emu_cp_map(q);
	atomic_fetch_add(&n->nr_maps, 1);
	if (emu_queue_is_sdma(q))
		return;
	q->hw->priority = emu_pipe_priority(q->priority);
	q->hw->debug = q->process->node[n->index].waves;
	memcpy(q->hw->cu_mask, q->cu_mask, sizeof(q->cu_mask));
	n->engine->queue_map(n->gpu, q->hw);
}

/* The slots that no mapped queue has; DMA queues have others. */
static uint32_t free_slots(const struct emu_node *n)
{
	uint32_t slots = EMU_CP_QUEUES;

	for (const struct emu_queue *q = n->queues; q; q = q->next)
		slots -= q->mapped && !emu_queue_is_sdma(q);
	return slots;
}

/* DMA queues keep their slot for life. */
void emu_sched_map(struct emu_node *n)
{
	struct emu_queue **last, **last_unmapped;
	uint32_t slots;

	if (atomic_load(&n->hung))
		return;
	emu_node_enter(n);
	slots = free_slots(n);
	last = &n->mapped;
	while (*last)
		last = &(*last)->next_in_turn;
	last_unmapped = &n->unmapped;
	*last_unmapped = NULL;
	for (struct emu_queue *q = n->queues; q; q = q->next) {
		if (!q->active || q->mapped)
			continue;
		if (emu_queue_is_sdma(q) || slots) {
			slots -= !emu_queue_is_sdma(q);
			map(q, &last);
			continue;
		}
		q->next_in_turn = NULL;
		*last_unmapped = q;
		last_unmapped = &q->next_in_turn;
	}
	atomic_store(&n->slice_end, n->unmapped ? gp__clock_ns() + SLICE_NS : 0);
	atomic_store(&n->slice_wanted, false);
	emu_node_leave(n);
	emu_node_wake(n);
}

static int run_list(struct emu_node *n, uint64_t timeout_ns)
{
	int err = unmap(n, (struct change){ 0 }, timeout_ns);

	atomic_fetch_add(&n->nr_run_lists, 1);
	if (!err)
		emu_sched_map(n);
	return err;
}

/*
 * Which queues may run
 */

void emu_sched_judge(struct emu_queue *q)
{
	bool active = q->ring && q->ring_size && q->percentage && !q->held;

	if (q->active == active)
		return;
	q->active = active;
	if (active) {
		q->node->nr_active++;
		if (q->held_since)
			q->held_ns += gp__clock_ns() - q->held_since;
		q->held_since = 0;
	} else {
		q->node->nr_active--;
		q->held_since = gp__clock_ns();
	}
}

static void append(struct emu_node *n, struct emu_queue *q)
{
	struct emu_queue **link = &n->queues;

	while (*link)
		link = &(*link)->next;
	q->next = NULL;
	*link = q;
}

static void unlink_queue(struct emu_queue *q)
{
	struct emu_queue **link = &q->node->queues;

	while (*link != q)
		link = &(*link)->next;
	*link = q->next;
}

/* Removes a queue from the list of unmapped ones. */
static void stop_waiting(struct emu_queue *q)
{
	struct emu_queue **link = &q->node->unmapped;

	emu_node_enter(q->node);
	while (*link && *link != q)
		link = &(*link)->next_in_turn;
	if (*link)
		*link = q->next_in_turn;
	emu_node_leave(q->node);
}

/* Without a scheduler in firmware a queue has a slot for life, whether it is active or not. */
static bool has_slot_for_life(const struct emu_queue *added)
{
	uint32_t slots = EMU_CP_QUEUES;

	for (const struct emu_queue *q = added->node->queues; q; q = q->next)
		slots -= !emu_queue_is_sdma(q);
	return slots || emu_queue_is_sdma(added);
}

int emu_sched_add(struct emu_queue *q)
{
	struct emu_node *n = q->node;
	int err = 0;

	if (n->m->config.sched == EMU_SCHED_NONE && !has_slot_for_life(q))
		return -EBUSY;
	if (q->process->node[n->index].evicted)
		q->held |= EMU_HELD_EVICTED;
	append(n, q);
	n->nr_queues++;
	emu_sched_judge(q);
	if (q->active)
		err = run_list(n, 0);
	if (err)
		emu_sched_remove(q);
	return err;
}

/*
 * Its waves are dropped. If that fails, the node is being reset, which drops them: the queue must
 * exist until then.
 */
int emu_sched_remove(struct emu_queue *q)
{
	struct emu_node *n = q->node;
	int err = 0;

	q->held |= EMU_HELD_DESTROYED;
	emu_sched_judge(q);
	if (q->mapped) {
		q->stop_as = EMU_STOP_RESET;
		err = run_list(n, 0);
	}
	while (q->mapped) {
		pthread_mutex_unlock(&n->lock);
		emu_node_wake(n);
		sleep_ns(1000000);
		pthread_mutex_lock(&n->lock);
	}
	stop_waiting(q);
	unlink_queue(q);
	n->nr_queues--;
	return err;
}

/* True: one of them was active. */
static bool mark_held(struct emu_queue **q, uint32_t nr, uint32_t why, enum emu_stop_type how)
{
	bool any = false;

	for (uint32_t i = 0; i < nr; i++) {
		q[i]->held |= why;
		q[i]->not_drained = false;
		any |= q[i]->active;
		if (q[i]->mapped)
			q[i]->stop_as = how;
		emu_sched_judge(q[i]);
	}
	return any;
}

/* True: one of them is active. */
static bool mark_released(struct emu_queue **q, uint32_t nr, uint32_t why)
{
	bool any = false;

	for (uint32_t i = 0; i < nr; i++) {
		q[i]->held &= ~why;
		emu_sched_judge(q[i]);
		any |= q[i]->active;
	}
	return any;
}

int emu_sched_hold(struct emu_node *n, struct emu_queue **q, uint32_t nr, uint32_t why,
		   enum emu_stop_type how, uint64_t timeout_ns)
{
	int err = mark_held(q, nr, why, how) ? run_list(n, timeout_ns) : 0;

	for (uint32_t i = 0; i < nr && !err; i++)
		err = q[i]->not_drained ? -ETIME : 0;
	return err;
}

int emu_sched_release(struct emu_node *n, struct emu_queue **q, uint32_t nr, uint32_t why)
{
	return mark_released(q, nr, why) ? run_list(n, 0) : 0;
}

int emu_sched_change(struct emu_node *n, struct emu_queue **q, uint32_t nr_hold,
		     uint32_t nr_release, uint32_t why, enum emu_stop_type how)
{
	bool held = mark_held(q, nr_hold, why, how);
	bool released = mark_released(q + nr_hold, nr_release, why);

	return held || released ? run_list(n, 0) : 0;
}

/* Marks its queues as evicted. False: none was active. */
static bool evict(struct emu_node *n, struct emu_process *p)
{
	bool any = false;

	p->node[n->index].evicted = true;
	for (struct emu_queue *q = n->queues; q; q = q->next) {
		if (q->process != p)
			continue;
		q->held |= EMU_HELD_EVICTED;
		any |= q->active;
		emu_sched_judge(q);
	}
	return any;
}

int emu_sched_evict(struct emu_node *n, struct emu_process *p)
{
	return evict(n, p) ? run_list(n, 0) : 0;
}

/*
 * Work that the front end defers
 */

/*
 * Like the driver: first the queues stop, then the program is notified; unless a debugger is, which
 * may let the violation take its course later.
 */
static void tell_of_fault(struct emu_queue *q, const struct emu_trouble *t)
{
	struct gp_kfd_memory_exception data = {
		.not_present = !t->read_only,
		.read_only = t->read_only,
		.va = t->address & ~(uint64_t)4095,
		.gpu_id = q->node->gpu_id,
	};

	if (!emu_debug_raise_node(q->process, q->node->index,
				  GP_KFD_EC_MASK(GP_KFD_EC_DEVICE_MEMORY_VIOLATION), &data)) {
		emu_sched_evict(q->node, q->process);
		emu_event_memory(q->process, &data);
	}
	emu_smi_vmfault(q->node, q->process);
}

static void tend_traps(struct emu_queue *q)
{
	uint32_t mask = atomic_exchange(&q->trap_exceptions, 0);

	if (mask && !emu_debug_report(q, mask))
		emu_event_interrupt(q->process, atomic_load(&q->trap_event));
}

static void tend_queue(struct emu_queue *q)
{
	struct emu_trouble t;

	emu_node_enter(q->node);
	t = q->trouble;
	q->trouble = (struct emu_trouble){ 0 };
	emu_node_leave(q->node);
	if (t.exceptions)
		emu_debug_report(q, t.exceptions);
	if (t.faulted)
		tell_of_fault(q, &t);
}

static bool has_queue(const struct emu_node *n, const struct emu_process *p)
{
	const struct emu_queue *q = n->queues;

	while (q && q->process != p)
		q = q->next;
	return q;
}

/*
 * Every process is notified of a reset, whether it used this GPU or not, and gets no queues there
 * again: it could not trust its memory.
 */
static void tell_of_reset(struct emu_node *n, bool was_hung)
{
	struct emu_machine *m = n->m;

	pthread_mutex_lock(&m->lock);
	for (struct emu_process *p = m->processes; p; p = p->next) {
		if (!p->refs)
			continue; /* it is ending */
		if (was_hung && has_queue(n, p))
			p->node[n->index].reset = true;
		evict(n, p);
		emu_smi_eviction(n, p, GP_KFD_EVICTION_SUSPEND);
		emu_event_reset(p, n->gpu_id);
	}
	pthread_mutex_unlock(&m->lock);
}

/* All work on the node is lost. */
static void reset(struct emu_node *n, bool was_hung)
{
	struct emu_queue *leaving;

	emu_smi_reset(n, was_hung ? "HWS hang" : "user trigger");
	atomic_store(&n->hung, true);
	begin_to_leave_all(n, (struct change){ .all = true }, true, &leaving);
	for (struct emu_queue *q = leaving; q; q = q->next_in_turn)
		q->stop_as = EMU_STOP_NONE;
	if (wait_for_all(n, leaving, gp__clock_ns() + RESET_TIMEOUT_NS))
		return; /* retried */
	tell_of_reset(n, was_hung);
	atomic_fetch_add(&n->nr_resets, 1);
	atomic_store(&n->hung, false);
	emu_smi_reset(n, NULL);
}

/* Queues that had a slot go to the end of the list, in their order. */
static void rotate(struct emu_node *n)
{
	struct emu_queue *had = NULL, **last_had = &had, **link = &n->queues, *q;

	while ((q = *link)) {
		if (!q->mapped || emu_queue_is_sdma(q)) {
			link = &q->next;
			continue;
		}
		*link = q->next;
		*last_had = q;
		last_had = &q->next;
	}
	*last_had = NULL;
	*link = had;
	if (!emu_sched_unmap(n, 0))
		emu_sched_map(n);
}

static bool slice_is_over(struct emu_node *n, uint64_t now)
{
	uint64_t end = atomic_load(&n->slice_end);

	return end && now >= end && atomic_load(&n->slice_wanted);
}

void emu_sched_tend(struct emu_node *n)
{
	uint64_t now = gp__clock_ns();
	bool due = n->reset_at && now >= n->reset_at;

	if (!due && !atomic_load(&n->hung) && !atomic_load(&n->troubled) && !slice_is_over(n, now))
		return;
	pthread_mutex_lock(&n->lock);
	if (due)
		n->reset_at = 0;
	if (atomic_exchange(&n->troubled, false)) {
		for (struct emu_queue *q = n->queues; q; q = q->next) {
			tend_traps(q);
			tend_queue(q);
		}
	}
	if (due || atomic_load(&n->hung))
		reset(n, atomic_load(&n->hung));
	if (slice_is_over(n, gp__clock_ns()))
		rotate(n);
	pthread_mutex_unlock(&n->lock);
}
