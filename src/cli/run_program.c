// SPDX-License-Identifier: MIT
/* Starts a daemon for one command. */
#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/child.h"
#include "device/request.h"

#define LISTEN_FD 3

/*
 * The local daemon
 */

static struct {
	pid_t pid;
	char folder[64], socket[96];
} local;

static int open_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
		return -1;
	strcpy(address.sun_path, path);
	if (!bind(fd, (struct sockaddr *)&address, sizeof(address)) && !listen(fd, 64))
		return fd;
	close(fd);
	return -1;
}

static _Noreturn void become_daemon(const char *path, int fd)
{
	char pid[32];

	/* It ends with this process, and not by the terminal's signals. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setpgid(0, 0);
	if (dup2(fd, LISTEN_FD) < 0)
		_exit(CHILD_CANNOT_RUN);
	if (fd == LISTEN_FD)
		fcntl(fd, F_SETFD, 0);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "1", 1);
	unsetenv("NOTIFY_SOCKET");
	execl(path, "gpreemptd", "--config", "/dev/null", (char *)NULL);
	_exit(CHILD_NOT_FOUND);
}

int run_local_begin(struct gp__env *env)
{
	const char *base = getenv("XDG_RUNTIME_DIR");
	char path[PATH_MAX];
	int fd, status =
			child_find_file(env, "../daemon/gpreemptd", GP_SBIN_DIR "/gpreemptd", path);

	if (status)
		return status;
	if (!base || *base != '/' || strlen(base) > 32)
		base = "/tmp";
	snprintf(local.folder, sizeof(local.folder), "%s/gpreempt-XXXXXX", base);
	if (!mkdtemp(local.folder))
		return gp__env_fail(env, GP__EXIT_FAILURE, NULL, "%s: %s", local.folder,
				    strerror(errno));
	snprintf(local.socket, sizeof(local.socket), "%s/control.sock", local.folder);
	fd = open_socket(local.socket);
	local.pid = fd < 0 ? -1 : fork();
	if (!local.pid)
		become_daemon(path, fd);
	if (fd >= 0)
		close(fd);
	if (local.pid < 0 || setenv(GP__ENV_SOCKET, local.socket, 1)) {
		status = gp__env_fail(env, GP__EXIT_FAILURE, NULL, "cannot start gpreemptd: %s",
				      strerror(errno));
		run_local_end();
	}
	return status;
}

void run_local_end(void)
{
	if (local.pid > 0) {
		kill(local.pid, SIGTERM);
		while (waitpid(local.pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	unlink(local.socket);
	rmdir(local.folder);
}
