// SPDX-License-Identifier: MIT
#include "daemon/cgroups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/accounts.h"
#include "daemon/verdict.h"

/*
 * Paths
 */

#define SLICE ".slice"
#define SLICE_LEN (sizeof(SLICE) - 1)

/* Appends @len characters. False: there is no room. */
static bool append(char path[GP__CGROUP_MAX], const char *text, size_t len)
{
	size_t n = strlen(path);

	if (n + len >= GP__CGROUP_MAX - 1)
		return false;
	memcpy(path + n, text, len);
	path[n + len] = '\0';
	return true;
}

/* systemd puts a-b.slice into a.slice. */
static bool slice_path(char path[GP__CGROUP_MAX], const char *name)
{
	size_t len = strlen(name);

	*path = '\0';
	if (strchr(name, '/') || len <= SLICE_LEN || strcmp(name + len - SLICE_LEN, SLICE) != 0 ||
	    *name == '-' || name[len - SLICE_LEN - 1] == '-' || strstr(name, "--"))
		return false;
	len -= SLICE_LEN;
	for (size_t end = 1; end <= len; end++) {
		if (end < len && name[end] != '-')
			continue;
		if (!append(path, "/", 1) || !append(path, name, end) ||
		    !append(path, SLICE, SLICE_LEN))
			return false;
	}
	return true;
}

/* The root contains all, so no rule is about it. A path has no component that is not one. */
static bool is_path(const char *path)
{
	size_t len = strlen(path);

	return *path == '/' && len > 1 && len < GP__CGROUP_MAX - 1 && path[len - 1] != '/' &&
	       !strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "/../") &&
	       strcmp(path + len - 2, "/.") != 0 && (len < 3 || strcmp(path + len - 3, "/..") != 0);
}

bool gp__cgroup_path(char path[GP__CGROUP_MAX], const char *name)
{
	if (!is_path(name))
		return slice_path(path, name);
	strcpy(path, name);
	return true;
}

bool gp__cgroup_contains(const char *path, const char *other)
{
	size_t n = strlen(path);

	return !strncmp(path, other, n) && (!other[n] || other[n] == '/');
}

bool gp__program_is_inside(const struct gp__program *p, const char *path)
{
	for (const char *at = p->cgroups; at && *at; at += strlen(at) + 1) {
		if (gp__cgroup_contains(path, at))
			return true;
	}
	return false;
}

/*
 * Terms
 */

static s32 most_of(const struct gp__cgroup_rule *rule)
{
	return rule->set & GP__CGROUP_MAX_PRIORITY ? rule->max_priority : rule->prio;
}

static bool has_most(u32 set)
{
	return set & (GP__CGROUP_MAX_PRIORITY | GP__CGROUP_CLASS);
}

/* What is a maximum: the lowest of all rules. */
static void bound(struct gp__terms *t, const struct gp__cgroup_rule *rule)
{
	if (has_most(rule->set) &&
	    (!(t->set & GP__CGROUP_MAX_PRIORITY) || most_of(rule) < t->max_priority)) {
		t->max_priority = most_of(rule);
		memcpy(t->path, rule->path, sizeof(t->path));
		t->set |= GP__CGROUP_MAX_PRIORITY;
	}
	if (rule->set & GP__CGROUP_WEIGHT &&
	    (!(t->set & GP__CGROUP_WEIGHT) || rule->weight < t->weight))
		t->weight = rule->weight;
	if (rule->set & GP__CGROUP_SHARE &&
	    (!(t->set & GP__CGROUP_SHARE) || rule->share_pct < t->share_pct))
		t->share_pct = rule->share_pct;
	t->set |= rule->set & (GP__CGROUP_WEIGHT | GP__CGROUP_SHARE);
}

/* The rules of which the nearest one applies; each has the length of its path. */
struct nearest {
	size_t class, tag;
};

static void apply(struct gp__terms *t, struct nearest *near, const struct gp__cgroup_rule *rule)
{
	size_t depth = strlen(rule->path);

	bound(t, rule);
	if (rule->set & GP__CGROUP_CLASS && depth >= near->class) {
		t->prio = rule->prio;
		near->class = depth;
	}
	if (rule->set & GP__CGROUP_TAG && depth >= near->tag) {
		memcpy(t->tag, rule->tag, sizeof(t->tag));
		near->tag = depth;
	}
	t->set |= rule->set & (GP__CGROUP_CLASS | GP__CGROUP_TAG);
}

bool gp__cgroups_rule(const struct gp__registry *r)
{
	return r->nr_rules || r->nr_registered;
}

/* A program whose control groups are not known may be in any: it gets the least. */
static struct gp__terms least(const struct gp__registry *r)
{
	struct gp__terms t = { 0 };
	struct gp__link *l;

	for (u32 i = 0; i < r->nr_rules; i++)
		bound(&t, &r->rules[i]);
	for (l = r->registered.next; l != &r->registered; l = l->next)
		bound(&t, &container_of(l, struct gp__cgroup_entry, link)->rule);
	*t.path = '\0';
	return t;
}

struct gp__terms gp__cgroups_terms(const struct gp__registry *r, const struct gp__program *p)
{
	struct nearest near = { 0 };
	struct gp__terms t = { 0 };
	struct gp__link *l;

