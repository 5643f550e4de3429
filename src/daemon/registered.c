// SPDX-License-Identifier: MIT
/*
 * Rules about control groups that root has registered: by request, kept in a file for the next
 * gpreemptd, and forgotten when the control group is gone.
 *
 * Whoever starts a job or a container registers it before the control group exists. A group that
 * has not come within a minute is forgotten, too. Another thread looks for the groups, since a
 * client can stretch the lock that they share (lineage.h).
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "daemon/server.h"
#include "daemon/target.h"

#define CHECK_NS (5 * GP__S)
#define COMES_WITHIN_NS (60 * GP__S)
#define WEIGHT_MOST 10000

/*
 * JSON
 */

static int refuse(char error[GP__WIRE_TEXT_MAX], const char *text)
{
	gp__wire_text(error, GP__WIRE_TEXT_MAX, text);
	return -EINVAL;
}

static bool read_prio(const json_t *o, const char *key, u32 bit, s32 *prio, u32 *set)
{
	const json_t *value = json_object_get(o, key);

	if (!value)
		return true;
	if (!json_is_integer(value) || json_integer_value(value) > GP__PRIO_LIMIT ||
	    json_integer_value(value) < -GP__PRIO_LIMIT)
		return false;
	*prio = (s32)json_integer_value(value);
	*set |= bit;
	return true;
}

static bool read_part(const json_t *o, const char *key, u64 most, u32 bit, u32 *part, u32 *set)
{
	u64 n;

	if (!json_object_get(o, key))
		return true;
	if (!gp__request_number(o, key, most, &n) || !n)
		return false;
	*part = (u32)n;
	*set |= bit;
	return true;
}

static int read_rule(const json_t *o, struct gp__cgroup_rule *rule, char error[GP__WIRE_TEXT_MAX])
{
	const char *path = json_string_value(json_object_get(o, "cgroup"));
	const char *tag = json_string_value(json_object_get(o, "tag"));

	*rule = (struct gp__cgroup_rule){ 0 };
	if (!path || !gp__cgroup_path(rule->path, path))
		return refuse(error, "cgroup is neither the name of a slice nor the path of a "
				     "control group, as in /proc/PID/cgroup, of at most 254 bytes");
	if (!read_prio(o, "priority", GP__CGROUP_CLASS, &rule->prio, &rule->set) ||
	    !read_prio(o, "max_priority", GP__CGROUP_MAX_PRIORITY, &rule->max_priority, &rule->set))
		return refuse(error, "a priority is a whole number within 1000000 of 0");
	if (!read_part(o, "weight", WEIGHT_MOST, GP__CGROUP_WEIGHT, &rule->weight, &rule->set) ||
	    !read_part(o, "share_pct", 100, GP__CGROUP_SHARE, &rule->share_pct, &rule->set))
		return refuse(error, "a weight is a number from 1 to 10000, a share one to 100");
	if (tag && (!*tag || strlen(tag) >= sizeof(rule->tag)))
		return refuse(error, "a tag is a text of 1 to 31 bytes");
	if (tag) {
		gp__tag_set(rule->tag, tag);
		rule->set |= GP__CGROUP_TAG;
	}
	return rule->set ? 0
			 : refuse(error, "nothing is said about this control group: give "
					 "priority, max_priority, weight, share_pct or tag");
}

static json_t *rule_json(const struct gp__cgroup_rule *rule)
{
	json_t *o = json_object();

	json_object_set_new(o, "cgroup", gp__json_text(rule->path));
	if (rule->set & GP__CGROUP_CLASS)
		json_object_set_new(o, "priority", json_integer(rule->prio));
	if (rule->set & GP__CGROUP_MAX_PRIORITY)
		json_object_set_new(o, "max_priority", json_integer(rule->max_priority));
	if (rule->set & GP__CGROUP_WEIGHT)
		json_object_set_new(o, "weight", json_integer(rule->weight));
	if (rule->set & GP__CGROUP_SHARE)
		json_object_set_new(o, "share_pct", json_integer(rule->share_pct));
	if (rule->set & GP__CGROUP_TAG)
		json_object_set_new(o, "tag", gp__json_text(rule->tag));
	return o;
}

static u32 programs_inside(const struct gp__registry *r, const char *path)
{
	const struct gp__link *l;
	u32 nr = 0;

	for (l = r->programs.next; l != &r->programs; l = l->next)
		nr += gp__program_is_inside(container_of(l, struct gp__program, link), path);
	return nr;
}

static void add_shown(const struct gp__server *s, json_t *list, const struct gp__cgroup_rule *rule,
		      bool registered)
{
	json_t *o = rule_json(rule);

	json_object_set_new(o, "registered", json_boolean(registered));
	json_object_set_new(o, "programs", json_integer(programs_inside(&s->registry, rule->path)));
	json_array_append_new(list, o);
}

json_t *gp__registered_list(const struct gp__server *s)
{
	const struct gp__registry *r = &s->registry;
	json_t *o = gp__json_envelope(), *list = json_array();
	const struct gp__link *l;

	for (u32 i = 0; i < r->nr_rules; i++)
		add_shown(s, list, &r->rules[i], false);
	for (l = r->registered.next; l != &r->registered; l = l->next)
		add_shown(s, list, &container_of(l, struct gp__cgroup_entry, link)->rule, true);
	json_object_set_new(o, "cgroups", list);
	return o;
}

/*
 * The file
 */

