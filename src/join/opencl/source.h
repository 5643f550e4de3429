/* SPDX-License-Identifier: MIT */
/*
 * The source of an OpenCL program, with a guard in its kernels (level 2).
 *
 * A guarded kernel has two parameters more, behind its own: whether its queue is held, which may
 * change while it runs, and a block for this launch. Before anything else each work-group looks
 * whether it has run already or is not to start, and then ends at once; what did not start is in
 * the block (struct gp__cl_block), so that the same launch once more runs exactly that.
 *
 * A kernel of a program that was declared idempotent looks in its loops, too, unless its items wait
 * for one another: then what a work-group has begun is dropped, and it runs once more from its
 * beginning, to its end.
 *
 * Otherwise a work-group that has begun always ends. So a kernel may be guarded unless a work-group
 * can wait for one that was not started, or the program's own copy of the kernel and the guarded
 * one would not be the same: that is looked for here, in the text, and whatever cannot be told is
 * taken for being so. Text in branches of #if that are not compiled counts as well.
 *
 * Wrong tool for judging whether a source is valid: that is the compiler's affair, who sees the
 * result.
 */
#ifndef GP__JOIN_OPENCL_SOURCE_H
#define GP__JOIN_OPENCL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

/* Of one launch, in memory that host and device share. Both are 0 for the first run of it. */
struct gp__cl_block {
	uint32_t cut; /* the device: something was not started */
	uint32_t again; /* the host: only what is left is to run */
	uint8_t left[]; /* of each work-group: 1, it was not started; 2, it was dropped; else 0 */
};

struct gp__cl_kernel_text {
	char *name;
	enum gp__wire_why why; /* it is not guarded */
	bool drops; /* it has loops that are left where it is held */
};

struct gp__cl_guarded {
	char *text; /* NULL where no kernel is guarded */
	size_t size;
	struct gp__cl_kernel_text *kernels; /* whose definition is seen */
	size_t nr_kernels;
};

/* @options: of the compiler. @idempotent: kernels may be run again. 0 or -ENOMEM. */
int gp__cl_guard_source(const char *text, size_t size, const char *options, bool idempotent,
			struct gp__cl_guarded *guarded);
void gp__cl_guarded_free(struct gp__cl_guarded *guarded);
enum gp__wire_why gp__cl_guarded_why(const struct gp__cl_guarded *guarded, const char *kernel);
bool gp__cl_guarded_drops(const struct gp__cl_guarded *guarded, const char *kernel);

#endif
