/* SPDX-License-Identifier: MIT */
/*
 * A program that ends, forks or executes another while it has work on the GPU, which may be held at
 * that moment. It prints "ready", and continues when a line comes in.
 *
 * Usage: hsa_ends job		work that ends
 *        hsa_ends again	the same after the runtime was shut down and initialised again
 *        hsa_ends leave	the same, with a queue left when the runtime is shut down
 *        hsa_ends fork|exec|exit	with submitted work
 *        hsa_ends never	with a kernel that ends only after the line has come
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hsa_test.h"

enum { CELLS = 64, ROUNDS = 100, PACKETS = 64, STATUS = 3 };

struct follow_arguments {
	uint32_t *cells, before, pad;
	uint32_t *wrong;
};

struct job {
	struct lab lab;
	hsa_queue_t *queue;
	hsa_signal_t done;
	uint32_t *cells;
	struct follow_arguments *args;
};

static void open_job(struct job *j)
{
	lab_open(&j->lab);
	j->queue = lab_queue(&j->lab, PACKETS);
	j->done = lab_signal(1);
	j->cells = lab_alloc(&j->lab, j->lab.fine, 2 * CELLS * sizeof(*j->cells));
	j->args = lab_alloc(&j->lab, j->lab.kernarg, ROUNDS * sizeof(*j->args));
	memset(j->cells, 0, 2 * CELLS * sizeof(*j->cells));
}

static void launch(struct job *j, const struct lab_kernel *follow, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		j->args[i] = (struct follow_arguments){ j->cells, i, 0, j->cells + CELLS };
		lab_dispatch(j->queue, follow, lab_line_in_order(CELLS), &j->args[i],
			     i == ROUNDS - 1 ? j->done : (hsa_signal_t){ 0 });
	}
}

static void end_job(struct job *j, bool leave_queue)
{
	lab_wait(j->done, HSA_WAIT_STATE_BLOCKED, "the job");
	lab_check(!j->cells[CELLS] && j->cells[0] == ROUNDS, "%u came in another order",
		  j->cells[CELLS]);
	lab_must(hsa_signal_destroy(j->done));
	if (!leave_queue)
		lab_must(hsa_queue_destroy(j->queue));
	lab_free(j->cells);
	lab_free(j->args);
	lab_close(&j->lab);
}

static void do_job(bool leave_queue)
{
	struct lab_kernel follow;
	struct job j;

	open_job(&j);
	follow = lab_find(&j.lab, "follow");
	launch(&j, &follow, 0, ROUNDS);
	end_job(&j, leave_queue);
}

static void await_line(void)
{
	char line[64];

	puts("ready");
	fflush(stdout);
	lab_check(fgets(line, sizeof(line), stdin), "no line on standard input");
}

/* The child has none of it, and exits normally or executes another program. */
static void double_up(bool becomes)
{
	pid_t pid = fork();
	int status;

	lab_check(pid >= 0, "no child");
	if (!pid) {
		if (becomes)
			execlp("true", "true", (char *)NULL);
		_exit(0);
	}
	lab_check(waitpid(pid, &status, 0) == pid && !status, "the child fails");
}

/* With the first packets submitted before the line comes, and others afterwards. */
static void go_through(const char *what, char **argv)
{
	struct lab_kernel follow;
	struct job j;

	open_job(&j);
	follow = lab_find(&j.lab, "follow");
	launch(&j, &follow, 0, PACKETS / 4);
	await_line();
	launch(&j, &follow, PACKETS / 4, PACKETS / 2);
	if (!strcmp(what, "exit"))
		exit(STATUS);
	if (!strcmp(what, "exec")) {
		/* That one is there until another line comes. */
		execl(argv[0], argv[0], "never", (char *)NULL);
		lab_fail("cannot become %s", argv[0]);
	}
	double_up(false);
	double_up(true);
	puts("doubled");
	fflush(stdout);
	launch(&j, &follow, PACKETS / 2, ROUNDS);
	end_job(&j, false);
}

static void wait_on_the_gpu(void)
{
	hsa_signal_t done;
	_Atomic uint32_t *words;
	struct lab_kernel gate;
	hsa_queue_t *queue;
	struct lab lab;
	void **args;

	lab_open(&lab);
	gate = lab_find(&lab, "wait_for_host");
	queue = lab_queue(&lab, PACKETS);
	done = lab_signal(1);
	words = lab_alloc(&lab, lab.fine, 2 * sizeof(*words));
	args = lab_alloc(&lab, lab.kernarg, 2 * sizeof(*args));
	words[0] = words[1] = 0;
	args[0] = (void *)&words[0];
	args[1] = (void *)&words[1];
	lab_dispatch(queue, &gate, lab_line(CELLS), args, done);
	while (!words[0])
		usleep(1000);
	await_line();
	words[1] = 1;
	lab_wait(done, HSA_WAIT_STATE_BLOCKED, "the kernel that waited");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "fork") || !strcmp(what, "exec") || !strcmp(what, "exit")) {
		go_through(what, argv);
	} else if (!strcmp(what, "never")) {
		wait_on_the_gpu();
	} else {
		bool again = !strcmp(what, "again"), leave = !strcmp(what, "leave");

		lab_check(!strcmp(what, "job") || again || leave,
			  "usage: hsa_ends job|again|leave|fork|exec|exit|never");
		do_job(leave);
		if (again || leave)
			do_job(false);
	}
	puts("done");
	return 0;
}
