// SPDX-License-Identifier: MIT
#include "join/opencl/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "join/opencl/tokens.h"

/* In one line, so that the program's own lines keep their numbers. */
#define PARAMETERS "__global volatile const uint *gp__held, __global volatile uint *gp__block"
#define LEFT                                                                                \
	" __global volatile uchar *gp__left = (__global volatile uchar *)(gp__block + 2) +" \
	" get_group_id(0) + get_num_groups(0) *"                                            \
	" (get_group_id(1) + get_num_groups(1) * get_group_id(2));"
#define IF_FIRST " if (get_local_id(0) == 0 && get_local_id(1) == 0 && get_local_id(2) == 0) {"
#define GUARD                                                                                    \
	" __local uint gp__ends;" IF_FIRST LEFT " if (gp__block[1] && !*gp__left) gp__ends = 1;" \
	" else if (*gp__held) { *gp__left = 1; gp__block[0] = 1; gp__ends = 1; }"                \
	" else { if (gp__block[1]) *gp__left = 0; gp__ends = 0; }"                               \
	" } barrier(CLK_LOCAL_MEM_FENCE); if (gp__ends) return;"
/* What was dropped once is not dropped again (2). */
#define DROPPING_GUARD                                                                  \
	" __local uint gp__ends; uint gp__turn = 0;" LEFT IF_FIRST                      \
	" if (gp__block[1] && !*gp__left) gp__ends = 1;"                                \
	" else if (*gp__held) { if (!*gp__left) *gp__left = 1; gp__block[0] = 1;"       \
	" gp__ends = 1; }"                                                              \
	" else { gp__ends = *gp__left == 2 ? 2 : 0; if (gp__block[1]) *gp__left = 0; }" \
	" } barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); if (gp__ends == 1) return;"
/* Not in every turn: it is memory that is shared with the host. */
#define DROP                                                  \
	" if (!(++gp__turn & 15u) && !gp__ends && *gp__held)" \
	" { *gp__left = 2; gp__block[0] = 1; return; }"

/* What a piece of text has in it. */
enum trait {
	LOOPS = 1 << 0,
	SEES_OTHERS = 1 << 1, /* memory that other work-groups write meanwhile */
	SHARES = 1 << 2,
	ENQUEUES = 1 << 3,
	PASTES = 1 << 4, /* names that are nowhere in the text */
	IS_GLOBAL = 1 << 5,
	SYNCS = 1 << 6, /* items that wait for one another, or a block that is left by itself */
};

static const struct {
	const char *name;
	uint32_t traits;
} words[] = {
	{ "for", LOOPS },
	{ "while", LOOPS },
	{ "do", LOOPS },
	{ "goto", LOOPS },
	{ "volatile", SEES_OTHERS },
	{ "__volatile", SEES_OTHERS },
	{ "__volatile__", SEES_OTHERS },
	{ "mem_fence", SEES_OTHERS },
	{ "read_mem_fence", SEES_OTHERS },
	{ "write_mem_fence", SEES_OTHERS },
	{ "CLK_GLOBAL_MEM_FENCE", SEES_OTHERS },
	{ "CLK_IMAGE_MEM_FENCE", SEES_OTHERS },
	{ "asm", SEES_OTHERS | LOOPS },
	{ "__asm", SEES_OTHERS | LOOPS },
	{ "__asm__", SEES_OTHERS | LOOPS },
	{ "static", SHARES }, /* inside of a function */
	{ "pipe", SHARES },
	{ "__pipe", SHARES },
	{ "enqueue_kernel", ENQUEUES },
	{ "enqueue_marker", ENQUEUES },
	{ "get_default_queue", ENQUEUES },
	{ "queue_t", ENQUEUES },
	{ "wait_group_events", SYNCS },
	{ "global", IS_GLOBAL },
	{ "__global", IS_GLOBAL },
};

