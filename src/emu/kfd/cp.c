// SPDX-License-Identifier: MIT
/*
 * The packet processor: packets of compute queues, in order, become jobs of the compute engine and
 * writes to signals. Those of AQL are here; pm4.c has the others.
 *
 * A packet is consumed when its job is handed over; several of a queue are under way at a time,
 * unless one has its barrier bit set. A job that ends is put on the node's list by whichever thread
 * ended it, and its signal is written by the front end. So a queue that loses its slot between two
 * packets has nothing half done, and a packet that waits is simply looked at again.
 */
#include "emu/kfd/cp.h"

#include "emu/kfd/node.h"

#include <errno.h>
#include <stdlib.h>

#define PACKETS_IN_TURN 32

/*
 * Packets that only wait
 */

/* A dependency that was satisfied once stays so: its signal may be used for something else. */
static bool look_at_dependencies(struct emu_queue *q, const struct aql_barrier *b, bool any)
{
	struct cp *c = q->engine;
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
	struct cp *c = q->engine;

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
 * A queue's turn
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

/* Every slot is kept by a dispatch that runs: the next packet, which somebody waits with, is none.
 */
static bool is_full(const struct emu_queue *q)
{
	return q->rptr - cp_first_kept(q) >= q->ring_size / AQL_PACKET_BYTES;
}

/* The write index says how far packets go, however doorbells were rung. */
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
	struct cp *c = q->engine;
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
}

/* Queues without a slot want one where they have something to do. */
static void look_at_unmapped(struct emu_node *n)
{
	for (struct emu_queue *q = n->unmapped; q; q = q->next_in_turn) {
		if (emu_queue_ring(q))
			q->rung = true;
		if (q->rung || q->nr_running) {
			atomic_store(&n->slice_wanted, true);
			return;
		}
	}
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
 * A queue comes and goes
 */

/*
 * A trap handler says what it is about: an exception, if somebody wants to hear of those, or else
 * an event. Called by a thread of the compute engine; the front end sees to it.
 */
static void interrupt(struct gfx9_queue *hw, uint32_t m0, bool trapped)
{
	struct emu_queue *q = (struct emu_queue *)((char *)hw - offsetof(struct emu_queue, hw));

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
	struct emu_process *p = q->process;
	uint32_t node = q->node->index;

	if (q->type != GP_KFD_QUEUE_COMPUTE && q->type != GP_KFD_QUEUE_COMPUTE_AQL)
		return emu_sdma_attach(q);
	q->engine = calloc(1, sizeof(struct cp));
	if (!q->engine)
		return -ENOMEM;
	gfx9_queue_init(&q->hw, q->node->m->config.target, &p->memory.vm[node],
			&p->memory.code[node]);
	q->hw.tba = p->node[node].tba;
	q->hw.tma = p->node[node].tma;
	q->hw.interrupt = interrupt;
	for (uint32_t i = 0; i < q->node->m->config.nr_xccs && q->save_area; i++) {
		q->hw.context[i].area = q->save_area + (uint64_t)i * q->save_size;
		q->hw.context[i].size = q->save_size;
		q->hw.context[i].ctl_bytes = q->ctl_stack_size;
	}
	return 0;
}

void emu_cp_detach(struct emu_queue *q)
{
	struct cp *c = q->engine;

	if (q->type != GP_KFD_QUEUE_COMPUTE && q->type != GP_KFD_QUEUE_COMPUTE_AQL) {
		emu_sdma_detach(q);
		return;
	}
	gfx9_queue_destroy(&q->hw);
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
