// SPDX-License-Identifier: MIT
/*
 * GPUs that do not answer, or were reset: they are dropped with a line in the log, and taken back.
 * A program that says so without reason stops nobody else's scheduling.
 */
#include "users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static json_t *gpu_of(struct rig *r, json_t **answer)
{
	*answer = rig_ask(r, "{\"op\":\"list\"}");
	return json_array_get(json_object_get(*answer, "gpus"), 0);
}

static bool is_lost(struct rig *r)
{
	json_t *answer, *gpu = gpu_of(r, &answer);
	bool lost = json_is_true(json_object_get(gpu, "lost"));

	assert_true(json_is_boolean(json_object_get(gpu, "lost")));
	assert_true(json_is_false(json_object_get(gpu, "off")));
	json_decref(answer);
	return lost;
}

static u32 nr_lost_groups(struct rig *r)
{
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}"), *group;
	size_t i;
	u32 n = 0;

	json_array_foreach (json_object_get(answer, "groups"), i, group) {
		n += json_is_true(json_object_get(group, "lost"));
	}
	json_decref(answer);
	return n;
}

/* The order fails with this error. */
static void fail_order(struct agent *a, u32 slot, enum gp__wire_verb verb, int result)
{
	u64 order = agent_expect(a, slot, verb);

	gp__wire_client_done(&a->client, slot, gp__wire_order_number(order), result, gp__clock_ns(),
			     1000);
}

/* The patient program's hold fails so. */
static void fail_hold(struct two *t, int result)
{
	agent_work(&t->offline, 0, true);
	agent_work(&t->online, 0, true);
	fail_order(&t->offline, 0, GP__WIRE_HOLD, result);
	rig_sync(&t->rig);
}

static void a_lost_gpu_is_dropped_and_taken_back(void **state)
{
	struct agent next;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	assert_false(is_lost(&t.rig));
	fail_hold(&t, -ENODEV);
	assert_true(is_lost(&t.rig));
	assert_int_equal(nr_lost_groups(&t.rig), 2);
	/* Nobody is held there any more, and nothing is tried again. */
	rig_expect_asleep(&t.rig);
	assert_int_equal(agent_order(&t.online, 0), GP__WIRE_RELEASE);
	/* Another queue of a program whose queues are lost says nothing about the GPU. */
	add(&t.offline, NORMAL);
	rig_sync(&t.rig);
	assert_true(is_lost(&t.rig));
	/* A program starts on it: it is scheduled again, and those of before are not believed. */
	agent_join(&t.rig, &next, "next");
	add(&next, OFFLINE);
	rig_sync(&t.rig);
	assert_false(is_lost(&t.rig));
	agent_work(&next, 0, true);
	agent_obey(&next, 0, GP__WIRE_HOLD);
	fail_order(&t.offline, 0, GP__WIRE_HOLD, -ENODEV);
	rig_sync(&t.rig);
	assert_false(is_lost(&t.rig));
	assert_int_equal(nr_lost_groups(&t.rig), 1);
	agent_leave(&next);
	two_down(&t);
}

static void the_last_program_leaves(void **state)
{
	struct two t;

	(void)state;
	two_up(&t, NULL);
	fail_hold(&t, -ENODEV);
	assert_true(is_lost(&t.rig));
	agent_leave(&t.offline);
	agent_leave(&t.online);
	rig_sync(&t.rig);
	agent_join(&t.rig, &t.offline, "offline");
	agent_join(&t.rig, &t.online, "online");
	add(&t.offline, OFFLINE);
	add(&t.online, ONLINE);
	assert_false(is_lost(&t.rig));
	agent_work(&t.offline, 0, true);
	agent_work(&t.online, 0, true);
	agent_obey(&t.offline, 0, GP__WIRE_HOLD);
	two_down(&t);
}

/* As amdkfd answers after a reset: the GPU works, but the program's queues are gone. */
static void a_reset_takes_the_queues_of_a_program(void **state)
{
	struct agent next;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	fail_hold(&t, -EACCES);
	assert_false(is_lost(&t.rig));
	assert_int_equal(nr_lost_groups(&t.rig), 1);
	agent_join(&t.rig, &next, "next");
	add(&next, OFFLINE);
	agent_work(&next, 0, true);
	agent_obey(&next, 0, GP__WIRE_HOLD);
	agent_leave(&next);
	two_down(&t);
}

