// SPDX-License-Identifier: MIT
#include "emu/gfx9/save.h"

#include "emu/gfx9/area.h"
#include "emu/gfx9/group.h"

#include <errno.h>
#include <stdlib.h>

#define TRAPSTS_SAVECTX (1u << 10)
#define FIRST_WAVE (1u << 26) /* in EXEC_HI, beside the address of a record */
#define RESTORE_ENTRY 4
#define GWS_BYTES 8 /* of a ds_gws instruction */

/* A handler needs some five hundred instructions; beyond this many it is considered lost. */
#define HANDLER_INSTS 1000000
#define SLICE 1000

const uint32_t gfx9_trap_handler[] = {
#include "emu/gfx9/trap/handler.inc"
};
const uint32_t gfx9_trap_handler_bytes = sizeof(gfx9_trap_handler);

/*
 * Save
 */

/* A wave that waits at a barrier has not arrived: it will execute the barrier again. */
static void unarrive(struct gfx9_group *g, struct gfx9_resident *r)
{
	if (r->state == GFX9_AT_GWS && gfx9_group_leave_gws(g, r))
		r->w.pc -= GWS_BYTES;
	if (r->state != GFX9_AT_BARRIER)
		return;
	r->state = GFX9_RUNS;
	r->w.pc -= 4;
	g->nr_waiting--;
}

/* The value of EXEC for a wave. */
static uint64_t address_of(uint64_t record, bool first)
{
	return record | (first ? (uint64_t)FIRST_WAVE << 32 : 0);
}

static uint64_t record_bytes(const struct gfx9_wave *w, bool first)
{
	uint64_t bytes = (uint64_t)(w->nr_vgprs + w->nr_agprs) * sizeof(*w->v);

	bytes += (uint64_t)w->nr_sgprs * 4 + GFX9_AREA_BLOCK_BYTES + GFX9_AREA_GAP_BYTES;
	return first ? bytes + w->lds_bytes : bytes;
}

/* The first wave to ask is the first of its workgroup, and its record the highest. */
void gfx9_group_message(struct gfx9_group *g, struct gfx9_resident *r)
{
	bool first = g->records_free == g->records_end;
	uint64_t bytes = record_bytes(&r->w, first);

	if (!g->saving || r->record || bytes > g->records_free - g->records)
		return;
	g->records_free -= bytes;
	r->first = first;
	r->record = g->records_free;
	gfx9_set64(&r->w, GFX9_EXEC, address_of(r->record, first));
}

int gfx9_group_reserve(struct gfx9_group *g, struct gfx9_context *c)
{
	uint64_t bytes = 0;
	uint32_t entries = 1; /* the state */

	if (c->nr_restoring)
		return -EAGAIN;
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		if (g->wave[i].state == GFX9_ENDED)
			continue;
		bytes += record_bytes(&g->wave[i].w, !bytes);
		entries++;
	}
	if (c->ctl_bytes + c->used + bytes > c->size ||
	    (c->ctl_bytes && !gfx9_area_fits(c->ctl_bytes, c->entries + entries)))
		return -ENOSPC;
	g->records = c->area + c->ctl_bytes + c->used;
	c->used += bytes;
	c->entries += entries;
	g->records_free = g->records_end = g->records + bytes;
	g->entries_end = c->entries;
	c->nr_saving++;
	return 0;
}

/* A wave in a handler sees the request, or gets it when it leaves. */
static void request_save(struct gfx9_group *g)
{
	g->saving = true;
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		g->wave[i].w.trapsts |= TRAPSTS_SAVECTX;
		g->wave[i].w.save_pending = true;
	}
}

/* Enters the handler in all waves that are not in it; halted ones, too. */
static void enter_handler(struct gfx9_group *g)
{
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		struct gfx9_resident *r = &g->wave[i];

		if (r->state == GFX9_ENDED || r->w.status & GFX9_STATUS_PRIV)
			continue;
		unarrive(g, r);
		r->state = GFX9_RUNS;
		r->w.trapsts |= TRAPSTS_SAVECTX;
		gfx9_wave_trap(&r->w, 0);
	}
}

