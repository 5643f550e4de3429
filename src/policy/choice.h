/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A choice of policy, of its parameters and of the core's, which is completed and checked before it
 * comes into force.
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
/* The choice that is in force. */
void gp__choice_current(struct gp__choice *c, const struct gp__core *core);
/* Chooses a policy with its defaults. -ENOENT: there is none of that name. */
int gp__choice_policy(struct gp__choice *c, const char *name);
/*
 * Finds the value of the parameter @name (@len characters) of the policy or else of the core, and
 * its description. NULL: there is none.
 */
u64 *gp__choice_value(struct gp__choice *c, const char *name, size_t len,
		      const struct gp__param **param);
/* Puts the choice in force; only differences are events for the core. */
void gp__choice_apply(const struct gp__choice *c, struct gp__core *core, u64 now);

#endif
