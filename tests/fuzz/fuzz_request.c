// SPDX-License-Identifier: MIT
/*
 * No environment of a joined program may crash its reader, or make it return what the daemon would
 * refuse. An input is values of the variables, one per line, in their order.
 */
#include "device/request.h"

#include <stdlib.h>

#include "core/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const variables[] = { GP__ENV_PRIORITY, GP__ENV_TAG,	     GP__ENV_LEVEL,
						 GP__ENV_SHARE,	   GP__ENV_DEADLINE, GP__ENV_GANG };
	char *text = calloc(1, size + 1), *rest = text;
	const char *bad = NULL, *expected = NULL;
	struct gp__request r;

	if (!text)
		return 0;
	memcpy(text, data, size);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = rest ? strsep(&rest, "\n") : NULL;

		if (value)
			setenv(variables[i], value, 1);
		else
			unsetenv(variables[i]);
	}
	if (!gp__request_read(&r, &bad, &expected)) {
		require(bad && expected && !strncmp(bad, "GPREEMPT_", 9));
	} else if (r.joined) {
		require(r.hints.prio >= -GP__PRIO_LIMIT && r.hints.prio <= GP__PRIO_LIMIT);
		require(r.level <= 3 && r.hints.share_pct <= 100);
		require(memchr(r.tag, '\0', sizeof(r.tag)));
	}
	free(text);
	return 0;
}
