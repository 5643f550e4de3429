// SPDX-License-Identifier: MIT
/* GPU time that a user may use within a period. */
#include "users.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/config.h"

/* 300 ms of ALICE in 3 s; a tenth of it is there again after 300 ms. */
#define QUOTA CONFIG "[user 65533]\ngpu_time = 300ms/3s\n"

static json_t *ask(struct rig *r, const char *request, const char *array)
{
	json_t *answer = rig_ask(r, request);
	json_t *first = json_incref(json_array_get(json_object_get(answer, array), 0));

	EXPECT(first);
	json_decref(answer);
	return first;
}

static void expect_over(struct rig *r)
{
	json_t *user = ask(r, "{\"op\":\"users\"}", "users");
	json_t *group = ask(r, "{\"op\":\"list\"}", "groups");
	const json_t *hold = json_object_get(group, "hold");

	EXPECT(json_is_true(json_object_get(user, "over_quota")));
	EXPECT(json_number_value(json_object_get(user, "gpu_time_ms")) > 200);
	EXPECT(json_number_value(json_object_get(user, "gpu_quota_ms")) == 300);
	EXPECT(json_is_true(json_object_get(group, "over_quota")));
	EXPECT(json_is_false(json_object_get(group, "suspended")));
	EXPECT(!strcmp(json_string_value(json_object_get(hold, "rule")), "quota"));
	json_decref(user);
	json_decref(group);
}

/* Alone on the GPU: nobody else wants it. */
static void use_it_up(struct rig *r)
{
	u64 began, held;
	struct agent a;

	open_gpu();
	agent_join(r, &a, "greedy");
	add(&a, OFFLINE);
	began = gp__clock_ns();
	agent_work(&a, 0, true);
	agent_obey(&a, 0, GP__WIRE_HOLD);
	held = gp__clock_ns();
	EXPECT(held - began >= 250 * GP__MS);
	rig_sync(r);
	expect_over(r);
	/* Another group of the user is held as well. */
	add(&a, NORMAL);
	agent_work(&a, 1, true);
	agent_obey(&a, 1, GP__WIRE_HOLD);
	agent_obey(&a, 0, GP__WIRE_RELEASE);
	EXPECT(gp__clock_ns() - held >= 200 * GP__MS);
	agent_leave(&a);
}

/* The time of programs that have ended counts as well: the last one is held before it has work. */
static void come_again(struct rig *r)
{
	json_t *user;
	struct agent a;

	open_gpu();
	for (int i = 0; i < 3; i++) {
		agent_join(r, &a, "greedy");
		add(&a, OFFLINE);
		agent_work(&a, 0, true);
		usleep(150000);
		agent_leave(&a);
	}
	agent_join(r, &a, "greedy");
	add(&a, OFFLINE);
	agent_obey(&a, 0, GP__WIRE_HOLD);
	user = ask(r, "{\"op\":\"users\"}", "users");
	EXPECT(json_is_true(json_object_get(user, "over_quota")));
	EXPECT(json_number_value(json_object_get(user, "gpu_time_ms")) >= 250);
	json_decref(user);
	agent_leave(&a);
}

/* On one GPU at first, then on two more. */
static void use_more_gpus(struct rig *r)
{
	struct gp__wire_queue_add q;
	json_t *user;
	struct agent a;

	open_gpu();
	agent_join(r, &a, "greedy");
	add(&a, OFFLINE);
	agent_work(&a, 0, true);
	rig_sync(r);
	for (u32 i = 1; i < 3; i++) {
		q = queue_of(OFFLINE, i == 1 ? "gpu-b" : "gpu-c", "");
		agent_add(&a, &q);
		agent_work(&a, i, true);
	}
	for (u32 i = 0; i < 3; i++)
		agent_obey(&a, i, GP__WIRE_HOLD);
	rig_sync(r);
	user = ask(r, "{\"op\":\"users\"}", "users");
	/* 2400 ms if it is looked at when one GPU would have used it up. */
	EXPECT(json_number_value(json_object_get(user, "gpu_time_ms")) < 1600);
	json_decref(user);
	agent_leave(&a);
}

static void a_user_of_several_gpus_is_held_in_time(void **state)
{
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, CONFIG "[user 65533]\ngpu_time = 800ms/100s\n");
	as(ALICE, &r, use_more_gpus);
	rig_down(&r);
}

static void a_user_that_has_used_up_its_time_is_held(void **state)
{
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, QUOTA);
	as(ALICE, &r, use_it_up);
	rig_down(&r);
}

static void short_programs_are_charged(void **state)
{
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, CONFIG "[user 65533]\ngpu_time = 300ms/100s\n");
	as(ALICE, &r, come_again);
	rig_down(&r);
}

