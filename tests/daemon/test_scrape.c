// SPDX-License-Identifier: MIT
/* Metrics over HTTP, beside programs: nothing that a client does delays a decision or the end. */
#include "two.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/address.h"
#include "daemon/scrape.h"

#define GET "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

struct web {
	struct two two;
	char folder[64], path[96];
};

static int up(void **state)
{
	static struct web w;
	char config[160];

	snprintf(w.folder, sizeof(w.folder), "/tmp/gpreempt-web-XXXXXX");
	assert_non_null(mkdtemp(w.folder));
	snprintf(w.path, sizeof(w.path), "%s/metrics.sock", w.folder);
	snprintf(config, sizeof(config), "[daemon]\nmetrics = unix:%s\ngroup =\n", w.path);
	two_up(&w.two, config);
	*state = &w;
	return 0;
}

static int down(void **state)
{
	struct web *w = *state;

	two_down(&w->two);
	assert_int_not_equal(access(w->path, F_OK), 0);
	assert_int_equal(rmdir(w->folder), 0);
	return 0;
}

static int open_connection(const struct web *w)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memcpy(un.sun_path, w->path, sizeof(w->path));
	assert_int_equal(connect(fd, (const struct sockaddr *)&un, sizeof(un)), 0);
	return fd;
}

static void request(int fd)
{
	assert_int_equal(write(fd, GET, strlen(GET)), (ssize_t)strlen(GET));
}

/* Reads to the end. The answer is valid until the next call. */
static const char *read_answer(int fd)
{
	static char answer[4 << 20];
	size_t used = 0;
	ssize_t n;

	while ((n = read(fd, answer + used, sizeof(answer) - 1 - used)) > 0)
		used += (size_t)n;
	answer[used] = '\0';
	assert_int_equal(n, 0);
	close(fd);
	return answer;
}

static void expect(int fd, const char *text)
{
	assert_non_null(strstr(read_answer(fd), text));
}

static void a_preemption_is_there(void **state)
{
	struct web *w = *state;
	int fd;

	preempt(&w->two);
	rig_sync(&w->two.rig);
	fd = open_connection(w);
	request(fd);
	expect(fd, ",class=\"offline\",program=\"train\",rule=\"priority\"} 1\n");
}

/* The request waits for the daemon, and not the daemon for the request. */
static void a_request_waits_for_a_daemon_that_hangs(void **state)
{
	struct web *w = *state;
	int fd = open_connection(w);

	rig_hang(&w->two.rig, true);
	request(fd);
	usleep(50000);
	rig_hang(&w->two.rig, false);
	expect(fd, "HTTP/1.1 200 OK");
}

static void requests_beside_decisions(void **state)
{
	struct web *w = *state;

	for (int i = 0; i < 20; i++) {
		int fd = open_connection(w), silent = open_connection(w);

		request(fd);
		preempt(&w->two);
		release(&w->two);
		expect(fd, "HTTP/1.1 200 OK");
		close(silent);
		usleep(30000); /* some get a text anew, some the latest */
	}
}

/* Requests that are not answered yet when the daemon ends. */
static void the_end_comes_at_once(void **state)
{
	struct web *w = *state;
	u64 begin;
	int fd[8];

	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++) {
		fd[i] = open_connection(w);
		if (i % 2)
			request(fd[i]);
	}
	begin = gp__clock_ns();
	down(state);
	/* Less than the patience of a client with a daemon that does not answer. */
	assert_true(gp__clock_ns() - begin < 8 * GP__S);
	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		close(fd[i]);
	up(state);
}

/* As many accounts as a user may have: the answer does not fit into a socket's buffer. */
#define CROWD 4
#define TAGS 30

static void join_crowd(struct web *w, struct agent crowd[CROWD])
{
	char name[64], tag[32];

	for (u32 i = 0; i < CROWD; i++) {
		snprintf(name, sizeof(name), "a-program-with-a-name-as-long-as-names-may-be-%u", i);
		agent_join(&w->two.rig, &crowd[i], name);
		for (u32 k = 0; k < TAGS; k++) {
			struct gp__wire_queue_add q;

			snprintf(tag, sizeof(tag), "a-tag-that-is-long-too-%u", k);
			q = queue_of(OFFLINE, "gpu-a", tag);
			agent_add(&crowd[i], &q);
		}
	}
}

