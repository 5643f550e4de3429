/* SPDX-License-Identifier: MIT */
/*
 * Things that are found by an address, which other threads may look for while one puts and takes.
 *
 * Whoever puts or takes has a lock. Finding needs none, where nobody looks for what is being put or
 * taken: a program does not use a queue while it makes or destroys it. A place that was left is
 * marked so, for others behind it to be found.
 */
#ifndef GP__JOIN_HSA_PLACES_H
#define GP__JOIN_HSA_PLACES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Twice as many places as things, so that one is found after few steps. */
#define GP__PLACES 4096u

/* At the beginning of what is put there. */
struct gp__placed {
	const void *address;
};

/* Addresses beside the things: who looks for another may come by one that is being freed. */
struct gp__places {
	_Atomic(const void *) address[GP__PLACES];
	struct gp__placed *what[GP__PLACES];
	uint32_t nr;
};

/* NULL: it is not there. */
struct gp__placed *gp__places_find(struct gp__places *p, const void *address);
/* False: all are taken. */
bool gp__places_put(struct gp__places *p, struct gp__placed *what);
/* NULL: it was not there. */
struct gp__placed *gp__places_take(struct gp__places *p, const void *address);

#endif