/* Whoever makes macros of these changes the guard, or hides a kernel. */
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

/* Tokens that belong to a name: a function's parameters and body, or what a macro stands for. */
struct range {
	const struct gp__token *from, *to;
	struct range *next;
};

struct definition {
	UT_hash_handle hh; /* by the name */
	struct range *ranges; /* several in branches of #if */
	uint32_t traits;
	bool is_macro;
	size_t visited; /* the latest kernel that has come here */
	struct definition *pending; /* another one that it has yet to go through */
};

struct kernel {
	const struct gp__token *name, *open, *close, *body; /* parentheses, and the brace */
	enum gp__wire_why why;
	bool drops;
};

struct source {
	struct gp__tokens all, code; /* code: without directives */
	struct gp__tokens options;
	struct definition *definitions;
	struct kernel *kernels;
	size_t nr_kernels;
	uint32_t traits; /* of everything */
	enum gp__wire_why why; /* no kernel is guarded */
	bool idempotent, no_memory;
};

/*
 * Small questions
 */

static bool is_among(const struct gp__token *t, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (gp__token_is(t, list[i]))
			return true;
	}
	return false;
}

#define IS_AMONG(t, list) is_among(t, list, sizeof(list) / sizeof((list)[0]))

static bool begins_with(const struct gp__token *t, const char *prefix)
{
	return t->n >= strlen(prefix) && !memcmp(t->at, prefix, strlen(prefix));
}

/* The partner of the bracket at @t; @end: there is none. */
static const struct gp__token *partner_of(const struct gp__token *t, const struct gp__token *end)
{
	char opens = *t->at, closes = opens == '(' ? ')' : '}';
	size_t depth = 0;

	for (; t < end; t++) {
		if (gp__token_is_mark(t, opens))
			depth++;
		else if (gp__token_is_mark(t, closes) && !--depth)
			return t;
	}
	return end;
}

static bool is_attribute(const struct gp__token *t)
{
	return gp__token_is(t, "__attribute__") || gp__token_is(t, "__attribute");
}

/*
 * What is in a range
 */

/* What is before the parentheses that end at @t; NULL: nothing. */
static const struct gp__token *before_parentheses(const struct gp__token *t,
						  const struct gp__token *from)
{
	size_t depth = 0;

	for (; t > from; t--) {
		if (gp__token_is_mark(t, ')'))
			depth++;
		else if (gp__token_is_mark(t, '(') && !--depth)
			return t - 1;
	}
	return NULL;
}

/* Whether what begins at @t is a statement, behind which nobody can look at a value. */
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
	t = before_parentheses(t, from);
	return t && IS_AMONG(t, before);
}

/* An atomic operation whose result nobody looks at is none that waits. */
static bool looks_at_atomic(const struct gp__token *t, const struct range *r, bool is_macro)
{
	const struct gp__token *close;

	if (!begins_with(t, "atomic_") && !begins_with(t, "atom_"))
		return false;
	if (is_macro || t + 1 >= r->to || !gp__token_is_mark(t + 1, '('))
		return true;
	close = partner_of(t + 1, r->to);
	return close + 1 >= r->to || !gp__token_is_mark(close + 1, ';') ||
	       !begins_statement(t, r->from);
}

static bool has(const struct gp__token *t, const char *part)
{
	return memmem(t->at, t->n, part, strlen(part));
}

/* A function by which items wait for one another, or may. */
static bool is_of_group(const struct gp__token *t)
{
	return has(t, "work_group_") || has(t, "sub_group_") || has(t, "barrier") ||
	       has(t, "Barrier") || begins_with(t, "__builtin_") || begins_with(t, "__spirv_");
}

