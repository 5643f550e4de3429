/* SPDX-License-Identifier: MIT */
/*
 * Messages for the person who runs the program, on standard error or through a
 * callback. Never for results: those are the command's output.
 *
 * The log is a struct its owner passes along; there is no global one. Writing is
 * one write per message, so threads may share a log, but not change it.
 */
#ifndef GP_BASE_LOG_H
#define GP_BASE_LOG_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The numbers are syslog's, as journald reads them from a "<N>" prefix. */
enum gp__log_level {
	GP__LOG_ERROR = 3,
	GP__LOG_WARNING = 4,
	GP__LOG_INFO = 6,
	GP__LOG_DEBUG = 7,
};

/* message is one or more lines without the final newline. */
typedef void gp__log_fn(void *data, enum gp__log_level level, const char *message);

/* A fact about a message that programs can search for. The name is of capitals, digits and _. */
struct gp__log_field {
	const char *name;
	const char *text; /* NULL: the number */
	long long number;
};

/* Takes the message with its fields. False: it cannot now. */
typedef bool gp__log_entry_fn(void *data, enum gp__log_level level, const char *message,
			      const struct gp__log_field *fields, size_t n);

struct gp__log {
	enum gp__log_level level; /* messages above it are dropped */
	const char *program;
	FILE *stream;
	bool journal; /* "<N>" instead of the program's name */
	gp__log_fn *fn; /* takes every message instead of the stream, when set */
	void *data;
	gp__log_entry_fn *entry; /* takes what @fn does not, before the stream, when set */
	void *entry_data;
};

/* Warnings and errors to stream; "<N>" prefixes if $JOURNAL_STREAM names that stream. */
void gp__log_init(struct gp__log *log, const char *program, FILE *stream);

GP__PRINTF(3, 4)
void gp__log(const struct gp__log *log, enum gp__log_level level, const char *fmt, ...);

/* The same with fields, which only @entry has a place for. */
GP__PRINTF(5, 6)
void gp__log_about(const struct gp__log *log, enum gp__log_level level,
		   const struct gp__log_field *fields, size_t n, const char *fmt, ...);

/* Fields and their number, for gp__log_about(): the process and user that a message is about. */
#define GP__ABOUT(pid, user)                                                                    \
	(const struct gp__log_field[]){ { .name = "GPREEMPT_PID", .number = (long long)(pid) }, \
					{ .name = "GPREEMPT_USER",                              \
					  .number = (long long)(user) } },                      \
		2

#define gp__log_error(log, ...) gp__log(log, GP__LOG_ERROR, __VA_ARGS__)
#define gp__log_warning(log, ...) gp__log(log, GP__LOG_WARNING, __VA_ARGS__)
#define gp__log_info(log, ...) gp__log(log, GP__LOG_INFO, __VA_ARGS__)
#define gp__log_debug(log, ...) gp__log(log, GP__LOG_DEBUG, __VA_ARGS__)

#endif
