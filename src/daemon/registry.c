// SPDX-License-Identifier: MIT
/* The daemon's table of programs and queues: turns what they report into events of the core, and
 * the core's actions into orders. */
#include "daemon/registry.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/accounts.h"
#include "daemon/ended.h"
#include "daemon/limit.h"
#include "daemon/memory.h"
#include "daemon/gangs.h"
#include "daemon/verdict.h"

#define OUT_OF_MEMORY "gpreemptd is out of memory"

void gp__registry_init(struct gp__registry *r, const struct gp__policy *policy,
		       void (*deliver)(void *data, struct gp__program_queue *q,
				       const struct gp__action *a),
		       void *data)
{
	memset(r, 0, sizeof(*r));
	r->nr_events = 1; /* a group that has never had work has 0 */
	gp__core_init(&r->core, policy);
	gp__list_init(&r->users);
	gp__list_init(&r->gpus);
	gp__list_init(&r->programs);
	gp__list_init(&r->groups);
	gp__list_init(&r->decided);
	gp__list_init(&r->ended);
	gp__list_init(&r->ended_users);
	gp__list_init(&r->changed);
	gp__list_init(&r->memory_changed);
	for (u32 i = 0; i < GP__GROUP_BUCKETS; i++)
		gp__list_init(&r->by_id[i]);
	gp__list_init(&r->verdicts);
	gp__list_init(&r->registered);
	gp__list_init(&r->gangs);
	gp__list_init(&r->waiting_gangs);
	gp__list_init(&r->stale_gangs);
	r->rank_hold = GP__RANK_HOLD_NS;
	gp__list_init(&r->accounts);
	gp__list_init(&r->classes);
	r->deliver = deliver;
	r->data = data;
}

void gp__registry_close(struct gp__registry *r)
{
	if (!r->deliver) /* it was never initialized */
		return;
	gp__ended_free_all(r);
	gp__accounts_free(r);
	gp__verdict_free_all(r);
	gp__cgroups_free(r);
	gp__users_free(&r->users);
}

void gp__program_enter(struct gp__registry *r, struct gp__program *p, u64 now)
{
	p->since = now;
	p->user->nr_programs++;
	gp__list_init(&p->groups);
	gp__list_init(&p->changed);
	gp__list_init(&p->memory_changed);
	gp__list_init(&p->of_gang);
	gp__list_push(&r->programs, &p->link);
	p->terms = gp__cgroups_terms(r, p);
}

void gp__program_leave(struct gp__program *p)
{
	p->user->nr_programs -= !gp__list_empty(&p->link);
	gp__list_del(&p->link);
	gp__list_del(&p->changed);
	gp__list_del(&p->memory_changed);
	free(p->cgroups);
	p->cgroups = NULL;
}

/*
 * GPUs
 */

static enum gp__weighing weighing_of(u32 flags)
{
	if (!(flags & GP__WIRE_CAN_WEIGH))
		return GP__WEIGHS_NOT;
	return flags & GP__WIRE_CAN_YIELD ? GP__WEIGHS_YIELDING : GP__WEIGHS;
}

/* A GPU as a program has described it, with what the daemon knows better. */
struct description {
	const char *key, *name;
	u64 memory;
	enum gp__weighing weighing;
	bool is_shared;
};

static struct description describe(const struct gp__registry *r, const struct gp__program *p,
				   struct description d)
{
	const struct gp__device *known = gp__devices_by_key(p->devices, d.key);

	/* Of a GPU that the daemon does not know, it can only tell that the program uses some. */
	d.is_shared = !r->one_user && (known ? known->is_open : gp__devices_any_open(p->devices));
	if (!known || !d.is_shared)
		return d;
	d.name = *known->name ? known->name : d.name;
	d.memory = known->memory ? known->memory : d.memory;
	d.weighing = known->weighing;
	return d;
}

static struct description describe_added(const struct gp__registry *r, const struct gp__program *p,
					 const struct gp__wire_queue_add *add)
{
	return describe(r, p,
			(struct description){ .key = add->device,
					      .name = add->device_name,
					      .memory = add->device_memory,
					      .weighing = weighing_of(add->flags) });
}

/* Agents of version 2, and of backends that cannot tell, do not know the size. */
static bool is_same_size(u64 a, u64 b)
{
	return a == b || !a || !b;
}

/*
 * Programs of a user that describe a GPU differently get different ones. The memory of a shared GPU
 * is that of the daemon's or the first description: no program has one of its own by another size.
 */
