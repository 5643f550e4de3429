// SPDX-License-Identifier: MIT
/* A program that is run on a machine. */
#include "cli/emu.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/protocol.h"

#define PRELOAD "libgpreempt-emu.so"
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND 127

/* The library that stands for the devices: beside this program in the folder it was built in, or
 * where it was installed. */
static bool find_preload(char path[PATH_MAX])
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = '\0';
		if (snprintf(path, PATH_MAX, "%s/../emu/client/" PRELOAD, dirname(self)) <
			    PATH_MAX &&
		    !access(path, R_OK))
			return true;
	}
	snprintf(path, PATH_MAX, "%s/" PRELOAD, GP_LIB_DIR);
	return !access(path, R_OK);
}

int emu_client_setup(struct gp__env *env, const char *dir)
{
	const char *others = getenv("LD_PRELOAD");
	char path[PATH_MAX], real[PATH_MAX], *all;
	int n;

	if (!find_preload(path) || !realpath(path, real))
		return gp__env_fail(env, GP__EXIT_FAILURE, "Install gpreempt, or build all of it.",
				    "%s is not to be found", path);
	/* Last: it stands for the kernel, and what others do to calls they do before that. */
	n = asprintf(&all, "%s%s%s", others ? others : "", others && *others ? ":" : "", real);
	if (n < 0 || setenv("LD_PRELOAD", all, 1) || setenv(EMU_DIR_VARIABLE, dir, 1))
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	free(all);
	return 0;
}

int emu_client_exec(struct gp__env *env, char **argv)
{
	/* The program's own affair, as if it had been started without us. */
	signal(SIGPIPE, SIG_DFL);
	fflush(NULL);
	execvp(argv[0], argv);
	return gp__env_fail(env, errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN, NULL, "%s: %s",
			    argv[0], strerror(errno));
}

/* What ends us from outside is for the command: it ends, and then we do. */
static volatile sig_atomic_t command_pid;

static void pass_on(int signal_number)
{
	if (command_pid > 0)
		kill(command_pid, signal_number);
}

static void catch_signals(void)
{
	/* The terminal tells the command itself. */
	struct sigaction pass = { .sa_handler = pass_on }, ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGTERM, &pass, NULL);
	sigaction(SIGHUP, &pass, NULL);
	sigaction(SIGINT, &ignore, NULL);
	sigaction(SIGQUIT, &ignore, NULL);
}

int emu_client_run(struct gp__env *env, char **argv)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return gp__env_fail(env, EXIT_CANNOT_RUN, NULL, "fork: %s", strerror(errno));
	if (!pid)
		_exit(emu_client_exec(env, argv));
	command_pid = (sig_atomic_t)pid;
	catch_signals();
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	command_pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
