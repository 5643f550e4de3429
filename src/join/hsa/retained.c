// SPDX-License-Identifier: MIT
#include "join/hsa/retained.h"

#include <string.h>

#include "join/hsa/abi.h"

/* The dependent signals of a barrier packet. */
#define DEPENDENCIES_AT 8
#define DEPENDENCY_BYTES 40

void gp__aql_retained_init(struct gp__aql_retained *k, void *ring, void *queue_ring, uint32_t size,
			   uint64_t write, const uint64_t own[GP__AQL_RETAINED_MAX])
{
	*k = (struct gp__aql_retained){ .program_ring = ring,
					.queue_ring = queue_ring,
					.size = size,
					.first = write,
					.untracked_before = write,
					.resubmit_before = write,
					.read = write };
	memcpy(k->own, own, sizeof(k->own));
	for (uint32_t i = 0; i < size; i++)
		atomic_store_explicit(&k->program_ring[i].header, GP__AQL_INVALID,
				      memory_order_relaxed);
}

static struct gp__aql_in_flight *slot_of(struct gp__aql_retained *k, uint64_t at)
{
	return &k->in_flight[at % GP__AQL_RETAINED_MAX];
}

static bool is_in_flight(struct gp__aql_retained *k, uint64_t at)
{
	return slot_of(k, at)->is_used && slot_of(k, at)->at == at;
}

static struct gp__hsa_signal *signal_of(const struct gp__aql_packet *p)
{
	return (struct gp__hsa_signal *)(uintptr_t)p->signal;
}

static enum gp__aql_type type_of(const struct gp__aql_packet *p)
{
	return atomic_load_explicit(&p->header, memory_order_acquire) & 0xff;
}

static bool has_scratch(const struct gp__aql_packet *p)
{
	return type_of(p) == GP__AQL_DISPATCH && p->scratch_bytes;
}

/* As the GPU leaves a packet that it has taken. */
static void invalidate(struct gp__aql_retained *k, uint64_t at)
{
	atomic_store_explicit(&k->program_ring[at % k->size].header, GP__AQL_INVALID,
			      memory_order_relaxed);
}

/*
 * Packets that have ended
 */

static bool waits_for_all(const struct gp__aql_packet *p)
{
	return atomic_load_explicit(&p->header, memory_order_relaxed) & GP__AQL_BARRIER_BIT;
}

/* Copies the times that the GPU wrote into our signal, as profilers ask for them. */
static void note_end(struct gp__aql_retained *k, struct gp__aql_in_flight *w)
{
	const struct gp__hsa_signal *ours = signal_of(&w->packet);
	struct gp__hsa_signal *theirs = (struct gp__hsa_signal *)(uintptr_t)w->program_signal;

	w->is_used = false;
	k->nr_in_flight--;
	if (has_scratch(&w->packet)) {
		k->nr_scratch--;
		invalidate(k, w->at);
	}
	if (waits_for_all(&w->packet) && w->at + 1 > k->first)
		k->first = w->at + 1;
	if (theirs) {
		theirs->start = ours->start;
		theirs->end = ours->end;
		k->end(k->data, w->program_signal);
	}
}

static bool has_ended(struct gp__aql_retained *k, uint64_t at)
{
	return is_in_flight(k, at) && atomic_load(&signal_of(&slot_of(k, at)->packet)->value) < 1;
}

/*
 * Reports ends in the order of submission, in which a program expects its signals to fire. The last
 * packet is checked first, so that a packet that ends meanwhile is left for the next call.
 */
void gp__aql_retained_note_ends(struct gp__aql_retained *k, uint64_t submitted)
{
	uint64_t begin = submitted > GP__AQL_RETAINED_MAX ? submitted - GP__AQL_RETAINED_MAX : 0;
	bool ended[GP__AQL_RETAINED_MAX] = { false };

	if (k->nr_in_flight) {
		for (uint64_t at = submitted; at-- > begin;)
			ended[at - begin] = has_ended(k, at);
		for (uint64_t at = begin; at < submitted; at++) {
			if (ended[at - begin])
				note_end(k, slot_of(k, at));
		}
	}
	while (k->first >= k->untracked_before && k->first < submitted &&
	       !is_in_flight(k, k->first))
		k->first++;
}

/*
 * Copying
 */

/* The header is written last: it makes the packet valid. */
static void put(struct gp__aql_retained *k, uint64_t at, const struct gp__aql_packet *p)
{
	struct gp__aql_packet *slot = &k->queue_ring[(at + k->shift) % k->size];
	const size_t header = sizeof(p->header);

	memcpy((char *)slot + header, (const char *)p + header, sizeof(*p) - header);
	atomic_store_explicit(&slot->header, atomic_load_explicit(&p->header, memory_order_relaxed),
			      memory_order_release);
}

static void put_no_op(struct gp__aql_retained *k, uint64_t at)
{
	const struct gp__aql_packet no_op = { .header = GP__AQL_BARRIER_AND };

	put(k, at, &no_op);
}

/* Whether the packet's last word is a completion signal. */
static bool has_place_for_signal(const struct gp__aql_packet *p)
{
	switch (type_of(p)) {
	case GP__AQL_DISPATCH:
	case GP__AQL_BARRIER_AND:
	case GP__AQL_BARRIER_OR:
		return true;
	case GP__AQL_VENDOR:
		return (p->setup & 0xff) == GP__AQL_AMD_BARRIER_VALUE;
	default:
		return false;
	}
}

