// SPDX-License-Identifier: MIT
/*
 * A debugger's operations on queues, all of a node in one step, and snapshots of queues and
 * devices. Waiting for a queue to be resumed is here as well.
 */
#include "emu/kfd/debug_ops.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "emu/kfd/call.h"
#include "emu/kfd/node.h"
#include "emu/kfd/queue.h"
#include "emu/kfd/topology.h"

/* Queues of one node, and the position of each in the array of ids. */
struct batch {
	struct emu_queue *queue[EMU_QUEUES_MAX];
	uint32_t index[EMU_QUEUES_MAX];
	uint32_t nr;
};

/* If an id occurs twice, the second one matches no queue. */
static bool find_id(const uint32_t *ids, uint32_t nr, uint32_t id, uint32_t *index)
{
	for (*index = 0; *index < nr; (*index)++) {
		if ((ids[*index] & ~GP_KFD_QUEUE_INVALID) == id)
			return true;
	}
	return false;
}

/* Collects the queues of a node that are in the array, or all where there is none. */
static void gather(struct emu_process *p, struct emu_node *n, const uint32_t *ids, uint32_t nr,
		   struct batch *b)
{
	b->nr = 0;
	for (uint32_t i = 0; i < EMU_QUEUES_MAX; i++) {
		struct emu_queue *q = p->queue[i];

		if (!q || q->node != n || (ids && !find_id(ids, nr, q->id, &b->index[b->nr])))
			continue;
		b->queue[b->nr++] = q;
	}
}

static void invalidate(uint32_t *ids, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		ids[i] |= GP_KFD_QUEUE_INVALID;
}

/* Leaves out queues that were not reported to the debugger yet or are being destroyed. */
static void leave_out_busy(struct batch *b)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < b->nr; i++) {
		struct emu_queue *q = b->queue[i];
		bool is_new = emu_debug_clear_queue(q, 0) & GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW);

		if ((is_new || q->destroying) && !(q->held & EMU_HELD_SUSPENDED))
			continue;
		b->queue[nr] = q;
		b->index[nr++] = b->index[i];
	}
	b->nr = nr;
}

/* Writes the save area, even of a queue that had nothing to save. */
static void describe(struct emu_queue *q)
{
	if (emu_queue_is_sdma(q) || q->mapped)
		return;
	q->node->engine->queue_write_saved(q->hw, q->node->m->config.nr_xccs);
}

int emu_debug_suspend(struct emu_process *p, uint32_t *ids, uint32_t nr, uint64_t clear)
{
	struct batch b;
	int done = 0;

	invalidate(ids, nr);
	for (uint32_t i = 0; i < p->m->config.nr_gpus; i++) {
		struct emu_node *n = p->m->node[i];
		int err;

		gather(p, n, ids, nr, &b);
		pthread_mutex_lock(&n->lock);
		leave_out_busy(&b);
		err = emu_sched_hold(n, b.queue, b.nr, EMU_HELD_SUSPENDED, EMU_STOP_SAVE, 0);
		for (uint32_t j = 0; j < b.nr; j++) {
			ids[b.index[j]] &= ~GP_KFD_QUEUE_INVALID;
			if (err) {
				ids[b.index[j]] |= GP_KFD_QUEUE_ERROR;
				continue;
			}
			emu_debug_clear_queue(b.queue[j], clear);
			describe(b.queue[j]);
		}
		pthread_mutex_unlock(&n->lock);
		done += err ? 0 : (int)b.nr;
	}
	return done;
}

struct emu_debug_waiter {
	struct emu_debug_waiter *next;
	int fd;
};

static void wake_waiters(struct emu_process *p)
{
	const uint64_t one = 1;

	for (struct emu_debug_waiter *w = p->debug.waiters; w; w = w->next) {
		if (write(w->fd, &one, sizeof(one)) < 0)
			continue; /* it is readable already */
	}
}

