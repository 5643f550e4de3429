/* SPDX-License-Identifier: MIT */
/*
 * Decoded instructions of one address space, found by program counter.
 *
 * A page of code has a slot for each dword, filled when it is first executed. Readers take no lock:
 * a slot's function is published last, and so is a page's pointer. Code that changes must be
 * invalidated before it runs again, as on the hardware. Retired pages are kept until every thread
 * that may execute from them has left.
 */
#ifndef GP__EMU_GFX9_CODE_H
#define GP__EMU_GFX9_CODE_H

#include <pthread.h>

#include "emu/gfx9/wave.h"

#define GFX9_CODE_SLOTS (EMU_PAGE / 4)
#define GFX9_INST_MAX 3 /* dwords */
#define GFX9_CODE_BUCKETS 256

/* A line of the host's cache. */
struct gfx9_slot {
	_Alignas(64) _Atomic(gfx9_run_fn *) run; /* NULL: not decoded yet */
	struct gfx9_inst in;
};

struct gfx9_code_page {
	uint64_t va;
	struct gfx9_code_page *next;
	struct gfx9_code_page *next_retired; /* only of the first page of a bucket */
	/* The last instruction may continue into the last slots; they stay empty. */
	struct gfx9_slot slot[GFX9_CODE_SLOTS + GFX9_INST_MAX];
};

struct gfx9_code {
	enum gfx9_target target;
	/*
	 * Called for each instruction whose results are approximate (trust.h) when it is decoded,
	 * by any thread, maybe more than once. May be NULL.
	 */
	void (*approximate)(void *ctx, const struct gfx9_inst *in, uint64_t pc,
			    const uint32_t *words);
	void *ctx;
	pthread_mutex_t lock; /* for filling slots */
	_Atomic(struct gfx9_code_page *) bucket[GFX9_CODE_BUCKETS];
	/*
	 * Threads are counted under the epoch in which they entered. Pages that were retired in an
	 * epoch are freed when none of its threads is left. The epoch after the next, which uses
	 * the same counter, does not begin before that.
	 */
	_Atomic uint64_t epoch;
	_Atomic uint64_t inside[2];
	struct gfx9_code_page *retired[2];
};

void gfx9_code_init(struct gfx9_code *code, enum gfx9_target target);
/* Drops all decoded code, at any time; a running thread may execute old code until it leaves. */
void gfx9_code_invalidate(struct gfx9_code *code);
/* Called around gfx9_wave_run(); the result of the first goes to the second. */
unsigned int gfx9_code_enter(struct gfx9_code *code);
void gfx9_code_leave(struct gfx9_code *code, unsigned int epoch);
void gfx9_code_destroy(struct gfx9_code *code);

/* The page that holds @pc; NULL: out of memory. */
struct gfx9_code_page *gfx9_code_page(struct gfx9_code *code, uint64_t pc);
/* Reads the words at the wave's pc, and returns how many there are. */
size_t gfx9_code_words(struct gfx9_wave *w, uint32_t words[GFX9_INST_MAX]);
/*
 * Decodes the instruction at the wave's pc into its slot. GFX9_GO; GFX9_FAULT where it cannot be
 * read; GFX9_ILLEGAL where it is not an instruction, or not one that the engine executes.
 */
enum gfx9_stop gfx9_code_fill(struct gfx9_code *code, struct gfx9_wave *w, struct gfx9_slot *slot);

/*
 * Runs the wave for up to @budget instructions, or until it stops. GFX9_GO: the budget is used up.
 * Adds the number of executed instructions to *@done. At GFX9_FAULT and GFX9_ILLEGAL the pc points
 * at the instruction, otherwise behind it.
 */
enum gfx9_stop gfx9_wave_run(struct gfx9_wave *w, struct gfx9_code *code, uint64_t budget,
			     uint64_t *done);

#endif
