// SPDX-License-Identifier: MIT
/* The history that a decision log tells, against figures computed by hand. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "policy/policy.h"
#include "view/history.h"

#define HEAD "# gpreempt decision log 2\n"

/* train runs alone for 10 ms, is held for 20 ms while serve has work, and runs on for 10 ms. */
static const char two[] =
	HEAD "0 < - - policy none\n"
	     "0 < gpu0 - device-add memory=1000 can_weigh=0\n"
	     "0 < gpu0 e1 entity-add process=11 class=offline prio=2 weight=0 share_pct=0 "
	     "min_share_pct=0 deadline_ns=0 max_hold_ns=0 memory=0 user=7 tag=batch\n"
	     "# e1 is train me\n"
	     "0 < gpu0 e1 queue-add q=2 requested=3 level=3\n"
	     "0 < gpu0 e3 entity-add process=12 class=online prio=15 weight=0 share_pct=0 "
	     "min_share_pct=0 deadline_ns=0 max_hold_ns=0 memory=0 user=8 tag=\n"
	     "0 < gpu0 e3 queue-add q=4 requested=3 level=3\n"
	     "0 < gpu0 e1 ready q=2 pending=1\n"
	     "10000000 < gpu0 e3 ready q=4 pending=1\n"
	     "10000000 > gpu0 e1 exclude q=2 level=3 why=priority by=e3\n"
	     "11000000 < gpu0 e1 ack q=2 result=0\n"
	     "29000000 < gpu0 e3 idle q=4 since=28000000 sees_ns=1000\n"
	     "30000000 > gpu0 e1 admit q=2 level=3 why=chosen by=-\n"
	     "32000000 < gpu0 e1 ack q=2 result=0\n"
	     "40000000 < gpu0 e1 idle q=2 since=40000000 sees_ns=0\n";

static int read_text(struct gp__history *h, u64 begin, const char *text,
		     struct gp__history_error *err)
{
	FILE *in = fmemopen((void *)text, strlen(text), "r");
	int rc;

	gp__history_init(h, begin);
	rc = gp__history_read(h, in, gp__policies, err);
	fclose(in);
	gp__history_finish(h, 0);
	return rc;
}

static void read_whole(struct gp__history *h, u64 begin, const char *text)
{
	struct gp__history_error err;

	if (read_text(h, begin, text, &err))
		fail_msg("line %llu: %s", (unsigned long long)err.line, err.text);
}

static void work_holds_and_times(void **state)
{
	const struct gp__history_group *train, *serve;
	struct gp__history h;
	u64 p50;

	(void)state;
	read_whole(&h, 0, two);
	assert_int_equal(h.nr_groups, 2);
	train = gp__history_find(&h, 1);
	serve = gp__history_find(&h, 3);
	assert_string_equal(train->name, "train me");
	assert_string_equal(train->tag, "batch");
	assert_int_equal(train->process, 11);
	assert_int_equal(train->user, 7);
	assert_int_equal(train->pieces.n, 1);
	assert_int_equal(train->pieces.at[0].to - train->pieces.at[0].from, 40 * GP__MS);
	assert_int_equal(train->pieces.at[0].held, 20 * GP__MS);
	/* Until the hold took effect it shared a millisecond with serve. */
	assert_int_equal(train->pieces.at[0].ran, 10 * GP__MS + GP__MS / 2 + 8 * GP__MS);
	assert_int_equal(train->used, 20 * GP__MS);
	assert_int_equal(train->waited, 20 * GP__MS);
	assert_int_equal(train->longest_wait, 20 * GP__MS);
	assert_int_equal(train->holds.n, 1);
	assert_int_equal(train->holds.at[0].by, 3);
	assert_int_equal(train->holds.at[0].to - train->holds.at[0].from, 20 * GP__MS);
	assert_int_equal(train->spans.n, 3);
	assert_int_equal(serve->pieces.at[0].to - serve->pieces.at[0].from, 18 * GP__MS);
	assert_int_equal(serve->used, 19 * GP__MS);
	/* From the end of serve's work until train was released nobody ran. */
	assert_int_equal(gp__history_gpu(&h, 0)->wasted, GP__MS);
	assert_int_equal(gp__history_gpu(&h, 0)->busy, 39 * GP__MS);
	assert_int_equal(gp__hist_quantile(&gp__history_gpu(&h, 0)->stop, 0.5, &p50), 0);
	assert_in_range(p50, 990000, 1010000);
	gp__history_free(&h);
}

