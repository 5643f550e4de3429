/* SPDX-License-Identifier: MIT */
/*
 * A compute unit: its resident workgroups, whose waves run in turn.
 *
 * A workgroup is placed when its waves, registers and LDS fit; then its waves run a slice of
 * instructions each, round robin, until all have ended. Workgroups of several jobs, of several
 * processes, share a compute unit. Only one host thread runs a compute unit at a time, so it needs
 * no lock.
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
	uint32_t id; /* among all compute units */
	uint32_t xcc, index; /* the same as XCC and index in it */
	struct gfx9_group *groups, **last; /* the one that ran longest ago first */
	uint32_t nr_groups;
	struct gfx9_group *spare; /* memory of workgroups that have ended, for new ones */
	uint32_t nr_waves[GFX9_SIMDS], vgprs[GFX9_SIMDS]; /* in use */
	uint32_t lds_bytes;
	bool wakes_others; /* waves of other compute units can continue; the caller wakes them */
	uint64_t ran[GFX9_SIMDS]; /* instructions of each SIMD; the caller resets them */
};

void gfx9_cu_init(struct gfx9_cu *cu, enum gfx9_target target, uint32_t id, uint32_t xcc,
		  uint32_t index);
/* Drops all resident workgroups. */
void gfx9_cu_destroy(struct gfx9_cu *cu);

/* Whether a workgroup of the job fits. */
bool gfx9_cu_fits(const struct gfx9_cu *cu, const struct gfx9_job *job, uint32_t nr_waves);
/*
 * Starts workgroup @id of the job, which fits; @slot holds the scratch slots of its waves. False:
 * out of memory.
 */
bool gfx9_cu_start(struct gfx9_cu *cu, struct gfx9_job *job, const uint32_t id[3],
		   const uint32_t *slot);

/*
 * Runs every resident wave for up to @slice instructions; the device time is @clock. Ends early,
 * between two waves, once *@interrupt is not @expected. Returns the workgroups that have ended, for
 * gfx9_group_release().
 */
struct gfx9_group *gfx9_cu_run(struct gfx9_cu *cu, uint64_t slice, uint64_t clock,
			       const _Atomic uint64_t *interrupt, uint64_t expected);

static inline bool gfx9_cu_busy(const struct gfx9_cu *cu)
{
	return cu->groups != NULL;
}

#endif
