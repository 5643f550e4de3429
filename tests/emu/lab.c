// SPDX-License-Identifier: MIT
#include "lab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define TTMP(n) (GFX9_TTMP0 + (n))
#define POISON 0xa5

uint32_t lab_draw(struct lab *l)
{
	l->rng = l->rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(l->rng >> 33);
}

int lab_open(struct lab *l, struct machine *m, const char *kernel, uint32_t grid, uint16_t group,
	     const void *args, size_t args_size)
{
	*l = (struct lab){ .m = m, .rng = l->rng, .four_lose_agprs = l->four_lose_agprs };
	machine_queue(m, &l->q);
	l->q.poison = true;
	for (uint32_t i = 0; i < LAB_CUS; i++)
		gfx9_cu_init(&l->cu[i], m->target, i, 0, i);
	return machine_job(m, &l->q, &l->job, kernel, grid, group, args, args_size);
}

static void forget_shots(struct lab *l)
{
	while (l->nr_shots) {
		struct shot *s = &l->shot[--l->nr_shots];

		free(s->v);
		free(s->lds);
	}
}

void lab_close(struct lab *l)
{
	forget_shots(l);
	for (uint32_t i = 0; i < LAB_CUS; i++)
		gfx9_cu_destroy(&l->cu[i]);
	gfx9_queue_destroy(&l->q);
}

/*
 * Running
 */

/*
 * The hardware would store information for a debugger here. The highest bits and bit 23 are used by
 * the kernel's handler.
 */
static void fill_ttmps(struct gfx9_wave *w)
{
	for (uint32_t n = 4; n <= 13; n++) {
		if (n != 12)
			w->s[TTMP(n)] = 0x01234500 + n;
	}
}

static bool start_new(struct lab *l, struct gfx9_cu *cu)
{
	struct gfx9_job *job = &l->job;
	uint32_t id[3], slot[GFX9_GROUP_WAVES_MAX] = { 0 }, n;
	struct gfx9_group *g;

	if (l->q.context[0].saved || !gfx9_job_next(job, 0, 1, id))
		return false;
	n = gfx9_group_waves(&job->base.launch, id);
	if (!gfx9_cu_fits(cu, job, n))
		return false;
	if (job->base.launch.scratch_bytes && !gfx9_queue_take_scratch(&l->q, slot, n))
		return false;
	if (!gfx9_cu_start(cu, job, id, slot))
		abort();
	job->started[0]++;
	for (g = cu->groups; g->next; g = g->next)
		;
	for (uint32_t i = 0; i < g->nr_waves; i++)
		fill_ttmps(&g->wave[i].w);
	return true;
}

static void end_groups(struct lab *l, struct gfx9_group *ended)
{
	while (ended) {
		struct gfx9_group *next = ended->next;

		gfx9_group_give_scratch(ended);
		gfx9_group_release(ended);
		l->job.nr_done++;
		ended = next;
	}
}

bool lab_step(struct lab *l, uint64_t slice)
{
	static const _Atomic uint64_t never;

	if (l->q.context[0].saved)
		lab_restore(l);
	for (uint32_t i = 0; i < LAB_CUS; i++) {
		start_new(l, &l->cu[i]);
		end_groups(l, gfx9_cu_run(&l->cu[i], slice, 0, &never, 0));
	}
	return l->job.nr_done < l->job.nr_groups && !l->job.failed;
}

bool lab_in_window(struct lab *l, uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < LAB_CUS; i++) {
		for (struct gfx9_group *g = l->cu[i].groups; g; g = g->next) {
			for (uint32_t k = 0; k < g->nr_waves; k++) {
				if (g->wave[k].w.pc < from || g->wave[k].w.pc >= to)
					return false;
			}
		}
	}
	return true;
}

/*
 * Snapshots of waves
 */

static void *copy(const void *from, size_t bytes)
{
	void *to = malloc(bytes + 1);

	if (!to)
		abort();
	memcpy(to, from, bytes);
	return to;
}

