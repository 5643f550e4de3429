// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* The names of priorities: offline, normal and online. */
#include "core/core.h"

static const struct {
	const char *name;
	s32 prio;
} classes[GP__CLASS_COUNT] = {
	[GP__CLASS_OTHER] = { "other", 0 },
	[GP__CLASS_OFFLINE] = { "offline", GP__PRIO_OFFLINE },
	[GP__CLASS_NORMAL] = { "normal", GP__PRIO_NORMAL },
	[GP__CLASS_ONLINE] = { "online", GP__PRIO_ONLINE },
};

enum gp__class gp__class_of(s32 prio)
{
	u32 c;

	for (c = GP__CLASS_OTHER + 1; c < GP__CLASS_COUNT; c++) {
		if (classes[c].prio == prio)
			return (enum gp__class)c;
	}
	return GP__CLASS_OTHER;
}

const char *gp__class_name(enum gp__class c)
{
	return (u32)c < GP__CLASS_COUNT ? classes[c].name : "?";
}

bool gp__class_prio(const char *name, s32 *prio)
{
	u32 c;

	for (c = GP__CLASS_OTHER + 1; c < GP__CLASS_COUNT; c++) {
		if (strcmp(classes[c].name, name) == 0) {
			*prio = classes[c].prio;
			return true;
		}
	}
	return false;
}
