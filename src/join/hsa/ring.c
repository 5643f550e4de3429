// SPDX-License-Identifier: MIT
#include "join/hsa/ring.h"

/* The default. */
#define BUDGET_NS 1000000ull
/* Measurements at least this often see a packet fetched when it is. */
#define EXACT_NS 100000ull

void gp__aql_ring_init(struct gp__aql_ring *r, const _Atomic uint64_t *read,
		       _Atomic uint64_t *queue_write,
		       void (*ring_doorbell)(void *data, uint64_t index), void *data)
{
	uint64_t write = atomic_load(queue_write);

	*r = (struct gp__aql_ring){ .read = read,
				    .queue_write = queue_write,
				    .announced = write,
				    .submitted = write,
				    .last_read = write,
				    .ring_doorbell = ring_doorbell,
				    .data = data };
	atomic_init(&r->write, write);
	gp__window_init(&r->tuned, BUDGET_NS, GP__WINDOW_MAX);
	pthread_mutex_init(&r->lock, NULL);
}

void gp__aql_ring_destroy(struct gp__aql_ring *r)
{
	pthread_mutex_destroy(&r->lock);
}

void gp__aql_ring_retain(struct gp__aql_ring *r, struct gp__aql_retained *retained)
{
	r->retained = retained;
}

/* The queue's own write index if only we have moved it. */
static uint64_t our_write(const struct gp__aql_ring *r)
{
	return r->submitted + (r->retained ? r->retained->shift : 0);
}

/*
 * Something else has put packets behind the submitted ones. If packets are not retained, these
 * occupy the slots that the program takes next, as they would without us.
 */
static void notice_foreign(struct gp__aql_ring *r)
{
	uint64_t now = atomic_load(r->queue_write), held_back = r->submitted;

	if (now == our_write(r))
		return;
	r->foreign = true;
	if (r->retained) {
		r->retained->shift = now - r->submitted;
		return;
	}
	r->submitted = now;
	if (r->announced < now)
		r->announced = now;
	atomic_compare_exchange_strong(&r->write, &held_back, now);
}

static uint64_t end_of_window(const struct gp__aql_ring *r)
{
	switch (r->gate) {
	case GP__AQL_OPEN:
		return UINT64_MAX;
	case GP__AQL_NARROW:
		if (r->retained)
			return UINT64_MAX; /* as many as can be retained */
		return atomic_load_explicit(r->read, memory_order_relaxed) +
		       (r->width ? r->width : r->tuned.size);
	default:
		return 0;
	}
}

static uint64_t end_of_turn(const struct gp__aql_ring *r)
{
	uint64_t end = end_of_window(r);

	return end < r->announced ? end : r->announced;
}

static bool submit_retained(struct gp__aql_ring *r)
{
	uint64_t before, to;

	gp__aql_retained_note_ends(r->retained, r->submitted);
	before = our_write(r);
	if (end_of_turn(r) <= r->submitted)
		return false;
	r->submitted = gp__aql_retained_copy(r->retained, r->submitted, end_of_turn(r),
					     atomic_load(r->read), r->gate == GP__AQL_NARROW);
	to = our_write(r);
	if (to == before)
		return false;
	/* Release: the packets are in the queue's ring. */
	atomic_store_explicit(r->queue_write, to, memory_order_release);
	r->ring_doorbell(r->data, to - 1);
	return true;
}

/* Under the lock. True: the doorbell was rung. */
static bool submit(struct gp__aql_ring *r)
{
	uint64_t before, to;

	notice_foreign(r);
	if (r->retained)
		return submit_retained(r);
	before = r->submitted;
	to = end_of_turn(r);
	if (to <= before)
		return false;
	/* The packets were written before the doorbell that announced them. */
	while (!atomic_compare_exchange_strong(r->queue_write, &before, to)) {
		/* Something else moved the index first. */
		notice_foreign(r);
		before = r->submitted;
		to = end_of_turn(r);
		if (to <= before)
			return false;
	}
	r->submitted = to;
	r->ring_doorbell(r->data, to - 1);
	return true;
}

/*
 * All fetched packets but the last have ended: the next one is fetched when the last has ended, or
 * when there is room beside it.
 */
