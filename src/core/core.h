/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The scheduling core decides from events alone which entities may run on which device.
 *
 * Events go in through the functions below, each with the time it happened; actions come out of an
 * outbox (gp__core_pop), and gp__core_wake() says when to call gp__core_tick() if nothing else
 * happens. The same events give the same actions: nothing here reads a clock, allocates, or depends
 * on addresses. Callers own the memory of devices, entities, queues and gangs, and serialise all
 * calls on one core.
 *
 * An entity is the queues of one process on one device that share priority and tag. It has an
 * owner, the user of the process: policies that divide time, and the default guarantees, divide
 * between the owners of a device first, so that many entities get no more than one. It is held and
 * released as one. Only an entity that has work is held, and one that ran out of work is released
 * when no other is preferred to it, so that an idle device holds no entity.
 *
 * Precedence, strongest first:
 *  1. a device that is off: all its entities run;
 *  2. what the device can do: an entity whose queue cannot be held, or whose agent does not answer,
 * is out of planning and runs, and so does one that is only observed;
 *  3. the operator's suspend;
 *  4. gangs: all members or none;
 *  5. longest hold, then minimum share: the entity runs *beside* the policy's choice, for a grant;
 *  6. the policy, including ageing, which also grants;
 *  7. an exemption from holds: an entity that has it keeps its place in the policy's order, and
 * runs where another one would be held;
 *  8. switch rate and lingering: they only delay. The rate limit delays holds, and the release of
 * an entity that takes the place of a held one; an entity that lingers keeps its place in the gaps
 * between two pieces of its work (burst.c).
 *
 * An event costs O(log n) in entities, plus O(1) for each action it causes. Events on a device with
 * members of gangs add O(members) for each of these gangs; others do not. A change of policy or
 * limits costs O(n), and so does, on a device that weighs, adding or removing an entity or changing
 * its share or priority.
 *
 * Wrong tool for: fairness inside one entity (streams of equal priority share as the hardware lets
 * them).
 */
#ifndef GP__CORE_H
#define GP__CORE_H

#include "core/list.h"
#include "core/param.h"
#include "core/tree.h"
#include "core/types.h"

enum gp__class {
	GP__CLASS_OTHER, /* any priority that has no name */
	GP__CLASS_OFFLINE,
	GP__CLASS_NORMAL,
	GP__CLASS_ONLINE,
	GP__CLASS_COUNT,
};

#define GP__TAG_MAX 32

/* How a device supports weights. */
enum gp__weighing {
	GP__WEIGHS_NOT,
	GP__WEIGHS, /* it keeps to the proportions */
	GP__WEIGHS_YIELDING, /* and knows the least and the most */
};

enum gp__verb { GP__VERB_NONE, GP__VERB_HOLD, GP__VERB_RELEASE, GP__VERB_WEIGH };

/* Derived by gp__queue_state(). An entity's state is the worst of its queues'. */
enum gp__state {
	GP__STATE_FREE,
	GP__STATE_HOLDING,
	GP__STATE_HELD,
	GP__STATE_RELEASING,
	GP__STATE_FAILED,
	GP__STATE_UNRESPONSIVE,
};

enum gp__fault { GP__FAULT_NONE, GP__FAULT_FAILED, GP__FAULT_UNRESPONSIVE };

/* The reason for an action. `gpreempt why` shows it with the entity that caused it. */
enum gp__rule {
	GP__RULE_NONE,
	GP__RULE_PRIORITY, /* a more urgent entity has work */
	GP__RULE_SLICE, /* its turn is over, another's begins */
	GP__RULE_DEADLINE, /* another deadline is earlier */
	GP__RULE_CHOSEN, /* the policy's choice now */
	GP__RULE_IDLE, /* it has no work: nothing to hold */
	GP__RULE_AGEING, /* waited long enough to run beside the more urgent */
	GP__RULE_MAX_HOLD, /* longest hold reached */
	GP__RULE_MIN_SHARE, /* minimum share owed */
	GP__RULE_GANG, /* a member of its gang may not run */
	GP__RULE_OPERATOR, /* suspended or resumed by hand */
	GP__RULE_NEW_QUEUE, /* a queue of an entity that is held */
	GP__RULE_RETRY, /* the last attempt failed */
	GP__RULE_OUT_OF_PLAN, /* cannot be controlled: it runs */
	GP__RULE_OFF, /* its device is off */
	GP__RULE_WEIGHT, /* the policy asks for this weight */
	GP__RULE_COUNT,
};