static void work_without_a_hold(struct rig *r)
{
	struct agent a;

	open_gpu();
	agent_join(r, &a, "other");
	add(&a, OFFLINE);
	agent_work(&a, 0, true);
	usleep(600000);
	rig_sync(r);
	EXPECT(agent_order(&a, 0) == GP__WIRE_RELEASE);
	agent_leave(&a);
}

static void others_have_no_quota(void **state)
{
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, QUOTA);
	as(MALLORY, &r, work_without_a_hold);
	rig_down(&r);
	rig_up(&r, CONFIG "[everybody]\ngpu_time = 300ms/3s\n[user 65532]\ngpu_time = none\n");
	as(MALLORY, &r, work_without_a_hold);
	rig_down(&r);
}

static void open_gpu_and_join(struct rig *r)
{
	static struct agent a;

	open_gpu();
	agent_join(r, &a, "idle");
	add(&a, OFFLINE);
}

static void an_idle_user_wakes_nobody(void **state)
{
	struct user_process alice;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, QUOTA);
	user_start(&alice, &r, ALICE, open_gpu_and_join);
	rig_expect_asleep(&r);
	user_end(&alice);
	rig_down(&r);
}

/*
 * Tags
 */

#define TAG_QUOTA CONFIG "[tag batch]\ngpu_time = 300ms/3s\n"

static u32 add_tagged(struct agent *a, const char *tag)
{
	struct gp__wire_queue_add q = queue_of(OFFLINE, "gpu-a", tag);

	return agent_add(a, &q);
}

/* Only the groups with the tag are held. */
static void use_up_a_tag(struct rig *r)
{
	json_t *user, *tag;
	struct agent a;

	open_gpu();
	agent_join(r, &a, "greedy");
	add_tagged(&a, "batch");
	add_tagged(&a, "other");
	agent_work(&a, 0, true);
	agent_obey(&a, 0, GP__WIRE_HOLD);
	rig_sync(r);
	EXPECT(agent_order(&a, 1) == GP__WIRE_RELEASE);
	user = ask(r, "{\"op\":\"users\"}", "users");
	tag = json_array_get(json_object_get(user, "tags"), 0);
	EXPECT(json_is_false(json_object_get(user, "over_quota")));
	EXPECT(json_is_null(json_object_get(user, "gpu_quota_ms")));
	EXPECT(!strcmp(json_string_value(json_object_get(tag, "tag")), "batch"));
	EXPECT(json_is_true(json_object_get(tag, "over_quota")));
	EXPECT(json_number_value(json_object_get(tag, "gpu_quota_ms")) == 300);
	json_decref(user);
	/* A tenth of it comes back. */
	agent_obey(&a, 0, GP__WIRE_RELEASE);
	agent_leave(&a);
}

static void start_tagged(struct rig *r)
{
	static struct agent a;

	open_gpu();
	agent_join(r, &a, "greedy");
	add_tagged(&a, "batch");
	agent_work(&a, 0, true);
	agent_obey(&a, 0, GP__WIRE_HOLD);
}

static void work_with_the_tag(struct rig *r)
{
	struct agent a;

	open_gpu();
	agent_join(r, &a, "modest");
	add_tagged(&a, "batch");
	rig_sync(r);
	EXPECT(agent_order(&a, 0) == GP__WIRE_RELEASE);
	agent_leave(&a);
}

static void a_tag_has_a_quota_of_each_user(void **state)
{
	struct user_process alice;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, TAG_QUOTA);
	as(ALICE, &r, use_up_a_tag);
	user_start(&alice, &r, ALICE, start_tagged);
	as(MALLORY, &r, work_with_the_tag);
	user_end(&alice);
	rig_down(&r);
}

/*
 * Restarts
 */

static void come_back_and_be_held(struct rig *r)
{
	struct agent a;

	open_gpu();
	agent_join(r, &a, "greedy");
	add_tagged(&a, "");
	agent_obey(&a, 0, GP__WIRE_HOLD);
	add_tagged(&a, "batch");
	agent_obey(&a, 1, GP__WIRE_HOLD);
	agent_leave(&a);
}

static void use_both_up(struct rig *r)
{
	struct agent a;

	open_gpu();
	agent_join(r, &a, "greedy");
	add_tagged(&a, "batch");
	agent_work(&a, 0, true);
	agent_obey(&a, 0, GP__WIRE_HOLD);
	agent_leave(&a);
}

static void expect_nobody_over(struct rig *r)
{
	struct agent a;

	open_gpu();
	agent_join(r, &a, "greedy");
	add_tagged(&a, "batch");
	rig_sync(r);
	EXPECT(agent_order(&a, 0) == GP__WIRE_RELEASE);
	agent_leave(&a);
}

