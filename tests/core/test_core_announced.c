// SPDX-License-Identifier: MIT
/* The core's promises about announced work. */
#include "rules.h"

static void test_announced_work_may_come_on_another_queue(void **state)
{
	struct actor *a, *b;

	(void)state;
	begin(&gp__policy_hpf);
	config(GP__CFG_ARRIVE_GRACE_MS, 1000);
	second_queue(a = actor(ONLINE));
	work(b = actor(OFFLINE));
	work(a);
	arriving(a, S.now + GP__MS);
	gp__queue_ready(&a->hand[1].q, 1, S.now);
	take_orders();
	after(GP__MS);
	assert_true(stopped(b));
	gp__queue_idle(&a->hand[1].q, S.now, 0, S.now);
	rest(a);
	after(GP__MS);
	assert_true(runs(b));
}

/* The core learns how long a hold takes (here 100 us) and makes room twice as early. */
static void test_arriving_makes_room_ahead_and_expires(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	S.answer_ns = 100 * GP__US;
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	work(on);
	after(GP__MS);
	rest(on);
	after(GP__MS);
	assert_true(runs(off));
	arriving(on, S.now + 10 * GP__MS);
	after(10 * GP__MS - 200 * GP__US - 1);
	assert_int_equal(off->nr_stops, 1);
	after(1);
	assert_int_equal(off->nr_stops, 2);
	assert_why(off, GP__RULE_PRIORITY, on->e.id);
	after(200 * GP__US + 10 * GP__MS - 1);
	assert_true(stopped(off));
	after(1 + 100 * GP__US);
	assert_true(runs(off));
}

static void test_arriving_work_that_comes_is_no_longer_waited_for(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	arriving(on, S.now);
	assert_true(stopped(off));
	after(GP__MS);
	work(on);
	after(20 * GP__MS);
	assert_true(stopped(off));
	rest(on);
	assert_true(runs(off));
}

/* Of times that vary, most count: 100 us and 500 us by turns are 300 us, and 200 us off. */
static void test_arriving_makes_room_earlier_if_holds_vary(void **state)
{
	struct actor *on, *off;
	int i;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	for (i = 0; i < 100; i++) {
		S.answer_ns = (i % 2 ? 500 : 100) * GP__US;
		work(on);
		after(GP__MS);
		rest(on);
		after(GP__MS);
	}
	assert_true(runs(off));
	assert_in_range(gp__dev_lead_ns(&S.dev[0]), 1000 * GP__US, 1200 * GP__US);
	i = (int)off->nr_stops;
	arriving(on, S.now + 10 * GP__MS);
	after(9 * GP__MS - 200 * GP__US - 1);
	assert_int_equal(off->nr_stops, i);
	after(200 * GP__US + 1);
	assert_int_equal(off->nr_stops, i + 1);
}

/* The first announcement finds room as well, although no hold was measured yet. */
static void test_arriving_is_prepared_before_any_hold_was_measured(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	S.answer_ns = GP__MS;
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	arriving(on, S.now + 5 * GP__MS);
	after(2 * GP__MS);
	assert_true(runs(off));
	after(2 * GP__MS);
	assert_true(stopped(off));
}

static void test_arriving_work_that_is_over_is_not_waited_for(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	arriving(on, S.now);
	assert_true(stopped(off));
	arriving(on, 0);
	assert_true(runs(off));
	/* Also before room was made for it; calling it off does not count as a miss. */
	arriving(on, S.now + GP__S);
	arriving(on, 0);
	after(2 * GP__S);
	assert_int_equal(off->nr_stops, 1);
	arriving(on, S.now);
	assert_true(stopped(off));
}

static void test_arriving_ends_a_gap_in_the_work_when_it_is_over(void **state)
{
	struct actor *on, *off;

	(void)state;
	begin_strict();
	config(GP__CFG_LINGER_US, 1000);
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	rest(on);
	assert_true(stopped(off));
	arriving(on, 0);
	assert_true(runs(off));
}

