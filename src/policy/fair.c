// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * fair: GPU time in proportion to weight. Virtual time passes for an entity as it gets GPU time,
 * more slowly the more it weighs; whoever has the least is next.
 *
 * Wrong choice when somebody is urgent: a request waits for its turn like everybody else, up to
 * (entities - 1) x quantum_ms. Wrong for quanta near the cost of a switch: the loss is switch cost
 * / quantum.
 */
#include "policy/turns.h"

#define WEIGHT_DEFAULT 100

static const struct gp__param params[] = { GP__TURNS_PARAM_TABLE };

static void charge(struct gp__entity *e, u64 used, u64 now)
{
	u32 weight = e->hints.weight ? e->hints.weight : WEIGHT_DEFAULT;

	(void)now;
	e->vtime += used * WEIGHT_DEFAULT / weight;
}

const struct gp__policy gp__policy_fair = {
	.name = "fair",
	.summary = "GPU time in proportion to weight, in turns",
	.params = params,
	.nr_params = sizeof(params) / sizeof(params[0]),
	.key = gp__turns_vtime_key,
	.fits = gp__turns_fits,
	.preempts = gp__turns_vtime_preempts,
	.preempt_rule = GP__RULE_SLICE,
	.wakeup = gp__turns_vtime_wakeup,
	.charge = charge,
	.start = gp__turns_start,
	.next = gp__turns_next,
};
