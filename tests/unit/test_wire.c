// SPDX-License-Identifier: MIT
/* The program's side of the wire, at daemons that are not as they should be. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/client.h"

struct place {
	char folder[64], path[96];
	int listener;
};

static void place_up(struct place *p, int backlog)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	strcpy(p->folder, "/tmp/gpreempt-wire-XXXXXX");
	assert_non_null(mkdtemp(p->folder));
	snprintf(p->path, sizeof(p->path), "%s/socket", p->folder);
	strcpy(address.sun_path, p->path);
	p->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(p->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(p->listener, backlog), 0);
}

static void place_down(struct place *p)
{
	close(p->listener);
	unlink(p->path);
	rmdir(p->folder);
}

/* As at the socket of a daemon that was stopped, when enough have knocked. */
static void connecting_to_a_stopped_daemon_times_out(void **state)
{
	struct place p;
	int fd, first;

	(void)state;
	place_up(&p, 0);
	first = gp__wire_connect(p.path);
	assert_true(first >= 0);
	do {
		fd = gp__wire_connect(p.path);
	} while (fd >= 0);
	assert_int_equal(fd, -ETIMEDOUT);
	place_down(&p);
}

static void a_daemon_that_says_nothing_is_given_up(void **state)
{
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client c;
	struct place p;

	(void)state;
	place_up(&p, 8);
	assert_int_equal(gp__wire_client_open(&c, p.path, "patient", 8, text), -ETIMEDOUT);
	assert_int_equal(c.socket, -1);
	place_down(&p);
}

/* The pages and descriptors of the daemon, as the test case wants them. */
struct offer {
	struct place *place;
	size_t bytes;
	int seals;
	bool pipe;
};

static int make(const struct offer *o)
{
	int fd, ends[2];

	if (o->pipe) {
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		close(ends[1]);
		return ends[0];
	}
	fd = memfd_create("offer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(fd, (off_t)o->bytes), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, o->seals), 0);
	return fd;
}

static void *offer(void *data)
{
	const struct offer *o = data;
	int fd = accept4(o->place->listener, NULL, NULL, SOCK_CLOEXEC);
	struct gp__wire_welcome w = { .head = { sizeof(w), GP__WIRE_WELCOME, 0, 1, 0 },
				      .version = GP__WIRE_VERSION,
				      .nr_slots = 8 };
	int fds[4] = { make(o), make(o), eventfd(0, EFD_CLOEXEC), eventfd(0, EFD_CLOEXEC) };
	struct gp__wire_hello hello;

	assert_int_equal(gp__wire_receive(fd, &hello, sizeof(hello), NULL, NULL), sizeof(hello));
	assert_int_equal(gp__wire_send(fd, &w, fds, 4), 0);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	close(fd);
	return NULL;
}

static int take(struct offer o)
{
	char text[GP__WIRE_TEXT_MAX];
	struct gp__wire_client c;
	struct place p;
	pthread_t thread;
	int err;

	place_up(&p, 8);
	o.place = &p;
	assert_int_equal(pthread_create(&thread, NULL, offer, &o), 0);
	err = gp__wire_client_open(&c, p.path, "wary", 8, text);
	pthread_join(thread, NULL);
	if (!err)
		gp__wire_client_close(&c);
	place_down(&p);
	return err;
}

/* Access to memory that is not there, or no longer, would end the program. */
static void memory_that_could_go_away_is_refused(void **state)
{
	(void)state;
	assert_int_equal(take((struct offer){ .bytes = 65536, .seals = F_SEAL_SHRINK }), 0);
	assert_int_not_equal(take((struct offer){ .bytes = 65536 }), 0);
	assert_int_not_equal(take((struct offer){ .bytes = 64, .seals = F_SEAL_SHRINK }), 0);
	assert_int_not_equal(take((struct offer){ .pipe = true }), 0);
}

static void text_is_cut_off_and_harmless(void **state)
{
	char field[8];

	(void)state;
	gp__wire_text(field, sizeof(field), "0123456789");
	assert_string_equal(field, "0123456");
	gp__wire_text(field, sizeof(field), "a\033\n\x7f\xc2\x9b.");
	assert_string_equal(field, "a????.");
	gp__wire_text(field, sizeof(field), "\xc3\xa4\xc2\xa9");
	assert_string_equal(field, "\xc3\xa4\xc2\xa9");
	/* No half of a character at the end. */
	gp__wire_text(field, sizeof(field), "123456\xc3\xa4");
	assert_string_equal(field, "123456");
	gp__wire_text(field, sizeof(field), "12345\xc3\xa4");
	assert_string_equal(field, "12345\xc3\xa4");
}

/* Nothing turns the direction of a line, hides in it or is not UTF-8. */
static void text_shows_as_it_is(void **state)
{
	static const char *const hidden[] = {
		"\u061c", "\u200b", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066",	  "\u2069",
		"\u2028", "\ufeff", "\u00ad", "\u2060", "\u3164", "\ue000", "\U000e0041",
	};
	static const char *const bad[] = { "\xff",	   "\x80",     "\xc0\xae",
					   "\xed\xa0\x80", "\xe2\x80", "\xf4\x90\x80\x80",
					   "\xc3(" };
	char field[32], text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		snprintf(text, sizeof(text), "a%sb", hidden[i]);
		gp__wire_text(field, sizeof(field), text);
		assert_string_equal(field, "a?b");
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "a%sb", bad[i]);
		gp__wire_text(field, sizeof(field), text);
		assert_true(field[0] == 'a' && field[1] == '?');
		for (const char *s = field; *s; s++)
			assert_true((unsigned char)*s < 0x80);
	}
	gp__wire_text(field, sizeof(field), "\u4e2d\U0001f600\u05d0");
	assert_string_equal(field, "\u4e2d\U0001f600\u05d0");
}

