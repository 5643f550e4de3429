/* SPDX-License-Identifier: MIT */
/*
 * The launch window, fixed or tuned: how many commands may be in flight.
 *
 * The tuned window is chosen so that draining what is in flight stays within a latency budget. It
 * is fed with completions only; it has no clock, no memory of its own and no floating point, so it
 * runs the same in virtual time.
 *
 * It is the wrong tool for commands whose length cannot be guessed from the ones before them: an
 * estimate of the past bounds the drain only as far as the past repeats. A device with level 2 or 3
 * does not need the guess.
 */
#ifndef GP_QUEUE_WINDOW_H
#define GP_QUEUE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* Before anything is measured: enough to overlap a launch with a run. */
#define GP__WINDOW_START 2u
/* A tuned window never grows beyond this. */
#define GP__WINDOW_MAX 1024u

struct gp__window {
	uint64_t budget_ns;
	uint32_t max;
	uint32_t size; /* the window now */
	uint64_t est_ns; /* one command; 0 = nothing measured yet */
	uint64_t last[3]; /* the latest samples; a lone outlier is outvoted */
	uint32_t samples;
	uint64_t anchor_ns; /* where the span being measured began */
	uint32_t span; /* commands completed since the anchor */
	bool anchored;
	bool loose; /* the device may have idled within the span */
};

void gp__window_init(struct gp__window *w, uint64_t budget_ns, uint32_t max);

/* The device began on a command with nothing before it. */
void gp__window_start(struct gp__window *w, uint64_t now);

/*
 * n commands were seen to end. exact: now is when the last of them really ended (the observer was
 * waiting for it), not merely when a thread looked. busy: the device has more to do without help.
 */
void gp__window_complete(struct gp__window *w, uint32_t n, bool exact, bool busy, uint64_t now);

/* The measurement was disturbed (a stop, a failure): starts over. */
void gp__window_break(struct gp__window *w);

/* The window an estimate and a budget ask for, before growth is limited. */
uint32_t gp__window_fit(uint64_t budget_ns, uint64_t est_ns, uint32_t max);

/*
 * How many commands to await with one sync: few enough that a thread waiting for one in the middle
 * is not delayed noticeably.
 */
uint32_t gp__window_batch(uint64_t est_ns, uint32_t window);

#endif
