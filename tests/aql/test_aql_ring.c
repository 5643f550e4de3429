// SPDX-License-Identifier: MIT
/*
 * Tests when a queue has work, from its ring: what is read of it, what follows from that, and a
 * modelled device that works, rests and is held at random, whose every look is compared with what
 * it really does.
 */
#include "../unit/test.h"

#include <stdlib.h>

#include "aql/ring.h"

#define US 1000ull
#define MS 1000000ull
#define S 1000000000ull
#define GRACE (10 * MS)
#define BLIND (100 * MS)
#define DOUBT (1 * S)
#define LIMIT (30 * S)

static const struct gp__ring_patience patience = { GRACE, BLIND, DOUBT, LIMIT };

static enum gp__ring_event look_at(struct gp__ring *r, uint64_t now, struct gp__ring_sight s)
{
	s.is_running = true;
	s.pending = s.write - s.read;
	return gp__ring_look(r, &s, &patience, now);
}

/* Without a signal. */
static enum gp__ring_event look(struct gp__ring *r, uint64_t now, uint64_t read, uint64_t write,
				int waves)
{
	return look_at(r, now,
		       (struct gp__ring_sight){ .read = read, .write = write, .waves = waves });
}

static enum gp__ring_event look_signal(struct gp__ring *r, uint64_t now, uint64_t index,
				       int64_t signal, int waves)
{
	return look_at(r, now,
		       (struct gp__ring_sight){ .read = index,
						.write = index,
						.has_signal = true,
						.signal = signal,
						.before = GP__RING_BEFORE_DONE,
						.waves = waves });
}

static enum gp__ring_event look_held(struct gp__ring *r, uint64_t now, uint64_t read,
				     uint64_t write)
{
	const struct gp__ring_sight s = {
		.read = read, .write = write, .pending = write - read, .waves = -1
	};

	return gp__ring_look(r, &s, &patience, now);
}

#define nothing(call) assert_int_equal(call, GP__RING_NOTHING)
#define ready(call) assert_int_equal(call, GP__RING_READY)
#define idle(call) assert_int_equal(call, GP__RING_IDLE)

/*
 * Arrival and end
 */

static void work_arrives_with_the_write_index(void **state)
{
	struct gp__ring r = { 0 }, consumed = { 0 }, done = { 0 };

	(void)state;
	nothing(look(&r, 1, 0, 0, -1));
	ready(look(&r, 2, 0, 1, -1));
	nothing(look(&r, 3, 0, 2, -1));
	/* At the first look, too, and where it was consumed before. */
	ready(look(&consumed, 1, 6, 6, -1));
	nothing(look_signal(&done, 1, 6, 0, -1));
}

static void a_long_kernel_with_a_signal(void **state)
{
	struct gp__ring r = { 0 };
	uint64_t now = 1;

	(void)state;
	nothing(look(&r, now, 0, 0, -1));
	ready(look(&r, ++now, 0, 1, -1));
	/* It runs for minutes, and the driver says that there are waves. */
	for (int i = 0; i < 1000; i++)
		nothing(look_signal(&r, now += 100 * MS, 1, 1, 1));
	/* Nobody says so. */
	for (int i = 0; i < 299; i++)
		nothing(look_signal(&r, now += 100 * MS, 1, 1, -1));
	idle(look_signal(&r, ++now, 1, 0, -1));
	nothing(look_signal(&r, ++now, 1, 0, -1));
	nothing(look(&r, ++now, 1, 1, -1));
}

static void a_long_kernel_without_a_signal(void **state)
{
	struct gp__ring r = { 0 };
	uint64_t now = 1;

	(void)state;
	ready(look(&r, now, 1, 1, -1));
	/* The driver says that there are waves, now and then. */
	for (int i = 0; i < 1000; i++) {
		nothing(look(&r, now += 1 * MS, 1, 1, 1));
		nothing(look(&r, now += 1 * MS, 1, 1, -1));
	}
	nothing(look(&r, now += GRACE / 2, 1, 1, 0));
	idle(look(&r, now += GRACE / 2, 1, 1, 0));
	/* Nobody says anything. */
	ready(look(&r, ++now, 2, 2, -1));
	nothing(look(&r, now += BLIND - 1, 2, 2, -1));
	idle(look(&r, ++now, 2, 2, -1));
}

