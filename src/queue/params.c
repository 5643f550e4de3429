// SPDX-License-Identifier: MIT
#include "queue/params.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/api.h"

static int param_set(struct gp__choice *c, const char *name, size_t len, uint64_t value,
		     struct gp_error *err)
{
	const struct gp__param *param;
	uint64_t *kept = gp__choice_value(c, name, len, &param);

	if (!kept)
		return gp__fail(err, -EINVAL, "policy %s has no parameter '%.*s'", c->policy->name,
				(int)len, name);
	if (gp__param_check(param, value))
		return gp__fail(err, -ERANGE, "%s must be between %llu and %llu", param->name,
				(unsigned long long)param->min, (unsigned long long)param->max);
	*kept = value;
	return 0;
}

/* Reads a whole number that ends where the word does. */
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
	gp__choice_current(c, core);
	if (policy && gp__choice_policy(c, policy))
		return gp__fail(err, -ENOENT, "there is no policy '%s'", policy);
	return params ? params_read(c, params, err) : 0;
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
