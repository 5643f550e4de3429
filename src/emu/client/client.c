// SPDX-License-Identifier: MIT
/*
 * Finds out once whether this process is on a machine, at the first call. That is often not our
 * constructor, since those of a program's libraries run before those of a preload.
 */
#include "emu/client/client.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "emu/client/next.h"
#include "emu/client/raw.h"

enum { UNKNOWN, STARTING, OFF, ON };

/*
 * Descriptor numbers that programs are unlikely to use: below a usual limit, above what they reach.
 */
#define FD_HIGHEST 4096
#define FD_ROOM 512

struct client_machine client_machine;

static struct {
	_Atomic int state;
	_Atomic int starter; /* the thread that initialises it */
	/* In a page that a child gets empty, unless it shares all memory with its parent. */
	_Atomic int *alive;
	_Atomic int resetting;
} start;

static void read_list(const char *dir, struct client_machine *m)
{
	char path[PATH_MAX + sizeof(EMU_SYSFS_PREFIXES) + 1];
	size_t len = 0;
	long n = 0;
	int fd;

	memcpy(path, dir, m->dir_len);
	memcpy(path + m->dir_len, "/" EMU_SYSFS_PREFIXES, sizeof("/" EMU_SYSFS_PREFIXES));
	fd = raw_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	while (len < sizeof(m->list) - 1) {
		n = raw_read(fd, m->list + len, sizeof(m->list) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	raw_close(fd);
	m->list[len] = '\0';
}

static void parse_list(struct client_machine *m)
{
	char *line = m->list;

	while (*line && m->nr_prefixes < CLIENT_PREFIXES_MAX) {
		struct client_prefix *p = &m->prefix[m->nr_prefixes];
		char *end = strchrnul(line, '\n');
		bool last = !*end;

		*end = '\0';
		p->dynamic = *line == '!';
		p->path = line + p->dynamic;
		p->len = strlen(p->path);
		if (*p->path == '/' && p->len > 1)
			m->nr_prefixes++;
		if (last)
			break;
		line = end + 1;
	}
}

/* The folder without symbolic links, since results of realpath() are compared with it. */
static bool find_dir(const char *dir, struct client_machine *m)
{
	char link[32] = "/proc/thread-self/fd/", digits[12];
	int fd = raw_openat(AT_FDCWD, dir, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	size_t n = 0, at = strlen(link);
	long len;

	if (fd < 0) {
		m->dir_len = strlen(dir);
		if (m->dir_len >= sizeof(m->dir) - NAME_MAX)
			return false;
		memcpy(m->dir, dir, m->dir_len + 1);
		return true;
	}
	for (int rest = fd; rest || !n; rest /= 10)
		digits[n++] = (char)('0' + rest % 10);
	while (n)
		link[at++] = digits[--n];
	len = raw_readlinkat(AT_FDCWD, link, m->dir, sizeof(m->dir) - NAME_MAX);
	raw_close(fd);
	if (len <= 0 || len >= (long)sizeof(m->dir) - NAME_MAX)
		return false;
	m->dir[len] = '\0';
	m->dir_len = (size_t)len;
	return true;
}

static bool find_machine(void)
{
	const char *dir = secure_getenv(EMU_DIR_VARIABLE);

	if (!dir || *dir != '/' || !find_dir(dir, &client_machine))
		return false;
	read_list(client_machine.dir, &client_machine);
	parse_list(&client_machine);
	return true;
}

static void make_alive(void)
{
	long page = sysconf(_SC_PAGESIZE);
	long at = raw_mmap(0, (uint64_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	if (raw_failed(at))
		return;
	if (raw_madvise((uint64_t)at, (uint64_t)page, MADV_WIPEONFORK)) {
		raw_munmap((uint64_t)at, (uint64_t)page);
		return;
	}
	start.alive = (_Atomic int *)at;
	atomic_store(start.alive, 1);
}

static void before_fork(void)
{
	client_share_prepare();
}

static void in_parent(void)
{
	client_share_parent();
}

static void in_child(void)
{
	client_share_child();
	client_forked();
}

static void begin(void)
{
	bool on;
	int saved = errno;

	client_next_find();
	on = find_machine();
	if (on) {
		make_alive();
		pthread_atfork(before_fork, in_parent, in_child);
	}
	atomic_store(&start.state, on ? ON : OFF);
	errno = saved;
}

/*
 * Other threads wait for the initialisation; calls that the initialising thread makes itself do
 * not.
 */
static bool start_or_wait(void)
{
	int unknown = UNKNOWN, tid = raw_gettid();

	if (atomic_load(&start.state) == STARTING && atomic_load(&start.starter) == tid)
		return false;
	if (atomic_compare_exchange_strong(&start.state, &unknown, STARTING)) {
		atomic_store(&start.starter, tid);
		begin();
	}
	/* Not sched_yield(), which is a hook. */
	while (atomic_load(&start.state) == STARTING)
		raw(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	return atomic_load(&start.state) == ON;
}

void client_forked(void)
{
	client_connections_forked();
	client_share_forget();
	client_lost_forked();
	client_serve_forked();
	if (start.alive)
		atomic_store(start.alive, 1);
}

/* A child that was created without the handlers of fork(). */
static void reset_child(void)
{
	int idle = 0;

	if (!atomic_compare_exchange_strong(&start.resetting, &idle, 1))
		return;
	if (!atomic_load(start.alive))
		client_forked();
	atomic_store(&start.resetting, 0);
}

bool client_on(void)
{
	int state = atomic_load_explicit(&start.state, memory_order_acquire);

	if (state == OFF)
		return false;
	if (state != ON && !start_or_wait())
		return false;
	if (start.alive && !atomic_load_explicit(start.alive, memory_order_relaxed))
		reset_child();
	return true;
}

__attribute__((constructor)) static void construct(void)
{
	client_on();
}

int client_move_fd(int fd)
{
	struct rlimit limit = { FD_HIGHEST, FD_HIGHEST };
	long top = FD_HIGHEST;
	int moved;

	if (fd < 0)
		return fd;
	raw(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0);
	if (limit.rlim_cur < FD_HIGHEST)
		top = (long)limit.rlim_cur;
	moved = raw_fcntl(fd, F_DUPFD_CLOEXEC, top > 2 * FD_ROOM ? top - FD_ROOM : top / 2);
	if (moved < 0)
		return fd; /* no free number up there: it stays */
	raw_close(fd);
	return moved;
}