static bool is_described(const struct gp__registry *r, const struct gp__gpu *gpu,
			 const struct gp__program *p, const struct description *d)
{
	if (strcmp(gpu->key, d->key) || gpu->dev.can_weigh != d->weighing ||
	    gpu->is_shared != d->is_shared)
		return false;
	return gpu->is_shared || (is_same_size(gpu->dev.memory, d->memory) &&
				  (r->one_user || gpu->named_by == p->user));
}

static struct gp__gpu *find_gpu(struct gp__registry *r, const struct gp__program *p,
				const struct description *d)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->gpus)
	{
		struct gp__gpu *gpu = container_of(l, struct gp__gpu, link);

		if (is_described(r, gpu, p, d))
			return gpu;
	}
	return NULL;
}

static bool is_number_taken(const struct gp__registry *r, u32 number)
{
	const struct gp__link *l;

	for (l = r->gpus.next; l != &r->gpus; l = l->next) {
		if (container_of(l, struct gp__gpu, link)->dev.id == number)
			return true;
	}
	return false;
}

/*
 * The number of a GPU that the daemon knows is its place on this machine. Others get the lowest
 * free one behind these, which they keep while they have queues. So does a second GPU with the same
 * key: one of them is one user's alone, because its programs do not have the device open.
 */
static u32 number_of(const struct gp__registry *r, const struct description *d)
{
	int place = gp__devices_place(r->machine, d->key);
	u32 number = gp__devices_nr_known(r->machine);

	if (place >= 0 && !is_number_taken(r, (u32)place))
		return (u32)place;
	while (is_number_taken(r, number))
		number++;
	return number;
}

static void add_gpu(struct gp__registry *r, struct gp__gpu *gpu, const struct gp__program *p,
		    const struct description *d, u64 now)
{
	gp__wire_text(gpu->key, sizeof(gpu->key), d->key);
	gp__wire_text(gpu->name, sizeof(gpu->name), d->name);
	gpu->is_shared = d->is_shared;
	gpu->named_by = p->user;
	p->user->nr_gpus++;
	gp__list_init(&gpu->groups);
	gp__list_init(&gpu->kept);
	gp__list_init(&gpu->decided);
	gp__list_init(&gpu->users);
	gpu->epoch = 1;
	gp__dev_add(&r->core, &gpu->dev, number_of(r, d), d->memory, d->weighing, now);
	gp__dev_switch(&gpu->dev, gp__off_has(&r->off, gpu->key), now);
	gp__list_push(&r->gpus, &gpu->link);
}

/* NULL with -errno in @err and a sentence in @why. */
static struct gp__gpu *get_gpu(struct gp__registry *r, const struct gp__program *p,
			       const struct gp__wire_queue_add *add, bool bounded, u64 now,
			       int *err, const char **why)
{
	struct description d = describe_added(r, p, add);
	struct gp__gpu *gpu = find_gpu(r, p, &d);

	if (gpu)
		return gpu;
	if (bounded && p->user->nr_gpus >= GP__USER_GPUS_MAX) {
		p->user->refused[GP__BUDGET_GPUS]++;
		*why = "this user has reached the limit of 64 GPUs";
		*err = -EDQUOT;
		return NULL;
	}
	*why = OUT_OF_MEMORY;
	*err = -ENOMEM;
	gpu = calloc(1, sizeof(*gpu));
	if (gpu)
		add_gpu(r, gpu, p, &d, now);
	return gpu;
}

/* @g: whose queues are lost, or NULL. */
static void tell_gpu(struct gp__registry *r, const struct gp__gpu *gpu, enum gp__gpu_event event,
		     const struct gp__group *g)
{
	if (r->tell_gpu)
		r->tell_gpu(r->data, gpu, event, g);
}

static void put_owner(struct gp__owner *o, u64 now)
{
	struct gp__gpu_user *u = container_of(o, struct gp__gpu_user, owner);

	/* A new group must not end the doubt about the user's announcements. */
	if (o->nr_entities || gp__owner_is_doubted(o, now))
		return;
	gp__list_del(&u->link);
	free(u);
}

/* @room: for a new one, which is used or freed. NULL: there is none. */
static struct gp__owner *get_owner(struct gp__gpu *gpu, uid_t uid, struct gp__gpu_user *room,
				   u64 now)
{
	struct gp__gpu_user *u;
	struct gp__link *l, *n;

	gp__list_each(l, n, &gpu->users)
	{
		u = container_of(l, struct gp__gpu_user, link);
		if (u->owner.id == uid) {
			free(room);
			return &u->owner;
		}
		put_owner(&u->owner, now);
	}
	if (!room)
		return NULL;
	gp__owner_init(&room->owner, &gpu->dev, uid);
	gp__list_push(&gpu->users, &room->link);
	return &room->owner;
}

