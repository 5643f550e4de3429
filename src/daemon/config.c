// SPDX-License-Identifier: MIT
#include "daemon/config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <ini.h>
#include <pwd.h>
#include <stddef.h>
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
#define PROGRAMS_DEFAULT 256
#define QUEUES_DEFAULT 1024
#define QUEUES_MOST 1024
#define WEIGHT_DEFAULT 100 /* what a program has that asks for none */
#define SHARE_DEFAULT 50
#define DEADLINE_DEFAULT GP__MS
#define WEIGHT_MOST 10000
#define TIME_DEFAULT 5
#define LINES_DEFAULT 20000
#define LINES_MOST 1000000
#define QUOTA_MIN (10 * GP__MS)
#define QUOTA_PERIOD_MIN (100 * GP__MS)
#define QUOTA_PERIOD_MAX (168 * 3600 * GP__S)
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
	c->everybody = (struct gp__limit){ .max_priority = GP__PRIO_NORMAL,
					   .max_programs = PROGRAMS_DEFAULT,
					   .max_queues = QUEUES_DEFAULT,
					   .max_weight = WEIGHT_DEFAULT,
					   .max_share = SHARE_DEFAULT,
					   .min_deadline = DEADLINE_DEFAULT,
					   .time_pct = TIME_DEFAULT,
					   .log_lines = LINES_DEFAULT };
}

/*
 * Settings
 */

