// SPDX-License-Identifier: MIT
#include "daemon/config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <ini.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/units.h"
#include "daemon/address.h"
#include "daemon/devices.h"
#include "daemon/registry.h"
#include "daemon/scrape.h"

#define TTL_MIN (100 * GP__MS)
#define TTL_MAX (10 * GP__S)
#define TTL_DEFAULT GP__S
#define RANK_HOLD_MIN (10 * GP__MS)
#define RANK_HOLD_MAX (3600 * GP__S)
#define LOG_DEFAULT (UINT64_C(64) << 20)
#define LOG_MOST_MIB (1 << 20)

void gp__config_defaults(struct gp__config *c)
{
	memset(c, 0, sizeof(*c));
	strcpy(c->group, "gpreempt");
	strcpy(c->subuid, "/etc/subuid");
	c->ttl_ns = TTL_DEFAULT;
	c->rank_hold = GP__RANK_HOLD_NS;
	strcpy(c->devices, GP__DEVICES_DEFAULT);
	gp__choice_default(&c->choice);
	c->log_max = LOG_DEFAULT;
	gp__limits_defaults(&c->limits);
}

/*
 * Settings
 */

struct reading {
	struct gp__config *c;
	FILE *f;
	const char *file;
	int line;
	char section[GP__SECTION_NAME_MAX]; /* that the next lines belong to */
	char *error;
	int result;
};

GP__PRINTF(2, 3)
static int refuse(struct reading *r, const char *fmt, ...)
{
	char text[GP__CONFIG_ERROR_MAX / 2];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!r->result)
		snprintf(r->error, GP__CONFIG_ERROR_MAX, "%s:%d: %s", r->file, r->line, text);
	r->result = -EINVAL;
	return 0;
}

static int set_text(struct reading *r, const char *name, const char *value, char *field,
		    size_t size)
{
	if (strlen(value) >= size)
		return refuse(r, "%s is longer than %zu characters", name, size - 1);
	strcpy(field, value);
	return 1;
}

static int set_devices(struct reading *r, const char *value)
{
	for (const char *word = value; *word; word += strcspn(word, " \t")) {
		word += strspn(word, " \t");
		if (*word && *word != '/')
			return refuse(r, "devices: '%.*s' is not an absolute path",
				      (int)strcspn(word, " \t"), word);
	}
	return set_text(r, "devices", value, r->c->devices, sizeof(r->c->devices));
}

static int set_metrics(struct reading *r, const char *value)
{
	struct gp__address address;

	if (*value && gp__address_parse(&address, value))
		return refuse(r, "metrics: '%s' is not " GP__EXPECT_ADDRESS, value);
	if (*value && !gp__scrape_is_built())
		return refuse(r,
			      "metrics: this gpreemptd was built without libmicrohttpd; leave the "
			      "key out and use 'gpreempt metrics'");
	return set_text(r, "metrics", value, r->c->metrics, sizeof(r->c->metrics));
}

/* A choice of two words. */
static int set_choice(struct reading *r, const char *name, const char *value, const char *no,
		      const char *yes, bool *field)
{
	if (strcmp(value, no) && strcmp(value, yes))
		return refuse(r, "%s: '%s' is neither %s nor %s", name, value, no, yes);
	*field = !strcmp(value, yes);
	return 1;
}