static void put_gpu(struct gp__registry *r, struct gp__gpu *gpu, u64 now)
{
	struct gp__link *l, *n;

	if (gpu->nr_groups)
		return;
	if (gpu->lost)
		tell_gpu(r, gpu, GP__GPU_LEFT, NULL);
	gp__list_each(l, n, &gpu->users) free(container_of(l, struct gp__gpu_user, link));
	gp__dev_remove(&gpu->dev, now);
	gpu->named_by->nr_gpus--;
	gp__list_del(&gpu->decided);
	gp__list_del(&gpu->link);
	free(gpu);
}

/*
 * Groups
 */

static struct gp__group *find_group(const struct gp__program *p, const struct gp__gpu *gpu,
				    s32 prio, const char *tag)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &p->groups)
	{
		struct gp__group *g = container_of(l, struct gp__group, of_program);

		if (g->gpu == gpu && g->asked_prio == prio && !strcmp(g->entity.tag, tag))
			return g;
	}
	return NULL;
}

void gp__program_note(struct gp__registry *r, struct gp__program *p)
{
	gp__list_del(&p->changed);
	gp__list_push(&r->changed, &p->changed);
}

static void note_shared(struct gp__registry *r, struct gp__program *p, bool shared)
{
	p->nr_shared += shared ? 1 : (u32)-1;
	gp__program_note(r, p);
}

/* The group that was alone on the GPU, or is now. */
static void note_other(struct gp__registry *r, const struct gp__gpu *gpu, bool shared)
{
	note_shared(r, container_of(gpu->groups.next, struct gp__group, of_gpu)->program, shared);
}

static void link_to_gpu(struct gp__registry *r, struct gp__group *g)
{
	struct gp__gpu *gpu = g->gpu;

	if (gpu->nr_groups++ == 1)
		note_other(r, gpu, true);
	if (gpu->nr_groups > 1)
		note_shared(r, g->program, true);
	gp__list_push(&gpu->groups, &g->of_gpu);
}

static void unlink_from_gpu(struct gp__registry *r, struct gp__group *g)
{
	struct gp__gpu *gpu = g->gpu;

	gp__list_del(&g->of_gpu);
	if (gpu->nr_groups > 1)
		note_shared(r, g->program, false);
	if (--gpu->nr_groups == 1)
		note_other(r, gpu, false);
}

static void link_group(struct gp__registry *r, struct gp__group *g)
{
	link_to_gpu(r, g);
	g->program->user->nr_groups++;
	gp__list_push(&g->program->groups, &g->of_program);
	gp__list_push(&r->by_id[g->entity.id % GP__GROUP_BUCKETS], &g->by_id);
	gp__list_push(&r->groups, &g->link);
	gp__memory_changed(r, g->program);
}

static void unlink_group(struct gp__registry *r, struct gp__group *g)
{
	gp__list_del(&g->link);
	gp__list_del(&g->by_id);
	gp__list_del(&g->of_program);
	g->program->user->nr_groups--;
	unlink_from_gpu(r, g);
	gp__memory_changed(r, g->program);
}

static struct gp__hints hints_of(const struct gp__wire_hints *w)
{
	return (struct gp__hints){ .prio = w->prio,
				   .weight = w->weight,
				   .share_pct = w->share_pct,
				   .min_share_pct = w->min_share_pct,
				   .deadline_ns = w->deadline_ns,
				   .max_hold_ns = w->max_hold_ns,
				   .memory = w->memory };
}

/* @by_default: the program has asked for no priority. NULL with -errno in @err and a sentence in
 * @why. */
