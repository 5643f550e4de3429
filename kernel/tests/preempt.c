// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preempts and resumes queues of a fake GPU through /dev/kfd, as a program does, and looks at what
 * that did to the hardware which is not there.
 *
 * Usage: preempt hws|mes|nohws [STEPS]
 *
 * Runs as root in the kernel of `make kernel-test`. Prints a line for each case and ends with the
 * number of those that failed. STEPS: how many random ones there are.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "gpreempt/uapi/gpreempt_kfd.h"
#include "kernel/series_cases.h"

#define DEFAULT_STEPS 10000
#define RANDOM_QUEUES 4
#define NOBODY 65534
#define SLOW_MS 50
#define SLEEPS 3 /* while the firmware unmaps; more, unless the host is slow */

static int mapped(uint32_t id)
{
	return state_of(getpid(), id).mapped;
}

/* The lowest id that is free is the next one's. */
static uint32_t create_queue(void)
{
	struct look now;
	uint32_t id = 0;

	look(&now);
	while (state_in(&now, getpid(), id).exists)
		id++;
	control("create %d", (int)getpid());
	if (!state_of(getpid(), id).exists)
		die("create");
	return id;
}

/*
 * /dev/kfd
 */

static int kfd;

static int preempt_as(uint32_t id, uint32_t type)
{
	struct gp_kfd_preempt_queue args = { .queue_id = id, .preempt_type = type };

	return call(kfd, GP_KFD_PREEMPT_QUEUE, &args);
}

static int preempt(uint32_t id)
{
	return preempt_as(id, GP_KFD_PREEMPT_SAVE);
}

static int resume(uint32_t id)
{
	struct gp_kfd_resume_queue args = { .queue_id = id };

	return call(kfd, GP_KFD_RESUME_QUEUE, &args);
}

static int destroy(uint32_t id)
{
	struct gp_kfd_destroy_queue args = { .queue_id = id };

	return call(kfd, GP_KFD_DESTROY_QUEUE, &args);
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

/* @pid: whose queues, held by the file; 0: the caller's own. */
static int batch_with(int fd, struct gp_kfd_preempt args, pid_t pid)
{
	int result;

	if (!pid)
		return call(fd, GP_KFD_PREEMPT, &args);
	args.flags = GP_KFD_PREEMPT_TARGET;
	args.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (args.pidfd < 0)
		die("pidfd_open");
	result = call(fd, GP_KFD_PREEMPT, &args);
	close(args.pidfd);
	return result;
}

static int batch(int fd, uint32_t op, pid_t pid, uint32_t *ids, uint32_t nr)
{
	return batch_with(fd, usual(op, ids, nr), pid);
}

static int batch_one(int fd, uint32_t op, pid_t pid, uint32_t id)
{
	return batch(fd, op, pid, &id, 1);
}

/*
 * Another process with a queue, which lives until it is told to end
 */

struct other {
	pid_t pid;
	int end;
	uint32_t id;
};

static struct other start_other(void)
{
	int ready[2], end[2];
	struct other o;
	char c;

	if (pipe2(ready, O_CLOEXEC) || pipe2(end, O_CLOEXEC))
		die("pipe");
	o.pid = fork();
	if (!o.pid) {
		uint32_t id;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(end[1]);
		kfd = open_kfd();
		id = create_queue();
		if (write(ready[1], &id, sizeof(id)) != sizeof(id))
			_exit(1);
		_exit(read(end[0], &c, 1) != 0);
	}
	close(ready[1]);
	close(end[0]);
	if (o.pid < 0 || read(ready[0], &o.id, sizeof(o.id)) != sizeof(o.id))
		die("another process");
	close(ready[0]);
	o.end = end[1];
	return o;
}

static void end_other(struct other *o)
{
	close(o->end);
	/* Its queues go when the last reference to it does, and have its pid until it is reaped. */
	while (state_of(o->pid, o->id).exists)
		usleep(1000);
	waitpid(o->pid, NULL, 0);
}

/* Runs a function in a child process. Returns its exit status. */
static int in_child(int (*run)(struct other *), struct other *o)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(run(o));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		die("child");
	return WEXITSTATUS(status);
}

/*
 * Cases
 */

static uint32_t expected_types(void)
{
	uint32_t save = 1u << GP_KFD_PREEMPT_SAVE;

	if (strcmp(scheduler, "nohws"))
		return save;
	return save | 1u << GP_KFD_PREEMPT_DRAIN | 1u << GP_KFD_PREEMPT_RESET;
}

static void query(void)
{
	struct gp_kfd_preempt a = { .op = GP_KFD_OP_QUERY };

	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &a), 0);
	EXPECT(a.query.magic == GP_KFD_PREEMPT_MAGIC);
	EXPECT_EQ(a.query.version, GP_KFD_PREEMPT_VERSION);
	EXPECT_EQ(a.query.features & ~GP_KFD_FEATURE_SCHEDULER,
		  GP_KFD_FEATURE_QUEUES | GP_KFD_FEATURE_TARGET | GP_KFD_FEATURE_LOGICAL_PRIORITY |
			  GP_KFD_FEATURE_SET_PRIORITY);
	EXPECT_EQ(a.query.types, expected_types());
	EXPECT(a.query.timeout_ms > 0);
	EXPECT(a.query.holds_max > 0);
	EXPECT(a.query.gpu_id != 0);
	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &a), -EINVAL);
	a.query = (struct gp_kfd_preempt_query){ .gpu_id = a.query.gpu_id };
	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &a), 0);
	a.query = (struct gp_kfd_preempt_query){ .gpu_id = a.query.gpu_id ^ 0x5555 };
	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &a), -EINVAL);
}

/* A newer caller may know more, if it does not use it; an older one knows less. */
static void other_sizes(void)
{
	struct {
		struct gp_kfd_preempt known;
		uint64_t more[20];
	} a = { .known.op = GP_KFD_OP_QUERY };
	unsigned long longer = _IOC(_IOC_READ | _IOC_WRITE, GP_KFD_MAGIC, 0xf0, sizeof(a));
	unsigned long shorter = _IOC(_IOC_READ | _IOC_WRITE, GP_KFD_MAGIC, 0xf0, 24);

	EXPECT_EQ(call(kfd, longer, &a), 0);
	EXPECT(a.known.query.magic == GP_KFD_PREEMPT_MAGIC);
	a.known.query = (struct gp_kfd_preempt_query){ 0 };
	a.more[19] = 1;
	EXPECT_EQ(call(kfd, longer, &a), -E2BIG);
	EXPECT_EQ(call(kfd, shorter, &a), 0);
	EXPECT(a.known.query.magic == GP_KFD_PREEMPT_MAGIC);
	EXPECT_EQ(a.known.query.version, 0);
	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, NULL), -EFAULT);
}

static void expect_none(unsigned int nr)
{
	char args[256] = { 0 };

	EXPECT_EQ(call(kfd, _IOC(_IOC_READ | _IOC_WRITE, GP_KFD_MAGIC, nr, 16), args), -ENOTTY);
}

