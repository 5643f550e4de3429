// SPDX-License-Identifier: MIT
#include "emu/gfx9/cu.h"

#include "emu/gfx9/group.h"

#include <errno.h>
#include <stdlib.h>

#define TRAPSTS_MEM_VIOL (1u << 8)
#define TRAPSTS_WAVE_BEGIN (1u << 23) /* on gfx942 */
#define TRAPSTS_WAVE_END (1u << 24)
#define MESSAGE_ID 0xf
#define MESSAGE_INTERRUPT 1
#define MESSAGE_SAVEWAVE 4
#define MESSAGE_GET_DOORBELL 10

void gfx9_cu_init(struct gfx9_cu *cu, enum gfx9_target target, uint32_t id, uint32_t xcc,
		  uint32_t index)
{
	memset(cu, 0, sizeof(*cu));
	cu->target = target;
	cu->id = id;
	cu->xcc = xcc;
	cu->index = index;
	cu->last = &cu->groups;
}

/*
 * Space
 */

/* The SIMD with the fewest waves of those that can take one more. */
static int find_simd(const uint32_t *nr_waves, const uint32_t *used, uint32_t vgprs)
{
	int best = -1;

	for (int i = 0; i < GFX9_SIMDS; i++) {
		if (nr_waves[i] == GFX9_WAVES_PER_SIMD || used[i] + vgprs > GFX9_SIMD_VGPRS)
			continue;
		if (best < 0 || nr_waves[i] < nr_waves[best])
			best = i;
	}
	return best;
}

bool gfx9_cu_fits(const struct gfx9_cu *cu, const struct gfx9_job *job, uint32_t nr_waves)
{
	uint32_t waves[GFX9_SIMDS], vgprs[GFX9_SIMDS];

	if (cu->lds_bytes + gfx9_job_lds(job) > GFX9_LDS_BYTES)
		return false;
	memcpy(waves, cu->nr_waves, sizeof(waves));
	memcpy(vgprs, cu->vgprs, sizeof(vgprs));
	while (nr_waves--) {
		int simd = find_simd(waves, vgprs, gfx9_job_vgprs(job));

		if (simd < 0)
			return false;
		waves[simd]++;
		vgprs[simd] += gfx9_job_vgprs(job);
	}
	return true;
}

/* The position of the next wave of a SIMD: WAVE_ID, SIMD_ID, CU_ID, SE_ID. */
static uint32_t hw_id(const struct gfx9_cu *cu, uint32_t simd)
{
	return cu->nr_waves[simd] | simd << 4 | cu->index % 16 << 8 | cu->index / 16 << 13;
}

void gfx9_group_place(struct gfx9_cu *cu, struct gfx9_group *g)
{
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		uint32_t vgprs = gfx9_job_vgprs(g->job);
		int simd = find_simd(cu->nr_waves, cu->vgprs, vgprs);

		g->wave[i].simd = (uint8_t)simd;
		g->wave[i].w.hw_id = hw_id(cu, (uint32_t)simd);
		g->wave[i].w.xcc_id = cu->target == GFX9_TARGET_GFX942 ? cu->xcc : 0;
		cu->nr_waves[simd]++;
		cu->vgprs[simd] += vgprs;
	}
	cu->lds_bytes += g->lds_bytes;
	cu->nr_groups++;
	g->cu = cu;
	g->next = NULL;
	*cu->last = g;
	cu->last = &g->next;
}

static struct gfx9_group *first_group(struct gfx9_cu *cu)
{
	struct gfx9_group *g = cu->groups;

	cu->groups = g->next;
	if (!cu->groups)
		cu->last = &cu->groups;
	return g;
}

void gfx9_group_unlink(struct gfx9_cu *cu, struct gfx9_group *g)
{
	struct gfx9_group **link = &cu->groups;

	while (*link != g)
		link = &(*link)->next;
	*link = g->next;
	if (!g->next)
		cu->last = link;
}

static void destroy_group(struct gfx9_group *g)
{
	free(g->lds);
	free(g->registers);
	free(g);
}

