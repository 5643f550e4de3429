// SPDX-License-Identifier: MIT
/*
 * Rules about control groups: which programs they apply to, and that a program in such a group
 * cannot raise itself. Root makes real control groups where the machine permits it.
 */
#include "users.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/procfs.h"

/*
 * Names
 */

static void a_slice_has_the_path_that_systemd_gives_it(void **state)
{
	static const char *const names[][2] = {
		{ "batch.slice", "/batch.slice" },
		{ "machine-batch.slice", "/machine.slice/machine-batch.slice" },
		{ "a-b-c.slice", "/a.slice/a-b.slice/a-b-c.slice" },
		{ "/slurm/uid_0", "/slurm/uid_0" },
		{ "/kubepods.slice/x.slice", "/kubepods.slice/x.slice" },
	};
	char path[GP__CGROUP_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(gp__cgroup_path(path, names[i][0]));
		assert_string_equal(path, names[i][1]);
	}
}

static void other_names_are_refused(void **state)
{
	static const char *const names[] = { "",	  "/",	      "batch",	    "-.slice",
					     ".slice",	  "-a.slice", "a--b.slice", "a-.slice",
					     "a/b.slice", "/a/",      "/a//b",	    "/a/../b",
					     "/a/..",	  "/./a",     "/a/." };
	char path[GP__CGROUP_MAX], name[400];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(gp__cgroup_path(path, names[i]));
	memset(name, 'a', sizeof(name));
	name[0] = '/';
	name[GP__CGROUP_MAX] = '\0';
	assert_false(gp__cgroup_path(path, name));
	memcpy(name, "a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a.slice", 64);
	name[63] = '\0';
	assert_false(gp__cgroup_path(path, name)); /* each of its slices is in the path */
}

static void a_group_contains_those_below_and_no_namesake(void **state)
{
	(void)state;
	assert_true(gp__cgroup_contains("/a/b", "/a/b"));
	assert_true(gp__cgroup_contains("/a/b", "/a/b/c/d"));
	assert_false(gp__cgroup_contains("/a/b", "/a/bc"));
	assert_false(gp__cgroup_contains("/a/b", "/a"));
	assert_false(gp__cgroup_contains("/a/b", "/user/a/b"));
}

/*
 * Several rules
 */

static const struct gp__cgroup_rule rules[] = {
	{ .path = "/site",
	  .set = GP__CGROUP_MAX_PRIORITY | GP__CGROUP_TAG,
	  .max_priority = NORMAL,
	  .tag = "site" },
	{ .path = "/site/batch",
	  .set = GP__CGROUP_CLASS | GP__CGROUP_SHARE,
	  .prio = OFFLINE,
	  .share_pct = 30 },
	{ .path = "/site/serve",
	  .set = GP__CGROUP_CLASS | GP__CGROUP_WEIGHT,
	  .prio = ONLINE,
	  .weight = 50 },
	{ .path = "/gold", .set = GP__CGROUP_CLASS, .prio = ONLINE },
};

/* @cgroups: as in gp__program. */
static struct gp__hints hints_in(char *cgroups, s32 prio, bool by_default, u32 part)
{
	struct gp__registry r = { .rules = rules, .nr_rules = sizeof(rules) / sizeof(rules[0]) };
	struct gp__program p = { .cgroups = cgroups, .limited = true, .max_priority = NORMAL };
	struct gp__hints h = { .prio = prio, .weight = part, .share_pct = part };

	gp__list_init(&r.registered);
	p.terms = gp__cgroups_terms(&r, &p);
	gp__terms_apply(&p.terms, by_default, &h);
	return h;
}

