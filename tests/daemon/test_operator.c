// SPDX-License-Identifier: MIT
/*
 * The operator's word lasts: suspension and priorities apply to a program's new groups, tags and
 * connections and to its descendants, until an operator takes them back.
 */
#include "users.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/verdict.h"

static json_t *group_of(struct rig *r, json_t **answer, size_t i)
{
	*answer = rig_ask(r, "{\"op\":\"list\"}");
	return json_array_get(json_object_get(*answer, "groups"), i);
}

static bool is_suspended(struct rig *r, size_t i)
{
	json_t *answer, *g = group_of(r, &answer, i);
	bool suspended = json_is_true(json_object_get(g, "suspended"));

	EXPECT(json_is_boolean(json_object_get(g, "suspended")));
	json_decref(answer);
	return suspended;
}

static s32 priority(struct rig *r, size_t i)
{
	json_t *answer, *g = group_of(r, &answer, i);
	s32 prio = (s32)json_integer_value(json_object_get(g, "priority"));

	EXPECT(g);
	json_decref(answer);
	return prio;
}

/* The ancestors of a program are found by another thread. */
static void expect_suspended(struct rig *r, size_t i, bool expected)
{
	for (int n = 0; n < 2000 && is_suspended(r, i) != expected; n++)
		usleep(10000);
	EXPECT(is_suspended(r, i) == expected);
}

static void expect_priority(struct rig *r, size_t i, s32 expected)
{
	for (int n = 0; n < 2000 && priority(r, i) != expected; n++)
		usleep(10000);
	EXPECT(priority(r, i) == expected);
}

static void expect_inherited(struct rig *r, size_t i, pid_t from)
{
	pid_t found = 0;

	for (int n = 0; n < 2000 && found != from; n++) {
		json_t *answer, *g = group_of(r, &answer, i);

		found = (pid_t)number_of(g, "inherits_from");
		json_decref(answer);
		usleep(found == from ? 0 : 10000);
	}
	EXPECT(found == from);
}

static void ask(struct rig *r, const char *request)
{
	json_t *answer = rig_ask(r, request);

	if (json_object_get(answer, "error"))
		fprintf(stderr, "%s: %s\n", request,
			json_string_value(json_object_get(answer, "error")));
	EXPECT(!json_object_get(answer, "error"));
	json_decref(answer);
}

static void ask_about(struct rig *r, const char *op, pid_t pid)
{
	char request[160];

	snprintf(request, sizeof(request), "{%s,\"pid\":%d}", op, (int)pid);
	ask(r, request);
}

static void hint(struct agent *a, u32 slot, s32 prio, u32 weight)
{
	struct gp__wire_set_hints m = { .head = { sizeof(m), GP__WIRE_HINTS, 0, 0, 0 },
					.slot = slot,
					.hints = { .prio = prio, .weight = weight } };

	EXPECT(!gp__wire_client_request(&a->client, &m, NULL));
}

static void hint_deadline(struct agent *a, u64 deadline_ns)
{
	struct gp__wire_set_hints m = { .head = { sizeof(m), GP__WIRE_HINTS, 0, 0, 0 },
					.hints = { .prio = OFFLINE, .deadline_ns = deadline_ns } };

	EXPECT(!gp__wire_client_request(&a->client, &m, NULL));
}

static u32 add_tagged(struct agent *a, s32 prio, const char *tag)
{
	struct gp__wire_queue_add q = queue_of(prio, "gpu-a", tag);

	return agent_add(a, &q);
}

/*
 * Groups
 */

static void a_suspended_program_stays_suspended_in_new_groups(void **state)
{
	struct rig r;
	struct agent a;

	(void)state;
	rig_up(&r, NULL);
	agent_join(&r, &a, "train");
	add_tagged(&a, NORMAL, "");
	ask_about(&r, "\"op\":\"suspend\"", getpid());
	assert_true(is_suspended(&r, 0));
	hint(&a, 0, OFFLINE, 0);
	assert_true(is_suspended(&r, 0));
	add_tagged(&a, NORMAL, "new");
	assert_true(is_suspended(&r, 1));
	ask_about(&r, "\"op\":\"resume\"", getpid());
	assert_false(is_suspended(&r, 0));
	assert_false(is_suspended(&r, 1));
	add_tagged(&a, NORMAL, "newer");
	assert_false(is_suspended(&r, 2));
	agent_leave(&a);
	rig_down(&r);
}

