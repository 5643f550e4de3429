// SPDX-License-Identifier: MIT
#include "view/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_COMMENT "# e"

/* Appends a zeroed item of @size to the @n at @items. NULL: out of memory, and the list is empty.
 * The array has room for a power of two. */
static void *append(void *items, size_t *n, size_t size)
{
	char *grown = items;

	if (!(*n & (*n - 1)))
		grown = realloc(items, (*n ? 2 * *n : 1) * size);
	if (!grown) {
		free(items);
		*n = 0;
		return NULL;
	}
	memset(grown + *n * size, 0, size);
	++*n;
	return grown;
}

#define APPEND(list) (((list)->at = append((list)->at, &(list)->n, sizeof(*(list)->at))) != NULL)
#define LAST(list) (&(list)->at[(list)->n - 1])

void gp__history_init(struct gp__history *h, u64 begin)
{
	memset(h, 0, sizeof(*h));
	h->begin = begin;
}

static void free_group(struct gp__history_group *g)
{
	free(g->queues.at);
	free(g->pieces.at);
	free(g->holds.at);
	free(g->spans.at);
	free(g);
}

void gp__history_free(struct gp__history *h)
{
	for (size_t i = 0; i < h->nr_groups; i++)
		free_group(h->group[i]);
	for (size_t i = 0; i < h->gpus.n; i++) {
		free(h->gpus.at[i]->stops.at);
		free(h->gpus.at[i]->starts.at);
		free(h->gpus.at[i]);
	}
	free(h->group);
	free(h->live.at);
	free(h->by_id);
	free(h->gpus.at);
	memset(h, 0, sizeof(*h));
}

/*
 * Finding
 */

static size_t slot_of(const struct gp__history *h, u32 id)
{
	size_t i = (id * 2654435761u) & (h->by_id_size - 1);

	while (h->by_id[i] && h->by_id[i]->id != id)
		i = (i + 1) & (h->by_id_size - 1);
	return i;
}

struct gp__history_group *gp__history_find(const struct gp__history *h, u32 id)
{
	return h->by_id_size ? h->by_id[slot_of(h, id)] : NULL;
}

static bool grow_table(struct gp__history *h)
{
	size_t size = h->by_id_size ? 2 * h->by_id_size : 64, before = h->by_id_size;
	struct gp__history_group **old = h->by_id, **table = calloc(size, sizeof(*table));

	if (!table)
		return false;
	h->by_id = table;
	h->by_id_size = size;
	for (size_t i = 0; i < before; i++) {
		if (old[i])
			h->by_id[slot_of(h, old[i]->id)] = old[i];
	}
	free(old);
	return true;
}

static void set_by_id(struct gp__history *h, struct gp__history_group *g)
{
	size_t i;

	if (2 * h->nr_by_id >= h->by_id_size && !grow_table(h)) {
		h->no_memory = true;
		return;
	}
	i = slot_of(h, g->id);
	h->nr_by_id += !h->by_id[i];
	h->by_id[i] = g;
}

struct gp__history_gpu *gp__history_gpu(const struct gp__history *h, u32 id)
{
	for (size_t i = 0; i < h->gpus.n; i++) {
		if (h->gpus.at[i]->id == id)
			return h->gpus.at[i];
	}
	return NULL;
}

static struct gp__history_gpu *get_gpu(struct gp__history *h, u32 id)
{
	struct gp__history_gpu *gpu = gp__history_gpu(h, id);

	if (gpu)
		return gpu;
	gpu = calloc(1, sizeof(*gpu));
	if (!gpu || !APPEND(&h->gpus)) {
		free(gpu);
		h->no_memory = true;
		return NULL;
	}
	*LAST(&h->gpus) = gpu;
	gpu->id = id;
	gpu->at = h->last;
	return gpu;
}

static struct gp__history_group *add_group(struct gp__history *h, u32 id, u32 gpu)
{
	struct gp__history_group *g = calloc(1, sizeof(*g));

