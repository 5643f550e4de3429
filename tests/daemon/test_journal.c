// SPDX-License-Identifier: MIT
/* The decision log's file: what is in it, and what becomes of lines that cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/journal.h"

#define MANY 100000u

struct room {
	struct gp__journal journal;
	struct gp__log log;
	FILE *said;
	char text[4096];
	char folder[64], path[96];
};

static void room_up(struct room *r)
{
	memset(r, 0, sizeof(*r));
	r->journal.fd = -1;
	r->said = fmemopen(r->text, sizeof(r->text), "w");
	assert_non_null(r->said);
	gp__log_init(&r->log, "test", r->said);
	r->log.level = GP__LOG_DEBUG;
	strcpy(r->folder, "/tmp/gpreempt-journal-XXXXXX");
	assert_non_null(mkdtemp(r->folder));
	snprintf(r->path, sizeof(r->path), "%s/log", r->folder);
}

static void room_down(struct room *r)
{
	gp__journal_close(&r->journal);
	fclose(r->said);
	unlink(r->path);
	assert_int_equal(rmdir(r->folder), 0);
}

static void write_lines(struct gp__journal *j, unsigned int from, unsigned int to)
{
	char line[32];

	for (unsigned int i = from; i < to; i++)
		gp__journal_line(j, line, (size_t)snprintf(line, sizeof(line), "line %u\n", i));
}

/* How many there are; each is a line that was written, and none is before an earlier one. */
static unsigned int count_lines(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned int n = 0, at, last = 0;
	char line[64];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (*line == '#')
			continue; /* where some are missing */
		assert_int_equal(sscanf(line, "line %u", &at), 1);
		assert_true(!n || at > last);
		last = at;
		n++;
	}
	fclose(f);
	return n;
}

static void what_is_written_is_there_at_the_end(void **state)
{
	struct room r;

	(void)state;
	room_up(&r);
	assert_int_equal(gp__journal_open(&r.journal, &r.log, r.path, 0), 0);
	write_lines(&r.journal, 0, 10);
	gp__journal_flush(&r.journal);
	write_lines(&r.journal, 10, 20);
	gp__journal_close(&r.journal);
	assert_int_equal(count_lines(r.path), 20);
	/* It is appended to. */
	assert_int_equal(gp__journal_open(&r.journal, &r.log, r.path, 0), 0);
	write_lines(&r.journal, 20, 30);
	gp__journal_close(&r.journal);
	assert_int_equal(count_lines(r.path), 30);
	room_down(&r);
}

static void what_is_flushed_is_there_without_an_end(void **state)
{
	struct stat st = { 0 };
	struct room r;

	(void)state;
	room_up(&r);
	assert_int_equal(gp__journal_open(&r.journal, &r.log, r.path, 0), 0);
	for (unsigned int i = 0; i < 100; i++) {
		off_t before = st.st_size;

		write_lines(&r.journal, i, i + 1);
		gp__journal_flush(&r.journal);
		for (int n = 0; st.st_size == before && n < 20000; n++) {
			usleep(1000);
			assert_int_equal(stat(r.path, &st), 0);
		}
		assert_true(st.st_size > before);
	}
	room_down(&r);
}

static void of_more_than_there_is_room_for_the_rest_is_counted(void **state)
{
	unsigned long long lost;
	struct room r;

	(void)state;
	room_up(&r);
	assert_int_equal(gp__journal_open(&r.journal, &r.log, r.path, 0), 0);
	write_lines(&r.journal, 0, MANY);
	pthread_mutex_lock(&r.journal.lock);
	lost = r.journal.lost;
	pthread_mutex_unlock(&r.journal.lock);
	gp__journal_close(&r.journal);
	assert_int_equal(count_lines(r.path) + lost, MANY);
	room_down(&r);
}

static void a_full_disk_is_told_once_and_costs_lines(void **state)
{
	struct room r;
	char *found;

	(void)state;
	room_up(&r);
	if (gp__journal_open(&r.journal, &r.log, "/dev/full", 0)) {
		print_message("no /dev/full here\n");
		skip();
	}
	for (unsigned int i = 0; i < 10; i++) {
		write_lines(&r.journal, i, i + 1);
		gp__journal_flush(&r.journal);
		usleep(2000);
	}
	gp__journal_close(&r.journal);
	assert_int_equal(r.journal.lost, 10);
	fflush(r.said);
	found = strstr(r.text, "No space left");
	assert_non_null(found);
	assert_null(strstr(found + 1, "No space left"));
	room_down(&r);
}

