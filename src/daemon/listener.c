// SPDX-License-Identifier: MIT
/*
 * Accepts connections: identifies the peer by its socket's credentials, and checks the limits on
 * connections. Never waits for a client.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/server.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif

#define PEERS_MAX 4096
#define PEERS_OF_ADMINS 64 /* of these, reserved for administrators */
#define PEERS_OF_COMMANDS 64 /* of a user, beside those of its programs */
/* How long accepting pauses when a connection can be neither accepted nor refused. */
#define PAUSE_NS (100 * GP__MS)

const char *gp__listener_explain(int err)
{
	return err == -EMFILE || err == -ENFILE ? "gpreemptd is at its limit of open files; raise "
						  "LimitNOFILE= of its service, "
						  "or ulimit -n"
						: "gpreemptd is out of memory";
}

/* Opens a pidfd of the peer. Before Linux 6.5 this races with the reuse of its pid. */
static int open_life(const struct gp__peer *p)
{
	socklen_t size = sizeof(int);
	int fd = -1;

	if (!getsockopt(p->socket.fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &size))
		return fd;
	if (errno != ENOPROTOOPT || p->cred.pid <= 0)
		return -1;
	return (int)syscall(SYS_pidfd_open, p->cred.pid, 0);
}

/*
 * Whether the peer's process is in the same namespace as the daemon. Reading these links takes no
 * lock that the process can hold for long: neither its memory map nor its control group's.
 */
static bool shares_namespace(pid_t pid, const char *kind)
{
	char path[64], own[64], theirs[64];
	ssize_t n, m;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	n = readlink(path, own, sizeof(own));
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kind);
	m = readlink(path, theirs, sizeof(theirs));
	return n > 0 && n == m && !memcmp(own, theirs, (size_t)n);
}

/* Whether the peer is on the host, as the daemon is. If that is unknown, it is not. */
static bool is_on_host(const struct gp__peer *p)
{
	struct pollfd ended = { .fd = p->life.fd, .events = POLLIN };

	if (p->cred.pid <= 0 || p->life.fd < 0)
		return false;
	/* If it lives afterwards, its pid was not reused meanwhile. */
	return shares_namespace(p->cred.pid, "user") && shares_namespace(p->cred.pid, "pid") &&
	       !poll(&ended, 1, 0);
}

void gp__listener_permit(struct gp__server *s, struct gp__peer *p)
{
	p->owner = gp__config_owner(&s->config, p->cred.uid);
	p->limit = gp__limits_of(&s->config.limits, p->owner, p->gids, p->nr_gids);
	p->admin = gp__config_is_admin(&s->config, p->cred.uid, p->gids, p->nr_gids) &&
		   (s->config.admins_anywhere || is_on_host(p));
}

static void identify(struct gp__server *s, struct gp__peer *p)
{
	socklen_t size = sizeof(p->cred);

	if (getsockopt(p->socket.fd, SOL_SOCKET, SO_PEERCRED, &p->cred, &size))
		p->cred = (struct ucred){ .pid = 0, .uid = (uid_t)-1, .gid = (gid_t)-1 };
	size = sizeof(p->gids);
	if (!getsockopt(p->socket.fd, SOL_SOCKET, SO_PEERGROUPS, p->gids, &size))
		p->nr_gids = size / sizeof(p->gids[0]);
	if (p->nr_gids < GP__GIDS_MAX)
		p->gids[p->nr_gids++] = p->cred.gid;
	p->life.fd = open_life(p);
	gp__listener_permit(s, p);
}

/* The identity of the process for which a helper speaks. */
static void identify_as(struct gp__server *s, struct gp__peer *p, const struct gp__helper *h)
{
	p->cred = (struct ucred){ .pid = h->of.pid, .uid = h->uid, .gid = h->gid };
	memcpy(p->gids, h->gids, h->nr_gids * sizeof(h->gids[0]));
	p->nr_gids = h->nr_gids;
	p->gids[p->nr_gids++] = h->gid;
	p->life.fd = h->target;
	p->is_helper = true;
	gp__listener_permit(s, p);
}

/* The uid that the kernel shows for users that a namespace does not map. */
#define OVERFLOW_UID 65534

/* Why the peer's user is unknown. NULL: it is known. */
static const char *explain_unknown(const struct gp__server *s, const struct gp__peer *p)
{
	if (p->cred.uid != (uid_t)-1 && (p->cred.uid != OVERFLOW_UID || !s->config.hides_users))
		return NULL;
	return "gpreemptd cannot tell which user this is: gpreemptd is in a user namespace that "
	       "does not contain the user; run gpreemptd on the host";
}

/* Why there is no room for this connection. NULL: there is. */
static const char *explain_limit(struct gp__server *s, const struct gp__peer *p)
{
	if (s->nr_peers >= (p->admin ? PEERS_MAX : PEERS_MAX - PEERS_OF_ADMINS))
		return "gpreemptd has reached its limit of connections";
	if (!p->admin && p->user->nr_peers + atomic_load(&p->user->nr_closing) >=
				 (u64)p->limit.max_programs + PEERS_OF_COMMANDS)
		return "this user has reached the limit of connections: max_programs, and 64 for "
		       "commands";
	return NULL;
}

