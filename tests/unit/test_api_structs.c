// SPDX-License-Identifier: MIT
/* Refusals of the API, and structs from older and newer headers. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include <gpreempt/gpreempt.h>

static int nlaunch(void *hwq, void *cmd)
{
	(void)hwq;
	(void)cmd;
	return 0;
}

static int verb(void *hwq)
{
	(void)hwq;
	return 0;
}

static struct gp_device_ops plain_ops(void)
{
	struct gp_device_ops ops = GP_DEVICE_OPS_INIT;

	ops.nlaunch = nlaunch;
	ops.sync = nlaunch;
	return ops;
}

static int create(const struct gp_device_ops *ops, const void *options, struct gp_error *err)
{
	struct gp_queue *q = NULL;
	int rc = gp_queue_create(ops, NULL, options, &q, err);

	assert_true(!rc == !!q);
	gp_queue_destroy(q);
	return rc;
}

static void refused(const struct gp_device_ops *ops, const void *options, int code,
		    const char *word)
{
	struct gp_error err = { .code = 0 };

	assert_int_equal(create(ops, options, &err), code);
	assert_int_equal(err.code, code);
	if (!strstr(err.message, word))
		fail_msg("'%s' does not speak of '%s'", err.message, word);
	assert_int_equal(create(ops, options, NULL), code);
}

static void test_defaults(void **state)
{
	struct gp_device_ops ops = plain_ops();

	(void)state;
	assert_int_equal(create(&ops, NULL, NULL), 0);
	gp_queue_destroy(NULL);
	assert_int_equal(gp_sched_destroy(NULL), 0);
}

static void test_bad_tables(void **state)
{
	struct gp_device_ops ops = plain_ops();

	(void)state;
	refused(NULL, NULL, -EINVAL, "table");
	ops.sync = NULL;
	refused(&ops, NULL, -EINVAL, "nlaunch and sync");
	ops = plain_ops();
	ops.interrupt = verb;
	refused(&ops, NULL, -EINVAL, "pair");
	ops = plain_ops();
	ops.reactivate = verb;
	refused(&ops, NULL, -EINVAL, "pair");
	ops = plain_ops();
	ops.size = 0;
	refused(&ops, NULL, -EINVAL, "size");
}

static void test_bad_options(void **state)
{
	struct gp_device_ops ops = plain_ops();
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;

	(void)state;
	opt.level = 4;
	refused(&ops, &opt, -EINVAL, "level");
	opt.level = 3;
	opt.flags = GP_QUEUE_STRICT_LEVEL;
	refused(&ops, &opt, -EOPNOTSUPP, "level 3");
	opt.flags = 0x80;
	refused(&ops, &opt, -EINVAL, "0x80");
	opt.flags = 0;
	opt.window = 1;
	opt.batch = 2;
	refused(&ops, &opt, -EINVAL, "batch");
	opt.size = 3;
	refused(&ops, &opt, -EINVAL, "size");
	assert_int_equal(gp_queue_create(&ops, NULL, NULL, NULL, NULL), -EINVAL);
}

/* A program built against a header that had less, and one that had more. */
static void test_other_versions(void **state)
{
	struct {
		struct gp_queue_options known;
		uint64_t later;
	} newer = { .known = GP_QUEUE_OPTIONS_INIT };
	struct gp_device_ops ops = plain_ops();
	struct gp_queue_options opt = GP_QUEUE_OPTIONS_INIT;

	(void)state;
	/* Beyond the old struct's end there may be anything. */
	opt.size = offsetof(struct gp_queue_options, flags);
	opt.flags = 0xdead;
	assert_int_equal(create(&ops, &opt, NULL), 0);

	newer.known.size = sizeof(newer);
	assert_int_equal(create(&ops, &newer, NULL), 0);
	newer.later = 1;
	refused(&ops, &newer, -E2BIG, "does not know");

	ops.size = offsetof(struct gp_device_ops, deactivate);
	ops.deactivate = verb;
	assert_int_equal(create(&ops, NULL, NULL), 0);
}

static void test_stats_of_other_versions(void **state)
{
	struct {
		struct gp_queue_stats known;
		uint64_t later;
	} newer = { .known = GP_QUEUE_STATS_INIT, .later = 7 };
	struct gp_queue_stats older;
	struct gp_device_ops ops = plain_ops();
	struct gp_queue *q;

	(void)state;
	assert_int_equal(gp_queue_create(&ops, NULL, NULL, &q, NULL), 0);
	newer.known.size = sizeof(newer);
	assert_int_equal(gp_queue_stats(q, &newer.known), 0);
	assert_int_equal(newer.later, 0);
	assert_int_equal(newer.known.size, sizeof(newer));
	assert_int_equal(newer.known.level_effective, 1);

	memset(&older, 0x5a, sizeof(older));
	older.size = offsetof(struct gp_queue_stats, level_effective);
	assert_int_equal(gp_queue_stats(q, &older), 0);
	assert_int_equal(older.level_requested, 3);
	assert_int_equal(older.level_effective, 0x5a5a5a5a);
	older.size = 0;
	assert_int_equal(gp_queue_stats(q, &older), -EINVAL);
	assert_int_equal(gp_queue_stats(q, NULL), -EINVAL);
	gp_queue_destroy(q);
}