static void remember_wave(struct gfx9_saved_group *s, const struct gfx9_resident *r)
{
	uint32_t i = s->nr_waves++;

	for (; i && s->wave[i - 1].record < r->record; i--)
		s->wave[i] = s->wave[i - 1];
	s->wave[i] = (struct gfx9_saved_wave){
		.record = r->record,
		.bytes = (uint32_t)record_bytes(&r->w, r->first),
		.scratch_slot = r->scratch_slot,
		.index = r->index,
		.first = r->first,
	};
}

/* The scratch slot of a wave is saved with its record; a wave that has ended needs none. */
static struct gfx9_saved_group *remember(const struct gfx9_group *g)
{
	struct gfx9_saved_group *s = calloc(1, sizeof(*s) + g->nr_waves * sizeof(s->wave[0]));

	if (!s)
		return NULL;
	s->job = g->job;
	s->records_end = g->records_end;
	s->entries_end = g->entries_end;
	memcpy(s->id, g->id, sizeof(s->id));
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		const struct gfx9_resident *r = &g->wave[i];

		if (r->record)
			remember_wave(s, r);
		else if (g->job->base.launch.scratch_bytes)
			gfx9_queue_give_scratch(g->job->queue, r->scratch_slot);
	}
	return s;
}

/* Also ends if no wave can run because they wait for each other. */
int gfx9_group_save(struct gfx9_group *g, struct gfx9_saved_group **saved)
{
	uint64_t insts = 0, ran = 1;

	request_save(g);
	while (g->nr_ended < g->nr_waves && ran && insts < HANDLER_INSTS) {
		enter_handler(g);
		ran = gfx9_group_run(g, SLICE);
		insts += ran;
	}
	if (g->nr_ended < g->nr_waves)
		return -EIO;
	*saved = remember(g);
	return *saved ? 0 : -ENOMEM;
}

/* The one with the highest records first, whichever was saved first. */
static void add(struct gfx9_context *c, struct gfx9_saved_group *s)
{
	struct gfx9_saved_group **link = &c->saved;

	while (*link && (*link)->records_end > s->records_end)
		link = &(*link)->next;
	s->next = *link;
	*link = s;
}

static void free_records(struct gfx9_context *c)
{
	if (c->nr_saving || c->nr_restoring)
		return;
	c->used = c->saved ? c->saved->records_end - (c->area + c->ctl_bytes) : 0;
	c->entries = c->saved ? c->saved->entries_end : 0;
}

void gfx9_context_saved(struct gfx9_context *c, struct gfx9_saved_group *s)
{
	c->nr_saving--;
	if (s) {
		add(c, s);
		c->nr_waves += s->nr_waves;
	}
	free_records(c);
}

/*
 * Description
 */

/* Moves to a lower address. If the guest's memory is not accessible, its data is lost. */
static void move(struct gfx9_tlb *tlb, uint64_t to, uint64_t from, uint64_t bytes)
{
	uint8_t buf[1024];
	uint64_t bad;

	while (to != from && bytes) {
		size_t n = bytes < sizeof(buf) ? (size_t)bytes : sizeof(buf);

		if (!gfx9_tlb_read(tlb, from, buf, n, &bad) ||
		    !gfx9_tlb_write(tlb, to, buf, n, &bad))
			return;
		from += n;
		to += n;
		bytes -= n;
	}
}

/* Closes the holes of workgroups that were lost or dropped, the lowest first. */
static uint64_t close_up(struct gfx9_saved_group *s, struct gfx9_tlb *tlb, uint64_t at)
{
	if (!s)
		return at;
	at = close_up(s->next, tlb, at);
	for (uint32_t i = s->nr_waves; i--;) {
		struct gfx9_saved_wave *w = &s->wave[i];

		move(tlb, at, w->record, w->bytes);
		w->record = at;
		at += w->bytes;
	}
	s->records_end = at;
	s->entries_end = 1 + s->nr_waves + (s->next ? s->next->entries_end : 0);
	return at;
}