void gfx9_group_release(struct gfx9_group *g)
{
	struct gfx9_cu *cu = g->cu;

	for (uint32_t i = 0; i < g->nr_waves; i++) {
		if (g->wave[i].state == GFX9_AT_GWS)
			gfx9_group_leave_gws(g, &g->wave[i]);
		cu->nr_waves[g->wave[i].simd]--;
		cu->vgprs[g->wave[i].simd] -= gfx9_job_vgprs(g->job);
	}
	cu->lds_bytes -= g->lds_bytes;
	cu->nr_groups--;
	g->next = cu->spare;
	cu->spare = g;
}

void gfx9_group_give_scratch(struct gfx9_group *g)
{
	for (uint32_t i = 0; g->job->base.launch.scratch_bytes && i < g->nr_waves; i++)
		gfx9_queue_give_scratch(g->job->queue, g->wave[i].scratch_slot);
}

void gfx9_cu_destroy(struct gfx9_cu *cu)
{
	while (cu->groups)
		gfx9_group_release(first_group(cu));
	while (cu->spare) {
		struct gfx9_group *g = cu->spare;

		cu->spare = g->next;
		destroy_group(g);
	}
}

/*
 * Starting a workgroup
 */

/*
 * Sets up the hardware state of a wave, new or restored: registers, LDS, the addresses of its
 * handler.
 */
static void equip(struct gfx9_group *g, uint32_t i)
{
	struct gfx9_wave *w = &g->wave[i].w;
	const struct gfx9_job *job = g->job;

	w->v = g->registers + (size_t)i * gfx9_job_vgprs(job);
	w->tlb = &g->tlb;
	w->spare = &g->spare;
	w->group = g;
	w->lds = g->lds;
	w->lds_bytes = g->lds_bytes;
	w->tba = job->queue->base.tba;
	w->tma = job->queue->base.tma;
	w->status = w->tba ? GFX9_STATUS_TRAP_EN : 0;
	w->debug = job->queue->base.debug.watches ? &job->queue->base.debug : NULL;
	gfx9_wave_allocate(w, &job->kernel);
}

static size_t group_bytes(uint32_t nr_waves)
{
	return sizeof(struct gfx9_group) + nr_waves * sizeof(struct gfx9_resident);
}

/* Memory for a workgroup, not used before. */
static struct gfx9_group *make_group(uint32_t nr_waves, size_t rows, uint32_t lds_bytes)
{
	struct gfx9_group *g = aligned_alloc(_Alignof(struct gfx9_group), group_bytes(nr_waves));

	if (!g)
		return NULL;
	memset(g, 0, group_bytes(nr_waves));
	g->room_waves = nr_waves;
	g->room_rows = rows;
	g->room_lds = lds_bytes;
	g->registers = aligned_alloc(64, rows * sizeof(*g->registers));
	g->lds = malloc(lds_bytes ? lds_bytes : 1);
	if (!g->registers || !g->lds) {
		destroy_group(g);
		return NULL;
	}
	return g;
}

/* The memory of a workgroup that has ended, if it is large enough. */
static struct gfx9_group *take_spare(struct gfx9_cu *cu, uint32_t nr_waves, size_t rows,
				     uint32_t lds_bytes)
{
	struct gfx9_group *g = cu->spare;

	if (!g)
		return NULL;
	cu->spare = g->next;
	if (g->room_waves >= nr_waves && g->room_rows >= rows && g->room_lds >= lds_bytes)
		return g;
	destroy_group(g);
	return NULL;
}

/* Neither registers nor LDS are cleared; see gfx9_queue.poison. */
static void clean_group(struct gfx9_group *g, const struct gfx9_job *job)
{
	size_t from = offsetof(struct gfx9_group, next);
	bool same = g->job_serial == job->serial;

	if (!same || job->queue->poison) {
		memset(g->registers, 0xa5, g->room_rows * sizeof(*g->registers));
		memset(g->lds, 0xa5, g->room_lds);
	}
	if (!same)
		gfx9_tlb_init(&g->tlb, job->queue->vm);
	g->job_serial = job->serial;
	memset((char *)g + from, 0, group_bytes(g->room_waves) - from);
}

