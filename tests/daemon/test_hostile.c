// SPDX-License-Identifier: MIT
/*
 * Connections that send anything, anyhow and without end: it costs them, and nobody else. Next to
 * each of them two others are scheduled as ever.
 */
#include "two.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

/* So many decisions are made beside a flood that does not end. */
#define DECISIONS 40

/* Each is carried out: that is what is counted. */
static void decide(struct two *t, int n)
{
	for (int i = 0; i < n; i++) {
		preempt(t);
		release(t);
	}
}

/* The connection is ended, and the two others go on as before. */
static void expect_dropped(struct two *t, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char byte;

	assert_int_equal(poll(&p, 1, 20000), 1);
	while (recv(fd, &byte, 1, 0) > 0)
		;
	close(fd);
	decide(t, 1);
}

static json_int_t nr_refused(struct rig *r)
{
	json_t *answer = rig_ask(r, "{\"op\":\"list\"}");
	json_int_t n =
		json_integer_value(json_object_get(json_object_get(answer, "daemon"), "refused"));

	json_decref(answer);
	return n;
}

/*
 * Messages
 */

static void garbage_costs_its_sender_the_connection(void **state)
{
	static char big[GP__WIRE_MESSAGE_MAX + 4096];
	struct gp__wire_queue_add q = queue_of(NORMAL, "gpu-a", "");
	struct gp__wire_head text = { sizeof(text), GP__WIRE_TEXT, 0, 0, 0 };
	struct gp__wire_head unknown = { sizeof(unknown), 77, 0, 0, 0 };
	struct {
		const void *data;
		size_t size;
	} cases[] = { { "x", 1 },
		      { &q, sizeof(q) },
		      { &q, sizeof(q) - 1 },
		      { big, sizeof(big) },
		      { &unknown, sizeof(unknown) },
		      { &text, sizeof(text) } };
	struct two t;

	(void)state;
	two_up(&t, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd = gp__wire_connect(t.rig.socket), size = 1 << 20;

		assert_true(fd >= 0);
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
		assert_int_equal(send(fd, cases[i].data, cases[i].size, MSG_NOSIGNAL),
				 cases[i].size);
		expect_dropped(&t, fd);
	}
	two_down(&t);
}

/* Of every kind, cut off at every word, with the size that it has or the one it should have. */
static void what_is_cut_off_costs_the_connection(void **state)
{
	static const size_t sizes[] = {
		[GP__WIRE_QUEUE_ADD] = sizeof(struct gp__wire_queue_add),
		[GP__WIRE_QUEUE_REMOVE] = sizeof(struct gp__wire_queue_remove),
		[GP__WIRE_QUEUE_LEVEL] = sizeof(struct gp__wire_queue_level),
		[GP__WIRE_HINTS] = sizeof(struct gp__wire_set_hints),
	};
	char message[sizeof(struct gp__wire_queue_add)] = { 0 };
	struct two t;

	(void)state;
	two_up(&t, NULL);
	for (u16 type = GP__WIRE_QUEUE_ADD; type <= GP__WIRE_HINTS; type++) {
		for (size_t size = 4; size < sizes[type]; size += 4) {
			struct gp__wire_head head = { (u32)(size % 8 ? size : sizes[type]), type, 0,
						      1, 0 };
			struct agent a;
			int fd;

			agent_join(&t.rig, &a, "cut-off");
			memcpy(message, &head, sizeof(head));
			assert_int_equal(send(a.client.socket, message, size, MSG_NOSIGNAL), size);
			fd = dup(a.client.socket);
			agent_leave(&a);
			expect_dropped(&t, fd);
		}
	}
	two_down(&t);
}

