// SPDX-License-Identifier: MIT
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define PATIENCE_NS (20 * GP__S)

static void *serve(void *data)
{
	struct rig *r = data;

	/* Now, as some tests leave no file to be opened. */
	atomic_store(&r->status_fd, open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC));
	assert_int_equal(gp__server_run(&r->server), 0);
	return NULL;
}

/* How often the daemon's thread has left a processor: once each time it ran. */
static unsigned long nr_switches(struct rig *r)
{
	char text[4096];
	ssize_t n = pread(atomic_load(&r->status_fd), text, sizeof(text) - 1, 0);
	unsigned long by_itself, by_others;
	const char *at;

	assert_true(n > 0);
	text[n] = '\0';
	at = strstr(text, "\nvoluntary_ctxt_switches:");
	assert_non_null(at);
	assert_int_equal(sscanf(at, " voluntary_ctxt_switches: %lu nonvoluntary_ctxt_switches: %lu",
				&by_itself, &by_others),
			 2);
	return by_itself + by_others;
}

void rig_expect_asleep(struct rig *r)
{
	for (int i = 0; i < 100; i++) {
		unsigned long before = nr_switches(r);

		usleep(200000);
		if (nr_switches(r) == before)
			return;
	}
	fail_msg("the daemon's thread does not go to sleep");
}

void rig_rest(struct rig *r)
{
	while (!atomic_load(&r->status_fd)) /* the thread has not begun yet */
		usleep(1000);
	for (int i = 0; i < 50; i++) {
		unsigned long before = nr_switches(r);

		usleep(20000);
		if (nr_switches(r) == before)
			break;
	}
}

pid_t rig_fork(struct rig *r)
{
	pid_t test = getpid(), pid;

	rig_rest(r);
	pid = fork();
	if (!pid && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != test))
		_exit(1);
	return pid;
}

