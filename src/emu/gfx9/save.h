/* SPDX-License-Identifier: MIT */
/*
 * Context save: workgroups are taken off their compute units wherever their waves are, and put back
 * later, perhaps elsewhere.
 *
 * The hardware's part is here: it raises the save in every wave, hands out the address of a record
 * to each that asks (s_sendmsg SAVEWAVE), and starts waves again at the handler's second entry.
 * What is in a record is the trap handler's business, the one in trap/handler.s or another.
 *
 * Records lie one behind the other in the slice of an XCC (area.h), and the topmost workgroup goes
 * back first. What is saved is remembered here: the control stack in guest memory is for others to
 * read, and nothing is believed that stands in it.
 */
#ifndef GP__EMU_GFX9_SAVE_H
#define GP__EMU_GFX9_SAVE_H

#include <stdbool.h>
#include <stdint.h>

struct gfx9_cu;
struct gfx9_group;
struct gfx9_job;
struct gfx9_saved_group;
struct gfx9_vm;

/* What one queue has saved off the compute units of one XCC. */
struct gfx9_context {
	uint64_t area, size; /* guest memory; size 0: none */
	uint32_t ctl_bytes; /* of it for header and control stack; 0: they are not written */
	uint64_t used; /* by records */
	uint32_t entries; /* on the control stack, for those */
	struct gfx9_saved_group *saved; /* the one to go back next first */
	/* Workgroups on their way in and out. Their records are not to be touched: nothing goes
	 * back before the former are there, no record is given out before the latter are. */
	uint32_t nr_saving, nr_restoring;
	uint64_t nr_waves; /* saved in all, ever */
};

/*
 * Sets memory for records aside for the workgroup. 0, and gfx9_context_saved() must follow;
 * -ENOSPC; -EAGAIN while others are being restored, which is soon over.
 */
int gfx9_group_reserve(struct gfx9_group *g, struct gfx9_context *c);
/*
 * Saves a workgroup for which memory was set aside; it can be released then. 0, -ENOMEM, or -EIO
 * where a wave did not get through its handler: the workgroup is lost.
 */
int gfx9_group_save(struct gfx9_group *g, struct gfx9_saved_group **saved);
/* It is saved, or lost where @s is NULL. */
void gfx9_context_saved(struct gfx9_context *c, struct gfx9_saved_group *s);
/* Describes what is saved to those who read guest memory, when nothing is on its way. */
void gfx9_context_write(struct gfx9_context *c, struct gfx9_vm *vm);

/* The job of the workgroup that goes back next, and how many waves it has; NULL: none is saved. */
struct gfx9_job *gfx9_context_next(const struct gfx9_context *c, uint32_t *nr_waves);
/* Takes it, while nr_saving is 0; gfx9_context_restored() must follow. */
struct gfx9_saved_group *gfx9_context_pop(struct gfx9_context *c);
/*
 * Puts the workgroup on a compute unit that has room for it, and runs its waves until they have
 * left the handler, and not further: @s is gone then. NULL: out of memory, and @s is still the
 * caller's. Where a wave does not leave the handler its job has failed.
 */
struct gfx9_group *gfx9_cu_restore(struct gfx9_cu *cu, struct gfx9_saved_group *s);
/* It is back, or still saved where @s is not NULL. */
void gfx9_context_restored(struct gfx9_context *c, struct gfx9_saved_group *s);

/* Forgets what is saved of @job, or of all where that is NULL. */
void gfx9_context_drop(struct gfx9_context *c, const struct gfx9_job *job);

/* The handler that goes to the trap base address, and its size in bytes. */
extern const uint32_t gfx9_trap_handler[];
extern const uint32_t gfx9_trap_handler_bytes;

#endif