/* With the times that are used unless others are given, and whether or not the driver tells. */
static void fifty_milliseconds_are_never_idle(void **state)
{
	const struct gp__ring_patience p = { GP__RING_GRACE_NS, GP__RING_BLIND_NS,
					     GP__RING_DOUBT_NS, GP__RING_LIMIT_NS };

	(void)state;
	for (int with_signal = 0; with_signal <= 1; with_signal++) {
		for (int waves = -1; waves <= 1; waves += 2) {
			struct gp__ring r = { 0 };
			struct gp__ring_sight s = { .is_running = true,
						    .read = 1,
						    .write = 1,
						    .has_signal = with_signal,
						    .signal = 1,
						    .before = GP__RING_BEFORE_DONE,
						    .waves = waves };

			ready(gp__ring_look(&r, &s, &p, 0));
			for (uint64_t now = 0; now <= 50 * MS; now += 50 * US)
				nothing(gp__ring_look(&r, &s, &p, now));
		}
	}
}

static void work_that_came_and_went_unseen(void **state)
{
	struct gp__ring r = { 0 };

	(void)state;
	nothing(look_signal(&r, 1, 3, 0, -1));
	nothing(look_signal(&r, 2, 9, -1, -1));
	assert_false(r.is_busy);
	/* Without a signal nobody knows. */
	ready(look(&r, 3, 10, 10, 0));
}

static void a_held_queue_is_not_idle(void **state)
{
	struct gp__ring r = { 0 };
	uint64_t now = 1;

	(void)state;
	ready(look(&r, now, 1, 1, 1));
	for (int i = 0; i < 1000; i++)
		nothing(look_held(&r, now += BLIND, 1, 1));
	gp__ring_restart(&r, now);
	nothing(look(&r, now + GRACE - 1, 1, 1, 0));
	idle(look(&r, now + GRACE, 1, 1, 0));
	/* Work may come while it is held. */
	ready(look_held(&r, now += BLIND, 1, 2));
	for (int i = 0; i < 1000; i++)
		nothing(look_held(&r, now += BLIND, 1, 2));
}

/* The value that a counter counts down to is the program's affair. */
static void a_signal_fires_by_going_down(void **state)
{
	struct gp__ring r = { 0 };

	(void)state;
	ready(look_signal(&r, 1, 1, 1000, -1));
	nothing(look_signal(&r, 2, 1, 1000, -1));
	idle(look_signal(&r, 3, 1, 999, -1));
	/* The same signal on the next packet begins where it stands. */
	ready(look_signal(&r, 4, 2, 999, -1));
	nothing(look_signal(&r, 5, 3, 998, -1));
	idle(look_signal(&r, 6, 3, 997, -1));
}

static void somebody_else_sees_work_arrive(void **state)
{
	struct gp__ring r = { 0 };

	(void)state;
	assert_true(gp__ring_arrived(&r, 5));
	assert_false(gp__ring_arrived(&r, 6));
	nothing(look(&r, 7, 0, 1, -1));
	nothing(look_signal(&r, 8, 1, 1, -1));
	idle(look_signal(&r, 9, 1, 0, -1));
}

/*
 * Nothing is believed for ever
 */

static bool asks_waves(const struct gp__ring *r, uint64_t now, struct gp__ring_sight s)
{
	s.is_running = true;
	s.pending = s.write - s.read;
	return gp__ring_asks_waves(r, &s, &patience, now);
}

/* The signal fired and was armed again between two looks: its value is what it was. */
static void a_signal_that_was_armed_again(void **state)
{
	const struct gp__ring_sight armed = { .read = 1,
					      .write = 1,
					      .has_signal = true,
					      .signal = 1,
					      .before = GP__RING_BEFORE_DONE };
	struct gp__ring r = { 0 }, blind = { 0 };

	(void)state;
	ready(look_signal(&r, 1, 1, 1, -1));
	assert_false(asks_waves(&r, DOUBT, armed));
	nothing(look_signal(&r, DOUBT, 1, 1, 0));
	assert_true(asks_waves(&r, 1 + DOUBT, armed));
	nothing(look_signal(&r, 1 + DOUBT, 1, 1, 1)); /* there are waves */
	nothing(look_signal(&r, 2 * DOUBT, 1, 1, 0));
	idle(look_signal(&r, 1 + 2 * DOUBT, 1, 1, 0));
	nothing(look_signal(&r, 9 * DOUBT, 1, 1, -1));
	/* The next packet, with the same signal, counts at once. */
	ready(look_signal(&r, 9 * DOUBT + 1, 2, 1, -1));
	idle(look_signal(&r, 9 * DOUBT + 2, 2, 0, -1));
	/* Nobody can say whether there are waves. */
	ready(look_signal(&blind, 1, 1, 1, -1));
	nothing(look_signal(&blind, LIMIT, 1, 1, -1));
	idle(look_signal(&blind, 1 + LIMIT, 1, 1, -1));
}

