/* SPDX-License-Identifier: MIT */
/*
 * Reads words of this process' memory that may not be there any more.
 *
 * The kernel copies them into a file in memory, so a word that is gone is an answer and no signal,
 * and mappings of devices can be read as well. One call for up to a thousand words; some 40 ns a
 * word. The words are read in order. An aligned one may still be caught while it changes.
 */
#ifndef GP_BASE_PEEK_H
#define GP_BASE_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp__word {
	uint64_t at;
	uint64_t value;
	bool there;
};

struct gp__peek {
	int fd;
	const uint64_t *copy;
};

/* 0 or -errno. */
int gp__peek_open(struct gp__peek *p);
void gp__peek_close(struct gp__peek *p);

/* How many of them are there. */
size_t gp__peek(struct gp__peek *p, struct gp__word *word, size_t n);

#endif