static int set_daemon(struct reading *r, const char *name, const char *value)
{
	struct gp__config *c = r->c;
	u64 ns, mib;

	if (!strcmp(name, "log")) {
		if (*value && *value != '/')
			return refuse(r, "log: '%s' is not an absolute path", value);
		return set_text(r, name, value, c->log, sizeof(c->log));
	}
	if (!strcmp(name, "group"))
		return set_text(r, name, value, c->group, sizeof(c->group));
	if (!strcmp(name, "ttl")) {
		if (gp__parse_duration(value, &ns) || ns < TTL_MIN || ns > TTL_MAX)
			return refuse(r, "ttl: '%s' is not a duration from 100ms to 10s", value);
		c->ttl_ns = ns;
		return 1;
	}
	if (!strcmp(name, "rank_hold")) {
		if (gp__parse_duration(value, &ns) || ns < RANK_HOLD_MIN || ns > RANK_HOLD_MAX)
			return refuse(r, "rank_hold: '%s' is not a duration from 10ms to 1h",
				      value);
		c->rank_hold = ns;
		return 1;
	}
	if (!strcmp(name, "devices"))
		return set_devices(r, value);
	if (!strcmp(name, "policy")) {
		if (gp__choice_policy(&c->choice, value))
			return refuse(r, "there is no policy '%s'; 'gpreempt policy' lists them",
				      value);
		return 1;
	}
	if (!strcmp(name, "log_max")) {
		if (gp__parse_u64(value, 0, LOG_MOST_MIB, &mib))
			return refuse(r, "log_max: '%s' is not a number of MiB up to %d", value,
				      LOG_MOST_MIB);
		c->log_max = mib << 20;
		return 1;
	}
	if (!strcmp(name, "journal"))
		return set_choice(r, name, value, "messages", "decisions", &c->journal);
	if (!strcmp(name, "admins"))
		return set_choice(r, name, value, "host", "any", &c->admins_anywhere);
	if (!strcmp(name, "metrics"))
		return set_metrics(r, value);
	if (!strcmp(name, "metrics_from"))
		return set_choice(r, name, value, "host", "any", &c->metrics_anywhere);
	if (!strcmp(name, "subuid")) {
		if (*value && *value != '/')
			return refuse(r, "subuid: '%s' is not an absolute path", value);
		return set_text(r, name, value, c->subuid, sizeof(c->subuid));
	}
	if (!strcmp(name, "warn_unjoined"))
		return set_choice(r, name, value, "no", "yes", &c->warn_unjoined);
	if (!strcmp(name, "watch"))
		return set_choice(r, name, value, "no", "yes", &c->watch);
	return refuse(r,
		      "[daemon] has no key '%s'; it has log, log_max, journal, group, admins, "
		      "subuid, ttl, "
		      "devices, metrics, metrics_from, policy, rank_hold, warn_unjoined and "
		      "watch",
		      name);
}

static int set_param(struct reading *r, const struct gp__param *params, u32 n, const char *name,
		     const char *value, u64 *values)
{
	int i = gp__param_find(params, n, name, strlen(name));
	char expected[80];

	if (i < 0)
		return refuse(r, "there is no parameter '%s'; see gpreempt-policy(7)", name);
	if (gp__parse_u64(value, params[i].min, params[i].max, &values[i]))
		return refuse(
			r, "%s: '%s' is not %s", name, value,
			gp__expect_u64(expected, sizeof(expected), params[i].min, params[i].max));
	return 1;
}

/* Looks up a user or group by name or number. -1: there is none. */
static int64_t find_id(bool is_user, const char *name)
{
	/*
	 * These are not thread-safe, but only one thread at a time reads a configuration: the main
	 * thread before it serves, later the thread of a reload (reload.c), of which there is one.
	 */
	/* cppcheck-suppress getpwnamCalled */
	struct passwd *pw = is_user ? getpwnam(name) : NULL;
	/* cppcheck-suppress getgrnamCalled */
	struct group *gr = is_user ? NULL : getgrnam(name);
	u64 id;

	if (pw)
		return pw->pw_uid;
	if (gr)
		return gr->gr_gid;
	return gp__parse_u64(name, 0, UINT32_MAX - 1, &id) ? -1 : (int64_t)id;
}

/* Parses "NAME" or "NAME at SPAN", of which NAME remains in @text. */
static int take_span(struct reading *r, char *text, struct gp__span *span)
{
	char *at = NULL;
	const char *why;

	for (char *next = text; (next = strstr(next, " at ")); next++)
		at = next;
	*span = (struct gp__span){ 0 };
	if (!at)
		return 1;
	if (gp__span_parse(span, at + 4 + strspn(at + 4, " "), &why))
		return refuse(r, "the section [%s] applies at '%s': %s", r->section, at + 4, why);
	*at = '\0';
	return 1;
}

static bool take_word(const char **text, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*text, word, n) != 0 || ((*text)[n] != ' ' && (*text)[n]))
		return false;
	*text += n + strspn(*text + n, " ");
	return true;
}

/* A section with limits, whose name is "everybody", "user NAME", "group NAME" or "tag NAME". False:
 * it is another one. */
static bool take_kind(const char *text, struct gp__limit_of *of, const char **name)
{
	if (!strcmp(text, "everybody"))
		of->kind = GP__LIMIT_EVERYBODY;
	else if (take_word(&text, "user"))
		of->kind = GP__LIMIT_USER;
	else if (take_word(&text, "group"))
		of->kind = GP__LIMIT_GROUP;
	else if (take_word(&text, "tag"))
		of->kind = GP__LIMIT_TAG;
	else
		return false;
	*name = text;
	return true;
}