static void what_is_said_twice_counts_once(void **state)
{
	struct gp__wire_hello hello = { .head = { sizeof(hello), GP__WIRE_HELLO, 0, 1, 0 },
					.version_min = GP__WIRE_VERSION,
					.version_max = GP__WIRE_VERSION,
					.role = GP__WIRE_AGENT };
	struct gp__wire_queue_add q = queue_of(NORMAL, "gpu-b", "");
	struct gp__wire_queue_remove gone = { .head = { sizeof(gone), GP__WIRE_QUEUE_REMOVE, 0, 0,
							0 } };
	struct agent a;
	struct two t;
	int fd;

	(void)state;
	two_up(&t, NULL);
	agent_join(&t.rig, &a, "again");
	assert_int_equal(gp__wire_client_request(&a.client, &q, NULL), 0);
	assert_int_equal(gp__wire_client_request(&a.client, &q, NULL), -EINVAL);
	assert_int_equal(gp__wire_client_request(&a.client, &gone, NULL), 0);
	assert_int_equal(gp__wire_client_request(&a.client, &gone, NULL), -ENOENT);
	assert_int_equal(gp__wire_send(a.client.socket, &hello, NULL, 0), 0);
	fd = dup(a.client.socket);
	agent_leave(&a);
	expect_dropped(&t, fd);
	two_down(&t);
}

static void an_old_acknowledgement_acknowledges_nothing(void **state)
{
	json_t *answer;
	struct two t;
	u64 first, order;

	(void)state;
	two_up(&t, NULL);
	preempt(&t);
	first = atomic_load(&t.offline.client.status->slot[0].done);
	release(&t);
	agent_work(&t.online, 0, true);
	order = agent_expect(&t.offline, 0, GP__WIRE_HOLD);
	assert_int_not_equal(gp__wire_order_number(order), first >> 32);
	gp__wire_client_done(&t.offline.client, 0, (u32)(first >> 32), 0, gp__clock_ns(), 0);
	answer = rig_ask(&t.rig, "{\"op\":\"list\"}");
	assert_string_equal(json_string_value(json_object_get(first_group(answer), "state")),
			    "excluding");
	json_decref(answer);
	gp__wire_client_done(&t.offline.client, 0, gp__wire_order_number(order), 0, gp__clock_ns(),
			     0);
	release(&t);
	two_down(&t);
}

static void requests_that_are_no_json_cost_the_connection(void **state)
{
	char text[GP__WIRE_TEXT_MAX], *answer;
	struct two t;
	int fd;

	(void)state;
	two_up(&t, NULL);
	fd = gp__wire_control(t.rig.socket, text);
	assert_true(fd >= 0);
	assert_true(gp__wire_ask(fd, "[[[[", &answer) < 0);
	expect_dropped(&t, fd);
	two_down(&t);
}

static void another_version_is_refused_with_a_sentence(void **state)
{
	struct gp__wire_hello hello = { .head = { sizeof(hello), GP__WIRE_HELLO, 0, 9, 0 },
					.version_min = 7,
					.version_max = 9,
					.role = GP__WIRE_AGENT };
	struct gp__wire_reply reply;
	struct rig r;
	int fd;

	(void)state;
	rig_up(&r, NULL);
	fd = gp__wire_connect(r.socket);
	assert_int_equal(gp__wire_send(fd, &hello, NULL, 0), 0);
	assert_int_equal(gp__wire_receive(fd, &reply, sizeof(reply), NULL, NULL), sizeof(reply));
	assert_int_equal(reply.result, -EPROTONOSUPPORT);
	assert_non_null(strstr(reply.text, "version"));
	close(fd);
	rig_down(&r);
}

static void names_cannot_command_a_terminal(void **state)
{
	/* Escape, and U+009B, which is the same to many terminals. */
	static const char *const tags[] = { "\033[2J", "\xc2\x9b"
						       "2J" };
	struct two t;

	(void)state;
	two_up(&t, NULL);
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		struct gp__wire_queue_add q = queue_of(NORMAL, "gpu-a", "");
		struct agent a;
		int fd;

		agent_join(&t.rig, &a, "painter");
		strcpy(q.tag, tags[i]);
		assert_int_equal(gp__wire_send(a.client.socket, &q, NULL, 0), 0);
		fd = dup(a.client.socket);
		agent_leave(&a);
		expect_dropped(&t, fd);
	}
	two_down(&t);
}