/* An entity is exempt from these. */
enum gp__exempt {
	GP__EXEMPT_NONE,
	GP__EXEMPT_HOLDS, /* others are held for it, but it is not, except by the operator */
	GP__EXEMPT_PLAN, /* it is only observed: neither is it held, nor are others for it */
	GP__EXEMPT_COUNT,
};

struct gp__why {
	u8 rule;
	u32 by; /* entity id, 0: none in particular */
};

/* Hints of a program. 0 means "not given", except for prio. */
struct gp__hints {
	s32 prio;
	u32 weight; /* relative; not given: 100 */
	u32 share_pct; /* 1..100 */
	u32 min_share_pct; /* 1..100; not given: the core's min_share_pct */
	u64 deadline_ns; /* from becoming ready to being done */
	u64 max_hold_ns; /* not given: the core's max_hold_ms */
	u64 memory; /* bytes of device memory: measured, or as the program says */
};

struct gp__core;
struct gp__entity;
struct gp__policy;
struct gp__record;

/* How long something has lasted lately: a histogram of the last hundred times or so. */
#define GP__SPREAD_BINS 40

struct gp__spread {
	u16 count[GP__SPREAD_BINS]; /* in units of a sample that fades */
	u16 total;
};

/*
 * Room for the state that a policy keeps per entity, owner and device. Only the policy in force
 * reads and writes it. It is zero when the policy comes into force and when the entity, owner or
 * device is added. A policy overlays it with a struct of u64 members.
 */
#define GP__POLICY_ENTITY_WORDS 4
#define GP__POLICY_OWNER_WORDS 2
#define GP__POLICY_DEV_WORDS 1

struct gp__dev {
	struct gp__core *core;
	struct gp__link link;
	u32 id;
	u8 can_weigh; /* enum gp__weighing */
	bool off; /* all its entities run */
	u64 memory;

	/* Entities that have work, by the policy's key: chosen, and not chosen. If the policy sorts
	 * owners, waiting is empty, and owners has those that have waiting entities. */
	struct gp__tree running, waiting, owners;
	u32 nr_waiting;
	/* Held entities that ran out of work, by the same key. */
	struct gp__tree dormant;
	/* The waiting entities again, by the policy's ageing key if it has one. */
	struct gp__tree ageing;
	struct gp__link fresh; /* waiting, but not held yet */
	struct gp__link apart; /* out of planning */
	struct gp__tree suspects; /* of those, the ones without a reported inversion */
	struct gp__link members; /* every entity of this device; the policy's refresh order */
	struct gp__link ganged; /* those of them that are in gangs */
	struct gp__node timer;

	u32 nr_awake; /* have work */
	u32 nr_awake_owners; /* have entities that have work */
	u32 claimed, nr_claiming; /* the sum of the owners' claims, and how many have one */
	u32 nr_on; /* have work and are not held */
	u32 nr_working; /* of those, the ones that do not only linger or wait for announced work */
	u32 nr_yielding; /* of those, the ones that get time only while no other works */
	u64 clock; /* GPU time of an entity that always ran: the sum of dt / (nr_on - nr_yielding)
		    */
	u64 yield_clock; /* the same of one that yields */
	u64 clock_at;

	u64 tokens_at; /* switch-rate bucket: empty up to this time (see may_switch) */
	u64 paid_event; /* the event whose switch is paid for */
	bool denied; /* the rate limit delays a hold */
	u32 nr_blocked; /* members of gangs that cannot run */
	struct gp__link dirty_link, touched_link;

