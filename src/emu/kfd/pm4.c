// SPDX-License-Identifier: MIT
/*
 * PM4 streams. A stream is a queue's ring, where the read pointer counts dwords and wraps with the
 * ring, or an indirect buffer. The ring's packet that jumps to a buffer is consumed when the buffer
 * has ended.
 *
 * Dispatches run in parallel with later packets. RELEASE_MEM waits for earlier dispatches, but no
 * packet waits for RELEASE_MEM; a partial flush blocks all later packets. An unknown packet stops
 * its queue: its effect cannot be guessed.
 */
#include "emu/kfd/cp.h"

#include "emu/kfd/node.h"

#include <string.h>

#define PACKET_DWORDS 16 /* copied of a packet: more than any of fixed length has */
#define PIECE_DWORDS 1024

/*
 * Streams
 */

/* The part of the stream that is there, from the next packet on. */
static uint64_t dwords_there(const struct emu_queue *q, const struct pm4 *pm4)
{
	return pm4->ib_dwords ? pm4->ib_dwords : q->wptr - q->rptr;
}

/* Dwords of the next packet. */
static bool read_packet(struct emu_queue *q, const struct pm4 *pm4, uint32_t at, uint32_t *to,
			uint32_t dwords)
{
	uint64_t bad;

	if (!pm4->ib_dwords)
		return emu_queue_read_ring(q, 4 * (q->rptr + at), to, 4 * (uint64_t)dwords);
	if (emu_memory_read(q->process, q->node->index, pm4->ib + 4 * (uint64_t)at, to,
			    4 * (size_t)dwords, &bad))
		return true;
	emu_queue_fault(q, bad, false);
	return false;
}

static enum cp_step advance_ring(struct emu_queue *q, uint32_t dwords)
{
	size_t len = sizeof(uint32_t);
	_Atomic uint32_t *pointer =
		emu_memory_at(q->process, q->node->index, q->read_pointer, true, &len);

	if (!pointer || q->read_pointer % sizeof(uint32_t)) {
		emu_queue_fault(q, q->read_pointer, true);
		return CP_STEP_IDLE;
	}
	q->rptr += dwords;
	atomic_store(pointer, (uint32_t)(q->rptr % (q->ring_size / 4)));
	return CP_STEP_DONE;
}

static enum cp_step advance(struct emu_queue *q, struct pm4 *pm4, uint32_t dwords)
{
	if (!pm4->ib_dwords)
		return advance_ring(q, dwords);
	pm4->ib += 4 * (uint64_t)dwords;
	pm4->ib_dwords -= dwords;
	return CP_STEP_DONE;
}

/* A packet: its first dwords, and its length. */
struct packet {
	uint32_t dw[PACKET_DWORDS];
	uint32_t dwords;
};

static uint64_t address(const struct packet *p, int i)
{
	return p->dw[i] | (uint64_t)p->dw[i + 1] << 32;
}

static enum cp_step unknown(struct emu_queue *q)
{
	return cp_refuse(q, q->type == GP_KFD_QUEUE_COMPUTE_AQL
				    ? GP_KFD_EC_QUEUE_PACKET_VENDOR_UNSUPPORTED
				    : GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED);
}

/*
 * Memory
 */

/* As one access, as others see it; @bytes is 4 or 8. */
static bool store(struct emu_queue *q, uint64_t va, uint64_t value, size_t bytes)
{
	size_t len = bytes;
	void *to = va % bytes ? NULL : emu_memory_at(q->process, q->node->index, va, true, &len);

	if (!to) {
		emu_queue_fault(q, va, true);
		return false;
	}
	if (bytes == sizeof(uint64_t))
		atomic_store((_Atomic uint64_t *)to, value);
	else
		atomic_store((_Atomic uint32_t *)to, (uint32_t)value);
	return true;
}

