/* SPDX-License-Identifier: MIT */
/*
 * The page of a report: one self-contained file, made from report.html by putting a document in the
 * place of a mark. gpreempt demo and gpreempt report write their pages with it.
 *
 * The document has the sentences, tables, distributions and spans that the page shows: title,
 * claim, lead, footer; warnings; stats; timeline, or null; cdf_title and cdfs; tables; notes. All
 * times are in milliseconds. `...` in a sentence is code.
 */
#ifndef GP_CLI_REPORT_PAGE_H
#define GP_CLI_REPORT_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* A document with empty lists. */
json_t *report_page_new(const char *title, const char *footer);
/* Writes the page and releases @page. 0 or -errno. */
int report_page_write(const char *path, json_t *page);

/* Text from a format, for a member of the document. */
GP__PRINTF(1, 2)
json_t *report_text(const char *fmt, ...);
/* Releases @value and @text. @was: an earlier value, or NULL. */
void report_add_stat(json_t *page, const char *was, json_t *value, bool bad, json_t *text);
void report_add_note(json_t *page, const char *term, const char *text);
void report_add_warning(json_t *page, json_t *text);

/* A table with the headings @head, of which the last is NULL; those in the bits of @left are for
 * text. Returns it, for rows; it stays the page's. */
json_t *report_add_table(json_t *page, const char *title, const char *about,
			 const char *const *head, unsigned int left);
/* Returns the row, for cells. @key: a colour, or NULL. */
json_t *report_add_row(json_t *table, const char *key, bool best);
void report_add_cell(json_t *row, json_t *text);
/* A duration; a negative one is not known. */
void report_add_time(json_t *row, double ns);
GP__PRINTF(2, 3)
void report_add_textf(json_t *row, const char *fmt, ...);

/* The curve of the values, of which at most about a thousand are kept. They are sorted. */
json_t *report_curve(const char *name, const char *color, const char *dash, bool best, double *ms,
		     size_t n);

/*
 * A layer of a lane in the timeline: spans of one kind, in the order of their times. Spans with a
 * smaller gap than @gap between them become one, which bounds their number.
 */
struct report_layer {
	json_t *at;
	uint64_t zero, end, gap; /* ns */
	uint64_t from, to; /* of the span being made; to 0: none */
	int word;
};

/* The gap for @lanes lanes: about what nobody can see on a page that shows everything. */
uint64_t report_gap(uint64_t length, size_t lanes);
void report_layer_begin(struct report_layer *l, uint64_t zero, uint64_t end, uint64_t gap);
/* @word: index of a sentence in the timeline's words; -1: none. */
void report_layer_add(struct report_layer *l, uint64_t from, uint64_t to, int word);
/* Returns the layer as JSON. */
json_t *report_layer_end(struct report_layer *l, const char *fill, double opacity);

#endif
