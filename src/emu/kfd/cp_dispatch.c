// SPDX-License-Identifier: MIT
/* Dispatches: from packets to jobs of the compute engine, and their completion. */
#include "emu/kfd/cp.h"

#include "emu/kfd/node.h"
#include "emu/kfd/report.h"

#include <errno.h>
#include <stdlib.h>

#define RUNNING_MAX 64 /* dispatches of a queue at a time */

struct emu_dispatch {
	struct emu_job *job; /* the compute engine's part, in @memory */
	struct emu_dispatch *next_done; /* in the node's list of finished ones */
	struct emu_dispatch *next; /* in its queue's list */
	struct emu_queue *queue;
	uint64_t signal;
	uint64_t order; /* its number in the queue */
	int result;
	bool once; /* its scratch is not shared */
	bool keeps_slot;
	_Alignas(max_align_t) unsigned char memory[];
};

/* Called by a thread of the compute engine. */
static void dispatch_done(struct emu_job *job, int result)
{
	struct emu_dispatch *d = job->owner;
	struct emu_node *n = d->queue->node;

	d->result = result;
	d->next_done = atomic_load(&n->done);
	while (!atomic_compare_exchange_weak(&n->done, &d->next_done, d))
		;
	emu_node_wake(n);
}

/* Checks that do not need the kernel descriptor: 0, or an exception code. */
static uint32_t check_dispatch(const struct emu_engine *engine, const struct aql_dispatch *p)
{
	uint32_t items = (uint32_t)p->group[0] * p->group[1], dims = p->setup & 3;
	uint64_t groups = 1;

	for (int i = 0; i < 3; i++) {
		if (!dims || !p->grid[i] || !p->group[i])
			return GP_KFD_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID;
		if (__builtin_mul_overflow(groups, (p->grid[i] - 1) / p->group[i] + 1, &groups))
			return GP_KFD_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID;
	}
	if ((uint64_t)items * p->group[2] > engine->group_items)
		return GP_KFD_EC_QUEUE_PACKET_DISPATCH_WORK_GROUP_SIZE_INVALID;
	if (p->group_bytes > engine->group_lds_bytes)
		return GP_KFD_EC_QUEUE_PACKET_DISPATCH_GROUP_SEGMENT_SIZE_INVALID;
	if (!p->kernel_object)
		return GP_KFD_EC_QUEUE_PACKET_DISPATCH_CODE_INVALID;
	return 0;
}

/* False: running dispatches still use the previous scratch. */
static bool set_scratch(struct emu_queue *q, const struct cp_scratch *s)
{
	struct emu_hw_queue *hw = q->hw;
	uint64_t waves = s->wave_bytes ? s->waves : 0;

	if (waves > q->node->engine->scratch_waves)
		waves = q->node->engine->scratch_waves;
	if (hw->scratch_base == s->base && hw->scratch_wave_bytes == s->wave_bytes &&
	    hw->scratch_waves == waves)
		return true;
	if (q->nr_running)
		return false;
	hw->scratch_base = s->base;
	hw->scratch_wave_bytes = s->wave_bytes;
	hw->scratch_waves = (uint32_t)waves;
	return true;
}

/* The scratch that the runtime has set up, limited to the memory it gave. */
static struct cp_scratch aql_scratch(const struct emu_queue *q, const struct aql_queue *state)
{
	struct cp_scratch s = {
		.base = state->scratch_base,
		.waves = (uint64_t)AQL_TMPRING_WAVES(state->tmpring) * q->node->m->config.nr_xccs,
		.wave_bytes = AQL_TMPRING_WAVE_BYTES(state->tmpring),
	};

	if (s.wave_bytes && s.waves > state->scratch_bytes / s.wave_bytes)
		s.waves = state->scratch_bytes / s.wave_bytes;
	return s;
}

static struct emu_dispatch *new_dispatch(struct emu_queue *q)
{
	struct emu_dispatch *d = calloc(1, sizeof(*d) + q->node->engine->job_bytes);

	if (!d)
		return NULL;
	d->queue = q;
	d->job = (struct emu_job *)d->memory;
	d->job->owner = d;
	d->job->done = dispatch_done;
	return d;
}

