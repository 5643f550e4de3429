// SPDX-License-Identifier: MIT
/*
 * UPDATE_QUEUE. A queue without a percentage is not mapped. The call sets everything at once, so
 * the ring and the priority that the runtime wants go with it: the driver takes a ring that is too
 * small for one of its least size.
 *
 * Each call takes everybody's queues off the node and puts them back: the wrong tool for many
 * queues, where there is another.
 */
#include "device/kfd/way.h"

#include "base/own_memory.h"

/* The upper bytes say to which XCC packets go. */
#define PERCENTAGE_MASK 0xffu

static bool can(enum gp__kfd_verb verb)
{
	return verb == GP__KFD_SAVE || verb == GP__KFD_START;
}

/* The driver knows whose a descriptor is, and serves nobody else. */
static int open_update(struct gp__kfd_control *c)
{
	return c->pid ? -EBADF : 0;
}

static int update(const struct gp__kfd_control *c, const struct gp__kfd_queue_info *q, bool stop)
{
	struct gp_kfd_update_queue args = {
		.ring_base_address = q->ring,
		.queue_id = q->id,
		.ring_size = q->ring_bytes,
		.queue_percentage = stop ? q->percentage & ~PERCENTAGE_MASK : q->percentage,
		.queue_priority = q->priority,
	};

	return gp__kfd_call(c, GP_KFD_UPDATE_QUEUE, &args);
}

/* How much it was used so far. Runtimes make queues that most programs never use, or hardly. */
static uint64_t used(const struct gp__kfd_queue_info *q)
{
	uint64_t written;

	if (gp__read_own_memory(&written, (const void *)q->write_index, sizeof(written)))
		return written;
	return UINT64_MAX;
}

/* Of those that are pending the one that was used most, or least. */
static struct gp__kfd_target *next_of(struct gp__kfd_target *t, size_t n, bool most)
{
	struct gp__kfd_target *next = NULL;
	uint64_t best = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t u;

		if (t[i].result != GP__KFD_PENDING)
			continue;
		u = used(t[i].queue);
		if (!next || (most ? u > best : u < best)) {
			next = &t[i];
			best = u;
		}
	}
	return next;
}

/*
 * Each call takes a while, and takes everybody off the GPU and puts them back. So the queue that
 * does most is stopped first, for what is not stopped yet runs on meanwhile; and goes on last, for
 * otherwise it would be saved and restored for each of the others.
 */
static void set(struct gp__kfd_control *c, enum gp__kfd_verb verb, struct gp__kfd_target *t,
		size_t n)
{
	bool stop = verb != GP__KFD_START;
	struct gp__kfd_target *next;

	while ((next = next_of(t, n, stop)))
		next->result = update(c, next->queue, stop);
}

const struct gp__kfd_way_ops gp__kfd_way_update = {
	.name = "update",
	.can = can,
	.open = open_update,
	.set = set,
};
