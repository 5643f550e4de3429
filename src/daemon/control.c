// SPDX-License-Identifier: MIT
/*
 * Requests of the command line, which are JSON objects with "op", and the answers to them.
 *
 *	{"op": "list"}  {"op": "list", "processes": true}  {"op": "users"}  {"op": "metrics"}
 *	{"op": "why", TARGET}
 *	{"op": "set", TARGET, "priority": 3, "share_pct": 40, ...}
 *	{"op": "suspend", TARGET}  {"op": "resume", TARGET}
 *	{"op": "policy"}  {"op": "policy", "name": "fair", "params": {"slice_ms": 5}, "force": true}
 *	{"op": "watch"}
 *	{"op": "off"}  {"op": "on"}  {"op": "off", "gpu": "0"}  {"op": "on", "gpu": "0"}
 *	{"op": "cgroups"}  {"op": "cgroup-remove", "cgroup": "/slurm/job_7"}
 *	{"op": "cgroup-add", "cgroup": "/slurm/job_7", "priority": 2, "max_priority": 7, "tag": "x"}
 *
 * TARGET is "pid", "group" or "queue" with a number, or "tag" with a text; or "targets", a list of
 * objects with one of these each. All targets are changed, or none. Users see their own programs,
 * and only the existence of others'; only the owner or an administrator changes anything, and only
 * an administrator what an administrator has suspended or set. Another user's target is answered
 * like one that does not exist. "resume" with a "pid" also takes back what was said about a program
 * that has left. "why" also answers for groups that have ended, unless a living group matches the
 * target.
 *
 * "processes" adds the processes that have GPUs open: as they are now, or, with the text "known"
 * instead of true, as they were found last, without waiting.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "daemon/answer.h"
#include "daemon/figures.h"
#include "daemon/show.h"
#include "daemon/target.h"
#include "daemon/verdict.h"
#include "policy/policy.h"

struct request {
	struct gp__server *s;
	struct gp__peer *p;
	const json_t *json;
	char error[GP__WIRE_TEXT_MAX];
	int code;
	int target; /* index of the refused one among several; -1: none in particular */
	struct gp__pieces list; /* of the answer */
};

GP__PRINTF(3, 4)
static json_t *refuse(struct request *r, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->error, sizeof(r->error), fmt, args);
	va_end(args);
	r->code = code;
	return NULL;
}

/*
 * Listing
 */

/* Programs that have left, about which an operator's word is remembered. */
static json_t *left_json(const struct request *r)
{
	json_t *list = json_array();
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->s->registry.verdicts)
	{
		const struct gp__verdict *v = container_of(l, struct gp__verdict, link);

		if (!v->nr_programs && gp__may_see_user(r->p, v->owner))
			json_array_append_new(list, gp__show_left(v));
	}
	return list;
}

static bool is_user_shown(const struct request *r, const struct gp__user *u)
{
	return r->p->admin || u == r->p->user;
}

/* A census that is younger answers a question, too; of live views, which ask again, an older one.
 */
#define FRESH_NS GP__S
#define FRESH_KNOWN_NS (2 * GP__S)

static void list_processes(struct request *r)
{
	const json_t *processes = json_object_get(r->json, "processes");
	bool wait = json_is_true(processes);

	if (!wait && !json_is_string(processes))
		return;
	gp__holders_want(r->s, wait ? FRESH_NS : FRESH_KNOWN_NS);
	gp__pieces_add(&r->list, wait ? GP__PIECE_PROCESSES : GP__PIECE_KNOWN_PROCESSES, 0);
}

