// SPDX-License-Identifier: MIT
#include "trace/decisions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/compiler.h"
#include "core/log.h"
#include "policy/policy.h"

#define CATEGORY "gpreempt"

/* Tracks of a GPU, of a group and of a queue in the order in which they are shown. */
enum {
	RANK_COUNTERS = 0,
	RANK_GROUPS = 10,
};

struct queue {
	u32 id;
	struct group *group;
	bool has_work, held, stopping; /* slices that are open */
	u32 pending;
	u64 work_since;
	UT_hash_handle hh;
};

struct group {
	u32 id, gpu;
	bool shown;
	u64 track;
	u32 nr_ready; /* queues with work */
	u64 pending; /* in all its queues */
	bool held, waiting, running; /* slices that are open */
	bool has_pending; /* its counter's track was written */
	u64 expects_at; /* announced work; 0: none */
	u32 latest; /* the queue that got work last */
	UT_hash_handle hh;
};

struct gpu {
	u32 id;
	u64 track;
	u32 nr_working, nr_held;
	UT_hash_handle hh;
};

struct gp__trace {
	struct gp__perfetto *w;
	char source[64];
	u32 nr_headers; /* of logs; a daemon that starts again begins with group 1 */
	bool (*wants)(void *data, u32 group, u32 pid, const char *tag);
	void *data;
	struct gpu *gpus;
	struct group *groups;
	struct queue *queues;
	u64 nr_flows, now;
	bool out_of_memory;
};

struct gp__trace *gp__trace_open(struct gp__perfetto *w, const char *source,
				 bool (*wants)(void *data, u32 group, u32 pid, const char *tag),
				 void *data)
{
	struct gp__trace *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->w = w;
	snprintf(t->source, sizeof(t->source), "%s", source);
	t->wants = wants;
	t->data = data;
	return t;
}

static u64 uuid(const struct gp__trace *t, const char *kind, u64 number)
{
	return gp__perfetto_uuid(t->source, kind, (u64)t->nr_headers << 48 | number);
}

/*
 * GPUs
 */

static void count(const struct gp__trace *t, const struct gpu *g)
{
	gp__perfetto_count(t->w, uuid(t, "working", g->id), t->now, g->nr_working);
	gp__perfetto_count(t->w, uuid(t, "held", g->id), t->now, g->nr_held);
}

static struct gpu *add_gpu(struct gp__trace *t, u32 id, const char *name)
{
	struct gpu *g = calloc(1, sizeof(*g));

	if (!g) {
		t->out_of_memory = true;
		return NULL;
	}
	g->id = id;
	g->track = uuid(t, "gpu", id);
	HASH_ADD_INT(t->gpus, id, g);
	gp__perfetto_track(t->w, g->track, 0, name, id);
	gp__perfetto_counter(t->w, uuid(t, "working", id), g->track, "groups with work",
			     RANK_COUNTERS);
	gp__perfetto_counter(t->w, uuid(t, "held", id), g->track, "groups held", RANK_COUNTERS + 1);
	return g;
}

/* NULL: out of memory. */
static struct gpu *gpu_of(struct gp__trace *t, u32 id)
{
	struct gpu *g;
	char name[32];

	HASH_FIND_INT(t->gpus, &id, g);
	if (g)
		return g;
	snprintf(name, sizeof(name), "gpu%u", id);
	return add_gpu(t, id, name);
}

void gp__trace_gpu(struct gp__trace *t, u32 id, const char *name)
{
	struct gpu *g;
	char text[96];

	HASH_FIND_INT(t->gpus, &id, g);
	snprintf(text, sizeof(text), "gpu%u%s%s", id, *name ? ": " : "", name);
	if (!g)
		add_gpu(t, id, text);
}

/*
 * Groups
 */

static struct group *find_group(const struct gp__trace *t, u32 id)
{
	struct group *g;

	HASH_FIND_INT(t->groups, &id, g);
	return g;
}

static void write_group_track(struct gp__trace *t, const struct gp__trace_group *info, u64 parent)
{
	char name[160];

	snprintf(name, sizeof(name), "%s%sgroup %u (pid %u, priority %d)", info->name,
		 *info->name ? ", " : "", info->group, info->pid, info->priority);
	gp__perfetto_track(t->w, uuid(t, "group", info->group), parent, name,
			   RANK_GROUPS + info->group);
}

