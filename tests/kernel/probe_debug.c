// SPDX-License-Identifier: MIT
/*
 * Debugging of the own process and of others: who may, in which order, and the effect of the
 * runtime's own call. No process here has a queue.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

#define OP_UNKNOWN 15
#define BEGIN_MS 300

static uint32_t ids[4];

static int trap(const struct probe *p, struct gp_kfd_dbg_trap *t, pid_t pid, uint32_t op)
{
	t->pid = (uint32_t)pid;
	t->op = op;
	return probe_ioctl(p, GP_KFD_DBG_TRAP, t);
}

static struct gp_kfd_dbg_trap enable_args(int fd, struct gp_kfd_runtime_info *info, uint32_t size)
{
	return (struct gp_kfd_dbg_trap){ .enable = { .rinfo_ptr = (uintptr_t)info,
						     .rinfo_size = size,
						     .dbg_fd = (uint32_t)fd,
						     .exception_mask = ~0ULL } };
}

static void say_enable(const struct probe *p, const char *name, pid_t pid, int fd, uint32_t size)
{
	struct gp_kfd_runtime_info info = { .r_debug = 9, .runtime_state = 9, .ttmp_setup = 9 };
	struct gp_kfd_dbg_trap t = enable_args(fd, &info, size);
	char text[PROBE_RESULT_MAX];
	int result = trap(p, &t, pid, GP_KFD_DBG_ENABLE);

	probe_say(p, name, "%s state %u ttmp %u r_debug %llx size %u", probe_result(text, result),
		  info.runtime_state, info.ttmp_setup, info.r_debug, t.enable.rinfo_size);
}

static void say_disable(const struct probe *p, const char *name, pid_t pid)
{
	struct gp_kfd_dbg_trap t = { 0 };

	probe_answer(p, name, trap(p, &t, pid, GP_KFD_DBG_DISABLE));
}

static int set_runtime(const struct probe *p, uint32_t mode)
{
	struct gp_kfd_runtime_enable r = { .r_debug = 0x1000, .mode_mask = mode };

	return probe_ioctl(p, GP_KFD_RUNTIME_ENABLE, &r);
}

static void pause_for_others(void)
{
	const struct timespec ts = { 0, BEGIN_MS * 1000000L };

	nanosleep(&ts, NULL);
}

/* How many bytes have come since the last time, and come soon. */
static long events_in(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	char bytes[64];

	pause_for_others();
	return poll(&poll_fd, 1, 0) == 1 ? read(fd, bytes, sizeof(bytes)) : 0;
}

/*
 * The operations
 */

static void array_op(const struct probe *p, const char *name, pid_t pid, uint32_t op, uint32_t n,
		     uint64_t array)
{
	struct gp_kfd_dbg_trap t = { 0 };
	char text[PROBE_RESULT_MAX];
	int result;

	if (op == GP_KFD_DBG_SUSPEND_QUEUES) {
		t.suspend_queues.num_queues = n;
		t.suspend_queues.queue_array_ptr = array;
	} else {
		t.resume_queues.num_queues = n;
		t.resume_queues.queue_array_ptr = array;
	}
	ids[0] = 0;
	ids[1] = PROBE_NO_QUEUE;
	result = trap(p, &t, pid, op);
	probe_say(p, name, "%s ids %x %x", probe_result(text, result), ids[0], ids[1]);
}

static void arrays(const struct probe *p, const char *when, pid_t pid)
{
	static const struct {
		const char *name;
		uint32_t op;
	} ops[] = { { "suspend", GP_KFD_DBG_SUSPEND_QUEUES },
		    { "resume", GP_KFD_DBG_RESUME_QUEUES } };
	char name[64];

	for (size_t i = 0; i < 2; i++) {
		const struct {
			const char *name;
			uint32_t n;
			uint64_t array;
		} cases[] = {
			{ "none", 0, (uintptr_t)ids },	  { "none-null", 0, 0 },
			{ "unknown", 2, (uintptr_t)ids }, { "null", 1, 0 },
			{ "nowhere", 1, 0x1000 },	  { "million", 1000000, (uintptr_t)ids },
		};

		for (size_t j = 0; j < sizeof(cases) / sizeof(cases[0]); j++) {
			snprintf(name, sizeof(name), "%s/%s/%s", when, ops[i].name, cases[j].name);
			array_op(p, name, pid, ops[i].op, cases[j].n, cases[j].array);
		}
	}
}

