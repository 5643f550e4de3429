/* SPDX-License-Identifier: MIT */
/*
 * The device's clock. While a compute unit is busy it advances with the executed instructions, as
 * if all busy ones ran in parallel; while none is, with the host's clock. A slow host does not
 * distort it.
 */
#ifndef GP__EMU_GFX9_CLOCK_H
#define GP__EMU_GFX9_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A SIMD executes an instruction in so many nanoseconds. */
#define GFX9_INST_NS 1

struct gfx9_clock {
	pthread_mutex_t lock;
	/* Called with the lock each time the first compute unit becomes busy, or the last idle. */
	void (*changed)(void *ctx, bool busy, uint64_t ns);
	void *ctx;
	uint64_t ns;
	uint64_t parts; /* fractions of a nanosecond not counted yet, times nr_busy */
	uint64_t idle_since; /* host time up to which @ns is valid, while nothing is busy */
	uint32_t nr_busy;
};

/* @changed may be NULL. */
void gfx9_clock_init(struct gfx9_clock *c, void (*changed)(void *ctx, bool busy, uint64_t ns),
		     void *ctx);
void gfx9_clock_destroy(struct gfx9_clock *c);
uint64_t gfx9_clock_now(struct gfx9_clock *c);

/* A compute unit becomes busy or idle. */
void gfx9_clock_begin(struct gfx9_clock *c);
void gfx9_clock_end(struct gfx9_clock *c);
/* A busy compute unit ran for so long, in its own time. */
void gfx9_clock_ran(struct gfx9_clock *c, uint64_t ns);

#endif
