// SPDX-License-Identifier: MIT
/* A program that is traced for a moment, to be debugged, goes on as if it had not been. */
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/kfd/control.h"
#include "device/kfd/way.h"
#include "fake_kfd.h"
#include "host.h"

enum { TURNS = 300, PATIENCE_MS = 20000 };

/* Answers each signal with a byte. */
static int answers[2];

static void answer(int sig)
{
	(void)sig;
	if (write(answers[1], "", 1) != 1)
		_exit(1);
}

static pid_t start_child(void)
{
	pid_t child;

	assert_int_equal(pipe(answers), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* where the test fails */
		signal(SIGUSR1, answer);
		answer(0);
		for (;;)
			pause();
	}
	return child;
}

static bool is_answered(void)
{
	struct pollfd p = { .fd = answers[0], .events = POLLIN };
	char byte;

	return poll(&p, 1, PATIENCE_MS) == 1 && read(answers[0], &byte, 1) == 1;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	close(answers[0]);
	close(answers[1]);
}

static pid_t traced;
static atomic_bool is_over;
static atomic_int nr_tries;

/* Gives back what went wrong. */
static void *trace(void *data)
{
	int kfd = open(FAKE_DEVICE, O_RDWR | O_CLOEXEC);
	struct gp__kfd_control c;
	int r = 0;

	(void)data;
	while (!r && !is_over) {
		r = gp__kfd_control_open_by(&c, fake_ioctl, kfd, traced, GP__KFD_WAY_DBGTRAP);
		if (!r)
			gp__kfd_control_close(&c);
		nr_tries++;
	}
	close(kfd);
	return (void *)(intptr_t)r;
}

static pthread_t start_tracing(pid_t child)
{
	pthread_t tracer;

	fake_reset();
	fake.runtime = GP_KFD_RUNTIME_ENABLED;
	traced = child;
	is_over = false;
	nr_tries = 0;
	assert_int_equal(pthread_create(&tracer, NULL, trace, NULL), 0);
	return tracer;
}

/* While it is traced again and again. */
static void signal_it(pid_t child)
{
	pthread_t tracer = start_tracing(child);
	void *error;

	for (int i = 0; i < TURNS || !nr_tries; i++) {
		assert_int_equal(kill(child, SIGUSR1), 0);
		assert_true(is_answered());
	}
	is_over = true;
	pthread_join(tracer, &error);
	assert_int_equal((intptr_t)error, 0);
}

static void its_signals_reach_it(void **state)
{
	pid_t child;

	(void)state;
	needs_ptrace();
	child = start_child();
	assert_true(is_answered());
	signal_it(child);
	assert_true(fake.operations[GP_KFD_DBG_ENABLE] > 0);
	end_child(child);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Until its end; of stops there may be some. */
static void *wait_for_end(void *data)
{
	pid_t child = *(pid_t *)data;
	int status = 0;

	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
		;
	return WIFSIGNALED(status) ? data : NULL;
}

static void a_thread_that_waits_for_it_does_no_harm(void **state)
{
	pthread_t waiter;
	pid_t child;
	void *seen;

	(void)state;
	needs_ptrace();
	child = start_child();
	assert_true(is_answered());
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_end, &child), 0);
	signal_it(child);
	end_child(child);
	pthread_join(waiter, &seen);
	assert_non_null(seen);
}

/* Starts a process that waits for a child of its own and ends then. Returns that child. */
static pid_t start_grandchild(pid_t *parent)
{
	pid_t grandchild;
	int told[2];

	assert_int_equal(pipe(told), 0);
	*parent = fork();
	assert_true(*parent >= 0);
	if (!*parent) {
		grandchild = fork();
		if (!grandchild) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		if (write(told[1], &grandchild, sizeof(grandchild)) != sizeof(grandchild))
			_exit(1);
		_exit(waitpid(grandchild, NULL, 0) != grandchild);
	}
	assert_int_equal(read(told[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	close(told[0]);
	close(told[1]);
	return grandchild;
}

static void a_parent_learns_of_its_death(void **unused)
{
	pid_t parent, grandchild = start_grandchild(&parent);
	struct gp__kfd_control c = { .pid = grandchild };
	int status;

	assert_int_equal(gp__kfd_trace(&c), 0);
	assert_int_equal(kill(grandchild, SIGKILL), 0);
	gp__kfd_end_trace(&c);
	assert_int_equal(waitpid(parent, &status, 0), parent);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	(void)unused;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_signals_reach_it),
		cmocka_unit_test(a_thread_that_waits_for_it_does_no_harm),
		cmocka_unit_test(a_parent_learns_of_its_death),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
