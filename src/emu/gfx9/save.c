// SPDX-License-Identifier: MIT
#include "emu/gfx9/save.h"

#include "emu/gfx9/group.h"

#include <errno.h>
#include <stdlib.h>

#define TRAPSTS_SAVECTX (1u << 10)
#define FIRST_WAVE (1u << 26) /* in EXEC_HI, beside the address of a record */
#define RESTORE_ENTRY 4

/* A handler needs some five hundred instructions; one that needs this many is lost. */
#define HANDLER_INSTS 1000000
#define SLICE 1000

/* What a record holds beside the vector registers and LDS: scalar registers, the block, a gap. */
#define BLOCK_BYTES 0x80
#define GAP_BYTES 64

const uint32_t gfx9_trap_handler[] = {
#include "emu/gfx9/trap/handler.inc"
};
const uint32_t gfx9_trap_handler_bytes = sizeof(gfx9_trap_handler);

struct saved_wave {
	uint64_t record;
	uint32_t scratch_slot;
	bool first;
};

struct gfx9_saved_group {
	struct gfx9_saved_group *next;
	struct gfx9_job *job;
	uint64_t records_end;
	uint32_t id[3], nr_waves;
	struct saved_wave wave[];
};

/*
 * Save
 */

/* A wave that waits at a barrier has not arrived: it will execute the barrier again. */
static void unarrive(struct gfx9_group *g, struct gfx9_resident *r)
{
	if (r->state != GFX9_AT_BARRIER)
		return;
	r->state = GFX9_RUNS;
	r->w.pc -= 4;
	g->nr_waiting--;
}

static void enter_handler(struct gfx9_wave *w)
{
	w->trapsts |= TRAPSTS_SAVECTX;
	w->s[GFX9_TTMP0] = (uint32_t)w->pc;
	w->s[GFX9_TTMP0 + 1] = (uint32_t)(w->pc >> 32) & 0xffff;
	w->status |= GFX9_STATUS_PRIV;
	w->pc = w->tba;
}

/* What a wave finds in EXEC. */
static uint64_t address_of(uint64_t record, bool first)
{
	return record | (first ? (uint64_t)FIRST_WAVE << 32 : 0);
}

static uint64_t record_bytes(const struct gfx9_wave *w, bool first)
{
	uint64_t bytes = (uint64_t)(w->nr_vgprs + w->nr_agprs) * sizeof(*w->v);

	bytes += (uint64_t)w->nr_sgprs * 4 + BLOCK_BYTES + GAP_BYTES;
	return first ? bytes + w->lds_bytes : bytes;
}

static bool nobody_asked(const struct gfx9_group *g)
{
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		if (g->wave[i].record)
			return false;
	}
	return true;
}

/* In every wave that has not ended; one that is in a handler is told to come back when it leaves
 * that. */
static void raise_save(struct gfx9_group *g)
{
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		struct gfx9_resident *r = &g->wave[i];

		if (r->state == GFX9_ENDED)
			continue;
		r->w.save_pending = r->w.status & GFX9_STATUS_PRIV;
		if (r->w.save_pending)
			continue;
		unarrive(g, r);
		enter_handler(&r->w);
	}
}

void gfx9_group_message(struct gfx9_group *g, struct gfx9_resident *r)
{
	if (!g->saving || r->record)
		return;
	r->first = nobody_asked(g);
	r->record = g->records;
	g->records += record_bytes(&r->w, r->first);
	gfx9_set64(&r->w, GFX9_EXEC, address_of(r->record, r->first));
}

int gfx9_group_reserve(struct gfx9_group *g, struct gfx9_context *c)
{
	uint64_t bytes = 0;

	if (c->nr_restoring)
		return -EAGAIN;
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		if (g->wave[i].state != GFX9_ENDED)
			bytes += record_bytes(&g->wave[i].w, !bytes);
	}
	if (bytes > c->size - c->used)
		return -ENOSPC;
	g->records = c->area + c->used;
	c->used += bytes;
	g->records_end = c->area + c->used;
	return 0;
}

/* Scratch of a wave goes where its record goes; one that has ended needs none. */
static struct gfx9_saved_group *remember(const struct gfx9_group *g)
{
	struct gfx9_saved_group *s = calloc(1, sizeof(*s) + g->nr_waves * sizeof(s->wave[0]));

