// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * fair: GPU time in proportion to weight. The virtual time of an entity, and that of its owner,
 * advances with its GPU time divided by its weight. The owner with the least virtual time is next,
 * and of its entities the one with the least.
 *
 * A program that uses less than its proportion, such as a server between two requests, has credit
 * and need not wait for its turn. Others then wait for at most credit_ms.
 *
 * Wrong choice if a program is urgent that uses more: a request waits for its turn, up to
 * (entities - 1) x quantum_ms. Wrong for quanta near the cost of a switch: the loss is switch cost
 * / quantum.
 */
#include "policy/turns.h"

#define WEIGHT_DEFAULT 100

static const struct gp__param params[] = { GP__VTIME_PARAM_TABLE };

static u64 virtual(const struct gp__entity *e, u64 ns)
{
	return ns * WEIGHT_DEFAULT / (e->hints.weight ? e->hints.weight : WEIGHT_DEFAULT);
}

static void charge(struct gp__entity *e, u64 used, u64 now)
{
	u64 ns = virtual(e, used);

	(void)now;
	gp__turns_vtime_charge(e, ns, ns);
}

static void wakeup(struct gp__entity *e, u64 now)
{
	u64 credit = virtual(e, gp__turns_credit(e->dev));

	(void)now;
	gp__turns_vtime_wakeup(e, credit, credit);
}

const struct gp__policy gp__policy_fair = {
	.name = "fair",
	.summary = "GPU time in proportion to weight, in turns",
	.params = params,
	.nr_params = sizeof(params) / sizeof(params[0]),
	GP__VTIME_STATE,
	.key = gp__turns_vtime_key,
	.owner_key = gp__turns_vtime_owner_key,
	.fits = gp__turns_fits,
	.preempts = gp__turns_vtime_preempts,
	.preempt_rule = GP__RULE_SLICE,
	.wakeup = wakeup,
	.charge = charge,
	.charged = gp__turns_vtime_charged,
	.start = gp__turns_start,
	.go_on = gp__turns_go_on,
	.next = gp__turns_next,
};