int emu_debug_resume(struct emu_process *p, uint32_t *ids, uint32_t nr)
{
	struct batch b;
	int done = 0;

	if (ids)
		invalidate(ids, nr);
	for (uint32_t i = 0; i < p->m->config.nr_gpus; i++) {
		struct emu_node *n = p->m->node[i];
		int err;

		gather(p, n, ids, nr, &b);
		pthread_mutex_lock(&n->lock);
		err = emu_sched_release(n, b.queue, b.nr, EMU_HELD_SUSPENDED);
		pthread_mutex_unlock(&n->lock);
		for (uint32_t j = 0; ids && j < b.nr; j++) {
			ids[b.index[j]] &= ~GP_KFD_QUEUE_INVALID;
			if (err)
				ids[b.index[j]] |= GP_KFD_QUEUE_ERROR;
		}
		done += err ? 0 : (int)b.nr;
	}
	wake_waiters(p);
	return done;
}

static bool is_suspended(struct emu_queue *q)
{
	bool held;

	pthread_mutex_lock(&q->node->lock);
	held = q->held & EMU_HELD_SUSPENDED;
	pthread_mutex_unlock(&q->node->lock);
	return held;
}

static int await_resume(struct emu_call *call, struct emu_queue *q)
{
	struct emu_process *p = q->process;
	struct emu_debug_waiter w = { p->debug.waiters, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	struct emu_debug_waiter **link;
	uint64_t times;
	int err = 0;

	if (w.fd < 0)
		return -ENOMEM;
	p->debug.waiters = &w;
	while (!err && p->debug.enabled && is_suspended(q)) {
		pthread_mutex_unlock(&p->lock);
		err = emu_call_wait(call, w.fd, -1);
		pthread_mutex_lock(&p->lock);
		if (read(w.fd, &times, sizeof(times)) < 0)
			continue; /* woken by something else */
	}
	for (link = &p->debug.waiters; *link != &w;)
		link = &(*link)->next;
	*link = w.next;
	close(w.fd);
	return err;
}

int emu_debug_await_destroy(struct emu_call *call, struct emu_queue *q)
{
	int err;

	if (q->destroying)
		return -EBUSY;
	q->destroying = true;
	err = await_resume(call, q);
	if (err)
		q->destroying = false;
	return err;
}

/*
 * Snapshots
 */

static void describe_queue(struct emu_queue *q, struct gp_kfd_queue_snapshot *entry,
			   uint64_t exceptions)
{
	*entry = (struct gp_kfd_queue_snapshot){
		.exception_status = exceptions,
		.ring_base_address = q->ring,
		.write_pointer_address = q->write_pointer,
		.read_pointer_address = q->read_pointer,
		.ctx_save_restore_address = q->save_area,
		.queue_id = q->id,
		.gpu_id = q->node->gpu_id,
		.ring_size = q->ring_size,
		.queue_type = q->type,
		.ctx_save_restore_area_size = q->save_size,
	};
}

/* The newest first, as the driver keeps them; not exactly so where ids were reused. */
uint32_t emu_debug_snapshot_queues(struct emu_process *p, struct gp_kfd_queue_snapshot *entry,
				   uint32_t max, uint64_t clear)
{
	uint32_t n = 0;

	for (uint32_t i = EMU_QUEUES_MAX; i--;) {
		struct emu_queue *q = p->queue[i];

		if (!q)
			continue;
		if (n < max)
			describe_queue(q, &entry[n], emu_debug_clear_queue(q, clear));
		n++;
	}
	return n;
}

static void describe_node(struct emu_process *p, uint32_t i, struct gp_kfd_device_snapshot *entry)
{
	struct gp_kfd_apertures a;

	emu_apertures(p->m, i, &a);
	*entry = (struct gp_kfd_device_snapshot){
		.lds_base = a.lds_base,
		.lds_limit = a.lds_limit,
		.scratch_base = a.scratch_base,
		.scratch_limit = a.scratch_limit,
		.gpuvm_base = a.gpuvm_base,
		.gpuvm_limit = a.gpuvm_limit,
		.gpu_id = p->m->node[i]->gpu_id,
	};
	emu_topology_describe(p->m, i, entry);
}

uint32_t emu_debug_snapshot_nodes(struct emu_process *p, struct gp_kfd_device_snapshot *entry,
				  uint32_t max, uint64_t clear)
{
	for (uint32_t i = 0; i < max; i++) {
		describe_node(p, i, &entry[i]);
		entry[i].exception_status = emu_debug_clear_node(p, i, clear);
	}
	return p->m->config.nr_gpus;
}
