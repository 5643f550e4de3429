// SPDX-License-Identifier: MIT
/* Limits that apply at some times of the day. */
#include "users.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/config.h"

#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define MINUTE 60
#define HOUR 3600

/*
 * Spans
 */

static void set_zone(const char *zone)
{
	assert_int_equal(setenv("TZ", zone, 1), 0);
	tzset();
}

/* A time of 2026, as the clock shows it; @dst: 1 for the first of two that look alike. */
static time_t at(int month, int day, int hour, int minute, int dst)
{
	struct tm tm = { .tm_year = 126,
			 .tm_mon = month - 1,
			 .tm_mday = day,
			 .tm_hour = hour,
			 .tm_min = minute,
			 .tm_isdst = dst };

	return mktime(&tm);
}

static struct gp__span span_of(const char *text)
{
	struct gp__span s;
	const char *why;

	if (gp__span_parse(&s, text, &why))
		fail_msg("'%s' is refused: %s", text, why);
	return s;
}

static bool has(const char *text, time_t when)
{
	struct gp__span s = span_of(text);
	struct tm local;

	localtime_r(&when, &local);
	return gp__span_has(&s, &local);
}

static void spans_are_parsed(void **state)
{
	static const char *const wrong[] = {
		"",
		"08:00",
		"8:00-20:00",
		"08:00-20:00 ",
		"08:00-24:01",
		"24:00-08:00",
		"08:60-20:00",
		"08:00-08:00",
		"mon",
		"mon-20:00",
		"mun 08:00-9:00",
		"mon,08:00-09:00",
		"mon- 08:00-09:00",
		"mon fri 08:00-09:00",
		"08:00-20:00x",
		"-1:00-20:00",
		"monday 08:00-20:00",
	};
	struct gp__span s;
	const char *why;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (!gp__span_parse(&s, wrong[i], &why))
			fail_msg("'%s' is accepted", wrong[i]);
	}
	s = span_of("mon-wed,sat 08:00-20:30");
	assert_int_equal(s.days, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 6);
	assert_int_equal(s.from, 8 * 60);
	assert_int_equal(s.to, 20 * 60 + 30);
	assert_int_equal(span_of("sat-mon 00:00-24:00").days, 1 << 6 | 1 | 1 << 1);
	assert_int_equal(span_of("08:00-20:00").days, 127);
}

/* The 20th of November 2026 is a Friday. */
static void a_span_has_its_begin_and_not_its_end(void **state)
{
	(void)state;
	set_zone("UTC");
	assert_false(has("08:00-20:00", at(11, 20, 8, 0, 0) - 1));
	assert_true(has("08:00-20:00", at(11, 20, 8, 0, 0)));
	assert_true(has("08:00-20:00", at(11, 20, 20, 0, 0) - 1));
	assert_false(has("08:00-20:00", at(11, 20, 20, 0, 0)));
	assert_true(has("00:00-24:00", at(11, 20, 0, 0, 0)));
	assert_true(has("00:00-24:00", at(11, 21, 0, 0, 0) - 1));
	assert_true(has("fri 08:00-20:00", at(11, 20, 12, 0, 0)));
	assert_false(has("mon-thu 08:00-20:00", at(11, 20, 12, 0, 0)));
}

static void a_span_past_midnight_belongs_to_the_day_of_its_begin(void **state)
{
	(void)state;
	set_zone("UTC");
	assert_true(has("fri 22:00-06:00", at(11, 20, 22, 0, 0)));
	assert_true(has("fri 22:00-06:00", at(11, 21, 5, 59, 0)));
	assert_false(has("fri 22:00-06:00", at(11, 21, 6, 0, 0)));
	assert_false(has("fri 22:00-06:00", at(11, 20, 5, 59, 0)));
	assert_true(has("sat 22:00-06:00", at(11, 22, 5, 0, 0))); /* on Sunday */
	assert_true(has("22:00-00:00", at(11, 21, 0, 0, 0) - 1));
	assert_false(has("22:00-00:00", at(11, 21, 0, 0, 0)));
}

static bool overlap(const char *a, const char *b)
{
	struct gp__span first = span_of(a), second = span_of(b);

	assert_int_equal(gp__spans_overlap(&first, &second), gp__spans_overlap(&second, &first));
	return gp__spans_overlap(&first, &second);
}

static void overlaps_are_found(void **state)
{
	(void)state;
	assert_false(overlap("08:00-20:00", "20:00-08:00"));
	assert_true(overlap("08:00-20:01", "20:00-08:00"));
	assert_false(overlap("mon 08:00-20:00", "tue 08:00-20:00"));
	assert_true(overlap("mon 22:00-06:00", "tue 05:00-07:00"));
	assert_true(overlap("sat 22:00-06:00", "sun 05:00-07:00"));
	assert_false(overlap("sat 22:00-06:00", "sun 06:00-07:00"));
	assert_true(overlap("00:00-24:00", "fri 23:59-00:00"));
}

