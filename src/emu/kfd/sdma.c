// SPDX-License-Identifier: MIT
/*
 * The DMA engines: packets of SDMA 4.4 in a ring of dwords, with pointers that count bytes and
 * never wrap.
 *
 * A copy or fill is done in pieces, one in each turn of its queue; its progress is kept with the
 * queue, so that it can lose its slot at any time. An unknown packet stops its queue: with a
 * guessed length, the next packet would begin in its middle.
 */
#include "emu/kfd/queue.h"

#include "base/clock.h"
#include "emu/kfd/guest.h"
#include "emu/kfd/node.h"

#include <errno.h>
#include <stdlib.h>

#define PACKETS_IN_TURN 32
#define PIECE_BYTES ((uint64_t)256 << 10)
#define PACKET_DWORDS_MAX 16 /* of those with a fixed length */

enum {
	SDMA_NOP = 0,
	SDMA_COPY = 1,
	SDMA_WRITE = 2,
	SDMA_FENCE = 5,
	SDMA_TRAP = 6,
	SDMA_POLL_REGMEM = 8,
	SDMA_ATOMIC = 10,
	SDMA_CONST_FILL = 11,
	SDMA_TIMESTAMP = 13,
	SDMA_GCR = 17,
};

#define COPY_LINEAR 0
#define COPY_RECT 4
#define COPY_BROADCAST (1u << 27)
#define COPY_COUNT 0x3fffffff
#define WRITE_COUNT 0xfffff
#define TRAP_CONTEXT 0xfffffff
#define POLL_FUNCTION(dw) ((dw) >> 28 & 7)
#define POLL_MEMORY (1u << 31)
#define ATOMIC_LOOP (1u << 16)
#define ATOMIC_OP(dw) ((dw) >> 25)
#define FILL_SIZE(dw) ((dw) >> 30)
#define FILL_DWORDS 2
#define TIMESTAMP_GET_GLOBAL 2

struct sdma {
	uint64_t done; /* bytes done of the current packet */
};

enum step {
	STEP_IDLE,
	STEP_WAITS, /* for memory */
	STEP_PART, /* a piece was done */
	STEP_DONE, /* a packet was consumed */
};

/* A packet: its first dwords, and its length. */
struct packet {
	uint32_t dw[PACKET_DWORDS_MAX];
	uint64_t dwords;
};

static uint64_t address(const struct packet *p, int i)
{
	return p->dw[i] | (uint64_t)p->dw[i + 1] << 32;
}

/*
 * The ring
 */

static bool publish(struct emu_queue *q)
{
	_Atomic uint64_t *pointer = emu_queue_word(q, q->read_pointer, true);

	if (!pointer) {
		emu_queue_fault(q, q->read_pointer, true);
		return false;
	}
	atomic_store(pointer, q->rptr);
	return true;
}

static enum step unknown(struct emu_queue *q)
{
	emu_queue_error(q, GP_KFD_EC_QUEUE_PACKET_UNSUPPORTED);
	return STEP_IDLE;
}

static enum step fault(struct emu_queue *q, uint64_t va, bool write)
{
	emu_queue_fault(q, va, write);
	return STEP_IDLE;
}

/*
 * Copies and fills
 */

/*
 * To or from memory of the program that the machine does not map; 0: neither side is, or both are,
 * or it is not possible in this way.
 */
static uint64_t copy_deferred(struct emu_queue *q, uint64_t to, uint64_t from, uint64_t bytes)
{
	size_t in_len = bytes, out_len = bytes;
	uint32_t node = q->node->index;
	uint64_t user = 0, ignored;
	bool in = emu_memory_deferred(q->process, node, from, false, &in_len, &user);
	bool out = emu_memory_deferred(q->process, node, to, true, &out_len, in ? &ignored : &user);
	void *host;

	if (in == out)
		return 0;
	host = emu_memory_at(q->process, node, in ? to : from, in, in ? &out_len : &in_len);
	if (in_len > out_len)
		in_len = out_len;
	return host && emu_defer_copy(q->process, user, host, in_len, out) ? in_len : 0;
}

