// SPDX-License-Identifier: MIT
/* A line that parses is written again byte for byte; no line is read past its end. */
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char again[GP__LOG_LINE_MAX];
	struct gp__record_room room;
	const char *expected = NULL;
	struct gp__record r;
	size_t n;
	int rc = gp__record_parse((const char *)data, size, gp__policies, &r, &room, &expected);

	if (rc == -EINVAL && !expected)
		abort();
	if (rc)
		return 0;
	n = gp__record_format(&r, again);
	if (n != size + 1 || memcmp(again, data, size) != 0 || again[size] != '\n')
		abort();
	return 0;
}