/* The next time at which the span may begin or end. */
static time_t next(const char *text, time_t now)
{
	struct gp__span s = span_of(text);

	return gp__next_clock_change(now, gp__span_next(&s, now));
}

static void the_next_change_is_known(void **state)
{
	(void)state;
	set_zone("UTC");
	assert_int_equal(next("08:00-20:00", at(11, 20, 7, 59, 0)), at(11, 20, 8, 0, 0));
	assert_int_equal(next("08:00-20:00", at(11, 20, 8, 0, 0)), at(11, 20, 20, 0, 0));
	assert_int_equal(next("08:00-20:00", at(11, 20, 23, 0, 0)), at(11, 21, 8, 0, 0));
	assert_int_equal(next("00:00-24:00", at(11, 20, 0, 0, 0)), at(11, 21, 0, 0, 0));
}

/* Follows the timer from one change to the next, and returns when the span applies first. */
static time_t follow(const char *text, time_t now)
{
	for (int i = 0; i < 8 && !has(text, now); i++)
		now = next(text, now);
	return now;
}

/* On the 29th of March 2026, 02:00 is followed by 03:00. */
static void the_clock_is_put_forward(void **state)
{
	time_t change;

	(void)state;
	set_zone(BERLIN);
	change = at(3, 29, 3, 0, 1);
	assert_int_equal(next("08:00-20:00", at(3, 28, 23, 0, 0)), change);
	assert_int_equal(follow("08:00-20:00", at(3, 28, 23, 0, 0)), at(3, 29, 8, 0, 1));
	/* Its begin does not exist: it begins with the first minute that does. */
	assert_int_equal(follow("02:30-05:00", at(3, 29, 0, 0, 0)), change);
	/* It does not exist at all on this day. */
	assert_int_equal(follow("02:10-02:50", at(3, 29, 0, 0, 0)), at(3, 30, 2, 10, 1));
}

/* On the 25th of October 2026, 03:00 is followed by 02:00. */
static void the_clock_is_put_back(void **state)
{
	time_t first, change;

	(void)state;
	set_zone(BERLIN);
	first = at(10, 25, 2, 30, 1);
	change = first + 30 * MINUTE;
	assert_int_equal(next("08:00-20:00", at(10, 25, 1, 0, 1)), change);
	assert_int_equal(follow("08:00-20:00", at(10, 25, 1, 0, 1)), at(10, 25, 8, 0, 0));
	assert_true(has("02:30-02:45", first));
	assert_false(has("02:30-02:45", first + 15 * MINUTE));
	assert_true(has("02:30-02:45", first + HOUR)); /* the second time */
	assert_false(has("02:30-03:00", change));
	assert_true(has("01:00-02:30", change));
}

/*
 * Configuration
 */

static int read_config(struct gp__config *c, const char *text, char error[GP__CONFIG_ERROR_MAX])
{
	char path[] = "/tmp/gpreemptd-hours-XXXXXX";
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	dprintf(fd, "%s", text);
	close(fd);
	err = gp__config_read(c, path, true, error);
	unlink(path);
	return err;
}

static void expect_config_refused(const char *text, const char *why)
{
	static struct gp__config c;
	char error[GP__CONFIG_ERROR_MAX];

	assert_int_equal(read_config(&c, text, error), -EINVAL);
	if (!strstr(error, why))
		fail_msg("'%s' is not in '%s'", why, error);
}

static void wrong_sections_are_refused(void **state)
{
	(void)state;
	expect_config_refused("[everybody at 08:00-20:00]\nmax_priority = 2\n"
			      "[everybody at 19:00-21:00]\nmax_priority = 3\n",
			      ":4: [everybody at 08:00-20:00] and [everybody at 19:00-21:00] "
			      "overlap: at most one of them may apply at a time");
	expect_config_refused("[everybody at noon]\nmax_priority = 2\n",
			      "applies at 'noon': it is not [DAYS ]HH:MM-HH:MM");
	expect_config_refused("[everybody at 08:00-08:00]\nmax_priority = 2\n",
			      "begins and ends at the same time");
	expect_config_refused("[daemon at 08:00-20:00]\npolicy = fair\n",
			      "only everybody, user NAME, group NAME and tag NAME can apply");
	expect_config_refused("[tag batch]\nmax_priority = 2\n", "it has gpu_time");
	expect_config_refused("[tag two words]\ngpu_time = 1s/2s\n", "is not a tag");
	expect_config_refused("[tag ]\ngpu_time = 1s/2s\n", "is not a tag");
	expect_config_refused("[user nobody-of-this-name at 08:00-20:00]\nmax_priority = 2\n",
			      "there is no user 'nobody-of-this-name'");
}

