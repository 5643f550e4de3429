// SPDX-License-Identifier: MIT
#include "daemon/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

/* How long the end of the daemon waits for a descriptor that takes no lines. */
#define STUCK_S 1

/* Another process may append to a descriptor that was given, and a file is what it was. */
static bool is_own(const struct gp__journal *j)
{
	return *j->path;
}

static unsigned long long count_lines(const char *text, size_t len)
{
	unsigned long long n = 0;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n;
}

/*
 * The thread
 */

/* Returns how much was written; errno says why not the rest. */
static size_t write_all(int fd, const char *text, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, text + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

/* Waits for lines and takes them. False: the journal is being closed and none are left. */
static bool take_lines(struct gp__journal *j, size_t *len, unsigned long long *lost, bool *reopens)
{
	char *lines;

	pthread_mutex_lock(&j->lock);
	j->waits = true;
	while (!j->used && !j->ends && !j->reopens)
		gp__cond_wait(&j->wake, &j->lock, GP__FOREVER);
	j->waits = false;
	*reopens = j->reopens;
	j->reopens = false;
	lines = j->room;
	j->room = j->written;
	j->written = lines;
	*len = j->used;
	*lost = j->lost;
	j->used = 0;
	pthread_mutex_unlock(&j->lock);
	return *len || *reopens;
}

static void lose(struct gp__journal *j, const char *text, size_t len)
{
	pthread_mutex_lock(&j->lock);
	j->lost += count_lines(text, len);
	pthread_mutex_unlock(&j->lock);
}

/* Removes the latest bytes from its own file, if it can be truncated. Leaves errno alone. */
static void take_back(struct gp__journal *j, size_t bytes)
{
	int err = errno;
	off_t end = is_own(j) ? lseek(j->fd, 0, SEEK_END) : 0;

	if (bytes && end >= (off_t)bytes && ftruncate(j->fd, end - (off_t)bytes))
		gp__log_debug(j->log, "%s: cannot truncate it: it has an incomplete line", j->path);
	errno = err;
}

/* How many of the written bytes belong to a line whose end did not fit. */
static size_t torn(const char *text, size_t done)
{
	size_t n = 0;

	while (n < done && text[done - n - 1] != '\n')
		n++;
	return n;
}

/*
 * Returns how much of the lines was written; errno says why not the rest. A comment tells of lines
 * that are missing before them. After a comment it is all lines or none: otherwise an almost full
 * disk would collect nothing but comments.
 */
static size_t write_lines(struct gp__journal *j, size_t len, unsigned long long missing)
{
	char note[96];
	size_t noted = 0, done, cut;

	if (missing) {
		size_t n = (size_t)snprintf(note, sizeof(note), "%s%llu lines are missing here\n",
					    j->comment, missing);

		noted = write_all(j->fd, note, n);
		if (noted < n) {
			take_back(j, noted);
			return 0;
		}
	}
	done = write_all(j->fd, j->written, len);
	if (done == len)
		return len;
	cut = missing ? done : torn(j->written, done);
	take_back(j, missing ? noted + done : cut);
	return done - cut;
}

#define OPEN_FLAGS (O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
#define OPEN_MODE 0640

/* Goes on in a new file. The descriptor keeps its number. */
static int open_again(struct gp__journal *j)
{
	int fd = open(j->path, OPEN_FLAGS, OPEN_MODE), err = 0;

	if (fd < 0)
		return -errno;
	if (dup3(fd, j->fd, O_CLOEXEC) < 0)
		err = -errno;
	close(fd);
	if (!err)
		write_all(j->fd, GP__JOURNAL_CONTINUED, strlen(GP__JOURNAL_CONTINUED));
	return err;
}

/* Whether so much more would exceed the limit. Pipes and devices have none. */
static bool is_full(const struct gp__journal *j, size_t more)
{
	struct stat st;

	return j->max && !fstat(j->fd, &st) && S_ISREG(st.st_mode) &&
	       (unsigned long long)st.st_size + more > j->max;
}

/* Begins the file anew. False, with errno: it cannot, and nothing more is to be written. */
static bool rotate(struct gp__journal *j)
{
	char old[sizeof(j->path) + 2];
	int err;

	snprintf(old, sizeof(old), "%s.1", j->path);
	err = rename(j->path, old) ? -errno : open_again(j);
	errno = -err;
	return !err;
}

static void *run(void *data)
{
	/* Numbers of lost lines: in all, before the lines just taken, and already reported. */
	unsigned long long lost, before = 0, said = 0;
	struct gp__journal *j = data;
	bool failing = false, reopens;
	size_t len, done;
	int err;

	while (take_lines(j, &len, &lost, &reopens)) {
		err = reopens ? open_again(j) : 0;
		if (err)
			gp__log_warning(j->log, "cannot open the decision log %s again: %s",
					j->path, strerror(-err));
		if (!len)
			continue;
		done = is_full(j, len) && !rotate(j) ? 0 : write_lines(j, len, before - said);
		if (done < len && !failing)
			gp__log_warning(
				j->log,
				"%s: %s: decisions are dropped until it can be written again; "
				"programs are not affected",
				j->path, strerror(errno));
		failing = done < len;
		if (failing) {
			lose(j, j->written + done, len - done);
			lost += count_lines(j->written + done, len - done);
		} else if (before > said) {
			gp__log_warning(j->log, "%s: can be written again; %llu lines were dropped",
					j->path, before - said);
			said = before;
		}
		before = lost;
	}
	return NULL;
}

/*
 * Calls of the daemon
 */

static int begin(struct gp__journal *j)
{
	int err;

	j->room = malloc(GP__JOURNAL_ROOM);
	j->written = malloc(GP__JOURNAL_ROOM);
	pthread_mutex_init(&j->lock, NULL);
	j->ends = j->waits = j->reopens = false;
	j->used = 0;
	j->lost = 0;
	err = j->room && j->written ? gp__thread_start(&j->thread, 0, run, j) : -ENOMEM;
	if (!err)
		return 0;
	free(j->room);
	free(j->written);
	close(j->fd);
	j->fd = -1;
	return err;
}

int gp__journal_open(struct gp__journal *j, const struct gp__log *log, const char *path,
		     unsigned long long max)
{
	gp__journal_close(j);
	j->log = log;
	j->comment = "# ";
	j->max = max;
	j->path[0] = '\0';
	if (!*path)
		return 0;
	if (strlen(path) >= sizeof(j->path))
		return -ENAMETOOLONG;
	strcpy(j->path, path);
	j->fd = open(path, OPEN_FLAGS, OPEN_MODE);
	return j->fd < 0 ? -errno : begin(j);
}

int gp__journal_open_fd(struct gp__journal *j, int fd, const char *comment)
{
	/* Its failures cannot be told: this is where they would be. */
	static const struct gp__log silent;

	gp__journal_close(j);
	j->log = &silent;
	j->comment = comment;
	j->max = 0;
	j->path[0] = '\0';
	j->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return j->fd < 0 ? -errno : begin(j);
}

static ssize_t take_text(void *data, const char *text, size_t len)
{
	struct gp__journal *j = data;

	gp__journal_line(j, text, len);
	gp__journal_flush(j);
	return (ssize_t)len;
}

FILE *gp__journal_stream(struct gp__journal *j)
{
	return fopencookie(j, "w", (cookie_io_functions_t){ .write = take_text });
}

void gp__journal_reopen(struct gp__journal *j)
{
	if (j->fd < 0 || !is_own(j))
		return;
	pthread_mutex_lock(&j->lock);
	j->reopens = true;
	gp__cond_signal(&j->wake);
	pthread_mutex_unlock(&j->lock);
}

/* False: the thread is stuck. */
static bool join(struct gp__journal *j)
{
	struct timespec until;

	if (is_own(j))
		return !pthread_join(j->thread, NULL);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STUCK_S;
	return !pthread_timedjoin_np(j->thread, NULL, &until);
}

void gp__journal_close(struct gp__journal *j)
{
	if (j->fd < 0)
		return;
	pthread_mutex_lock(&j->lock);
	j->ends = true;
	gp__cond_signal(&j->wake);
	pthread_mutex_unlock(&j->lock);
	if (!join(j)) {
		pthread_detach(j->thread); /* @j is its own from now on */
		return;
	}
	pthread_mutex_destroy(&j->lock);
	free(j->room);
	free(j->written);
	close(j->fd);
	j->fd = -1;
}

void gp__journal_line(struct gp__journal *j, const char *line, size_t len)
{
	if (j->fd < 0)
		return;
	pthread_mutex_lock(&j->lock);
	if (len <= GP__JOURNAL_ROOM - j->used) {
		memcpy(j->room + j->used, line, len);
		j->used += len;
	} else {
		j->lost += count_lines(line, len);
	}
	/* Without a flush for long, the buffer must not run full. */
	if (j->used > GP__JOURNAL_ROOM / 2 && j->waits)
		gp__cond_signal(&j->wake);
	pthread_mutex_unlock(&j->lock);
}

void gp__journal_flush(struct gp__journal *j)
{
	if (j->fd < 0)
		return;
	pthread_mutex_lock(&j->lock);
	if (j->used && j->waits)
		gp__cond_signal(&j->wake);
	pthread_mutex_unlock(&j->lock);
}
