// SPDX-License-Identifier: MIT
#include "daemon/verdict.h"

#include <stdlib.h>

#include "daemon/accounts.h"

/*
 * Marks
 */

static struct gp__mark *find_mark(struct gp__verdict *v, const char *tag)
{
	for (u32 i = 1; v && i < v->nr_marks; i++) {
		if (!strcmp(v->mark[i].tag, tag))
			return &v->mark[i];
	}
	return NULL;
}

/* If there is no room for a mark, it is about the whole program: no word is lost. */
static struct gp__mark *get_mark(struct gp__verdict *v, const char *tag)
{
	struct gp__mark *m = find_mark(v, tag);

	if (m)
		return m;
	if (v->nr_marks == GP__MARKS_MAX)
		return &v->mark[0];
	m = &v->mark[v->nr_marks++];
	memset(m, 0, sizeof(*m));
	memcpy(m->tag, tag, sizeof(m->tag));
	return m;
}

static void copy_hints(struct gp__hints *to, const struct gp__hints *from, u32 fields)
{
	if (fields & GP__HINT_PRIO)
		to->prio = from->prio;
	if (fields & GP__HINT_WEIGHT)
		to->weight = from->weight;
	if (fields & GP__HINT_SHARE)
		to->share_pct = from->share_pct;
	if (fields & GP__HINT_MIN_SHARE)
		to->min_share_pct = from->min_share_pct;
	if (fields & GP__HINT_DEADLINE)
		to->deadline_ns = from->deadline_ns;
	if (fields & GP__HINT_MAX_HOLD)
		to->max_hold_ns = from->max_hold_ns;
}

static void lower(const struct gp__program *p, struct gp__hints *hints)
{
	s32 most = gp__program_max_priority(p);

	if (hints->prio > most)
		hints->prio = most;
}

/* Only an administrator exceeds the limit. */
static void apply_mark(const struct gp__program *p, const struct gp__mark *m,
		       struct gp__hints *hints)
{
	copy_hints(hints, &m->hints, m->set);
	if ((m->set & GP__HINT_PRIO) && !(m->set_by_admin & GP__HINT_PRIO))
		lower(p, hints);
}

void gp__verdict_override(const struct gp__program *p, const char *tag, struct gp__hints *hints)
{
	const struct gp__mark *m = find_mark(p->verdict, tag);

	lower(p, hints);
	if (p->verdict)
		apply_mark(p, &p->verdict->mark[0], hints);
	if (m)
		apply_mark(p, m, hints);
}

/* The mark that says whether groups with this tag are suspended. NULL: none does. */
static const struct gp__mark *find_said(const struct gp__program *p, const char *tag)
{
	const struct gp__mark *m = find_mark(p->verdict, tag);

	if (m && m->said)
		return m;
	return p->verdict && p->verdict->mark[0].said ? &p->verdict->mark[0] : NULL;
}

static bool says_suspend(const struct gp__verdict *v)
{
	for (u32 i = 0; i < v->nr_marks; i++) {
		if (v->mark[i].said == GP__SAID_SUSPEND)
			return true;
	}
	return false;
}

static bool says_anything(const struct gp__verdict *v)
{
	for (u32 i = 0; i < v->nr_marks; i++) {
		if (v->mark[i].said || v->mark[i].set)
			return true;
	}
	return v->replaces;
}

/* Whether the program's ancestors may have a verdict, which is not known yet. */
static bool may_inherit(struct gp__registry *r, const struct gp__program *p)
{
	struct gp__link *l, *n;

	if (p->judged || p->verdict)
		return false;
	gp__list_each(l, n, &r->verdicts)
	{
		const struct gp__verdict *v = container_of(l, struct gp__verdict, link);

		if (v->owner == p->owner && says_suspend(v))
			return true;
	}
	return false;
}

