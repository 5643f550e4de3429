/* SPDX-License-Identifier: MIT */
/*
 * A debugger: starts a program that reports its runtime to the driver, as hsa_stops does with
 * --stop debugged, and then suspends and resumes all or some of its queues at random until it ends.
 * The exit status is the program's.
 *
 * Usage: kfd_debugger [--leave SECONDS] COMMAND [ARGUMENT...]
 * --leave: it exits after that time, with all queues suspended; the program must continue.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpreempt/uapi/gpreempt_kfd.h"

enum { QUEUES_MAX = 64, STOP_US = 4000, RUN_US = 6000, MS_PER_S = 1000 };

static int kfd = -1;
static pid_t child;
static uint32_t stops, suspended;

static void fail(const char *what)
{
	fprintf(stderr, "FAILED: %s: %s\n", what, strerror(errno));
	if (child)
		kill(child, SIGKILL);
	exit(1);
}

static int trap(struct gp_kfd_dbg_trap *args, uint32_t op)
{
	args->pid = (uint32_t)child;
	args->op = op;
	return ioctl(kfd, GP_KFD_DBG_TRAP, args);
}

static uint32_t draw(uint32_t below)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* Traced, and stopped at the beginning of the program. */
static void start_program(char **argv)
{
	int go[2], status;
	char c;

	if (pipe2(go, O_CLOEXEC))
		fail("pipe");
	child = fork();
	if (!child) {
		if (read(go[0], &c, 1) == 1)
			execvp(argv[0], argv);
		_exit(127);
	}
	if (child < 0 || ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_TRACEEXEC))
		fail("PTRACE_SEIZE");
	if (write(go[1], "", 1) != 1 || waitpid(child, &status, 0) != child ||
	    status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8))
		fail(argv[0]);
	close(go[0]);
	close(go[1]);
}

/* The process has nothing open yet; after this it need not be traced. */
static void attach(int events)
{
	struct gp_kfd_runtime_info info;
	struct gp_kfd_dbg_trap args = { 0 };

	args.enable = (struct gp_kfd_dbg_enable){
		.exception_mask = GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME) |
				  GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW),
		.rinfo_ptr = (uintptr_t)&info,
		.rinfo_size = sizeof(info),
		.dbg_fd = (uint32_t)events,
	};
	if (trap(&args, GP_KFD_DBG_ENABLE))
		fail("DBG_TRAP ENABLE");
	if (ptrace(PTRACE_DETACH, child, 0, 0))
		fail("PTRACE_DETACH");
}

/* Reads raised exceptions until there is none; the runtime waits for an answer. */
static void look_at_events(int events)
{
	struct gp_kfd_dbg_trap args;
	char bytes[64];

	if (read(events, bytes, sizeof(bytes)) <= 0)
		return;
	for (;;) {
		args = (struct gp_kfd_dbg_trap){ 0 };
		args.query_debug_event.exception_mask = ~0ull;
		if (trap(&args, GP_KFD_DBG_QUERY_DEBUG_EVENT))
			break;
		if (!(args.query_debug_event.exception_mask &
		      GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME)))
			continue;
		args = (struct gp_kfd_dbg_trap){ 0 };
		args.send_runtime_event.exception_mask = GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME);
		if (trap(&args, GP_KFD_DBG_SEND_RUNTIME_EVENT))
			fail("DBG_TRAP SEND_RUNTIME_EVENT");
	}
}

/* The existing queues, some of them or all. */
static uint32_t choose(uint32_t *ids)
{
	struct gp_kfd_queue_snapshot entry[QUEUES_MAX];
	struct gp_kfd_dbg_trap args = { 0 };
	uint32_t nr = 0;
	bool all = draw(2);

	args.snapshot = (struct gp_kfd_dbg_snapshot){
		.exception_mask = GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW),
		.snapshot_buf_ptr = (uintptr_t)entry,
		.num_entries = QUEUES_MAX,
		.entry_size = sizeof(entry[0]),
	};
	if (trap(&args, GP_KFD_DBG_GET_QUEUE_SNAPSHOT))
		return 0; /* the process has ended */
	for (uint32_t i = 0; i < args.snapshot.num_entries && i < QUEUES_MAX; i++) {
		if (all || draw(2))
			ids[nr++] = entry[i].queue_id;
	}
	return nr;
}

/* Queues that were destroyed meanwhile are not suspended; the runtime may have ended, too. */
static bool set_suspended(uint32_t *ids, uint32_t nr, bool on)
{
	struct gp_kfd_dbg_trap args = { 0 };
	int n;

	if (on) {
		args.suspend_queues.queue_array_ptr = (uintptr_t)ids;
		args.suspend_queues.num_queues = nr;
	} else {
		args.resume_queues.queue_array_ptr = (uintptr_t)ids;
		args.resume_queues.num_queues = nr;
	}
	n = trap(&args, on ? GP_KFD_DBG_SUSPEND_QUEUES : GP_KFD_DBG_RESUME_QUEUES);
	if (n < 0 && errno != EPERM && errno != EINVAL && errno != ESRCH)
		fail(on ? "DBG_TRAP SUSPEND" : "DBG_TRAP RESUME");
	for (uint32_t i = 0; n >= 0 && i < nr; i++) {
		if (ids[i] & GP_KFD_QUEUE_ERROR) {
			errno = EIO;
			fail("a queue that could not be stopped or started");
		}
		ids[i] &= ~GP_KFD_QUEUE_INVALID;
	}
	if (n > 0 && on) {
		suspended += (uint32_t)n;
		stops++;
	}
	return n > 0;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The program's status; or with a time, 0 when that has passed. */
static int debug(int events, double leave)
{
	uint32_t ids[QUEUES_MAX], nr;
	double end = now_s() + leave;
	int status;

	for (;;) {
		struct pollfd readable = { .fd = events, .events = POLLIN };
		bool is_last = leave > 0 && now_s() >= end;

		poll(&readable, 1, (int)draw(RUN_US / MS_PER_S));
		look_at_events(events);
		nr = choose(ids);
		if (nr && set_suspended(ids, nr, true)) {
			if (is_last)
				return 0;
			usleep(draw(STOP_US));
			set_suspended(ids, nr, false);
		}
		if (waitpid(child, &status, WNOHANG) == child)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
}

int main(int argc, char **argv)
{
	double leave = 0;
	int events[2], status;

	argv++;
	if (argc > 3 && !strcmp(argv[0], "--leave")) {
		leave = atof(argv[1]);
		argv += 2;
	}
	if (!*argv) {
		fprintf(stderr, "usage: kfd_debugger [--leave SECONDS] COMMAND [ARGUMENT...]\n");
		return 2;
	}
	kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	if (kfd < 0)
		fail("/dev/kfd");
	if (pipe2(events, O_CLOEXEC | O_NONBLOCK))
		fail("pipe");
	start_program(argv);
	attach(events[1]);
	status = debug(events[0], leave);
	printf("%u queues were suspended in %u steps\n", suspended, stops);
	if (!stops) {
		errno = 0;
		fail("no queue was ever suspended");
	}
	return status;
}
