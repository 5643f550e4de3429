// SPDX-License-Identifier: MIT
#include "daemon/watch_thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/units.h"
#include "daemon/procfs.h"

#define PROCESSES "/sys/class/kfd/kfd/proc"
#define STATUS_MAX 8192

/*
 * Finding
 */

static bool has_queues(pid_t pid)
{
	char path[64];
	const struct dirent *entry;
	bool found = false;
	DIR *folder;

	snprintf(path, sizeof(path), PROCESSES "/%d/queues", (int)pid);
	folder = opendir(path);
	/* cppcheck-suppress readdirCalled; the stream is this call's own */
	while (folder && !found && (entry = readdir(folder)))
		found = entry->d_name[0] != '.';
	if (folder)
		closedir(folder);
	return found;
}

static int open_proc(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* False: it has ended. */
static bool describe(pid_t pid, struct gp__found *f)
{
	int proc = open_proc(pid);
	bool found;

	*f = (struct gp__found){ .pid = pid };
	if (proc < 0)
		return false;
	found = gp__procfs_describe(proc, &f->start, &f->uid, f->name, sizeof(f->name));
	close(proc);
	return found;
}

static int by_pid(const void *a, const void *b)
{
	const struct gp__found *f = a, *g = b;

	return (f->pid > g->pid) - (f->pid < g->pid);
}

static bool has_too_many(const struct gp__found *found, u32 nr, uid_t uid)
{
	u32 others = 0;

	for (u32 i = 0; i < nr; i++)
		others += found[i].uid == uid;
	return others >= GP__WATCH_USER_MAX;
}

/* Returns how many. */
static u32 find(struct gp__found *found)
{
	DIR *folder = opendir(PROCESSES);
	const struct dirent *entry;
	u32 nr = 0;
	u64 pid;

	/* cppcheck-suppress readdirCalled; the stream is this call's own */
	while (folder && nr < GP__WATCH_FOUND_MAX && (entry = readdir(folder))) {
		if (!gp__parse_u64(entry->d_name, 1, INT32_MAX, &pid) && has_queues((pid_t)pid) &&
		    describe((pid_t)pid, &found[nr]) && !has_too_many(found, nr, found[nr].uid))
			nr++;
	}
	if (folder)
		closedir(folder);
	qsort(found, nr, sizeof(*found), by_pid);
	return nr;
}

/*
 * Starting a helper
 */

/* Reads the numbers of a line of /proc/PID/status; returns how many, at most @max. */
static u32 read_numbers(const char *status, const char *name, u32 *number, u32 max)
{
	const char *line = strstr(status, name), *end;
	u32 nr = 0;

	line = line ? line + strlen(name) : NULL;
	end = line ? strchr(line, '\n') : NULL;
	if (!end)
		return 0;
	while (nr < max) {
		char *after;
		unsigned long value = strtoul(line, &after, 10);

		if (after == line || after > end)
			break;
		number[nr++] = (u32)value;
		line = after;
	}
	return nr;
}

/* Reads its user and groups. False: they cannot be read. */
static bool read_identity(int proc, struct gp__helper *h)
{
	int fd = openat(proc, "status", O_RDONLY | O_CLOEXEC);
	char status[STATUS_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, status, sizeof(status) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	status[n] = '\0';
	/* The real ones come first. */
	if (!read_numbers(status, "\nUid:", &h->uid, 1) ||
	    !read_numbers(status, "\nGid:", &h->gid, 1))
		return false;
	h->nr_gids = read_numbers(status, "\nGroups:", h->gids, GP__WATCH_GIDS_MAX);
	return true;
}

/* Opens the program, and reads its user and groups. 0, or -errno (-ESRCH: another one has its pid).
 */
static int open_target(struct gp__helper *h)
{
	struct gp__found now = h->of;
	int proc, err = 0;
	uid_t uid;

	h->target = (int)syscall(SYS_pidfd_open, h->of.pid, 0);
	if (h->target < 0)
		return -errno;
	proc = gp__procfs_open(h->of.pid, h->target);
	if (proc < 0)
		return proc;
	if (!gp__procfs_describe(proc, &now.start, &uid, now.name, sizeof(now.name)) ||
	    now.start != h->of.start || !read_identity(proc, h))
		err = -ESRCH;
	close(proc);
	return err;
}

/* The child's descriptors: they have no other numbers than these. */
enum { CHILD_SOCKET = 3, CHILD_TARGET = 4, FREE = 10 };

static int spawn(const char *program, struct gp__helper *h, int socket, int lines)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	char pid[16];
	char *argv[] = { (char *)program, pid, h->of.name, (char *)"3", (char *)"4", NULL };
	sigset_t none;
	int err;

	snprintf(pid, sizeof(pid), "%d", (int)h->of.pid);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, lines, 1);
	posix_spawn_file_actions_adddup2(&files, socket, CHILD_SOCKET);
	posix_spawn_file_actions_adddup2(&files, h->target, CHILD_TARGET);
	err = posix_spawn(&h->pid, program, &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return -err;
}

/* Moves a descriptor behind the numbers that the child's will have. */
static int move(int fd)
{
	int up = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FREE);

	if (fd >= 0)
		close(fd);
	return up;
}

