// SPDX-License-Identifier: MIT
#include "join/opencl/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "join/opencl/parsed.h"

/* All insertions are within a line, so that the program's lines keep their numbers. */
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
/* A work-group that was dropped once (2) is not dropped again. */
#define DROPPING_GUARD                                                                  \
	" __local uint gp__ends; uint gp__turn = 0;" LEFT IF_FIRST                      \
	" if (gp__block[1] && !*gp__left) gp__ends = 1;"                                \
	" else if (*gp__held) { if (!*gp__left) *gp__left = 1; gp__block[0] = 1;"       \
	" gp__ends = 1; }"                                                              \
	" else { gp__ends = *gp__left == 2 ? 2 : 0; if (gp__block[1]) *gp__left = 0; }" \
	" } barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); if (gp__ends == 1) return;"
/* Not in every iteration: the memory is shared with the host, and slow. */
#define DROP                                                  \
	" if (!(++gp__turn & 15u) && !gp__ends && *gp__held)" \
	" { *gp__left = 2; gp__block[0] = 1; return; }"

/*
 * The guarded text
 */

struct writer {
	char *text;
	size_t n;
	const char *done; /* the source is written up to here */
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

static void write_kernel(struct writer *w, const struct gp__cl_parsed_kernel *k)
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

static void write_drops(const struct gp__cl_parsed *s, struct writer *w,
			const struct gp__cl_parsed_kernel *k)
{
	const struct gp__token *end = gp__token_partner(k->body, s->code.list + s->code.n);

	for (const struct gp__token *t = k->body; (t = gp__cl_next_drop(k, t + 1, end)) < end;)
		insert(w, t->at + 1, DROP);
}

/* The most that guards add to the text, in bytes. */
static size_t room_for_guards(const struct gp__cl_parsed *s)
{
	size_t room = 0;

	for (size_t i = 0; i < s->nr_kernels; i++)
		room += sizeof(", " PARAMETERS) + sizeof(DROPPING_GUARD);
	for (size_t i = 0; s->idempotent && i < s->code.n; i++)
		room += gp__token_is_mark(&s->code.list[i], '{') ? sizeof(DROP) : 0;
	return room;
}

static int write_text(const struct gp__cl_parsed *s, const char *text, size_t size,
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

static int list_kernels(const struct gp__cl_parsed *s, struct gp__cl_guarded *g)
{
	g->kernels = calloc(s->nr_kernels + 1, sizeof(*g->kernels));
	if (!g->kernels)
		return -ENOMEM;
	for (; g->nr_kernels < s->nr_kernels; g->nr_kernels++) {
		const struct gp__cl_parsed_kernel *k = &s->kernels[g->nr_kernels];

		g->kernels[g->nr_kernels].why = k->why;
		g->kernels[g->nr_kernels].drops = !k->why && k->drops;
		g->kernels[g->nr_kernels].name = strndup(k->name->at, k->name->n);
		if (!g->kernels[g->nr_kernels].name)
			return -ENOMEM;
	}
	return 0;
}

int gp__cl_guard_source(const char *text, size_t size, const char *options, bool idempotent,
			struct gp__cl_guarded *g)
{
	struct gp__cl_parsed s = { .idempotent = idempotent };
	int err = gp__cl_parse(&s, text, size, options);

	memset(g, 0, sizeof(*g));
	if (!err) {
		gp__cl_judge(&s);
		err = list_kernels(&s, g);
	}
	if (!err)
		err = write_text(&s, text, size, g);
	gp__cl_parsed_free(&s);
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