void gp__verdict_apply(struct gp__registry *r, struct gp__group *g, u64 now)
{
	const struct gp__mark *m = find_said(g->program, g->entity.tag);
	bool suspended = m ? m->said == GP__SAID_SUSPEND : may_inherit(r, g->program);
	struct gp__hints hints = g->entity.hints;

	gp__verdict_override(g->program, g->entity.tag, &hints);
	if (memcmp(&hints, &g->entity.hints, sizeof(hints)) != 0)
		gp__entity_hint(&g->entity, &hints, now);
	gp__account_follow(r, g, now);
	if (g->suspended != suspended)
		gp__group_suspend(g, suspended, now);
}

void gp__verdict_limit(struct gp__registry *r, struct gp__program *p, bool limited,
		       s32 max_priority, u64 now)
{
	struct gp__link *l, *n;

	if (p->limited == limited && p->max_priority == max_priority)
		return;
	p->limited = limited;
	p->max_priority = max_priority;
	gp__list_each(l, n, &p->groups)
	{
		struct gp__group *g = container_of(l, struct gp__group, of_program);
		struct gp__hints hints = g->entity.hints;

		hints.prio = g->asked_prio;
		gp__terms_apply(&p->terms, g->by_default, &hints);
		gp__verdict_override(p, g->entity.tag, &hints);
		if (hints.prio != g->entity.hints.prio)
			gp__entity_hint(&g->entity, &hints, now);
		gp__account_follow(r, g, now);
	}
}

static void apply_to_program(struct gp__registry *r, const struct gp__program *p, u64 now)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->groups)
	{
		struct gp__group *g = container_of(l, struct gp__group, link);

		if (g->program == p)
			gp__verdict_apply(r, g, now);
	}
}

/*
 * Verdicts
 */

static bool is_same(const struct gp__process_id *a, const struct gp__process_id *b)
{
	return a->pid == b->pid && a->start == b->start;
}

static void attach(struct gp__program *p, struct gp__verdict *v)
{
	p->verdict = v;
	v->nr_programs++;
}

void gp__verdict_forget(struct gp__verdict *v)
{
	gp__list_del(&v->link);
	free(v);
}

bool gp__verdict_is_by_admin(const struct gp__verdict *v)
{
	for (u32 i = 0; i < v->nr_marks; i++) {
		if (v->mark[i].by_admin || v->mark[i].set_by_admin)
			return true;
	}
	return false;
}

/* Keeps the verdicts on programs that have left within the bound. */
static void make_room(struct gp__registry *r, uid_t owner)
{
	struct gp__verdict *oldest = NULL;
	struct gp__link *l, *n;
	u32 nr = 0;

	gp__list_each(l, n, &r->verdicts)
	{
		struct gp__verdict *v = container_of(l, struct gp__verdict, link);

		if (v->owner != owner || v->nr_programs)
			continue;
		nr++;
		/* A user's own word does not push out that of an administrator. */
		if (!oldest || (gp__verdict_is_by_admin(oldest) && !gp__verdict_is_by_admin(v)))
			oldest = v;
	}
	if (nr > GP__VERDICTS_PER_USER)
		gp__verdict_forget(oldest);
}

static void detach(struct gp__registry *r, struct gp__program *p)
{
	struct gp__verdict *v = p->verdict;

	p->verdict = NULL;
	if (!v || --v->nr_programs)
		return;
	if (says_anything(v))
		make_room(r, v->owner);
	else
		gp__verdict_forget(v);
}

/* The verdict on the program itself: that of an ancestor is copied. NULL: out of memory. */
static struct gp__verdict *get_own(struct gp__registry *r, struct gp__program *p)
{
	struct gp__verdict *inherited = p->verdict, *v;

	if (inherited && inherited->process.pid == p->pid)
		return inherited;
	v = calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	v->nr_marks = 1;
	if (inherited)
		*v = *inherited;
	v->replaces = inherited;
	v->nr_programs = 0;
	v->process = p->process;
	v->process.pid = p->pid;
	v->owner = p->owner;
	memcpy(v->cgroup, p->cgroup, sizeof(v->cgroup));
	gp__list_init(&v->link);
	gp__list_push(&r->verdicts, &v->link);
	detach(r, p);
	attach(p, v);
	return v;
}

