// SPDX-License-Identifier: MIT
/*
 * The ioctl of gpreempt's kernel series, for our own queues or those of another process.
 *
 * Holds of own queues end with the process, those of others with the open file, which is the
 * caller's. So the control remembers which holds to release when it is closed.
 *
 * Without CAP_SYS_ADMIN the caller must trace the other process. It is traced only for the call
 * that holds: a file that holds queues may release them.
 */
#include "device/kfd/way.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool can(enum gp__kfd_verb verb)
{
	return verb < GP__KFD_VERBS;
}

int gp__kfd_query_series(gp__kfd_ioctl_fn next, int kfd, uint32_t gpu_id,
			 struct gp_kfd_preempt_query *series)
{
	const struct gp__kfd_control c = { .next = next, .kfd = kfd };
	struct gp_kfd_preempt args = { .op = GP_KFD_OP_QUERY, .query.gpu_id = gpu_id };
	int err = gp__kfd_call(&c, GP_KFD_PREEMPT, &args);

	memset(series, 0, sizeof(*series));
	if (err)
		return err < 0 ? err : -ENOTTY;
	/* Another driver may have something else at this number. */
	if (args.query.magic != GP_KFD_PREEMPT_MAGIC || !args.query.version)
		return -ENOTTY;
	*series = args.query;
	return 0;
}

static int open_target(struct gp__kfd_control *c)
{
	if (!(c->series.features & GP_KFD_FEATURE_TARGET))
		return -EOPNOTSUPP;
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return c->pidfd < 0 ? -errno : 0;
}

static int open_preempt(struct gp__kfd_control *c)
{
	int err = gp__kfd_query_series(c->next, c->kfd, 0, &c->series);

	return err || !c->pid ? err : open_target(c);
}

static uint32_t type_of(enum gp__kfd_verb verb)
{
	static const uint32_t types[GP__KFD_VERBS] = {
		[GP__KFD_SAVE] = GP_KFD_PREEMPT_SAVE,
		[GP__KFD_DRAIN] = GP_KFD_PREEMPT_DRAIN,
		[GP__KFD_RESET] = GP_KFD_PREEMPT_RESET,
	};

	return types[verb];
}

static int call(const struct gp__kfd_control *c, enum gp__kfd_verb verb, uint32_t *ids, size_t n)
{
	bool release = verb == GP__KFD_RELEASE;
	struct gp_kfd_preempt args = {
		.op = release ? GP_KFD_OP_RESUME : GP_KFD_OP_PREEMPT,
		.flags = c->pid ? GP_KFD_PREEMPT_TARGET : 0,
		.pidfd = c->pid ? c->pidfd : 0,
		.queues = {
			.queue_array_ptr = (uint64_t)ids,
			.num_queues = (uint32_t)n,
			.type = release ? 0 : type_of(verb),
		},
	};
	int done = gp__kfd_call(c, GP_KFD_PREEMPT, &args);

	if (done == -EPERM && c->pid && !gp__kfd_trace(c)) {
		done = gp__kfd_call(c, GP_KFD_PREEMPT, &args);
		gp__kfd_end_trace(c);
	}
	return done;
}

/* No queue is as asked. The driver marks those that do not exist; the others failed for @err. */
static void read_failure(struct gp__kfd_target *t, size_t n, const uint32_t *ids, int err)
{
	for (size_t i = 0; i < n; i++) {
		if (t[i].result == GP__KFD_PENDING)
			t[i].result = *ids++ & GP_KFD_QUEUE_INVALID ? -EINVAL : err;
	}
}

static void remember(struct gp__kfd_control *c, enum gp__kfd_verb verb,
		     const struct gp__kfd_target *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t id = t[i].queue->id;

		if (t[i].result)
			continue;
		if (verb == GP__KFD_RELEASE)
			c->held[id / 64] &= ~(1ull << id % 64);
		else
			c->held[id / 64] |= 1ull << id % 64;
	}
}

static void set(struct gp__kfd_control *c, enum gp__kfd_verb verb, struct gp__kfd_target *t,
		size_t n)
{
	uint32_t ids[GP__KFD_QUEUES_MAX];
	int done = call(c, verb, ids, gp__kfd_write_ids(t, n, ids));

	if (done < 0)
		read_failure(t, n, ids, done);
	else
		gp__kfd_read_ids(t, n, ids);
	if (c->pid)
		remember(c, verb, t, n);
}

static void close_preempt(struct gp__kfd_control *c)
{
	uint32_t ids[GP__KFD_QUEUES_MAX];
	size_t n = 0;

	for (uint32_t id = 0; id < GP__KFD_QUEUES_MAX; id++) {
		if (c->held[id / 64] >> id % 64 & 1)
			ids[n++] = id;
	}
	if (n)
		call(c, GP__KFD_RELEASE, ids, n);
	if (c->pid)
		close(c->pidfd);
}

const struct gp__kfd_way_ops gp__kfd_way_preempt = {
	.name = "preempt",
	.can = can,
	.open = open_preempt,
	.close = close_preempt,
	.set = set,
};