static void test_bad_suspends(void **state)
{
	struct gp_suspend_result res = { .size = 0 };
	struct gp_queue_stats stats = GP_QUEUE_STATS_INIT;
	struct gp_device_ops ops = plain_ops();
	struct gp_error err;
	struct gp_queue *q;

	(void)state;
	assert_int_equal(gp_queue_create(&ops, NULL, NULL, &q, NULL), 0);
	assert_int_equal(gp_queue_suspend(q, 0, -1, &res, &err), -EINVAL);
	assert_int_equal(gp_queue_suspend(q, 0x10, -1, NULL, &err), -EINVAL);
	gp_queue_stats(q, &stats);
	assert_int_equal(stats.state, GP_QUEUE_RUNNING);
	assert_int_equal(gp_queue_resume(q, NULL), 0);
	gp_queue_destroy(q);
}

static void test_hints_without_a_scheduler(void **state)
{
	struct gp_device_ops ops = plain_ops();
	struct gp_error err;
	struct gp_queue *q;
	uint64_t lead = 1;

	(void)state;
	assert_int_equal(gp_queue_create(&ops, NULL, NULL, &q, NULL), 0);
	assert_int_equal(gp_queue_hint(q, GP_HINT_PRIORITY, -3, NULL), 0);
	assert_int_equal(gp_queue_hint(q, GP_HINT_SHARE, 30, NULL), 0);
	assert_int_equal(gp_queue_hint(q, GP_HINT_SHARE, 101, &err), -ERANGE);
	assert_non_null(strstr(err.message, "share"));
	assert_int_equal(gp_queue_hint(q, GP_HINT_WEIGHT, -1, &err), -ERANGE);
	assert_int_equal(gp_queue_hint(q, GP_HINT_WEIGHT, (1ll << 32) + 1, &err), -ERANGE);
	assert_int_equal(gp_queue_hint(q, (enum gp_hint)99, 1, &err), -EINVAL);
	assert_int_equal(gp_hint_arriving(q, 1), 0);
	assert_int_equal(gp_hint_over(q), 0);
	assert_int_equal(gp_hint_lead_time(q, &lead), 0);
	assert_int_equal(lead, 0);
	assert_int_equal(gp_hint_lead_time(q, NULL), -EINVAL);
	/* This program is not joined. */
	lead = 1;
	assert_int_equal(gp_hint_lead_time(NULL, &lead), -ENOTCONN);
	assert_int_equal(lead, 0);
	assert_int_equal(gp_hint_arriving(NULL, 1), -ENOTCONN);
	assert_int_equal(gp_hint_over(NULL), -ENOTCONN);
	gp_queue_destroy(q);
}

static void test_bad_schedulers(void **state)
{
	struct gp_sched_options opt = GP_SCHED_OPTIONS_INIT;
	struct gp_error err;
	struct gp_sched *s;

	(void)state;
	opt.policy = "lottery";
	assert_int_equal(gp_sched_create(&opt, &s, &err), -ENOENT);
	assert_non_null(strstr(err.message, "lottery"));
	opt.policy = NULL;
	opt.params = "no_such=1";
	assert_int_equal(gp_sched_create(&opt, &s, &err), -EINVAL);
	assert_non_null(strstr(err.message, "no_such"));
	opt.params = "linger_us";
	assert_int_equal(gp_sched_create(&opt, &s, &err), -EINVAL);
	opt.params = "linger_us=5x";
	assert_int_equal(gp_sched_create(&opt, &s, &err), -EINVAL);
	opt.params = "linger_us=-5";
	assert_int_equal(gp_sched_create(&opt, &s, &err), -EINVAL);
	opt.params = "linger_us=99999999999999999999";
	assert_int_equal(gp_sched_create(&opt, &s, &err), -EINVAL);
	opt.params = "min_share_pct=101";
	assert_int_equal(gp_sched_create(&opt, &s, &err), -ERANGE);
	assert_non_null(strstr(err.message, "min_share_pct"));
	opt.params = " linger_us=0  min_share_pct=5 ";
	assert_int_equal(gp_sched_create(&opt, &s, &err), 0);
	assert_int_equal(gp_sched_destroy(s), 0);
	assert_int_equal(gp_sched_create(NULL, &s, NULL), 0);
	assert_int_equal(gp_sched_destroy(s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_bad_tables),
		cmocka_unit_test(test_bad_options),
		cmocka_unit_test(test_other_versions),
		cmocka_unit_test(test_stats_of_other_versions),
		cmocka_unit_test(test_bad_suspends),
		cmocka_unit_test(test_hints_without_a_scheduler),
		cmocka_unit_test(test_bad_schedulers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
