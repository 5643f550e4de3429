/* SPDX-License-Identifier: MIT */
/*
 * Inserts guards into the kernels of an OpenCL source (level 2).
 *
 * A guarded kernel has two additional parameters behind its own: whether its queue is held, which
 * may change while it runs, and a block for the launch. Each work-group first checks whether it has
 * run already or must not start, and then returns at once. The block (struct gp__cl_block) records
 * the work-groups that did not start, so that another run of the same launch runs exactly these.
 *
 * A kernel of a program that was declared idempotent also checks in its loops, unless its items
 * wait for each other: a work-group is then dropped, and runs once more from its beginning to its
 * end.
 *
 * Otherwise a work-group that has begun runs to its end. So a kernel may be guarded unless one of
 * its work-groups can wait for another that was not started, or the guarded copy would not have the
 * same state as the program's own kernel. Both are read from the text, and every doubt counts
 * against a guard. Text in branches of #if that are not compiled counts, too.
 *
 * Wrong tool for checking whether a source is valid: the compiler does that with the result.
 */
#ifndef GP__JOIN_OPENCL_SOURCE_H
#define GP__JOIN_OPENCL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

/* A launch's block, in memory shared by host and device. Both words are 0 for its first run. */
struct gp__cl_block {
	uint32_t cut; /* set by the device: work-groups are left */
	uint32_t again; /* set by the host: run only the work-groups that are left */
	uint8_t left[]; /* for each work-group: 1: not started; 2: dropped; otherwise 0 */
};

struct gp__cl_kernel_text {
	char *name;
	enum gp__wire_why why; /* the kernel is not guarded */
	bool drops; /* it has loops that are left when it is held */
};

struct gp__cl_guarded {
	char *text; /* NULL: no kernel is guarded */
	size_t size;
	struct gp__cl_kernel_text *kernels; /* whose definition was found */
	size_t nr_kernels;
};

/* @options: for the compiler. @idempotent: kernels may be run again. 0 or -ENOMEM. */
int gp__cl_guard_source(const char *text, size_t size, const char *options, bool idempotent,
			struct gp__cl_guarded *guarded);
void gp__cl_guarded_free(struct gp__cl_guarded *guarded);
enum gp__wire_why gp__cl_guarded_why(const struct gp__cl_guarded *guarded, const char *kernel);
bool gp__cl_guarded_drops(const struct gp__cl_guarded *guarded, const char *kernel);

#endif