/* The number of turns is another one in each text. */
static unsigned long turns_told(const struct web *w)
{
	static const char name[] = "\ngpreempt_daemon_turn_seconds_count ";
	int fd = open_connection(w);
	const char *at;

	request(fd);
	at = strstr(read_answer(fd), name);
	assert_non_null(at);
	return strtoul(at + strlen(name), NULL, 10);
}

static void wait_for_a_new_text(void)
{
	usleep(300000);
}

/* Longer than connections may last: they do not keep their texts any more. */
#define TOO_LONG_NS (4 * GP__S)

/* Each client keeps a text in the daemon's memory. Returns whether all of them were there at the
 * end; then @same says whether two clients that come later get the same text. */
static bool keep_texts(const struct web *w, unsigned long *turns, bool *same)
{
	u64 begin = gp__clock_ns();
	int fd[4];

	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++) {
		fd[i] = open_connection(w);
		request(fd[i]);
		wait_for_a_new_text();
	}
	*turns = turns_told(w);
	wait_for_a_new_text();
	*same = turns_told(w) == *turns;
	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		close(fd[i]);
	return gp__clock_ns() - begin < TOO_LONG_NS;
}

/* There are few texts, however many clients do not read theirs. */
static void clients_that_do_not_read_keep_few_texts(void **state)
{
	struct web *w = *state;
	struct agent crowd[CROWD];
	bool kept = false, same = false;
	unsigned long turns;

	join_crowd(w, crowd);
	for (int i = 0; i < 5 && !kept; i++)
		kept = keep_texts(w, &turns, &same);
	if (kept) {
		assert_true(same);
		wait_for_a_new_text();
		assert_int_not_equal(turns_told(w), turns);
	} else {
		print_message("this host is too slow\n");
	}
	for (u32 i = 0; i < CROWD; i++)
		agent_leave(&crowd[i]);
}

/* A byte now and then does not keep a connection. */
static void a_connection_lasts_seconds(void **state)
{
	const struct web *w = *state;
	int fd = open_connection(w);
	u64 begin = gp__clock_ns();

	while (send(fd, "G", 1, MSG_NOSIGNAL) == 1) {
		assert_true(gp__clock_ns() - begin < 30 * GP__S);
		usleep(200000);
	}
	close(fd);
}

/* A mistake in the configuration must not cost a file. */
static void only_a_socket_is_replaced(void **state)
{
	char path[64] = "/tmp/gpreempt-web-file-XXXXXX", text[80];
	int file = mkstemp(path), fd;
	struct gp__address address;

	(void)state;
	assert_true(file >= 0);
	close(file);
	snprintf(text, sizeof(text), "unix:%s", path);
	assert_int_equal(gp__address_parse(&address, text), 0);
	assert_int_equal(gp__address_listen(&address), -EADDRINUSE);
	assert_int_equal(unlink(path), 0);
	fd = gp__address_listen(&address);
	assert_true(fd >= 0);
	close(fd);
	fd = gp__address_listen(&address); /* the one before is stale */
	assert_true(fd >= 0);
	close(fd);
	gp__address_remove(&address);
	assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_preemption_is_there, up, down),
		cmocka_unit_test_setup_teardown(a_request_waits_for_a_daemon_that_hangs, up, down),
		cmocka_unit_test_setup_teardown(requests_beside_decisions, up, down),
		cmocka_unit_test_setup_teardown(clients_that_do_not_read_keep_few_texts, up, down),
		cmocka_unit_test_setup_teardown(a_connection_lasts_seconds, up, down),
		cmocka_unit_test(only_a_socket_is_replaced),
		cmocka_unit_test_setup_teardown(the_end_comes_at_once, up, down),
	};

	if (!gp__scrape_is_built())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
