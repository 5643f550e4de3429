// SPDX-License-Identifier: MIT
#include "cast.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "emu/protocol.h"
#include "join/wish.h"
#include "machine.h"
#include "wire/client.h"

#define PART_VARIABLE "GPREEMPT_BENCH_PART"
#define MEMORY_VARIABLE "GPREEMPT_BENCH_MEMORY"
#define PATIENCE_NS (30 * GP__S)
/* How often it is seen whether a part that does not answer is there. */
#define LOOK_NS (100 * GP__MS)
#define CANNOT_RUN 126

/*
 * CPUs
 */

void cast_find_cpus(int *first, int *last)
{
	cpu_set_t set;

	*first = *last = -1;
	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &set))
			continue;
		*first = *first < 0 ? i : *first;
		*last = i;
	}
}

void cast_pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Starting
 */

static int find_self(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (n < 0)
		return -errno;
	path[n] = '\0';
	return 0;
}

static pid_t fork_on(int cpu)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(CANNOT_RUN);
	cast_pin(cpu);
	return 0;
}

static void end_process(pid_t pid, int signal_number)
{
	kill(pid, signal_number);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/*
 * The daemon
 */

static int find_daemon(char path[PATH_MAX])
{
	char self[PATH_MAX];
	int err = find_self(self);

	if (err)
		return err;
	if (snprintf(path, PATH_MAX, "%s/../daemon/gpreemptd", dirname(self)) >= PATH_MAX ||
	    access(path, X_OK))
		snprintf(path, PATH_MAX, "%s", GP_SBIN_DIR "/gpreemptd");
	return access(path, X_OK) ? -errno : 0;
}

/* The emulated machine is the programs' affair. */
static _Noreturn void become_daemon(const char *path, const struct cast_daemon *d)
{
	unsetenv("LD_PRELOAD");
	unsetenv(EMU_DIR_VARIABLE);
	unsetenv("LISTEN_FDS");
	unsetenv("NOTIFY_SOCKET");
	execl(path, "gpreemptd", "--config", d->config, "--socket", d->socket, (char *)NULL);
	_exit(CANNOT_RUN);
}

static int write_config(struct cast_daemon *d, bool logs)
{
	FILE *f;

	snprintf(d->socket, sizeof(d->socket), "%s/control.sock", d->folder);
	snprintf(d->config, sizeof(d->config), "%s/gpreemptd.conf", d->folder);
	snprintf(d->log, sizeof(d->log), "%s/log", d->folder);
	f = fopen(d->config, "we");
	if (!f)
		return -errno;
	if (logs)
		fprintf(f, "[daemon]\nlog = %s\n", d->log);
	return fclose(f) ? -errno : 0;
}

static int wait_for_daemon(const struct cast_daemon *d)
{
	const struct timespec pause = { 0, (long)(2 * GP__MS) };
	u64 deadline = gp__clock_ns() + PATIENCE_NS;
	char text[GP__WIRE_TEXT_MAX];
	int fd;

	while ((fd = gp__wire_control(d->socket, text)) < 0) {
		if (waitpid(d->pid, NULL, WNOHANG))
			return -ESRCH;
		if (gp__clock_ns() > deadline)
			return -ETIME;
		nanosleep(&pause, NULL);
	}
	close(fd);
	return 0;
}

int cast_daemon_start(struct cast_daemon *d, int cpu, bool logs)
{
	char path[PATH_MAX];
	int err = find_daemon(path);

	if (err)
		return err;
	*d = (struct cast_daemon){ .folder = "/tmp/gpreempt-bench-XXXXXX" };
	if (!mkdtemp(d->folder))
		return -errno;
	err = write_config(d, logs);
	d->pid = err ? err : fork_on(cpu);
	if (!d->pid)
		become_daemon(path, d);
	err = d->pid < 0 ? d->pid : wait_for_daemon(d);
	if (!err && setenv(GP__WISH_SOCKET, d->socket, 1))
		err = -errno;
	if (err)
		cast_daemon_end(d);
	return err;
}

void cast_daemon_end(struct cast_daemon *d)
{
	char lock[sizeof(d->socket) + 8];

	if (d->pid > 0)
		end_process(d->pid, SIGTERM);
	if (!*d->folder)
		return;
	snprintf(lock, sizeof(lock), "%s.lock", d->socket);
	unlink(lock);
	unlink(d->socket);
	unlink(d->config);
	unlink(d->log);
	rmdir(d->folder);
	*d = (struct cast_daemon){ 0 };
}

int cast_measure(struct gp__bench_run *run, const struct cast_scene *scene)
{
	struct cast_daemon daemon;
	int err;

	if (access(scene->program, X_OK))
		return gp__bench_fail(run, -ENOENT, "its program is not built: %s", scene->remedy);
	if (!bench_is_on_machine())
		return gp__bench_fail(run, bench_run_on_machine(scene->cus),
				      "no machine can be started");
	gp__bench_device(run, scene->device);
	err = cast_daemon_start(&daemon, -1, scene->logs);
	if (err)
		return gp__bench_fail(run, err, "gpreemptd cannot be started");
	err = scene->measure(run, &daemon);
	cast_daemon_end(&daemon);
	return err;
}

/*
 * Programs
 */

void *cast_memory(size_t bytes)
{
	int fd = memfd_create("gpreempt-bench", 0); /* the parts inherit it */
	char text[16];
	void *at;

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return NULL;
	snprintf(text, sizeof(text), "%d", fd);
	if (setenv(MEMORY_VARIABLE, text, 1))
		return NULL;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/* cppcheck-suppress memleak; it is what is returned */
	return at == MAP_FAILED ? NULL : at;
}

const char *cast_part(void)
{
	return getenv(PART_VARIABLE);
}

void *cast_memory_of_part(size_t bytes)
{
	const char *fd = getenv(MEMORY_VARIABLE);
	void *at = fd ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd), 0)
		      : MAP_FAILED;

	return at == MAP_FAILED ? NULL : at;
}