static void snapshot(const struct probe *p, const char *name, pid_t pid, uint32_t op, uint64_t to,
		     uint32_t n, uint32_t size)
{
	struct gp_kfd_dbg_trap t = {
		.snapshot = { .snapshot_buf_ptr = to, .num_entries = n, .entry_size = size }
	};
	char text[PROBE_RESULT_MAX];
	int result = trap(p, &t, pid, op);

	probe_say(p, name, "%s entries %u size %u", probe_result(text, result),
		  t.snapshot.num_entries, t.snapshot.entry_size);
}

static void snapshots(const struct probe *p, const char *when, pid_t pid)
{
	static char room[4096];
	static const struct {
		const char *name;
		uint32_t op;
	} ops[] = { { "queues", GP_KFD_DBG_GET_QUEUE_SNAPSHOT },
		    { "devices", GP_KFD_DBG_GET_DEVICE_SNAPSHOT } };
	char name[64];

	for (size_t i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s/%s/count", when, ops[i].name);
		snapshot(p, name, pid, ops[i].op, (uintptr_t)room, 0, 4096);
		snprintf(name, sizeof(name), "%s/%s/small-entries", when, ops[i].name);
		snapshot(p, name, pid, ops[i].op, (uintptr_t)room, 4, 8);
		snprintf(name, sizeof(name), "%s/%s/null", when, ops[i].name);
		snapshot(p, name, pid, ops[i].op, 0, 4, 64);
		snprintf(name, sizeof(name), "%s/%s/nowhere", when, ops[i].name);
		snapshot(p, name, pid, ops[i].op, 0x1000, 4, 64);
	}
}

static void waves(const struct probe *p, const char *when, pid_t pid)
{
	struct gp_kfd_dbg_trap t;
	char name[64], text[PROBE_RESULT_MAX];
	int result;

	for (unsigned int mode = 0; mode < 3; mode++) {
		t = (struct gp_kfd_dbg_trap){ .launch_override = { .override_mode = mode,
								   .enable_mask = 1,
								   .support_request_mask = 1 } };
		result = trap(p, &t, pid, GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE);
		snprintf(name, sizeof(name), "%s/launch-override/%u", when, mode);
		probe_say(p, name, "%s mask %x supported %x", probe_result(text, result),
			  t.launch_override.enable_mask, t.launch_override.support_request_mask);
	}
	for (unsigned int mode = 0; mode < 5; mode++) {
		t = (struct gp_kfd_dbg_trap){ .launch_mode = { .launch_mode = mode } };
		snprintf(name, sizeof(name), "%s/launch-mode/%u", when, mode);
		probe_answer(p, name, trap(p, &t, pid, GP_KFD_DBG_SET_WAVE_LAUNCH_MODE));
	}
	for (unsigned int flags = 0; flags < 5; flags++) {
		t = (struct gp_kfd_dbg_trap){ .set_flags = { .flags = flags } };
		result = trap(p, &t, pid, GP_KFD_DBG_SET_FLAGS);
		snprintf(name, sizeof(name), "%s/flags/%u", when, flags);
		probe_say(p, name, "%s before %x", probe_result(text, result), t.set_flags.flags);
	}
	t = (struct gp_kfd_dbg_trap){ .set_address_watch = { .gpu_id = PROBE_NO_GPU } };
	snprintf(name, sizeof(name), "%s/set-watch", when);
	probe_answer(p, name, trap(p, &t, pid, GP_KFD_DBG_SET_NODE_ADDRESS_WATCH));
	t = (struct gp_kfd_dbg_trap){ .clear_address_watch = { .gpu_id = PROBE_NO_GPU } };
	snprintf(name, sizeof(name), "%s/clear-watch", when);
	probe_answer(p, name, trap(p, &t, pid, GP_KFD_DBG_CLEAR_NODE_ADDRESS_WATCH));
}

static void query_info(const struct probe *p, const char *when, pid_t pid, uint32_t code,
		       uint64_t to)
{
	struct gp_kfd_dbg_trap t = { .query_exception_info = { .info_ptr = to,
							       .info_size = 16,
							       .source_id = PROBE_NO_QUEUE,
							       .exception_code = code } };
	char name[64], text[PROBE_RESULT_MAX];
	int result = trap(p, &t, pid, GP_KFD_DBG_QUERY_EXCEPTION_INFO);

	snprintf(name, sizeof(name), "%s/exception-info/%u%s", when, code, to ? "" : "-null");
	probe_say(p, name, "%s size %u", probe_result(text, result),
		  t.query_exception_info.info_size);
}