/* Whether new connections can pass descriptors, as before Linux 6.16. */
static void pass_rights(struct rig *r, bool passes)
{
	int yes = passes;

	if (!r->server.refuses_rights && passes)
		return;
	/* The daemon is asleep, and there is no other client. */
	setsockopt(r->server.listener.fd, SOL_SOCKET, SO_PASSRIGHTS, &yes, sizeof(yes));
	r->server.refuses_rights = !passes;
}

static unsigned int nr_files(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void expect_files(unsigned int wanted)
{
	u64 end = gp__clock_ns() + 20 * GP__S;

	while (nr_files() != wanted && gp__clock_ns() < end)
		usleep(1000);
	assert_int_equal(nr_files(), wanted);
}

/* A kernel before 6.16 passes descriptors, whatever the daemon wants. */
static void descriptors_cost_their_sender_the_connection(void **state)
{
	struct gp__wire_queue_level m = { .head = { sizeof(m), GP__WIRE_QUEUE_LEVEL, 0, 0, 0 },
					  .level = 3 };
	int fds[8] = { 0, 0, 0, 0, 0, 0, 0, 0 }, fd;
	struct agent a;
	struct two t;
	unsigned int before;

	(void)state;
	two_up(&t, NULL);
	rig_expect_asleep(&t.rig);
	before = nr_files();
	for (int refuses = 0; refuses < 2; refuses++) {
		if (refuses && !t.rig.server.refuses_rights)
			break;
		pass_rights(&t.rig, !refuses);
		agent_join(&t.rig, &a, "giver");
		add(&a, NORMAL);
		assert_int_equal(gp__wire_send(a.client.socket, &m, fds, 8), refuses ? -EPERM : 0);
		fd = dup(a.client.socket);
		agent_leave(&a);
		if (refuses)
			close(fd);
		else
			expect_dropped(&t, fd);
		expect_files(before);
	}
	two_down(&t);
}

/* A TCP connection with unsent data: closing it blocks for as long as its owner likes. */
static int lingering_socket(int *other, int seconds)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger linger = { .l_onoff = 1, .l_linger = seconds };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, small = 4096;
	static char data[1 << 20];
	socklen_t size = sizeof(at);

	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	connect(fd, (struct sockaddr *)&at, sizeof(at));
	*other = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(*other >= 0);
	close(listener);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	while (send(fd, data, sizeof(data), MSG_NOSIGNAL) > 0)
		;
	/* close() lingers only on a blocking socket. */
	fcntl(fd, F_SETFL, 0);
	return fd;
}

/* As long as the test lasts. */
#define LINGER_S 600