struct gfx9_group *gfx9_group_new(struct gfx9_cu *cu, struct gfx9_job *job, const uint32_t id[3],
				  uint32_t nr_waves)
{
	size_t rows = (size_t)nr_waves * gfx9_job_vgprs(job);
	uint32_t lds_bytes = gfx9_job_lds(job);
	struct gfx9_group *g = take_spare(cu, nr_waves, rows, lds_bytes);

	if (!g)
		g = make_group(nr_waves, rows, lds_bytes);
	if (!g)
		return NULL;
	clean_group(g, job);
	g->job = job;
	g->nr_waves = nr_waves;
	g->lds_bytes = lds_bytes;
	memcpy(g->id, id, sizeof(g->id));
	for (uint32_t i = 0; i < nr_waves; i++) {
		g->wave[i].index = (uint8_t)i;
		equip(g, i);
	}
	return g;
}

/* Enters the trap handler, if there is one and the wave is not in it. False: it continues. */
static bool raise_exception(struct gfx9_wave *w, uint32_t trapsts)
{
	w->trapsts |= trapsts;
	if ((w->status & (GFX9_STATUS_TRAP_EN | GFX9_STATUS_PRIV)) != GFX9_STATUS_TRAP_EN)
		return false;
	gfx9_wave_trap(w, 0);
	return true;
}

/* A handler is not halted: the halt begins when the wave leaves it. */
static bool is_halted(const struct gfx9_wave *w)
{
	return (w->status & (GFX9_STATUS_HALT | GFX9_STATUS_PRIV)) == GFX9_STATUS_HALT;
}

/*
 * Starts a new wave as the debugger requests. Exceptions that the kernel itself enables are not
 * stored, so replacing them and adding to them are the same.
 */
static void start_debugged(const struct emu_wave_debug *d, struct gfx9_resident *r)
{
	struct gfx9_wave *w = &r->w;

	w->mode |= (uint32_t)d->exceptions << GFX9_MODE_EXCP_SHIFT;
	if (d->launch_mode == EMU_LAUNCH_STEP)
		w->mode |= GFX9_MODE_DEBUG_EN;
	if (d->launch_mode == EMU_LAUNCH_HALT)
		w->status |= GFX9_STATUS_HALT;
	if (d->trap_on_start)
		raise_exception(w, TRAPSTS_WAVE_BEGIN);
	if (is_halted(w))
		r->state = GFX9_HALTED;
}

bool gfx9_cu_start(struct gfx9_cu *cu, struct gfx9_job *job, const uint32_t id[3],
		   const uint32_t *slot)
{
	struct gfx9_group *g = gfx9_group_new(cu, job, id, gfx9_group_waves(&job->base.launch, id));

	if (!g)
		return false;
	gfx9_group_place(cu, g);
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		g->wave[i].scratch_slot = slot[i];
		gfx9_wave_start(&g->wave[i].w, cu->target, &job->kernel, &job->base.launch, id, i,
				slot[i]);
		start_debugged(&job->queue->base.debug, &g->wave[i]);
		if (job->base.hangs)
			g->wave[i].state = GFX9_HALTED;
	}
	return true;
}

/*
 * Running
 */

static void report(struct gfx9_group *g, struct gfx9_resident *r, enum gfx9_stop stop)
{
	struct gfx9_wave *w = &r->w;
	struct gfx9_job *job = g->job;

	if (!gfx9_job_fail(job, -EIO))
		return;
	g->cu->wakes_others = true; /* waves of the same job, which end */
	job->report = (struct gfx9_report){
		.stop = stop, .pc = w->pc, .wave = r->index, .fault = w->fault
	};
	memcpy(job->report.group, g->id, sizeof(g->id));
	if (stop == GFX9_ILLEGAL)
		gfx9_code_words(w, job->report.words);
}