/* ^{ }, ^(int x) { } or ^int (int x) { }: where a return is the block's. */
static bool is_block(const struct gp__token *t, const struct gp__token *to)
{
	for (t++; t < to && (t->kind == GP__TOKEN_NAME || gp__token_is_mark(t, '*')); t++)
		;
	if (t < to && gp__token_is_mark(t, '('))
		t = partner_of(t, to);
	if (t < to && gp__token_is_mark(t, ')'))
		t++;
	return t < to && gp__token_is_mark(t, '{');
}

static uint32_t traits_of_token(const struct gp__token *t, const struct range *r, bool is_macro)
{
	if (gp__token_is_mark(t, '^'))
		return is_block(t, r->to) ? SYNCS : 0;
	if (t->kind == GP__TOKEN_MARK)
		return *t->at == '#' && t + 1 < r->to && gp__token_is_mark(t + 1, '#') ? PASTES : 0;
	if (t->kind != GP__TOKEN_NAME)
		return 0;
	if (looks_at_atomic(t, r, is_macro))
		return SEES_OTHERS;
	if (t->n > 5 && !memcmp(t->at + t->n - 5, "_pipe", 5))
		return SHARES;
	if (is_of_group(t))
		return SYNCS;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (gp__token_is(t, words[i].name))
			return words[i].traits;
	}
	return 0;
}

static uint32_t traits_of(const struct range *r, bool is_macro)
{
	uint32_t traits = 0;

	for (const struct gp__token *t = r->from; t < r->to; t++)
		traits |= traits_of_token(t, r, is_macro);
	return traits;
}

static struct definition *find(struct source *s, const struct gp__token *name)
{
	struct definition *d;

	HASH_FIND(hh, s->definitions, name->at, name->n, d);
	return d;
}

static void define(struct source *s, const struct gp__token *name, const struct gp__token *from,
		   const struct gp__token *to, bool is_macro)
{
	struct range *r = malloc(sizeof(*r));
	struct definition *d = find(s, name);

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
	*r = (struct range){ from, to, d->ranges };
	d->ranges = r;
	d->is_macro |= is_macro;
	d->traits |= traits_of(r, is_macro);
	s->traits |= d->traits;
}

/*
 * Directives
 */

#define DEPTH_MAX 64

struct branches {
	long depth; /* of brackets */
	long at[DEPTH_MAX]; /* where each #if is that is open */
	size_t n;
};

static void refuse(struct source *s, enum gp__wire_why why)
{
	if (!s->why)
		s->why = why;
}

/* Brackets are as deep behind each branch as before it, so all of them can be read as one text. */
static void follow_branch(struct source *s, struct branches *b, const struct gp__token *word)
{
	if (begins_with(word, "if")) {
		if (b->n < DEPTH_MAX)
			b->at[b->n++] = b->depth;
		else
			refuse(s, GP__WIRE_UNSEEN);
	} else if (begins_with(word, "el") || gp__token_is(word, "endif")) {
		if (!b->n || b->at[b->n - 1] != b->depth)
			refuse(s, GP__WIRE_UNSEEN);
		else if (gp__token_is(word, "endif"))
			b->n--;
	}
}

/* From # to what is behind its line. */
static void read_directive(struct source *s, struct branches *b, const struct gp__token *from,
			   const struct gp__token *to)
{
	const struct gp__token *word = from + 1, *name = from + 2;

	if (word >= to)
		return;
	follow_branch(s, b, word);
	/* What the file has in it is not seen. */
	if (begins_with(word, "include") || gp__token_is(word, "import"))
		refuse(s, GP__WIRE_UNSEEN);
	if (!gp__token_is(word, "define") || name >= to)
		return;
	if (IS_AMONG(name, reserved) || begins_with(name, "gp__"))
		refuse(s, GP__WIRE_UNSEEN);
	define(s, name, name + 1, to, true);
}

static void add_code(struct source *s, const struct gp__token *t)
{
	s->code.list[s->code.n++] = *t;
}

static long depth_of(const struct gp__token *t)
{
	if (gp__token_is_mark(t, '(') || gp__token_is_mark(t, '{'))
		return 1;
	return gp__token_is_mark(t, ')') || gp__token_is_mark(t, '}') ? -1 : 0;
}