static void have_aliases(bool have)
{
	int fd = open("/sys/module/amdgpu/parameters/kfd_preempt_aliases", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, have ? "Y" : "N", 1) != 1)
		die("kfd_preempt_aliases");
	close(fd);
}

/*
 * Among others the numbers of AMD's own driver, and the aliases unless they are wanted. 0x27 and
 * 0x28 are calls of newer kernels.
 */
static void numbers_that_are_none(void)
{
	static const unsigned int none[] = { 0x00, 0x29, 0x80, 0x86, 0x89, 0x8a, 0xef, 0xf1, 0xff };
	struct gp_kfd_preempt a = { .op = GP_KFD_OP_QUERY };

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		expect_none(none[i]);
	expect_none(0x87);
	expect_none(0x88);
	have_aliases(true);
	EXPECT_EQ(preempt(1000), -EINVAL);
	EXPECT_EQ(resume(1000), -EINVAL);
	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &a), 0);
	EXPECT(a.query.features & GP_KFD_FEATURE_ALIASES);
	expect_none(0x86);
	expect_none(0x89);
}

static void one_queue(void)
{
	uint32_t a = create_queue(), b = create_queue();

	EXPECT_EQ(mapped(a), 1);
	EXPECT_EQ(preempt(a), 0);
	EXPECT_EQ(mapped(a), 0);
	EXPECT_EQ(mapped(b), 1);
	EXPECT_EQ(preempt(a), -EALREADY);
	EXPECT_EQ(resume(b), -EINVAL);
	EXPECT_EQ(resume(a), 0);
	EXPECT_EQ(mapped(a), 1);
	EXPECT_EQ(resume(a), -EINVAL);
	expect_consistent();
	EXPECT_EQ(destroy(a), 0);
	EXPECT_EQ(destroy(b), 0);
}

static void refusals(void)
{
	uint32_t id = create_queue();
	struct gp_kfd_preempt_queue p = { .queue_id = id, .preempt_type = GP_KFD_PREEMPT_SAVE };
	struct gp_kfd_resume_queue r = { .queue_id = id };

	EXPECT_EQ(preempt(id + 1), -EINVAL);
	EXPECT_EQ(preempt(~0u), -EINVAL);
	EXPECT_EQ(preempt_as(id, 3), -EINVAL);
	p.pad = 1;
	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT_QUEUE, &p), -EINVAL);
	for (int i = 0; i < 3; i++) {
		r.pad[i] = 1;
		EXPECT_EQ(call(kfd, GP_KFD_RESUME_QUEUE, &r), -EINVAL);
		r.pad[i] = 0;
	}
	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT_QUEUE, NULL), -EFAULT);
	EXPECT_EQ(mapped(id), 1);
	EXPECT_EQ(destroy(id), 0);
}

static void every_type(void)
{
	uint32_t id = create_queue();

	for (uint32_t type = 0; type <= GP_KFD_PREEMPT_SAVE; type++) {
		bool can = expected_types() & 1u << type;

		EXPECT_EQ(preempt_as(id, type), can ? 0 : -EOPNOTSUPP);
		EXPECT_EQ(mapped(id), !can);
		EXPECT_EQ(resume(id), can ? 0 : -EINVAL);
		EXPECT_EQ(mapped(id), 1);
	}
	EXPECT_EQ(destroy(id), 0);
}

static void destroyed_while_preempted(void)
{
	uint32_t id = create_queue();

	EXPECT_EQ(preempt(id), 0);
	EXPECT_EQ(destroy(id), 0);
	EXPECT_EQ(resume(id), -EINVAL);
	expect_consistent();
}

static void several(void)
{
	uint32_t a = create_queue(), b = create_queue(), none = b + 1;
	uint32_t ids[] = { a, none, b, a };

	EXPECT_EQ(batch(kfd, GP_KFD_OP_PREEMPT, 0, ids, 4), 2);
	EXPECT_EQ(ids[0], a);
	EXPECT_EQ(ids[1], none | GP_KFD_QUEUE_INVALID);
	EXPECT_EQ(ids[2], b);
	EXPECT_EQ(ids[3], a | GP_KFD_QUEUE_INVALID);
	EXPECT_EQ(mapped(a) + mapped(b), 0);
	expect_consistent();
	/* It is the same hold as that of one queue. */
	EXPECT_EQ(preempt(a), -EALREADY);
	EXPECT_EQ(batch_one(kfd, GP_KFD_OP_PREEMPT, 0, a), 1);
	EXPECT_EQ(resume(a), 0);
	EXPECT_EQ(mapped(a), 1);
	/* To resume a queue that is not held is no error. */
	ids[0] = a;
	ids[1] = b;
	EXPECT_EQ(batch(kfd, GP_KFD_OP_RESUME, 0, ids, 2), 2);
	EXPECT_EQ(mapped(a) + mapped(b), 2);
	EXPECT_EQ(batch(kfd, GP_KFD_OP_PREEMPT, 0, NULL, 0), 0);
	expect_consistent();
	EXPECT_EQ(destroy(a), 0);
	EXPECT_EQ(destroy(b), 0);
}

/* Every field that an operation does not use. */
static void what_is_not_used_is_zero(void)
{
	uint32_t id = create_queue();

	for (uint32_t op = GP_KFD_OP_PREEMPT; op <= GP_KFD_OP_SET_PRIORITY; op++) {
		struct gp_kfd_preempt a = usual(op, &id, 1);

		a.flags = 2;
		EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &a), -EINVAL);
		a = usual(op, &id, 1);
		a.pidfd = 1;
		EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &a), -EINVAL);
		a = usual(op, &id, 1);
		a.pad = 1;
		EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &a), -EINVAL);
		a = usual(op, &id, 1);
		a.queues.pad = 1;
		EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &a), -EINVAL);
		a = usual(op, &id, 1);
		a.query.holds_max = 1;
		EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &a), -EINVAL);
		a = usual(op, &id, 1);
		a.queues.type = op == GP_KFD_OP_PREEMPT ? 3 : 1;
		EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &a), -EINVAL);
		a = usual(op, &id, 1);
		a.queues.logical_priority = 1;
		EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &a),
			  op == GP_KFD_OP_SET_PRIORITY ? 1 : -EINVAL);
	}
	EXPECT_EQ(mapped(id), 1);
	EXPECT_EQ(destroy(id), 0);
}

static void refusals_of_several(void)
{
	uint32_t id = create_queue();
	struct gp_kfd_preempt args = usual(0, &id, 1);

	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &args), -EINVAL);
	args = usual(GP_KFD_OP_SET_PRIORITY + 1, &id, 1);
	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &args), -EINVAL);
	args = usual(GP_KFD_OP_PREEMPT, &id, 1);
	args.queues.type = GP_KFD_PREEMPT_DRAIN;
	if (!(expected_types() & 1u << GP_KFD_PREEMPT_DRAIN))
		EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &args), -EOPNOTSUPP);
	args = usual(GP_KFD_OP_PREEMPT, &id, 1025);
	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &args), -EINVAL);
	args = usual(GP_KFD_OP_PREEMPT, NULL, 1);
	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &args), -EINVAL);
	args.queues.queue_array_ptr = 8;
	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &args), -EFAULT);
	EXPECT_EQ(mapped(id), 1);
	EXPECT_EQ(destroy(id), 0);
}