	u64 hold_ns; /* how long a hold takes here, smoothed */
	bool hold_known; /* hold_ns was measured */
	u64 nr_switches, nr_inversions;
	bool wastes; /* idle while an entity with work is held */
	u64 hold_dev_ns; /* how much the time of a hold deviates from hold_ns, on average */
	u64 wasted, waste_at; /* time spent so, up to waste_at */
	u64 budget_at; /* waste budget: when the bucket is full again (see burst.c) */
	u32 share_sum; /* of the owners' sums, each at most 100 */
	u32 nr_no_share; /* owners with an entity that did not ask for a share */
	/* If it weighs: the highest priority of an entity, with work or not, how many have it, and
	 * whether others are lower. Suspended entities do not count. */
	s32 top_prio;
	u32 nr_top;
	bool has_patient;
	u64 policy_state[GP__POLICY_DEV_WORDS]; /* the policy's own */
};

/*
 * The user of some entities of a device. The caller's memory, at least as long as it has entities;
 * one for each user and device.
 */
struct gp__owner {
	struct gp__dev *dev;
	u32 id; /* of the user; GP__NOBODY: it has none, and the log does not show it */
	u32 nr_entities, nr_awake;
	u32 claimed; /* percent: the minimum shares that its entities with work claim */
	u64 granted_at; /* the last grant for a guarantee that all have */
	u32 nr_expected; /* entities whose announced work has not arrived yet */
	u64 expected_since; /* since when there have been some */
	u64 doubt_until; /* announcements are ignored: announced work did not arrive */
	u32 doubted; /* the entity whose work that was */
	struct gp__node node; /* in dev->owners */
	struct gp__tree waiting; /* if the policy sorts owners */
	u32 share_sum, nr_no_share; /* of its entities' hints */
	u64 memory_mib; /* of its entities, each at weight 100 */
	u64 policy_state[GP__POLICY_OWNER_WORDS]; /* the policy's own */
};

enum gp__place {
	GP__PLACE_IDLE,
	GP__PLACE_RUNNING,
	GP__PLACE_WAITING,
	GP__PLACE_DORMANT, /* held, and has no work any more */
	GP__PLACE_GRANTED, /* runs beside the policy's choice until grant_end */
	GP__PLACE_BLOCKED, /* its gang cannot run */
	GP__PLACE_SUSPENDED, /* by the operator */
	GP__PLACE_APART, /* out of planning: failed, unresponsive, or its device is off */
};

struct gp__entity {
	/* The fields that a search through the trees touches come first. */
	struct gp__node node; /* in one of dev->running, waiting, dormant, suspects */
	struct gp__node timer; /* in core->timers */
	struct gp__node age; /* in dev->ageing */

	struct gp__dev *dev;
	struct gp__owner *owner;
	u8 place;
	bool held; /* the decision; `told` is what its queues know */
	bool told; /* differs from held only within an event */
	bool on; /* has work and is not held: counted in dev->nr_on */
	bool working; /* counted in dev->nr_working */
	bool yields; /* works with the least weight: counted in dev->nr_yielding */
	bool awake; /* had work when it was last looked at */
	bool lingering; /* idle, but keeps its place until linger_end */
	bool in_burst; /* its burst is long enough to hold others for it */
	bool expected; /* announced work has not arrived yet */
	bool announced; /* announced work has not arrived yet, or is being done */
	bool over; /* the program said that no work follows what it has */
	bool suspended; /* operator */
	u8 exempt; /* enum gp__exempt */
	bool deadline_named; /* before its job arrived */
	bool inversion_reported;
	u8 class;
	u32 nr_ready, nr_faults; /* of its queues */
	u32 claimed; /* counted in its owner's claims */
	u32 id, process;
	s32 prio;

	u64 hold_since; /* when it was held, or got work while held */
	u64 linger_end, grant_end;
	u64 idle_since; /* when it ran out of work; 0: it never had any */
	u64 burst_since; /* since when it has had work, gaps that it lingered over included */
	u64 waste_mark; /* dev->wasted when it began to linger */
	u64 wasted; /* device time that its lingering has cost others */
	struct gp__spread gaps, bursts; /* how long they last */
	u64 expect_from; /* when to start making room; 0: not, or started */
	u64 expect_at; /* the announced time */
	u64 clock_at; /* dev->clock, or yield_clock, when last charged */
	u64 used; /* GPU time */
	u64 deadline_at;
	s64 owed; /* minimum share not yet got */
	u64 owed_at, owed_used;
	u64 held_total, longest_hold, nr_holds;
	struct gp__why why; /* of the hold, or of the last release */
	u64 policy_state[GP__POLICY_ENTITY_WORDS]; /* the policy's own */

