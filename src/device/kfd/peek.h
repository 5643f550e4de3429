/* SPDX-License-Identifier: MIT */
/*
 * Reads words of this process' memory that may not be there any more.
 *
 * The kernel copies them into a file in memory, so a word that is gone is an answer and no signal,
 * and mappings of devices can be read as well. One call for up to a thousand words; some 40 ns a
 * word. The words are read in order. An aligned one may still be caught while it changes.
 */
#ifndef GP__DEVICE_KFD_PEEK_H
#define GP__DEVICE_KFD_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp__kfd_word {
	uint64_t at;
	uint64_t value;
	bool there;
};

struct gp__kfd_peek {
	int fd;
	const uint64_t *copy;
};

/* 0 or -errno. */
int gp__kfd_peek_open(struct gp__kfd_peek *p);
void gp__kfd_peek_close(struct gp__kfd_peek *p);

/* How many of them are there. */
size_t gp__kfd_peek(struct gp__kfd_peek *p, struct gp__kfd_word *word, size_t n);

#endif
