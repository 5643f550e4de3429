// SPDX-License-Identifier: MIT
/* The daemon's table of programs and queues: turns what they report into events of the core, and
 * the core's actions into orders. */
#include "daemon/registry.h"

#include <stdlib.h>

#include "daemon/ended.h"

void gp__registry_init(struct gp__registry *r, const struct gp__policy *policy,
		       void (*deliver)(void *data, struct gp__program_queue *q,
				       const struct gp__action *a),
		       void *data)
{
	memset(r, 0, sizeof(*r));
	gp__core_init(&r->core, policy);
	gp__list_init(&r->gpus);
	gp__list_init(&r->programs);
	gp__list_init(&r->groups);
	gp__list_init(&r->ended);
	r->deliver = deliver;
	r->data = data;
}

void gp__registry_close(struct gp__registry *r)
{
	if (r->deliver) /* else it was never initialized */
		gp__ended_free_all(r);
}

void gp__program_enter(struct gp__registry *r, struct gp__program *p, u64 now)
{
	p->since = now;
	gp__list_push(&r->programs, &p->link);
}

void gp__program_leave(struct gp__program *p)
{
	gp__list_del(&p->link);
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

/* Programs that describe a GPU differently get different ones: no program decides for others. */
static struct gp__gpu *find_gpu(struct gp__registry *r, const struct gp__wire_queue_add *add)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->gpus)
	{
		struct gp__gpu *gpu = container_of(l, struct gp__gpu, link);

		if (!strcmp(gpu->key, add->device) && gpu->dev.memory == add->device_memory &&
		    gpu->dev.can_weigh == weighing_of(add->flags))
			return gpu;
	}
	return NULL;
}

/* The lowest free number. A GPU keeps its number while it has queues. */
static u32 free_gpu_number(struct gp__registry *r)
{
	struct gp__link *l, *n;
	u32 number = 0;
	bool taken;

	do {
		taken = false;
		gp__list_each(l, n, &r->gpus)
		{
			if (container_of(l, struct gp__gpu, link)->dev.id != number)
				continue;
			taken = true;
			number++;
			break;
		}
	} while (taken);
	return number;
}

bool gp__registry_knows_gpu(struct gp__registry *r, const struct gp__wire_queue_add *add)
{
	return find_gpu(r, add);
}

u32 gp__registry_groups_of(struct gp__registry *r, uid_t uid)
{
	struct gp__link *l, *n;
	u32 nr = 0;

	gp__list_each(l, n, &r->groups) nr +=
		container_of(l, struct gp__group, link)->program->uid == uid;
	return nr;
}

u32 gp__registry_gpus_of(struct gp__registry *r, uid_t uid)
{
	struct gp__link *l, *n;
	u32 nr = 0;

	gp__list_each(l, n, &r->gpus) nr += container_of(l, struct gp__gpu, link)->named_by == uid;
	return nr;
}

static struct gp__gpu *get_gpu(struct gp__registry *r, const struct gp__program *p,
			       const struct gp__wire_queue_add *add, u64 now)
{
	struct gp__gpu *gpu = find_gpu(r, add);

	if (gpu)
		return gpu;
	gpu = calloc(1, sizeof(*gpu));
	if (!gpu)
		return NULL;
	gp__wire_text(gpu->key, sizeof(gpu->key), add->device);
	gp__wire_text(gpu->name, sizeof(gpu->name), add->device_name);
	gpu->named_by = p->uid;
	gp__dev_add(&r->core, &gpu->dev, free_gpu_number(r), add->device_memory,
		    weighing_of(add->flags), now);
	gp__list_push(&r->gpus, &gpu->link);
	gp__list_init(&gpu->users);
	return gpu;
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

static struct gp__owner *get_owner(struct gp__gpu *gpu, uid_t uid, u64 now)
{
	struct gp__gpu_user *u;
	struct gp__link *l, *n;

	gp__list_each(l, n, &gpu->users)
	{
		u = container_of(l, struct gp__gpu_user, link);
		if (u->owner.id == uid)
			return &u->owner;
		put_owner(&u->owner, now);
	}
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	gp__owner_init(&u->owner, &gpu->dev, uid);
	gp__list_push(&gpu->users, &u->link);
	return &u->owner;
}

static void put_gpu(struct gp__gpu *gpu, u64 now)
{
	struct gp__link *l, *n;

	if (gpu->nr_groups)
		return;
	gp__list_each(l, n, &gpu->users) free(container_of(l, struct gp__gpu_user, link));
	gp__dev_remove(&gpu->dev, now);
	gp__list_del(&gpu->link);
	free(gpu);
}

/*
 * Groups
 */

static struct gp__group *find_group(struct gp__registry *r, const struct gp__program *p,
				    const struct gp__gpu *gpu, s32 prio, const char *tag)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->groups)
	{
		struct gp__group *g = container_of(l, struct gp__group, link);

		if (g->program == p && g->gpu == gpu && g->asked_prio == prio &&
		    !strcmp(g->entity.tag, tag))
			return g;
	}
	return NULL;
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

