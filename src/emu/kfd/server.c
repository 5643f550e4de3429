// SPDX-License-Identifier: MIT
/*
 * The server: a thread for each connection, and one that accepts connections and sees closed files
 * and dead programs.
 *
 * A connection's thread serves one call at a time and may wait for its client for any time without
 * delaying others. It ends with the connection, which the machine can end as well.
 */
#include "emu/kfd/server.h"

#include "base/latency.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "emu/kfd/call.h"
#include "emu/kfd/debugfs.h"
#include "emu/kfd/defer.h"
#include "emu/kfd/priority.h"
#include "emu/kfd/stats.h"
#include "emu/kfd/ioctl.h"
#include "emu/kfd/node.h"
#include "emu/kfd/process.h"
#include "emu/protocol.h"

#define CONNECTIONS_MAX 4096
#define PROCESS_CONNECTIONS_MAX 512
#define STACK_BYTES (512 << 10)
#define BACKLOG 128
#define WATCH_BITS 2
#define ACCEPT_PAUSE_US 10000

struct emu_connection {
	struct emu_connection *next;
	struct emu_call call;
};

/* The message that a thread works on. */
struct request {
	struct emu_message msg;
	uint8_t data[EMU_DATA_MAX];
	int fds[EMU_FDS_MAX];
};

/*
 * Calls of a connection: each fills a reply, and may put a descriptor into *@fd.
 */

static int say_hello(struct emu_call *call, const struct emu_message *msg)
{
	struct emu_process *p;

	if (msg->length != EMU_PROTOCOL_VERSION || call->process)
		return -EPROTO;
	p = emu_process_get(call->m, call->pid, call->uid, msg->address);
	if (!p)
		return -ENOMEM;
	/* Other threads read it in the list of connections. */
	pthread_mutex_lock(&call->m->lock);
	call->process = p;
	pthread_mutex_unlock(&call->m->lock);
	return 0;
}

/* The GPU of a render node's path; -ENOENT. */
static int render_node(const struct emu_machine *m, const char *path)
{
	char name[32];

	for (uint32_t i = 0; i < m->config.nr_gpus; i++) {
		snprintf(name, sizeof(name), "/dev/dri/renderD%u", m->node[i]->render_minor);
		if (!strcmp(path, name))
			return (int)i;
	}
	return -ENOENT;
}

/* Files whose content is made when they are opened. */
static int open_in_sysfs(struct emu_call *call, const char *path, uint32_t flags)
{
	int fd = emu_priority_open(call, path, flags);

	if (fd != -ENOENT)
		return fd;
	if ((flags & O_ACCMODE) != O_RDONLY)
		return -EACCES;
	fd = emu_debugfs_open(call, path);
	return fd != -ENOENT ? fd : emu_stats_open(call->m, path);
}

static int64_t open_file(struct emu_call *call, struct request *r, struct emu_message *reply,
			 int *fd, bool *close_fd)
{
	char *path = (char *)r->data;
	enum emu_file_kind kind = EMU_FILE_KFD;
	int node = 0;

	if (!r->msg.data_len || r->msg.data_len > PATH_MAX)
		return -EINVAL;
	/* Without its terminator, a path loses its last character and names no file. */
	path[r->msg.data_len < EMU_DATA_MAX ? r->msg.data_len : EMU_DATA_MAX - 1] = '\0';
	if (!strncmp(path, "/sys/", strlen("/sys/"))) {
		*fd = open_in_sysfs(call, path, r->msg.flags);
		*close_fd = true;
		return *fd < 0 ? *fd : 0;
	}
	if (strcmp(path, "/dev/kfd")) {
		kind = EMU_FILE_RENDER;
		node = render_node(call->m, path);
	}
	if (node < 0)
		return node;
	*close_fd = true;
	return emu_file_open(call->process, kind, (uint32_t)node, r->msg.flags, fd, &reply->file);
}

static int64_t do_ioctl(struct emu_call *call, const struct request *r, struct emu_message *reply)
{
	const struct emu_message *msg = &r->msg;
	struct emu_file f;
	int64_t result;

	if (!emu_file_find(call->m, msg->file, &f))
		return -EBADF;
	call->nr_sets = msg->offset;
	call->thread = msg->length <= INT32_MAX ? (pid_t)msg->length : 0;
	call->argument = msg->data_len ? r->data : NULL;
	call->argument_at = msg->address;
	call->argument_len = msg->data_len;
	call->takes_data = msg->flags & EMU_TAKES_DATA;
	call->serves = msg->flags & EMU_SERVES;
	if (f.kind == EMU_FILE_KFD)
		result = emu_kfd_ioctl(call, &f, msg->request, msg->address);
	else
		result = emu_drm_ioctl(call, &f, msg->request, msg->address);
	reply->offset = atomic_load(&call->process->events.nr_sets);
	return result;
}