	if (!g || !get_gpu(h, gpu)) {
		free(g);
		h->no_memory = true;
		return NULL;
	}
	h->group = append(h->group, &h->nr_groups, sizeof(struct gp__history_group *));
	if (!h->group) {
		free(g);
		h->no_memory = true;
		return NULL;
	}
	h->group[h->nr_groups - 1] = g;
	if (!APPEND(&h->live)) {
		h->no_memory = true;
		return NULL;
	}
	*LAST(&h->live) = g;
	g->id = id;
	g->gpu = gpu;
	g->user = GP__NOBODY;
	g->kind = GP__LANE_IDLE;
	g->joined_at = g->since = h->last;
	g->piece_is_whole = true;
	set_by_id(h, g);
	return g;
}

/* The group of a record; it is added if an earlier log introduced it. */
static struct gp__history_group *get_group(struct gp__history *h, const struct gp__record *r)
{
	struct gp__history_group *g = gp__history_find(h, r->entity);

	if (r->dev == GP__NOBODY || r->entity == GP__NOBODY)
		return NULL;
	return g && !g->left && g->gpu == r->dev ? g : add_group(h, r->entity, r->dev);
}

static struct gp__history_queue *get_queue(struct gp__history *h, struct gp__history_group *g,
					   u32 id)
{
	for (size_t i = 0; i < g->queues.n; i++) {
		if (g->queues.at[i].id == id)
			return &g->queues.at[i];
	}
	if (!APPEND(&g->queues)) {
		h->no_memory = true;
		return NULL;
	}
	*LAST(&g->queues) = (struct gp__history_queue){ .id = id, .level = 3 };
	return LAST(&g->queues);
}

/*
 * Time
 */

/* How many groups of a GPU divide its time: those that yield do so only while no other works. */
struct sharers {
	u32 plain, yielding;
};

static void count_sharer(struct sharers *n, const struct gp__history_group *g, u32 parts)
{
	if (g->yields)
		n->yielding += parts;
	else
		n->plain += parts;
}

static u64 part_of(const struct sharers *n, const struct gp__history_group *g, u32 parts, u64 dt)
{
	if (g->yields && n->plain)
		return 0;
	return (u64)((double)dt * parts / (g->yields ? n->yielding : n->plain));
}

static bool may_run(const struct gp__history_group *g)
{
	return g->has_work && !g->held;
}

static struct gp__history_hold *current_hold(const struct gp__history_group *g)
{
	return g->held && g->holds.n ? LAST(&g->holds) : NULL;
}

static void spend(struct gp__history_group *g, const struct sharers *run,
		  const struct sharers *exec, u64 dt)
{
	struct gp__history_hold *hold = current_hold(g);

	if (g->executing) {
		g->piece.ran += part_of(exec, g, g->executing, dt);
		g->executed += dt;
		g->queue_time += dt * g->executing;
	}
	if (may_run(g)) {
		g->used += part_of(run, g, 1, dt);
	} else if (g->has_work) {
		g->waited += dt;
		g->piece.held += dt;
		if (hold)
			hold->waited += dt;
	}
}

static bool is_by_scheduler(const struct gp__history_group *g)
{
	return !g->suspended && !g->in_gang;
}

static void advance(struct gp__history *h, struct gp__history_gpu *gpu, u64 now)
{
	struct sharers run = { 0 }, exec = { 0 };
	u64 dt = now - gpu->at;
	bool waits = false;

	if (now <= gpu->at)
		return;
	for (size_t i = 0; i < h->live.n; i++) {
		const struct gp__history_group *g = h->live.at[i];

		if (g->gpu != gpu->id)
			continue;
		count_sharer(&run, g, may_run(g));
		count_sharer(&exec, g, g->executing);
		waits |= g->has_work && g->held && is_by_scheduler(g);
	}
	for (size_t i = 0; i < h->live.n; i++) {
		if (h->live.at[i]->gpu == gpu->id)
			spend(h->live.at[i], &run, &exec, dt);
	}
	if (run.plain + run.yielding)
		gpu->busy += dt;
	else if (waits)
		gpu->wasted += dt;
	gpu->at = now;
}

