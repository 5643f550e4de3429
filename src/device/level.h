/* SPDX-License-Identifier: MIT */
/* The level that a backend uses for a program, and the sentence about it; queue/level.h has the
 * rule. */
#ifndef GP__DEVICE_LEVEL_H
#define GP__DEVICE_LEVEL_H

#include "device/backend.h"
#include "queue/level.h"

/* @available: GP__HAS_LEVEL() of each. */
static inline u32 gp__port_level(const struct gp__port *port, u32 available)
{
	return gp__level_effective(port->request->level, available);
}

/* Tells the user that the program gets @level and not the one it asked for, and why. False: it gets
 * the one it asked for, or it asked for the best. */
bool gp__port_say_level(struct gp__port *port, u32 level, const char *why);

#endif