static void the_operators_priority_applies_to_new_groups(void **state)
{
	struct rig r;
	struct agent a;

	(void)state;
	rig_up(&r, NULL);
	agent_join(&r, &a, "train");
	add_tagged(&a, NORMAL, "");
	ask_about(&r, "\"op\":\"set\",\"priority\":1", getpid());
	hint(&a, 0, ONLINE, 0);
	assert_int_equal(priority(&r, 0), 1);
	add_tagged(&a, ONLINE, "new");
	assert_int_equal(priority(&r, 1), 1);
	ask_about(&r, "\"op\":\"set\",\"priority\":3", getpid());
	assert_int_equal(priority(&r, 1), 3);
	agent_leave(&a);
	rig_down(&r);
}

static void an_operators_weight_survives_the_programs_hints(void **state)
{
	json_t *answer;
	struct rig r;
	struct agent a;

	(void)state;
	rig_up(&r, NULL);
	agent_join(&r, &a, "train");
	add_tagged(&a, NORMAL, "");
	ask_about(&r, "\"op\":\"set\",\"weight\":5", getpid());
	hint(&a, 0, NORMAL, 1000);
	hint(&a, 0, OFFLINE, 1000);
	assert_int_equal(number_of(group_of(&r, &answer, 0), "weight"), 5);
	assert_int_equal(number_of(first_group(answer), "priority"), OFFLINE);
	json_decref(answer);
	agent_leave(&a);
	rig_down(&r);
}

/* The word about one group is about its tag; the rest of the program is free. */
static void a_tag_of_a_program_is_suspended(void **state)
{
	struct rig r;
	struct agent a;

	(void)state;
	rig_up(&r, NULL);
	agent_join(&r, &a, "train");
	add_tagged(&a, NORMAL, "batch");
	add_tagged(&a, NORMAL, "serve");
	ask(&r, "{\"op\":\"suspend\",\"tag\":\"batch\"}");
	assert_true(is_suspended(&r, 0));
	assert_false(is_suspended(&r, 1));
	add_tagged(&a, OFFLINE, "batch");
	assert_true(is_suspended(&r, 2));
	add_tagged(&a, OFFLINE, "other");
	assert_false(is_suspended(&r, 3));
	ask(&r, "{\"op\":\"resume\",\"tag\":\"batch\"}");
	assert_false(is_suspended(&r, 0));
	assert_false(is_suspended(&r, 2));
	agent_leave(&a);
	rig_down(&r);
}

/* Into a group that is there already and is not suspended. */
static void a_suspended_queue_does_not_escape_into_another_group(void **state)
{
	json_t *answer;
	char request[64];
	struct rig r;
	struct agent a;

	(void)state;
	rig_up(&r, NULL);
	agent_join(&r, &a, "train");
	add_tagged(&a, OFFLINE, "");
	add_tagged(&a, NORMAL, "");
	snprintf(request, sizeof(request), "{\"op\":\"suspend\",\"group\":%u}",
		 number_of(group_of(&r, &answer, 0), "group"));
	json_decref(answer);
	ask(&r, request);
	assert_false(is_suspended(&r, 1));
	hint(&a, 0, NORMAL, 0);
	assert_true(is_suspended(&r, 0));
	agent_leave(&a);
	rig_down(&r);
}

/*
 * Processes
 */

static void add_observed(struct agent *a, const char *tag)
{
	struct gp__wire_queue_add q = queue_of(OFFLINE, "gpu-a", tag);

	q.flags |= GP__WIRE_OBSERVED;
	agent_add(a, &q);
}

