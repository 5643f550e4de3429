// SPDX-License-Identifier: MIT
#include "base/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STAT_MAX 1024

size_t gp__proc_read(int folder, const char *file, char *text, size_t size)
{
	int fd = openat(folder, file, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = -1;

	while (fd >= 0 && len < size - 1 && (n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	if (fd >= 0)
		close(fd);
	text[len] = '\0';
	return len;
}

bool gp__proc_parse_stat(char *text, struct gp__proc_stat *s)
{
	/* The name, in parentheses, may contain any character. */
	char *begin = strchr(text, '('), *end = strrchr(text, ')');
	unsigned long long start;
	int parent;

	if (!begin || !end || end < begin ||
	    sscanf(end + 1,
		   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &s->state, &parent, &start) != 3)
		return false;
	*end = '\0';
	snprintf(s->name, sizeof(s->name), "%s", begin + 1);
	s->parent = parent;
	s->start = start;
	return true;
}

bool gp__proc_stat(int folder, const char *file, struct gp__proc_stat *s)
{
	char text[STAT_MAX];

	return gp__proc_read(folder, file, text, sizeof(text)) && gp__proc_parse_stat(text, s);
}