static size_t row_bytes(const struct gfx9_wave *w)
{
	return (size_t)(w->nr_vgprs + w->nr_agprs) * sizeof(*w->v);
}

/* A wave that waits at a barrier will execute it again. */
static void take_shot(struct lab *l, const struct gfx9_group *g, const struct gfx9_resident *r)
{
	struct shot *s = &l->shot[l->nr_shots++];

	*s = (struct shot){
		.w = r->w,
		.v = copy(r->w.v, row_bytes(&r->w)),
		.lds = copy(g->lds, g->lds_bytes),
		.scratch_slot = r->scratch_slot,
		.index = r->index,
		.halted = r->state == GFX9_HALTED,
		.in_handler = r->w.status & GFX9_STATUS_PRIV,
	};
	memcpy(s->group, g->id, sizeof(s->group));
	if (r->state == GFX9_AT_BARRIER)
		s->w.pc -= 4;
}

static const struct shot *shot_of(const struct lab *l, const struct gfx9_group *g,
				  const struct gfx9_resident *r)
{
	for (uint32_t i = 0; i < l->nr_shots; i++) {
		const struct shot *s = &l->shot[i];

		if (!memcmp(s->group, g->id, sizeof(g->id)) && s->index == r->index)
			return s;
	}
	return NULL;
}

static bool differ(struct lab *l, bool yes, const char *what, uint32_t n)
{
	if (yes)
		snprintf(l->differs, sizeof(l->differs), "%s%u", what, n);
	return yes;
}

static bool scalars_differ(struct lab *l, const struct gfx9_wave *a, const struct gfx9_wave *b)
{
	for (uint32_t n = 0; n < GFX9_TTMP0; n++) {
		if (differ(l, a->s[n] != b->s[n], "s", n))
			return true;
	}
	for (uint32_t n = GFX9_TTMP0; n < GFX9_SGPRS; n++) {
		if (differ(l, a->s_rest[n - GFX9_TTMP0] != b->s_rest[n - GFX9_TTMP0], "s", n))
			return true;
	}
	for (uint32_t n = 4; n <= 13; n++) {
		if (n != 12 && differ(l, a->s[TTMP(n)] != b->s[TTMP(n)], "ttmp", n))
			return true;
	}
	return differ(l, a->s[GFX9_M0] != b->s[GFX9_M0], "m", 0) ||
	       differ(l, a->s[GFX9_EXEC] != b->s[GFX9_EXEC], "exec", 0) ||
	       differ(l, a->s[GFX9_EXEC + 1] != b->s[GFX9_EXEC + 1], "exec", 1);
}

static bool hwregs_differ(struct lab *l, const struct gfx9_wave *a, const struct gfx9_wave *b)
{
	return differ(l, a->pc != b->pc, "pc", 0) || differ(l, a->scc != b->scc, "scc", 0) ||
	       differ(l, a->mode != b->mode, "mode", 0) ||
	       differ(l, a->status != b->status, "status", 0) ||
	       differ(l, a->trapsts != b->trapsts, "trapsts", 0) ||
	       differ(l, a->gpr_alloc != b->gpr_alloc, "gpr_alloc", 0) ||
	       differ(l, a->lds_alloc != b->lds_alloc, "lds_alloc", 0) ||
	       differ(l, a->tba != b->tba || a->tma != b->tma, "tba", 0);
}

static bool rows_differ(struct lab *l, const struct shot *s, const struct gfx9_wave *w)
{
	bool lost = l->four_lose_agprs && w->nr_vgprs == 4;

	for (uint32_t n = 0; n < (lost ? 4 : w->nr_vgprs + w->nr_agprs); n++) {
		if (!memcmp(s->v[n], w->v[n], sizeof(*w->v)))
			continue;
		if (n < w->nr_vgprs)
			return differ(l, true, "v", n);
		return differ(l, true, "a", n - w->nr_vgprs);
	}
	return false;
}

