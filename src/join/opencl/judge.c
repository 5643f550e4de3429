// SPDX-License-Identifier: MIT
/* Decides which kernels of a parsed source may be guarded, and where their loops are left. */
#include "join/opencl/parsed.h"

#include <string.h>

/*
 * Reach: what a kernel may execute
 */

/* Adds the definitions named in @from to *@pending, and returns their traits. */
static uint32_t reach(struct gp__cl_parsed *s, const struct gp__cl_tokens_range *from,
		      struct gp__cl_definition **pending, size_t visitor)
{
	uint32_t traits = 0;

	for (const struct gp__token *t = from->from; t < from->to; t++) {
		struct gp__cl_definition *d =
			t->kind == GP__TOKEN_NAME ? gp__cl_parsed_find(s, t) : NULL;

		if (!d || d->visited == visitor)
			continue;
		d->visited = visitor;
		d->pending = *pending;
		*pending = d;
		traits |= d->traits;
	}
	return traits;
}

static uint32_t reach_all(struct gp__cl_parsed *s, const struct gp__cl_parsed_kernel *k,
			  size_t visitor)
{
	const struct gp__token *options = s->options.list;
	const struct gp__cl_tokens_range name = { k->name, k->name + 1, NULL };
	const struct gp__cl_tokens_range given = { options, options + s->options.n, NULL };
	struct gp__cl_definition *pending = NULL;
	uint32_t traits = reach(s, &name, &pending, visitor);

	/* Macros of the command line may stand for anything. */
	traits |= reach(s, &given, &pending, visitor) | gp__cl_traits(&given, true);
	while (pending) {
		const struct gp__cl_definition *d = pending;

		pending = d->pending;
		for (const struct gp__cl_tokens_range *r = d->ranges; r; r = r->next)
			traits |= reach(s, r, &pending, visitor);
	}
	return traits & GP__CL_PASTES ? traits | s->traits : traits;
}

static size_t count(const struct gp__tokens *tokens, const struct gp__token *name)
{
	size_t n = 0;

	for (size_t i = 0; i < tokens->n; i++)
		n += tokens->list[i].kind == GP__TOKEN_NAME && tokens->list[i].n == name->n &&
		     !memcmp(tokens->list[i].at, name->at, name->n);
	return n;
}

static bool is_named_elsewhere(const struct gp__cl_parsed *s, const struct gp__cl_parsed_kernel *k)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nr_kernels; i++)
		n += s->kernels[i].name->n == k->name->n &&
		     !memcmp(s->kernels[i].name->at, k->name->at, k->name->n);
	return count(&s->all, k->name) != n || count(&s->options, k->name);
}

/*
 * Loops
 */

/* Whether a loop's body begins at the brace. */
static bool begins_loop(const struct gp__token *brace, const struct gp__token *from)
{
	const struct gp__token *before = brace - 1;

	if (gp__token_is(before, "do"))
		return true;
	if (gp__token_is_mark(before, ')'))
		before = gp__token_before_parentheses(before, from);
	return before && (gp__token_is(before, "for") || gp__token_is(before, "while"));
}

static const struct gp__token *next_loop(const struct gp__cl_parsed_kernel *k,
					 const struct gp__token *t, const struct gp__token *end)
{
	while (t < end && !(gp__token_is_mark(t, '{') && begins_loop(t, k->body)))
		t++;
	return t;
}

static bool is_inside_a_loop(const struct gp__cl_parsed_kernel *k, const struct gp__token *brace,
			     const struct gp__token *end)
{
	const struct gp__token *t = next_loop(k, k->body + 1, end);

	while (t < brace && gp__token_partner(t, end) < brace)
		t = next_loop(k, t + 1, end);
	return t < brace;
}

/* Not the innermost of nested loops, which are short. */
const struct gp__token *gp__cl_next_drop(const struct gp__cl_parsed_kernel *k,
					 const struct gp__token *t, const struct gp__token *end)
{
	for (t = next_loop(k, t, end); t < end; t = next_loop(k, t + 1, end)) {
		const struct gp__token *close = gp__token_partner(t, end);

		if (next_loop(k, t + 1, close) < close || !is_inside_a_loop(k, t, end))
			break;
	}
	return t;
}

static bool has_drops(const struct gp__cl_parsed *s, const struct gp__cl_parsed_kernel *k)
{
	const struct gp__token *end = gp__token_partner(k->body, s->code.list + s->code.n);

	return gp__cl_next_drop(k, k->body + 1, end) < end;
}

/*
 * Verdicts
 */

static void judge(struct gp__cl_parsed *s, size_t i)
{
	struct gp__cl_parsed_kernel *k = &s->kernels[i];
	uint32_t traits = reach_all(s, k, i + 1);

	k->drops = s->idempotent && !(traits & (GP__CL_SYNCS | GP__CL_PASTES)) && has_drops(s, k);
	if (k->why)
		return;
	if (s->why)
		k->why = s->why;
	else if (traits & GP__CL_ENQUEUES)
		k->why = GP__WIRE_ENQUEUES;
	else if (traits & GP__CL_SHARES)
		k->why = GP__WIRE_SHARES;
	else if (traits & GP__CL_LOOPS && traits & GP__CL_SEES_OTHERS)
		k->why = GP__WIRE_WAITS;
	else if (is_named_elsewhere(s, k))
		k->why = GP__WIRE_CALLED;
}

void gp__cl_judge(struct gp__cl_parsed *s)
{
	for (size_t i = 0; i < s->nr_kernels; i++)
		judge(s, i);
}
