// SPDX-License-Identifier: MIT
/*
 * The packet processor: turns packets of compute queues, in order, into jobs of the compute engine
 * and writes to signals. AQL packets are here, PM4 packets in pm4.c.
 *
 * A packet is consumed when its job is dispatched. Several jobs of a queue run at a time, unless a
 * packet has its barrier bit set. The thread that ends a job puts it on the node's list, and the
 * front end writes its signal. So a queue that loses its slot between two packets has no packet
 * half processed, and a packet that waits is simply retried.
 */
#include "emu/kfd/cp.h"

#include "emu/kfd/node.h"
#include "emu/kfd/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PACKETS_IN_TURN 32

/*
 * Packets that only wait for signals
 */

/* A dependency that was satisfied once stays satisfied: its signal may be reused. */
static bool look_at_dependencies(struct emu_queue *q, const struct aql_barrier *b, bool any)
{
	struct cp *c = q->processor;
	uint32_t wanted = 0;

	for (unsigned int i = 0; i < AQL_DEPENDENCIES; i++) {
		_Atomic uint64_t *value;

		if (!b->dependency[i])
			continue;
		wanted |= 1u << i;
		if (c->satisfied & 1u << i)
			continue;
		value = emu_queue_word(q, b->dependency[i] + AQL_SIGNAL_VALUE, false);
		if (!value) {
			emu_queue_fault(q, b->dependency[i], false);
			return false;
		}
		if (!atomic_load(value))
			c->satisfied |= 1u << i;
	}
	if (any)
		return !wanted || c->satisfied;
	return c->satisfied == wanted;
}

static enum cp_step barrier(struct emu_queue *q, union aql_packet *packet,
			    const struct aql_barrier *b)
{
	bool any = AQL_TYPE(b->header) == AQL_BARRIER_OR;

	if (!look_at_dependencies(q, b, any))
		return CP_STEP_WAITS;
	return aql_consume_at_once(q, packet, b->signal);
}

static bool compare(int64_t a, uint32_t condition, int64_t b)
{
	switch (condition) {
	case AQL_EQ:
		return a == b;
	case AQL_NE:
		return a != b;
	case AQL_LT:
		return a < b;
	default:
		return a >= b;
	}
}

static enum cp_step barrier_value(struct emu_queue *q, union aql_packet *packet,
				  const struct aql_barrier_value *b)
{
	_Atomic uint64_t *value;

	if (b->condition > AQL_GE)
		return cp_refuse(q, GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED);
	if (!b->dependency)
		return aql_consume_at_once(q, packet, b->signal);
	value = emu_queue_word(q, b->dependency + AQL_SIGNAL_VALUE, false);
	if (!value) {
		emu_queue_fault(q, b->dependency, false);
		return CP_STEP_IDLE;
	}
	if (!compare((int64_t)atomic_load(value) & b->mask, b->condition, b->value))
		return CP_STEP_WAITS;
	return aql_consume_at_once(q, packet, b->signal);
}

/* PM4 in a vendor packet. The packet is consumed when all of it is done. */
static enum cp_step pm4_ib(struct emu_queue *q, union aql_packet *packet,
			   const struct aql_pm4_ib *p)
{
	struct cp *c = q->processor;

	if (!c->in_ib) {
		if (PM4_OPCODE(p->jump[0]) != PM4_INDIRECT_BUFFER)
			return cp_refuse(q, GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED);
		pm4_begin_ib(q, p->jump);
		c->in_ib = true;
	}
	if (c->pm4.ib_dwords)
		return pm4_step_ib(q);
	c->in_ib = false;
	return aql_consume_at_once(q, packet, p->signal);
}

/*
 * A turn of a queue
 */

static enum cp_step vendor(struct emu_queue *q, union aql_packet *packet,
			   const union aql_packet *copy)
{
	switch (copy->barrier_value.format) {
	case AQL_VENDOR_PM4_IB:
		return pm4_ib(q, packet, &copy->pm4_ib);
	case AQL_VENDOR_BARRIER_VALUE:
		return barrier_value(q, packet, &copy->barrier_value);
	default:
		return cp_refuse(q, GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED);
	}
}

static enum cp_step process(struct emu_queue *q, union aql_packet *packet, uint64_t va)
{
	uint16_t header = atomic_load((_Atomic uint16_t *)&packet->header);
	union aql_packet copy;

	if (AQL_TYPE(header) == AQL_INVALID)
		return CP_STEP_WAITS;
	if (header & AQL_BARRIER && q->nr_running)
		return CP_STEP_IDLE;
	memcpy(&copy, packet, sizeof(copy));
	copy.header = header;
	switch (AQL_TYPE(header)) {
	case AQL_KERNEL_DISPATCH:
		return aql_dispatch(q, packet, &copy.dispatch, va);
	case AQL_BARRIER_AND:
	case AQL_BARRIER_OR:
		return barrier(q, packet, &copy.barrier);
	case AQL_VENDOR:
		return vendor(q, packet, &copy);
	default:
		return cp_refuse(q, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED);
	}
}

/* Every slot is kept by a running dispatch: the slot of the next packet is not free. */
static bool is_full(const struct emu_queue *q)
{
	return q->rptr - cp_first_kept(q) >= q->ring_size / AQL_PACKET_BYTES;
}

