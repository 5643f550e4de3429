// SPDX-License-Identifier: MIT
/* No text may crash a number parser, and a refused one may not touch the result. */
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef int parse_fn(const char *s, uint64_t *out);

static int parse_plain(const char *s, uint64_t *out)
{
	return gp__parse_u64(s, 0, UINT64_MAX, out);
}

static void check(parse_fn *parse, const char *text)
{
	const uint64_t mark = 0xfeedfacecafebeef;
	uint64_t value = mark;

	if (parse(text, &value) && value != mark)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[128];
	uint32_t ppm;
	double real;
	int64_t i;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check(gp__parse_duration, text);
	check(gp__parse_size, text);
	check(parse_plain, text);
	if (!gp__parse_percent(text, &ppm) && ppm > 1000000)
		abort();
	if (!gp__parse_double(text, -1, 1, &real) && !(real >= -1 && real <= 1))
		abort();
	if (!gp__parse_i64(text, -8, 8, &i) && (i < -8 || i > 8))
		abort();
	return 0;
}
