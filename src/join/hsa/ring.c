// SPDX-License-Identifier: MIT
#include "join/hsa/ring.h"

/* Until somebody says otherwise. */
#define BUDGET_NS 1000000ull
/* Whoever looks this often sees a packet taken when it is. */
#define OFTEN_NS 100000ull

void gp__aql_ring_init(struct gp__aql_ring *r, const _Atomic uint64_t *read,
		       _Atomic uint64_t *queue_write,
		       void (*ring_doorbell)(void *data, uint64_t index), void *data)
{
	uint64_t write = atomic_load(queue_write);

	*r = (struct gp__aql_ring){ .read = read,
				    .queue_write = queue_write,
				    .announced = write,
				    .handed = write,
				    .taken = write,
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

void gp__aql_ring_keep(struct gp__aql_ring *r, struct gp__aql_kept *kept)
{
	r->kept = kept;
}

/* What the queue's own index is, as far as it was us who moved it. */
static uint64_t our_write(const struct gp__aql_ring *r)
{
	return r->handed + (r->kept ? r->kept->shift : 0);
}

/*
 * Somebody who does not ask us has put packets behind those that were handed over. Where nothing
 * is kept they stand where the program expects its next ones to be, as without us.
 */
static void notice_foreign(struct gp__aql_ring *r)
{
	uint64_t now = atomic_load(r->queue_write), held_back = r->handed;

	if (now == our_write(r))
		return;
	r->foreign = true;
	if (r->kept) {
		r->kept->shift = now - r->handed;
		return;
	}
	r->handed = now;
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
		if (r->kept)
			return UINT64_MAX; /* as many as can be kept */
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

static bool hand_over_kept(struct gp__aql_ring *r)
{
	uint64_t before, to;

	gp__aql_kept_note_ends(r->kept, r->handed);
	before = our_write(r);
	if (end_of_turn(r) <= r->handed)
		return false;
	r->handed = gp__aql_kept_copy(r->kept, r->handed, end_of_turn(r), atomic_load(r->read),
				      r->gate == GP__AQL_NARROW);
	to = our_write(r);
	if (to == before)
		return false;
	/* They are in the queue's ring. */
	atomic_store_explicit(r->queue_write, to, memory_order_release);
	r->ring_doorbell(r->data, to - 1);
	return true;
}

/* Under the lock. True: the doorbell was rung. */
static bool hand_over(struct gp__aql_ring *r)
{
	uint64_t before, to;

	notice_foreign(r);
	if (r->kept)
		return hand_over_kept(r);
	before = r->handed;
	to = end_of_turn(r);
	if (to <= before)
		return false;
	/* The packets were written before the doorbell that announced them. */
	while (!atomic_compare_exchange_strong(r->queue_write, &before, to)) {
		/* Somebody else was quicker. */
		notice_foreign(r);
		before = r->handed;
		to = end_of_turn(r);
		if (to <= before)
			return false;
	}
	r->handed = to;
	r->ring_doorbell(r->data, to - 1);
	return true;
}

/*
 * A packet that is taken is one that has ended, but for the last: the next is taken when it has, or
 * when there is room beside it.
 */
static void measure(struct gp__aql_ring *r, uint64_t now)
{
	uint64_t read = atomic_load_explicit(r->read, memory_order_relaxed), n = read - r->taken;
	bool often = now - r->looked_at <= OFTEN_NS;

	r->looked_at = now;
	r->taken = read;
	if (r->gate == GP__AQL_NARROW)
		gp__window_complete(&r->tuned, n > UINT32_MAX ? UINT32_MAX : (uint32_t)n, often,
				    read < r->handed, now);
	else
		gp__window_break(&r->tuned);
}

void gp__aql_ring_set_width(struct gp__aql_ring *r, uint32_t packets)
{
	pthread_mutex_lock(&r->lock);
	r->width = packets;
	hand_over(r);
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
	if (r->kept || atomic_load(r->queue_write) == atomic_load(&r->handed))
		return;
	pthread_mutex_lock(&r->lock);
	notice_foreign(r);
	pthread_mutex_unlock(&r->lock);
}

void gp__aql_ring_announce(struct gp__aql_ring *r, uint64_t index)
{
	uint64_t write;

	pthread_mutex_lock(&r->lock);
	/* Some programs ring with the number behind their last packet. */
	write = atomic_load_explicit(&r->write, memory_order_relaxed);
	if (index >= write)
		index = write - 1;
	if ((int64_t)(index + 1 - r->announced) > 0)
		r->announced = index + 1;
	/* One of several threads may be late with a packet at which the processor waits. What is
	 * kept was there when it was copied. */
	if (!hand_over(r) && index < r->handed && !r->kept)
		r->ring_doorbell(r->data, index);
	pthread_mutex_unlock(&r->lock);
}

void gp__aql_ring_set_gate(struct gp__aql_ring *r, enum gp__aql_gate gate)
{
	pthread_mutex_lock(&r->lock);
	r->gate = gate;
	hand_over(r);
	pthread_mutex_unlock(&r->lock);
}

/* Programs wait for the signals of what is kept. */
static bool waits(const struct gp__aql_ring *r)
{
	return r->handed < r->announced || (r->kept && r->kept->nr_taken);
}

bool gp__aql_ring_waits(struct gp__aql_ring *r)
{
	bool is;

	pthread_mutex_lock(&r->lock);
	is = r->gate == GP__AQL_SHUT && waits(r);
	pthread_mutex_unlock(&r->lock);
	return is;
}

bool gp__aql_ring_advance(struct gp__aql_ring *r, uint64_t now)
{
	bool more;

	pthread_mutex_lock(&r->lock);
	if (!r->kept)
		measure(r, now);
	hand_over(r);
	more = waits(r) && r->gate != GP__AQL_SHUT;
	pthread_mutex_unlock(&r->lock);
	return more;
}

uint64_t gp__aql_ring_read(struct gp__aql_ring *r)
{
	uint64_t read;

	pthread_mutex_lock(&r->lock);
	read = gp__aql_kept_read(r->kept, r->handed, atomic_load(r->read));
	pthread_mutex_unlock(&r->lock);
	return read;
}

bool gp__aql_ring_can_drop(struct gp__aql_ring *r)
{
	bool can;

	pthread_mutex_lock(&r->lock);
	notice_foreign(r);
	can = r->kept && r->gate == GP__AQL_SHUT && !r->foreign &&
	      gp__aql_kept_can_drop(r->kept, r->handed, atomic_load(r->read));
	pthread_mutex_unlock(&r->lock);
	return can;
}

void gp__aql_ring_drop(struct gp__aql_ring *r)
{
	pthread_mutex_lock(&r->lock);
	r->handed = gp__aql_kept_drop(r->kept, r->handed, atomic_load(r->read));
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