static void measure(struct gp__aql_ring *r, uint64_t now)
{
	uint64_t read = atomic_load_explicit(r->read, memory_order_relaxed),
		 n = read - r->last_read;
	bool is_exact = now - r->read_at <= EXACT_NS;

	r->read_at = now;
	r->last_read = read;
	if (r->gate == GP__AQL_NARROW)
		gp__window_complete(&r->tuned, n > UINT32_MAX ? UINT32_MAX : (uint32_t)n, is_exact,
				    read < r->submitted, now);
	else
		gp__window_break(&r->tuned);
}

void gp__aql_ring_set_width(struct gp__aql_ring *r, uint32_t packets)
{
	pthread_mutex_lock(&r->lock);
	r->width = packets;
	submit(r);
	pthread_mutex_unlock(&r->lock);
}

void gp__aql_ring_set_budget(struct gp__aql_ring *r, uint64_t ns)
{
	pthread_mutex_lock(&r->lock);
	r->width = 0;
	gp__window_init(&r->tuned, ns, GP__WINDOW_MAX);
	pthread_mutex_unlock(&r->lock);
}

void gp__aql_ring_look(struct gp__aql_ring *r)
{
	if (r->retained || atomic_load(r->queue_write) == atomic_load(&r->submitted))
		return;
	pthread_mutex_lock(&r->lock);
	notice_foreign(r);
	pthread_mutex_unlock(&r->lock);
}

void gp__aql_ring_announce(struct gp__aql_ring *r, uint64_t index)
{
	uint64_t write;

	pthread_mutex_lock(&r->lock);
	/* Some programs ring with the index behind their last packet. */
	write = atomic_load_explicit(&r->write, memory_order_relaxed);
	if (index >= write)
		index = write - 1;
	if ((int64_t)(index + 1 - r->announced) > 0)
		r->announced = index + 1;
	/* A thread may write a packet late, at which the packet processor waits, so the doorbell is
	 * rung for it. Retained packets were valid when they were copied. */
	if (!submit(r) && index < r->submitted && !r->retained)
		r->ring_doorbell(r->data, index);
	pthread_mutex_unlock(&r->lock);
}

void gp__aql_ring_set_gate(struct gp__aql_ring *r, enum gp__aql_gate gate)
{
	pthread_mutex_lock(&r->lock);
	r->gate = gate;
	submit(r);
	pthread_mutex_unlock(&r->lock);
}

/* The program's signals of retained packets are still to be decremented. */
static bool waits(const struct gp__aql_ring *r)
{
	return r->submitted < r->announced || (r->retained && r->retained->nr_in_flight);
}

bool gp__aql_ring_waits(struct gp__aql_ring *r)
{
	bool is;

	pthread_mutex_lock(&r->lock);
	is = r->gate == GP__AQL_HELD && waits(r);
	pthread_mutex_unlock(&r->lock);
	return is;
}

bool gp__aql_ring_advance(struct gp__aql_ring *r, uint64_t now)
{
	bool more;

	pthread_mutex_lock(&r->lock);
	if (!r->retained)
		measure(r, now);
	submit(r);
	more = waits(r) && r->gate != GP__AQL_HELD;
	pthread_mutex_unlock(&r->lock);
	return more;
}

uint64_t gp__aql_ring_read(struct gp__aql_ring *r)
{
	uint64_t read;

	pthread_mutex_lock(&r->lock);
	read = gp__aql_retained_read(r->retained, r->submitted, atomic_load(r->read));
	pthread_mutex_unlock(&r->lock);
	return read;
}

bool gp__aql_ring_can_drop(struct gp__aql_ring *r)
{
	bool can;

	pthread_mutex_lock(&r->lock);
	notice_foreign(r);
	can = r->retained && r->gate == GP__AQL_HELD && !r->foreign &&
	      gp__aql_retained_can_drop(r->retained, r->submitted, atomic_load(r->read));
	pthread_mutex_unlock(&r->lock);
	return can;
}

void gp__aql_ring_drop(struct gp__aql_ring *r)
{
	pthread_mutex_lock(&r->lock);
	r->submitted = gp__aql_retained_drop(r->retained, r->submitted, atomic_load(r->read));
	pthread_mutex_unlock(&r->lock);
}

bool gp__aql_ring_is_foreign(struct gp__aql_ring *r)
{
	bool foreign;

	pthread_mutex_lock(&r->lock);
	notice_foreign(r);
	foreign = r->foreign;
	pthread_mutex_unlock(&r->lock);
	return foreign;
}
