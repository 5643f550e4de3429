/* SPDX-License-Identifier: MIT */
/*
 * What `gpreempt run` asks for a program, in the environment that the program inherits: so it holds
 * for its children, and for programs in containers that were given it.
 */
#ifndef GP__JOIN_WISH_H
#define GP__JOIN_WISH_H

#include "wire/wire.h"

/* A program that has it is joined. */
#define GP__WISH_PRIORITY "GPREEMPT_PRIORITY"
#define GP__WISH_TAG "GPREEMPT_TAG"
#define GP__WISH_LEVEL "GPREEMPT_LEVEL"
#define GP__WISH_WINDOW "GPREEMPT_WINDOW" /* of level 1: 8 packets, or 2ms */
#define GP__WISH_IDEMPOTENT "GPREEMPT_IDEMPOTENT" /* 1: at level 2, what runs may be dropped */
#define GP__WISH_COPIES "GPREEMPT_COPIES" /* 1: what it copies is held, too */
#define GP__WISH_SHARE "GPREEMPT_SHARE" /* percent */
#define GP__WISH_DEADLINE "GPREEMPT_DEADLINE" /* 5ms */
#define GP__WISH_WAY "GPREEMPT_WAY"
#define GP__WISH_SOCKET "GPREEMPT_SOCKET"

struct gp__wish {
	bool joined;
	u32 level; /* 0: the best there is */
	bool idempotent; /* at level 2 */
	bool copies; /* are held, on GPUs where they need not be */
	u32 window; /* packets, of level 1; 0: what takes window_ns */
	u64 window_ns; /* 0: the default */
	char tag[GP__WIRE_TAG_MAX];
	struct gp__wire_hints hints;
};

/* False: what is there makes no sense; the variable's name is in *@bad. */
bool gp__wish_read(struct gp__wish *wish, const char **bad);

#endif
