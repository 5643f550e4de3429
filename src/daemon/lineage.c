// SPDX-License-Identifier: MIT
#include "daemon/lineage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/proc.h"

/*
 * Reading
 */

#define TEXT_MAX 4096

/* Facts about one process. */
struct facts {
	pid_t parent;
	u64 start;
	uid_t uid;
	bool is_init; /* of its pid namespace: it adopts orphans */
	char cgroup[GP__CGROUP_MAX];
};

static bool read_text(pid_t pid, const char *file, char text[TEXT_MAX])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return gp__proc_read(AT_FDCWD, path, text, TEXT_MAX);
}

static bool read_stat(pid_t pid, struct facts *f)
{
	struct gp__proc_stat stat;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!gp__proc_stat(AT_FDCWD, path, &stat))
		return false;
	f->parent = stat.parent;
	f->start = stat.start;
	return true;
}

/* The last number of NSpid is the pid in the process's own namespace. */
static bool read_status(pid_t pid, struct facts *f)
{
	const char *uid, *nspid, *end;
	char text[TEXT_MAX];
	unsigned int id;

	if (!read_text(pid, "status", text))
		return false;
	uid = strstr(text, "\nUid:");
	if (!uid || sscanf(uid, "\nUid:\t%u", &id) != 1)
		return false;
	f->uid = id;
	nspid = strstr(text, "\nNSpid:");
	end = nspid ? nspid + 1 + strcspn(nspid + 1, "\n") : NULL;
	f->is_init = pid == 1 || (end && end[-1] == '1' && end[-2] == '\t');
	return true;
}

static bool has_cgroup(const struct gp__lineage *l, const char *path)
{
	for (const char *at = l->cgroups; *at; at += strlen(at) + 1) {
		if (!strcmp(at, path))
			return true;
	}
	return false;
}

/* Adds the path of a line "NUMBER:CONTROLLERS:PATH". False: there is no room. */
static bool add_cgroup(struct gp__lineage *l, const char *line)
{
	const char *controllers = strchr(line, ':');
	const char *colon = controllers ? strchr(controllers + 1, ':') : NULL;
	char path[GP__CGROUP_MAX];
	size_t len;

	snprintf(path, sizeof(path), "%s", colon ? colon + 1 : "/");
	if (!strcmp(path, "/") || has_cgroup(l, path))
		return true;
	len = strlen(path) + 1;
	if (l->cgroups_size + len > sizeof(l->cgroups))
		return false;
	memcpy(l->cgroups + l->cgroups_size - 1, path, len);
	l->cgroups_size += (u32)len;
	l->cgroups[l->cgroups_size - 1] = '\0';
	return true;
}

/*
 * Reads the control groups of a process. A line may be long, and the one of version 2 is the last:
 * a user that makes groups below its own cannot hide it. @l: for those of all hierarchies, or NULL.
 */
static void read_cgroups(pid_t pid, struct facts *f, struct gp__lineage *l)
{
	char path[64], *line = NULL;
	bool complete = true;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	file = fopen(path, "re");
	*f->cgroup = '\0';
	if (!file)
		return;
	if (l)
		l->cgroups_size = 1;
	while (getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::", 3))
			snprintf(f->cgroup, sizeof(f->cgroup), "%s", line + 3);
		complete &= !l || add_cgroup(l, line);
	}
	complete &= !ferror(file);
	free(line);
	fclose(file);
	if (l && !complete)
		l->cgroups_size = 0;
}

/* @l: for the control groups of the process, or NULL. */
static bool read_facts(pid_t pid, struct facts *f, struct gp__lineage *l)
{
	if (!read_stat(pid, f) || !read_status(pid, f))
		return false;
	read_cgroups(pid, f, l);
	return true;
}

/*
 * Whether the parent may have adopted the child, instead of having started it. A service manager
 * of a user puts what it starts into control groups of their own, so this also holds for the first
 * process there; none of its group is older.
 */
static bool may_have_adopted(const struct facts *parent, const struct facts *child)
{
	return parent->is_init ||
	       (parent->uid == child->uid && strcmp(parent->cgroup, child->cgroup) != 0);
}

void gp__lineage_read(pid_t pid, struct gp__lineage *l)
{
	struct facts f, parent;

	memset(l, 0, sizeof(*l));
	if (pid <= 0 || !read_facts(pid, &f, l))
		return;
	memcpy(l->cgroup, f.cgroup, sizeof(l->cgroup));
	for (;;) {
		bool known;

		l->up[l->nr++] = (struct gp__process_id){ pid, f.start };
		if (f.parent <= 0)
			return;
		/* A parent that is younger has the pid of one that ended. */
		known = l->nr < GP__LINEAGE_MAX && read_facts(f.parent, &parent, NULL) &&
			parent.start <= f.start;
		if (!l->adopted_start && (!known || may_have_adopted(&parent, &f)))
			l->adopted_start = f.start;
		if (!known)
			return;
		pid = f.parent;
		f = parent;
	}
}