/* A pidfd of a process that uses KFD; and nothing else. */
static void targets_that_are_none(void)
{
	uint32_t id = create_queue();
	struct gp_kfd_preempt args = usual(GP_KFD_OP_PREEMPT, &id, 1);

	EXPECT_EQ(batch_one(kfd, GP_KFD_OP_PREEMPT, 1, id), -ESRCH);
	args.flags = GP_KFD_PREEMPT_TARGET;
	args.pidfd = -1;
	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &args), -EBADF);
	args.pidfd = kfd;
	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &args), -EBADF);
	EXPECT_EQ(mapped(id), 1);
	/* Oneself is a target as well, beside one's own hold. */
	EXPECT_EQ(batch_one(kfd, GP_KFD_OP_PREEMPT, getpid(), id), 1);
	EXPECT_EQ(preempt(id), 0);
	EXPECT_EQ(resume(id), 0);
	EXPECT_EQ(mapped(id), 0);
	EXPECT_EQ(batch_one(kfd, GP_KFD_OP_RESUME, getpid(), id), 1);
	EXPECT_EQ(mapped(id), 1);
	EXPECT_EQ(destroy(id), 0);
}

/* Each file that holds a queue is a hold; a process has a limited number of them. */
static void holds_are_limited(void)
{
	enum { QUEUES = 16, FILES = 512 };
	struct gp_kfd_preempt a = { .op = GP_KFD_OP_QUERY };
	uint32_t ids[QUEUES], twice[QUEUES + 1], done = 0;
	int fds[FILES], nr = 0, result = QUEUES;

	EXPECT_EQ(call(kfd, GP_KFD_PREEMPT, &a), 0);
	for (int i = 0; i < QUEUES; i++)
		ids[i] = create_queue();
	while (nr < FILES && result == QUEUES) {
		fds[nr++] = open_kfd();
		result = batch(fds[nr - 1], GP_KFD_OP_PREEMPT, getpid(), ids, QUEUES);
		done += result == QUEUES ? QUEUES : 0;
	}
	EXPECT_EQ(result, -EDQUOT);
	EXPECT_EQ(done, a.query.holds_max);
	/* With a file less there is room again; the others still hold. */
	close(fds[0]);
	EXPECT_EQ(mapped(ids[0]), 0);
	/* An id that is named twice counts twice. */
	memcpy(twice, ids, sizeof(ids));
	twice[QUEUES] = ids[0];
	EXPECT_EQ(batch(fds[nr - 1], GP_KFD_OP_PREEMPT, getpid(), twice, QUEUES + 1), -EDQUOT);
	EXPECT_EQ(batch(fds[nr - 1], GP_KFD_OP_PREEMPT, getpid(), ids, QUEUES), QUEUES);
	for (int i = 1; i < nr; i++)
		close(fds[i]);
	for (int i = 0; i < QUEUES; i++) {
		EXPECT_EQ(mapped(ids[i]), 1);
		EXPECT_EQ(destroy(ids[i]), 0);
	}
	expect_consistent();
}

/*
 * Processes of one user, each with as many holds as it may have
 */

#define FILLER_QUEUES 16

struct filler {
	pid_t pid;
	int first, last; /* what its first and its last call returned */
};

static void give_up_resources(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data))
		die("capget");
	data[CAP_TO_INDEX(CAP_SYS_RESOURCE)].effective &= ~CAP_TO_MASK(CAP_SYS_RESOURCE);
	if (syscall(SYS_capset, &header, data))
		die("capset");
}

static _Noreturn void fill(pid_t of, uint32_t *ids, bool is_limited, int ready)
{
	int first = 0, last = FILLER_QUEUES;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (is_limited)
		give_up_resources();
	while (last == FILLER_QUEUES) {
		last = batch(open_kfd(), GP_KFD_OP_PREEMPT, of, ids, FILLER_QUEUES);
		first = first ? first : last;
	}
	if (write(ready, &first, sizeof(first)) != sizeof(first) ||
	    write(ready, &last, sizeof(last)) != sizeof(last))
		_exit(1);
	for (;;)
		pause();
}

static struct filler start_filler(uint32_t *ids, bool is_limited)
{
	int ready[2];
	pid_t of = getpid();
	struct filler f;

	if (pipe2(ready, O_CLOEXEC))
		die("pipe");
	f.pid = fork();
	if (!f.pid)
		fill(of, ids, is_limited, ready[1]);
	close(ready[1]);
	if (f.pid < 0 || read(ready[0], &f.first, sizeof(f.first)) != sizeof(f.first) ||
	    read(ready[0], &f.last, sizeof(f.last)) != sizeof(f.last))
		die("filler");
	close(ready[0]);
	return f;
}

static void end_filler(const struct filler *f)
{
	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
}

/* However many processes it has, unless it may have more than others. */
static void holds_of_a_user_are_limited(void)
{
	enum { PROCESSES = 4 };
	struct filler f[PROCESSES], more;
	uint32_t ids[FILLER_QUEUES];

	for (int i = 0; i < FILLER_QUEUES; i++)
		ids[i] = create_queue();
	for (int i = 0; i < PROCESSES; i++) {
		f[i] = start_filler(ids, true);
		EXPECT_EQ(f[i].first, FILLER_QUEUES);
		EXPECT_EQ(f[i].last, -EDQUOT);
	}
	more = start_filler(ids, true);
	EXPECT_EQ(more.first, -EDQUOT);
	end_filler(&more);
	more = start_filler(ids, false);
	EXPECT_EQ(more.first, FILLER_QUEUES);
	end_filler(&more);
	/* The one that ends gives its part back. */
	end_filler(&f[0]);
	more = start_filler(ids, true);
	EXPECT_EQ(more.first, FILLER_QUEUES);
	end_filler(&more);
	EXPECT_EQ(mapped(ids[0]), 0);
	for (int i = 1; i < PROCESSES; i++)
		end_filler(&f[i]);
	for (int i = 0; i < FILLER_QUEUES; i++) {
		EXPECT_EQ(mapped(ids[i]), 1);
		EXPECT_EQ(destroy(ids[i]), 0);
	}
	expect_consistent();
}

static int set_priority(pid_t pid, uint32_t id, uint32_t logical)
{
	struct gp_kfd_preempt args = usual(GP_KFD_OP_SET_PRIORITY, &id, 1);

	args.queues.logical_priority = logical;
	return batch_with(kfd, args, pid);
}

static int priority_shown(uint32_t id)
{
	char name[128], text[32];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/sys/class/kfd/kfd/proc/%d/queues/%u/logical_priority",
		 (int)getpid(), id);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n <= 0 ? -100 : atoi(text);
}

static int prioritise_as_nobody(struct other *o)
{
	uint32_t id;

	kfd = open_kfd();
	id = create_queue();
	if (setgid(NOBODY) || setuid(NOBODY))
		return 1;
	return set_priority(0, id, 9) != -EACCES || set_priority(0, id, 8) != 1 ||
	       set_priority(o->pid, o->id, 1) != -EPERM;
}