static struct group *add_group(struct gp__trace *t, const struct gp__trace_group *info)
{
	struct gpu *gpu = gpu_of(t, info->gpu);
	struct group *g = calloc(1, sizeof(*g));

	if (!g || !gpu) {
		t->out_of_memory = true;
		free(g);
		return NULL;
	}
	g->id = info->group;
	g->gpu = info->gpu;
	g->track = uuid(t, "group", g->id);
	g->shown = !t->wants || t->wants(t->data, g->id, info->pid, info->name);
	HASH_ADD_INT(t->groups, id, g);
	if (g->shown)
		write_group_track(t, info, gpu->track);
	return g;
}

void gp__trace_group(struct gp__trace *t, const struct gp__trace_group *info, u64 now)
{
	t->now = now;
	if (!find_group(t, info->group))
		add_group(t, info);
}

static void begin(const struct gp__trace *t, const struct group *g, u64 track, const char *name)
{
	struct gp__track_event e = { t->now, track, name, CATEGORY, NULL, 0, 0, NULL, 0 };

	if (g->shown)
		gp__perfetto_begin(t->w, &e);
}

static void end(const struct gp__trace *t, const struct group *g, u64 track)
{
	if (g->shown)
		gp__perfetto_end(t->w, track, t->now);
}

static void set_slice(const struct gp__trace *t, struct group *g, bool *open, bool wanted,
		      const char *name)
{
	if (*open == wanted)
		return;
	*open = wanted;
	if (wanted)
		begin(t, g, g->track, name);
	else
		end(t, g, g->track);
}

/* A group runs while it has work and is not held, and waits while it has work and is. */
static void update_slices(const struct gp__trace *t, struct group *g)
{
	if (g->held)
		set_slice(t, g, &g->waiting, g->nr_ready > 0, "waiting");
	else
		set_slice(t, g, &g->running, g->nr_ready > 0, "run");
}

static void set_pending(const struct gp__trace *t, struct group *g, u64 pending)
{
	u64 track = uuid(t, "pending", g->id);

	if (!g->shown || pending == g->pending)
		return;
	if (!g->has_pending)
		gp__perfetto_counter(t->w, track, g->track, "pending", RANK_COUNTERS);
	g->has_pending = true;
	g->pending = pending;
	gp__perfetto_count(t->w, track, t->now, (int64_t)pending);
}

static void count_work(struct gp__trace *t, struct group *g, bool begins)
{
	struct gpu *gpu = gpu_of(t, g->gpu);

	g->nr_ready += begins ? 1 : (u32)-1;
	update_slices(t, g);
	if (!gpu || g->nr_ready != begins)
		return;
	gpu->nr_working += begins ? 1 : (u32)-1;
	count(t, gpu);
}

/*
 * Queues
 */

static void write_queue_tracks(const struct gp__trace *t, const struct group *g, u32 id)
{
	char name[48];

	if (!g->shown)
		return;
	snprintf(name, sizeof(name), "queue %u: work", id);
	gp__perfetto_track(t->w, uuid(t, "work", id), g->track, name, 2 * id + 1);
	snprintf(name, sizeof(name), "queue %u: hold", id);
	gp__perfetto_track(t->w, uuid(t, "hold", id), g->track, name, 2 * id + 2);
}

static struct queue *find_queue(const struct gp__trace *t, u32 id)
{
	struct queue *q;

	HASH_FIND_INT(t->queues, &id, q);
	return q;
}

static struct queue *add_queue(struct gp__trace *t, struct group *g, u32 id)
{
	struct queue *q = calloc(1, sizeof(*q));

	if (!q) {
		t->out_of_memory = true;
		return NULL;
	}
	q->id = id;
	q->group = g;
	HASH_ADD_INT(t->queues, id, q);
	write_queue_tracks(t, g, id);
	return q;
}

static void begin_work(struct gp__trace *t, struct queue *q)
{
	q->group->latest = q->id;
	q->group->expects_at = 0;
	if (q->has_work)
		return;
	q->has_work = true;
	q->work_since = t->now;
	begin(t, q->group, uuid(t, "work", q->id), "work");
	count_work(t, q->group, true);
}

static void note_pending(const struct gp__trace *t, struct queue *q, u32 pending)
{
	u32 before = q->pending;

	q->pending = pending;
	set_pending(t, q->group, q->group->pending - before + pending);
}