static json_t *do_list(struct request *r)
{
	json_t *o = gp__json_envelope();
	struct gp__link *l, *n;

	gp__pieces_add(&r->list, GP__PIECE_GROUPS, 0);
	gp__list_each(l, n, &r->s->registry.groups) gp__pieces_add(
		&r->list, GP__PIECE_GROUP, container_of(l, struct gp__group, link)->entity.id);
	gp__pieces_add(&r->list, GP__PIECE_GPUS, 0);
	gp__list_each(l, n, &r->s->registry.gpus) gp__pieces_add(
		&r->list, GP__PIECE_GPU, container_of(l, struct gp__gpu, link)->dev.id);
	json_object_set_new(o, "daemon", gp__show_daemon(r->s));
	json_object_set_new(o, "you", gp__show_asker(r->p));
	json_object_set_new(o, "left", left_json(r));
	list_processes(r);
	return o;
}

static json_t *do_users(struct request *r)
{
	json_t *o = gp__json_envelope();
	struct gp__link *l, *n;

	gp__pieces_add(&r->list, GP__PIECE_USERS, 0);
	gp__list_each(l, n, &r->s->registry.users)
	{
		const struct gp__user *u = container_of(l, struct gp__user, link);

		if (is_user_shown(r, u))
			gp__pieces_add(&r->list, GP__PIECE_USER, u->uid);
	}
	json_object_set_new(o, "daemon", gp__show_daemon(r->s));
	json_object_set_new(o, "limits_until",
			    r->s->limits_until ? json_integer(r->s->limits_until) : json_null());
	if (r->p->admin)
		json_object_set_new(o, "sections", gp__show_sections(r->s));
	return o;
}

/* For gpreempt metrics, and for the server of metrics (scrape.h). */
static json_t *do_metrics(struct request *r)
{
	const struct gp__registry *reg = &r->s->registry;
	json_t *o = gp__json_envelope();
	const struct gp__link *l;

	gp__pieces_add(&r->list, GP__PIECE_GPU_ROWS, 0);
	for (l = reg->gpus.next; l != &reg->gpus; l = l->next)
		gp__pieces_add(&r->list, GP__PIECE_GPU_ROW,
			       container_of(l, struct gp__gpu, link)->dev.id);
	/* Before the classes: each program's reports are read first. */
	gp__pieces_add(&r->list, GP__PIECE_PROGRAM_ROWS, 0);
	for (l = reg->accounts.next; l != &reg->accounts; l = l->next) {
		const struct gp__account *a = container_of(l, struct gp__account, link);

		if (gp__may_see_class(r->p, a->class))
			gp__pieces_add(&r->list, GP__PIECE_PROGRAM_ROW, a->id);
	}
	gp__pieces_add(&r->list, GP__PIECE_CLASS_ROWS, 0);
	for (l = reg->classes.next; l != &reg->classes; l = l->next) {
		const struct gp__class_account *c = container_of(l, struct gp__class_account, link);

		if (gp__may_see_class(r->p, c))
			gp__pieces_add(&r->list, GP__PIECE_CLASS_ROW, c->id);
	}
	gp__pieces_add(&r->list, GP__PIECE_USER_ROWS, 0);
	for (l = reg->users.next; l != &reg->users; l = l->next) {
		const struct gp__user *u = container_of(l, struct gp__user, link);

		if (is_user_shown(r, u))
			gp__pieces_add(&r->list, GP__PIECE_USER_ROW, u->uid);
	}
	json_object_set_new(o, "daemon", gp__figures_daemon(r->s));
	return o;
}

/*
 * Targets
 */

/* An operation on groups. Once check() has accepted all of them, act() cannot fail. */
struct operation {
	bool (*check)(struct request *r, const struct gp__group *g);
	void (*act)(struct request *r, struct gp__group *g);
	enum gp__piece_kind shown;
	bool of_ended; /* it applies to groups that have ended as well */
};

/* Finds the groups that the request names and its user may see. False: one is refused. */
static bool find_groups(struct request *r, const struct operation *op, struct gp__targets *t)
{
	struct gp__link *l, *n;

	gp__list_each(l, n, &r->s->registry.groups)
	{
		const struct gp__group *g = container_of(l, struct gp__group, link);
		u32 place = 0;

		if (!gp__may_see(r->p, g->program) || !gp__targets_match(t, g, &place))
			continue;
		r->target = t->several ? (int)place : -1;
		if (op->check && !op->check(r, g))
			return false;
		gp__pieces_add(&r->list, op->shown, g->entity.id);
	}
	return true;
}

