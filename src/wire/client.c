// SPDX-License-Identifier: MIT
#include "wire/client.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTROL_PATIENCE_MS 10000

static int wait_readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	do {
		n = poll(&p, 1, timeout_ms);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n ? 0 : -ETIMEDOUT;
}

/* Receives a message of at most @size bytes and checks it. Returns its type or -errno. */
static int receive(int fd, void *message, size_t size, int *fds, u32 *nr_fds, int timeout_ms)
{
	const char *why;
	int err = wait_readable(fd, timeout_ms);
	ssize_t n = err ? err : gp__wire_receive(fd, message, size, fds, nr_fds);

	if (n < 0)
		return (int)n;
	return n ? gp__wire_check(message, (size_t)n, &why) : -ECONNRESET;
}

/* Ignores -EPIPE: a daemon that closed the connection may have sent the reason before. */
static int say_hello(int fd, enum gp__wire_role role, const char *program, u32 nr_slots)
{
	struct gp__wire_hello hello = { .head = { sizeof(hello), GP__WIRE_HELLO, 0, 1, 0 },
					.version_min = GP__WIRE_VERSION_MIN,
					.version_max = GP__WIRE_VERSION,
					.role = role,
					.nr_slots = nr_slots };

	int err;

	gp__wire_text(hello.program, sizeof(hello.program), program);
	err = gp__wire_send(fd, &hello, NULL, 0);
	return err == -EPIPE ? 0 : err;
}

/* @text: the reason of a refusal. */
static int get_welcome(int fd, struct gp__wire_welcome *welcome, int *fds, u32 *nr_fds,
		       int timeout_ms, char *text)
{
	union {
		struct gp__wire_welcome welcome;
		struct gp__wire_reply reply;
	} m;
	int type = receive(fd, &m, sizeof(m), fds, nr_fds, timeout_ms);

	if (type == GP__WIRE_REPLY) {
		gp__wire_text(text, GP__WIRE_TEXT_MAX, m.reply.text);
		return m.reply.result < 0 ? m.reply.result : -EPROTO;
	}
	if (type < 0)
		return type;
	*welcome = m.welcome;
	if (type != GP__WIRE_WELCOME)
		return -EPROTO;
	return gp__wire_agree(welcome->version, welcome->version) ? 0 : -EPROTO;
}

/* Maps a page. NULL if that fails, or if the page could be truncated while it is mapped. */
static void *map(int fd, size_t bytes, int prot)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *at;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) || st.st_size < (off_t)bytes)
		return NULL;
	at = mmap(NULL, bytes, prot, MAP_SHARED, fd, 0);

	/* cppcheck-suppress memleak; it is returned */
	return at == MAP_FAILED ? NULL : at;
}

static int join(struct gp__wire_client *c, const char *program, u32 nr_slots, int timeout_ms,
		char *text)
{
	int fds[4], err = say_hello(c->socket, GP__WIRE_AGENT, program, nr_slots);
	struct gp__wire_welcome welcome;
	u32 nr_fds = 4;

	if (!err)
		err = get_welcome(c->socket, &welcome, fds, &nr_fds, timeout_ms, text);
	if (err)
		return err;
	if (nr_fds == 4 && welcome.nr_slots && welcome.nr_slots <= GP__WIRE_SLOTS_MAX) {
		c->nr_slots = welcome.nr_slots;
		c->ttl_ns = welcome.ttl_ns;
		c->version = welcome.version;
		c->daemon_notify_fd = fds[2];
		c->notify_fd = fds[3];
		c->status = map(fds[0], gp__wire_status_bytes(c->nr_slots, c->version),
				PROT_READ | PROT_WRITE);
		c->order = map(fds[1], gp__wire_order_bytes(c->nr_slots), PROT_READ);
		close(fds[0]);
		close(fds[1]);
		return c->status && c->order ? 0 : -ENOMEM;
	}
	while (nr_fds)
		close(fds[--nr_fds]);
	return -EPROTO;
}

/* @fd: the connected socket, or -errno. */
static int open_on(struct gp__wire_client *c, int fd, const char *program, u32 nr_slots,
		   int timeout_ms, char text[GP__WIRE_TEXT_MAX])
{
	int err;

	*text = '\0';
	*c = (struct gp__wire_client){
		.socket = fd, .notify_fd = -1, .daemon_notify_fd = -1, .seq = 1
	};
	if (fd < 0)
		return fd;
	err = join(c, program, nr_slots, timeout_ms, text);
	if (err)
		gp__wire_client_close(c);
	return err;
}

