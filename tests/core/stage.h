/* SPDX-License-Identifier: MIT */
/*
 * A stage for the core: actors (one entity each) that work or rest, agents that carry out what the
 * core orders, and time that passes only when the test says so.
 *
 * begin() switches every guarantee and limit off, so that a test sees only the ones it sets. runs()
 * and stopped() ask the agents, never the core.
 */
#ifndef GP__TESTS_STAGE_H
#define GP__TESTS_STAGE_H

#include "core/log.h"
#include "policy/policy.h"

#define STAGE_ACTORS 16
#define STAGE_QUEUES 2
#define STAGE_USERS 3

enum manner { OBEYS, FAILS_TO_STOP, FAILS_TO_START, SILENT };

struct hand {
	struct gp__queue q;
	bool ordered, stopped;
	u8 order;
	u64 answer_at;
};

struct actor {
	struct gp__entity e;
	struct gp__owner alone; /* its owner, unless it has another */
	struct hand hand[STAGE_QUEUES];
	enum manner manner;
	u32 nr_stops, nr_starts, nr_weighs; /* orders taken */
	struct gp__action last;
};

struct stage {
	struct gp__core core;
	struct gp__dev dev[2];
	struct gp__owner user[STAGE_USERS]; /* of the first device */
	struct gp__gang gang[2];
	struct actor actor[STAGE_ACTORS];
	u32 nr_actors, nr_queues, nr_orders;
	u64 now;
	u64 answer_ns; /* how long agents take */
	u32 reports[GP__WHAT_COUNT];
	struct gp__record last_report;
};

extern struct stage S;

void begin(const struct gp__policy *p);
/* The same, with a first device that can weigh. */
void begin_weighing(const struct gp__policy *p);
void config(u32 param, u64 value);
/* The policy's parameters are values[0..]. */
void policy(const struct gp__policy *p, const u64 *values);

/* A program of a user on gpu @dev that has one queue and no work yet; @user NULL: of its own. */
struct actor *stage_actor(u32 dev, struct gp__owner *user, const struct gp__hints *h);
#define actor(...) stage_actor(0, NULL, &(struct gp__hints){ __VA_ARGS__ })
#define actor_on(dev, ...) stage_actor(dev, NULL, &(struct gp__hints){ __VA_ARGS__ })
#define actor_of(user, ...) stage_actor(0, user, &(struct gp__hints){ __VA_ARGS__ })
#define hint(a, ...) stage_hint(a, &(struct gp__hints){ __VA_ARGS__ })
void stage_hint(struct actor *a, const struct gp__hints *h);
void second_queue(struct actor *a);
void leave(struct actor *a);
void tie(struct gp__gang *g, struct actor *a, struct actor *b);

void work(struct actor *a);
void rest(struct actor *a);
void suspend(struct actor *a);
void resume(struct actor *a);
void arriving(struct actor *a, u64 at);

/* Lets time pass: timers run and agents answer when they are due. */
void after(u64 ns);
/* Agents take their orders; calls on the core that are not made through the stage end with this. */
void take_orders(void);
/* An agent that was silent answers. */
void answer(struct actor *a, int result);

bool runs(const struct actor *a);
bool stopped(const struct actor *a);
/* In thousandths of all the time since @since, when it had got @before. */
u64 permille(const struct actor *a, u64 before, u64 since);

#endif