static void a_write_index_without_a_doorbell(void **state)
{
	const struct gp__ring_sight stuck = { .read = 3, .write = 5 };
	struct gp__ring r = { 0 }, blind = { 0 };
	uint64_t now = 1;

	(void)state;
	ready(look(&r, now, 3, 5, -1));
	assert_false(asks_waves(&r, DOUBT, stuck));
	nothing(look(&r, DOUBT, 3, 5, 0));
	assert_true(asks_waves(&r, 1 + DOUBT, stuck));
	idle(look(&r, 1 + DOUBT, 3, 5, 0));
	nothing(look(&r, 2 + DOUBT, 3, 5, -1));
	ready(look(&blind, now, 3, 5, -1));
	nothing(look(&blind, LIMIT, 3, 5, -1));
	idle(look(&blind, 1 + LIMIT, 3, 5, -1));
}

/* It may be moved again and again: only a 17th of the time counts as work. */
static void a_write_index_that_is_moved_without_a_doorbell(void **state)
{
	struct gp__ring r = { 0 };
	uint64_t busy = 0, looks = 0;

	(void)state;
	for (uint64_t now = 1; now < 600 * S; now += 10 * MS, looks++) {
		look(&r, now, 3, 5 + looks, 0);
		busy += r.is_busy;
	}
	assert_in_range(busy, looks / 20, looks / 16);
	/* The hardware takes a packet: that is work, and no rest. */
	look(&r, 600 * S, 4, 5 + looks, 0);
	assert_true(r.is_busy);
}

static void a_held_queue_that_rests_is_believed(void **state)
{
	struct gp__ring r = { 0 };

	(void)state;
	ready(look(&r, 1, 3, 5, -1));
	idle(look(&r, 1 + DOUBT, 3, 5, 0));
	nothing(look(&r, 2 + DOUBT, 3, 6, 0));
	ready(look_held(&r, 3 + DOUBT, 3, 7));
}

static void a_ring_that_cannot_be_read(void **state)
{
	const struct gp__ring_sight gone = { .error = -EFAULT, .is_running = true, .waves = -1 };
	struct gp__ring r = { 0 };

	(void)state;
	nothing(gp__ring_look(&r, &gone, &patience, 1));
	ready(look(&r, 2, 0, 1, -1));
	nothing(gp__ring_look(&r, &gone, &patience, 1 + LIMIT));
	assert_int_equal(r.write, 1);
	idle(gp__ring_look(&r, &gone, &patience, 2 + LIMIT));
	/* It can be read again, and the packet was taken. */
	ready(look(&r, 3 + LIMIT, 1, 1, -1));
}

/*
 * Reading, in a program's memory
 */

#define RING_BYTES 1024
#define PACKETS (RING_BYTES / 64)
#define KERNEL_DISPATCH 2
#define BARRIER_BIT 0x100
#define INVALID 1

struct program {
	uint64_t read, write;
	uint64_t signal[2 * 20]; /* kind and value */
	uint8_t ring[RING_BYTES];
};

#define AT(member) offsetof(struct program, member)
#define SIGNAL(i) (AT(signal) + 16 * (uint64_t)(i))

static const struct gp__ring_place aql = { .ring = AT(ring),
					   .bytes = RING_BYTES,
					   .read_index = AT(read),
					   .write_index = AT(write),
					   .kind = GP__RING_AQL };

/* Addresses are those in the program; what is beyond it is not there. */
static bool read_program(void *data, uint64_t address, void *to, size_t bytes)
{
	if (address > sizeof(struct program) - bytes)
		return false;
	memcpy(to, (const uint8_t *)data + address, bytes);
	return true;
}

