/* SPDX-License-Identifier: MIT */
/*
 * The limits of users and tags: the sections [everybody], [user NAME], [group NAME] and [tag NAME]
 * of gpreemptd.conf(5), each of which may apply at some times of the day only.
 *
 * The sections stay as they are read. The limits in force follow from them and from the time.
 */
#ifndef GP__DAEMON_LIMIT_H
#define GP__DAEMON_LIMIT_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "core/core.h"
#include "daemon/quota.h"
#include "daemon/span.h"

#define GP__LIMITS_MAX 256
#define GP__SECTION_NAME_MAX 128

enum gp__limit_key {
	GP__LIMIT_PRIORITY,
	GP__LIMIT_PROGRAMS,
	GP__LIMIT_QUEUES,
	GP__LIMIT_WEIGHT,
	GP__LIMIT_SHARE,
	GP__LIMIT_DEADLINE,
	GP__LIMIT_TIME,
	GP__LIMIT_LOG,
	GP__LIMIT_GPU_TIME,
};

/* See gp__limits_of(). */
struct gp__limit {
	s32 max_priority;
	/* The highest max_priority at any time of the day: a program keeps the priority that it
	 * asks for up to this one, for the time when it may have it. */
	s32 ever_priority;
	/* For a user's programs together, except max_queues, which is for each of them. */
	u32 max_programs, max_queues;
	u32 max_weight, max_share; /* hints; max_share is in per cent */
	u64 min_deadline; /* ns */
	struct gp__quota gpu_time;
	u32 time_pct; /* of the daemon's main thread */
	u32 log_lines; /* a second, in the decision log */
	u32 set; /* bits: 1 << enum gp__limit_key; others are as for everybody */
};

enum gp__limit_kind { GP__LIMIT_EVERYBODY, GP__LIMIT_USER, GP__LIMIT_GROUP, GP__LIMIT_TAG };

struct gp__limit_of {
	enum gp__limit_kind kind;
	u32 id; /* of the user or group */
	char tag[GP__TAG_MAX];
};

struct gp__section {
	struct gp__limit_of of;
	struct gp__span span;
	char name[GP__SECTION_NAME_MAX]; /* as it is written, without the brackets */
	bool applies; /* now */
	struct gp__limit limit;
};

struct gp__limits {
	struct gp__section section[GP__LIMITS_MAX];
	u32 nr_sections;
	/* In force: */
	struct gp__limit everybody, limit[GP__LIMITS_MAX];
	struct gp__limit_of of[GP__LIMITS_MAX]; /* of limit[] */
	u32 nr_limits;
};

void gp__limits_defaults(struct gp__limits *l);
/* A section that is written as @name; a present one if that is the same. NULL: there are too many,
 * or it overlaps another one; @error has a sentence. */
struct gp__section *gp__limits_section(struct gp__limits *l, const struct gp__limit_of *of,
				       const struct gp__span *span, const char *name, char *error,
				       size_t size);
/* Sets a key of a section. -EINVAL, with a sentence in @error. */
int gp__section_set(struct gp__section *section, const char *key, const char *value, char *error,
		    size_t size);

/* Puts into force what applies at this time. */
void gp__limits_at(struct gp__limits *l, time_t now);
/* When to do that again at the latest. 0: never. */
time_t gp__limits_next(const struct gp__limits *l, time_t now);

/* The limits of a user with these groups: those of the user's own section, else the most generous
 * of the groups' sections, else those of everybody. */
struct gp__limit gp__limits_of(const struct gp__limits *l, uid_t uid, const gid_t *gids,
			       size_t nr_gids);
/* The GPU time that each user may use with groups that have this tag. */
struct gp__quota gp__limits_of_tag(const struct gp__limits *l, const char *tag);
/* Whether hints (0: not given) exceed the limit; @text says which. */
bool gp__limit_explain(const struct gp__limit *l, u32 weight, u32 share_pct, u64 deadline_ns,
		       char *text, size_t size);

#endif
