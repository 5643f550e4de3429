/* SPDX-License-Identifier: MIT */
/* The text of a recorded decision log, for the commands that show one. */
#ifndef GP_CLI_LOG_FILE_H
#define GP_CLI_LOG_FILE_H

#include <limits.h>

#include "base/env.h"
#include "view/history.h"

struct log_file {
	const char *path;
	char before[PATH_MAX]; /* the log that it continues, whose lines come first; "": none */
	char *text;
	size_t size;
	u64 lines_before; /* of that one */
};

/* Reads the whole log; if it continues PATH.1, that one first. 0, or an exit status after an error
 * message. */
int log_file_open(struct gp__env *env, struct log_file *f, const char *path);
void log_file_close(struct log_file *f);
/*
 * Reads its history, counted from @begin on (0: from the first line). 0, or an exit status after an
 * error message. The caller frees the history in any case.
 */
int log_file_read(struct gp__env *env, const struct log_file *f, u64 begin, struct gp__history *h);

#endif