static void save(struct gp__server *s)
{
	json_t *list = json_array();
	struct gp__link *l;
	char *text;

	for (l = s->registry.registered.next; l != &s->registry.registered; l = l->next)
		json_array_append_new(
			list, rule_json(&container_of(l, struct gp__cgroup_entry, link)->rule));
	text = s->registry.nr_registered ? json_dumps(list, JSON_INDENT(0)) : strdup("");
	json_decref(list);
	gp__keeper_put(&s->registered, text);
}

static void saved(struct gp__server *s, struct gp__source *source, u32 events)
{
	(void)source;
	(void)events;
	gp__keeper_done(&s->registered);
	if (!s->registered.runs && s->registered.result)
		gp__log_error(s->log,
			      "cannot write %s: %s; after a restart gpreemptd does not know the "
			      "registered control groups",
			      s->registered.path, strerror(-s->registered.result));
}

static int load_list(struct gp__server *s, const json_t *list)
{
	char error[GP__WIRE_TEXT_MAX];
	struct gp__cgroup_rule rule;
	json_t *o;
	size_t i;
	int err = json_is_array(list) ? 0 : -EINVAL;

	json_array_foreach ((json_t *)list, i, o) {
		if (!err)
			err = read_rule(o, &rule, error);
		if (!err)
			err = gp__cgroups_add(&s->registry, &rule, s->now);
	}
	return err;
}

static void load(struct gp__server *s)
{
	const char *path = s->registered.path;
	json_error_t where;
	json_t *list;
	int err;
	FILE *f = gp__keep_read(path, &err);

	if (f) {
		list = json_loadf(f, JSON_REJECT_DUPLICATES, &where);
		err = load_list(s, list);
		json_decref(list);
		fclose(f);
	}
	if (err == -EPERM)
		gp__log_error(s->log,
			      "%s is not a file that only gpreemptd can write; it is ignored: "
			      "remove it, or choose a folder that is not shared with --socket",
			      path);
	else if (err && err != -ENOENT)
		gp__log_error(s->log,
			      "cannot read all of %s: %s; programs of some control groups have the "
			      "limits of their users: start their jobs or containers anew",
			      path, strerror(-err));
}

int gp__registered_open(struct gp__server *s, const char *socket_path)
{
	char path[PATH_MAX];
	int err;

	gp__keep_path(path, sizeof(path), "cgroups", socket_path);
	err = gp__keeper_open(&s->registered, path);
	if (err)
		return err;
	s->registered_saved = (struct gp__source){ s->registered.done_fd, saved };
	load(s);
	return gp__server_watch(s, &s->registered_saved, EPOLLIN);
}

void gp__registered_close(struct gp__server *s)
{
	gp__keeper_close(&s->registered);
}

/*
 * Changes
 */

int gp__registered_add(struct gp__server *s, const json_t *o, char error[GP__WIRE_TEXT_MAX])
{
	struct gp__cgroup_rule rule;
	int err = read_rule(o, &rule, error);

	if (err)
		return err;
	err = gp__cgroups_add(&s->registry, &rule, s->now);
	if (err)
		snprintf(error, GP__WIRE_TEXT_MAX, "%s",
			 err == -ENOMEM ? "gpreemptd is out of memory"
					: "as many control groups are registered as there may be: "
					  "'gpreempt cgroup' lists them");
	else
		save(s);
	return err;
}

int gp__registered_remove(struct gp__server *s, const json_t *o, char error[GP__WIRE_TEXT_MAX])
{
	const char *name = json_string_value(json_object_get(o, "cgroup"));
	char path[GP__CGROUP_MAX];
	int err = name && gp__cgroup_path(path, name) ? 0 : -ENOENT;

	if (!err)
		err = gp__cgroups_remove(&s->registry, path, s->now);
	if (err)
		snprintf(error, GP__WIRE_TEXT_MAX,
			 "control group '%.120s' is not registered; 'gpreempt cgroup' lists those "
			 "that are",
			 name ? name : "");
	else
		save(s);
	return err;
}

/*
 * Control groups that are gone
 */

void gp__registered_found(struct gp__server *s, u64 ticket, bool exists)
{
	struct gp__link *l, *n;
	char path[GP__CGROUP_MAX];

	gp__list_each(l, n, &s->registry.registered)
	{
		struct gp__cgroup_entry *e = container_of(l, struct gp__cgroup_entry, link);

		if (e->ticket != ticket)
			continue;
		e->asked = false;
		e->seen |= exists;
		if (exists || (!e->seen && s->now - e->since < COMES_WITHIN_NS))
			continue;
		memcpy(path, e->rule.path, sizeof(path));
		gp__log_info(s->log, "control group %s is gone, and what was registered about it",
			     path);
		gp__cgroups_remove(&s->registry, path, s->now);
		save(s);
	}
}

u64 gp__registered_wake(struct gp__server *s)
{
	struct gp__link *l;
	u64 next = GP__NEVER;

	for (l = s->registry.registered.next; l != &s->registry.registered; l = l->next) {
		struct gp__cgroup_entry *e = container_of(l, struct gp__cgroup_entry, link);

		if (!e->asked && e->checked_at + CHECK_NS <= s->now) {
			e->checked_at = s->now;
			e->asked = !gp__lineages_find(s->lineages, e->ticket, e->rule.path);
		}
		if (!e->asked)
			next = gp__min_u64(next, e->checked_at + CHECK_NS);
	}
	return next;
}
