// SPDX-License-Identifier: MIT
/*
 * Queues of the public API: the three levels on a queue of the driver.
 *
 * Commands are numbered in the order launched. Each has a signal and a copy of its packet in the
 * slot of its number until its end was seen. So a flushed queue can be refilled without reading the
 * program's memory, and a signal is not reused while the GPU may write it. Only the signals say
 * what has ended. The read index says which slots of the ring are free: GPUs move it when a packet
 * begins, or some time after it has ended.
 *
 * gp_queue serialises launches and verbs. Syncs run beside them, one at a time and in order; the
 * two share @seen and @error.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/api.h"
#include "device/kfd/can.h"
#include "device/kfd/gpu.h"
#include "device/kfd/wait.h"

#define DEPTH_DEFAULT 2048u
#define DEPTH_MIN 64u
#define DEPTH_MAX 65536u
#define GROUP_ITEMS_MAX 1024u
#define LDS_BYTES_MAX 65536u
#define DESCRIPTOR_LDS 0

struct gp_kfd_queue {
	struct gp_kfd *gpu;
	struct gp_device_ops ops;
	struct gp__kfd_queue hw;
	struct gp__kfd_queue_info info;
	struct gp__kfd_waiter waiter;
	struct gp__kfd_memory signals;
	struct gp__kfd_packet *packets;
	uint32_t depth; /* slots; the ring has room for twice as many packets */

	uint64_t launched;
	_Atomic uint64_t seen; /* commands that were seen to end; at most launched */
	_Atomic int error; /* no command ends any more */

	struct gp__kfd_control *save; /* level 3; NULL: none */
	struct gp__kfd_control *drain, *reset; /* level 2 */
	bool inactive; /* by level 2 */
	enum gp_kfd_level2 level2;
	_Atomic uint64_t flushes, repeated;
};

static struct gp__kfd_signal *signal_of(const struct gp_kfd_queue *q, uint64_t number)
{
	return (struct gp__kfd_signal *)q->signals.at + number % q->depth;
}

static struct gp__kfd_packet *packet_of(const struct gp_kfd_queue *q, uint64_t number)
{
	return &q->packets[number % q->depth];
}

/*
 * Level 1
 */

static uint32_t or_one(uint32_t n)
{
	return n ? n : 1;
}

static bool is_sound(const struct gp_kfd_command *c)
{
	uint64_t items = 1;

	for (int i = 0; i < 3; i++) {
		if (c->group[i] > GROUP_ITEMS_MAX)
			return false;
		items *= or_one(c->group[i]);
	}
	return c->grid[0] && c->group[0] && items <= GROUP_ITEMS_MAX &&
	       c->lds_bytes <= LDS_BYTES_MAX;
}

/* @c is a kernel's. */
static uint32_t lds_of(const struct gp_kfd_command *c)
{
	uint32_t own;

	memcpy(&own, (const char *)c->kernel + DESCRIPTOR_LDS, sizeof(own));
	return own + c->lds_bytes;
}

static struct gp__kfd_packet pack(const struct gp_kfd_command *c, struct gp__kfd_signal *s)
{
	const struct gp__kfd_dispatch d = {
		.kernel = c->kernel,
		.kernarg = c->kernarg,
		.grid = c->grid[0],
		.grid_y = c->grid[1],
		.grid_z = c->grid[2],
		.group = (uint16_t)c->group[0],
		.group_y = (uint16_t)c->group[1],
		.group_z = (uint16_t)c->group[2],
		.lds_bytes = lds_of(c),
		.in_order = true,
	};

	return gp__kfd_pack_dispatch(&d, s);
}

static int nlaunch(void *hwq, void *cmd)
{
	struct gp_kfd_queue *q = hwq;
	struct gp_kfd_command *theirs = cmd, c;
	uint64_t number = q->launched;
	struct gp__kfd_signal *s = signal_of(q, number);
	int rc = gp__struct_in(&c, sizeof(c), theirs);

	if (rc)
		return rc;
	if (c.reserved || (c.kernel && (!is_sound(&c) || lds_of(&c) > LDS_BYTES_MAX)))
		return -EINVAL;
	if (number - atomic_load(&q->seen) >= q->depth ||
	    gp__kfd_queue_pending(&q->hw) >= q->hw.nr_packets)
		return -EAGAIN;
	rc = atomic_load(&q->error);
	if (rc)
		return rc;
	s->start = s->end = 0;
	atomic_store(&s->value, 1);
	*packet_of(q, number) = c.kernel ? pack(&c, s) : gp__kfd_pack_barrier(s);
	theirs->number = number;
	q->launched++;
	gp__kfd_put(&q->hw, packet_of(q, number));
	gp__kfd_ring(&q->hw);
	return 0;
}

