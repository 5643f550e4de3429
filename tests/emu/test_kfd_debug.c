// SPDX-License-Identifier: MIT
/* RUNTIME_ENABLE and DBG_TRAP: permissions, the order of checks, and the effects on queues. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../unit/host.h"
#include "kfd_bench.h"
#include "kfd_client.h"

#include "emu/gfx9/area.h"
#include "emu/gfx9/group.h"

#define EC(name) GP_KFD_EC_MASK(GP_KFD_EC_##name)
#define BAD_ADDRESS 8

static const char *path;
static enum gfx9_target target;

/* A process that debugs itself, or is debugged by another. */
struct setup {
	struct bench b;
	struct bench_process p;
	struct kfd_client client;
	struct bench_queue q[3];
	int events[2]; /* a pipe; the machine writes to it */
};

static struct setup *start(int nr_queues)
{
	struct setup *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->b.config.cwsr = true;
	s->b.config.kernel = EMU_KERNEL_6_1; /* of CREATE_QUEUE: buffers need not be whole */
	bench_start(&s->b, target, path);
	bench_process_start(&s->b, &s->p, getpid());
	s->p.p->opened = true;
	kfd_client_start(&s->client, &s->p.call);
	assert_int_equal(pipe2(s->events, O_NONBLOCK | O_CLOEXEC), 0);
	for (int i = 0; i < nr_queues; i++)
		assert_int_equal(bench_queue(&s->p, &s->q[i], GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	return s;
}

static void end(struct setup *s)
{
	kfd_client_end(&s->client, &s->p.call);
	bench_process_end(&s->p);
	close(s->events[0]);
	close(s->events[1]);
	bench_end(&s->b);
	free(s);
}

static struct gp_kfd_dbg_trap trap_of(uint32_t op)
{
	return (struct gp_kfd_dbg_trap){ .pid = (uint32_t)getpid(), .op = op };
}

static int run_op(struct setup *s, uint32_t op)
{
	struct gp_kfd_dbg_trap trap = trap_of(op);

	return emu_dbg_trap(&s->p.call, &trap);
}

static int enable_as(struct setup *s, struct emu_call *call, uint64_t mask)
{
	struct gp_kfd_runtime_info info;
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_ENABLE);
	int err;

	trap.enable = (struct gp_kfd_dbg_enable){ .exception_mask = mask,
						  .rinfo_ptr = (uintptr_t)&info,
						  .rinfo_size = sizeof(info),
						  .dbg_fd = (uint32_t)s->events[1] };
	trap.pid = (uint32_t)s->p.call.pid;
	err = emu_dbg_trap(call, &trap);
	if (!err)
		assert_int_equal(trap.enable.rinfo_size, sizeof(info));
	return err;
}

static int runtime(struct setup *s, uint32_t mode)
{
	struct gp_kfd_runtime_enable args = { .r_debug = 0x1234, .mode_mask = mode };

	return emu_runtime_enable(&s->p.call, &args);
}

static int suspend_as(struct setup *s, struct emu_call *call, uint32_t *ids, uint32_t nr)
{
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_SUSPEND_QUEUES);

	trap.pid = (uint32_t)s->p.call.pid;
	trap.suspend_queues.queue_array_ptr = (uintptr_t)ids;
	trap.suspend_queues.num_queues = nr;
	return emu_dbg_trap(call, &trap);
}

static int resume_as(struct setup *s, struct emu_call *call, uint32_t *ids, uint32_t nr)
{
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_RESUME_QUEUES);

	trap.pid = (uint32_t)s->p.call.pid;
	trap.resume_queues.queue_array_ptr = (uintptr_t)ids;
	trap.resume_queues.num_queues = nr;
	return emu_dbg_trap(call, &trap);
}

static int suspend(struct setup *s, uint32_t *ids, uint32_t nr)
{
	return suspend_as(s, &s->p.call, ids, nr);
}

static int resume(struct setup *s, uint32_t *ids, uint32_t nr)
{
	return resume_as(s, &s->p.call, ids, nr);
}

/* Marks all queues as seen, so that they can be suspended. Returns how many there are. */
static uint32_t see_queues(struct setup *s, struct gp_kfd_queue_snapshot *entry, uint32_t max)
{
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_GET_QUEUE_SNAPSHOT);

	trap.snapshot.exception_mask = EC(QUEUE_NEW);
	trap.snapshot.snapshot_buf_ptr = (uintptr_t)entry;
	trap.snapshot.num_entries = max;
	trap.snapshot.entry_size = sizeof(*entry);
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), 0);
	assert_int_equal(trap.snapshot.entry_size, sizeof(*entry));
	return trap.snapshot.num_entries;
}

/* A debugger and a runtime, then queues. */
static struct setup *start_debugged(int nr_queues)
{
	struct setup *s = start(0);

	assert_int_equal(runtime(s, GP_KFD_RUNTIME_ENABLE_MODE), 0);
	assert_int_equal(enable_as(s, &s->p.call, 0), 0);
	for (int i = 0; i < nr_queues; i++)
		assert_int_equal(bench_queue(&s->p, &s->q[i], GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	return s;
}

static int nr_notes(struct setup *s)
{
	char bytes[64];
	ssize_t n = read(s->events[0], bytes, sizeof(bytes));

	return n > 0 ? (int)n : 0;
}

/*
 * Permissions, and the order of checks
 */

static void missing_processes(void **unused)
{
	struct setup *s = start(0);
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_ENABLE);

	trap.pid = 0;
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -ESRCH);
	trap.pid = 0x7ffffff0;
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -ESRCH);
	trap.pid = (uint32_t)getppid(); /* has nothing open */
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -ESRCH);
	end(s);
	(void)unused;
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* in case the test fails */
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The process of @s becomes that of another pid, and @debugger is us. */
static void make_other(struct setup *s, struct bench_process *debugger, struct kfd_client *client,
		       pid_t pid)
{
	s->p.p->pid = s->p.call.pid = pid;
	s->p.p->cookie = (uint64_t)pid;
	bench_process_start(&s->b, debugger, getpid());
	debugger->p->opened = true;
	kfd_client_start(client, &debugger->call);
}

static void *say_id_and_wait(void *arg)
{
	atomic_store((_Atomic pid_t *)arg, gettid());
	for (;;)
		pause();
	return NULL;
}

/* The id of a thread of ours that does nothing. */
static pid_t other_thread(pthread_t *thread)
{
	static _Atomic pid_t id;

	atomic_store(&id, 0);
	assert_int_equal(pthread_create(thread, NULL, say_id_and_wait, &id), 0);
	while (!atomic_load(&id))
		usleep(1000);
	return atomic_load(&id);
}