static void priorities_are_changed(void)
{
	struct other o = start_other();
	uint32_t id = create_queue();

	EXPECT_EQ(set_priority(0, id, 16), 1);
	EXPECT_EQ(priority_shown(id), 15);
	EXPECT_EQ(set_priority(0, id, 0), 1);
	EXPECT_EQ(priority_shown(id), -1);
	EXPECT_EQ(set_priority(o.pid, o.id, 3), 1);
	EXPECT_EQ(in_child(prioritise_as_nobody, &o), 0);
	EXPECT_EQ(mapped(id), 1);
	EXPECT_EQ(destroy(id), 0);
	end_other(&o);
}

static void held_by_files(void)
{
	struct other o = start_other();
	int first = open_kfd(), second = open_kfd();

	EXPECT_EQ(batch_one(first, GP_KFD_OP_PREEMPT, o.pid, o.id), 1);
	EXPECT_EQ(batch_one(first, GP_KFD_OP_PREEMPT, o.pid, o.id), 1);
	EXPECT_EQ(batch_one(second, GP_KFD_OP_PREEMPT, o.pid, o.id), 1);
	EXPECT_EQ(state_of(o.pid, o.id).mapped, 0);
	/* A file releases only the queues that it holds. */
	EXPECT_EQ(batch_one(kfd, GP_KFD_OP_RESUME, o.pid, o.id), 1);
	EXPECT_EQ(state_of(o.pid, o.id).mapped, 0);
	EXPECT_EQ(batch_one(first, GP_KFD_OP_RESUME, o.pid, o.id), 1);
	EXPECT_EQ(state_of(o.pid, o.id).mapped, 0);
	expect_consistent();
	close(second);
	EXPECT_EQ(state_of(o.pid, o.id).mapped, 1);
	expect_consistent();
	/* A queue that is held may go. */
	EXPECT_EQ(batch_one(first, GP_KFD_OP_PREEMPT, o.pid, o.id), 1);
	end_other(&o);
	close(first);
	expect_consistent();
}

static int hold_and_die(struct other *o)
{
	int fd = open_kfd();

	return batch_one(fd, GP_KFD_OP_PREEMPT, o->pid, o->id) != 1 ||
	       state_of(o->pid, o->id).mapped;
}

static void holder_dies(void)
{
	struct other o = start_other();

	EXPECT_EQ(in_child(hold_and_die, &o), 0);
	EXPECT_EQ(state_of(o.pid, o.id).mapped, 1);
	expect_consistent();
	end_other(&o);
}

/* Not even to resume: a call takes the lock of its target. */
static int hold_as_nobody(struct other *o)
{
	int fd = open_kfd();

	if (setgid(NOBODY) || setuid(NOBODY))
		return 1;
	return batch_one(fd, GP_KFD_OP_PREEMPT, o->pid, o->id) != -EPERM ||
	       batch_one(fd, GP_KFD_OP_RESUME, o->pid, o->id) != -EPERM;
}

/* A file that holds may resume, also when its right is gone; another one of the process may not. */
static int hold_and_give_up(struct other *o)
{
	int fd = open_kfd(), second = open_kfd();

	if (batch_one(fd, GP_KFD_OP_PREEMPT, o->pid, o->id) != 1 || setgid(NOBODY) ||
	    setuid(NOBODY))
		return 1;
	return batch_one(fd, GP_KFD_OP_PREEMPT, o->pid, o->id) != -EPERM ||
	       batch_one(second, GP_KFD_OP_RESUME, o->pid, o->id) != -EPERM ||
	       batch_one(fd, GP_KFD_OP_RESUME, o->pid, o->id) != 1 ||
	       batch_one(fd, GP_KFD_OP_RESUME, o->pid, o->id) != -EPERM;
}

static int hold_as_tracer(struct other *o)
{
	int fd = open_kfd(), result;

	if (ptrace(PTRACE_SEIZE, o->pid, 0, 0) || setgid(NOBODY) || setuid(NOBODY))
		return 1;
	result = batch_one(fd, GP_KFD_OP_PREEMPT, o->pid, o->id);
	return result != 1;
}

static void holder_needs_the_right(void)
{
	struct other o = start_other();

	EXPECT_EQ(in_child(hold_as_nobody, &o), 0);
	EXPECT_EQ(in_child(hold_and_give_up, &o), 0);
	EXPECT_EQ(in_child(hold_as_tracer, &o), 0);
	EXPECT_EQ(state_of(o.pid, o.id).mapped, 1);
	end_other(&o);
}

static int use_inherited(struct other *o)
{
	(void)o;
	return resume(0) != -EBADF || preempt(0) != -EBADF ||
	       batch_one(kfd, GP_KFD_OP_RESUME, 0, 0) != -EBADF;
}

static void child_has_its_own_file(void)
{
	EXPECT_EQ(in_child(use_inherited, NULL), 0);
}

static void evicted(void)
{
	uint32_t id = create_queue();

	EXPECT_EQ(preempt(id), 0);
	control("evict %d", (int)getpid());
	EXPECT_EQ(resume(id), 0);
	EXPECT_EQ(mapped(id), 0);
	EXPECT_EQ(preempt(id), 0);
	control("restore %d", (int)getpid());
	EXPECT_EQ(mapped(id), 0);
	expect_consistent();
	EXPECT_EQ(resume(id), 0);
	EXPECT_EQ(mapped(id), 1);
	expect_consistent();
	EXPECT_EQ(destroy(id), 0);
}

static void updated(void)
{
	uint32_t id = create_queue();
	struct gp_kfd_update_queue args = {
		.ring_base_address = 0x1000,
		.queue_id = id,
		.ring_size = 4096,
		.queue_priority = 7,
	};

	EXPECT_EQ(preempt(id), 0);
	args.queue_percentage = 100;
	EXPECT_EQ(call(kfd, GP_KFD_UPDATE_QUEUE, &args), 0);
	EXPECT_EQ(mapped(id), 0);
	args.queue_percentage = 0;
	EXPECT_EQ(call(kfd, GP_KFD_UPDATE_QUEUE, &args), 0);
	EXPECT_EQ(resume(id), 0);
	EXPECT_EQ(mapped(id), 0);
	args.queue_percentage = 100;
	EXPECT_EQ(call(kfd, GP_KFD_UPDATE_QUEUE, &args), 0);
	EXPECT_EQ(mapped(id), 1);
	expect_consistent();
	EXPECT_EQ(destroy(id), 0);
}

/* A failure leaves the queue as it was, and is reported. */
static void hardware_fails(void)
{
	uint32_t id = create_queue();
	int resets = number("resets");

	control("fail_unmap 1");
	EXPECT(preempt(id) < 0);
	EXPECT_EQ(mapped(id), 1);
	expect_consistent();
	/* As when it fails for anybody else. */
	EXPECT_EQ(number("resets"), resets + (strcmp(scheduler, "nohws") ? 1 : 0));
	control("fail_unmap 1");
	EXPECT(batch_one(kfd, GP_KFD_OP_PREEMPT, 0, id) < 0);
	EXPECT_EQ(mapped(id), 1);
	expect_consistent();
	control("fail_unmap 0");
	EXPECT_EQ(preempt(id), 0);
	EXPECT_EQ(resume(id), 0);
	EXPECT_EQ(destroy(id), 0);
}

