// SPDX-License-Identifier: MIT
/* The processes that have a GPU open, as the daemon shows them. */
#include "users.h"

#include "daemon/census.h"
#include "daemon/procfs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process with the GPU open that is no child of this one, and waits to be ended. */
struct stranger {
	pid_t pid;
	int life;
};

static void be_a_stranger(int told, int life)
{
	pid_t pid = getpid();
	char c;

	if (open(GPU, O_RDWR | O_CLOEXEC) < 0 || write(told, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	close(told);
	_exit(read(life, &c, 1) < 0);
}

static void stranger_start(struct stranger *g, struct rig *r)
{
	int told[2], life[2];
	pid_t child;

	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	assert_int_equal(pipe2(life, O_CLOEXEC), 0);
	child = rig_fork(r);
	if (!child) {
		close(life[1]);
		if (!fork())
			be_a_stranger(told[1], life[0]);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	close(told[1]);
	close(life[0]);
	assert_int_equal(read(told[0], &g->pid, sizeof(g->pid)), sizeof(g->pid));
	close(told[0]);
	g->life = life[1];
}

static void stranger_end(const struct stranger *g)
{
	close(g->life);
}

static const json_t *find_process(const json_t *list, pid_t pid)
{
	const json_t *process;
	size_t i;

	json_array_foreach (json_object_get(list, "processes"), i, process) {
		if (json_integer_value(json_object_get(process, "pid")) == pid)
			return process;
	}
	return NULL;
}

/* The list when a census has found the process: one is fresh for a second at least. */
static json_t *next_list(struct rig *r, pid_t pid)
{
	json_t *list = rig_ask(r, "{\"op\":\"list\",\"processes\":true}");

	for (int i = 0; i < 200 && !find_process(list, pid); i++) {
		json_decref(list);
		usleep(100000);
		list = rig_ask(r, "{\"op\":\"list\",\"processes\":true}");
	}
	assert_non_null(find_process(list, pid));
	return list;
}

static bool is(const json_t *process, const char *key)
{
	const json_t *value = json_object_get(process, key);

	EXPECT(json_is_boolean(value));
	return json_is_true(value);
}

/* Before it joins, a process does not disturb anybody; afterwards others disturb it. */
static void unjoined_processes_are_shown(void **state)
{
	struct stranger stranger;
	const json_t *p;
	struct two t;
	json_t *list;
	int gpu;

	(void)state;
	rig_up(&t.rig, CONFIG);
	stranger_start(&stranger, &t.rig);
	list = rig_ask(&t.rig, "{\"op\":\"list\",\"processes\":true}");
	p = find_process(list, stranger.pid);
	assert_non_null(p);
	assert_false(is(p, "joined"));
	assert_true(is(p, "computes"));
	assert_false(is(p, "disturbs"));
	assert_true(json_is_null(json_object_get(p, "memory_used_bytes")));
	assert_int_equal(number_of(p, "user"), getuid());
	assert_null(find_process(list, getpid()));
	json_decref(list);
	gpu = open(GPU, O_RDWR | O_CLOEXEC);
	agent_join(&t.rig, &t.offline, "train");
	add(&t.offline, OFFLINE);
	list = next_list(&t.rig, getpid());
	p = find_process(list, getpid());
	assert_true(is(p, "joined"));
	assert_false(is(p, "disturbs"));
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(p, "devices"), 0), "file")),
			    "full");
	assert_true(is(find_process(list, stranger.pid), "disturbs"));
	json_decref(list);
	agent_leave(&t.offline);
	close(gpu);
	stranger_end(&stranger);
	rig_down(&t.rig);
}

/* As a worker that has its parent's files. */
static void a_child_of_a_joined_program_does_not_disturb(void **state)
{
	struct agent agent;
	json_t *list;
	struct rig r;
	pid_t child;
	int gpu;

	(void)state;
	rig_up(&r, CONFIG);
	gpu = open(GPU, O_RDWR | O_CLOEXEC);
	agent_join(&r, &agent, "train");
	child = rig_fork(&r);
	if (!child) {
		pause();
		_exit(0);
	}
	list = rig_ask(&r, "{\"op\":\"list\",\"processes\":true}");
	assert_true(is(find_process(list, child), "child_of_joined"));
	assert_false(is(find_process(list, child), "disturbs"));
	json_decref(list);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	agent_leave(&agent);
	close(gpu);
	rig_down(&r);
}

