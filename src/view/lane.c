// SPDX-License-Identifier: MIT
#include "view/lane.h"

#include <string.h>

void gp__lane_init(struct gp__lane *l, uint64_t window_ns, uint64_t now)
{
	memset(l, 0, sizeof(*l));
	l->bin_ns = window_ns / GP__LANE_BINS;
	l->bin_ns = l->bin_ns ? l->bin_ns : 1;
	l->at = now;
	l->part = l->whole = 1;
}

static struct gp__lane_bin *bin_at(struct gp__lane *l, uint64_t ns)
{
	return &l->bin[ns / l->bin_ns % GP__LANE_BINS];
}

/* Sums of parts are at most what was divided. */
static uint64_t part_of(const struct gp__lane *l, uint64_t ns)
{
	return l->part == l->whole ? ns : (uint64_t)((double)ns * l->part / l->whole);
}

static void spend(struct gp__lane *l, uint64_t ns)
{
	struct gp__lane_bin *b = bin_at(l, l->at);

	b->known += l->kind != GP__LANE_UNKNOWN ? ns : 0;
	b->run += l->kind == GP__LANE_RUN ? part_of(l, ns) : 0;
	b->yielded += l->kind == GP__LANE_YIELD ? ns : 0;
	b->held += l->kind == GP__LANE_HELD ? ns : 0;
}

void gp__lane_advance(struct gp__lane *l, uint64_t now)
{
	uint64_t window = l->bin_ns * GP__LANE_BINS;

	if (now <= l->at)
		return;
	if (now - l->at > window) {
		/* All bins are outdated: start again at the beginning of a bin. */
		memset(l->bin, 0, sizeof(l->bin));
		l->at = (now - window) / l->bin_ns * l->bin_ns + l->bin_ns;
	}
	while (l->at < now) {
		uint64_t end = (l->at / l->bin_ns + 1) * l->bin_ns;

		end = end < now ? end : now;
		spend(l, end - l->at);
		l->at = end;
		if (l->at % l->bin_ns == 0)
			memset(bin_at(l, l->at), 0, sizeof(struct gp__lane_bin));
	}
}

static void end_wait(struct gp__lane *l)
{
	struct gp__lane_bin *b = bin_at(l, l->at);
	uint64_t waited = l->at - l->held_since;

	b->nr_waits++;
	b->waited += waited;
	b->longest_wait = waited > b->longest_wait ? waited : b->longest_wait;
}

void gp__lane_set(struct gp__lane *l, enum gp__lane_kind kind, uint64_t now)
{
	gp__lane_advance(l, now);
	if (kind == l->kind)
		return;
	if (l->kind == GP__LANE_HELD)
		end_wait(l);
	if (kind == GP__LANE_HELD)
		l->held_since = l->at;
	l->kind = kind;
}

void gp__lane_share(struct gp__lane *l, uint32_t part, uint32_t whole, uint64_t now)
{
	if (part == l->part && whole == l->whole)
		return;
	gp__lane_advance(l, now);
	l->part = part;
	l->whole = whole;
}

static uint32_t bins_a_column(uint32_t columns)
{
	return (GP__LANE_BINS + columns - 1) / columns;
}

uint32_t gp__lane_columns(uint32_t most)
{
	if (!most)
		return 0;
	return GP__LANE_BINS / bins_a_column(most < GP__LANE_BINS ? most : GP__LANE_BINS);
}

static void add(struct gp__lane_bin *sum, const struct gp__lane_bin *b)
{
	sum->known += b->known;
	sum->run += b->run;
	sum->yielded += b->yielded;
	sum->held += b->held;
	sum->waited += b->waited;
	sum->nr_waits += b->nr_waits;
	sum->longest_wait =
		b->longest_wait > sum->longest_wait ? b->longest_wait : sum->longest_wait;
}

struct gp__lane_bin gp__lane_column(const struct gp__lane *l, uint32_t columns, uint32_t i)
{
	uint64_t size = bins_a_column(columns), newest = l->at / l->bin_ns;
	uint64_t back = columns - 1 - i, column = newest / size;
	struct gp__lane_bin sum = { 0 };

	if (column < back)
		return sum;
	for (uint64_t b = (column - back) * size; b < (column - back + 1) * size; b++) {
		/* Bins of the future, and bins that were reused for a later time. */
		if (b <= newest && b + GP__LANE_BINS > newest)
			add(&sum, &l->bin[b % GP__LANE_BINS]);
	}
	return sum;
}

struct gp__lane_bin gp__lane_sum(const struct gp__lane *l)
{
	struct gp__lane_bin sum = { 0 };

	for (uint32_t i = 0; i < GP__LANE_BINS; i++)
		add(&sum, &l->bin[i]);
	return sum;
}