/* Adds the groups that have ended, the latest first. */
static void find_ended(struct request *r, struct gp__targets *t)
{
	struct gp__link *l;

	for (l = r->s->registry.ended.prev; l != &r->s->registry.ended; l = l->prev) {
		const struct gp__ended *e = container_of(l, struct gp__ended, link);

		if (gp__may_see_user(r->p, e->uid) && gp__targets_match_ended(t, e))
			gp__pieces_add(&r->list, GP__PIECE_ENDED, e->group);
	}
}

/* Another user's groups are not found, so that nobody learns of them. */
static bool find_targets(struct request *r, const struct operation *op, struct gp__targets *t)
{
	const struct gp__target *missing;

	if (!find_groups(r, op, t))
		return false;
	if (op->of_ended)
		find_ended(r, t);
	missing = gp__targets_missing(t);
	if (!missing)
		return true;
	r->target = t->several ? (int)missing->place : -1;
	refuse(r, -ENOENT,
	       "no joined program, group or queue that you may see matches; 'gpreempt ps' lists "
	       "them");
	return false;
}

static json_t *for_targets(struct request *r, const struct operation *op)
{
	struct gp__targets t;

	if (!gp__targets_read(&t, r->json))
		return refuse(r, -EINVAL, "a request has 1 to %d targets, not %u", GP__TARGETS_MAX,
			      t.nr);
	gp__pieces_add(&r->list, GP__PIECE_GROUPS, 0);
	if (!find_targets(r, op, &t))
		return NULL;
	for (u32 i = 0; op->act && i < r->list.nr; i++) {
		if (r->list.piece[i].kind == op->shown)
			op->act(r, gp__registry_find_group(&r->s->registry, r->list.piece[i].id));
	}
	return gp__json_envelope();
}

static json_t *do_why(struct request *r)
{
	return for_targets(r, &(struct operation){ .shown = GP__PIECE_HISTORY, .of_ended = true });
}

static void suspend_group(struct request *r, struct gp__group *g)
{
	gp__verdict_suspend(&r->s->registry, g, true, r->p->admin, r->s->now);
}

static void resume_group(struct request *r, struct gp__group *g)
{
	gp__verdict_suspend(&r->s->registry, g, false, r->p->admin, r->s->now);
}

static bool may_suspend(struct request *r, const struct gp__group *g)
{
	if (!g->program->observed)
		return true;
	refuse(r, -EPERM,
	       "this program is only observed (gpreempt run --observe) and is never held");
	return false;
}

static json_t *do_suspend(struct request *r)
{
	return for_targets(r, &(struct operation){ .check = may_suspend,
						   .act = suspend_group,
						   .shown = GP__PIECE_GROUP });
}

static bool may_resume(struct request *r, const struct gp__group *g)
{
	if (r->p->admin || !gp__verdict_is_admins(g, true, 0))
		return true;
	refuse(r, -EACCES,
	       "an administrator has suspended this program: only an administrator may resume it");
	return false;
}

/* The verdict on a program that has left, if the target names one that may be taken back. */
static struct gp__verdict *find_left(const struct request *r)
{
	const json_t *several = json_object_get(r->json, "targets");
	const json_t *target = json_array_size(several) == 1 ? json_array_get(several, 0) : r->json;
	struct gp__verdict *v;
	u64 pid;

	if (!gp__request_number(target, "pid", INT32_MAX, &pid))
		return NULL;
	v = gp__verdict_find_left(&r->s->registry, (pid_t)pid);
	if (!v || r->p->admin)
		return v;
	return v->owner == r->p->cred.uid && !gp__verdict_is_by_admin(v) ? v : NULL;
}

