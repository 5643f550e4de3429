/* SPDX-License-Identifier: MIT */
/*
 * An OpenCL source, parsed as far as guards need it: its kernels, what each function and macro
 * contains, and whether the text can be understood at all. Shared by the parts of source.h:
 *
 *	traits.c	properties of a range of tokens
 *	parse.c		finds macros, functions, kernels and variables
 *	judge.c		decides which kernels may be guarded, and where loops are left
 *	source.c	writes the guarded text
 */
#ifndef GP__JOIN_OPENCL_PARSED_H
#define GP__JOIN_OPENCL_PARSED_H

#include <uthash.h>

#include "join/opencl/source.h"
#include "join/opencl/tokens.h"

/* Properties of a range of tokens. */
enum gp__cl_trait {
	GP__CL_LOOPS = 1 << 0,
	GP__CL_SEES_OTHERS = 1 << 1, /* memory that other work-groups write at the same time */
	GP__CL_SHARES = 1 << 2,
	GP__CL_ENQUEUES = 1 << 3,
	GP__CL_PASTES = 1 << 4, /* names that do not stand in the text */
	GP__CL_IS_GLOBAL = 1 << 5,
	GP__CL_SYNCS = 1 << 6, /* items that wait for each other, or a block with its own return */
};

/* Tokens that belong to a name: a function's parameters and body, or the text of a macro. */
struct gp__cl_tokens_range {
	const struct gp__token *from, *to;
	struct gp__cl_tokens_range *next;
};

struct gp__cl_definition {
	UT_hash_handle hh; /* by the name */
	struct gp__cl_tokens_range *ranges; /* several in branches of #if */
	uint32_t traits;
	bool is_macro;
	size_t visited; /* the latest kernel from which it was reached */
	struct gp__cl_definition *pending; /* the next one to be followed for that kernel */
};

struct gp__cl_parsed_kernel {
	const struct gp__token *name, *open, *close, *body; /* parentheses, and the brace */
	enum gp__wire_why why;
	bool drops;
};

struct gp__cl_parsed {
	struct gp__tokens all, code; /* code: without directives */
	struct gp__tokens options;
	char *options_text;
	struct gp__cl_definition *definitions;
	struct gp__cl_parsed_kernel *kernels;
	size_t nr_kernels;
	uint32_t traits; /* of all definitions */
	enum gp__wire_why why; /* no kernel is guarded */
	bool idempotent, no_memory;
};

uint32_t gp__cl_traits(const struct gp__cl_tokens_range *range, bool is_macro);

/* 0 or -ENOMEM. gp__cl_parsed_free() in either case. */
int gp__cl_parse(struct gp__cl_parsed *s, const char *text, size_t size, const char *options);
void gp__cl_parsed_free(struct gp__cl_parsed *s);
/* NULL: the name is not defined in the source. */
struct gp__cl_definition *gp__cl_parsed_find(const struct gp__cl_parsed *s,
					     const struct gp__token *name);

/* Sets `why` and `drops` of all kernels. */
void gp__cl_judge(struct gp__cl_parsed *s);
/* The brace of the next loop, from @t on, that is left when the kernel is held; @end: none. */
const struct gp__token *gp__cl_next_drop(const struct gp__cl_parsed_kernel *k,
					 const struct gp__token *t, const struct gp__token *end);

#endif
