// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Bursts: the work of an entity comes in bursts, such as the kernels of one request, with gaps in
 * between. To release others in such a gap costs two switches, and the next kernel waits for the
 * second. So an entity that runs out of work while others are held for it lingers: it keeps its
 * place for as long as the gaps in its bursts have lasted lately. An entity whose gaps are long
 * does not linger, and a gap that is rare is not waited for if that costs more than the switches.
 *
 * While it lingers the device is idle, and others are held. The choice of the time keeps that
 * small on average, and a budget bounds it: waste_pct of any second, less what the switches would
 * have cost.
 *
 * On a device where the patient yield (see hpf), others are held for a burst only once it is, or
 * usually becomes, long compared with a hold.
 */
#include "core/internal.h"

/*
 * Spreads. Bin b counts times up to edge(b), 8 us to 6 s in steps of a half or a third; the last
 * one also counts all longer ones.
 */

#define SAMPLE 32
#define TOTAL_MAX (128 * SAMPLE)
/* With fewer samples nothing is known. */
#define TOTAL_LEAST (4 * SAMPLE)

static u64 edge(u32 b)
{
	return (u64)(b % 2 ? 3 : 2) << (12 + b / 2);
}

static u64 lower_edge(u32 b)
{
	return b ? edge(b - 1) : 0;
}

static void note(struct gp__spread *s, u64 ns)
{
	u32 b = 0, i;

	while (b < GP__SPREAD_BINS - 1 && edge(b) < ns)
		b++;
	s->count[b] += SAMPLE;
	s->total += SAMPLE;
	if (s->total < TOTAL_MAX)
		return;
	s->total = 0;
	for (i = 0; i < GP__SPREAD_BINS; i++)
		s->total += s->count[i] /= 2;
}

/* At least half of the times are longer; 0: it is not known. */
static u64 median(const struct gp__spread *s)
{
	u32 b, longer = s->total;

	if (s->total < TOTAL_LEAST)
		return 0;
	for (b = 0; b < GP__SPREAD_BINS - 1 && 2 * (longer -= s->count[b]) >= s->total; b++)
		;
	return lower_edge(b);
}

/*
 * The budget: a bucket of 2 ms of waste per percent, refilled with 8 ms in a second, so that no
 * second has more than 10 ms. It is kept as one time, at which it is full again.
 */

#define BUCKET_PER_PCT (2 * GP__MS)

static u64 refill_ns(const struct gp__dev *d, u64 waste)
{
	u64 pct = d->core->cfg[GP__CFG_WASTE_PCT];

	return pct ? waste * 125 / pct : 0;
}

static u64 budget(const struct gp__dev *d, u64 now)
{
	u64 pct = d->core->cfg[GP__CFG_WASTE_PCT];
	u64 missing = d->budget_at > now ? (d->budget_at - now) * pct / 125 : 0;

	return pct * BUCKET_PER_PCT - gp__min_u64(missing, pct * BUCKET_PER_PCT);
}

static void spend(struct gp__dev *d, u64 waste, u64 now)
{
	d->budget_at = gp__max_u64(d->budget_at, now) + refill_ns(d, waste);
}

void gp__dev_count_waste(struct gp__dev *d, u64 now)
{
	if (d->wastes)
		d->wasted += now - d->waste_at;
	d->waste_at = now;
	d->wastes = d->nr_on && !d->nr_working && d->nr_waiting > 0;
}

/*
 * Lingering
 */

/* The cost of two switches here. */
static u64 switch_ns(const struct gp__dev *d)
{
	return 2 * d->hold_ns;
}

/*
 * The costs of a linger are the time that it wastes, and two switches for each gap that outlasts
 * it. The urgent entity waits for these, and its time is worth this many times that of the others.
 */
#define URGENT_WORTH 20

/*
 * Covers gaps that were seen, and some that were not: of the next ones, one in @nr + 1 is longer
 * than the @nr that were. The margin falls alike, from once the gap.
 */
static u64 with_margin(u64 gap, u32 nr)
{
	return gap + gp__min_u64(gap, gap * TOTAL_LEAST / nr);
}

/*
 * The linger up to @most that costs least, of those that waste no more than the budget's part of
 * the time that the others have. 0: there is none.
 */
