/* SPDX-License-Identifier: MIT */
/*
 * A process that looks at its parent from outside: at a word of its memory, and at where the waves
 * are that a queue of it has saved, as the control stack and the records in the save area say.
 */
#ifndef GP__TESTS_OUTSIDE_H
#define GP__TESTS_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

struct outside_sight {
	bool readable; /* all of it was */
	bool moved; /* the word, or any wave, or how many there are */
	uint32_t looks, word, nr_waves;
	uint64_t first_pc;
};

/* Before there are threads. False: it could not be started. */
bool outside_start(void);
/* A save area has a slice for each XCC. */
struct outside_area {
	uint64_t at, slice_bytes;
	uint32_t nr_slices; /* 0: it is not looked at */
};

/* For so long, again and again. */
struct outside_sight outside_look(const void *word, struct outside_area area, uint64_t ns);
void outside_end(void);

#endif
