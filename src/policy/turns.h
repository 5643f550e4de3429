/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Turns, for fair, share and drf. At most `width` entities run at once. The one that is furthest
 * ahead makes room when its turn is over, or at once for an entity that is more than a whole turn
 * behind.
 *
 * With virtual time, an entity without work earns credit, up to credit_ms of GPU time: it falls
 * behind the others by as much. If that is more than a turn, it runs as soon as it gets work, until
 * it has caught up. So a program that sleeps and wakes up gets its proportion, not more, but gets
 * it soon.
 *
 * Others wait for that long, so the default is a quarter of max_hold_ms: the requests of a server
 * that uses less than its proportion seldom need as much one after another.
 *
 * Owners have virtual time, too, and come first: their entities compare with each other only, and
 * an entity that gets work has no more credit than its owner.
 *
 * Every policy that takes turns has quantum_ms and width as its first parameters, and a struct
 * gp__turn as the first member of its state of an entity.
 */
#ifndef GP__POLICY_TURNS_H
#define GP__POLICY_TURNS_H

#include "policy/policy.h"

enum { GP__TURNS_QUANTUM_MS, GP__TURNS_WIDTH, GP__TURNS_PARAMS };

#define GP__TURNS_PARAM_TABLE                                                   \
	[GP__TURNS_QUANTUM_MS] = { "quantum_ms", 1, 10000, 10,                  \
				   "how long a turn lasts while others wait" }, \
	[GP__TURNS_WIDTH] = { "width", 1, GP__TURNS_MAX, 1, "how many run at once" }

/* For policies with virtual time, after the first two. */
enum { GP__VTIME_CREDIT_MS = GP__TURNS_PARAMS, GP__VTIME_PARAMS };

#define GP__VTIME_PARAM_TABLE                                                                 \
	GP__TURNS_PARAM_TABLE, [GP__VTIME_CREDIT_MS] = {                                      \
		"credit_ms", 0, 1000, 500, "GPU time that an entity without work can save up" \
	}

struct gp__turn {
	u64 end;
};

u64 gp__turns_quantum(const struct gp__dev *d);
bool gp__turns_fits(const struct gp__dev *d, const struct gp__entity *w, u64 now);
/* Whether the turn of @e is over. */
bool gp__turns_over(const struct gp__entity *e, u64 now);
void gp__turns_start(struct gp__entity *e, u64 now);
/* Starts another turn if this one is over. */
void gp__turns_go_on(struct gp__entity *e, u64 now);
u64 gp__turns_next(const struct gp__dev *d);

/*
 * The same for policies whose key is virtual time. The floor is the virtual time that no entity of
 * an owner, and no owner of a device, that comes back may fall behind by more than its credit.
 */
struct gp__vtime {
	struct gp__turn turn;
	u64 ns;
};

struct gp__vtime_owner {
	u64 ns;
	u64 floor;
};

struct gp__vtime_dev {
	u64 floor;
};

#define GP__VTIME_STATE                                                                          \
	.entity_bytes = sizeof(struct gp__vtime), .owner_bytes = sizeof(struct gp__vtime_owner), \
	.dev_bytes = sizeof(struct gp__vtime_dev)

/* It got GPU time: @ns is its virtual time, @owner_ns its owner's. */
void gp__turns_vtime_charge(struct gp__entity *e, u64 ns, u64 owner_ns);
s64 gp__turns_vtime_key(const struct gp__entity *e);
s64 gp__turns_vtime_owner_key(const struct gp__owner *o);
bool gp__turns_vtime_preempts(const struct gp__dev *d, const struct gp__entity *w,
			      const struct gp__entity *r, u64 now);
/* @credit: the virtual time of credit_ms; @owner_credit: its owner's. */
void gp__turns_vtime_wakeup(struct gp__entity *e, u64 credit, u64 owner_credit);
void gp__turns_vtime_charged(struct gp__dev *d);
u64 gp__turns_credit(const struct gp__dev *d);

#endif
