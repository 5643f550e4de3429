// SPDX-License-Identifier: MIT
#include "join/say.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

void gp__join_say(const char *text)
{
	int err = errno;
	char line[512];

	if (snprintf(line, sizeof(line), "gpreempt: %s\n", text) > 0)
		write_line(line);
	errno = err;
}
