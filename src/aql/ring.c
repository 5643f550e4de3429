// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "aql/ring.h"

#define PACKET_BYTES 64
#define PACKET_SIGNAL 56 /* in a packet of any type that has one */
#define SIGNAL_VALUE 8 /* in struct amd_signal_s */
#define HEADER_TYPE(header) ((header)&0xff)
#define HEADER_BARRIER 0x100
#define TYPE_INVALID 1 /* not written yet, or consumed */

/*
 * Reading
 */

enum round { ROUND_INDICES, ROUND_HEADER, ROUND_PACKETS, ROUND_SIGNALS, ROUND_END };

static uint64_t nr_packets(const struct gp__ring_place *p)
{
	return p->bytes / PACKET_BYTES;
}

/* @index counts from 1: the packet before that index. */
static uint64_t packet_before(const struct gp__ring_place *p, uint64_t index)
{
	return p->ring + (index - 1) % nr_packets(p) * PACKET_BYTES;
}

uint64_t gp__ring_pending(const struct gp__ring_place *place, uint64_t read, uint64_t write)
{
	uint64_t ring = place->bytes;

	if (place->kind == GP__RING_AQL)
		return write - read;
	/* Not all generations let these indices grow beyond the ring. */
	if (place->kind == GP__RING_PM4)
		ring /= sizeof(uint32_t);
	return ring ? (write - read) % ring : write - read;
}

static void want(struct gp__ring_reading *r, uint64_t address)
{
	r->word[r->nr++] = (struct gp__ring_word){ .at = address };
}

static bool ends(struct gp__ring_reading *r)
{
	r->round = ROUND_END;
	r->nr = 0;
	return false;
}

static bool begins_round(struct gp__ring_reading *r, enum round round)
{
	r->round = round;
	return true;
}

/* Both must be there, and make sense: half of one may be older than the other half. */
static int take_indices(struct gp__ring_sight *s, const struct gp__ring_place *p,
			const struct gp__ring_word *read, const struct gp__ring_word *write)
{
	if (!read->is_there || !write->is_there)
		return -EFAULT;
	if (p->kind == GP__RING_AQL && (int64_t)(write->value - read->value) < 0)
		return -ERANGE;
	s->read = read->value;
	s->write = write->value;
	s->pending = gp__ring_pending(p, s->read, s->write);
	return 0;
}

/* Only while the packet is in the ring, which it is not where more is reserved than has room. */
static bool asks_header(const struct gp__ring_reading *r)
{
	const struct gp__ring_sight *s = &r->sight;

	return s->pending && s->pending <= nr_packets(r->place) && r->ring->barrier_at != s->write;
}

static bool asks_end(const struct gp__ring_reading *r)
{
	const struct gp__ring_sight *s = &r->sight;

	return r->asks_end && !s->pending && (r->ring->is_busy || s->write != r->ring->write);
}

/* Counts the packets that may not be done; at least the last one. */
static uint32_t nr_signals(const struct gp__ring_reading *r)
{
	uint64_t write = r->sight.write, done = r->ring->done;
	uint64_t nr = r->ring->barrier_at == write || done >= write ? 1 : write - done;

	if (nr > nr_packets(r->place))
		nr = nr_packets(r->place);
	return nr < GP__RING_SIGNALS ? (uint32_t)nr : GP__RING_SIGNALS;
}

static bool after_indices(struct gp__ring_reading *r)
{
	struct gp__ring_sight *s = &r->sight;

	s->error = take_indices(s, r->place, &r->word[0], &r->word[1]);
	r->nr = 0;
	if (s->error || r->place->kind != GP__RING_AQL || !s->write || !nr_packets(r->place))
		return ends(r);
	if (asks_header(r)) {
		want(r, packet_before(r->place, s->write));
		return begins_round(r, ROUND_HEADER);
	}
	if (!asks_end(r))
		return ends(r);
	r->nr_signals = nr_signals(r);
	for (uint32_t i = 0; i < r->nr_signals; i++)
		want(r, packet_before(r->place, s->write - i) + PACKET_SIGNAL);
	return begins_round(r, ROUND_PACKETS);
}

static bool after_header(struct gp__ring_reading *r)
{
	uint64_t header = r->word[0].value & 0xffff;

	r->sight.has_barrier = r->word[0].is_there && HEADER_TYPE(header) != TYPE_INVALID &&
			       header & HEADER_BARRIER;
	return ends(r);
}

