// SPDX-License-Identifier: MIT
#include "emu/client/maps.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "emu/client/raw.h"

int client_maps_open(struct client_maps *m)
{
	m->have = 0;
	m->at = 0;
	/* Of this thread: that of the process is empty when its first thread has ended. */
	m->fd = raw_openat(AT_FDCWD, "/proc/thread-self/maps", O_RDONLY | O_CLOEXEC, 0);
	return m->fd < 0 ? m->fd : 0;
}

void client_maps_close(struct client_maps *m)
{
	if (m->fd >= 0)
		raw_close(m->fd);
	m->fd = -1;
}

static char *next_line(struct client_maps *m)
{
	for (;;) {
		char *line = m->buf + m->at;
		char *end = memchr(line, '\n', m->have - m->at);
		long n;

		if (end) {
			*end = '\0';
			m->at = (size_t)(end + 1 - m->buf);
			return line;
		}
		memmove(m->buf, line, m->have - m->at);
		m->have -= m->at;
		m->at = 0;
		if (m->have == sizeof(m->buf))
			return NULL;
		n = raw_read(m->fd, m->buf + m->have, sizeof(m->buf) - m->have);
		if (n <= 0)
			return NULL;
		m->have += (size_t)n;
	}
}

static uint64_t number(const char **s, unsigned int base)
{
	uint64_t value = 0;

	for (;; (*s)++) {
		unsigned int digit;

		if (**s >= '0' && **s <= '9')
			digit = (unsigned int)(**s - '0');
		else if (base == 16 && **s >= 'a' && **s <= 'f')
			digit = (unsigned int)(**s - 'a') + 10;
		else
			break;
		value = value * base + digit;
	}
	if (**s)
		(*s)++; /* what stands between two of them */
	return value;
}

static void parse_line(const char *s, struct client_vma *v)
{
	unsigned int major_number;

	v->start = number(&s, 16);
	v->end = number(&s, 16);
	v->prot = (s[0] == 'r' ? PROT_READ : 0) | (s[1] == 'w' ? PROT_WRITE : 0) |
		  (s[2] == 'x' ? PROT_EXEC : 0);
	v->shared = s[3] == 's';
	s += strlen("rwxp ");
	v->offset = number(&s, 16);
	major_number = (unsigned int)number(&s, 16);
	v->dev = makedev(major_number, (unsigned int)number(&s, 16));
	v->ino = number(&s, 10);
	v->path = s + strspn(s, " ");
}

bool client_maps_next(struct client_maps *m, struct client_vma *v)
{
	const char *line = next_line(m);

	if (!line)
		return false;
	parse_line(line, v);
	return true;
}