static bool load(struct emu_queue *q, uint64_t va, uint64_t *value, size_t bytes)
{
	size_t len = bytes;
	void *from = va % bytes ? NULL : emu_memory_at(q->process, q->node->index, va, false, &len);

	if (!from) {
		emu_queue_fault(q, va, false);
		return false;
	}
	*value = bytes == sizeof(uint64_t) ? atomic_load((_Atomic uint64_t *)from)
					   : atomic_load((_Atomic uint32_t *)from);
	return true;
}

static bool is_memory(uint32_t destination)
{
	return destination == PM4_MEMORY || destination == PM4_L2;
}

/* A single word is written at once. */
static bool write_words(struct emu_queue *q, uint64_t va, const uint32_t *data, uint32_t n)
{
	uint64_t bad;

	if (n == 1)
		return store(q, va, data[0], sizeof(uint32_t));
	if (emu_memory_write(q->process, q->node->index, va, data, 4 * (size_t)n, &bad))
		return true;
	emu_queue_fault(q, bad, true);
	return false;
}

static enum cp_step write_data(struct emu_queue *q, struct pm4 *pm4, const struct packet *p)
{
	uint64_t va = address(p, 2) & ~(uint64_t)3;
	bool one_address = p->dw[1] & PM4_ONE_ADDRESS;
	uint32_t data[PIECE_DWORDS];

	if (!is_memory(p->dw[1] >> 8 & 0xf))
		return unknown(q);
	for (uint32_t at = 4, n; at < p->dwords; at += n) {
		n = p->dwords - at < PIECE_DWORDS ? p->dwords - at : PIECE_DWORDS;
		if (!read_packet(q, pm4, at, data, n))
			return CP_STEP_IDLE;
		if (one_address ? !write_words(q, va, &data[n - 1], 1)
				: !write_words(q, va, data, n))
			return CP_STEP_IDLE;
		va += one_address ? 0 : 4 * (uint64_t)n;
	}
	return CP_STEP_DONE;
}

static enum cp_step copy_data(struct emu_queue *q, struct pm4 *pm4, const struct packet *p)
{
	size_t bytes = p->dw[1] & PM4_COPY_64 ? sizeof(uint64_t) : sizeof(uint32_t);
	uint64_t value;

	(void)pm4;
	if (!is_memory(p->dw[1] >> 8 & 0xf))
		return unknown(q);
	switch (p->dw[1] & 0xf) {
	case PM4_FROM_MEMORY:
	case PM4_L2:
		if (!load(q, address(p, 2), &value, bytes))
			return CP_STEP_IDLE;
		break;
	case PM4_IMMEDIATE:
		value = address(p, 2);
		break;
	case PM4_CLOCK:
		value = emu_node_ticks(q->node);
		break;
	default: /* registers, which are not emulated */
		return unknown(q);
	}
	return store(q, address(p, 4), value, bytes) ? CP_STEP_DONE : CP_STEP_IDLE;
}

/* Anything but memory is a register that flushes host writes: they are visible at once here. */
static enum cp_step wait_reg_mem(struct emu_queue *q, struct pm4 *pm4, const struct packet *p)
{
	uint64_t value;

	(void)pm4;
	if (PM4_FUNCTION(p->dw[1]) > 6)
		return unknown(q);
	if (!PM4_WAIT_MEMORY(p->dw[1]))
		return CP_STEP_DONE;
	if (!load(q, address(p, 2) & ~(uint64_t)3, &value, sizeof(uint32_t)))
		return CP_STEP_IDLE;
	return emu_compare(value & p->dw[5], PM4_FUNCTION(p->dw[1]), p->dw[4]) ? CP_STEP_DONE
									       : CP_STEP_WAITS;
}

/*
 * Dispatches, and packets that wait for them
 */

static enum cp_step set_sh_reg(struct emu_queue *q, struct pm4 *pm4, const struct packet *p)
{
	uint32_t first = (p->dw[1] & 0xffff) - PM4_SH_FIRST, n = p->dwords - 2;

	/* Graphics registers do not exist on a compute queue. */
	if (first >= PM4_SH_REGISTERS || n > PM4_SH_REGISTERS - first)
		return unknown(q);
	return read_packet(q, pm4, 2, &pm4->sh[first], n) ? CP_STEP_DONE : CP_STEP_IDLE;
}