/* Descendants and other connections of the process follow what is said about it. */
static void apply_to_others(struct gp__registry *r, const struct gp__group *g, u64 now)
{
	struct gp__link *l, *n;

	if (g->program->verdict->nr_programs == 1)
		return;
	gp__list_each(l, n, &r->programs)
	{
		const struct gp__program *p = container_of(l, struct gp__program, link);

		if (p != g->program && p->verdict == g->program->verdict)
			apply_to_program(r, p, now);
	}
}

/* Whether all groups of the program are suspended, or all are not. */
static bool all_are(struct gp__registry *r, const struct gp__program *p, bool suspended)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->groups)
	{
		const struct gp__group *g = container_of(l, struct gp__group, link);

		if (g->program == p && g->suspended != suspended)
			return false;
	}
	return true;
}

void gp__verdict_suspend(struct gp__registry *r, struct gp__group *g, bool suspend, bool by_admin,
			 u64 now)
{
	struct gp__verdict *v = get_own(r, g->program);
	struct gp__mark *m;

	gp__group_suspend(g, suspend, now);
	/* The word of an administrator stays one, whatever the owner adds. */
	if (!v || (!by_admin && gp__verdict_is_admins(g, true, 0)))
		return;
	m = get_mark(v, g->entity.tag);
	m->said = suspend ? GP__SAID_SUSPEND : GP__SAID_RESUME;
	m->by_admin = by_admin;
	if (all_are(r, g->program, suspend) && (by_admin || !gp__verdict_is_by_admin(v))) {
		for (u32 i = 0; i < v->nr_marks; i++)
			v->mark[i].said = GP__SAID_NOTHING;
		v->mark[0].said = suspend ? GP__SAID_SUSPEND : GP__SAID_NOTHING;
		v->mark[0].by_admin = by_admin;
	}
	apply_to_others(r, g, now);
}

/* Whether these hints were set for all groups of the program, and to the same values. */
static bool are_set_for_all(struct gp__registry *r, const struct gp__program *p, u32 fields,
			    const struct gp__hints *hints)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->groups)
	{
		const struct gp__group *g = container_of(l, struct gp__group, link);
		struct gp__hints same = g->entity.hints;
		const struct gp__mark *m;

		if (g->program != p)
			continue;
		m = find_mark(p->verdict, g->entity.tag);
		copy_hints(&same, hints, fields);
		if (!m || (m->set & fields) != fields ||
		    memcmp(&same, &g->entity.hints, sizeof(same)) != 0)
			return false;
	}
	return true;
}

static void note_hints(struct gp__mark *m, u32 fields, const struct gp__hints *hints, bool by_admin)
{
	copy_hints(&m->hints, hints, fields);
	m->set |= fields;
	m->set_by_admin = by_admin ? m->set_by_admin | fields : m->set_by_admin & ~fields;
}

void gp__verdict_set(struct gp__registry *r, struct gp__group *g, u32 fields,
		     const struct gp__hints *hints, bool by_admin, u64 now)
{
	struct gp__verdict *v = get_own(r, g->program);
	struct gp__hints all = g->entity.hints;

	copy_hints(&all, hints, fields);
	gp__entity_hint(&g->entity, &all, now);
	gp__account_follow(r, g, now);
	if (!v)
		return;
	note_hints(get_mark(v, g->entity.tag), fields, hints, by_admin);
	if (are_set_for_all(r, g->program, fields, hints)) {
		for (u32 i = 1; i < v->nr_marks; i++)
			v->mark[i].set &= ~fields;
		note_hints(&v->mark[0], fields, hints, by_admin);
	}
	apply_to_others(r, g, now);
}

