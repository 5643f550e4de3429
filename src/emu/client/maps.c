// SPDX-License-Identifier: MIT
#include "emu/client/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "emu/client/raw.h"

/* PROCMAP_QUERY, which the headers of older kernels lack. */
struct query {
	uint64_t size, flags, address;
	uint64_t start, end, vma_flags, page_size, offset, ino;
	uint32_t dev_major, dev_minor;
	uint32_t name_size, build_id_size;
	uint64_t name, build_id;
};

#define QUERY _IOWR('f', 17, struct query)
#define QUERY_READABLE 0x01
#define QUERY_WRITABLE 0x02
#define QUERY_EXECUTABLE 0x04
#define QUERY_SHARED 0x08
#define QUERY_COVERING_OR_NEXT 0x10

int client_maps_open(struct client_maps *m, uint64_t from)
{
	m->have = 0;
	m->at = 0;
	m->from = from;
	/* Reading the whole list is faster than querying each mapping. */
	m->lists = m->no_queries || !from;
	/*
	 * Through this thread's folder: that of the process is empty when its first thread has
	 * ended.
	 */
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
		(*s)++; /* skips the separator */
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

static bool next_listed(struct client_maps *m, struct client_vma *v)
{
	const char *line;

	do {
		line = next_line(m);
		if (!line)
			return false;
		parse_line(line, v);
	} while (v->end <= m->from);
	return true;
}

/* 0, -ENOENT after the last one, or another error where the kernel does not support queries. */
static int query_next(struct client_maps *m, struct client_vma *v)
{
	struct query q = { .size = sizeof(q),
			   .flags = QUERY_COVERING_OR_NEXT,
			   .address = m->from,
			   .name = (uint64_t)m->buf,
			   .name_size = sizeof(m->buf) };
	int err = raw_ioctl(m->fd, QUERY, &q);

	if (err)
		return err;
	*v = (struct client_vma){
		.start = q.start,
		.end = q.end,
		.offset = q.offset,
		.ino = q.ino,
		.dev = makedev(q.dev_major, q.dev_minor),
		.prot = (q.vma_flags & QUERY_READABLE ? PROT_READ : 0) |
			(q.vma_flags & QUERY_WRITABLE ? PROT_WRITE : 0) |
			(q.vma_flags & QUERY_EXECUTABLE ? PROT_EXEC : 0),
		.shared = q.vma_flags & QUERY_SHARED,
		.path = q.name_size ? m->buf : "",
	};
	m->from = q.end;
	return 0;
}

bool client_maps_next(struct client_maps *m, struct client_vma *v)
{
	int err = m->lists ? 0 : query_next(m, v);

	if (!m->lists && (!err || err == -ENOENT))
		return !err;
	if (err) {
		m->no_queries = true;
		m->lists = true;
	}
	return next_listed(m, v);
}
