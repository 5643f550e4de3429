// SPDX-License-Identifier: MIT
#include "device/level.h"

#include <stdio.h>

bool gp__port_say_level(struct gp__port *port, u32 level, const char *why)
{
	u32 requested = port->request->level;
	char text[256];

	if (!requested || requested == level)
		return false;
	snprintf(text, sizeof(text), "level %u is not available: %s; using level %u", requested,
		 why, level);
	gp__port_say(port, text);
	return true;
}
