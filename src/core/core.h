/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The scheduling core: who may run on which device, decided from events alone.
 *
 * Events go in through the functions below, each with the time it happened; actions come out of an
 * outbox (gp__core_pop), and gp__core_wake() says when to call gp__core_tick() if nothing else
 * happens. The same events give the same actions: nothing here reads a clock, allocates, or depends
 * on addresses. Callers own the memory of devices, entities, queues and gangs, and serialise all
 * calls on one core.
 *
 * An entity (the queues of one process on one device that share priority and tag) is stopped and
 * started as one. Only an entity that has work is told to stop, and one that ran out of
 * it is let go when nobody is preferred to it any more, so a quiet device holds nobody.
 *
 * Precedence, strongest first:
 *  1. what the device can do: an entity whose queue failed to stop, or whose agent does not answer,
 * is out of planning and runs;
 *  2. the operator's suspend;
 *  3. gangs: all members or none;
 *  4. longest suspension, then minimum share: the entity runs *beside* whatever the policy chose,
 * for a grant;
 *  5. the policy (hpf's ageing included, which also grants);
 *  6. switch rate and hysteresis: they only delay. The rate limit delays stopping somebody, and
 * starting only who is to take that one's place; the hysteresis (linger) delays starting those who
 * were held when an entity goes idle for a moment.
 *
 * Every event costs O(log n) in entities, plus O(1) for each action it causes. Gangs add O(gangs x
 * members). Another policy or limit looks at everybody, and so does, where the device weighs, who
 * comes, goes, or asks for another share or priority.
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

#define GP__PRIO_OFFLINE 2
#define GP__PRIO_NORMAL 7
#define GP__PRIO_ONLINE 15
/* Any number of levels; the bound only keeps the arithmetic of ageing far from overflow. */
#define GP__PRIO_LIMIT 1000000

#define GP__TAG_MAX 32

/* What a device does with weights. */
enum gp__weighing {
	GP__WEIGHS_NOT,
	GP__WEIGHS, /* it keeps to the proportions */
	GP__WEIGHS_YIELDING, /* and knows the least and the most */
};

/*
 * Weights are relative, up to 10000, and 0 is the device's own. These two are not: who has the
 * least makes way at once for whoever has work, and who has the most goes on while it has any.
 */
#define GP__WEIGHT_LEAST 0xfffffeu
#define GP__WEIGHT_MOST 0xffffffu

enum gp__verb { GP__VERB_NONE, GP__VERB_EXCLUDE, GP__VERB_ADMIT, GP__VERB_WEIGH };

/* Derived by gp__queue_state(); an entity's is the worst of its queues'. */
enum gp__state {
	GP__STATE_ADMITTED,
	GP__STATE_EXCLUDING,
	GP__STATE_EXCLUDED,
	GP__STATE_ADMITTING,
	GP__STATE_FAILED,
	GP__STATE_UNRESPONSIVE,
};

enum gp__fault { GP__FAULT_NONE, GP__FAULT_FAILED, GP__FAULT_UNRESPONSIVE };

/* Why an action was taken; with the entity that caused it this is what `why` shows. */
enum gp__rule {
	GP__RULE_NONE,
	GP__RULE_PRIORITY, /* a more urgent entity has work */
	GP__RULE_SLICE, /* its turn is over, another's begins */
	GP__RULE_DEADLINE, /* another deadline is earlier */
	GP__RULE_CHOSEN, /* the policy's choice now */
	GP__RULE_IDLE, /* it has no work: nothing to hold */
	GP__RULE_AGEING, /* waited long enough to run beside the more urgent */
	GP__RULE_MAX_HOLD, /* longest suspension reached */
	GP__RULE_MIN_SHARE, /* minimum share owed */
	GP__RULE_GANG, /* a member of its gang may not run */
	GP__RULE_OPERATOR, /* suspended or resumed by hand */
	GP__RULE_NEW_QUEUE, /* a queue of an entity that is held */
	GP__RULE_RETRY, /* the last attempt failed */
	GP__RULE_OUT_OF_PLAN, /* cannot be controlled: let it run */
	GP__RULE_WEIGHT, /* the policy asks for this weight */
	GP__RULE_COUNT,
};

struct gp__why {
	u8 rule;
	u32 by; /* entity id, 0: nobody in particular */
};

/* What a program asks for. Zero means "not asked" everywhere but prio. */
struct gp__hints {
	s32 prio;
	u32 weight; /* relative; not asked: 100 */
	u32 share_pct; /* 1..100 */
	u32 min_share_pct; /* 1..100; not asked: the core's min_share_pct */
	u64 deadline_ns; /* from becoming ready to being done */
	u64 max_hold_ns; /* not asked: the core's max_hold_ms */
	u64 memory; /* bytes of device memory */
};

struct gp__core;
struct gp__entity;
struct gp__policy;
struct gp__record;

struct gp__dev {
	struct gp__core *core;
	struct gp__link link;
	u32 id;
	u8 can_weigh; /* enum gp__weighing */
	u64 memory;

	/* Entities that have work, by the policy's key: chosen, and not chosen. */
	struct gp__tree running, waiting;
	/* Held ones that ran out of work, by the same key. */
	struct gp__tree dormant;
	/* The waiting ones once more by the policy's ageing key, where it has one. */
	struct gp__tree ageing;
	struct gp__link fresh; /* waiting, but not told to stop yet */
	struct gp__link apart; /* out of planning */
	struct gp__tree suspects; /* of those, the ones an inversion is not yet reported of */
	struct gp__link members; /* every entity of this device; the policy's refresh order */
	struct gp__node timer;

	u32 nr_awake; /* have work */
	u32 nr_on; /* have work and are not held */
	u64 clock; /* GPU time an entity got that was here throughout: dt / nr_on */
	u64 clock_at;
	u64 vfloor; /* virtual time nobody who comes back may fall behind */

	u64 tokens_at; /* switch-rate bucket: empty up to this time (see may_switch) */
	u64 paid_event; /* the event whose switch is paid for */
	bool denied; /* somebody should be stopped and the rate limit forbids it */
	u32 nr_blocked; /* members of gangs that cannot run */
	struct gp__link dirty_link, touched_link;

	u64 stop_ns; /* how long stopping takes here, smoothed */
	bool stop_known; /* it has been seen */
	u64 nr_switches, nr_inversions;
	u32 share_sum, nr_no_share; /* of the entities' hints */
	/* Where it weighs: the highest priority that is present, at work or not, how many have it,
	 * and whether there are others. The operator's suspended ones are not. */
	s32 top_prio;
	u32 nr_top;
	bool has_patient;
};

enum gp__place {
	GP__PLACE_IDLE,
	GP__PLACE_RUNNING,
	GP__PLACE_WAITING,
	GP__PLACE_DORMANT, /* held, and has no work any more */
	GP__PLACE_GRANTED, /* runs beside the policy's choice until grant_end */
	GP__PLACE_BLOCKED, /* its gang cannot run */
	GP__PLACE_SUSPENDED, /* by the operator */
	GP__PLACE_APART, /* out of planning: failed or unresponsive */
};

struct gp__entity {
	/* What a search through the trees touches comes first. */
	struct gp__node node; /* in one of dev->running, waiting, dormant, suspects */
	struct gp__node timer; /* in core->timers */
	struct gp__node age; /* in dev->ageing */

	struct gp__dev *dev;
	u8 place;
	bool held; /* to be stopped */
	bool told; /* its queues know; differs from held only within an event */
	bool on; /* has work and is not held: counted in dev->nr_on */
	bool awake; /* had work when it was last looked at */
	bool lingering; /* idle, but keeps its place until linger_end */
	bool expected; /* announced work that has not come yet */
	bool announced; /* the same, and until it is done or called off */
	bool suspended; /* operator */
	bool late; /* edf: missed its deadline */
	bool deadline_named; /* ahead of the job it is for */
	bool inversion_reported;
	u8 class;
	u32 nr_ready, nr_faults; /* of its queues */
	u32 id, process;
	s32 prio;

	u64 hold_since; /* when it was stopped, or got work while it was */
	u64 linger_end, grant_end, slice_end;
	u64 expect_from; /* when to begin to make room; 0: not, or begun */
	u64 expect_at; /* when it is announced for */
	u64 doubt_until; /* what it announces does not count before: the last did not come */
	u64 clock_at; /* dev->clock when last charged */
	u64 used; /* GPU time got */
	u64 vtime; /* fair, share */
	u64 recent; /* drf: decayed GPU time ... */
	u64 recent_at;
	u64 deadline_at;
	s64 owed; /* minimum share not yet got */
	u64 owed_at, owed_used;
	u64 held_total, longest_hold, nr_holds;
	struct gp__why why; /* of the hold, or of the last admission */

	struct gp__hints hints;
	struct gp__gang *gang;
	struct gp__link gang_link, dev_link, fresh_link, apart_link, tell_link;
	struct gp__link queues;
	char tag[GP__TAG_MAX];
};

struct gp__queue {
	struct gp__entity *entity;
	struct gp__link link, inflight, outbox;
	u32 id;
	u8 level_requested, level;
	u8 verb; /* in force: NONE or EXCLUDE */
	u8 doing; /* in flight: at most one */
	u8 fault;
	u8 fails;
	bool ready, weigh_refused;
	u32 pending;
	u32 weight, weight_doing; /* 0: the device's default */
	struct gp__why why; /* of what is in flight, or of the last action */
	u64 issued_at, retry_at;
	u64 clock_at, run_total, held_total, last_ran;
	u64 nr_excluded;
};

/* Entities on several devices that run together or not at all. */
struct gp__gang {
	struct gp__core *core;
	struct gp__link link, members;
	u32 id;
	bool blocked; /* no member may run */
	bool tried; /* unblocked once in this event */
	u64 grant_end;
};

/* The most entities a policy that charges for time used lets run at once. */
#define GP__TURNS_MAX 64

/* A plain table; NULL entries mean what the comment says. */
struct gp__policy {
	const char *name, *summary;
	const struct gp__param *params;
	u32 nr_params;
	/* Order within the running and the waiting set, smallest first; constant while the entity
	 * stays there. */
	s64 (*key)(const struct gp__entity *e);
	/* May @w run beside those running now? Not asked when nobody runs. */
	bool (*fits)(const struct gp__dev *d, const struct gp__entity *w, u64 now);
	/* Must @r make room for @w? */
	bool (*preempts)(const struct gp__dev *d, const struct gp__entity *w,
			 const struct gp__entity *r, u64 now);
	u8 preempt_rule;
	bool needs_arrivals; /* when work comes matters, not only that somebody is there */
	/* May @r, the last of those running, go on beside the others? NULL: who runs may. */
	bool (*stays)(const struct gp__dev *d, const struct gp__entity *r, u64 now);
	/* The entity got work after having none. NULL: nothing to prepare. */
	void (*wakeup)(struct gp__entity *e, u64 now);
	/* It got @used of GPU time. NULL: keys do not depend on time used. */
	void (*charge)(struct gp__entity *e, u64 used, u64 now);
	/* Its turn begins. NULL: there are no turns. */
	void (*start)(struct gp__entity *e, u64 now);
	/* Order of ageing, and when the first of that order may run beside the running; NULL: no
	 * ageing. */
	s64 (*age_key)(const struct gp__entity *e);
	u64 (*age_due)(const struct gp__dev *d, const struct gp__entity *w);
	/* When may the choice change by itself while somebody waits? NULL: only events change it.
	 */
	u64 (*next)(const struct gp__dev *d);
	/*
	 * Notes what time alone changed; true: the key changed. Asked of the first running and
	 * waiting, and of a few others by turns. NULL: time changes nothing.
	 */
	bool (*refresh)(struct gp__entity *e, u64 now);
	/* The weight the device should give it where it can; NULL or 0: the default. */
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
	struct gp__link outbox; /* actions not yet popped */
	struct gp__link inflight; /* queues with an action, oldest first */
	struct gp__tree timers, dev_timers;
	struct gp__link dirty, touched; /* devices to settle, and to finish, in this event */
	struct gp__link tell; /* entities whose queues are told at its end */
	/* Sees every event, action and report as it happens; must not call back into the core. May
	 * be NULL. */
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
/* Starts the log: writes the configuration and the policy, so that a replay begins alike. */
void gp__core_log(struct gp__core *c, void (*log)(void *ctx, const struct gp__record *r),
		  void *ctx);
/* All values are checked; on -EINVAL/-ERANGE nothing changed. @values in the policy's order; NULL:
 * the defaults. */
int gp__core_set_policy(struct gp__core *c, const struct gp__policy *policy, const u64 *values,
			u64 now);
int gp__core_configure(struct gp__core *c, u32 param, u64 value, u64 now);

void gp__dev_add(struct gp__core *c, struct gp__dev *d, u32 id, u64 memory,
		 enum gp__weighing can_weigh, u64 now);
void gp__dev_remove(struct gp__dev *d, u64 now); /* its entities must be gone */

/* Checks what a program asks; a sentence for people in @why where it is refused. */
int gp__hints_check(const struct gp__hints *h, const char **why);
/* Tags come from programs and end up in logs and on screens: what is not plain becomes '_'. */
void gp__tag_set(char to[GP__TAG_MAX], const char *tag);
/* @id is unique and not 0. */
int gp__entity_add(struct gp__dev *d, struct gp__entity *e, u32 id, u32 process,
		   enum gp__class class, const char *tag, const struct gp__hints *h, u64 now);
void gp__entity_remove(struct gp__entity *e,
		       u64 now); /* with its queues; nothing refers to it afterwards */
int gp__entity_hint(struct gp__entity *e, const struct gp__hints *h, u64 now);
/* The job at hand, or where there is none the next, must be done at @at; 0: it has no deadline. */
void gp__entity_deadline(struct gp__entity *e, u64 at, u64 now);
/*
 * Work will come at @at: make room before it is there; 0: what was announced is over, or does not
 * come. Room is kept for arrive_grace_ms beyond that time, however often it is announced again, and
 * after an announcement in vain others do not count for as long.
 */
void gp__entity_arriving(struct gp__entity *e, u64 at, u64 now);
void gp__entity_suspend(struct gp__entity *e, bool suspend, u64 now);

void gp__queue_add(struct gp__entity *e, struct gp__queue *q, u32 id, u8 level_requested, u8 level,
		   u64 now);
void gp__queue_remove(struct gp__queue *q, u64 now);
void gp__queue_ready(struct gp__queue *q, u32 pending, u64 now);
void gp__queue_idle(struct gp__queue *q, u64 now);
/* The device changed how it stops this queue: a failed one gets another chance. */
void gp__queue_level(struct gp__queue *q, u8 level, u64 now);
/* @result of the action in flight: 0 or -errno. -EINVAL: there was none. */
int gp__queue_ack(struct gp__queue *q, int result, u64 now);

void gp__gang_add(struct gp__core *c, struct gp__gang *g, u32 id, u64 now);
void gp__gang_remove(struct gp__gang *g, u64 now); /* members go their own ways */
/* -EBUSY: in a gang already, or the gang has a member on that device. */
int gp__gang_join(struct gp__gang *g, struct gp__entity *e, u64 now);

void gp__core_tick(struct gp__core *c, u64 now);
u64 gp__core_wake(const struct gp__core *c);
bool gp__core_pop(struct gp__core *c, struct gp__action *a);

enum gp__state gp__queue_state(const struct gp__queue *q);
enum gp__state gp__entity_state(const struct gp__entity *e);
s32 gp__entity_effective(const struct gp__entity *e, u64 now);
bool gp__entity_active(const struct gp__entity *e);
u64 gp__entity_used(const struct gp__entity *e, u64 now);
/* For how long it has now been suspended; being stopped with nothing to do is not. */
u64 gp__entity_hold_ns(const struct gp__entity *e, u64 now);
u64 gp__queue_run_ns(const struct gp__queue *q, u64 now);
u64 gp__queue_held_ns(const struct gp__queue *q, u64 now);

/*
 * Priority inversion as it stands: the most urgent entity with work that is not alone with its
 * equals, and the least urgent one that runs although it should not. False: there is none.
 */
bool gp__dev_inversion(const struct gp__dev *d, const struct gp__entity **waiting,
		       const struct gp__entity **running);

const char *gp__state_name(enum gp__state s);
const char *gp__rule_name(enum gp__rule r);

/* The names that some priorities have. */
enum gp__class gp__class_of(s32 prio);
const char *gp__class_name(enum gp__class c);
/* False: no priority is called @name. */
bool gp__class_prio(const char *name, s32 *prio);

#endif
