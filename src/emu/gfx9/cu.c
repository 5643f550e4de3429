// SPDX-License-Identifier: MIT
#include "emu/gfx9/cu.h"

#include "emu/gfx9/group.h"

#include <errno.h>
#include <stdlib.h>

#define MESSAGE_ID 0xf
#define MESSAGE_SAVEWAVE 4

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

static void leave_simd(struct gfx9_cu *cu, const struct gfx9_group *g,
		       const struct gfx9_resident *r)
{
	cu->nr_waves[r->simd]--;
	cu->vgprs[r->simd] -= vgprs_of(g->job);
}

/* All waves of the workgroup or none. */
bool gfx9_group_place(struct gfx9_cu *cu, struct gfx9_group *g)
{
	if (cu->lds_bytes + g->lds_bytes > GFX9_LDS_BYTES)
		return false;
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		struct gfx9_resident *r = &g->wave[i];
		int simd = find_simd(cu, vgprs_of(g->job));

		if (simd < 0) {
			while (i--)
				leave_simd(cu, g, &g->wave[i]);
			return false;
		}
		r->simd = (uint8_t)simd;
		cu->nr_waves[simd]++;
		cu->vgprs[simd] += vgprs_of(g->job);
	}
	cu->lds_bytes += g->lds_bytes;
	return true;
}

void gfx9_group_free(struct gfx9_group *g)
{
	free(g->lds);
	free(g->registers);
	free(g);
}

void gfx9_group_release(struct gfx9_cu *cu, struct gfx9_group *g)
{
	for (uint32_t i = 0; i < g->nr_waves; i++)
		leave_simd(cu, g, &g->wave[i]);
	cu->lds_bytes -= g->lds_bytes;
	gfx9_group_free(g);
}

void gfx9_cu_destroy(struct gfx9_cu *cu)
{
	while (cu->groups) {
		struct gfx9_group *g = cu->groups;

		cu->groups = g->next;
		gfx9_group_release(cu, g);
	}
}

/*
 * Taking a workgroup
 */

/* What the hardware gives a wave, new or restored: registers, LDS, the addresses of its handler. */
static void equip(struct gfx9_group *g, uint32_t i)
{
	struct gfx9_wave *w = &g->wave[i].w;
	const struct gfx9_job *job = g->job;

	w->v = g->registers + (size_t)i * vgprs_of(job);
	w->tlb = &g->tlb;
	w->group = g;
	w->lds = g->lds;
	w->lds_bytes = g->lds_bytes;
	w->tba = job->tba;
	w->tma = job->tma;
	gfx9_wave_allocate(w, &job->kernel);
}

struct gfx9_group *gfx9_group_new(struct gfx9_job *job, const uint32_t id[3], uint32_t nr_waves)
{
	struct gfx9_group *g = calloc(1, sizeof(*g) + nr_waves * sizeof(g->wave[0]));
	size_t rows = (size_t)nr_waves * vgprs_of(job);

	if (!g)
		return NULL;
	g->job = job;
	g->nr_waves = nr_waves;
	g->lds_bytes = lds_of(job);
	memcpy(g->id, id, sizeof(g->id));
	g->registers = aligned_alloc(64, rows * sizeof(*g->registers));
	g->lds = malloc(g->lds_bytes ? g->lds_bytes : 1);
	if (!g->registers || !g->lds) {
		gfx9_group_free(g);
		return NULL;
	}
	/* Neither registers nor LDS are cleared by anybody: what is read before it is written
	 * shows. */
	memset(g->registers, 0xa5, rows * sizeof(*g->registers));
	memset(g->lds, 0xa5, g->lds_bytes);
	gfx9_tlb_init(&g->tlb, job->vm);
	for (uint32_t i = 0; i < nr_waves; i++)
		equip(g, i);
	return g;
}

