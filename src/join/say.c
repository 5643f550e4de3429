// SPDX-License-Identifier: MIT
#include "join/say.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
 * Also tells gpreempt run, which repeats it when the command has ended. Its notes are a file in its
 * memory; if it has ended, the path may lead to anything.
 */
static void write_note(const char *text)
{
	const char *path = getenv(GP__ENV_NOTES);
	char line[512], file[64];
	ssize_t n = path ? readlink(path, file, sizeof(file) - 1) : -1;
	int fd, len;

	if (n < 0)
		return;
	file[n] = '\0';
	fd = strstr(file, GP__NOTES_FILE) ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	len = snprintf(line, sizeof(line), "%d %.400s\n", (int)getpid(), text);
	if (write(fd, line, (size_t)len) < 0)
		errno = 0; /* it has no room: there are lines enough */
	close(fd);
}

void gp__join_say(const char *text)
{
	int err = errno;
	char line[512];

	if (snprintf(line, sizeof(line), "gpreempt: %s\n", text) > 0)
		write_line(line);
	write_note(text);
	errno = err;
}