static void a_lingering_socket_delays_nobody(void **state)
{
	struct gp__wire_queue_level m = { .head = { sizeof(m), GP__WIRE_QUEUE_LEVEL, 0, 0, 0 },
					  .level = 3 };
	int other[3], fd[3];
	struct agent a[3];
	struct two t;

	(void)state;
	two_up(&t, NULL);
	pass_rights(&t.rig, true);
	/* The first is in a message that is read, the others in messages that are not. */
	for (int i = 0; i < 3; i++) {
		int copy;

		agent_join(&t.rig, &a[i], "lingerer");
		copy = lingering_socket(&other[i], LINGER_S);
		add(&a[i], NORMAL);
		rig_hang(&t.rig, true);
		if (i)
			assert_int_equal(send(a[i].client.socket, "x", 1, MSG_NOSIGNAL), 1);
		assert_int_equal(gp__wire_send(a[i].client.socket, &m, &copy, 1), 0);
		close(copy);
		rig_hang(&t.rig, false);
		fd[i] = dup(a[i].client.socket);
		agent_leave(&a[i]);
		expect_dropped(&t, fd[i]);
	}
	decide(&t, DECISIONS);
	/* Their ends are reset, and close() returns. */
	for (int i = 0; i < 3; i++) {
		struct linger reset = { .l_onoff = 1 };

		setsockopt(other[i], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(other[i]);
	}
	two_down(&t);
}

/*
 * Floods
 */

struct flood {
	struct rig *rig;
	_Atomic bool stop;
	_Atomic unsigned int times, dropped;
	void (*once)(struct flood *f, struct agent *a);
	pthread_t thread;
};

/* A client whose connection was ended connects again. */
static void *flood(void *data)
{
	struct flood *f = data;
	char text[GP__WIRE_TEXT_MAX];
	struct agent a;

	while (!f->stop) {
		struct pollfd p;

		if (gp__wire_client_open(&a.client, f->rig->socket, "flood", 64, text))
			continue;
		a.nr_queues = 0;
		add(&a, OFFLINE);
		p = (struct pollfd){ .fd = a.client.socket, .events = POLLIN };
		while (!f->stop && poll(&p, 1, 0) == 0) {
			f->once(f, &a);
			f->times++;
		}
		f->dropped += !f->stop;
		agent_leave(&a);
	}
	return NULL;
}

static void beside_a_flood(void (*once)(struct flood *f, struct agent *a), bool costs_connection)
{
	struct flood f = { .once = once };
	u64 end = gp__clock_ns() + 20 * GP__S;
	struct two t;

	two_up(&t, NULL);
	f.rig = &t.rig;
	assert_int_equal(pthread_create(&f.thread, NULL, flood, &f), 0);
	while (!f.times)
		usleep(1000);
	decide(&t, DECISIONS);
	while (costs_connection && !f.dropped && gp__clock_ns() < end)
		usleep(1000);
	f.stop = true;
	pthread_join(f.thread, NULL);
	assert_true(f.times > 0);
	if (costs_connection)
		assert_true(f.dropped > 0);
	else
		assert_int_equal(f.dropped, 0);
	decide(&t, 1);
	rig_expect_asleep(&t.rig);
	two_down(&t);
}

static void send_level(struct flood *f, struct agent *a)
{
	struct gp__wire_queue_level m = { .head = { sizeof(m), GP__WIRE_QUEUE_LEVEL, 0, 0, 0 },
					  .level = 3 };

	(void)f;
	gp__wire_send(a->client.socket, &m, NULL, 0);
}

static void a_flood_of_messages_costs_the_connection(void **state)
{
	(void)state;
	beside_a_flood(send_level, true);
}

static void notify_daemon(struct flood *f, struct agent *a)
{
	(void)f;
	assert_int_equal(write(a->client.daemon_notify_fd, &(u64){ 1 }, 8), 8);
}

static void endless_notifications_are_ignored(void **state)
{
	(void)state;
	beside_a_flood(notify_daemon, false);
}

static void scribble(struct flood *f, struct agent *a)
{
	unsigned char *at = (unsigned char *)a->client.status;
	unsigned int seed = f->times;

	for (size_t i = 0; i < gp__wire_status_bytes(a->client.nr_slots, a->client.version); i++)
		at[i] = (unsigned char)(rand_r(&seed) >> 7);
	notify_daemon(f, a);
}

static void a_scribbled_page_costs_only_its_owner(void **state)
{
	(void)state;
	beside_a_flood(scribble, false);
}

/* The queue comes and goes, so that what is decided about it changes all the time. */
static void lie(struct flood *f, struct agent *a)
{
	u64 order = atomic_load(&a->client.order->slot[0].order);

	gp__wire_client_done(&a->client, 0, gp__wire_order_number(order), f->times % 3 ? 0 : -EIO,
			     UINT64_MAX, UINT64_MAX);
	gp__wire_client_work(&a->client, 0, f->times % 2, UINT32_MAX, UINT64_MAX);
	gp__wire_client_expired(&a->client, 0, gp__wire_order_number(order));
}

static void lies_cost_only_the_liar(void **state)
{
	(void)state;
	beside_a_flood(lie, false);
}

static void connect_and_leave(struct flood *f, struct agent *a)
{
	int fd = gp__wire_connect(f->rig->socket);

	(void)a;
	if (fd >= 0)
		close(fd);
}

static void endless_connections_delay_no_program(void **state)
{
	(void)state;
	beside_a_flood(connect_and_leave, false);
}

static void ask_for_everything(struct flood *f, struct agent *a)
{
	(void)a;
	rig_sync(f->rig);
}

static void endless_requests_delay_no_program(void **state)
{
	(void)state;
	beside_a_flood(ask_for_everything, false);
}

/* All clients send their requests at once; the test runs the daemon's turns one by one. */
static void a_turn_has_time_for_one_request(void **state)
{
	struct gp__wire_hello hello = { .head = { sizeof(hello), GP__WIRE_HELLO, 0, 1, 0 },
					.version_min = GP__WIRE_VERSION,
					.version_max = GP__WIRE_VERSION,
					.role = GP__WIRE_CONTROL };
	struct {
		struct gp__wire_head head;
		char text[16];
	} ask = { .head = { sizeof(ask.head) + 13, GP__WIRE_TEXT, 0, 2, 0 },
		  .text = "{\"op\":\"list\"}" };
	enum { ASKERS = 10, EACH = 5 };
	static struct gp__server server;
	int pair[2], door[2], fd[ASKERS], answers = 0;
	char room[4096];
	struct gp__log log;

	(void)state;
	gp__log_init(&log, "gpreemptd", stderr);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, door), 0);
	assert_int_equal(gp__server_open(&server, &log, NULL, false, "", door[0]), 0);
	for (int i = 0; i < ASKERS; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
		gp__listener_add_peer(&server, pair[0], true);
		fd[i] = pair[1];
		assert_int_equal(gp__wire_send(fd[i], &hello, NULL, 0), 0);
		for (int n = 0; n < EACH; n++)
			assert_int_equal(gp__wire_send(fd[i], &ask, NULL, 0), 0);
	}
	for (int turn = 0; turn < 1000 && answers < ASKERS * EACH; turn++) {
		int before = answers;

		assert_int_equal(gp__server_turn(&server, &(u64){ 0 }), 0);
		for (int i = 0; i < ASKERS; i++) {
			ssize_t n;

			while ((n = recv(fd[i], room, sizeof(room), 0)) > 0)
				answers += n > (ssize_t)sizeof(struct gp__wire_welcome);
		}
		assert_true(answers <= before + 1);
	}
	assert_int_equal(answers, ASKERS * EACH);
	for (int i = 0; i < ASKERS; i++)
		close(fd[i]);
	close(door[1]);
	gp__server_close(&server);
}