static void the_nearest_class_applies_up_to_the_lowest_maximum(void **state)
{
	char outside[] = "/other\0", batch[] = "/x\0/site/batch/job\0", serve[] = "/site/serve\0";
	char gold[] = "/gold/anything\0", mixed[] = "/gold\0/site/batch\0";

	(void)state;
	assert_int_equal(hints_in(outside, NORMAL, true, 0).prio, NORMAL);
	assert_int_equal(hints_in(batch, NORMAL, true, 0).prio, OFFLINE);
	assert_int_equal(hints_in(batch, ONLINE, false, 0).prio, OFFLINE);
	assert_int_equal(hints_in(batch, -3, false, 0).prio, -3); /* it may lower itself */
	assert_int_equal(hints_in(serve, NORMAL, true, 0).prio, NORMAL); /* /site has a maximum */
	assert_int_equal(hints_in(gold, NORMAL, true, 0).prio, ONLINE);
	assert_int_equal(hints_in(gold, NORMAL, false, 0).prio, NORMAL);
	assert_int_equal(hints_in(mixed, ONLINE, false, 0).prio, OFFLINE);
	assert_int_equal(hints_in(NULL, ONLINE, false, 0).prio, OFFLINE); /* it is not known */
}

static void shares_and_weights_are_given_and_are_maxima(void **state)
{
	char batch[] = "/site/batch\0", serve[] = "/site/serve\0", outside[] = "\0";

	(void)state;
	assert_int_equal(hints_in(batch, OFFLINE, false, 0).share_pct, 30);
	assert_int_equal(hints_in(batch, OFFLINE, false, 40).share_pct, 30);
	assert_int_equal(hints_in(batch, OFFLINE, false, 20).share_pct, 20);
	assert_int_equal(hints_in(batch, OFFLINE, false, 0).weight, 0);
	assert_int_equal(hints_in(serve, OFFLINE, false, 90).weight, 50);
	assert_int_equal(hints_in(outside, OFFLINE, false, 90).weight, 90);
}

/*
 * Real control groups
 */

static char group[PATH_MAX]; /* its folder */

