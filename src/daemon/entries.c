// SPDX-License-Identifier: MIT
#include "daemon/entries.h"

#include <stdio.h>
#include <string.h>

#include "daemon/server.h"

#define FIELDS_MAX 12
#define MESSAGE_MAX 256

struct entry {
	struct gp__log_field field[FIELDS_MAX];
	size_t nr;
};

void gp__entries_apply(struct gp__server *s)
{
	int err = 0;

	if (s->config.journal && s->journald.fd < 0)
		err = gp__journald_open(&s->journald, GP__JOURNALD_SOCKET);
	else if (!s->config.journal)
		gp__journald_close(&s->journald);
	if (err)
		gp__log_warning(s->log,
				"journal = decisions: nothing listens at " GP__JOURNALD_SOCKET
				": %s; decisions are not in the journal",
				strerror(-err));
}

static void add_text(struct entry *e, const char *name, const char *text)
{
	if (*text)
		e->field[e->nr++] = (struct gp__log_field){ name, text, 0 };
}

static void add_number(struct entry *e, const char *name, long long number)
{
	e->field[e->nr++] = (struct gp__log_field){ name, NULL, number };
}

/* The lines of a group's queues follow one another and have one time. */
static bool is_repeated(struct gp__server *s, const struct gp__record *r)
{
	bool same = s->entries.entity == r->entity && s->entries.what == r->what &&
		    s->entries.time == r->time;

	s->entries.entity = r->entity;
	s->entries.what = r->what;
	s->entries.time = r->time;
	return same;
}

static void name_program(char *text, size_t size, const struct gp__group *g)
{
	snprintf(text, size, "%s (pid %d)", g->program->name, (int)g->program->pid);
}

static void write_message(char *text, const struct gp__group *g, const struct gp__group *by,
			  bool held, const char *rule)
{
	char name[96], other[96];

	name_program(name, sizeof(name), g);
	if (by)
		name_program(other, sizeof(other), by);
	snprintf(text, MESSAGE_MAX, "%s is %s%s%s (rule: %s)", name, held ? "held" : "released",
		 by && held ? " for " : "", by && held ? other : "", rule);
}

static void send_entry(struct gp__server *s, const struct gp__record *r, const struct gp__group *g)
{
	u32 by_id = (u32)r->f[GP__F_BY];
	const struct gp__group *by = by_id ? gp__registry_find_group(&s->registry, by_id) : NULL;
	const char *rule = gp__rule_name((enum gp__rule)r->f[GP__F_WHY]);
	bool held = r->what == GP__WHAT_HOLD;
	char message[MESSAGE_MAX];
	struct entry e = { .nr = 0 };

	write_message(message, g, by, held, rule);
	add_text(&e, "GPREEMPT_EVENT", held ? "held" : "released");
	add_text(&e, "GPREEMPT_RULE", rule);
	add_number(&e, "GPREEMPT_PID", g->program->pid);
	add_text(&e, "GPREEMPT_PROGRAM", g->program->name);
	add_text(&e, "GPREEMPT_TAG", g->entity.tag);
	add_number(&e, "GPREEMPT_USER", g->program->uid);
	add_number(&e, "GPREEMPT_GROUP", g->entity.id);
	add_number(&e, "GPREEMPT_GPU", r->dev);
	if (by)
		add_number(&e, "GPREEMPT_BY_PID", by->program->pid);
	if (by)
		add_text(&e, "GPREEMPT_BY_PROGRAM", by->program->name);
	if (s->entries.nr_missing)
		add_number(&e, "GPREEMPT_MISSING", (long long)s->entries.nr_missing);
	if (gp__journald_send(&s->journald, GP__LOG_INFO, message, e.field, e.nr))
		s->entries.nr_missing++;
	else
		s->entries.nr_missing = 0;
}

void gp__entries_take(struct gp__server *s, const struct gp__record *r)
{
	const struct gp__group *g;

	if (s->journald.fd < 0 || (r->what != GP__WHAT_HOLD && r->what != GP__WHAT_RELEASE) ||
	    is_repeated(s, r))
		return;
	g = gp__registry_find_group(&s->registry, r->entity);
	if (g)
		send_entry(s, r, g);
}