static uint32_t sh(const struct pm4 *pm4, uint32_t number)
{
	return pm4->sh[number - PM4_SH_FIRST];
}

/* The size of a grid along one axis, in work-items; the last workgroup may be smaller. */
static uint64_t grid_of(uint32_t dim, uint32_t threads, uint32_t initiator)
{
	uint32_t whole = threads & 0xffff, last = threads >> 16;

	if (!dim)
		return 0;
	if (initiator & PM4_USE_THREAD_DIMENSIONS)
		return initiator & PM4_PARTIAL_TG_EN ? dim
						     : ((uint64_t)dim + whole - 1) / whole * whole;
	if (!(initiator & PM4_PARTIAL_TG_EN) || !last)
		last = whole;
	return (uint64_t)(dim - 1) * whole + last;
}

/* 0, or an exception code. */
static uint32_t fill_dispatch(const struct pm4 *pm4, const struct packet *p, struct emu_launch *d)
{
	uint32_t initiator = p->dw[4];
	uint64_t groups = 1;

	*d = (struct emu_launch){ 0 };
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t threads = sh(pm4, PM4_SH_NUM_THREAD_X + i);
		uint64_t grid;

		d->group[i] = (uint16_t)threads;
		if (!d->group[i])
			return GP_KFD_EC_QUEUE_PACKET_DISPATCH_WORK_GROUP_SIZE_INVALID;
		grid = grid_of(p->dw[1 + i], threads, initiator);
		d->grid[i] = (uint32_t)grid;
		if (grid > UINT32_MAX ||
		    (sh(pm4, PM4_SH_START_X + i) && !(initiator & PM4_FORCE_START_AT_000)))
			return GP_KFD_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID;
		if (__builtin_mul_overflow(groups, grid / d->group[i] + 1, &groups))
			return GP_KFD_EC_QUEUE_PACKET_DISPATCH_DIM_INVALID;
	}
	memcpy(d->user_data, &pm4->sh[PM4_SH_USER_DATA_0 - PM4_SH_FIRST], sizeof(d->user_data));
	return 0;
}

static enum cp_step dispatch_direct(struct emu_queue *q, struct pm4 *pm4, const struct packet *p)
{
	uint32_t tmpring = sh(pm4, PM4_SH_TMPRING_SIZE);
	uint64_t base = sh(pm4, PM4_SH_SCRATCH_BASE_LO) |
			(uint64_t)(sh(pm4, PM4_SH_SCRATCH_BASE_HI) & 0xff) << 32;
	uint64_t program = sh(pm4, PM4_SH_PGM_LO) | (uint64_t)(sh(pm4, PM4_SH_PGM_HI) & 0xff) << 32;
	const struct cp_scratch scratch = {
		.base = base << 8,
		.waves = (uint64_t)AQL_TMPRING_WAVES(tmpring) * q->node->m->config.nr_xccs,
		.wave_bytes = AQL_TMPRING_WAVE_BYTES(tmpring),
	};
	const struct emu_launch_registers registers = {
		.entry = program << 8,
		.rsrc1 = sh(pm4, PM4_SH_PGM_RSRC1),
		.rsrc2 = sh(pm4, PM4_SH_PGM_RSRC2),
		.rsrc3 = sh(pm4, PM4_SH_PGM_RSRC3),
		.scratch_wave_bytes = scratch.wave_bytes,
	};
	struct emu_launch d;
	uint32_t code;

	if (!(p->dw[4] & PM4_SHADER_EN))
		return CP_STEP_DONE;
	code = fill_dispatch(pm4, p, &d);
	return code ? cp_refuse(q, code) : cp_dispatch_registers(q, &d, &registers, &scratch);
}

static enum cp_step event_write(struct emu_queue *q, struct pm4 *pm4, const struct packet *p)
{
	(void)pm4;
	/* The other events are for caches that are not emulated. */
	if (PM4_EVENT_TYPE(p->dw[1]) == PM4_CS_PARTIAL_FLUSH && q->nr_running)
		return CP_STEP_IDLE;
	return CP_STEP_DONE;
}