static struct gp__ring_sight read_ring(struct program *p, const struct gp__ring_place *place,
				       const struct gp__ring *r)
{
	const struct gp__ring_reader from = { read_program, p };
	struct gp__ring_reading reading;

	gp__ring_begin(&reading, r, place, true, true);
	gp__ring_read(&reading, &from);
	assert_false(gp__ring_next(&reading));
	return reading.sight;
}

static enum gp__ring_event look_into(struct program *p, struct gp__ring *r, uint64_t now, int waves)
{
	struct gp__ring_sight s = read_ring(p, &aql, r);

	if (gp__ring_asks_waves(r, &s, &patience, now))
		s.waves = waves;
	return gp__ring_look(r, &s, &patience, now);
}

static void write_header(struct program *p, uint64_t packet, uint16_t header)
{
	memcpy(&p->ring[packet % PACKETS * 64], &header, sizeof(header));
}

static void submit_with(struct program *p, uint64_t signal, uint16_t header)
{
	memcpy(&p->ring[p->write % PACKETS * 64 + 56], &signal, sizeof(signal));
	write_header(p, p->write, header);
	p->write++;
}

/* With signal[@signal], which is armed; -1: without one. */
static void submit_packet(struct program *p, int signal, uint16_t flags)
{
	if (signal >= 0)
		p->signal[2 * signal + 1] = 1;
	submit_with(p, signal < 0 ? 0 : SIGNAL(signal), KERNEL_DISPATCH | flags);
}

static void consume(struct program *p)
{
	while (p->read < p->write)
		write_header(p, p->read++, INVALID);
}

static void fire(struct program *p, int signal)
{
	p->signal[2 * signal + 1]--;
}

static void indices_and_signal_are_read(void **state)
{
	struct program p = { .write = PACKETS + 2, .read = PACKETS + 2 };
	struct gp__ring r = { .write = 1, .done = PACKETS + 2 };
	struct gp__ring_sight s;

	(void)state;
	submit_packet(&p, 0, 0);
	p.signal[1] = 7;
	s = read_ring(&p, &aql, &r);
	assert_int_equal(s.error, 0);
	assert_int_equal(s.pending, 1);
	assert_false(s.has_signal);
	consume(&p);
	s = read_ring(&p, &aql, &r);
	assert_int_equal(s.pending, 0);
	assert_true(s.has_signal);
	assert_int_equal(s.signal, 7);
	assert_int_equal(s.before, GP__RING_BEFORE_DONE);
}

/* The first one's waves run on while the second one's signal has fired. */
static void two_packets_without_a_barrier_bit(void **state)
{
	struct program p = { 0 };
	struct gp__ring r = { 0 };

	(void)state;
	submit_packet(&p, 0, 0);
	submit_packet(&p, 1, 0);
	ready(look_into(&p, &r, 1, -1));
	consume(&p);
	fire(&p, 1);
	nothing(look_into(&p, &r, 2, -1));
	nothing(look_into(&p, &r, 3 + LIMIT / 2, -1));
	assert_true(r.is_busy);
	fire(&p, 0);
	idle(look_into(&p, &r, 4 + LIMIT / 2, -1));
	/* The same, unseen until the second has fired. */
	submit_packet(&p, 0, 0);
	submit_packet(&p, 1, 0);
	consume(&p);
	fire(&p, 1);
	ready(look_into(&p, &r, LIMIT, -1));
	fire(&p, 0);
	idle(look_into(&p, &r, LIMIT + 1, -1));
}

/* The first one has no signal: the driver knows, or some time passes. */
static void a_packet_without_signal_before_one_with(void **state)
{
	struct program p = { 0 };
	struct gp__ring r = { 0 };
	uint64_t now = 1;

	(void)state;
	submit_packet(&p, -1, 0);
	submit_packet(&p, 0, 0);
	ready(look_into(&p, &r, now, -1));
	consume(&p);
	fire(&p, 0);
	for (int i = 0; i < 1000; i++)
		nothing(look_into(&p, &r, now += BLIND, 1));
	idle(look_into(&p, &r, ++now, 0));
	submit_packet(&p, -1, 0);
	submit_packet(&p, 0, 0);
	consume(&p);
	fire(&p, 0);
	ready(look_into(&p, &r, ++now, -1));
	nothing(look_into(&p, &r, now + GRACE - 1, -1));
	idle(look_into(&p, &r, now + GRACE, -1));
	/* Seen for the first time when no wave is there. */
	submit_packet(&p, -1, 0);
	submit_packet(&p, 0, 0);
	consume(&p);
	fire(&p, 0);
	nothing(look_into(&p, &r, now + GRACE + 1, 0));
	assert_int_equal(r.done, p.write);
	/* And one without after one with. */
	submit_packet(&p, 0, 0);
	submit_packet(&p, -1, 0);
	consume(&p);
	ready(look_into(&p, &r, now += LIMIT, -1));
	nothing(look_into(&p, &r, now + LIMIT - 1, -1));
	fire(&p, 0);
	idle(look_into(&p, &r, now + LIMIT - 1, -1));
}