static void others_must_be_traced(void **unused)
{
	struct bench_process debugger;
	struct kfd_client client;
	pthread_t thread;
	struct setup *s;
	pid_t child;
	uint32_t id;

	needs_ptrace();
	s = start(1);
	id = s->q[0].id;
	child = start_child();
	make_other(s, &debugger, &client, child);
	s->q[0].q->exceptions = 0;
	s->p.p->debug.runtime.runtime_state = GP_KFD_RUNTIME_ENABLED;
	assert_int_equal(enable_as(s, &debugger.call, 0), -EPERM);
	assert_int_equal(suspend_as(s, &debugger.call, &id, 1), -EPERM);
	assert_int_equal(ptrace(PTRACE_SEIZE, child, 0, 0), 0);
	/* A thread traces, and other threads of its process may not debug. */
	debugger.call.thread = other_thread(&thread);
	assert_int_equal(enable_as(s, &debugger.call, 0), -EPERM);
	debugger.call.thread = gettid();
	assert_int_equal(suspend_as(s, &debugger.call, &id, 1), -EINVAL);
	assert_int_equal(enable_as(s, &debugger.call, 0), 0);
	assert_int_equal(enable_as(s, &debugger.call, 0), -EALREADY);
	assert_int_equal(enable_as(s, &s->p.call, 0), -EALREADY);
	/* A debugger that has begun continues, whether it still traces the process or not. */
	assert_int_equal(ptrace(PTRACE_INTERRUPT, child, 0, 0), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(ptrace(PTRACE_DETACH, child, 0, 0), 0);
	assert_int_equal(suspend_as(s, &debugger.call, &id, 1), 1);
	assert_int_equal(s->q[0].q->held, EMU_HELD_SUSPENDED);
	/* The end of the debugger resumes everything. */
	kfd_client_end(&client, &debugger.call);
	bench_process_end(&debugger);
	assert_int_equal(s->q[0].q->held, 0);
	assert_false(s->p.p->debug.enabled);
	end_child(child);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	end(s);
	(void)unused;
}

/* A program that has nothing open yet, then connects, and then ends. */
static void a_tracer_may_come_first(void **unused)
{
	struct gp_kfd_dbg_trap trap = { .op = GP_KFD_DBG_ENABLE };
	struct gp_kfd_runtime_info info;
	struct emu_process *p;
	struct setup *s;
	pid_t child;

	needs_ptrace();
	s = start(0);
	child = start_child();
	trap.pid = (uint32_t)child;
	trap.enable = (struct gp_kfd_dbg_enable){ .rinfo_ptr = (uintptr_t)&info,
						  .rinfo_size = sizeof(info),
						  .dbg_fd = (uint32_t)s->events[1] };
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -ESRCH);
	assert_int_equal(ptrace(PTRACE_SEIZE, child, 0, 0), 0);
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), 0);
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -EALREADY);
	p = emu_process_get(&s->b.m, child, getuid(), 99);
	assert_true(p->debug.enabled);
	emu_process_put(p);
	p = emu_process_find(&s->b.m, child);
	assert_int_equal(p->cookie, 99);
	/* Another program under this pid is another process. */
	emu_process_put(p);
	p = emu_process_get(&s->b.m, child, getuid(), 100);
	assert_false(p->debug.enabled);
	emu_process_put(p);
	assert_null(emu_process_find(&s->b.m, child));
	end_child(child);
	end(s);
	(void)unused;
}

static bool needs_runtime(uint32_t op)
{
	return (op >= GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE && op <= GP_KFD_DBG_SET_FLAGS);
}

static void operations_are_refused_in_order(void **unused)
{
	struct setup *s = start(0);

	for (uint32_t op = GP_KFD_DBG_DISABLE; op < 20; op++)
		assert_int_equal(run_op(s, op), -EINVAL); /* not enabled */
	assert_int_equal(enable_as(s, &s->p.call, 0), 0);
	for (uint32_t op = GP_KFD_DBG_SEND_RUNTIME_EVENT; op < 20; op++) {
		if (needs_runtime(op))
			assert_int_equal(run_op(s, op), -EPERM);
	}
	assert_int_equal(run_op(s, 15), -EINVAL);
	assert_int_equal(run_op(s, ~0u), -EINVAL);
	assert_int_equal(run_op(s, GP_KFD_DBG_DISABLE), 0);
	assert_int_equal(run_op(s, GP_KFD_DBG_DISABLE), -EINVAL);
	end(s);
	(void)unused;
}

static void enabling_needs_a_descriptor_and_memory(void **unused)
{
	struct setup *s = start(0);
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_ENABLE);
	struct gp_kfd_runtime_info info[2] = { 0 };

	trap.enable.dbg_fd = 12345;
	trap.enable.rinfo_ptr = BAD_ADDRESS;
	trap.enable.rinfo_size = sizeof(info);
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -EBADF);
	assert_int_equal(trap.enable.rinfo_size, sizeof(info));
	trap.enable.dbg_fd = (uint32_t)s->events[1];
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -EFAULT);
	assert_false(s->p.p->debug.enabled);
	assert_int_equal(s->p.p->debug.event_fd, -1);
	/*
	 * Entries beyond the array are left out, but the full size is returned; the array may be
	 * empty.
	 */
	assert_int_equal(runtime(s, GP_KFD_RUNTIME_ENABLE_MODE | GP_KFD_RUNTIME_ENABLE_TTMP_SAVE),
			 0);
	trap.enable.rinfo_ptr = (uintptr_t)info;
	trap.enable.rinfo_size = 12;
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), 0);
	assert_int_equal(trap.enable.rinfo_size, sizeof(info[0]));
	assert_int_equal(info[0].r_debug, 0x1234);
	assert_int_equal(info[0].runtime_state, GP_KFD_RUNTIME_ENABLED);
	assert_int_equal(info[0].ttmp_setup, 0);
	assert_int_equal(run_op(s, GP_KFD_DBG_DISABLE), 0);
	trap.enable.rinfo_size = sizeof(info);
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), 0);
	assert_int_equal(info[0].ttmp_setup, 1);
	assert_int_equal(info[1].r_debug, 0);
	end(s);
	(void)unused;
}

/*
 * The runtime
 */

