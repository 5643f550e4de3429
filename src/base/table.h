/* SPDX-License-Identifier: MIT */
/*
 * A table for people over libsmartcols: columns as wide as they need to be,
 * numbers to the right, "-" where a value is unknown.
 *
 * A failure is remembered and returned by gp__table_print(), so that building a
 * table needs no checks. Programs read the JSON form instead.
 */
#ifndef GP_BASE_TABLE_H
#define GP_BASE_TABLE_H

#include "base/compiler.h"
#include "base/env.h"

enum gp__align {
	GP__LEFT,
	GP__RIGHT,
};

struct gp__table;

struct gp__table *gp__table_new(const struct gp__env *env);
void gp__table_column(struct gp__table *t, const char *name, enum gp__align align);
/* Starts a row; the cells that follow fill it from the left. */
void gp__table_row(struct gp__table *t);
/* The text is copied. NULL: unknown. */
void gp__table_cell(struct gp__table *t, const char *text);
GP__PRINTF(2, 3)
void gp__table_cellf(struct gp__table *t, const char *fmt, ...);
/* Prints to env->out and frees the table. 0 or a negative errno. */
int gp__table_print(struct gp__table *t);

#endif