static int find_of(struct reading *r, struct gp__limit_of *of, const char *name)
{
	bool is_user = of->kind == GP__LIMIT_USER;
	int64_t id;

	if (of->kind == GP__LIMIT_EVERYBODY)
		return 1;
	if (of->kind == GP__LIMIT_TAG) {
		gp__tag_set(of->tag, name);
		return *name && !strcmp(of->tag, name) ? 1 : refuse(r, "'%s' is not a tag", name);
	}
	id = find_id(is_user, name);
	if (id < 0)
		return refuse(r, "there is no %s '%s'", is_user ? "user" : "group", name);
	of->id = (u32)id;
	return 1;
}

static int set_limit(struct reading *r, const struct gp__limit_of *of, const struct gp__span *span,
		     const char *name, const char *value)
{
	char error[GP__CONFIG_ERROR_MAX / 2];
	struct gp__section *section =
		gp__limits_section(&r->c->limits, of, span, r->section, error, sizeof(error));

	if (!section || gp__section_set(section, name, value, error, sizeof(error)))
		return refuse(r, "%s", error);
	return 1;
}

static int take_limit(struct reading *r, const char *name, const char *value)
{
	char text[sizeof(r->section)];
	struct gp__limit_of of = { 0 };
	struct gp__span span;
	const char *of_name;

	strcpy(text, r->section);
	if (!take_span(r, text, &span))
		return 0;
	if (!take_kind(text, &of, &of_name))
		return refuse(r,
			      gp__span_is_timed(&span)
				      ? "[%s]: only everybody, user NAME, group NAME and tag NAME "
					"can apply at some times"
				      : "there is no section [%s]; there are daemon, policy, core, "
					"everybody, user NAME, group NAME, tag NAME and slice "
					"NAME",
			      r->section);
	return find_of(r, &of, of_name) && set_limit(r, &of, &span, name, value);
}

/*
 * Control groups
 */

#define RULE_WEIGHT_MOST 10000

static struct gp__cgroup_rule *find_rule(struct gp__config *c, const char *path)
{
	for (u32 i = 0; i < c->nr_rules; i++) {
		if (!strcmp(c->rules[i].path, path))
			return &c->rules[i];
	}
	return NULL;
}

static int set_class_of(struct reading *r, struct gp__cgroup_rule *rule, const char *name,
			const char *value)
{
	s32 *prio = !strcmp(name, "class") ? &rule->prio : &rule->max_priority;
	int64_t n;

	if (gp__class_prio(value, prio)) {
		rule->set |= prio == &rule->prio ? GP__CGROUP_CLASS : GP__CGROUP_MAX_PRIORITY;
		return 1;
	}
	if (gp__parse_i64(value, -GP__PRIO_LIMIT, GP__PRIO_LIMIT, &n))
		return refuse(r,
			      "%s: '%s' is none of online, normal and offline, nor a whole number "
			      "within %d of 0",
			      name, value, GP__PRIO_LIMIT);
	*prio = (s32)n;
	rule->set |= prio == &rule->prio ? GP__CGROUP_CLASS : GP__CGROUP_MAX_PRIORITY;
	return 1;
}

static int set_part_of(struct reading *r, struct gp__cgroup_rule *rule, const char *name,
		       const char *value)
{
	bool is_share = !strcmp(name, "share");
	u64 n, most = is_share ? 100 : RULE_WEIGHT_MOST;
	char expected[80];

	if (gp__parse_u64(value, 1, most, &n))
		return refuse(r, "%s: '%s' is not %s", name, value,
			      gp__expect_u64(expected, sizeof(expected), 1, most));
	*(is_share ? &rule->share_pct : &rule->weight) = (u32)n;
	rule->set |= is_share ? GP__CGROUP_SHARE : GP__CGROUP_WEIGHT;
	return 1;
}