/* The length that is contiguous on both sides. 0: a fault. */
static uint64_t copy_some(struct emu_queue *q, uint64_t to, uint64_t from, uint64_t bytes)
{
	uint64_t direct = emu_defer_any(q->process) ? copy_deferred(q, to, from, bytes) : 0;
	size_t in_len = bytes, out_len = bytes;
	const void *in;
	void *out;

	if (direct)
		return direct;
	in = emu_memory_at(q->process, q->node->index, from, false, &in_len);
	out = emu_memory_at(q->process, q->node->index, to, true, &out_len);
	if (!in || !out) {
		emu_queue_fault(q, in ? to : from, in);
		return 0;
	}
	if (in_len > out_len)
		in_len = out_len;
	if (in_len > bytes)
		in_len = bytes;
	emu_guest_copy(out, in, in_len);
	return in_len;
}

static bool copy_range(struct emu_queue *q, uint64_t to, uint64_t from, uint64_t bytes)
{
	while (bytes) {
		uint64_t n = copy_some(q, to, from, bytes);

		if (!n)
			return false;
		to += n;
		from += n;
		bytes -= n;
	}
	return true;
}

/* The next piece of @bytes; false: none is left. */
static bool next_piece(const struct sdma *s, uint64_t bytes, uint64_t *n)
{
	*n = bytes - s->done < PIECE_BYTES ? bytes - s->done : PIECE_BYTES;
	return *n;
}

static enum step part_done(struct sdma *s, uint64_t n, uint64_t bytes)
{
	s->done += n;
	return s->done < bytes ? STEP_PART : STEP_DONE;
}

static enum step copy_linear(struct emu_queue *q, const struct packet *p)
{
	struct sdma *s = q->processor;
	uint64_t bytes = (uint64_t)(p->dw[1] & COPY_COUNT) + 1, n;

	if (!next_piece(s, bytes, &n))
		return STEP_DONE;
	if (!copy_range(q, address(p, 5) + s->done, address(p, 3) + s->done, n))
		return STEP_IDLE;
	if (p->dw[0] & COPY_BROADCAST &&
	    !copy_range(q, address(p, 7) + s->done, address(p, 3) + s->done, n))
		return STEP_IDLE;
	return part_done(s, n, bytes);
}

/* A side of a rectangular copy: its start, and the pitch of rows and planes. */
struct box {
	uint64_t base, row, plane;
};

static struct box box_at(const struct packet *p, int i, uint32_t shift)
{
	uint32_t x = p->dw[i + 2] & 0x3fff, y = p->dw[i + 2] >> 16 & 0x3fff;
	uint32_t z = p->dw[i + 3] & 0x7ff;
	struct box b;

	b.row = (uint64_t)((p->dw[i + 3] >> 13 & 0x7ffff) + 1) << shift;
	b.plane = (uint64_t)((p->dw[i + 4] & 0xfffffff) + 1) << shift;
	b.base = address(p, i) + ((uint64_t)x << shift) + y * b.row + z * b.plane;
	return b;
}

/* Row by row. */
static enum step copy_rect(struct emu_queue *q, const struct packet *p)
{
	struct sdma *s = q->processor;
	uint32_t shift = p->dw[0] >> 29;
	uint64_t width = (uint64_t)((p->dw[11] & 0x3fff) + 1) << shift;
	uint64_t rows = (p->dw[11] >> 16 & 0x3fff) + 1, planes = (p->dw[12] & 0x7ff) + 1;
	struct box from = box_at(p, 1, shift), to = box_at(p, 6, shift);
	uint64_t budget = PIECE_BYTES;

	for (; s->done < rows * planes && budget; s->done++) {
		uint64_t y = s->done % rows, z = s->done / rows;

		if (!copy_range(q, to.base + y * to.row + z * to.plane,
				from.base + y * from.row + z * from.plane, width))
			return STEP_IDLE;
		budget -= width < budget ? width : budget;
	}
	return s->done < rows * planes ? STEP_PART : STEP_DONE;
}