static void counts_from_a_time_on(void **state)
{
	const struct gp__history_group *train;
	struct gp__history h;

	(void)state;
	read_whole(&h, 15 * GP__MS, two);
	train = gp__history_find(&h, 1);
	assert_int_equal(h.end - h.begin, 25 * GP__MS);
	/* Its only piece began earlier. */
	assert_int_equal(train->pieces.n, 0);
	assert_int_equal(train->waited, 15 * GP__MS);
	assert_int_equal(train->used, 10 * GP__MS);
	assert_int_equal(train->holds.at[0].waited, 15 * GP__MS);
	assert_int_equal(gp__history_gpu(&h, 0)->busy, 24 * GP__MS);
	gp__history_free(&h);
}

/* The file has been rotated: what introduced the groups is in the file before. */
static void continues_another_log(void **state)
{
	const struct gp__history_group *g;
	struct gp__history h;

	(void)state;
	read_whole(&h, 0,
		   "# gpreempt decision log 2, continued\n"
		   "5000000 < gpu1 e9 ready q=4 pending=1\n"
		   "# 12 lines are missing here\n"
		   "7000000 < gpu1 e9 idle q=4 since=7000000 sees_ns=0\n");
	g = gp__history_find(&h, 9);
	assert_non_null(g);
	assert_false(g->known);
	assert_int_equal(g->gpu, 1);
	assert_int_equal(g->used, 2 * GP__MS);
	assert_int_equal(h.missing, 12);
	gp__history_free(&h);
}

/* After a reboot the daemon appends to the same file, with numbers and times of a new run. */
static void another_run_of_the_daemon(void **state)
{
	char text[2 * sizeof(two)];
	struct gp__history h;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", two, two);
	read_whole(&h, 0, text);
	assert_int_equal(h.nr_groups, 4);
	assert_int_equal(h.runs, 2);
	assert_int_equal(h.end - h.begin, 80 * GP__MS);
	for (size_t i = 0; i < 4; i += 2) {
		assert_int_equal(h.group[i]->used, 20 * GP__MS);
		assert_int_equal(h.group[i]->waited, 20 * GP__MS);
		assert_int_equal(h.group[i]->pieces.at[0].to - h.group[i]->pieces.at[0].from,
				 40 * GP__MS);
	}
	gp__history_free(&h);
}

/* Those that yield get what the others leave. */
static void least_weight_yields(void **state)
{
	const struct gp__history_group *train, *serve;
	struct gp__history h;

	(void)state;
	read_whole(&h, 0,
		   HEAD "0 < gpu0 - device-add memory=0 can_weigh=2\n"
			"0 > gpu0 e1 weigh q=2 weight=16777214 why=weight by=-\n"
			"0 < gpu0 e1 ack q=2 result=0\n"
			"0 < gpu0 e1 ready q=2 pending=1\n"
			"4000000 < gpu0 e3 ready q=4 pending=1\n"
			"10000000 < gpu0 e3 idle q=4 since=10000000 sees_ns=0\n"
			"12000000 < gpu0 e1 idle q=2 since=12000000 sees_ns=0\n");
	train = gp__history_find(&h, 1);
	serve = gp__history_find(&h, 3);
	assert_int_equal(train->used, 6 * GP__MS);
	assert_int_equal(serve->used, 6 * GP__MS);
	assert_int_equal(train->waited, 0);
	assert_int_equal(train->spans.n, 3);
	assert_int_equal(train->spans.at[1].kind, GP__LANE_YIELD);
	gp__history_free(&h);
}

/* As the daemon would have answered. */
static void answers_like_the_daemon(void **state)
{
	struct gp__history h;
	json_t *list, *why, *hold;

	(void)state;
	read_whole(&h, 0, two);
	list = gp__history_list(&h, h.end);
	assert_int_equal(json_array_size(json_object_get(list, "groups")), 2);
	assert_int_equal(json_array_size(json_object_get(list, "gpus")), 1);
	json_decref(list);
	why = gp__history_why(&h, gp__history_find(&h, 1), h.end);
	hold = json_array_get(
		json_object_get(json_array_get(json_object_get(why, "groups"), 0), "history"), 0);
	assert_string_equal(json_string_value(json_object_get(hold, "rule")), "priority");
	assert_true(json_number_value(json_object_get(hold, "held_ms")) == 20);
	assert_true(json_number_value(json_object_get(hold, "ago_ms")) == 30);
	assert_true(json_is_true(json_object_get(hold, "ended")));
	assert_int_equal(json_integer_value(json_object_get(hold, "by_pid")), 12);
	json_decref(why);
	gp__history_free(&h);
}

