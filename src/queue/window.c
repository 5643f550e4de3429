// SPDX-License-Identifier: MIT
/*
 * The launch window: estimates the time of one command, and how many fit into the budget.
 *
 * Time is measured over spans in which the device was busy throughout: from an instant that is
 * known exactly (a launch into an empty device, a completion that a thread was waiting for) to the
 * next such instant, divided by the commands between. A span with a completion that was noticed
 * late is only an upper bound, so it may lower the estimate but never raise it.
 */
#include "queue/window.h"

#include <string.h>

/*
 * The host's turnaround from one command's end to the next one's start when
 * nothing waits behind it: notice, wake, launch. A command this many times
 * longer loses less than 8 % to it.
 */
#define TURNAROUND_NS 20000ull
#define STARVE_NS (12 * TURNAROUND_NS)

/* Longest time spent unaware that a command in mid-batch has ended. */
#define BATCH_NS 50000ull

/* Too long a span says little about now. */
#define SPAN_MAX 256u

void gp__window_init(struct gp__window *w, uint64_t budget_ns, uint32_t max)
{
	memset(w, 0, sizeof(*w));
	w->budget_ns = budget_ns;
	w->max = max;
	w->size = max < GP__WINDOW_START ? max : GP__WINDOW_START;
}

/*
 * The budget is a promise, so normally no more is in flight than drains within
 * it, even if that is a single command: past half the default budget, the gap
 * behind a lone command costs less than 8 % of the device. With a tighter
 * budget commands may be so short that running them one by one would leave the
 * device idle for a good part of the time; then two are in flight and the
 * drain may take up to twice the budget. A command longer than the whole
 * budget breaks it alone, and a second one would only double the damage.
 */
uint32_t gp__window_fit(uint64_t budget_ns, uint64_t est_ns, uint32_t max)
{
	uint64_t fit;

	if (!est_ns)
		fit = GP__WINDOW_START;
	else if (est_ns > budget_ns)
		fit = 1;
	else
		fit = budget_ns / est_ns;
	if (fit == 1 && est_ns <= budget_ns && est_ns < STARVE_NS)
		fit = 2;
	return fit < max ? (uint32_t)fit : max;
}

uint32_t gp__window_batch(uint64_t est_ns, uint32_t window)
{
	uint64_t batch = est_ns ? BATCH_NS / est_ns : 1;

	/* Half the window stays in flight, so a refill comes in time. */
	if (batch > window / 2)
		batch = window / 2;
	return batch ? (uint32_t)batch : 1;
}

static uint64_t median3(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t lo = a < b ? a : b;
	uint64_t hi = a < b ? b : a;

	return c < lo ? lo : c > hi ? hi : c;
}

/*
 * Up by half the difference, down by an eighth: too small an estimate breaks
 * the budget now, too large a one costs a little throughput for a while. The
 * window shrinks at once and at most doubles.
 */
static void sample_add(struct gp__window *w, uint64_t sample)
{
	uint64_t m = sample;
	uint32_t fit;

	if (!sample)
		sample = m = 1;
	w->last[w->samples++ % 3] = sample;
	if (w->samples >= 3)
		m = median3(w->last[0], w->last[1], w->last[2]);

	if (!w->est_ns)
		w->est_ns = m;
	else if (m > w->est_ns)
		w->est_ns += (m - w->est_ns + 1) / 2;
	else
		w->est_ns -= (w->est_ns - m) / 8;

	fit = gp__window_fit(w->budget_ns, w->est_ns, w->max);
	w->size = fit > 2 * w->size ? 2 * w->size : fit;
}

static void anchor_set(struct gp__window *w, uint64_t now)
{
	w->anchored = true;
	w->loose = false;
	w->anchor_ns = now;
	w->span = 0;
}

void gp__window_start(struct gp__window *w, uint64_t now)
{
	anchor_set(w, now);
}

void gp__window_break(struct gp__window *w)
{
	w->anchored = false;
}

void gp__window_complete(struct gp__window *w, uint32_t n, bool exact, bool busy, uint64_t now)
{
	uint64_t sample;

	if (!n)
		return;
	if (w->anchored) {
		w->span += n;
		w->loose |= !exact;
		sample = now > w->anchor_ns ? (now - w->anchor_ns) / w->span : 0;
		if (!w->loose || !w->est_ns || sample < w->est_ns)
			sample_add(w, sample);
	}
	if (!busy || (!exact && w->span >= SPAN_MAX))
		w->anchored = false;
	else if (exact)
		anchor_set(w, now);
}