static void add_span(struct gp__history *h, struct gp__history_group *g, u64 to)
{
	u32 hold = g->holds.n ? (u32)g->holds.n - 1 : 0;
	struct gp__history_span *last = g->spans.n ? LAST(&g->spans) : NULL;

	if (g->kind == GP__LANE_IDLE || to <= g->since)
		return;
	if (last && last->to == g->since && last->kind == g->kind &&
	    (g->kind != GP__LANE_HELD || last->hold == hold)) {
		last->to = to;
		return;
	}
	if (!APPEND(&g->spans)) {
		h->no_memory = true;
		return;
	}
	*LAST(&g->spans) = (struct gp__history_span){ g->since, to, hold, g->kind };
}

static void set_kind(struct gp__history *h, struct gp__history_group *g, u8 kind, u64 now)
{
	u64 waited = now - g->since;

	if (kind == g->kind)
		return;
	add_span(h, g, now);
	if (g->kind == GP__LANE_HELD) {
		g->longest_wait = gp__max_u64(g->longest_wait, waited);
		if (g->holds.n)
			LAST(&g->holds)->longest = gp__max_u64(LAST(&g->holds)->longest, waited);
	}
	g->kind = kind;
	g->since = now;
}

static void begin_piece(struct gp__history_group *g, u64 now)
{
	g->piece = (struct gp__history_piece){ .from = now };
	g->piece_is_whole = true;
	g->work_ended = 0;
}

static void end_piece(struct gp__history *h, struct gp__history_group *g, u64 now)
{
	g->piece.to = g->work_ended > g->piece.from ? g->work_ended : now;
	if (!g->piece_is_whole)
		return;
	if (!APPEND(&g->pieces)) {
		h->no_memory = true;
		return;
	}
	*LAST(&g->pieces) = g->piece;
}

static void begin_hold(struct gp__history *h, struct gp__history_group *g,
		       const struct gp__record *r, u64 now)
{
	g->held = true;
	if (!APPEND(&g->holds)) {
		h->no_memory = true;
		return;
	}
	*LAST(&g->holds) = (struct gp__history_hold){ .from = now,
						      .by = (u32)r->f[GP__F_BY],
						      .rule = (u8)r->f[GP__F_WHY] };
}

static void end_hold(struct gp__history_group *g, u64 now)
{
	if (current_hold(g))
		LAST(&g->holds)->to = now;
	g->held = false;
}

/* What the states of its queues make of a group. */
static void look_at_queues(struct gp__history *h, struct gp__history_group *g, u64 now)
{
	bool had_work = g->has_work, yields = true;

	g->has_work = false;
	g->executing = 0;
	for (size_t i = 0; i < g->queues.n; i++) {
		const struct gp__history_queue *q = &g->queues.at[i];

		g->has_work |= q->ready;
		g->executing += q->ready && !q->stopped;
		yields &= !q->ready || q->weight == GP__WEIGHT_LEAST;
	}
	g->yields = g->has_work && yields;
	if (g->has_work && !had_work)
		begin_piece(g, now);
	else if (!g->has_work && had_work)
		end_piece(h, g, now);
}

/* Those that yield to another have the kind of yielding. */
static void set_kinds(struct gp__history *h, u32 gpu, u64 now)
{
	struct sharers run = { 0 };

	for (size_t i = 0; i < h->live.n; i++) {
		if (h->live.at[i]->gpu == gpu)
			count_sharer(&run, h->live.at[i], may_run(h->live.at[i]));
	}
	for (size_t i = 0; i < h->live.n; i++) {
		struct gp__history_group *g = h->live.at[i];

		if (g->gpu != gpu)
			continue;
		set_kind(h, g,
			 !g->has_work		  ? GP__LANE_IDLE
			 : g->held		  ? GP__LANE_HELD
			 : g->yields && run.plain ? GP__LANE_YIELD
						  : GP__LANE_RUN,
			 now);
	}
}

