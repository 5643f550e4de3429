/* SPDX-License-Identifier: MIT */
/* gpreempt emu: options, the folders of machines, and the machines themselves. */
#ifndef GP_CLI_EMU_H
#define GP_CLI_EMU_H

#include "base/env.h"
#include "emu/kfd/machine.h"

#include <jansson.h>
#include <sys/types.h>

/*
 * A machine's folder, in a folder of the user: the machine holds a lock on a file in it, which
 * contains its pid. A folder whose lock is free is stale.
 */

#define EMU_FOLDER_LOG "log" /* the machine's standard error */

/* The folder of all machines; created if necessary. 0, or an exit status after a message. */
int emu_folder_base(struct gp__env *env, char base[PATH_MAX]);
/*
 * Creates the folder of a machine, with only the lock in it, which is returned; a stale folder is
 * replaced. Negative: the exit status, after a message.
 */
int emu_folder_make(struct gp__env *env, const char *name, char dir[PATH_MAX]);
/* The pid of the machine; 0: none; -1: one that is starting. */
pid_t emu_folder_owner(const char *dir);
void emu_folder_remove(const char *dir);
/* Calls @each for every running machine, sorted by name; removes stale folders. */
int emu_folder_each(struct gp__env *env,
		    void (*each)(void *ctx, const char *name, const char *dir, pid_t pid),
		    void *ctx);

/*
 * Machines
 */

/*
 * Starts a machine in its own process, which is ready when this returns: its pid, or a negative
 * exit status. @daemon: it outlives us; otherwise it ends with us.
 */
pid_t emu_machine_start(struct gp__env *env, const struct emu_config *config, int lock_fd,
			bool daemon);
/* Stops it and waits until it has ended; false: it did not, or was not there. */
bool emu_machine_stop(const char *dir, pid_t pid);
/* The description of a machine, written to its folder; NULL: it cannot be read. */
json_t *emu_machine_describe(const struct emu_config *config);
json_t *emu_machine_read(const char *dir);

/*
 * Keeps the log of a private machine beside the machines' folders, and removes the oldest kept
 * logs. False: it is empty, or cannot be kept.
 */
bool emu_folder_keep_log(const char *dir, const char *name, char path[PATH_MAX]);

/* Prints a table of all instructions, or of those that are not exact; returns an exit status. */
int emu_info_print(struct gp__env *env, const struct emu_chip *chip, bool all);

/* Sets a program's environment up for the machine. 0, or an exit status. */
int emu_client_setup(struct gp__env *env, const char *dir);

#endif