static void test_arriving_said_again_does_not_prolong_it(void **state)
{
	struct actor *on, *off;
	int i;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	for (i = 0; i < 9; i++) {
		arriving(on, S.now);
		after(GP__MS);
		assert_true(stopped(off));
	}
	arriving(on, S.now);
	after(GP__MS);
	assert_true(runs(off));
}

/* Announcements without work hold others for at most half of the time. */
static void test_arriving_in_vain_is_not_believed_again_at_once(void **state)
{
	struct actor *on, *off;
	u64 held = 0;
	int i;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	on = actor(ONLINE);
	for (i = 0; i < 1000; i++) {
		arriving(on, S.now);
		held += stopped(off);
		after(GP__MS);
	}
	assert_in_range(held, 300, 500);
	/* Work that arrives restores the trust. */
	arriving(on, S.now);
	while (stopped(off))
		after(GP__MS);
	work(on);
	rest(on);
	arriving(on, S.now);
	assert_true(stopped(off));
}

/* A time no clock shows must not hide the timers of others. */
static void test_arriving_is_not_prepared_by_an_answer_that_came_too_late(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	off->manner = SILENT;
	work(on = actor(ONLINE));
	after(100 * GP__S);
	answer(off, 0);
	rest(on);
	assert_true(runs(off));
	arriving(on, S.now + 50 * GP__S);
	after(49 * GP__S);
	assert_true(runs(off));
}

static void test_arriving_while_busy_is_not_waited_for_afterwards(void **state)
{
	struct actor *off, *on;

	(void)state;
	begin_strict();
	work(off = actor(OFFLINE));
	work(on = actor(ONLINE));
	arriving(on, S.now + GP__MS);
	after(2 * GP__MS);
	/* It was at work when the announced work came, and has done that, too. */
	rest(on);
	assert_true(runs(off));
	/* But work announced for later is waited for. */
	work(on);
	arriving(on, S.now + 3 * GP__MS);
	after(3 * GP__MS - 1);
	rest(on);
	assert_true(runs(off));
	after(1);
	assert_true(stopped(off));
}

static void test_arriving_under_edf_is_as_urgent_as_the_job_will_be(void **state)
{
	struct actor *a, *b;
	int i;

	(void)state;
	begin(&gp__policy_edf);
	a = actor(OFFLINE, .deadline_ns = 10 * GP__MS);
	work(b = actor(ONLINE));
	/* The first job, and one long after the deadline of the one before. */
	for (i = 0; i < 2; i++) {
		arriving(a, S.now);
		assert_true(stopped(b));
		after(GP__MS);
		work(a);
		assert_true(stopped(b) && runs(a));
		after(9 * GP__MS);
		assert_true(stopped(b));
		rest(a);
		assert_true(runs(b));
		after(GP__S);
	}
}

static void test_arriving_at_the_end_of_time_disturbs_no_other(void **state)
{
	struct actor *off;

	(void)state;
	begin_strict();
	config(GP__CFG_MAX_HOLD_MS, 100);
	arriving(actor(NORMAL), GP__NEVER - 1);
	work(actor(ONLINE));
	work(off = actor(OFFLINE));
	after(100 * GP__MS);
	assert_true(runs(off));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(announced_work_may_come_on_another_queue),
		T(arriving_makes_room_ahead_and_expires),
		T(arriving_makes_room_earlier_if_holds_vary),
		T(arriving_work_that_comes_is_no_longer_waited_for),
		T(arriving_is_prepared_before_any_hold_was_measured),
		T(arriving_work_that_is_over_is_not_waited_for),
		T(arriving_ends_a_gap_in_the_work_when_it_is_over),
		T(arriving_said_again_does_not_prolong_it),
		T(arriving_in_vain_is_not_believed_again_at_once),
		T(arriving_is_not_prepared_by_an_answer_that_came_too_late),
		T(arriving_while_busy_is_not_waited_for_afterwards),
		T(arriving_under_edf_is_as_urgent_as_the_job_will_be),
		T(arriving_at_the_end_of_time_disturbs_no_other),
	};

	return cmocka_run_group_tests_name("core announced", tests, NULL, NULL);
}
