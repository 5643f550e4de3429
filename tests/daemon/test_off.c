// SPDX-License-Identifier: MIT
/* Scheduling that is switched off and on, and what of it outlasts the daemon. */
#include "users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

static char state_folder[64];

static void keep_in_a_folder(void)
{
	strcpy(state_folder, "/tmp/gpreemptd-state-XXXXXX");
	assert_non_null(mkdtemp(state_folder));
	setenv("STATE_DIRECTORY", state_folder, 1);
}

static void file_path(char path[96])
{
	snprintf(path, 96, "%s/off", state_folder);
}

static void forget_folder(void)
{
	char path[96];

	file_path(path);
	unlink(path);
	assert_int_equal(rmdir(state_folder), 0);
	unsetenv("STATE_DIRECTORY");
}

static void write_file(const char *text)
{
	char path[96];
	FILE *f;

	file_path(path);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fchmod(fileno(f), 0644), 0);
	fclose(f);
}

/* The answer to a request that is not refused. */
static json_t *must(struct rig *r, const char *request)
{
	json_t *answer = rig_ask(r, request);
	const char *error = json_string_value(json_object_get(answer, "error"));

	if (error)
		fail_msg("%s: %s", request, error);
	return answer;
}

static void turn(struct rig *r, const char *request)
{
	json_t *answer = must(r, request);

	assert_true(json_is_true(json_object_get(answer, "saved")));
	json_decref(answer);
}

static bool all_off(struct rig *r)
{
	json_t *answer = must(r, "{\"op\":\"list\"}");
	const json_t *off = json_object_get(json_object_get(answer, "daemon"), "off");
	bool all = json_is_true(json_object_get(off, "all"));

	assert_true(json_is_boolean(json_object_get(off, "all")));
	json_decref(answer);
	return all;
}

static void off_releases_everybody_and_on_holds_again(void **state)
{
	struct agent late;
	struct two t;
	json_t *answer, *list;
	u64 began;

	(void)state;
	two_up(&t, NULL);
	preempt(&t);
	began = gp__clock_ns();
	answer = must(&t.rig, "{\"op\":\"off\"}");
	agent_obey(&t.offline, 0, GP__WIRE_RELEASE);
	print_message("released %.3f ms after the request\n", gp__to_ms(gp__clock_ns() - began));
	assert_int_equal(number_of(answer, "released"), 1);
	json_decref(answer);
	list = must(&t.rig, "{\"op\":\"list\"}");
	assert_true(json_is_true(json_object_get(first_group(list), "off")));
	assert_true(json_is_true(
		json_object_get(json_array_get(json_object_get(list, "gpus"), 0), "off")));
	json_decref(list);
	/* A program that joins now is not scheduled, nor is a suspended one. */
	agent_join(&t.rig, &late, "late");
	add(&late, OFFLINE);
	agent_work(&late, 0, true);
	json_decref(must(&t.rig, "{\"op\":\"suspend\",\"group\":1}"));
	rig_sync(&t.rig);
	assert_int_equal(agent_order(&late, 0), GP__WIRE_RELEASE);
	assert_int_equal(agent_order(&t.offline, 0), GP__WIRE_RELEASE);
	turn(&t.rig, "{\"op\":\"on\"}");
	agent_expect(&late, 0, GP__WIRE_HOLD);
	agent_expect(&t.offline, 0, GP__WIRE_HOLD);
	agent_leave(&late);
	two_down(&t);
}

static void one_gpu_is_switched_off(void **state)
{
	struct gp__wire_queue_add there = queue_of(OFFLINE, "gpu-b", "");
	struct agent other;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	preempt(&t);
	agent_join(&t.rig, &other, "other");
	agent_add(&other, &there);
	turn(&t.rig, "{\"op\":\"off\",\"gpu\":\"gpu-b\"}");
	turn(&t.rig, "{\"op\":\"off\",\"gpu\":\"gpu1\"}");
	rig_sync(&t.rig);
	assert_int_equal(agent_order(&t.offline, 0), GP__WIRE_HOLD);
	turn(&t.rig, "{\"op\":\"off\",\"gpu\":\"0\"}");
	agent_obey(&t.offline, 0, GP__WIRE_RELEASE);
	assert_false(all_off(&t.rig));
	turn(&t.rig, "{\"op\":\"on\",\"gpu\":\"gpu0\"}");
	agent_obey(&t.offline, 0, GP__WIRE_HOLD);
	turn(&t.rig, "{\"op\":\"on\",\"gpu\":\"gpu-b\"}");
	turn(&t.rig, "{\"op\":\"off\"}");
	expect_refused(&t.rig, "{\"op\":\"on\",\"gpu\":\"0\"}", EBUSY);
	expect_refused(&t.rig, "{\"op\":\"off\",\"gpu\":\"7\"}", ENOENT);
	expect_refused(&t.rig, "{\"op\":\"off\",\"gpu\":\"\"}", EINVAL);
	expect_refused(&t.rig, "{\"op\":\"off\",\"gpu\":7}", EINVAL);
	turn(&t.rig, "{\"op\":\"on\"}");
	agent_leave(&other);
	two_down(&t);
}

