// SPDX-License-Identifier: MIT
/* The metrics that gpreemptd gives to those who may have them. */
#include "users.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"

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

/* The processor time of the daemon's thread. */
static u64 used_ns(const struct rig *r)
{
	struct timespec ts;
	clockid_t clock;

	assert_int_equal(pthread_getcpuclockid(r->thread, &clock), 0);
	assert_int_equal(clock_gettime(clock, &ts), 0);
	return (u64)ts.tv_sec * GP__S + (u64)ts.tv_nsec;
}

static void add_groups(struct gp__wire_client *c, u32 nr)
{
	char tag[16];

	for (u32 i = 0; i < nr; i++) {
		struct gp__wire_queue_add q;

		snprintf(tag, sizeof(tag), "tag-%u", i);
		q = queue_of(OFFLINE, "gpu-a", tag);
		q.slot = i;
		assert_int_equal(gp__wire_client_request(c, &q, NULL), 0);
		gp__wire_client_memory(c, i, GP__WIRE_MEMORY_KNOWN | (1 << 20));
	}
}

/* The least of several. */
static u64 time_of_metrics(u32 nr_groups)
{
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client c;
	u64 least = GP__NEVER;
	struct rig r;

	rig_up(&r, NULL);
	assert_int_equal(open_client(&c, &r, "many", nr_groups, text), 0);
	add_groups(&c, nr_groups);
	rig_rest(&r);
	for (int i = 0; i < 8; i++) {
		u64 begin = used_ns(&r);
		json_t *answer = rig_ask(&r, ASK);

		least = gp__min_u64(least, used_ns(&r) - begin);
		json_decref(answer);
	}
	gp__wire_client_close(&c);
	rig_down(&r);
	return least;
}

/* Most groups of a user with many tags are one row, which is written at once. */
static void a_row_of_many_groups_takes_a_moment(void **state)
{
	u64 few, many;

	(void)state;
	few = time_of_metrics(128);
	many = time_of_metrics(1024);
	print_message("%.3f ms for 128 groups, %.3f ms for 1024\n", gp__to_ms(few),
		      gp__to_ms(many));
	assert_true(many < 4 * few);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_of_many_groups_takes_a_moment),
		cmocka_unit_test(a_preemption_is_counted),
		cmocka_unit_test(a_hold_without_new_work_is_not_timed),
		cmocka_unit_test(scheduling_that_is_off_shows),
		cmocka_unit_test(users_get_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
