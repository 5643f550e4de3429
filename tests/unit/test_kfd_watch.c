// SPDX-License-Identifier: MIT
/*
 * When a queue has work, from what is seen of it: cases, and queues of a modelled device that work,
 * rest and are held at random, whose every look is compared with what they really do.
 */
#include "device/kfd/monitor.h"
#include "device/kfd/watch.h"
#include "test.h"

#include <stdlib.h>

#define US 1000ull
#define MS 1000000ull
#define GRACE (10 * MS)
#define BLIND (100 * MS)
#define RING_BYTES 4096

static const struct gp__kfd_patience patience = { GRACE, BLIND };

static struct gp__kfd_watch watch_of(uint32_t type)
{
	const struct gp__kfd_queue_info q = { .type = type, .ring_bytes = RING_BYTES };
	struct gp__kfd_watch w;

	gp__kfd_watch_init(&w, &q);
	return w;
}

static enum gp__kfd_watch_event look(struct gp__kfd_watch *w, uint64_t now, uint64_t read,
				     uint64_t write, int waves)
{
	const struct gp__kfd_sight s = { .now = now, .read = read, .write = write, .waves = waves };

	return gp__kfd_watch_look(w, &s, &patience);
}

static enum gp__kfd_watch_event look_signal(struct gp__kfd_watch *w, uint64_t now, uint64_t index,
					    int64_t signal, int waves)
{
	const struct gp__kfd_sight s = { .now = now,
					 .read = index,
					 .write = index,
					 .has_signal = true,
					 .signal = signal,
					 .waves = waves };

	return gp__kfd_watch_look(w, &s, &patience);
}

#define nothing(call) assert_int_equal(call, GP__KFD_WATCH_NOTHING)
#define ready(call) assert_int_equal(call, GP__KFD_WATCH_READY)
#define idle(call) assert_int_equal(call, GP__KFD_WATCH_IDLE)

static void a_long_kernel_with_a_signal(void **state)
{
	struct gp__kfd_watch w = watch_of(GP_KFD_QUEUE_COMPUTE_AQL);
	uint64_t now = 1;

	(void)state;
	nothing(look(&w, now, 0, 0, -1));
	ready(look(&w, ++now, 0, 1, -1));
	/* Fetched, and it runs for minutes; nobody says whether there are waves. */
	for (int i = 0; i < 1000; i++)
		nothing(look_signal(&w, now += 100 * MS, 1, 1, -1));
	idle(look_signal(&w, ++now, 1, 0, -1));
	nothing(look_signal(&w, ++now, 1, 0, -1));
	nothing(look(&w, ++now, 1, 1, -1));
}

static void a_long_kernel_without_a_signal(void **state)
{
	struct gp__kfd_watch w = watch_of(GP_KFD_QUEUE_COMPUTE_AQL);
	uint64_t now = 1;

	(void)state;
	ready(look(&w, now, 1, 1, -1));
	/* The driver says that there are waves, now and then. */
	for (int i = 0; i < 1000; i++) {
		nothing(look(&w, now += 1 * MS, 1, 1, 1));
		nothing(look(&w, now += 1 * MS, 1, 1, -1));
	}
	nothing(look(&w, now += GRACE / 2, 1, 1, 0));
	idle(look(&w, now += GRACE / 2, 1, 1, 0));
	/* Nobody says anything. */
	ready(look(&w, ++now, 2, 2, -1));
	nothing(look(&w, now += BLIND - 1, 2, 2, -1));
	idle(look(&w, ++now, 2, 2, -1));
}

/* With the times that are used unless others are given, and whether or not the driver tells. */
static void fifty_milliseconds_are_never_idle(void **state)
{
	const struct gp__kfd_patience p = { GP__KFD_GRACE_NS, GP__KFD_BLIND_NS };

	(void)state;
	for (int with_signal = 0; with_signal <= 1; with_signal++) {
		for (int waves = -1; waves <= 1; waves += 2) {
			struct gp__kfd_watch w = watch_of(GP_KFD_QUEUE_COMPUTE_AQL);
			struct gp__kfd_sight s = { .read = 1,
						   .write = 1,
						   .has_signal = with_signal,
						   .signal = 1,
						   .waves = waves };

			ready(gp__kfd_watch_look(&w, &s, &p));
			for (; s.now <= 50 * MS; s.now += GP__KFD_BUSY_PERIOD_NS)
				nothing(gp__kfd_watch_look(&w, &s, &p));
		}
	}
}