static struct gp__group *get_group(struct gp__registry *r, struct gp__program *p,
				   struct gp__gpu *gpu, const char *tag,
				   const struct gp__hints *hints, bool by_default, bool bounded,
				   u64 now, int *err, const char **why)
{
	struct gp__hints in_force = *hints;
	char clean[GP__TAG_MAX];
	struct gp__owner *owner;
	struct gp__group *g;

	gp__tag_set(clean, tag);
	g = find_group(p, gpu, hints->prio, clean);
	if (g)
		return g;
	if (bounded && p->user->nr_groups >= GP__USER_GROUPS_MAX) {
		p->user->refused[GP__BUDGET_GROUPS]++;
		*why = "this user has reached the limit of 1024 groups of queues";
		*err = -EDQUOT;
		return NULL;
	}
	*why = OUT_OF_MEMORY;
	*err = -ENOMEM;
	owner = get_owner(gpu, p->owner, calloc(1, sizeof(struct gp__gpu_user)), now);
	g = owner ? calloc(1, sizeof(*g)) : NULL;
	if (!g)
		return NULL;
	gp__terms_apply(&p->terms, by_default, &in_force);
	gp__verdict_override(p, clean, &in_force);
	if (gp__entity_add(owner, &g->entity, ++r->last_id, (u32)p->pid,
			   gp__class_of(in_force.prio), tag, &in_force, now)) {
		free(g);
		return NULL;
	}
	g->program = p;
	g->gpu = gpu;
	g->asked_prio = hints->prio;
	g->asked_weight = hints->weight;
	g->asked_share = hints->share_pct;
	g->by_default = by_default;
	g->asked_memory = hints->memory;
	link_group(r, g);
	gp__list_init(&g->of_account);
	gp__account_enter(r, g);
	gp__verdict_apply(r, g, now);
	gp__quota_enter(r, g, now);
	gp__group_join_gang(r, g, now);
	return g;
}

static void put_group(struct gp__registry *r, struct gp__group *g, u64 now)
{
	if (g->nr_queues)
		return;
	gp__account_leave(r, g, now);
	gp__group_leave_gang(r, g);
	gp__quota_leave(g, now);
	gp__entity_remove(&g->entity, now);
	put_owner(g->entity.owner, now);
	unlink_group(r, g);
	put_gpu(r, g->gpu, now);
	free(g);
}

void gp__group_suspend(struct gp__group *g, bool suspend, u64 now)
{
	g->suspended = suspend;
	gp__group_exempt(g, now);
	gp__entity_suspend(&g->entity, suspend || g->over_quota, now);
}

void gp__group_exceed(struct gp__group *g, bool over, u64 now)
{
	if (over == g->over_quota)
		return;
	g->over_quota = over;
	if (!g->suspended)
		gp__entity_suspend(&g->entity, over, now);
}

/* Work of a queue that is lost is never done: others must not wait for it. */
static bool has_work(const struct gp__program_queue *q)
{
	return (q->work & 1) && !q->group->program->stopped && !q->group->gone_in;
}

static void update_work(struct gp__program_queue *q, u64 now)
{
	if (has_work(q) && !q->core.ready)
		gp__queue_ready(&q->core, 1, now);
	else if (!has_work(q) && q->core.ready)
		gp__queue_idle(&q->core, now, 0, now);
}

static void update_group(struct gp__group *g, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &g->entity.queues)
		update_work(container_of(l, struct gp__program_queue, core.link), now);
}

/*
 * GPUs that fail
 */

/* Whether the agent of a program of the user has said so in this epoch; @others: whether another
 * one of the user has not, which an earlier epoch excuses. */
static bool says_gone(const struct gp__gpu *gpu, u32 uid, bool *others)
{
	struct gp__link *l, *n;
	bool says = false;

	gp__list_each(l, n, &gpu->groups)
	{
		const struct gp__group *g = container_of(l, struct gp__group, of_gpu);

		if (g->entity.owner->id != uid)
			continue;
		says |= g->gone_in == gpu->epoch;
		*others |= !g->gone_in;
	}
	return says;
}

/*
 * An agent could lie to free others of their holds. So a GPU counts as lost when agents of all
 * users that have programs on it say so; a liar can stop only the scheduling of its own user's
 * programs.
 */
static bool is_lost(const struct gp__gpu *gpu)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &gpu->users)
	{
		u32 uid = container_of(l, struct gp__gpu_user, link)->owner.id;
		bool others = false;

		if (!says_gone(gpu, uid, &others) && others)
			return false;
	}
	return true;
}

static void set_lost(struct gp__registry *r, struct gp__gpu *gpu, bool lost, u64 now)
{
	gpu->lost = lost;
	gpu->epoch += !lost;
	gp__dev_switch(&gpu->dev, lost || gp__off_has(&r->off, gpu->key), now);
	tell_gpu(r, gpu, lost ? GP__GPU_LOST : GP__GPU_BACK, NULL);
}

/*
 * An order failed: the GPU did not answer (-ENODEV), or has lost the queues of this program alone
 * (-EACCES: after a reset, or an error that ended its channels). The group is not believed twice:
 * its queues never run again.
 */
static void note_gone(struct gp__registry *r, struct gp__group *g, int result, u64 now)
{
	if (g->gone_in)
		return;
	g->gone_in = g->gpu->epoch;
	update_group(g, now);
	if (result == -EACCES)
		tell_gpu(r, g->gpu, GP__GPU_RESET, g);
	else if (!g->gpu->lost && is_lost(g->gpu))
		set_lost(r, g->gpu, true, now);
}

