// SPDX-License-Identifier: MIT
/*
 * No words may make the decoder read beyond them, or the text crash or lie about its length. What
 * is decoded names registers that exist.
 */
#include "emu/gfx9/format.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(enum gfx9_target target, const struct gfx9_inst *in)
{
	char text[GFX9_TEXT_SIZE], part[16];
	size_t length = gfx9_format_inst(target, in, text, sizeof(text));

	if (length >= sizeof(text) || length != strlen(text))
		abort();
	if (gfx9_format_inst(target, in, part, sizeof(part)) != length)
		abort();
	if (strncmp(text, part, sizeof(part) - 1) || part[sizeof(part) - 1 < length ? 15 : length])
		abort();
}

/* From a block that ends where the words do, so that reading on is noticed. */
static void check(enum gfx9_target target, const uint32_t *words, size_t n)
{
	struct gfx9_inst in;
	int ret = gfx9_decode(target, words, n, &in);

	if (ret < 0)
		return;
	if (ret < 1 || (size_t)ret > n || ret > 3 || ret != in.dwords || !in.op)
		abort();
	if (in.dst >= GFX9_AGPR + 256 || in.src[0] >= GFX9_AGPR + 256 ||
	    in.src[1] >= GFX9_AGPR + 256 || in.src[2] >= GFX9_AGPR + 256)
		abort();
	check_text(target, &in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size / sizeof(uint32_t);
	uint32_t *words = malloc(n ? n * sizeof(uint32_t) : 1);

	if (!words)
		return 0;
	memcpy(words, data, n * sizeof(uint32_t));
	for (int t = 0; t < GFX9_TARGETS; t++)
		for (size_t i = 0; i <= n; i++)
			check((enum gfx9_target)t, words + i, n - i);
	free(words);
	return 0;
}