/*
 * Unmaps that take time
 */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* A batch is one run list, and whoever waits for it sleeps. */
static void unmaps_take_time(void)
{
	uint32_t ids[] = { create_queue(), create_queue() };
	bool has_runlist = !strcmp(scheduler, "hws");
	double begun, took;
	long slept;

	control("slow 2 %d", SLOW_MS);
	slept = sleeps();
	begun = seconds();
	EXPECT_EQ(batch(kfd, GP_KFD_OP_PREEMPT, 0, ids, 2), 2);
	took = seconds() - begun;
	slept = sleeps() - slept;
	EXPECT(took >= (has_runlist ? 1 : 2) * SLOW_MS / 1e3);
	if (has_runlist)
		EXPECT(slept >= SLEEPS);
	EXPECT_EQ(number("slow"), has_runlist);
	EXPECT_EQ(mapped(ids[0]) + mapped(ids[1]), 0);
	expect_consistent();
	EXPECT_EQ(batch(kfd, GP_KFD_OP_RESUME, 0, ids, 2), 2);
	EXPECT_EQ(mapped(ids[0]) + mapped(ids[1]), 2);
	expect_consistent();
	control("slow 0 0");
	EXPECT_EQ(destroy(ids[0]), 0);
	EXPECT_EQ(destroy(ids[1]), 0);
}

/* Returns when the next unmap that is slow has begun. */
static void wait_for_slow(void)
{
	while (number("slow"))
		usleep(1000);
}

static void program_dies_while_it_is_preempted(void)
{
	struct other o = start_other();
	pid_t killer = fork();

	if (!killer) {
		usleep(1000L * SLOW_MS / 2);
		_exit(kill(o.pid, SIGKILL) != 0);
	}
	control("slow 1 %d", SLOW_MS);
	EXPECT_EQ(batch_one(kfd, GP_KFD_OP_PREEMPT, o.pid, o.id), 1);
	end_other(&o);
	waitpid(killer, NULL, 0);
	expect_consistent();
}

/* The firmware answers when nobody waits any more: the queue is off, and a reset comes. */
static void unmap_ends_too_late(void)
{
	uint32_t id = create_queue();
	int resets = number("resets");

	control("slow 1 1000");
	EXPECT_EQ(preempt(id), -ETIME);
	EXPECT_EQ(state_of(getpid(), id).preempted, 0);
	EXPECT_EQ(mapped(id), 0);
	EXPECT_EQ(number("resets"), resets + 1);
	control("evict %d", (int)getpid());
	control("restore %d", (int)getpid());
	EXPECT_EQ(mapped(id), 1);
	expect_consistent();
	EXPECT_EQ(preempt(id), 0);
	EXPECT_EQ(resume(id), 0);
	EXPECT_EQ(mapped(id), 1);
	expect_consistent();
	EXPECT_EQ(destroy(id), 0);
}

/*
 * A machine that sleeps, and a GPU that is reset
 */

/* Whoever held a queue before still does. */
static void machine_sleeps(void)
{
	struct other o = start_other();
	uint32_t a = create_queue(), b = create_queue();
	int file = open_kfd();

	EXPECT_EQ(preempt(a), 0);
	EXPECT_EQ(batch_one(file, GP_KFD_OP_PREEMPT, o.pid, o.id), 1);
	control("suspend 1");
	EXPECT_EQ(mapped(a) + mapped(b) + state_of(o.pid, o.id).mapped, 0);
	EXPECT_EQ(open("/dev/kfd", O_RDWR | O_CLOEXEC), -1);
	EXPECT_EQ(resume(a), 0);
	EXPECT_EQ(preempt(b), 0);
	EXPECT_EQ(mapped(a), 0);
	control("suspend 0");
	EXPECT_EQ(mapped(a), 1);
	EXPECT_EQ(mapped(b), 0);
	EXPECT_EQ(state_of(o.pid, o.id).mapped, 0);
	expect_consistent();
	close(file);
	EXPECT_EQ(state_of(o.pid, o.id).mapped, 1);
	EXPECT_EQ(resume(b), 0);
	EXPECT_EQ(mapped(b), 1);
	expect_consistent();
	EXPECT_EQ(destroy(a), 0);
	EXPECT_EQ(destroy(b), 0);
	end_other(&o);
}

static int use_queue(struct other *o)
{
	uint32_t id;

	(void)o;
	kfd = open_kfd();
	id = create_queue();
	return !mapped(id) || preempt(id) || mapped(id) || resume(id) || !mapped(id) || destroy(id);
}

/* The programs of before have lost their memory, and the driver never runs them again. */
static void reset_with_holds(void)
{
	struct other o = start_other();
	/* Under MES the driver ends to evict a program's queues when one fails: the older one is
	 * last. */
	uint32_t b = create_queue(), a = create_queue();
	int file = open_kfd();

	EXPECT_EQ(preempt(a), 0);
	EXPECT_EQ(batch_one(file, GP_KFD_OP_PREEMPT, o.pid, o.id), 1);
	control("reset 1");
	EXPECT_EQ(mapped(a) + mapped(b) + state_of(o.pid, o.id).mapped, 0);
	EXPECT_EQ(open("/dev/kfd", O_RDWR | O_CLOEXEC), -1);
	EXPECT_EQ(resume(a), 0);
	EXPECT_EQ(preempt(b), 0);
	EXPECT_EQ(batch_one(file, GP_KFD_OP_RESUME, o.pid, o.id), 1);
	EXPECT_EQ(batch_one(file, GP_KFD_OP_PREEMPT, o.pid, o.id), 1);
	EXPECT_EQ(mapped(a) + mapped(b) + state_of(o.pid, o.id).mapped, 0);
	control("reset 0");
	EXPECT_EQ(mapped(a) + mapped(b) + state_of(o.pid, o.id).mapped, 0);
	expect_consistent();
	EXPECT_EQ(resume(b), 0);
	close(file);
	EXPECT_EQ(mapped(a) + mapped(b) + state_of(o.pid, o.id).mapped, 0);
	expect_consistent();
	EXPECT_EQ(in_child(use_queue, NULL), 0);
	EXPECT_EQ(destroy(a), 0);
	end_other(&o);
	expect_consistent();
}

static int preempt_slowly(struct other *o)
{
	uint32_t id;

	(void)o;
	kfd = open_kfd();
	id = create_queue();
	control("slow 1 %d", SLOW_MS);
	/* Linux 7.2 does not wait for the firmware when a reset has begun. */
	return preempt(id) > 0;
}

static void reset_while_one_is_preempted(void)
{
	int status;
	pid_t pid;

	control("slow 1 0");
	pid = fork();
	if (!pid)
		_exit(preempt_slowly(NULL));
	wait_for_slow();
	control("reset 1");
	control("reset 0");
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("child");
	EXPECT_EQ(status, 0);
	control("slow 0 0");
	EXPECT_EQ(in_child(use_queue, NULL), 0);
	expect_consistent();
}