/* Whether a line of mountinfo, "... ROOT MOUNT_POINT OPTIONS ... - TYPE SOURCE OPTIONS", is of a
 * whole hierarchy of control groups. */
static bool is_hierarchy(const char *line, char at[PATH_MAX])
{
	const char *dash = strstr(line, " - ");
	char root[64];

	return dash && !strncmp(dash + 3, "cgroup", 6) &&
	       sscanf(line, "%*s %*s %*s %63s %4095s", root, at) == 2 && !strcmp(root, "/");
}

/* 1: there is such a group, or no hierarchy is mounted. */
static u32 find_cgroup(const char *cgroup)
{
	char *line = NULL, at[PATH_MAX], path[PATH_MAX + GP__CGROUP_MAX];
	bool any = false, found = false;
	size_t size = 0;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	while (f && !found && getline(&line, &size, f) > 0) {
		if (!is_hierarchy(line, at))
			continue;
		any = true;
		snprintf(path, sizeof(path), "%s%s", at, cgroup);
		found = !access(path, F_OK);
	}
	free(line);
	if (f)
		fclose(f);
	return found || !any;
}

/*
 * The thread
 */

struct question {
	struct gp__link link;
	u64 ticket;
	pid_t pid;
	char cgroup[GP__CGROUP_MAX]; /* "": the question is about a process */
	struct gp__lineage answer;
};

struct gp__lineages {
	pthread_t thread;
	pthread_mutex_t lock; /* protects the lists and stop */
	struct gp__cond asked;
	struct gp__link questions, answers;
	bool stop;
	int fd; /* an eventfd */
};

static struct question *take_first(struct gp__link *list)
{
	struct gp__link *first = list->next;

	if (first == list)
		return NULL;
	gp__list_del(first);
	return container_of(first, struct question, link);
}

static void *answer_all(void *data)
{
	struct gp__lineages *t = data;
	struct question *q;

	pthread_mutex_lock(&t->lock);
	for (;;) {
		while (!t->stop && gp__list_empty(&t->questions))
			gp__cond_wait(&t->asked, &t->lock, GP__FOREVER);
		if (t->stop)
			break;
		q = take_first(&t->questions);
		pthread_mutex_unlock(&t->lock);
		if (*q->cgroup)
			q->answer.nr = find_cgroup(q->cgroup);
		else
			gp__lineage_read(q->pid, &q->answer);
		pthread_mutex_lock(&t->lock);
		gp__list_push(&t->answers, &q->link);
		eventfd_write(t->fd, 1);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

struct gp__lineages *gp__lineages_start(void)
{
	struct gp__lineages *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	gp__list_init(&t->questions);
	gp__list_init(&t->answers);
	pthread_mutex_init(&t->lock, NULL);
	t->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->fd >= 0 && !pthread_create(&t->thread, NULL, answer_all, t))
		return t;
	if (t->fd >= 0)
		close(t->fd);
	free(t);
	return NULL;
}

void gp__lineages_stop(struct gp__lineages *t)
{
	struct question *q;

	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	gp__cond_signal(&t->asked);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	while ((q = take_first(&t->questions)) || (q = take_first(&t->answers)))
		free(q);
	pthread_mutex_destroy(&t->lock);
	close(t->fd);
	free(t);
}

int gp__lineages_fd(const struct gp__lineages *t)
{
	return t->fd;
}

static int ask(struct gp__lineages *t, u64 ticket, pid_t pid, const char *cgroup)
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	q->ticket = ticket;
	q->pid = pid;
	snprintf(q->cgroup, sizeof(q->cgroup), "%s", cgroup);
	pthread_mutex_lock(&t->lock);
	gp__list_push(&t->questions, &q->link);
	gp__cond_signal(&t->asked);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

int gp__lineages_ask(struct gp__lineages *t, u64 ticket, pid_t pid)
{
	return ask(t, ticket, pid, "");
}

int gp__lineages_find(struct gp__lineages *t, u64 ticket, const char *cgroup)
{
	return ask(t, ticket | GP__TICKET_CGROUP, 0, cgroup);
}

void gp__lineages_cancel(struct gp__lineages *t, u64 ticket)
{
	struct gp__link *l, *n;

	pthread_mutex_lock(&t->lock);
	gp__list_each(l, n, &t->questions)
	{
		struct question *q = container_of(l, struct question, link);

		if (q->ticket != ticket)
			continue;
		gp__list_del(&q->link);
		free(q);
	}
	pthread_mutex_unlock(&t->lock);
}

bool gp__lineages_take(struct gp__lineages *t, u64 *ticket, struct gp__lineage *l)
{
	struct question *q;
	eventfd_t n;

	pthread_mutex_lock(&t->lock);
	q = take_first(&t->answers);
	if (!q)
		eventfd_read(t->fd, &n); /* under the lock: an answer that comes now counts again */
	pthread_mutex_unlock(&t->lock);
	if (!q)
		return false;
	*ticket = q->ticket;
	*l = q->answer;
	free(q);
	return true;
}