static bool write_to(const char *file, const char *text)
{
	char path[PATH_MAX + 32];
	int fd;
	bool ok;

	snprintf(path, sizeof(path), "%.4000s/%s", group, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Where a hierarchy of this version is mounted. */
static const char *mount_of(int version)
{
	static struct gp__freezers f;

	gp__freezers_find(&f);
	return version == 2 ? f.unified : f.freezer;
}

/* Makes the control group /gpreempt-rule-PID, with one below it that belongs to a user. */
static void make_group(int version)
{
	const char *mount = mount_of(version);
	char path[PATH_MAX + 32];

	NEEDS_ROOT();
	snprintf(group, sizeof(group), "%.4000s/gpreempt-rule-%d", mount, (int)getpid());
	if (!*mount || mkdir(group, 0755)) {
		print_message("no control group of version %d can be made\n", version);
		skip();
	}
	snprintf(path, sizeof(path), "%.4000s/mine", group);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(chown(path, MALLORY, MALLORY), 0);
	strcat(path, "/cgroup.procs");
	assert_int_equal(chown(path, MALLORY, MALLORY), 0);
}

static void remove_group(void)
{
	static const char *const below[] = { "/mine/gpreempt-rule", "/mine", "" };
	char path[PATH_MAX + 32];

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		snprintf(path, sizeof(path), "%.4000s%s", group, below[i]);
		/* A process that has ended stays in its group for a moment. */
		for (int n = 0; n < 100 && rmdir(path) && errno == EBUSY; n++)
			usleep(10000);
	}
}

/* Acts as a user in the control group, in a process of its own. */
static void act_inside(struct rig *r, void (*act)(struct rig *r))
{
	pid_t pid = rig_fork(r);
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		if (!write_to("mine/cgroup.procs", "0") || setgroups(0, NULL) || setgid(MALLORY) ||
		    setuid(MALLORY))
			_exit(100);
		act(r);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void rule_up(struct rig *r, const char *keys)
{
	char config[256];

	snprintf(config, sizeof(config),
		 CONFIG "[everybody]\nmax_priority = 15\n[slice /gpreempt-rule-%d]\n%s\n",
		 (int)getpid(), keys);
	rig_up(r, config);
}

static s32 shown_priority(struct rig *r)
{
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}");
	s32 prio = (s32)json_integer_value(json_object_get(first_group(answer), "priority"));

	json_decref(answer);
	return prio;
}

/* Joins with a queue of this priority. Returns what the daemon says to it. */
static const char *join_as(struct rig *r, struct gp__wire_client *c, s32 prio, u32 flags)
{
	struct gp__wire_queue_add q = queue_of(prio, "gpu-a", "");
	static struct gp__wire_reply reply;
	char text[GP__WIRE_TEXT_MAX];

	q.flags |= flags;
	EXPECT(!open_client(c, r, "inside", 8, text));
	EXPECT(!gp__wire_client_request(c, &q, &reply));
	return reply.text;
}

static void try_to_rise(struct rig *r)
{
	struct gp__wire_set_hints m = { .head = { sizeof(m), GP__WIRE_HINTS, 0, 0, 0 },
					.hints = { .prio = ONLINE } };
	struct gp__wire_reply reply = { 0 };
	struct gp__wire_client c;
	char request[128];
	const char *said = join_as(r, &c, ONLINE, 0);

	EXPECT(strstr(said,
		      "priority 15 is above 2, the highest in control group /gpreempt-rule-"));
	EXPECT(strstr(said, ", and is lowered to it: ask an administrator"));
	EXPECT(shown_priority(r) == OFFLINE);
	/* By a message of the agent, */
	EXPECT(gp__wire_client_request(&c, &m, &reply) == -EACCES);
	EXPECT(strstr(reply.text, "the highest in control group"));
	/* and by a request of the command line. */
	snprintf(request, sizeof(request), "{\"op\":\"set\",\"pid\":%d,\"priority\":7}",
		 (int)getpid());
	expect_refused(r, request, EACCES);
	EXPECT(shown_priority(r) == OFFLINE);
	snprintf(request, sizeof(request), "{\"op\":\"set\",\"pid\":%d,\"priority\":1}",
		 (int)getpid());
	json_decref(rig_ask(r, request));
	EXPECT(shown_priority(r) == 1);
}

static void try_below(struct rig *r)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%.4000s/mine/gpreempt-rule", group);
	EXPECT(!mkdir(path, 0755));
	EXPECT(write_to("mine/gpreempt-rule/cgroup.procs", "0"));
	EXPECT(!write_to("../cgroup.procs", "0"));
	try_to_rise(r);
}

static void cannot_rise(int version, void (*act)(struct rig *r))
{
	struct rig r;

	make_group(version);
	rule_up(&r, "class = offline");
	act_inside(&r, act);
	rig_down(&r);
	remove_group();
}

static void a_program_of_version_2_cannot_rise(void **state)
{
	(void)state;
	cannot_rise(2, try_to_rise);
}

static void a_program_of_version_1_cannot_rise(void **state)
{
	(void)state;
	cannot_rise(1, try_to_rise);
}

static void nor_in_a_group_that_it_makes(void **state)
{
	(void)state;
	cannot_rise(2, try_below);
}

static void nor_in_one_of_version_1(void **state)
{
	(void)state;
	cannot_rise(1, try_below);
}

static void get_class(struct rig *r)
{
	struct gp__wire_client c;

	EXPECT(!*join_as(r, &c, NORMAL, GP__WIRE_BY_DEFAULT));
	EXPECT(shown_priority(r) == ONLINE);
}

static void ask_for_less(struct rig *r)
{
	struct gp__wire_client c;

	EXPECT(!*join_as(r, &c, NORMAL, 0));
	EXPECT(shown_priority(r) == NORMAL);
}

static void a_program_that_asks_for_none_gets_the_class(void **state)
{
	struct rig r;

	(void)state;
	make_group(2);
	rule_up(&r, "class = online");
	act_inside(&r, get_class);
	act_inside(&r, ask_for_less);
	rig_down(&r);
	remove_group();
}