/* Each file has its own lines, and no more than the limit. */
static void a_file_at_its_limit_is_begun_anew(void **state)
{
	enum { LIMIT = 4096, LINES = 1000 };
	struct stat now = { 0 }, old = { 0 };
	char name[112];
	struct room r;

	(void)state;
	room_up(&r);
	snprintf(name, sizeof(name), "%s.1", r.path);
	assert_int_equal(gp__journal_open(&r.journal, &r.log, r.path, LIMIT), 0);
	for (unsigned int i = 0; i < LINES; i += 50) {
		write_lines(&r.journal, i, i + 50);
		gp__journal_flush(&r.journal);
		/* Until they are written: a file of many lines at once may exceed the limit. */
		for (bool used = true; used; usleep(1000)) {
			pthread_mutex_lock(&r.journal.lock);
			used = r.journal.used;
			pthread_mutex_unlock(&r.journal.lock);
		}
	}
	gp__journal_close(&r.journal);
	assert_int_equal(stat(r.path, &now), 0);
	assert_int_equal(stat(name, &old), 0);
	assert_true(now.st_size <= LIMIT && old.st_size <= LIMIT);
	assert_true(count_lines(r.path) + count_lines(name) < LINES);
	assert_true(count_lines(r.path) > 0);
	unlink(name);
	room_down(&r);
}

static void a_file_that_was_moved_away_is_opened_again(void **state)
{
	struct stat st;
	char name[112];
	struct room r;

	(void)state;
	room_up(&r);
	snprintf(name, sizeof(name), "%s.old", r.path);
	assert_int_equal(gp__journal_open(&r.journal, &r.log, r.path, 0), 0);
	write_lines(&r.journal, 0, 10);
	gp__journal_flush(&r.journal);
	assert_int_equal(rename(r.path, name), 0);
	gp__journal_reopen(&r.journal);
	while (stat(r.path, &st))
		usleep(1000);
	write_lines(&r.journal, 10, 20);
	gp__journal_close(&r.journal);
	assert_int_equal(count_lines(name) + count_lines(r.path), 20);
	assert_true(count_lines(r.path) >= 10);
	unlink(name);
	room_down(&r);
}

static void without_a_file_nothing_happens(void **state)
{
	struct room r;

	(void)state;
	room_up(&r);
	assert_int_equal(gp__journal_open(&r.journal, &r.log, "", 0), 0);
	write_lines(&r.journal, 0, 10);
	gp__journal_flush(&r.journal);
	assert_int_equal(gp__journal_open(&r.journal, &r.log, "/no/such/folder/log", 0), -ENOENT);
	write_lines(&r.journal, 0, 10);
	room_down(&r);
}

/*
 * Messages
 */

static struct gp__journal messages = { .fd = -1 }; /* it may outlive its test */

/* Makes a pipe into which not a byte more fits, and the log of a daemon that writes to it. */
static void log_to_full_pipe(int ends[2], struct gp__log *log)
{
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	while (write(ends[1], "x", 1) == 1)
		;
	assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
	assert_int_equal(fcntl(ends[0], F_SETFL, 0), 0);
	gp__log_init(log, "test", stderr);
	assert_int_equal(gp__journal_open_fd(&messages, ends[1], "test: "), 0);
	log->stream = gp__journal_stream(&messages);
	assert_non_null(log->stream);
}

static void skip_filling(FILE *f)
{
	int c;

	while ((c = fgetc(f)) == 'x')
		;
	ungetc(c, f);
}

static void messages_do_not_wait_for_their_reader(void **state)
{
	unsigned int seen = 0, missing = 0, n;
	struct gp__log log;
	char line[128];
	int ends[2];
	FILE *f;

	(void)state;
	log_to_full_pipe(ends, &log);
	alarm(60); /* a write that waits would do so for ever */
	for (unsigned int i = 0; i < MANY; i++)
		gp__log_warning(&log, "message %u", i);
	alarm(0);
	f = fdopen(ends[0], "r");
	assert_non_null(f);
	skip_filling(f);
	while (seen + missing < MANY) {
		/* A comment comes with what follows the missing lines. */
		gp__log_warning(&log, "one\nmore");
		assert_non_null(fgets(line, sizeof(line), f));
		seen += !strncmp(line, "test: warning: message ", 23);
		missing += sscanf(line, "test: %u lines are missing here", &n) == 1 ? n : 0;
	}
	assert_true(seen > 0 && missing > 0);
	signal(SIGPIPE, SIG_IGN);
	fclose(f);
	fclose(log.stream);
	gp__journal_close(&messages);
	assert_int_equal(messages.fd, -1);
	close(ends[1]);
}

static void a_reader_that_hangs_does_not_delay_the_end(void **state)
{
	struct gp__log log;
	int ends[2];

	(void)state;
	log_to_full_pipe(ends, &log);
	gp__log_warning(&log, "never read");
	alarm(60);
	gp__journal_close(&messages);
	alarm(0);
	fclose(log.stream);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_there_at_the_end),
		cmocka_unit_test(what_is_flushed_is_there_without_an_end),
		cmocka_unit_test(of_more_than_there_is_room_for_the_rest_is_counted),
		cmocka_unit_test(a_full_disk_is_told_once_and_costs_lines),
		cmocka_unit_test(a_file_at_its_limit_is_begun_anew),
		cmocka_unit_test(a_file_that_was_moved_away_is_opened_again),
		cmocka_unit_test(without_a_file_nothing_happens),
		cmocka_unit_test(messages_do_not_wait_for_their_reader),
		cmocka_unit_test(a_reader_that_hangs_does_not_delay_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