static void queries(const struct probe *p, const char *when, pid_t pid)
{
	static const uint32_t codes[] = { 0,
					  1,
					  7,
					  GP_KFD_EC_QUEUE_NEW,
					  GP_KFD_EC_DEVICE_MEMORY_VIOLATION,
					  GP_KFD_EC_DEVICE_NEW,
					  GP_KFD_EC_PROCESS_RUNTIME,
					  GP_KFD_EC_PROCESS_DEVICE_REMOVE,
					  GP_KFD_EC_MAX,
					  63,
					  64 };
	static char room[64];
	struct gp_kfd_dbg_trap t = { 0 };
	char name[64], text[PROBE_RESULT_MAX];
	int result = trap(p, &t, pid, GP_KFD_DBG_QUERY_DEBUG_EVENT);

	snprintf(name, sizeof(name), "%s/debug-event", when);
	probe_say(p, name, "%s mask %llx gpu %x queue %u", probe_result(text, result),
		  t.query_debug_event.exception_mask, t.query_debug_event.gpu_id,
		  t.query_debug_event.queue_id);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		query_info(p, when, pid, codes[i], (uintptr_t)room);
	query_info(p, when, pid, GP_KFD_EC_PROCESS_RUNTIME, 0);
	t = (struct gp_kfd_dbg_trap){ .set_exceptions_enabled = { .exception_mask = 1 } };
	snprintf(name, sizeof(name), "%s/set-exceptions", when);
	probe_answer(p, name, trap(p, &t, pid, GP_KFD_DBG_SET_EXCEPTIONS_ENABLED));
}

static void send_event(const struct probe *p, const char *when, const char *what, pid_t pid,
		       uint64_t mask)
{
	struct gp_kfd_dbg_trap t = { .send_runtime_event = { .exception_mask = mask,
							     .gpu_id = PROBE_NO_GPU,
							     .queue_id = PROBE_NO_QUEUE } };
	char name[64];

	snprintf(name, sizeof(name), "%s/send-event/%s", when, what);
	probe_answer(p, name, trap(p, &t, pid, GP_KFD_DBG_SEND_RUNTIME_EVENT));
}

static void all_ops(const struct probe *p, const char *when, pid_t pid)
{
	struct gp_kfd_dbg_trap t = { 0 };
	char name[64];

	arrays(p, when, pid);
	snapshots(p, when, pid);
	waves(p, when, pid);
	queries(p, when, pid);
	send_event(p, when, "none", pid, 0);
	send_event(p, when, "queue", pid, GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_WAVE_ABORT));
	send_event(p, when, "fault", pid, GP_KFD_EC_MASK(GP_KFD_EC_DEVICE_MEMORY_VIOLATION));
	snprintf(name, sizeof(name), "%s/unknown-op", when);
	probe_answer(p, name, trap(p, &t, pid, OP_UNKNOWN));
	snprintf(name, sizeof(name), "%s/op-of-ones", when);
	probe_answer(p, name, trap(p, &t, pid, UINT_MAX));
}

/*
 * The runtime, without a debugger
 */

void probe_runtime(const struct probe *p)
{
	probe_answer(p, "off-before-on", set_runtime(p, 0));
	probe_answer(p, "on", set_runtime(p, GP_KFD_RUNTIME_ENABLE_MODE));
	probe_answer(p, "on-again", set_runtime(p, GP_KFD_RUNTIME_ENABLE_MODE));
	probe_answer(p, "off", set_runtime(p, 0));
	probe_answer(p, "off-again", set_runtime(p, 0));
	probe_answer(p, "on-with-ttmps",
		     set_runtime(p, GP_KFD_RUNTIME_ENABLE_MODE | GP_KFD_RUNTIME_ENABLE_TTMP_SAVE));
	probe_answer(p, "off-by-ttmps-alone", set_runtime(p, GP_KFD_RUNTIME_ENABLE_TTMP_SAVE));
	probe_answer(p, "on-with-all-bits", set_runtime(p, UINT_MAX));
	probe_answer(p, "on-after-all-bits", set_runtime(p, GP_KFD_RUNTIME_ENABLE_MODE));
}

