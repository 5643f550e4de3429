// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "policy/choice.h"

#include "policy/policy.h"

static void set_policy(struct gp__choice *c, const struct gp__policy *policy)
{
	u32 i;

	c->policy = policy;
	for (i = 0; i < policy->nr_params; i++)
		c->values[i] = policy->params[i].def;
}

void gp__choice_default(struct gp__choice *c)
{
	u32 i;

	set_policy(c, gp__policies[0]);
	for (i = 0; i < GP__CFG_COUNT; i++)
		c->cfg[i] = gp__core_params[i].def;
}

void gp__choice_current(struct gp__choice *c, const struct gp__core *core)
{
	c->policy = core->policy;
	memcpy(c->values, core->params, sizeof(c->values));
	memcpy(c->cfg, core->cfg, sizeof(c->cfg));
}

int gp__choice_policy(struct gp__choice *c, const char *name)
{
	const struct gp__policy *policy = gp__policy_find(name);

	if (!policy)
		return -ENOENT;
	if (policy != c->policy)
		set_policy(c, policy);
	return 0;
}

u64 *gp__choice_value(struct gp__choice *c, const char *name, size_t len,
		      const struct gp__param **param)
{
	int i = gp__param_find(c->policy->params, c->policy->nr_params, name, len);

	if (i >= 0) {
		*param = &c->policy->params[i];
		return &c->values[i];
	}
	i = gp__param_find(gp__core_params, GP__CFG_COUNT, name, len);
	if (i < 0)
		return NULL;
	*param = &gp__core_params[i];
	return &c->cfg[i];
}

void gp__choice_apply(const struct gp__choice *c, struct gp__core *core, u64 now)
{
	u32 i;

	for (i = 0; i < GP__CFG_COUNT; i++) {
		if (c->cfg[i] != core->cfg[i])
			gp__core_configure(core, i, c->cfg[i], now);
	}
	if (c->policy != core->policy ||
	    memcmp(c->values, core->params, c->policy->nr_params * sizeof(c->values[0])) != 0)
		gp__core_set_policy(core, c->policy, c->values, now);
}