static bool lds_differs(struct lab *l, const struct shot *s, const struct gfx9_group *g)
{
	for (uint32_t at = 0; at < g->lds_bytes; at += 256) {
		if (differ(l, memcmp(s->lds + at, g->lds + at, 256), "lds", at / 256))
			return true;
	}
	return false;
}

static void compare(struct lab *l, const struct gfx9_group *g)
{
	for (uint32_t i = 0; i < g->nr_waves && !l->differs[0]; i++) {
		const struct gfx9_resident *r = &g->wave[i];
		const struct shot *s = shot_of(l, g, r);

		if (!s)
			differ(l, true, "unknown wave", r->index);
		else if (!s->in_handler && !hwregs_differ(l, &s->w, &r->w) &&
			 !scalars_differ(l, &s->w, &r->w) && !rows_differ(l, s, &r->w) &&
			 !lds_differs(l, s, g) &&
			 !differ(l, s->scratch_slot != r->scratch_slot, "scratch", 0))
			differ(l, s->halted != (r->state == GFX9_HALTED), "halted", 0);
	}
}

/*
 * Saving and restoring
 */

/* Overwrites the memory, so that stale data shows. */
static void poison(struct gfx9_group *g)
{
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		struct gfx9_wave *w = &g->wave[i].w;

		memset(w->s, POISON, sizeof(w->s));
		memset(w->s_rest, POISON, sizeof(w->s_rest));
		memset(w->v, POISON, row_bytes(w));
		w->mode = w->trapsts = 0;
		w->scc = false;
	}
	memset(g->lds, POISON, g->lds_bytes);
}

static int save(struct lab *l, struct gfx9_cu *cu, struct gfx9_group *g)
{
	struct gfx9_context *c = &l->q.context[0];
	struct gfx9_saved_group *s = NULL;
	int err = gfx9_group_reserve(g, c);

	gfx9_group_unlink(cu, g);
	if (!err) {
		err = gfx9_group_save(g, &s);
		gfx9_context_saved(c, s);
	}
	if (err) {
		gfx9_job_fail(&l->job, err);
		gfx9_group_give_scratch(g);
	} else {
		l->nr_saved += s->nr_waves;
	}
	poison(g);
	gfx9_group_release(g);
	return err;
}

int lab_save(struct lab *l)
{
	uint64_t insts = l->job.insts;
	int err = 0;

	forget_shots(l);
	for (uint32_t i = 0; i < LAB_CUS; i++) {
		struct gfx9_cu *cu = &l->cu[i];

		while (cu->groups) {
			struct gfx9_group *g = cu->groups;

			for (uint32_t k = 0; k < g->nr_waves; k++) {
				if (g->wave[k].state != GFX9_ENDED)
					take_shot(l, g, &g->wave[k]);
			}
			err = err ? err : save(l, cu, g);
			if (err)
				return err;
		}
	}
	gfx9_context_write(&l->q.context[0], &l->m->vm);
	l->save_insts += l->job.insts - insts;
	return 0;
}

static struct gfx9_cu *any_with_room(struct lab *l, uint32_t nr_waves)
{
	uint32_t first = lab_draw(l);

	for (uint32_t i = 0; i < LAB_CUS; i++) {
		struct gfx9_cu *cu = &l->cu[(first + i) % LAB_CUS];

		if (gfx9_cu_fits(cu, &l->job, nr_waves))
			return cu;
	}
	return NULL;
}

void lab_restore(struct lab *l)
{
	struct gfx9_context *c = &l->q.context[0];
	uint64_t insts = l->job.insts;
	struct gfx9_cu *cu;
	uint32_t nr_waves;

	/* Workgroups of one shape: all that fitted fit again, in any order. */
	while (gfx9_context_next(c, &nr_waves) && (cu = any_with_room(l, nr_waves))) {
		struct gfx9_group *g = gfx9_cu_restore(cu, gfx9_context_pop(c));

		if (!g)
			abort();
		gfx9_context_restored(c, NULL);
		compare(l, g);
	}
	l->restore_insts += l->job.insts - insts;
}