static int start(const char *program, struct gp__helper *h)
{
	int sockets[2] = { -1, -1 }, pipes[2] = { -1, -1 }, err = open_target(h);

	h->target = move(h->target);
	if (!err && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		err = -errno;
	if (!err && pipe2(pipes, O_CLOEXEC | O_NONBLOCK))
		err = -errno;
	for (int i = 0; i < 2; i++) {
		sockets[i] = move(sockets[i]);
		pipes[i] = move(pipes[i]);
		if (!err && (sockets[i] < 0 || pipes[i] < 0 || h->target < 0))
			err = -EMFILE;
	}
	if (!err)
		err = spawn(program, h, sockets[1], pipes[1]);
	if (!err) {
		h->life = (int)syscall(SYS_pidfd_open, h->pid, 0);
		err = h->life < 0 ? -errno : 0;
	}
	if (sockets[1] >= 0)
		close(sockets[1]);
	if (pipes[1] >= 0)
		close(pipes[1]);
	h->socket = sockets[0];
	h->lines = pipes[0];
	if (h->socket >= 0)
		fcntl(h->socket, F_SETFL, O_NONBLOCK);
	return err;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void start_helper(struct gp__watch_thread *t, const struct gp__found *of)
{
	struct gp__helper h = { .of = *of, .target = -1, .life = -1, .socket = -1, .lines = -1 };

	h.err = start(t->program, &h);
	if (h.err) {
		close_fd(h.target);
		close_fd(h.life);
		close_fd(h.socket);
		close_fd(h.lines);
	}
	pthread_mutex_lock(&t->lock);
	t->helper = h;
	t->started = true;
	pthread_mutex_unlock(&t->lock);
	eventfd_write(t->done_fd, 1);
}

/*
 * The thread
 */

static void post(struct gp__watch_thread *t, struct gp__found *found, u32 nr)
{
	bool news;

	pthread_mutex_lock(&t->lock);
	/* The end of the last one is news as well. */
	news = nr || t->nr_found;
	free(t->found);
	t->found = found;
	t->nr_found = nr;
	t->any_found |= news;
	pthread_mutex_unlock(&t->lock);
	if (news)
		eventfd_write(t->done_fd, 1);
}

static void look(struct gp__watch_thread *t)
{
	struct gp__found *found = calloc(GP__WATCH_FOUND_MAX, sizeof(*found)), *fitting;
	u32 nr = found ? find(found) : 0;

	if (!found)
		return;
	fitting = realloc(found, (nr + 1) * sizeof(*found));
	post(t, fitting ? fitting : found, nr);
}

/* Waits for the time to look, or for a program that is to be watched. False: the thread ends. */
static bool await(struct gp__watch_thread *t, u64 until, struct gp__found *of, bool *wants)
{
	bool ends;

	pthread_mutex_lock(&t->lock);
	while (!t->ends && !t->wants && gp__clock_ns() < until)
		gp__cond_wait(&t->wake, &t->lock, until);
	*wants = t->wants;
	*of = t->wanted;
	ends = t->ends;
	pthread_mutex_unlock(&t->lock);
	return !ends;
}

static void *run(void *data)
{
	struct gp__watch_thread *t = data;
	struct gp__found of;
	u64 look_at = 0;
	bool wants;

	while (await(t, look_at, &of, &wants)) {
		if (wants) {
			start_helper(t, &of);
			pthread_mutex_lock(&t->lock);
			t->wants = false;
			pthread_mutex_unlock(&t->lock);
		}
		if (gp__clock_ns() >= look_at) {
			look(t);
			look_at = gp__clock_ns() + GP__WATCH_PERIOD_NS;
		}
	}
	return NULL;
}

/*
 * The caller
 */

int gp__watch_thread_open(struct gp__watch_thread *t, const char *program)
{
	int err;

	*t = (struct gp__watch_thread){ .done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	pthread_mutex_init(&t->lock, NULL);
	snprintf(t->program, sizeof(t->program), "%s", program);
	if (t->done_fd < 0)
		return -errno;
	err = gp__thread_start(&t->thread, 0, run, t);
	t->runs = !err;
	return err;
}

void gp__watch_thread_close(struct gp__watch_thread *t)
{
	if (t->runs) {
		pthread_mutex_lock(&t->lock);
		t->ends = true;
		pthread_mutex_unlock(&t->lock);
		gp__cond_signal(&t->wake);
		pthread_join(t->thread, NULL);
	}
	if (t->started && !t->helper.err) {
		/* Its helper ends with the connection. */
		close_fd(t->helper.target);
		close_fd(t->helper.life);
		close_fd(t->helper.socket);
		close_fd(t->helper.lines);
	}
	free(t->found);
	pthread_mutex_destroy(&t->lock);
	close_fd(t->done_fd);
	t->done_fd = -1;
}

bool gp__watch_thread_take(struct gp__watch_thread *t, struct gp__found **found, u32 *nr)
{
	bool any;

	pthread_mutex_lock(&t->lock);
	any = t->any_found;
	*found = any ? t->found : NULL;
	*nr = any ? t->nr_found : 0;
	if (any)
		t->found = NULL;
	t->any_found = false;
	pthread_mutex_unlock(&t->lock);
	return any;
}

bool gp__watch_thread_start(struct gp__watch_thread *t, const struct gp__found *of)
{
	bool free;

	pthread_mutex_lock(&t->lock);
	free = !t->wants && !t->started;
	if (free) {
		t->wanted = *of;
		t->wants = true;
	}
	pthread_mutex_unlock(&t->lock);
	if (free)
		gp__cond_signal(&t->wake);
	return free;
}

bool gp__watch_thread_started(struct gp__watch_thread *t, struct gp__helper *helper)
{
	bool started;

	pthread_mutex_lock(&t->lock);
	started = t->started;
	*helper = t->helper;
	t->started = false;
	pthread_mutex_unlock(&t->lock);
	return started;
}