/* A program that is only observed is never held, but it cannot become one to escape. */
static void a_suspended_program_does_not_escape_by_being_observed(void **state)
{
	struct rig r;
	struct agent a;

	(void)state;
	rig_up(&r, NULL);
	agent_join(&r, &a, "train");
	add(&a, OFFLINE);
	ask_about(&r, "\"op\":\"suspend\"", getpid());
	agent_obey(&a, 0, GP__WIRE_HOLD);
	add_observed(&a, "new");
	agent_expect(&a, 1, GP__WIRE_HOLD);
	agent_leave(&a);
	agent_join(&r, &a, "train");
	add_observed(&a, "");
	agent_obey(&a, 0, GP__WIRE_HOLD);
	ask_about(&r, "\"op\":\"resume\"", getpid());
	agent_expect(&a, 0, GP__WIRE_RELEASE);
	agent_leave(&a);
	rig_down(&r);
}

static void a_program_that_joins_again_is_still_suspended(void **state)
{
	struct rig r;
	struct agent a;

	(void)state;
	rig_up(&r, NULL);
	agent_join(&r, &a, "train");
	add_tagged(&a, NORMAL, "");
	ask_about(&r, "\"op\":\"suspend\"", getpid());
	ask_about(&r, "\"op\":\"set\",\"priority\":1", getpid());
	agent_leave(&a);
	agent_join(&r, &a, "another name");
	add_tagged(&a, NORMAL, "new");
	expect_suspended(&r, 0, true);
	expect_priority(&r, 0, 1);
	ask_about(&r, "\"op\":\"resume\"", getpid());
	agent_leave(&a);
	agent_join(&r, &a, "another name");
	add_tagged(&a, NORMAL, "new");
	expect_suspended(&r, 0, false);
	agent_leave(&a);
	rig_down(&r);
}

/* How a process leaves its ancestors behind. */
enum escape { FORKS, FORKS_TWICE, NEW_SESSION };

static enum escape escape;

/* A page that parent and descendants share. */
static struct shared {
	_Atomic pid_t joined;
	_Atomic bool may_join;
} * shared;

static void make_shared(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_true(shared != MAP_FAILED);
}

/* Joins when it is told to, and stays until its parent's end is closed. */
static void join_later(struct rig *r)
{
	for (int i = 0; !atomic_load(&shared->may_join); i++) {
		EXPECT(i < 60000);
		usleep(1000);
	}
	join(r, OFFLINE, "child");
	atomic_store(&shared->joined, getpid());
}

/* Joins, and has a descendant that joins later. */
static void join_and_fork(struct rig *r)
{
	pid_t pid;

	join(r, OFFLINE, "parent");
	pid = fork();
	EXPECT(pid >= 0);
	if (pid)
		return;
	if (escape != FORKS)
		setsid();
	if (escape == FORKS_TWICE && fork())
		_exit(0);
	join_later(r);
	alarm(60);
	pause();
}

static void end_child(void)
{
	pid_t pid = atomic_load(&shared->joined);

	assert_true(pid > 0);
	kill(pid, SIGKILL);
	while (!kill(pid, 0) && usleep(1000) == 0) {
		char state = 0, path[32];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		f = fopen(path, "re");
		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1 || state == 'Z') {
			if (f)
				fclose(f);
			break;
		}
		fclose(f);
	}
}

static void wait_for_child(void)
{
	for (int i = 0; i < 2000 && !atomic_load(&shared->joined); i++)
		usleep(10000);
	assert_true(atomic_load(&shared->joined) > 0);
}

static void descendants_inherit(enum escape way)
{
	struct user_process alice;
	struct rig r;

	NEEDS_ROOT();
	make_shared();
	escape = way;
	rig_up(&r, NULL);
	user_start(&alice, &r, ALICE, join_and_fork);
	expect_suspended(&r, 0, false);
	ask_about(&r, "\"op\":\"suspend\"", alice.pid);
	ask_about(&r, "\"op\":\"set\",\"priority\":1", alice.pid);
	atomic_store(&shared->may_join, true);
	wait_for_child();
	expect_inherited(&r, 1, alice.pid);
	assert_true(is_suspended(&r, 1));
	assert_int_equal(priority(&r, 1), 1);
	/* It follows its ancestor. */
	ask_about(&r, "\"op\":\"resume\"", alice.pid);
	assert_false(is_suspended(&r, 1));
	end_child();
	user_end(&alice);
	rig_down(&r);
}