/* The signals' values, and then the indices again: what came meanwhile has another signal. */
static bool after_packets(struct gp__ring_reading *r)
{
	uint64_t signal[GP__RING_SIGNALS];

	for (uint32_t i = 0; i < r->nr_signals; i++) {
		signal[i] = r->word[i].is_there ? r->word[i].value : 0;
		if (signal[i])
			r->signals |= 1u << i;
	}
	if (!r->signals)
		return ends(r);
	r->nr = 0;
	/* A packet without a signal keeps its place with a word that can be read. */
	for (uint32_t i = 0; i < r->nr_signals; i++)
		want(r, signal[i] ? signal[i] + SIGNAL_VALUE : r->place->read_index);
	want(r, r->place->read_index);
	want(r, r->place->write_index);
	return begins_round(r, ROUND_SIGNALS);
}

static bool has_value(const struct gp__ring_reading *r, uint32_t i)
{
	return r->signals & 1u << i && r->word[i].is_there;
}

static enum gp__ring_before judge_before(const struct gp__ring_reading *r)
{
	uint64_t first = r->sight.write - r->nr_signals;
	bool knows_all = first <= r->ring->done;

	for (uint32_t i = 1; i < r->nr_signals; i++) {
		if (!has_value(r, i))
			knows_all = false;
		else if ((int64_t)r->word[i].value > 0)
			return GP__RING_BEFORE_RUNS;
	}
	return knows_all ? GP__RING_BEFORE_DONE : GP__RING_BEFORE_UNKNOWN;
}

static bool after_signals(struct gp__ring_reading *r)
{
	const struct gp__ring_word *index = &r->word[r->nr_signals];
	struct gp__ring_sight *s = &r->sight;
	uint64_t read = s->read, write = s->write;

	if (!take_indices(s, r->place, &index[0], &index[1]) && s->read == read &&
	    s->write == write) {
		s->has_signal = has_value(r, 0);
		s->signal = (int64_t)r->word[0].value;
		s->before = judge_before(r);
	}
	return ends(r);
}

void gp__ring_begin(struct gp__ring_reading *reading, const struct gp__ring *ring,
		    const struct gp__ring_place *place, bool is_running, bool asks_end)
{
	memset(reading, 0, sizeof(*reading));
	reading->ring = ring;
	reading->place = place;
	reading->asks_end = asks_end;
	reading->sight.is_running = is_running;
	reading->sight.waves = -1;
	want(reading, place->read_index);
	want(reading, place->write_index);
}

bool gp__ring_next(struct gp__ring_reading *r)
{
	switch (r->round) {
	case ROUND_INDICES:
		return after_indices(r);
	case ROUND_HEADER:
		return after_header(r);
	case ROUND_PACKETS:
		return after_packets(r);
	case ROUND_SIGNALS:
		return after_signals(r);
	default:
		return false;
	}
}

void gp__ring_read(struct gp__ring_reading *r, const struct gp__ring_reader *from)
{
	size_t bytes = r->place->kind == GP__RING_PM4 ? sizeof(uint32_t) : sizeof(uint64_t);

	do {
		for (uint32_t i = 0; i < r->nr; i++) {
			struct gp__ring_word *w = &r->word[i];

			w->is_there = from->read(from->data, w->at, &w->value, bytes);
		}
	} while (gp__ring_next(r));
}

/*
 * Judging
 */

bool gp__ring_has_moved(const struct gp__ring *ring, const struct gp__ring_sight *s)
{
	return s->read != ring->read || s->write != ring->write;
}

/* Whether the last signal has fired, now or with the same indices before. */
static bool has_fired(const struct gp__ring *ring, const struct gp__ring_sight *s)
{
	if (!s->has_signal)
		return false;
	if (s->signal <= 0)
		return true;
	return !gp__ring_has_moved(ring, s) &&
	       (ring->has_fired || (ring->has_signal && s->signal < ring->signal));
}

static bool is_last_alone(const struct gp__ring *ring, const struct gp__ring_sight *s)
{
	return ring->barrier_at == s->write || s->before == GP__RING_BEFORE_DONE;
}

static bool is_stuck(const struct gp__ring *ring, const struct gp__ring_sight *s,
		     const struct gp__ring_patience *p, uint64_t now)
{
	return now - ring->stuck_since >= (s->waves ? p->limit_ns : p->doubt_ns);
}