	struct gp__hints hints;
	struct gp__gang *gang;
	u8 ripe; /* while its gang is blocked: the rule by which a grant is due, or was */
	struct gp__link gang_link, ganged_link, dev_link, fresh_link, apart_link, tell_link;
	struct gp__link queues;
	char tag[GP__TAG_MAX];
};

struct gp__queue {
	struct gp__entity *entity;
	struct gp__link link, inflight, outbox;
	u32 id;
	u8 level_requested, level;
	u8 verb; /* in force: NONE or HOLD */
	u8 doing; /* in flight: at most one */
	u8 fault;
	u8 fails;
	bool ready, weigh_refused;
	u32 pending;
	u32 weight, weight_doing; /* 0: the device's default */
	struct gp__why why; /* of what is in flight, or of the last action */
	u64 issued_at, retry_at;
	u64 clock_at, run_total, held_total;
	u64 used_at; /* its entity's account at clock_at */
	u64 nr_holds;
};

/* Entities on several devices that run together or not at all. */
struct gp__gang {
	struct gp__core *core;
	struct gp__link link, members;
	u32 id;
	bool blocked; /* no member may run */
	bool waits; /* for more members: blocked, whatever else is the case */
	bool tried; /* unblocked once in this event */
	bool stale; /* this event concerns one of its devices */
	u32 nr_suspended; /* members */
	u64 grant_end;
	u64 max_hold_ns; /* 0: as for other entities */
};

/* The most entities that run at once under a policy that charges for time used. */
#define GP__TURNS_MAX 64

/* A table of functions; the comments say what NULL means. */
struct gp__policy {
	const char *name, *summary;
	const struct gp__param *params;
	u32 nr_params;
	u32 entity_bytes, owner_bytes, dev_bytes; /* of policy_state that it uses */
	/* The order within the running and the waiting set, smallest first. Constant while the
	 * entity stays there, unless charge() or refresh() changes it. */
	s64 (*key)(const struct gp__entity *e);
	/* The order of owners, of which the first waits first; key() is the order within an owner
	 * then. Changes as key() does, with any of its entities. NULL: owners do not matter. */
	s64 (*owner_key)(const struct gp__owner *o);
	/* Whether @w may run beside the running entities, of which there is at least one. */
	bool (*fits)(const struct gp__dev *d, const struct gp__entity *w, u64 now);
	/* Whether @r must make room for @w. */
	bool (*preempts)(const struct gp__dev *d, const struct gp__entity *w,
			 const struct gp__entity *r, u64 now);
	u8 preempt_rule;
	bool needs_arrivals; /* it needs the times at which work arrives */
	/* Whether @r, the last of the running entities, may go on. NULL: always. */
	bool (*stays)(const struct gp__dev *d, const struct gp__entity *r, u64 now);
	/* The entity got work after having none. NULL: nothing to prepare. */
	void (*wakeup)(struct gp__entity *e, u64 now);
	/* It got @used of GPU time. NULL: keys do not depend on time used. */
	void (*charge)(struct gp__entity *e, u64 used, u64 now);
	/* The running entities of the device were charged. NULL: nothing to note. */
	void (*charged)(struct gp__dev *d);
	/* Its turn begins. NULL: there are no turns. */
	void (*start)(struct gp__entity *e, u64 now);
	/* It goes on running after an event. NULL: a turn that is over is not begun anew. */
	void (*go_on)(struct gp__entity *e, u64 now);
	/* The order of ageing, which only a grant to its owner changes, and when the first in that
	 * order gets a grant. NULL: no ageing. */
	s64 (*age_key)(const struct gp__entity *e);
	u64 (*age_due)(const struct gp__dev *d, const struct gp__entity *w);
	/* When the choice may change while an entity waits. NULL: only events change it. */
	u64 (*next)(const struct gp__dev *d);
	/*
	 * Updates the state for the time that has passed; true: the key changed. Called for the
	 * first running and waiting entities, and for a few others in turn. NULL: time changes
	 * nothing.
	 */
	bool (*refresh)(struct gp__entity *e, u64 now);
	/* The weight on a device that can weigh. NULL or 0: the default. */
	u32 (*weight)(const struct gp__entity *e);
	s32 (*effective)(const struct gp__entity *e, u64 now);
};