static int sync_command(void *hwq, void *cmd)
{
	struct gp_kfd_queue *q = hwq;
	struct gp_kfd_command *c = cmd;
	uint64_t number = c->number;
	struct gp__kfd_signal *s = signal_of(q, number);
	int rc = atomic_load(&q->error);

	if (!rc)
		rc = gp__kfd_wait(&q->waiter, s, q->hw.errors);
	if (rc) {
		atomic_store(&q->error, rc);
	} else {
		c->start_ns = gp__kfd_gpu_ns(q->gpu, s->start);
		c->end_ns = gp__kfd_gpu_ns(q->gpu, s->end);
	}
	/* From here on the slot is free. */
	atomic_store(&q->seen, number + 1);
	return rc;
}

/* The number of the first command that has not ended. */
static uint64_t first_open(struct gp_kfd_queue *q)
{
	uint64_t number = atomic_load(&q->seen);

	while (number < q->launched && atomic_load(&signal_of(q, number)->value) < 1)
		number++;
	return number;
}

/*
 * Level 2 holds a queue between workgroups: one command may have begun, and the rest of it waits
 * like the commands behind it.
 */
static int64_t pending(void *hwq)
{
	struct gp_kfd_queue *q = hwq;

	uint64_t open = q->launched - first_open(q), in_ring = gp__kfd_queue_pending(&q->hw);

	return (int64_t)(q->inactive || open < in_ring ? open : in_ring);
}

/*
 * Level 3, and level 2 by draining, both by the driver
 */

static int set(struct gp_kfd_queue *q, struct gp__kfd_control *c, enum gp__kfd_verb verb)
{
	struct gp__kfd_target t = { .queue = &q->info };

	gp__kfd_control(c, verb, &t, 1);
	return t.result;
}

static int interrupt(void *hwq)
{
	struct gp_kfd_queue *q = hwq;

	return set(q, q->save, GP__KFD_SAVE);
}

static int restore(void *hwq)
{
	struct gp_kfd_queue *q = hwq;

	return set(q, q->save, GP__KFD_RELEASE);
}

static int drain(void *hwq)
{
	struct gp_kfd_queue *q = hwq;

	/* Without CWSR the driver drains a queue before it takes it off the GPU. */
	int rc = set(q, q->drain, q->gpu->cwsr ? GP__KFD_DRAIN : GP__KFD_SAVE);

	q->inactive |= !rc;
	return rc;
}

static int undrain(void *hwq)
{
	struct gp_kfd_queue *q = hwq;

	int rc = set(q, q->drain, GP__KFD_RELEASE);

	q->inactive &= rc != 0;
	return rc;
}

/*
 * Level 2 by flushing
 */

/* Puts the commands that have not ended behind all that is in the ring, in order. The GPU has
 * nothing of the queue. */
static void refill(struct gp_kfd_queue *q)
{
	uint64_t number = first_open(q);

	gp__kfd_annul(&q->hw);
	for (; number < q->launched; number++) {
		gp__kfd_put(&q->hw, packet_of(q, number));
		atomic_fetch_add(&q->repeated, 1);
	}
}

/* Whether all commands that can be in flight fit behind what is in the ring. */
static bool has_room(const struct gp_kfd_queue *q)
{
	return gp__kfd_queue_pending(&q->hw) + q->depth <= q->hw.nr_packets;
}

/* A queue that is created again has an empty ring. */
static int flush(void *hwq)
{
	struct gp_kfd_queue *q = hwq;
	int rc;

	if (q->reset && has_room(q))
		rc = set(q, q->reset, GP__KFD_RESET);
	else
		rc = gp__kfd_queue_drop(&q->hw);
	if (rc)
		return rc;
	q->inactive = true;
	atomic_fetch_add(&q->flushes, 1);
	refill(q);
	return 0;
}

static int unflush(void *hwq)
{
	struct gp_kfd_queue *q = hwq;
	int rc;

	if (q->hw.dropped)
		rc = gp__kfd_queue_revive(&q->hw);
	else
		rc = set(q, q->reset, GP__KFD_RELEASE);
	if (rc)
		return rc;
	q->inactive = false;
	q->info = gp__kfd_queue_info(&q->hw);
	if (gp__kfd_queue_pending(&q->hw))
		gp__kfd_ring(&q->hw);
	return 0;
}

/*
 * The levels that the queue offers. gp_queue picks the effective one among them (queue/level.h).
 */

/* Whether the driver offers @level. */
static bool has_level(const struct gp_kfd *g, uint32_t level)
{
	return gp__kfd_levels(g->cwsr, &g->series) & GP__HAS_LEVEL(level);
}

static bool series_can(const struct gp_kfd *g, uint32_t type)
{
	return gp__kfd_series_can(&g->series, type);
}

