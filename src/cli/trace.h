/* SPDX-License-Identifier: MIT */
/* Shared by the verbs of gpreempt trace. */
#ifndef GP_CLI_TRACE_H
#define GP_CLI_TRACE_H

#include "base/cmd.h"
#include "trace/perfetto.h"

#define TRACE_DEFAULT_OUTPUT "gpreempt.pftrace"

struct trace_output {
	const char *path; /* "-": standard output */
	FILE *file;
	struct gp__perfetto w;
};

/* An exit status; a failure has been reported. */
int trace_output_open(struct gp__env *env, struct trace_output *o);
/* A file that is not complete is removed. Returns the status, or that of its own failure. */
int trace_output_close(struct gp__env *env, struct trace_output *o, int status);
/* Adds a decision log, a trace of an emulated machine, or the text of the kernel's tracepoints. */
int trace_add(struct gp__env *env, struct trace_output *o, const char *path);

int trace_record(struct gp__env *env, int argc, char **argv);

#endif