/* @until: when the work was done, which may be a little ago. */
static void end_work(struct gp__trace *t, struct queue *q, u64 until)
{
	if (!q->has_work)
		return;
	if (q->group->shown)
		gp__perfetto_end(t->w, uuid(t, "work", q->id), gp__max_u64(until, q->work_since));
	q->has_work = false;
	note_pending(t, q, 0);
	count_work(t, q->group, false);
}

/*
 * Holds
 */

/* The piece of work that is the cause. NULL: none is. */
static struct queue *working_queue(const struct gp__trace *t, const struct group *by)
{
	struct queue *q;

	if (!by || !by->nr_ready)
		return NULL;
	q = find_queue(t, by->latest);
	if (q && q->has_work)
		return q;
	for (q = t->queues; q; q = q->hh.next) {
		if (q->group == by && q->has_work)
			break;
	}
	return q;
}

static void name_cause(const struct gp__trace *t, const struct group *held, u32 by_id, char *name,
		       size_t size)
{
	const struct group *by = by_id ? find_group(t, by_id) : NULL;

	if (!by_id)
		snprintf(name, size, "group %u is held for no program", held->id);
	else if (!by)
		snprintf(name, size, "group %u is held for group %u, which has gone", held->id,
			 by_id);
	else if (by->nr_ready)
		snprintf(name, size, "group %u is held for this work", held->id);
	else if (by->expects_at > t->now)
		snprintf(name, size, "group %u is held for announced work", held->id);
	else
		snprintf(name, size, "group %u is held: the burst may go on", held->id);
}

/* Returns the number of a flow that begins at the cause: in the slice of its work; on the track of
 * its group, if that has no work now; or on that of the GPU. 0: the GPU has no track. */
static u64 note_cause(struct gp__trace *t, const struct group *held, u32 by_id)
{
	const struct group *by = by_id ? find_group(t, by_id) : NULL;
	const struct queue *q = working_queue(t, by);
	const struct gpu *gpu = gpu_of(t, held->gpu);
	u64 flow = uuid(t, "flow", ++t->nr_flows);
	char name[96];

	if (!gpu)
		return 0;
	name_cause(t, held, by_id, name, sizeof(name));
	gp__perfetto_instant(t->w,
			     &(struct gp__track_event){ .time = t->now,
							.track = !by || !by->shown ? gpu->track
								 : q ? uuid(t, "work", q->id)
								     : by->track,
							.name = name,
							.category = CATEGORY,
							.flows = &flow,
							.nr_flows = 1 });
	return flow;
}

static void begin_group_hold(struct gp__trace *t, struct group *g, const char *rule, u32 by)
{
	struct gp__arg args[] = { { "rule", GP__ARG_TEXT, 0, 0, rule },
				  { "by_group", GP__ARG_U64, by, 0, NULL } };
	struct gpu *gpu = gpu_of(t, g->gpu);
	char name[48];

	if (g->held)
		return;
	set_slice(t, g, &g->running, false, NULL);
	g->held = true;
	if (g->shown) {
		snprintf(name, sizeof(name), "held: %s", rule);
		gp__perfetto_begin(t->w,
				   &(struct gp__track_event){ .time = t->now,
							      .track = g->track,
							      .name = name,
							      .category = CATEGORY,
							      .ends_flow = note_cause(t, g, by),
							      .args = args,
							      .nr_args = by ? 2 : 1 });
	}
	update_slices(t, g);
	if (!gpu)
		return;
	gpu->nr_held++;
	count(t, gpu);
}

static void end_group_hold(struct gp__trace *t, struct group *g)
{
	struct gpu *gpu = gpu_of(t, g->gpu);

	if (!g->held)
		return;
	set_slice(t, g, &g->waiting, false, NULL);
	end(t, g, g->track);
	g->held = false;
	update_slices(t, g);
	if (!gpu)
		return;
	gpu->nr_held--;
	count(t, gpu);
}

static void end_stopping(const struct gp__trace *t, struct queue *q)
{
	if (q->stopping)
		end(t, q->group, uuid(t, "hold", q->id));
	q->stopping = false;
}

static void begin_queue_hold(const struct gp__trace *t, struct queue *q, const char *rule,
			     s64 level)
{
	struct gp__arg arg = { "level", GP__ARG_S64, 0, level, NULL };
	u64 track = uuid(t, "hold", q->id);
	char name[48];

	if (q->held)
		return;
	q->held = true;
	if (!q->group->shown)
		return;
	snprintf(name, sizeof(name), "hold: %s", rule);
	gp__perfetto_begin(t->w, &(struct gp__track_event){ .time = t->now,
							    .track = track,
							    .name = name,
							    .category = CATEGORY,
							    .args = &arg,
							    .nr_args = level ? 1 : 0 });
	q->stopping = level != 0;
	if (q->stopping)
		begin(t, q->group, track, "stopping");
}

