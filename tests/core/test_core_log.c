// SPDX-License-Identifier: MIT
/* The decision log: what is written reads back the same, and nothing else reads at all. */
#include "../unit/test.h"

#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "policy/policy.h"

static int parse(const char *line, struct gp__record *r, struct gp__record_room *room,
		 const char **expected)
{
	return gp__record_parse(line, strlen(line), gp__policies, r, room, expected);
}

static void round_trip(const struct gp__record *r)
{
	char line[GP__LOG_LINE_MAX], again[GP__LOG_LINE_MAX];
	size_t n = gp__record_format(r, line);
	struct gp__record_room room;
	const char *expected = NULL;
	struct gp__record back;

	assert_true(n < GP__LOG_LINE_MAX);
	assert_int_equal(strlen(line), n);
	assert_int_equal(line[n - 1], '\n');
	if (gp__record_parse(line, n - 1, gp__policies, &back, &room, &expected))
		fail_msg("%.*s is refused: expected %s", (int)n - 1, line, expected);
	gp__record_format(&back, again);
	assert_string_equal(line, again);
}

/* Each field at one end of its range. */
static struct gp__record extreme(u8 what, bool most)
{
	static const char tag[] = "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~";
	struct gp__record r = { .what = what, .text = most ? tag : "" };
	u32 i;

	assert_int_equal(sizeof(tag), GP__TAG_MAX);
	r.time = most ? GP__TIME_END - 1 : 0;
	r.dev = r.entity = most ? GP__NOBODY - 1 : GP__NOBODY;
	for (i = 0; i < GP__F_COUNT; i++)
		r.f[i] = most ? 0xffffffff : 0;
	if (!most) {
		r.f[GP__F_PRIO] = -GP__PRIO_LIMIT;
		r.f[GP__F_RESULT] = INT32_MIN;
		return r;
	}
	r.f[GP__F_PRIO] = GP__PRIO_LIMIT;
	r.f[GP__F_RESULT] = INT32_MAX;
	r.f[GP__F_DEADLINE] = r.f[GP__F_MAX_HOLD] = r.f[GP__F_MEMORY] = r.f[GP__F_AT] = -1;
	r.f[GP__F_REQUESTED] = r.f[GP__F_LEVEL] = 255;
	r.f[GP__F_CAN_WEIGH] = 1;
	r.f[GP__F_FROM] = GP__EXEMPT_PLAN;
	r.f[GP__F_CLASS] = GP__CLASS_ONLINE;
	r.f[GP__F_WHY] = GP__RULE_OUT_OF_PLAN;
	r.f[GP__F_BY] = r.f[GP__F_USER] = GP__NOBODY - 1;
	return r;
}

static void test_every_record_reads_back(void **state)
{
	u8 what;

	(void)state;
	for (what = 0; what < GP__WHAT_COUNT; what++) {
		struct gp__record least = extreme(what, false), most = extreme(what, true);

		if (what == GP__WHAT_CONFIG || what == GP__WHAT_POLICY)
			continue;
		round_trip(&least);
		round_trip(&most);
	}
}

static void test_every_rule_and_class_reads_back(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < GP__RULE_COUNT; i++) {
		struct gp__record r = extreme(GP__WHAT_HOLD, true);

		r.f[GP__F_WHY] = i;
		round_trip(&r);
	}
	for (i = 0; i <= GP__CLASS_ONLINE; i++) {
		struct gp__record r = extreme(GP__WHAT_ENTITY_ADD, true);

		r.f[GP__F_CLASS] = i;
		round_trip(&r);
	}
}

/* Logs from before there were users, and of one process. */
static void test_a_line_without_a_user_reads_back(void **state)
{
	struct gp__record r = extreme(GP__WHAT_ENTITY_ADD, true), back;
	char line[GP__LOG_LINE_MAX];
	struct gp__record_room room;
	const char *expected;

	(void)state;
	r.f[GP__F_USER] = GP__NOBODY;
	round_trip(&r);
	line[gp__record_format(&r, line) - 1] = '\0';
	assert_null(strstr(line, "user="));
	assert_int_equal(parse(line, &back, &room, &expected), 0);
	assert_int_equal(back.f[GP__F_USER], GP__NOBODY);
}

static void params_round_trip(u8 what, const char *name, const struct gp__param *p, u32 n, bool max)
{
	u64 values[GP__POLICY_PARAMS_MAX];
	struct gp__record r = { .what = what,
				.dev = GP__NOBODY,
				.entity = GP__NOBODY,
				.text = name,
				.params = p,
				.nr_params = n,
				.values = values };
	u32 i;

	assert_true(n <= GP__POLICY_PARAMS_MAX);
	for (i = 0; i < n; i++)
		values[i] = max ? p[i].max : p[i].min;
	round_trip(&r);
}