static bool fill_range(struct emu_queue *q, uint64_t to, uint32_t value, uint64_t bytes)
{
	while (bytes) {
		size_t len = bytes;
		uint32_t *out = emu_memory_at(q->process, q->node->index, to, true, &len);

		if (!out) {
			emu_queue_fault(q, to, true);
			return false;
		}
		if (len > bytes)
			len = bytes;
		len &= ~(size_t)3;
		for (size_t i = 0; i < len / 4; i++)
			out[i] = value;
		to += len;
		bytes -= len;
	}
	return true;
}

static enum step fill(struct emu_queue *q, const struct packet *p)
{
	struct sdma *s = q->processor;
	uint64_t bytes = ((uint64_t)(p->dw[4] & COPY_COUNT) / 4 + 1) * 4, n;

	if (FILL_SIZE(p->dw[0]) != FILL_DWORDS || address(p, 1) % 4)
		return unknown(q);
	if (!next_piece(s, bytes, &n))
		return STEP_DONE;
	if (!fill_range(q, address(p, 1) + s->done, p->dw[3], n))
		return STEP_IDLE;
	return part_done(s, n, bytes);
}

/* The data are in the ring. */
static enum step write_data(struct emu_queue *q, const struct packet *p)
{
	struct sdma *s = q->processor;
	uint64_t bytes = (p->dwords - 4) * 4, n, bad;
	uint8_t buf[4096];

	while (next_piece(s, bytes, &n)) {
		if (n > sizeof(buf))
			n = sizeof(buf);
		if (!emu_queue_read_ring(q, q->rptr + 16 + s->done, buf, n))
			return STEP_IDLE;
		if (!emu_memory_write(q->process, q->node->index, address(p, 1) + s->done, buf, n,
				      &bad))
			return fault(q, bad, true);
		s->done += n;
	}
	return STEP_DONE;
}

/*
 * Synchronisation
 */

static enum step write_fence(struct emu_queue *q, const struct packet *p)
{
	size_t len = sizeof(uint32_t);
	_Atomic uint32_t *to = emu_memory_at(q->process, q->node->index, address(p, 1), true, &len);

	if (!to || address(p, 1) % sizeof(uint32_t))
		return fault(q, address(p, 1), true);
	atomic_store(to, p->dw[3]);
	return STEP_DONE;
}

/* Anything but memory is a register that flushes host writes: they are visible at once here. */
static enum step poll_memory(struct emu_queue *q, const struct packet *p)
{
	uint64_t va = address(p, 1);
	size_t len = sizeof(uint32_t);
	_Atomic uint32_t *from;

	if (!(p->dw[0] & POLL_MEMORY))
		return STEP_DONE;
	if (POLL_FUNCTION(p->dw[0]) > 6)
		return unknown(q);
	from = emu_memory_at(q->process, q->node->index, va, false, &len);
	if (!from || va % sizeof(uint32_t))
		return fault(q, va, false);
	return emu_compare(atomic_load(from) & p->dw[4], POLL_FUNCTION(p->dw[0]), p->dw[3])
		       ? STEP_DONE
		       : STEP_WAITS;
}

/* Atomic operations of the texture cache: of 32 bits, and 32 higher those of 64. */
enum {
	ATOMIC_SWAP = 7,
	ATOMIC_CMPSWAP = 8,
	ATOMIC_ADD = 15,
	ATOMIC_SUB = 16,
	ATOMIC_SMIN = 17,
	ATOMIC_UMIN = 18,
	ATOMIC_SMAX = 19,
	ATOMIC_UMAX = 20,
	ATOMIC_AND = 21,
	ATOMIC_OR = 22,
	ATOMIC_XOR = 23,
	ATOMIC_INC = 24,
	ATOMIC_DEC = 25,
	ATOMIC_64 = 32,
};