/*
 * Of oneself
 */

static void *wait_for_ever(void *arg)
{
	*(_Atomic pid_t *)arg = gettid();
	for (;;)
		pause();
	return NULL;
}

static void wrong_pids(const struct probe *p, const void *arg)
{
	struct gp_kfd_dbg_trap t = { 0 };
	_Atomic pid_t tid = 0;
	pthread_t thread;

	(void)arg;
	/* A thread stands for its process. */
	pthread_create(&thread, NULL, wait_for_ever, &tid);
	while (!tid)
		pause_for_others();
	probe_answer(p, "pid-of-thread", trap(p, &t, tid, GP_KFD_DBG_DISABLE));
	probe_answer(p, "pid-0", trap(p, &t, 0, GP_KFD_DBG_DISABLE));
	probe_answer(p, "pid-negative", trap(p, &t, -1, GP_KFD_DBG_DISABLE));
	probe_answer(p, "pid-of-nobody", trap(p, &t, INT_MAX, GP_KFD_DBG_DISABLE));
	/* A process that does not use the driver. */
	probe_answer(p, "pid-of-another", trap(p, &t, getppid(), GP_KFD_DBG_DISABLE));
}

static void bad_enables(const struct probe *p, const void *arg)
{
	struct gp_kfd_dbg_trap t;
	int fds[2];

	(void)arg;
	if (pipe2(fds, O_CLOEXEC))
		return;
	all_ops(p, "not-enabled", getpid());
	say_disable(p, "not-enabled/disable", getpid());
	say_enable(p, "enable/no-descriptor", getpid(), -1, 16);
	t = enable_args(fds[1], (void *)0x1000, 16);
	probe_answer(p, "enable/info-nowhere", trap(p, &t, getpid(), GP_KFD_DBG_ENABLE));
	t = enable_args(fds[1], NULL, 0);
	probe_answer(p, "enable/no-info", trap(p, &t, getpid(), GP_KFD_DBG_ENABLE));
	say_disable(p, "enable/no-info/disable", getpid());
	say_enable(p, "enable/half-the-info", getpid(), fds[1], 8);
	say_enable(p, "enable/again", getpid(), fds[1], 16);
	say_enable(p, "enable/again-no-descriptor", getpid(), -1, 16);
	say_disable(p, "disable", getpid());
	say_disable(p, "disable/again", getpid());
	say_enable(p, "enable/more-than-the-info", getpid(), fds[1], 4096);
	say_disable(p, "disable/more", getpid());
	say_enable(p, "enable/descriptor-to-read", getpid(), fds[0], 16);
	say_disable(p, "disable/descriptor-to-read", getpid());
	say_enable(p, "enable/the-device", getpid(), p->kfd, 16);
	say_disable(p, "disable/the-device", getpid());
	say_enable(p, "enable/eventfd", getpid(), eventfd(0, EFD_CLOEXEC), 16);
	say_disable(p, "disable/eventfd", getpid());
}

static void without_runtime(const struct probe *p, const void *arg)
{
	int fds[2];

	(void)arg;
	if (pipe2(fds, O_CLOEXEC))
		return;
	say_enable(p, "no-runtime/enable", getpid(), fds[1], 16);
	all_ops(p, "no-runtime", getpid());
	say_disable(p, "no-runtime/disable", getpid());
	probe_answer(p, "no-runtime/bytes", events_in(fds[0]));
}

static void with_runtime(const struct probe *p, const void *arg)
{
	int fds[2];

	(void)arg;
	if (pipe2(fds, O_CLOEXEC))
		return;
	probe_answer(p, "runtime/on",
		     set_runtime(p, GP_KFD_RUNTIME_ENABLE_MODE | GP_KFD_RUNTIME_ENABLE_TTMP_SAVE));
	say_enable(p, "runtime/enable", getpid(), fds[1], 16);
	all_ops(p, "runtime", getpid());
	say_disable(p, "runtime/disable", getpid());
	probe_answer(p, "runtime/bytes", events_in(fds[0]));
	say_enable(p, "runtime/enable-again", getpid(), fds[1], 16);
	say_disable(p, "runtime/disable-again", getpid());
	probe_answer(p, "runtime/off", set_runtime(p, 0));
}

/*
 * The runtime begins and ends while it is debugged: it waits until the debugger has acknowledged
 * that.
 */