static void split(struct source *s)
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
			b.depth += depth_of(t);
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

/* What is read at the moment. */
struct item {
	const struct gp__token *from; /* its first */
	const struct gp__token *open, *close; /* the latest parentheses, not of an attribute */
	const struct gp__token *last; /* before where we are, not of an attribute; NULL: none */
	bool is_kernel, is_constant, is_typedef, is_global, is_assigned;
	bool is_strange; /* an attribute is */
};

static void note_word(struct source *s, struct item *item, const struct gp__token *t)
{
	const struct definition *d = find(s, t);

	item->is_kernel |= gp__token_is(t, "kernel") || gp__token_is(t, "__kernel");
	item->is_constant |= gp__token_is(t, "constant") || gp__token_is(t, "__constant");
	item->is_typedef |= gp__token_is(t, "typedef");
	item->is_global |= gp__token_is(t, "global") || gp__token_is(t, "__global") ||
			   (d && d->is_macro && d->traits & IS_GLOBAL);
}

/* ((this, that(1))): what is behind it. */
static const struct gp__token *read_attribute(struct item *item, const struct gp__token *t,
					      const struct gp__token *end)
{
	const struct gp__token *close;

	if (++t == end || !gp__token_is_mark(t, '('))
		return t;
	close = partner_of(t, end);
	for (int depth = 0; t < close; t++) {
		depth += (int)depth_of(t);
		if (depth == 2 && t->kind == GP__TOKEN_NAME && !IS_AMONG(t, known_attributes))
			item->is_strange = true;
	}
	return close < end ? close + 1 : end;
}

static bool add_kernel(struct source *s, const struct item *item, const struct gp__token *body)
{
	struct kernel *list = realloc(s->kernels, (s->nr_kernels + 1) * sizeof(*list));

	if (!list)
		return false;
	s->kernels = list;
	list[s->nr_kernels++] =
		(struct kernel){ .name = item->open - 1,
				 .open = item->open,
				 .close = item->close,
				 .body = body,
				 .why = item->is_strange ? GP__WIRE_STRANGE : GP__WIRE_GUARDED };
	return true;
}

static void end_function(struct source *s, const struct item *item, const struct gp__token *body,
			 const struct gp__token *end)
{
	const struct gp__token *name = item->open - 1;

	if (name < item->from || name->kind != GP__TOKEN_NAME)
		return;
	define(s, name, item->open, end, false);
	/* Anything but void is a macro's doing. */
	if (item->is_kernel && name > item->from && gp__token_is(name - 1, "void") &&
	    !add_kernel(s, item, body))
		s->no_memory = true;
}

/* Variables are another's in the guarded program. */
static void end_declaration(struct source *s, const struct item *item)
{
	static const char *const tagged[] = { "struct", "union", "enum" };
	bool is_type = item->is_typedef || !item->last || item->last == item->from ||
		       gp__token_is_mark(item->last, '}') ||
		       (item->last == item->from + 1 && IS_AMONG(item->from, tagged));
	bool is_function = item->open && !item->is_global;

	if (!item->is_constant && (item->is_assigned || (!is_type && !is_function)))
		refuse(s, GP__WIRE_SHARES);
}

/* Behind it. */
static const struct gp__token *read_item(struct source *s, const struct gp__token *t,
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
			t = partner_of(t, end);
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
	/* A macro that ends without a semicolon, perhaps; or brackets that are no pairs. */
	if (item.from < end && (!item.last || !gp__token_is_mark(item.last, ')')))
		refuse(s, GP__WIRE_UNSEEN);
	return end;
}

static void read_items(struct source *s)
{
	const struct gp__token *t = s->code.list, *end = t + s->code.n;

	while (t < end && !s->no_memory)
		t = read_item(s, t, end);
}