static void fill_dispatch(struct emu_dispatch *d, const struct aql_dispatch *p, uint64_t va,
			  const struct aql_queue *state)
{
	const struct emu_queue *q = d->queue;

	d->signal = p->signal;
	d->job->launch = (struct emu_launch){
		.kernel_object = p->kernel_object,
		.kernarg = p->kernarg,
		.packet = va,
		.queue_ptr = q->read_pointer - state->offset,
		.id = q->rptr,
		.grid = { p->grid[0], p->grid[1], p->grid[2] },
		.group = { p->group[0], p->group[1], p->group[2] },
		.lds_bytes = p->group_bytes,
		.scratch_bytes = p->private_bytes,
	};
}

/* Handles the result of job_init(). */
static enum cp_step judge_job(struct emu_queue *q, const struct emu_dispatch *d, int err)
{
	switch (err) {
	case 0:
		return CP_STEP_DONE;
	case -ENOMEM:
		return CP_STEP_WAITS;
	case -EFAULT:
		emu_queue_fault(q, d->job->launch.kernel_object, false);
		return CP_STEP_IDLE;
	case -ENOSPC:
		if (q->type == GP_KFD_QUEUE_COMPUTE)
			return cp_refuse(q, GP_KFD_EC_QUEUE_PACKET_DISPATCH_REGISTER_INVALID);
		/* The runtime replaces memory that running dispatches may be using. */
		if (q->nr_running)
			return CP_STEP_IDLE;
		aql_stop(q, AQL_ERROR_SCRATCH);
		return CP_STEP_WAITS;
	case -E2BIG:
		return cp_refuse(q, GP_KFD_EC_QUEUE_PACKET_DISPATCH_REGISTER_INVALID);
	default:
		return cp_refuse(q, GP_KFD_EC_QUEUE_PACKET_DISPATCH_CODE_INVALID);
	}
}

/* The dispatch that --fault hang_queue selects: only a reset removes its waves. */
static bool is_to_hang(struct emu_node *n)
{
	uint32_t after = n->m->config.faults.hang_queue;

	return after && n->dispatches++ == after;
}

static void hand_over(struct emu_queue *q, struct emu_dispatch *d)
{
	struct cp *c = q->processor;

	d->order = c->nr_dispatched++;
	d->next = c->dispatches;
	c->dispatches = d;
	c->once = d->once;
	q->nr_running++;
	d->job->hangs = is_to_hang(q->node);
	q->hangs |= d->job->hangs;
	q->node->engine->job_dispatch(q->node->gpu, d->job);
}

enum cp_step aql_dispatch(struct emu_queue *q, union aql_packet *packet,
			  const struct aql_dispatch *p, uint64_t va)
{
	struct aql_queue state = { 0 };
	uint32_t code = check_dispatch(q->node->engine, p);
	struct cp_scratch scratch;
	struct emu_dispatch *d;
	enum cp_step step;

	if (code)
		return cp_refuse(q, code);
	if (q->nr_running >= RUNNING_MAX)
		return CP_STEP_IDLE;
	if (!aql_read_queue(q, &state)) {
		if (q->stopped_by_error)
			return CP_STEP_IDLE;
		state = (struct aql_queue){ 0 };
	}
	scratch = aql_scratch(q, &state);
	if (!set_scratch(q, &scratch))
		return CP_STEP_IDLE;
	d = new_dispatch(q);
	if (!d)
		return CP_STEP_WAITS;
	fill_dispatch(d, p, va, &state);
	step = judge_job(q, d, q->node->engine->job_init(d->job, q->hw));
	d->keeps_slot = emu_chance(q->node->m, q->node->m->config.faults.late_slot);
	if (step == CP_STEP_DONE && d->keeps_slot)
		aql_keep(q);
	else if (step == CP_STEP_DONE)
		step = aql_consume(q, packet);
	if (step != CP_STEP_DONE) {
		free(d);
		return step;
	}
	d->once = d->job->launch.scratch_bytes && state.properties & AQL_PROPERTY_SCRATCH_ONCE;
	hand_over(q, d);
	return CP_STEP_DONE;
}