static struct gp__group *get_group(struct gp__registry *r, struct gp__program *p,
				   struct gp__gpu *gpu, const char *tag,
				   const struct gp__hints *hints, u64 now)
{
	char clean[GP__TAG_MAX];
	struct gp__owner *owner;
	struct gp__group *g;

	gp__tag_set(clean, tag);
	g = find_group(r, p, gpu, hints->prio, clean);
	if (g)
		return g;
	owner = get_owner(gpu, p->uid, now);
	g = owner ? calloc(1, sizeof(*g)) : NULL;
	if (!g)
		return NULL;
	if (gp__entity_add(owner, &g->entity, ++r->last_id, (u32)p->pid, gp__class_of(hints->prio),
			   tag, hints, now)) {
		free(g);
		return NULL;
	}
	g->program = p;
	g->gpu = gpu;
	g->asked_prio = hints->prio;
	gpu->nr_groups++;
	r->groups_changed = true;
	gp__list_push(&r->groups, &g->link);
	return g;
}

static void put_group(struct gp__registry *r, struct gp__group *g, u64 now)
{
	if (g->nr_queues)
		return;
	gp__entity_remove(&g->entity, now);
	put_owner(g->entity.owner, now);
	gp__list_del(&g->link);
	if (r->found == g)
		r->found = NULL;
	r->groups_changed = true;
	g->gpu->nr_groups--;
	put_gpu(g->gpu, now);
	free(g);
}

/*
 * Queues
 */

int gp__program_queue_add(struct gp__registry *r, struct gp__program *p,
			  const struct gp__wire_queue_add *add, struct gp__program_queue **queue,
			  u64 now, const char **why)
{
	struct gp__hints hints = hints_of(&add->hints);
	struct gp__program_queue *q;
	struct gp__gpu *gpu;

	if (gp__hints_check(&hints, why))
		return -ERANGE;
	*why = "the level of a queue is 1, 2 or 3";
	if (add->level < 1 || add->level > 3 || add->level_requested > 3)
		return -ERANGE;
	*why = "the GPU has no name";
	if (!*add->device)
		return -EINVAL;
	*why = "gpreemptd is out of memory";
	q = calloc(1, sizeof(*q));
	gpu = q ? get_gpu(r, p, add, now) : NULL;
	if (gpu)
		q->group = get_group(r, p, gpu, add->tag, &hints, now);
	if (!q || !q->group) {
		if (gpu)
			put_gpu(gpu, now);
		free(q);
		return -ENOMEM;
	}
	q->slot = add->slot;
	q->group->nr_queues++;
	p->nr_queues++;
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
	if (q->group->nr_queues == 1)
		gp__ended_keep(r, q->group, now);
	gp__queue_remove(&q->core, now);
	q->group->program->nr_queues--;
	q->group->nr_queues--;
	put_group(r, q->group, now);
	free(q);
}

