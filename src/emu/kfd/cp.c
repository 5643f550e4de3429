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
#include "emu/kfd/queue.h"

#include "emu/kfd/aql.h"
#include "emu/kfd/node.h"

#include <errno.h>
#include <stdlib.h>

#define PACKETS_IN_TURN 32
#define RUNNING_MAX 64 /* dispatches of a queue under way */
#define IB_DWORDS_MAX 4096

struct emu_dispatch {
	struct gfx9_job job; /* first: what is handed over, and comes back */
	struct emu_dispatch *next_done; /* of its node */
	struct emu_dispatch *next; /* of its queue */
	struct emu_queue *queue;
	uint64_t signal;
	int result;
	bool once; /* its scratch is for it alone */
};

/* Of a queue, beside what all queues have. */
struct aql {
	struct emu_dispatch *dispatches; /* not ended */
	uint32_t satisfied; /* dependencies of the packet that waits, a bit each */
	bool once; /* nothing starts before the dispatch that runs has ended */
	bool broken; /* will never go on */
	bool reclaim; /* scratch was used once, and has to be taken back first */
	uint64_t inactive_signal; /* of a queue that was stopped; 0: it has none */
};

enum step {
	STEP_IDLE, /* nothing to do, until a doorbell or a job says so */
	STEP_WAITS, /* for memory */
	STEP_DONE, /* a packet was consumed */
};

/*
 * Memory, signals and errors
 */

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

/* The mailbox is the slot of an event: whoever waits for it looks there. */
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

/* A signal's words are within one page wherever it is aligned as it should be. */
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

/* Once the value is written the program may free it: everything else is read or written before. */
static bool complete_signal(struct emu_queue *q, uint64_t handle, uint64_t start, uint64_t end)
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

/* False: it has no such memory, as a program without AMD's runtime, or an error was raised. */
static bool read_queue(struct emu_queue *q, struct aql_queue *state)
{
	uint64_t bad;

	if (!emu_memory_read(q->process, q->node->index, q->read_pointer, state, sizeof(*state),
			     &bad)) {
		emu_queue_fault(q, bad, false);
		return false;
	}
	return state->offset;
}

/* The queue stops until the runtime has set the signal to 0 again. */
static void stop_queue(struct emu_queue *q, uint32_t error)
{
	struct aql *a = q->engine;
	struct aql_queue state;
	struct signal s;

	q->stopped_by_error = true;
	a->inactive_signal = 0;
	if (!read_queue(q, &state) || !state.inactive_signal ||
	    !find_signal(q, state.inactive_signal, &s))
		return;
	a->inactive_signal = state.inactive_signal;
	atomic_fetch_or(s.value, error);
	ring_event(q, s.mailbox, s.event);
}

static enum step refuse(struct emu_queue *q, uint32_t code)
{
	emu_queue_error(q, code);
	stop_queue(q, AQL_ERROR_PACKET(code));
	return STEP_WAITS;
}

static bool is_reclaimed(struct emu_queue *q)
{
	uint64_t va = q->read_pointer + offsetof(struct aql_queue, properties);
	size_t len = sizeof(uint32_t);
	_Atomic uint32_t *properties = emu_memory_at(q->process, q->node->index, va, false, &len);

	return properties && !(atomic_load(properties) & AQL_PROPERTY_SCRATCH_ONCE);
}

static bool resumes(struct emu_queue *q)
{
	struct aql *a = q->engine;
	_Atomic uint64_t *value;

	if (a->broken || q->faulted || !a->inactive_signal)
		return false;
	value = emu_queue_word(q, a->inactive_signal + AQL_SIGNAL_VALUE, false);
	if (!value || atomic_load(value) || (a->reclaim && !is_reclaimed(q)))
		return false;
	a->reclaim = false;
	q->stopped_by_error = false;
	return true;
}

/*
 * Packets that only wait
 */

static enum step consume(struct emu_queue *q, union aql_packet *packet)
{
	struct aql *a = q->engine;
	_Atomic uint64_t *index = emu_queue_word(q, q->read_pointer, true);

	if (!index) {
		emu_queue_fault(q, q->read_pointer, true);
		return STEP_IDLE;
	}
	/* Producers may use the slot again as soon as they see the index. */
	atomic_store((_Atomic uint16_t *)&packet->header, AQL_INVALID);
	a->satisfied = 0;
	atomic_store(index, ++q->rptr);
	return STEP_DONE;
}