struct comer {
	const struct probe *p;
	uint32_t mode;
	int result;
	pthread_t thread;
};

static void *come(void *arg)
{
	struct comer *c = arg;

	c->result = set_runtime(c->p, c->mode);
	return NULL;
}

static void nothing(int signal)
{
	(void)signal;
}

static void hear_of(struct comer *c, const char *name, int fd)
{
	char text[PROBE_RESULT_MAX];
	long bytes;

	pthread_create(&c->thread, NULL, come, c);
	bytes = events_in(fd);
	queries(c->p, name, getpid());
	send_event(c->p, name, "runtime", getpid(), GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME));
	pthread_join(c->thread, NULL);
	probe_say(c->p, name, "%s bytes %ld", probe_result(text, c->result), bytes);
}

static void runtime_comes(const struct probe *p, const void *arg)
{
	struct sigaction action = { .sa_handler = nothing };
	struct comer c = { .p = p, .mode = GP_KFD_RUNTIME_ENABLE_MODE };
	struct gp_kfd_dbg_trap t = { .query_debug_event = { .exception_mask = ~0ULL } };
	int fds[2];

	(void)arg;
	if (pipe2(fds, O_CLOEXEC))
		return;
	sigaction(SIGUSR1, &action, NULL);
	say_enable(p, "coming/enable", getpid(), fds[1], 16);
	hear_of(&c, "coming", fds[0]);
	say_enable(p, "coming/enable-again", getpid(), fds[1], 16);
	t.set_exceptions_enabled.exception_mask = ~0ULL;
	trap(p, &t, getpid(), GP_KFD_DBG_SET_EXCEPTIONS_ENABLED);
	c.mode = 0;
	hear_of(&c, "going", fds[0]);
	t.query_debug_event.exception_mask = ~0ULL;
	probe_answer(p, "going/clear", trap(p, &t, getpid(), GP_KFD_DBG_QUERY_DEBUG_EVENT));
	probe_answer(p, "going/cleared", trap(p, &t, getpid(), GP_KFD_DBG_QUERY_DEBUG_EVENT));
	/* An answer that comes before the question counts. */
	send_event(p, "early", "runtime", getpid(), GP_KFD_EC_MASK(GP_KFD_EC_PROCESS_RUNTIME));
	probe_answer(p, "early", set_runtime(p, GP_KFD_RUNTIME_ENABLE_MODE));
	/* A signal ends the wait, which is taken up again. */
	c.mode = 0;
	pthread_create(&c.thread, NULL, come, &c);
	pause_for_others();
	pthread_kill(c.thread, SIGUSR1);
	pthread_join(c.thread, NULL);
	probe_answer(p, "interrupted", c.result);
	hear_of(&c, "taken-up-again", fds[0]);
	say_disable(p, "coming/disable", getpid());
}

void probe_debug_self(const struct probe *p)
{
	probe_fresh(p, "wrong-pids", wrong_pids, NULL);
	probe_fresh(p, "bad-enables", bad_enables, NULL);
	probe_fresh(p, "without-runtime", without_runtime, NULL);
	probe_fresh(p, "with-runtime", with_runtime, NULL);
	probe_fresh(p, "runtime-comes", runtime_comes, NULL);
}

/*
 * Of others
 */

