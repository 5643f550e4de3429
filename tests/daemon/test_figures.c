// SPDX-License-Identifier: MIT
/* The metrics that gpreemptd gives to those who may have them. */
#include "users.h"

#include <string.h>

#define ASK "{\"op\":\"metrics\"}"

static const json_t *first(json_t *answer, const char *array)
{
	return json_array_get(json_object_get(answer, array), 0);
}

static json_int_t count_in(const json_t *row, const char *histogram)
{
	const json_t *counts = json_object_get(json_object_get(row, histogram), "counts"), *n;
	json_int_t all = 0;
	size_t i;

	json_array_foreach ((json_t *)counts, i, n)
		all += json_integer_value(n);
	return all;
}

static json_int_t by_rule(const json_t *row, const char *what, const char *rule)
{
	return json_integer_value(json_object_get(json_object_get(row, what), rule));
}

static const json_t *row_of(json_t *answer, const char *array, const char *key, const char *value)
{
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(answer, array), i, row) {
		const char *text = json_string_value(json_object_get(row, key));

		if (text && !strcmp(text, value))
			return row;
	}
	fail_msg("no %s with %s %s", array, key, value);
	return NULL;
}

static void a_preemption_is_counted(void **state)
{
	const json_t *gpu, *train, *offline;
	json_t *answer;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	preempt(&t);
	release(&t);
	rig_sync(&t.rig);
	answer = rig_ask(&t.rig, ASK);
	gpu = first(answer, "gpus");
	assert_int_equal(json_integer_value(json_object_get(gpu, "off")), 0);
	assert_int_equal(count_in(gpu, "stop"), 1);
	assert_int_equal(count_in(gpu, "start"), 1);
	assert_int_equal(count_in(gpu, "order"), 2);
	assert_int_equal(count_in(gpu, "work_to_order"), 1);
	train = row_of(answer, "programs", "program", "train");
	assert_int_equal(by_rule(train, "holds", "priority"), 1);
	assert_int_equal(json_object_size(json_object_get(train, "releases")), 1);
	assert_true(json_integer_value(json_object_get(train, "held_ns")) > 0);
	assert_int_equal(by_rule(train, "queues", "free"), 1);
	assert_int_equal(json_integer_value(json_object_get(train, "with_work")), 1);
	offline = row_of(answer, "classes", "class", "offline");
	assert_int_equal(by_rule(offline, "holds", "priority"), 1);
	assert_true(count_in(json_object_get(answer, "daemon"), "turn") > 0);
	json_decref(answer);
	two_down(&t);
}

/* A hold for work that has been there for long says nothing about the time of a decision. */
static void a_hold_without_new_work_is_not_timed(void **state)
{
	json_t *answer;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	preempt(&t);
	json_decref(rig_ask(&t.rig, "{\"op\":\"policy\",\"name\":\"none\"}"));
	agent_obey(&t.offline, 0, GP__WIRE_RELEASE);
	json_decref(rig_ask(&t.rig, "{\"op\":\"policy\",\"name\":\"hpf\"}"));
	agent_obey(&t.offline, 0, GP__WIRE_HOLD);
	rig_sync(&t.rig);
	answer = rig_ask(&t.rig, ASK);
	assert_int_equal(count_in(first(answer, "gpus"), "stop"), 2);
	assert_int_equal(count_in(first(answer, "gpus"), "work_to_order"), 1);
	json_decref(answer);
	two_down(&t);
}

static void scheduling_that_is_off_shows(void **state)
{
	json_t *answer;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	json_decref(rig_ask(&t.rig, "{\"op\":\"off\"}"));
	answer = rig_ask(&t.rig, ASK);
	assert_int_equal(json_integer_value(json_object_get(first(answer, "gpus"), "off")), 1);
	json_decref(answer);
	json_decref(rig_ask(&t.rig, "{\"op\":\"on\"}")); /* leaves no file behind */
	two_down(&t);
}

static void look_for_others(struct rig *r)
{
	json_t *answer = rig_ask(r, ASK);
	char *text = json_dumps(answer, 0);

	EXPECT(!json_array_size(json_object_get(answer, "programs")));
	EXPECT(!json_array_size(json_object_get(answer, "classes")));
	EXPECT(json_array_size(json_object_get(answer, "users")) == 1);
	EXPECT(!strstr(text, "secret"));
}

static void users_get_their_own(void **state)
{
	struct user_process alice;
	json_t *answer;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, CONFIG);
	user_start(&alice, &r, ALICE, join_patiently);
	as(MALLORY, &r, look_for_others);
	answer = rig_ask(&r, ASK);
	assert_int_equal(number_of(first(answer, "programs"), "user"), ALICE);
	json_decref(answer);
	user_end(&alice);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_preemption_is_counted),
		cmocka_unit_test(a_hold_without_new_work_is_not_timed),
		cmocka_unit_test(scheduling_that_is_off_shows),
		cmocka_unit_test(users_get_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
