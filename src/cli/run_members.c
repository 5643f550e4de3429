// SPDX-License-Identifier: MIT
#include "cli/run_members.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc.h"

/* A process of the machine. */
struct process {
	pid_t pid, parent;
	char state;
	u64 start;
};

/*
 * Processes of the machine
 */

size_t run_read_proc(pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return gp__proc_read(AT_FDCWD, path, text, size);
}

static bool read_process(pid_t pid, struct process *p)
{
	struct gp__proc_stat stat;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!gp__proc_stat(AT_FDCWD, path, &stat))
		return false;
	*p = (struct process){
		.pid = pid, .parent = stat.parent, .state = stat.state, .start = stat.start
	};
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *p = a, *q = b;

	return (p->pid > q->pid) - (p->pid < q->pid);
}

/* Sorted by pid. The caller frees the list. NULL: /proc cannot be read, or there is no memory. */
static struct process *list_processes(size_t *nr)
{
	struct process *list = NULL, *more, p;
	const struct dirent *entry;
	DIR *proc = opendir("/proc");
	size_t room = 0;
	u64 pid;

	*nr = 0;
	/* cppcheck-suppress readdirCalled; the stream is this call's own */
	while (proc && (entry = readdir(proc))) {
		if (gp__parse_u64(entry->d_name, 1, INT32_MAX, &pid) ||
		    !read_process((pid_t)pid, &p))
			continue;
		if (*nr == room) {
			room = room ? 2 * room : 256;
			more = realloc(list, room * sizeof(*list));
			if (!more)
				break;
			list = more;
		}
		list[(*nr)++] = p;
	}
	if (proc)
		closedir(proc);
	if (list)
		qsort(list, *nr, sizeof(*list), by_pid);
	return list;
}

/*
 * Processes of the command
 */

static const struct run_member *find_member(const struct run_members *c, pid_t pid)
{
	for (size_t i = 0; i < c->nr; i++) {
		if (c->member[i].pid == pid && c->member[i].alive)
			return &c->member[i];
	}
	return NULL;
}

static void add_member(struct run_members *c, const struct process *p, bool foreign)
{
	size_t room = c->room ? 2 * c->room : 16;
	struct run_member *more = c->member;

	if (c->nr == c->room) {
		more = realloc(c->member, room * sizeof(*more));
		if (!more)
			return;
		c->member = more;
		c->room = room;
	}
	c->member[c->nr++] = (struct run_member){ .pid = p->pid,
						  .start = p->start,
						  .alive = true,
						  .zombie = p->state == 'Z',
						  .foreign = foreign };
}

static void add_if_member(struct run_members *c, const struct process *p)
{
	const struct run_member *parent;

	if (p->pid == c->self || find_member(c, p->pid))
		return;
	parent = find_member(c, p->parent);
	if (p->pid == c->root)
		add_member(c, p, false);
	else if (parent)
		add_member(c, p, parent->foreign || !c->begun);
}

/* Forgets members that are not in the list, unless the user was told of them. */
static void drop_ended(struct run_members *c, const struct process *list, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->nr; i++) {
		struct run_member *m = &c->member[i];
		const struct process key = { .pid = m->pid };
		const struct process *p = bsearch(&key, list, nr, sizeof(*list), by_pid);

		m->alive = m->alive && p && p->start == m->start;
		m->zombie = m->alive && p->state == 'Z';
		if (m->alive || m->told)
			c->member[kept++] = *m;
	}
	c->nr = kept;
}

void run_members_find(struct run_members *c)
{
	size_t nr, before;
	struct process *list = list_processes(&nr);

	if (!list)
		return;
	/* A parent that has ended since the list was taken still counts as one. */
	drop_ended(c, list, nr);
	do {
		before = c->nr;
		for (size_t i = 0; i < nr; i++)
			add_if_member(c, &list[i]);
	} while (c->nr > before);
	free(list);
	c->begun = true;
}

static bool is_running(const struct run_members *c, const struct run_member *m)
{
	return m->alive && !m->zombie && !m->foreign && m->pid != c->root;
}

bool run_members_any(const struct run_members *c)
{
	for (size_t i = 0; i < c->nr; i++) {
		if (is_running(c, &c->member[i]))
			return true;
	}
	return false;
}

/* Not to another process that has got the pid since. */
static void send_signal(const struct run_member *m, int signal_number)
{
	int fd = (int)syscall(SYS_pidfd_open, m->pid, 0);
	struct process p;

	if (fd < 0)
		return;
	if (read_process(m->pid, &p) && p.start == m->start)
		syscall(SYS_pidfd_send_signal, fd, signal_number, NULL, 0);
	close(fd);
}

void run_members_signal(const struct run_members *c, int signal_number)
{
	for (size_t i = 0; i < c->nr; i++) {
		if (is_running(c, &c->member[i]))
			send_signal(&c->member[i], signal_number);
	}
}
