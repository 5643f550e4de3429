/* SPDX-License-Identifier: MIT */
/*
 * Context save: takes workgroups off their compute units at any instruction, and puts them back
 * later, perhaps elsewhere.
 *
 * This is the hardware's part: it requests the save in every wave, gives the address of a record to
 * each wave that asks (s_sendmsg SAVEWAVE), and restarts waves at the handler's second entry point.
 * The content of a record is up to the trap handler, the one in trap/handler.s or another.
 *
 * Records are contiguous in the slice of an XCC (area.h), and the topmost workgroup is restored
 * first. The list of saved workgroups is kept here: the control stack in guest memory is for others
 * to read, and its content is never trusted.
 */
#ifndef GP__EMU_GFX9_SAVE_H
#define GP__EMU_GFX9_SAVE_H

#include "emu/engine.h"

struct gfx9_cu;
struct gfx9_group;
struct gfx9_job;
struct gfx9_saved_group;

/* The saved state of one queue on one XCC. */
struct gfx9_context {
	uint64_t area, size; /* guest memory; size 0: none */
	uint32_t ctl_bytes; /* of the area, for header and control stack; 0: they are not written */
	uint64_t used; /* bytes of records */
	uint32_t entries; /* on the control stack for those records */
	struct gfx9_saved_group *saved; /* the next one to be restored first */
	/*
	 * Workgroups that are being saved and restored. Their records must not change: nothing is
	 * restored before the former are complete, no record is allocated before the latter are.
	 */
	uint32_t nr_saving, nr_restoring;
	uint64_t nr_waves; /* total number ever saved */
};

/*
 * Reserves memory for the records of the workgroup. 0, and gfx9_context_saved() must follow;
 * -ENOSPC; -EAGAIN while others are being restored, which does not take long.
 */
int gfx9_group_reserve(struct gfx9_group *g, struct gfx9_context *c);
/*
 * Saves a workgroup for which memory was reserved; the caller then releases it. 0, -ENOMEM, or -EIO
 * where a wave did not get through its handler: the workgroup is lost.
 */
int gfx9_group_save(struct gfx9_group *g, struct gfx9_saved_group **saved);
/* The workgroup was saved, or lost if @s is NULL. */
void gfx9_context_saved(struct gfx9_context *c, struct gfx9_saved_group *s);
/*
 * Describes the saved waves; and writes that to guest memory, while no workgroup is being saved or
 * restored.
 */
void gfx9_context_header(const struct gfx9_context *c, struct emu_save_header *h);
void gfx9_context_write(struct gfx9_context *c, struct emu_vm *vm);

/* The job of the next workgroup to be restored, and its number of waves; NULL: none is saved. */
struct gfx9_job *gfx9_context_next(const struct gfx9_context *c, uint32_t *nr_waves);
/* Removes that workgroup, while nr_saving is 0; gfx9_context_restored() must follow. */
struct gfx9_saved_group *gfx9_context_pop(struct gfx9_context *c);
/*
 * Puts the workgroup on a compute unit that has room for it, frees @s, and runs its waves until
 * they have left the handler, and not further. NULL: out of memory, and @s is still the caller's.
 * If a wave does not leave the handler, its job has failed.
 */
struct gfx9_group *gfx9_cu_restore(struct gfx9_cu *cu, struct gfx9_saved_group *s);
/* The workgroup was restored, or is still saved if @s is not NULL. */
void gfx9_context_restored(struct gfx9_context *c, struct gfx9_saved_group *s);

/* Drops the saved workgroups of @job, or all if that is NULL. */
void gfx9_context_drop(struct gfx9_context *c, const struct gfx9_job *job);

/* The trap handler, and its size in bytes. */
extern const uint32_t gfx9_trap_handler[];
extern const uint32_t gfx9_trap_handler_bytes;

#endif