/* Closes a connection that is no peer. @user may be NULL. */
static void close_connection(struct gp__server *s, struct gp__user *user, int fd, bool has_rights)
{
	char byte;

	if (has_rights) {
		gp__closer_put(s->closer, user, fd);
		return;
	}
	/* Closing a socket with unread data would discard the reply, so read it. */
	while (recv(fd, &byte, 1, MSG_DONTWAIT) > 0)
		;
	close(fd);
}

static void refuse(struct gp__server *s, struct gp__user *user, int fd, bool has_rights, int err,
		   const char *text)
{
	struct gp__wire_reply reply = { .head = { sizeof(reply), GP__WIRE_REPLY, 0, 0, 0 },
					.result = err };

	s->nr_refused++;
	gp__wire_text(reply.text, sizeof(reply.text), text);
	gp__wire_send(fd, &reply, NULL, 0);
	shutdown(fd, SHUT_RD);
	close_connection(s, user, fd, has_rights);
}

/* Finds the peer's user and checks its limits. 0, or -errno with the reason in *@why, if it is
 * known. */
static int admit(struct gp__server *s, struct gp__peer *p, const char **why)
{
	struct gp__user *user;

	*why = explain_unknown(s, p);
	if (*why)
		return -EPERM;
	user = p->user = gp__user_get(&s->registry.users, p->owner);
	if (!user)
		return -ENOMEM;
	*why = explain_limit(s, p);
	if (*why) {
		user->refused[GP__BUDGET_CONNECTIONS]++;
		return -EDQUOT;
	}
	return gp__server_watch(s, &p->socket, EPOLLIN | EPOLLONESHOT);
}

static void enter(struct gp__server *s, struct gp__peer *p)
{
	if (p->life.fd >= 0)
		gp__server_watch(s, &p->life, EPOLLIN);
	p->ticket = ++s->last_ticket;
	s->nr_peers++;
	p->user->nr_peers++;
	gp__list_push(&s->peers, &p->link);
	gp__peer_wait(s, p, true);
}

void gp__listener_add_peer(struct gp__server *s, int fd, bool has_rights)
{
	struct gp__peer *p = gp__peer_create(fd);
	struct gp__user *user;
	const char *why = NULL;
	int err = -ENOMEM;

	if (p) {
		identify(s, p);
		err = admit(s, p, &why);
	}
	if (!err) {
		p->may_send_rights = has_rights;
		enter(s, p);
		return;
	}
	user = p ? p->user : NULL;
	if (p && p->life.fd >= 0)
		close(p->life.fd);
	free(p);
	refuse(s, user, fd, has_rights, err, why ? why : gp__listener_explain(err));
}

struct gp__peer *gp__listener_add_helper(struct gp__server *s, const struct gp__helper *h,
					 const char **why)
{
	struct gp__peer *p = gp__peer_create(h->socket);
	int err = -ENOMEM;

	*why = NULL;
	if (p) {
		identify_as(s, p, h);
		err = admit(s, p, why);
	}
	if (!err) {
		enter(s, p);
		return p;
	}
	close(h->target);
	free(p);
	refuse(s, NULL, h->socket, false, err, *why ? *why : gp__listener_explain(err));
	if (!*why)
		*why = gp__listener_explain(err);
	return NULL;
}

/*
 * Refuses the next connection when no descriptor is left, with the spare one: epoll would report it
 * for ever otherwise. If even that fails, accepting pauses for a while.
 */
static void refuse_next(struct gp__server *s, int err)
{
	int fd = -1;

	if (s->spare >= 0) {
		close(s->spare);
		/* cppcheck-suppress nullPointer; the address is not wanted */
		fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	}
	if (fd >= 0)
		refuse(s, NULL, fd, !s->refuses_rights, err, gp__listener_explain(err));
	s->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return;
	gp__server_rewatch(s, &s->listener, 0);
	s->paused_until = s->now + PAUSE_NS;
}

void gp__listener_accept(struct gp__server *s)
{
	/* cppcheck-suppress nullPointer; the address is not wanted */
	int fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0)
		gp__listener_add_peer(s, fd, !s->refuses_rights);
	else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		refuse_next(s, -errno);
}

void gp__listener_refuse_rights(struct gp__server *s)
{
	int no = 0;

	s->refuses_rights = !setsockopt(s->listener.fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no));
}

u64 gp__listener_wake(struct gp__server *s)
{
	if (s->paused_until && s->paused_until <= s->now) {
		s->paused_until = 0;
		gp__server_rewatch(s, &s->listener, EPOLLIN);
	}
	return s->paused_until ? s->paused_until : GP__NEVER;
}
