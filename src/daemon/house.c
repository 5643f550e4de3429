// SPDX-License-Identifier: MIT
#include "daemon/house.h"

#include <stdlib.h>

#include "daemon/ended.h"

void gp__house_init(struct gp__house *h, const struct gp__policy *policy,
		    void (*deliver)(void *data, struct gp__lodger *l, const struct gp__action *a),
		    void *data)
{
	memset(h, 0, sizeof(*h));
	gp__core_init(&h->core, policy);
	gp__list_init(&h->gpus);
	gp__list_init(&h->programs);
	gp__list_init(&h->groups);
	gp__list_init(&h->ended);
	h->deliver = deliver;
	h->data = data;
}

void gp__house_close(struct gp__house *h)
{
	if (h->deliver) /* it was initialized */
		gp__ended_free_all(h);
}

void gp__program_enter(struct gp__house *h, struct gp__program *p, u64 now)
{
	p->since = now;
	gp__list_push(&h->programs, &p->link);
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

/* What a GPU can do is what all say who have a queue there: nobody decides that for others. */
static struct gp__gpu *find_gpu(struct gp__house *h, const struct gp__wire_queue_add *add)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &h->gpus)
	{
		struct gp__gpu *gpu = container_of(l, struct gp__gpu, link);

		if (!strcmp(gpu->key, add->device) && gpu->dev.memory == add->device_memory &&
		    gpu->dev.can_weigh == weighing_of(add->flags))
			return gpu;
	}
	return NULL;
}

