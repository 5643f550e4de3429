// SPDX-License-Identifier: MIT
#include "daemon/span.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DAYS 7
#define ALL_DAYS ((1u << DAYS) - 1)
#define DAY_S (24 * 3600)
#define HOUR_S 3600
#define WEEK_MINUTES (DAYS * GP__DAY_MINUTES)

static const char *const day_names[DAYS] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

/*
 * Parsing
 */

/* Reads the name of a day. -1: it is none. */
static int take_day(const char **text)
{
	for (int day = 0; day < DAYS; day++) {
		if (strncasecmp(*text, day_names[day], 3) != 0)
			continue;
		*text += 3;
		return day;
	}
	return -1;
}

/* "mon", "mon-fri" or "sat-mon" */
static int take_days(const char **text, u32 *days)
{
	int from = take_day(text), to = from;

	if (from >= 0 && **text == '-') {
		++*text;
		to = take_day(text);
	}
	if (from < 0 || to < 0)
		return -EINVAL;
	for (int day = from;; day = (day + 1) % DAYS) {
		*days |= 1u << day;
		if (day == to)
			return 0;
	}
}

static int parse_days(const char *text, const char *end, u32 *days)
{
	int err = take_days(&text, days);

	while (!err && text < end && *text == ',') {
		text++;
		err = take_days(&text, days);
	}
	return err || text != end ? -EINVAL : 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "08:30", and "24:00" for the end of the day. */
static int take_time(const char **text, u32 *minutes)
{
	const char *t = *text;
	u32 hour, minute;

	for (int i = 0; i < 5; i++) {
		if (i == 2 ? t[i] != ':' : !is_digit(t[i]))
			return -EINVAL;
	}
	hour = (u32)(t[0] - '0') * 10 + (u32)(t[1] - '0');
	minute = (u32)(t[3] - '0') * 10 + (u32)(t[4] - '0');
	*minutes = hour * 60 + minute;
	*text += 5;
	return minute > 59 || *minutes > GP__DAY_MINUTES ? -EINVAL : 0;
}

static int parse_times(const char *text, struct gp__span *s)
{
	int err = take_time(&text, &s->from);

	if (!err)
		err = *text++ == '-' ? take_time(&text, &s->to) : -EINVAL;
	return err || *text ? -EINVAL : 0;
}

int gp__span_parse(struct gp__span *s, const char *text, const char **why)
{
	const char *blank = strchr(text, ' '), *times = text;

	*s = (struct gp__span){ 0 };
	*why = "it is not [DAYS ]HH:MM-HH:MM, as in mon-fri 08:00-20:00";
	if (blank && parse_days(text, blank, &s->days))
		return -EINVAL;
	if (blank)
		times = blank + strspn(blank, " ");
	else
		s->days = ALL_DAYS;
	if (parse_times(times, s))
		return -EINVAL;
	*why = "it begins and ends at the same time; a whole day is 00:00-24:00";
	if (s->from == s->to)
		return -EINVAL;
	*why = "a day begins at 00:00";
	return s->from == GP__DAY_MINUTES ? -EINVAL : 0;
}

/*
 * Asking
 */

static bool passes_midnight(const struct gp__span *s)
{
	return s->to < s->from;
}

bool gp__span_has(const struct gp__span *s, const struct tm *local)
{
	u32 minute = (u32)local->tm_hour * 60 + (u32)local->tm_min;
	u32 today = 1u << local->tm_wday, yesterday = 1u << (local->tm_wday + DAYS - 1) % DAYS;

	if (!gp__span_is_timed(s))
		return true;
	if (!passes_midnight(s))
		return (s->days & today) && minute >= s->from && minute < s->to;
	return ((s->days & today) && minute >= s->from) ||
	       ((s->days & yesterday) && minute < s->to);
}

bool gp__span_is_same(const struct gp__span *a, const struct gp__span *b)
{
	return a->days == b->days && a->from == b->from && a->to == b->to;
}

static u32 length_of(const struct gp__span *s)
{
	return passes_midnight(s) ? s->to + GP__DAY_MINUTES - s->from : s->to - s->from;
}

/* Whether the interval @a has the first minute of @b, in a week that has no end. */
static bool has_begin(u32 a, u32 length, u32 b)
{
	return (b + WEEK_MINUTES - a) % WEEK_MINUTES < length;
}

bool gp__spans_overlap(const struct gp__span *a, const struct gp__span *b)
{
	for (u32 i = 0; i < DAYS * DAYS; i++) {
		u32 da = i / DAYS, db = i % DAYS;
		u32 begin_a = da * GP__DAY_MINUTES + a->from;
		u32 begin_b = db * GP__DAY_MINUTES + b->from;

		if (!(a->days & 1u << da) || !(b->days & 1u << db))
			continue;
		if (has_begin(begin_a, length_of(a), begin_b) ||
		    has_begin(begin_b, length_of(b), begin_a))
			return true;
	}
	return false;
}

/*
 * Waiting
 */

/* The time until the clock shows this minute, at least a second. */
static time_t time_until(const struct tm *local, u32 minute)
{
	time_t second = local->tm_hour * HOUR_S + local->tm_min * 60 + local->tm_sec;
	time_t left = ((time_t)minute * 60 - second + DAY_S) % DAY_S;

	return left ? left : DAY_S;
}

time_t gp__span_next(const struct gp__span *s, time_t now)
{
	struct tm local;
	time_t begin, end;

	localtime_r(&now, &local);
	begin = time_until(&local, s->from);
	end = time_until(&local, s->to % GP__DAY_MINUTES);
	return now + (begin < end ? begin : end);
}

static long offset_at(time_t when)
{
	struct tm local;

	localtime_r(&when, &local);
	return local.tm_gmtoff;
}

/* The first time after @a, at most @b, that has another offset than @a. */
static time_t find_change(time_t a, time_t b)
{
	long before = offset_at(a);

	while (b - a > 1) {
		time_t middle = a + (b - a) / 2;

		if (offset_at(middle) == before)
			a = middle;
		else
			b = middle;
	}
	return b;
}

time_t gp__next_clock_change(time_t now, time_t until)
{
	long before = offset_at(now);

	for (time_t t = now; t < until; t += HOUR_S) {
		time_t next = t + HOUR_S < until ? t + HOUR_S : until;

		if (offset_at(next) != before)
			return find_change(t, next);
	}
	return until;
}