/* All other waves wait at the barrier: they continue. */
static void check_barrier(struct gfx9_group *g)
{
	if (!g->nr_waiting || g->nr_waiting + g->nr_ended != g->nr_waves)
		return;
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		if (g->wave[i].state == GFX9_AT_BARRIER)
			g->wave[i].state = GFX9_RUNS;
	}
	g->nr_waiting = 0;
	g->nr_barriers++;
}

void gfx9_wave_trap(struct gfx9_wave *w, uint8_t trap_id)
{
	w->s[GFX9_TTMP0] = (uint32_t)w->pc;
	w->s[GFX9_TTMP0 + 1] = ((uint32_t)(w->pc >> 32) & 0xffff) | (uint32_t)trap_id << 16;
	w->status |= GFX9_STATUS_PRIV;
	w->pc = w->tba;
}

/*
 * The handler reads the address of s_trap itself. Without a handler, or inside it, the hardware
 * takes no trap: the program continues.
 */
static void trap(struct gfx9_wave *w)
{
	if (!(w->status & GFX9_STATUS_TRAP_EN) || w->status & GFX9_STATUS_PRIV)
		return;
	w->pc -= 4;
	gfx9_wave_trap(w, w->trap_id);
}

static void ended(struct gfx9_group *g, struct gfx9_resident *r)
{
	r->state = GFX9_ENDED;
	g->nr_ended++;
	check_barrier(g);
}

/* A SAVEWAVE that cannot be answered leaves the wave waiting; the saving thread notices. */
static void message(struct gfx9_group *g, struct gfx9_resident *r)
{
	struct gfx9_queue *q = g->job->queue;
	struct gfx9_wave *w = &r->w;

	switch (w->message & MESSAGE_ID) {
	case MESSAGE_SAVEWAVE:
		gfx9_group_message(g, r);
		break;
	case MESSAGE_INTERRUPT:
		if (q->base.interrupt)
			q->base.interrupt(&q->base, w->s[GFX9_M0], w->status & GFX9_STATUS_PRIV);
		break;
	case MESSAGE_GET_DOORBELL:
		/* The wave polls until its highest bit is cleared. */
		w->s[GFX9_EXEC] = q->base.doorbell;
		break;
	default:
		break;
	}
}

/*
 * Global sync. A queue without it gets a memory violation; without a trap handler, the wave
 * continues behind the instruction.
 */
static void global_sync(struct gfx9_group *g, struct gfx9_resident *r)
{
	struct gfx9_queue *q = g->job->queue;
	bool released;

	if (!q->base.has_gws) {
		raise_exception(&r->w, TRAPSTS_MEM_VIOL);
		return;
	}
	if (gfx9_gws_execute(&q->gws, &r->w.gws, &r->gws, &released)) {
		r->state = GFX9_AT_GWS;
		g->nr_at_gws++;
	}
	g->cu->wakes_others |= released;
}

bool gfx9_group_leave_gws(struct gfx9_group *g, struct gfx9_resident *r)
{
	r->state = GFX9_RUNS;
	g->nr_at_gws--;
	return gfx9_gws_leave(&g->job->queue->gws, &r->gws);
}

static void wake_released(struct gfx9_group *g)
{
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		if (g->wave[i].state != GFX9_AT_GWS || !atomic_load(&g->wave[i].gws.released))
			continue;
		g->wave[i].state = GFX9_RUNS;
		g->nr_at_gws--;
	}
}

/* True: the wave enters the trap handler once more before it ends, at s_endpgm. */
static bool traps_at_end(const struct gfx9_group *g, struct gfx9_wave *w)
{
	if (!g->job->queue->base.debug.trap_on_end || w->trapsts & TRAPSTS_WAVE_END)
		return false;
	w->pc -= 4;
	return raise_exception(w, TRAPSTS_WAVE_END);
}

