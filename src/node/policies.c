// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The policies that a kernel has, and their parameters. Each policy keeps its own, also while
 * another one decides. A file stands for the parameter of that name of the policy that decides; if
 * that one has none, of the first that has.
 */
#include "node/policies.h"
#include "policy/policy.h"

static const struct gp__policy *const policies[GP__NODE_POLICIES] = {
	&gp__policy_hpf,
	&gp__policy_fair,
	&gp__policy_share,
};

static int param_of(u32 policy, const char *name)
{
	const struct gp__policy *p = policies[policy];

	return gp__param_find(p->params, p->nr_params, name, strlen(name));
}

static bool has_earlier(u32 policy, const char *name)
{
	for (u32 p = 0; p < policy; p++) {
		if (param_of(p, name) >= 0)
			return true;
	}
	return false;
}

/* The name that comes after @nth others; NULL: there are not so many. Sets @nr to how many. */
static const char *find_name(u32 nth, u32 *nr)
{
	*nr = 0;
	for (u32 p = 0; p < GP__NODE_POLICIES; p++) {
		for (u32 i = 0; i < policies[p]->nr_params; i++) {
			const char *name = policies[p]->params[i].name;

			if (!has_earlier(p, name) && (*nr)++ == nth)
				return name;
		}
	}
	return NULL;
}

u32 gp__node_nr_params(void)
{
	u32 nr;

	find_name(~(u32)0, &nr);
	return nr;
}

const char *gp__node_param_name(u32 param)
{
	u32 nr;

	return find_name(param, &nr);
}

static u32 current(const struct gp__node_sched *n)
{
	u32 p = 0;

	while (p < GP__NODE_POLICIES - 1 && policies[p] != n->core.policy)
		p++;
	return p;
}

/* The policy whose parameter it is now. */
static u32 policy_of(const struct gp__node_sched *n, const char *name)
{
	u32 p = current(n);

	if (param_of(p, name) < 0) {
		p = 0;
		while (p < GP__NODE_POLICIES - 1 && param_of(p, name) < 0)
			p++;
	}
	return p;
}

u64 gp__node_param(const struct gp__node_sched *n, u32 param)
{
	const char *name = gp__node_param_name(param);
	u32 p = policy_of(n, name);

	return n->params[p][param_of(p, name)];
}

int gp__node_set_param(struct gp__node_sched *n, u32 param, u64 value, u64 now)
{
	const char *name = gp__node_param_name(param);
	u32 p = policy_of(n, name), i = (u32)param_of(p, name);

	if (gp__param_check(&policies[p]->params[i], value))
		return -ERANGE;
	n->params[p][i] = value;
	if (p != current(n))
		return 0;
	return gp__core_set_policy(&n->core, policies[p], n->params[p], now);
}

const char *gp__node_policy(const struct gp__node_sched *n)
{
	return n->core.policy->name;
}

int gp__node_set_policy(struct gp__node_sched *n, const char *name, size_t len)
{
	if (len && name[len - 1] == '\n')
		len--;
	for (u32 p = 0; p < GP__NODE_POLICIES; p++) {
		if (strlen(policies[p]->name) == len && !memcmp(policies[p]->name, name, len))
			return gp__core_set_policy(&n->core, policies[p], n->params[p],
						   n->driver->now(n));
	}
	return -EINVAL;
}

const struct gp__policy *gp__node_init_policies(struct gp__node_sched *n)
{
	for (u32 p = 0; p < GP__NODE_POLICIES; p++) {
		for (u32 i = 0; i < policies[p]->nr_params; i++)
			n->params[p][i] = policies[p]->params[i].def;
	}
	return policies[0];
}
