// SPDX-License-Identifier: MIT
/*
 * The packet processor: AQL packets of compute queues, in order, become jobs of the compute engine
 * and writes to signals.
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
#define IB_DWORDS_MAX 4096

/*
 * Packets that only wait
 */

/* A dependency that was satisfied once stays so: its signal may be used for something else. */
static bool look_at_dependencies(struct emu_queue *q, const struct aql_barrier *b, bool any)
{
	struct aql *a = q->engine;
	uint32_t wanted = 0;

	for (unsigned int i = 0; i < AQL_DEPENDENCIES; i++) {
		_Atomic uint64_t *value;

		if (!b->dependency[i])
			continue;
		wanted |= 1u << i;
		if (a->satisfied & 1u << i)
			continue;
		value = emu_queue_word(q, b->dependency[i] + AQL_SIGNAL_VALUE, false);
		if (!value) {
			emu_queue_fault(q, b->dependency[i], false);
			return false;
		}
		if (!atomic_load(value))
			a->satisfied |= 1u << i;
	}
	if (any)
		return !wanted || a->satisfied;
	return a->satisfied == wanted;
}

static enum aql_step barrier(struct emu_queue *q, union aql_packet *packet,
			     const struct aql_barrier *b)
{
	bool any = AQL_TYPE(b->header) == AQL_BARRIER_OR;

	if (!look_at_dependencies(q, b, any))
		return AQL_STEP_WAITS;
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

static enum aql_step barrier_value(struct emu_queue *q, union aql_packet *packet,
				   const struct aql_barrier_value *b)
{
	_Atomic uint64_t *value;

	if (b->condition > AQL_GE)
		return aql_refuse(q, GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED);
	if (!b->dependency)
		return aql_consume_at_once(q, packet, b->signal);
	value = emu_queue_word(q, b->dependency + AQL_SIGNAL_VALUE, false);
	if (!value) {
		emu_queue_fault(q, b->dependency, false);
		return AQL_STEP_IDLE;
	}
	if (!compare((int64_t)atomic_load(value) & b->mask, b->condition, b->value))
		return AQL_STEP_WAITS;
	return aql_consume_at_once(q, packet, b->signal);
}

/*
 * PM4 in a vendor packet: caches are told to forget. There are none but that of decoded
 * instructions.
 */
#define PM4_TYPE3(header) ((header) >> 30 == 3)
#define PM4_OPCODE(header) ((header) >> 8 & 0xff)
#define PM4_DWORDS(header) (((header) >> 16 & 0x3fff) + 2)
#define PM4_NOP 0x10
#define PM4_NOP_ONE_DWORD 0x3fff
#define PM4_INDIRECT_BUFFER 0x3f
#define PM4_ACQUIRE_MEM 0x58

static bool run_ib(struct emu_queue *q, const uint32_t *ib, uint32_t dwords)
{
	uint32_t i = 0;

	while (i < dwords) {
		uint32_t n = PM4_DWORDS(ib[i]), opcode = PM4_OPCODE(ib[i]);

		if (!PM4_TYPE3(ib[i]))
			return false;
		if (opcode == PM4_NOP && n == PM4_NOP_ONE_DWORD + 2)
			n = 1;
		if (n > dwords - i || (opcode != PM4_NOP && opcode != PM4_ACQUIRE_MEM))
			return false;
		if (opcode == PM4_ACQUIRE_MEM)
			gfx9_code_invalidate(&q->process->memory.code[q->node->index]);
		i += n;
	}
	return true;
}

static enum aql_step pm4_ib(struct emu_queue *q, union aql_packet *packet,
			    const struct aql_pm4_ib *p)
{
	uint64_t va = p->jump[1] & ~3u, bad;
	uint32_t dwords = p->jump[3] & 0xfffff, ib[IB_DWORDS_MAX];

	va |= (uint64_t)(p->jump[2] & 0xffff) << 32;
	if (PM4_OPCODE(p->jump[0]) != PM4_INDIRECT_BUFFER || dwords > IB_DWORDS_MAX)
		return aql_refuse(q, GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED);
	if (!emu_memory_read(q->process, q->node->index, va, ib, 4 * (size_t)dwords, &bad)) {
		emu_queue_fault(q, bad, false);
		return AQL_STEP_IDLE;
	}
	if (!run_ib(q, ib, dwords))
		return aql_refuse(q, GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED);
	return aql_consume_at_once(q, packet, p->signal);
}

/*
 * A queue's turn
 */

static enum aql_step vendor(struct emu_queue *q, union aql_packet *packet,
			    const union aql_packet *copy)
{
	switch (copy->barrier_value.format) {
	case AQL_VENDOR_PM4_IB:
		return pm4_ib(q, packet, &copy->pm4_ib);
	case AQL_VENDOR_BARRIER_VALUE:
		return barrier_value(q, packet, &copy->barrier_value);
	default:
		return aql_refuse(q, GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED);
	}
}

static enum aql_step process(struct emu_queue *q, union aql_packet *packet, uint64_t va)
{
	uint16_t header = atomic_load((_Atomic uint16_t *)&packet->header);
	union aql_packet copy;

	if (AQL_TYPE(header) == AQL_INVALID)
		return AQL_STEP_WAITS;
	if (header & AQL_BARRIER && q->nr_running)
		return AQL_STEP_IDLE;
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
		return aql_refuse(q, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED);
	}
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

static enum aql_step step(struct emu_queue *q)
{
	struct aql *a = q->engine;
	uint64_t va = (q->ring & ~(uint64_t)255) +
		      q->rptr % (q->ring_size / AQL_PACKET_BYTES) * AQL_PACKET_BYTES;
	size_t len = AQL_PACKET_BYTES;
	union aql_packet *packet;

	if (emu_queue_ring(q))
		q->rung = true;
	if (q->stopped_by_error && !aql_resumes(q))
		return a->broken || q->faulted ? AQL_STEP_IDLE : AQL_STEP_WAITS;
	if (a->once || !q->rung)
		return AQL_STEP_IDLE;
	if (!has_packets(q)) {
		q->rung = false;
		return AQL_STEP_IDLE;
	}
	packet = emu_memory_at(q->process, q->node->index, va, true, &len);
	if (!packet) {
		emu_queue_fault(q, va, true);
		return AQL_STEP_IDLE;
	}
	return process(q, packet, va);
}

static void run_queue(struct emu_queue *q, struct emu_look *look)
{
	enum aql_step last = AQL_STEP_DONE;

	for (int i = 0; i < PACKETS_IN_TURN && last == AQL_STEP_DONE; i++) {
		last = step(q);
		look->busy |= last == AQL_STEP_DONE;
	}
	look->waits |= last == AQL_STEP_WAITS;
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
		if (q->type == GP_KFD_QUEUE_COMPUTE_AQL)
			run_queue(q, look);
		else if (q->type == GP_KFD_QUEUE_COMPUTE && emu_queue_ring(q))
			emu_queue_error(q, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED);
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
	q->engine = calloc(1, sizeof(struct aql));
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
	struct aql *a = q->engine;

	if (q->type != GP_KFD_QUEUE_COMPUTE && q->type != GP_KFD_QUEUE_COMPUTE_AQL) {
		emu_sdma_detach(q);
		return;
	}
	gfx9_queue_destroy(&q->hw);
	aql_drop_dispatches(a);
	free(a);
}

void emu_cp_map(struct emu_queue *q)
{
	if (emu_queue_is_sdma(q))
		emu_sdma_map(q);
	else
		q->rung = true;
}