enum cp_step cp_dispatch_registers(struct emu_queue *q, const struct emu_launch *launch,
				   const struct emu_launch_registers *registers,
				   const struct cp_scratch *scratch)
{
	struct emu_dispatch *d;
	enum cp_step step;

	if (q->nr_running >= RUNNING_MAX || !set_scratch(q, scratch))
		return CP_STEP_IDLE;
	d = new_dispatch(q);
	if (!d)
		return CP_STEP_WAITS;
	d->job->launch = *launch;
	step = judge_job(q, d, q->node->engine->job_init_registers(d->job, q->hw, registers));
	if (step == CP_STEP_DONE)
		hand_over(q, d);
	else
		free(d);
	return step;
}

/*
 * Finished jobs
 */

static void unlink_dispatch(struct emu_dispatch *d)
{
	struct cp *c = d->queue->processor;
	struct emu_dispatch **link = &c->dispatches;

	while (*link != d)
		link = &(*link)->next;
	*link = d->next;
}

/* The queue does not continue: a failed dispatch never completes. */
static void dispatch_failed(struct emu_queue *q, const struct emu_job *job)
{
	struct cp *c = q->processor;
	struct emu_failure f;

	c->broken = true;
	q->node->engine->job_failure(job, &f);
	switch (f.type) {
	case EMU_FAILURE_FAULT:
		emu_queue_fault(q, f.address, f.write);
		break;
	case EMU_FAILURE_ILLEGAL:
		emu_report_illegal(q, &f);
		emu_queue_error(q, GP_KFD_EC_QUEUE_WAVE_ILLEGAL_INSTRUCTION);
		aql_stop(q, AQL_ERROR_ILLEGAL);
		break;
	default:
		emu_queue_error(q, GP_KFD_EC_QUEUE_PREEMPTION_ERROR);
		aql_stop(q, AQL_ERROR_EXCEPTION);
	}
}

uint64_t cp_nr_ended(const struct cp *c)
{
	uint64_t first = c->nr_dispatched;

	for (const struct emu_dispatch *d = c->dispatches; d; d = d->next) {
		if (d->order < first)
			first = d->order;
	}
	return first;
}

uint64_t cp_first_kept(const struct emu_queue *q)
{
	const struct cp *c = q->processor;
	uint64_t first = q->rptr;

	for (const struct emu_dispatch *d = c->dispatches; d; d = d->next) {
		if (d->keeps_slot && d->job->launch.id < first)
			first = d->job->launch.id;
	}
	return first;
}

/*
 * The packet of a dispatch that was reset is still in the ring. Hardware does not promise that the
 * queue continues behind it, nor that the read index is updated before another packet begins.
 */
static void free_slot(struct emu_queue *q, const struct emu_dispatch *d)
{
	struct emu_machine *m = q->node->m;

	if (d->result != -ECANCELED)
		aql_free(q, d->job->launch.packet);
	else if (d->job->launch.id + 1 == q->rptr && emu_chance(m, m->config.faults.late_slot))
		q->rptr--;
}

static void dispatch_ended(struct emu_dispatch *d)
{
	struct emu_queue *q = d->queue;
	struct cp *c = q->processor;

	unlink_dispatch(d);
	q->nr_running--;
	if (d->result == 0)
		aql_complete(q, d->signal, d->job->started_ns / EMU_TICK_NS,
			     d->job->ended_ns / EMU_TICK_NS);
	else
		pm4_dispatch_lost(q, d->order);
	/* After the signal: hardware frees the slot later, too. */
	if (d->keeps_slot)
		free_slot(q, d);
	if (d->result && d->result != -ECANCELED)
		dispatch_failed(q, d->job);
	if (d->once) {
		c->once = false;
		c->reclaim = true;
		aql_stop(q, AQL_ERROR_SCRATCH_RECLAIM);
	}
	free(d);
	pm4_dispatch_ended(q);
}

void emu_cp_complete(struct emu_node *n, struct emu_look *look)
{
	struct emu_dispatch *list = atomic_exchange(&n->done, NULL), *in_order = NULL;

	while (list) {
		struct emu_dispatch *d = list;

		list = d->next_done;
		d->next_done = in_order;
		in_order = d;
	}
	while (in_order) {
		struct emu_dispatch *d = in_order;

		in_order = d->next_done;
		dispatch_ended(d);
		look->busy = true;
	}
}

void cp_drop_dispatches(struct cp *c)
{
	while (c->dispatches) {
		struct emu_dispatch *d = c->dispatches;

		c->dispatches = d->next;
		free(d);
	}
}
