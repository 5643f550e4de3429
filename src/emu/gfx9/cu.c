// SPDX-License-Identifier: MIT
#include "emu/gfx9/cu.h"

#include <errno.h>
#include <stdlib.h>

enum state { RUNS, AT_BARRIER, ENDED };

struct resident {
	struct gfx9_wave w;
	enum state state;
	uint8_t simd, scratch_slot;
};

struct gfx9_group {
	struct gfx9_group *next;
	struct gfx9_job *job;
	struct gfx9_tlb tlb;
	uint32_t id[3], nr_waves, nr_ended, nr_waiting;
	uint32_t lds_bytes;
	uint8_t *lds;
	uint32_t (*registers)[GFX9_LANES];
	struct resident wave[];
};

int gfx9_job_init(struct gfx9_job *job, enum gfx9_target target, struct gfx9_vm *vm,
		  struct gfx9_code *code, const struct gfx9_dispatch *d)
{
	struct gfx9_tlb *tlb = malloc(sizeof(*tlb));
	uint32_t items = (uint32_t)d->group[0] * d->group[1] * d->group[2];
	int err;

	if (!tlb)
		return -ENOMEM;
	memset(job, 0, sizeof(*job));
	job->dispatch = *d;
	job->vm = vm;
	job->code = code;
	gfx9_tlb_init(tlb, vm);
	err = gfx9_kernel_read(tlb, target, d->kernel_object, &job->kernel);
	free(tlb);
	if (err)
		return err;
	if (!items || items > GFX9_GROUP_WAVES_MAX * GFX9_LANES)
		return -EINVAL;
	if (d->lds_bytes < job->kernel.lds_bytes)
		job->dispatch.lds_bytes = job->kernel.lds_bytes;
	if (d->scratch_bytes < job->kernel.scratch_bytes)
		job->dispatch.scratch_bytes = job->kernel.scratch_bytes;
	if (job->dispatch.lds_bytes > GFX9_LDS_BYTES)
		return -EINVAL;
	gfx9_dispatch_groups(&job->dispatch, job->groups);
	job->nr_groups = (uint64_t)job->groups[0] * job->groups[1] * job->groups[2];
	return 0;
}

void gfx9_cu_init(struct gfx9_cu *cu, enum gfx9_target target, uint32_t id)
{
	memset(cu, 0, sizeof(*cu));
	cu->target = target;
	cu->id = id;
}

/*
 * Room
 */

static uint32_t vgprs_of(const struct gfx9_job *job)
{
	return job->kernel.nr_vgprs + job->kernel.nr_agprs;
}

static uint32_t lds_of(const struct gfx9_job *job)
{
	return (job->dispatch.lds_bytes + GFX9_LDS_UNIT - 1) / GFX9_LDS_UNIT * GFX9_LDS_UNIT;
}

static int find_simd(const struct gfx9_cu *cu, uint32_t vgprs)
{
	int best = -1;

	for (int i = 0; i < GFX9_SIMDS; i++) {
		if (cu->nr_waves[i] == GFX9_WAVES_PER_SIMD ||
		    cu->vgprs[i] + vgprs > GFX9_SIMD_VGPRS)
			continue;
		if (best < 0 || cu->nr_waves[i] < cu->nr_waves[best])
			best = i;
	}
	return best;
}

static void leave_simd(struct gfx9_cu *cu, const struct gfx9_group *g, const struct resident *r)
{
	cu->nr_waves[r->simd]--;
	cu->vgprs[r->simd] -= vgprs_of(g->job);
	cu->scratch_slots &= ~((uint64_t)1 << r->scratch_slot);
}

/* All waves of the workgroup or none. */
static bool find_room(struct gfx9_cu *cu, struct gfx9_group *g)
{
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		struct resident *r = &g->wave[i];
		int simd = find_simd(cu, vgprs_of(g->job));

		if (simd < 0) {
			while (i--)
				leave_simd(cu, g, &g->wave[i]);
			return false;
		}
		r->simd = (uint8_t)simd;
		r->scratch_slot = (uint8_t)__builtin_ctzll(~cu->scratch_slots);
		cu->nr_waves[simd]++;
		cu->vgprs[simd] += vgprs_of(g->job);
		cu->scratch_slots |= (uint64_t)1 << r->scratch_slot;
	}
	return true;
}

static void free_group(struct gfx9_group *g)
{
	free(g->lds);
	free(g->registers);
	free(g);
}

static void release(struct gfx9_cu *cu, struct gfx9_group *g)
{
	for (uint32_t i = 0; i < g->nr_waves; i++)
		leave_simd(cu, g, &g->wave[i]);
	cu->lds_bytes -= g->lds_bytes;
	free_group(g);
}

void gfx9_cu_destroy(struct gfx9_cu *cu)
{
	while (cu->groups) {
		struct gfx9_group *g = cu->groups;

		cu->groups = g->next;
		release(cu, g);
	}
}

/*
 * Taking a workgroup
 */

static struct gfx9_group *new_group(const struct gfx9_job *job, const uint32_t id[3])
{
	uint32_t n = gfx9_group_waves(&job->dispatch, id);
	struct gfx9_group *g = calloc(1, sizeof(*g) + n * sizeof(g->wave[0]));
	size_t rows = (size_t)n * vgprs_of(job);