/*
 * CREATE_QUEUE
 */

static void created_by_the_ioctl(void)
{
	struct gp_kfd_create_queue args = usual_queue();
	struct gp_kfd_update_queue update = {
		.ring_base_address = RING_ADDRESS,
		.ring_size = BUFFER_BYTES,
		.queue_percentage = 100,
		.queue_priority = 7,
	};
	int buffers = number("buffers");

	control("prepare %d", (int)getpid());
	args.logical_priority = 16;
	EXPECT_EQ(call(kfd, GP_KFD_CREATE_QUEUE, &args), 0);
	EXPECT_EQ(args.logical_priority, 16);
	EXPECT_EQ(priority_shown(args.queue_id), 15);
	EXPECT_EQ(mapped(args.queue_id), 1);
	EXPECT_EQ(number("buffers"), buffers + 4);
	EXPECT_EQ(preempt(args.queue_id), 0);
	update.queue_id = args.queue_id;
	EXPECT_EQ(call(kfd, GP_KFD_UPDATE_QUEUE, &update), 0);
	EXPECT_EQ(mapped(args.queue_id), 0);
	EXPECT_EQ(resume(args.queue_id), 0);
	EXPECT_EQ(mapped(args.queue_id), 1);
	EXPECT_EQ(preempt(args.queue_id), 0);
	EXPECT_EQ(destroy(args.queue_id), 0);
	EXPECT_EQ(number("buffers"), buffers);
	expect_consistent();
}

/* Its structure ends before the logical priority. */
static void created_by_an_older_program(void)
{
	size_t size = offsetof(struct gp_kfd_create_queue, logical_priority);
	unsigned long shorter = _IOC(_IOC_READ | _IOC_WRITE, GP_KFD_MAGIC, 0x02, size);
	struct gp_kfd_create_queue args = usual_queue();

	args.logical_priority = 16;
	EXPECT_EQ(call(kfd, shorter, &args), 0);
	EXPECT_EQ(args.logical_priority, 16);
	EXPECT_EQ(priority_shown(args.queue_id), -1);
	EXPECT_EQ(destroy(args.queue_id), 0);
}

static int create_as_nobody(struct other *o)
{
	struct gp_kfd_create_queue plain = usual_queue(), split = plain;

	(void)o;
	kfd = open_kfd();
	control("prepare %d", (int)getpid());
	if (setgid(NOBODY) || setuid(NOBODY))
		return 1;
	plain.logical_priority = 16;
	split.logical_priority = 16 | GP_KFD_PRIORITY_SPLIT;
	return call(kfd, GP_KFD_CREATE_QUEUE, &plain) || plain.logical_priority != 8 ||
	       priority_shown(plain.queue_id) != 7 || call(kfd, GP_KFD_CREATE_QUEUE, &split) ||
	       split.logical_priority != (8 | GP_KFD_PRIORITY_SPLIT) ||
	       priority_shown(split.queue_id) != 7;
}

static void urgent_queue_takes_a_right(void)
{
	EXPECT_EQ(in_child(create_as_nobody, NULL), 0);
}

static void expect_not_created(struct gp_kfd_create_queue args, int error)
{
	struct look before, now;

	look(&before);
	EXPECT_EQ(call(kfd, GP_KFD_CREATE_QUEUE, &args), error);
	look(&now);
	EXPECT_EQ(number_in(&now, "buffers"), number_in(&before, "buffers"));
	EXPECT(!strstr(now.text, "queue "));
}

static void not_created(void)
{
	struct gp_kfd_create_queue args = usual_queue();

	args.gpu_id ^= 0x5555;
	expect_not_created(args, -EINVAL);
	args = usual_queue();
	args.ring_size *= 2;
	expect_not_created(args, -EINVAL);
	args = usual_queue();
	args.write_pointer_address = SAVE_ADDRESS + 16 * BUFFER_BYTES;
	expect_not_created(args, -EINVAL);
	args = usual_queue();
	args.ctx_save_restore_size /= 2;
	expect_not_created(args, -EINVAL);
	args = usual_queue();
	control("fail_map 1");
	expect_not_created(args, strcmp(scheduler, "hws") ? -ETIME : -ENOMEM);
	EXPECT_EQ(call(kfd, GP_KFD_CREATE_QUEUE, &args), 0);
	EXPECT_EQ(mapped(args.queue_id), 1);
	expect_consistent();
	EXPECT_EQ(destroy(args.queue_id), 0);
}

/* Each needs its own part of the area where waves are saved. */
static void created_on_several_xccs(void)
{
	struct gp_kfd_create_queue args = usual_queue();

	control("xccs 4");
	control("prepare %d", (int)getpid());
	EXPECT_EQ(call(kfd, GP_KFD_CREATE_QUEUE, &args), 0);
	EXPECT_EQ(preempt(args.queue_id), 0);
	EXPECT_EQ(mapped(args.queue_id), 0);
	EXPECT_EQ(resume(args.queue_id), 0);
	EXPECT_EQ(mapped(args.queue_id), 1);
	expect_consistent();
	EXPECT_EQ(destroy(args.queue_id), 0);
	args.ctx_save_restore_size *= 2;
	expect_not_created(args, -EINVAL);
	control("xccs 1");
}

/*
 * A debugger
 */

static int debug(uint32_t op, struct gp_kfd_dbg_trap *args)
{
	args->pid = (uint32_t)getpid();
	args->op = op;
	return call(kfd, GP_KFD_DBG_TRAP, args);
}

static int suspend_or_resume(bool suspend, uint32_t id)
{
	struct gp_kfd_dbg_trap args = { 0 };

	if (suspend) {
		args.suspend_queues.queue_array_ptr = (uintptr_t)&id;
		args.suspend_queues.num_queues = 1;
		return debug(GP_KFD_DBG_SUSPEND_QUEUES, &args);
	}
	args.resume_queues.queue_array_ptr = (uintptr_t)&id;
	args.resume_queues.num_queues = 1;
	return debug(GP_KFD_DBG_RESUME_QUEUES, &args);
}

static void start_debugging(int wake)
{
	struct gp_kfd_runtime_info info;
	struct gp_kfd_runtime_enable runtime = { .mode_mask = GP_KFD_RUNTIME_ENABLE_MODE };
	struct gp_kfd_dbg_trap args = { 0 };

	EXPECT_EQ(call(kfd, GP_KFD_RUNTIME_ENABLE, &runtime), 0);
	args.enable.rinfo_ptr = (uintptr_t)&info;
	args.enable.rinfo_size = sizeof(info);
	args.enable.dbg_fd = (uint32_t)wake;
	EXPECT_EQ(debug(GP_KFD_DBG_ENABLE, &args), 0);
}

