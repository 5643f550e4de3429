// SPDX-License-Identifier: MIT
#include "queue/params.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "base/api.h"

static int param_set(struct gp__choice *c, const char *name, size_t len, uint64_t value,
		     struct gp_error *err)
{
	const struct gp__param *table = c->policy->params;
	int i = gp__param_find(table, c->policy->nr_params, name, len);
	uint64_t *values = c->values;

	if (i < 0) {
		table = gp__core_params;
		i = gp__param_find(table, GP__CFG_COUNT, name, len);
		values = c->cfg;
	}
	if (i < 0)
		return gp__fail(err, -EINVAL, "policy %s has no parameter '%.*s'", c->policy->name,
				(int)len, name);
	if (gp__param_check(&table[i], value))
		return gp__fail(err, -ERANGE, "%s is between %llu and %llu", table[i].name,
				(unsigned long long)table[i].min, (unsigned long long)table[i].max);
	values[i] = value;
	return 0;
}

/* A whole number that ends where the word does. */
static int number_read(const char *text, const char *end, uint64_t *value)
{
	char *rest;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &rest, 10);
	return rest != end || errno ? -EINVAL : 0;
}

static int params_read(struct gp__choice *c, const char *text, struct gp_error *err)
{
	static const char space[] = " \t\n,";
	const char *end, *eq;
	uint64_t value;
	int rc;

	for (text += strspn(text, space); *text; text = end + strspn(end, space)) {
		end = text + strcspn(text, space);
		eq = memchr(text, '=', (size_t)(end - text));
		if (!eq || number_read(eq + 1, end, &value))
			return gp__fail(err, -EINVAL,
					"'%.*s' is not a name=value with a whole number",
					(int)(end - text), text);
		rc = param_set(c, text, (size_t)(eq - text), value, err);
		if (rc)
			return rc;
	}
	return 0;
}

int gp__choice_read(struct gp__choice *c, const struct gp__core *core, const char *policy,
		    const char *params, struct gp_error *err)
{
	uint32_t i;

	c->policy = policy ? gp__policy_find(policy) : core->policy;
	if (!c->policy)
		return gp__fail(err, -ENOENT, "there is no policy '%s'", policy);
	for (i = 0; i < c->policy->nr_params; i++)
		c->values[i] =
			c->policy == core->policy ? core->params[i] : c->policy->params[i].def;
	memcpy(c->cfg, core->cfg, sizeof(c->cfg));
	return params ? params_read(c, params, err) : 0;
}

void gp__choice_apply(const struct gp__choice *c, struct gp__core *core, uint64_t now)
{
	uint32_t i;

	for (i = 0; i < GP__CFG_COUNT; i++)
		if (c->cfg[i] != core->cfg[i])
			gp__core_configure(core, i, c->cfg[i], now);
	if (c->policy != core->policy ||
	    memcmp(c->values, core->params, c->policy->nr_params * sizeof(c->values[0])) != 0)
		gp__core_set_policy(core, c->policy, c->values, now);
}

int gp__hint_set(struct gp__hints *h, enum gp_hint hint, int64_t value, struct gp_error *err)
{
	struct gp__hints n = *h;
	const char *why;
	uint32_t small = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;

	if (hint != GP_HINT_PRIORITY && value < 0)
		return gp__fail(err, -ERANGE, "only a priority may be negative");
	switch (hint) {
	case GP_HINT_PRIORITY:
		n.prio = value > INT32_MAX   ? INT32_MAX
			 : value < INT32_MIN ? INT32_MIN
					     : (int32_t)value;
		break;
	case GP_HINT_WEIGHT:
		n.weight = small;
		break;
	case GP_HINT_SHARE:
		n.share_pct = small;
		break;
	case GP_HINT_MIN_SHARE:
		n.min_share_pct = small;
		break;
	case GP_HINT_DEADLINE:
		n.deadline_ns = (uint64_t)value;
		break;
	case GP_HINT_MAX_HOLD:
		n.max_hold_ns = (uint64_t)value;
		break;
	case GP_HINT_MEMORY:
		n.memory = (uint64_t)value;
		break;
	default:
		return gp__fail(err, -EINVAL, "there is no hint %d", (int)hint);
	}
	if (gp__hints_check(&n, &why))
		return gp__fail(err, -ERANGE, "%s", why);
	*h = n;
	return 0;
}