static void the_runtime_comes_once_and_first(void **unused)
{
	struct setup *s = start(0);

	assert_int_equal(runtime(s, GP_KFD_RUNTIME_ENABLE_MODE), 0);
	assert_int_equal(runtime(s, GP_KFD_RUNTIME_ENABLE_MODE), -EBUSY);
	assert_int_equal(runtime(s, 0), 0);
	assert_int_equal(runtime(s, 0), 0);
	assert_int_equal(runtime(s, GP_KFD_RUNTIME_ENABLE_MODE), 0);
	assert_int_equal(runtime(s, 0), 0);
	assert_int_equal(bench_queue(&s->p, &s->q[0], GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	assert_int_equal(runtime(s, GP_KFD_RUNTIME_ENABLE_MODE), -EEXIST);
	assert_int_equal(s->p.p->debug.runtime.runtime_state, GP_KFD_RUNTIME_DISABLED);
	end(s);
	(void)unused;
}

/* A call in a separate thread, with its own connection. */
struct background {
	pthread_t thread;
	struct emu_call call;
	struct kfd_client client;
	struct setup *s;
	uint32_t mode, queue;
	_Atomic int64_t result; /* 1 while it runs */
};

static void background_init(struct background *b, struct setup *s)
{
	*b = (struct background){ .call = s->p.call, .s = s, .result = 1 };
	kfd_client_start(&b->client, &b->call);
}

static void *runtime_thread(void *arg)
{
	struct background *b = arg;
	struct gp_kfd_runtime_enable args = { .mode_mask = b->mode };

	atomic_store(&b->result, emu_runtime_enable(&b->call, &args));
	return NULL;
}

static void background_end(struct background *b)
{
	kfd_client_end(&b->client, &b->call);
}

static int answer_runtime(struct setup *s)
{
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_SEND_RUNTIME_EVENT);

	trap.send_runtime_event.exception_mask = EC(PROCESS_RUNTIME);
	return emu_dbg_trap(&s->p.call, &trap);
}

static void the_runtime_waits_for_the_debugger(void **unused)
{
	struct setup *s = start(0);
	struct gp_kfd_runtime_info info;
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_QUERY_EXCEPTION_INFO);
	struct background b;

	assert_int_equal(enable_as(s, &s->p.call, EC(PROCESS_RUNTIME)), 0);
	for (uint32_t mode = GP_KFD_RUNTIME_ENABLE_MODE; mode != ~0u; mode--) {
		background_init(&b, s);
		b.mode = mode;
		assert_int_equal(pthread_create(&b.thread, NULL, runtime_thread, &b), 0);
		assert_true(bench_stays(&b.result, 1));
		assert_int_equal(nr_notes(s), 1);
		trap.query_exception_info.exception_code = GP_KFD_EC_PROCESS_RUNTIME;
		trap.query_exception_info.info_ptr = (uintptr_t)&info;
		trap.query_exception_info.info_size = sizeof(info);
		trap.query_exception_info.clear_exception = 1;
		assert_int_equal(emu_dbg_trap(&s->p.call, &trap), 0);
		assert_int_equal(info.runtime_state, mode);
		assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -ENODATA);
		assert_int_equal(answer_runtime(s), 0);
		pthread_join(b.thread, NULL);
		assert_int_equal(b.result, 0);
		background_end(&b);
	}
	end(s);
	(void)unused;
}

/* A signal ends the wait, and a repeated call continues waiting: the debugger is notified once. */
static void a_signal_ends_the_wait(void **unused)
{
	struct setup *s = start(0);
	struct background b;

	assert_int_equal(enable_as(s, &s->p.call, EC(PROCESS_RUNTIME)), 0);
	background_init(&b, s);
	b.mode = GP_KFD_RUNTIME_ENABLE_MODE;
	assert_int_equal(pthread_create(&b.thread, NULL, runtime_thread, &b), 0);
	assert_true(bench_stays(&b.result, 1));
	kfd_client_cancel(&b.client);
	pthread_join(b.thread, NULL);
	assert_int_equal(b.result, -EINTR);
	b.call.cancelled = false;
	atomic_store(&b.result, 1);
	assert_int_equal(pthread_create(&b.thread, NULL, runtime_thread, &b), 0);
	assert_true(bench_stays(&b.result, 1));
	assert_int_equal(nr_notes(s), 1);
	assert_int_equal(answer_runtime(s), 0);
	pthread_join(b.thread, NULL);
	assert_int_equal(b.result, 0);
	background_end(&b);
	end(s);
	(void)unused;
}

/* A client that disconnects while it waits affects no other. */
static void a_waiting_client_may_die(void **unused)
{
	struct setup *s = start(0);
	struct background b;

	assert_int_equal(enable_as(s, &s->p.call, 0), 0);
	background_init(&b, s);
	b.mode = GP_KFD_RUNTIME_ENABLE_MODE;
	assert_int_equal(pthread_create(&b.thread, NULL, runtime_thread, &b), 0);
	assert_true(bench_stays(&b.result, 1));
	shutdown(b.client.fd, SHUT_RDWR);
	pthread_join(b.thread, NULL);
	assert_int_equal(b.result, -ECONNRESET);
	background_end(&b);
	end(s);
	(void)unused;
}

/*
 * Queues
 */

static void new_queues_are_seen_first(void **unused)
{
	struct setup *s = start_debugged(2);
	struct gp_kfd_queue_snapshot entry[4];
	uint32_t ids[] = { s->q[0].id, s->q[1].id, 77, s->q[0].id };

	assert_int_equal(suspend(s, ids, 4), 0);
	for (int i = 0; i < 4; i++)
		assert_true(ids[i] & GP_KFD_QUEUE_INVALID);
	/* Room for one: the other is not reported, and stays new. */
	assert_int_equal(see_queues(s, entry, 1), 2);
	assert_int_equal(entry[0].queue_id, s->q[1].id);
	assert_int_equal(entry[0].exception_status, EC(QUEUE_NEW));
	assert_int_equal(entry[0].ring_base_address, s->q[1].ring_va);
	assert_int_equal(entry[0].ring_size, 4096);
	assert_int_equal(entry[0].gpu_id, s->b.node->gpu_id);
	assert_int_equal(entry[0].queue_type, GP_KFD_QUEUE_COMPUTE_AQL);
	assert_int_equal(entry[0].ctx_save_restore_address, s->q[1].q->save_area);
	assert_int_equal(suspend(s, ids, 4), 1);
	assert_int_equal(ids[0], s->q[0].id | GP_KFD_QUEUE_INVALID);
	assert_int_equal(ids[1], s->q[1].id);
	assert_int_equal(see_queues(s, entry, 4), 2);
	/* Suspended queues count, and of two equal ids one. */
	assert_int_equal(suspend(s, ids, 4), 2);
	assert_int_equal(ids[0], s->q[0].id);
	assert_int_equal(ids[2], 77 | GP_KFD_QUEUE_INVALID);
	assert_int_equal(ids[3], s->q[0].id | GP_KFD_QUEUE_INVALID);
	assert_int_equal(resume(s, ids, 1), 1);
	assert_int_equal(s->q[0].q->held, 0);
	assert_int_equal(s->q[1].q->held, EMU_HELD_SUSPENDED);
	/* A running queue counts; without an array all are meant. */
	assert_int_equal(resume(s, ids, 2), 2);
	assert_int_equal(suspend(s, ids, 2), 2);
	assert_int_equal(resume(s, NULL, 0), 2);
	assert_int_equal(s->q[1].q->held, 0);
	end(s);
	(void)unused;
}