static void work_that_came_and_went_unseen(void **state)
{
	struct gp__kfd_watch w = watch_of(GP_KFD_QUEUE_COMPUTE_AQL);

	(void)state;
	nothing(look_signal(&w, 1, 3, 0, -1));
	nothing(look_signal(&w, 2, 9, -1, -1));
	assert_false(w.busy);
	/* Without a signal nobody knows. */
	ready(look(&w, 3, 10, 10, 0));
}

static void a_held_queue_is_not_idle(void **state)
{
	struct gp__kfd_watch w = watch_of(GP_KFD_QUEUE_COMPUTE_AQL);
	uint64_t now = 1;

	(void)state;
	ready(look(&w, now, 1, 1, 1));
	w.held = true;
	assert_false(gp__kfd_watch_asks(&w, 1, 1));
	for (int i = 0; i < 100; i++)
		nothing(look(&w, now += BLIND, 1, 1, 0));
	w.held = false;
	nothing(look(&w, now + GRACE - 1, 1, 1, 0));
	idle(look(&w, now + GRACE, 1, 1, 0));
	/* Work may come while it is held. */
	w.held = true;
	ready(look(&w, now += BLIND, 1, 2, -1));
}

/* What a counter counts down to is the program's affair. */
static void a_signal_fires_by_going_down(void **state)
{
	struct gp__kfd_watch w = watch_of(GP_KFD_QUEUE_COMPUTE_AQL);

	(void)state;
	ready(look_signal(&w, 1, 1, 1000, -1));
	nothing(look_signal(&w, 2, 1, 1000, -1));
	idle(look_signal(&w, 3, 1, 999, -1));
	/* The same signal on the next packet begins where it stands. */
	ready(look_signal(&w, 4, 2, 999, -1));
	nothing(look_signal(&w, 5, 3, 998, -1));
	idle(look_signal(&w, 6, 3, 997, -1));
}

static void a_signal_that_was_set_up_again_is_not_believed_for_ever(void **state)
{
	struct gp__kfd_watch w = watch_of(GP_KFD_QUEUE_COMPUTE_AQL);
	const struct gp__kfd_sight late = {
		.now = 1 + 10 * BLIND, .read = 1, .write = 1, .has_signal = true, .signal = 1
	};

	(void)state;
	ready(look_signal(&w, 1, 1, 1, -1));
	nothing(look_signal(&w, 10 * BLIND, 1, 1, 0));
	assert_true(gp__kfd_watch_asks_waves(&w, &late, &patience));
	nothing(look_signal(&w, 10 * BLIND, 1, 1, 1)); /* there are waves */
	nothing(look_signal(&w, 20 * BLIND - 1, 1, 1, 0));
	idle(look_signal(&w, 20 * BLIND, 1, 1, 0));
}

static void other_rings_wrap(void **state)
{
	struct gp__kfd_watch w = watch_of(GP_KFD_QUEUE_SDMA);

	(void)state;
	assert_int_equal(gp__kfd_watch_pending(&w, RING_BYTES - 64, RING_BYTES + 64), 128);
	assert_int_equal(gp__kfd_watch_pending(&w, RING_BYTES - 64, 64), 128);
	assert_int_equal(gp__kfd_watch_pending(&w, 64, 5 * RING_BYTES + 64), 0);
	ready(look(&w, 1, 0, 64, -1));
	nothing(look(&w, 2, 64, 64, 0));
	idle(look(&w, 2 + GRACE, 64, 64, 0));
	w = watch_of(GP_KFD_QUEUE_COMPUTE);
	assert_int_equal(gp__kfd_watch_pending(&w, RING_BYTES / 4 - 1, 3), 4);
}

static void indices_that_were_caught_halfway_are_passed_over(void **state)
{
	struct gp__kfd_watch w = watch_of(GP_KFD_QUEUE_COMPUTE_AQL);

	(void)state;
	ready(look(&w, 1, 255, 256, -1));
	nothing(look(&w, 2, 256, 0, -1));
	assert_false(gp__kfd_watch_asks(&w, 256, 0));
	assert_int_equal(w.write, 256);
	/* As many as a program may have reserved, it may. */
	nothing(look(&w, 3, 256, 1000000, -1));
}

/*
 * A modelled device: packets run one after the other, each fetched before it has ended.
 */

enum kind { NO_SIGNAL, SIGNAL, COUNTER, KINDS };

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
	/* A counter that has gone down unseen is only given up where the driver tells. */
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

/* What the device does until @until; a held one does nothing. */
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
			if (m->read == m->write)
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
		return 10 * BLIND;
	default:
		return 0;
	}
}