	if (!p->cgroups)
		return least(r);
	for (u32 i = 0; i < r->nr_rules; i++) {
		if (gp__program_is_inside(p, r->rules[i].path))
			apply(&t, &near, &r->rules[i]);
	}
	for (l = r->registered.next; l != &r->registered; l = l->next) {
		const struct gp__cgroup_entry *e = container_of(l, struct gp__cgroup_entry, link);

		if (gp__program_is_inside(p, e->rule.path))
			apply(&t, &near, &e->rule);
	}
	if (t.set & GP__CGROUP_CLASS && t.prio > t.max_priority)
		t.prio = t.max_priority;
	return t;
}

void gp__terms_apply(const struct gp__terms *t, bool by_default, struct gp__hints *h)
{
	if (t->set & GP__CGROUP_CLASS && by_default)
		h->prio = t->prio;
	if (t->set & GP__CGROUP_MAX_PRIORITY && h->prio > t->max_priority)
		h->prio = t->max_priority;
	if (t->set & GP__CGROUP_WEIGHT && (!h->weight || h->weight > t->weight))
		h->weight = t->weight;
	if (t->set & GP__CGROUP_SHARE && (!h->share_pct || h->share_pct > t->share_pct))
		h->share_pct = t->share_pct;
}

s32 gp__program_max_priority(const struct gp__program *p)
{
	s32 of_user = p->limited ? p->max_priority : INT32_MAX;
	const struct gp__terms *t = &p->terms;

	if (!(t->set & GP__CGROUP_MAX_PRIORITY))
		return of_user;
	/* A program whose control groups are not known may be outside of all that have rules. */
	return *t->path || t->max_priority < of_user ? t->max_priority : of_user;
}

void gp__program_explain_priority(const struct gp__program *p, s32 prio, const char *then,
				  char *text, size_t size)
{
	const struct gp__terms *t = &p->terms;
	s32 most = gp__program_max_priority(p);

	if (!(t->set & GP__CGROUP_MAX_PRIORITY))
		snprintf(text, size,
			 "priority %d is above this user's limit, %d%s: ask an administrator for "
			 "max_priority in gpreemptd.conf(5)",
			 prio, most, then);
	else if (*t->path)
		snprintf(text, size,
			 "priority %d is above %d, the highest in control group %.120s%s: ask an "
			 "administrator",
			 prio, most, t->path, then);
	else
		snprintf(text, size,
			 "priority %d is above %d, the highest while gpreemptd cannot tell the "
			 "control group of the program%s: ask an administrator",
			 prio, most, then);
}

static void follow_group(struct gp__registry *r, struct gp__group *g, u64 now)
{
	struct gp__hints h = g->entity.hints;

	h.prio = g->asked_prio;
	h.weight = g->asked_weight;
	h.share_pct = g->asked_share;
	gp__terms_apply(&g->program->terms, g->by_default, &h);
	gp__verdict_override(g->program, g->entity.tag, &h);
	if (!memcmp(&h, &g->entity.hints, sizeof(h)))
		return;
	gp__entity_hint(&g->entity, &h, now);
	gp__account_follow(r, g, now);
}

void gp__cgroups_follow(struct gp__registry *r, struct gp__program *p, u64 now)
{
	struct gp__terms terms = gp__cgroups_terms(r, p);
	struct gp__link *l, *n;

	if (!terms.set && !p->terms.set)
		return;
	p->terms = terms;
	gp__list_each(l, n, &p->groups)
		follow_group(r, container_of(l, struct gp__group, of_program), now);
}

void gp__cgroups_follow_all(struct gp__registry *r, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->programs)
		gp__cgroups_follow(r, container_of(l, struct gp__program, link), now);
}

/*
 * Registered rules
 */

static struct gp__cgroup_entry *find(const struct gp__registry *r, const char *path)
{
	struct gp__link *l;

	for (l = r->registered.next; l != &r->registered; l = l->next) {
		struct gp__cgroup_entry *e = container_of(l, struct gp__cgroup_entry, link);

		if (!strcmp(e->rule.path, path))
			return e;
	}
	return NULL;
}

/* Only programs in the control group have other terms now, and those that may be in it. */
static void follow_inside(struct gp__registry *r, const struct gp__cgroup_rule *rule, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->programs)
	{
		struct gp__program *p = container_of(l, struct gp__program, link);

		if (!p->cgroups || gp__program_is_inside(p, rule->path))
			gp__cgroups_follow(r, p, now);
	}
}

int gp__cgroups_add(struct gp__registry *r, const struct gp__cgroup_rule *rule, u64 now)
{
	struct gp__cgroup_entry *e = find(r, rule->path);

	if (!e && r->nr_registered == GP__CGROUPS_REGISTERED_MAX)
		return -ENOSPC;
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			return -ENOMEM;
		gp__list_init(&e->link);
		gp__list_push(&r->registered, &e->link);
		e->ticket = ++r->last_cgroup;
		r->nr_registered++;
	}
	e->rule = *rule;
	e->since = e->checked_at = now;
	follow_inside(r, rule, now);
	return 0;
}

int gp__cgroups_remove(struct gp__registry *r, const char *path, u64 now)
{
	struct gp__cgroup_entry *e = find(r, path);

	if (!e)
		return -ENOENT;
	gp__list_del(&e->link);
	r->nr_registered--;
	follow_inside(r, &e->rule, now);
	free(e);
	return 0;
}

void gp__cgroups_free(struct gp__registry *r)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->registered) free(container_of(l, struct gp__cgroup_entry, link));
	gp__list_init(&r->registered);
	r->nr_registered = 0;
}