/* The write index says how many packets there are, whatever value the doorbell had. */
static bool has_packets(struct emu_queue *q)
{
	_Atomic uint64_t *index = emu_queue_word(q, q->write_pointer, false);

	if (!index) {
		emu_queue_fault(q, q->write_pointer, false);
		return false;
	}
	return (int64_t)(atomic_load(index) - q->rptr) > 0;
}

static enum cp_step step(struct emu_queue *q)
{
	struct cp *c = q->processor;
	uint64_t va = (q->ring & ~(uint64_t)255) +
		      q->rptr % (q->ring_size / AQL_PACKET_BYTES) * AQL_PACKET_BYTES;
	size_t len = AQL_PACKET_BYTES;
	union aql_packet *packet;

	if (emu_queue_ring(q))
		q->rung = true;
	if (q->stopped_by_error && !aql_resumes(q))
		return c->broken || q->faulted ? CP_STEP_IDLE : CP_STEP_WAITS;
	if (c->once || !q->rung || is_full(q))
		return CP_STEP_IDLE;
	if (!has_packets(q)) {
		q->rung = false;
		return CP_STEP_IDLE;
	}
	packet = emu_memory_at(q->process, q->node->index, va, true, &len);
	if (!packet) {
		emu_queue_fault(q, va, true);
		return CP_STEP_IDLE;
	}
	return process(q, packet, va);
}

static void run_queue(struct emu_queue *q, struct emu_look *look)
{
	enum cp_step last = CP_STEP_DONE;

	for (int i = 0; i < PACKETS_IN_TURN && last == CP_STEP_DONE; i++) {
		last = q->type == GP_KFD_QUEUE_COMPUTE ? pm4_step(q) : step(q);
		look->busy |= last == CP_STEP_DONE;
	}
	look->waits |= last == CP_STEP_WAITS;
	look->runs |= q->nr_running > 0;
	emu_trace_work(q);
}

/* An unmapped queue with work requests a slot. A trace lists all of them. */
static void look_at_unmapped(struct emu_node *n)
{
	bool all = n->m->config.trace, wanted = false;

	for (struct emu_queue *q = n->unmapped; q && (all || !wanted); q = q->next_in_turn) {
		if (emu_queue_ring(q))
			q->rung = true;
		wanted |= q->rung || q->nr_running;
		if (!emu_queue_is_sdma(q))
			emu_trace_work(q);
	}
	if (wanted)
		atomic_store(&n->slice_wanted, true);
}

void emu_cp_run(struct emu_node *n, struct emu_look *look)
{
	if (atomic_load(&n->hung))
		return;
	for (struct emu_queue *q = n->mapped; q; q = q->next_in_turn) {
		if (!emu_queue_is_sdma(q))
			run_queue(q, look);
	}
	look_at_unmapped(n);
}

/*
 * Creating and destroying queues
 */

/*
 * A trap handler's interrupt: an exception if a debugger wants those, or else an event. A thread of
 * the compute engine calls this; the front end handles it.
 */
static void interrupt(struct emu_hw_queue *hw, uint32_t m0, bool trapped)
{
	struct emu_queue *q = hw->owner;

	if (!trapped || !EMU_TRAP_EXCEPTIONS(m0)) {
		emu_event_interrupt(q->process, m0 & EMU_TRAP_EVENT);
		return;
	}
	atomic_store(&q->trap_event, m0 & EMU_TRAP_EVENT);
	atomic_fetch_or(&q->trap_exceptions, EMU_TRAP_EXCEPTIONS(m0));
	atomic_store(&q->node->troubled, true);
	emu_node_wake(q->node);
}

int emu_cp_attach(struct emu_queue *q)
{
	const struct emu_engine *engine = q->node->engine;
	struct emu_process *p = q->process;
	uint32_t node = q->node->index;

	if (q->type != GP_KFD_QUEUE_COMPUTE && q->type != GP_KFD_QUEUE_COMPUTE_AQL)
		return emu_sdma_attach(q);
	q->processor = calloc(1, sizeof(struct cp));
	if (!q->processor)
		return -ENOMEM;
	q->hw = engine->queue_new(p->m->config.chip->target, &p->memory.vm[node],
				  p->memory.code[node]);
	if (!q->hw) {
		free(q->processor);
		return -ENOMEM;
	}
	q->hw->owner = q;
	q->hw->tba = p->node[node].tba;
	q->hw->tma = p->node[node].tma;
	q->hw->interrupt = interrupt;
	if (q->save_area)
		engine->queue_set_area(q->hw, q->save_area, q->save_size, q->ctl_stack_size);
	return 0;
}

void emu_cp_detach(struct emu_queue *q)
{
	struct cp *c = q->processor;

	if (q->type != GP_KFD_QUEUE_COMPUTE && q->type != GP_KFD_QUEUE_COMPUTE_AQL) {
		emu_sdma_detach(q);
		return;
	}
	q->rung = false;
	q->nr_running = 0;
	emu_trace_work(q);
	q->node->engine->queue_free(q->hw);
	cp_drop_dispatches(c);
	free(c);
}

void emu_cp_map(struct emu_queue *q)
{
	if (emu_queue_is_sdma(q)) {
		emu_sdma_map(q);
		return;
	}
	q->rung = true;
	if (q->type == GP_KFD_QUEUE_COMPUTE)
		pm4_map(q);
}
