// SPDX-License-Identifier: MIT
/* The series' ioctl, for own queues and for those of another process, and its aliases. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "emu/kfd/debug.h"
#include "emu/kfd/ioctl.h"
#include "emu/kfd/preempt.h"
#include "emu/kfd/topology.h"
#include "kfd_bench.h"
#include "kfd_client.h"
#include "kernel/series_cases.h"

#define BAD_ADDRESS 8
#define QUEUES 3
#define FIRST_FILE 100

static const char *path;
static enum gfx9_target target;

struct setup {
	struct bench b;
	struct bench_process p; /* the process with the queues */
	struct bench_process other;
	struct kfd_client client, other_client;
	struct bench_queue q[QUEUES];
	pid_t child; /* the other process */
};

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

static struct setup *start_with(enum emu_sched sched, bool cwsr)
{
	struct setup *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->b.config.sched = sched;
	s->b.config.cwsr = cwsr;
	s->b.config.kernel = EMU_KERNEL_6_1; /* of CREATE_QUEUE: buffers need not be whole */
	bench_start(&s->b, target, path);
	bench_process_start(&s->b, &s->p, getpid());
	s->child = start_child();
	bench_process_start(&s->b, &s->other, s->child);
	s->p.p->opened = s->other.p->opened = true;
	s->p.call.uid = s->other.call.uid = getuid();
	s->p.call.file = FIRST_FILE;
	s->other.call.file = FIRST_FILE + 1;
	kfd_client_start(&s->client, &s->p.call);
	kfd_client_start(&s->other_client, &s->other.call);
	for (int i = 0; i < QUEUES; i++)
		assert_int_equal(bench_queue(&s->p, &s->q[i], GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	return s;
}

static struct setup *start(void)
{
	return start_with(EMU_SCHED_HWS, true);
}

static void end_other(struct setup *s)
{
	if (!s->child)
		return;
	kfd_client_end(&s->other_client, &s->other.call);
	bench_process_end(&s->other);
	kill(s->child, SIGKILL);
	waitpid(s->child, NULL, 0);
	s->child = 0;
}

static void end(struct setup *s)
{
	end_other(s);
	kfd_client_end(&s->client, &s->p.call);
	bench_process_end(&s->p);
	bench_end(&s->b);
	free(s);
}

static int preempt(struct setup *s, uint32_t id, uint32_t type)
{
	struct gp_kfd_preempt_queue args = { .queue_id = id, .preempt_type = type };

	return emu_preempt_queue(&s->p.call, &args);
}

static int resume(struct setup *s, uint32_t id)
{
	struct gp_kfd_resume_queue args = { .queue_id = id };

	return emu_resume_queue(&s->p.call, &args);
}

static struct gp_kfd_preempt usual(uint32_t op, uint32_t *ids, uint32_t nr)
{
	return (struct gp_kfd_preempt){
		.op = op,
		.queues = { .queue_array_ptr = (uintptr_t)ids,
			    .num_queues = nr,
			    .type = op == GP_KFD_OP_PREEMPT ? GP_KFD_PREEMPT_SAVE : 0 },
	};
}

/* @pid: whose queues, held for the call's file; 0: the caller's own. */
static int batch_as(struct emu_call *call, uint32_t op, pid_t pid, uint32_t *ids, uint32_t nr)
{
	struct gp_kfd_preempt args = usual(op, ids, nr);
	int result;

	if (!pid)
		return emu_preempt(call, &args);
	args.flags = GP_KFD_PREEMPT_TARGET;
	args.pidfd = pidfd_open(pid, 0);
	assert_true(args.pidfd >= 0);
	result = emu_preempt(call, &args);
	close(args.pidfd);
	return result;
}

static void one_queue_is_checked(void **unused)
{
	struct setup *s = start_with(EMU_SCHED_NONE, true);
	struct gp_kfd_preempt_queue bad = { .pad = 1 };
	struct gp_kfd_resume_queue bad_resume = { .pad = { 0, 0, 1 } };

	assert_int_equal(emu_preempt_queue(&s->p.call, &bad), -EINVAL);
	assert_int_equal(emu_resume_queue(&s->p.call, &bad_resume), -EINVAL);
	assert_int_equal(preempt(s, s->q[0].id, 3), -EINVAL);
	assert_int_equal(preempt(s, 99, GP_KFD_PREEMPT_SAVE), -EINVAL);
	assert_int_equal(resume(s, 99), -EINVAL);
	assert_int_equal(resume(s, s->q[0].id), -EINVAL);
	for (uint32_t type = GP_KFD_PREEMPT_DRAIN; type <= GP_KFD_PREEMPT_SAVE; type++) {
		assert_int_equal(preempt(s, s->q[0].id, type), 0);
		assert_int_equal(preempt(s, s->q[0].id, type), -EALREADY);
		assert_int_equal(s->q[0].q->held, EMU_HELD_PREEMPTED);
		assert_int_equal(resume(s, s->q[0].id), 0);
		assert_int_equal(s->q[0].q->held, 0);
	}
	end(s);
	(void)unused;
}

static struct gp_kfd_preempt_query query(struct setup *s)
{
	struct gp_kfd_preempt args = { .op = GP_KFD_OP_QUERY };

	assert_int_equal(emu_preempt(&s->p.call, &args), 0);
	return args.query;
}

/* As the table of kernel/README.md has it. */
static void each_scheduler_has_its_types(void **unused)
{
	const uint32_t save = 1 << GP_KFD_PREEMPT_SAVE;
	const uint32_t others = 1 << GP_KFD_PREEMPT_DRAIN | 1 << GP_KFD_PREEMPT_RESET;
	const struct {
		enum emu_sched sched;
		bool cwsr;
		uint32_t types, timeout_ms;
	} cases[] = {
		{ EMU_SCHED_HWS, true, save, EMU_PREEMPT_TIMEOUT_MS },
		{ EMU_SCHED_HWS, false, 0, EMU_PREEMPT_TIMEOUT_MS },
		{ EMU_SCHED_MES, true, save, 2100 },
		{ EMU_SCHED_MES, false, 0, 2100 },
		{ EMU_SCHED_NONE, true, save | others, 4000 },
		{ EMU_SCHED_NONE, false, others, 4000 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct setup *s = start_with(cases[i].sched, cases[i].cwsr);
		uint32_t id = s->q[0].id;

		assert_int_equal(query(s).types, cases[i].types);
		assert_int_equal(query(s).timeout_ms, cases[i].timeout_ms);
		for (uint32_t type = GP_KFD_PREEMPT_DRAIN; type <= GP_KFD_PREEMPT_SAVE; type++) {
			bool can = cases[i].types >> type & 1;

			assert_int_equal(preempt(s, id, type), can ? 0 : -EOPNOTSUPP);
			assert_int_equal(resume(s, id), can ? 0 : -EINVAL);
		}
		end(s);
	}
	(void)unused;
}

static void a_type_that_is_not_there(void **unused)
{
	struct setup *s = start_with(EMU_SCHED_HWS, false);
	uint32_t ids[] = { 99, s->q[0].id };

	assert_int_equal(preempt(s, 99, GP_KFD_PREEMPT_SAVE), -EINVAL);
	assert_int_equal(batch_as(&s->p.call, GP_KFD_OP_PREEMPT, 0, ids, 1), 0);
	assert_int_equal(ids[0], 99 | GP_KFD_QUEUE_INVALID);
	assert_int_equal(batch_as(&s->p.call, GP_KFD_OP_PREEMPT, 0, ids, 2), -EOPNOTSUPP);
	assert_int_equal(ids[1], s->q[0].id);
	end(s);
	(void)unused;
}

/* Under the hardware scheduler a change of one queue interrupts all. */
static void how_many_queues_a_change_unmaps(void **unused)
{
	static const uint64_t unmaps[] = {
		[EMU_SCHED_HWS] = QUEUES, [EMU_SCHED_MES] = 1, [EMU_SCHED_NONE] = 1
	};

	for (int sched = EMU_SCHED_HWS; sched <= EMU_SCHED_NONE; sched++) {
		struct setup *s = start_with((enum emu_sched)sched, true);
		uint64_t before = atomic_load(&s->b.node->nr_unmaps);

		assert_int_equal(preempt(s, s->q[1].id, GP_KFD_PREEMPT_SAVE), 0);
		assert_int_equal(atomic_load(&s->b.node->nr_unmaps) - before, unmaps[sched]);
		assert_false(s->q[1].q->mapped);
		assert_true(s->q[0].q->mapped && s->q[2].q->mapped);
		assert_int_equal(resume(s, s->q[1].id), 0);
		assert_true(s->q[1].q->mapped);
		end(s);
	}
	(void)unused;
}

/* A queue has a slot for life, also one that is held; and nobody debugs. */
static void without_a_scheduler_queues_are_few(void **unused)
{
	struct setup *s = start_with(EMU_SCHED_NONE, true);
	struct gp_kfd_dbg_trap trap = { .pid = (uint32_t)getpid(), .op = GP_KFD_DBG_ENABLE };
	struct bench_queue more[EMU_CP_QUEUES], extra;

	assert_int_equal(preempt(s, s->q[0].id, GP_KFD_PREEMPT_DRAIN), 0);
	for (int i = QUEUES; i < EMU_CP_QUEUES; i++)
		assert_int_equal(bench_queue(&s->p, &more[i], GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	assert_int_equal(bench_queue(&s->p, &extra, GP_KFD_QUEUE_COMPUTE_AQL, 64), -EBUSY);
	bench_destroy(&more[QUEUES]);
	assert_int_equal(bench_queue(&s->p, &more[QUEUES], GP_KFD_QUEUE_COMPUTE_AQL, 64), 0);
	assert_int_equal(emu_dbg_trap(&s->p.call, &trap), -EINVAL);
	end(s);
	(void)unused;
}

static void capabilities_are_reported(void **unused)
{
	struct setup *s = start();
	struct gp_kfd_preempt args = { .op = GP_KFD_OP_QUERY, .query.gpu_id = 1 };

	assert_int_equal(emu_preempt(&s->p.call, &args), -EINVAL);
	args.query.gpu_id = s->b.node->gpu_id;
	assert_int_equal(emu_preempt(&s->p.call, &args), 0);
	assert_int_equal(args.query.magic, GP_KFD_PREEMPT_MAGIC);
	assert_int_equal(args.query.version, GP_KFD_PREEMPT_VERSION);
	assert_int_equal(args.query.holds_max, EMU_HOLDS_MAX);
	assert_int_equal(args.query.features, GP_KFD_FEATURE_QUEUES | GP_KFD_FEATURE_TARGET |
						      GP_KFD_FEATURE_LOGICAL_PRIORITY |
						      GP_KFD_FEATURE_SET_PRIORITY);
	s->b.m.config.preempt_aliases = true;
	args.query = (struct gp_kfd_preempt_query){ 0 };
	assert_int_equal(emu_preempt(&s->p.call, &args), 0);
	assert_true(args.query.features & GP_KFD_FEATURE_ALIASES);
	/* Fields that the call writes have to be zero. */
	assert_int_equal(emu_preempt(&s->p.call, &args), -EINVAL);
	end(s);
	(void)unused;
}

#define ROUNDS 3000

static void push_work(struct setup *s, struct bench_queue *q, uint64_t **state,
		      struct bench_signal **sig)
{
	union aql_packet packet = bench_work(&s->p, ROUNDS, state, bench_signal(&s->p, 1, sig));

	bench_push(q, &packet);
}

/*
 * Workgroups that had begun have ended, the others begin later; saved ones continue where they
 * were. Either way nothing runs until it is resumed.
 */
static void drained_and_saved_work_is_right(void **unused)
{
	static const uint32_t types[] = { GP_KFD_PREEMPT_DRAIN, GP_KFD_PREEMPT_SAVE };
	struct setup *s = start_with(EMU_SCHED_NONE, true);

	for (int round = 0; round < 10; round++) {
		struct bench_signal *sig[2];
		uint64_t *state[2], seen[BENCH_WORK_ITEMS];

		for (int i = 0; i < 2; i++)
			push_work(s, &s->q[i], &state[i], &sig[i]);
		assert_true(bench_wait_index(&s->q[0], (uint64_t)round + 1));
		for (int i = 0; i < 2; i++) {
			assert_int_equal(preempt(s, s->q[i].id, types[i]), 0);
			memcpy(seen, state[i], sizeof(seen));
			assert_true(bench_stays(&sig[i]->value, atomic_load(&sig[i]->value)));
			assert_memory_equal(seen, state[i], sizeof(seen));
		}
		for (int i = 0; i < 2; i++)
			assert_int_equal(resume(s, s->q[i].id), 0);
		for (int i = 0; i < 2; i++) {
			assert_true(bench_wait(&sig[i]->value, 0));
			bench_check_work(state[i], ROUNDS);
		}
	}
	end(s);
	(void)unused;
}

/* Every field that an operation does not use. */
static void what_is_not_used_is_zero(void **unused)
{
	struct setup *s = start();
	uint32_t id = s->q[0].id;

	for (uint32_t op = GP_KFD_OP_PREEMPT; op <= GP_KFD_OP_SET_PRIORITY; op++) {
		struct gp_kfd_preempt bad[] = { usual(op, &id, 1), usual(op, &id, 1),
						usual(op, &id, 1), usual(op, &id, 1),
						usual(op, &id, 1), usual(op, &id, 1) };

		bad[0].flags = 2;
		bad[1].pidfd = 1;
		bad[2].pad = 1;
		bad[3].queues.pad = 1;
		bad[4].query.holds_max = 1;
		bad[5].queues.type = op == GP_KFD_OP_PREEMPT ? 3 : 1;
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
			assert_int_equal(emu_preempt(&s->p.call, &bad[i]), -EINVAL);
		bad[0] = usual(op, &id, 1);
		bad[0].queues.logical_priority = 1;
		assert_int_equal(emu_preempt(&s->p.call, &bad[0]),
				 op == GP_KFD_OP_SET_PRIORITY ? 1 : -EINVAL);
	}
	assert_int_equal(s->q[0].q->held, 0);
	end(s);
	(void)unused;
}

static void batches_are_checked(void **unused)
{
	struct setup *s = start();
	uint32_t ids[EMU_QUEUES_MAX + 1] = { 0 };
	struct gp_kfd_preempt args = usual(0, ids, 0);

	assert_int_equal(emu_preempt(&s->p.call, &args), -EINVAL);
	args = usual(GP_KFD_OP_SET_PRIORITY + 1, ids, 0);
	assert_int_equal(emu_preempt(&s->p.call, &args), -EINVAL);
	args = usual(GP_KFD_OP_PREEMPT, NULL, 1);
	assert_int_equal(emu_preempt(&s->p.call, &args), -EINVAL);
	args.queues.queue_array_ptr = BAD_ADDRESS;
	assert_int_equal(emu_preempt(&s->p.call, &args), -EFAULT);
	assert_int_equal(batch_as(&s->p.call, GP_KFD_OP_PREEMPT, 0, ids, EMU_QUEUES_MAX + 1),
			 -EINVAL);
	assert_int_equal(batch_as(&s->p.call, GP_KFD_OP_PREEMPT, 0, NULL, 0), 0);
	end(s);
	(void)unused;
}

/* A pidfd of a process that uses the GPU; and nothing else. */
static void targets_are_checked(void **unused)
{
	struct setup *s = start();
	struct gp_kfd_preempt args = usual(GP_KFD_OP_PREEMPT, NULL, 0);
	pid_t child = start_child();

	s->p.call.uid = 0;
	args.flags = GP_KFD_PREEMPT_TARGET;
	args.pidfd = -1;
	assert_int_equal(emu_preempt(&s->p.call, &args), -EBADF);
	args.pidfd = 0x7fffffff;
	assert_int_equal(emu_preempt(&s->p.call, &args), -EBADF);
	args.pidfd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(emu_preempt(&s->p.call, &args), -EBADF);
	close(args.pidfd);
	args.pidfd = pidfd_open(child, 0);
	assert_int_equal(emu_preempt(&s->p.call, &args), -ESRCH);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(emu_preempt(&s->p.call, &args), -ESRCH);
	close(args.pidfd);
	end(s);
	(void)unused;
}

static void a_batch_of_ones_own(void **unused)
{
	struct setup *s = start();
	uint32_t ids[] = { s->q[0].id, 99, s->q[2].id, s->q[0].id };

	assert_int_equal(batch_as(&s->p.call, GP_KFD_OP_PREEMPT, 0, ids, 4), 2);
	assert_int_equal(ids[0], s->q[0].id);
	assert_int_equal(ids[1], 99 | GP_KFD_QUEUE_INVALID);
	assert_int_equal(ids[2], s->q[2].id);
	assert_int_equal(ids[3], s->q[0].id | GP_KFD_QUEUE_INVALID);
	assert_int_equal(s->q[0].q->held, EMU_HELD_PREEMPTED);
	assert_int_equal(s->q[1].q->held, 0);
	assert_int_equal(preempt(s, s->q[2].id, GP_KFD_PREEMPT_SAVE), -EALREADY);
	ids[1] = s->q[1].id;
	/* A queue that is not preempted runs, but not twice. */
	ids[3] = s->q[1].id;
	assert_int_equal(batch_as(&s->p.call, GP_KFD_OP_RESUME, 0, ids, 4), 3);
	assert_int_equal(ids[1], s->q[1].id);
	assert_int_equal(ids[3], s->q[1].id | GP_KFD_QUEUE_INVALID);
	for (int i = 0; i < QUEUES; i++)
		assert_int_equal(s->q[i].q->held, 0);
	end(s);
	(void)unused;
}

static void others_are_for_tracers(void **unused)
{
	struct setup *s = start();
	uint32_t id = s->q[0].id;

	/* The same user is not enough. */
	s->other.call.uid = s->p.call.uid = 12345;
	assert_int_equal(batch_as(&s->other.call, GP_KFD_OP_PREEMPT, getpid(), &id, 1), -EPERM);
	assert_int_equal(s->q[0].q->held, 0);
	/* A file may hold the queues of its own process, beside that one. */
	assert_int_equal(batch_as(&s->p.call, GP_KFD_OP_PREEMPT, getpid(), &id, 1), 1);
	assert_int_equal(s->q[0].q->held, EMU_HELD_BATCH);
	assert_int_equal(batch_as(&s->p.call, GP_KFD_OP_RESUME, getpid(), &id, 1), 1);
	assert_int_equal(s->q[0].q->held, 0);
	s->other.call.uid = 0;
	assert_int_equal(batch_as(&s->other.call, GP_KFD_OP_PREEMPT, getpid(), &id, 1), 1);
	assert_int_equal(s->q[0].q->held, EMU_HELD_BATCH);
	/* Its program can neither undo that, nor is it kept from holding the queue too. */
	assert_int_equal(resume(s, id), -EINVAL);
	assert_int_equal(preempt(s, id, GP_KFD_PREEMPT_SAVE), 0);
	assert_int_equal(batch_as(&s->other.call, GP_KFD_OP_RESUME, getpid(), &id, 1), 1);
	assert_int_equal(s->q[0].q->held, EMU_HELD_PREEMPTED);
	/* A file that holds may release without the right; one without holds may not. */
	assert_int_equal(batch_as(&s->other.call, GP_KFD_OP_PREEMPT, getpid(), &id, 1), 1);
	s->other.call.uid = 12345;
	s->other.call.file++;
	assert_int_equal(batch_as(&s->other.call, GP_KFD_OP_RESUME, getpid(), &id, 1), -EPERM);
	s->other.call.file--;
	assert_int_equal(batch_as(&s->other.call, GP_KFD_OP_RESUME, getpid(), &id, 1), 1);
	assert_int_equal(batch_as(&s->other.call, GP_KFD_OP_RESUME, getpid(), &id, 1), -EPERM);
	assert_int_equal(s->q[0].q->held, EMU_HELD_PREEMPTED);
	end(s);
	(void)unused;
}

/*
 * Two files hold the same queue: it continues when both have released it, one of them by being
 * closed.
 */
static void holds_belong_to_a_file(void **unused)
{
	struct setup *s = start();
	struct emu_call second = s->other.call;
	uint32_t ids[] = { s->q[0].id, s->q[1].id };

	s->other.call.uid = second.uid = 0;
	second.file = FIRST_FILE + 2;
	assert_int_equal(batch_as(&s->other.call, GP_KFD_OP_PREEMPT, getpid(), ids, 2), 2);
	assert_int_equal(batch_as(&s->other.call, GP_KFD_OP_PREEMPT, getpid(), ids, 2), 2);
	assert_int_equal(batch_as(&second, GP_KFD_OP_PREEMPT, getpid(), ids, 1), 1);
	emu_preempt_file_closed(&s->b.m, s->other.call.file);
	assert_int_equal(s->q[0].q->held, EMU_HELD_BATCH);
	assert_int_equal(s->q[1].q->held, 0);
	/* Destroying a queue ends its holds. */
	bench_destroy(&s->q[0]);
	assert_int_equal(batch_as(&second, GP_KFD_OP_PREEMPT, getpid(), ids + 1, 1), 1);
	assert_int_equal(s->q[1].q->held, EMU_HELD_BATCH);
	end_other(s);
	assert_int_equal(s->q[1].q->held, 0);
	assert_true(s->q[1].q->mapped);
	end(s);
	(void)unused;
}

static void holds_are_limited(void **unused)
{
	struct setup *s = start();
	uint32_t ids[] = { s->q[0].id, s->q[1].id };

	s->other.call.uid = 0;
	s->other.p->nr_holds = EMU_HOLDS_MAX - 1;
	assert_int_equal(batch_as(&s->other.call, GP_KFD_OP_PREEMPT, getpid(), ids, 2), -EDQUOT);
	assert_int_equal(s->q[0].q->held, 0);
	assert_int_equal(batch_as(&s->other.call, GP_KFD_OP_PREEMPT, getpid(), ids, 1), 1);
	assert_int_equal(s->other.p->nr_holds, EMU_HOLDS_MAX);
	assert_int_equal(batch_as(&s->other.call, GP_KFD_OP_RESUME, getpid(), ids, 2), 2);
	assert_int_equal(s->other.p->nr_holds, EMU_HOLDS_MAX - 1);
	/* An id that is named twice counts twice. */
	ids[1] = ids[0];
	assert_int_equal(batch_as(&s->other.call, GP_KFD_OP_PREEMPT, getpid(), ids, 2), -EDQUOT);
	s->other.p->nr_holds = 0;
	end(s);
	(void)unused;
}

/* All processes of a user count, unless it is root. */
static void holds_of_a_user_are_limited(void **unused)
{
	struct setup *s = start();
	uint32_t id = s->q[0].id;

	s->p.p->uid = s->other.p->uid = s->p.call.uid = 12345;
	s->other.p->nr_holds = EMU_USER_HOLDS_MAX - 1;
	assert_int_equal(batch_as(&s->p.call, GP_KFD_OP_PREEMPT, getpid(), &id, 1), 1);
	s->p.call.file++;
	assert_int_equal(batch_as(&s->p.call, GP_KFD_OP_PREEMPT, getpid(), &id, 1), -EDQUOT);
	s->other.p->uid = 12346;
	assert_int_equal(batch_as(&s->p.call, GP_KFD_OP_PREEMPT, getpid(), &id, 1), 1);
	s->other.p->uid = s->p.p->uid = s->p.call.uid = 0;
	s->p.call.file++;
	assert_int_equal(batch_as(&s->p.call, GP_KFD_OP_PREEMPT, getpid(), &id, 1), 1);
	s->other.p->nr_holds = 0;
	end(s);
	(void)unused;
}

/*
 * The same list as the kernel's (kernel/tests/preempt.c)
 */

static void reset(struct emu_queue *q)
{
	pthread_mutex_lock(&q->node->lock);
	emu_sched_unmap_queue(q);
	q->held |= EMU_HELD_RESET;
	emu_sched_judge(q);
	emu_sched_map(q->node);
	pthread_mutex_unlock(&q->node->lock);
}

static int series_call(struct setup *s, const struct series_step *step, uint32_t *ids)
{
	struct bench_queue *first = &s->q[step->ids[0].queue];

	switch (step->op) {
	case SERIES_OP_HANG:
		reset(first->q);
		return 0;
	case SERIES_OP_ALIAS_PREEMPT:
		return preempt(s, first->id, GP_KFD_PREEMPT_SAVE);
	case SERIES_OP_ALIAS_RESUME:
		return resume(s, first->id);
	default:
		return batch_as(&s->p.call, step->op, step->by_file ? getpid() : 0, ids, step->nr);
	}
}

static void answers_about_each_queue(void **unused)
{
	struct setup *s = start();

	for (size_t i = 0; i < SERIES_STEPS; i++) {
		const struct series_step *step = &series_steps[i];
		uint32_t ids[SERIES_NAMES_MAX], id[SERIES_NAMES_MAX];

		for (uint32_t j = 0; j < step->nr; j++) {
			enum series_queue q = step->ids[j].queue;

			id[j] = q == SERIES_NONE ? 1000 : s->q[q].id;
			ids[j] = id[j] | step->ids[j].before;
		}
		print_message("%s\n", step->name);
		assert_int_equal(series_call(s, step, ids), step->result);
		for (uint32_t j = 0; j < step->nr; j++)
			assert_int_equal(ids[j], id[j] | step->ids[j].after);
	}
	assert_false(s->q[SERIES_HUNG].q->mapped);
	end(s);
	(void)unused;
}

static int set_priority(struct emu_call *call, pid_t pid, uint32_t *ids, uint32_t nr,
			uint32_t logical)
{
	struct gp_kfd_preempt args = usual(GP_KFD_OP_SET_PRIORITY, ids, nr);
	int result;

	args.flags = GP_KFD_PREEMPT_TARGET;
	args.pidfd = pidfd_open(pid, 0);
	args.queues.logical_priority = logical;
	result = emu_preempt(call, &args);
	close(args.pidfd);
	return result;
}

/* Anybody may lower its queues, and raise them to normal. */
static void priorities_are_changed(void **unused)
{
	struct setup *s = start();
	uint32_t ids[] = { s->q[0].id, 99, s->q[0].id };

	s->p.call.uid = s->other.call.uid = 12345;
	assert_int_equal(set_priority(&s->p.call, getpid(), ids, 3, 8), 1);
	assert_int_equal(s->q[0].q->logical_priority, 8);
	assert_int_equal(ids[0], s->q[0].id);
	assert_int_equal(ids[1], 99 | GP_KFD_QUEUE_INVALID);
	assert_int_equal(ids[2], s->q[0].id | GP_KFD_QUEUE_INVALID);
	assert_int_equal(set_priority(&s->p.call, getpid(), ids, 1, 9), -EACCES);
	assert_int_equal(set_priority(&s->other.call, getpid(), ids, 1, 1), -EPERM);
	assert_int_equal(s->q[0].q->logical_priority, 8);
	s->other.call.uid = 0;
	assert_int_equal(set_priority(&s->other.call, getpid(), ids, 1, 16), 1);
	assert_int_equal(s->q[0].q->logical_priority, 16);
	assert_int_equal(s->q[1].q->logical_priority, 0);
	/* Whether its streams are split is the program's own choice. */
	s->q[0].q->logical_priority |= GP_KFD_PRIORITY_SPLIT;
	assert_int_equal(set_priority(&s->p.call, getpid(), ids, 1, 5), 1);
	assert_int_equal(s->q[0].q->logical_priority, 5 | GP_KFD_PRIORITY_SPLIT);
	assert_int_equal(set_priority(&s->p.call, getpid(), ids, 1, 5 | GP_KFD_PRIORITY_SPLIT),
			 -EINVAL);
	end(s);
	(void)unused;
}

/* The call comes back with it, whatever becomes of the queue: there is no such GPU. */
static uint32_t granted(struct setup *s, uint32_t uid, uint32_t logical)
{
	struct gp_kfd_create_queue args = { .logical_priority = logical };

	s->p.call.uid = uid;
	assert_int_equal(emu_create_queue(&s->p.call, &args), -EINVAL);
	return args.logical_priority;
}

static void a_new_queue_gets_what_is_granted(void **unused)
{
	struct setup *s = start();
	const uint32_t split = GP_KFD_PRIORITY_SPLIT;

	s->b.m.config.kernel = EMU_KERNEL_GPREEMPT;
	assert_int_equal(granted(s, 0, 16), 16);
	assert_int_equal(granted(s, 12345, 0), 0);
	assert_int_equal(granted(s, 12345, 8), 8);
	assert_int_equal(granted(s, 12345, 9), 8);
	assert_int_equal(granted(s, 12345, 16 | split), 8 | split);
	assert_int_equal(granted(s, 12345, ~0u), 8 | split);
	/* A stock kernel has padding there. */
	s->b.m.config.kernel = EMU_KERNEL_6_12;
	assert_int_equal(granted(s, 12345, 16), 16);
	end(s);
	(void)unused;
}

/* The node is being reset meanwhile. */
static uint32_t held_of(const struct bench_queue *q)
{
	uint32_t held;

	pthread_mutex_lock(&q->q->node->lock);
	held = q->q->held;
	pthread_mutex_unlock(&q->q->node->lock);
	return held;
}

static void let_time_out(struct setup *s, bool always)
{
	pthread_mutex_lock(&s->b.node->lock);
	s->b.m.config.faults.preempt_timeout = always ? 1000000 : 0;
	pthread_mutex_unlock(&s->b.node->lock);
}

/* A failed hold is undone; an earlier one stays. */
static void a_batch_that_fails(void **unused)
{
	for (int own = 0; own < 2; own++) {
		struct setup *s = start();
		struct emu_call *call = own ? &s->p.call : &s->other.call;
		uint32_t held = own ? EMU_HELD_PREEMPTED : EMU_HELD_BATCH;
		pid_t target = own ? 0 : getpid();
		uint32_t ids[] = { s->q[0].id, s->q[1].id };

		call->uid = 0;
		assert_int_equal(batch_as(call, GP_KFD_OP_PREEMPT, target, ids, 1), 1);
		s->b.m.config.preempt_timeout_ms = 20;
		let_time_out(s, true);
		assert_int_equal(batch_as(call, GP_KFD_OP_PREEMPT, target, ids, 2), -ETIME);
		assert_int_equal(ids[0], s->q[0].id | GP_KFD_QUEUE_ERROR);
		assert_int_equal(ids[1], s->q[1].id | GP_KFD_QUEUE_ERROR);
		assert_int_equal(held_of(&s->q[0]) & held, held);
		assert_int_equal(held_of(&s->q[1]) & held, 0);
		let_time_out(s, false);
		end(s);
	}
	(void)unused;
}

static void expect_logical_priority(struct setup *s, uint32_t given, const char *shown)
{
	struct emu_queue *q = s->q[0].q;
	char name[128], text[16] = "";
	FILE *f;

	q->logical_priority = given;
	emu_topology_add_queue(q);
	snprintf(name, sizeof(name), "%.60s/sys/class/kfd/kfd/proc/%d/queues/%u/logical_priority",
		 s->b.config.dir, (int)getpid(), q->id);
	f = fopen(name, "re");
	if (!shown) {
		assert_null(f);
		return;
	}
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_string_equal(text, shown);
}

static void the_logical_priority_is_shown(void **unused)
{
	struct setup *s = start();

	expect_logical_priority(s, 16, NULL); /* not by a stock kernel */
	s->b.m.config.kernel = EMU_KERNEL_GPREEMPT;
	expect_logical_priority(s, 16, "15");
	expect_logical_priority(s, 1, "0");
	expect_logical_priority(s, 16 | GP_KFD_PRIORITY_SPLIT, "15");
	expect_logical_priority(s, 0, "-1");
	end(s);
	(void)unused;
}

/* Each kernel has its own numbers; the others are answered as that kernel does. */
static void each_kernel_has_its_numbers(void **unused)
{
	static const struct {
		enum emu_kernel kernel;
		bool aliases;
		unsigned long cmd;
		int result;
	} cases[] = {
		{ EMU_KERNEL_6_1, false, GP_KFD_RUNTIME_ENABLE, -ENOTTY },
		{ EMU_KERNEL_6_1, false, GP_KFD_DBG_TRAP, -ENOTTY },
		{ EMU_KERNEL_6_1, false, GP_KFD_PREEMPT, -ENOTTY },
		{ EMU_KERNEL_6_12, false, GP_KFD_RUNTIME_ENABLE, -EFAULT },
		{ EMU_KERNEL_6_12, false, GP_KFD_DBG_TRAP, -EFAULT },
		{ EMU_KERNEL_6_12, false, GP_KFD_PREEMPT_QUEUE, -ENOTTY },
		{ EMU_KERNEL_6_12, false, GP_KFD_PREEMPT, -ENOTTY },
		{ EMU_KERNEL_6_12, true, GP_KFD_PREEMPT_QUEUE, -ENOTTY },
		{ EMU_KERNEL_GPREEMPT, false, GP_KFD_PREEMPT, -EFAULT },
		{ EMU_KERNEL_GPREEMPT, false, GP_KFD_PREEMPT_QUEUE, -ENOTTY },
		{ EMU_KERNEL_GPREEMPT, false, GP_KFD_RESUME_QUEUE, -ENOTTY },
		{ EMU_KERNEL_GPREEMPT, true, GP_KFD_PREEMPT_QUEUE, -EFAULT },
		{ EMU_KERNEL_GPREEMPT, true, GP_KFD_RESUME_QUEUE, -EFAULT },
		{ EMU_KERNEL_GPREEMPT, false, GP_KFD_DBG_TRAP, -EFAULT },
	};
	struct setup *s = start();
	const struct emu_file f = { .id = 7, .kind = EMU_FILE_KFD, .process = s->p.p };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s->b.m.config.kernel = cases[i].kernel;
		s->b.m.config.preempt_aliases = cases[i].aliases;
		assert_int_equal(emu_kfd_ioctl(&s->p.call, &f, (uint32_t)cases[i].cmd, BAD_ADDRESS),
				 cases[i].result);
	}
	end(s);
	(void)unused;
}

/* A newer caller may know more, if it does not use it; an older one knows less. */
static void the_structure_can_grow(void **unused)
{
	struct {
		struct gp_kfd_preempt known;
		uint64_t more[2];
	} args = { .known.op = GP_KFD_OP_QUERY };
	const uint32_t longer = _IOC(_IOC_READ | _IOC_WRITE, 'K', 0xf0, sizeof(args));
	const uint32_t shorter = _IOC(_IOC_READ | _IOC_WRITE, 'K', 0xf0, 24);
	struct setup *s = start();
	const struct emu_file f = { .id = 7, .kind = EMU_FILE_KFD, .process = s->p.p };

	s->b.m.config.kernel = EMU_KERNEL_GPREEMPT;
	assert_int_equal(emu_kfd_ioctl(&s->p.call, &f, longer, (uintptr_t)&args), 0);
	assert_int_equal(args.known.query.magic, GP_KFD_PREEMPT_MAGIC);
	args.known.query = (struct gp_kfd_preempt_query){ 0 };
	args.more[1] = 1ull << 63;
	assert_int_equal(emu_kfd_ioctl(&s->p.call, &f, longer, (uintptr_t)&args), -E2BIG);
	assert_int_equal(emu_kfd_ioctl(&s->p.call, &f, shorter, (uintptr_t)&args), 0);
	assert_int_equal(args.known.query.magic, GP_KFD_PREEMPT_MAGIC);
	assert_int_equal(args.known.query.version, 0);
	end(s);
	(void)unused;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_queue_is_checked),
		cmocka_unit_test(each_scheduler_has_its_types),
		cmocka_unit_test(a_type_that_is_not_there),
		cmocka_unit_test(how_many_queues_a_change_unmaps),
		cmocka_unit_test(without_a_scheduler_queues_are_few),
		cmocka_unit_test(capabilities_are_reported),
		cmocka_unit_test(drained_and_saved_work_is_right),
		cmocka_unit_test(what_is_not_used_is_zero),
		cmocka_unit_test(batches_are_checked),
		cmocka_unit_test(targets_are_checked),
		cmocka_unit_test(a_batch_of_ones_own),
		cmocka_unit_test(others_are_for_tracers),
		cmocka_unit_test(holds_belong_to_a_file),
		cmocka_unit_test(holds_are_limited),
		cmocka_unit_test(holds_of_a_user_are_limited),
		cmocka_unit_test(answers_about_each_queue),
		cmocka_unit_test(priorities_are_changed),
		cmocka_unit_test(a_new_queue_gets_what_is_granted),
		cmocka_unit_test(a_batch_that_fails),
		cmocka_unit_test(the_logical_priority_is_shown),
		cmocka_unit_test(each_kernel_has_its_numbers),
		cmocka_unit_test(the_structure_can_grow),
	};

	if (argc != 2)
		return 77;
	path = argv[1];
	target = machine_target(path);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