int gp__wire_client_open_within(struct gp__wire_client *c, const char *path, const char *program,
				u32 nr_slots, int timeout_ms, char text[GP__WIRE_TEXT_MAX])
{
	return open_on(c, gp__wire_connect_within(path, timeout_ms), program, nr_slots, timeout_ms,
		       text);
}

int gp__wire_client_open_on(struct gp__wire_client *c, int socket, const char *program,
			    u32 nr_slots, char text[GP__WIRE_TEXT_MAX])
{
	return open_on(c, socket, program, nr_slots, GP__WIRE_PATIENCE_MS, text);
}

int gp__wire_client_open(struct gp__wire_client *c, const char *path, const char *program,
			 u32 nr_slots, char text[GP__WIRE_TEXT_MAX])
{
	return gp__wire_client_open_within(c, path, program, nr_slots, GP__WIRE_PATIENCE_MS, text);
}

void gp__wire_client_close(struct gp__wire_client *c)
{
	if (c->status)
		munmap(c->status, gp__wire_status_bytes(c->nr_slots, c->version));
	if (c->order)
		munmap((void *)c->order, gp__wire_order_bytes(c->nr_slots));
	if (c->notify_fd >= 0)
		close(c->notify_fd);
	if (c->daemon_notify_fd >= 0)
		close(c->daemon_notify_fd);
	if (c->socket >= 0)
		close(c->socket);
	*c = (struct gp__wire_client){ .socket = -1, .notify_fd = -1, .daemon_notify_fd = -1 };
}

int gp__wire_client_request(struct gp__wire_client *c, void *message, struct gp__wire_reply *reply)
{
	struct gp__wire_head *head = message;
	struct gp__wire_reply unused = { 0 };
	int type;

	reply = reply ? reply : &unused;
	head->seq = ++c->seq;
	type = gp__wire_send(c->socket, message, NULL, 0);
	while (!type) {
		type = receive(c->socket, reply, sizeof(*reply), NULL, NULL, GP__WIRE_PATIENCE_MS);
		if (type == GP__WIRE_REPLY && reply->head.seq == head->seq)
			return reply->result;
		/* A reply to an earlier request, which timed out. */
		type = type == GP__WIRE_REPLY ? 0 : type < 0 ? type : -EPROTO;
	}
	return type;
}

static void mark(struct gp__wire_client *c, u32 slot)
{
	atomic_fetch_or(&c->status->changed[slot / 64], 1ull << slot % 64);
}

static void notify(struct gp__wire_client *c)
{
	ssize_t n = write(c->daemon_notify_fd, &(u64){ 1 }, sizeof(u64));

	(void)n; /* a full eventfd has notified the daemon already */
}

static void mark_and_notify(struct gp__wire_client *c, u32 slot)
{
	mark(c, slot);
	notify(c);
}

void gp__wire_client_work(struct gp__wire_client *c, u32 slot, bool has_work, u32 pending, u64 now)
{
	struct gp__wire_status_slot *s = &c->status->slot[slot];
	u64 before = atomic_load_explicit(&s->work, memory_order_relaxed);

	atomic_store_explicit(&s->pending, pending, memory_order_relaxed);
	if ((before & 1) == has_work)
		return;
	atomic_store_explicit(&s->seen_ns, now, memory_order_relaxed);
	atomic_store(&s->work, before + 1);
	/* Mark before reading `alone`: the daemon clears `alone` before it reads the marks. */
	mark(c, slot);
	if (!atomic_load(&c->order->alone))
		notify(c);
}

u64 gp__wire_client_lead_ns(const struct gp__wire_client *c, u32 slot)
{
	return atomic_load(&c->order->alone) ? 0 : atomic_load(&c->order->slot[slot].lead_ns);
}

/*
 * A program that is alone needs no room made for it: the daemon is not told. It must hear that an
 * announcement is over which it was told while another program was there.
 */
void gp__wire_client_arriving(struct gp__wire_client *c, u32 slot, u64 at_ns)
{
	bool alone = atomic_load(&c->order->alone);
	u64 before;

	if (alone && at_ns)
		return;
	before = atomic_exchange(&c->status->slot[slot].arriving_ns, at_ns);
	if (!alone || before)
		mark_and_notify(c, slot);
}

void gp__wire_client_done(struct gp__wire_client *c, u32 slot, u32 number, int result, u64 began_ns,
			  u64 took_ns)
{
	struct gp__wire_status_slot *s = &c->status->slot[slot];

	atomic_store_explicit(&s->began_ns, began_ns, memory_order_relaxed);
	atomic_store_explicit(&s->took_ns, took_ns, memory_order_relaxed);
	atomic_store_explicit(&s->done, gp__wire_done(number, result), memory_order_release);
	mark_and_notify(c, slot);
}