static bool release(struct emu_queue *q, const struct pm4_release *r)
{
	bool done = true;

	switch (PM4_RELEASE_DATA(r->what)) {
	case PM4_DATA_32:
		done = store(q, r->address, r->data, sizeof(uint32_t));
		break;
	case PM4_DATA_64:
		done = store(q, r->address, r->data, sizeof(uint64_t));
		break;
	case PM4_DATA_CLOCK:
		done = store(q, r->address, emu_node_ticks(q->node), sizeof(uint64_t));
		break;
	default:
		break;
	}
	switch (PM4_RELEASE_INTERRUPT(r->what)) {
	case PM4_INT_ONLY:
	case PM4_INT_AFTER_WRITE:
	case PM4_INT_ALWAYS:
		if (done)
			emu_event_interrupt(q->process, r->context);
		break;
	default:
		break;
	}
	return done;
}

static struct pm4_release *nth_release(struct pm4 *pm4, uint32_t n)
{
	return &pm4->release[(pm4->first_release + n) % PM4_RELEASES_MAX];
}

void pm4_dispatch_ended(struct emu_queue *q)
{
	struct cp *c = q->processor;
	struct pm4 *pm4 = &c->pm4;

	while (pm4->nr_releases) {
		const struct pm4_release *r = nth_release(pm4, 0);

		if (cp_nr_ended(c) < r->after || !release(q, r))
			return;
		pm4->first_release++;
		pm4->nr_releases--;
	}
}

void pm4_dispatch_lost(struct emu_queue *q, uint64_t order)
{
	struct cp *c = q->processor;
	struct pm4 *pm4 = &c->pm4;

	while (pm4->nr_releases && nth_release(pm4, pm4->nr_releases - 1)->after > order)
		pm4->nr_releases--;
}

static enum cp_step release_mem(struct emu_queue *q, struct pm4 *pm4, const struct packet *p)
{
	struct cp *c = q->processor;

	if (PM4_RELEASE_DATA(p->dw[2]) > PM4_DATA_CLOCK ||
	    PM4_RELEASE_INTERRUPT(p->dw[2]) > PM4_INT_ALWAYS)
		return unknown(q);
	if (pm4->nr_releases == PM4_RELEASES_MAX)
		return CP_STEP_IDLE;
	*nth_release(pm4, pm4->nr_releases) = (struct pm4_release){
		.after = c->nr_dispatched,
		.address = address(p, 3) & ~(uint64_t)3,
		.data = address(p, 5),
		.what = p->dw[2],
		.context = p->dw[7] & 0xfffffff,
	};
	pm4->nr_releases++;
	pm4_dispatch_ended(q);
	return q->stopped_by_error ? CP_STEP_IDLE : CP_STEP_DONE;
}

/* The only cache is that of decoded instructions. */
static enum cp_step acquire_mem(struct emu_queue *q, struct pm4 *pm4, const struct packet *p)
{
	(void)pm4;
	(void)p;
	q->node->engine->code_invalidate(q->process->memory.code[q->node->index]);
	return CP_STEP_DONE;
}

static enum cp_step nop(struct emu_queue *q, struct pm4 *pm4, const struct packet *p)
{
	(void)q;
	(void)pm4;
	(void)p;
	return CP_STEP_DONE;
}

/*
 * Packets
 */

static const struct opcode {
	uint8_t opcode, least; /* dwords */
	enum cp_step (*execute)(struct emu_queue *q, struct pm4 *pm4, const struct packet *p);
} opcodes[] = {
	{ PM4_NOP, 1, nop },
	{ PM4_DISPATCH_DIRECT, 5, dispatch_direct },
	{ PM4_WRITE_DATA, 5, write_data },
	{ PM4_WAIT_REG_MEM, 7, wait_reg_mem },
	{ PM4_COPY_DATA, 6, copy_data },
	{ PM4_EVENT_WRITE, 2, event_write },
	{ PM4_RELEASE_MEM, 8, release_mem },
	{ PM4_ACQUIRE_MEM, 7, acquire_mem },
	{ PM4_SET_SH_REG, 3, set_sh_reg },
};