/* The daemon logs its settings before it has a clock. */
static void settings_have_no_time(void **state)
{
	struct gp__history h;

	(void)state;
	read_whole(&h, 0,
		   HEAD "0 < - - config linger_us=50\n"
			"0 < - - policy none\n"
			"7000000000 < gpu0 - device-add memory=0 can_weigh=0\n"
			"7000000000 < gpu0 e1 ready q=2 pending=1\n"
			"7002000000 < gpu0 e1 idle q=2 since=7001000000 sees_ns=0\n");
	assert_int_equal(h.begin, 7 * GP__S);
	assert_int_equal(h.end - h.begin, 2 * GP__MS);
	assert_true(h.has_cfg[GP__CFG_LINGER_US]);
	gp__history_free(&h);
}

static void refuses_what_is_no_log(void **state)
{
	static const struct {
		const char *text;
		u64 line;
		const char *error;
	} cases[] = {
		{ "hello\n", 1, "as every log begins" },
		{ HEAD "hello\nworld\n", 2, "a time in nanoseconds" },
		{ HEAD "0 < gpu0 e1 ready q=2 pending=1\n0 < gpu0 e1 ready q=two\n", 3, "q" },
		{ HEAD "0 < - - policy magic\n0 < - - tick\n", 2, "the name of a policy" },
	};
	struct gp__history_error err;
	struct gp__history h;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(read_text(&h, 0, cases[i].text, &err), -EINVAL);
		assert_int_equal(err.line, cases[i].line);
		if (!strstr(err.text, cases[i].error))
			fail_msg("'%s' is not in '%s'", cases[i].error, err.text);
		gp__history_free(&h);
	}
}

/* A copy of a log that is being written may end within a line. */
static void leaves_out_a_torn_end(void **state)
{
	char text[sizeof(two)];
	struct gp__history h;

	(void)state;
	snprintf(text, sizeof(text), "%s", two);
	text[strlen(text) - 20] = '\0';
	read_whole(&h, 0, text);
	assert_true(h.torn);
	assert_int_equal(gp__history_find(&h, 1)->pieces.n, 0);
	assert_int_equal(h.end, 32 * GP__MS);
	gp__history_free(&h);
}

/* Queues, groups and spans come and go many times. */
static void grows_and_shrinks(void **state)
{
	struct gp__history h;
	char line[128];
	const char *expected;

	(void)state;
	gp__history_init(&h, 0);
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(line, sizeof(line), "%u < gpu0 e%u queue-%s q=%u%s", i * 1000, 1 + i % 7,
			 i % 3 == 2 ? "remove" : "add", 1 + i % 50,
			 i % 3 == 2 ? "" : " requested=3 level=3");
		assert_int_equal(gp__history_line(&h, line, strlen(line), gp__policies, &expected),
				 0);
		snprintf(line, sizeof(line), "%u < gpu0 e%u %s", i * 1000, 1 + i % 7,
			 i % 11 ? "suspend" : "entity-remove");
		assert_int_equal(gp__history_line(&h, line, strlen(line), gp__policies, &expected),
				 0);
	}
	assert_int_equal(h.live.n <= 7, 1);
	assert_true(h.nr_groups > 200);
	gp__history_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_holds_and_times),
		cmocka_unit_test(counts_from_a_time_on),
		cmocka_unit_test(continues_another_log),
		cmocka_unit_test(another_run_of_the_daemon),
		cmocka_unit_test(least_weight_yields),
		cmocka_unit_test(answers_like_the_daemon),
		cmocka_unit_test(settings_have_no_time),
		cmocka_unit_test(refuses_what_is_no_log),
		cmocka_unit_test(leaves_out_a_torn_end),
		cmocka_unit_test(grows_and_shrinks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