static void operate(struct rig *r, const char *op, long long group)
{
	char request[96];

	snprintf(request, sizeof(request), "{\"op\":\"%s\",\"group\":%lld}", op, group);
	json_decref(rig_ask(r, request));
}

/* An urgent program whose queues are lost still has packets in its rings: nobody waits for them. */
static void nobody_waits_for_work_that_is_lost(void **state)
{
	json_t *answer;
	long long urgent;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	answer = rig_ask(&t.rig, "{\"op\":\"list\"}");
	urgent = json_integer_value(
		json_object_get(json_array_get(json_object_get(answer, "groups"), 1), "group"));
	json_decref(answer);
	agent_work(&t.offline, 0, true);
	agent_work(&t.online, 0, true);
	agent_obey(&t.offline, 0, GP__WIRE_HOLD);
	operate(&t.rig, "suspend", urgent);
	agent_obey(&t.online, 0, GP__WIRE_HOLD);
	agent_obey(&t.offline, 0, GP__WIRE_RELEASE);
	operate(&t.rig, "resume", urgent);
	agent_obey(&t.offline, 0, GP__WIRE_HOLD);
	fail_order(&t.online, 0, GP__WIRE_RELEASE, -EACCES);
	agent_obey(&t.offline, 0, GP__WIRE_RELEASE);
	/* Whatever it reports. */
	agent_work(&t.online, 0, false);
	agent_work(&t.online, 0, true);
	rig_sync(&t.rig);
	assert_int_equal(agent_order(&t.offline, 0), GP__WIRE_RELEASE);
	two_down(&t);
}

/* It is off for good, whatever happens to the GPU. */
static void off_outlasts_a_loss(void **state)
{
	struct agent next;
	json_t *answer, *gpu;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	fail_hold(&t, -ENODEV);
	json_decref(rig_ask(&t.rig, "{\"op\":\"off\"}"));
	json_decref(rig_ask(&t.rig, "{\"op\":\"on\"}"));
	assert_true(is_lost(&t.rig));
	json_decref(rig_ask(&t.rig, "{\"op\":\"off\"}"));
	agent_join(&t.rig, &next, "next");
	add(&next, OFFLINE);
	rig_sync(&t.rig);
	gpu = gpu_of(&t.rig, &answer);
	assert_true(json_is_true(json_object_get(gpu, "off")));
	assert_true(json_is_false(json_object_get(gpu, "lost")));
	json_decref(answer);
	json_decref(rig_ask(&t.rig, "{\"op\":\"on\"}"));
	agent_leave(&next);
	two_down(&t);
}

static struct agent alice;

static void join_and_lie(struct rig *r)
{
	open_gpu();
	agent_join(r, &alice, "liar");
	add(&alice, OFFLINE);
	agent_work(&alice, 0, true);
	fail_order(&alice, 0, GP__WIRE_HOLD, -ENODEV);
	rig_sync(r);
}

static void a_liar_stops_nobody_elses_scheduling(void **state)
{
	struct agent online, offline;
	struct user_process liar;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, CONFIG);
	open_gpu();
	agent_join(&r, &online, "online");
	agent_join(&r, &offline, "offline");
	add(&online, ONLINE);
	add(&offline, OFFLINE);
	agent_work(&online, 0, true);
	user_start(&liar, &r, ALICE, join_and_lie);
	assert_false(is_lost(&r));
	agent_work(&offline, 0, true);
	agent_obey(&offline, 0, GP__WIRE_HOLD);
	assert_int_equal(nr_lost_groups(&r), 1);
	/* Once a program of the other user says so as well, it is. */
	agent_work(&online, 0, false);
	agent_obey(&offline, 0, GP__WIRE_RELEASE);
	agent_work(&online, 0, true);
	fail_order(&offline, 0, GP__WIRE_HOLD, -ENODEV);
	rig_sync(&r);
	assert_true(is_lost(&r));
	user_end(&liar);
	agent_leave(&online);
	agent_leave(&offline);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lost_gpu_is_dropped_and_taken_back),
		cmocka_unit_test(the_last_program_leaves),
		cmocka_unit_test(a_reset_takes_the_queues_of_a_program),
		cmocka_unit_test(nobody_waits_for_work_that_is_lost),
		cmocka_unit_test(off_outlasts_a_loss),
		cmocka_unit_test(a_liar_stops_nobody_elses_scheduling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
