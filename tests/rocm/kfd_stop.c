/* SPDX-License-Identifier: MIT */
/*
 * Stops and starts the compute queues of another program, at random, for some seconds: as a
 * debugger (PTRACE_SEIZE and DBG_TRAP), or with PREEMPT_BATCH of gpreempt's kernel series.
 *
 * Usage: kfd_stop debug|batch PID SECONDS [hold]
 *
 * With hold it says "held" after a stop and waits to be killed, which has to set the queues free.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#include "gpreempt/uapi/gpreempt_kfd.h"

#define QUEUES_MAX 64

static _Noreturn __attribute__((format(printf, 1, 2))) void fail(const char *fmt, ...)
{
	va_list args;

	fputs("FAILED: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static int kfd;
static pid_t target;

static bool is_compute(const char *folder, const char *id)
{
	char path[512], text[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/type", folder, id);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
		fclose(f);
	}
	return *text && !atoi(text);
}

static uint32_t find_queues(uint32_t *ids)
{
	char folder[128];
	struct dirent *d;
	uint32_t nr = 0;
	DIR *dir;

	snprintf(folder, sizeof(folder), "/sys/class/kfd/kfd/proc/%d/queues", (int)target);
	dir = opendir(folder);
	if (!dir)
		fail("%s: %s", folder, strerror(errno));
	while ((d = readdir(dir)) && nr < QUEUES_MAX)
		if (d->d_name[0] != '.' && is_compute(folder, d->d_name))
			ids[nr++] = strtoul(d->d_name, NULL, 10);
	closedir(dir);
	return nr;
}

static int set_by_batch(uint32_t *ids, uint32_t nr, bool stopped)
{
	struct gp_kfd_preempt_batch args = {
		.queue_array_ptr = (uintptr_t)ids,
		.num_queues = nr,
		.op = stopped ? GP_KFD_BATCH_PREEMPT : GP_KFD_BATCH_RESUME,
		.pid = target,
		.preempt_type = stopped ? GP_KFD_PREEMPT_SAVE : 0,
	};

	return ioctl(kfd, GP_KFD_PREEMPT_BATCH, &args);
}

static int debug(struct gp_kfd_dbg_trap *args, uint32_t op)
{
	args->pid = target;
	args->op = op;
	return ioctl(kfd, GP_KFD_DBG_TRAP, args);
}

static void attach(void)
{
	struct gp_kfd_runtime_info info = { 0 };
	struct gp_kfd_dbg_trap args = { 0 };
	int ends[2];

	if (ptrace(PTRACE_SEIZE, target, 0, 0))
		fail("PTRACE_SEIZE: %s", strerror(errno));
	if (pipe2(ends, O_CLOEXEC))
		fail("pipe: %s", strerror(errno));
	args.enable.rinfo_ptr = (uintptr_t)&info;
	args.enable.rinfo_size = sizeof(info);
	args.enable.dbg_fd = ends[1];
	if (debug(&args, GP_KFD_DBG_ENABLE))
		fail("DBG_TRAP ENABLE: %s", strerror(errno));
	if (info.runtime_state != GP_KFD_RUNTIME_ENABLED)
		fail("the program's runtime is in state %u", info.runtime_state);
}

static int set_by_debugger(uint32_t *ids, uint32_t nr, bool stopped)
{
	struct gp_kfd_queue_snapshot entry[QUEUES_MAX];
	struct gp_kfd_dbg_trap args = { 0 };

	if (!stopped) {
		args.resume_queues.queue_array_ptr = (uintptr_t)ids;
		args.resume_queues.num_queues = nr;
		return debug(&args, GP_KFD_DBG_RESUME_QUEUES);
	}
	/* A queue is new to a debugger until it has seen it. */
	args.snapshot.exception_mask = GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW);
	args.snapshot.snapshot_buf_ptr = (uintptr_t)entry;
	args.snapshot.num_entries = QUEUES_MAX;
	args.snapshot.entry_size = sizeof(entry[0]);
	if (debug(&args, GP_KFD_DBG_GET_QUEUE_SNAPSHOT))
		return -1;
	args = (struct gp_kfd_dbg_trap){ 0 };
	args.suspend_queues.queue_array_ptr = (uintptr_t)ids;
	args.suspend_queues.num_queues = nr;
	return debug(&args, GP_KFD_DBG_SUSPEND_QUEUES);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* False: the program has ended. Queues may come and go while they are looked at. */
static bool set(bool by_batch, bool stopped, uint32_t *ids, uint32_t nr)
{
	int done = by_batch ? set_by_batch(ids, nr, stopped) : set_by_debugger(ids, nr, stopped);

	if (done < 0 && (errno == ESRCH || kill(target, 0)))
		return false;
	if (done != (int)nr)
		fail("%d of %u queues were %s: id %#x, %s", done, nr,
		     stopped ? "stopped" : "started", ids[0], done < 0 ? strerror(errno) : "");
	return true;
}

int main(int argc, char **argv)
{
	uint32_t ids[QUEUES_MAX], nr, stops = 0;
	bool by_batch = argc > 1 && !strcmp(argv[1], "batch"), hold = argc == 5;
	double end;

	if (argc < 4 || (!by_batch && strcmp(argv[1], "debug"))) {
		fprintf(stderr, "usage: kfd_stop debug|batch PID SECONDS [hold]\n");
		return 2;
	}
	target = atoi(argv[2]);
	end = now() + atof(argv[3]);
	kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (kfd < 0)
		fail("/dev/kfd: %s", strerror(errno));
	if (!by_batch)
		attach();
	srand48(target);
	while (now() < end) {
		nr = find_queues(ids);
		if (!set(by_batch, true, ids, nr))
			break;
		if (hold) {
			puts("held");
			fflush(stdout);
			pause();
		}
		usleep(lrand48() % 8000);
		if (!set(by_batch, false, ids, nr))
			break;
		stops++;
		usleep(lrand48() % 5000);
	}
	printf("%u times all queues of %d were stopped (%s)\n", stops, (int)target, argv[1]);
	return stops ? 0 : 1;
}
