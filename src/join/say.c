// SPDX-License-Identifier: MIT
#include "join/say.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "device/request.h"

/* The signals for a write that fails. */
static const int for_writes[] = { SIGPIPE, SIGXFSZ };

/* Finds the signals for writes that do not wait for this thread yet. */
static void find_fresh(sigset_t *fresh)
{
	sigset_t pending;

	sigemptyset(&pending);
	sigpending(&pending);
	sigemptyset(fresh);
	for (size_t i = 0; i < sizeof(for_writes) / sizeof(for_writes[0]); i++) {
		if (!sigismember(&pending, for_writes[i]))
			sigaddset(fresh, for_writes[i]);
	}
}

/*
 * If the reader has gone, or the file may not grow, the line is lost, but the program survives: the
 * signal goes to the writing thread, which blocks it and consumes it.
 */
static void write_line(int fd, const char *line)
{
	sigset_t fresh, before;

	find_fresh(&fresh);
	pthread_sigmask(SIG_BLOCK, &fresh, &before);
	if (write(fd, line, strlen(line)) < 0 && (errno == EPIPE || errno == EFBIG))
		sigtimedwait(&fresh, NULL, &(struct timespec){ 0 });
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/*
 * Notes for gpreempt run
 */

/* A copy: agents have threads, and programs change their environment while these run. */
static char notes_path[64];

/* Before the other constructors, which write notes. */
__attribute__((constructor(101))) static void copy_path(void)
{
	const char *path = getenv(GP__ENV_NOTES);

	if (path && !strncmp(path, "/proc/", 6) && strlen(path) < sizeof(notes_path))
		strcpy(notes_path, path);
}

/* Whether the link leads to the notes, which are a file in the memory of gpreempt run. */
static bool leads_to_notes(const char *link)
{
	char file[64];
	ssize_t n = readlink(link, file, sizeof(file) - 1);

	if (n < 0)
		return false;
	file[n] = '\0';
	return !strcmp(file, "/memfd:" GP__NOTES_FILE " (deleted)");
}

/* The environment may come from anybody, and so may the file that the path leads to by now. */
static int open_notes(void)
{
	char own[32];
	int fd;

	if (!*notes_path || !leads_to_notes(notes_path))
		return -1;
	fd = open(notes_path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	if (fd < 0 || leads_to_notes(own))
		return fd;
	close(fd);
	return -1;
}

void gp__join_note(const char *word, const char *text)
{
	int err = errno, fd = open_notes(), len;
	char line[512];
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size < GP__NOTES_MAX) {
		len = snprintf(line, sizeof(line), "%d %s %.400s", (int)getpid(), word, text);
		for (char *c = line; (c = strchr(c, '\n')); *c = ' ')
			;
		strcpy(line + len, "\n");
		write_line(fd, line);
	}
	if (fd >= 0)
		close(fd);
	errno = err;
}

void gp__join_say(const char *text, bool unscheduled)
{
	int err = errno;
	char line[512];

	if (snprintf(line, sizeof(line), "gpreempt: %s\n", text) > 0)
		write_line(STDERR_FILENO, line);
	if (unscheduled)
		gp__join_note(GP__NOTE_UNSCHEDULED, text);
	errno = err;
}