/*
 * A barrier with dependent signals cannot wait a second time: the program may reuse each signal as
 * soon as it has fired.
 */
static bool can_be_dropped(const struct gp__aql_packet *p)
{
	static const char none[DEPENDENCY_BYTES];

	switch (type_of(p)) {
	case GP__AQL_DISPATCH:
		return !has_scratch(p);
	case GP__AQL_BARRIER_AND:
	case GP__AQL_BARRIER_OR:
		return !memcmp((const char *)p + DEPENDENCIES_AT, none, sizeof(none));
	default:
		return false;
	}
}

static void take(struct gp__aql_retained *k, uint64_t at, const struct gp__aql_packet *p)
{
	struct gp__aql_in_flight *w = slot_of(k, at);

	memcpy(&w->packet, p, sizeof(*p));
	w->packet.signal = k->own[at % GP__AQL_RETAINED_MAX];
	atomic_store(&signal_of(&w->packet)->value, 1);
	w->program_signal = p->signal;
	w->can_be_dropped = can_be_dropped(p);
	w->at = at;
	w->is_used = true;
	k->nr_in_flight++;
	k->nr_scratch += has_scratch(p);
}

/* At most half of the ring is in flight: the other half is for submitting it again. */
static bool can_retain(struct gp__aql_retained *k, uint64_t at)
{
	return !slot_of(k, at)->is_used && k->nr_in_flight < k->size / 2;
}

/*
 * Copies a packet for the first time. False: it is not valid yet, or has to wait. A packet that is
 * not retained signals the program directly, so it waits until all retained ones have ended. A
 * packet with scratch memory is always retained, since the runtime looks for it in the program's
 * ring until it has ended.
 */
static bool copy_new(struct gp__aql_retained *k, uint64_t at, bool retain)
{
	struct gp__aql_packet *p = &k->program_ring[at % k->size];

	if (type_of(p) == GP__AQL_INVALID)
		return false;
	retain = (retain || has_scratch(p)) && has_place_for_signal(p);
	if (retain ? !can_retain(k, at) : k->nr_in_flight != 0)
		return false;
	if (retain) {
		take(k, at, p);
		put(k, at, &slot_of(k, at)->packet);
	} else {
		put(k, at, p);
		k->untracked_before = at + 1;
	}
	if (!has_scratch(p))
		invalidate(k, at);
	return true;
}

static void copy_again(struct gp__aql_retained *k, uint64_t at)
{
	if (is_in_flight(k, at))
		put(k, at, &slot_of(k, at)->packet);
	else
		put_no_op(k, at);
}

/* The runtime looks into the program's ring at the packet's index in the queue's ring. */
static bool must_be_in_place(const struct gp__aql_retained *k, uint64_t at)
{
	return k->shift % k->size && has_scratch(&k->program_ring[at % k->size]);
}

uint64_t gp__aql_retained_copy(struct gp__aql_retained *k, uint64_t at, uint64_t end,
			       uint64_t queue_read, bool retain)
{
	while (at < end && at + k->shift - queue_read < k->size) {
		if (at < k->resubmit_before) {
			copy_again(k, at);
		} else if (must_be_in_place(k, at)) {
			put_no_op(k, at);
			k->shift++;
			continue;
		} else if (!copy_new(k, at, retain)) {
			break;
		}
		at++;
	}
	return at;
}

/* Keeps the read index at packets with scratch: the program may overwrite all before it. */
static uint64_t first_with_scratch(struct gp__aql_retained *k, uint64_t read)
{
	for (uint32_t i = 0; i < GP__AQL_RETAINED_MAX && k->nr_scratch; i++) {
		const struct gp__aql_in_flight *w = &k->in_flight[i];

		if (w->is_used && has_scratch(&w->packet) && (int64_t)(w->at - read) < 0)
			read = w->at;
	}
	return read;
}

uint64_t gp__aql_retained_read(struct gp__aql_retained *k, uint64_t submitted, uint64_t queue_read)
{
	uint64_t read = queue_read - k->shift;

	if (k->nr_scratch)
		gp__aql_retained_note_ends(k, submitted);
	read = first_with_scratch(k, read);
	if ((int64_t)(read - submitted) > 0)
		read = submitted;
	if ((int64_t)(read - k->read) > 0)
		k->read = read;
	return k->read;
}

/*
 * Dropping
 */

bool gp__aql_retained_can_drop(struct gp__aql_retained *k, uint64_t submitted, uint64_t queue_read)
{
	gp__aql_retained_note_ends(k, submitted);
	if (k->first < k->untracked_before || k->first < k->resubmit_before ||
	    k->first == submitted)
		return false;
	for (uint64_t at = k->first; at < submitted; at++) {
		if (is_in_flight(k, at) && !slot_of(k, at)->can_be_dropped)
			return false;
	}
	/* There is room behind the packets in the queue. */
	return submitted + k->shift - queue_read + (submitted - k->first) <= k->size;
}

uint64_t gp__aql_retained_drop(struct gp__aql_retained *k, uint64_t submitted, uint64_t queue_read)
{
	gp__aql_retained_note_ends(k, submitted);
	/* The GPU may continue anywhere in the ring, so no packet there may do anything. */
	for (uint64_t at = queue_read; at < submitted + k->shift; at++)
		put_no_op(k, at - k->shift);
	k->shift += submitted - k->first;
	k->resubmit_before = submitted;
	return k->first;
}