static void test_every_parameter_reads_back(void **state)
{
	const struct gp__policy *const *p;
	u32 i;

	(void)state;
	for (i = 0; i < GP__CFG_COUNT; i++) {
		params_round_trip(GP__WHAT_CONFIG, NULL, &gp__core_params[i], 1, false);
		params_round_trip(GP__WHAT_CONFIG, NULL, &gp__core_params[i], 1, true);
	}
	for (p = gp__policies; *p; p++) {
		params_round_trip(GP__WHAT_POLICY, (*p)->name, (*p)->params, (*p)->nr_params,
				  false);
		params_round_trip(GP__WHAT_POLICY, (*p)->name, (*p)->params, (*p)->nr_params, true);
	}
}

static void test_a_line_says_what_it_means(void **state)
{
	const char *line = "1500000 > gpu0 e2 exclude q=5 level=3 why=priority by=e3";
	struct gp__record_room room;
	const char *expected;
	struct gp__record r;

	(void)state;
	assert_int_equal(parse(line, &r, &room, &expected), 0);
	assert_int_equal(r.time, 1500000);
	assert_int_equal(r.what, GP__WHAT_HOLD);
	assert_int_equal(r.dev, 0);
	assert_int_equal(r.entity, 2);
	assert_int_equal(r.f[GP__F_QUEUE], 5);
	assert_int_equal(r.f[GP__F_LEVEL], 3);
	assert_int_equal(r.f[GP__F_WHY], GP__RULE_PRIORITY);
	assert_int_equal(r.f[GP__F_BY], 3);
}

static void test_comments_and_empty_lines_hold_nothing(void **state)
{
	struct gp__record_room room;
	const char *expected;
	struct gp__record r;

	(void)state;
	assert_int_equal(parse("", &r, &room, &expected), -ENODATA);
	assert_int_equal(parse("# gpreempt decision log 2", &r, &room, &expected), -ENODATA);
}