bool gp__verdict_is_admins(const struct gp__group *g, bool suspended, u32 fields)
{
	const struct gp__mark *said = find_said(g->program, g->entity.tag);
	const struct gp__mark *m = find_mark(g->program->verdict, g->entity.tag);
	u32 of_tag = m ? m->set & fields : 0;

	if (suspended && said && said->said == GP__SAID_SUSPEND && said->by_admin)
		return true;
	if (m && (m->set_by_admin & fields))
		return true;
	return g->program->verdict &&
	       (g->program->verdict->mark[0].set_by_admin & fields & ~of_tag);
}

/*
 * Programs that join and leave
 */

/* Of a program that was not inspected yet, or left before that, the pid alone is known. */
static bool may_be(const struct gp__verdict *v, const struct gp__process_id *process)
{
	if (!v->process.start)
		return v->process.pid == process->pid;
	return is_same(&v->process, process);
}

/* A process with several connections may have several; one that suspends it comes first. */
static struct gp__verdict *find_of(struct gp__registry *r, const struct gp__program *p,
				   const struct gp__process_id *process)
{
	struct gp__verdict *found = NULL;
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->verdicts)
	{
		struct gp__verdict *v = container_of(l, struct gp__verdict, link);

		/* A user decides about the programs of other users in no way. */
		if (may_be(v, process) && (v->owner == p->owner || gp__verdict_is_by_admin(v)) &&
		    (!found || !says_suspend(found)))
			found = v;
	}
	return found;
}

/* Finds the verdict on a process from which an adopted one may descend; a suspended one first. */
static struct gp__verdict *find_of_adopted(struct gp__registry *r, const struct gp__program *p,
					   const struct gp__lineage *lineage)
{
	struct gp__verdict *found = NULL;
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->verdicts)
	{
		struct gp__verdict *v = container_of(l, struct gp__verdict, link);

		if (v->owner != p->owner || !v->process.start ||
		    lineage->adopted_start < v->process.start ||
		    (strcmp(v->cgroup, lineage->cgroup) != 0 &&
		     (strlen(v->cgroup) < 2 || !gp__cgroup_contains(v->cgroup, lineage->cgroup))))
			continue;
		if (!found || !says_suspend(found))
			found = v;
	}
	return found;
}

void gp__verdict_judge(struct gp__registry *r, struct gp__program *p, const struct gp__lineage *l,
		       u64 now)
{
	struct gp__verdict *v = NULL;

	if (!l->nr)
		return; /* it has ended, or hides: it stays as it is */
	p->judged = true;
	p->process = l->up[0];
	memcpy(p->cgroup, l->cgroup, sizeof(p->cgroup));
	if (l->cgroups_size && !p->cgroups) {
		p->cgroups = malloc(l->cgroups_size);
		if (p->cgroups)
			memcpy(p->cgroups, l->cgroups, l->cgroups_size);
	}
	gp__cgroups_follow(r, p, now);
	gp__account_follow_program(r, p, now);
	if (p->verdict && p->verdict->process.pid == p->pid) {
		p->verdict->process = p->process;
		memcpy(p->verdict->cgroup, p->cgroup, sizeof(p->cgroup));
		return;
	}
	for (u32 i = 0; i < l->nr && !v; i++)
		v = find_of(r, p, &l->up[i]);
	if (!v && l->adopted_start)
		v = find_of_adopted(r, p, l);
	if (v)
		attach(p, v);
	apply_to_program(r, p, now);
}

void gp__verdict_leave(struct gp__registry *r, struct gp__program *p)
{
	detach(r, p);
}

struct gp__verdict *gp__verdict_find_left(struct gp__registry *r, pid_t pid)
{
	struct gp__link *l;

	for (l = r->verdicts.prev; l != &r->verdicts; l = l->prev) {
		struct gp__verdict *v = container_of(l, struct gp__verdict, link);

		if (v->process.pid == pid && !v->nr_programs)
			return v;
	}
	return NULL;
}

void gp__verdict_free_all(struct gp__registry *r)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->verdicts)
		gp__verdict_forget(container_of(l, struct gp__verdict, link));
}