static void batches_are_checked(void **unused)
{
	struct setup *s = start_debugged(1);
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_SUSPEND_QUEUES);
	uint32_t ids[EMU_QUEUES_MAX + 1];

	memset(ids, 0xff, sizeof(ids));
	assert_int_equal(suspend(s, NULL, 1), -EINVAL);
	assert_int_equal(suspend(s, NULL, 0), 0);
	assert_int_equal(suspend(s, ids, 0), 0);
	assert_int_equal(suspend(s, ids, EMU_QUEUES_MAX), 0);
	assert_int_equal(suspend(s, ids, EMU_QUEUES_MAX + 1), -EINVAL);
	assert_int_equal(resume(s, ids, EMU_QUEUES_MAX + 1), -EINVAL);
	trap.suspend_queues.queue_array_ptr = BAD_ADDRESS;
	trap.suspend_queues.num_queues = 1;
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -EFAULT);
	trap.op = GP_KFD_DBG_RESUME_QUEUES;
	trap.resume_queues.queue_array_ptr = BAD_ADDRESS;
	trap.resume_queues.num_queues = 1;
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -EFAULT);
	end(s);
	(void)unused;
}

static void disabling_resumes(void **unused)
{
	struct setup *s = start_debugged(1);
	struct gp_kfd_queue_snapshot entry;

	see_queues(s, &entry, 1);
	assert_int_equal(suspend(s, &s->q[0].id, 1), 1);
	assert_int_equal(run_op(s, GP_KFD_DBG_DISABLE), 0);
	assert_int_equal(s->q[0].q->held, 0);
	assert_true(s->q[0].q->mapped);
	end(s);
	(void)unused;
}

static void *destroy_thread(void *arg)
{
	struct background *b = arg;
	struct gp_kfd_destroy_queue args = { .queue_id = b->queue };

	atomic_store(&b->result, emu_destroy_queue(&b->call, &args));
	return NULL;
}

static void destroying_waits_for_resume(void **unused)
{
	struct setup *s = start_debugged(2);
	struct gp_kfd_queue_snapshot entry[2];
	struct gp_kfd_destroy_queue args = { .queue_id = s->q[0].id };
	uint32_t ids[] = { s->q[0].id, s->q[1].id };
	struct background b;

	see_queues(s, entry, 2);
	assert_int_equal(suspend(s, ids, 1), 1);
	background_init(&b, s);
	b.queue = ids[0];
	assert_int_equal(pthread_create(&b.thread, NULL, destroy_thread, &b), 0);
	assert_true(bench_stays(&b.result, 1));
	assert_int_equal(emu_destroy_queue(&s->p.call, &args), -EBUSY);
	/* A signal leaves everything as before. */
	kfd_client_cancel(&b.client);
	pthread_join(b.thread, NULL);
	assert_int_equal(b.result, -EINTR);
	b.call.cancelled = false;
	atomic_store(&b.result, 1);
	assert_int_equal(pthread_create(&b.thread, NULL, destroy_thread, &b), 0);
	assert_true(bench_stays(&b.result, 1));
	assert_int_equal(resume(s, ids, 1), 1);
	pthread_join(b.thread, NULL);
	assert_int_equal(b.result, 0);
	assert_null(emu_queue_find(s->p.p, s->q[0].id));
	background_end(&b);
	end(s);
	(void)unused;
}

#define ROUNDS 400

static void push_work(struct setup *s, struct bench_queue *q, uint64_t **state,
		      struct bench_signal **sig)
{
	union aql_packet packet = bench_work(&s->p, ROUNDS, state, bench_signal(&s->p, 1, sig));

	bench_push(q, &packet);
}

static void suspended_at_random_all_is_right(void **unused)
{
	struct setup *s = start_debugged(3);
	struct gp_kfd_queue_snapshot entry[3];
	struct bench_signal *sig[3];
	uint64_t *state[3];

	see_queues(s, entry, 3);
	srand(1);
	for (int round = 0; round < 20; round++) {
		uint32_t ids[] = { s->q[0].id, s->q[1].id, s->q[2].id };

		for (int i = 0; i < 3; i++)
			push_work(s, &s->q[i], &state[i], &sig[i]);
		for (int i = 0; i < 6; i++) {
			uint32_t n = 1 + (uint32_t)rand() % 3;

			usleep((unsigned int)rand() % 2000);
			assert_int_equal(suspend(s, ids, n), n);
			usleep((unsigned int)rand() % 500);
			assert_int_equal(resume(s, ids, n), n);
		}
		for (int i = 0; i < 3; i++) {
			assert_true(bench_wait(&sig[i]->value, 0));
			bench_check_work(state[i], ROUNDS);
		}
	}
	end(s);
	(void)unused;
}

/* The save area's header locates its waves, even if there are none. */
static void the_save_area_is_described(void **unused)
{
	struct setup *s = start_debugged(2);
	struct gp_kfd_queue_snapshot entry[2];
	uint32_t ids[] = { s->q[0].id, s->q[1].id };
	const struct gp_kfd_save_area_header *h;
	struct bench_signal *sig;
	uint64_t *state;

	see_queues(s, entry, 2);
	for (int i = 0; i < 2; i++)
		memset(machine_at(s->p.memory, s->q[i].q->save_area), 0xee, 16);
	push_work(s, &s->q[0], &state, &sig);
	for (int ms = 0; ms < 10000 && atomic_load(&sig->value) && !bench_resident(&s->q[0]); ms++)
		usleep(1000);
	assert_int_equal(suspend(s, ids, 2), 2);
	h = machine_at(s->p.memory, s->q[0].q->save_area);
	if (atomic_load(&sig->value)) {
		assert_true(h->control_stack_size > 0 && h->wave_state_size > 0);
		assert_int_equal(h->control_stack_offset + h->control_stack_size,
				 s->q[0].q->ctl_stack_size);
	}
	h = machine_at(s->p.memory, s->q[1].q->save_area);
	assert_int_equal(h->control_stack_offset, s->q[1].q->ctl_stack_size);
	assert_int_equal(h->control_stack_size, 0);
	assert_int_equal(h->wave_state_size, 0);
	assert_int_equal(h->wave_state_offset, s->q[1].q->ctl_stack_size);
	assert_int_equal(resume(s, ids, 2), 2);
	assert_true(bench_wait(&sig->value, 0));
	bench_check_work(state, ROUNDS);
	end(s);
	(void)unused;
}