static json_t *do_resume(struct request *r)
{
	struct gp__verdict *left = find_left(r);
	json_t *o = for_targets(r, &(struct operation){ .check = may_resume,
							.act = resume_group,
							.shown = GP__PIECE_GROUP });

	if (!left || (!o && r->code != -ENOENT))
		return o;
	gp__verdict_forget(left);
	return o ? o : gp__json_envelope();
}

/*
 * Setting
 */

static bool read_hint(struct request *r, const char *key, u64 most, u64 *value)
{
	if (!json_object_get(r->json, key))
		return true;
	if (gp__request_number(r->json, key, most, value))
		return true;
	refuse(r, -EINVAL, "%s is not a whole number from 0 to %llu", key,
	       (unsigned long long)most);
	return false;
}

static bool read_hints(struct request *r, struct gp__hints *h)
{
	const json_t *prio = json_object_get(r->json, "priority");
	u64 weight = h->weight, share = h->share_pct, min_share = h->min_share_pct;

	if (prio && (!json_is_integer(prio) || json_integer_value(prio) > GP__PRIO_LIMIT ||
		     json_integer_value(prio) < -GP__PRIO_LIMIT)) {
		refuse(r, -ERANGE, "a priority is a whole number within %d of 0", GP__PRIO_LIMIT);
		return false;
	}
	if (prio)
		h->prio = (s32)json_integer_value(prio);
	if (!read_hint(r, "weight", UINT32_MAX, &weight) ||
	    !read_hint(r, "share_pct", UINT32_MAX, &share) ||
	    !read_hint(r, "min_share_pct", UINT32_MAX, &min_share) ||
	    !read_hint(r, "deadline_ns", GP__TIME_END, &h->deadline_ns) ||
	    !read_hint(r, "max_hold_ns", GP__TIME_END, &h->max_hold_ns))
		return false;
	h->weight = (u32)weight;
	h->share_pct = (u32)share;
	h->min_share_pct = (u32)min_share;
	return true;
}

/* The hints that the request gives. */
static u32 fields_of(const struct request *r)
{
	static const struct {
		const char *key;
		enum gp__hint_field field;
	} fields[] = {
		{ "priority", GP__HINT_PRIO },	      { "weight", GP__HINT_WEIGHT },
		{ "share_pct", GP__HINT_SHARE },      { "min_share_pct", GP__HINT_MIN_SHARE },
		{ "deadline_ns", GP__HINT_DEADLINE }, { "max_hold_ns", GP__HINT_MAX_HOLD },
	};
	u32 given = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		given |= json_object_get(r->json, fields[i].key) ? fields[i].field : 0;
	return given;
}

/* An administrator may have given the group these guarantees before. */
static bool has_guarantees(const struct gp__hints *has, const struct gp__hints *wants)
{
	return wants->min_share_pct == has->min_share_pct && wants->max_hold_ns == has->max_hold_ns;
}

/* An administrator may have given the group values above the limit before. */
static bool exceeds_limit(const struct gp__hints *has, const struct gp__hints *wants,
			  const struct gp__limit *limit)
{
	char text[GP__WIRE_TEXT_MAX];

	return (wants->weight != has->weight || wants->share_pct != has->share_pct ||
		wants->deadline_ns != has->deadline_ns) &&
	       gp__limit_explain(limit, wants->weight, wants->share_pct, wants->deadline_ns, text,
				 sizeof(text));
}

/* Whether a rule about its control group says how high its priority may be. */
static bool has_rule(const struct gp__program *p)
{
	return p->terms.set & GP__CGROUP_MAX_PRIORITY;
}

/* The user that asks may be another one than the program's: the owner of its subordinate uid. */
static s32 max_priority(const struct request *r, const struct gp__program *p)
{
	return has_rule(p) ? gp__program_max_priority(p) : r->p->limit.max_priority;
}

