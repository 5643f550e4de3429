// SPDX-License-Identifier: MIT
/* Finds the macros, functions, kernels and variables of an OpenCL source. */
#include "join/opencl/parsed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A macro with one of these names would change the guard, or hide a kernel. */
static const char *const reserved[] = {
	"kernel",
	"__kernel",
	"global",
	"__global",
	"local",
	"__local",
	"volatile",
	"const",
	"void",
	"uint",
	"uchar",
	"if",
	"else",
	"return",
	"barrier",
	"get_local_id",
	"get_group_id",
	"CLK_LOCAL_MEM_FENCE",
	"get_num_groups",
	"for",
	"while",
	"do",
	"CLK_GLOBAL_MEM_FENCE",
};

static const char *const known_attributes[] = {
	"reqd_work_group_size",
	"__reqd_work_group_size__",
	"work_group_size_hint",
	"__work_group_size_hint__",
	"vec_type_hint",
	"__vec_type_hint__",
	"intel_reqd_sub_group_size",
	"nosvm",
	"unused",
	"__unused__",
};

/*
 * Definitions
 */

struct gp__cl_definition *gp__cl_parsed_find(const struct gp__cl_parsed *s,
					     const struct gp__token *name)
{
	struct gp__cl_definition *d;

	HASH_FIND(hh, s->definitions, name->at, name->n, d);
	return d;
}

static void define(struct gp__cl_parsed *s, const struct gp__token *name,
		   const struct gp__token *from, const struct gp__token *to, bool is_macro)
{
	struct gp__cl_tokens_range *r = malloc(sizeof(*r));
	struct gp__cl_definition *d = gp__cl_parsed_find(s, name);

	if (r && !d) {
		d = calloc(1, sizeof(*d));
		if (d)
			HASH_ADD_KEYPTR(hh, s->definitions, name->at, name->n, d);
	}
	if (!r || !d) {
		free(r);
		s->no_memory = true;
		return;
	}
	*r = (struct gp__cl_tokens_range){ from, to, d->ranges };
	d->ranges = r;
	d->is_macro |= is_macro;
	d->traits |= gp__cl_traits(r, is_macro);
	s->traits |= d->traits;
}

/*
 * Directives
 */

#define DEPTH_MAX 64

struct branches {
	long depth; /* of brackets */
	long at[DEPTH_MAX]; /* the depth at each open #if */
	size_t n;
};

static void refuse(struct gp__cl_parsed *s, enum gp__wire_why why)
{
	if (!s->why)
		s->why = why;
}

/* Each branch must leave brackets as deep as before, so that all can be read as one text. */
static void follow_branch(struct gp__cl_parsed *s, struct branches *b, const struct gp__token *word)
{
	if (gp__token_begins(word, "if")) {
		if (b->n < DEPTH_MAX)
			b->at[b->n++] = b->depth;
		else
			refuse(s, GP__WIRE_UNSEEN);
	} else if (gp__token_begins(word, "el") || gp__token_is(word, "endif")) {
		if (!b->n || b->at[b->n - 1] != b->depth)
			refuse(s, GP__WIRE_UNSEEN);
		else if (gp__token_is(word, "endif"))
			b->n--;
	}
}

/* @from: its #. @to: behind its line. */
static void read_directive(struct gp__cl_parsed *s, struct branches *b,
			   const struct gp__token *from, const struct gp__token *to)
{
	const struct gp__token *word = from + 1, *name = from + 2;

	if (word >= to)
		return;
	follow_branch(s, b, word);
	/* The included file is not seen. */
	if (gp__token_begins(word, "include") || gp__token_is(word, "import"))
		refuse(s, GP__WIRE_UNSEEN);
	if (!gp__token_is(word, "define") || name >= to)
		return;
	if (GP__TOKEN_IS_AMONG(name, reserved) || gp__token_begins(name, "gp__"))
		refuse(s, GP__WIRE_UNSEEN);
	define(s, name, name + 1, to, true);
}

static void add_code(struct gp__cl_parsed *s, const struct gp__token *t)
{
	s->code.list[s->code.n++] = *t;
}

