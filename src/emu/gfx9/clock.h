/* SPDX-License-Identifier: MIT */
/*
 * The device's clock. While a compute unit is busy it advances with the instructions executed, as
 * if all busy ones ran at once; while none is, with the host's clock. A slow host does not distort
 * it.
 */
#ifndef GP__EMU_GFX9_CLOCK_H
#define GP__EMU_GFX9_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A SIMD executes an instruction in so many nanoseconds. */
#define GFX9_INST_NS 1
/* The reference clock of the hardware: 100 MHz. s_memtime counts nanoseconds. */
#define GFX9_TICK_NS 10

struct gfx9_clock {
	pthread_mutex_t lock;
	/* Called with the lock each time the first compute unit becomes busy, or the last idle. */
	void (*changed)(void *ctx, bool busy, uint64_t ns);
	void *ctx;
	uint64_t ns;
	uint64_t parts; /* of a nanosecond not counted yet, times nr_busy */
	uint64_t idle_since; /* host time up to which @ns is right, where nothing is busy */
	uint32_t nr_busy;
};

/* @changed may be NULL. */
void gfx9_clock_init(struct gfx9_clock *c, void (*changed)(void *ctx, bool busy, uint64_t ns),
		     void *ctx);
void gfx9_clock_destroy(struct gfx9_clock *c);
uint64_t gfx9_clock_now(struct gfx9_clock *c);

/* A compute unit has something to do, or nothing any more. */
void gfx9_clock_begin(struct gfx9_clock *c);
void gfx9_clock_end(struct gfx9_clock *c);
/* One of the busy ones ran for so long, in its own time. */
void gfx9_clock_ran(struct gfx9_clock *c, uint64_t ns);

#endif