static bool has_gone_group(const struct gp__program *p)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &p->groups)
	{
		if (container_of(l, struct gp__group, of_program)->gone_in)
			return true;
	}
	return false;
}

/* A program that has a queue there has found the GPU working. */
static void come_to(struct gp__registry *r, struct gp__gpu *gpu, const struct gp__program *p,
		    u64 now)
{
	if (gpu->lost && !has_gone_group(p))
		set_lost(r, gpu, false, now);
}

/*
 * Queues
 */

/* Holds of an earlier daemon end with this event, not with their lease. */
static void drop_kept_holds(struct gp__registry *r, struct gp__gpu *gpu)
{
	gp__list_del(&gpu->decided);
	gp__list_push(&r->decided, &gpu->decided);
}

int gp__program_queue_add(struct gp__registry *r, struct gp__program *p,
			  const struct gp__wire_queue_add *add, bool bounded,
			  struct gp__program_queue **queue, u64 now, const char **why)
{
	struct gp__hints hints = hints_of(&add->hints);
	struct gp__program_queue *q;
	struct gp__gpu *gpu;
	int err = -ENOMEM;

	if (gp__hints_check(&hints, why))
		return -ERANGE;
	*why = "the level of a queue is 1, 2 or 3";
	if (add->level < 1 || add->level > 3 || add->level_requested > 3)
		return -ERANGE;
	*why = "the GPU has no name";
	if (!*add->device)
		return -EINVAL;
	*why = OUT_OF_MEMORY;
	p->observed |= (add->flags & GP__WIRE_OBSERVED) != 0;
	q = calloc(1, sizeof(*q));
	gpu = q ? get_gpu(r, p, add, bounded, now, &err, why) : NULL;
	if (gpu)
		q->group = get_group(r, p, gpu, *add->tag ? add->tag : p->terms.tag, &hints,
				     add->flags & GP__WIRE_BY_DEFAULT, bounded, now, &err, why);
	if (!q || !q->group) {
		if (gpu)
			put_gpu(r, gpu, now);
		free(q);
		return err;
	}
	q->slot = add->slot;
	q->group->described = add->device_memory;
	gp__list_init(&q->kept);
	if (add->flags & GP__WIRE_HELD)
		gp__list_push(&gpu->kept, &q->kept);
	come_to(r, gpu, p, now);
	if (gpu->dev.off)
		drop_kept_holds(r, gpu);
	q->group->nr_queues++;
	p->nr_queues++;
	p->user->nr_queues++;
	gp__queue_add(&q->group->entity, &q->core, ++r->last_id, (u8)add->level_requested,
		      (u8)add->level, now);
	*why = NULL;
	*queue = q;
	return 0;
}

static void set_verb(struct gp__registry *r, struct gp__program_queue *q, u8 verb)
{
	r->nr_held += verb == GP__WIRE_HOLD;
	r->nr_held -= q->verb == GP__WIRE_HOLD;
	q->verb = verb;
}

void gp__program_queue_remove(struct gp__registry *r, struct gp__program_queue *q, u64 now)
{
	set_verb(r, q, GP__WIRE_RELEASE);
	gp__list_del(&q->kept);
	if (q->group->nr_queues == 1)
		gp__ended_keep(r, q->group, now);
	gp__queue_remove(&q->core, now);
	q->group->program->nr_queues--;
	q->group->program->user->nr_queues--;
	q->group->nr_queues--;
	put_group(r, q->group, now);
	free(q);
}

/* Adds a queue that was removed from the core to its new group, or to its group anew. */
static void add_again(struct gp__registry *r, struct gp__program_queue *q, u64 now)
{
	u32 pending = q->core.pending;

	gp__queue_add(&q->group->entity, &q->core, q->core.id, q->core.level_requested,
		      q->core.level, now);
	if (q->verb == GP__WIRE_HOLD) {
		/* The core knows nothing of the hold that is in force. */
		struct gp__action run = { .time = now,
					  .queue = &q->core,
					  .verb = GP__VERB_RELEASE };

		set_verb(r, q, GP__WIRE_RELEASE);
		r->deliver(r->data, q, &run);
	} else if (q->verb == GP__WIRE_WEIGH) {
		/* Nor of the weight: back to the device's own. */
		struct gp__action weigh = { .time = now,
					    .queue = &q->core,
					    .verb = GP__VERB_WEIGH };

		r->deliver(r->data, q, &weigh);
	}
	q->waits = false;
	if (has_work(q))
		gp__queue_ready(&q->core, pending, now);
}

