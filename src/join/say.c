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

/* Whether SIGPIPE waits for this thread. */
static bool is_pending(void)
{
	sigset_t pending;

	sigemptyset(&pending);
	sigpending(&pending);
	return sigismember(&pending, SIGPIPE);
}

/* Writes to standard error. If the reader has gone, the line is lost, but the program survives:
 * SIGPIPE goes to the writing thread, which blocks it and consumes it. */
static void write_line(const char *line)
{
	sigset_t broken_pipe, before;
	bool was_pending = is_pending();

	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
	if (write(STDERR_FILENO, line, strlen(line)) < 0 && errno == EPIPE && !was_pending)
		sigtimedwait(&broken_pipe, NULL, &(struct timespec){ 0 });
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/*
 * Notes for gpreempt run
 */

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
	const char *path = getenv(GP__ENV_NOTES);
	char own[32];
	int fd;

	if (!path || strncmp(path, "/proc/", 6) != 0 || !leads_to_notes(path))
		return -1;
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
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
		line[len++] = '\n';
		if (write(fd, line, (size_t)len) < 0)
			errno = 0; /* gpreempt run has ended */
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
		write_line(line);
	if (unscheduled)
		gp__join_note(GP__NOTE_UNSCHEDULED, text);
	errno = err;
}
