/* SPDX-License-Identifier: MIT */
/*
 * Decoded instructions of one address space, found by program counter.
 *
 * A page of code has a slot for each dword, filled when it is first executed. Readers take no lock:
 * a slot's function is published last, a page's pointer likewise. Code that changes must be
 * invalidated before it runs again, as on the hardware. Pages that no longer count are kept until
 * whoever may be executing from them has left.
 */
#ifndef GP__EMU_GFX9_CODE_H
#define GP__EMU_GFX9_CODE_H

#include <pthread.h>

#include "emu/gfx9/wave.h"

#define GFX9_CODE_SLOTS (GFX9_PAGE / 4)
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
	struct gfx9_code_page *next_retired; /* of the first one of a bucket */
	/* The last ones are where the last instruction may lead to; they stay empty. */
	struct gfx9_slot slot[GFX9_CODE_SLOTS + GFX9_INST_MAX];
};

struct gfx9_code {
	enum gfx9_target target;
	/*
	 * Called with each instruction whose results are approximate (trust.h) when it is decoded,
	 * by any thread, maybe more than once; NULL: nobody asks.
	 */
	void (*approximate)(void *ctx, const struct gfx9_inst *in, uint64_t pc,
			    const uint32_t *words);
	void *ctx;
	pthread_mutex_t lock; /* of whoever fills */
	_Atomic(struct gfx9_code_page *) bucket[GFX9_CODE_BUCKETS];
	/*
	 * Whoever executes is counted under the epoch he came in. What was retired in one epoch can
	 * go when nobody is left of it; the next one but one, which has the same counter, does not
	 * begin before.
	 */
	_Atomic uint64_t epoch;
	_Atomic uint64_t inside[2];
	struct gfx9_code_page *retired[2];
};

void gfx9_code_init(struct gfx9_code *code, enum gfx9_target target);
/* Forgets everything, at any time; who executes meanwhile may still see old code until he leaves.
 */
void gfx9_code_invalidate(struct gfx9_code *code);
/* To be called around gfx9_wave_run(), with what the first one returned. */
unsigned int gfx9_code_enter(struct gfx9_code *code);
void gfx9_code_leave(struct gfx9_code *code, unsigned int epoch);
void gfx9_code_destroy(struct gfx9_code *code);

/* The page that holds @pc; NULL: out of memory. */
struct gfx9_code_page *gfx9_code_page(struct gfx9_code *code, uint64_t pc);
/* Reads the words at the wave's pc, and returns how many there are. */
size_t gfx9_code_words(struct gfx9_wave *w, uint32_t words[GFX9_INST_MAX]);
/*
 * Decodes the instruction at the wave's pc into its slot. GFX9_GO; GFX9_FAULT where it cannot be
 * read; GFX9_ILLEGAL where it is none, or none that the engine executes.
 */
enum gfx9_stop gfx9_code_fill(struct gfx9_code *code, struct gfx9_wave *w, struct gfx9_slot *slot);

/*
 * Runs the wave for up to @budget instructions, or until it does not simply go on. GFX9_GO: the
 * budget is used up.
 * *@done is raised by the number of instructions executed. At GFX9_FAULT and GFX9_ILLEGAL the pc
 * stands on the instruction, otherwise behind it.
 */
enum gfx9_stop gfx9_wave_run(struct gfx9_wave *w, struct gfx9_code *code, uint64_t budget,
			     uint64_t *done);

#endif
