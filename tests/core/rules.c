// SPDX-License-Identifier: MIT
#include "rules.h"

void begin_strict(void)
{
	begin(&gp__policy_hpf);
	policy(&gp__policy_hpf, NO_AGEING);
}

bool near(u64 got, u64 want, u64 tolerance)
{
	return got + tolerance >= want && got <= want + tolerance;
}
