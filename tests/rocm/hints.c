/* SPDX-License-Identifier: MIT */
/* The server of the demo with libgpreempt, through which it announces its requests. */
#include "hints.h"

#include "gpreempt/gpreempt.h"

bool hint_arriving(uint64_t at_ns)
{
	return !gp_hint_arriving(NULL, at_ns);
}

void hint_over(void)
{
	gp_hint_over(NULL);
}
