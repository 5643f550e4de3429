// SPDX-License-Identifier: MIT
#include "view/screen.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int gp__screen_resize(struct gp__screen *s, uint32_t rows, uint32_t cols)
{
	struct gp__cell *cells = calloc((size_t)rows * cols + 1, sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	free(s->cells);
	s->rows = rows;
	s->cols = cols;
	s->cells = cells;
	gp__screen_clear(s);
	return 0;
}

void gp__screen_free(struct gp__screen *s)
{
	free(s->cells);
	*s = (struct gp__screen){ 0 };
}

void gp__screen_clear(struct gp__screen *s)
{
	for (size_t i = 0; i < (size_t)s->rows * s->cols; i++)
		s->cells[i] = (struct gp__cell){ L' ', GP__STYLE_PLAIN };
}

void gp__screen_put(struct gp__screen *s, uint32_t row, uint32_t col, enum gp__style style,
		    wchar_t c)
{
	if (row < s->rows && col < s->cols)
		s->cells[(size_t)row * s->cols + col] = (struct gp__cell){ c, (uint8_t)style };
}

/* Takes the next character of the text; '?' for one that is not one column wide. */
static wchar_t next_char(const char **text, mbstate_t *state)
{
	wchar_t c;
	size_t n = mbrtowc(&c, *text, strlen(*text), state);

	if (n == 0 || n > strlen(*text)) {
		memset(state, 0, sizeof(*state));
		(*text)++;
		return L'?';
	}
	*text += n;
	return wcwidth(c) == 1 ? c : L'?';
}

uint32_t gp__screen_text(struct gp__screen *s, uint32_t row, uint32_t col, enum gp__style style,
			 const char *text)
{
	mbstate_t state = { 0 };

	while (*text)
		gp__screen_put(s, row, col++, style, next_char(&text, &state));
	return col;
}

uint32_t gp__screen_textf(struct gp__screen *s, uint32_t row, uint32_t col, enum gp__style style,
			  const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return gp__screen_text(s, row, col, style, text);
}

uint32_t gp__screen_field(struct gp__screen *s, uint32_t row, uint32_t col, int width,
			  enum gp__style style, const char *text)
{
	uint32_t room = (uint32_t)abs(width), used = 0;
	mbstate_t state = { 0 };
	wchar_t line[128];

	while (*text && used < sizeof(line) / sizeof(line[0]))
		line[used++] = next_char(&text, &state);
	if (used > room)
		used = room;
	for (uint32_t i = 0; i < used; i++)
		gp__screen_put(s, row, col + (width < 0 ? room - used : 0) + i, style, line[i]);
	return col + room;
}

void gp__screen_style_row(struct gp__screen *s, uint32_t row, enum gp__style style)
{
	for (uint32_t i = 0; row < s->rows && i < s->cols; i++)
		s->cells[(size_t)row * s->cols + i].style = (uint8_t)style;
}

static uint32_t used_cols(const struct gp__screen *s, uint32_t row)
{
	uint32_t n = s->cols;

	while (n && s->cells[(size_t)row * s->cols + n - 1].c == L' ')
		n--;
	return n;
}

void gp__screen_print(const struct gp__screen *s, FILE *out)
{
	uint32_t rows = s->rows;

	while (rows && !used_cols(s, rows - 1))
		rows--;
	for (uint32_t r = 0; r < rows; r++) {
		uint32_t n = used_cols(s, r);

		for (uint32_t i = 0; i < n; i++)
			fprintf(out, "%lc", (wint_t)s->cells[(size_t)r * s->cols + i].c);
		fputc('\n', out);
	}
}
