/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Shared by the core's files only. */
#ifndef GP__CORE_INTERNAL_H
#define GP__CORE_INTERNAL_H

#include "core/core.h"
#include "core/guard.h"
#include "core/log.h"

/* dev->clock counts in 1/256 ns, so that many entities sharing a microsecond lose nothing. */
#define GP__CLOCK_SHIFT 8

static inline struct gp__entity *gp__entity_of(struct gp__node *n)
{
	return n ? container_of(n, struct gp__entity, node) : NULL;
}

/* Whether it is in a tree sorted by the policy's key. */
static inline bool gp__entity_keyed(const struct gp__entity *e)
{
	return e->place == GP__PLACE_RUNNING || e->place == GP__PLACE_WAITING ||
	       e->place == GP__PLACE_DORMANT;
}

/* A grant is due to it, and its gang waits for those of the others. */
static inline bool gp__entity_is_ripe(const struct gp__entity *e)
{
	return e->ripe && e->place == GP__PLACE_BLOCKED;
}

static inline const struct gp__policy *gp__policy_of(const struct gp__dev *d)
{
	return d->core->policy;
}

static inline struct gp__entity *gp__first_running(const struct gp__dev *d)
{
	return gp__entity_of(d->running.first);
}

static inline struct gp__entity *gp__last_running(const struct gp__dev *d)
{
	return gp__entity_of(gp__tree_last(&d->running));
}

static inline u32 gp__id_of(const struct gp__entity *e)
{
	return e ? e->id : 0;
}

static inline bool gp__dev_has_waiting(const struct gp__dev *d)
{
	return d->nr_waiting || d->nr_blocked;
}

static inline struct gp__why gp__why(enum gp__rule rule, u32 by)
{
	return (struct gp__why){ .rule = (u8)rule, .by = by };
}

/* core.c */
/* Every event begins here: time never goes backwards. */
u64 gp__core_begin(struct gp__core *c, u64 now);

/* account.c: GPU time */
void gp__dev_advance(struct gp__dev *d, u64 now);
void gp__entity_charge(struct gp__entity *e, u64 now);
/* Call after anything that may change whether the entity counts as running. */
void gp__entity_sync_on(struct gp__entity *e, u64 now);
void gp__entity_owe(struct gp__entity *e, u64 now);
/* When a waiting entity will be owed a whole grant, and have waited for it for @defer. */
u64 gp__entity_owed_due(const struct gp__entity *e, u64 defer, u64 now);
u64 gp__entity_owed_for(const struct gp__entity *e);
/* Call after anything that may change the entity's claim of a minimum share. */
void gp__entity_sync_claim(struct gp__entity *e);
/* The guarantees that all have allow its owner a grant on this device now. */
bool gp__entity_may_grant(const struct gp__entity *e, u64 now);
/* When its longest hold is reached. */
u64 gp__entity_hold_due(const struct gp__entity *e);
/* It gets a grant for @rule. */
void gp__entity_note_grant(struct gp__entity *e, enum gp__rule rule, u64 now);
void gp__queue_clock(struct gp__queue *q, u64 now);

/* act.c: actions on queues, and their acknowledgements */
void gp__entity_hold(struct gp__entity *e, struct gp__why why, u64 now);
void gp__entity_release(struct gp__entity *e, struct gp__why why, u64 now);
void gp__entity_restart_hold(struct gp__entity *e, u64 now);
void gp__queue_converge(struct gp__queue *q, struct gp__why why, u64 now);
/* Issues the actions of its queues at the end of the event. */
void gp__entity_tell(struct gp__entity *e);
void gp__core_tell(struct gp__core *c, u64 now);
/* Forgets failed attempts, because a change may make the next one succeed. The caller must call
 * gp__entity_tell(), or a failed release is never retried. */
void gp__entity_forgive(struct gp__entity *e);
void gp__queue_set_fault(struct gp__queue *q, enum gp__fault fault);
void gp__core_expire_acks(struct gp__core *c, u64 now);
u64 gp__core_next_ack_timeout(const struct gp__core *c);