static void test_malformed_lines_say_what_was_expected(void **state)
{
	static const struct {
		const char *line, *expected;
	} t[] = {
		{ " ", "a time in nanoseconds" },
		{ "x < - - tick", "a time in nanoseconds" },
		{ "-1 < - - tick", "a time in nanoseconds" },
		{ "01 < - - tick", "a time in nanoseconds" },
		{ "4611686018427387904 < - - tick", "a time in nanoseconds" },
		{ "18446744073709551616 < - - tick", "a time in nanoseconds" },
		{ "1", "a time in nanoseconds" },
		{ "1 ", "<, > or !" },
		{ "1 ? - - tick", "<, > or !" },
		{ "1 <- - tick", "<, > or !" },
		{ "1 < gpu - tick", "a device (gpuN or -)" },
		{ "1 < gpu4294967295 e1 suspend", "a device (gpuN or -)" },
		{ "1 < cpu0 - tick", "a device (gpuN or -)" },
		{ "1 < gpu0 1 suspend", "an entity (eN or -)" },
		{ "1 < gpu0 e suspend", "an entity (eN or -)" },
		{ "1 < gpu0 e1", "an entity (eN or -)" },
		{ "1 < gpu0 e1 ", "what happened (ready, exclude, ...)" },
		{ "1 < gpu0 e1 explode", "what happened (ready, exclude, ...)" },
		{ "1 < gpu0 e1 exclude q=1 level=3 why=none by=-",
		  "what happened (ready, exclude, ...)" },
		{ "1 < - - tick ", "the end of the line" },
		{ "1 < - - tick x=1", "the end of the line" },
		{ "1 < gpu0 e1 ready", "q" },
		{ "1 < gpu0 e1 ready q=", "q" },
		{ "1 < gpu0 e1 ready q=-1 pending=1", "q" },
		{ "1 < gpu0 e1 ready q=4294967296 pending=1", "q" },
		{ "1 < gpu0 e1 ready pending=1 q=1", "q" },
		{ "1 < gpu0 e1 ready q=1", "pending" },
		{ "1 < gpu0 e1 ready q=1  pending=1", "pending" },
		{ "1 < gpu0 e1 ready q=1 pending=1\n", "the end of the line" },
		{ "1 < gpu0 e1 queue-add q=1 requested=256 level=1", "requested" },
		{ "1 < gpu0 e1 level q=1 level=256", "level" },
		{ "1 < gpu0 - device-add memory=1 can_weigh=3", "can_weigh" },
		{ "1 < gpu0 e1 ack q=1 result=-0", "result" },
		{ "1 < gpu0 e1 ack q=1 result=-2147483649", "result" },
		{ "1 > gpu0 e1 admit q=1 level=3 why=whim by=-", "why" },
		{ "1 > gpu0 e1 admit q=1 level=3 why=idle by=e0", "by" },
		{ "1 > gpu0 e1 admit q=1 level=3 why=idle by=3", "by" },
		{ "1 < gpu0 e1 entity-add process=1 class=vip prio=1", "class" },
		{ "1 < gpu0 e1 entity-add process=1 class=other prio=1 weight=0 share_pct=0 "
		  "min_share_pct=0 deadline_ns=0 max_hold_ns=0 memory=0",
		  "tag" },
		{ "1 < gpu0 e1 entity-add process=1 class=other prio=1 weight=0 share_pct=0 "
		  "min_share_pct=0 deadline_ns=0 max_hold_ns=0 memory=0 "
		  "tag=01234567890123456789012345678901",
		  "tag" },
		{ "1 < gpu0 e1 entity-add process=1 class=other prio=1 weight=0 share_pct=0 "
		  "min_share_pct=0 deadline_ns=0 max_hold_ns=0 memory=0 tag=a=b",
		  "the end of the line" },
		{ "1 < - - config", "a parameter after 'config'" },
		{ "1 < - - config colour=1", "a parameter of the core after 'config'" },
		{ "1 < - - config tries=0", "a value in the parameter's range" },
		{ "1 < - - config tries", "a value in the parameter's range" },
		{ "1 < - - policy", "the name of a policy" },
		{ "1 < - - policy best", "the name of a policy" },
		{ "1 < - - policy hpf", "the policy's parameters in order, each in its range" },
		{ "1 < - - policy edf late_yields=2",
		  "the policy's parameters in order, each in its range" },
		{ "1 < - - policy none age_ms=1", "the end of the line" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct gp__record_room room;
		const char *expected = NULL;
		struct gp__record r;
		int rc = parse(t[i].line, &r, &room, &expected);

		if (rc != -EINVAL)
			fail_msg("'%s' gives %d", t[i].line, rc);
		assert_string_equal(expected, t[i].expected);
	}
}

/* Cut off anywhere, a line is refused or means less; nothing behind its end is read. */
static void test_no_prefix_reads_past_its_end(void **state)
{
	static const char whole[] =
		"15 < gpu0 e2 entity-add process=1 class=other prio=-3 weight=1 "
		"share_pct=2 min_share_pct=3 deadline_ns=4 max_hold_ns=5 "
		"memory=6 tag=train";
	size_t n;

	(void)state;
	for (n = 1; n < sizeof(whole); n++) {
		char *copy = test_malloc(n);
		struct gp__record_room room;
		const char *expected = NULL;
		struct gp__record r;

		memcpy(copy, whole, n);
		gp__record_parse(copy, n, gp__policies, &r, &room, &expected);
		test_free(copy);
	}
}

/* Keeps whole lines, the latest ones, and counts the dropped ones. */
static void test_the_oldest_lines_go(void **state)
{
	struct gp__record r = { .what = GP__WHAT_READY, .dev = 1, .entity = 2 };
	char text[4 * GP__LOG_LINE_MAX], last[GP__LOG_LINE_MAX];
	struct gp__log_keep keep = { .text = text, .room = sizeof(text) }, nothing = { 0 };
	size_t lines = 0, n;

	for (r.time = 1000; r.time < 2000; r.time++) {
		gp__log_keep_add(&keep, &r);
		gp__log_keep_add(&nothing, &r);
	}
	r.time--;
	n = gp__record_format(&r, last);
	for (size_t i = 0; i < keep.size; i++)
		lines += text[i] == '\n';
	assert_int_equal(keep.nr_dropped + lines, 1000);
	assert_in_range(lines, 10, 100);
	assert_memory_equal(text + keep.size - n, last, n);
	assert_memory_equal(text, "1", 1);
	assert_int_equal(nothing.size, 0);
	gp__log_keep_clear(&keep);
	assert_int_equal(keep.size, 0);
	assert_int_equal(keep.nr_dropped, 0);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_record_reads_back),
		cmocka_unit_test(test_every_rule_and_class_reads_back),
		cmocka_unit_test(test_a_line_without_a_user_reads_back),
		cmocka_unit_test(test_every_parameter_reads_back),
		cmocka_unit_test(test_a_line_says_what_it_means),
		cmocka_unit_test(test_comments_and_empty_lines_hold_nothing),
		cmocka_unit_test(test_malformed_lines_say_what_was_expected),
		cmocka_unit_test(test_no_prefix_reads_past_its_end),
		cmocka_unit_test(test_the_oldest_lines_go),
	};

	return cmocka_run_group_tests_name("core log", tests, NULL, NULL);
}
