// SPDX-License-Identifier: MIT
#include "daemon/systemd.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define FIRST_FD 3
#define FDS_MOST 64

void gp__systemd_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	char text[128];
	struct timespec ts;
	size_t len;
	int fd;

	if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof(to.sun_path))
		return;
	len = strlen(path);
	memcpy(to.sun_path, path, len);
	if (*path == '@') /* of the abstract kind */
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	snprintf(text, sizeof(text), "%s\nMONOTONIC_USEC=%llu", state,
		 (unsigned long long)ts.tv_sec * 1000000 + (unsigned long long)ts.tv_nsec / 1000);
	sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to,
	       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

/* The time between two notifications: systemd recommends half of what it waits for. */
static u64 watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	return strtoull(usec, NULL, 10) * GP__US / 2;
}

u64 gp__systemd_watchdog(u64 *at, u64 now)
{
	u64 ns;

	if (*at == GP__NEVER || now < *at)
		return *at;
	ns = watchdog_ns();
	if (ns)
		gp__systemd_notify("WATCHDOG=1");
	*at = ns ? now + ns : GP__NEVER;
	return *at;
}

bool gp__systemd_runs_us(void)
{
	return getenv("NOTIFY_SOCKET");
}

const char *gp__systemd_state_folder(void)
{
	const char *folder = getenv("STATE_DIRECTORY");

	return folder && *folder == '/' && !strchr(folder, ':') ? folder : NULL;
}

static bool is_of_type(int fd, int type)
{
	int has = 0;
	socklen_t size = sizeof(has);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &has, &size) && has == type;
}

int gp__systemd_socket(int type)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	long nr = fds ? strtol(fds, NULL, 10) : 0;

	if (!pid || strtol(pid, NULL, 10) != getpid())
		return -1;
	for (int fd = FIRST_FD; fd < FIRST_FD + nr && nr <= FDS_MOST; fd++) {
		if (!is_of_type(fd, type))
			continue;
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		fcntl(fd, F_SETFL, O_NONBLOCK);
		return fd;
	}
	return -1;
}
