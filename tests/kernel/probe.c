// SPDX-License-Identifier: MIT
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GROUP_SECONDS 120

static const struct {
	const char *name;
	void (*run)(const struct probe *p);
} groups[] = {
	{ "calls", probe_calls },
	{ "ids", probe_ids },
	{ "files", probe_files },
	{ "mappings", probe_mappings },
	{ "events", probe_events },
	{ "waits", probe_waits },
	{ "runtime", probe_runtime },
	{ "debug-self", probe_debug_self },
	{ "debug-other", probe_debug_other },
	{ "sysfs", probe_sysfs },
};

/*
 * Answers
 */

const char *probe_result(char buf[PROBE_RESULT_MAX], long result)
{
	const char *name = result < 0 && result > -4096 ? strerrorname_np((int)-result) : NULL;

	if (name)
		snprintf(buf, PROBE_RESULT_MAX, "%s", name);
	else
		snprintf(buf, PROBE_RESULT_MAX, "%ld", result);
	return buf;
}

/* Writes a line in one piece, so that lines of concurrent processes do not mix. */
void probe_say(const struct probe *p, const char *name, const char *fmt, ...)
{
	char line[4096];
	va_list args;
	int n = snprintf(line, sizeof(line), "%s/%s: ", p->group, name);

	va_start(args, fmt);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, args);
	va_end(args);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		_exit(2);
}

void probe_answer(const struct probe *p, const char *name, long result)
{
	char text[PROBE_RESULT_MAX];

	probe_say(p, name, "%s", probe_result(text, result));
}

static void fail(const char *what)
{
	perror(what);
	_exit(2);
}

/*
 * Questions
 */

int probe_open(int flags)
{
	int fd = open("/dev/kfd", flags, 0);

	return fd < 0 ? -errno : fd;
}

int probe_ioctl(const struct probe *p, unsigned long request, void *arg)
{
	int result = ioctl(p->kfd, request, arg);

	return result < 0 ? -errno : result;
}

void probe_ask(const struct probe *p, const char *name, unsigned long request, void *arg)
{
	probe_answer(p, name, probe_ioctl(p, request, arg));
}

void *probe_edge(size_t size, int prot)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || size > page || munmap(at + page, page) || mprotect(at, page, prot))
		fail("memory");
	return at + page - size;
}

/*
 * Processes
 */

static void say_end(const struct probe *p, const char *name, int status)
{
	if (WIFSIGNALED(status))
		probe_say(p, name, "killed by %s", sigabbrev_np(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		probe_say(p, name, "ended with status %d", WEXITSTATUS(status));
}

static pid_t begin_child(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		fail("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(2);
		alarm(GROUP_SECONDS);
	}
	return pid;
}

static void open_own(struct probe *p)
{
	p->kfd = probe_open(O_RDWR | O_CLOEXEC);
	if (p->kfd < 0) {
		probe_answer(p, "open", p->kfd);
		_exit(2);
	}
}

static void wait_for(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) != pid) {
		if (errno != EINTR)
			fail("waitpid");
	}
}

void probe_fresh(const struct probe *p, const char *name,
		 void (*f)(const struct probe *p, const void *arg), const void *arg)
{
	pid_t pid = begin_child();
	int status;

	if (!pid) {
		struct probe own = { .group = p->group };

		open_own(&own);
		f(&own, arg);
		_exit(0);
	}
	wait_for(pid, &status);
	say_end(p, name, status);
}

pid_t probe_child(const struct probe *p, void (*f)(const struct probe *p))
{
	int done[2];
	char byte;
	pid_t pid;

	if (pipe2(done, O_CLOEXEC))
		fail("pipe2");
	pid = begin_child();
	if (!pid) {
		f(p);
		if (write(done[1], "", 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	close(done[1]);
	if (read(done[0], &byte, 1) != 1)
		probe_say(p, "child", "ended before it was ready");
	close(done[0]);
	return pid;
}

void probe_kill(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	wait_for(pid, &status);
}

static void run_group(size_t i)
{
	struct probe p = { .group = groups[i].name, .kfd = -1 };
	pid_t pid = begin_child();
	int status;

	if (!pid) {
		open_own(&p);
		groups[i].run(&p);
		_exit(0);
	}
	wait_for(pid, &status);
	say_end(&p, "end", status);
}

/* The program that the files group executes: tests an inherited descriptor. */
static int after_exec(const char *number)
{
	struct probe p = { .group = "files", .kfd = atoi(number) };
	struct gp_kfd_version version = { 0 };

	probe_ask(&p, "inherited-by-exec", GP_KFD_GET_VERSION, &version);
	return 0;
}

/* Without names, all groups. */
static bool is_wanted(const char *group, char **names)
{
	if (!*names)
		return true;
	while (*names && strcmp(*names, group))
		names++;
	return *names;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--after-exec"))
		return after_exec(argv[2]);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (is_wanted(groups[i].name, argv + 1))
			run_group(i);
	}
	/* Tells the reader that the output is complete, for the groups given, if any. */
	probe_say(&(struct probe){ .group = "probe" }, "end", "all groups have run");
	return 0;
}