static u64 learned(const struct gp__entity *e, u64 least, u64 most)
{
	const struct gp__spread *s = &e->gaps;
	u64 pct = e->dev->core->cfg[GP__CFG_WASTE_PCT], switches = switch_ns(e->dev);
	u64 covered = 0, left = 0, best = 0, least_cost = GP__NEVER;
	u32 b, nr_longer = s->total;

	for (b = 0; b < GP__SPREAD_BINS; b++)
		left += s->count[b] * lower_edge(b);
	for (b = 0; b < GP__SPREAD_BINS - 1; b++) {
		u64 linger, waste, others, cost;

		if (!s->count[b])
			continue;
		nr_longer -= s->count[b];
		left -= s->count[b] * lower_edge(b);
		if (edge(b) > switches)
			covered += s->count[b] * (edge(b) - switches);
		linger = gp__max_u64(with_margin(edge(b), s->total - nr_longer), least);
		if (linger > most)
			break;
		waste = covered + nr_longer * linger;
		cost = waste + nr_longer * URGENT_WORTH * switches;
		others = left > nr_longer * linger ? left - nr_longer * linger : 0;
		if (!guard(LINGER_LEARNED, waste * 125 <= (waste + others) * pct) ||
		    guard(LINGER_COST, cost >= least_cost))
			continue;
		best = linger;
		least_cost = cost;
	}
	return best;
}

static bool may_linger(const struct gp__entity *e)
{
	if (!guard(LINGER, e->dev->core->cfg[GP__CFG_LINGER_US] != 0) || e->over)
		return false;
	/* A grant lasts for its time, also for a program that waits for each of its kernels. */
	return e->place == GP__PLACE_GRANTED ||
	       (e->place == GP__PLACE_RUNNING && gp__dev_has_waiting(e->dev));
}

/* 0: it does not linger. */
static u64 linger_ns(const struct gp__entity *e, u64 sees, u64 now)
{
	const struct gp__dev *d = e->dev;
	u64 linger = d->core->cfg[GP__CFG_LINGER_US] * GP__US;
	u64 most = guard(WASTE_BUDGET, true) ? budget(d, now) : GP__S;

	if (!may_linger(e))
		return 0;
	/* Work that comes at the end of a shorter time would only be seen after it. */
	if (guard(SEEN_LINGER, true))
		linger = gp__max_u64(linger, 2 * gp__min_u64(sees, GP__S));
	if (e->gaps.total >= TOTAL_LEAST)
		return learned(e, linger, most);
	return linger <= most ? linger : 0;
}

void gp__burst_gap(struct gp__entity *e, u64 since, u64 sees, u64 now)
{
	struct gp__dev *d = e->dev;

	since = gp__max_u64(since, e->burst_since);
	e->idle_since = since;
	e->linger_end = gp__time_add(since, linger_ns(e, sees, now));
	e->lingering = e->linger_end > now;
	gp__dev_count_waste(d, now);
	e->waste_mark = d->wasted;
	/* The device was idle before that was seen. */
	if (d->nr_working == (u32)e->working && d->nr_waiting)
		d->wasted += now - since;
	if (!e->lingering)
		gp__burst_stop(e, now);
}

/* Charges the budget for a linger that ends now. */
static void pay(struct gp__entity *e, bool is_gap_over, u64 now)
{
	struct gp__dev *d = e->dev;
	u64 waste, saved = is_gap_over ? switch_ns(d) : 0;

	gp__dev_count_waste(d, now);
	waste = d->wasted - e->waste_mark;
	e->wasted += waste;
	if (!is_gap_over && waste)
		gp__log_entity(e, GP__WHAT_LINGERED, waste, now);
	spend(d, waste - gp__min_u64(waste, saved), now);
}

void gp__burst_stop(struct gp__entity *e, u64 now)
{
	if (e->lingering)
		pay(e, false, now);
	e->lingering = e->in_burst = false;
	if (e->burst_since)
		note(&e->bursts, e->idle_since - e->burst_since);
	e->burst_since = 0;
}

void gp__burst_work(struct gp__entity *e, u64 now)
{
	if (e->idle_since)
		note(&e->gaps, now - e->idle_since);
	if (e->lingering)
		pay(e, true, now);
	else
		e->burst_since = now;
	e->lingering = false;
	e->over = false;
	/* Room was made for announced work, and is kept until it is done. */
	e->in_burst |= e->announced || gp__burst_due(e) <= now;
}

/*
 * Long bursts
 */

/* The time that a hold takes on a device that has held no queue yet: that of a slow driver. */
#define HOLD_UNKNOWN GP__MS

u64 gp__burst_due(const struct gp__entity *e)
{
	const struct gp__dev *d = e->dev;
	u64 hold = d->hold_known ? d->hold_ns : HOLD_UNKNOWN;

	if (d->can_weigh != GP__WEIGHS_YIELDING || !d->has_patient || !e->nr_ready || e->in_burst ||
	    e->over)
		return GP__NEVER;
	/* A burst that has lasted twice as long as a hold will probably last for longer. */
	if (!guard(BURST_WAIT, true) || median(&e->bursts) >= 4 * hold)
		return e->burst_since;
	return e->burst_since + 2 * hold;
}

void gp__burst_timer(struct gp__entity *e, u64 now)
{
	if (e->lingering && guard(LINGER_ENDS, now >= e->linger_end))
		gp__burst_stop(e, now);
	if (gp__burst_due(e) <= now)
		e->in_burst = true;
}