/* Live views ask often. */
static void what_is_known_is_not_waited_for(void **state)
{
	json_t *list;
	struct rig r;

	(void)state;
	rig_up(&r, CONFIG);
	list = rig_ask(&r, "{\"op\":\"list\"}");
	assert_null(json_object_get(list, "processes"));
	json_decref(list);
	list = rig_ask(&r, "{\"op\":\"list\",\"processes\":\"known\"}");
	assert_non_null(json_object_get(list, "processes"));
	while (!json_is_array(json_object_get(list, "processes"))) {
		assert_true(json_is_null(json_object_get(list, "processes")));
		json_decref(list);
		usleep(1000);
		list = rig_ask(&r, "{\"op\":\"list\",\"processes\":\"known\"}");
	}
	json_decref(list);
	rig_expect_asleep(&r);
	rig_down(&r);
}

static bool has_only(const json_t *o, const char *const *known)
{
	const json_t *value;
	const char *key;

	json_object_foreach ((json_t *)o, key, value) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key))
			i++;
		if (!known[i])
			return false;
	}
	return true;
}

/* Processes of other tests may have it open, too. */
static void look_around(struct rig *r)
{
	static const char *const known[] = { "user",	 "joined",   "scheduled", "child_of_joined",
					     "computes", "disturbs", "devices",	  NULL };
	json_t *list = rig_ask(r, "{\"op\":\"list\",\"processes\":true}"), *p;
	size_t i, nr_of_root = 0;

	json_array_foreach (json_object_get(list, "processes"), i, p) {
		if (number_of(p, "user") == 0) {
			EXPECT(has_only(p, known));
			nr_of_root++;
		}
	}
	EXPECT(nr_of_root);
	json_decref(list);
}

static void others_processes_are_only_counted(void **state)
{
	struct stranger stranger;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, CONFIG);
	stranger_start(&stranger, &r);
	as(ALICE, &r, look_around);
	stranger_end(&stranger);
	rig_down(&r);
}

static u32 nr_of_user(const json_t *list, uid_t uid)
{
	const json_t *process;
	u32 nr = 0;
	size_t i;

	json_array_foreach (json_object_get(list, "processes"), i, process)
		nr += number_of(process, "user") == uid;
	return nr;
}

static void fork_many(u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		pid_t pid = fork();

		EXPECT(pid >= 0);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
			_exit(0);
		}
	}
}

#define MANY (GP__CENSUS_PER_USER + 50)

static void have_many_processes(struct rig *r)
{
	(void)r;
	open_gpu();
	fork_many(MANY);
}

/* More files than are looked at, in few processes. */
static void have_many_files(struct rig *r)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct rlimit limit;

	(void)r;
	EXPECT(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = limit.rlim_max;
	EXPECT(!setrlimit(RLIMIT_NOFILE, &limit));
	for (u32 i = 0; i < GP__PROCFS_FILES_MAX; i++)
		EXPECT(dup(fd) >= 0);
	fork_many(GP__CENSUS_COST_PER_USER / GP__PROCFS_FILES_MAX + 3);
}

/* The census of two users that have too many is as short as if they had fewer, and others are in
 * it. */
static void a_user_cannot_fill_the_census(void **state)
{
	struct user_process many, files;
	struct stranger stranger;
	json_t *list;
	struct rig r;

	(void)state;
	NEEDS_ROOT();
	rig_up(&r, CONFIG);
	user_start(&many, &r, ALICE, have_many_processes);
	user_start(&files, &r, MALLORY, have_many_files);
	stranger_start(&stranger, &r);
	list = next_list(&r, stranger.pid);
	assert_int_equal(nr_of_user(list, ALICE), GP__CENSUS_PER_USER);
	assert_true(number_of(json_object_get(list, "census"), "unlisted") >=
		    MANY - GP__CENSUS_PER_USER + 3);
	json_decref(list);
	stranger_end(&stranger);
	user_end(&files); /* first, as it has the other's pipe open */
	user_end(&many);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unjoined_processes_are_shown),
		cmocka_unit_test(a_child_of_a_joined_program_does_not_disturb),
		cmocka_unit_test(what_is_known_is_not_waited_for),
		cmocka_unit_test(others_processes_are_only_counted),
		cmocka_unit_test(a_user_cannot_fill_the_census),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
