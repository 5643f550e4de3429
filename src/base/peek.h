/* SPDX-License-Identifier: MIT */
/*
 * Reads words of this process's memory that may be unmapped.
 *
 * The kernel copies them into a file in memory, so an unmapped word is an answer and no signal, and
 * mappings of devices can be read as well. One call reads up to a thousand words, at about 40 ns
 * per word, in order. An aligned word may still be read while it changes.
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

/* Returns how many of them are mapped. */
size_t gp__peek(struct gp__peek *p, struct gp__word *word, size_t n);

#endif