int cast_start(struct cast_program *p, const char *bench, const char *part, const char *class_name,
	       int cpu, struct cast_line *line)
{
	char self[PATH_MAX];
	int err = find_self(self);

	*p = (struct cast_program){ .line = line };
	if (err)
		return err;
	p->pid = fork_on(cpu);
	if (p->pid)
		return p->pid < 0 ? p->pid : 0;
	setenv(PART_VARIABLE, part, 1);
	if (class_name)
		execl(self, "gpreempt", "run", "-c", class_name, "-t", part, "--", self, "bench",
		      bench, (char *)NULL);
	else
		execl(self, "gpreempt", "bench", bench, (char *)NULL);
	_exit(CANNOT_RUN);
}

/*
 * Cues
 */

static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* While it has this value, and not for ever. */
static void sleep_on(_Atomic uint32_t *word, uint32_t value)
{
	const struct timespec most = { 0, (long)LOOK_NS };

	syscall(SYS_futex, word, FUTEX_WAIT, value, &most, NULL, 0);
}

int cast_cue(struct cast_program *p, int cue)
{
	struct cast_line *l = p->line;
	u64 deadline = gp__clock_ns() + PATIENCE_NS;
	uint32_t done, said = atomic_load(&l->said) + 1;

	if (p->pid <= 0)
		return -ESRCH;
	atomic_store(&l->cue, cue);
	atomic_store(&l->said, said);
	wake(&l->said);
	while ((done = atomic_load(&l->done)) != said) {
		if (waitpid(p->pid, NULL, WNOHANG)) {
			p->pid = 0;
			return -ESRCH;
		}
		if (gp__clock_ns() > deadline)
			return -ETIME;
		sleep_on(&l->done, done);
	}
	return atomic_load(&l->result);
}

void cast_end(struct cast_program *p)
{
	if (p->pid > 0)
		cast_cue(p, CAST_LEAVE);
	if (p->pid > 0)
		end_process(p->pid, SIGKILL);
	p->pid = 0;
}

void cast_play(struct cast_line *l, int (*act)(void *data, int cue), void *data)
{
	int cue;

	do {
		uint32_t done = atomic_load(&l->done);

		while (atomic_load(&l->said) == done)
			sleep_on(&l->said, done);
		cue = atomic_load(&l->cue);
		atomic_store(&l->result, act(data, cue));
		atomic_store(&l->done, done + 1);
		wake(&l->done);
	} while (cue != CAST_LEAVE);
}

/*
 * The wire
 */

static void *find_mapping(const char *name)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long at = 0;
	char line[512];

	while (f && !at && fgets(line, sizeof(line), f)) {
		if (strstr(line, name))
			at = strtoul(line, NULL, 16);
	}
	if (f)
		fclose(f);
	return (void *)at;
}

bool cast_find_wire(struct gp__wire_up **up, const struct gp__wire_down **down)
{
	*up = find_mapping("memfd:gpreempt-up");
	*down = find_mapping("memfd:gpreempt-down");
	return *up && *down;
}