/*
 * Exceptions
 */

static int query(struct setup *s, uint64_t clear, struct gp_kfd_dbg_query_debug_event *event)
{
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_QUERY_DEBUG_EVENT);
	int err;

	trap.query_debug_event.exception_mask = clear;
	err = emu_dbg_trap(&s->p.call, &trap);
	*event = trap.query_debug_event;
	return err;
}

static int set_wanted(struct setup *s, uint64_t mask)
{
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_SET_EXCEPTIONS_ENABLED);

	trap.set_exceptions_enabled.exception_mask = mask;
	return emu_dbg_trap(&s->p.call, &trap);
}

static void queues_that_come_and_go_are_told(void **unused)
{
	struct setup *s = start_debugged(1);
	struct gp_kfd_dbg_query_debug_event event;

	/* No exception was requested; a later request reports those that exist. */
	assert_int_equal(nr_notes(s), 0);
	assert_int_equal(query(s, 0, &event), -EAGAIN);
	assert_int_equal(set_wanted(s, EC(QUEUE_NEW) | EC(DEVICE_QUEUE_DELETE)), 0);
	assert_int_equal(nr_notes(s), 1);
	assert_int_equal(bench_queue(&s->p, &s->q[1], GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	assert_int_equal(nr_notes(s), 1);
	assert_int_equal(query(s, 0, &event), 0);
	assert_int_equal(event.queue_id, s->q[1].id);
	assert_int_equal(event.gpu_id, s->b.node->gpu_id);
	assert_int_equal(event.exception_mask, EC(QUEUE_NEW));
	assert_int_equal(query(s, EC(QUEUE_NEW), &event), 0);
	assert_int_equal(event.queue_id, s->q[1].id);
	assert_int_equal(query(s, EC(QUEUE_NEW), &event), 0);
	assert_int_equal(event.queue_id, s->q[0].id);
	assert_int_equal(query(s, 0, &event), -EAGAIN);
	bench_destroy(&s->q[1]);
	assert_int_equal(nr_notes(s), 1);
	assert_int_equal(query(s, EC(DEVICE_QUEUE_DELETE), &event), 0);
	assert_int_equal(event.exception_mask, EC(DEVICE_QUEUE_DELETE));
	assert_int_equal(event.queue_id, 0);
	assert_int_equal(query(s, 0, &event), -EAGAIN);
	end(s);
	(void)unused;
}

static int query_info(struct setup *s, uint32_t source, uint32_t code, void *info, uint32_t size)
{
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_QUERY_EXCEPTION_INFO);

	trap.query_exception_info = (struct gp_kfd_dbg_query_exception_info){
		.info_ptr = (uintptr_t)info,
		.info_size = size,
		.source_id = source,
		.exception_code = code,
	};
	return emu_dbg_trap(&s->p.call, &trap);
}

static void questions_about_exceptions_are_checked(void **unused)
{
	struct setup *s = start_debugged(1);
	uint32_t gpu_id = s->b.node->gpu_id;
	uint64_t info[8];

	assert_int_equal(query_info(s, 0, GP_KFD_EC_PROCESS_RUNTIME, NULL, 0), -EINVAL);
	assert_int_equal(query_info(s, 0, GP_KFD_EC_PROCESS_RUNTIME, info, 8), -ENODATA);
	assert_int_equal(query_info(s, 0, 0, info, 8), -EINVAL);
	assert_int_equal(query_info(s, 0, 7, info, 8), -EINVAL);
	assert_int_equal(query_info(s, 0, GP_KFD_EC_MAX, info, 8), -EINVAL);
	assert_int_equal(query_info(s, 0, ~0u, info, 8), -EINVAL);
	assert_int_equal(query_info(s, 5, GP_KFD_EC_QUEUE_NEW, info, 8), -EINVAL);
	assert_int_equal(query_info(s, s->q[0].id, GP_KFD_EC_QUEUE_NEW, info, 8), 0);
	assert_int_equal(query_info(s, s->q[0].id, GP_KFD_EC_QUEUE_WAVE_ABORT, info, 8), -ENODATA);
	assert_int_equal(query_info(s, 1, GP_KFD_EC_DEVICE_QUEUE_DELETE, info, 8), -EINVAL);
	assert_int_equal(query_info(s, gpu_id, GP_KFD_EC_DEVICE_QUEUE_DELETE, info, 8), -ENODATA);
	end(s);
	(void)unused;
}

/* A packet that reads an unmapped address. */
static void push_fault(struct setup *s, struct bench_queue *q)
{
	struct {
		uint64_t state;
		uint32_t rounds;
	} args = { .state = 0xdead0000, .rounds = 1 };
	union aql_packet packet = bench_dispatch(&s->p, "lcg", 1, 64, &args, sizeof(args), 0);

	bench_push(q, &packet);
}

static bool is_evicted(struct setup *s)
{
	bool evicted;

	pthread_mutex_lock(&s->b.node->lock);
	evicted = s->p.p->node[0].evicted;
	pthread_mutex_unlock(&s->b.node->lock);
	return evicted;
}

static bool becomes_evicted(struct setup *s)
{
	for (int i = 0; i < 5000 && !is_evicted(s); i++)
		usleep(1000);
	return is_evicted(s);
}

static void a_fault_is_the_debuggers_where_he_wants_it(void **unused)
{
	struct setup *s = start_debugged(1);
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_SEND_RUNTIME_EVENT);
	uint32_t gpu_id = s->b.node->gpu_id;
	struct gp_kfd_memory_exception fault;
	struct gp_kfd_dbg_query_debug_event event;

	assert_int_equal(set_wanted(s, EC(DEVICE_MEMORY_VIOLATION)), 0);
	push_fault(s, &s->q[0]);
	for (int i = 0; i < 5000 && query(s, 0, &event); i++)
		usleep(1000);
	assert_int_equal(event.exception_mask, EC(DEVICE_MEMORY_VIOLATION));
	assert_int_equal(event.gpu_id, gpu_id);
	assert_int_equal(nr_notes(s), 1);
	assert_false(is_evicted(s));
	assert_int_equal(query_info(s, gpu_id, GP_KFD_EC_DEVICE_MEMORY_VIOLATION,
				    (void *)BAD_ADDRESS, sizeof(fault)),
			 -EFAULT);
	assert_int_equal(
		query_info(s, gpu_id, GP_KFD_EC_DEVICE_MEMORY_VIOLATION, &fault, sizeof(fault)), 0);
	assert_int_equal(fault.va, 0xdead0000);
	assert_int_equal(fault.gpu_id, gpu_id);
	/* The debugger lets it take its course. */
	trap.send_runtime_event.exception_mask = EC(DEVICE_MEMORY_VIOLATION);
	trap.send_runtime_event.gpu_id = 1;
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -ENODEV);
	trap.send_runtime_event.gpu_id = gpu_id;
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), 0);
	assert_true(is_evicted(s));
	end(s);
	(void)unused;
}

