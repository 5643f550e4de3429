/* SPDX-License-Identifier: MIT */
/* A workgroup that is resident on a compute unit: for cu.c, save.c and gpu.c. */
#ifndef GP__EMU_GFX9_GROUP_H
#define GP__EMU_GFX9_GROUP_H

#include "emu/gfx9/cu.h"

enum gfx9_resident_state {
	GFX9_RUNS,
	GFX9_AT_BARRIER,
	GFX9_AT_GWS, /* waits for waves of any workgroup of its queue */
	GFX9_HALTED, /* until it is saved; it is restored without the halt */
	GFX9_ENDED,
};

struct gfx9_resident {
	struct gfx9_wave w;
	enum gfx9_resident_state state;
	uint8_t simd, index; /* in its workgroup as it was launched */
	uint32_t scratch_slot;
	struct gfx9_gws_waiter gws;
	uint64_t record; /* of its context, once it has asked for it */
	bool first; /* the first of its workgroup to ask: LDS goes with it */
};

struct gfx9_group {
	/* Allocated memory and its sizes. It is reused for the next workgroup. */
	uint32_t room_waves, room_lds;
	size_t room_rows;
	uint32_t (*registers)[GFX9_LANES];
	uint8_t *lds;
	/* of the job whose pages are in @tlb, and whose data in the registers */
	uint64_t job_serial;
	struct gfx9_tlb tlb;
	struct gfx9_spare spare;

	struct gfx9_group *next; /* from here on, valid for one workgroup only */
	struct gfx9_job *job;
	struct gfx9_cu *cu;
	uint32_t id[3], nr_waves, nr_ended, nr_waiting;
	uint32_t nr_at_gws;
	uint32_t nr_barriers; /* passed by all waves */
	uint32_t lds_bytes;
	/* While it is being saved: memory for records, which are allocated from its end down. */
	uint64_t records, records_free, records_end;
	uint32_t entries_end; /* on the control stack, up to and including this one */
	bool saving;
	struct gfx9_resident wave[];
};

/* A saved workgroup, as far as the hardware knows it; the rest is in the records. */
struct gfx9_saved_wave {
	uint64_t record;
	uint32_t bytes;
	uint32_t scratch_slot;
	uint8_t index;
	bool first;
};

struct gfx9_saved_group {
	struct gfx9_saved_group *next;
	struct gfx9_job *job;
	uint64_t records_end;
	uint32_t entries_end;
	uint32_t id[3], nr_waves;
	struct gfx9_saved_wave wave[]; /* the one with the highest record first */
};

/*
 * A workgroup of @nr_waves waves that is not placed yet, without the state of its waves. NULL: out
 * of memory.
 */
struct gfx9_group *gfx9_group_new(struct gfx9_cu *cu, struct gfx9_job *job, const uint32_t id[3],
				  uint32_t nr_waves);
/*
 * Puts it on a compute unit that has room; takes it off, but keeps the resources; and frees them,
 * with the group.
 */
void gfx9_group_place(struct gfx9_cu *cu, struct gfx9_group *g);
void gfx9_group_unlink(struct gfx9_cu *cu, struct gfx9_group *g);
void gfx9_group_release(struct gfx9_group *g);
/* Of a workgroup that has ended, or will not run. */
void gfx9_group_give_scratch(struct gfx9_group *g);
/* Enters the first-level trap handler, which exists; @trap_id is 0 unless it was s_trap. */
void gfx9_wave_trap(struct gfx9_wave *w, uint8_t trap_id);
/* Removes a wave from global sync. True: it has to execute the instruction again. */
bool gfx9_group_leave_gws(struct gfx9_group *g, struct gfx9_resident *r);
/* s_sendmsg SAVEWAVE: gives the wave the address of its record. */
void gfx9_group_message(struct gfx9_group *g, struct gfx9_resident *r);
/* Runs one of its waves, which can run, for up to @slice instructions; and all of them. */
uint64_t gfx9_resident_run(struct gfx9_group *g, uint32_t index, uint64_t slice);
uint64_t gfx9_group_run(struct gfx9_group *g, uint64_t slice);

#endif