static int set_rule(struct reading *r, struct gp__cgroup_rule *rule, const char *name,
		    const char *value)
{
	if (!strcmp(name, "class") || !strcmp(name, "max_class"))
		return set_class_of(r, rule, name, value);
	if (!strcmp(name, "weight") || !strcmp(name, "share"))
		return set_part_of(r, rule, name, value);
	if (strcmp(name, "tag") != 0)
		return refuse(r,
			      "[slice] has no key '%s'; it has class, max_class, weight, share and "
			      "tag",
			      name);
	if (!*value || strlen(value) >= sizeof(rule->tag))
		return refuse(r, "tag: '%s' is not a text of 1 to %zu characters", value,
			      sizeof(rule->tag) - 1);
	gp__tag_set(rule->tag, value);
	rule->set |= GP__CGROUP_TAG;
	return 1;
}

static int set_rule_of(struct reading *r, const char *slice, const char *name, const char *value)
{
	struct gp__config *c = r->c;
	struct gp__cgroup_rule *rule;
	char path[GP__CGROUP_MAX];

	while (*slice == ' ')
		slice++;
	if (!gp__cgroup_path(path, slice))
		return refuse(r,
			      "[slice %s]: neither the name of a slice, such as batch.slice, nor "
			      "the path of a control group, such as /batch.slice/job.service",
			      slice);
	rule = find_rule(c, path);
	if (!rule && c->nr_rules == GP__CGROUP_RULES_MAX)
		return refuse(r, "there are more than %d sections for slices",
			      GP__CGROUP_RULES_MAX);
	if (!rule) {
		rule = &c->rules[c->nr_rules++];
		strcpy(rule->path, path);
	}
	return set_rule(r, rule, name, value);
}

static int take_pair(void *data, const char *section, const char *name, const char *value)
{
	struct reading *r = data;
	struct gp__choice *choice = &r->c->choice;

	(void)section; /* inih cuts a long one off */
	if (r->result)
		return 0;
	if (!strcmp(r->section, "daemon"))
		return set_daemon(r, name, value);
	if (!strcmp(r->section, "policy"))
		return set_param(r, choice->policy->params, choice->policy->nr_params, name, value,
				 choice->values);
	if (!strcmp(r->section, "core"))
		return set_param(r, gp__core_params, GP__CFG_COUNT, name, value, choice->cfg);
	if (!strncmp(r->section, "slice ", 6))
		return set_rule_of(r, r->section + 6, name, value);
	return take_limit(r, name, value);
}

/*
 * Files
 */

/* Notes the section that a line begins. */
static int note_section(struct reading *r, const char *line)
{
	size_t n = strcspn(line, "]");

	if (*line != '[' || line[n] != ']')
		return 1;
	if (n > sizeof(r->section))
		return refuse(r, "the name of the section is longer than %zu characters",
			      sizeof(r->section) - 1);
	snprintf(r->section, sizeof(r->section), "%.*s", (int)n - 1, line + 1);
	return 1;
}

/* Reads a line for inih, which would split a longer one, and join an indented one to the last. */
static char *next_line(char *buf, int size, void *data)
{
	struct reading *r = data;
	size_t blanks;

	if (r->result || !fgets(buf, size, r->f))
		return NULL;
	r->line++;
	if (!strchr(buf, '\n') && !feof(r->f)) {
		refuse(r, "the line is longer than %d characters", size - 2);
		return NULL;
	}
	blanks = strspn(buf, " \t");
	memmove(buf, buf + blanks, strlen(buf + blanks) + 1);
	return note_section(r, buf) ? buf : NULL;
}

static int read_file(struct gp__config *c, const char *path, bool required, char *error)
{
	struct reading r = { .c = c, .f = fopen(path, "re"), .file = path, .error = error };
	int bad;

	if (!r.f && errno == ENOENT && !required)
		return 0;
	if (!r.f) {
		int err = -errno;

		snprintf(error, GP__CONFIG_ERROR_MAX, "%s: %s", path, strerror(errno));
		return err;
	}
	bad = ini_parse_stream(next_line, &r, take_pair, &r);
	fclose(r.f);
	if (bad && !r.result) {
		r.line = bad;
		refuse(&r, "expected [SECTION] or NAME = VALUE");
	}
	return r.result;
}

static int is_conf(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 5 && !strcmp(d->d_name + n - 5, ".conf");
}

static int read_folder(struct gp__config *c, const char *path, char *error)
{
	char name[2 * GP__CONFIG_PATH_MAX];
	struct dirent **found;
	int n, err = 0;

	snprintf(name, sizeof(name), "%s.d", path);
	n = scandir(name, &found, is_conf, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%.255s.d/%.200s", path, found[i]->d_name);
		if (!err)
			err = read_file(c, name, true, error);
		free(found[i]);
	}
	if (n >= 0)
		free(found);
	return err;
}