/* Like any file: a mapping can be read, and written if the file was opened for that. */
static bool may_map(const struct emu_file *f, const struct emu_message *msg)
{
	uint32_t access = f->flags & O_ACCMODE;
	bool writes = (msg->prot & PROT_WRITE) && (msg->flags & MAP_TYPE) != MAP_PRIVATE;

	return access != O_WRONLY && !(writes && access == O_RDONLY);
}

static int64_t do_mmap(struct emu_call *call, const struct emu_message *msg,
		       struct emu_message *reply, int *fd, bool *close_fd)
{
	struct emu_file f;

	reply->prot = msg->prot;
	reply->flags = (msg->flags & ~(uint32_t)MAP_TYPE) | MAP_SHARED;
	reply->offset = 0;
	if (!msg->file) {
		*close_fd = true;
		return msg->length ? emu_dmabuf_mmap(call, msg, reply, fd) : -EINVAL;
	}
	if (!emu_file_find(call->m, msg->file, &f))
		return -EBADF;
	if (!msg->length)
		return -EINVAL;
	if (!may_map(&f, msg))
		return -EACCES;
	if (f.kind == EMU_FILE_KFD)
		return emu_kfd_mmap(call, msg, reply, fd);
	*close_fd = true;
	return emu_memory_mmap(call, &f, msg, reply, fd);
}

static int64_t serve(struct emu_call *call, struct request *r, struct emu_message *reply, int *fd,
		     bool *close_fd)
{
	if (r->msg.type == EMU_HELLO)
		return say_hello(call, &r->msg);
	if (!call->process)
		return -EPROTO;
	switch (r->msg.type) {
	case EMU_OPEN:
		return open_file(call, r, reply, fd, close_fd);
	case EMU_IOCTL:
		return do_ioctl(call, r, reply);
	case EMU_MMAP:
		return do_mmap(call, &r->msg, reply, fd, close_fd);
	case EMU_SERVE:
		return emu_defer_serve(call, r->msg.address);
	default:
		return -EPROTO;
	}
}

/* Serves one call; false: the connection has ended. */
static bool serve_one(struct emu_call *call, struct request *r)
{
	struct emu_message reply = { .type = EMU_REPLY };
	bool close_fd = false;
	int fd = -1, err;

	if (emu_message_receive(call->fd, &r->msg, r->fds))
		return false;
	for (uint32_t i = 0; i < r->msg.nr_fds; i++)
		close(r->fds[i]);
	if (r->msg.type == EMU_CANCEL) /* of a call that has ended by itself */
		return true;
	call->cancelled = false;
	call->argument = NULL;
	call->reply_len = 0;
	reply.result = serve(call, r, &reply, &fd, &close_fd);
	if (reply.result == -ECONNRESET)
		return false;
	reply.address = call->reply_at;
	err = emu_message_send(call->fd, &reply, call->reply_data, call->reply_len, &fd, fd >= 0);
	if (fd >= 0 && close_fd)
		close(fd);
	return !err && reply.result != -EPROTO;
}

static void *connection_thread(void *arg)
{
	struct emu_connection *c = arg, **link;
	struct emu_machine *m = c->call.m;
	struct request *r = malloc(sizeof(*r));

	/*
	 * A driver's code is not delayed by the GPU that it starts; here, compute units are
	 * threads.
	 */
	gp__prefer_latency();
	while (r && serve_one(&c->call, r))
		;
	free(r);
	pthread_mutex_lock(&m->lock);
	for (link = &m->connections; *link != c;)
		link = &(*link)->next;
	*link = c->next;
	m->nr_connections--;
	pthread_mutex_unlock(&m->lock);
	/* Not under the lock: a client can make it block by descriptors in its unread messages. */
	close(c->call.fd);
	if (c->call.wake_fd >= 0)
		close(c->call.wake_fd);
	if (c->call.process)
		emu_process_put(c->call.process);
	free(c);
	/*
	 * The thread that stops the machine waits for this one, which does not use the machine
	 * after this.
	 */
	pthread_mutex_lock(&m->lock);
	m->nr_threads--;
	gp__cond_broadcast(&m->ended);
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

static int start_thread(struct emu_connection *c)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, connection_thread, c);
	pthread_attr_destroy(&attr);
	return -err;
}