static enum step consume_at_once(struct emu_queue *q, union aql_packet *packet, uint64_t signal)
{
	uint64_t now = emu_node_ticks(q->node);
	enum step step = consume(q, packet);

	if (step == STEP_DONE)
		complete_signal(q, signal, now, now);
	return step;
}

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

static enum step barrier(struct emu_queue *q, union aql_packet *packet, const struct aql_barrier *b)
{
	bool any = AQL_TYPE(b->header) == AQL_BARRIER_OR;

	if (!look_at_dependencies(q, b, any))
		return STEP_WAITS;
	return consume_at_once(q, packet, b->signal);
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

static enum step barrier_value(struct emu_queue *q, union aql_packet *packet,
			       const struct aql_barrier_value *b)
{
	_Atomic uint64_t *value;

	if (b->condition > AQL_GE)
		return refuse(q, GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED);
	if (!b->dependency)
		return consume_at_once(q, packet, b->signal);
	value = emu_queue_word(q, b->dependency + AQL_SIGNAL_VALUE, false);
	if (!value) {
		emu_queue_fault(q, b->dependency, false);
		return STEP_IDLE;
	}
	if (!compare((int64_t)atomic_load(value) & b->mask, b->condition, b->value))
		return STEP_WAITS;
	return consume_at_once(q, packet, b->signal);
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

static enum step pm4_ib(struct emu_queue *q, union aql_packet *packet, const struct aql_pm4_ib *p)
{
	uint64_t va = p->jump[1] & ~3u, bad;
	uint32_t dwords = p->jump[3] & 0xfffff, ib[IB_DWORDS_MAX];

	va |= (uint64_t)(p->jump[2] & 0xffff) << 32;
	if (PM4_OPCODE(p->jump[0]) != PM4_INDIRECT_BUFFER || dwords > IB_DWORDS_MAX)
		return refuse(q, GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED);
	if (!emu_memory_read(q->process, q->node->index, va, ib, 4 * (size_t)dwords, &bad)) {
		emu_queue_fault(q, bad, false);
		return STEP_IDLE;
	}
	if (!run_ib(q, ib, dwords))
		return refuse(q, GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED);
	return consume_at_once(q, packet, p->signal);
}

/*
 * Dispatches
 */

/* Called by a thread of the compute engine. */
static void dispatch_done(struct gfx9_job *job, int result)
{
	struct emu_dispatch *d = (struct emu_dispatch *)job;
	struct emu_node *n = d->queue->node;

	d->result = result;
	d->next_done = atomic_load(&n->done);
	while (!atomic_compare_exchange_weak(&n->done, &d->next_done, d))
		;
	emu_node_wake(n);
}

/* What can be said without looking at the kernel: 0, or an exception code. */
static uint32_t check_dispatch(const struct aql_dispatch *p)
{
	uint32_t items = (uint32_t)p->group[0] * p->group[1], dims = p->setup & 3;
	uint64_t groups = 1;

	for (int i = 0; i < 3; i++) {
		if (!dims || !p->grid[i] || !p->group[i])
			return GP_KFD_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID;
		if (__builtin_mul_overflow(groups, (p->grid[i] - 1) / p->group[i] + 1, &groups))
			return GP_KFD_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID;
	}
	if ((uint64_t)items * p->group[2] > GFX9_GROUP_WAVES_MAX * GFX9_LANES)
		return GP_KFD_EC_QUEUE_PACKET_DISPATCH_WORK_GROUP_SIZE_INVALID;
	if (p->group_bytes > GFX9_LDS_BYTES)
		return GP_KFD_EC_QUEUE_PACKET_DISPATCH_GROUP_SEGMENT_SIZE_INVALID;
	if (!p->kernel_object)
		return GP_KFD_EC_QUEUE_PACKET_DISPATCH_CODE_INVALID;
	return 0;
}

/* A workgroup whose registers no compute unit has would wait for ever. */
static bool has_registers(const struct gfx9_job *job)
{
	uint32_t items =
		(uint32_t)job->dispatch.group[0] * job->dispatch.group[1] * job->dispatch.group[2];
	uint32_t waves = (items + GFX9_LANES - 1) / GFX9_LANES;
	uint32_t fit = GFX9_SIMD_VGPRS / gfx9_job_vgprs(job);

	if (fit > GFX9_WAVES_PER_SIMD)
		fit = GFX9_WAVES_PER_SIMD;
	return waves <= fit * GFX9_SIMDS;
}

/* Scratch as the runtime has set it up. False: others still use what there was before. */
static bool set_scratch(struct emu_queue *q, const struct aql_queue *state)
{
	uint32_t bytes = AQL_TMPRING_WAVE_BYTES(state->tmpring);
	uint64_t waves = (uint64_t)AQL_TMPRING_WAVES(state->tmpring) * q->node->m->config.nr_xccs;

	if (bytes && waves > state->scratch_bytes / bytes)
		waves = state->scratch_bytes / bytes;
	if (!bytes)
		waves = 0;
	if (waves > GFX9_SCRATCH_WORDS * 64)
		waves = GFX9_SCRATCH_WORDS * 64;
	if (q->hw.scratch_base == state->scratch_base && q->hw.scratch_wave_bytes == bytes &&
	    q->hw.scratch_waves == waves)
		return true;
	if (q->nr_running)
		return false;
	q->hw.scratch_base = state->scratch_base;
	q->hw.scratch_wave_bytes = bytes;
	q->hw.scratch_waves = (uint32_t)waves;
	return true;
}

static void fill_dispatch(struct emu_dispatch *d, struct emu_queue *q, const struct aql_dispatch *p,
			  uint64_t va, const struct aql_queue *state)
{
	d->queue = q;
	d->signal = p->signal;
	d->job.done = dispatch_done;
	d->job.dispatch = (struct gfx9_dispatch){
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

/* What the compute engine says about the job. */
static enum step judge_job(struct emu_queue *q, const struct emu_dispatch *d, int err)
{
	switch (err) {
	case 0:
		break;
	case -ENOMEM:
		return STEP_WAITS;
	case -EFAULT:
		emu_queue_fault(q, d->job.dispatch.kernel_object, false);
		return STEP_IDLE;
	case -ENOSPC:
		/* The runtime replaces what others may still be using. */
		if (q->nr_running)
			return STEP_IDLE;
		stop_queue(q, AQL_ERROR_SCRATCH);
		return STEP_WAITS;
	default:
		return refuse(q, GP_KFD_EC_QUEUE_PACKET_DISPATCH_CODE_INVALID);
	}
	if (!has_registers(&d->job))
		return refuse(q, GP_KFD_EC_QUEUE_PACKET_DISPATCH_REGISTER_INVALID);
	return STEP_DONE;
}

/* The one that is meant to hang is consumed like any other, and nothing is heard of it. */
static bool is_to_hang(struct emu_node *n)
{
	uint32_t after = n->m->config.faults.hang_queue;

	return after && n->dispatches++ == after;
}

static enum step launch(struct emu_queue *q, union aql_packet *packet, struct emu_dispatch *d)
{
	struct aql *a = q->engine;
	enum step step = consume(q, packet);

	if (step != STEP_DONE) {
		free(d);
		return step;
	}
	d->next = a->dispatches;
	a->dispatches = d;
	a->once = d->once;
	q->nr_running++;
	if (!is_to_hang(q->node))
		gfx9_gpu_dispatch(q->node->gpu, &d->job);
	return STEP_DONE;
}

static enum step dispatch(struct emu_queue *q, union aql_packet *packet,
			  const struct aql_dispatch *p, uint64_t va)
{
	struct aql_queue state = { 0 };
	uint32_t code = check_dispatch(p);
	struct emu_dispatch *d;
	enum step step;

	if (code)
		return refuse(q, code);
	if (q->nr_running >= RUNNING_MAX)
		return STEP_IDLE;
	if (!read_queue(q, &state)) {
		if (q->stopped_by_error)
			return STEP_IDLE;
		state = (struct aql_queue){ 0 };
	}
	if (!set_scratch(q, &state))
		return STEP_IDLE;
	d = calloc(1, sizeof(*d));
	if (!d)
		return STEP_WAITS;
	fill_dispatch(d, q, p, va, &state);
	step = judge_job(q, d, gfx9_job_init(&d->job, &q->hw));
	if (step != STEP_DONE) {
		free(d);
		return step;
	}
	d->once = d->job.dispatch.scratch_bytes && state.properties & AQL_PROPERTY_SCRATCH_ONCE;
	return launch(q, packet, d);
}

/*
 * What came back
 */

static void unlink_dispatch(struct emu_dispatch *d)
{
	struct aql *a = d->queue->engine;
	struct emu_dispatch **link = &a->dispatches;

	while (*link != d)
		link = &(*link)->next;
	*link = d->next;
}

/* Nothing of this queue will go on: what failed never completes. */
static void dispatch_failed(struct emu_queue *q, const struct gfx9_report *r)
{
	struct aql *a = q->engine;

	a->broken = true;
	switch (r->stop) {
	case GFX9_FAULT:
		emu_queue_fault(q, r->fault.address, r->fault.write);
		break;
	case GFX9_ILLEGAL:
		emu_queue_error(q, GP_KFD_EC_QUEUE_WAVE_ILLEGAL_INSTRUCTION);
		stop_queue(q, AQL_ERROR_ILLEGAL);
		break;
	default:
		emu_queue_error(q, GP_KFD_EC_QUEUE_PREEMPTION_ERROR);
		stop_queue(q, AQL_ERROR_EXCEPTION);
	}
}

static void dispatch_ended(struct emu_dispatch *d)
{
	struct emu_queue *q = d->queue;
	struct aql *a = q->engine;

	unlink_dispatch(d);
	q->nr_running--;
	if (d->result == 0)
		complete_signal(q, d->signal, d->job.started_ns / 10, d->job.ended_ns / 10);
	else if (d->result != -ECANCELED)
		dispatch_failed(q, &d->job.report);
	if (d->once) {
		a->once = false;
		a->reclaim = true;
		stop_queue(q, AQL_ERROR_SCRATCH_RECLAIM);
	}
	free(d);
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

/*
 * A queue's turn
 */

static enum step vendor(struct emu_queue *q, union aql_packet *packet, const union aql_packet *copy)
{
	switch (copy->barrier_value.format) {
	case AQL_VENDOR_PM4_IB:
		return pm4_ib(q, packet, &copy->pm4_ib);
	case AQL_VENDOR_BARRIER_VALUE:
		return barrier_value(q, packet, &copy->barrier_value);
	default:
		return refuse(q, GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED);
	}
}

static enum step process(struct emu_queue *q, union aql_packet *packet, uint64_t va)
{
	uint16_t header = atomic_load((_Atomic uint16_t *)&packet->header);
	union aql_packet copy;

	if (AQL_TYPE(header) == AQL_INVALID)
		return STEP_WAITS;
	if (header & AQL_BARRIER && q->nr_running)
		return STEP_IDLE;
	memcpy(&copy, packet, sizeof(copy));
	copy.header = header;
	switch (AQL_TYPE(header)) {
	case AQL_KERNEL_DISPATCH:
		return dispatch(q, packet, &copy.dispatch, va);
	case AQL_BARRIER_AND:
	case AQL_BARRIER_OR:
		return barrier(q, packet, &copy.barrier);
	case AQL_VENDOR:
		return vendor(q, packet, &copy);
	default:
		return refuse(q, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED);
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

static enum step step(struct emu_queue *q)
{
	struct aql *a = q->engine;
	uint64_t va = (q->ring & ~(uint64_t)255) +
		      q->rptr % (q->ring_size / AQL_PACKET_BYTES) * AQL_PACKET_BYTES;
	size_t len = AQL_PACKET_BYTES;
	union aql_packet *packet;

	if (emu_queue_ring(q))
		q->rung = true;
	if (q->stopped_by_error && !resumes(q))
		return a->broken || q->faulted ? STEP_IDLE : STEP_WAITS;
	if (a->once || !q->rung)
		return STEP_IDLE;
	if (!has_packets(q)) {
		q->rung = false;
		return STEP_IDLE;
	}
	packet = emu_memory_at(q->process, q->node->index, va, true, &len);
	if (!packet) {
		emu_queue_fault(q, va, true);
		return STEP_IDLE;
	}
	return process(q, packet, va);
}

static void run_queue(struct emu_queue *q, struct emu_look *look)
{
	enum step last = STEP_DONE;

	for (int i = 0; i < PACKETS_IN_TURN && last == STEP_DONE; i++) {
		last = step(q);
		look->busy |= last == STEP_DONE;
	}
	look->waits |= last == STEP_WAITS;
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

static void interrupt(struct gfx9_queue *hw, uint32_t m0)
{
	struct emu_queue *q = (struct emu_queue *)((char *)hw - offsetof(struct emu_queue, hw));

	emu_event_interrupt(q->process, m0 & 0xffffff);
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
	while (a->dispatches) {
		struct emu_dispatch *d = a->dispatches;

		a->dispatches = d->next;
		free(d);
	}
	free(a);
}

void emu_cp_map(struct emu_queue *q)
{
	if (emu_queue_is_sdma(q))
		emu_sdma_map(q);
	else
		q->rung = true;
}
