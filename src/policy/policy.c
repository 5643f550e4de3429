// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "policy/policy.h"

const struct gp__policy *const gp__policies[] = {
	&gp__policy_hpf,
	&gp__policy_fair,
	&gp__policy_share,
	&gp__policy_edf,
	&gp__policy_drf,
	&gp__policy_none,
	NULL,
};

const struct gp__policy *gp__policy_find(const char *name)
{
	const struct gp__policy *const *p;

	for (p = gp__policies; *p; p++) {
		if (strcmp((*p)->name, name) == 0)
			return *p;
	}
	return NULL;
}