static uint32_t take_slot(struct gfx9_job *job)
{
	for (uint32_t i = 0; i < GFX9_SCRATCH_WORDS; i++) {
		uint64_t used = atomic_load(&job->scratch_slots[i]);

		while (~used) {
			uint64_t bit = ~used & (used + 1);

			if (atomic_compare_exchange_weak(&job->scratch_slots[i], &used, used | bit))
				return i * 64 + (uint32_t)__builtin_ctzll(bit);
		}
	}
	return 0; /* cannot be: there are more slots than waves */
}

static void give_slot_back(struct gfx9_job *job, uint32_t slot)
{
	atomic_fetch_and(&job->scratch_slots[slot / 64], ~((uint64_t)1 << slot % 64));
}

static void start_waves(struct gfx9_cu *cu, struct gfx9_group *g)
{
	for (uint32_t i = 0; i < g->nr_waves; i++) {
		g->wave[i].scratch_slot = take_slot(g->job);
		gfx9_wave_start(&g->wave[i].w, cu->target, &g->job->kernel, &g->job->dispatch,
				g->id, i, g->wave[i].scratch_slot);
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
	/* Cheaper than making a workgroup that does not fit. */
	if (cu->lds_bytes + lds_of(job) > GFX9_LDS_BYTES || find_simd(cu, vgprs_of(job)) < 0)
		return false;
	id_of(job, n, id);
	g = gfx9_group_new(job, id, gfx9_group_waves(&job->dispatch, id));
	if (!g)
		return false;
	if (!gfx9_group_place(cu, g)) {
		gfx9_group_free(g);
		return false;
	}
	if (!claim(job, n)) {
		gfx9_group_release(cu, g);
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
		if (g->wave[i].state == GFX9_AT_BARRIER)
			g->wave[i].state = GFX9_RUNS;
	}
	g->nr_waiting = 0;
}

static void stopped(struct gfx9_group *g, uint32_t index, enum gfx9_stop stop)
{
	struct gfx9_resident *r = &g->wave[index];

	switch (stop) {
	case GFX9_GO:
	case GFX9_SLEEP:
		return;
	case GFX9_MESSAGE:
		/* One that cannot be answered leaves the wave asking; whoever saves notices. */
		if ((r->w.message & MESSAGE_ID) == MESSAGE_SAVEWAVE)
			gfx9_group_message(g, r);
		return;
	case GFX9_BARRIER:
		r->state = GFX9_AT_BARRIER;
		g->nr_waiting++;
		break;
	case GFX9_ENDPGM:
		give_slot_back(g->job, r->scratch_slot);
		r->state = GFX9_ENDED;
		g->nr_ended++;
		break;
	case GFX9_ENDPGM_SAVED: /* its scratch goes on */
		r->state = GFX9_ENDED;
		g->nr_ended++;
		break;
	default:
		report(g, index, stop);
		r->state = GFX9_ENDED;
		g->nr_ended++;
	}
	check_barrier(g);
}

uint64_t gfx9_resident_run(struct gfx9_group *g, uint32_t index, uint64_t slice)
{
	uint64_t done = 0;

	stopped(g, index, gfx9_wave_run(&g->wave[index].w, g->job->code, slice, &done));
	return done;
}

uint64_t gfx9_group_run(struct gfx9_group *g, uint64_t slice)
{
	uint64_t done = 0;

	for (uint32_t i = 0; i < g->nr_waves; i++) {
		if (g->wave[i].state == GFX9_RUNS)
			done += gfx9_resident_run(g, i, slice);
	}
	return done;
}

uint64_t gfx9_cu_run(struct gfx9_cu *cu, uint64_t slice)
{
	struct gfx9_group **link = &cu->groups;
	uint64_t total = 0;

	while (*link) {
		struct gfx9_group *g = *link;
		uint64_t done = gfx9_group_run(g, slice);

		total += done;
		atomic_fetch_add_explicit(&g->job->insts, done, memory_order_relaxed);
		if (g->nr_ended == g->nr_waves || atomic_load(&g->job->failed)) {
			*link = g->next;
			atomic_fetch_add(&g->job->nr_done, 1);
			gfx9_group_release(cu, g);
		} else {
			link = &g->next;
		}
	}
	return total;
}