static void a_barrier_bit_speaks_for_all_before(void **state)
{
	struct program p = { 0 };
	struct gp__ring r = { 0 };

	(void)state;
	for (int i = 0; i < PACKETS - 1; i++)
		submit_packet(&p, -1, 0);
	submit_packet(&p, 0, BARRIER_BIT);
	ready(look_into(&p, &r, 1, -1));
	consume(&p);
	nothing(look_into(&p, &r, 2, -1));
	fire(&p, 0);
	idle(look_into(&p, &r, 3, -1));
	/* A header that is not written yet says nothing: the last packet may have another. */
	submit_with(&p, 0, INVALID | BARRIER_BIT);
	ready(look_into(&p, &r, 4, -1));
	assert_int_not_equal(r.barrier_at, p.write);
}

/* Only the last packets' signals are read: what is before them is not known. */
static void many_packets_without_a_barrier_bit(void **state)
{
	struct program p = { 0 };
	struct gp__ring r = { 0 };

	(void)state;
	for (int i = 0; i < GP__RING_SIGNALS + 1; i++)
		submit_packet(&p, i, 0);
	consume(&p);
	for (int i = 1; i < GP__RING_SIGNALS + 1; i++)
		fire(&p, i);
	ready(look_into(&p, &r, 1, 1));
	nothing(look_into(&p, &r, 2, 1));
	idle(look_into(&p, &r, 3, 0));
}

static void indices_that_were_caught_halfway(void **state)
{
	struct program p = { .read = 255, .write = 256 };
	struct gp__ring r = { 0 };

	(void)state;
	ready(look_into(&p, &r, 1, -1));
	p.read = 256;
	p.write = 0;
	assert_int_equal(read_ring(&p, &aql, &r).error, -ERANGE);
	nothing(look_into(&p, &r, 2, -1));
	assert_int_equal(r.write, 256);
	/* A program may reserve more packets than there is room for. */
	p.write = 1000000;
	nothing(look_into(&p, &r, 3, -1));
	assert_int_equal(r.pending, 1000000 - 256);
}

static void memory_that_is_not_there(void **state)
{
	struct program p = { .read = 1, .write = 1 };
	struct gp__ring_place place = aql;
	struct gp__ring r = { 0 };

	(void)state;
	for (enum gp__ring_kind kind = GP__RING_AQL; kind <= GP__RING_SDMA; kind++) {
		place = aql;
		place.kind = kind;
		place.write_index = ~(uint64_t)0;
		assert_int_equal(read_ring(&p, &place, &r).error, -EFAULT);
		place.write_index = AT(write);
		place.read_index = sizeof(p);
		assert_int_equal(read_ring(&p, &place, &r).error, -EFAULT);
	}
	/* Nor is a signal, or a ring, or there is no room in it: they say nothing. */
	p.write = 0;
	submit_with(&p, ~(uint64_t)0 - 8, KERNEL_DISPATCH);
	assert_int_equal(read_ring(&p, &aql, &r).error, 0);
	assert_false(read_ring(&p, &aql, &r).has_signal);
	place = aql;
	place.ring = sizeof(p);
	assert_int_equal(read_ring(&p, &place, &r).error, 0);
	assert_false(read_ring(&p, &place, &r).has_signal);
	place = aql;
	place.bytes = 0;
	assert_int_equal(read_ring(&p, &place, &r).error, 0);
}

/* A packet that arrives while signals are read has another signal. */
struct race {
	struct program p;
	int reads_left;
};

static bool read_racing(void *data, uint64_t address, void *to, size_t bytes)
{
	struct race *race = data;

	if (!race->reads_left--)
		submit_packet(&race->p, 1, 0);
	return read_program(&race->p, address, to, bytes);
}