static bool may_set(struct request *r, const struct gp__group *g)
{
	struct gp__hints h = g->entity.hints;
	const char *why;

	if (!read_hints(r, &h))
		return false;
	if (gp__hints_check(&h, &why)) {
		refuse(r, -ERANGE, "%s", why);
		return false;
	}
	if (!r->p->admin && gp__verdict_is_admins(g, false, fields_of(r))) {
		refuse(r, -EACCES,
		       "an administrator has set this for the program: only an administrator may "
		       "change it");
		return false;
	}
	if (!r->p->admin && exceeds_limit(&g->entity.hints, &h, &r->p->limit)) {
		r->p->user->refused[GP__BUDGET_HINTS]++;
		gp__limit_explain(&r->p->limit, h.weight, h.share_pct, h.deadline_ns, r->error,
				  sizeof(r->error));
		r->code = -EACCES;
		return false;
	}
	if (!r->p->admin && h.prio > g->entity.hints.prio && h.prio > max_priority(r, g->program)) {
		r->p->user->refused[GP__BUDGET_HINTS]++;
		if (has_rule(g->program))
			gp__program_explain_priority(g->program, h.prio, "", r->error,
						     sizeof(r->error));
		else
			refuse(r, 0,
			       "priority %d is above this user's limit, %d: ask an administrator",
			       h.prio, r->p->limit.max_priority);
		r->code = -EACCES;
		return false;
	}
	if (!r->p->admin && !has_guarantees(&g->entity.hints, &h) &&
	    gp__exceeds_guarantees(r->s, h.min_share_pct, h.max_hold_ns)) {
		refuse(r, -EACCES, GP__GUARANTEES_REFUSED);
		return false;
	}
	return true;
}

static void set_group(struct request *r, struct gp__group *g)
{
	struct gp__hints h = g->entity.hints;

	if (read_hints(r, &h))
		gp__verdict_set(&r->s->registry, g, fields_of(r), &h, r->p->admin, r->s->now);
}

static json_t *do_set(struct request *r)
{
	return for_targets(r, &(struct operation){ .check = may_set,
						   .act = set_group,
						   .shown = GP__PIECE_GROUP });
}

/*
 * Policies
 */

static json_t *policy_json(const struct gp__policy *p, const struct gp__core *core)
{
	json_t *o = json_object(), *params = json_array();
	bool current = p == core->policy;

	for (u32 i = 0; i < p->nr_params; i++)
		json_array_append_new(
			params,
			json_pack("{s:s, s:I, s:I, s:I, s:I, s:s}", "name", p->params[i].name,
				  "value",
				  (json_int_t)(current ? core->params[i] : p->params[i].def),
				  "default", (json_int_t)p->params[i].def, "min",
				  (json_int_t)p->params[i].min, "max", (json_int_t)p->params[i].max,
				  "help", p->params[i].help));
	json_object_set_new(o, "name", json_string(p->name));
	json_object_set_new(o, "summary", json_string(p->summary));
	json_object_set_new(o, "current", json_boolean(current));
	json_object_set_new(o, "params", params);
	return o;
}

static json_t *policies_json(const struct request *r)
{
	json_t *o = gp__json_envelope(), *list = json_array();

	for (size_t i = 0; gp__policies[i]; i++)
		json_array_append_new(list, policy_json(gp__policies[i], &r->s->registry.core));
	json_object_set_new(o, "policies", list);
	json_object_set_new(
		o, "core",
		gp__show_params(gp__core_params, GP__CFG_COUNT, r->s->registry.core.cfg));
	return o;
}

static bool choose_param(struct request *r, struct gp__choice *c, const char *name,
			 const json_t *value)
{
	const struct gp__param *param;
	u64 *kept = gp__choice_value(c, name, strlen(name), &param);

	if (!kept) {
		refuse(r, -EINVAL, "policy %s has no parameter '%.64s'", c->policy->name, name);
		return false;
	}
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    gp__param_check(param, (u64)json_integer_value(value))) {
		refuse(r, -ERANGE, "%s is between %llu and %llu", param->name,
		       (unsigned long long)param->min, (unsigned long long)param->max);
		return false;
	}
	*kept = (u64)json_integer_value(value);
	return true;
}