static void leave(struct gp__history *h, struct gp__history_group *g, u64 now)
{
	set_kind(h, g, GP__LANE_IDLE, now);
	end_hold(g, now);
	g->queues.n = 0;
	free(g->queues.at);
	g->queues.at = NULL;
	g->has_work = g->yields = false;
	g->executing = 0;
	g->left = true;
	g->left_at = now;
	for (size_t i = 0; i < h->live.n; i++) {
		if (h->live.at[i] == g)
			h->live.at[i--] = h->live.at[--h->live.n];
	}
}

/*
 * Records
 */

static void set_hints(struct gp__history_group *g, const struct gp__record *r)
{
	g->hints = (struct gp__hints){
		.prio = (s32)r->f[GP__F_PRIO],
		.weight = (u32)r->f[GP__F_WEIGHT],
		.share_pct = (u32)r->f[GP__F_SHARE],
		.min_share_pct = (u32)r->f[GP__F_MIN_SHARE],
		.deadline_ns = (u64)r->f[GP__F_DEADLINE],
		.max_hold_ns = (u64)r->f[GP__F_MAX_HOLD],
		.memory = (u64)r->f[GP__F_MEMORY],
	};
	g->prio = g->hints.prio;
}

static void introduce(struct gp__history *h, const struct gp__record *r)
{
	struct gp__history_group *g;

	if (r->dev == GP__NOBODY || r->entity == GP__NOBODY)
		return;
	g = gp__history_find(h, r->entity);
	if (g && !g->left)
		leave(h, g, h->last);
	g = add_group(h, r->entity, r->dev);
	if (!g)
		return;
	g->known = true;
	g->process = (u32)r->f[GP__F_PROCESS];
	g->user = (u32)r->f[GP__F_USER];
	set_hints(g, r);
	snprintf(g->tag, sizeof(g->tag), "%s", r->text);
}

static void note_device(struct gp__history *h, const struct gp__record *r)
{
	struct gp__history_gpu *gpu = r->dev == GP__NOBODY ? NULL : get_gpu(h, r->dev);

	if (!gpu)
		return;
	if (r->what == GP__WHAT_DEVICE_ADD) {
		gpu->memory = (u64)r->f[GP__F_MEMORY];
		gpu->can_weigh = (u8)r->f[GP__F_CAN_WEIGH];
	}
	gpu->off = r->what == GP__WHAT_DEVICE_OFF;
}

static void note_policy(struct gp__history *h, const struct gp__record *r)
{
	if (r->what == GP__WHAT_CONFIG) {
		size_t i = (size_t)(r->params - gp__core_params);

		h->cfg[i] = r->values[0];
		h->has_cfg[i] = true;
		return;
	}
	h->policies++;
	memcpy(h->params, r->values, r->nr_params * sizeof(*r->values));
}

static void acknowledge(struct gp__history *h, struct gp__history_gpu *gpu,
			struct gp__history_queue *q, s64 result, u64 now)
{
	struct gp__history_order order = { q->issued_at, now - q->issued_at };
	u8 what = q->doing;

	q->doing = 0;
	if (result)
		return;
	if (what == GP__WHAT_WEIGH) {
		q->weight = q->weight_doing;
		return;
	}
	if (what != GP__WHAT_HOLD && what != GP__WHAT_RELEASE)
		return;
	q->stopped = what == GP__WHAT_HOLD;
	gp__hist_record(q->stopped ? &gpu->stop : &gpu->start, order.took);
	if (q->stopped ? !APPEND(&gpu->stops) : !APPEND(&gpu->starts))
		h->no_memory = true;
	else if (q->stopped)
		*LAST(&gpu->stops) = order;
	else
		*LAST(&gpu->starts) = order;
}