static void a_child_of_a_suspended_program_is_suspended(void **state)
{
	(void)state;
	descendants_inherit(FORKS);
}

static void a_new_session_does_not_help(void **state)
{
	(void)state;
	descendants_inherit(NEW_SESSION);
}

static void an_adopted_descendant_is_suspended(void **state)
{
	(void)state;
	descendants_inherit(FORKS_TWICE);
}

/* The program has ended; its adopted descendant joins afterwards. */
static void the_word_about_an_ended_program_applies_to_what_it_left(void **state)
{
	struct user_process alice;
	json_t *answer, *left;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	make_shared();
	escape = FORKS_TWICE;
	rig_up(&r, NULL);
	user_start(&alice, &r, ALICE, join_and_fork);
	ask_about(&r, "\"op\":\"suspend\"", alice.pid);
	/* Until its process was looked at: nothing can be told of one that has ended. */
	rig_rest(&r);
	user_end(&alice);
	answer = rig_ask(&r, "{\"op\":\"list\"}");
	left = json_array_get(json_object_get(answer, "left"), 0);
	assert_int_equal(number_of(left, "pid"), alice.pid);
	assert_true(json_is_true(json_object_get(left, "suspended")));
	json_decref(answer);
	atomic_store(&shared->may_join, true);
	wait_for_child();
	expect_inherited(&r, 0, alice.pid);
	assert_true(is_suspended(&r, 0));
	ask_about(&r, "\"op\":\"resume\"", atomic_load(&shared->joined));
	assert_false(is_suspended(&r, 0));
	end_child();
	ask_about(&r, "\"op\":\"resume\"", alice.pid);
	answer = rig_ask(&r, "{\"op\":\"list\"}");
	for (size_t i = 0; i < json_array_size(json_object_get(answer, "left")); i++)
		assert_int_not_equal(
			number_of(json_array_get(json_object_get(answer, "left"), i), "pid"),
			alice.pid);
	json_decref(answer);
	rig_down(&r);
}

/* A program that the suspended one did not start. */
static void other_programs_of_the_user_run(void **state)
{
	struct user_process alice, other;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, NULL);
	user_start(&alice, &r, ALICE, join_patiently);
	ask_about(&r, "\"op\":\"suspend\"", alice.pid);
	user_start(&other, &r, ALICE, join_patiently);
	expect_suspended(&r, 1, false);
	assert_true(is_suspended(&r, 0));
	user_end(&other);
	user_end(&alice);
	rig_down(&r);
}

/*
 * Administrators
 */

/* Tries to undo what was said about its own program. */
static void undo(struct rig *r)
{
	expect_refused(r, "{\"op\":\"resume\",\"tag\":\"secret-tag\"}", EACCES);
	expect_refused(r, "{\"op\":\"set\",\"tag\":\"secret-tag\",\"priority\":2}", EACCES);
	expect_refused(r, "{\"op\":\"set\",\"tag\":\"secret-tag\",\"weight\":7,\"priority\":0}",
		       EACCES);
	ask(r, "{\"op\":\"set\",\"tag\":\"secret-tag\",\"weight\":7}");
	/* To say it again does not make it its own. */
	ask(r, "{\"op\":\"suspend\",\"tag\":\"secret-tag\"}");
	expect_refused(r, "{\"op\":\"resume\",\"tag\":\"secret-tag\"}", EACCES);
}

static void undo_own(struct rig *r)
{
	ask(r, "{\"op\":\"suspend\",\"tag\":\"secret-tag\"}");
	ask(r, "{\"op\":\"resume\",\"tag\":\"secret-tag\"}");
	ask(r, "{\"op\":\"set\",\"tag\":\"secret-tag\",\"priority\":1}");
	ask(r, "{\"op\":\"set\",\"tag\":\"secret-tag\",\"priority\":2}");
}

/* Suspends more of its own programs, which leave, than are remembered. */
static void suspend_many(struct rig *r)
{
	for (int i = 0; i < GP__VERDICTS_PER_USER + 5; i++) {
		pid_t pid = fork();
		int status;

		EXPECT(pid >= 0);
		if (!pid) {
			join(r, OFFLINE, "own");
			ask(r, "{\"op\":\"suspend\",\"tag\":\"own\"}");
			_exit(0);
		}
		EXPECT(waitpid(pid, &status, 0) == pid);
		EXPECT(!status);
	}
}