static void end_queue_hold(const struct gp__trace *t, struct queue *q)
{
	end_stopping(t, q);
	if (q->held)
		end(t, q->group, uuid(t, "hold", q->id));
	q->held = false;
}

void gp__trace_queue(struct gp__trace *t, const struct gp__trace_queue *info, u64 now)
{
	struct group *g = find_group(t, info->group);
	struct queue *q = find_queue(t, info->queue);

	t->now = now;
	if (!g)
		return;
	q = q ? q : add_queue(t, g, info->queue);
	if (!q)
		return;
	if (info->has_work)
		begin_work(t, q);
	if (!info->held)
		return;
	begin_group_hold(t, g, info->rule, info->by);
	begin_queue_hold(t, q, info->rule, 0);
}

/*
 * Lines
 */

static void note_instant(const struct gp__trace *t, const struct group *g, u64 track,
			 const char *name, struct gp__arg arg)
{
	struct gp__track_event e = { t->now, track, name, CATEGORY,	   NULL,
				     0,	     0,	    &arg, arg.name ? 1 : 0 };

	if (g->shown)
		gp__perfetto_instant(t->w, &e);
}

static void remove_queue(struct gp__trace *t, struct queue *q)
{
	end_work(t, q, t->now);
	end_queue_hold(t, q);
	HASH_DEL(t->queues, q);
	free(q);
}

static void remove_group(struct gp__trace *t, struct group *g)
{
	struct queue *q, *next;

	HASH_ITER (hh, t->queues, q, next) {
		if (q->group == g)
			remove_queue(t, q);
	}
	end_group_hold(t, g);
	HASH_DEL(t->groups, g);
	free(g);
}

static void remove_groups_of(struct gp__trace *t, u32 gpu)
{
	struct group *g, *next;

	HASH_ITER (hh, t->groups, g, next) {
		if (g->gpu == gpu)
			remove_group(t, g);
	}
}

static void take_action(struct gp__trace *t, struct group *g, struct queue *q,
			const struct gp__record *r)
{
	const char *rule = gp__rule_name((enum gp__rule)r->f[GP__F_WHY]);

	switch (r->what) {
	case GP__WHAT_HOLD:
		begin_group_hold(t, g, rule, (u32)r->f[GP__F_BY]);
		begin_queue_hold(t, q, rule, r->f[GP__F_LEVEL]);
		break;
	case GP__WHAT_RELEASE:
		end_group_hold(t, g);
		end_queue_hold(t, q);
		break;
	default:
		note_instant(
			t, g, uuid(t, "work", q->id), "weigh",
			(struct gp__arg){ "weight", GP__ARG_S64, 0, r->f[GP__F_WEIGHT], NULL });
	}
}

static void take_queue_line(struct gp__trace *t, struct group *g, const struct gp__record *r)
{
	u32 id = (u32)r->f[GP__F_QUEUE];
	struct queue *q = find_queue(t, id);

	if (q && q->group != g) { /* its removal is missing */
		remove_queue(t, q);
		q = NULL;
	}
	q = q ? q : add_queue(t, g, id);
	if (!q)
		return;
	switch (r->what) {
	case GP__WHAT_READY:
		begin_work(t, q);
		note_pending(t, q, (u32)r->f[GP__F_PENDING]);
		break;
	case GP__WHAT_IDLE:
		end_work(t, q, gp__min_u64((u64)r->f[GP__F_SINCE], t->now));
		break;
	case GP__WHAT_QUEUE_REMOVE:
		remove_queue(t, q);
		break;
	case GP__WHAT_ACK:
		end_stopping(t, q);
		break;
	case GP__WHAT_HOLD:
	case GP__WHAT_RELEASE:
	case GP__WHAT_WEIGH:
		take_action(t, g, q, r);
		break;
	default:
		break;
	}
}

