// SPDX-License-Identifier: MIT
#include "cli/child.h"

#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool child_has_file(const char *built, const char *installed, char path[PATH_MAX])
{
	char self[PATH_MAX], candidate[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = '\0';
		snprintf(candidate, sizeof(candidate), "%s/%s", dirname(self), built);
		if (!access(candidate, R_OK) && realpath(candidate, path))
			return true;
	}
	return !access(installed, R_OK) && realpath(installed, path);
}

static bool find_library(const char *built, const char *name, char path[PATH_MAX])
{
	char installed[PATH_MAX];

	snprintf(installed, sizeof(installed), GP_LIB_DIR "/%s", name);
	return child_has_file(built, installed, path);
}

const struct gp__files child_files = { .find = find_library };

int child_find_file(struct gp__env *env, const char *built, const char *installed,
		    char path[PATH_MAX])
{
	if (child_has_file(built, installed, path))
		return 0;
	return gp__env_fail(env, GP__EXIT_FAILURE, "Install gpreempt, or build all of it.",
			    "cannot find %s", installed);
}

int child_preload(struct gp__env *env, const char *path, bool first)
{
	const char *others = getenv("LD_PRELOAD");
	char *all = NULL;
	int n;

	if (!others || !*others)
		n = asprintf(&all, "%s", path);
	else if (first)
		n = asprintf(&all, "%s:%s", path, others);
	else
		n = asprintf(&all, "%s:%s", others, path);
	if (n < 0 || setenv("LD_PRELOAD", all, 1)) {
		free(n < 0 ? NULL : all);
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	}
	free(all);
	return 0;
}

static bool ends_were_ignored; /* SIGCHLD, by whoever started gpreempt */

void child_keep_statuses(void)
{
	ends_were_ignored |= signal(SIGCHLD, SIG_DFL) == SIG_IGN;
}

int child_exec(struct gp__env *env, char **argv)
{
	/* The program gets signals as if it had been started without gpreempt. */
	signal(SIGPIPE, SIG_DFL);
	if (ends_were_ignored)
		signal(SIGCHLD, SIG_IGN);
	fflush(NULL);
	execvp(argv[0], argv);
	return gp__env_fail(env, errno == ENOENT ? CHILD_NOT_FOUND : CHILD_CANNOT_RUN, NULL,
			    "%s: %s", argv[0], strerror(errno));
}

/* Forwards a signal to the command; gpreempt ends after it. */
static volatile sig_atomic_t command_pid;

static void pass_on(int signal_number)
{
	if (command_pid > 0)
		kill(command_pid, signal_number);
}

static void catch_signals(void)
{
	/* The terminal sends these to the command, too. */
	struct sigaction pass = { .sa_handler = pass_on }, ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGTERM, &pass, NULL);
	sigaction(SIGHUP, &pass, NULL);
	sigaction(SIGINT, &ignore, NULL);
	sigaction(SIGQUIT, &ignore, NULL);
}

int child_run(struct gp__env *env, char **argv)
{
	int status = 0, result;
	pid_t pid;

	child_keep_statuses();
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return gp__env_fail(env, CHILD_CANNOT_RUN, NULL, "fork: %s", strerror(errno));
	if (!pid)
		_exit(child_exec(env, argv));
	command_pid = (sig_atomic_t)pid;
	catch_signals();
	while ((result = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		;
	command_pid = 0;
	if (result < 0)
		return gp__env_fail(env, CHILD_OWN_FAILURE, NULL, "cannot wait for %s: %s", argv[0],
				    strerror(errno));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
