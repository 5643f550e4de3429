// SPDX-License-Identifier: MIT
#include "join/hsa/kept.h"

#include <string.h>

#include "join/hsa/abi.h"

/* Of a barrier. */
#define DEPENDENCIES_AT 8
#define DEPENDENCY_BYTES 40

void gp__aql_kept_init(struct gp__aql_kept *k, void *ring, void *queue_ring, uint32_t size,
		       uint64_t write, const uint64_t own[GP__AQL_KEPT_MAX])
{
	*k = (struct gp__aql_kept){ .from = ring,
				    .to = queue_ring,
				    .size = size,
				    .first = write,
				    .blind = write,
				    .again = write,
				    .read = write };
	memcpy(k->own, own, sizeof(k->own));
	for (uint32_t i = 0; i < size; i++)
		atomic_store_explicit(&k->from[i].header, GP__AQL_INVALID, memory_order_relaxed);
}

static struct gp__aql_on_its_way *slot_of(struct gp__aql_kept *k, uint64_t at)
{
	return &k->on_its_way[at % GP__AQL_KEPT_MAX];
}

static bool is_on_its_way(struct gp__aql_kept *k, uint64_t at)
{
	return slot_of(k, at)->is_taken && slot_of(k, at)->at == at;
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

/* As the GPU would have left it. */
static void invalidate(struct gp__aql_kept *k, uint64_t at)
{
	atomic_store_explicit(&k->from[at % k->size].header, GP__AQL_INVALID, memory_order_relaxed);
}

/*
 * What has ended
 */

static bool waits_for_all(const struct gp__aql_packet *p)
{
	return atomic_load_explicit(&p->header, memory_order_relaxed) & GP__AQL_BARRIER_BIT;
}

/* The program's signal has the times that the GPU wrote into ours, as some ask for them. */
static void note_end(struct gp__aql_kept *k, struct gp__aql_on_its_way *w)
{
	const struct gp__hsa_signal *ours = signal_of(&w->packet);
	struct gp__hsa_signal *theirs = (struct gp__hsa_signal *)(uintptr_t)w->theirs;

	w->is_taken = false;
	k->nr_taken--;
	if (has_scratch(&w->packet)) {
		k->nr_scratch--;
		invalidate(k, w->at);
	}
	if (waits_for_all(&w->packet) && w->at + 1 > k->first)
		k->first = w->at + 1;
	if (theirs) {
		theirs->start = ours->start;
		theirs->end = ours->end;
		k->end(k->data, w->theirs);
	}
}

static bool has_ended(struct gp__aql_kept *k, uint64_t at)
{
	return is_on_its_way(k, at) && atomic_load(&signal_of(&slot_of(k, at)->packet)->value) < 1;
}

/*
 * In the order in which they were handed over, as a program may expect its signals to fire: those
 * that end meanwhile come next time. So the last is looked at first.
 */
void gp__aql_kept_note_ends(struct gp__aql_kept *k, uint64_t handed)
{
	uint64_t begin = handed > GP__AQL_KEPT_MAX ? handed - GP__AQL_KEPT_MAX : 0;
	bool ended[GP__AQL_KEPT_MAX] = { false };

	if (k->nr_taken) {
		for (uint64_t at = handed; at-- > begin;)
			ended[at - begin] = has_ended(k, at);
		for (uint64_t at = begin; at < handed; at++) {
			if (ended[at - begin])
				note_end(k, slot_of(k, at));
		}
	}
	while (k->first >= k->blind && k->first < handed && !is_on_its_way(k, k->first))
		k->first++;
}

/*
 * Copying
 */

/* The header last: with it the packet is there. */
static void put(struct gp__aql_kept *k, uint64_t at, const struct gp__aql_packet *p)
{
	struct gp__aql_packet *slot = &k->to[(at + k->shift) % k->size];
	const size_t header = sizeof(p->header);

	memcpy((char *)slot + header, (const char *)p + header, sizeof(*p) - header);
	atomic_store_explicit(&slot->header, atomic_load_explicit(&p->header, memory_order_relaxed),
			      memory_order_release);
}

static void put_nothing(struct gp__aql_kept *k, uint64_t at)
{
	const struct gp__aql_packet nothing = { .header = GP__AQL_BARRIER_AND };

	put(k, at, &nothing);
}

/* Packets whose last word is a completion signal for sure. */
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
 * The signals that a barrier waits for may be used for something else as soon as they have fired,
 * even before all of them have: it cannot wait for them once more.
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

static void take(struct gp__aql_kept *k, uint64_t at, const struct gp__aql_packet *p)
{
	struct gp__aql_on_its_way *w = slot_of(k, at);

	memcpy(&w->packet, p, sizeof(*p));
	w->packet.signal = k->own[at % GP__AQL_KEPT_MAX];
	atomic_store(&signal_of(&w->packet)->value, 1);
	w->theirs = p->signal;
	w->can_be_dropped = can_be_dropped(p);
	w->at = at;
	w->is_taken = true;
	k->nr_taken++;
	k->nr_scratch += has_scratch(p);
}

/* Where half of the ring is on its way, the other half is for handing it over again. */
static bool can_keep(struct gp__aql_kept *k, uint64_t at)
{
	return !slot_of(k, at)->is_taken && k->nr_taken < k->size / 2;
}

/*
 * One that is handed over for the first time; false: it is not there yet, or has to wait. What is
 * not kept moves the program's signal itself, so that must not be before those of earlier packets.
 * What has scratch memory is always kept, as the runtime looks for it in the program's ring until
 * it has ended.
 */
static bool copy_new(struct gp__aql_kept *k, uint64_t at, bool keep)
{
	struct gp__aql_packet *p = &k->from[at % k->size];

	if (type_of(p) == GP__AQL_INVALID)
		return false;
	keep = (keep || has_scratch(p)) && has_place_for_signal(p);
	if (keep ? !can_keep(k, at) : k->nr_taken != 0)
		return false;
	if (keep) {
		take(k, at, p);
		put(k, at, &slot_of(k, at)->packet);
	} else {
		put(k, at, p);
		k->blind = at + 1;
	}
	if (!has_scratch(p))
		invalidate(k, at);
	return true;
}

static void copy_again(struct gp__aql_kept *k, uint64_t at)
{
	if (is_on_its_way(k, at))
		put(k, at, &slot_of(k, at)->packet);
	else
		put_nothing(k, at);
}

/* The runtime looks into the program's ring at the place that the packet has in the queue's. */
static bool must_be_in_place(const struct gp__aql_kept *k, uint64_t at)
{
	return k->shift % k->size && has_scratch(&k->from[at % k->size]);
}

uint64_t gp__aql_kept_copy(struct gp__aql_kept *k, uint64_t at, uint64_t end, uint64_t queue_read,
			   bool keep)
{
	while (at < end && at + k->shift - queue_read < k->size) {
		if (at < k->again) {
			copy_again(k, at);
		} else if (must_be_in_place(k, at)) {
			put_nothing(k, at);
			k->shift++;
			continue;
		} else if (!copy_new(k, at, keep)) {
			break;
		}
		at++;
	}
	return at;
}

/* The program may write over what is before the read index. */
static uint64_t first_with_scratch(struct gp__aql_kept *k, uint64_t read)
{
	for (uint32_t i = 0; i < GP__AQL_KEPT_MAX && k->nr_scratch; i++) {
		const struct gp__aql_on_its_way *w = &k->on_its_way[i];

		if (w->is_taken && has_scratch(&w->packet) && (int64_t)(w->at - read) < 0)
			read = w->at;
	}
	return read;
}

uint64_t gp__aql_kept_read(struct gp__aql_kept *k, uint64_t handed, uint64_t queue_read)
{
	uint64_t read = queue_read - k->shift;

	if (k->nr_scratch)
		gp__aql_kept_note_ends(k, handed);
	read = first_with_scratch(k, read);
	if ((int64_t)(read - handed) > 0)
		read = handed;
	if ((int64_t)(read - k->read) > 0)
		k->read = read;
	return k->read;
}

/*
 * Dropping
 */

bool gp__aql_kept_can_drop(struct gp__aql_kept *k, uint64_t handed, uint64_t queue_read)
{
	gp__aql_kept_note_ends(k, handed);
	if (k->first < k->blind || k->first < k->again || k->first == handed)
		return false;
	for (uint64_t at = k->first; at < handed; at++) {
		if (is_on_its_way(k, at) && !slot_of(k, at)->can_be_dropped)
			return false;
	}
	/* There is room behind what is in the queue. */
	return handed + k->shift - queue_read + (handed - k->first) <= k->size;
}

uint64_t gp__aql_kept_drop(struct gp__aql_kept *k, uint64_t handed, uint64_t queue_read)
{
	gp__aql_kept_note_ends(k, handed);
	/* Nobody knows where the GPU goes on. */
	for (uint64_t at = queue_read; at < handed + k->shift; at++)
		put_nothing(k, at - k->shift);
	k->shift += handed - k->first;
	k->again = handed;
	return k->first;
}
