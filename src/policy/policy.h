/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The list of policies: a table that ends with NULL. The first is the default. To add one: a file
 * beside this one, its declaration here, and a line in policy.c. */
#ifndef GP__POLICY_H
#define GP__POLICY_H

#include "core/core.h"

extern const struct gp__policy gp__policy_hpf;
extern const struct gp__policy gp__policy_fair;
extern const struct gp__policy gp__policy_share;
extern const struct gp__policy gp__policy_edf;
extern const struct gp__policy gp__policy_drf;
extern const struct gp__policy gp__policy_none;

extern const struct gp__policy *const gp__policies[];

const struct gp__policy *gp__policy_find(const char *name);

static inline u64 gp__policy_param(const struct gp__dev *d, u32 i)
{
	return d->core->params[i];
}

#endif