static void an_impossible_time_is_in_no_figure(void **state)
{
	json_t *answer, *stop;
	struct two t;
	u64 order;

	(void)state;
	two_up(&t, NULL);
	agent_work(&t.offline, 0, true);
	rig_sync(&t.rig);
	agent_work(&t.online, 0, true);
	order = agent_expect(&t.offline, 0, GP__WIRE_HOLD);
	gp__wire_client_done(&t.offline.client, 0, gp__wire_order_number(order), 0, gp__clock_ns(),
			     3600 * GP__S);
	answer = rig_ask(&t.rig, "{\"op\":\"list\"}");
	stop = json_object_get(json_array_get(json_object_get(answer, "gpus"), 0), "stop");
	assert_true(json_is_number(json_object_get(stop, "max_us")));
	assert_true(json_number_value(json_object_get(stop, "max_us")) < 60e6);
	json_decref(answer);
	two_down(&t);
}

/*
 * Making the daemon wait
 */

/* Makes the descriptors that it shares with the daemon blocking, and fills or drains them. */
static void no_agent_can_make_the_daemon_block_on_a_notification(void **state)
{
	struct agent bad;
	struct two t;
	u64 notifies;

	(void)state;
	two_up(&t, NULL);
	agent_join(&t.rig, &bad, "stopper");
	add(&bad, OFFLINE);
	fcntl(bad.client.notify_fd, F_SETFL, fcntl(bad.client.notify_fd, F_GETFL) & ~O_NONBLOCK);
	fcntl(bad.client.daemon_notify_fd, F_SETFL, 0);
	if (write(bad.client.notify_fd, &(u64){ UINT64_MAX - 1 }, sizeof(u64)) < 0)
		assert_int_equal(errno, EBADF); /* the other end's to write */
	agent_work(&bad, 0, true);
	for (int i = 0; i < 200; i++) {
		struct pollfd p = { .fd = bad.client.daemon_notify_fd, .events = POLLIN };

		/* Between the edge the daemon sees and its look at the page. */
		assert_int_equal(write(bad.client.daemon_notify_fd, &(u64){ 1 }, 8), 8);
		if (poll(&p, 1, 0) == 1)
			assert_int_equal(read(bad.client.daemon_notify_fd, &notifies, 8), 8);
	}
	for (int i = 0; i < 5; i++) {
		/* Its orders are never carried out: it is out of the planning. */
		preempt(&t);
		release(&t);
	}
	agent_leave(&bad);
	two_down(&t);
}