static u32 add_held(struct agent *a, s32 prio)
{
	struct gp__wire_queue_add q = queue_of(prio, "gpu-a", "");

	q.flags |= GP__WIRE_HELD;
	return agent_add(a, &q);
}

static void off_outlasts_the_daemon(void **state)
{
	struct two t;

	(void)state;
	keep_in_a_folder();
	rig_up(&t.rig, NULL);
	turn(&t.rig, "{\"op\":\"off\"}");
	rig_down(&t.rig);
	rig_up(&t.rig, NULL);
	assert_true(all_off(&t.rig));
	/* A hold of the daemon before ends at once. */
	agent_join(&t.rig, &t.offline, "train");
	add_held(&t.offline, OFFLINE);
	agent_expect(&t.offline, 0, GP__WIRE_RELEASE);
	agent_leave(&t.offline);
	turn(&t.rig, "{\"op\":\"on\"}");
	turn(&t.rig, "{\"op\":\"off\",\"gpu\":\"gpu-a\"}");
	rig_crash(&t.rig);
	two_up(&t, NULL);
	assert_false(all_off(&t.rig));
	agent_work(&t.offline, 0, true);
	agent_work(&t.online, 0, true);
	rig_sync(&t.rig);
	assert_int_equal(agent_order(&t.offline, 0), GP__WIRE_RELEASE);
	turn(&t.rig, "{\"op\":\"on\"}");
	agent_expect(&t.offline, 0, GP__WIRE_HOLD);
	two_down(&t);
	rig_up(&t.rig, NULL);
	assert_false(all_off(&t.rig));
	rig_down(&t.rig);
	forget_folder();
}

/* Somebody has switched something off. */
static void all_is_off_if_the_file_cannot_be_read(void **state)
{
	struct rig r;

	(void)state;
	keep_in_a_folder();
	write_file("gpu gpu-a\nsomething else\n");
	rig_up(&r, NULL);
	assert_true(all_off(&r));
	turn(&r, "{\"op\":\"on\"}");
	assert_false(all_off(&r));
	rig_down(&r);
	forget_folder();
}

static void expect_nothing_off(void)
{
	struct rig r;

	rig_up(&r, NULL);
	assert_false(all_off(&r));
	rig_down(&r);
}

/* In a folder that is shared, others can make the file before gpreemptd does. */
static void a_file_of_another_user_is_ignored(void **state)
{
	char path[96];

	(void)state;
	keep_in_a_folder();
	file_path(path);
	write_file("all\n");
	assert_int_equal(chmod(path, 0666), 0);
	expect_nothing_off();
	if (!geteuid()) {
		write_file("all\n");
		assert_int_equal(chown(path, ALICE, ALICE), 0);
		expect_nothing_off();
	}
	/* To open a pipe may take for ever. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_nothing_off();
	forget_folder();
}

static void a_link_is_not_followed(void **state)
{
	char path[96], fresh[104], other[104], text[16] = "";
	struct rig r;
	FILE *f;

	(void)state;
	keep_in_a_folder();
	file_path(path);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	snprintf(other, sizeof(other), "%s.other", path);
	write_file("precious\n");
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, fresh), 0);
	rig_up(&r, NULL);
	turn(&r, "{\"op\":\"off\"}");
	rig_down(&r);
	f = fopen(other, "re");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_string_equal(text, "precious\n");
	assert_int_equal(unlink(other), 0);
	forget_folder();
}

static bool is_gpu_off(struct rig *r, size_t i)
{
	json_t *answer = must(r, "{\"op\":\"list\"}");
	bool off = json_is_true(
		json_object_get(json_array_get(json_object_get(answer, "gpus"), i), "off"));

	json_decref(answer);
	return off;
}

/* A program chooses the key of its GPU: it must not be taken for the number of another one. */
static void a_key_that_looks_like_a_number_names_nothing(void **state)
{
	struct gp__wire_queue_add decoy = queue_of(OFFLINE, "gpu1", "");
	struct gp__wire_queue_add real = queue_of(OFFLINE, "gpu-b", "");
	struct agent first, second;
	struct rig r;

	(void)state;
	rig_up(&r, NULL);
	agent_join(&r, &first, "decoy");
	agent_add(&first, &decoy);
	agent_join(&r, &second, "train");
	agent_add(&second, &real);
	turn(&r, "{\"op\":\"off\",\"gpu\":\"gpu1\"}");
	assert_false(is_gpu_off(&r, 0));
	assert_true(is_gpu_off(&r, 1));
	turn(&r, "{\"op\":\"on\"}");
	agent_leave(&second);
	agent_leave(&first);
	rig_down(&r);
}

static void a_file_that_cannot_be_written_is_told(void **state)
{
	const char *why;
	json_t *answer;
	struct rig r;

	(void)state;
	keep_in_a_folder();
	rig_up(&r, NULL);
	assert_int_equal(rmdir(state_folder), 0);
	answer = must(&r, "{\"op\":\"off\"}");
	assert_true(json_is_false(json_object_get(answer, "saved")));
	why = json_string_value(json_object_get(answer, "unsaved_why"));
	assert_string_equal(why, strerror(ENOENT));
	json_decref(answer);
	assert_true(all_off(&r));
	rig_down(&r);
	assert_int_equal(mkdir(state_folder, 0755), 0);
	forget_folder();
}

static void try_to_switch(struct rig *r)
{
	expect_refused(r, "{\"op\":\"off\"}", EPERM);
	expect_refused(r, "{\"op\":\"on\"}", EPERM);
}

static void only_administrators_switch(void **state)
{
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, NULL);
	as(ALICE, &r, try_to_switch);
	assert_false(all_off(&r));
	rig_down(&r);
}

