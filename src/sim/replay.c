// SPDX-License-Identifier: MIT
#include "sim/replay.h"
#include "policy/policy.h"

#include <stdarg.h>
#include <stdlib.h>
#include <uthash.h>

/* Devices, entities, queues and gangs of the log, by number. */
struct device {
	struct gp__dev dev;
	u32 nr_entities;
	UT_hash_handle hh;
};

/* A user of a device; in a log without users, a process. */
struct user {
	struct gp__owner owner;
	struct {
		u32 dev, id;
		bool is_process;
	} key;
	UT_hash_handle hh;
};

struct entity {
	struct gp__entity e;
	UT_hash_handle hh;
};

struct queue {
	struct gp__queue q;
	UT_hash_handle hh;
};

struct gang {
	struct gp__gang g;
	UT_hash_handle hh;
};

/* A line of the core that was not compared with the log yet. */
struct line {
	struct line *next;
	size_t len;
	char text[];
};

struct replay {
	struct gp__core core;
	struct device *devices;
	struct user *users;
	struct entity *entities;
	struct queue *queues;
	struct gang *gangs;
	struct line *first, **last;
	FILE *copy;
	bool no_memory;
	struct gp__replay_result *result;
	struct gp__replay_error *err;
};

static int bad(struct replay *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int bad(struct replay *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->err->text, sizeof(r->err->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static void collect(void *ctx, const struct gp__record *rec)
{
	struct replay *r = ctx;
	char text[GP__LOG_LINE_MAX];
	size_t len = gp__record_format(rec, text);
	struct line *l = malloc(sizeof(*l) + len + 1);

	if (!l) {
		r->no_memory = true;
		return;
	}
	if (r->copy)
		fwrite(text, 1, len, r->copy);
	memcpy(l->text, text, len + 1);
	l->text[len - 1] = '\0';
	l->len = len - 1;
	l->next = NULL;
	*r->last = l;
	r->last = &l->next;
}

static void drop_first(struct replay *r)
{
	struct line *l = r->first;

	r->first = l->next;
	if (!r->first)
		r->last = &r->first;
	free(l);
}

static void note_difference(struct replay *r, u64 line, const char *logged, const char *replayed)
{
	struct gp__replay_result *res = r->result;

	if (res->differs_at)
		return;
	res->differs_at = line;
	snprintf(res->logged, sizeof(res->logged), "%s", logged);
	snprintf(res->replayed, sizeof(res->replayed), "%s", replayed);
}

/* Compares a line of the log with the next line of the core. */
static void confirm(struct replay *r, u64 line, const char *text, size_t len)
{
	if (!r->first) {
		note_difference(r, line, text, "");
		return;
	}
	if (r->first->len != len || memcmp(r->first->text, text, len) != 0)
		note_difference(r, line, text, r->first->text);
	drop_first(r);
}

/*
 * The events. Each one finds what the line names, and refuses lines that no core writes.
 */

static struct device *find_device(struct replay *r, u32 id)
{
	struct device *d;

	HASH_FIND(hh, r->devices, &id, sizeof(id), d);
	return d;
}

static struct entity *find_entity(struct replay *r, u32 id)
{
	struct entity *e;

	HASH_FIND(hh, r->entities, &id, sizeof(id), e);
	return e;
}

static struct queue *find_queue(struct replay *r, u32 id)
{
	struct queue *q;

	HASH_FIND(hh, r->queues, &id, sizeof(id), q);
	return q;
}

static struct gang *find_gang(struct replay *r, u32 id)
{
	struct gang *g;

	HASH_FIND(hh, r->gangs, &id, sizeof(id), g);
	return g;
}

static int add_device(struct replay *r, const struct gp__record *rec)
{
	struct device *d;

	if (rec->dev == GP__NOBODY)
		return bad(r, "device-add names no device");
	if (find_device(r, rec->dev))
		return bad(r, "gpu%u was added before", rec->dev);
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	gp__dev_add(&r->core, &d->dev, rec->dev, (u64)rec->f[GP__F_MEMORY],
		    (enum gp__weighing)rec->f[GP__F_CAN_WEIGH], rec->time);
	HASH_ADD(hh, r->devices, dev.id, sizeof(d->dev.id), d);
	return 0;
}

static int remove_device(struct replay *r, struct device *d, const struct gp__record *rec)
{
	struct user *u, *next;

	if (d->nr_entities)
		return bad(r, "gpu%u still has entities", rec->dev);
	gp__dev_remove(&d->dev, rec->time);
	HASH_ITER (hh, r->users, u, next) {
		if (u->owner.dev == &d->dev) {
			HASH_DELETE(hh, r->users, u);
			free(u);
		}
	}
	HASH_DELETE(hh, r->devices, d);
	free(d);
	return 0;
}

static int switch_device(struct device *d, const struct gp__record *rec)
{
	gp__dev_switch(&d->dev, rec->what == GP__WHAT_DEVICE_OFF, rec->time);
	return 0;
}

static struct gp__hints hints_of(const struct gp__record *rec)
{
	return (struct gp__hints){
		.prio = (s32)rec->f[GP__F_PRIO],
		.weight = (u32)rec->f[GP__F_WEIGHT],
		.share_pct = (u32)rec->f[GP__F_SHARE],
		.min_share_pct = (u32)rec->f[GP__F_MIN_SHARE],
		.deadline_ns = (u64)rec->f[GP__F_DEADLINE],
		.max_hold_ns = (u64)rec->f[GP__F_MAX_HOLD],
		.memory = (u64)rec->f[GP__F_MEMORY],
	};
}

static struct user *get_user(struct replay *r, struct device *d, const struct gp__record *rec)
{
	u32 id = (u32)rec->f[GP__F_USER];
	struct user *u = calloc(1, sizeof(*u)), *known;

	if (!u)
		return NULL;
	u->key.dev = rec->dev;
	u->key.is_process = id == GP__NOBODY;
	u->key.id = u->key.is_process ? (u32)rec->f[GP__F_PROCESS] : id;
	HASH_FIND(hh, r->users, &u->key, sizeof(u->key), known);
	if (known) {
		free(u);
		return known;
	}
	gp__owner_init(&u->owner, &d->dev, id);
	HASH_ADD(hh, r->users, key, sizeof(u->key), u);
	return u;
}

static int add_entity(struct replay *r, struct device *d, const struct gp__record *rec)
{
	struct gp__hints h = hints_of(rec);
	struct entity *e;
	struct user *u;
	const char *why;

	if (rec->entity == GP__NOBODY || !rec->entity)
		return bad(r, "entity-add names no entity");
	if (find_entity(r, rec->entity))
		return bad(r, "e%u was added before", rec->entity);
	if (gp__hints_check(&h, &why))
		return bad(r, "%s", why);
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	u = get_user(r, d, rec);
	if (!u) {
		free(e);
		return -ENOMEM;
	}
	gp__entity_add(&u->owner, &e->e, rec->entity, (u32)rec->f[GP__F_PROCESS],
		       (enum gp__class)rec->f[GP__F_CLASS], rec->text, &h, rec->time);
	HASH_ADD(hh, r->entities, e.id, sizeof(e->e.id), e);
	d->nr_entities++;
	return 0;
}

static void forget_queue(struct replay *r, struct queue *q)
{
	HASH_DELETE(hh, r->queues, q);
	free(q);
}

static int remove_entity(struct replay *r, struct device *d, struct entity *e, u64 now)
{
	struct queue *q, *next;

	gp__entity_remove(&e->e, now);
	HASH_ITER (hh, r->queues, q, next) {
		if (q->q.entity == &e->e)
			forget_queue(r, q);
	}
	d->nr_entities--;
	HASH_DELETE(hh, r->entities, e);
	free(e);
	return 0;
}

static int add_queue(struct replay *r, struct entity *e, const struct gp__record *rec)
{
	u32 id = (u32)rec->f[GP__F_QUEUE];
	s64 level = rec->f[GP__F_LEVEL], requested = rec->f[GP__F_REQUESTED];
	struct queue *q;

	if (find_queue(r, id))
		return bad(r, "q%u was added before", id);
	if (level < 1 || level > 3 || requested < 0 || requested > 3)
		return bad(r, "a level is 1, 2 or 3");
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	gp__queue_add(&e->e, &q->q, id, (u8)requested, (u8)level, rec->time);
	HASH_ADD(hh, r->queues, q.id, sizeof(q->q.id), q);
	return 0;
}

static int add_gang(struct replay *r, const struct gp__record *rec)
{
	u32 id = (u32)rec->f[GP__F_GANG];
	struct gang *g;

	if (find_gang(r, id))
		return bad(r, "gang %u was added before", id);
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	gp__gang_add(&r->core, &g->g, id, rec->time);
	HASH_ADD(hh, r->gangs, g.id, sizeof(g->g.id), g);
	return 0;
}

static int gang_event(struct replay *r, struct entity *e, const struct gp__record *rec)
{
	struct gang *g = find_gang(r, (u32)rec->f[GP__F_GANG]);

	if (!g)
		return bad(r, "gang %lld was never added", (long long)rec->f[GP__F_GANG]);
	if (rec->what == GP__WHAT_GANG_JOIN) {
		if (gp__gang_join(&g->g, &e->e, rec->time))
			return bad(r, "e%u cannot join gang %u", e->e.id, g->g.id);
		return 0;
	}
	if (rec->what == GP__WHAT_GANG_BOUND) {
		gp__gang_bound(&g->g, (u64)rec->f[GP__F_MAX_HOLD], rec->time);
		return 0;
	}
	if (rec->what != GP__WHAT_GANG_REMOVE) {
		gp__gang_wait(&g->g, rec->what == GP__WHAT_GANG_WAIT, rec->time);
		return 0;
	}
	gp__gang_remove(&g->g, rec->time);
	HASH_DELETE(hh, r->gangs, g);
	free(g);
	return 0;
}

static int entity_event(struct replay *r, struct device *d, struct entity *e,
			const struct gp__record *rec)
{
	struct gp__hints h = hints_of(rec);
	u64 at = (u64)rec->f[GP__F_AT], now = rec->time;
	const char *why;

	switch (rec->what) {
	case GP__WHAT_ENTITY_REMOVE:
		return remove_entity(r, d, e, now);
	case GP__WHAT_HINT:
		if (gp__hints_check(&h, &why))
			return bad(r, "%s", why);
		return gp__entity_hint(&e->e, &h, now);
	case GP__WHAT_DEADLINE:
		gp__entity_deadline(&e->e, at, now);
		return 0;
	case GP__WHAT_ARRIVING:
		gp__entity_arriving(&e->e, at, now);
		return 0;
	case GP__WHAT_SUSPEND:
	case GP__WHAT_RESUME:
		gp__entity_suspend(&e->e, rec->what == GP__WHAT_SUSPEND, now);
		return 0;
	case GP__WHAT_EXEMPT:
		gp__entity_exempt(&e->e, (enum gp__exempt)rec->f[GP__F_FROM], now);
		return 0;
	case GP__WHAT_QUEUE_ADD:
		return add_queue(r, e, rec);
	default:
		return gang_event(r, e, rec);
	}
}

static int queue_event(struct replay *r, struct entity *e, const struct gp__record *rec)
{
	struct queue *q = find_queue(r, (u32)rec->f[GP__F_QUEUE]);
	s64 level = rec->f[GP__F_LEVEL];

	if (!q || q->q.entity != &e->e)
		return bad(r, "e%u has no queue %lld", e->e.id, (long long)rec->f[GP__F_QUEUE]);
	switch (rec->what) {
	case GP__WHAT_QUEUE_REMOVE:
		gp__queue_remove(&q->q, rec->time);
		forget_queue(r, q);
		return 0;
	case GP__WHAT_READY:
		gp__queue_ready(&q->q, (u32)rec->f[GP__F_PENDING], rec->time);
		return 0;
	case GP__WHAT_IDLE:
		gp__queue_idle(&q->q, (u64)rec->f[GP__F_SINCE], (u64)rec->f[GP__F_SEES], rec->time);
		return 0;
	case GP__WHAT_LEVEL:
		if (level < 1 || level > 3)
			return bad(r, "a level is 1, 2 or 3");
		gp__queue_level(&q->q, (u8)level, rec->time);
		return 0;
	default: /* ack */
		if (gp__queue_ack(&q->q, (int)rec->f[GP__F_RESULT], rec->time))
			return bad(r, "q%u has no action to acknowledge", q->q.id);
		return 0;
	}
}

static int core_event(struct replay *r, const struct gp__record *rec)
{
	switch (rec->what) {
	case GP__WHAT_CONFIG:
		return gp__core_configure(&r->core, (u32)(rec->params - gp__core_params),
					  rec->values[0], rec->time);
	case GP__WHAT_POLICY:
		return gp__core_set_policy(&r->core, gp__policy_find(rec->text), rec->values,
					   rec->time);
	case GP__WHAT_TICK:
		gp__core_tick(&r->core, rec->time);
		return 0;
	case GP__WHAT_GANG_ADD:
		return add_gang(r, rec);
	case GP__WHAT_GANG_REMOVE:
	case GP__WHAT_GANG_WAIT:
	case GP__WHAT_GANG_GO:
	case GP__WHAT_GANG_BOUND:
		return gang_event(r, NULL, rec);
	default:
		return add_device(r, rec);
	}
}

static int apply(struct replay *r, const struct gp__record *rec)
{
	struct device *d;
	struct entity *e;

	switch (rec->what) {
	case GP__WHAT_CONFIG:
	case GP__WHAT_POLICY:
	case GP__WHAT_TICK:
	case GP__WHAT_GANG_ADD:
	case GP__WHAT_GANG_REMOVE:
	case GP__WHAT_GANG_WAIT:
	case GP__WHAT_GANG_GO:
	case GP__WHAT_GANG_BOUND:
	case GP__WHAT_DEVICE_ADD:
		return core_event(r, rec);
	}
	d = find_device(r, rec->dev);
	if (!d)
		return bad(r, "its device was never added");
	if (rec->what == GP__WHAT_DEVICE_REMOVE)
		return remove_device(r, d, rec);
	if (rec->what == GP__WHAT_DEVICE_OFF || rec->what == GP__WHAT_DEVICE_ON)
		return switch_device(d, rec);
	if (rec->what == GP__WHAT_ENTITY_ADD)
		return add_entity(r, d, rec);
	e = find_entity(r, rec->entity);
	if (!e || e->e.dev != &d->dev)
		return bad(r, "its entity was never added to gpu%u", rec->dev);
	switch (rec->what) {
	case GP__WHAT_QUEUE_REMOVE:
	case GP__WHAT_READY:
	case GP__WHAT_IDLE:
	case GP__WHAT_LEVEL:
	case GP__WHAT_ACK:
		return queue_event(r, e, rec);
	default:
		return entity_event(r, d, e, rec);
	}
}

static int replay_event(struct replay *r, u64 line, const struct gp__record *rec)
{
	struct gp__action a;
	int err;

	/* All lines of the core must have been in the log before this event. */
	while (r->first) {
		note_difference(r, line, "", r->first->text);
		drop_first(r);
	}
	err = apply(r, rec);
	while (gp__core_pop(&r->core, &a))
		;
	return err;
}

static int replay_line(struct replay *r, u64 line, char *text, size_t len)
{
	struct gp__record_room room;
	struct gp__record rec;
	const char *expected;
	int err = gp__record_parse(text, len, gp__policies, &rec, &room, &expected);

	if (err == -ENODATA)
		return 0;
	if (err)
		return bad(r, "expected %s", expected);
	switch (gp__what_sign(rec.what)) {
	case '<':
		r->result->events++;
		err = replay_event(r, line, &rec);
		break;
	case '>':
		r->result->actions++;
		break;
	default:
		r->result->reports++;
	}
	if (!err)
		confirm(r, line, text, len);
	return err;
}

/* A log of another version could be misunderstood. */
static int check_header(struct replay *r, FILE *in)
{
	char text[GP__LOG_LINE_MAX];

	r->err->line = ++r->result->lines;
	if (!fgets(text, sizeof(text), in) || strcmp(text, GP__LOG_HEADER))
		return ferror(in)
			       ? -EIO
			       : bad(r,
				     "expected \"# gpreempt decision log 2\", as every log begins");
	return 0;
}

static int read_lines(struct replay *r, FILE *in)
{
	char text[GP__LOG_LINE_MAX];
	int err = check_header(r, in);

	while (!err && fgets(text, sizeof(text), in)) {
		size_t len = strlen(text);

		r->err->line = ++r->result->lines;
		if (len && text[len - 1] == '\n')
			text[--len] = '\0';
		else if (!feof(in))
			return bad(r, "the line is too long or has a NUL byte in it");
		err = replay_line(r, r->result->lines, text, len);
		if (r->no_memory)
			err = -ENOMEM;
	}
	if (!err && ferror(in))
		return -EIO;
	if (!err && r->first)
		note_difference(r, r->result->lines + 1, "", r->first->text);
	return err;
}

static void destroy(struct replay *r)
{
	struct device *d, *dn;
	struct user *u, *un;
	struct entity *e, *en;
	struct queue *q, *qn;
	struct gang *g, *gn;

	while (r->first)
		drop_first(r);
	HASH_ITER (hh, r->queues, q, qn)
		forget_queue(r, q);
	HASH_ITER (hh, r->entities, e, en) {
		HASH_DELETE(hh, r->entities, e);
		free(e);
	}
	HASH_ITER (hh, r->users, u, un) {
		HASH_DELETE(hh, r->users, u);
		free(u);
	}
	HASH_ITER (hh, r->gangs, g, gn) {
		HASH_DELETE(hh, r->gangs, g);
		free(g);
	}
	HASH_ITER (hh, r->devices, d, dn) {
		HASH_DELETE(hh, r->devices, d);
		free(d);
	}
}

int gp__replay(FILE *in, FILE *copy, struct gp__replay_result *result, struct gp__replay_error *err)
{
	struct replay r = { .copy = copy, .result = result, .err = err };
	int rc;

	memset(result, 0, sizeof(*result));
	memset(err, 0, sizeof(*err));
	r.last = &r.first;
	gp__core_init(&r.core, gp__policies[0]);
	r.core.log = collect;
	r.core.log_ctx = &r;
	rc = read_lines(&r, in);
	destroy(&r);
	return rc;
}