static void sections_apply_at_their_times(void **state)
{
	static struct gp__config c;
	char error[GP__CONFIG_ERROR_MAX];

	(void)state;
	set_zone("UTC");
	assert_int_equal(read_config(&c,
				     "[user 4711 at mon-fri 08:00-20:00]\nmax_priority = 2\n"
				     "[everybody]\nmax_programs = 9\n"
				     "[everybody at 18:00-19:00]\nmax_programs = 8\n"
				     "[user 4711]\nmax_priority = 15\n"
				     "[tag batch at 08:00-20:00]\ngpu_time = 1h/12h\n",
				     error),
			 0);
	gp__limits_at(&c.limits, at(11, 20, 12, 0, 0));
	assert_int_equal(gp__limits_of(&c.limits, 4711, NULL, 0).max_priority, 2);
	assert_int_equal(gp__limits_of(&c.limits, 4711, NULL, 0).ever_priority, 15);
	assert_int_equal(gp__limits_of(&c.limits, 4712, NULL, 0).max_priority, GP__PRIO_NORMAL);
	assert_int_equal(gp__limits_of(&c.limits, 4711, NULL, 0).max_programs, 9);
	assert_int_equal(gp__limits_of_tag(&c.limits, "batch").ns, HOUR * GP__S);
	assert_int_equal(gp__limits_of_tag(&c.limits, "other").ns, 0);
	gp__limits_at(&c.limits, at(11, 20, 18, 30, 0));
	assert_int_equal(gp__limits_of(&c.limits, 4711, NULL, 0).max_programs, 8);
	gp__limits_at(&c.limits, at(11, 21, 12, 0, 0));
	assert_int_equal(gp__limits_of(&c.limits, 4711, NULL, 0).max_priority, 15);
	gp__limits_at(&c.limits, at(11, 20, 20, 0, 0));
	assert_int_equal(gp__limits_of_tag(&c.limits, "batch").ns, 0);
	assert_int_equal(gp__limits_next(&c.limits, at(11, 20, 12, 0, 0)), at(11, 20, 18, 0, 0));
}

/*
 * A running daemon
 */

/* Sets the zone so that it is two seconds before noon. */
static void set_clock_before_noon(void)
{
	long offset = 12L * HOUR - 2 - time(NULL) % (24 * HOUR);
	char zone[32];

	if (offset < 0)
		offset += 24L * HOUR;
	snprintf(zone, sizeof(zone), "NOON-%ld:%02ld:%02ld", offset / HOUR, offset / MINUTE % 60,
		 offset % MINUTE);
	set_zone(zone);
}

static long long priority_of(struct rig *r, const char *key)
{
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}");
	long long prio = json_integer_value(json_object_get(first_group(answer), key));

	json_decref(answer);
	return prio;
}

/* It joins in the morning, and again in the afternoon. */
static void work_past_noon(struct rig *r)
{
	struct gp__wire_queue_add q = queue_of(9, "gpu-a", "");
	struct gp__wire_reply reply;
	struct agent a;

	open_gpu();
	agent_join(r, &a, "patient");
	EXPECT(!gp__wire_client_request(&a.client, &q, &reply));
	EXPECT(strstr(reply.text, "priority 9 is above this user's limit, 2, and is lowered to it "
				  "at this time of the day"));
	EXPECT(priority_of(r, "priority") == 2);
	EXPECT(priority_of(r, "asked_priority") == 9);
	for (int i = 0; i < 500 && priority_of(r, "priority") == 2; i++)
		usleep(10000);
	EXPECT(priority_of(r, "priority") == 9);
	agent_leave(&a);
}

static void joined_programs_follow_the_time(void **state)
{
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	set_clock_before_noon();
	rig_up(&r, CONFIG "[everybody]\nmax_priority = 15\n"
			  "[everybody at 00:00-12:00]\nmax_priority = 2\n");
	as(MALLORY, &r, work_past_noon);
	rig_down(&r);
}

/* Nothing wakes the daemon while no section begins or ends. */
static void a_timer_waits(void **state)
{
	json_t *answer, *section;
	struct rig r;

	(void)state;
	set_zone("UTC");
	rig_up(&r, "[everybody at 00:00-24:00]\nmax_priority = 2\n");
	answer = rig_ask(&r, "{\"op\":\"users\"}");
	rig_expect_asleep(&r);
	section = json_array_get(json_object_get(answer, "sections"), 0);
	assert_string_equal(json_string_value(json_object_get(section, "section")),
			    "everybody at 00:00-24:00");
	assert_true(json_is_true(json_object_get(section, "applies")));
	assert_true(json_integer_value(json_object_get(answer, "limits_until")) > time(NULL));
	json_decref(answer);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_are_parsed),
		cmocka_unit_test(a_span_has_its_begin_and_not_its_end),
		cmocka_unit_test(a_span_past_midnight_belongs_to_the_day_of_its_begin),
		cmocka_unit_test(overlaps_are_found),
		cmocka_unit_test(the_next_change_is_known),
		cmocka_unit_test(the_clock_is_put_forward),
		cmocka_unit_test(the_clock_is_put_back),
		cmocka_unit_test(wrong_sections_are_refused),
		cmocka_unit_test(sections_apply_at_their_times),
		cmocka_unit_test(joined_programs_follow_the_time),
		cmocka_unit_test(a_timer_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