/* False: not one of them. */
static bool apply(uint32_t op, uint64_t old, uint64_t x, uint64_t y, uint64_t *out)
{
	switch (op) {
	case ATOMIC_SWAP:
		*out = x;
		return true;
	case ATOMIC_CMPSWAP:
		*out = old == y ? x : old;
		return true;
	case ATOMIC_ADD:
		*out = old + x;
		return true;
	case ATOMIC_SUB:
		*out = old - x;
		return true;
	case ATOMIC_SMIN:
		*out = (int64_t)x < (int64_t)old ? x : old;
		return true;
	case ATOMIC_UMIN:
		*out = x < old ? x : old;
		return true;
	case ATOMIC_SMAX:
		*out = (int64_t)x > (int64_t)old ? x : old;
		return true;
	case ATOMIC_UMAX:
		*out = x > old ? x : old;
		return true;
	case ATOMIC_AND:
		*out = old & x;
		return true;
	case ATOMIC_OR:
		*out = old | x;
		return true;
	case ATOMIC_XOR:
		*out = old ^ x;
		return true;
	case ATOMIC_INC:
		*out = old >= x ? 0 : old + 1;
		return true;
	case ATOMIC_DEC:
		*out = !old || old > x ? x : old - 1;
		return true;
	default:
		return false;
	}
}

static bool is_signed(uint32_t op)
{
	return op == ATOMIC_SMIN || op == ATOMIC_SMAX;
}

static uint64_t widen(uint32_t op, uint32_t x)
{
	return is_signed(op) ? (uint64_t)(int64_t)(int32_t)x : x;
}

/* A loop ends when the old value equals the one compared with. */
static enum step atomic_32(struct emu_queue *q, const struct packet *p, uint32_t op)
{
	size_t len = sizeof(uint32_t);
	_Atomic uint32_t *word =
		emu_memory_at(q->process, q->node->index, address(p, 1), true, &len);
	uint64_t result;
	uint32_t old;

	if (!word || address(p, 1) % sizeof(uint32_t))
		return fault(q, address(p, 1), true);
	old = atomic_load(word);
	do {
		if (!apply(op, widen(op, old), widen(op, p->dw[3]), p->dw[5], &result))
			return unknown(q);
	} while (!atomic_compare_exchange_weak(word, &old, (uint32_t)result));
	return p->dw[0] & ATOMIC_LOOP && old != p->dw[5] ? STEP_WAITS : STEP_DONE;
}

static enum step atomic_64(struct emu_queue *q, const struct packet *p, uint32_t op)
{
	_Atomic uint64_t *word = emu_queue_word(q, address(p, 1), true);
	uint64_t old, result;

	if (!word)
		return fault(q, address(p, 1), true);
	old = atomic_load(word);
	do {
		if (!apply(op, old, address(p, 3), address(p, 5), &result))
			return unknown(q);
	} while (!atomic_compare_exchange_weak(word, &old, result));
	return p->dw[0] & ATOMIC_LOOP && old != address(p, 5) ? STEP_WAITS : STEP_DONE;
}

static enum step atomic(struct emu_queue *q, const struct packet *p)
{
	uint32_t op = ATOMIC_OP(p->dw[0]);

	return op >= ATOMIC_64 ? atomic_64(q, p, op - ATOMIC_64) : atomic_32(q, p, op);
}

static enum step timestamp(struct emu_queue *q, const struct packet *p)
{
	_Atomic uint64_t *to = emu_queue_word(q, address(p, 1), true);

	if ((p->dw[0] >> 8 & 0xff) != TIMESTAMP_GET_GLOBAL)
		return unknown(q);
	if (!to)
		return fault(q, address(p, 1), true);
	atomic_store(to, emu_node_ticks(q->node));
	return STEP_DONE;
}

/*
 * A turn of a queue
 */

/* The length of a packet, from its first dword; 0: unknown. */
static uint32_t length_of(uint32_t dw0)
{
	uint32_t sub = dw0 >> 8 & 0xff;

	switch (dw0 & 0xff) {
	case SDMA_NOP:
		return 1 + (dw0 >> 16 & 0x3fff);
	case SDMA_COPY:
		if (sub == COPY_LINEAR)
			return dw0 & COPY_BROADCAST ? 9 : 7;
		return sub == COPY_RECT ? 13 : 0;
	case SDMA_WRITE:
		return sub ? 0 : 4; /* and data */
	case SDMA_FENCE:
		return 4;
	case SDMA_TRAP:
		return 2;
	case SDMA_POLL_REGMEM:
		return sub ? 0 : 6;
	case SDMA_ATOMIC:
		return 8;
	case SDMA_CONST_FILL:
		return sub ? 0 : 5;
	case SDMA_TIMESTAMP:
		return 3;
	case SDMA_GCR:
		return 5;
	default:
		return 0;
	}
}

