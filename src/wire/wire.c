// SPDX-License-Identifier: MIT
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#define SYSTEM_SOCKET "/run/gpreempt/control.sock"
#define USER_SOCKET "gpreempt/control.sock"
#define FDS_MAX 8 /* that we send */
#define CONNECT_PATIENCE_MS 1000

/* The sizes of messages; 0: it varies. */
static const u32 sizes[GP__WIRE_TYPES] = {
	[GP__WIRE_HELLO] = sizeof(struct gp__wire_hello),
	[GP__WIRE_WELCOME] = sizeof(struct gp__wire_welcome),
	[GP__WIRE_REPLY] = sizeof(struct gp__wire_reply),
	[GP__WIRE_QUEUE_ADD] = sizeof(struct gp__wire_queue_add),
	[GP__WIRE_QUEUE_REMOVE] = sizeof(struct gp__wire_queue_remove),
	[GP__WIRE_QUEUE_LEVEL] = sizeof(struct gp__wire_queue_level),
	[GP__WIRE_HINTS] = sizeof(struct gp__wire_set_hints),
	[GP__WIRE_GANG] = sizeof(struct gp__wire_gang),
};

/* Control characters of terminals, including the second byte of U+0080 to U+009F in UTF-8. */
static bool is_control(unsigned char before, unsigned char c)
{
	return c < 0x20 || c == 0x7f || (before == 0xc2 && c >= 0x80 && c < 0xa0);
}

/* Whether the field is terminated and free of control characters. */
static bool is_text(const char *field, size_t size)
{
	unsigned char before = 0;

	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)field[i];

		if (!c)
			return true;
		if (is_control(before, c))
			return false;
		before = c;
	}
	return false;
}

static bool has_good_texts(const void *message, u16 type)
{
	const struct gp__wire_queue_add *add = message;
	const struct gp__wire_hello *hello = message;
	const struct gp__wire_reply *reply = message;
	const struct gp__wire_gang *gang = message;

	switch (type) {
	case GP__WIRE_HELLO:
		return is_text(hello->program, sizeof(hello->program));
	case GP__WIRE_REPLY:
		return is_text(reply->text, sizeof(reply->text));
	case GP__WIRE_GANG:
		return is_text(gang->name, sizeof(gang->name));
	case GP__WIRE_QUEUE_ADD:
		return is_text(add->device, sizeof(add->device)) &&
		       is_text(add->device_name, sizeof(add->device_name)) &&
		       is_text(add->tag, sizeof(add->tag));
	default:
		return true;
	}
}

u32 gp__wire_agree(u32 version_min, u32 version_max)
{
	u32 version = version_max < GP__WIRE_VERSION ? version_max : GP__WIRE_VERSION;

	return version >= GP__WIRE_VERSION_MIN && version >= version_min ? version : 0;
}

int gp__wire_check(const void *message, size_t size, const char **why)
{
	struct gp__wire_head head;

	*why = "its message is too short";
	if (size < sizeof(head))
		return -EPROTO;
	memcpy(&head, message, sizeof(head));
	*why = "its message has a wrong size in its header";
	if (head.size != size)
		return -EPROTO;
	*why = "its message has an unknown type";
	if (!head.type || head.type >= GP__WIRE_TYPES)
		return -EPROTO;
	if (head.type == GP__WIRE_TEXT)
		return head.type;
	*why = "its message has a wrong size for its type";
	if (sizes[head.type] != size)
		return -EPROTO;
	*why = "its message has a text that is not terminated or has control characters";
	if (!has_good_texts(message, head.type))
		return -EPROTO;
	*why = NULL;
	return head.type;
}