static void order(struct gp__history *h, struct gp__history_group *g, struct gp__history_queue *q,
		  const struct gp__record *r, u64 now)
{
	q->doing = r->what;
	q->issued_at = now;
	if (r->what == GP__WHAT_WEIGH) {
		q->weight_doing = (u32)r->f[GP__F_WEIGHT];
		return;
	}
	q->held = r->what == GP__WHAT_HOLD;
	if (q->held && !g->held)
		begin_hold(h, g, r, now);
	else if (!q->held && g->held) {
		set_kind(h, g, g->has_work ? GP__LANE_RUN : GP__LANE_IDLE, now);
		end_hold(g, now);
	}
}

static void idle(struct gp__history_gpu *gpu, struct gp__history_group *g,
		 struct gp__history_queue *q, const struct gp__record *r, u64 base, u64 now)
{
	u64 since = gp__time_add((u64)r->f[GP__F_SINCE], base);

	since = gp__min_u64(since, now);
	q->ready = false;
	g->work_ended = gp__max_u64(g->work_ended, since);
	gp__hist_record(&gpu->sees, (u64)r->f[GP__F_SEES]);
	gp__hist_record(&gpu->settles, now - since);
}

static void note_queue(struct gp__history *h, struct gp__history_group *g,
		       const struct gp__record *r, u64 now)
{
	struct gp__history_queue *q = get_queue(h, g, (u32)r->f[GP__F_QUEUE]);
	struct gp__history_gpu *gpu = gp__history_gpu(h, g->gpu);

	if (!q)
		return;
	switch (r->what) {
	case GP__WHAT_QUEUE_ADD:
		q->level = (u8)r->f[GP__F_LEVEL];
		q->level_requested = (u8)r->f[GP__F_REQUESTED];
		break;
	case GP__WHAT_QUEUE_REMOVE:
		*q = *LAST(&g->queues);
		g->queues.n--;
		break;
	case GP__WHAT_LEVEL:
		q->level = (u8)r->f[GP__F_LEVEL];
		break;
	case GP__WHAT_READY:
		q->ready = true;
		break;
	case GP__WHAT_IDLE:
		idle(gpu, g, q, r, h->base, now);
		break;
	case GP__WHAT_ACK:
		acknowledge(h, gpu, q, r->f[GP__F_RESULT], now);
		break;
	default:
		order(h, g, q, r, now);
	}
	look_at_queues(h, g, now);
	set_kinds(h, g->gpu, now);
}

static void note_group(struct gp__history *h, struct gp__history_group *g,
		       const struct gp__record *r, u64 now)
{
	u64 at = gp__time_add((u64)r->f[GP__F_AT], h->base);

	switch (r->what) {
	case GP__WHAT_ENTITY_REMOVE:
		leave(h, g, now);
		set_kinds(h, g->gpu, now);
		break;
	case GP__WHAT_HINT:
		set_hints(g, r);
		break;
	case GP__WHAT_ARRIVING:
		if (r->f[GP__F_AT] && at > now) {
			g->nr_announced++;
			g->lead_sum += at - now;
		}
		break;
	case GP__WHAT_SUSPEND:
	case GP__WHAT_RESUME:
		g->suspended = r->what == GP__WHAT_SUSPEND;
		break;
	case GP__WHAT_GANG_JOIN:
		g->in_gang = true;
		break;
	case GP__WHAT_LINGERED:
		g->wasted += (u64)r->f[GP__F_NS];
		break;
	default:
		break;
	}
}

