// SPDX-License-Identifier: MIT
/*
 * UPDATE_QUEUE: a queue with percentage 0 is not mapped. The call sets everything at once, so the
 * ring and the priority that the runtime wants go with it; the driver rounds a ring that is too
 * small up to its least size.
 *
 * Each call takes the queues of all programs off the node and puts them back: it is the wrong tool
 * for many queues where there is another.
 */
#include "device/kfd/way.h"

#include "base/own_memory.h"

/* The upper bytes select the XCC that packets go to. */
#define PERCENTAGE_MASK 0xffu

static bool can(enum gp__kfd_verb verb)
{
	return verb == GP__KFD_SAVE || verb == GP__KFD_RELEASE;
}

/* The driver serves only the process that opened the descriptor. */
static int open_update(struct gp__kfd_control *c)
{
	return c->pid ? -EBADF : 0;
}

static int update(const struct gp__kfd_control *c, const struct gp__kfd_queue_info *q, bool hold)
{
	struct gp_kfd_update_queue args = {
		.ring_base_address = q->ring,
		.queue_id = q->id,
		.ring_size = q->ring_bytes,
		.queue_percentage = hold ? q->percentage & ~PERCENTAGE_MASK : q->percentage,
		.queue_priority = q->priority,
	};

	return gp__kfd_call(c, GP_KFD_UPDATE_QUEUE, &args);
}

/* How much the queue was used so far. Runtimes create queues that most programs hardly use. */
static uint64_t used(const struct gp__kfd_queue_info *q)
{
	uint64_t written;

	if (gp__read_own_memory(&written, (const void *)q->write_index, sizeof(written)))
		return written;
	return UINT64_MAX;
}

/* The pending queue that was used most, or least. */
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
 * Each call takes the queues of all programs off the GPU and puts them back, which takes time. So
 * the busiest queue is held first, since the others run on meanwhile, and released last, since it
 * would be saved and restored for each of the others.
 */
static void set(struct gp__kfd_control *c, enum gp__kfd_verb verb, struct gp__kfd_target *t,
		size_t n)
{
	bool hold = verb != GP__KFD_RELEASE;
	struct gp__kfd_target *next;

	while ((next = next_of(t, n, hold)))
		next->result = update(c, next->queue, hold);
}

const struct gp__kfd_way_ops gp__kfd_way_update = {
	.name = "update",
	.can = can,
	.open = open_update,
	.set = set,
};
