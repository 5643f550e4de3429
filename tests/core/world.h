/* SPDX-License-Identifier: MIT */
/*
 * A small random world around the core: devices, programs that come and go, agents that answer,
 * answer late, fail or fall silent. It keeps its own record of what was ordered and what really
 * happened, and after every event checks against that what must always hold.
 */
#ifndef GP__TESTS_WORLD_H
#define GP__TESTS_WORLD_H

#include "base/compiler.h"
#include "core/log.h"
#include "policy/policy.h"

#define WORLD_DEVICES 3
#define WORLD_ENTITIES 24
#define WORLD_QUEUES 3
#define WORLD_GANGS 2
#define WORLD_USERS 4
#define WORLD_CLAIM_MAX 20 /* percent */

/* The record of the agent of a queue; the core's own fields are not trusted for this. */
struct world_queue {
	struct gp__queue q;
	bool alive, stopped, ordered;
	bool stubborn; /* most of its actions fail */
	u8 order;
	u64 ordered_at, answer_at; /* GP__NEVER: the agent stays silent */
	u64 answered_at;
	u32 stop_failures;
};

struct world_entity {
	struct gp__entity e;
	struct world_queue queue[WORLD_QUEUES];
	bool alive;
	struct gp__gang *gang;
	/* Held with work and not by hand, as seen after every event; the guarantees count from
	 * here. */
	bool starving;
	u64 starving_since, owed_since;
	/* It gets no time: the same, or it yields. */
	bool unpaid;
	u64 unpaid_since;
	u64 nr_holds; /* of e, when orders were last taken */
};

struct world {
	struct gp__core core;
	struct gp__dev dev[WORLD_DEVICES];
	struct gp__owner owner[WORLD_DEVICES][WORLD_USERS];
	struct world_entity entity[WORLD_ENTITIES];
	struct gp__gang gang[WORLD_GANGS];
	u64 rng, now, started, nr_events, nr_actions;
	u32 next_id;
	/* The rate limit, modelled on its own: stops still allowed, in billionths. */
	s64 allowance[WORLD_DEVICES];
	u64 allowance_at[WORLD_DEVICES];
	u64 granted_at[WORLD_DEVICES][WORLD_USERS]; /* as the core had it after the last event */
	u64 stop_event[WORLD_DEVICES];
	bool calm; /* agents behave */
	bool keep_policy; /* no event changes it */
	char broken[256];
};

/* Everything follows from @seed. */
void world_init(struct world *w, u64 seed);
/* Makes a random event, or the core's timer if that is due first. False: a rule is broken, see
 * w->broken. */
bool world_step(struct world *w);
/* All programs run out of work and all agents answer; then no queue is held and nothing ticks. */
bool world_quiesce(struct world *w);

/* In world_check.c. False: a rule is broken. */
bool world_check(struct world *w);
/* Notes the first rule that is broken. Returns false. */
GP__PRINTF(2, 3) bool world_fail(struct world *w, const char *fmt, ...);

#endif
