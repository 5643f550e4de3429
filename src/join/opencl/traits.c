// SPDX-License-Identifier: MIT
/* Finds the properties of a range of tokens, by the words in it. */
#include "join/opencl/parsed.h"

#include <string.h>

static const struct {
	const char *name;
	uint32_t traits;
} words[] = {
	{ "for", GP__CL_LOOPS },
	{ "while", GP__CL_LOOPS },
	{ "do", GP__CL_LOOPS },
	{ "goto", GP__CL_LOOPS },
	{ "volatile", GP__CL_SEES_OTHERS },
	{ "__volatile", GP__CL_SEES_OTHERS },
	{ "__volatile__", GP__CL_SEES_OTHERS },
	{ "mem_fence", GP__CL_SEES_OTHERS },
	{ "read_mem_fence", GP__CL_SEES_OTHERS },
	{ "write_mem_fence", GP__CL_SEES_OTHERS },
	{ "CLK_GLOBAL_MEM_FENCE", GP__CL_SEES_OTHERS },
	{ "CLK_IMAGE_MEM_FENCE", GP__CL_SEES_OTHERS },
	{ "asm", GP__CL_SEES_OTHERS | GP__CL_LOOPS },
	{ "__asm", GP__CL_SEES_OTHERS | GP__CL_LOOPS },
	{ "__asm__", GP__CL_SEES_OTHERS | GP__CL_LOOPS },
	{ "static", GP__CL_SHARES }, /* inside a function */
	{ "pipe", GP__CL_SHARES },
	{ "__pipe", GP__CL_SHARES },
	{ "enqueue_kernel", GP__CL_ENQUEUES },
	{ "enqueue_marker", GP__CL_ENQUEUES },
	{ "get_default_queue", GP__CL_ENQUEUES },
	{ "queue_t", GP__CL_ENQUEUES },
	{ "wait_group_events", GP__CL_SYNCS },
	{ "global", GP__CL_IS_GLOBAL },
	{ "__global", GP__CL_IS_GLOBAL },
};

/* Whether a statement begins at @t, so that the value of an expression there is not used. */
static bool begins_statement(const struct gp__token *t, const struct gp__token *from)
{
	static const char *const before[] = { "if", "while", "for" };

	if (t-- == from)
		return false;
	if (gp__token_is_mark(t, ';') || gp__token_is_mark(t, '{') || gp__token_is_mark(t, '}') ||
	    gp__token_is(t, "else") || gp__token_is(t, "do"))
		return true;
	if (!gp__token_is_mark(t, ')'))
		return false;
	t = gp__token_before_parentheses(t, from);
	return t && GP__TOKEN_IS_AMONG(t, before);
}

/* A kernel cannot wait by an atomic operation whose result is not used. */
static bool looks_at_atomic(const struct gp__token *t, const struct gp__cl_tokens_range *r,
			    bool is_macro)
{
	const struct gp__token *close;

	if (!gp__token_begins(t, "atomic_") && !gp__token_begins(t, "atom_"))
		return false;
	if (is_macro || t + 1 >= r->to || !gp__token_is_mark(t + 1, '('))
		return true;
	close = gp__token_partner(t + 1, r->to);
	return close + 1 >= r->to || !gp__token_is_mark(close + 1, ';') ||
	       !begins_statement(t, r->from);
}

static bool has(const struct gp__token *t, const char *part)
{
	return memmem(t->at, t->n, part, strlen(part));
}

/* A function by which items may wait for each other. */
static bool is_of_group(const struct gp__token *t)
{
	return has(t, "work_group_") || has(t, "sub_group_") || has(t, "barrier") ||
	       has(t, "Barrier") || gp__token_begins(t, "__builtin_") ||
	       gp__token_begins(t, "__spirv_");
}

/* ^{ }, ^(int x) { } or ^int (int x) { }, where a return leaves only the block. */
static bool is_block(const struct gp__token *t, const struct gp__token *to)
{
	for (t++; t < to && (t->kind == GP__TOKEN_NAME || gp__token_is_mark(t, '*')); t++)
		;
	if (t < to && gp__token_is_mark(t, '('))
		t = gp__token_partner(t, to);
	if (t < to && gp__token_is_mark(t, ')'))
		t++;
	return t < to && gp__token_is_mark(t, '{');
}

static uint32_t traits_of_token(const struct gp__token *t, const struct gp__cl_tokens_range *r,
				bool is_macro)
{
	if (gp__token_is_mark(t, '^'))
		return is_block(t, r->to) ? GP__CL_SYNCS : 0;
	if (t->kind == GP__TOKEN_MARK)
		return *t->at == '#' && t + 1 < r->to && gp__token_is_mark(t + 1, '#')
			       ? GP__CL_PASTES
			       : 0;
	if (t->kind != GP__TOKEN_NAME)
		return 0;
	if (looks_at_atomic(t, r, is_macro))
		return GP__CL_SEES_OTHERS;
	if (t->n > 5 && !memcmp(t->at + t->n - 5, "_pipe", 5))
		return GP__CL_SHARES;
	if (is_of_group(t))
		return GP__CL_SYNCS;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (gp__token_is(t, words[i].name))
			return words[i].traits;
	}
	return 0;
}

uint32_t gp__cl_traits(const struct gp__cl_tokens_range *r, bool is_macro)
{
	uint32_t traits = 0;

	for (const struct gp__token *t = r->from; t < r->to; t++)
		traits |= traits_of_token(t, r, is_macro);
	return traits;
}
