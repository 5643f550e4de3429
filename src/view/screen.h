/* SPDX-License-Identifier: MIT */
/*
 * A grid of characters with a style each, which is drawn independently of where it goes: a
 * terminal, a file or a test. Text that does not fit is cut off.
 */
#ifndef GP__VIEW_SCREEN_H
#define GP__VIEW_SCREEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <wchar.h>

#include "base/compiler.h"

enum gp__style {
	GP__STYLE_PLAIN,
	GP__STYLE_BOLD,
	GP__STYLE_DIM,
	GP__STYLE_HEAD, /* of a table */
	GP__STYLE_SELECTED,
	GP__STYLE_RUN,
	GP__STYLE_HELD,
	GP__STYLE_MIXED, /* ran for a part, and was held for another */
	GP__STYLE_WARN,
	GP__STYLES,
};

struct gp__cell {
	wchar_t c;
	uint8_t style;
};

struct gp__screen {
	uint32_t rows, cols;
	struct gp__cell *cells;
};

/* Makes a blank screen; also call it when the size changes. 0 or -ENOMEM. */
int gp__screen_resize(struct gp__screen *s, uint32_t rows, uint32_t cols);
void gp__screen_free(struct gp__screen *s);
void gp__screen_clear(struct gp__screen *s);

void gp__screen_put(struct gp__screen *s, uint32_t row, uint32_t col, enum gp__style style,
		    wchar_t c);
/* Draws text; a character that is not one column wide becomes '?'. Returns the next column. */
uint32_t gp__screen_text(struct gp__screen *s, uint32_t row, uint32_t col, enum gp__style style,
			 const char *text);
GP__PRINTF(5, 6)
uint32_t gp__screen_textf(struct gp__screen *s, uint32_t row, uint32_t col, enum gp__style style,
			  const char *fmt, ...);
/* Draws into a field of this width; right-aligned if it is negative. */
uint32_t gp__screen_field(struct gp__screen *s, uint32_t row, uint32_t col, int width,
			  enum gp__style style, const char *text);
void gp__screen_style_row(struct gp__screen *s, uint32_t row, enum gp__style style);

/* Prints the rows up to the last one with text, without trailing blanks. */
void gp__screen_print(const struct gp__screen *s, FILE *out);

#endif
