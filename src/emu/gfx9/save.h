/* SPDX-License-Identifier: MIT */
/*
 * Context save: workgroups are taken off their compute units wherever their waves are, and put back
 * later, perhaps elsewhere.
 *
 * The hardware's part is here: it raises the save in every wave, hands out the address of a record
 * to each that asks (s_sendmsg SAVEWAVE), and starts waves again at the handler's second entry.
 * What is in a record is the trap handler's business, the one in trap/handler.s or another.
 *
 * Records are handed out from the bottom of the area up, and the topmost workgroup goes back first:
 * what is saved is always one piece at the bottom.
 */
#ifndef GP__EMU_GFX9_SAVE_H
#define GP__EMU_GFX9_SAVE_H

#include <stdbool.h>
#include <stdint.h>

struct gfx9_cu;
struct gfx9_group;
struct gfx9_job;
struct gfx9_saved_group;

/* What one queue has saved off the compute units of one XCC. */
struct gfx9_context {
	uint64_t area, size, used; /* guest memory for the records; size 0: none */
	struct gfx9_saved_group *saved; /* the one to go back next first */
	uint32_t nr_restoring; /* workgroups that still read their records */
	uint64_t nr_waves; /* saved in all, ever */
};

/*
 * Sets memory for records aside for the workgroup. 0 or -ENOSPC; -EAGAIN while others are being
 * restored, which is soon over: their records might be in between.
 */
int gfx9_group_reserve(struct gfx9_group *g, struct gfx9_context *c);
/*
 * Saves a workgroup for which memory was set aside; it can be released then. 0, -ENOMEM, or -EIO
 * where a wave did not get through its handler: the workgroup is lost.
 */
int gfx9_group_save(struct gfx9_group *g, struct gfx9_saved_group **saved);
void gfx9_context_add(struct gfx9_context *c, struct gfx9_saved_group *s);

/* The job of the workgroup that goes back next, and how many waves it has; NULL: none is saved. */
struct gfx9_job *gfx9_context_next(const struct gfx9_context *c, uint32_t *nr_waves);
struct gfx9_saved_group *gfx9_context_pop(struct gfx9_context *c);
/* What was popped is restored: its records are free. */
void gfx9_context_restored(struct gfx9_context *c);
/*
 * Puts the workgroup on a compute unit that has room for it, and runs its waves until they have
 * left the handler, and not further; frees @s. NULL: out of memory,
 * and
 * @s is still the caller's. Where a wave does not leave the handler its job has failed.
 */
struct gfx9_group *gfx9_cu_restore(struct gfx9_cu *cu, struct gfx9_saved_group *s);

/* Forgets what is saved of @job, or of all where that is NULL. */
void gfx9_context_drop(struct gfx9_context *c, const struct gfx9_job *job);

/* The handler that goes to the trap base address, and its size in bytes. */
extern const uint32_t gfx9_trap_handler[];
extern const uint32_t gfx9_trap_handler_bytes;

#endif
