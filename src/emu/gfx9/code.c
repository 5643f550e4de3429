// SPDX-License-Identifier: MIT
#include "emu/gfx9/code.h"

#include "emu/gfx9/exec_mfma.h"
#include "emu/gfx9/trust.h"

#include <errno.h>
#include <stdlib.h>

#define TRAPSTS_TRAP_AFTER_INST (1u << 25)

void gfx9_code_init(struct gfx9_code *code, enum gfx9_target target)
{
	memset(code, 0, sizeof(*code));
	code->target = target;
	pthread_mutex_init(&code->lock, NULL);
}

static void free_chain(struct gfx9_code_page *p)
{
	while (p) {
		struct gfx9_code_page *next = p->next;

		free(p);
		p = next;
	}
}

static void free_retired(struct gfx9_code *code, unsigned int epoch)
{
	while (code->retired[epoch]) {
		struct gfx9_code_page *p = code->retired[epoch];

		code->retired[epoch] = p->next_retired;
		free_chain(p);
	}
}

/* The chains stay linked: another thread may be walking them. */
static void retire(struct gfx9_code *code, unsigned int epoch)
{
	for (size_t i = 0; i < GFX9_CODE_BUCKETS; i++) {
		struct gfx9_code_page *p = atomic_exchange(&code->bucket[i], NULL);

		if (!p)
			continue;
		p->next_retired = code->retired[epoch];
		code->retired[epoch] = p;
	}
}

void gfx9_code_invalidate(struct gfx9_code *code)
{
	unsigned int epoch;

	pthread_mutex_lock(&code->lock);
	epoch = atomic_load(&code->epoch) & 1;
	retire(code, epoch);
	if (!atomic_load(&code->inside[!epoch])) {
		free_retired(code, !epoch);
		atomic_fetch_add(&code->epoch, 1);
	}
	pthread_mutex_unlock(&code->lock);
}

/* A thread that entered under an epoch which has passed meanwhile may not have been counted. */
unsigned int gfx9_code_enter(struct gfx9_code *code)
{
	for (;;) {
		uint64_t epoch = atomic_load(&code->epoch);

		atomic_fetch_add(&code->inside[epoch & 1], 1);
		if (atomic_load(&code->epoch) == epoch)
			return epoch & 1;
		atomic_fetch_sub(&code->inside[epoch & 1], 1);
	}
}

void gfx9_code_leave(struct gfx9_code *code, unsigned int epoch)
{
	atomic_fetch_sub(&code->inside[epoch], 1);
}

void gfx9_code_destroy(struct gfx9_code *code)
{
	retire(code, 0);
	free_retired(code, 0);
	free_retired(code, 1);
	pthread_mutex_destroy(&code->lock);
}

static _Atomic(struct gfx9_code_page *) *bucket_of(struct gfx9_code *code, uint64_t va)
{
	return &code->bucket[(va >> EMU_PAGE_SHIFT) % GFX9_CODE_BUCKETS];
}

static struct gfx9_code_page *find(_Atomic(struct gfx9_code_page *) *bucket, uint64_t va)
{
	struct gfx9_code_page *p = atomic_load_explicit(bucket, memory_order_acquire);

	while (p && p->va != va)
		p = p->next;
	return p;
}

struct gfx9_code_page *gfx9_code_page(struct gfx9_code *code, uint64_t pc)
{
	uint64_t va = pc & ~(EMU_PAGE - 1);
	_Atomic(struct gfx9_code_page *) *bucket = bucket_of(code, va);
	struct gfx9_code_page *p = find(bucket, va);

	if (p)
		return p;
	pthread_mutex_lock(&code->lock);
	p = find(bucket, va);
	if (!p) {
		p = aligned_alloc(_Alignof(struct gfx9_code_page), sizeof(*p));
		if (p) {
			memset(p, 0, sizeof(*p));
			p->va = va;
			p->next = atomic_load_explicit(bucket, memory_order_relaxed);
			atomic_store_explicit(bucket, p, memory_order_release);
		}
	}
	pthread_mutex_unlock(&code->lock);
	return p;
}

static gfx9_run_fn *find_op(struct gfx9_inst *in)
{
	if (gfx9_scalar_ops[in->op])
		return gfx9_scalar_ops[in->op];
	if (gfx9_memory_op(in->op))
		return gfx9_memory_op(in->op);
	if (gfx9_mfma_ops[in->op])
		return gfx9_mfma_ops[in->op];
	return gfx9_vector_bind(in);
}

/* Reads as many dwords as possible; an instruction at the end of mapped memory has no successor. */
size_t gfx9_code_words(struct gfx9_wave *w, uint32_t words[GFX9_INST_MAX])
{
	uint64_t bad;
	size_t n = 0;

	while (n < GFX9_INST_MAX && gfx9_tlb_read(w->tlb, w->pc + 4 * n, &words[n], 4, &bad))
		n++;
	return n;
}

static void tell(const struct gfx9_code *code, const struct gfx9_inst *in, uint64_t pc,
		 const uint32_t *words)
{
	const char *note;

	if (code->approximate && gfx9_trust(in->op, &note) == EMU_APPROXIMATE)
		code->approximate(code->ctx, in, pc, words);
}