/*
 * Verdicts
 */

/* Those of @from, and of all that is named there, and so on. */
static uint32_t reach(struct source *s, const struct range *from, struct definition **pending,
		      size_t visitor)
{
	uint32_t traits = 0;

	for (const struct gp__token *t = from->from; t < from->to; t++) {
		struct definition *d = t->kind == GP__TOKEN_NAME ? find(s, t) : NULL;

		if (!d || d->visited == visitor)
			continue;
		d->visited = visitor;
		d->pending = *pending;
		*pending = d;
		traits |= d->traits;
	}
	return traits;
}

static uint32_t reach_all(struct source *s, const struct kernel *k, size_t visitor)
{
	const struct gp__token *options = s->options.list;
	const struct range name = { k->name, k->name + 1, NULL };
	const struct range given = { options, options + s->options.n, NULL };
	struct definition *pending = NULL;
	uint32_t traits = reach(s, &name, &pending, visitor);

	/* What is defined there may stand for anything. */
	traits |= reach(s, &given, &pending, visitor) | traits_of(&given, true);
	while (pending) {
		const struct definition *d = pending;

		pending = d->pending;
		for (const struct range *r = d->ranges; r; r = r->next)
			traits |= reach(s, r, &pending, visitor);
	}
	return traits & PASTES ? traits | s->traits : traits;
}

static size_t count(const struct gp__tokens *tokens, const struct gp__token *name)
{
	size_t n = 0;

	for (size_t i = 0; i < tokens->n; i++)
		n += tokens->list[i].kind == GP__TOKEN_NAME && tokens->list[i].n == name->n &&
		     !memcmp(tokens->list[i].at, name->at, name->n);
	return n;
}

static bool is_named_elsewhere(const struct source *s, const struct kernel *k)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nr_kernels; i++)
		n += s->kernels[i].name->n == k->name->n &&
		     !memcmp(s->kernels[i].name->at, k->name->at, k->name->n);
	return count(&s->all, k->name) != n || count(&s->options, k->name);
}

/* At the brace of a loop's body. */
static bool begins_loop(const struct gp__token *brace, const struct gp__token *from)
{
	const struct gp__token *before = brace - 1;

	if (gp__token_is(before, "do"))
		return true;
	if (gp__token_is_mark(before, ')'))
		before = before_parentheses(before, from);
	return before && (gp__token_is(before, "for") || gp__token_is(before, "while"));
}

static const struct gp__token *next_loop(const struct kernel *k, const struct gp__token *t,
					 const struct gp__token *end)
{
	while (t < end && !(gp__token_is_mark(t, '{') && begins_loop(t, k->body)))
		t++;
	return t;
}

static bool is_inside_a_loop(const struct kernel *k, const struct gp__token *brace,
			     const struct gp__token *end)
{
	const struct gp__token *t = next_loop(k, k->body + 1, end);

	while (t < brace && partner_of(t, end) < brace)
		t = next_loop(k, t + 1, end);
	return t < brace;
}

/* The brace of a loop that is left where the kernel is held: not the innermost of several. */
static const struct gp__token *next_drop(const struct kernel *k, const struct gp__token *t,
					 const struct gp__token *end)
{
	for (t = next_loop(k, t, end); t < end; t = next_loop(k, t + 1, end)) {
		const struct gp__token *close = partner_of(t, end);

		if (next_loop(k, t + 1, close) < close || !is_inside_a_loop(k, t, end))
			break;
	}
	return t;
}

static bool has_drops(const struct source *s, const struct kernel *k)
{
	const struct gp__token *end = partner_of(k->body, s->code.list + s->code.n);

	return next_drop(k, k->body + 1, end) < end;
}