static int choose_level3(struct gp_kfd_queue *q, int way, struct gp_error *err)
{
	static const enum gp__kfd_way ways[] = {
		[GP_KFD_WAY_UPDATE] = GP__KFD_WAY_UPDATE,
		[GP_KFD_WAY_DBGTRAP] = GP__KFD_WAY_DBGTRAP,
		[GP_KFD_WAY_PREEMPT] = GP__KFD_WAY_PREEMPT,
	};
	bool series = series_can(q->gpu, GP_KFD_PREEMPT_SAVE);

	if (way < GP_KFD_WAY_AUTO || way > GP_KFD_WAY_PREEMPT)
		return gp__fail(err, -EINVAL, "way is %d, which is not a way", way);
	if (!has_level(q->gpu, 3) && !way)
		return 0;
	if (!has_level(q->gpu, 3))
		return gp__fail(err, -EOPNOTSUPP,
				"this GPU does not save waves, so running work cannot be "
				"interrupted; load amdgpu with cwsr_enable=1");
	if (way == GP_KFD_WAY_PREEMPT && !series)
		return gp__fail(err, -EOPNOTSUPP,
				"the way 'preempt' needs gpreempt's kernel series, which this "
				"kernel does not have");
	if (!way)
		way = series ? GP_KFD_WAY_PREEMPT : GP_KFD_WAY_UPDATE;
	q->save = gp__kfd_gpu_control(q->gpu, ways[way], err);
	if (!q->save)
		return err->code;
	q->ops.interrupt = interrupt;
	q->ops.restore = restore;
	return 0;
}

static int choose_drain(struct gp_kfd_queue *q, struct gp_error *err)
{
	enum gp__kfd_way way = q->gpu->cwsr ? GP__KFD_WAY_PREEMPT : GP__KFD_WAY_UPDATE;

	q->drain = gp__kfd_gpu_control(q->gpu, way, err);
	if (!q->drain)
		return err->code;
	q->level2 = GP_KFD_LEVEL2_DRAIN;
	q->ops.deactivate = drain;
	q->ops.reactivate = undrain;
	return 0;
}

static int choose_flush(struct gp_kfd_queue *q, struct gp_error *err)
{
	if (series_can(q->gpu, GP_KFD_PREEMPT_RESET)) {
		q->reset = gp__kfd_gpu_control(q->gpu, GP__KFD_WAY_PREEMPT, err);
		if (!q->reset)
			return err->code;
	}
	q->level2 = GP_KFD_LEVEL2_FLUSH;
	q->ops.deactivate = flush;
	q->ops.reactivate = unflush;
	return 0;
}

static int choose_level2(struct gp_kfd_queue *q, int level2, bool idempotent, struct gp_error *err)
{
	bool can_drain = has_level(q->gpu, 2);

	q->level2 = GP_KFD_LEVEL2_NONE;
	switch (level2) {
	case GP_KFD_LEVEL2_AUTO:
		if (can_drain)
			return choose_drain(q, err);
		return idempotent ? choose_flush(q, err) : 0;
	case GP_KFD_LEVEL2_DRAIN:
		if (can_drain)
			return choose_drain(q, err);
		return gp__fail(err, -EOPNOTSUPP,
				"this kernel cannot drain a queue; that takes gpreempt's series "
				"and a scheduler that can");
	case GP_KFD_LEVEL2_FLUSH:
		if (idempotent)
			return choose_flush(q, err);
		return gp__fail(err, -EOPNOTSUPP,
				"the queue was not declared idempotent, so it cannot be flushed: "
				"flushing drops running work and runs it again");
	case GP_KFD_LEVEL2_NONE:
		return 0;
	default:
		return gp__fail(err, -EINVAL, "level2 is %d, which is not a kind of level 2",
				level2);
	}
}

/*
 * Beginning and end
 */

static int make_slots(struct gp_kfd_queue *q)
{
	int rc = gp__kfd_alloc(&q->gpu->u, &q->signals,
			       (uint64_t)q->depth * sizeof(struct gp__kfd_signal),
			       GP_KFD_MEM_GTT | GP_KFD_MEM_COHERENT);

	if (rc)
		return rc;
	q->packets = calloc(q->depth, sizeof(*q->packets));
	if (!q->packets)
		return -ENOMEM;
	for (uint32_t i = 0; i < q->depth; i++) {
		signal_of(q, i)->kind = GP__KFD_SIGNAL_USER;
		gp__kfd_waiter_attach(&q->waiter, signal_of(q, i));
	}
	return 0;
}

static void free_slots(struct gp_kfd_queue *q)
{
	free(q->packets);
	gp__kfd_free(&q->gpu->u, &q->signals);
}