static bool choose(struct request *r, const char *name, struct gp__choice *c)
{
	json_t *params = json_object_get(r->json, "params"), *value;
	const char *key;

	gp__choice_current(c, &r->s->registry.core);
	if (name && gp__choice_policy(c, name)) {
		refuse(r, -ENOENT, "there is no policy '%.64s'; 'gpreempt policy' lists them",
		       name);
		return false;
	}
	json_object_foreach (params, key, value) {
		if (!choose_param(r, c, key, value))
			return false;
	}
	return true;
}

/* Finds a program whose queues are only seen to exist, not to get work. NULL: there is none. */
static const struct gp__program *find_unseen(const struct gp__registry *r)
{
	struct gp__link *g, *gn, *l, *ln;

	gp__list_each(g, gn, &r->groups)
	{
		const struct gp__group *group = container_of(g, struct gp__group, link);

		gp__list_each(l, ln, &group->entity.queues)
		{
			if (gp__program_queue_sees(
				    container_of(l, struct gp__program_queue, core.link)) ==
			    GP__WIRE_SEES_PRESENCE)
				return group->program;
		}
	}
	return NULL;
}

/* Any user can have such a program, so an administrator can choose the policy nevertheless. */
static bool check_seen(struct request *r, const struct gp__choice *c)
{
	bool forced = json_is_true(json_object_get(r->json, "force"));
	const struct gp__program *p =
		c->policy->needs_arrivals && !forced ? find_unseen(&r->s->registry) : NULL;

	if (p)
		refuse(r, -EOPNOTSUPP,
		       "policy %s needs the time at which work arrives, which is not known for %s "
		       "(pid %d); 'gpreempt probe' says why; choose another policy, such as %s, or "
		       "--force: such programs then have no deadline",
		       c->policy->name, p->name, (int)p->pid, gp__policies[0]->name);
	return !p;
}

/* Refuses what only administrators may do. @what: the first half of a sentence. */
static json_t *refuse_user(struct request *r, const char *what)
{
	const struct gp__config *c = &r->s->config;

	if (gp__config_is_admin(c, r->p->cred.uid, r->p->gids, r->p->nr_gids))
		return refuse(r, -EPERM,
			      "%s: in a container or another namespace, root and group %s are no "
			      "administrators; run this on the host, or set admins = any in "
			      "gpreemptd.conf",
			      what, c->group);
	return refuse(r, -EPERM, "%s: only root or a member of group %s may do that", what,
		      c->group);
}

static json_t *do_policy(struct request *r)
{
	const char *name = json_string_value(json_object_get(r->json, "name"));
	struct gp__choice c;

	if (!name && !json_object_get(r->json, "params"))
		return policies_json(r);
	if (!r->p->admin)
		return refuse_user(r, "the policy applies to all users");
	if (!choose(r, name, &c) || !check_seen(r, &c))
		return NULL;
	gp__choice_apply(&c, &r->s->registry.core, r->s->now);
	gp__pages_drop_deadlines(r->s);
	return policies_json(r);
}

/* The log shows the programs of all users, so only administrators may watch it. */
static json_t *do_watch(struct request *r)
{
	if (!r->p->admin)
		return refuse_user(r, "decisions show the programs of all users");
	gp__list_del(&r->p->watching);
	gp__list_push(&r->s->watchers, &r->p->watching);
	return gp__json_envelope();
}

/*
 * Switching off and on
 */

/* Whether a text is the number of a GPU, as in "0" or "gpu0". A program may have given a GPU a key
 * that looks like the number of another one: such a key names nothing. */