static void look_at_share_and_tag(struct rig *r)
{
	struct gp__wire_client c;
	json_t *answer, *g;

	join_as(r, &c, NORMAL, 0);
	answer = rig_ask(r, "{\"op\":\"list\"}");
	g = first_group(answer);
	EXPECT(number_of(g, "share_pct") == 40 && number_of(g, "weight") == 5);
	EXPECT(!strcmp(json_string_value(json_object_get(g, "tag")), "night"));
	json_decref(answer);
}

static void a_rule_gives_share_weight_and_tag(void **state)
{
	struct rig r;

	(void)state;
	make_group(2);
	rule_up(&r, "share = 40\nweight = 5\ntag = night");
	act_inside(&r, look_at_share_and_tag);
	rig_down(&r);
	remove_group();
}

/*
 * Registered groups
 */

static void add_rule(struct rig *r, const char *path, const char *keys)
{
	char request[400];
	json_t *answer;

	snprintf(request, sizeof(request), "{\"op\":\"cgroup-add\",\"cgroup\":\"%s\",%s}", path,
		 keys);
	answer = rig_ask(r, request);
	assert_null(json_object_get(answer, "error"));
	json_decref(answer);
}

static size_t nr_rules(struct rig *r)
{
	json_t *answer = rig_ask(r, "{\"op\":\"cgroups\"}");
	size_t n = json_array_size(json_object_get(answer, "cgroups"));

	json_decref(answer);
	return n;
}

static char registered[64];

static void name_registered(void)
{
	snprintf(registered, sizeof(registered), "/gpreempt-rule-%d", (int)getpid());
}

static void a_registered_group_cannot_rise(void **state)
{
	struct rig r;

	(void)state;
	make_group(2);
	name_registered();
	rig_up(&r, CONFIG "[everybody]\nmax_priority = 15\n");
	add_rule(&r, registered, "\"priority\":2");
	act_inside(&r, try_to_rise);
	rig_down(&r);
	remove_group();
}

static void wait_until_told(struct rig *r)
{
	struct gp__wire_client c;

	EXPECT(!*join_as(r, &c, ONLINE, 0));
	for (int i = 0; i < 1000 && shown_priority(r) != OFFLINE; i++)
		usleep(10000);
	EXPECT(shown_priority(r) == OFFLINE);
}

/* Also one that has joined before. */
static void programs_inside_follow(void **state)
{
	struct rig r;
	int status;
	pid_t pid;

	(void)state;
	make_group(2);
	name_registered();
	rig_up(&r, CONFIG "[everybody]\nmax_priority = 15\n");
	pid = rig_fork(&r);
	assert_true(pid >= 0);
	if (!pid) {
		if (!write_to("mine/cgroup.procs", "0") || setgroups(0, NULL) || setgid(MALLORY) ||
		    setuid(MALLORY))
			_exit(100);
		wait_until_told(&r);
		_exit(0);
	}
	for (int i = 0; i < 1000 && shown_priority(&r) != ONLINE; i++)
		usleep(10000);
	assert_int_equal(shown_priority(&r), ONLINE);
	add_rule(&r, registered, "\"max_priority\":2");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	rig_down(&r);
	remove_group();
}

static void try_requests(struct rig *r)
{
	expect_refused(r, "{\"op\":\"cgroups\"}", EPERM);
	expect_refused(r, "{\"op\":\"cgroup-add\",\"cgroup\":\"/a\",\"priority\":15}", EPERM);
	expect_refused(r, "{\"op\":\"cgroup-remove\",\"cgroup\":\"/a\"}", EPERM);
}

static void only_administrators_register(void **state)
{
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, CONFIG);
	as(MALLORY, &r, try_requests);
	rig_down(&r);
}

