// SPDX-License-Identifier: MIT
#include "join/wish.h"

#include <stdlib.h>

#include "base/units.h"

#define PRIORITY_MOST 1000000

static bool read_number(const char *variable, int64_t min, int64_t max, int64_t *value,
			const char **bad)
{
	const char *text = getenv(variable);

	*bad = variable;
	return !text || !*text || !gp__parse_i64(text, min, max, value);
}

static bool read_window(struct gp__wish *wish)
{
	const char *text = getenv(GP__WISH_WINDOW);
	u64 packets;

	if (!text || !*text)
		return true;
	if (gp__parse_u64(text, 1, UINT32_MAX, &packets))
		return !gp__parse_duration(text, &wish->window_ns) && wish->window_ns;
	wish->window = (u32)packets;
	return true;
}

bool gp__wish_read(struct gp__wish *wish, const char **bad)
{
	const char *priority = getenv(GP__WISH_PRIORITY), *tag = getenv(GP__WISH_TAG);
	const char *deadline = getenv(GP__WISH_DEADLINE);
	int64_t prio = 0, level = 0, share = 0, idempotent = 0, copies = 0;

	memset(wish, 0, sizeof(*wish));
	wish->joined = priority && *priority;
	if (!wish->joined)
		return true;
	if (!read_number(GP__WISH_PRIORITY, -PRIORITY_MOST, PRIORITY_MOST, &prio, bad) ||
	    !read_number(GP__WISH_LEVEL, 0, 3, &level, bad) ||
	    !read_number(GP__WISH_SHARE, 0, 100, &share, bad) ||
	    !read_number(GP__WISH_COPIES, 0, 1, &copies, bad) ||
	    !read_number(GP__WISH_IDEMPOTENT, 0, 1, &idempotent, bad) || (idempotent && level != 2))
		return false;
	*bad = GP__WISH_WINDOW;
	if (!read_window(wish))
		return false;
	*bad = GP__WISH_DEADLINE;
	if (deadline && *deadline && gp__parse_duration(deadline, &wish->hints.deadline_ns))
		return false;
	wish->hints.prio = (s32)prio;
	wish->hints.share_pct = (u32)share;
	wish->level = (u32)level;
	wish->idempotent = idempotent;
	wish->copies = copies;
	gp__wire_text(wish->tag, sizeof(wish->tag), tag ? tag : "");
	return true;
}