/* The lock is held: two queues could be the first to need events. */
static int make_queue(struct gp_kfd_queue *q, struct gp_error *err)
{
	int rc = gp__kfd_waiter_open(&q->gpu->u, &q->waiter);

	if (rc)
		return gp__fail(err, rc, "cannot create an event: %s", strerror(-rc));
	rc = make_slots(q);
	if (!rc)
		rc = gp__kfd_queue_create(&q->gpu->u, &q->hw, 2 * q->depth);
	if (rc) {
		free_slots(q);
		gp__kfd_waiter_close(&q->waiter);
		return gp__fail(err, rc, "cannot create a queue: %s", strerror(-rc));
	}
	gp__kfd_waiter_attach(&q->waiter, q->hw.errors);
	q->info = gp__kfd_queue_info(&q->hw);
	q->gpu->users++;
	return 0;
}

static int read_options(struct gp_kfd_queue_options *opt, const struct gp_kfd_queue_options *in,
			struct gp_error *err)
{
	int rc = 0;

	*opt = (struct gp_kfd_queue_options){ .size = sizeof(*opt) };
	if (in)
		rc = gp__struct_in(opt, sizeof(*opt), in);
	if (rc)
		return gp__fail(err, rc,
				rc == -E2BIG ? "the options ask for something that this "
					       "libgpreempt does not know"
					     : "the options' size is not set");
	if (opt->flags & ~GP_KFD_QUEUE_IDEMPOTENT)
		return gp__fail(err, -EINVAL, "the queue's flags %#x are not known", opt->flags);
	if (!opt->depth)
		opt->depth = DEPTH_DEFAULT;
	if (opt->depth & (opt->depth - 1) || opt->depth < DEPTH_MIN || opt->depth > DEPTH_MAX)
		return gp__fail(err, -EINVAL,
				"depth is %u; it must be a power of two from %u to %u", opt->depth,
				DEPTH_MIN, DEPTH_MAX);
	return 0;
}

static int create(struct gp_kfd_queue *q, const struct gp_kfd_queue_options *opt,
		  struct gp_error *err)
{
	int rc;

	q->depth = opt->depth;
	q->ops = (struct gp_device_ops){
		.size = sizeof(q->ops), .nlaunch = nlaunch, .sync = sync_command, .pending = pending
	};
	pthread_mutex_lock(&q->gpu->lock);
	rc = choose_level3(q, opt->way, err);
	if (!rc)
		rc = choose_level2(q, opt->level2, opt->flags & GP_KFD_QUEUE_IDEMPOTENT, err);
	if (!rc)
		rc = make_queue(q, err);
	pthread_mutex_unlock(&q->gpu->lock);
	return rc;
}

int gp_kfd_queue_create(struct gp_kfd *gpu, const struct gp_kfd_queue_options *options,
			struct gp_kfd_queue **queue, struct gp_error *err)
{
	struct gp_kfd_queue_options opt;
	struct gp_error unused;
	struct gp_kfd_queue *q;
	int rc;

	if (!err)
		err = &unused;
	if (!queue)
		return gp__fail(err, -EINVAL, "the pointer for the new queue is NULL");
	*queue = NULL;
	rc = read_options(&opt, options, err);
	if (rc)
		return rc;
	q = calloc(1, sizeof(*q));
	if (!q)
		return gp__fail(err, -ENOMEM, "out of memory");
	q->gpu = gpu;
	rc = create(q, &opt, err);
	if (rc) {
		free(q);
		return rc;
	}
	*queue = q;
	return 0;
}

void gp_kfd_queue_destroy(struct gp_kfd_queue *q)
{
	if (!q)
		return;
	/* The driver does not destroy a queue that a debugger holds. */
	if (q->save && q->save->way == GP__KFD_WAY_DBGTRAP && !q->hw.dropped)
		set(q, q->save, GP__KFD_RELEASE);
	gp__kfd_queue_destroy(&q->hw);
	free_slots(q);
	gp__kfd_waiter_close(&q->waiter);
	pthread_mutex_lock(&q->gpu->lock);
	q->gpu->users--;
	pthread_mutex_unlock(&q->gpu->lock);
	free(q);
}

const struct gp_device_ops *gp_kfd_ops(struct gp_kfd_queue *q)
{
	return &q->ops;
}

int gp_kfd_queue_info(struct gp_kfd_queue *q, struct gp_kfd_queue_info *info)
{
	static const int ways[] = {
		[GP__KFD_WAY_UPDATE] = GP_KFD_WAY_UPDATE,
		[GP__KFD_WAY_DBGTRAP] = GP_KFD_WAY_DBGTRAP,
		[GP__KFD_WAY_PREEMPT] = GP_KFD_WAY_PREEMPT,
	};
	const struct gp_kfd_queue_info i = {
		.size = sizeof(i),
		.way = q->save ? ways[q->save->way] : GP_KFD_WAY_AUTO,
		.level2 = q->level2,
		.flushes = atomic_load(&q->flushes),
		.repeated = atomic_load(&q->repeated),
	};

	return info ? gp__struct_out(info, &i, sizeof(i)) : -EINVAL;
}
