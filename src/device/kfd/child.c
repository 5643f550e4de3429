// SPDX-License-Identifier: MIT
#include "device/kfd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define DEATH_MS 1000 /* for a killed child to end */

static _Noreturn void be_child(void (*run)(void *arg), void *arg, int pipe)
{
	const char done = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run(arg);
	_exit(write(pipe, &done, 1) == 1 ? 0 : 1);
}

/* Waits until the child reports its end or exits. 1: reported; 0: exited; -1: timeout. */
static int wait_for_word(int pipe, unsigned int timeout_ms)
{
	uint64_t end = gp__clock_ns() + timeout_ms * GP__MS;
	struct pollfd p = { .fd = pipe, .events = POLLIN };
	char word;

	for (;;) {
		uint64_t now = gp__clock_ns();
		int n = poll(&p, 1, now < end ? (int)((end - now) / GP__MS) + 1 : 0);

		if (n > 0)
			return read(pipe, &word, 1) == 1;
		if (!n && gp__clock_ns() >= end)
			return -1;
	}
}

/* A child that hangs in the driver cannot be killed; its next parent reaps it. */
static bool reap(pid_t pid, int pipe, bool may_hang, int *status)
{
	pid_t gone;

	if (may_hang && wait_for_word(pipe, DEATH_MS) < 0)
		return false;
	do {
		gone = waitpid(pid, status, 0);
	} while (gone < 0 && errno == EINTR);
	return gone == pid;
}

int gp__child_run(void (*run)(void *arg), void *arg, unsigned int timeout_ms, int *signal)
{
	int ends[2], status = 0, word;
	pid_t pid;

	if (signal)
		*signal = 0;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0) {
		int err = -errno;

		close(ends[0]);
		close(ends[1]);
		return err;
	}
	if (!pid)
		be_child(run, arg, ends[1]);
	close(ends[1]);
	word = wait_for_word(ends[0], timeout_ms);
	if (word < 0)
		kill(pid, SIGKILL);
	if (reap(pid, ends[0], word < 0, &status) && signal && WIFSIGNALED(status))
		*signal = WTERMSIG(status);
	close(ends[0]);
	if (word < 0)
		return GP__CHILD_HUNG;
	return word ? GP__CHILD_DONE : GP__CHILD_DIED;
}
