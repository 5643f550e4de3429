// SPDX-License-Identifier: MIT
#include "daemon/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/units.h"

#define BACKLOG 16

static int parse_path(struct gp__address *a, const char *path)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&a->socket;

	if (*path != '/' || strlen(path) >= sizeof(un->sun_path))
		return -EINVAL;
	un->sun_family = AF_UNIX;
	strcpy(un->sun_path, path);
	a->size = sizeof(*un);
	return 0;
}

/* @host: without brackets. */
static int parse_ip(struct gp__address *a, const char *host, bool is_v6, uint16_t port)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a->socket;
	struct sockaddr_in *in = (struct sockaddr_in *)&a->socket;

	if (is_v6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		a->size = sizeof(*in6);
		return inet_pton(AF_INET6, host, &in6->sin6_addr) == 1 ? 0 : -EINVAL;
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	a->size = sizeof(*in);
	return inet_pton(AF_INET, host, &in->sin_addr) == 1 ? 0 : -EINVAL;
}

int gp__address_parse(struct gp__address *a, const char *text)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	bool is_v6 = n > 1 && text[0] == '[' && text[n - 1] == ']';
	char host[INET6_ADDRSTRLEN];
	uint64_t port;

	memset(a, 0, sizeof(*a));
	if (!strncmp(text, "unix:", 5))
		return parse_path(a, text + 5);
	if (is_v6) {
		text++;
		n -= 2;
	}
	if (!n || n >= sizeof(host) || gp__parse_u64(colon + 1, 1, 65535, &port))
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = '\0';
	return parse_ip(a, host, is_v6, (uint16_t)port);
}

bool gp__address_is_local(const struct gp__address *a)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&a->socket;
	const struct sockaddr_in *in = (const struct sockaddr_in *)&a->socket;

	switch (a->socket.ss_family) {
	case AF_INET:
		return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	case AF_INET6:
		return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
	default:
		return true;
	}
}

static const char *path_of(const struct gp__address *a)
{
	return a->socket.ss_family == AF_UNIX ? ((const struct sockaddr_un *)&a->socket)->sun_path
					      : NULL;
}

bool gp__is_socket(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISSOCK(st.st_mode);
}

/* Removes a socket at which nobody listens; connect() refuses other files in the same way. */
static void remove_stale(const struct gp__address *a)
{
	int fd = gp__is_socket(path_of(a))
			 ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)
			 : -1;

	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)&a->socket, a->size) && errno == ECONNREFUSED)
		gp__address_remove(a);
	close(fd);
}

static int bind_path(int fd, const struct gp__address *a)
{
	remove_stale(a);
	/* The file gets this mode at once, so that nobody else can connect before. */
	if (fchmod(fd, 0600) || bind(fd, (const struct sockaddr *)&a->socket, a->size))
		return -errno;
	return 0;
}

static int bind_ip(int fd, const struct gp__address *a)
{
	int on = 1;

	/* The port is free again at once after a restart. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return bind(fd, (const struct sockaddr *)&a->socket, a->size) ? -errno : 0;
}

int gp__address_listen(const struct gp__address *a)
{
	int fd = socket(a->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	err = a->socket.ss_family == AF_UNIX ? bind_path(fd, a) : bind_ip(fd, a);
	if (!err && listen(fd, BACKLOG))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int gp__address_share(const struct gp__address *a, gid_t gid)
{
	const char *path = path_of(a);

	return path && (chown(path, (uid_t)-1, gid) || chmod(path, 0660)) ? -errno : 0;
}

void gp__address_remove(const struct gp__address *a)
{
	if (path_of(a))
		unlink(path_of(a));
}