static void stopped(struct gfx9_group *g, struct gfx9_resident *r, enum gfx9_stop stop)
{
	switch (stop) {
	case GFX9_GO:
	case GFX9_SLEEP:
	case GFX9_HALT:
		break;
	case GFX9_TRAP:
		trap(&r->w);
		break;
	case GFX9_MESSAGE:
		message(g, r);
		break;
	case GFX9_EXCEPTION:
		raise_exception(&r->w, 0);
		break;
	case GFX9_GLOBAL_SYNC:
		global_sync(g, r);
		return;
	case GFX9_BARRIER:
		r->state = GFX9_AT_BARRIER;
		g->nr_waiting++;
		check_barrier(g);
		return;
	case GFX9_ENDPGM:
		if (!traps_at_end(g, &r->w))
			ended(g, r);
		return;
	case GFX9_ENDPGM_SAVED:
		ended(g, r);
		return;
	default:
		report(g, r, stop);
		ended(g, r);
		return;
	}
	if (is_halted(&r->w))
		r->state = GFX9_HALTED;
}

/* Runs one wave for a turn, without counting its thread or the job's instructions. */
static uint64_t run(struct gfx9_group *g, uint32_t index, uint64_t slice, unsigned int *epoch)
{
	struct gfx9_code *code = g->job->queue->code;
	struct gfx9_resident *r = &g->wave[index];
	uint64_t done = 0;

	stopped(g, r, gfx9_wave_run(&r->w, code, slice, &done));
	g->cu->ran[r->simd] += done;
	/* s_icache_inv invalidates decoded instructions. */
	if (__builtin_expect(r->w.icache_stale, 0)) {
		r->w.icache_stale = false;
		gfx9_code_leave(code, *epoch);
		gfx9_code_invalidate(code);
		*epoch = gfx9_code_enter(code);
	}
	return done;
}

/* Other host threads share these counters: they are updated once for all waves of a turn. */
static uint64_t run_some(struct gfx9_group *g, uint32_t first, uint32_t end, uint64_t slice)
{
	struct gfx9_code *code = g->job->queue->code;
	unsigned int epoch = gfx9_code_enter(code);
	uint64_t done = 0;

	for (uint32_t i = first; i < end; i++) {
		if (g->wave[i].state == GFX9_RUNS)
			done += run(g, i, slice, &epoch);
	}
	gfx9_code_leave(code, epoch);
	atomic_fetch_add_explicit(&g->job->insts, done, memory_order_relaxed);
	return done;
}

uint64_t gfx9_resident_run(struct gfx9_group *g, uint32_t index, uint64_t slice)
{
	return run_some(g, index, index + 1, slice);
}

uint64_t gfx9_group_run(struct gfx9_group *g, uint64_t slice)
{
	return run_some(g, 0, g->nr_waves, slice);
}

/* A wave's time never goes back, even if it was ahead of the others. */
static void set_clock(struct gfx9_wave *w, uint64_t clock)
{
	if (w->clock < clock)
		w->clock = clock;
}

static void run_slices(struct gfx9_group *g, uint64_t slice, uint64_t clock)
{
	uint64_t done = 0;
	uint32_t barriers;

	for (uint32_t i = 0; i < g->nr_waves; i++)
		set_clock(&g->wave[i].w, clock);
	if (g->nr_at_gws)
		wake_released(g);
	/* Barriers may follow each other after a few instructions. */
	do {
		barriers = g->nr_barriers;
		done += gfx9_group_run(g, slice);
	} while (g->nr_barriers != barriers && done < slice);
}

static bool has_ended(const struct gfx9_group *g)
{
	return g->nr_ended == g->nr_waves || atomic_load(&g->job->failed);
}

struct gfx9_group *gfx9_cu_run(struct gfx9_cu *cu, uint64_t slice, uint64_t clock,
			       const _Atomic uint64_t *interrupt, uint64_t expected)
{
	struct gfx9_group *ended = NULL;

	for (uint32_t n = cu->nr_groups; n && atomic_load(interrupt) == expected; n--) {
		struct gfx9_group *g = first_group(cu);

		run_slices(g, slice, clock);
		if (has_ended(g)) {
			g->next = ended;
			ended = g;
			continue;
		}
		g->next = NULL;
		*cu->last = g;
		cu->last = &g->next;
	}
	return ended;
}
