// SPDX-License-Identifier: MIT
#include "base/table.h"

#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdarg.h>
#include <stdlib.h>

struct gp__table {
	struct libscols_table *table;
	struct libscols_line *row;
	size_t next_cell;
	bool color;
	int err;
};

static void note(struct gp__table *t, int err)
{
	if (err && !t->err)
		t->err = err;
}

static bool broken(const struct gp__table *t)
{
	return !t || t->err;
}

struct gp__table *gp__table_new(const struct gp__env *env)
{
	struct gp__table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->color = env->color;
	t->table = scols_new_table();
	if (!t->table) {
		t->err = -ENOMEM;
		return t;
	}
	note(t, scols_table_set_stream(t->table, env->out));
	note(t, scols_table_enable_noheadings(t->table, !env->headers));
	note(t, scols_table_enable_colors(t->table, env->color));
	return t;
}

void gp__table_column(struct gp__table *t, const char *name, enum gp__align align)
{
	int flags = align == GP__RIGHT ? SCOLS_FL_RIGHT : 0;
	struct libscols_column *column;

	if (broken(t))
		return;
	column = scols_table_new_column(t->table, name, 0, flags);
	if (!column)
		note(t, -ENOMEM);
	else if (t->color)
		note(t, scols_cell_set_color(scols_column_get_header(column), "bold"));
}

static void fill_row(struct gp__table *t)
{
	while (t->row && !t->err && t->next_cell < scols_table_get_ncols(t->table))
		gp__table_cell(t, NULL);
}

void gp__table_row(struct gp__table *t)
{
	if (broken(t))
		return;
	fill_row(t);
	t->row = scols_table_new_line(t->table, NULL);
	t->next_cell = 0;
	if (!t->row)
		note(t, -ENOMEM);
}

void gp__table_cell(struct gp__table *t, const char *text)
{
	if (broken(t))
		return;
	if (!t->row)
		note(t, -EINVAL);
	else
		note(t, scols_line_set_data(t->row, t->next_cell++, text && *text ? text : "-"));
}

void gp__table_cellf(struct gp__table *t, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gp__table_cell(t, text);
}

int gp__table_print(struct gp__table *t)
{
	int err;

	if (!t)
		return -ENOMEM;
	if (!t->err)
		fill_row(t);
	if (!t->err)
		note(t, scols_print_table(t->table));
	err = t->err;
	scols_unref_table(t->table);
	free(t);
	return err;
}
