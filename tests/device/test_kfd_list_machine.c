// SPDX-License-Identifier: MIT
/* Queues of this and another program, listed on an emulated machine with two GPUs. */
#include "device/kfd/list.h"
#include "device/kfd/user.h"
#include "../unit/test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PACKETS_A 64
#define PACKETS_B 128
#define CHILD_PACKETS 256

static int open_gpu(unsigned int index, struct gp__kfd_user *u)
{
	struct gp__kfd_node node[GP__KFD_NODES_MAX];
	int n = gp__kfd_nodes(node);

	return n > (int)index ? gp__kfd_open(u, &node[index]) : -ENODEV;
}

static const struct gp__kfd_listed *find(const struct gp__kfd_list *list, pid_t pid, uint32_t id)
{
	for (size_t i = 0; i < list->nr; i++) {
		if (list->queue[i].pid == pid && list->queue[i].queue_id == id)
			return &list->queue[i];
	}
	return NULL;
}

static void ones_own_queues(void **state)
{
	struct gp__kfd_user u;
	struct gp__kfd_queue a, b;
	struct gp__kfd_list list;
	const struct gp__kfd_listed *q;

	(void)state;
	assert_int_equal(open_gpu(1, &u), 0);
	assert_int_equal(gp__kfd_queue_create(&u, &a, PACKETS_A), 0);
	assert_int_equal(gp__kfd_queue_create(&u, &b, PACKETS_B), 0);
	assert_int_equal(gp__kfd_queue_set_percentage(&b, 0), 0);
	assert_int_equal(gp__kfd_list(&list, 3), 0);
	assert_int_equal(list.nr, 2);
	q = find(&list, getpid(), a.id);
	assert_non_null(q);
	assert_int_equal(q->gpu_id, u.node.gpu_id);
	assert_int_equal(q->ring_bytes, PACKETS_A * 64);
	if (!geteuid()) {
		assert_int_equal(list.debugfs_error, 0);
		assert_int_equal(q->type, GP_KFD_QUEUE_COMPUTE_AQL);
		assert_true(q->active_known && q->active);
		assert_int_equal(q->priority, 7);
		assert_int_equal(q->priority_from, GP__KFD_FROM_QUEUE);
		q = find(&list, getpid(), b.id);
		assert_true(q->active_known && !q->active);
	} else {
		assert_int_equal(list.debugfs_error, -EACCES);
		assert_false(q->active_known);
		assert_int_equal(q->priority, 3);
	}
	gp__kfd_list_free(&list);
	gp__kfd_queue_destroy(&a);
	gp__kfd_queue_destroy(&b);
	assert_int_equal(gp__kfd_list(&list, 3), 0);
	assert_int_equal(list.nr, 0);
	gp__kfd_list_free(&list);
	gp__kfd_close(&u);
}

/* A program with a queue: prints its id and waits to be killed. */
static int be_another(void)
{
	struct gp__kfd_user u;
	struct gp__kfd_queue q;

	if (open_gpu(0, &u) || gp__kfd_queue_create(&u, &q, CHILD_PACKETS))
		return 1;
	printf("%u\n", q.id);
	fflush(stdout);
	pause();
	return 0;
}

static pid_t start_another(char *self, uint32_t *id)
{
	char text[32];
	int ends[2];
	FILE *f;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		setenv("AMD_QUEUE_TAG", "another", 1);
		setenv("AMD_QUEUE_PRIORITY", "13", 1);
		dup2(ends[1], STDOUT_FILENO);
		execl("/proc/self/exe", self, "another", NULL);
		_exit(127);
	}
	close(ends[1]);
	f = fdopen(ends[0], "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	*id = (uint32_t)strtoul(text, NULL, 10);
	fclose(f);
	return pid;
}

static char *program;

static void another_programs_queue_and_what_it_says(void **state)
{
	struct gp__kfd_list list;
	const struct gp__kfd_listed *q;
	uint32_t id;
	pid_t pid = start_another(program, &id);

	(void)state;
	assert_int_equal(gp__kfd_list(&list, 3), 0);
	q = find(&list, pid, id);
	assert_non_null(q);
	assert_string_equal(q->tag, "another");
	assert_int_equal(q->priority, 13);
	assert_int_equal(q->priority_from, GP__KFD_FROM_ENVIRON);
	assert_int_equal(q->ring_bytes, CHILD_PACKETS * 64);
	gp__kfd_list_free(&list);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Programs start, create queues and end, while others list them. */
/* The driver may show the queues of a killed program for a moment after its end. */
static void wait_for_none(void)
{
	struct gp__kfd_list list;
	bool shown = true;

	for (int i = 0; i < 10000 && shown; i++) {
		usleep(1000);
		assert_int_equal(gp__kfd_list(&list, 3), 0);
		shown = list.nr;
		gp__kfd_list_free(&list);
	}
	assert_false(shown);
}

static void programs_that_vanish_are_no_error(void **state)
{
	uint32_t id;

	(void)state;
	for (int i = 0; i < 5; i++) {
		pid_t pid = start_another(program, &id);
		struct gp__kfd_list list;

		kill(pid, SIGKILL);
		do {
			assert_int_equal(gp__kfd_list(&list, 3), 0);
			assert_true(list.nr <= 1);
			assert_int_equal(list.environ_error, 0);
			gp__kfd_list_free(&list);
		} while (!waitpid(pid, NULL, WNOHANG));
		wait_for_none();
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ones_own_queues),
		cmocka_unit_test(another_programs_queue_and_what_it_says),
		cmocka_unit_test(programs_that_vanish_are_no_error),
	};

	program = argv[0];
	if (argc > 1 && !strcmp(argv[1], "another"))
		return be_another();
	return cmocka_run_group_tests_name("kfd_list_machine", tests, NULL, NULL);
}