/* Moves a queue to another group, where the core takes it for a new one that runs. */
static int move(struct gp__registry *r, struct gp__program_queue *q, const struct gp__hints *hints,
		u64 now)
{
	struct gp__group *old = q->group, *g;
	u8 requested = q->core.level_requested, level = q->core.level;
	u32 id = q->core.id, pending = q->core.pending;
	bool ready = q->core.ready;

	g = get_group(r, old->program, old->gpu, old->entity.tag, hints, now);
	if (!g)
		return -ENOMEM;
	gp__queue_remove(&q->core, now);
	memset(&q->core, 0, sizeof(q->core));
	q->group = g;
	g->nr_queues++;
	old->nr_queues--;
	gp__queue_add(&g->entity, &q->core, id, requested, level, now);
	if (q->verb == GP__WIRE_HOLD) {
		/* The core knows nothing of the hold that is in force. */
		struct gp__action run = { .time = now,
					  .queue = &q->core,
					  .verb = GP__VERB_RELEASE };

		set_verb(r, q, GP__WIRE_RELEASE);
		r->deliver(r->data, q, &run);
	}
	q->waits = false;
	if (ready)
		gp__queue_ready(&q->core, pending, now);
	put_group(r, old, now);
	return 0;
}

int gp__program_queue_hints(struct gp__registry *r, struct gp__program_queue *q,
			    const struct gp__wire_hints *wire, u64 now, const char **why)
{
	struct gp__hints hints = hints_of(wire);
	struct gp__group *g = q->group;

	if (gp__hints_check(&hints, why))
		return -ERANGE;
	*why = "gpreemptd is out of memory";
	if (hints.prio != g->asked_prio)
		return move(r, q, &hints, now);
	hints.prio = g->entity.hints.prio; /* an operator's may be in force */
	return gp__entity_hint(&g->entity, &hints, now);
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
	}
	/* A hold that failed leaves the queue running. */
	if (result && q->verb == GP__WIRE_HOLD)
		set_verb(r, q, GP__WIRE_RELEASE);
	gp__queue_ack(&q->core, result, now);
}

/*
 * Decisions
 */

static struct gp__hold *latest_hold(struct gp__group *g)
{
	return g->nr_holds ? &g->hold[(g->nr_holds - 1) % GP__HOLDS_KEPT] : NULL;
}

static void begin_hold(struct gp__registry *r, struct gp__group *g, const struct gp__action *a)
{
	struct gp__group *by = a->why.by ? gp__registry_find_group(r, a->why.by) : NULL;
	struct gp__hold *hold = latest_hold(g);

	if (hold && !hold->to)
		return; /* for another queue of the group */
	hold = &g->hold[g->nr_holds++ % GP__HOLDS_KEPT];
	*hold = (struct gp__hold){ .from = a->time, .rule = a->why.rule, .by = a->why.by };
	if (by) {
		hold->by_pid = by->program->pid;
		hold->by_uid = by->program->uid;
		hold->by_prio = by->entity.prio;
		memcpy(hold->by_name, by->program->name, sizeof(hold->by_name));
	}
}

static void end_hold(struct gp__group *g, u64 now)
{
	struct gp__hold *hold = latest_hold(g);

	if (hold && !hold->to)
		hold->to = now;
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
		end_hold(q->group, a->time);
	set_verb(r, q, wire_verb[a->verb]);
	q->waits = true;
	q->issued_at = a->time;
	r->nr_orders++;
	r->deliver(r->data, q, a);
}

void gp__registry_settle(struct gp__registry *r, u64 now)
{
	struct gp__action a;

	if (gp__core_wake(&r->core) <= now)
		gp__core_tick(&r->core, now);
	while (gp__core_pop(&r->core, &a))
		carry_out(r, &a);
}

u64 gp__registry_wake(const struct gp__registry *r)
{
	return gp__core_wake(&r->core);
}

/*
 * Finding
 */

struct gp__group *gp__registry_find_group(struct gp__registry *r, u32 entity_id)
{
	struct gp__link *l, *n;

	if (r->found && r->found->entity.id == entity_id)
		return r->found;
	gp__list_each(l, n, &r->groups)
	{
		struct gp__group *g = container_of(l, struct gp__group, link);

		if (g->entity.id == entity_id)
			return r->found = g;
	}
	return NULL;
}

bool gp__program_is_alone(struct gp__registry *r, const struct gp__program *p)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->groups)
	{
		struct gp__group *g = container_of(l, struct gp__group, link);

		if (g->program == p && g->gpu->nr_groups > 1)
			return false;
	}
	return true;
}