static void a_fault_is_the_programs_otherwise(void **unused)
{
	struct setup *s = start_debugged(1);

	push_fault(s, &s->q[0]);
	assert_true(becomes_evicted(s));
	assert_int_equal(nr_notes(s), 0);
	end(s);
	(void)unused;
}

static bool event_becomes_set(struct setup *s, uint32_t id)
{
	struct gp_kfd_event_data data = { .event_id = id };
	struct gp_kfd_wait_events wait = { .events_ptr = (uintptr_t)&data, .num_events = 1 };

	for (int ms = 0; ms < 10000; ms++) {
		assert_int_equal(emu_wait_events(&s->p.call, &wait), 0);
		if (wait.wait_result == GP_KFD_WAIT_COMPLETE)
			return true;
		usleep(1000);
	}
	return false;
}

/*
 * The runtime finds exceptions of a queue through the save area's header, and its event is set,
 * though no GPU has written the slot of that event.
 */
static void the_runtime_hears_of_bad_packets(void **unused)
{
	struct setup *s = start_debugged(1);
	struct gp_kfd_save_area_header *h = machine_at(s->p.memory, s->q[0].q->save_area);
	struct gp_kfd_create_event event = { .event_type = GP_KFD_EVENT_SIGNAL };
	union aql_packet packet = { .header = 9 }; /* not a valid type */
	_Atomic int64_t *payload;

	s->p.call.wake_fd = -1;
	assert_int_equal(emu_create_event(&s->p.call, &event), 0);
	h->err_payload_addr = bench_alloc(&s->p, 8, &payload);
	h->err_event_id = event.event_id;
	bench_push(&s->q[0], &packet);
	assert_true(bench_wait(payload, (int64_t)EC(QUEUE_PACKET_UNSUPPORTED)) ||
		    atomic_load(payload) == (int64_t)EC(QUEUE_PACKET_RESERVED));
	assert_true(event_becomes_set(s, event.event_id));
	close(s->p.call.wake_fd);
	end(s);
	(void)unused;
}

/*
 * Waves and devices
 */

static int override(struct setup *s, uint32_t enable, uint32_t request, uint32_t *before)
{
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE);
	int err;

	trap.launch_override.enable_mask = enable;
	trap.launch_override.support_request_mask = request;
	err = emu_dbg_trap(&s->p.call, &trap);
	*before = trap.launch_override.enable_mask;
	return err;
}

static int launch_mode(struct setup *s, uint32_t mode)
{
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_SET_WAVE_LAUNCH_MODE);

	trap.launch_mode.launch_mode = mode;
	return emu_dbg_trap(&s->p.call, &trap);
}

static int watch(struct setup *s, uint64_t address, uint32_t mask, uint32_t mode, uint32_t *id)
{
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_SET_NODE_ADDRESS_WATCH);
	int err;

	trap.set_address_watch.gpu_id = s->b.node->gpu_id;
	trap.set_address_watch.address = address;
	trap.set_address_watch.mask = mask;
	trap.set_address_watch.mode = mode;
	err = emu_dbg_trap(&s->p.call, &trap);
	*id = trap.set_address_watch.id;
	return err;
}

static int unwatch(struct setup *s, uint32_t id)
{
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_CLEAR_NODE_ADDRESS_WATCH);

	trap.clear_address_watch.gpu_id = s->b.node->gpu_id;
	trap.clear_address_watch.id = id;
	return emu_dbg_trap(&s->p.call, &trap);
}

static void requests_for_waves_are_checked(void **unused)
{
	const uint32_t ends = GP_KFD_DBG_TRAP_WAVE_START | GP_KFD_DBG_TRAP_WAVE_END;
	struct setup *s = start_debugged(0);
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_SET_WAVE_LAUNCH_OVERRIDE);
	uint32_t supported = 0x1ff, before, id;

	if (target == GFX9_TARGET_GFX942)
		supported |= ends;
	trap.launch_override.override_mode = 2;
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -EPERM);
	assert_int_equal(trap.launch_override.support_request_mask, supported);
	assert_int_equal(override(s, 0, 1u << 9, &before), -EACCES);
	assert_int_equal(override(s, ~0u, ends, &before),
			 target == GFX9_TARGET_GFX942 ? 0 : -EACCES);
	assert_int_equal(override(s, 0x181, supported, &before), 0);
	/* Unrequested traps stay as they are. */
	assert_int_equal(override(s, 0, 1, &before), 0);
	assert_int_equal(before, 0x181);
	assert_int_equal(override(s, 0, 0, &before), 0);
	assert_int_equal(before, 0x180);
	assert_int_equal(launch_mode(s, 2), -EINVAL);
	assert_int_equal(launch_mode(s, GP_KFD_DBG_LAUNCH_HALT), 0);
	assert_int_equal(launch_mode(s, GP_KFD_DBG_LAUNCH_DEBUG), 0);
	assert_int_equal(launch_mode(s, GP_KFD_DBG_LAUNCH_NORMAL), 0);
	trap = trap_of(GP_KFD_DBG_SET_NODE_ADDRESS_WATCH);
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -ENODEV);
	trap = trap_of(GP_KFD_DBG_CLEAR_NODE_ADDRESS_WATCH);
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -ENODEV);
	for (uint32_t i = 0; i < EMU_WATCHES; i++) {
		assert_int_equal(watch(s, 0x1000, ~0u, GP_KFD_DBG_WATCH_ALL, &id), 0);
		assert_int_equal(id, i);
	}
	assert_int_equal(watch(s, 0x1000, ~0u, GP_KFD_DBG_WATCH_ALL, &id), -ENOMEM);
	assert_int_equal(unwatch(s, 2), 0);
	assert_int_equal(unwatch(s, 2), -EINVAL);
	assert_int_equal(unwatch(s, EMU_WATCHES), -EINVAL);
	assert_int_equal(watch(s, 0x1000, ~0u, GP_KFD_DBG_WATCH_ALL, &id), 0);
	assert_int_equal(id, 2);
	trap = trap_of(GP_KFD_DBG_SET_FLAGS);
	trap.set_flags.flags = GP_KFD_DBG_FLAG_SINGLE_MEM_OP;
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), 0);
	assert_int_equal(trap.set_flags.flags, 0);
	trap.set_flags.flags = GP_KFD_DBG_FLAG_SINGLE_ALU_OP;
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -EACCES);
	assert_int_equal(trap.set_flags.flags, GP_KFD_DBG_FLAG_SINGLE_MEM_OP);
	/* Nothing of it remains when the session ends. */
	trap = trap_of(GP_KFD_DBG_DISABLE);
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), 0);
	assert_int_equal(s->b.node->watch_ids, 0);
	end(s);
	(void)unused;
}

