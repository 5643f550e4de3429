/* SPDX-License-Identifier: MIT */
/*
 * The processes of a command: the one that executes it, called the root, and its descendants, also
 * after their parents have ended. A descendant whose parent ends before it was seen is missed.
 */
#ifndef GP_CLI_RUN_MEMBERS_H
#define GP_CLI_RUN_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/units.h"
#include "wire/wire.h"

struct run_member {
	pid_t pid;
	u64 start; /* with the pid, it names the process */
	bool alive;
	bool zombie; /* it has ended, and its parent has not waited for it */
	bool foreign; /* the root had it before the command: it is not of the command */
	u64 open_since; /* a GPU; 0: it has none open */
	bool suspected; /* it seems not to have joined */
	bool told; /* the user was told that; then it is kept when it has ended */
	char name[GP__WIRE_NAME_MAX], why[128];
	const char *remedy;
};

struct run_members {
	pid_t root, self; /* self, the process that looks, is left out */
	struct run_member *member;
	size_t nr, room;
	bool begun;
};

/* The first call is made before the command is started. */
void run_members_find(struct run_members *c);
/* Whether a process of the command runs, beside the root. */
bool run_members_any(const struct run_members *c);
/* Sends a signal to them. */
void run_members_signal(const struct run_members *c, int signal_number);

/* Reads a file of a process as text, whose length this returns. 0: it is empty or unreadable. */
size_t run_read_proc(pid_t pid, const char *file, char *text, size_t size);

#endif