enum {
	GP__CFG_MIN_SHARE_PCT,
	GP__CFG_MAX_HOLD_MS,
	GP__CFG_GRANT_MS,
	GP__CFG_SWITCHES_PER_S,
	GP__CFG_SWITCH_BURST,
	GP__CFG_LINGER_US,
	GP__CFG_WASTE_PCT,
	GP__CFG_DEFER_MS,
	GP__CFG_ACK_TIMEOUT_MS,
	GP__CFG_RETRY_MS,
	GP__CFG_TRIES,
	GP__CFG_ARRIVE_GRACE_MS,
	GP__CFG_COUNT,
};
extern const struct gp__param gp__core_params[GP__CFG_COUNT];

#define GP__POLICY_PARAMS_MAX 8

struct gp__core {
	const struct gp__policy *policy;
	u64 params[GP__POLICY_PARAMS_MAX];
	u64 cfg[GP__CFG_COUNT];
	u64 now;
	struct gp__link devices, gangs;
	bool stale_gangs; /* there are some */
	struct gp__link outbox; /* actions not yet popped */
	struct gp__link inflight; /* queues with an action, oldest first */
	struct gp__tree timers, dev_timers;
	struct gp__link dirty, touched; /* devices to settle, and to finish, in this event */
	struct gp__link tell; /* entities whose queues are told at its end */
	/* Called for every event, action and report; must not call into the core. May be NULL. */
	void (*log)(void *ctx, const struct gp__record *r);
	void *log_ctx;
	u64 nr_events, nr_actions;
};

struct gp__action {
	u64 time;
	struct gp__queue *queue;
	u8 verb, level;
	u32 weight;
	struct gp__why why;
};

void gp__core_init(struct gp__core *c, const struct gp__policy *policy);
/* Starts the log with the configuration and the policy, so that a replay begins alike. */
void gp__core_log(struct gp__core *c, void (*log)(void *ctx, const struct gp__record *r),
		  void *ctx);
/* All values are checked; on -EINVAL/-ERANGE nothing changed. @values in the policy's order; NULL:
 * the defaults. -EINVAL: the policy keeps more state than there is room for. */
int gp__core_set_policy(struct gp__core *c, const struct gp__policy *policy, const u64 *values,
			u64 now);
int gp__core_configure(struct gp__core *c, u32 param, u64 value, u64 now);

void gp__dev_add(struct gp__core *c, struct gp__dev *d, u32 id, u64 memory,
		 enum gp__weighing can_weigh, u64 now);
void gp__dev_remove(struct gp__dev *d, u64 now); /* its entities must be gone */
/* While it is off, all its entities run, also suspended ones and members of gangs, and it weighs
 * none. Costs O(n). */
void gp__dev_switch(struct gp__dev *d, bool off, u64 now);

/* Checks hints; where they are refused, @why is a sentence for people. */
int gp__hints_check(const struct gp__hints *h, const char **why);
/* Tags come from programs and end up in logs and on screens. */
static inline bool gp__tag_char(char c)
{
	return c > ' ' && c < 0x7f && c != '=';
}

/* Copies a tag; other characters become '_'. */
void gp__tag_set(char to[GP__TAG_MAX], const char *tag);
/* Before its first entity is added; no event. */
void gp__owner_init(struct gp__owner *o, struct gp__dev *d, u32 id);
/* Its announcements are ignored for now. Memory of an owner without entities may be freed, except
 * that a doubt is forgotten with it. */
bool gp__owner_is_doubted(const struct gp__owner *o, u64 now);
/* The share that its entities ask for: together as much as one may. */
u32 gp__owner_share_pct(const struct gp__owner *o);
/* @id is unique and not 0. */
int gp__entity_add(struct gp__owner *o, struct gp__entity *e, u32 id, u32 process,
		   enum gp__class class, const char *tag, const struct gp__hints *h, u64 now);
void gp__entity_remove(struct gp__entity *e,
		       u64 now); /* with its queues; nothing refers to it afterwards */
