/* SPDX-License-Identifier: MIT */
/*
 * Prints a line on a terminal that shows the progress of long work: percent, rate and the time
 * left. It is silent for work shorter than two seconds and where the stream is not a terminal, and
 * erases the line when the work ends.
 */
#ifndef GP_BASE_PROGRESS_H
#define GP_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct gp__progress {
	FILE *stream; /* NULL: silent */
	const char *label;
	const char *unit;
	uint64_t total; /* 0: unknown, so neither percent nor time left */
	uint64_t started_ns;
	uint64_t printed_ns;
	bool visible;
};

/*
 * label and unit ("events") must outlive the progress. unit NULL: there is no rate, as where time
 * itself is counted.
 */
void gp__progress_start(struct gp__progress *p, FILE *stream, const char *label, const char *unit,
			uint64_t total);
/* Cheap enough for every thousandth step of a loop: one clock read when nothing is due. */
void gp__progress_update(struct gp__progress *p, uint64_t done);
void gp__progress_end(struct gp__progress *p);

/* The same at a given time. */
void gp__progress_update_at(struct gp__progress *p, uint64_t done, uint64_t now_ns);

#endif