/* Its answers fill the socket; its requests wait meanwhile. */
static void a_client_that_does_not_read_keeps_nothing_awake(void **state)
{
	struct {
		struct gp__wire_head head;
		char text[16];
	} m = { .head = { sizeof(m.head) + 13, GP__WIRE_TEXT, 0, 2, 0 },
		.text = "{\"op\":\"list\"}" };
	char text[GP__WIRE_TEXT_MAX];
	struct two t;
	int fd, sent = 0;

	(void)state;
	two_up(&t, NULL);
	fd = gp__wire_control(t.rig.socket, text);
	assert_true(fd >= 0);
	/* Until the daemon does not read for a while, either. */
	for (int tries = 0; tries < 50; tries++) {
		while (send(fd, &m, m.head.size, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
			sent++;
			tries = 0;
		}
		usleep(2000);
	}
	assert_true(sent > 10 && sent < 100000);
	rig_expect_asleep(&t.rig);
	decide(&t, 1);
	close(fd);
	rig_sync(&t.rig);
	rig_expect_asleep(&t.rig);
	two_down(&t);
}

/*
 * Memory
 */

static void memory_cannot_be_resized_nor_orders_forged(void **state)
{
	struct gp__wire_hello hello = { .head = { sizeof(hello), GP__WIRE_HELLO, 0, 1, 0 },
					.version_min = GP__WIRE_VERSION,
					.version_max = GP__WIRE_VERSION,
					.role = GP__WIRE_AGENT,
					.nr_slots = 8 };
	struct gp__wire_welcome welcome;
	int fds[4], socket, again;
	u32 nr_fds = 4;
	char name[64];
	struct rig r;
	void *at;

	(void)state;
	rig_up(&r, NULL);
	socket = gp__wire_connect(r.socket);
	assert_int_equal(gp__wire_send(socket, &hello, NULL, 0), 0);
	assert_int_equal(gp__wire_receive(socket, &welcome, sizeof(welcome), fds, &nr_fds),
			 sizeof(welcome));
	assert_int_equal(nr_fds, 4);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ftruncate(fds[i], 0), -1);
		assert_int_equal(ftruncate(fds[i], 1 << 20), -1);
		assert_int_equal(fcntl(fds[i], F_ADD_SEALS, F_SEAL_WRITE), -1);
	}
	/* The order page, through its descriptor and through another open of the same file. */
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fds[1]);
	again = open(name, O_RDWR | O_CLOEXEC);
	assert_true(again >= 0);
	for (int i = 0; i < 2; i++) {
		int fd = i ? again : fds[1];

		at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_ptr_equal(at, MAP_FAILED);
		assert_int_equal(pwrite(fd, "x", 1, 0), -1);
		assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096),
				 -1);
	}
	at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fds[1], 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(mprotect(at, 4096, PROT_READ | PROT_WRITE), -1);
	munmap(at, 4096);
	close(again);
	for (u32 i = 0; i < nr_fds; i++)
		close(fds[i]);
	close(socket);
	rig_down(&r);
}

/* A hole in what the daemon reads is nothing but zeros to it. */
static void a_hole_in_the_page_costs_only_its_owner(void **state)
{
	struct agent bad;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	agent_join(&t.rig, &bad, "digger");
	add(&bad, OFFLINE);
	agent_work(&bad, 0, true);
	assert_int_equal(
		madvise((void *)((uintptr_t)bad.client.status & ~4095ul), 4096, MADV_REMOVE), 0);
	assert_int_equal(write(bad.client.daemon_notify_fd, &(u64){ 1 }, 8), 8);
	decide(&t, 2);
	agent_leave(&bad);
	two_down(&t);
}

/*
 * Having no room
 */

