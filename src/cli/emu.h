/* SPDX-License-Identifier: MIT */
/* gpreempt emu: between its options, the folders of machines, and the machines themselves. */
#ifndef GP_CLI_EMU_H
#define GP_CLI_EMU_H

#include "base/env.h"
#include "emu/kfd/machine.h"

#include <jansson.h>
#include <sys/types.h>

/*
 * A machine's folder, in one that belongs to the user: it has a file that the machine holds locked
 * for as long as it lives, with its pid in it. A folder without such a holder is left over.
 */

#define EMU_FOLDER_LOG "log" /* the machine's standard error */

/* Where all of them are; made if need be. 0, or an exit status after telling why not. */
int emu_folder_base(struct gp__env *env, char base[PATH_MAX]);
/*
 * A folder for a machine of this name, with nothing in it but the lock, which is returned; what is
 * left over of an earlier one goes. Negative: the exit status, after telling why not.
 */
int emu_folder_make(struct gp__env *env, const char *name, char dir[PATH_MAX]);
/* The pid of the machine there; 0: none lives there; -1: one that is about to. */
pid_t emu_folder_owner(const char *dir);
void emu_folder_remove(const char *dir);
/* Calls for each machine that lives, in the order of their names; removes what is left over. */
int emu_folder_each(struct gp__env *env,
		    void (*each)(void *ctx, const char *name, const char *dir, pid_t pid),
		    void *ctx);

/*
 * Machines
 */

/* In a process of its own, which is ready when this returns: its pid, or a negative exit status.
 * @daemon: it outlives us; otherwise it ends with us. */
pid_t emu_machine_start(struct gp__env *env, const struct emu_config *config, int lock_fd,
			bool daemon);
/* Asks it to stop and waits until it has; false: it does not, or was not there. */
bool emu_machine_stop(const char *dir, pid_t pid);
/* What a machine is, as it is left in its folder; NULL: it is not to be read. */
json_t *emu_machine_describe(const struct emu_config *config);
json_t *emu_machine_read(const char *dir);

/* The log of a machine that nobody will see any more, kept beside the machines' folders; the oldest
 * of those kept go. False: it is empty, or cannot be kept. */
bool emu_folder_keep_log(const char *dir, const char *name, char path[PATH_MAX]);

/* A table of instructions, of all or of those that are not exact; an exit status. */
int emu_info_print(struct gp__env *env, enum gfx9_target target, const char *name, bool all);

/* Sets a program's environment up for the machine. 0, or an exit status. */
int emu_client_setup(struct gp__env *env, const char *dir);

#endif