static void work_that_arrives_while_it_is_read(void **state)
{
	(void)state;
	for (int reads = 2; reads <= 6; reads++) {
		struct race race = { .reads_left = reads };
		const struct gp__ring_reader from = { read_racing, &race };
		struct gp__ring_reading reading;
		struct gp__ring r = { .is_busy = true };

		submit_packet(&race.p, 0, 0);
		consume(&race.p);
		fire(&race.p, 0);
		gp__ring_begin(&reading, &r, &aql, true, true);
		gp__ring_read(&reading, &from);
		assert_int_equal(reading.sight.has_signal, reads == 6);
		assert_int_equal(reading.sight.pending, reads < 6);
		assert_int_equal(gp__ring_look(&r, &reading.sight, &patience, 1),
				 reads == 6 ? GP__RING_IDLE : GP__RING_NOTHING);
	}
}

static void other_rings_wrap(void **state)
{
	struct gp__ring_place place = { .bytes = 4096, .kind = GP__RING_SDMA };
	struct program p = { .read = RING_BYTES / 4 - 8, .write = 8 };
	struct gp__ring r = { 0 };

	(void)state;
	assert_int_equal(gp__ring_pending(&place, 4096 - 64, 4096 + 64), 128);
	assert_int_equal(gp__ring_pending(&place, 4096 - 64, 64), 128);
	assert_int_equal(gp__ring_pending(&place, 64, 5 * 4096 + 64), 0);
	place.kind = GP__RING_PM4;
	assert_int_equal(gp__ring_pending(&place, 4096 / 4 - 1, 3), 4);
	place = aql;
	place.kind = GP__RING_PM4;
	/* These are of 4 bytes. */
	p.read |= 5ull << 32;
	assert_int_equal(read_ring(&p, &place, &r).pending, 16);
	assert_int_equal(read_ring(&p, &place, &r).read, RING_BYTES / 4 - 8);
}

/*
 * A modelled device: packets run one after the other, each consumed before it has ended. Some
 * signals count down from 1000, and some are armed again as soon as they have fired.
 */

enum kind { NO_SIGNAL, SIGNAL, COUNTER, REARMED, KINDS };

struct model {
	uint64_t seed, now;
	bool driver_tells;
	uint64_t read, write;
	bool runs, held;
	uint64_t left, fetch_at; /* of what runs; of the next packet */
	enum kind kind; /* of the packet that was last written */
	int64_t signal; /* its */
	uint64_t rested_at;
};

static uint64_t roll(struct model *m, uint64_t n)
{
	m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
	return (m->seed >> 33) % n;
}

static bool works(const struct model *m)
{
	return m->runs || m->read != m->write;
}

static void submit(struct model *m)
{
	/* A signal that nobody has seen fire is doubted, late where the driver does not tell. */
	m->kind = (enum kind)roll(m, m->driver_tells ? KINDS : COUNTER);
	m->signal = m->kind == COUNTER ? 1000 : 1;
	m->write++;
	m->fetch_at = m->now + roll(m, 200 * US);
}

static uint64_t duration(struct model *m)
{
	switch (roll(m, 4)) {
	case 0:
		return roll(m, 50 * US);
	case 1:
		return roll(m, 5 * MS);
	default:
		/* Nobody can see what has neither signal nor a driver that tells. */
		return roll(m, m->driver_tells ? 400 * MS : BLIND / 2);
	}
}

/* Advances the device to @until; a held one does nothing. */
static void let_pass(struct model *m, uint64_t until)
{
	while (!m->held && m->now < until) {
		uint64_t step = until - m->now;

		if (m->runs) {
			if (m->left > step) {
				m->left -= step;
				break;
			}
			m->now += m->left;
			m->runs = false;
			if (m->read == m->write && m->kind != REARMED)
				m->signal--;
			if (!works(m))
				m->rested_at = m->now;
		} else if (m->read != m->write && m->fetch_at < until) {
			if (m->fetch_at > m->now)
				m->now = m->fetch_at;
			m->read++;
			m->runs = true;
			m->left = duration(m);
		} else {
			break;
		}
	}
	m->now = until;
}

/* The time within which the end of work must have been seen. */
static uint64_t bound(const struct model *m)
{
	switch (m->kind) {
	case NO_SIGNAL:
		return m->driver_tells ? GRACE : BLIND;
	case COUNTER:
	case REARMED:
		return DOUBT;
	default:
		return 0;
	}
}