static const char *state_file(char *path, size_t size)
{
	char folder[] = "/tmp/gpreemptd-state-XXXXXX";

	assert_non_null(mkdtemp(folder));
	assert_int_equal(setenv("STATE_DIRECTORY", folder, 1), 0);
	snprintf(path, size, "%s/quota", folder);
	return path;
}

static void drop_state_file(const char *path)
{
	unlink(path);
	assert_int_equal(rmdir(getenv("STATE_DIRECTORY")), 0);
	unsetenv("STATE_DIRECTORY");
}

static void spent_time_outlasts_the_daemon(void **state)
{
	static const char both[] = CONFIG "[user 65533]\ngpu_time = 300ms/100s\n"
					  "[tag batch]\ngpu_time = 200ms/100s\n";
	char path[64];
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	state_file(path, sizeof(path));
	rig_up(&r, CONFIG "[user 65533]\ngpu_time = 300ms/100s\n"
			  "[tag batch]\ngpu_time = 300ms/100s\n");
	as(ALICE, &r, use_both_up);
	rig_down(&r);
	assert_int_equal(access(path, F_OK), 0);
	/* Also if the limit is another one then. */
	rig_up(&r, both);
	as(ALICE, &r, come_back_and_be_held);
	rig_down(&r);
	/* Another user has spent nothing. */
	rig_up(&r, both);
	as(MALLORY, &r, expect_nobody_over);
	rig_down(&r);
	drop_state_file(path);
}

static void write_state(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

/* What is written there a minute ago has filled by that much. */
static void a_state_file_is_checked(void **state)
{
	static const char *const nothing[] = {
		"",
		"account\n",
		"written x\n",
		"account 65533 1 2 99999999999999999 1\n",
		"written 1\naccount 65533 0 0 1 1\n",
	};
	char path[64], text[256];
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	state_file(path, sizeof(path));
	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
		write_state(path, nothing[i], 0644);
		rig_up(&r, CONFIG "[everybody]\ngpu_time = 1s/100s\n");
		as(ALICE, &r, expect_nobody_over);
		rig_down(&r);
	}
	/* 150 s of a bucket of 100 s, of which 60 s have come back. */
	snprintf(text, sizeof(text),
		 "written %lld000000000\naccount 65533 1000000000 100000000000 150000000000 0\n",
		 (long long)time(NULL) - 60);
	write_state(path, text, 0644);
	rig_up(&r, CONFIG "[everybody]\ngpu_time = 1s/100s\n");
	as(ALICE, &r, expect_nobody_over);
	rig_down(&r);
	snprintf(text, sizeof(text),
		 "written %lld000000000\naccount 65533 1000000000 100000000000 180000000000 0\n",
		 (long long)time(NULL) - 60);
	write_state(path, text, 0644);
	rig_up(&r, CONFIG "[everybody]\ngpu_time = 1s/100s\n");
	as(ALICE, &r, come_back_and_be_held);
	rig_down(&r);
	/* Anybody could have written it. */
	write_state(path, text, 0666);
	rig_up(&r, CONFIG "[everybody]\ngpu_time = 1s/100s\n");
	as(ALICE, &r, expect_nobody_over);
	rig_down(&r);
	drop_state_file(path);
}

static int read_config(struct gp__config *c, const char *value)
{
	char path[] = "/tmp/gpreemptd-quota-XXXXXX", error[GP__CONFIG_ERROR_MAX];
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	dprintf(fd, "[everybody]\ngpu_time = %s\n", value);
	close(fd);
	err = gp__config_read(c, path, true, error);
	unlink(path);
	return err;
}

static void the_configuration_is_checked(void **state)
{
	static const char *const wrong[] = { "1h",	"1h/",	   "/1h",      "5ms/1s", "1s/10ms",
					     "1h/200h", "many/1h", "1h/1h/1h", "" };
	static struct gp__config c;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (!read_config(&c, wrong[i]))
			fail_msg("gpu_time = %s is accepted", wrong[i]);
	}
	assert_int_equal(read_config(&c, "30min/1h"), 0);
	assert_int_equal(c.limits.everybody.gpu_time.ns, 1800 * GP__S);
	assert_int_equal(c.limits.everybody.gpu_time.period, 3600 * GP__S);
	assert_int_equal(read_config(&c, "none"), 0);
	assert_int_equal(c.limits.everybody.gpu_time.ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_that_has_used_up_its_time_is_held),
		cmocka_unit_test(a_user_of_several_gpus_is_held_in_time),
		cmocka_unit_test(short_programs_are_charged),
		cmocka_unit_test(others_have_no_quota),
		cmocka_unit_test(an_idle_user_wakes_nobody),
		cmocka_unit_test(a_tag_has_a_quota_of_each_user),
		cmocka_unit_test(spent_time_outlasts_the_daemon),
		cmocka_unit_test(a_state_file_is_checked),
		cmocka_unit_test(the_configuration_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
