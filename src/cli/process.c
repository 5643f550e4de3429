// SPDX-License-Identifier: MIT
#include "cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/child.h"

#define LOOK_MS 20

/*
 * Signals
 */

static volatile sig_atomic_t signal_seen;

static void note_signal(int number)
{
	signal_seen = number;
}

void process_signals_catch(void)
{
	struct sigaction note = { .sa_handler = note_signal };

	sigaction(SIGINT, &note, NULL);
	sigaction(SIGTERM, &note, NULL);
	sigaction(SIGHUP, &note, NULL);
}

int process_signal(void)
{
	return signal_seen;
}

int process_interrupted(void)
{
	return 128 + signal_seen;
}

/*
 * Processes
 */

static _Noreturn void become(struct gp__env *env, const struct process *p, const char *const *argv,
			     int out, pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int err = open(p->err, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(CHILD_OWN_FAILURE);
	/* The terminal's signals must not reach them: we end them. */
	setpgid(0, 0);
	dup2(null, STDIN_FILENO);
	dup2(out >= 0 ? out : null, STDOUT_FILENO);
	dup2(err >= 0 ? err : null, STDERR_FILENO);
	_exit(child_exec(env, (char **)argv));
}

int process_start(struct gp__env *env, const char *folder, struct process *p,
		  const char *const *argv, bool out)
{
	int ends[2] = { -1, -1 };
	pid_t parent = getpid();

	snprintf(p->err, sizeof(p->err), "%s/%s.err", folder, p->name);
	unlink(p->err);
	p->used = 0;
	if (out && pipe2(ends, O_CLOEXEC))
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "pipe: %s", strerror(errno));
	fflush(NULL);
	p->pid = fork();
	if (!p->pid)
		become(env, p, argv, ends[1], parent);
	if (out)
		close(ends[1]);
	p->out = ends[0];
	if (p->pid > 0) {
		/* It does the same: whoever comes first. */
		setpgid(p->pid, p->pid);
		return 0;
	}
	p->pid = 0;
	return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "fork: %s", strerror(errno));
}

int process_reap(struct process *p)
{
	int status = 0;

	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
	if (p->out >= 0)
		close(p->out);
	p->out = -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void process_end(struct process *p, int number)
{
	if (p->pid <= 0)
		return;
	kill(-p->pid, number);
	process_reap(p);
}

/* Whether it has ended, which is looked for until the time has passed. */
static bool ends_within(struct process *p, unsigned int ms)
{
	siginfo_t info = { 0 };

	for (unsigned int waited = 0; waited <= ms; waited += LOOK_MS) {
		if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid)
			return true;
		gp__sleep_ns(LOOK_MS * GP__MS);
	}
	return false;
}

bool process_stop(struct process *p, unsigned int ms)
{
	bool ended = true;

	if (p->pid <= 0)
		return true;
	kill(-p->pid, SIGTERM);
	if (!ends_within(p, ms)) {
		kill(-p->pid, SIGKILL);
		ended = ends_within(p, ms);
	}
	if (ended) {
		process_reap(p);
		return true;
	}
	p->pid = 0;
	close(p->out);
	p->out = -1;
	return false;
}

void process_errors(const struct process *p, char *text, size_t size)
{
	int fd = open(p->err, O_RDONLY | O_CLOEXEC);
	off_t all = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t n = 0;

	if (fd >= 0) {
		n = pread(fd, text, size - 1, all > (off_t)size - 1 ? all - (off_t)size + 1 : 0);
		close(fd);
	}
	n = n < 0 ? 0 : n;
	while (n && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
}

int process_failed(struct gp__env *env, const struct process *p, const char *how)
{
	char text[2048];

	process_errors(p, text, sizeof(text));
	return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "%s %s%s%s", p->name, how,
			    *text ? "; it said:\n" : "", text);
}