/* place.c: places and timers of entities */
void gp__entity_update(struct gp__entity *e, u64 now);
/* Call when the policy may judge the entity differently. */
void gp__entity_reconsider(struct gp__entity *e, u64 now);
void gp__entity_leave(struct gp__entity *e);
void gp__entity_move(struct gp__entity *e, enum gp__place place);
void gp__entity_rekey(struct gp__entity *e);
void gp__owner_rekey(struct gp__owner *o);
void gp__entity_start_ageing(struct gp__entity *e);
/* Releases it beside the policy's choice until @end. */
void gp__entity_grant(struct gp__entity *e, enum gp__rule rule, u64 end, u64 now);
/* A grant is due. A member of a blocked gang gets it when the others' are, too. */
void gp__entity_give_grant(struct gp__entity *e, enum gp__rule rule, u64 now);
/* When a grant for one of its guarantees falls due. */
u64 gp__entity_grant_due(const struct gp__entity *e, u64 now);
void gp__entity_arm(struct gp__entity *e, u64 now);
/* Its announced work has not arrived yet, or is not waited for any more. */
void gp__entity_expect(struct gp__entity *e, bool expected, u64 now);
void gp__entity_give_up(struct gp__entity *e, u64 now);
void gp__entity_set_awake(struct gp__entity *e, bool awake);
void gp__arm(struct gp__tree *t, struct gp__node *n, u64 due, u64 now);
bool gp__dev_takes_turns(const struct gp__dev *d);
void gp__dev_catch_up(struct gp__dev *d, u64 now);
void gp__dev_dirty(struct gp__dev *d);
void gp__core_run_timers(struct gp__core *c, u64 now);

/* burst.c: bursts of work and the gaps in them */
void gp__burst_work(struct gp__entity *e, u64 now);
void gp__burst_gap(struct gp__entity *e, u64 since, u64 sees, u64 now);
/* It does not linger any more: its burst is over. */
void gp__burst_stop(struct gp__entity *e, u64 now);
/* When the burst will be long enough to hold others for it; GP__NEVER: it is, or nobody asks. */
u64 gp__burst_due(const struct gp__entity *e);
void gp__burst_timer(struct gp__entity *e, u64 now);
/* Call at the end of every event that touched the device. */
void gp__dev_count_waste(struct gp__dev *d, u64 now);

/* decide.c: choices */
/* After a change of limits or of the time that a hold takes: the bucket is at most empty. */
void gp__dev_limit_debt(struct gp__dev *d, u64 now);
void gp__core_settle(struct gp__core *c, u64 now);
bool gp__dev_would_run(struct gp__dev *d, const struct gp__entity *e, u64 now);

/* gang.c */
bool gp__gang_active(const struct gp__gang *g);
/* Whether it may not run for a reason that no guarantee bounds: the operator suspended a member,
 * and so all of it, or it waits for more members. */
bool gp__gang_stopped(const struct gp__gang *g);
/* Whether the member, which has work, has a part in the grant that its gang has now. */
bool gp__gang_grants(const struct gp__entity *e, u64 now);
/* It has. */
void gp__gang_note_grant(struct gp__entity *e, u64 now);
/* The device is being settled: its gangs are to be settled, too. */
void gp__gangs_touch(struct gp__dev *d);
void gp__gang_restart_holds(struct gp__gang *g, u64 now);
/* Sorts the gang again after its members or their priorities changed. */
void gp__gang_sort(struct gp__gang *g);
void gp__gang_leave(struct gp__entity *e, u64 now);
/* True: something changed and devices must be settled again. */
bool gp__gangs_settle(struct gp__core *c, u64 now);

/* record.c */
void gp__log_simple(struct gp__core *c, enum gp__what what, u64 now);
void gp__log_dev(struct gp__dev *d, enum gp__what what, u64 now);
void gp__log_entity(struct gp__entity *e, enum gp__what what, u64 value, u64 now);
void gp__log_queue(struct gp__queue *q, enum gp__what what, s64 value, u64 now);
void gp__log_idle(struct gp__queue *q, u64 since, u64 sees, u64 now);
void gp__log_gang(struct gp__gang *g, const struct gp__entity *e, enum gp__what what, u64 now);
void gp__log_config(struct gp__core *c, u32 param, u64 now);
void gp__log_policy(struct gp__core *c, u64 now);

#endif
