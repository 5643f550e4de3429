/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Parameters of the core and of policies: whole numbers with a unit in their name, a range, and a
 * default. */
#ifndef GP__CORE_PARAM_H
#define GP__CORE_PARAM_H

#include "core/types.h"

struct gp__param {
	const char *name;
	u64 min, max, def;
	const char *help;
};

/* Index of the parameter @name (@len characters), or -ENOENT. */
int gp__param_find(const struct gp__param *p, u32 n, const char *name, size_t len);
/* 0 or -ERANGE. */
int gp__param_check(const struct gp__param *p, u64 value);

#endif
