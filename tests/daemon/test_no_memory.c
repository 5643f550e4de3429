// SPDX-License-Identifier: MIT
/*
 * A daemon without memory: the linker routes its allocations here (--wrap), and one of them fails,
 * in each run the next one. The daemon may refuse or drop a client. It serves others afterwards,
 * and nothing is left of the clients at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../fuzz/daemon_ends.h"

/*
 * Failing
 */

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);

/* Of the thread that plays: the allocation that brings this to 0 fails. 0: no more fails. */
static _Thread_local u32 left;
/* The same, of the JSON library's. */
static _Thread_local u32 left_json;

static bool fails(void)
{
	return left && !--left;
}

static void *malloc_json(size_t size)
{
	return left_json && !--left_json ? NULL : __real_malloc(size);
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg)
{
	return fails() ? EAGAIN : __real_pthread_create(thread, attr, fn, arg);
}

/*
 * Clients
 */

static struct gp__server server;

static void send_message(struct end *e, const void *message)
{
	gp__wire_send(e->fd, message, NULL, 0);
	turn(&server);
	drain(e);
}

static void add(struct end *e, u32 slot, s32 prio, const char *gpu)
{
	struct gp__wire_queue_add m = { .head = { sizeof(m), GP__WIRE_QUEUE_ADD, 0, 1, 0 },
					.slot = slot,
					.level = 3,
					.level_requested = 3,
					.hints = { .prio = prio } };

	strcpy(m.device, gpu);
	send_message(e, &m);
}

static void change(struct end *e, s32 prio)
{
	struct gp__wire_set_hints m = { .head = { sizeof(m), GP__WIRE_HINTS, 0, 1, 0 },
					.hints = { .prio = prio } };

	send_message(e, &m);
}

static void join_gang(struct end *e)
{
	struct gp__wire_gang m = { .head = { sizeof(m), GP__WIRE_GANG, 0, 1, 0 }, .members = 2 };

	strcpy(m.name, "gang");
	send_message(e, &m);
}

static void work(struct end *e)
{
	if (!e->status)
		return;
	atomic_fetch_add(&e->status->slot[0].work, 1);
	atomic_store(&e->status->changed[0], 1);
	read_pages(&server);
}

/* An answer comes in pieces. */
static void ask(struct end *e, const char *request)
{
	struct gp__text_message m;
	size_t n = strlen(request);

	memcpy(m.text, request, n);
	m.head = (struct gp__wire_head){ (u32)(sizeof(m.head) + n), GP__WIRE_TEXT, 0, 2, 0 };
	send_message(e, &m);
	for (int i = 0; i < 10; i++) {
		turn(&server);
		drain(e);
	}
}

static void reload(void)
{
	raise(SIGHUP);
	raise(SIGTERM); /* both are read, and this one is told by its effect */
	while (!server.stop)
		turn(&server);
	server.stop = false;
	while (server.reload.runs)
		turn(&server);
}

/* Every kind of request, with programs of which one holds the other. */
static void play(struct end e[3])
{
	char request[64];

	come(&server, &e[0], GP__WIRE_AGENT);
	come(&server, &e[1], GP__WIRE_AGENT);
	come(&server, &e[2], GP__WIRE_CONTROL);
	add(&e[0], 0, 2, "gpu-a");
	add(&e[0], 1, 2, "gpu-b");
	add(&e[1], 0, 15, "gpu-a");
	work(&e[0]);
	work(&e[1]);
	change(&e[0], 3);
	join_gang(&e[0]);
	ask(&e[2], "{\"op\":\"watch\"}");
	ask(&e[2], "{\"op\":\"list\"}");
	ask(&e[2], "{\"op\":\"users\"}");
	snprintf(request, sizeof(request), "{\"op\":\"why\",\"pid\":%d}", (int)getpid());
	ask(&e[2], request);
	ask(&e[2], "{\"op\":\"set\",\"group\":1,\"weight\":9}");
	ask(&e[2], "{\"op\":\"suspend\",\"group\":1}");
	ask(&e[2], "{\"op\":\"resume\",\"group\":1}");
	ask(&e[2], "{\"op\":\"policy\",\"name\":\"fair\"}");
	reload();
	go(&e[1]);
	turn(&server);
	ask(&e[2], "{\"op\":\"list\",\"ended\":true}");
}

/* The daemon schedules programs that join now, and answers. */
static void expect_served(void)
{
	struct end patient, urgent, operator;

	come(&server, &operator, GP__WIRE_CONTROL);
	ask(&operator, "{\"op\":\"policy\",\"name\":\"hpf\"}");
	come(&server, &patient, GP__WIRE_AGENT);
	come(&server, &urgent, GP__WIRE_AGENT);
	assert_non_null(patient.status);
	assert_non_null(urgent.status);
	add(&patient, 0, 1, "gpu-c");
	add(&urgent, 0, 15, "gpu-c");
	work(&patient);
	work(&urgent);
	for (int i = 0; i < 100 && !server.registry.nr_held; i++)
		turn(&server);
	assert_true(server.registry.nr_held > 0);
	go(&operator);
	go(&patient);
	go(&urgent);
}

/*
 * Tests
 */

/* Returns whether an allocation has failed. */
static bool play_without(u32 nr, u32 nr_json)
{
	struct end e[3] = { { .fd = -1 }, { .fd = -1 }, { .fd = -1 } };
	bool failed;

	open_server(&server);
	left = nr;
	left_json = nr_json;
	play(e);
	failed = nr ? !left : !left_json;
	left = left_json = 0;
	for (int i = 0; i < 3; i++) {
		if (e[i].fd >= 0)
			go(&e[i]);
	}
	for (int i = 0; i < 10; i++)
		turn(&server);
	expect_served();
	close_server(&server); /* aborts if something is left */
	return failed;
}

static void any_allocation_may_fail(void **state)
{
	u32 nr = 1;

	(void)state;
	while (play_without(nr, 0))
		nr++;
	assert_true(nr > 20);
}

/* They are many and alike. */
#define JSON_STEP 7

static void any_allocation_of_an_answer_may_fail(void **state)
{
	u32 nr = 1;

	(void)state;
	while (play_without(0, nr))
		nr += JSON_STEP;
	assert_true(nr > 500);
}

/* Returns whether an allocation has failed. */
static bool open_without(u32 nr)
{
	static const struct gp__log quiet;
	bool failed;
	int pair[2], err;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	left = nr;
	err = gp__server_open(&server, &quiet, NULL, false, "", pair[0]);
	failed = !left;
	left = 0;
	assert_int_equal(failed, err != 0);
	gp__server_close(&server);
	close(pair[1]);
	return failed;
}

static void the_daemon_does_not_start_without_memory(void **state)
{
	u32 nr = 1;

	(void)state;
	while (open_without(nr))
		nr++;
	assert_true(nr > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_allocation_may_fail),
		cmocka_unit_test(any_allocation_of_an_answer_may_fail),
		cmocka_unit_test(the_daemon_does_not_start_without_memory),
	};

	signal(SIGPIPE, SIG_IGN);
	/* The linker does not route the calls of a shared library. */
	json_set_alloc_funcs(malloc_json, free);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