struct reading {
	struct gp__config *c;
	FILE *f;
	const char *file;
	int line;
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
		      "[daemon] has no key '%s'; it has log, log_max, group, admins, subuid, ttl, "
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

/* Limits that are counts. */
static const struct {
	const char *name;
	enum gp__limit_key key;
	size_t offset;
	u32 least, most;
} counts[] = {
	{ "max_programs", GP__LIMIT_PROGRAMS, offsetof(struct gp__limit, max_programs), 0,
	  UINT32_MAX },
	{ "max_queues", GP__LIMIT_QUEUES, offsetof(struct gp__limit, max_queues), 0, QUEUES_MOST },
	{ "max_weight", GP__LIMIT_WEIGHT, offsetof(struct gp__limit, max_weight), 1, WEIGHT_MOST },
	{ "max_share", GP__LIMIT_SHARE, offsetof(struct gp__limit, max_share), 0, 100 },
	{ "daemon_time", GP__LIMIT_TIME, offsetof(struct gp__limit, time_pct), 1, 100 },
	{ "log_lines", GP__LIMIT_LOG, offsetof(struct gp__limit, log_lines), 1, LINES_MOST },
};

#define NR_COUNTS (sizeof(counts) / sizeof(counts[0]))

static u32 *count_of(struct gp__limit *l, size_t i)
{
	return (u32 *)((char *)l + counts[i].offset);
}

static int set_count(struct reading *r, struct gp__limit *l, size_t i, const char *value)
{
	char expected[80];
	u64 n;

	if (gp__parse_u64(value, counts[i].least, counts[i].most, &n))
		return refuse(r, "%s: '%s' is not %s", counts[i].name, value,
			      gp__expect_u64(expected, sizeof(expected), counts[i].least,
					     counts[i].most));
	*count_of(l, i) = (u32)n;
	l->set |= 1u << counts[i].key;
	return 1;
}

/* "30min/1h", or "none". */
static int set_gpu_time(struct reading *r, struct gp__limit *l, const char *value)
{
	const char *slash = strchr(value, '/');
	struct gp__quota q = { 0 };
	char time[32];

	snprintf(time, sizeof(time), "%.*s", slash ? (int)(slash - value) : 0, value);
	if (strcmp(value, "none") &&
	    (!slash || gp__parse_duration(time, &q.ns) ||
	     gp__parse_duration(slash + 1, &q.period) || q.ns < QUOTA_MIN ||
	     q.period < QUOTA_PERIOD_MIN || q.period > QUOTA_PERIOD_MAX))
		return refuse(
			r,
			"gpu_time: '%s' is neither none nor a duration of at least 10ms and a "
			"period from 100ms to 168h, as in 30min/1h",
			value);
	l->gpu_time = q;
	l->set |= 1u << GP__LIMIT_GPU_TIME;
	return 1;
}

static int set_limit(struct reading *r, struct gp__limit *l, const char *name, const char *value)
{
	int64_t prio;

	if (!strcmp(name, "max_priority")) {
		if (gp__parse_i64(value, -GP__PRIO_LIMIT, GP__PRIO_LIMIT, &prio))
			return refuse(r, "max_priority: '%s' is not a whole number within %d of 0",
				      value, GP__PRIO_LIMIT);
		l->max_priority = (s32)prio;
		l->set |= 1u << GP__LIMIT_PRIORITY;
		return 1;
	}
	if (!strcmp(name, "min_deadline")) {
		if (gp__parse_duration(value, &l->min_deadline))
			return refuse(r, "min_deadline: '%s' is not %s", value,
				      GP__EXPECT_DURATION);
		l->set |= 1u << GP__LIMIT_DEADLINE;
		return 1;
	}
	if (!strcmp(name, "gpu_time"))
		return set_gpu_time(r, l, value);
	for (size_t i = 0; i < NR_COUNTS; i++) {
		if (!strcmp(name, counts[i].name))
			return set_count(r, l, i, value);
	}
	return refuse(r,
		      "there is no limit '%s'; there are max_priority, max_programs, max_queues, "
		      "max_weight, max_share, min_deadline, gpu_time, daemon_time and log_lines",
		      name);
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

static int set_limit_of(struct reading *r, bool is_user, const char *who, const char *name,
			const char *value)
{
	struct gp__config *c = r->c;
	int64_t id;

	while (*who == ' ')
		who++;
	id = find_id(is_user, who);
	if (id < 0)
		return refuse(r, "there is no %s '%s'", is_user ? "user" : "group", who);
	for (u32 i = 0; i < c->nr_limits; i++) {
		struct gp__limit *l = &c->limit[i];

		if (l->kind == (is_user ? GP__LIMIT_USER : GP__LIMIT_GROUP) && l->id == (u32)id)
			return set_limit(r, l, name, value);
	}
	if (c->nr_limits == GP__CONFIG_LIMITS_MAX)
		return refuse(r, "there are sections for more than %d users and groups",
			      GP__CONFIG_LIMITS_MAX);
	c->limit[c->nr_limits] = (struct gp__limit){
		.kind = is_user ? GP__LIMIT_USER : GP__LIMIT_GROUP,
		.id = (u32)id,
	};
	return set_limit(r, &c->limit[c->nr_limits++], name, value);
}

static int take_pair(void *data, const char *section, const char *name, const char *value)
{
	struct reading *r = data;
	struct gp__choice *choice = &r->c->choice;

	if (r->result)
		return 0;
	if (!strcmp(section, "daemon"))
		return set_daemon(r, name, value);
	if (!strcmp(section, "policy"))
		return set_param(r, choice->policy->params, choice->policy->nr_params, name, value,
				 choice->values);
	if (!strcmp(section, "core"))
		return set_param(r, gp__core_params, GP__CFG_COUNT, name, value, choice->cfg);
	if (!strcmp(section, "everybody"))
		return set_limit(r, &r->c->everybody, name, value);
	if (!strncmp(section, "user ", 5))
		return set_limit_of(r, true, section + 5, name, value);
	if (!strncmp(section, "group ", 6))
		return set_limit_of(r, false, section + 6, name, value);
	return refuse(r,
		      "there is no section [%s]; there are daemon, policy, core, everybody, "
		      "user NAME and group NAME",
		      section);
}

/*
 * Files
 */

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
	return buf;
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

/* Limits that a section does not set are those of [everybody], wherever that section stands. */
static void fill_limits(struct gp__config *c)
{
	for (u32 i = 0; i < c->nr_limits; i++) {
		struct gp__limit *l = &c->limit[i];

		if (!(l->set & 1u << GP__LIMIT_PRIORITY))
			l->max_priority = c->everybody.max_priority;
		if (!(l->set & 1u << GP__LIMIT_DEADLINE))
			l->min_deadline = c->everybody.min_deadline;
		if (!(l->set & 1u << GP__LIMIT_GPU_TIME))
			l->gpu_time = c->everybody.gpu_time;
		for (size_t k = 0; k < NR_COUNTS; k++) {
			if (!(l->set & 1u << counts[k].key))
				*count_of(l, k) = *count_of(&c->everybody, k);
		}
	}
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
		fill_limits(draft);
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

static bool is_more(struct gp__quota a, struct gp__quota b)
{
	return !a.ns || (b.ns && (double)a.ns * (double)b.period > (double)b.ns * (double)a.period);
}

static void widen(struct gp__limit *have, struct gp__limit l)
{
	if (is_more(l.gpu_time, have->gpu_time))
		have->gpu_time = l.gpu_time;
	if (l.max_priority > have->max_priority)
		have->max_priority = l.max_priority;
	if (l.min_deadline < have->min_deadline)
		have->min_deadline = l.min_deadline;
	for (size_t i = 0; i < NR_COUNTS; i++) {
		if (*count_of(&l, i) > *count_of(have, i))
			*count_of(have, i) = *count_of(&l, i);
	}
}

struct gp__limit gp__config_limit(const struct gp__config *c, uid_t uid, const gid_t *gids,
				  size_t nr_gids)
{
	struct gp__limit have = c->everybody;
	bool any = false;

	for (u32 i = 0; i < c->nr_limits; i++) {
		if (c->limit[i].kind == GP__LIMIT_USER && c->limit[i].id == uid)
			return c->limit[i];
	}
	for (u32 i = 0; i < c->nr_limits; i++) {
		const struct gp__limit *l = &c->limit[i];

		if (l->kind != GP__LIMIT_GROUP || !has_gid(gids, nr_gids, l->id))
			continue;
		if (any)
			widen(&have, *l);
		else
			have = *l;
		any = true;
	}
	return have;
}

bool gp__limit_explain(const struct gp__limit *l, u32 weight, u32 share_pct, u64 deadline_ns,
		       char *text, size_t size)
{
	if (weight > l->max_weight)
		snprintf(text, size, "weight %u is above this user's limit, %u", weight,
			 l->max_weight);
	else if (share_pct > l->max_share)
		snprintf(text, size, "a share of %u %% is above this user's limit, %u %%",
			 share_pct, l->max_share);
	else if (deadline_ns && deadline_ns < l->min_deadline)
		snprintf(text, size, "a deadline of %.3f ms is below this user's limit, %.3f ms",
			 (double)deadline_ns / GP__MS, (double)l->min_deadline / GP__MS);
	else
		return false;
	snprintf(text + strlen(text), size - strlen(text), ": ask an administrator");
	return true;
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
