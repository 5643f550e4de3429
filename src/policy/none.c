// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * none: all entities run, as without a scheduler. For observation, and as the baseline for the
 * other policies.
 *
 * Wrong choice if any program is urgent.
 */
#include "policy/policy.h"

static s64 key(const struct gp__entity *e)
{
	return -(s64)e->prio;
}

static bool fits(const struct gp__dev *d, const struct gp__entity *w, u64 now)
{
	(void)d;
	(void)w;
	(void)now;
	return true;
}

static bool preempts(const struct gp__dev *d, const struct gp__entity *w,
		     const struct gp__entity *r, u64 now)
{
	(void)d;
	(void)w;
	(void)r;
	(void)now;
	return false;
}

const struct gp__policy gp__policy_none = {
	.name = "none",
	.summary = "all programs run, as without a scheduler",
	.key = key,
	.fits = fits,
	.preempts = preempts,
	.preempt_rule = GP__RULE_NONE,
};
