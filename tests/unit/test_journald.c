// SPDX-License-Identifier: MIT
/* Entries for systemd-journald, received by a socket in its place. */
#include "daemon/journald.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit/test.h"

struct place {
	char folder[32], path[64];
	int socket;
	struct gp__journald j;
};

static int setup(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct place *p = calloc(1, sizeof(*p));

	strcpy(p->folder, "/tmp/test-journald.XXXXXX");
	assert_non_null(mkdtemp(p->folder));
	snprintf(p->path, sizeof(p->path), "%s/socket", p->folder);
	strcpy(a.sun_path, p->path);
	p->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(p->socket, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(gp__journald_open(&p->j, p->path), 0);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	gp__journald_close(&p->j);
	close(p->socket);
	unlink(p->path);
	rmdir(p->folder);
	free(p);
	return 0;
}

static void test_fields(void **state)
{
	static const struct gp__log_field fields[] = {
		{ "GPREEMPT_PID", NULL, -12 },
		{ "GPREEMPT_TAG", "a\nb", 0 },
		{ "GPREEMPT_RULE", "priority", 0 },
	};
	static const char expected[] = "PRIORITY=4\nSYSLOG_IDENTIFIER=gpreemptd\nMESSAGE=it is\n"
				       "GPREEMPT_PID=-12\nGPREEMPT_TAG\n\3\0\0\0\0\0\0\0a\nb\n"
				       "GPREEMPT_RULE=priority\n";
	struct place *p = *state;
	char text[512];
	ssize_t n;

	assert_true(gp__journald_entry(&p->j, GP__LOG_WARNING, "it is", fields, 3));
	n = recv(p->socket, text, sizeof(text), MSG_DONTWAIT);
	assert_int_equal(n, sizeof(expected) - 1);
	assert_memory_equal(text, expected, sizeof(expected) - 1);
}

static int receive_fd(int socket)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte;
	struct iovec io = { &byte, 1 };
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	int fd;

	assert_int_equal(recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC), 0);
	c = CMSG_FIRSTHDR(&m);
	assert_non_null(c);
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void test_large_entry(void **state)
{
	size_t size = 1 << 20;
	char *text = malloc(size + 1), *mapped;
	struct gp__log_field field = { "GPREEMPT_TEXT", text, 0 };
	struct place *p = *state;
	struct stat st;
	int fd;

	memset(text, 'x', size);
	text[size] = '\0';
	assert_int_equal(gp__journald_send(&p->j, GP__LOG_INFO, "large", &field, 1), 0);
	fd = receive_fd(p->socket);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(fcntl(fd, F_GET_SEALS),
			 F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	mapped = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	assert_memory_equal(mapped, "PRIORITY=6\nSYSLOG_IDENTIFIER=gpreemptd\nMESSAGE=large\n", 53);
	assert_memory_equal(mapped + 53, "GPREEMPT_TEXT=", 14);
	assert_memory_equal(mapped + 67, text, size);
	assert_int_equal(st.st_size, 67 + size + 1);
	munmap(mapped, (size_t)st.st_size);
	close(fd);
	free(text);
}

/* Nobody reads: it is refused at once, and the caller writes it elsewhere. */
static void test_full_socket(void **state)
{
	struct place *p = *state;
	int err = 0, n = 0;

	while (!err && n++ < 100000)
		err = gp__journald_send(&p->j, GP__LOG_INFO, "again", NULL, 0);
	assert_int_equal(err, -EAGAIN);
	assert_false(gp__journald_entry(&p->j, GP__LOG_INFO, "again", NULL, 0));
}

static void test_nobody_listens(void **state)
{
	struct place *p = *state;
	struct gp__journald j;
	char path[200];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(gp__journald_open(&j, path), -ENAMETOOLONG);
	assert_int_equal(gp__journald_open(&j, p->folder), -ECONNREFUSED);
	assert_int_equal(gp__journald_open(&j, "/nonexistent/socket"), -ENOENT);
	assert_int_equal(j.fd, -1);
}

/* What journald cannot take goes to the stream. */
static bool refuse(void *data, enum gp__log_level level, const char *message,
		   const struct gp__log_field *fields, size_t n)
{
	(void)level;
	(void)message;
	assert_int_equal(n, 2);
	assert_int_equal(fields[0].number, 12);
	++*(int *)data;
	return false;
}

static void test_stream_is_left(void **state)
{
	int asked = 0;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct gp__log log = { .level = GP__LOG_INFO,
			       .program = "test",
			       .stream = out,
			       .entry = refuse,
			       .entry_data = &asked };

	(void)state;
	gp__log_about(&log, GP__LOG_INFO, GP__ABOUT(12, 0), "process %d", 12);
	gp__log_about(&log, GP__LOG_DEBUG, GP__ABOUT(12, 0), "process %d", 12);
	fclose(out);
	assert_int_equal(asked, 1);
	assert_string_equal(text, "test: process 12\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),	       cmocka_unit_test(test_large_entry),
		cmocka_unit_test(test_full_socket),    cmocka_unit_test(test_nobody_listens),
		cmocka_unit_test(test_stream_is_left),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