/* Moves a queue to another group, where the core takes it for a new one that runs. */
static int move(struct gp__registry *r, struct gp__program_queue *q, const struct gp__hints *hints,
		bool bounded, u64 now, const char **why)
{
	struct gp__group *old = q->group, *g;
	int err;

	/* A group that it leaves empty makes room for another. */
	g = get_group(r, old->program, old->gpu, old->entity.tag, hints, false,
		      bounded && old->nr_queues > 1, now, &err, why);
	if (!g)
		return err;
	gp__queue_remove(&q->core, now);
	q->group = g;
	g->described = old->described;
	g->reported = old->reported;
	/* The queue stays suspended wherever its program moves it. */
	if (old->suspended && !g->suspended)
		gp__group_suspend(g, true, now);
	g->nr_queues++;
	old->nr_queues--;
	add_again(r, q, now);
	put_group(r, old, now);
	gp__group_join_gang(r, g, now); /* which had one there */
	return 0;
}

int gp__program_queue_hints(struct gp__registry *r, struct gp__program_queue *q,
			    const struct gp__wire_hints *wire, bool bounded, u64 now,
			    const char **why)
{
	struct gp__hints hints = hints_of(wire);
	struct gp__group *g = q->group;

	if (gp__hints_check(&hints, why))
		return -ERANGE;
	*why = OUT_OF_MEMORY;
	if (hints.prio != g->asked_prio)
		return move(r, q, &hints, bounded, now, why);
	g->asked_weight = hints.weight;
	g->asked_share = hints.share_pct;
	gp__terms_apply(&g->program->terms, g->by_default, &hints);
	hints.prio = g->entity.hints.prio; /* an operator's may be in force */
	g->asked_memory = hints.memory;
	hints.memory = g->entity.hints.memory; /* what is measured may be in force */
	gp__memory_changed(r, g->program);
	gp__verdict_override(g->program, g->entity.tag, &hints);
	return gp__entity_hint(&g->entity, &hints, now);
}

bool gp__program_queue_memory(struct gp__registry *r, struct gp__program_queue *q, u64 memory)
{
	if (memory == q->memory)
		return false;
	q->memory = memory;
	/* Only with the flag it is a measurement. */
	q->group->reported = memory & GP__WIRE_MEMORY_KNOWN ? memory : 0;
	gp__memory_changed(r, q->group->program);
	return true;
}

void gp__program_queue_done(struct gp__registry *r, struct gp__program_queue *q, u32 number,
			    int result, u64 took_ns, u64 now)
{
	struct gp__gpu *gpu = q->group->gpu;

	if (!q->waits || number != q->number) {
		r->nr_late++;
		return;
	}
	q->waits = false;
	if (!result && q->verb != GP__WIRE_WEIGH) {
		/* Other users see these figures: an agent cannot claim more time than has passed.
		 */
		took_ns = gp__min_u64(took_ns, now - q->issued_at);
		gp__hist_record(q->verb == GP__WIRE_HOLD ? &gpu->hold_ns : &gpu->release_ns,
				took_ns);
		gp__hist_record(&gpu->order_ns, now - q->issued_at);
		gp__buckets_record(q->verb == GP__WIRE_HOLD ? &gpu->holds : &gpu->releases,
				   took_ns);
		gp__buckets_record(&gpu->orders, now - q->issued_at);
	}
	/* A hold that failed leaves the queue running. */
	if (result && q->verb == GP__WIRE_HOLD)
		set_verb(r, q, GP__WIRE_RELEASE);
	gp__queue_ack(&q->core, result, now);
	if (result == -ENODEV || result == -EACCES)
		note_gone(r, q->group, result, now);
}

/*
 * Decisions
 */

static struct gp__hold *latest_hold(struct gp__group *g)
{
	return g->nr_holds ? &g->hold[(g->nr_holds - 1) % GP__HOLDS_KEPT] : NULL;
}

/* A lying agent can make others' figures no worse than by this. */
#define WORK_AGE_MAX GP__S

void gp__program_queue_arrived(struct gp__registry *r, struct gp__program_queue *q, u64 since,
			       u64 now)
{
	struct gp__group *g = q->group;

	if (g->entity.nr_ready)
		return;
	g->work_at = gp__max_u64(gp__min_u64(since, now), now - gp__min_u64(now, WORK_AGE_MAX));
	g->work_event = r->nr_events;
}