/* A queue that is new is not suspended: it is not, once somebody has looked. */
static void look_at_queues(void)
{
	struct gp_kfd_queue_snapshot entries[RANDOM_QUEUES];
	struct gp_kfd_dbg_trap args = { 0 };

	args.snapshot.exception_mask = GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW);
	args.snapshot.snapshot_buf_ptr = (uintptr_t)entries;
	args.snapshot.num_entries = RANDOM_QUEUES;
	args.snapshot.entry_size = sizeof(entries[0]);
	EXPECT_EQ(debug(GP_KFD_DBG_GET_QUEUE_SNAPSHOT, &args), 0);
}

static void stop_debugging(void)
{
	struct gp_kfd_runtime_enable runtime = { 0 };
	struct gp_kfd_dbg_trap args = { 0 };

	EXPECT_EQ(debug(GP_KFD_DBG_DISABLE, &args), 0);
	EXPECT_EQ(call(kfd, GP_KFD_RUNTIME_ENABLE, &runtime), 0);
}

static void suspended(void)
{
	int wake[2];
	uint32_t id;

	if (pipe2(wake, O_CLOEXEC))
		die("pipe");
	start_debugging(wake[1]);
	id = create_queue();
	look_at_queues();
	EXPECT_EQ(suspend_or_resume(true, id), 1);
	EXPECT_EQ(preempt(id), 0);
	EXPECT_EQ(state_of(getpid(), id).suspended, 1);
	EXPECT_EQ(suspend_or_resume(false, id), 1);
	EXPECT_EQ(mapped(id), 0);
	EXPECT_EQ(suspend_or_resume(true, id), 1);
	EXPECT_EQ(resume(id), 0);
	EXPECT_EQ(mapped(id), 0);
	expect_consistent();
	EXPECT_EQ(suspend_or_resume(false, id), 1);
	EXPECT_EQ(mapped(id), 1);
	expect_consistent();
	EXPECT_EQ(destroy(id), 0);
	stop_debugging();
	close(wake[0]);
	close(wake[1]);
}

/*
 * A queue that hangs
 */

static uint32_t series_ids[SERIES_QUEUES];

/* The next run list finds that it hangs. */
static void hang(uint32_t id)
{
	control("hang %d %u", (int)getpid(), id);
	EXPECT_EQ(preempt(series_ids[SERIES_A]), 0);
	EXPECT_EQ(resume(series_ids[SERIES_A]), 0);
	EXPECT_EQ(mapped(id), 0);
}

static int series_call(const struct series_step *s, uint32_t *ids)
{
	uint32_t first = series_ids[s->ids[0].queue];

	switch (s->op) {
	case SERIES_OP_HANG:
		hang(first);
		return 0;
	case SERIES_OP_ALIAS_PREEMPT:
		return preempt(first);
	case SERIES_OP_ALIAS_RESUME:
		return resume(first);
	default:
		return batch(kfd, s->op, s->by_file ? getpid() : 0, ids, s->nr);
	}
}

static void series_step(const struct series_step *s)
{
	uint32_t ids[SERIES_NAMES_MAX];

	for (uint32_t i = 0; i < s->nr; i++)
		ids[i] = series_ids[s->ids[i].queue] | s->ids[i].before;
	expect_eq(series_call(s, ids), s->result, s->name, __LINE__);
	for (uint32_t i = 0; i < s->nr; i++)
		expect_eq(ids[i], series_ids[s->ids[i].queue] | s->ids[i].after, s->name, __LINE__);
}

