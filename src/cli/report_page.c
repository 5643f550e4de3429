// SPDX-License-Identifier: MIT
#include "cli/report_page.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"

#define MARK "@DATA@"
#define TEXT_MAX 1024
/* Gaps in a lane that are told apart, if it is the only one; and at least. */
#define GAPS 100000
#define GAPS_LEAST 2000
/* Points of a curve. */
#define POINTS 1000

/* report.html, as a string made by the build. */
extern const char report_page[];

json_t *report_page_new(const char *title, const char *footer)
{
	static const char *const lists[] = { "warnings", "stats", "cdfs", "tables", "notes" };
	json_t *page = json_object();

	json_object_set_new(page, "title", gp__json_text(title));
	json_object_set_new(page, "footer", gp__json_text(footer));
	json_object_set_new(page, "timeline", json_null());
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		json_object_set_new(page, lists[i], json_array());
	return page;
}

/* Escapes slashes, so that no text can end the script element. */
static int write_data(FILE *out, const json_t *page)
{
	return json_dumpf(page, out, JSON_COMPACT | JSON_ESCAPE_SLASH | JSON_REAL_PRECISION(9))
		       ? -EIO
		       : 0;
}

int report_page_write(const char *path, json_t *page)
{
	const char *mark = strstr(report_page, MARK);
	FILE *out = fopen(path, "we");
	int err = page ? 0 : -ENOMEM;

	if (!out) {
		json_decref(page);
		return -errno;
	}
	errno = 0;
	fwrite(report_page, 1, (size_t)(mark - report_page), out);
	if (!err)
		err = write_data(out, page);
	fputs(mark + strlen(MARK), out);
	if (ferror(out) && !err)
		err = errno ? -errno : -EIO;
	if (fclose(out) && !err)
		err = -errno;
	json_decref(page);
	return err;
}

/*
 * Sentences
 */

static json_t *text_of(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

static json_t *text_of(const char *fmt, va_list ap)
{
	char text[TEXT_MAX];

	vsnprintf(text, sizeof(text), fmt, ap);
	return gp__json_text(text);
}

json_t *report_text(const char *fmt, ...)
{
	va_list ap;
	json_t *text;

	va_start(ap, fmt);
	text = text_of(fmt, ap);
	va_end(ap);
	return text;
}

void report_add_stat(json_t *page, const char *was, json_t *value, bool bad, json_t *text)
{
	json_t *stat = json_object();

	if (was)
		json_object_set_new(stat, "was", gp__json_text(was));
	json_object_set_new(stat, "value", value);
	json_object_set_new(stat, "bad", json_boolean(bad));
	json_object_set_new(stat, "text", text);
	json_array_append_new(json_object_get(page, "stats"), stat);
}

void report_add_note(json_t *page, const char *term, const char *text)
{
	json_array_append_new(json_object_get(page, "notes"), json_pack("[s, s]", term, text));
}

void report_add_warning(json_t *page, json_t *text)
{
	json_array_append_new(json_object_get(page, "warnings"), text);
}

/*
 * Tables
 */

json_t *report_add_table(json_t *page, const char *title, const char *about,
			 const char *const *head, unsigned int left)
{
	json_t *table = json_object(), *heads = json_array(), *lefts = json_array();

	for (unsigned int i = 0; head[i]; i++) {
		json_array_append_new(heads, json_string(head[i]));
		if (left >> i & 1)
			json_array_append_new(lefts, json_integer(i));
	}
	json_object_set_new(table, "title", json_string(title));
	json_object_set_new(table, "about", json_string(about));
	json_object_set_new(table, "head", heads);
	json_object_set_new(table, "left", lefts);
	json_object_set_new(table, "rows", json_array());
	json_array_append_new(json_object_get(page, "tables"), table);
	return table;
}

json_t *report_add_row(json_t *table, const char *key, bool best)
{
	json_t *row = json_object();

	if (key)
		json_object_set_new(row, "key", json_string(key));
	json_object_set_new(row, "best", json_boolean(best));
	json_object_set_new(row, "cells", json_array());
	json_array_append_new(json_object_get(table, "rows"), row);
	return row;
}

void report_add_cell(json_t *row, json_t *text)
{
	json_array_append_new(json_object_get(row, "cells"), text);
}

void report_add_time(json_t *row, double ns)
{
	char text[32];

	report_add_textf(row, "%s",
			 ns < 0 ? "–" : gp__format_duration(text, sizeof(text), (uint64_t)ns));
}

void report_add_textf(json_t *row, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report_add_cell(row, text_of(fmt, ap));
	va_end(ap);
}

/*
 * Pictures
 */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

json_t *report_curve(const char *name, const char *color, const char *dash, bool best, double *ms,
		     size_t n)
{
	size_t points = n < POINTS ? n : POINTS;
	json_t *values = json_array();

	qsort(ms, n, sizeof(*ms), compare);
	/* The last of each part of equal size: shares of all stay what they are. */
	for (size_t i = 1; i <= points; i++)
		json_array_append_new(values, json_real(ms[(i * n + points - 1) / points - 1]));
	return json_pack("{s:o, s:s, s:s, s:b, s:o}", "name", gp__json_text(name), "color", color,
			 "dash", dash, "best", best, "values", values);
}

uint64_t report_gap(uint64_t length, size_t lanes)
{
	size_t gaps = GAPS / (lanes ? lanes : 1);

	return length / (gaps > GAPS_LEAST ? gaps : GAPS_LEAST);
}

void report_layer_begin(struct report_layer *l, uint64_t zero, uint64_t end, uint64_t gap)
{
	*l = (struct report_layer){ .at = json_array(), .zero = zero, .end = end, .gap = gap };
}

static double ms_since(uint64_t zero, uint64_t ns)
{
	return ((double)ns - (double)zero) / GP__MS;
}

static void flush(struct report_layer *l)
{
	json_t *span;

	if (!l->to || l->to <= l->zero || l->from >= l->end)
		return;
	span = json_pack("[f, f]", ms_since(l->zero, l->from), ms_since(l->zero, l->to));
	if (l->word >= 0)
		json_array_append_new(span, json_integer(l->word));
	json_array_append_new(l->at, span);
}

void report_layer_add(struct report_layer *l, uint64_t from, uint64_t to, int word)
{
	if (l->to && from < l->to + l->gap) {
		l->to = to > l->to ? to : l->to;
		l->word = l->word == word ? word : -1;
		return;
	}
	flush(l);
	l->from = from;
	l->to = to;
	l->word = word;
}

json_t *report_layer_end(struct report_layer *l, const char *fill, double opacity)
{
	flush(l);
	return json_pack("{s:s, s:f, s:o}", "fill", fill, "opacity", opacity, "at", l->at);
}