/* The lowest number that is free: "gpu0" stays gpu0 while it is there. */
static u32 free_gpu_number(struct gp__house *h)
{
	struct gp__link *l, *n;
	u32 number = 0;
	bool taken;

	do {
		taken = false;
		gp__list_each(l, n, &h->gpus)
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

bool gp__house_knows_gpu(struct gp__house *h, const struct gp__wire_queue_add *add)
{
	return find_gpu(h, add);
}

u32 gp__house_groups_of(struct gp__house *h, uid_t uid)
{
	struct gp__link *l, *n;
	u32 nr = 0;

	gp__list_each(l, n, &h->groups) nr +=
		container_of(l, struct gp__group, link)->program->uid == uid;
	return nr;
}

u32 gp__house_gpus_of(struct gp__house *h, uid_t uid)
{
	struct gp__link *l, *n;
	u32 nr = 0;

	gp__list_each(l, n, &h->gpus) nr += container_of(l, struct gp__gpu, link)->named_by == uid;
	return nr;
}

static struct gp__gpu *get_gpu(struct gp__house *h, const struct gp__program *p,
			       const struct gp__wire_queue_add *add, u64 now)
{
	struct gp__gpu *gpu = find_gpu(h, add);

	if (gpu)
		return gpu;
	gpu = calloc(1, sizeof(*gpu));
	if (!gpu)
		return NULL;
	gp__wire_text(gpu->key, sizeof(gpu->key), add->device);
	gp__wire_text(gpu->name, sizeof(gpu->name), add->device_name);
	gpu->named_by = p->uid;
	gp__dev_add(&h->core, &gpu->dev, free_gpu_number(h), add->device_memory,
		    weighing_of(add->flags), now);
	gp__list_push(&h->gpus, &gpu->link);
	return gpu;
}

static void put_gpu(struct gp__gpu *gpu, u64 now)
{
	if (gpu->nr_groups)
		return;
	gp__dev_remove(&gpu->dev, now);
	gp__list_del(&gpu->link);
	free(gpu);
}

/*
 * Groups
 */

static struct gp__group *find_group(struct gp__house *h, const struct gp__program *p,
				    const struct gp__gpu *gpu, s32 prio, const char *tag)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &h->groups)
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

static struct gp__group *get_group(struct gp__house *h, struct gp__program *p, struct gp__gpu *gpu,
				   const char *tag, const struct gp__hints *hints, u64 now)
{
	char clean[GP__TAG_MAX];
	struct gp__group *g;

	gp__tag_set(clean, tag);
	g = find_group(h, p, gpu, hints->prio, clean);
	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	if (gp__entity_add(&gpu->dev, &g->entity, ++h->last_id, (u32)p->pid,
			   gp__class_of(hints->prio), tag, hints, now)) {
		free(g);
		return NULL;
	}
	g->program = p;
	g->gpu = gpu;
	g->asked_prio = hints->prio;
	gpu->nr_groups++;
	h->crowd_changed = true;
	gp__list_push(&h->groups, &g->link);
	return g;
}

static void put_group(struct gp__house *h, struct gp__group *g, u64 now)
{
	if (g->nr_queues)
		return;
	gp__entity_remove(&g->entity, now);
	gp__list_del(&g->link);
	if (h->found == g)
		h->found = NULL;
	h->crowd_changed = true;
	g->gpu->nr_groups--;
	put_gpu(g->gpu, now);
	free(g);
}

/*
 * Queues
 */

int gp__lodger_add(struct gp__house *h, struct gp__program *p, const struct gp__wire_queue_add *add,
		   struct gp__lodger **lodger, u64 now, const char **why)
{
	struct gp__hints hints = hints_of(&add->hints);
	struct gp__lodger *l;
	struct gp__gpu *gpu;

	if (gp__hints_check(&hints, why))
		return -ERANGE;
	*why = "a queue is stopped at level 1, 2 or 3";
	if (add->level < 1 || add->level > 3 || add->level_requested > 3)
		return -ERANGE;
	*why = "the GPU has no name";
	if (!*add->device)
		return -EINVAL;
	*why = "there is no memory left";
	l = calloc(1, sizeof(*l));
	gpu = l ? get_gpu(h, p, add, now) : NULL;
	if (gpu)
		l->group = get_group(h, p, gpu, add->tag, &hints, now);
	if (!l || !l->group) {
		if (gpu)
			put_gpu(gpu, now);
		free(l);
		return -ENOMEM;
	}
	l->slot = add->slot;
	l->group->nr_queues++;
	p->nr_queues++;
	gp__queue_add(&l->group->entity, &l->queue, ++h->last_id, (u8)add->level_requested,
		      (u8)add->level, now);
	*why = NULL;
	*lodger = l;
	return 0;
}

static void set_verb(struct gp__house *h, struct gp__lodger *l, u8 verb)
{
	h->nr_stopped += verb == GP__WIRE_STOP;
	h->nr_stopped -= l->verb == GP__WIRE_STOP;
	l->verb = verb;
}

void gp__lodger_remove(struct gp__house *h, struct gp__lodger *l, u64 now)
{
	set_verb(h, l, GP__WIRE_RUN);
	if (l->group->nr_queues == 1)
		gp__ended_keep(h, l->group, now);
	gp__queue_remove(&l->queue, now);
	l->group->program->nr_queues--;
	l->group->nr_queues--;
	put_group(h, l->group, now);
	free(l);
}

/* It leaves one group for another; the core takes it for one that runs. */
static int move(struct gp__house *h, struct gp__lodger *l, const struct gp__hints *hints, u64 now)
{
	struct gp__group *old = l->group, *g;
	u8 requested = l->queue.level_requested, level = l->queue.level;
	u32 id = l->queue.id, pending = l->queue.pending;
	bool ready = l->queue.ready;

	g = get_group(h, old->program, old->gpu, old->entity.tag, hints, now);
	if (!g)
		return -ENOMEM;
	gp__queue_remove(&l->queue, now);
	memset(&l->queue, 0, sizeof(l->queue));
	l->group = g;
	g->nr_queues++;
	old->nr_queues--;
	gp__queue_add(&g->entity, &l->queue, id, requested, level, now);
	if (l->verb == GP__WIRE_STOP) {
		/* What is in force is no longer what the core knows of. */
		struct gp__action run = { .time = now, .queue = &l->queue, .verb = GP__VERB_ADMIT };

		set_verb(h, l, GP__WIRE_RUN);
		h->deliver(h->data, l, &run);
	}
	l->waits = false;
	if (ready)
		gp__queue_ready(&l->queue, pending, now);
	put_group(h, old, now);
	return 0;
}

int gp__lodger_hints(struct gp__house *h, struct gp__lodger *l, const struct gp__wire_hints *wire,
		     u64 now, const char **why)
{
	struct gp__hints hints = hints_of(wire);
	struct gp__group *g = l->group;

	if (gp__hints_check(&hints, why))
		return -ERANGE;
	*why = "there is no memory left";
	if (hints.prio != g->asked_prio)
		return move(h, l, &hints, now);
	hints.prio = g->entity.hints.prio; /* an operator's may be in force */
	return gp__entity_hint(&g->entity, &hints, now);
}

void gp__lodger_done(struct gp__house *h, struct gp__lodger *l, u32 number, int result, u64 took_ns,
		     u64 now)
{
	struct gp__gpu *gpu = l->group->gpu;

	if (!l->waits || number != l->number) {
		h->nr_late++;
		return;
	}
	l->waits = false;
	if (!result && l->verb != GP__WIRE_WEIGH) {
		/* The GPU's figures are everybody's: longer than it can have taken is a lie. */
		took_ns = gp__min_u64(took_ns, now - l->issued_at);
		gp__hist_record(l->verb == GP__WIRE_STOP ? &gpu->stop_ns : &gpu->start_ns, took_ns);
		gp__hist_record(&gpu->order_ns, now - l->issued_at);
	}
	/* A stop that failed leaves the queue running. */
	if (result && l->verb == GP__WIRE_STOP)
		set_verb(h, l, GP__WIRE_RUN);
	gp__queue_ack(&l->queue, result, now);
}

/*
 * Decisions
 */

static struct gp__hold *latest_hold(struct gp__group *g)
{
	return g->nr_holds ? &g->hold[(g->nr_holds - 1) % GP__HOLDS_KEPT] : NULL;
}

static void begin_hold(struct gp__house *h, struct gp__group *g, const struct gp__action *a)
{
	struct gp__group *by = a->why.by ? gp__house_find_group(h, a->why.by) : NULL;
	struct gp__hold *hold = latest_hold(g);

	if (hold && !hold->to)
		return; /* another of its queues */
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

static void carry_out(struct gp__house *h, const struct gp__action *a)
{
	static const u8 wire_verb[] = { [GP__VERB_EXCLUDE] = GP__WIRE_STOP,
					[GP__VERB_ADMIT] = GP__WIRE_RUN,
					[GP__VERB_WEIGH] = GP__WIRE_WEIGH };
	struct gp__lodger *l = container_of(a->queue, struct gp__lodger, queue);

	if (a->verb == GP__VERB_EXCLUDE)
		begin_hold(h, l->group, a);
	else if (a->verb == GP__VERB_ADMIT)
		end_hold(l->group, a->time);
	set_verb(h, l, wire_verb[a->verb]);
	l->waits = true;
	l->issued_at = a->time;
	h->nr_orders++;
	h->deliver(h->data, l, a);
}

void gp__house_settle(struct gp__house *h, u64 now)
{
	struct gp__action a;

	if (gp__core_wake(&h->core) <= now)
		gp__core_tick(&h->core, now);
	while (gp__core_pop(&h->core, &a))
		carry_out(h, &a);
}

u64 gp__house_wake(const struct gp__house *h)
{
	return gp__core_wake(&h->core);
}

/*
 * Finding
 */

struct gp__group *gp__house_find_group(struct gp__house *h, u32 entity_id)
{
	struct gp__link *l, *n;

	if (h->found && h->found->entity.id == entity_id)
		return h->found;
	gp__list_each(l, n, &h->groups)
	{
		struct gp__group *g = container_of(l, struct gp__group, link);

		if (g->entity.id == entity_id)
			return h->found = g;
	}
	return NULL;
}

struct gp__lodger *gp__house_find_queue(struct gp__house *h, u32 queue_id)
{
	struct gp__link *l, *n, *k, *m;

	gp__list_each(l, n, &h->groups)
	{
		struct gp__group *g = container_of(l, struct gp__group, link);

		gp__list_each(k, m, &g->entity.queues)
		{
			struct gp__queue *q = container_of(k, struct gp__queue, link);

			if (q->id == queue_id)
				return container_of(q, struct gp__lodger, queue);
		}
	}
	return NULL;
}

bool gp__program_is_alone(struct gp__house *h, const struct gp__program *p)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &h->groups)
	{
		struct gp__group *g = container_of(l, struct gp__group, link);

		if (g->program == p && g->gpu->nr_groups > 1)
			return false;
	}
	return true;
}