int gp__wire_send(int fd, const void *message, const int *fds, u32 nr_fds)
{
	const struct gp__wire_head *head = message;
	struct iovec iov = { (void *)message, head->size };
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control = { 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t sent;

	if (nr_fds > FDS_MAX)
		return -EINVAL;
	if (nr_fds) {
		struct cmsghdr *c;

		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE(nr_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nr_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nr_fds * sizeof(int));
	}
	do {
		sent = sendmsg(fd, &msg, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* Keeps the first @wanted descriptors and closes the others. Returns how many were kept. */
static u32 take_fds(struct msghdr *msg, int *fds, u32 wanted)
{
	u32 nr = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (nr < wanted)
				fds[nr++] = fd;
			else
				close(fd);
		}
	}
	return nr;
}

ssize_t gp__wire_receive(int fd, void *message, size_t size, int *fds, u32 *nr_fds)
{
	struct iovec iov = { message, size };
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(GP__WIRE_FDS_MAX * sizeof(int))];
	} control;
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	u32 wanted = nr_fds ? *nr_fds : 0, got;
	ssize_t n;

	if (nr_fds)
		*nr_fds = 0;
	if (wanted) {
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof(control.room);
	}

	do {
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	got = take_fds(&msg, fds, wanted);
	if (nr_fds)
		*nr_fds = got;
	if (msg.msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	return n;
}

/* Decodes a character of UTF-8. Returns its length; 0: the bytes are none, or not its shortest
 * form. */
static size_t decode(const unsigned char *s, size_t n, u32 *code)
{
	static const u32 least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (!len || len > n || s[0] > 0xf4)
		return 0;
	*code = len == 1 ? s[0] : s[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < least[len] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return len;
}

/*
 * Whether a terminal shows the character as itself, in its place. These are not: controls, soft
 * hyphens, marks and controls of the direction of text, joiners and other characters without width,
 * separators of lines, characters for private use, variation selectors, tags and non-characters.
 */
static bool is_shown(u32 c)
{
	static const struct {
		u32 first, last;
	} hidden[] = {
		{ 0, 0x1f },	      { 0x7f, 0x9f },	     { 0xad, 0xad },
		{ 0x34f, 0x34f },     { 0x61c, 0x61c },	     { 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 },   { 0x180b, 0x180f },    { 0x200b, 0x200f },
		{ 0x2028, 0x202e },   { 0x2060, 0x206f },    { 0x2800, 0x2800 },
		{ 0x3164, 0x3164 },   { 0xe000, 0xf8ff },    { 0xfdd0, 0xfdef },
		{ 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },    { 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfffb },   { 0xfffe, 0xffff },    { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0x10ffff },
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		if (c >= hidden[i].first && c <= hidden[i].last)
			return false;
	}
	return true;
}

void gp__wire_text(char *field, size_t size, const char *text)
{
	const unsigned char *from = (const unsigned char *)text;
	size_t left = strnlen(text, 4 * size), n, to = 0;
	u32 code;

	memset(field, 0, size);
	for (; left && to < size - 1; from += n, left -= n) {
		n = decode(from, left, &code);
		if (n > size - 1 - to)
			return; /* no part of a character */
		if (n && is_shown(code)) {
			memcpy(field + to, from, n);
			to += n;
		} else {
			n = n ? n : 1;
			field[to++] = '?';
		}
	}
}

static int put_path(char *path, size_t size, const char *folder, const char *file)
{
	int n = snprintf(path, size, "%s%s%s", folder, *folder ? "/" : "", file);

	if (n < 0 || (size_t)n >= size || (size_t)n >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return -ENAMETOOLONG;
	return 0;
}

int gp__wire_path(char *path, size_t size)
{
	const char *named = getenv("GPREEMPT_SOCKET"), *runtime = getenv("XDG_RUNTIME_DIR");

	if (named && *named)
		return put_path(path, size, "", named);
	if (!access(SYSTEM_SOCKET, F_OK) || !geteuid())
		return put_path(path, size, "", SYSTEM_SOCKET);
	if (runtime && *runtime == '/')
		return put_path(path, size, runtime, USER_SOCKET);
	return -ENOENT;
}

int gp__wire_connect_within(const char *path, int timeout_ms)
{
	/* A stopped daemon accepts no connection: do not wait for it for ever. */
	const struct timeval patience = { .tv_sec = timeout_ms / 1000,
					  .tv_usec = timeout_ms % 1000 * 1000 };
	const struct timeval afterwards = { .tv_sec = 1 };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) &&
	    !connect(fd, (struct sockaddr *)&address, sizeof(address)) &&
	    !setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &afterwards, sizeof(afterwards)))
		return fd;
	err = errno == EAGAIN ? -ETIMEDOUT : -errno;
	close(fd);
	return err;
}

int gp__wire_connect(const char *path)
{
	return gp__wire_connect_within(path, CONNECT_PATIENCE_MS);
}
