// SPDX-License-Identifier: MIT
#include "daemon/journald.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/types.h"

#define ALL_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

int gp__journald_open(struct gp__journald *j, const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int err;

	j->fd = -1;
	if (strlen(path) >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	strcpy(to.sun_path, path);
	j->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (j->fd < 0)
		return -errno;
	if (!connect(j->fd, (struct sockaddr *)&to, sizeof(to)))
		return 0;
	err = -errno;
	gp__journald_close(j);
	return err;
}

void gp__journald_close(struct gp__journald *j)
{
	if (j->fd >= 0)
		close(j->fd);
	j->fd = -1;
}

/* "NAME=value", or the length in eight bytes where the value has several lines. */
static void put_text(FILE *out, const char *name, const char *value)
{
	size_t len = strlen(value);

	if (!strchr(value, '\n')) {
		fprintf(out, "%s=%s\n", name, value);
		return;
	}
	fprintf(out, "%s\n", name);
	for (int i = 0; i < 8; i++)
		fputc((int)((u64)len >> (8 * i) & 0xff), out);
	fwrite(value, 1, len, out);
	fputc('\n', out);
}

static void put_entry(FILE *out, enum gp__log_level level, const char *message,
		      const struct gp__log_field *fields, size_t n)
{
	fprintf(out, "PRIORITY=%d\nSYSLOG_IDENTIFIER=gpreemptd\n", level);
	put_text(out, "MESSAGE", message);
	for (size_t i = 0; i < n; i++) {
		if (fields[i].text)
			put_text(out, fields[i].name, fields[i].text);
		else
			fprintf(out, "%s=%lld\n", fields[i].name, fields[i].number);
	}
}

static bool fill(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0)
			return false;
		text += n;
		len -= (size_t)n;
	}
	return !fcntl(fd, F_ADD_SEALS, ALL_SEALS);
}

static int send_fd(int socket, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* An entry that no datagram can hold is in a file, which journald reads. */
static int send_file(int socket, const char *text, size_t len)
{
	int fd = memfd_create("gpreempt-journal", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	err = fill(fd, text, len) ? send_fd(socket, fd) : -EIO;
	close(fd);
	return err;
}

int gp__journald_send(const struct gp__journald *j, enum gp__log_level level, const char *message,
		      const struct gp__log_field *fields, size_t n)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int err = 0;

	if (!out)
		return -ENOMEM;
	put_entry(out, level, message, fields, n);
	if (fclose(out)) {
		free(text);
		return -ENOMEM;
	}
	if (send(j->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		err = -errno;
	if (err == -EMSGSIZE || err == -ENOBUFS)
		err = send_file(j->fd, text, len);
	free(text);
	return err;
}

bool gp__journald_entry(void *journald, enum gp__log_level level, const char *message,
			const struct gp__log_field *fields, size_t n)
{
	return !gp__journald_send(journald, level, message, fields, n);
}
