// SPDX-License-Identifier: MIT
/* A machine in its own process: start, stop and description. */
#include "cli/emu.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS 15000
#define DESCRIPTION "machine.json"

static int write_description(const struct emu_config *config)
{
	char path[PATH_MAX];
	json_t *o = emu_machine_describe(config);
	int err = -1;

	if (snprintf(path, sizeof(path), "%s/" DESCRIPTION, config->dir) < (int)sizeof(path) && o)
		err = json_dump_file(o, path, JSON_INDENT(2));
	json_decref(o);
	return err;
}

json_t *emu_machine_read(const char *dir)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/" DESCRIPTION, dir) >= (int)sizeof(path))
		return NULL;
	return json_load_file(path, 0, NULL);
}

/*
 * In the machine's process
 */

static int write_pid(int lock_fd)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	return ftruncate(lock_fd, 0) || pwrite(lock_fd, text, (size_t)n, 0) != n ? -1 : 0;
}

/* As many as the possible connections, and their files. */
static void raise_limits(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r)) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

/* A descriptor that becomes readable when the machine should end. */
static int open_quit_fd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Detaches from the terminal, and keeps no pipe open. */
static void leave_terminal(const struct emu_config *config)
{
	char path[PATH_MAX];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), log = -1;

	if (snprintf(path, sizeof(path), "%s/" EMU_FOLDER_LOG, config->dir) < (int)sizeof(path))
		log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	if (log >= 0 || null >= 0)
		dup2(log >= 0 ? log : null, STDERR_FILENO);
	if (null > STDERR_FILENO)
		close(null);
	if (log > STDERR_FILENO)
		close(log);
}

static int serve(const struct emu_config *config, int lock_fd, int ready_fd)
{
	struct emu_machine *m = calloc(1, sizeof(*m));
	int quit_fd = open_quit_fd(), err;

	if (!m || quit_fd < 0 || write_pid(lock_fd) || write_description(config)) {
		fprintf(stderr, "cannot start the machine: %s\n", strerror(errno));
		return 1;
	}
	raise_limits();
	if (emu_machine_init(m, config))
		return 1;
	err = emu_machine_listen(m);
	if (!err) {
		leave_terminal(config);
		if (write(ready_fd, "", 1) != 1)
			err = -errno;
		close(ready_fd);
		if (!err)
			err = emu_machine_serve(m, quit_fd);
	}
	emu_machine_destroy(m);
	free(m);
	return err ? 1 : 0;
}

_Noreturn static void be_machine(const struct emu_config *config, int lock_fd, int ready_fd,
				 pid_t parent)
{
	int status;

	/* A key that interrupts a program in the terminal must not end the machine below it. */
	setsid();
	if (parent) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(1);
	}
	if (chdir("/"))
		_exit(1);
	status = serve(config, lock_fd, ready_fd);
	emu_folder_remove(config->dir);
	/* Only now: before, the folder would look stale. */
	close(lock_fd);
	_exit(status);
}

/*
 * In the calling process
 */

/* The machine's process; a daemon is not our child, so nothing has to wait for it. */
static pid_t fork_machine(const struct emu_config *config, int lock_fd, const int ready[2],
			  bool daemon)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	close(ready[0]);
	if (daemon) {
		pid = fork();
		if (pid)
			_exit(pid < 0 ? 1 : 0);
	}
	be_machine(config, lock_fd, ready[1], daemon ? 0 : parent);
}

pid_t emu_machine_start(struct gp__env *env, const struct emu_config *config, int lock_fd,
			bool daemon)
{
	int ready[2];
	char byte;
	ssize_t n;
	pid_t pid;

	fflush(NULL);
	if (pipe2(ready, O_CLOEXEC))
		return -gp__env_fail(env, GP__EXIT_FAILURE, NULL, "pipe: %s", strerror(errno));
	pid = fork_machine(config, lock_fd, ready, daemon);
	close(ready[1]);
	if (pid > 0 && daemon)
		waitpid(pid, NULL, 0);
	do
		n = pid > 0 ? read(ready[0], &byte, 1) : -1;
	while (n < 0 && pid > 0 && errno == EINTR);
	close(ready[0]);
	if (n == 1)
		return daemon ? emu_folder_owner(config->dir) : pid;
	if (pid > 0 && !daemon)
		waitpid(pid, NULL, 0);
	return -gp__env_fail(env, GP__EXIT_FAILURE, NULL, "machine '%s' did not start",
			     config->name);
}

bool emu_machine_stop(const char *dir, pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	bool stopped;

	if (pidfd < 0)
		return errno == ESRCH;
	/* Checked again: the pid may have been reused before the descriptor was opened. */
	if (emu_folder_owner(dir) == pid)
		syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0);
	stopped = poll(&p, 1, STOP_MS) == 1;
	if (!stopped && emu_folder_owner(dir) == pid) {
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
		stopped = poll(&p, 1, STOP_MS) == 1;
	}
	close(pidfd);
	/* If it is our child. */
	waitpid(pid, NULL, WNOHANG);
	if (stopped)
		emu_folder_remove(dir);
	return stopped;
}