/* The driver remembers of a process that it had a queue that was reset. */
static void in_own_process(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		failures = 0;
		kfd = open_kfd();
		body();
		fflush(stdout);
		_exit(failures ? 1 : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("child");
	EXPECT_EQ(status, 0);
}

static void call_series(void)
{
	for (int i = SERIES_A; i < SERIES_NONE; i++)
		series_ids[i] = create_queue();
	series_ids[SERIES_NONE] = 1000;
	for (size_t i = 0; i < SERIES_STEPS; i++)
		series_step(&series_steps[i]);
	expect_consistent();
	for (int i = SERIES_A; i < SERIES_NONE; i++)
		EXPECT_EQ(destroy(series_ids[i]), 0);
}

/* The emulated machine has the same list. */
static void answers_about_each_queue(void)
{
	in_own_process(call_series);
}

static void reset_queue(void)
{
	int wake[2], resets = number("resets");
	uint32_t id;

	if (pipe2(wake, O_CLOEXEC))
		die("pipe");
	start_debugging(wake[1]);
	series_ids[SERIES_A] = create_queue();
	id = create_queue();
	look_at_queues();
	hang(id);
	EXPECT_EQ(number("resets"), resets);
	control("evict %d", (int)getpid());
	control("restore %d", (int)getpid());
	EXPECT_EQ(mapped(id), 0);
	expect_consistent();
	EXPECT_EQ(suspend_or_resume(true, id), 1);
	EXPECT_EQ(suspend_or_resume(false, id), 1);
	EXPECT_EQ(mapped(id), 0);
	expect_consistent();
	EXPECT_EQ(mapped(series_ids[SERIES_A]), 1);
	expect_consistent();
	EXPECT_EQ(destroy(id), 0);
	EXPECT_EQ(destroy(series_ids[SERIES_A]), 0);
	stop_debugging();
	close(wake[0]);
	close(wake[1]);
}

static void reset_queue_of_another_xcc(void)
{
	uint32_t id;

	series_ids[SERIES_A] = create_queue();
	id = create_queue();
	control("hang %d %u 3", (int)getpid(), id);
	EXPECT_EQ(preempt(series_ids[SERIES_A]), 0);
	EXPECT_EQ(mapped(id), 0);
	EXPECT_EQ(preempt(id), -EACCES);
	EXPECT_EQ(resume(series_ids[SERIES_A]), 0);
	EXPECT_EQ(mapped(id), 0);
	expect_consistent();
	EXPECT_EQ(destroy(id), 0);
	EXPECT_EQ(destroy(series_ids[SERIES_A]), 0);
}

static void one_that_hangs_on_another_xcc(void)
{
	int resets = number("resets");

	control("xccs 4");
	in_own_process(reset_queue_of_another_xcc);
	EXPECT_EQ(number("resets"), resets);
	control("xccs 1");
}

/* Neither an eviction that ends nor a debugger starts it again. */
static void one_that_was_reset_stays_off(void)
{
	in_own_process(reset_queue);
}

/*
 * Anything after anything
 */

struct model {
	uint32_t id;
	bool exists, own, held, suspended;
};

static bool can_debug(void)
{
	return strcmp(scheduler, "nohws");
}

static void random_queue_step(struct model *m, unsigned int what)
{
	switch (what) {
	case 0:
		EXPECT_EQ(preempt(m->id), m->own ? -EALREADY : 0);
		m->own = true;
		break;
	case 1:
		EXPECT_EQ(resume(m->id), m->own ? 0 : -EINVAL);
		m->own = false;
		break;
	case 2:
		EXPECT_EQ(batch_one(kfd, GP_KFD_OP_PREEMPT, 0, m->id), 1);
		m->own = true;
		break;
	case 3:
		EXPECT_EQ(batch_one(kfd, GP_KFD_OP_RESUME, 0, m->id), 1);
		m->own = false;
		break;
	case 4:
	case 5:
		if (!can_debug())
			break;
		EXPECT_EQ(suspend_or_resume(what == 4, m->id), 1);
		m->suspended = what == 4;
		break;
	case 6:
		if (m->suspended) /* would wait for the debugger, which this is */
			break;
		EXPECT_EQ(destroy(m->id), 0);
		m->exists = false;
		break;
	}
}

static void check_model(const struct look *now, const struct model *m, bool is_evicted)
{
	struct state s = state_in(now, getpid(), m->id);

	EXPECT_EQ(s.exists, m->exists);
	EXPECT_EQ(s.preempted, m->own || m->held);
	EXPECT_EQ(s.suspended, m->suspended);
	EXPECT_EQ(s.evicted, is_evicted);
	EXPECT_EQ(s.mapped, !m->own && !m->held && !m->suspended && !is_evicted);
}

/* Orders to another process: to hold a queue, to resume it, or to close its file. */
struct order {
	char what; /* 'h', 'r', 'c' */
	uint32_t id;
};

static void serve_holds(int in, int out, pid_t of)
{
	int fd = open_kfd(), result;
	struct order o;

	while (read(in, &o, sizeof(o)) == sizeof(o)) {
		if (o.what == 'h') {
			result = batch_one(fd, GP_KFD_OP_PREEMPT, of, o.id);
		} else if (o.what == 'r') {
			result = batch_one(fd, GP_KFD_OP_RESUME, of, o.id);
		} else {
			close(fd);
			fd = open_kfd();
			result = 1;
		}
		if (write(out, &result, sizeof(result)) != sizeof(result))
			break;
	}
	_exit(0);
}

struct holder {
	pid_t pid;
	int orders, answers;
};

static struct holder start_holder(void)
{
	int orders[2], answers[2];
	pid_t of = getpid();
	struct holder h;

	if (pipe2(orders, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		die("pipe");
	h.pid = fork();
	if (!h.pid) {
		close(orders[1]);
		serve_holds(orders[0], answers[1], of);
	}
	if (h.pid < 0)
		die("fork");
	close(orders[0]);
	close(answers[1]);
	h.orders = orders[1];
	h.answers = answers[0];
	return h;
}

static int order(const struct holder *h, char what, uint32_t id)
{
	struct order o = { .what = what, .id = id };
	int result = -1;

	if (write(h->orders, &o, sizeof(o)) != sizeof(o) ||
	    read(h->answers, &result, sizeof(result)) != sizeof(result))
		die("holder");
	return result;
}

static void random_step(struct model *queues, const struct holder *h, bool *is_evicted)
{
	struct model *m = &queues[(unsigned int)rand() % RANDOM_QUEUES];
	unsigned int what = (unsigned int)rand() % 12;
	struct look now;

	if (what == 10) {
		control(*is_evicted ? "restore %d" : "evict %d", (int)getpid());
		*is_evicted = !*is_evicted;
	} else if (what == 11) {
		EXPECT_EQ(order(h, 'c', 0), 1);
		for (int i = 0; i < RANDOM_QUEUES; i++)
			queues[i].held = false;
	} else if (!m->exists) {
		m->id = create_queue();
		m->exists = true;
		m->own = m->held = m->suspended = false;
		if (can_debug())
			look_at_queues();
	} else if (what >= 7) {
		m->held = what != 9;
		EXPECT_EQ(order(h, m->held ? 'h' : 'r', m->id), 1);
	} else {
		random_queue_step(m, what);
	}
	look(&now);
	for (int i = 0; i < RANDOM_QUEUES; i++)
		if (queues[i].exists)
			check_model(&now, &queues[i], *is_evicted);
	EXPECT_EQ(number_in(&now, "consistent"), 1);
}

static int nr_steps = DEFAULT_STEPS;

/* Under MES a queue and its process need memory of the GPU's, for which there is no manager. */
static bool can_create(void)
{
	return strcmp(scheduler, "mes");
}

static void anything_after_anything(void)
{
	struct model queues[RANDOM_QUEUES] = { 0 };
	struct holder h = start_holder();
	bool is_evicted = false;
	int wake[2];

	if (pipe2(wake, O_CLOEXEC))
		die("pipe");
	if (can_debug())
		start_debugging(wake[1]);
	srand(1);
	for (int i = 0; i < nr_steps && !failures; i++)
		random_step(queues, &h, &is_evicted);
	if (is_evicted)
		control("restore %d", (int)getpid());
	for (int i = 0; i < RANDOM_QUEUES; i++)
		if (queues[i].suspended)
			EXPECT_EQ(suspend_or_resume(false, queues[i].id), 1);
	for (int i = 0; i < RANDOM_QUEUES; i++)
		if (queues[i].exists)
			EXPECT_EQ(destroy(queues[i].id), 0);
	if (can_debug())
		stop_debugging();
	close(h.orders);
	waitpid(h.pid, NULL, 0);
	close(h.answers);
	close(wake[0]);
	close(wake[1]);
	expect_consistent();
}

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: preempt hws|mes|nohws [STEPS]\n");
		return 2;
	}
	scheduler = argv[1];
	current_case = "start";
	if (argc == 3)
		nr_steps = atoi(argv[2]);
	control("present 1");
	kfd = open_kfd();
	have_aliases(false);
	RUN(query);
	RUN(other_sizes);
	RUN(numbers_that_are_none);
	if (can_create()) {
		RUN(created_on_several_xccs);
		RUN(created_by_the_ioctl);
		RUN(created_by_an_older_program);
		RUN(urgent_queue_takes_a_right);
		RUN(not_created);
	}
	RUN(one_queue);
	RUN(refusals);
	RUN(every_type);
	RUN(destroyed_while_preempted);
	RUN(several);
	RUN(what_is_not_used_is_zero);
	RUN(refusals_of_several);
	RUN(targets_that_are_none);
	RUN(holds_are_limited);
	RUN(holds_of_a_user_are_limited);
	RUN(priorities_are_changed);
	RUN(held_by_files);
	RUN(holder_dies);
	RUN(holder_needs_the_right);
	RUN(child_has_its_own_file);
	RUN(evicted);
	RUN(updated);
	RUN(hardware_fails);
	RUN(unmaps_take_time);
	RUN(program_dies_while_it_is_preempted);
	if (!strcmp(scheduler, "hws"))
		RUN(unmap_ends_too_late);
	RUN(machine_sleeps);
	if (can_debug())
		RUN(suspended);
	/* Only the firmware's scheduler has a way to reset a single queue. */
	if (!strcmp(scheduler, "hws")) {
		RUN(answers_about_each_queue);
		RUN(one_that_was_reset_stays_off);
		RUN(one_that_hangs_on_another_xcc);
	}
	RUN(anything_after_anything);
	/* The queues of this program never run again. */
	RUN(reset_with_holds);
	/* Without firmware the driver cannot end a program while its GPU is stopped. */
	if (strcmp(scheduler, "nohws"))
		RUN(reset_while_one_is_preempted);
	/* Programs that come later see the kernel as it is by default. */
	have_aliases(false);
	control("present 0");
	return failures ? 1 : 0;
}
