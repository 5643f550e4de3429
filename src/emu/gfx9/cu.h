/* SPDX-License-Identifier: MIT */
/*
 * A compute unit: workgroups that are resident on it, and the waves of each in turn.
 *
 * A workgroup is placed when its waves, registers and LDS fit; then its waves run a slice of
 * instructions each, round and round, until all have ended. Workgroups of several jobs, of several
 * processes, share a compute unit. One host thread runs a compute unit at a time, and needs no lock
 * for it.
 */
#ifndef GP__EMU_GFX9_CU_H
#define GP__EMU_GFX9_CU_H

#include "emu/gfx9/queue.h"

#define GFX9_SIMDS 4
#define GFX9_WAVES_PER_SIMD 8
#define GFX9_CU_WAVES (GFX9_SIMDS * GFX9_WAVES_PER_SIMD)
#define GFX9_SIMD_VGPRS 512 /* of each lane, for all waves of a SIMD */

struct gfx9_group;

struct gfx9_cu {
	enum gfx9_target target;
	uint32_t id; /* of all compute units */
	uint32_t xcc, index; /* the same in two parts */
	struct gfx9_group *groups, **last; /* the one that ran longest ago first */
	uint32_t nr_groups;
	struct gfx9_group *spare; /* memory of workgroups that have ended, for new ones */
	uint32_t nr_waves[GFX9_SIMDS], vgprs[GFX9_SIMDS]; /* in use */
	uint32_t lds_bytes;
	bool wakes_others; /* waves of other compute units can go on: for whoever runs them */
	uint64_t ran[GFX9_SIMDS]; /* instructions of each SIMD, for whoever counts them */
};

void gfx9_cu_init(struct gfx9_cu *cu, enum gfx9_target target, uint32_t id, uint32_t xcc,
		  uint32_t index);
/* Drops whatever is resident. */
void gfx9_cu_destroy(struct gfx9_cu *cu);

/* Whether a workgroup of the job would find room. */
bool gfx9_cu_fits(const struct gfx9_cu *cu, const struct gfx9_job *job, uint32_t nr_waves);
/*
 * Starts workgroup @id of the job, for which there is room; @slot holds the scratch of its waves.
 * False: out of memory.
 */
bool gfx9_cu_start(struct gfx9_cu *cu, struct gfx9_job *job, const uint32_t id[3],
		   const uint32_t *slot);

/*
 * Runs every resident wave for up to @slice instructions; waves see the time from @clock on. Ends
 * early, between two waves, once *@interrupt is not @expected. The workgroups that have ended are
 * returned, for gfx9_group_release().
 */
struct gfx9_group *gfx9_cu_run(struct gfx9_cu *cu, uint64_t slice, uint64_t clock,
			       const _Atomic uint64_t *interrupt, uint64_t expected);

static inline bool gfx9_cu_busy(const struct gfx9_cu *cu)
{
	return cu->groups != NULL;
}

#endif
