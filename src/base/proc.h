/* SPDX-License-Identifier: MIT */
/*
 * Reads files of /proc as text, and the state of a process.
 *
 * The owner of a process can stretch these reads, so they are not for a thread that must not wait.
 */
#ifndef GP_BASE_PROC_H
#define GP_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct gp__proc_stat {
	char name[64]; /* any bytes but NUL, as the process chooses them */
	char state; /* as ps(1) shows it */
	pid_t parent;
	uint64_t start; /* in ticks since the machine started: with the pid, it names the process */
};

/*
 * Reads the beginning of a file below the folder, or of one with an absolute path. Returns the
 * length of the text, which ends with NUL; 0: the file is empty or cannot be read.
 */
size_t gp__proc_read(int folder, const char *file, char *text, size_t size);
/* Takes the text of /proc/PID/stat. False: it is none. */
bool gp__proc_parse_stat(char *text, struct gp__proc_stat *s);
/* Reads such a file. */
bool gp__proc_stat(int folder, const char *file, struct gp__proc_stat *s);

#endif