static bool is_number(const char *text)
{
	const char *digits = text + (strncmp(text, "gpu", 3) ? 0 : 3);

	return *digits && !digits[strspn(digits, "0123456789")];
}

/* The key of the GPU with this number. NULL: there is none. */
static const char *find_key(const struct request *r, const char *text)
{
	const struct gp__device *device;
	struct gp__link *l, *n;
	char name[16];
	u64 place;

	gp__list_each(l, n, &r->s->registry.gpus)
	{
		const struct gp__gpu *g = container_of(l, struct gp__gpu, link);

		snprintf(name, sizeof(name), "gpu%u", g->dev.id);
		if (!strcmp(text, name) || !strcmp(text, name + 3))
			return g->key;
	}
	/* No program has joined there. */
	device = gp__parse_u64(text + (strncmp(text, "gpu", 3) ? 0 : 3), 0, UINT32_MAX, &place)
			 ? NULL
			 : gp__devices_at(r->s->registry.machine, (u32)place);
	return device ? device->key : NULL;
}

/* A key may be that of a GPU without a program. False: it is refused. */
static bool find_switched(struct request *r, char key[GP__WIRE_DEVICE_MAX])
{
	const char *text = json_string_value(json_object_get(r->json, "gpu")), *known;

	if (!text || !*text || strlen(text) >= GP__WIRE_DEVICE_MAX) {
		refuse(r, -EINVAL, "gpu is a number as in 'gpreempt ps' or a key");
		return false;
	}
	known = is_number(text) ? find_key(r, text) : text;
	if (!known) {
		refuse(r, -ENOENT,
		       "there is no GPU '%s': 'gpreempt ps' and 'gpreempt doctor' name those that "
		       "there are",
		       text);
		return false;
	}
	gp__wire_text(key, GP__WIRE_DEVICE_MAX, known);
	return true;
}

/* The number of the GPU with this key. null: it has none. */
static json_t *number_json(const struct request *r, const char *key)
{
	const struct gp__link *l, *gpus = &r->s->registry.gpus;
	int place = gp__devices_place(r->s->registry.machine, key);

	for (l = gpus->next; l != gpus; l = l->next) {
		const struct gp__gpu *g = container_of(l, struct gp__gpu, link);

		if (!strcmp(g->key, key))
			return json_integer(g->dev.id);
	}
	return place < 0 ? json_null() : json_integer(place);
}

static json_t *do_switch(struct request *r, bool off)
{
	bool all = !json_object_get(r->json, "gpu");
	u32 nr_held = r->s->registry.nr_held;
	char key[GP__WIRE_DEVICE_MAX] = "";
	json_t *o;
	int err;

	if (!r->p->admin)
		return refuse_user(r, "scheduling is switched off and on for all users");
	if (!all && !find_switched(r, key))
		return NULL;
	err = gp__switch_turn(r->s, all ? NULL : key, off, r->error);
	if (err) {
		r->code = err;
		return NULL;
	}
	gp__registry_settle(&r->s->registry, r->s->now);
	gp__pieces_add(&r->list, GP__PIECE_SAVED, 0);
	o = gp__json_envelope();
	json_object_set_new(o, "gpu", all ? json_null() : gp__json_text(key));
	json_object_set_new(o, "number", all ? json_null() : number_json(r, key));
	json_object_set_new(o, "released",
			    off ? json_integer((json_int_t)nr_held - r->s->registry.nr_held)
				: json_null());
	json_object_set_new(o, "off", gp__show_off(&r->s->registry.off));
	return o;
}

static json_t *do_off(struct request *r)
{
	return do_switch(r, true);
}

static json_t *do_on(struct request *r)
{
	return do_switch(r, false);
}

/*
 * Control groups
 */

#define CGROUPS_ARE_ADMINS "rules about control groups are for the programs of all users"

static json_t *do_cgroups(struct request *r)
{
	return r->p->admin ? gp__registered_list(r->s) : refuse_user(r, CGROUPS_ARE_ADMINS);
}