/* A single client cannot use up all connections. */
static bool has_too_many(const struct emu_machine *m, pid_t pid)
{
	uint32_t n = 0;

	for (const struct emu_connection *c = m->connections; c; c = c->next)
		n += c->call.pid == pid;
	return n >= PROCESS_CONNECTIONS_MAX;
}

/* The machine's lock is held. */
static bool add_connection(struct emu_machine *m, int fd, const struct ucred *peer)
{
	struct emu_connection *c;

	if (m->quit || m->nr_connections >= CONNECTIONS_MAX || has_too_many(m, peer->pid))
		return false;
	c = calloc(1, sizeof(*c));
	if (!c)
		return false;
	c->call = (struct emu_call){ .m = m,
				     .pid = peer->pid,
				     .uid = peer->uid,
				     .gid = peer->gid,
				     .fd = fd,
				     .wake_fd = -1 };
	if (start_thread(c)) {
		free(c);
		return false;
	}
	c->next = m->connections;
	m->connections = c;
	m->nr_connections++;
	m->nr_threads++;
	return true;
}

static void accept_connection(struct emu_machine *m)
{
	struct sockaddr_un address; /* which has no name */
	socklen_t address_len = sizeof(address);
	int fd = accept4(m->listen_fd, (struct sockaddr *)&address, &address_len, SOCK_CLOEXEC);
	struct ucred peer;
	socklen_t len = sizeof(peer);
	bool added = false;

	if (fd < 0) {
		/* Out of descriptors: it would be reported again at once. */
		if (errno != EAGAIN && errno != ECONNABORTED)
			usleep(ACCEPT_PAUSE_US);
		return;
	}
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len)) {
		pthread_mutex_lock(&m->lock);
		added = add_connection(m, fd, &peer);
		pthread_mutex_unlock(&m->lock);
	}
	if (!added)
		close(fd);
}

void emu_server_hang_up(struct emu_machine *m, const struct emu_process *p)
{
	for (struct emu_connection *c = m->connections; c; c = c->next) {
		if (!p || c->call.process == p)
			shutdown(c->call.fd, SHUT_RDWR);
	}
}

/*
 * The machine's own thread
 */

void emu_server_watch(struct emu_machine *m, int fd, uint32_t events, enum emu_watched kind,
		      uint64_t id)
{
	struct epoll_event e = { .events = events, .data.u64 = id << WATCH_BITS | kind };

	/*
	 * Without this, a file lives until its process is gone, which lives until its connections
	 * are.
	 */
	if (epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, fd, &e))
		fprintf(stderr, "epoll_ctl: %s\n", strerror(errno));
}

int emu_machine_listen(struct emu_machine *m)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s/" EMU_SOCKET,
			 m->config.dir);

	if (n < 0 || (size_t)n >= sizeof(address.sun_path)) {
		fprintf(stderr, "%s/" EMU_SOCKET ": path is too long for a socket\n",
			m->config.dir);
		return -ENAMETOOLONG;
	}
	m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	m->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (m->epoll_fd < 0 || m->listen_fd < 0 ||
	    bind(m->listen_fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(m->listen_fd, BACKLOG)) {
		int err = -errno;

		fprintf(stderr, "%s: %s\n", address.sun_path, strerror(-err));
		return err;
	}
	/* A device cannot be executed; access() of one checks the socket. */
	if (chmod(address.sun_path, 0600))
		return -errno;
	emu_server_watch(m, m->listen_fd, EPOLLIN, EMU_WATCHED_LISTEN, 0);
	return 0;
}

static bool handle(struct emu_machine *m, const struct epoll_event *e)
{
	uint64_t id = e->data.u64 >> WATCH_BITS;

	switch ((enum emu_watched)(e->data.u64 & ((1 << WATCH_BITS) - 1))) {
	case EMU_WATCHED_LISTEN:
		accept_connection(m);
		return true;
	case EMU_WATCHED_FILE:
		emu_file_close(m, id);
		return true;
	case EMU_WATCHED_DEATH:
		emu_process_died(m, (uint32_t)id);
		return true;
	default:
		return false;
	}
}

int emu_machine_serve(struct emu_machine *m, int quit_fd)
{
	struct epoll_event e[16];
	bool go_on = true;
	int err = 0;

	emu_server_watch(m, quit_fd, EPOLLIN, EMU_WATCHED_QUIT, 0);
	while (go_on) {
		int n = epoll_wait(m->epoll_fd, e, sizeof(e) / sizeof(e[0]), -1);

		if (n < 0 && errno != EINTR) {
			err = -errno;
			break;
		}
		for (int i = 0; i < n; i++)
			go_on &= handle(m, &e[i]);
	}
	emu_processes_end(m);
	return err;
}