enum gfx9_stop gfx9_code_fill(struct gfx9_code *code, struct gfx9_wave *w, struct gfx9_slot *slot)
{
	uint32_t words[GFX9_INST_MAX] = { 0 };
	size_t n = gfx9_code_words(w, words);
	int len = -ENODATA;
	struct gfx9_inst in;
	gfx9_run_fn *run;

	if (n)
		len = gfx9_decode(code->target, words, n, &in);
	if (len == -ENODATA) {
		w->fault = (struct gfx9_fault){ .address = w->pc + 4 * n };
		return GFX9_FAULT;
	}
	run = len > 0 ? find_op(&in) : NULL;
	if (!run)
		return GFX9_ILLEGAL;
	tell(code, &in, w->pc, words);
	pthread_mutex_lock(&code->lock);
	if (!atomic_load_explicit(&slot->run, memory_order_relaxed)) {
		slot->in = in;
		atomic_store_explicit(&slot->run, run, memory_order_release);
	}
	pthread_mutex_unlock(&code->lock);
	return GFX9_GO;
}

static struct gfx9_slot *slot_of(struct gfx9_code_page *page, uint64_t pc)
{
	return &page->slot[(pc - page->va) / 4];
}

/*
 * Runs from one slot to the next, as long as they are filled; those behind the page's last one
 * never are. Only a branch changes the pc.
 */
static enum gfx9_stop run_page(struct gfx9_wave *w, struct gfx9_code_page *page, uint64_t end)
{
	struct gfx9_slot *slot = slot_of(page, w->pc);
	uint64_t pc = w->pc, clock = w->clock;
	enum gfx9_stop stop = GFX9_GO;

	while (clock != end) {
		gfx9_run_fn *run = atomic_load_explicit(&slot->run, memory_order_acquire);
		const struct gfx9_inst *in = &slot->in;

		if (__builtin_expect(!run, 0))
			break;
		pc += 4u * in->dwords;
		slot += in->dwords;
		w->pc = pc;
		w->clock = ++clock;
		stop = run(w, in);
		if (__builtin_expect(stop, 0)) {
			if (stop == GFX9_FAULT || stop == GFX9_ILLEGAL)
				w->pc = pc - 4u * in->dwords;
			break;
		}
		if (__builtin_expect(w->pc == pc, 1))
			continue;
		pc = w->pc;
		if (pc - page->va >= EMU_PAGE)
			break;
		slot = slot_of(page, pc);
	}
	return stop;
}

/* Reports an executed instruction to a debugger that asked for it. */
static enum gfx9_stop after_step(struct gfx9_wave *w, enum gfx9_target target, enum gfx9_stop stop,
				 uint32_t hits, bool steps)
{
	w->trapsts |= hits;
	if (stop != GFX9_GO && stop != GFX9_SLEEP)
		return stop;
	if (steps && target == GFX9_TARGET_GFX942)
		w->trapsts |= TRAPSTS_TRAP_AFTER_INST;
	return steps || (hits && w->mode & GFX9_MODE_EXCP_ADDR_WATCH) ? GFX9_EXCEPTION : stop;
}

/* As run_page(), for a wave whose addresses are watched or that takes single steps. */
static __attribute__((noinline, cold)) enum gfx9_stop run_debugged(struct gfx9_wave *w,
								   enum gfx9_target target,
								   struct gfx9_code_page *page,
								   uint64_t end)
{
	enum gfx9_stop stop = GFX9_GO;

	while (!stop && w->clock != end && w->pc - page->va < EMU_PAGE) {
		struct gfx9_slot *slot = slot_of(page, w->pc);
		gfx9_run_fn *run = atomic_load_explicit(&slot->run, memory_order_acquire);
		bool in_handler = w->status & GFX9_STATUS_PRIV;
		bool steps = !in_handler && w->mode & GFX9_MODE_DEBUG_EN;
		uint64_t pc = w->pc;
		uint32_t hits = 0;

		if (!run)
			break;
		if (w->debug && !in_handler)
			hits = gfx9_watch_hits(w, &slot->in);
		w->pc += 4u * slot->in.dwords;
		w->clock++;
		stop = run(w, &slot->in);
		if (stop == GFX9_FAULT || stop == GFX9_ILLEGAL)
			w->pc = pc;
		else
			stop = after_step(w, target, stop, hits, steps);
	}
	return stop;
}

enum gfx9_stop gfx9_wave_run(struct gfx9_wave *w, struct gfx9_code *code, uint64_t budget,
			     uint64_t *done)
{
	uint64_t start = w->clock, end = start + budget;
	bool debugged = w->debug || w->mode & GFX9_MODE_DEBUG_EN;
	enum gfx9_stop stop = GFX9_GO;

	gfx9_tlb_sync(w->tlb);
	while (!stop && w->clock != end) {
		struct gfx9_code_page *page = gfx9_code_page(code, w->pc);

		if (!page) {
			w->fault = (struct gfx9_fault){ .address = w->pc };
			stop = GFX9_FAULT;
			break;
		}
		if (!atomic_load_explicit(&slot_of(page, w->pc)->run, memory_order_acquire)) {
			stop = gfx9_code_fill(code, w, slot_of(page, w->pc));
			/* An instruction that cannot be executed counts as well. */
			w->clock += stop != GFX9_GO;
			continue;
		}
		if (__builtin_expect(debugged, 0))
			stop = run_debugged(w, code->target, page, end);
		else
			stop = run_page(w, page, end);
	}
	*done += w->clock - start;
	return stop;
}
