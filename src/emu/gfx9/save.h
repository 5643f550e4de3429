/* SPDX-License-Identifier: MIT */
/*
 * Context save: the waves of a job are taken off their compute units wherever they are, and put
 * back later, perhaps elsewhere.
 *
 * The hardware's part is here: it raises the save in every wave, hands out the address of a record
 * to each that asks (s_sendmsg SAVEWAVE), and starts waves again at the handler's second entry.
 * What is in a record is the trap handler's business, the one in trap/handler.s or another.
 */
#ifndef GP__EMU_GFX9_SAVE_H
#define GP__EMU_GFX9_SAVE_H

#include "emu/gfx9/cu.h"

struct gfx9_saved_group;

struct gfx9_context {
	uint64_t area, size, used; /* guest memory for the records */
	struct gfx9_saved_group *first, **last; /* in the order saved */
	uint64_t nr_waves; /* saved in all, ever */
	bool full; /* a record did not fit */
};

void gfx9_context_init(struct gfx9_context *c, uint64_t area, uint64_t size);
void gfx9_context_destroy(struct gfx9_context *c);

/*
 * Saves every workgroup of @job that is on @cu. 0; -ENOSPC where the area is too small, -EIO where
 * a wave did not get through its handler: the job has failed then.
 */
int gfx9_cu_save(struct gfx9_cu *cu, struct gfx9_job *job, struct gfx9_context *c);
/* Takes the workgroup that was saved first. False: there is none, or it does not fit here now. */
bool gfx9_cu_restore(struct gfx9_cu *cu, struct gfx9_context *c);

/*
 * Runs waves that are in a handler until they have left it, and not further: a restore is complete
 * then, and its record free. -EIO where one does not leave.
 */
int gfx9_cu_leave_handlers(struct gfx9_cu *cu);

static inline bool gfx9_context_empty(const struct gfx9_context *c)
{
	return !c->first;
}

/* Makes record memory free again where nothing is saved, and nobody still restores from it. */
void gfx9_context_rewind(struct gfx9_context *c);

/* The handler that goes to the trap base address, and its size in bytes. */
extern const uint32_t gfx9_trap_handler[];
extern const uint32_t gfx9_trap_handler_bytes;

#endif
