// SPDX-License-Identifier: MIT
/*
 * Whatever a program gives to the OpenCL compiler, putting guards in it only makes it longer. An
 * input is the compiler's options, a line, and the source.
 */
#include "join/opencl/source.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1), *source;
	struct gp__cl_guarded g;

	if (!text)
		return 0;
	memcpy(text, data, size);
	source = memchr(text, '\n', size);
	if (source)
		*source++ = '\0';
	else
		source = text + size;
	if (!gp__cl_guard_source(source, (size_t)(text + size - source), text, size & 1, &g)) {
		bool guarded = false;

		for (size_t i = 0; i < g.nr_kernels; i++)
			guarded |= !g.kernels[i].why;
		require(guarded == (g.text != NULL));
		require(!g.text || g.size > (size_t)(text + size - source));
		require(!g.text || strlen(g.text) <= g.size);
		gp__cl_guarded_free(&g);
	}
	free(text);
	return 0;
}