static void malformed_rules_are_refused(void **state)
{
	static const char *const requests[] = {
		"{\"op\":\"cgroup-add\"}",
		"{\"op\":\"cgroup-add\",\"cgroup\":7,\"priority\":2}",
		"{\"op\":\"cgroup-add\",\"cgroup\":\"job\",\"priority\":2}",
		"{\"op\":\"cgroup-add\",\"cgroup\":\"/\",\"priority\":2}",
		"{\"op\":\"cgroup-add\",\"cgroup\":\"/a\"}",
		"{\"op\":\"cgroup-add\",\"cgroup\":\"/a\",\"priority\":\"online\"}",
		"{\"op\":\"cgroup-add\",\"cgroup\":\"/a\",\"max_priority\":2000000}",
		"{\"op\":\"cgroup-add\",\"cgroup\":\"/a\",\"share_pct\":101}",
		"{\"op\":\"cgroup-add\",\"cgroup\":\"/a\",\"weight\":0}",
		"{\"op\":\"cgroup-add\",\"cgroup\":\"/a\",\"tag\":\"\"}",
	};
	struct rig r;

	(void)state;
	rig_up(&r, NULL);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		expect_refused(&r, requests[i], EINVAL);
	expect_refused(&r, "{\"op\":\"cgroup-remove\",\"cgroup\":\"/a\"}", ENOENT);
	assert_int_equal(nr_rules(&r), 0);
	rig_down(&r);
}

static void rules_outlast_the_daemon(void **state)
{
	char folder[] = "/tmp/gpreemptd-state-XXXXXX", file[64];
	struct rig r;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/cgroups", folder);
	setenv("STATE_DIRECTORY", folder, 1);
	rig_up(&r, NULL);
	add_rule(&r, "/job/7", "\"priority\":2,\"max_priority\":7,\"tag\":\"seven\"");
	add_rule(&r, "/job/7", "\"priority\":3"); /* replaces it */
	add_rule(&r, "/job/8", "\"share_pct\":20,\"weight\":5");
	rig_crash(&r);
	rig_up(&r, NULL);
	assert_int_equal(nr_rules(&r), 2);
	json_decref(rig_ask(&r, "{\"op\":\"cgroup-remove\",\"cgroup\":\"/job/7\"}"));
	assert_int_equal(nr_rules(&r), 1);
	rig_down(&r);
	unsetenv("STATE_DIRECTORY");
	unlink(file);
	unlink(strcat(strcpy(file, folder), "/quota"));
	assert_int_equal(rmdir(folder), 0);
}

static void a_rule_goes_with_its_group(void **state)
{
	struct rig r;

	(void)state;
	make_group(2);
	name_registered();
	rig_up(&r, NULL);
	add_rule(&r, registered, "\"priority\":2");
	sleep(6); /* it is looked for every 5 s, and found */
	assert_int_equal(nr_rules(&r), 1);
	remove_group();
	for (int i = 0; i < 100 && nr_rules(&r); i++)
		usleep(100000);
	assert_int_equal(nr_rules(&r), 0);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slice_has_the_path_that_systemd_gives_it),
		cmocka_unit_test(other_names_are_refused),
		cmocka_unit_test(a_group_contains_those_below_and_no_namesake),
		cmocka_unit_test(the_nearest_class_applies_up_to_the_lowest_maximum),
		cmocka_unit_test(shares_and_weights_are_given_and_are_maxima),
		cmocka_unit_test(a_program_of_version_2_cannot_rise),
		cmocka_unit_test(a_program_of_version_1_cannot_rise),
		cmocka_unit_test(nor_in_a_group_that_it_makes),
		cmocka_unit_test(nor_in_one_of_version_1),
		cmocka_unit_test(a_program_that_asks_for_none_gets_the_class),
		cmocka_unit_test(a_rule_gives_share_weight_and_tag),
		cmocka_unit_test(a_registered_group_cannot_rise),
		cmocka_unit_test(programs_inside_follow),
		cmocka_unit_test(only_administrators_register),
		cmocka_unit_test(malformed_rules_are_refused),
		cmocka_unit_test(rules_outlast_the_daemon),
		cmocka_unit_test(a_rule_goes_with_its_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