static enum step execute(struct emu_queue *q, const struct packet *p)
{
	switch (p->dw[0] & 0xff) {
	case SDMA_COPY:
		return (p->dw[0] >> 8 & 0xff) == COPY_RECT ? copy_rect(q, p) : copy_linear(q, p);
	case SDMA_WRITE:
		return write_data(q, p);
	case SDMA_FENCE:
		return write_fence(q, p);
	case SDMA_TRAP:
		emu_event_interrupt(q->process, p->dw[1] & TRAP_CONTEXT);
		return STEP_DONE;
	case SDMA_POLL_REGMEM:
		return poll_memory(q, p);
	case SDMA_ATOMIC:
		return atomic(q, p);
	case SDMA_CONST_FILL:
		return fill(q, p);
	case SDMA_TIMESTAMP:
		return timestamp(q, p);
	default: /* no operation, or caches that are not emulated */
		return STEP_DONE;
	}
}

/* False: it is incomplete, or unknown. */
static bool fetch(struct emu_queue *q, struct packet *p)
{
	uint64_t there = (q->wptr - q->rptr) / 4, n;

	if (!emu_queue_read_ring(q, q->rptr, p->dw, 4))
		return false;
	p->dwords = length_of(p->dw[0]);
	if (!p->dwords) {
		unknown(q);
		return false;
	}
	n = p->dwords < PACKET_DWORDS_MAX ? p->dwords : PACKET_DWORDS_MAX;
	if (n > there || !emu_queue_read_ring(q, q->rptr, p->dw, 4 * n))
		return false;
	if ((p->dw[0] & 0xff) == SDMA_WRITE)
		p->dwords += (p->dw[3] & WRITE_COUNT) + 1;
	return p->dwords <= there;
}

static enum step step(struct emu_queue *q)
{
	struct sdma *s = q->processor;
	struct packet p;
	enum step step;

	if (emu_queue_ring(q))
		q->wptr = q->last_doorbell;
	if (q->stopped_by_error || q->rptr == q->wptr)
		return STEP_IDLE;
	/* An invalid pointer. */
	if (q->wptr - q->rptr > q->ring_size || q->wptr % 4)
		return unknown(q);
	if (!fetch(q, &p))
		return STEP_IDLE;
	step = execute(q, &p);
	if (step != STEP_DONE)
		return step;
	s->done = 0;
	q->rptr += 4 * p.dwords;
	return publish(q) ? STEP_DONE : STEP_IDLE;
}

static void run_queue(struct emu_queue *q, struct emu_look *look)
{
	enum step last = STEP_DONE;
	uint64_t start = gp__clock_ns();
	bool busy = false;

	for (int i = 0; i < PACKETS_IN_TURN && last == STEP_DONE; i++) {
		last = step(q);
		busy |= last == STEP_DONE || last == STEP_PART;
	}
	look->busy |= busy;
	look->waits |= last == STEP_WAITS;
	if (busy)
		atomic_fetch_add(&q->process->node[q->node->index].sdma_ns, gp__clock_ns() - start);
}

void emu_sdma_run(struct emu_node *n, struct emu_look *look)
{
	if (atomic_load(&n->hung))
		return;
	for (struct emu_queue *q = n->mapped; q; q = q->next_in_turn) {
		if (emu_queue_is_sdma(q))
			run_queue(q, look);
	}
}

int emu_sdma_attach(struct emu_queue *q)
{
	q->processor = calloc(1, sizeof(struct sdma));
	return q->processor ? 0 : -ENOMEM;
}

void emu_sdma_detach(struct emu_queue *q)
{
	free(q->processor);
}

void emu_sdma_map(struct emu_queue *q)
{
	emu_queue_read_write_pointer(q);
}
