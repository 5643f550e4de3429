/* SPDX-License-Identifier: MIT */
/*
 * A compute unit: workgroups that are resident on it, and the waves of each in turn.
 *
 * A workgroup is taken when its waves, registers and LDS fit; then its waves run a slice of
 * instructions each, round and round, until all have ended. Workgroups of several jobs, of several
 * processes, share a compute unit. One host thread runs a compute unit at a time.
 */
#ifndef GP__EMU_GFX9_CU_H
#define GP__EMU_GFX9_CU_H

#include "emu/gfx9/code.h"
#include "emu/gfx9/launch.h"

#define GFX9_SIMDS 4
#define GFX9_WAVES_PER_SIMD 8
#define GFX9_CU_WAVES (GFX9_SIMDS * GFX9_WAVES_PER_SIMD)
#define GFX9_SIMD_VGPRS 512 /* of each lane, for all waves of a SIMD */
#define GFX9_LDS_BYTES 65536
#define GFX9_LDS_UNIT 512
#define GFX9_GROUP_WAVES_MAX 16
/* Waves of one job that have scratch at a time: more than the largest GPU has room for. */
#define GFX9_SCRATCH_WORDS 160

/* What went wrong with a wave, for people and for the driver. */
struct gfx9_report {
	enum gfx9_stop stop;
	uint64_t pc;
	uint32_t group[3], wave;
	struct gfx9_fault fault; /* with GFX9_FAULT */
	uint32_t words[3]; /* with GFX9_ILLEGAL */
};

/* A dispatch on its way through the compute units. */
struct gfx9_job {
	struct gfx9_dispatch dispatch;
	struct gfx9_kernel kernel;
	struct gfx9_vm *vm;
	struct gfx9_code *code;
	uint64_t tba, tma; /* trap handler; 0: none */
	uint32_t groups[3]; /* along each axis */
	uint64_t nr_groups;
	_Atomic uint64_t nr_started, nr_done;
	_Atomic bool failed; /* the first report is in @report; no workgroup starts any more */
	struct gfx9_report report;
	_Atomic uint64_t insts;
	/* Scratch of its waves, on or off the compute units: a bit for each slot in use. */
	_Atomic uint64_t scratch_slots[GFX9_SCRATCH_WORDS];
};

/* 0, -EFAULT or -EINVAL as gfx9_kernel_read(); -EINVAL for an impossible dispatch. */
int gfx9_job_init(struct gfx9_job *job, enum gfx9_target target, struct gfx9_vm *vm,
		  struct gfx9_code *code, const struct gfx9_dispatch *d);

struct gfx9_group;

struct gfx9_cu {
	enum gfx9_target target;
	uint32_t id;
	struct gfx9_group *groups;
	uint32_t nr_waves[GFX9_SIMDS], vgprs[GFX9_SIMDS]; /* in use */
	uint32_t lds_bytes;
};

void gfx9_cu_init(struct gfx9_cu *cu, enum gfx9_target target, uint32_t id);
/* Drops whatever is resident. */
void gfx9_cu_destroy(struct gfx9_cu *cu);

/* Takes the job's next workgroup. False: it has none left, or the workgroup does not fit now. */
bool gfx9_cu_take(struct gfx9_cu *cu, struct gfx9_job *job);
/* Runs every resident wave for up to @slice instructions. The number of instructions executed. */
uint64_t gfx9_cu_run(struct gfx9_cu *cu, uint64_t slice);

static inline bool gfx9_cu_busy(const struct gfx9_cu *cu)
{
	return cu->groups != NULL;
}

#endif
