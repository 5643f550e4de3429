// SPDX-License-Identifier: MIT
#include "stage.h"

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
#include "device/request.h"
#include "machine.h"
#include "wire/client.h"

#define PART_VARIABLE "GPREEMPT_BENCH_PART"
#define MEMORY_VARIABLE "GPREEMPT_BENCH_MEMORY"
#define PATIENCE_NS (30 * GP__S)
/* The period of checking that an actor that does not answer still lives. */
#define LOOK_NS (100 * GP__MS)
#define CANNOT_RUN 126

/*
 * CPUs
 */

void stage_find_cpus(int *first, int *last)
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

void stage_pin(int cpu)
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
	stage_pin(cpu);
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

/* Only the programs use the emulated machine. */
static _Noreturn void become_daemon(const char *path, const struct stage_daemon *d)
{
	unsetenv("LD_PRELOAD");
	unsetenv(EMU_DIR_VARIABLE);
	unsetenv("LISTEN_FDS");
	unsetenv("NOTIFY_SOCKET");
	execl(path, "gpreemptd", "--config", d->config, "--socket", d->socket, (char *)NULL);
	_exit(CANNOT_RUN);
}

static int write_config(struct stage_daemon *d, bool logs)
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

static int wait_for_daemon(const struct stage_daemon *d)
{
	u64 deadline = gp__clock_ns() + PATIENCE_NS;
	char text[GP__WIRE_TEXT_MAX];
	int fd;

	while ((fd = gp__wire_control(d->socket, text)) < 0) {
		if (waitpid(d->pid, NULL, WNOHANG))
			return -ESRCH;
		if (gp__clock_ns() > deadline)
			return -ETIME;
		gp__sleep_ns(2 * GP__MS);
	}
	close(fd);
	return 0;
}

int stage_daemon_start(struct stage_daemon *d, int cpu, bool logs)
{
	char path[PATH_MAX];
	int err = find_daemon(path);

	if (err)
		return err;
	*d = (struct stage_daemon){ .folder = "/tmp/gpreempt-bench-XXXXXX" };
	if (!mkdtemp(d->folder))
		return -errno;
	err = write_config(d, logs);
	d->pid = err ? err : fork_on(cpu);
	if (!d->pid)
		become_daemon(path, d);
	err = d->pid < 0 ? d->pid : wait_for_daemon(d);
	if (!err && setenv(GP__ENV_SOCKET, d->socket, 1))
		err = -errno;
	if (err)
		stage_daemon_end(d);
	return err;
}

void stage_daemon_end(struct stage_daemon *d)
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
	*d = (struct stage_daemon){ 0 };
}

int stage_measure(struct gp__bench_run *run, const struct stage_scene *scene)
{
	struct stage_daemon daemon;
	int err;

	if (access(scene->program, X_OK))
		return gp__bench_fail(run, -ENOENT, "its program is not built: %s", scene->remedy);
	if (!bench_is_on_machine())
		return gp__bench_fail(run, bench_run_on_machine(scene->cus, "hws"),
				      "no machine can be started");
	gp__bench_device(run, scene->device);
	err = stage_daemon_start(&daemon, -1, scene->logs);
	if (err)
		return gp__bench_fail(run, err, "gpreemptd cannot be started");
	err = scene->measure(run, &daemon);
	stage_daemon_end(&daemon);
	return err;
}

/*
 * Programs
 */

void *stage_memory(size_t bytes)
{
	int fd = memfd_create("gpreempt-bench", 0); /* the actors inherit it */
	char text[16];
	void *at;

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return NULL;
	snprintf(text, sizeof(text), "%d", fd);
	if (setenv(MEMORY_VARIABLE, text, 1))
		return NULL;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/* cppcheck-suppress memleak; it is returned */
	return at == MAP_FAILED ? NULL : at;
}

const char *actor_part(void)
{
	return getenv(PART_VARIABLE);
}

void *actor_memory(size_t bytes)
{
	const char *fd = getenv(MEMORY_VARIABLE);
	void *at = fd ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd), 0)
		      : MAP_FAILED;

	return at == MAP_FAILED ? NULL : at;
}

int actor_start(struct actor *p, const char *bench, const char *part, const char *class_name,
		int cpu, struct actor_line *line)
{
	char self[PATH_MAX];
	int err = find_self(self);

	*p = (struct actor){ .line = line };
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

/* Sleeps while the word has this value, and at most for LOOK_NS. */
static void sleep_on(_Atomic uint32_t *word, uint32_t value)
{
	const struct timespec most = { 0, (long)LOOK_NS };

	syscall(SYS_futex, word, FUTEX_WAIT, value, &most, NULL, 0);
}

int actor_cue(struct actor *p, int cue)
{
	struct actor_line *l = p->line;
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

void actor_end(struct actor *p)
{
	if (p->pid > 0)
		actor_cue(p, ACTOR_LEAVE);
	if (p->pid > 0)
		end_process(p->pid, SIGKILL);
	p->pid = 0;
}

void actor_play(struct actor_line *l, int (*act)(void *data, int cue), void *data)
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
	} while (cue != ACTOR_LEAVE);
}

/*
 * Pages
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

bool actor_find_pages(struct gp__wire_status_page **status,
		      const struct gp__wire_order_page **order)
{
	*status = find_mapping("memfd:gpreempt-status");
	*order = find_mapping("memfd:gpreempt-order");
	return *status && *order;
}
