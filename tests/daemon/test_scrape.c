// SPDX-License-Identifier: MIT
/* Metrics over HTTP, beside programs: nothing that a client does delays a decision or the end. */
#include "two.h"

#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
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

/* Reads to the end; the answer must have the text. */
static void expect(int fd, const char *text)
{
	static char answer[1 << 20];
	size_t used = 0;
	ssize_t n;

	while ((n = read(fd, answer + used, sizeof(answer) - 1 - used)) > 0)
		used += (size_t)n;
	answer[used] = '\0';
	assert_int_equal(n, 0);
	assert_non_null(strstr(answer, text));
	close(fd);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_preemption_is_there, up, down),
		cmocka_unit_test_setup_teardown(a_request_waits_for_a_daemon_that_hangs, up, down),
		cmocka_unit_test_setup_teardown(requests_beside_decisions, up, down),
		cmocka_unit_test_setup_teardown(the_end_comes_at_once, up, down),
	};

	if (!gp__scrape_is_built())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
