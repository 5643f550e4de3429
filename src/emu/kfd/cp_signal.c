// SPDX-License-Identifier: MIT
/* Memory that the packet processor writes: signals, indices, and errors reported to a runtime. */
#include "emu/kfd/cp.h"

#include "emu/kfd/node.h"

_Atomic uint64_t *emu_queue_word(struct emu_queue *q, uint64_t va, bool write)
{
	size_t len = sizeof(uint64_t);

	if (va % sizeof(uint64_t))
		return NULL;
	return emu_memory_at(q->process, q->node->index, va, write, &len);
}

bool emu_queue_ring(struct emu_queue *q)
{
	_Atomic uint64_t *doorbells = q->process->node[q->node->index].doorbells;
	uint64_t value = doorbells ? atomic_load(&doorbells[q->doorbell]) : q->last_doorbell;

	if (value == q->last_doorbell)
		return false;
	q->last_doorbell = value;
	return true;
}

bool emu_queue_read_ring(struct emu_queue *q, uint64_t at, void *to, uint64_t bytes)
{
	uint8_t *out = to;

	while (bytes) {
		uint64_t offset = at % q->ring_size, n = q->ring_size - offset, bad;

		if (n > bytes)
			n = bytes;
		if (!emu_memory_read(q->process, q->node->index, q->ring + offset, out, n, &bad)) {
			emu_queue_fault(q, bad, false);
			return false;
		}
		at += n;
		out += n;
		bytes -= n;
	}
	return true;
}

void emu_queue_read_write_pointer(struct emu_queue *q)
{
	_Atomic uint64_t *pointer = emu_queue_word(q, q->write_pointer, false);
	uint64_t value = pointer ? atomic_load(pointer) : 0;

	if (value > q->wptr)
		q->wptr = value;
}

bool emu_compare(uint64_t a, uint32_t function, uint64_t b)
{
	switch (function) {
	case 0:
		return true;
	case 1:
		return a < b;
	case 2:
		return a <= b;
	case 3:
		return a == b;
	case 4:
		return a != b;
	case 5:
		return a >= b;
	default:
		return a > b;
	}
}

static void in_trouble(struct emu_queue *q)
{
	q->stopped_by_error = true;
	atomic_store(&q->node->troubled, true);
}

void emu_queue_fault(struct emu_queue *q, uint64_t address, bool write)
{
	size_t len = 1;

	q->faulted = q->trouble.faulted = true;
	q->trouble.address = address;
	q->trouble.read_only =
		write && emu_memory_at(q->process, q->node->index, address, false, &len);
	in_trouble(q);
}

void emu_queue_error(struct emu_queue *q, uint32_t code)
{
	q->trouble.exceptions |= GP_KFD_EC_MASK(code);
	in_trouble(q);
}

/* The mailbox is the slot of an event: the waiting thread reads it. */
static bool ring_event(struct emu_queue *q, uint64_t mailbox, uint64_t event)
{
	_Atomic uint64_t *slot;

	if (!mailbox)
		return true;
	slot = emu_queue_word(q, mailbox, true);
	if (!slot) {
		emu_queue_fault(q, mailbox, true);
		return false;
	}
	atomic_store(slot, event);
	emu_event_interrupt(q->process, (uint32_t)event);
	return true;
}

/* An aligned signal does not cross a page. */
struct signal {
	_Atomic uint64_t *value, *start, *end;
	uint64_t mailbox, event;
};

static bool find_signal(struct emu_queue *q, uint64_t handle, struct signal *s)
{
	_Atomic uint64_t *mailbox = emu_queue_word(q, handle + AQL_SIGNAL_MAILBOX, false);
	_Atomic uint64_t *event = emu_queue_word(q, handle + AQL_SIGNAL_EVENT, false);

	s->value = emu_queue_word(q, handle + AQL_SIGNAL_VALUE, true);
	s->start = emu_queue_word(q, handle + AQL_SIGNAL_START, true);
	s->end = emu_queue_word(q, handle + AQL_SIGNAL_END, true);
	if (!mailbox || !event || !s->value || !s->start || !s->end) {
		emu_queue_fault(q, handle, true);
		return false;
	}
	s->mailbox = atomic_load(mailbox);
	s->event = (uint32_t)atomic_load(event);
	return true;
}

