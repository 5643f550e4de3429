// SPDX-License-Identifier: MIT
/*
 * DBG_TRAP: suspends and resumes queues as a debugger does, all in one call.
 *
 * Exceptions stay with the runtime. But a runtime that enables or disables itself waits for its
 * debugger to acknowledge that. In our own process the caller opens and closes this way so that no
 * debugger is attached then; another process's runtime is answered when it reports
 * (gp__kfd_control_answer()).
 *
 * Attaching requires that another process is traced. It is traced only for that call, since a
 * tracer that does not wait for signals keeps them from the program. Kernels that require the
 * tracer for later calls, too, refuse them, and the process is traced for that call.
 */
#include "device/kfd/way.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define STOP_PATIENCE_MS 30000 /* for a busy host */
#define RUNTIME_CHANGES GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME)

static bool can(enum gp__kfd_verb verb)
{
	return verb == GP__KFD_SAVE || verb == GP__KFD_RELEASE;
}

/*
 * Tracing
 */

int gp__kfd_trace(const struct gp__kfd_control *c)
{
	return c->pid && ptrace(PTRACE_SEIZE, c->pid, 0, 0) ? -errno : 0;
}

static bool is_own_child(pid_t pid)
{
	char path[64], text[512], *name_end;
	int parent = 0, fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	name_end = strrchr(text, ')');
	return name_end && sscanf(name_end, ") %*c %d", &parent) == 1 && parent == getpid();
}

/* A program that has died is shown to its parent only when its tracer has waited for it. */
static bool let_dead_go(pid_t pid)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) ||
	    info.si_pid != pid)
		return false;
	/* Stops of a tracee are reported as well. */
	if (info.si_code != CLD_EXITED && info.si_code != CLD_KILLED && info.si_code != CLD_DUMPED)
		return false;
	if (!is_own_child(pid))
		waitpid(pid, NULL, WNOHANG | __WALL);
	return true;
}

/*
 * Detaches. A program must be stopped for that; a signal that stopped it instead is delivered to
 * it. The loop polls for the stop: if we are the parent, another thread that waits for the program
 * may consume its event.
 */
void gp__kfd_end_trace(const struct gp__kfd_control *c)
{
	siginfo_t info;

	if (!c->pid)
		return;
	for (int i = 0; i < STOP_PATIENCE_MS && !ptrace(PTRACE_INTERRUPT, c->pid, 0, 0); i++) {
		if (!ptrace(PTRACE_GETSIGINFO, c->pid, 0, &info)) {
			bool by_us = info.si_code >> 8 == PTRACE_EVENT_STOP;

			ptrace(PTRACE_DETACH, c->pid, 0, by_us ? 0 : info.si_signo);
			return;
		}
		if (let_dead_go(c->pid))
			return;
		gp__sleep_ns(GP__MS);
	}
}

static int trap(const struct gp__kfd_control *c, uint32_t op, struct gp_kfd_dbg_trap *args)
{
	int result;

	args->pid = (uint32_t)(c->pid ? c->pid : getpid());
	args->op = op;
	result = gp__kfd_call(c, GP_KFD_DBG_TRAP, args);
	if (result == -EPERM && c->pid && !gp__kfd_trace(c)) {
		result = gp__kfd_call(c, GP_KFD_DBG_TRAP, args);
		gp__kfd_end_trace(c);
	}
	return result;
}

/*
 * Beginning and end
 */

static int answer(struct gp__kfd_control *c)
{
	struct gp_kfd_dbg_trap args = { 0 };

	args.send_runtime_event.exception_mask = RUNTIME_CHANGES;
	return trap(c, GP_KFD_DBG_SEND_RUNTIME_EVENT, &args);
}

void gp__kfd_control_answer(struct gp__kfd_control *c)
{
	struct gp_kfd_dbg_trap args;
	char bytes[64];

	if (c->way != GP__KFD_WAY_DBGTRAP || !c->pid || c->events < 0 ||
	    read(c->events, bytes, sizeof(bytes)) <= 0)
		return;
	for (;;) {
		args = (struct gp_kfd_dbg_trap){ 0 };
		args.query_debug_event.exception_mask = RUNTIME_CHANGES;
		if (trap(c, GP_KFD_DBG_QUERY_DEBUG_EVENT, &args))
			return;
		if (args.query_debug_event.exception_mask & RUNTIME_CHANGES)
			answer(c);
	}
}

static int enable(struct gp__kfd_control *c, int dbg_fd)
{
	struct gp_kfd_runtime_info info = { 0 };
	struct gp_kfd_dbg_trap args = { .op = GP_KFD_DBG_ENABLE };
	int err;

	args.pid = (uint32_t)(c->pid ? c->pid : getpid());
	args.enable = (struct gp_kfd_dbg_enable){
		.exception_mask = c->pid ? RUNTIME_CHANGES : 0,
		.rinfo_ptr = (uint64_t)&info,
		.rinfo_size = sizeof(info),
		.dbg_fd = (uint32_t)dbg_fd,
	};
	err = gp__kfd_trace(c);
	if (err)
		return err;
	err = gp__kfd_call(c, GP_KFD_DBG_TRAP, &args);
	gp__kfd_end_trace(c);
	if (!err)
		c->runtime = info.runtime_state;
	return err;
}