static void note(struct gp__history *h, const struct gp__record *r, u64 now)
{
	struct gp__history_group *g;

	switch (r->what) {
	case GP__WHAT_CONFIG:
	case GP__WHAT_POLICY:
		note_policy(h, r);
		return;
	case GP__WHAT_DEVICE_ADD:
	case GP__WHAT_DEVICE_REMOVE:
	case GP__WHAT_DEVICE_OFF:
	case GP__WHAT_DEVICE_ON:
		note_device(h, r);
		return;
	case GP__WHAT_ENTITY_ADD:
		introduce(h, r);
		return;
	case GP__WHAT_TICK:
	case GP__WHAT_GANG_ADD:
	case GP__WHAT_GANG_REMOVE:
	case GP__WHAT_GANG_WAIT:
	case GP__WHAT_GANG_GO:
	case GP__WHAT_GANG_BOUND:
	case GP__WHAT_INVERSION:
		return;
	default:
		break;
	}
	g = get_group(h, r);
	if (!g)
		return;
	switch (r->what) {
	case GP__WHAT_QUEUE_ADD:
	case GP__WHAT_QUEUE_REMOVE:
	case GP__WHAT_READY:
	case GP__WHAT_IDLE:
	case GP__WHAT_LEVEL:
	case GP__WHAT_ACK:
	case GP__WHAT_HOLD:
	case GP__WHAT_RELEASE:
	case GP__WHAT_WEIGH:
		note_queue(h, g, r, now);
		break;
	default:
		note_group(h, g, r, now);
	}
}

/* Counts from here on. */
static void start_counting(struct gp__history *h)
{
	for (size_t i = 0; i < h->gpus.n; i++) {
		struct gp__history_gpu *gpu = h->gpus.at[i];

		advance(h, gpu, h->begin);
		gpu->busy = gpu->wasted = 0;
	}
	for (size_t i = 0; i < h->nr_groups; i++) {
		struct gp__history_group *g = h->group[i];
		struct gp__history_hold hold;

		g->used = g->waited = g->longest_wait = g->wasted = 0;
		g->executed = g->queue_time = 0;
		g->pieces.n = g->spans.n = 0;
		g->piece_is_whole = false;
		g->since = gp__max_u64(g->since, h->begin);
		if (!current_hold(g)) {
			g->holds.n = 0;
			continue;
		}
		hold = *LAST(&g->holds);
		hold.waited = hold.longest = 0;
		hold.from = h->begin;
		g->holds.at[0] = hold;
		g->holds.n = 1;
	}
}

static void begin_at(struct gp__history *h, const struct gp__record *r, u64 now)
{
	bool is_setting = r->what == GP__WHAT_CONFIG || r->what == GP__WHAT_POLICY;

	/* A daemon's settings have no time of their own. */
	if (h->begun || now < h->begin || (is_setting && !h->begin))
		return;
	h->begun = true;
	if (!h->begin)
		h->begin = now;
	else
		start_counting(h);
}

void gp__history_add(struct gp__history *h, const struct gp__record *r)
{
	u64 now = gp__max_u64(gp__time_add(r->time, h->base), h->last);

	begin_at(h, r, now);
	h->last = now;
	h->lines++;
	if (r->dev != GP__NOBODY) {
		struct gp__history_gpu *gpu = get_gpu(h, r->dev);

		if (gpu)
			advance(h, gpu, now);
	}
	note(h, r, now);
}

void gp__history_advance(struct gp__history *h, u64 now)
{
	for (size_t i = 0; i < h->gpus.n; i++)
		advance(h, h->gpus.at[i], now);
}

void gp__history_finish(struct gp__history *h, u64 end)
{
	h->end = gp__max_u64(h->last, end);
	if (!h->begun)
		h->begin = h->end;
	gp__history_advance(h, h->end);
	for (size_t i = 0; i < h->nr_groups; i++) {
		struct gp__history_group *g = h->group[i];

		if (g->left)
			continue;
		add_span(h, g, h->end);
		if (g->kind == GP__LANE_HELD && g->holds.n) {
			u64 waited = h->end - g->since;

			g->longest_wait = gp__max_u64(g->longest_wait, waited);
			LAST(&g->holds)->longest = gp__max_u64(LAST(&g->holds)->longest, waited);
		}
		g->since = h->end;
	}
}

/*
 * Lines
 */

