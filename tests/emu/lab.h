/* SPDX-License-Identifier: MIT */
/*
 * Compute units without a GPU: one job, whose workgroups are saved and restored when a test says
 * so, and the state of every wave.
 */
#ifndef GP__TESTS_EMU_LAB_H
#define GP__TESTS_EMU_LAB_H

#include "emu/gfx9/group.h"
#include "emu/gfx9/machine.h"

#define LAB_CUS 3
#define LAB_WAVES (LAB_CUS * GFX9_CU_WAVES)

/* A wave before it was saved. */
struct shot {
	struct gfx9_wave w;
	uint32_t (*v)[GFX9_LANES];
	uint8_t *lds;
	uint32_t group[3], scratch_slot;
	uint8_t index;
	bool halted;
	bool in_handler; /* it continues, and its state changes, before it is saved */
};

struct lab {
	struct machine *m;
	struct gfx9_queue q;
	struct gfx9_job job;
	struct gfx9_cu cu[LAB_CUS];
	/*
	 * For lab_open(). Linux's handler restores accumulation registers from the wrong place if a
	 * wave has only four others: they are not compared then.
	 */
	uint64_t rng;
	bool four_lose_agprs;

	uint64_t nr_saved; /* waves */
	uint64_t save_insts, restore_insts;
	struct shot shot[LAB_WAVES];
	uint32_t nr_shots;
	char differs[64]; /* the first thing that was not restored, or nothing */
};

/* The job runs on the machine's memory; -errno as machine_job(). */
int lab_open(struct lab *l, struct machine *m, const char *kernel, uint32_t grid, uint16_t group,
	     const void *args, size_t args_size);
void lab_close(struct lab *l);
uint32_t lab_draw(struct lab *l);

/*
 * Starts workgroups that fit, and gives each wave a turn. False: the job has ended, or has failed.
 */
bool lab_step(struct lab *l, uint64_t slice);
/* Saves all workgroups, and destroys their registers and LDS. 0, or the first error. */
int lab_save(struct lab *l);
/*
 * Restores all workgroups onto any compute unit, and compares each; those that do not fit are
 * restored in later steps.
 */
void lab_restore(struct lab *l);
bool lab_in_window(struct lab *l, uint64_t from, uint64_t to);

#endif