/* Nothing is pending. */
static bool has_ended(const struct gp__ring *ring, const struct gp__ring_sight *s,
		      const struct gp__ring_patience *p, uint64_t now)
{
	uint64_t still = now - ring->still_since;

	if (s->before == GP__RING_BEFORE_RUNS && ring->barrier_at != s->write)
		return false;
	if (!s->has_signal)
		return still >= (s->waves ? p->blind_ns : p->grace_ns);
	if (!has_fired(ring, s))
		return false;
	return is_last_alone(ring, s) || !s->waves || still >= p->grace_ns;
}

bool gp__ring_asks(const struct gp__ring *ring, uint64_t write)
{
	return ring->is_busy || ring->pending || write != ring->write;
}

bool gp__ring_asks_waves(const struct gp__ring *ring, const struct gp__ring_sight *s,
			 const struct gp__ring_patience *p, uint64_t now)
{
	bool is_doubted = ring->is_busy && now - ring->stuck_since >= p->doubt_ns;

	if (s->error || !s->is_running)
		return false;
	if (s->pending)
		return is_doubted && s->read == ring->read;
	if (!ring->is_busy && !gp__ring_has_moved(ring, s))
		return false;
	/* A signal that has not fired says enough for a time. */
	if (s->before == GP__RING_BEFORE_RUNS || (s->has_signal && !has_fired(ring, s)))
		return is_doubted && !gp__ring_has_moved(ring, s);
	return !s->has_signal || !is_last_alone(ring, s);
}

void gp__ring_restart(struct gp__ring *ring, uint64_t now)
{
	ring->still_since = ring->stuck_since = now;
	ring->rest_until = 0;
}

static void note_times(struct gp__ring *ring, const struct gp__ring_sight *s, uint64_t now)
{
	if (!s->is_running || (!s->error && s->read != ring->read))
		gp__ring_restart(ring, now);
	if (s->waves > 0)
		ring->still_since = ring->stuck_since = now;
	if (!s->error && s->write != ring->write)
		ring->still_since = now;
}

static void note_signal(struct gp__ring *ring, const struct gp__ring_sight *s)
{
	ring->has_fired = has_fired(ring, s);
	ring->has_signal = s->has_signal;
	ring->signal = s->signal;
	if (s->has_barrier)
		ring->barrier_at = s->write;
}

static void end(struct gp__ring *ring, uint64_t write)
{
	ring->is_busy = false;
	ring->done = write;
}

/* Pending packets are not taken for work again before a rest, unless the hardware takes them. */
static void give_up(struct gp__ring *ring, const struct gp__ring_sight *s, uint64_t now)
{
	if (s->error || s->pending) {
		ring->is_busy = false;
		ring->rest_until = now + GP__RING_REST * (now - ring->stuck_since);
	} else {
		end(ring, s->write);
	}
}

static void judge(struct gp__ring *ring, const struct gp__ring_sight *s,
		  const struct gp__ring_patience *p, bool has_come, uint64_t now)
{
	if (!s->error && !s->pending && (ring->is_busy || has_come) && has_ended(ring, s, p, now)) {
		end(ring, s->write);
	} else if (ring->is_busy) {
		if (is_stuck(ring, s, p, now))
			give_up(ring, s, now);
	} else if (has_come && now >= ring->rest_until) {
		ring->is_busy = true;
		ring->stuck_since = now;
	}
}

static enum gp__ring_event event_of(const struct gp__ring *ring, bool was_busy)
{
	if (was_busy == ring->is_busy)
		return GP__RING_NOTHING;
	return ring->is_busy ? GP__RING_READY : GP__RING_IDLE;
}

enum gp__ring_event gp__ring_look(struct gp__ring *ring, const struct gp__ring_sight *s,
				  const struct gp__ring_patience *p, uint64_t now)
{
	bool was_busy = ring->is_busy, has_come = !s->error && gp__ring_has_moved(ring, s);

	note_times(ring, s, now);
	if (!s->error)
		note_signal(ring, s);
	judge(ring, s, p, has_come, now);
	if (!s->error) {
		ring->read = s->read;
		ring->write = s->write;
		ring->pending = s->pending;
	}
	return event_of(ring, was_busy);
}

bool gp__ring_arrived(struct gp__ring *ring, uint64_t now)
{
	bool was_idle = !ring->is_busy;

	if (was_idle) {
		ring->is_busy = true;
		ring->stuck_since = now;
		ring->rest_until = 0;
	}
	return was_idle;
}