/*
 * Names
 */

/* A machine with two GPUs, listed in another order than that of their numbers. */
static const struct gp__devices *machine(void)
{
	static union {
		struct gp__devices devices;
		char room[sizeof(struct gp__devices) + 2 * sizeof(struct gp__device)];
	} m;

	m.devices.nr = 2;
	strcpy(m.devices.device[0].key, "gpu-b");
	m.devices.device[0].order = 4;
	strcpy(m.devices.device[1].key, "gpu-a");
	m.devices.device[1].order = 3;
	return &m.devices;
}

static long long gpu_number(struct rig *r, const char *key)
{
	json_t *answer = must(r, "{\"op\":\"list\"}"), *gpu;
	long long number = -1;
	size_t i;

	json_array_foreach (json_object_get(answer, "gpus"), i, gpu) {
		if (!strcmp(json_string_value(json_object_get(gpu, "key")), key))
			number = json_integer_value(json_object_get(gpu, "gpu"));
	}
	json_decref(answer);
	return number;
}

static void expect_switched(struct rig *r, const char *name, const char *key, long long number)
{
	char request[64];
	json_t *answer;

	snprintf(request, sizeof(request), "{\"op\":\"off\",\"gpu\":\"%s\"}", name);
	answer = must(r, request);
	assert_string_equal(json_string_value(json_object_get(answer, "gpu")), key);
	assert_int_equal(json_integer_value(json_object_get(answer, "number")), number);
	json_decref(answer);
}

/* In the order in which programs join, they would be gpu0, gpu1 and gpu2. */
static void a_gpu_has_the_number_of_its_place(void **state)
{
	struct gp__wire_queue_add q;
	struct agent a;
	struct rig r;

	(void)state;
	keep_in_a_folder();
	rig_up(&r, NULL);
	r.server.registry.machine = machine();
	r.server.registry.one_user = true;
	/* No program has joined. */
	expect_switched(&r, "gpu1", "gpu-b", 1);
	expect_switched(&r, "0", "gpu-a", 0);
	agent_join(&r, &a, "program");
	q = queue_of(NORMAL, "unknown", "");
	agent_add(&a, &q);
	q = queue_of(NORMAL, "gpu-b", "");
	agent_add(&a, &q);
	q = queue_of(NORMAL, "gpu-a", "");
	agent_add(&a, &q);
	assert_int_equal(gpu_number(&r, "unknown"), 2);
	assert_int_equal(gpu_number(&r, "gpu-b"), 1);
	assert_int_equal(gpu_number(&r, "gpu-a"), 0);
	expect_switched(&r, "gpu2", "unknown", 2);
	agent_leave(&a);
	rig_down(&r);
	forget_folder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off_releases_everybody_and_on_holds_again),
		cmocka_unit_test(one_gpu_is_switched_off),
		cmocka_unit_test(off_outlasts_the_daemon),
		cmocka_unit_test(all_is_off_if_the_file_cannot_be_read),
		cmocka_unit_test(a_file_of_another_user_is_ignored),
		cmocka_unit_test(a_link_is_not_followed),
		cmocka_unit_test(a_key_that_looks_like_a_number_names_nothing),
		cmocka_unit_test(a_file_that_cannot_be_written_is_told),
		cmocka_unit_test(only_administrators_switch),
		cmocka_unit_test(a_gpu_has_the_number_of_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