/* Takes every descriptor that is left; how many there were. */
static int take_all_files(int *fds, int max)
{
	int n = 0;

	while (n < max && (fds[n] = dup(STDERR_FILENO)) >= 0)
		n++;
	return n;
}

static void without_descriptors_a_client_is_refused(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct rlimit before, few = { 0 };
	struct gp__wire_reply reply;
	int fds[256], n, fd[3];
	struct two t;

	(void)state;
	two_up(&t, NULL);
	/* The processes of the two have been looked at: no thread has a file of /proc open. */
	rig_expect_asleep(&t.rig);
	strcpy(address.sun_path, t.rig.socket);
	for (int i = 0; i < 3; i++)
		fd[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ 200, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	n = take_all_files(fds, 256);
	assert_true(n > 8 && n < 256);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(connect(fd[i], (struct sockaddr *)&address, sizeof(address)), 0);
		assert_int_equal(gp__wire_receive(fd[i], &reply, sizeof(reply), NULL, NULL),
				 sizeof(reply));
		assert_int_equal(reply.result, -EMFILE);
		assert_non_null(strstr(reply.text, "LimitNOFILE"));
		close(fd[i]);
		/* The descriptor given up must stay in use. */
		fds[n] = dup(STDERR_FILENO);
		n += fds[n] >= 0;
	}
	rig_expect_asleep(&t.rig);
	while (n)
		close(fds[--n]);
	decide(&t, 2);
	assert_true(nr_refused(&t.rig) >= 3);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	two_down(&t);
}

/* There is room for the connection, and not for its pages. */
static void without_descriptors_no_program_joins(void **state)
{
	struct rlimit before, few = { 0 };
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client c;
	int fds[256], n, free_ones;
	struct two t;

	(void)state;
	two_up(&t, NULL);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ 200, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (free_ones = 1; free_ones < 12; free_ones++) {
		n = take_all_files(fds, 256);
		for (int i = 0; i < free_ones; i++)
			close(fds[--n]);
		if (!gp__wire_client_open(&c, t.rig.socket, "latecomer", 8, text))
			gp__wire_client_close(&c);
		else if (*text)
			assert_non_null(strstr(text, "files"));
		while (n)
			close(fds[--n]);
		rig_sync(&t.rig);
	}
	/* Now there are enough. */
	assert_int_equal(gp__wire_client_open(&c, t.rig.socket, "latecomer", 8, text), 0);
	gp__wire_client_close(&c);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	decide(&t, 2);
	rig_expect_asleep(&t.rig);
	two_down(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(garbage_costs_its_sender_the_connection),
		cmocka_unit_test(what_is_cut_off_costs_the_connection),
		cmocka_unit_test(what_is_said_twice_counts_once),
		cmocka_unit_test(an_old_acknowledgement_acknowledges_nothing),
		cmocka_unit_test(requests_that_are_no_json_cost_the_connection),
		cmocka_unit_test(another_version_is_refused_with_a_sentence),
		cmocka_unit_test(names_cannot_command_a_terminal),
		cmocka_unit_test(descriptors_cost_their_sender_the_connection),
		cmocka_unit_test(a_lingering_socket_delays_nobody),
		cmocka_unit_test(a_flood_of_messages_costs_the_connection),
		cmocka_unit_test(endless_notifications_are_ignored),
		cmocka_unit_test(a_scribbled_page_costs_only_its_owner),
		cmocka_unit_test(lies_cost_only_the_liar),
		cmocka_unit_test(endless_connections_delay_no_program),
		cmocka_unit_test(endless_requests_delay_no_program),
		cmocka_unit_test(a_turn_has_time_for_one_request),
		cmocka_unit_test(an_impossible_time_is_in_no_figure),
		cmocka_unit_test(no_agent_can_make_the_daemon_block_on_a_notification),
		cmocka_unit_test(a_client_that_does_not_read_keeps_nothing_awake),
		cmocka_unit_test(memory_cannot_be_resized_nor_orders_forged),
		cmocka_unit_test(a_hole_in_the_page_costs_only_its_owner),
		cmocka_unit_test(without_descriptors_a_client_is_refused),
		cmocka_unit_test(without_descriptors_no_program_joins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