	if (!g)
		return NULL;
	g->nr_waves = n;
	g->lds_bytes = lds_of(job);
	memcpy(g->id, id, sizeof(g->id));
	g->registers = aligned_alloc(64, rows * sizeof(*g->registers));
	g->lds = calloc(1, g->lds_bytes ? g->lds_bytes : 1);
	if (g->registers && g->lds)
		return g;
	free_group(g);
	return NULL;
}

static void start_waves(struct gfx9_cu *cu, struct gfx9_group *g)
{
	const struct gfx9_job *job = g->job;

	gfx9_tlb_init(&g->tlb, job->vm);
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		struct gfx9_wave *w = &g->wave[i].w;

		w->v = g->registers + (size_t)i * vgprs_of(job);
		w->tlb = &g->tlb;
		w->group = g;
		w->lds = g->lds;
		w->lds_bytes = g->lds_bytes;
		gfx9_wave_start(w, cu->target, &job->kernel, &job->dispatch, g->id, i,
				cu->id * GFX9_CU_WAVES + g->wave[i].scratch_slot);
	}
}

static void id_of(const struct gfx9_job *job, uint64_t n, uint32_t id[3])
{
	id[0] = (uint32_t)(n % job->groups[0]);
	id[1] = (uint32_t)(n / job->groups[0] % job->groups[1]);
	id[2] = (uint32_t)(n / job->groups[0] / job->groups[1]);
}

/* Other compute units take from the same job: the workgroup is ours once nobody else took it
 * meanwhile. */
static bool claim(struct gfx9_job *job, uint64_t n)
{
	return atomic_compare_exchange_strong(&job->nr_started, &n, n + 1);
}

bool gfx9_cu_take(struct gfx9_cu *cu, struct gfx9_job *job)
{
	uint64_t n = atomic_load(&job->nr_started);
	struct gfx9_group *g;
	uint32_t id[3];

	if (n >= job->nr_groups || atomic_load(&job->failed))
		return false;
	if (cu->lds_bytes + lds_of(job) > GFX9_LDS_BYTES || find_simd(cu, vgprs_of(job)) < 0)
		return false;
	id_of(job, n, id);
	g = new_group(job, id);
	if (!g)
		return false;
	g->job = job;
	if (!find_room(cu, g)) {
		free_group(g);
		return false;
	}
	cu->lds_bytes += g->lds_bytes;
	if (!claim(job, n)) {
		release(cu, g);
		return gfx9_cu_take(cu, job);
	}
	start_waves(cu, g);
	g->next = cu->groups;
	cu->groups = g;
	return true;
}

/*
 * Running
 */

static void report(struct gfx9_group *g, uint32_t index, enum gfx9_stop stop)
{
	const struct gfx9_wave *w = &g->wave[index].w;
	struct gfx9_job *job = g->job;

	if (atomic_exchange(&job->failed, true))
		return;
	job->report =
		(struct gfx9_report){ .stop = stop, .pc = w->pc, .wave = index, .fault = w->fault };
	memcpy(job->report.group, g->id, sizeof(g->id));
	memcpy(job->report.words, w->illegal, sizeof(w->illegal));
}

/* Whoever is left waits at the barrier: all go on. */
static void check_barrier(struct gfx9_group *g)
{
	if (!g->nr_waiting || g->nr_waiting + g->nr_ended != g->nr_waves)
		return;
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		if (g->wave[i].state == AT_BARRIER)
			g->wave[i].state = RUNS;
	}
	g->nr_waiting = 0;
}

static void stopped(struct gfx9_group *g, uint32_t index, enum gfx9_stop stop)
{
	struct resident *r = &g->wave[index];

	switch (stop) {
	case GFX9_GO:
	case GFX9_SLEEP:
	case GFX9_MESSAGE: /* nobody listens yet */
		return;
	case GFX9_BARRIER:
		r->state = AT_BARRIER;
		g->nr_waiting++;
		break;
	case GFX9_ENDPGM:
	case GFX9_ENDPGM_SAVED:
		r->state = ENDED;
		g->nr_ended++;
		break;
	default:
		report(g, index, stop);
		r->state = ENDED;
		g->nr_ended++;
	}
	check_barrier(g);
}

static uint64_t run_group(struct gfx9_group *g, uint64_t slice)
{
	uint64_t done = 0;

	for (uint32_t i = 0; i < g->nr_waves; i++) {
		if (g->wave[i].state == RUNS)
			stopped(g, i, gfx9_wave_run(&g->wave[i].w, g->job->code, slice, &done));
	}
	return done;
}

uint64_t gfx9_cu_run(struct gfx9_cu *cu, uint64_t slice)
{
	struct gfx9_group **link = &cu->groups;
	uint64_t total = 0;

	while (*link) {
		struct gfx9_group *g = *link;
		uint64_t done = run_group(g, slice);

		total += done;
		atomic_fetch_add_explicit(&g->job->insts, done, memory_order_relaxed);
		if (g->nr_ended == g->nr_waves || atomic_load(&g->job->failed)) {
			*link = g->next;
			atomic_fetch_add(&g->job->nr_done, 1);
			release(cu, g);
		} else {
			link = &g->next;
		}
	}
	return total;
}
