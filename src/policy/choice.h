/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A policy with its parameters and the core's, put together and checked before any of it is in
 * force.
 */
#ifndef GP__POLICY_CHOICE_H
#define GP__POLICY_CHOICE_H

#include "core/core.h"

struct gp__choice {
	const struct gp__policy *policy;
	u64 values[GP__POLICY_PARAMS_MAX]; /* of the policy */
	u64 cfg[GP__CFG_COUNT]; /* of the core */
};

/* The default policy, and every parameter's default. */
void gp__choice_default(struct gp__choice *c);
/* What is in force. */
void gp__choice_current(struct gp__choice *c, const struct gp__core *core);
/* Another policy begins with its defaults. -ENOENT: there is none of that name. */
int gp__choice_policy(struct gp__choice *c, const char *name);
/*
 * Where the value of the parameter @name (@len characters) is kept, the policy's or else the
 * core's, and what it may be. NULL: neither has it.
 */
u64 *gp__choice_value(struct gp__choice *c, const char *name, size_t len,
		      const struct gp__param **param);
/* What is no different stays untouched. */
void gp__choice_apply(const struct gp__choice *c, struct gp__core *core, u64 now);

#endif