static void disable(struct gp__kfd_control *c)
{
	struct gp_kfd_dbg_trap args = { 0 };

	/* Answers a runtime that may be about to wait; later it does not wait for this debugger. */
	if (c->pid)
		answer(c);
	trap(c, GP_KFD_DBG_DISABLE, &args);
}

static void close_dbgtrap(struct gp__kfd_control *c)
{
	if (c->events < 0)
		return;
	disable(c);
	close(c->events);
	c->events = -1;
}

/* On a GPU that allows one debugger, the second one fails only here. */
static int check_runtime(const struct gp__kfd_control *c)
{
	switch (c->runtime) {
	case GP_KFD_RUNTIME_ENABLED:
		return 0;
	case GP_KFD_RUNTIME_DISABLED:
		return -EPERM;
	default:
		return -EBUSY;
	}
}

int gp__kfd_attach_debugger(struct gp__kfd_control *c)
{
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	err = enable(c, ends[1]);
	/* The driver has its own reference; the other end stays open, so that the pipe does not
	 * break. */
	close(ends[1]);
	if (err) {
		close(ends[0]);
		return err;
	}
	c->events = ends[0];
	return 0;
}

static int open_dbgtrap(struct gp__kfd_control *c)
{
	int err = gp__kfd_attach_debugger(c);

	if (err)
		return err;
	err = check_runtime(c);
	if (err)
		close_dbgtrap(c);
	return err;
}

/*
 * Queues
 */

static int suspend(struct gp__kfd_control *c, uint32_t *ids, size_t n)
{
	struct gp_kfd_dbg_trap args = { 0 };

	args.suspend_queues.queue_array_ptr = (uint64_t)ids;
	args.suspend_queues.num_queues = (uint32_t)n;
	args.suspend_queues.grace_period = c->grace;
	return trap(c, GP_KFD_DBG_SUSPEND_QUEUES, &args);
}

static int resume(struct gp__kfd_control *c, uint32_t *ids, size_t n)
{
	struct gp_kfd_dbg_trap args = { 0 };

	args.resume_queues.queue_array_ptr = (uint64_t)ids;
	args.resume_queues.num_queues = (uint32_t)n;
	return trap(c, GP_KFD_DBG_RESUME_QUEUES, &args);
}

static void set_once(struct gp__kfd_control *c, enum gp__kfd_verb verb, struct gp__kfd_target *t,
		     size_t n)
{
	uint32_t ids[GP__KFD_QUEUES_MAX];
	size_t nr = gp__kfd_write_ids(t, n, ids);
	int done = verb == GP__KFD_RELEASE ? resume(c, ids, nr) : suspend(c, ids, nr);

	if (done < 0)
		gp__kfd_set_results(t, n, done);
	else
		gp__kfd_read_ids(t, n, ids);
}

/* Takes @size bytes of each queue's entry and clears exceptions. The number of queues, which may be
 * above @max, or -errno. */
static int take_snapshot(struct gp__kfd_control *c, uint64_t clear, void *entries, uint32_t max,
			 size_t size)
{
	struct gp_kfd_dbg_trap args = { 0 };
	int err;

	args.snapshot = (struct gp_kfd_dbg_snapshot){
		.exception_mask = clear,
		.snapshot_buf_ptr = (uint64_t)entries,
		.num_entries = max,
		.entry_size = (uint32_t)size,
	};
	err = trap(c, GP_KFD_DBG_GET_QUEUE_SNAPSHOT, &args);
	return err < 0 ? err : (int)args.snapshot.num_entries;
}

/* Marks all queues as known; only the least part of each entry is asked for. */
static int take_notice(struct gp__kfd_control *c)
{
	uint64_t entries[GP__KFD_QUEUES_MAX];
	int nr = take_snapshot(c, GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW), entries, GP__KFD_QUEUES_MAX,
			       sizeof(entries[0]));

	return nr < 0 ? nr : 0;
}

int gp__kfd_debug_snapshot(struct gp__kfd_control *c, struct gp_kfd_queue_snapshot *entry,
			   uint32_t max)
{
	int nr = take_snapshot(c, 0, entry, max, sizeof(*entry));

	return nr > (int)max ? (int)max : nr;
}

/* A debugger cannot suspend a queue whose creation it has not acknowledged: the driver refuses it
 * as unknown. */
static void set(struct gp__kfd_control *c, enum gp__kfd_verb verb, struct gp__kfd_target *t,
		size_t n)
{
	bool any = false;

	set_once(c, verb, t, n);
	if (verb == GP__KFD_RELEASE)
		return;
	for (size_t i = 0; i < n; i++)
		any |= t[i].result == -EINVAL;
	if (!any || take_notice(c))
		return;
	for (size_t i = 0; i < n; i++) {
		if (t[i].result == -EINVAL)
			t[i].result = GP__KFD_PENDING;
	}
	set_once(c, verb, t, n);
}

const struct gp__kfd_way_ops gp__kfd_way_dbgtrap = {
	.name = "dbgtrap",
	.can = can,
	.open = open_dbgtrap,
	.close = close_dbgtrap,
	.set = set,
};