/*
 * The program may free the signal once the value is written: everything else is read or written
 * before.
 */
bool aql_complete(struct emu_queue *q, uint64_t handle, uint64_t start, uint64_t end)
{
	struct signal s;

	if (!handle)
		return true;
	if (!find_signal(q, handle, &s))
		return false;
	atomic_store(s.start, start);
	atomic_store(s.end, end);
	atomic_fetch_sub(s.value, 1);
	return ring_event(q, s.mailbox, s.event);
}

bool aql_read_queue(struct emu_queue *q, struct aql_queue *state)
{
	uint64_t bad;

	if (!emu_memory_read(q->process, q->node->index, q->read_pointer, state, sizeof(*state),
			     &bad)) {
		emu_queue_fault(q, bad, false);
		return false;
	}
	return state->offset;
}

void aql_stop(struct emu_queue *q, uint32_t error)
{
	struct cp *c = q->processor;
	struct aql_queue state;
	struct signal s;

	q->stopped_by_error = true;
	c->inactive_signal = 0;
	if (q->type != GP_KFD_QUEUE_COMPUTE_AQL)
		return; /* no error handler: the queue stays stopped */
	if (!aql_read_queue(q, &state) || !state.inactive_signal ||
	    !find_signal(q, state.inactive_signal, &s))
		return;
	c->inactive_signal = state.inactive_signal;
	atomic_fetch_or(s.value, error);
	ring_event(q, s.mailbox, s.event);
}

enum cp_step cp_refuse(struct emu_queue *q, uint32_t code)
{
	emu_queue_error(q, code);
	aql_stop(q, AQL_ERROR_PACKET(code));
	return CP_STEP_WAITS;
}

static bool is_reclaimed(struct emu_queue *q)
{
	uint64_t va = q->read_pointer + offsetof(struct aql_queue, properties);
	size_t len = sizeof(uint32_t);
	_Atomic uint32_t *properties = emu_memory_at(q->process, q->node->index, va, false, &len);

	return properties && !(atomic_load(properties) & AQL_PROPERTY_SCRATCH_ONCE);
}

bool aql_resumes(struct emu_queue *q)
{
	struct cp *c = q->processor;
	_Atomic uint64_t *value;

	if (c->broken || q->faulted || !c->inactive_signal)
		return false;
	value = emu_queue_word(q, c->inactive_signal + AQL_SIGNAL_VALUE, false);
	if (!value || atomic_load(value) || (c->reclaim && !is_reclaimed(q)))
		return false;
	c->reclaim = false;
	q->stopped_by_error = false;
	return true;
}

/*
 * Processed packets
 */

enum cp_step aql_consume(struct emu_queue *q, union aql_packet *packet)
{
	struct cp *c = q->processor;
	_Atomic uint64_t *index = emu_queue_word(q, q->read_pointer, true);

	if (!index) {
		emu_queue_fault(q, q->read_pointer, true);
		return CP_STEP_IDLE;
	}
	/* Producers may reuse the slot as soon as they see the index. */
	atomic_store((_Atomic uint16_t *)&packet->header, AQL_INVALID);
	c->satisfied = 0;
	q->rptr++;
	atomic_store(index, cp_first_kept(q));
	return CP_STEP_DONE;
}

void aql_keep(struct emu_queue *q)
{
	struct cp *c = q->processor;

	c->satisfied = 0;
	q->rptr++;
}

void aql_free(struct emu_queue *q, uint64_t va)
{
	_Atomic uint64_t *index = emu_queue_word(q, q->read_pointer, true);
	size_t len = AQL_PACKET_BYTES;
	union aql_packet *packet = emu_memory_at(q->process, q->node->index, va, true, &len);

	if (!index || !packet)
		return;
	atomic_store((_Atomic uint16_t *)&packet->header, AQL_INVALID);
	atomic_store(index, cp_first_kept(q));
}

enum cp_step aql_consume_at_once(struct emu_queue *q, union aql_packet *packet, uint64_t signal)
{
	uint64_t now = emu_node_ticks(q->node);
	enum cp_step step = aql_consume(q, packet);

	if (step == CP_STEP_DONE)
		aql_complete(q, signal, now, now);
	return step;
}