static void open_and_enable(const struct probe *p)
{
	struct probe own = { .group = p->group, .kfd = probe_open(O_RDWR) };

	/* Any of us may trace it, also where that needs a permission. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	set_runtime(&own, GP_KFD_RUNTIME_ENABLE_MODE);
}

static void open_nothing(const struct probe *p)
{
	(void)p;
}

static void stranger(const struct probe *p, const char *who, pid_t pid, int fd)
{
	char name[48];

	snprintf(name, sizeof(name), "%s/enable", who);
	say_enable(p, name, pid, fd, 16);
	snprintf(name, sizeof(name), "%s/disable", who);
	say_disable(p, name, pid);
	snprintf(name, sizeof(name), "%s/suspend", who);
	array_op(p, name, pid, GP_KFD_DBG_SUSPEND_QUEUES, 2, (uintptr_t)ids);
}

static void traced(const struct probe *p, const void *arg)
{
	pid_t pid = probe_child(p, open_and_enable);
	int fds[2];

	(void)arg;
	if (pipe2(fds, O_CLOEXEC))
		return;
	stranger(p, "not-traced", pid, fds[1]);
	probe_answer(p, "seize", ptrace(PTRACE_SEIZE, pid, 0, 0) ? -errno : 0);
	say_disable(p, "traced/disable-first", pid);
	/* A call that fails makes the caller the debugger nevertheless. */
	say_enable(p, "traced/no-descriptor", pid, -1, 16);
	say_enable(p, "traced/enable", pid, fds[1], 16);
	say_enable(p, "traced/enable-again", pid, fds[1], 16);
	all_ops(p, "traced", pid);
	kill(pid, SIGSTOP);
	waitpid(pid, NULL, __WALL);
	probe_answer(p, "detach", ptrace(PTRACE_DETACH, pid, 0, SIGCONT) ? -errno : 0);
	array_op(p, "detached/suspend", pid, GP_KFD_DBG_SUSPEND_QUEUES, 2, (uintptr_t)ids);
	say_disable(p, "detached/disable", pid);
	say_disable(p, "detached/disable-again", pid);
	say_enable(p, "detached/enable", pid, fds[1], 16);
	kill(pid, SIGKILL);
	pause_for_others();
	say_enable(p, "zombie/enable", pid, fds[1], 16);
	probe_kill(pid);
	say_enable(p, "dead/enable", pid, fds[1], 16);
}

/* A process that is traced before it has opened the driver gets a process of the driver's by
 * that. */
static void before_open(const struct probe *p, const void *arg)
{
	pid_t pid = probe_child(p, open_nothing);
	char path[64];
	int fds[2];

	(void)arg;
	if (pipe2(fds, O_CLOEXEC))
		return;
	stranger(p, "unopened/not-traced", pid, fds[1]);
	probe_answer(p, "unopened/seize", ptrace(PTRACE_SEIZE, pid, 0, 0) ? -errno : 0);
	say_disable(p, "unopened/disable-first", pid);
	say_enable(p, "unopened/enable", pid, fds[1], 16);
	snapshots(p, "unopened", pid);
	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d", (int)pid);
	probe_answer(p, "unopened/in-sysfs", access(path, F_OK) ? -errno : 0);
	say_disable(p, "unopened/disable", pid);
	say_disable(p, "unopened/disable-again", pid);
	probe_kill(pid);
}

/* Its debugger is gone: it can be debugged again. */
static void lose_debugger(const struct probe *p, const void *arg)
{
	pid_t pid = probe_child(p, open_and_enable), debugger;
	int fds[2], status;

	(void)arg;
	if (pipe2(fds, O_CLOEXEC))
		return;
	debugger = fork();
	if (!debugger) {
		struct probe own = { .group = p->group, .kfd = probe_open(O_RDWR) };

		alarm(30);
		if (ptrace(PTRACE_SEIZE, pid, 0, 0))
			probe_answer(&own, "debugger/seize", -errno);
		say_enable(&own, "debugger/enable", pid, fds[1], 16);
		_exit(0);
	}
	waitpid(debugger, &status, 0);
	pause_for_others();
	probe_answer(p, "next/seize", ptrace(PTRACE_SEIZE, pid, 0, 0) ? -errno : 0);
	say_enable(p, "next/enable", pid, fds[1], 16);
	say_disable(p, "next/disable", pid);
	probe_kill(pid);
}

/* Another thread of the tracer is not the tracer. */
static void *ask_from_thread(void *arg)
{
	const struct comer *c = arg;
	int fds[2];

	if (!pipe2(fds, O_CLOEXEC))
		say_enable(c->p, "other-thread/enable", c->result, fds[1], 16);
	return NULL;
}

static void other_thread(const struct probe *p, const void *arg)
{
	pid_t pid = probe_child(p, open_and_enable);
	struct comer c = { .p = p, .result = pid };

	(void)arg;
	probe_answer(p, "other-thread/seize", ptrace(PTRACE_SEIZE, pid, 0, 0) ? -errno : 0);
	pthread_create(&c.thread, NULL, ask_from_thread, &c);
	pthread_join(c.thread, NULL);
	probe_kill(pid);
}

void probe_debug_other(const struct probe *p)
{
	probe_fresh(p, "traced", traced, NULL);
	probe_fresh(p, "before-open", before_open, NULL);
	probe_fresh(p, "lose-debugger", lose_debugger, NULL);
	probe_fresh(p, "other-thread", other_thread, NULL);
}