static void an_owner_cannot_push_out_an_administrators_word(void **state)
{
	struct user_process alice;
	json_t *answer, *left;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, NULL);
	user_start(&alice, &r, ALICE, join_patiently);
	ask_about(&r, "\"op\":\"suspend\"", alice.pid);
	user_end(&alice);
	as(ALICE, &r, suspend_many);
	for (size_t nr = 0, tries = 0; nr != GP__VERDICTS_PER_USER; tries++) {
		assert_true(tries < 100000);
		answer = rig_ask(&r, "{\"op\":\"list\"}");
		left = json_object_get(answer, "left");
		nr = json_array_size(left);
		assert_true(nr <= GP__VERDICTS_PER_USER);
		assert_int_equal(number_of(json_array_get(left, 0), "pid"), alice.pid);
		json_decref(answer);
	}
	rig_down(&r);
}

static void an_owner_cannot_undo_an_administrators_word(void **state)
{
	struct user_process alice;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, NULL);
	user_start(&alice, &r, ALICE, join_patiently);
	as(ALICE, &r, undo_own);
	ask_about(&r, "\"op\":\"suspend\"", alice.pid);
	ask_about(&r, "\"op\":\"set\",\"priority\":1", alice.pid);
	as(ALICE, &r, undo);
	assert_true(is_suspended(&r, 0));
	assert_int_equal(priority(&r, 0), 1);
	ask_about(&r, "\"op\":\"resume\"", alice.pid);
	assert_false(is_suspended(&r, 0));
	user_end(&alice);
	rig_down(&r);
}

/*
 * Policies
 */

/* Anybody can say that only the presence of a program is seen. */
static void a_policy_can_be_forced(void **state)
{
	struct two t;
	json_t *answer;

	(void)state;
	two_up(&t, NULL);
	hint_deadline(&t.offline, GP__MS);
	atomic_store(&t.offline.client.status->slot[0].sees, GP__WIRE_SEES_PRESENCE);
	agent_work(&t.offline, 0, true);
	expect_refused(&t.rig, "{\"op\":\"policy\",\"name\":\"edf\"}", EOPNOTSUPP);
	ask(&t.rig, "{\"op\":\"policy\",\"name\":\"edf\",\"params\":{\"late_yields\":0},"
		    "\"force\":true}");
	answer = rig_ask(&t.rig, "{\"op\":\"list\"}");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(answer, "daemon"), "policy")),
		"edf");
	json_decref(answer);
	/* It has no deadline, so the more urgent one goes first. */
	agent_work(&t.online, 0, true);
	agent_obey(&t.offline, 0, GP__WIRE_HOLD);
	agent_work(&t.online, 0, false);
	agent_obey(&t.offline, 0, GP__WIRE_RELEASE);
	two_down(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_suspended_program_stays_suspended_in_new_groups),
		cmocka_unit_test(the_operators_priority_applies_to_new_groups),
		cmocka_unit_test(an_operators_weight_survives_the_programs_hints),
		cmocka_unit_test(a_tag_of_a_program_is_suspended),
		cmocka_unit_test(a_suspended_queue_does_not_escape_into_another_group),
		cmocka_unit_test(a_suspended_program_does_not_escape_by_being_observed),
		cmocka_unit_test(a_program_that_joins_again_is_still_suspended),
		cmocka_unit_test(a_child_of_a_suspended_program_is_suspended),
		cmocka_unit_test(a_new_session_does_not_help),
		cmocka_unit_test(an_adopted_descendant_is_suspended),
		cmocka_unit_test(the_word_about_an_ended_program_applies_to_what_it_left),
		cmocka_unit_test(other_programs_of_the_user_run),
		cmocka_unit_test(an_owner_cannot_undo_an_administrators_word),
		cmocka_unit_test(an_owner_cannot_push_out_an_administrators_word),
		cmocka_unit_test(a_policy_can_be_forced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