void gp__wire_client_expired(struct gp__wire_client *c, u32 slot, u32 number)
{
	atomic_store(&c->status->slot[slot].expired, number);
	mark_and_notify(c, slot);
}

void gp__wire_client_memory(struct gp__wire_client *c, u32 slot, u64 memory)
{
	if (c->version < 3 ||
	    atomic_exchange(&gp__wire_memory(c->status, c->nr_slots)[slot], memory) == memory)
		return;
	mark(c, slot);
	if (!atomic_load(&c->order->alone))
		notify(c);
}

void gp__wire_client_reset(struct gp__wire_client *c, u32 slot)
{
	struct gp__wire_status_slot *s = &c->status->slot[slot];

	atomic_store(&s->work, 0);
	atomic_store(&s->pending, 0);
	atomic_store(&s->done, 0);
	atomic_store(&s->expired, 0);
	atomic_store(&s->arriving_ns, 0);
	atomic_store(&s->sees, GP__WIRE_SEES_RING);
	atomic_store(&s->notes, 0);
	if (c->version >= 3)
		atomic_store(&gp__wire_memory(c->status, c->nr_slots)[slot], 0);
}

/*
 * The command line
 */

int gp__wire_control(const char *path, char text[GP__WIRE_TEXT_MAX])
{
	struct gp__wire_welcome welcome;
	int fd = gp__wire_connect(path), err;

	*text = '\0';
	if (fd < 0)
		return fd;
	err = say_hello(fd, GP__WIRE_CONTROL, "gpreempt", 0);
	if (!err)
		err = get_welcome(fd, &welcome, NULL, NULL, CONTROL_PATIENCE_MS, text);
	if (!err)
		return fd;
	close(fd);
	return err;
}

struct text_message {
	struct gp__wire_head head;
	char text[GP__WIRE_MESSAGE_MAX - sizeof(struct gp__wire_head)];
};

static int send_text(int fd, struct text_message *m, const char *request)
{
	size_t n = strlen(request);

	if (n > sizeof(m->text))
		return -EMSGSIZE;
	m->head = (struct gp__wire_head){ (u32)(sizeof(m->head) + n), GP__WIRE_TEXT, 0, 2, 0 };
	memcpy(m->text, request, n);
	return gp__wire_send(fd, m, NULL, 0);
}

/* Appends a message to the answer. 0: there is more; 1: it is complete; -errno. */
static int take_part(int fd, struct text_message *m, char **answer, size_t *used)
{
	int type = receive(fd, m, sizeof(*m), NULL, NULL, CONTROL_PATIENCE_MS);
	size_t n;
	char *more;

	if (type < 0)
		return type;
	if (type != GP__WIRE_TEXT)
		return -EPROTO;
	if (m->head.seq != 2)
		return 0; /* a watched line */
	n = m->head.size - sizeof(m->head);
	more = realloc(*answer, *used + n + 1);
	if (!more)
		return -ENOMEM;
	memcpy(more + *used, m->text, n);
	*used += n;
	more[*used] = '\0';
	*answer = more;
	return !(m->head.flags & GP__WIRE_MORE);
}

int gp__wire_ask(int fd, const char *request, char **answer)
{
	struct text_message *m = malloc(sizeof(*m));
	size_t used = 0;
	int err;

	*answer = NULL;
	if (!m)
		return -ENOMEM;
	err = send_text(fd, m, request);
	while (!err)
		err = take_part(fd, m, answer, &used);
	free(m);
	if (err > 0)
		return 0;
	free(*answer);
	*answer = NULL;
	return err;
}

ssize_t gp__wire_next_line(int fd, char *line, size_t size, int timeout_ms)
{
	struct {
		struct gp__wire_head head;
		char text[4096];
	} m;
	int err = wait_readable(fd, timeout_ms);
	ssize_t n;

	if (err)
		return err == -ETIMEDOUT ? -EAGAIN : err;
	n = gp__wire_receive(fd, &m, sizeof(m), NULL, NULL);
	if (n <= 0)
		return n;
	n -= (ssize_t)sizeof(m.head);
	if (n < 0 || m.head.type != GP__WIRE_TEXT || (size_t)n >= size)
		return -EPROTO;
	while (n && m.text[n - 1] == '\n')
		n--;
	memcpy(line, m.text, (size_t)n);
	line[n] = '\0';
	return n;
}
