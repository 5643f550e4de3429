/* SPDX-License-Identifier: MIT */
/*
 * A process that observes its parent: a word of its memory, and the program counters of the waves
 * that its queue has saved, from the control stack and the records in the save area.
 */
#ifndef GP__TESTS_OUTSIDE_H
#define GP__TESTS_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

struct outside_sight {
	bool readable; /* all of it was */
	bool moved; /* the word, or a wave, or their number changed */
	uint32_t looks, word, nr_waves;
	uint64_t first_pc;
};

/* Must be called before threads are created. False: it could not be started. */
bool outside_start(void);
/* A save area has a slice for each XCC. */
struct outside_area {
	uint64_t at, slice_bytes;
	uint32_t nr_slices; /* 0: it is not looked at */
};

/* Repeatedly, for so long. */
struct outside_sight outside_look(const void *word, struct outside_area area, uint64_t ns);
void outside_end(void);

#endif