static struct gp__kfd_sight see(const struct model *m, const struct gp__kfd_watch *w)
{
	struct gp__kfd_sight s = { .now = m->now, .read = m->read, .write = m->write, .waves = -1 };

	if (!gp__kfd_watch_asks(w, s.read, s.write))
		return s;
	s.has_signal = m->kind != NO_SIGNAL;
	s.signal = m->signal;
	if (m->driver_tells && gp__kfd_watch_asks_waves(w, &s, &patience))
		s.waves = m->runs && !m->held;
	return s;
}

struct counts {
	unsigned int ready, idle, holds;
};

static void check_look(struct model *m, struct gp__kfd_watch *w, uint64_t period, struct counts *c)
{
	struct gp__kfd_sight s = see(m, w);
	bool was_busy = w->busy;
	enum gp__kfd_watch_event event = gp__kfd_watch_look(w, &s, &patience);

	if (event == GP__KFD_WATCH_READY) {
		assert_false(was_busy);
		c->ready++;
	}
	if (event == GP__KFD_WATCH_IDLE) {
		assert_true(was_busy);
		assert_false(works(m));
		assert_false(m->held);
		c->idle++;
	}
	if (works(m))
		assert_true(w->busy);
	else if (!m->held && m->now - m->rested_at > bound(m) + 2 * period)
		assert_false(w->busy);
}

static void live(uint64_t seed, bool driver_tells, struct counts *c)
{
	struct model m = { .seed = seed, .driver_tells = driver_tells };
	struct gp__kfd_watch w = watch_of(GP_KFD_QUEUE_COMPUTE_AQL);
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
			m.held = w.held = !m.held;
			w.still_since = m.now;
			m.rested_at = m.now;
			c->holds++;
		}
		check_look(&m, &w, period, c);
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
	/* It was a life. */
	assert_true(c.ready > 1000 && c.idle > 1000 && c.holds > 1000);
}

static void who_looks_waits_a_64th_of_what_has_been(void **state)
{
	struct gp__kfd_spell s = { 0 };
	uint64_t begin = 1000000, now = begin;

	(void)state;
	gp__kfd_spell_note(&s, false, now);
	assert_int_equal(gp__kfd_spell_pause(&s, true, now), 0);
	assert_int_equal(gp__kfd_spell_pause(&s, false, now + 6400), 100);
	/* It lasts. */
	now += 64000;
	gp__kfd_spell_note(&s, true, now);
	assert_int_equal(gp__kfd_spell_pause(&s, true, now), 1000);
	assert_int_equal(gp__kfd_spell_pause(&s, false, now), 0);
	/* A gap that is short beside it belongs to it. */
	now += 64000 / 16;
	gp__kfd_spell_note(&s, false, now);
	assert_int_equal(gp__kfd_spell_pause(&s, true, now), (now - begin) / 64);
	/* Not one in which nothing is launched any more, however long it was. */
	now += 1000000000;
	gp__kfd_spell_note(&s, true, now);
	now += 1000000;
	gp__kfd_spell_note(&s, false, now);
	assert_int_equal(gp__kfd_spell_pause(&s, true, now), (now - begin) / 64);
	now += 1000001;
	gp__kfd_spell_note(&s, false, now);
	assert_int_equal(gp__kfd_spell_pause(&s, true, now), 0);
	begin = now;
	now += 64000;
	gp__kfd_spell_note(&s, true, now);
	/* After a longer one it begins anew. */
	now += (now - begin) / 16 + 1;
	gp__kfd_spell_note(&s, false, now);
	assert_int_equal(gp__kfd_spell_pause(&s, true, now), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_kernel_with_a_signal),
		cmocka_unit_test(a_long_kernel_without_a_signal),
		cmocka_unit_test(fifty_milliseconds_are_never_idle),
		cmocka_unit_test(work_that_came_and_went_unseen),
		cmocka_unit_test(a_held_queue_is_not_idle),
		cmocka_unit_test(a_signal_fires_by_going_down),
		cmocka_unit_test(a_signal_that_was_set_up_again_is_not_believed_for_ever),
		cmocka_unit_test(other_rings_wrap),
		cmocka_unit_test(indices_that_were_caught_halfway_are_passed_over),
		cmocka_unit_test(who_looks_waits_a_64th_of_what_has_been),
		cmocka_unit_test(what_is_seen_is_what_a_modelled_queue_does),
	};

	return cmocka_run_group_tests_name("kfd_watch", tests, NULL, NULL);
}