/* In an indirect buffer, the only jump is to another one, without return. */
static enum cp_step indirect_buffer(struct emu_queue *q, struct pm4 *pm4, const struct packet *p)
{
	struct cp *c = q->processor;

	if (p->dwords < 4 || (c->in_ib && !(p->dw[3] & PM4_IB_CHAIN)))
		return unknown(q);
	if (c->in_ib || PM4_IB_DWORDS(p->dw[3])) {
		c->in_ib = true;
		pm4_begin_ib(q, p->dw);
		return CP_STEP_DONE;
	}
	return advance(q, pm4, p->dwords);
}

static enum cp_step execute(struct emu_queue *q, struct pm4 *pm4, const struct packet *p)
{
	uint32_t opcode = PM4_OPCODE(p->dw[0]);
	enum cp_step step = CP_STEP_DONE;

	if (PM4_TYPE(p->dw[0]) == 3) {
		size_t i = 0, n = sizeof(opcodes) / sizeof(opcodes[0]);

		if (opcode == PM4_INDIRECT_BUFFER)
			return indirect_buffer(q, pm4, p);
		while (i < n && opcodes[i].opcode != opcode)
			i++;
		if (i == n || p->dwords < opcodes[i].least)
			return unknown(q);
		step = opcodes[i].execute(q, pm4, p);
	}
	return step == CP_STEP_DONE ? advance(q, pm4, p->dwords) : step;
}

/* 0: not a packet of a compute queue. */
static uint32_t length_of(uint32_t header)
{
	if (PM4_TYPE(header) == 2)
		return 1;
	if (PM4_TYPE(header) != 3)
		return 0;
	if (PM4_OPCODE(header) == PM4_NOP && PM4_COUNT(header) == PM4_NOP_ONE_DWORD)
		return 1;
	return PM4_COUNT(header) + 2;
}

static enum cp_step step(struct emu_queue *q, struct pm4 *pm4)
{
	uint64_t there = dwords_there(q, pm4);
	struct packet p = { 0 };

	if (!read_packet(q, pm4, 0, p.dw, 1))
		return CP_STEP_IDLE;
	p.dwords = length_of(p.dw[0]);
	if (!p.dwords || (p.dwords > there && pm4->ib_dwords))
		return unknown(q);
	if (p.dwords > there)
		return CP_STEP_IDLE; /* until the doorbell says that it is complete */
	if (!read_packet(q, pm4, 0, p.dw, p.dwords < PACKET_DWORDS ? p.dwords : PACKET_DWORDS))
		return CP_STEP_IDLE;
	return execute(q, pm4, &p);
}

/*
 * A turn of a queue
 */

void pm4_begin_ib(struct emu_queue *q, const uint32_t jump[4])
{
	struct cp *c = q->processor;

	c->pm4.ib = (jump[1] & ~3u) | (uint64_t)(jump[2] & 0xffff) << 32;
	c->pm4.ib_dwords = PM4_IB_DWORDS(jump[3]);
}

enum cp_step pm4_step_ib(struct emu_queue *q)
{
	struct cp *c = q->processor;

	return step(q, &c->pm4);
}

enum cp_step pm4_step(struct emu_queue *q)
{
	struct cp *c = q->processor;

	if (emu_queue_ring(q))
		q->wptr = q->last_doorbell;
	if (q->stopped_by_error)
		return CP_STEP_IDLE;
	if (c->in_ib && !c->pm4.ib_dwords) {
		c->in_ib = false;
		return advance_ring(q, 4);
	}
	q->rung = q->rptr != q->wptr;
	if (!q->rung)
		return CP_STEP_IDLE;
	/* An invalid pointer. */
	if (q->wptr - q->rptr > q->ring_size / 4)
		return unknown(q);
	return step(q, &c->pm4);
}

void pm4_map(struct emu_queue *q)
{
	emu_queue_read_write_pointer(q);
}