/* "# e3 is train" */
static void take_name(struct gp__history *h, const char *line, size_t len)
{
	struct gp__history_group *g;
	char text[GP__LOG_LINE_MAX];
	unsigned int id;
	int at = 0;

	if (len >= sizeof(text))
		return;
	memcpy(text, line, len);
	text[len] = '\0';
	if (sscanf(text, "# e%u is %n", &id, &at) != 1 || !at)
		return;
	g = gp__history_find(h, id);
	if (g)
		snprintf(g->name, sizeof(g->name), "%.63s", text + at);
}

/* The daemon was started again: its programs come back with new numbers. */
static void take_header(struct gp__history *h)
{
	h->runs++;
	for (size_t i = 0; i < h->gpus.n; i++)
		advance(h, h->gpus.at[i], h->last);
	while (h->live.n)
		leave(h, *LAST(&h->live), h->last);
	if (h->by_id)
		memset(h->by_id, 0, h->by_id_size * sizeof(*h->by_id));
	h->nr_by_id = 0;
	h->base = 0;
}

static void take_comment(struct gp__history *h, const char *line, size_t len)
{
	unsigned long long missing;
	char text[64];

	if (len + 1 == strlen(GP__LOG_HEADER) && !memcmp(line, GP__LOG_HEADER, len)) {
		take_header(h);
		return;
	}
	if (!strncmp(line, NAME_COMMENT, len < 3 ? len : 3)) {
		take_name(h, line, len);
		return;
	}
	snprintf(text, sizeof(text), "%.*s", (int)len, line);
	if (sscanf(text, "# %llu lines are missing here", &missing) == 1)
		h->missing += missing;
}

int gp__history_line(struct gp__history *h, const char *line, size_t len,
		     const struct gp__policy *const *policies, const char **expected)
{
	struct gp__record_room room;
	struct gp__record r;
	int err;

	if (len && *line == '#') {
		take_comment(h, line, len);
		return 0;
	}
	err = gp__record_parse(line, len, policies, &r, &room, expected);
	if (err)
		return err == -ENODATA ? 0 : err;
	/* After a reboot the clock begins again. */
	if (gp__time_add(r.time, h->base) < h->last && !h->base && h->runs > 1)
		h->base = h->last - r.time;
	if (r.what == GP__WHAT_POLICY) {
		for (size_t i = 0; policies[i]; i++) {
			if (!strcmp(policies[i]->name, r.text))
				h->policy = policies[i];
		}
	}
	gp__history_add(h, &r);
	return h->no_memory ? -ENOMEM : 0;
}

static int bad(struct gp__history_error *err, const char *expected)
{
	snprintf(err->text, sizeof(err->text), "expected %s", expected);
	return -EINVAL;
}

int gp__history_read(struct gp__history *h, FILE *in, const struct gp__policy *const *policies,
		     struct gp__history_error *err)
{
	static const char first[] = "# gpreempt decision log 2";
	char line[GP__LOG_LINE_MAX + 2];
	const char *expected = "";
	int rc = 0;

	memset(err, 0, sizeof(*err));
	while (!rc && fgets(line, sizeof(line), in)) {
		size_t n = strlen(line);
		bool whole = n && line[n - 1] == '\n', last = !whole && feof(in);

		err->line++;
		n -= whole;
		if (err->line == 1 && (n < strlen(first) || memcmp(line, first, strlen(first))))
			rc = bad(err, "\"# gpreempt decision log 2\", as every log begins");
		else if (!whole && !last)
			rc = bad(err, "a line of at most 511 bytes without a NUL byte");
		else
			rc = gp__history_line(h, line, n, policies, &expected);
		if (rc == -EINVAL && last && err->line > 1) {
			h->torn = true;
			rc = 0;
		} else if (rc == -EINVAL && !*err->text) {
			bad(err, expected);
		}
	}
	if (!rc && ferror(in))
		return -EIO;
	if (!rc && !err->line)
		return bad(err, "a decision log, but the file is empty");
	return rc;
}
