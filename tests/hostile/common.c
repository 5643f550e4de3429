// SPDX-License-Identifier: MIT
#include "hostile.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool goes_on(const struct hostile *h)
{
	return gp__clock_ns() < h->until;
}

void rest_ms(const struct hostile *h, unsigned int ms)
{
	u64 now = gp__clock_ns(), ns = ms * GP__MS;

	if (now < h->until)
		gp__sleep_ns(ns < h->until - now ? ns : h->until - now);
}

void count(struct hostile *h, int result)
{
	if (!result)
		h->counts->succeeded++;
	else if (result == -EPIPE || result == -ECONNRESET || result == -ECONNREFUSED ||
		 result == -ETIMEDOUT || result == -ENOENT)
		h->counts->dropped++;
	else
		h->counts->refused++;
}

void note_time(struct hostile *h, u64 since)
{
	u64 took = gp__clock_ns() - since;

	if (took > h->counts->longest_ns)
		h->counts->longest_ns = took;
}

void become(uid_t user)
{
	if (setgroups(0, NULL) || setgid(user) || setuid(user)) {
		perror("setuid");
		_exit(EXIT_FAILURE);
	}
	/* A change of the user clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

pid_t fork_child(void)
{
	pid_t pid = fork();

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/*
 * Programs
 */

int join(struct hostile *h, struct gp__wire_client *c, const char *name, u32 nr_slots)
{
	char text[GP__WIRE_TEXT_MAX];
	int err = gp__wire_client_open(c, h->socket, name, nr_slots, text);

	if (err)
		count(h, err);
	return err;
}

struct gp__wire_queue_add queue_of(const struct hostile *h, u32 slot, s32 prio, const char *tag)
{
	struct gp__wire_queue_add q = { .head = { sizeof(q), GP__WIRE_QUEUE_ADD, 0, 0, 0 },
					.slot = slot,
					.level_requested = 3,
					.level = 3,
					.hints = { .prio = prio } };

	gp__wire_text(q.device, sizeof(q.device), h->gpu);
	gp__wire_text(q.device_name, sizeof(q.device_name), "a GPU");
	gp__wire_text(q.tag, sizeof(q.tag), tag);
	return q;
}

int add(const struct hostile *h, struct gp__wire_client *c, u32 slot, s32 prio, const char *tag)
{
	struct gp__wire_queue_add q = queue_of(h, slot, prio, tag);

	return gp__wire_client_request(c, &q, NULL);
}

int join_with_groups(struct hostile *h, struct gp__wire_client *c, u32 nr)
{
	int err = join(h, c, "groups", nr);

	if (err)
		return err;
	for (u32 i = 0; i < nr && !err && goes_on(h); i++) {
		char tag[GP__WIRE_TAG_MAX];

		snprintf(tag, sizeof(tag), "group-%u", i);
		err = add(h, c, i, 1, tag);
	}
	/* Fewer groups than wanted serve as well. */
	if (!err || err == -EDQUOT)
		return 0;
	count(h, err);
	gp__wire_client_close(c);
	return err;
}

int set_prio(struct gp__wire_client *c, u32 slot, s32 prio)
{
	struct gp__wire_set_hints m = { .head = { sizeof(m), GP__WIRE_HINTS, 0, 0, 0 },
					.slot = slot,
					.hints = { .prio = prio } };

	return gp__wire_client_request(c, &m, NULL);
}

int join_with_queues(struct hostile *h, struct gp__wire_client **all)
{
	u32 n = 0;
	int err;

	*all = calloc(PROGRAMS_OF_QUEUES, sizeof(**all));
	err = *all ? 0 : -ENOMEM;
	while (!err && n < PROGRAMS_OF_QUEUES && goes_on(h)) {
		err = join(h, &(*all)[n], "queues", GP__WIRE_SLOTS_MAX);
		if (err)
			break;
		for (u32 i = 0; i < (*all)[n].nr_slots && !err && goes_on(h); i++)
			err = add(h, &(*all)[n], i, 1, "");
		n++;
	}
	if (!err || err == -EDQUOT)
		return (int)n;
	count(h, err);
	leave_all(*all, n);
	return err;
}

u32 join_many(struct hostile *h, struct gp__wire_client **all, u32 nr, const char *name)
{
	u32 n = 0;

	*all = calloc(nr, sizeof(**all));
	while (*all && n < nr && goes_on(h) && !join(h, &(*all)[n], name, 1)) {
		int err = add(h, &(*all)[n], 0, 1, name);

		n++;
		if (err) {
			count(h, err);
			break;
		}
	}
	return n;
}

void leave_all(struct gp__wire_client *all, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		gp__wire_client_close(&all[i]);
	free(all);
}

int obey(struct gp__wire_client *c, u32 nr_slots, int timeout_ms)
{
	struct pollfd p[] = { { .fd = c->notify_fd, .events = POLLIN },
			      { .fd = c->socket, .events = POLLIN } };
	char bytes[256];

	if (poll(p, 2, timeout_ms) > 0 && p[1].revents)
		return -EPIPE;
	if (p[0].revents && read(c->notify_fd, bytes, sizeof(bytes)) < 0)
		return 0;
	for (u32 i = 0; i < nr_slots; i++) {
		u32 number = gp__wire_order_number(atomic_load(&c->order->slot[i].order));

		if (number && number != atomic_load(&c->status->slot[i].done) >> 32)
			gp__wire_client_done(c, i, number, 0, gp__clock_ns(), 1000);
	}
	return 0;
}

/*
 * Requests
 */

json_t *ask(int fd, const char *request)
{
	char *answer;
	json_t *json;

	if (fd < 0 || gp__wire_ask(fd, request, &answer))
		return NULL;
	json = json_loads(answer, 0, NULL);
	free(answer);
	return json;
}

bool is_refused(const json_t *answer)
{
	return json_object_get(answer, "error");
}

/*
 * Sockets
 */

/* Connects a TCP socket over the loopback device. Returns 0 or -errno. */
static int connect_loopback(int *sender, int *receiver)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err = 0;

	*sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*receiver = -1;
	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &size) ||
	    connect(*sender, (struct sockaddr *)&address, size))
		err = -errno;
	if (!err)
		*receiver = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (!err && *receiver < 0)
		err = -errno;
	if (listener >= 0)
		close(listener);
	return err;
}

int make_lingering(int *receiver)
{
	static const char data[65536];
	struct linger linger = { .l_onoff = 1, .l_linger = LINGER_S };
	int fd, err = connect_loopback(&fd, receiver);

	if (!err && setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)))
		err = -errno;
	/* The receiver does not read: the rest stays unsent. */
	while (!err && send(fd, data, sizeof(data), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

/* The socket does not linger once its receiver is gone. */
void close_lingering(int fd, int receiver)
{
	close(receiver);
	close(fd);
}

int send_with(int socket, const void *bytes, size_t size, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec data = { .iov_base = (void *)bytes, .iov_len = size };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int err = 0;

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
		err = -errno;
	if (err) {
		/* It was not passed on, so the linger would delay this process. */
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 },
			   sizeof(struct linger));
	}
	close(fd);
	return err;
}

int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}