static void split(struct gp__cl_parsed *s)
{
	const struct gp__token *t = s->all.list, *end = t + s->all.n, *to;
	struct branches b = { 0 };

	s->code.list = malloc((s->all.n + 1) * sizeof(*t));
	if (!s->code.list) {
		s->no_memory = true;
		return;
	}
	for (; t < end; t = to) {
		to = t + 1;
		if (!t->directive) {
			b.depth += gp__token_depth(t);
			add_code(s, t);
			continue;
		}
		while (to < end && to->directive == t->directive)
			to++;
		read_directive(s, &b, t, to);
	}
	if (b.depth || b.n || s->all.odd)
		refuse(s, GP__WIRE_UNSEEN);
}

/*
 * Functions, and variables outside of them
 */

static bool is_attribute(const struct gp__token *t)
{
	return gp__token_is(t, "__attribute__") || gp__token_is(t, "__attribute");
}

/* The declaration or function that is being read. */
struct item {
	const struct gp__token *from; /* its first token */
	const struct gp__token *open, *close; /* the latest parentheses outside attributes */
	const struct gp__token *last; /* the latest token outside attributes; NULL: none */
	bool is_kernel, is_constant, is_typedef, is_global, is_assigned;
	bool is_strange; /* it has an unknown attribute */
};

static void note_word(struct gp__cl_parsed *s, struct item *item, const struct gp__token *t)
{
	const struct gp__cl_definition *d = gp__cl_parsed_find(s, t);

	item->is_kernel |= gp__token_is(t, "kernel") || gp__token_is(t, "__kernel");
	item->is_constant |= gp__token_is(t, "constant") || gp__token_is(t, "__constant");
	item->is_typedef |= gp__token_is(t, "typedef");
	item->is_global |= gp__token_is(t, "global") || gp__token_is(t, "__global") ||
			   (d && d->is_macro && d->traits & GP__CL_IS_GLOBAL);
}

/* ((this, that(1))): returns the token behind it. */
static const struct gp__token *read_attribute(struct item *item, const struct gp__token *t,
					      const struct gp__token *end)
{
	const struct gp__token *close;

	if (++t == end || !gp__token_is_mark(t, '('))
		return t;
	close = gp__token_partner(t, end);
	for (int depth = 0; t < close; t++) {
		depth += gp__token_depth(t);
		if (depth == 2 && t->kind == GP__TOKEN_NAME &&
		    !GP__TOKEN_IS_AMONG(t, known_attributes))
			item->is_strange = true;
	}
	return close < end ? close + 1 : end;
}

static bool add_kernel(struct gp__cl_parsed *s, const struct item *item,
		       const struct gp__token *body)
{
	struct gp__cl_parsed_kernel *list =
		realloc(s->kernels, (s->nr_kernels + 1) * sizeof(*list));

	if (!list)
		return false;
	s->kernels = list;
	list[s->nr_kernels++] =
		(struct gp__cl_parsed_kernel){ .name = item->open - 1,
					       .open = item->open,
					       .close = item->close,
					       .body = body,
					       .why = item->is_strange ? GP__WIRE_STRANGE
								       : GP__WIRE_GUARDED };
	return true;
}

static void end_function(struct gp__cl_parsed *s, const struct item *item,
			 const struct gp__token *body, const struct gp__token *end)
{
	const struct gp__token *name = item->open - 1;

	if (name < item->from || name->kind != GP__TOKEN_NAME)
		return;
	define(s, name, item->open, end, false);
	/* A kernel that does not return void comes from a macro. */
	if (item->is_kernel && name > item->from && gp__token_is(name - 1, "void") &&
	    !add_kernel(s, item, body))
		s->no_memory = true;
}

/* The guarded program would have variables of its own. */
static void end_declaration(struct gp__cl_parsed *s, const struct item *item)
{
	static const char *const tagged[] = { "struct", "union", "enum" };
	bool is_type = item->is_typedef || !item->last || item->last == item->from ||
		       gp__token_is_mark(item->last, '}') ||
		       (item->last == item->from + 1 && GP__TOKEN_IS_AMONG(item->from, tagged));
	bool is_function = item->open && !item->is_global;

	if (!item->is_constant && (item->is_assigned || (!is_type && !is_function)))
		refuse(s, GP__WIRE_SHARES);
}

