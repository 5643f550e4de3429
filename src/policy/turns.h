/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Taking turns: what fair, share and drf have in common. At most `width` entities run at once; the
 * one that is furthest ahead makes room when its turn is over, or at once for somebody further
 * behind than a whole turn.
 *
 * Every policy that takes turns has quantum_ms and width as its first parameters.
 */
#ifndef GP__POLICY_TURNS_H
#define GP__POLICY_TURNS_H

#include "policy/policy.h"

enum { GP__TURNS_QUANTUM_MS, GP__TURNS_WIDTH, GP__TURNS_PARAMS };

#define GP__TURNS_PARAM_TABLE                                                   \
	[GP__TURNS_QUANTUM_MS] = { "quantum_ms", 1, 10000, 10,                  \
				   "how long a turn lasts while others wait" }, \
	[GP__TURNS_WIDTH] = { "width", 1, GP__TURNS_MAX, 1, "how many run at once" }

u64 gp__turns_quantum(const struct gp__dev *d);
bool gp__turns_fits(const struct gp__dev *d, const struct gp__entity *w, u64 now);
void gp__turns_start(struct gp__entity *e, u64 now);
u64 gp__turns_next(const struct gp__dev *d);

/* The same over e->vtime, for policies whose key that is. */
s64 gp__turns_vtime_key(const struct gp__entity *e);
bool gp__turns_vtime_preempts(const struct gp__dev *d, const struct gp__entity *w,
			      const struct gp__entity *r, u64 now);
void gp__turns_vtime_wakeup(struct gp__entity *e, u64 now);

#endif