static json_t *do_cgroup_add(struct request *r)
{
	if (!r->p->admin)
		return refuse_user(r, CGROUPS_ARE_ADMINS);
	r->code = gp__registered_add(r->s, r->json, r->error);
	return r->code ? NULL : gp__json_envelope();
}

static json_t *do_cgroup_remove(struct request *r)
{
	if (!r->p->admin)
		return refuse_user(r, CGROUPS_ARE_ADMINS);
	r->code = gp__registered_remove(r->s, r->json, r->error);
	return r->code ? NULL : gp__json_envelope();
}

/*
 * Requests
 */

static const struct {
	const char *name;
	json_t *(*run)(struct request *r);
} ops[] = {
	{ "list", do_list },
	{ "why", do_why },
	{ "set", do_set },
	{ "suspend", do_suspend },
	{ "resume", do_resume },
	{ "policy", do_policy },
	{ "watch", do_watch },
	{ "users", do_users },
	{ "off", do_off },
	{ "on", do_on },
	{ "metrics", do_metrics },
	{ "cgroups", do_cgroups },
	{ "cgroup-add", do_cgroup_add },
	{ "cgroup-remove", do_cgroup_remove },
};

static json_t *answer(struct request *r)
{
	const char *op = json_string_value(json_object_get(r->json, "op"));

	for (size_t i = 0; op && i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (!strcmp(ops[i].name, op))
			return ops[i].run(r);
	}
	return refuse(r, -EOPNOTSUPP,
		      "this daemon does not know the request '%.32s'; install the same version "
		      "of gpreempt on both sides",
		      op ? op : "");
}

static json_t *error_json(const struct request *r)
{
	json_t *o = gp__json_envelope();

	json_object_set_new(o, "error", gp__json_text(r->error));
	json_object_set_new(o, "errno", json_integer(-r->code));
	if (r->target >= 0)
		json_object_set_new(o, "target", json_integer(r->target));
	return o;
}

void gp__control_request(struct gp__server *s, struct gp__peer *p, const char *text, size_t size,
			 u32 seq)
{
	struct request r = { .s = s, .p = p, .target = -1 };
	json_error_t where;
	json_t *request = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where), *result;

	if (!json_is_object(request)) {
		json_decref(request);
		gp__peer_drop(s, p, "its request is not a JSON object");
		return;
	}
	r.json = request;
	result = answer(&r);
	gp__registry_settle(&s->registry, s->now);
	if (!result) {
		s->nr_refused++;
		r.list.nr = 0;
		result = error_json(&r);
	}
	json_decref(request);
	gp__answer_begin(s, p, seq, result, &r.list);
}

static bool send_line(struct gp__peer *p, const char *line)
{
	struct {
		struct gp__wire_head head;
		char text[GP__LOG_LINE_MAX];
	} message;
	size_t n = strlen(line);

	message.head =
		(struct gp__wire_head){ (u32)(sizeof(message.head) + n), GP__WIRE_TEXT, 0, 0, 0 };
	memcpy(message.text, line, n);
	return !gp__wire_send(p->socket.fd, &message, NULL, 0);
}

/* A comment says how many lines are missing before the next one. */
static bool send_missing(struct gp__peer *p)
{
	char note[64];

	if (!p->nr_dropped)
		return true;
	snprintf(note, sizeof(note), "# %llu lines are missing here\n",
		 (unsigned long long)p->nr_dropped);
	if (!send_line(p, note))
		return false;
	p->nr_dropped = 0;
	return true;
}

/* A watcher that does not keep up misses lines; the daemon does not wait for it. */
void gp__control_watch_line(struct gp__server *s, const char *line)
{
	struct gp__link *l, *next;

	gp__list_each(l, next, &s->watchers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, watching);

		if (p->answer || !send_missing(p) || !send_line(p, line))
			p->nr_dropped++;
	}
}