/*
 * The arrival of work for which the hold is: of the group that it is for, or of the held one, which
 * may have come second. 0: no work has arrived in this event, so the switch rate has delayed the
 * hold, or a turn or a guarantee has ended.
 */
static u64 cause_of(const struct gp__registry *r, const struct gp__group *g,
		    const struct gp__group *by)
{
	if (by && by->work_event == r->nr_events)
		return by->work_at;
	return by && g->work_event == r->nr_events ? g->work_at : 0;
}

static void begin_hold(struct gp__registry *r, struct gp__group *g, const struct gp__action *a)
{
	struct gp__group *by = a->why.by ? gp__registry_find_group(r, a->why.by) : NULL;
	struct gp__hold *hold = latest_hold(g);
	bool waits = g->entity.gang && g->entity.gang->waits;

	if (hold && !hold->to)
		return; /* for another queue of the group */
	hold = &g->hold[g->nr_holds++ % GP__HOLDS_KEPT];
	*hold = (struct gp__hold){ .from = a->time,
				   .rule = waits ? (u8)GP__RULE_GANG : a->why.rule,
				   .by = a->why.by,
				   .waits = waits,
				   .by_quota = g->over_quota && !g->suspended };
	g->counted.holds[hold->rule]++;
	g->cause_at = cause_of(r, g, by);
	if (by) {
		hold->by_pid = by->program->pid;
		hold->by_uid = by->program->uid;
		hold->by_prio = by->entity.prio;
		memcpy(hold->by_name, by->program->name, sizeof(hold->by_name));
	}
}

/* @rule: for its release; GP__RULE_NONE: its group is moved. */
static void end_hold(struct gp__group *g, enum gp__rule rule, u64 now)
{
	struct gp__hold *hold = latest_hold(g);

	if (!hold || hold->to)
		return;
	hold->to = now;
	g->counted.held += now - hold->from;
	if (rule)
		g->counted.releases[rule]++;
}

/*
 * A queue that an earlier daemon's hold keeps off the GPU counts as running in the core, and its
 * agent releases it when the lease of that hold ends. If the core holds another group for it first,
 * it is released at once: the GPU would be idle.
 */
static void end_kept_holds(struct gp__registry *r, struct gp__gpu *gpu, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &gpu->kept)
	{
		struct gp__program_queue *q = container_of(l, struct gp__program_queue, kept);
		struct gp__action run = { .time = now,
					  .queue = &q->core,
					  .verb = GP__VERB_RELEASE };

		gp__list_del(&q->kept);
		/* An order in flight must stay in its slot. */
		if (!q->group->entity.held && !q->waits)
			r->deliver(r->data, q, &run);
	}
}

/* Notes a hold that is not the operator's: the core has decided which groups of the GPU run. */
static void note_decision(struct gp__registry *r, const struct gp__group *g)
{
	if (g->entity.suspended || gp__list_empty(&g->gpu->kept))
		return;
	drop_kept_holds(r, g->gpu);
}

/* Moves a group to another GPU. It keeps its number, and the operator's settings. */
static void move_group(struct gp__registry *r, struct gp__group *g, const struct description *d,
		       u64 now)
{
	struct gp__gpu *gpu = find_gpu(r, g->program, d), *added = NULL;
	struct gp__gpu_user *room = calloc(1, sizeof(*room));
	struct gp__entity before = g->entity;
	struct gp__link *l, *n, queues;

	if (!gpu && room)
		gpu = added = calloc(1, sizeof(*gpu));
	if (!gpu || !room) {
		free(room);
		return;
	}
	gp__list_init(&queues);
	gp__list_each(l, n, &g->entity.queues)
	{
		gp__queue_remove(container_of(l, struct gp__queue, link), now);
		gp__list_del(&container_of(l, struct gp__program_queue, core.link)->kept);
		gp__list_push(&queues, l);
	}
	end_hold(g, GP__RULE_NONE, now);
	gp__account_leave(r, g, now);
	gp__group_leave_gang(r, g);
	gp__quota_charge(g, now);
	g->charged = 0;
	gp__entity_remove(&g->entity, now);
	put_owner(before.owner, now);
	unlink_from_gpu(r, g);
	put_gpu(r, g->gpu, now);
	if (added) /* it may get the number of the old one */
		add_gpu(r, added, g->program, d, now);
	g->gpu = gpu;
	g->gone_in = 0; /* it has said so of the other one */
	link_to_gpu(r, g);
	come_to(r, gpu, g->program, now);
	gp__entity_add(get_owner(gpu, g->program->owner, room, now), &g->entity, before.id,
		       before.process, before.class, before.tag, &before.hints, now);
	gp__account_move(r, g);
	gp__quota_check(g, now);
	if (before.suspended)
		gp__entity_suspend(&g->entity, true, now);
	gp__memory_changed(r, g->program);
	gp__list_each(l, n, &queues)
	{
		gp__list_del(l);
		add_again(r, container_of(l, struct gp__program_queue, core.link), now);
	}
	gp__group_join_gang(r, g, now);
}

