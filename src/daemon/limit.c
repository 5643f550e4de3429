// SPDX-License-Identifier: MIT
#include "daemon/limit.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"

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

static const struct gp__limit defaults = { .max_priority = GP__PRIO_NORMAL,
					   .ever_priority = GP__PRIO_NORMAL,
					   .max_programs = PROGRAMS_DEFAULT,
					   .max_queues = QUEUES_DEFAULT,
					   .max_weight = WEIGHT_DEFAULT,
					   .max_share = SHARE_DEFAULT,
					   .min_deadline = DEADLINE_DEFAULT,
					   .time_pct = TIME_DEFAULT,
					   .log_lines = LINES_DEFAULT };

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

/*
 * Sections
 */

void gp__limits_defaults(struct gp__limits *l)
{
	memset(l, 0, sizeof(*l));
	l->everybody = defaults;
}

static bool is_same(const struct gp__limit_of *a, const struct gp__limit_of *b)
{
	return a->kind == b->kind && a->id == b->id && !strcmp(a->tag, b->tag);
}

struct gp__section *gp__limits_section(struct gp__limits *l, const struct gp__limit_of *of,
				       const struct gp__span *span, const char *name, char *error,
				       size_t size)
{
	struct gp__section *section;

	for (u32 i = 0; i < l->nr_sections; i++) {
		section = &l->section[i];
		if (!is_same(&section->of, of))
			continue;
		if (gp__span_is_same(&section->span, span))
			return section;
		/* Without times, a section has what the others leave. */
		if (gp__span_is_timed(span) && gp__span_is_timed(&section->span) &&
		    gp__spans_overlap(&section->span, span)) {
			snprintf(error, size,
				 "[%.100s] and [%.100s] overlap: at most one of them may apply at "
				 "a time",
				 section->name, name);
			return NULL;
		}
	}
	if (l->nr_sections == GP__LIMITS_MAX) {
		snprintf(error, size, "there are more than %d sections with limits",
			 GP__LIMITS_MAX);
		return NULL;
	}
	section = &l->section[l->nr_sections++];
	*section = (struct gp__section){ .of = *of, .span = *span };
	snprintf(section->name, sizeof(section->name), "%s", name);
	return section;
}

GP__PRINTF(3, 4)
static int refuse(char *error, size_t size, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(error, size, fmt, args);
	va_end(args);
	return -EINVAL;
}

static int set_count(struct gp__limit *l, size_t i, const char *value, char *error, size_t size)
{
	char expected[80];
	u64 n;

	if (gp__parse_u64(value, counts[i].least, counts[i].most, &n))
		return refuse(error, size, "%s: '%s' is not %s", counts[i].name, value,
			      gp__expect_u64(expected, sizeof(expected), counts[i].least,
					     counts[i].most));
	*count_of(l, i) = (u32)n;
	l->set |= 1u << counts[i].key;
	return 0;
}

/* "30min/1h", or "none". */
static int set_gpu_time(struct gp__limit *l, const char *value, char *error, size_t size)
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
			error, size,
			"gpu_time: '%s' is neither none nor a duration of at least 10ms and a "
			"period from 100ms to 168h, as in 30min/1h",
			value);
	l->gpu_time = q;
	l->set |= 1u << GP__LIMIT_GPU_TIME;
	return 0;
}

static int set_priority(struct gp__limit *l, const char *value, char *error, size_t size)
{
	int64_t prio;

	if (gp__parse_i64(value, -GP__PRIO_LIMIT, GP__PRIO_LIMIT, &prio))
		return refuse(error, size,
			      "max_priority: '%s' is not a whole number within %d of 0", value,
			      GP__PRIO_LIMIT);
	l->max_priority = (s32)prio;
	l->set |= 1u << GP__LIMIT_PRIORITY;
	return 0;
}

int gp__section_set(struct gp__section *section, const char *key, const char *value, char *error,
		    size_t size)
{
	struct gp__limit *l = &section->limit;

	if (!strcmp(key, "gpu_time"))
		return set_gpu_time(l, value, error, size);
	if (section->of.kind == GP__LIMIT_TAG)
		return refuse(error, size, "[%.100s] has no key '%s'; it has gpu_time",
			      section->name, key);
	if (!strcmp(key, "max_priority"))
		return set_priority(l, value, error, size);
	if (!strcmp(key, "min_deadline")) {
		if (gp__parse_duration(value, &l->min_deadline))
			return refuse(error, size, "min_deadline: '%s' is not %s", value,
				      GP__EXPECT_DURATION);
		l->set |= 1u << GP__LIMIT_DEADLINE;
		return 0;
	}
	for (size_t i = 0; i < NR_COUNTS; i++) {
		if (!strcmp(key, counts[i].name))
			return set_count(l, i, value, error, size);
	}
	return refuse(error, size,
		      "there is no limit '%s'; there are max_priority, max_programs, max_queues, "
		      "max_weight, max_share, min_deadline, gpu_time, daemon_time and log_lines",
		      key);
}

/*
 * What is in force
 */

