// SPDX-License-Identifier: MIT
#include "daemon/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int gp__journal_open(struct gp__journal *j, const struct gp__log *log, const char *path)
{
	gp__journal_close(j);
	j->log = log;
	j->failing = false;
	j->fd = -1;
	j->path[0] = '\0';
	if (!*path)
		return 0;
	if (strlen(path) >= sizeof(j->path))
		return -ENAMETOOLONG;
	strcpy(j->path, path);
	j->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		     0640);
	return j->fd < 0 ? -errno : 0;
}

void gp__journal_close(struct gp__journal *j)
{
	gp__journal_flush(j);
	if (j->fd >= 0)
		close(j->fd);
	j->fd = -1;
}

static void lose(struct gp__journal *j, size_t from)
{
	for (size_t i = from; i < j->used; i++)
		j->lost += j->room[i] == '\n';
	if (!j->failing)
		gp__log_warning(
			j->log,
			"%s: %s: decisions are lost until it can be written again; programs "
			"are scheduled as before",
			j->path, strerror(errno));
	j->failing = true;
}

void gp__journal_flush(struct gp__journal *j)
{
	size_t done = 0;

	while (j->fd >= 0 && done < j->used) {
		ssize_t n = write(j->fd, j->room + done, j->used - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			lose(j, done);
			break;
		}
		done += (size_t)n;
		if (j->failing)
			gp__log_info(j->log, "%s: written again; %llu lines were lost", j->path,
				     j->lost);
		j->failing = false;
	}
	j->used = 0;
}

void gp__journal_line(struct gp__journal *j, const char *line, size_t len)
{
	if (j->fd < 0)
		return;
	if (len > sizeof(j->room) - j->used)
		gp__journal_flush(j);
	memcpy(j->room + j->used, line, len);
	j->used += len;
}
