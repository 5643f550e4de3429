// SPDX-License-Identifier: MIT
/*
 * The ioctls of gpreempt's kernel series. A single queue of our own has its own call; several
 * queues, or those of another process, go in a batch.
 *
 * Holds of own queues end with the process, those of others with the open file, which is the
 * caller's. So the control remembers which holds to release when it is closed.
 */
#include "device/kfd/way.h"

static bool can(enum gp__kfd_verb verb)
{
	return verb < GP__KFD_VERBS;
}

static int open_preempt(struct gp__kfd_control *c)
{
	const uint32_t others = GP_KFD_FEATURE_BATCH | GP_KFD_FEATURE_TARGET_PID;
	int err = gp__kfd_call(c, GP_KFD_PREEMPT_QUERY, &c->series);

	if (err)
		return err;
	if (!c->series.version)
		return -ENOTTY;
	return c->pid && (c->series.features & others) != others ? -EOPNOTSUPP : 0;
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

static int batch(const struct gp__kfd_control *c, enum gp__kfd_verb verb, uint32_t *ids, size_t n)
{
	struct gp_kfd_preempt_batch args = {
		.queue_array_ptr = (uint64_t)ids,
		.num_queues = (uint32_t)n,
		.op = verb == GP__KFD_RELEASE ? GP_KFD_BATCH_RESUME : GP_KFD_BATCH_PREEMPT,
		.pid = (uint32_t)c->pid,
		.preempt_type = type_of(verb),
	};

	return gp__kfd_call(c, GP_KFD_PREEMPT_BATCH, &args);
}

static int preempt_one(const struct gp__kfd_control *c, enum gp__kfd_verb verb, uint32_t id)
{
	struct gp_kfd_preempt_queue args = { .queue_id = id, .preempt_type = type_of(verb) };
	int err = gp__kfd_call(c, GP_KFD_PREEMPT_QUEUE, &args);

	return err == -EALREADY ? 0 : err;
}

/* The driver refuses to resume a running queue with the same error as an unknown one; a batch tells
 * them apart. */
static int resume_one(const struct gp__kfd_control *c, uint32_t id)
{
	struct gp_kfd_resume_queue args = { .queue_id = id };
	int err = gp__kfd_call(c, GP_KFD_RESUME_QUEUE, &args);

	if (err != -EINVAL || batch(c, GP__KFD_RELEASE, &id, 1) < 0)
		return err;
	return id & GP_KFD_QUEUE_INVALID ? -EINVAL : 0;
}

static void set_one(struct gp__kfd_control *c, enum gp__kfd_verb verb, struct gp__kfd_target *t)
{
	if (verb == GP__KFD_RELEASE)
		t->result = resume_one(c, t->queue->id);
	else
		t->result = preempt_one(c, verb, t->queue->id);
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
	size_t nr = gp__kfd_write_ids(t, n, ids);
	int done;

	if (!c->pid && (nr == 1 || !(c->series.features & GP_KFD_FEATURE_BATCH))) {
		for (size_t i = 0; i < n; i++) {
			if (t[i].result == GP__KFD_PENDING)
				set_one(c, verb, &t[i]);
		}
		return;
	}
	done = batch(c, verb, ids, nr);
	if (done < 0)
		gp__kfd_set_results(t, n, done);
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
		batch(c, GP__KFD_RELEASE, ids, n);
}

const struct gp__kfd_way_ops gp__kfd_way_preempt = {
	.name = "preempt",
	.can = can,
	.open = open_preempt,
	.close = close_preempt,
	.set = set,
};