/*
 * A second program that comes just when the first one has work: the daemon says that nobody is
 * alone any more, and looks at what has changed. Work that it does not see then must be rung for.
 */

static struct {
	struct gp__wire_status_page *status;
	struct gp__wire_order_page *order;
	size_t bytes;
	u64 changed;
} coming;

/* At the look at `alone`. */
static void note_changed(int signal)
{
	(void)signal;
	coming.changed = atomic_load(&coming.status->changed[0]);
	mprotect(coming.order, coming.bytes, PROT_READ);
}

static void changes_are_marked_before_alone_is_read(void **state)
{
	struct sigaction old, note = { .sa_handler = note_changed };
	struct gp__wire_client c = { .daemon_notify_fd = -1, .nr_slots = 1 };

	(void)state;
	coming.bytes = gp__wire_order_bytes(1);
	coming.status = calloc(1, gp__wire_status_bytes(1, 0));
	coming.order = mmap(NULL, coming.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	assert_non_null(coming.status);
	assert_ptr_not_equal(coming.order, MAP_FAILED);
	c.status = coming.status;
	c.order = coming.order;
	atomic_store(&coming.order->alone, 1);
	assert_int_equal(sigaction(SIGSEGV, &note, &old), 0);
	mprotect(coming.order, coming.bytes, PROT_NONE);
	gp__wire_client_work(&c, 0, true, 1, 1);
	assert_int_equal(sigaction(SIGSEGV, &old, NULL), 0);
	assert_int_equal(coming.changed, 1);
	munmap(coming.order, coming.bytes);
	free(coming.status);
}

/* Otherwise the daemon would close whatever its memory says. */
static void a_receipt_that_fails_brings_no_descriptors(void **state)
{
	int pair[2], fds[GP__WIRE_FDS_MAX];
	u32 nr_fds = GP__WIRE_FDS_MAX;
	char room[64];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(send(pair[0], "unread", 6, 0), 6);
	close(pair[1]);
	assert_int_equal(gp__wire_receive(pair[0], room, sizeof(room), fds, &nr_fds), -ECONNRESET);
	assert_int_equal(nr_fds, 0);
	close(pair[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connecting_to_a_stopped_daemon_times_out),
		cmocka_unit_test(a_daemon_that_says_nothing_is_given_up),
		cmocka_unit_test(memory_that_could_go_away_is_refused),
		cmocka_unit_test(text_is_cut_off_and_harmless),
		cmocka_unit_test(text_shows_as_it_is),
		cmocka_unit_test(changes_are_marked_before_alone_is_read),
		cmocka_unit_test(a_receipt_that_fails_brings_no_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
