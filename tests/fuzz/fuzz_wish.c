// SPDX-License-Identifier: MIT
/*
 * Whatever is in the environment of a program that is joined, reading it neither crashes it nor
 * gives what the daemon would not take. An input is values of the variables, one a line, in their
 * order.
 */
#include "join/wish.h"

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
	static const char *const variables[] = { GP__WISH_PRIORITY, GP__WISH_TAG, GP__WISH_LEVEL,
						 GP__WISH_SHARE, GP__WISH_DEADLINE };
	char *text = calloc(1, size + 1), *rest = text;
	const char *bad = NULL;
	struct gp__wish wish;

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
	if (!gp__wish_read(&wish, &bad)) {
		require(bad && !strncmp(bad, "GPREEMPT_", 9));
	} else if (wish.joined) {
		require(wish.hints.prio >= -GP__PRIO_LIMIT && wish.hints.prio <= GP__PRIO_LIMIT);
		require(wish.level <= 3 && wish.hints.share_pct <= 100);
		require(memchr(wish.tag, '\0', sizeof(wish.tag)));
	}
	free(text);
	return 0;
}