static void judge(struct source *s, size_t i)
{
	struct kernel *k = &s->kernels[i];
	uint32_t traits = reach_all(s, k, i + 1);

	k->drops = s->idempotent && !(traits & (SYNCS | PASTES)) && has_drops(s, k);
	if (k->why)
		return;
	if (s->why)
		k->why = s->why;
	else if (traits & ENQUEUES)
		k->why = GP__WIRE_ENQUEUES;
	else if (traits & SHARES)
		k->why = GP__WIRE_SHARES;
	else if (traits & LOOPS && traits & SEES_OTHERS)
		k->why = GP__WIRE_WAITS;
	else if (is_named_elsewhere(s, k))
		k->why = GP__WIRE_CALLED;
}

/* At the word behind the dash. */
static void read_option(struct source *s, const struct gp__token *t)
{
	const struct gp__token *end = s->options.list + s->options.n;
	struct gp__token name = { t->at + 1, t->n - 1, 0, GP__TOKEN_NAME };

	if (gp__token_is(t, "include"))
		refuse(s, GP__WIRE_UNSEEN);
	if (!begins_with(t, "D"))
		return;
	if (!name.n && t + 1 < end)
		name = t[1];
	if (IS_AMONG(&name, reserved) || begins_with(&name, "gp__"))
		refuse(s, GP__WIRE_UNSEEN);
}

/* Quotes are the command line's here. */
static int read_options(struct source *s, const char *options, char **text)
{
	if (strstr(options, "CLC++"))
		refuse(s, GP__WIRE_UNSEEN); /* another language */
	*text = strdup(options);
	if (!*text)
		return -ENOMEM;
	for (char *c = *text; *c; c++)
		*c = *c == '"' || *c == '\'' || *c == '#' ? ' ' : *c;
	if (gp__tokens_read(&s->options, *text, strlen(*text)))
		return -ENOMEM;
	for (size_t i = 1; i < s->options.n; i++) {
		if (gp__token_is_mark(&s->options.list[i - 1], '-'))
			read_option(s, &s->options.list[i]);
	}
	return 0;
}

/*
 * The guarded text
 */

struct writer {
	char *text;
	size_t n;
	const char *done; /* of the source */
};

static void write(struct writer *w, const char *text, size_t n)
{
	memcpy(w->text + w->n, text, n);
	w->n += n;
}

static void insert(struct writer *w, const char *at, const char *text)
{
	write(w, w->done, (size_t)(at - w->done));
	write(w, text, strlen(text));
	w->done = at;
}

static void write_kernel(struct writer *w, const struct kernel *k)
{
	const struct gp__token *first = k->open + 1;

	if (first == k->close) {
		insert(w, k->close->at, PARAMETERS);
	} else if (first + 1 == k->close && gp__token_is(first, "void")) {
		insert(w, first->at, PARAMETERS);
		w->done = first->at + first->n;
	} else {
		insert(w, k->close->at, ", " PARAMETERS);
	}
	insert(w, k->body->at + 1, k->drops ? DROPPING_GUARD : GUARD);
}

static void write_drops(const struct source *s, struct writer *w, const struct kernel *k)
{
	const struct gp__token *end = partner_of(k->body, s->code.list + s->code.n);

	for (const struct gp__token *t = k->body; (t = next_drop(k, t + 1, end)) < end;)
		insert(w, t->at + 1, DROP);
}

/* How much longer the text becomes at most. */
static size_t room_for_guards(const struct source *s)
{
	size_t room = 0;

	for (size_t i = 0; i < s->nr_kernels; i++)
		room += sizeof(", " PARAMETERS) + sizeof(DROPPING_GUARD);
	for (size_t i = 0; s->idempotent && i < s->code.n; i++)
		room += gp__token_is_mark(&s->code.list[i], '{') ? sizeof(DROP) : 0;
	return room;
}

static int write_text(const struct source *s, const char *text, size_t size,
		      struct gp__cl_guarded *g)
{
	struct writer w = { .done = text };
	size_t nr_guarded = 0;

