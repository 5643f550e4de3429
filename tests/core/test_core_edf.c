// SPDX-License-Identifier: MIT
/* The core's promises about earliest deadline first. */
#include "rules.h"

static void test_edf_runs_the_earliest_deadline(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_edf);
	a = actor(.deadline_ns = 20 * GP__MS);
	b = actor(.deadline_ns = 10 * GP__MS);
	work(a);
	after(GP__MS);
	work(b);
	assert_true(runs(b) && stopped(a));
	assert_why(a, GP__RULE_DEADLINE, b->e.id);
	rest(b);
	assert_true(runs(a));
}

static void test_edf_a_job_may_name_its_deadline(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_edf);
	a = actor(.deadline_ns = 20 * GP__MS);
	b = actor(.deadline_ns = 10 * GP__MS);
	work(a);
	work(b);
	gp__entity_deadline(&a->e, S.now + GP__MS, S.now);
	take_orders();
	assert_true(runs(a) && stopped(b));
	gp__entity_deadline(&a->e, 0, S.now);
	take_orders();
	assert_true(runs(b) && stopped(a));
}

static void test_edf_tells_deadlines_apart_as_long_as_clocks_go(void **state)
{
	struct actor *a, *b, *c;

	(void)state;
	begin(&gp__policy_edf);
	S.now = GP__TIME_END - GP__S;
	work(c = actor(.prio = GP__PRIO_LIMIT));
	work(b = actor(.prio = -GP__PRIO_LIMIT, .deadline_ns = 20 * GP__MS));
	work(a = actor(.deadline_ns = 10 * GP__MS));
	assert_true(runs(a) && stopped(b) && stopped(c));
	rest(a);
	assert_true(runs(b) && stopped(c));
}

static void test_edf_a_late_job_yields(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_edf);
	a = actor(.deadline_ns = 10 * GP__MS);
	b = actor(.deadline_ns = 20 * GP__MS);
	work(a);
	work(b);
	after(10 * GP__MS - 1);
	assert_true(runs(a) && stopped(b));
	after(1);
	assert_true(runs(b) && stopped(a));
	rest(a);
	work(a);
	assert_true(stopped(a)); /* a new job: due after b's */
	rest(b);
	assert_true(runs(a));
}

static void test_edf_a_late_job_may_keep_its_place(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_edf);
	policy(&gp__policy_edf, (const u64[]){ 0 });
	a = actor(.deadline_ns = 10 * GP__MS);
	b = actor(.deadline_ns = 20 * GP__MS);
	work(a);
	work(b);
	after(15 * GP__MS);
	assert_true(runs(a) && stopped(b));
}

static void test_edf_a_deadline_may_be_named_before_the_job_is_there(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_edf);
	a = actor(.deadline_ns = 20 * GP__MS);
	b = actor(.deadline_ns = 10 * GP__MS);
	gp__entity_deadline(&a->e, S.now + 5 * GP__MS, S.now);
	work(b);
	work(a);
	after(GP__MS);
	assert_true(runs(a) && stopped(b));
	/* It was for that job: the next one has the program's own again. */
	rest(a);
	after(GP__MS);
	work(a);
	after(GP__MS);
	assert_true(runs(b) && stopped(a));
}

static void test_edf_every_job_has_a_deadline_of_its_own(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_edf);
	config(GP__CFG_LINGER_US, 1000);
	a = actor(.deadline_ns = 10 * GP__MS);
	b = actor(.deadline_ns = 12 * GP__MS);
	work(a);
	work(b);
	after(9 * GP__MS);
	assert_true(runs(a) && stopped(b));
	/* The next job comes before the gap counts as one, and is due later than b's. */
	rest(a);
	work(a);
	after(GP__US * 500);
	assert_true(runs(b) && stopped(a));
}

static void test_edf_background_runs_together_when_no_deadline_waits(void **state)
{
	struct actor *a, *b, *urgent;

	(void)state;
	begin(&gp__policy_edf);
	a = actor(NORMAL);
	b = actor(NORMAL);
	urgent = actor(.deadline_ns = GP__MS);
	work(a);
	work(b);
	assert_true(runs(a) && runs(b));
	work(urgent);
	assert_true(runs(urgent) && stopped(a) && stopped(b));
	rest(urgent);
	assert_true(runs(a) && runs(b));
}

static void test_deadline_at_the_end_of_time_disturbs_no_other(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_edf);
	config(GP__CFG_MAX_HOLD_MS, 100);
	work(a = actor_on(1, NORMAL));
	work(actor_on(1, NORMAL));
	gp__entity_deadline(&a->e, GP__NEVER - 1, S.now);
	take_orders();
	work(actor(.deadline_ns = 10 * GP__MS));
	work(b = actor(.deadline_ns = 20 * GP__MS));
	after(10 * GP__MS);
	assert_true(runs(b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(edf_runs_the_earliest_deadline),
		T(edf_a_job_may_name_its_deadline),
		T(edf_tells_deadlines_apart_as_long_as_clocks_go),
		T(edf_a_late_job_yields),
		T(edf_a_late_job_may_keep_its_place),
		T(edf_a_deadline_may_be_named_before_the_job_is_there),
		T(edf_every_job_has_a_deadline_of_its_own),
		T(edf_background_runs_together_when_no_deadline_waits),
		T(deadline_at_the_end_of_time_disturbs_no_other),
	};

	return cmocka_run_group_tests_name("core edf", tests, NULL, NULL);
}