/* Replaces what @from sets. */
static void overlay(struct gp__limit *to, const struct gp__limit *from)
{
	struct gp__limit set = *from;

	if (set.set & 1u << GP__LIMIT_PRIORITY)
		to->max_priority = set.max_priority;
	if (set.set & 1u << GP__LIMIT_DEADLINE)
		to->min_deadline = set.min_deadline;
	if (set.set & 1u << GP__LIMIT_GPU_TIME)
		to->gpu_time = set.gpu_time;
	for (size_t k = 0; k < NR_COUNTS; k++) {
		if (set.set & 1u << counts[k].key)
			*count_of(to, k) = *count_of(&set, k);
	}
	to->set |= set.set;
}

/* The limit in force that sections of @of set. */
static struct gp__limit *limit_of(struct gp__limits *l, const struct gp__limit_of *of)
{
	u32 i = 0;

	if (of->kind == GP__LIMIT_EVERYBODY)
		return &l->everybody;
	while (i < l->nr_limits && !is_same(&l->of[i], of))
		i++;
	if (i == l->nr_limits) {
		l->of[i] = *of;
		l->limit[l->nr_limits++] = (struct gp__limit){ 0 };
	}
	return &l->limit[i];
}

static bool sets_priority_by_time(const struct gp__limits *l)
{
	for (u32 i = 0; i < l->nr_sections; i++) {
		if (gp__span_is_timed(&l->section[i].span) &&
		    l->section[i].limit.set & 1u << GP__LIMIT_PRIORITY)
			return true;
	}
	return false;
}

static void apply_sections(struct gp__limits *l, bool timed, const struct tm *local)
{
	for (u32 i = 0; i < l->nr_sections; i++) {
		struct gp__section *s = &l->section[i];

		if (gp__span_is_timed(&s->span) != timed)
			continue;
		s->applies = gp__span_has(&s->span, local);
		if (s->applies)
			overlay(limit_of(l, &s->of), &s->limit);
	}
}

void gp__limits_at(struct gp__limits *l, time_t now)
{
	struct tm local;

	localtime_r(&now, &local);
	l->everybody = defaults;
	l->nr_limits = 0;
	apply_sections(l, false, &local);
	apply_sections(l, true, &local);
	/* Limits that a section does not set are those of [everybody], wherever that stands. */
	for (u32 i = 0; i < l->nr_limits; i++) {
		struct gp__limit own = l->limit[i];

		l->limit[i] = l->everybody;
		overlay(&l->limit[i], &own);
	}
}

time_t gp__limits_next(const struct gp__limits *l, time_t now)
{
	time_t next = 0;

	for (u32 i = 0; i < l->nr_sections; i++) {
		const struct gp__span *span = &l->section[i].span;
		time_t change = gp__span_is_timed(span) ? gp__span_next(span, now) : 0;

		if (change && (!next || change < next))
			next = change;
	}
	return next ? gp__next_clock_change(now, next) : 0;
}

/*
 * Limits of a user
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

static struct gp__limit in_force(const struct gp__limits *l, uid_t uid, const gid_t *gids,
				 size_t nr_gids)
{
	struct gp__limit have = l->everybody;
	bool any = false;

	for (u32 i = 0; i < l->nr_limits; i++) {
		if (l->of[i].kind == GP__LIMIT_USER && l->of[i].id == uid)
			return l->limit[i];
	}
	for (u32 i = 0; i < l->nr_limits; i++) {
		if (l->of[i].kind != GP__LIMIT_GROUP || !has_gid(gids, nr_gids, l->of[i].id))
			continue;
		if (any)
			widen(&have, l->limit[i]);
		else
			have = l->limit[i];
		any = true;
	}
	return have;
}

static bool concerns(const struct gp__limit_of *of, uid_t uid, const gid_t *gids, size_t nr_gids)
{
	return of->kind == GP__LIMIT_EVERYBODY || (of->kind == GP__LIMIT_USER && of->id == uid) ||
	       (of->kind == GP__LIMIT_GROUP && has_gid(gids, nr_gids, of->id));
}

struct gp__limit gp__limits_of(const struct gp__limits *l, uid_t uid, const gid_t *gids,
			       size_t nr_gids)
{
	struct gp__limit have = in_force(l, uid, gids, nr_gids);

	have.ever_priority = have.max_priority;
	for (u32 i = 0; i < l->nr_sections && sets_priority_by_time(l); i++) {
		const struct gp__section *s = &l->section[i];

		if (concerns(&s->of, uid, gids, nr_gids) &&
		    (s->limit.set & 1u << GP__LIMIT_PRIORITY) &&
		    s->limit.max_priority > have.ever_priority)
			have.ever_priority = s->limit.max_priority;
	}
	return have;
}

struct gp__quota gp__limits_of_tag(const struct gp__limits *l, const char *tag)
{
	for (u32 i = 0; i < l->nr_limits; i++) {
		if (l->of[i].kind == GP__LIMIT_TAG && !strcmp(l->of[i].tag, tag))
			return l->limit[i].gpu_time;
	}
	return (struct gp__quota){ 0 };
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