static void write_config(struct rig *r, const char *text)
{
	FILE *f = fopen(r->config, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void hang(struct gp__server *server, struct gp__source *source, u32 events)
{
	struct rig *r = container_of(source, struct rig, hanger);
	u64 notifies;

	(void)server;
	(void)events;
	if (read(source->fd, &notifies, sizeof(notifies)) < 0)
		return;
	if (r->last)
		r->last(r);
	atomic_store(&r->hangs, true);
	pthread_mutex_lock(&r->hang);
	pthread_mutex_unlock(&r->hang);
}

/* @lease: of holds; 0: as configured. */
static void begin(struct rig *r, const char *config, u64 lease)
{
	/* Other users are to come in, too. */
	assert_int_equal(chmod(r->folder, 0755), 0);
	snprintf(r->socket, sizeof(r->socket), "%s/control.sock", r->folder);
	snprintf(r->config, sizeof(r->config), "%s/gpreemptd.conf", r->folder);
	write_config(r, config ? config : "");
	gp__log_init(&r->log, "gpreemptd", stderr);
	assert_int_equal(gp__server_open(&r->server, &r->log, r->config, true, r->socket, -1), 0);
	if (lease)
		r->server.config.ttl_ns = lease;
	pthread_mutex_init(&r->hang, NULL);
	r->hanger = (struct gp__source){ eventfd(0, EFD_CLOEXEC), hang };
	assert_int_equal(gp__server_watch(&r->server, &r->hanger, EPOLLIN), 0);
	assert_int_equal(pthread_create(&r->thread, NULL, serve, r), 0);
}

/* @socket: where one was before, or NULL. */
static void make_folder(struct rig *r, const char *socket)
{
	memset(r, 0, sizeof(*r));
	if (!socket) {
		strcpy(r->folder, "/tmp/gpreemptd-test-XXXXXX");
		assert_non_null(mkdtemp(r->folder));
		return;
	}
	snprintf(r->folder, sizeof(r->folder), "%.*s", (int)(strrchr(socket, '/') - socket),
		 socket);
	assert_int_equal(mkdir(r->folder, 0755), 0);
}

void rig_up(struct rig *r, const char *config)
{
	make_folder(r, NULL);
	begin(r, config, 0);
}

void rig_up_at(struct rig *r, const char *config, const char *socket)
{
	make_folder(r, socket);
	begin(r, config, 0);
}

void rig_up_lasting(struct rig *r, const char *socket)
{
	make_folder(r, socket);
	begin(r, "[core]\nmin_share_pct = 0\nmax_hold_ms = 0\n", 1000 * GP__S);
}

static void count_unjudged(struct rig *r)
{
	struct gp__link *l, *n;
	int nr = 0;

	gp__list_each(l, n, &r->server.peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		nr += p->role == GP__WIRE_AGENT && !p->dead && !p->program.judged;
	}
	r->nr_unjudged = nr;
}

void rig_wait_judged(struct rig *r)
{
	u64 deadline = gp__clock_ns() + PATIENCE_NS;
	void (*last)(struct rig *) = r->last;

	r->last = count_unjudged;
	do {
		r->nr_unjudged = -1;
		assert_int_equal(write(r->hanger.fd, &(u64){ 1 }, sizeof(u64)), sizeof(u64));
		while (r->nr_unjudged == -1 && gp__clock_ns() < deadline)
			usleep(100);
	} while (r->nr_unjudged && gp__clock_ns() < deadline);
	assert_int_equal(r->nr_unjudged, 0);
	r->last = last;
}

void rig_hang(struct rig *r, bool hangs)
{
	u64 deadline = gp__clock_ns() + PATIENCE_NS;

	if (!hangs) {
		pthread_mutex_unlock(&r->hang);
		return;
	}
	pthread_mutex_lock(&r->hang);
	atomic_store(&r->hangs, false);
	assert_int_equal(write(r->hanger.fd, &(u64){ 1 }, sizeof(u64)), sizeof(u64));
	while (!atomic_load(&r->hangs) && gp__clock_ns() < deadline)
		usleep(100);
	assert_true(atomic_load(&r->hangs));
}

static void end_thread(struct rig *r)
{
	/* Blocked in every thread since the daemon was opened: it reads it. */
	kill(getpid(), r->ends_by ? r->ends_by : SIGTERM);
	pthread_join(r->thread, NULL);
	close(r->status_fd);
}

static void close_rig(struct rig *r)
{
	char name[128];

	gp__server_close(&r->server);
	close(r->hanger.fd);
	unlink(r->config);
	snprintf(name, sizeof(name), "%s.lock", r->socket);
	unlink(name);
	snprintf(name, sizeof(name), "%s.quota", r->socket);
	unlink(name);
	snprintf(name, sizeof(name), "%s.cgroups", r->socket);
	unlink(name);
	assert_int_equal(rmdir(r->folder), 0);
}

void rig_down(struct rig *r)
{
	end_thread(r);
	close_rig(r);
}

void rig_crash(struct rig *r)
{
	struct gp__link *l, *n;

	end_thread(r);
	gp__list_each(l, n, &r->server.peers)
	{
		struct gp__peer *p = container_of(l, struct gp__peer, link);

		/* The daemon's side becomes other memory. */
		if (p->order)
			assert_ptr_equal(mmap(p->order, gp__wire_order_bytes(p->nr_slots),
					      PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
					 p->order);
	}
	close_rig(r);
}

int open_client(struct gp__wire_client *c, struct rig *r, const char *program, u32 nr_slots,
		char text[GP__WIRE_TEXT_MAX])
{
	int err, tries = 0;

	do {
		err = gp__wire_client_open(c, r->socket, program, nr_slots, text);
	} while (err == -ETIMEDOUT && ++tries < 40);
	return err;
}

void agent_join(struct rig *r, struct agent *a, const char *program)
{
	char text[GP__WIRE_TEXT_MAX];
	int err = open_client(&a->client, r, program, 64, text);

	if (err)
		fail_msg("%s: %s %s", program, strerror(-err), text);
	a->nr_queues = 0;
}

void agent_leave(struct agent *a)
{
	gp__wire_client_close(&a->client);
}

struct gp__wire_queue_add queue_of(s32 prio, const char *device, const char *tag)
{
	struct gp__wire_queue_add q = { .head = { sizeof(q), GP__WIRE_QUEUE_ADD, 0, 0, 0 },
					.level_requested = 3,
					.level = 3,
					.hints = { .prio = prio } };

	gp__wire_text(q.device, sizeof(q.device), device);
	gp__wire_text(q.device_name, sizeof(q.device_name), "a GPU");
	gp__wire_text(q.tag, sizeof(q.tag), tag);
	return q;
}

u32 agent_add(struct agent *a, const struct gp__wire_queue_add *queue)
{
	struct gp__wire_queue_add q = *queue;
	struct gp__wire_reply reply = { 0 };
	int err, tries = 0;

	q.slot = a->nr_queues++;
	do {
		err = gp__wire_client_request(&a->client, &q, &reply);
	} while (err == -ETIMEDOUT && ++tries < 40);
	/* The slot is taken if the daemon has served a request that timed out here. */
	if (err && !(tries && err == -EINVAL))
		fail_msg("queue refused: %s %s", strerror(-err), reply.text);
	return q.slot;
}

void agent_work(struct agent *a, u32 slot, bool has_work)
{
	gp__wire_client_work(&a->client, slot, has_work, has_work, gp__clock_ns());
}

enum gp__wire_verb agent_order(struct agent *a, u32 slot)
{
	return gp__wire_order_verb(atomic_load(&a->client.order->slot[slot].order));
}

u64 agent_expect(struct agent *a, u32 slot, enum gp__wire_verb verb)
{
	u64 deadline = gp__clock_ns() + PATIENCE_NS, order, notifies;

	for (;;) {
		struct pollfd p = { .fd = a->client.notify_fd, .events = POLLIN };

		order = atomic_load(&a->client.order->slot[slot].order);
		if (gp__wire_order_number(order) && gp__wire_order_verb(order) == verb)
			return order;
		if (gp__clock_ns() > deadline)
			fail_msg("no order %d came for slot %u", verb, slot);
		poll(&p, 1, 100);
		if (read(a->client.notify_fd, &notifies, sizeof(notifies)) < 0)
			continue;
	}
}

void agent_obey(struct agent *a, u32 slot, enum gp__wire_verb verb)
{
	u64 order = agent_expect(a, slot, verb);

	gp__wire_client_done(&a->client, slot, gp__wire_order_number(order), 0, gp__clock_ns(),
			     1000);
}

json_t *rig_ask(struct rig *r, const char *request)
{
	char text[GP__WIRE_TEXT_MAX], *answer;
	int fd = gp__wire_control(r->socket, text), err;
	json_t *json;

	if (fd < 0)
		fail_msg("%s %s", strerror(-fd), text);
	err = gp__wire_ask(fd, request, &answer);
	close(fd);
	if (err)
		fail_msg("%s: %s", request, strerror(-err));
	json = json_loads(answer, 0, NULL);
	assert_non_null(json);
	free(answer);
	return json;
}

void rig_sync(struct rig *r)
{
	json_decref(rig_ask(r, "{\"op\":\"list\"}"));
}

json_t *first_group(json_t *answer)
{
	return json_array_get(json_object_get(answer, "groups"), 0);
}