	for (size_t i = 0; i < s->nr_kernels; i++)
		nr_guarded += s->kernels[i].why == GP__WIRE_GUARDED;
	if (!nr_guarded)
		return 0;
	w.text = malloc(size + room_for_guards(s) + 1);
	if (!w.text)
		return -ENOMEM;
	for (size_t i = 0; i < s->nr_kernels; i++) {
		if (s->kernels[i].why)
			continue;
		write_kernel(&w, &s->kernels[i]);
		if (s->kernels[i].drops)
			write_drops(s, &w, &s->kernels[i]);
	}
	insert(&w, text + size, "");
	w.text[w.n] = '\0';
	g->text = w.text;
	g->size = w.n;
	return 0;
}

static int list_kernels(const struct source *s, struct gp__cl_guarded *g)
{
	g->kernels = calloc(s->nr_kernels + 1, sizeof(*g->kernels));
	if (!g->kernels)
		return -ENOMEM;
	for (; g->nr_kernels < s->nr_kernels; g->nr_kernels++) {
		const struct kernel *k = &s->kernels[g->nr_kernels];

		g->kernels[g->nr_kernels].why = k->why;
		g->kernels[g->nr_kernels].drops = !k->why && k->drops;
		g->kernels[g->nr_kernels].name = strndup(k->name->at, k->name->n);
		if (!g->kernels[g->nr_kernels].name)
			return -ENOMEM;
	}
	return 0;
}

static void forget(struct source *s, struct definition *d)
{
	struct range *r = d->ranges, *next;

	for (; r; r = next) {
		next = r->next;
		free(r);
	}
	HASH_DEL(s->definitions, d);
	free(d);
}

static void put_away(struct source *s)
{
	struct definition *d, *next;

	HASH_ITER (hh, s->definitions, d, next)
		forget(s, d);
	free(s->kernels);
	gp__tokens_free(&s->all);
	gp__tokens_free(&s->code);
	gp__tokens_free(&s->options);
}

static int read_source(struct source *s, const char *text, size_t size, const char *options,
		       char **options_text)
{
	if (gp__tokens_read(&s->all, text, size) || read_options(s, options, options_text))
		return -ENOMEM;
	split(s);
	if (!s->no_memory)
		read_items(s);
	for (size_t i = 0; i < s->nr_kernels && !s->no_memory; i++)
		judge(s, i);
	return s->no_memory ? -ENOMEM : 0;
}

int gp__cl_guard_source(const char *text, size_t size, const char *options, bool idempotent,
			struct gp__cl_guarded *g)
{
	struct source s = { .idempotent = idempotent };
	char *options_text = NULL;
	int err = read_source(&s, text, size, options, &options_text);

	memset(g, 0, sizeof(*g));
	if (!err)
		err = list_kernels(&s, g);
	if (!err)
		err = write_text(&s, text, size, g);
	put_away(&s);
	free(options_text);
	if (err)
		gp__cl_guarded_free(g);
	return err;
}

void gp__cl_guarded_free(struct gp__cl_guarded *g)
{
	for (size_t i = 0; i < g->nr_kernels; i++)
		free(g->kernels[i].name);
	free(g->kernels);
	free(g->text);
	memset(g, 0, sizeof(*g));
}

enum gp__wire_why gp__cl_guarded_why(const struct gp__cl_guarded *g, const char *kernel)
{
	enum gp__wire_why why = GP__WIRE_UNSEEN;

	for (size_t i = 0; i < g->nr_kernels; i++) {
		if (strcmp(g->kernels[i].name, kernel))
			continue;
		why = g->kernels[i].why;
		if (why)
			break;
	}
	return why;
}

bool gp__cl_guarded_drops(const struct gp__cl_guarded *g, const char *kernel)
{
	for (size_t i = 0; i < g->nr_kernels; i++) {
		if (!strcmp(g->kernels[i].name, kernel))
			return g->kernels[i].drops;
	}
	return false;
}