	if (!s)
		return NULL;
	s->job = g->job;
	s->records_end = g->records_end;
	memcpy(s->id, g->id, sizeof(s->id));
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		const struct gfx9_resident *r = &g->wave[i];

		if (r->record)
			s->wave[s->nr_waves++] =
				(struct saved_wave){ r->record, r->scratch_slot, r->first };
		else if (g->job->dispatch.scratch_bytes)
			gfx9_queue_give_scratch(g->job->queue, r->scratch_slot);
	}
	return s;
}

int gfx9_group_save(struct gfx9_group *g, struct gfx9_saved_group **saved)
{
	uint64_t insts = 0;

	g->saving = true;
	while (g->nr_ended < g->nr_waves && insts < HANDLER_INSTS && !g->job->failed) {
		raise_save(g);
		insts += gfx9_group_run(g, SLICE);
	}
	if (g->nr_ended < g->nr_waves || g->job->failed)
		return -EIO;
	*saved = remember(g);
	return *saved ? 0 : -ENOMEM;
}

/* The one whose records lie highest first, whoever was done with saving first. */
void gfx9_context_add(struct gfx9_context *c, struct gfx9_saved_group *s)
{
	struct gfx9_saved_group **link = &c->saved;

	while (*link && (*link)->records_end > s->records_end)
		link = &(*link)->next;
	s->next = *link;
	*link = s;
	c->nr_waves += s->nr_waves;
}

/*
 * Restore
 */

struct gfx9_job *gfx9_context_next(const struct gfx9_context *c, uint32_t *nr_waves)
{
	if (!c->saved)
		return NULL;
	*nr_waves = c->saved->nr_waves;
	return c->saved->job;
}

static void free_records(struct gfx9_context *c)
{
	c->used = c->saved ? c->saved->records_end - c->area : 0;
}

struct gfx9_saved_group *gfx9_context_pop(struct gfx9_context *c)
{
	struct gfx9_saved_group *s = c->saved;

	c->saved = s->next;
	c->nr_restoring++;
	return s;
}

void gfx9_context_restored(struct gfx9_context *c)
{
	if (!--c->nr_restoring)
		free_records(c);
}

void gfx9_context_drop(struct gfx9_context *c, const struct gfx9_job *job)
{
	struct gfx9_saved_group **link = &c->saved, *s;

	while ((s = *link)) {
		if (job && s->job != job) {
			link = &s->next;
			continue;
		}
		*link = s->next;
		for (uint32_t i = 0; s->job->dispatch.scratch_bytes && i < s->nr_waves; i++)
			gfx9_queue_give_scratch(s->job->queue, s->wave[i].scratch_slot);
		free(s);
	}
	if (!c->nr_restoring)
		free_records(c);
}

static void start_restore(struct gfx9_wave *w, const struct saved_wave *s)
{
	w->status |= GFX9_STATUS_PRIV;
	w->pc = w->tba + RESTORE_ENTRY;
	gfx9_set64(w, GFX9_EXEC, address_of(s->record, s->first));
}

static bool any_in_handler(const struct gfx9_group *g)
{
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		if (g->wave[i].state != GFX9_ENDED && g->wave[i].w.status & GFX9_STATUS_PRIV)
			return true;
	}
	return false;
}

/* Those outside stand still meanwhile: they wait where they are. */
static void run_handlers(struct gfx9_group *g, uint64_t *insts)
{
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		struct gfx9_resident *r = &g->wave[i];

		r->w.save_pending = true;
		if (r->state == GFX9_RUNS && r->w.status & GFX9_STATUS_PRIV)
			*insts += gfx9_resident_run(g, i, SLICE);
		r->w.save_pending = false;
	}
}

static void leave_handlers(struct gfx9_group *g)
{
	uint64_t insts = 0;

	while (any_in_handler(g) && !g->job->failed) {
		run_handlers(g, &insts);
		if (insts > HANDLER_INSTS)
			gfx9_job_fail(g->job, -EIO);
	}
}

struct gfx9_group *gfx9_cu_restore(struct gfx9_cu *cu, struct gfx9_saved_group *s)
{
	struct gfx9_group *g = gfx9_group_new(s->job, s->id, s->nr_waves);

	if (!g)
		return NULL;
	gfx9_group_place(cu, g);
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		g->wave[i].scratch_slot = s->wave[i].scratch_slot;
		start_restore(&g->wave[i].w, &s->wave[i]);
	}
	free(s);
	leave_handlers(g);
	return g;
}