/*
 * A kernel counts in memory with an atomic. If its wave enters the trap handler, which has no
 * second level, it halts there for good: the dispatch does not end.
 */
struct knock {
	_Atomic uint32_t *count;
	uint64_t va;
	struct bench_signal *done;
};

static void push_knock(struct setup *s, struct knock *k)
{
	union aql_packet packet;

	k->va = bench_alloc(&s->p, 4096, &k->count);
	packet = bench_dispatch(&s->p, "knock", 1, 64, &k->va, 8, bench_signal(&s->p, 1, &k->done));
	bench_push(&s->q[0], &packet);
}

/* More than @groups have started, and no instruction is executed. */
static bool are_at_rest(struct setup *s, uint64_t groups)
{
	uint64_t insts = gfx9_gpu_insts(bench_gpu(&s->b));

	usleep(20000);
	return bench_resident(&s->q[0]) > groups && gfx9_gpu_insts(bench_gpu(&s->b)) == insts;
}

/* The next wave ends, after one increment. */
static void expect_end(struct setup *s)
{
	struct knock k;

	push_knock(s, &k);
	assert_true(bench_wait(&k.done->value, 0));
	assert_int_equal(atomic_load(k.count), 1);
}

/* The next wave halts after @count increments. */
static void expect_halt(struct setup *s, uint32_t count)
{
	uint64_t groups = bench_resident(&s->q[0]);
	bool rest = false;
	struct knock k;

	push_knock(s, &k);
	assert_true(bench_wait32(k.count, count));
	for (int i = 0; i < 500 && !rest; i++)
		rest = are_at_rest(s, groups);
	assert_true(rest);
	assert_int_equal(atomic_load(&k.done->value), 1);
	assert_int_equal(atomic_load(k.count), count);
}

static void waves_start_and_end_as_asked(void **unused)
{
	struct setup *s = start_debugged(1);
	uint32_t before;

	expect_end(s);
	assert_int_equal(launch_mode(s, GP_KFD_DBG_LAUNCH_HALT), 0);
	expect_halt(s, 0);
	assert_int_equal(launch_mode(s, GP_KFD_DBG_LAUNCH_DEBUG), 0);
	expect_halt(s, 0); /* at the first instruction */
	assert_int_equal(launch_mode(s, GP_KFD_DBG_LAUNCH_NORMAL), 0);
	expect_end(s);
	if (target == GFX9_TARGET_GFX942) {
		assert_int_equal(
			override(s, GP_KFD_DBG_TRAP_WAVE_START, ~0u >> 1 & 0x400001ff, &before), 0);
		expect_halt(s, 0);
		assert_int_equal(override(s, GP_KFD_DBG_TRAP_WAVE_END, 0xc00001ff, &before), 0);
		assert_int_equal(before, GP_KFD_DBG_TRAP_WAVE_START);
		expect_halt(s, 1);
		assert_int_equal(override(s, 0, 0xc00001ff, &before), 0);
		expect_end(s);
	}
	end(s);
	(void)unused;
}

#define TRAPSTS_ADDR_WATCH0 0x80
#define TRAPSTS_WATCHES 0x7080
#define BLOCK_TRAPSTS 0x18

/* TRAPSTS of the only wave of the queue, which is saved to read it; 0 if the wave has ended. */
static uint32_t trapsts(struct setup *s)
{
	const struct gfx9_saved_group *saved;
	uint32_t value = 0;
	uint64_t block;

	assert_int_equal(bench_hold(&s->q[0], EMU_HELD_PREEMPTED, EMU_STOP_SAVE), 0);
	saved = bench_hw(&s->q[0])->context[0].saved;
	if (saved) {
		block = saved->wave->record + saved->wave->bytes - GFX9_AREA_BLOCK_BYTES -
			GFX9_AREA_GAP_BYTES;
		memcpy(&value, machine_at(s->p.memory, block + BLOCK_TRAPSTS), sizeof(value));
	}
	assert_int_equal(bench_release(&s->q[0], EMU_HELD_PREEMPTED), 0);
	return value;
}

/* The address of the next increment. */
static uint64_t next_va(struct setup *s)
{
	void *at;

	return bench_alloc(&s->p, 4096, &at) + 4096;
}

/*
 * A watch of the increment's address, except for the bits of @differs, halts the wave or does not.
 */
static void expect_watch(struct setup *s, uint32_t differs, uint32_t mask, uint32_t mode,
			 bool halts)
{
	uint32_t id;

	assert_int_equal(watch(s, next_va(s) ^ differs, mask, mode, &id), 0);
	if (halts)
		expect_halt(s, 1);
	else
		expect_end(s);
	assert_int_equal(unwatch(s, id), 0);
}

