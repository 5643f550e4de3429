/* SPDX-License-Identifier: MIT */
/*
 * Times of the day at which a section of gpreemptd.conf(5) applies: "mon-fri 08:00-20:00".
 *
 * A span is in local time, as a clock on the wall shows it: where the clock is put forward, the
 * skipped minutes do not exist, and where it is put back, the repeated ones count twice. A span
 * that passes midnight belongs to the day on which it begins.
 */
#ifndef GP__DAEMON_SPAN_H
#define GP__DAEMON_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "core/types.h"

#define GP__DAY_MINUTES (24 * 60)

struct gp__span {
	u32 days; /* bits: 1 << tm_wday of its begin; 0: it applies at all times */
	u32 from, to; /* minutes of the day; to <= from: it ends on the next day */
};

/* "[DAYS ]HH:MM-HH:MM". On failure, -EINVAL and a part of a sentence in @why. */
int gp__span_parse(struct gp__span *s, const char *text, const char **why);
static inline bool gp__span_is_timed(const struct gp__span *s)
{
	return s->days;
}

/* Whether it applies at this local time. */
bool gp__span_has(const struct gp__span *s, const struct tm *local);
bool gp__span_is_same(const struct gp__span *a, const struct gp__span *b);
/* Whether there is a minute of the week that both have. */
bool gp__spans_overlap(const struct gp__span *a, const struct gp__span *b);
/* When the span begins or ends next, unless the clock is put forward or back before. */
time_t gp__span_next(const struct gp__span *s, time_t now);
/* When the local time is put forward or back, after @now and before @until; else @until. */
time_t gp__next_clock_change(time_t now, time_t until);

#endif
