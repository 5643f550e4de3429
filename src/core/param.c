// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "core/param.h"
#include "core/guard.h"

int gp__param_find(const struct gp__param *p, u32 n, const char *name, size_t len)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (strlen(p[i].name) == len && memcmp(p[i].name, name, len) == 0)
			return (int)i;
	}
	return -ENOENT;
}

int gp__param_check(const struct gp__param *p, u64 value)
{
	return guard(PARAM_RANGE, value < p->min || value > p->max) ? -ERANGE : 0;
}