static uint64_t put(struct gfx9_tlb *tlb, uint64_t va, uint32_t word)
{
	uint64_t bad;

	gfx9_tlb_write(tlb, va, &word, sizeof(word), &bad);
	return va + sizeof(word);
}

static uint64_t put_group(struct gfx9_tlb *tlb, uint64_t va, const struct gfx9_saved_group *s,
			  uint32_t nr)
{
	const struct gfx9_kernel *k = &s->job->kernel;
	bool scratch = s->job->base.launch.scratch_bytes;

	va = put(tlb, va,
		 gfx9_area_state(k->nr_vgprs, k->nr_agprs, GFX9_SGPRS, gfx9_job_lds(s->job)));
	for (uint32_t i = 0; i < s->nr_waves; i++)
		va = put(tlb, va, gfx9_area_wave(nr, scratch, !i, i + 1 == s->nr_waves));
	return va;
}

void gfx9_context_header(const struct gfx9_context *c, struct emu_save_header *h)
{
	h->ctl_bytes = c->saved ? 4 * (GFX9_AREA_TOP_WORDS + c->entries) : 0;
	h->ctl_offset = c->ctl_bytes - h->ctl_bytes;
	h->records_bytes = (uint32_t)c->used;
	h->records_end = c->ctl_bytes + h->records_bytes;
}

void gfx9_context_write(struct gfx9_context *c, struct emu_vm *vm)
{
	struct emu_save_header h;
	struct gfx9_tlb tlb;
	uint64_t va, bad;
	uint32_t nr = 0;

	if (!c->ctl_bytes)
		return;
	gfx9_tlb_init(&tlb, vm);
	close_up(c->saved, &tlb, c->area + c->ctl_bytes);
	free_records(c);
	gfx9_context_header(c, &h);
	va = c->area + h.ctl_offset;
	for (int i = 0; c->saved && i < GFX9_AREA_TOP_WORDS; i++)
		va = put(&tlb, va, GFX9_AREA_TOP_WORD);
	for (const struct gfx9_saved_group *s = c->saved; s; s = s->next)
		va = put_group(&tlb, va, s, nr++);
	gfx9_tlb_write(&tlb, c->area, &h, sizeof(h), &bad);
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

struct gfx9_saved_group *gfx9_context_pop(struct gfx9_context *c)
{
	struct gfx9_saved_group *s = c->saved;

	c->saved = s->next;
	c->nr_restoring++;
	return s;
}

void gfx9_context_restored(struct gfx9_context *c, struct gfx9_saved_group *s)
{
	c->nr_restoring--;
	if (s)
		add(c, s);
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
		for (uint32_t i = 0; s->job->base.launch.scratch_bytes && i < s->nr_waves; i++)
			gfx9_queue_give_scratch(s->job->queue, s->wave[i].scratch_slot);
		free(s);
	}
	free_records(c);
}

static void start_restore(struct gfx9_wave *w, const struct gfx9_saved_wave *s)
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

/* Waves outside the handler do not run meanwhile. */
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
	uint64_t insts = 0, before;

	while (any_in_handler(g) && !g->job->failed) {
		before = insts;
		run_handlers(g, &insts);
		if (insts > HANDLER_INSTS || insts == before)
			gfx9_job_fail(g->job, -EIO);
	}
}

struct gfx9_group *gfx9_cu_restore(struct gfx9_cu *cu, struct gfx9_saved_group *s)
{
	struct gfx9_group *g = gfx9_group_new(cu, s->job, s->id, s->nr_waves);

	if (!g)
		return NULL;
	gfx9_group_place(cu, g);
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		g->wave[i].scratch_slot = s->wave[i].scratch_slot;
		g->wave[i].index = s->wave[i].index;
		start_restore(&g->wave[i].w, &s->wave[i]);
	}
	free(s);
	leave_handlers(g);
	return g;
}
