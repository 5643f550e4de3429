// SPDX-License-Identifier: MIT
#include "benches.h"

const struct gp__bench gp__benches[] = {
	{ "base", "what the building blocks cost: clock, histogram, waking a thread", bench_base },
	{ NULL, NULL, NULL },
};