int gp__entity_hint(struct gp__entity *e, const struct gp__hints *h, u64 now);
/* Sets the deadline of the current job, or else of the next one. 0: it has none. */
void gp__entity_deadline(struct gp__entity *e, u64 at, u64 now);
/*
 * Announces work for @at, so that room is made before it arrives; 0: the work is done or called
 * off. Room is kept for arrive_grace_ms after that time, however often the work is announced. If it
 * does not arrive, or is called off late, further announcements of its owner are ignored for as
 * long as room was kept, unless the work arrives after all.
 */
void gp__entity_arriving(struct gp__entity *e, u64 at, u64 now);
void gp__entity_suspend(struct gp__entity *e, bool suspend, u64 now);
void gp__entity_exempt(struct gp__entity *e, enum gp__exempt exempt, u64 now);

void gp__queue_add(struct gp__entity *e, struct gp__queue *q, u32 id, u8 level_requested, u8 level,
		   u64 now);
void gp__queue_remove(struct gp__queue *q, u64 now);
void gp__queue_ready(struct gp__queue *q, u32 pending, u64 now);
/* It has had no work since @since; new work is seen within @sees after its arrival. */
void gp__queue_idle(struct gp__queue *q, u64 since, u64 sees, u64 now);
/* The device holds this queue at another level: failed attempts are forgotten. */
void gp__queue_level(struct gp__queue *q, u8 level, u64 now);
/* @result of the action in flight: 0 or -errno. -EINVAL: there was none. */
int gp__queue_ack(struct gp__queue *q, int result, u64 now);

void gp__gang_add(struct gp__core *c, struct gp__gang *g, u32 id, u64 now);
void gp__gang_remove(struct gp__gang *g, u64 now); /* its members stay, without a gang */
/* -EBUSY: in a gang already, or the gang has a member on that device. */
int gp__gang_join(struct gp__gang *g, struct gp__entity *e, u64 now);
/* While it waits, all its members are held, with work or without, and no guarantee applies. */
void gp__gang_wait(struct gp__gang *g, bool waits, u64 now);

/* Its members are not held for longer, whatever their hints and the core's max_hold_ms say. */
void gp__gang_bound(struct gp__gang *g, u64 max_hold_ns, u64 now);

/* The waiting entity that the policy prefers. */
struct gp__entity *gp__dev_first_waiting(const struct gp__dev *d);

void gp__core_tick(struct gp__core *c, u64 now);
u64 gp__core_wake(const struct gp__core *c);
bool gp__core_pop(struct gp__core *c, struct gp__action *a);

enum gp__state gp__queue_state(const struct gp__queue *q);
enum gp__state gp__entity_state(const struct gp__entity *e);
s32 gp__entity_effective(const struct gp__entity *e, u64 now);
bool gp__entity_active(const struct gp__entity *e);
u64 gp__entity_used(const struct gp__entity *e, u64 now);
/* Device time that was idle while an entity with work was held, and what of it an entity's
 * lingering has cost. */
u64 gp__dev_wasted(const struct gp__dev *d, u64 now);
u64 gp__entity_wasted(const struct gp__entity *e, u64 now);
/* How long before its arrival room is made for announced work: nearly all holds take less. */
u64 gp__dev_lead_ns(const struct gp__dev *d);
/* It has work and is not held, but yields to another that works. */
bool gp__entity_gives_way(const struct gp__entity *e);
/* Since when it has waited for the grants that all entities get. */
u64 gp__entity_waits_since(const struct gp__entity *e);
/* How long it has been held while it had work. */
u64 gp__entity_hold_ns(const struct gp__entity *e, u64 now);
/* GPU time that its entity has got while this queue had work and was not held. */
u64 gp__queue_run_ns(const struct gp__queue *q, u64 now);
u64 gp__queue_held_ns(const struct gp__queue *q, u64 now);

const char *gp__state_name(enum gp__state s);
const char *gp__rule_name(enum gp__rule r);

/* Some priorities have names. */
enum gp__class gp__class_of(s32 prio);
const char *gp__class_name(enum gp__class c);
/* False: no priority is called @name. */
bool gp__class_prio(const char *name, s32 *prio);

#endif