/* Parses "OWNER:FIRST:COUNT". */
static bool parse_subuids(char *line, struct gp__subuids *range)
{
	char *first = strchr(line, ':'), *count = first ? strchr(first + 1, ':') : NULL;
	u64 from, nr;
	int64_t owner;

	if (!count)
		return false;
	*first++ = *count++ = '\0';
	count[strcspn(count, " \t\r\n")] = '\0';
	if (gp__parse_u64(first, 1, UINT32_MAX - 1, &from) ||
	    gp__parse_u64(count, 1, UINT32_MAX - from, &nr))
		return false;
	owner = find_id(true, line);
	*range = (struct gp__subuids){ (uid_t)owner, (u32)from, (u32)nr };
	return owner >= 0;
}

/*
 * Lines that are malformed, name no user or exceed GP__CONFIG_SUBUIDS_MAX are ignored: the file
 * belongs to other tools.
 */
static void read_subuids(struct gp__config *c)
{
	FILE *f = *c->subuid ? fopen(c->subuid, "re") : NULL;
	char line[512];

	c->nr_subuids = 0;
	while (f && c->nr_subuids < GP__CONFIG_SUBUIDS_MAX && fgets(line, sizeof(line), f))
		c->nr_subuids += parse_subuids(line, &c->subuids[c->nr_subuids]);
	if (f)
		fclose(f);
}

/* Only the first user namespace has all uids. */
static bool has_all_users(void)
{
	FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned int first = 1, there = 1, count = 0;
	bool all = f && fscanf(f, "%u %u %u", &first, &there, &count) == 3 && !first && !there &&
		   count == UINT32_MAX;

	if (f)
		fclose(f);
	return all;
}

/* The key that allows another host may come after the address, or in another file. */
static int check_metrics(const struct gp__config *c, const char *path, char *error)
{
	struct gp__address address;

	if (!*c->metrics || c->metrics_anywhere || gp__address_parse(&address, c->metrics) ||
	    gp__address_is_local(&address))
		return 0;
	snprintf(error, GP__CONFIG_ERROR_MAX,
		 "%s: metrics: other hosts reach '%s'; use 127.0.0.1, [::1] or unix:PATH, or allow "
		 "it with metrics_from = any",
		 path, c->metrics);
	return -EINVAL;
}

int gp__config_read(struct gp__config *c, const char *path, bool required,
		    char error[GP__CONFIG_ERROR_MAX])
{
	struct gp__config *draft = malloc(sizeof(*draft));
	struct group *gr;
	int err;

	*error = '\0';
	if (!draft) {
		snprintf(error, GP__CONFIG_ERROR_MAX, "%s: out of memory", path);
		return -ENOMEM;
	}
	gp__config_defaults(draft);
	err = read_file(draft, path, required, error);
	if (!err)
		err = read_folder(draft, path, error);
	if (!err)
		err = check_metrics(draft, path, error);
	if (!err) {
		tzset();
		gp__limits_at(&draft->limits, time(NULL));
		/* cppcheck-suppress getgrnamCalled */
		gr = *draft->group ? getgrnam(draft->group) : NULL;
		draft->has_admin_gid = gr;
		draft->admin_gid = gr ? gr->gr_gid : 0;
		read_subuids(draft);
		draft->hides_users = !has_all_users();
		*c = *draft;
	}
	free(draft);
	return err;
}

/*
 * Permissions
 */

static bool has_gid(const gid_t *gids, size_t n, u32 gid)
{
	for (size_t i = 0; i < n; i++) {
		if (gids[i] == gid)
			return true;
	}
	return false;
}

uid_t gp__config_owner(const struct gp__config *c, uid_t uid)
{
	for (u32 i = 0; i < c->nr_subuids; i++) {
		const struct gp__subuids *range = &c->subuids[i];

		if (uid >= range->first && uid - range->first < range->count)
			return range->owner;
	}
	return uid;
}

bool gp__config_is_admin(const struct gp__config *c, uid_t uid, const gid_t *gids, size_t nr_gids)
{
	return !uid || uid == geteuid() ||
	       (c->has_admin_gid && has_gid(gids, nr_gids, c->admin_gid));
}