static void take_report(const struct gp__trace *t, const struct group *g,
			const struct gp__record *r)
{
	struct gp__arg arg = { 0 };
	const char *name;

	switch (r->what) {
	case GP__WHAT_UNRESPONSIVE:
		name = "unresponsive";
		break;
	case GP__WHAT_RECOVERED:
		name = "responds again";
		break;
	case GP__WHAT_FAILED:
		name = "cannot be held";
		arg = (struct gp__arg){ "result", GP__ARG_S64, 0, r->f[GP__F_RESULT], NULL };
		break;
	case GP__WHAT_INVERSION:
		name = "inversion";
		arg = (struct gp__arg){ "by_group", GP__ARG_U64, (u64)r->f[GP__F_BY], 0, NULL };
		break;
	default:
		name = "lingered";
		arg = (struct gp__arg){ "wasted_ns", GP__ARG_U64, (u64)r->f[GP__F_NS], 0, NULL };
	}
	note_instant(t, g, g->track, name, arg);
}

/* Whether the line names a queue of its group. */
static bool has_queue(u8 what)
{
	switch (what) {
	case GP__WHAT_QUEUE_ADD:
	case GP__WHAT_QUEUE_REMOVE:
	case GP__WHAT_READY:
	case GP__WHAT_IDLE:
	case GP__WHAT_ACK:
	case GP__WHAT_HOLD:
	case GP__WHAT_RELEASE:
	case GP__WHAT_WEIGH:
		return true;
	default:
		return false;
	}
}

static void take_group_line(struct gp__trace *t, struct group *g, const struct gp__record *r)
{
	switch (r->what) {
	case GP__WHAT_ENTITY_REMOVE:
		remove_group(t, g);
		break;
	case GP__WHAT_SUSPEND:
		note_instant(t, g, g->track, "suspended", (struct gp__arg){ 0 });
		break;
	case GP__WHAT_RESUME:
		note_instant(t, g, g->track, "resumed", (struct gp__arg){ 0 });
		break;
	case GP__WHAT_ARRIVING:
		g->expects_at = (u64)r->f[GP__F_AT];
		break;
	default:
		if (gp__what_sign((enum gp__what)r->what) == '!')
			take_report(t, g, r);
	}
}

static void take_record(struct gp__trace *t, const struct gp__record *r)
{
	struct gp__trace_group info = { r->entity, r->dev, (u32)r->f[GP__F_PROCESS],
					(s32)r->f[GP__F_PRIO], r->text ? r->text : "" };
	struct group *g;

	if (r->what == GP__WHAT_DEVICE_ADD)
		gpu_of(t, r->dev);
	if (r->what == GP__WHAT_DEVICE_REMOVE)
		remove_groups_of(t, r->dev);
	if (r->entity == GP__NOBODY || r->dev == GP__NOBODY)
		return;
	g = find_group(t, r->entity);
	if (g && r->what == GP__WHAT_ENTITY_ADD) { /* it has moved to another GPU */
		remove_group(t, g);
		g = NULL;
	}
	if (!g && r->what == GP__WHAT_ENTITY_REMOVE)
		return;
	g = g ? g : add_group(t, &info);
	if (!g)
		return;
	if (has_queue(r->what))
		take_queue_line(t, g, r);
	else
		take_group_line(t, g, r);
}

static void end_all(struct gp__trace *t)
{
	struct group *g, *next_group;
	struct gpu *gpu, *next;

	HASH_ITER (hh, t->groups, g, next_group)
		remove_group(t, g);
	HASH_ITER (hh, t->gpus, gpu, next) {
		HASH_DEL(t->gpus, gpu);
		free(gpu);
	}
}

/* What a daemon's log had before is gone when another daemon begins with its own. */
static void take_comment(struct gp__trace *t, const char *line, size_t len)
{
	if (len != sizeof(GP__LOG_HEADER) - 2 || memcmp(line, GP__LOG_HEADER, len) != 0)
		return;
	end_all(t);
	t->nr_headers++;
}

int gp__trace_line(struct gp__trace *t, const char *line, size_t len, const char **expected)
{
	struct gp__record_room room;
	struct gp__record r;
	int err = gp__record_parse(line, len, gp__policies, &r, &room, expected);

	if (err == -ENODATA) {
		take_comment(t, line, len);
		return 0;
	}
	if (err)
		return err;
	t->now = r.time;
	take_record(t, &r);
	return t->out_of_memory ? -ENOMEM : 0;
}

void gp__trace_close(struct gp__trace *t, u64 now)
{
	t->now = gp__max_u64(t->now, now);
	end_all(t);
	free(t);
}