static void place_group(struct gp__registry *r, struct gp__group *g, u64 now)
{
	char key[GP__WIRE_DEVICE_MAX], name[GP__WIRE_NAME_MAX]; /* the GPU may go */
	struct description d = { .key = memcpy(key, g->gpu->key, sizeof(key)),
				 .name = memcpy(name, g->gpu->name, sizeof(name)),
				 .memory = g->gpu->dev.memory,
				 .weighing = g->gpu->dev.can_weigh };

	d = describe(r, g->program, d);
	if (!is_described(r, g->gpu, g->program, &d))
		move_group(r, g, &d, now);
}

void gp__program_place(struct gp__registry *r, struct gp__program *p, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &p->groups)
		place_group(r, container_of(l, struct gp__group, of_program), now);
}

void gp__program_stop(struct gp__program *p, bool stopped, u64 now)
{
	struct gp__link *l, *n;

	p->stopped = stopped;
	gp__list_each(l, n, &p->groups)
	{
		struct gp__group *g = container_of(l, struct gp__group, of_program);

		update_group(g, now);
		/* Nor does it keep room for work that it has announced. */
		if (stopped)
			gp__entity_arriving(&g->entity, 0, now);
	}
}

void gp__registry_switch(struct gp__registry *r, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->gpus)
	{
		struct gp__gpu *gpu = container_of(l, struct gp__gpu, link);

		gp__dev_switch(&gpu->dev, gpu->lost || gp__off_has(&r->off, gpu->key), now);
		if (gpu->dev.off)
			drop_kept_holds(r, gpu);
	}
}

static void carry_out(struct gp__registry *r, const struct gp__action *a)
{
	static const u8 wire_verb[] = { [GP__VERB_HOLD] = GP__WIRE_HOLD,
					[GP__VERB_RELEASE] = GP__WIRE_RELEASE,
					[GP__VERB_WEIGH] = GP__WIRE_WEIGH };
	struct gp__program_queue *q = container_of(a->queue, struct gp__program_queue, core);

	if (a->verb == GP__VERB_HOLD)
		begin_hold(r, q->group, a);
	else if (a->verb == GP__VERB_RELEASE)
		end_hold(q->group, (enum gp__rule)a->why.rule, a->time);
	if (a->verb != GP__VERB_WEIGH)
		gp__list_del(&q->kept);
	/* A gang that waits or is held elsewhere says nothing about this GPU. */
	if (a->verb == GP__VERB_HOLD && a->why.rule != GP__RULE_GANG)
		note_decision(r, q->group);
	set_verb(r, q, wire_verb[a->verb]);
	q->waits = true;
	q->issued_at = a->time;
	r->nr_orders++;
	r->deliver(r->data, q, a);
}

void gp__registry_settle(struct gp__registry *r, u64 now)
{
	struct gp__action a;

	gp__memory_settle(r, now);
	gp__gangs_expire(r, now);
	gp__gangs_tie(r, now);
	if (gp__core_wake(&r->core) <= now)
		gp__core_tick(&r->core, now);
	while (gp__core_pop(&r->core, &a))
		carry_out(r, &a);
	while (!gp__list_empty(&r->decided)) {
		struct gp__gpu *gpu = container_of(r->decided.next, struct gp__gpu, decided);

		gp__list_del(&gpu->decided);
		end_kept_holds(r, gpu, now);
	}
	r->nr_events++;
}

u64 gp__registry_wake(const struct gp__registry *r)
{
	return gp__min_u64(gp__core_wake(&r->core), gp__gangs_wake(r));
}

/*
 * Finding
 */

struct gp__group *gp__registry_find_group(struct gp__registry *r, u32 entity_id)
{
	struct gp__link *l, *n, *bucket = &r->by_id[entity_id % GP__GROUP_BUCKETS];

	gp__list_each(l, n, bucket)
	{
		struct gp__group *g = container_of(l, struct gp__group, by_id);

		if (g->entity.id == entity_id)
			return g;
	}
	return NULL;
}

bool gp__program_is_alone(const struct gp__program *p)
{
	return !p->nr_shared && !gp__program_is_ganged(p) && !gp__quota_any(p->user);
}