/* Reads a declaration or function, and returns the token behind it. */
static const struct gp__token *read_item(struct gp__cl_parsed *s, const struct gp__token *t,
					 const struct gp__token *end)
{
	struct item item = { .from = t };

	while (t < end) {
		const struct gp__token *at = t;

		if (is_attribute(t)) {
			t = read_attribute(&item, t, end);
			continue;
		}
		if (gp__token_is_mark(t, ';')) {
			end_declaration(s, &item);
			return t + 1;
		}
		if (t->kind == GP__TOKEN_NAME)
			note_word(s, &item, t);
		item.is_assigned |= gp__token_is_mark(t, '=');
		if (gp__token_is_mark(t, '(') || gp__token_is_mark(t, '{'))
			t = gp__token_partner(t, end);
		if (t == end)
			break;
		if (gp__token_is_mark(at, '(')) {
			item.open = at;
			item.close = t;
		} else if (gp__token_is_mark(at, '{') && item.open && item.last == item.close) {
			end_function(s, &item, at, t + 1);
			return t + 1;
		}
		item.last = t++;
	}
	/* A macro without a semicolon is allowed here, unpaired brackets are not. */
	if (item.from < end && (!item.last || !gp__token_is_mark(item.last, ')')))
		refuse(s, GP__WIRE_UNSEEN);
	return end;
}

static void read_items(struct gp__cl_parsed *s)
{
	const struct gp__token *t = s->code.list, *end = t + s->code.n;

	while (t < end && !s->no_memory)
		t = read_item(s, t, end);
}

/*
 * Compiler options
 */

/* @t: the word behind the dash. */
static void read_option(struct gp__cl_parsed *s, const struct gp__token *t)
{
	const struct gp__token *end = s->options.list + s->options.n;
	struct gp__token name = { t->at + 1, t->n - 1, 0, GP__TOKEN_NAME };

	if (gp__token_is(t, "include"))
		refuse(s, GP__WIRE_UNSEEN);
	if (!gp__token_begins(t, "D"))
		return;
	if (!name.n && t + 1 < end)
		name = t[1];
	if (GP__TOKEN_IS_AMONG(&name, reserved) || gp__token_begins(&name, "gp__"))
		refuse(s, GP__WIRE_UNSEEN);
}

/* Quotes belong to the command line, not to C. */
static int read_options(struct gp__cl_parsed *s, const char *options)
{
	if (strstr(options, "CLC++"))
		refuse(s, GP__WIRE_UNSEEN); /* C++ for OpenCL is another language */
	s->options_text = strdup(options);
	if (!s->options_text)
		return -ENOMEM;
	for (char *c = s->options_text; *c; c++)
		*c = *c == '"' || *c == '\'' || *c == '#' ? ' ' : *c;
	if (gp__tokens_read(&s->options, s->options_text, strlen(s->options_text)))
		return -ENOMEM;
	for (size_t i = 1; i < s->options.n; i++) {
		if (gp__token_is_mark(&s->options.list[i - 1], '-'))
			read_option(s, &s->options.list[i]);
	}
	return 0;
}

/*
 * The whole
 */

static void forget(struct gp__cl_parsed *s, struct gp__cl_definition *d)
{
	struct gp__cl_tokens_range *r = d->ranges, *next;

	for (; r; r = next) {
		next = r->next;
		free(r);
	}
	HASH_DEL(s->definitions, d);
	free(d);
}

void gp__cl_parsed_free(struct gp__cl_parsed *s)
{
	struct gp__cl_definition *d, *next;

	HASH_ITER (hh, s->definitions, d, next)
		forget(s, d);
	free(s->kernels);
	gp__tokens_free(&s->all);
	gp__tokens_free(&s->code);
	gp__tokens_free(&s->options);
	free(s->options_text);
}

int gp__cl_parse(struct gp__cl_parsed *s, const char *text, size_t size, const char *options)
{
	if (gp__tokens_read(&s->all, text, size) || read_options(s, options))
		return -ENOMEM;
	split(s);
	if (!s->no_memory)
		read_items(s);
	return s->no_memory ? -ENOMEM : 0;
}