static struct gp__ring_sight see(const struct model *m, const struct gp__ring *r)
{
	struct gp__ring_sight s = { .is_running = !m->held,
				    .read = m->read,
				    .write = m->write,
				    .pending = m->write - m->read,
				    .waves = -1 };

	if (!s.pending && !m->held && gp__ring_asks(r, s.write)) {
		s.has_signal = m->kind != NO_SIGNAL;
		s.signal = m->signal;
		s.before = GP__RING_BEFORE_DONE;
	}
	if (m->driver_tells && gp__ring_asks_waves(r, &s, &patience, m->now))
		s.waves = m->runs && !m->held;
	return s;
}

struct counts {
	unsigned int ready, idle, holds;
};

static void check_look(struct model *m, struct gp__ring *r, uint64_t period, struct counts *c)
{
	struct gp__ring_sight s = see(m, r);
	bool was_busy = r->is_busy;
	enum gp__ring_event event = gp__ring_look(r, &s, &patience, m->now);

	if (event == GP__RING_READY) {
		assert_false(was_busy);
		c->ready++;
	}
	if (event == GP__RING_IDLE) {
		assert_true(was_busy);
		assert_false(works(m));
		assert_false(m->held);
		c->idle++;
	}
	if (works(m))
		assert_true(r->is_busy);
	else if (!m->held && m->now - m->rested_at > bound(m) + 2 * period)
		assert_false(r->is_busy);
}

static void live(uint64_t seed, bool driver_tells, struct counts *c)
{
	struct model m = { .seed = seed, .driver_tells = driver_tells };
	struct gp__ring r = { 0 };
	uint64_t period = 50 * US << roll(&m, 6), changes_at = 0;
	bool active = true;

	for (int i = 0; i < 20000; i++) {
		let_pass(&m, m.now + 1 + roll(&m, period));
		if (m.now > changes_at) {
			active = roll(&m, 2);
			changes_at = m.now + roll(&m, 1500 * MS);
		}
		if (active && m.write - m.read < 4 && !roll(&m, 8))
			submit(&m);
		if (!roll(&m, m.held ? 50 : 500)) {
			m.held = !m.held;
			gp__ring_restart(&r, m.now);
			m.rested_at = m.now;
			c->holds++;
		}
		check_look(&m, &r, period, c);
	}
}

static void what_is_seen_is_what_a_modelled_queue_does(void **state)
{
	struct counts c = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		live(seed, false, &c);
		live(seed, true, &c);
	}
	assert_true(c.ready > 1000 && c.idle > 1000 && c.holds > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_arrives_with_the_write_index),
		cmocka_unit_test(a_long_kernel_with_a_signal),
		cmocka_unit_test(a_long_kernel_without_a_signal),
		cmocka_unit_test(fifty_milliseconds_are_never_idle),
		cmocka_unit_test(work_that_came_and_went_unseen),
		cmocka_unit_test(a_held_queue_is_not_idle),
		cmocka_unit_test(a_signal_fires_by_going_down),
		cmocka_unit_test(somebody_else_sees_work_arrive),
		cmocka_unit_test(a_signal_that_was_armed_again),
		cmocka_unit_test(a_write_index_without_a_doorbell),
		cmocka_unit_test(a_write_index_that_is_moved_without_a_doorbell),
		cmocka_unit_test(a_held_queue_that_rests_is_believed),
		cmocka_unit_test(a_ring_that_cannot_be_read),
		cmocka_unit_test(indices_and_signal_are_read),
		cmocka_unit_test(two_packets_without_a_barrier_bit),
		cmocka_unit_test(a_packet_without_signal_before_one_with),
		cmocka_unit_test(a_barrier_bit_speaks_for_all_before),
		cmocka_unit_test(many_packets_without_a_barrier_bit),
		cmocka_unit_test(indices_that_were_caught_halfway),
		cmocka_unit_test(memory_that_is_not_there),
		cmocka_unit_test(work_that_arrives_while_it_is_read),
		cmocka_unit_test(other_rings_wrap),
		cmocka_unit_test(what_is_seen_is_what_a_modelled_queue_does),
	};

	return cmocka_run_group_tests_name("aql_ring", tests, NULL, NULL);
}