static void an_access_to_a_watched_address_traps(void **unused)
{
	struct setup *s = start_debugged(1);
	uint32_t before, page = 0xfffff000;

	/* Without the exception enabled, it is not reported. */
	expect_watch(s, 0, page, GP_KFD_DBG_WATCH_ALL, false);
	assert_int_equal(
		override(s, GP_KFD_DBG_TRAP_ADDRESS_WATCH, GP_KFD_DBG_TRAP_ADDRESS_WATCH, &before),
		0);
	for (uint32_t mode = GP_KFD_DBG_WATCH_READ; mode <= GP_KFD_DBG_WATCH_ALL; mode++)
		expect_watch(s, 0, page, mode, mode != GP_KFD_DBG_WATCH_READ);
	expect_watch(s, 1 << 16, page, GP_KFD_DBG_WATCH_ALL, false);
	expect_watch(s, 1 << 16, ~0x1ffffu, GP_KFD_DBG_WATCH_ALL, true);
	expect_end(s);
	end(s);
	(void)unused;
}

/* TRAPSTS after a watched access; 0 if the kernel ends. */
static uint32_t touch(struct setup *s, uint32_t how, uint32_t mode)
{
	struct {
		uint64_t p;
		uint32_t how;
	} args = { .how = how };
	struct bench_signal *done;
	union aql_packet packet;
	uint32_t id, hits = 0;
	void *at;

	args.p = bench_alloc(&s->p, 4096, &at) + 64 + 4;
	assert_int_equal(watch(s, args.p, ~0u, mode, &id), 0);
	packet = bench_dispatch(&s->p, "touch", 1, 64, &args, sizeof(args),
				bench_signal(&s->p, 1, &done));
	bench_push(&s->q[0], &packet);
	if (!bench_wait_index(&s->q[0], atomic_load(s->q[0].write_index)))
		fail();
	for (int ms = 0; ms < 1000 && !hits && atomic_load(&done->value); ms++) {
		usleep(1000);
		hits = bench_resident(&s->q[0]) ? trapsts(s) : 0;
	}
	assert_int_equal(bench_hold(&s->q[0], EMU_HELD_PREEMPTED, EMU_STOP_RESET), 0);
	assert_int_equal(bench_release(&s->q[0], EMU_HELD_PREEMPTED), 0);
	assert_int_equal(unwatch(s, id), 0);
	return hits & TRAPSTS_WATCHES;
}

static void every_kind_of_access_is_watched(void **unused)
{
	const uint32_t load = GP_KFD_DBG_WATCH_READ, store = GP_KFD_DBG_WATCH_NONREAD;
	struct setup *s = start_debugged(1);
	uint32_t before, id;

	assert_int_equal(
		override(s, GP_KFD_DBG_TRAP_ADDRESS_WATCH, GP_KFD_DBG_TRAP_ADDRESS_WATCH, &before),
		0);
	assert_int_equal(touch(s, 0, load), TRAPSTS_ADDR_WATCH0);
	assert_int_equal(touch(s, 0, store), 0);
	for (uint32_t how = 1; how < 4; how++) {
		assert_int_equal(touch(s, how, store), TRAPSTS_ADDR_WATCH0);
		assert_int_equal(touch(s, how, load), 0);
		assert_int_equal(touch(s, how, GP_KFD_DBG_WATCH_ATOMIC), 0);
	}
	/* The watch that was hit is reported. */
	assert_int_equal(watch(s, 0x1000, ~0u, GP_KFD_DBG_WATCH_ALL, &id), 0);
	assert_int_equal(touch(s, 1, store), 0x1000);
	end(s);
	(void)unused;
}

static void devices_are_described(void **unused)
{
	struct setup *s = start_debugged(0);
	struct gp_kfd_dbg_trap trap = trap_of(GP_KFD_DBG_GET_DEVICE_SNAPSHOT);
	struct gp_kfd_device_snapshot entry[2] = { 0 };

	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -EINVAL);
	trap.snapshot.snapshot_buf_ptr = (uintptr_t)entry;
	trap.snapshot.entry_size = sizeof(entry[0]) + 64; /* a newer debugger's */
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), 0);
	assert_int_equal(trap.snapshot.num_entries, 1);
	assert_int_equal(trap.snapshot.entry_size, sizeof(entry[0]));
	assert_int_equal(entry[0].gpu_id, 0);
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), 0);
	assert_int_equal(entry[0].gpu_id, s->b.node->gpu_id);
	assert_int_equal(entry[0].num_xcc, 1);
	assert_int_equal(entry[0].simd_count, 4 * s->b.config.xcc_cus);
	assert_true(entry[0].lds_base && entry[0].scratch_limit > entry[0].scratch_base);
	assert_int_equal(entry[1].gpu_id, 0);
	trap.snapshot.snapshot_buf_ptr = BAD_ADDRESS;
	trap.snapshot.num_entries = 9;
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -EFAULT);
	trap = trap_of(GP_KFD_DBG_GET_QUEUE_SNAPSHOT);
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -EINVAL);
	trap.snapshot.entry_size = 4;
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), 0);
	assert_int_equal(trap.snapshot.num_entries, 0);
	end(s);
	(void)unused;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_processes),
		cmocka_unit_test(others_must_be_traced),
		cmocka_unit_test(a_tracer_may_come_first),
		cmocka_unit_test(operations_are_refused_in_order),
		cmocka_unit_test(enabling_needs_a_descriptor_and_memory),
		cmocka_unit_test(the_runtime_comes_once_and_first),
		cmocka_unit_test(the_runtime_waits_for_the_debugger),
		cmocka_unit_test(a_signal_ends_the_wait),
		cmocka_unit_test(a_waiting_client_may_die),
		cmocka_unit_test(new_queues_are_seen_first),
		cmocka_unit_test(batches_are_checked),
		cmocka_unit_test(disabling_resumes),
		cmocka_unit_test(destroying_waits_for_resume),
		cmocka_unit_test(suspended_at_random_all_is_right),
		cmocka_unit_test(the_save_area_is_described),
		cmocka_unit_test(queues_that_come_and_go_are_told),
		cmocka_unit_test(questions_about_exceptions_are_checked),
		cmocka_unit_test(a_fault_is_the_debuggers_where_he_wants_it),
		cmocka_unit_test(a_fault_is_the_programs_otherwise),
		cmocka_unit_test(the_runtime_hears_of_bad_packets),
		cmocka_unit_test(requests_for_waves_are_checked),
		cmocka_unit_test(waves_start_and_end_as_asked),
		cmocka_unit_test(an_access_to_a_watched_address_traps),
		cmocka_unit_test(every_kind_of_access_is_watched),
		cmocka_unit_test(devices_are_described),
	};

	if (argc != 2)
		return 77;
	signal(SIGPIPE, SIG_IGN);
	path = argv[1];
	target = machine_target(path);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
