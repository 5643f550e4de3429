// SPDX-License-Identifier: MIT
/* Any file may be given to --replay: it is refused or replayed, and what the core says of it is a
 * log again. */
#include "sim/replay.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp__replay_result r;
	struct gp__replay_error err;
	FILE *in;

	if (!size)
		return 0;
	in = fmemopen((void *)data, size, "r");
	if (!in)
		return 0;
	gp__replay(in, NULL, &r, &err);
	fclose(in);
	return 0;
}
