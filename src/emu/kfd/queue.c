// SPDX-License-Identifier: MIT
/*
 * CREATE_QUEUE, DESTROY_QUEUE and UPDATE_QUEUE: ids, doorbells and DMA queues are allocated here.
 * queue_check.c checks arguments, queue_ops.c has the other ioctls of queues.
 */
#include "emu/kfd/queue.h"

#include "emu/kfd/call.h"
#include "emu/kfd/node.h"
#include "emu/kfd/preempt.h"
#include "emu/kfd/priority.h"
#include "emu/kfd/queue_check.h"
#include "emu/kfd/topology.h"

#include <errno.h>
#include <stdlib.h>

#define QUEUES_MAX_6_1 127

#define MMAP_TYPE_DOORBELL ((uint64_t)3 << 62)
#define MMAP_GPU_ID_SHIFT 46
#define MMAP_GPU_ID_MASK 0xffff

/* A process has 1024 doorbells; some are reserved, the same ones in each half. */
#define DOORBELLS 1024
#define DOORBELL_MIRROR 512
#define DOORBELL_SDMA 0x100 /* of the first engine */
#define DOORBELL_SDMA_STEP 10

/*
 * Allocation of ids, DMA queues and doorbells
 */

static int take_id(const struct emu_process *p, uint32_t *id)
{
	for (*id = 0; *id < EMU_QUEUES_MAX; (*id)++) {
		if (!p->queue[*id])
			return 0;
	}
	return -ENOMEM;
}

/*
 * The queues of one kind of engine; a queue's number is that of its engine plus a multiple of the
 * number of engines.
 */
static int take_sdma_of(uint64_t *used, uint32_t engines, uint32_t first, uint32_t step,
			uint32_t *id)
{
	for (*id = first; *id < engines * EMU_SDMA_ENGINE_QUEUES; *id += step) {
		if (*used >> *id & 1)
			continue;
		*used |= (uint64_t)1 << *id;
		return 0;
	}
	return -ENOMEM;
}

static int take_sdma(struct emu_queue *q, uint32_t engine)
{
	struct emu_node *n = q->node;
	bool by_engine = q->type == GP_KFD_QUEUE_SDMA_BY_ENGINE;
	bool xgmi = q->type == GP_KFD_QUEUE_SDMA_XGMI || (by_engine && engine >= EMU_SDMA_ENGINES);
	uint32_t engines = xgmi ? EMU_SDMA_XGMI_ENGINES : EMU_SDMA_ENGINES;
	uint32_t before = xgmi ? EMU_SDMA_ENGINES : 0;
	int err;

	q->type = xgmi ? GP_KFD_QUEUE_SDMA_XGMI : GP_KFD_QUEUE_SDMA;
	err = take_sdma_of(xgmi ? &n->xgmi_used : &n->sdma_used, engines,
			   by_engine ? engine - before : 0, by_engine ? engines : 1, &q->sdma_id);
	if (!err)
		q->sdma_engine = before + q->sdma_id % engines;
	return err;
}

static void give_sdma(struct emu_queue *q)
{
	uint64_t bit = (uint64_t)1 << q->sdma_id;

	if (q->type == GP_KFD_QUEUE_SDMA)
		q->node->sdma_used &= ~bit;
	else if (q->type == GP_KFD_QUEUE_SDMA_XGMI)
		q->node->xgmi_used &= ~bit;
}

/* Doorbells that compute queues do not get: for DMA, interrupts and video. */
static bool is_reserved_doorbell(const struct emu_machine *m, uint32_t index)
{
	index %= DOORBELL_MIRROR;
	return index >= DOORBELL_SDMA && index <= m->config.chip->last_doorbell;
}

static uint32_t sdma_doorbell(const struct emu_queue *q)
{
	bool xgmi = q->type == GP_KFD_QUEUE_SDMA_XGMI;
	uint32_t round = q->sdma_id / (xgmi ? EMU_SDMA_XGMI_ENGINES : EMU_SDMA_ENGINES);
	uint32_t align = q->node->m->config.chip->sdma_doorbell_align;
	uint32_t base = DOORBELL_SDMA + q->sdma_engine * DOORBELL_SDMA_STEP;

	base = (base + align - 1) / align * align;
	return base + round % 2 * DOORBELL_MIRROR + round / 2;
}

static int take_doorbell(struct emu_queue *q)
{
	struct emu_process_node *pn = &q->process->node[q->node->index];

	if (emu_queue_is_sdma(q)) {
		q->doorbell = sdma_doorbell(q);
		return 0;
	}
	for (uint32_t i = 0; i < DOORBELLS; i++) {
		if (pn->doorbell_bits[i / 64] >> i % 64 & 1 || is_reserved_doorbell(q->node->m, i))
			continue;
		pn->doorbell_bits[i / 64] |= (uint64_t)1 << i % 64;
		q->doorbell = i;
		return 0;
	}
	return -EBUSY;
}

static void give_doorbell(struct emu_queue *q)
{
	struct emu_process_node *pn = &q->process->node[q->node->index];

	if (!emu_queue_is_sdma(q))
		pn->doorbell_bits[q->doorbell / 64] &= ~((uint64_t)1 << q->doorbell % 64);
}

/* A value that the previous queue of this doorbell left must not count as a ring. */
static void silence_doorbell(struct emu_queue *q)
{
	atomic_store(&q->process->node[q->node->index].doorbells[q->doorbell], ~(uint64_t)0);
	q->last_doorbell = ~(uint64_t)0;
}

/*
 * Creation
 */

static void fill_queue(struct emu_queue *q, const struct gp_kfd_create_queue *args)
{
	q->type = args->queue_type;
	q->ring = args->ring_base_address;
	q->ring_size = args->ring_size;
	q->read_pointer = args->read_pointer_address;
	q->write_pointer = args->write_pointer_address;
	q->percentage = args->queue_percentage & 0xff;
	q->priority = args->queue_priority;
	if (q->node->m->config.kernel == EMU_KERNEL_GPREEMPT)
		q->logical_priority = args->logical_priority;
	q->eop = args->eop_buffer_address;
	q->eop_size = args->eop_buffer_size;
	q->save_area = args->ctx_save_restore_address;
	q->save_size = args->ctx_save_restore_size;
	q->ctl_stack_size = args->ctl_stack_size;
	q->exceptions = GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW);
	memset(q->cu_mask, 0xff, sizeof(q->cu_mask));
}

static void free_queue(struct emu_queue *q)
{
	emu_node_enter(q->node);
	emu_cp_detach(q);
	emu_node_leave(q->node);
	free(q);
}

/* With the node's lock. */
static int install(struct emu_queue *q, uint32_t engine)
{
	struct emu_node *n = q->node;
	bool is_sdma = q->type != GP_KFD_QUEUE_COMPUTE && q->type != GP_KFD_QUEUE_COMPUTE_AQL;
	int err;

	if (n->nr_queues >= EMU_QUEUES_PER_GPU_MAX)
		return -EPERM;
	err = is_sdma ? take_sdma(q, engine) : 0;
	if (err)
		return err;
	err = take_doorbell(q);
	if (err)
		goto no_doorbell;
	silence_doorbell(q);
	if (q->hw)
		q->hw->doorbell = q->doorbell;
	err = emu_sched_add(q);
	if (!err)
		return 0;
	give_doorbell(q);
no_doorbell:
	give_sdma(q);
	return err;
}

static uint32_t queues_max(const struct emu_machine *m)
{
	return emu_is_6_1(m) ? QUEUES_MAX_6_1 : m->config.chip->max_queues;
}

/* With the process's lock. */
static int make_queue(struct emu_process *p, uint32_t node, const struct gp_kfd_create_queue *args,
		      struct emu_queue **made)
{
	struct emu_queue *q;
	uint32_t id;
	int err;

	if (p->node[node].nr_queues >= queues_max(p->m))
		return -ENOSPC;
	err = take_id(p, &id);
	if (err)
		return err;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->process = p;
	q->node = p->m->node[node];
	q->id = id;
	fill_queue(q, args);
	err = emu_cp_attach(q);
	if (err) {
		free(q);
		return err;
	}
	pthread_mutex_lock(&q->node->lock);
	err = install(q, args->sdma_engine_id);
	pthread_mutex_unlock(&q->node->lock);
	if (err) {
		free_queue(q);
		return err;
	}
	p->queue[id] = q;
	p->node[node].nr_queues++;
	*made = q;
	return 0;
}

static int create(struct emu_call *call, struct gp_kfd_create_queue *args)
{
	struct emu_process *p = call->process;
	struct emu_queue *q;
	uint32_t node;
	int err;

	if (!emu_process_node(p, args->gpu_id, &node))
		return -EINVAL;
	if (emu_process_bind(p, args->gpu_id, &node))
		return -ESRCH;
	if (args->queue_type == GP_KFD_QUEUE_SDMA_BY_ENGINE &&
	    args->sdma_engine_id >= EMU_SDMA_ENGINES + EMU_SDMA_XGMI_ENGINES)
		return -EINVAL;
	err = emu_process_doorbells(p, node);
	if (err < 0)
		return err;
	err = emu_queue_check_memory(p, node, args);
	if (!err)
		err = make_queue(p, node, args, &q);
	if (err)
		return err;
	emu_topology_add_queue(q);
	emu_priority_add_queue(q, !call->uid);
	emu_debug_raise_queue(q, GP_KFD_EC_MASK(GP_KFD_EC_QUEUE_NEW));
	args->queue_id = q->id;
	args->doorbell_offset = MMAP_TYPE_DOORBELL |
				(uint64_t)(args->gpu_id & MMAP_GPU_ID_MASK) << MMAP_GPU_ID_SHIFT |
				q->doorbell * 8;
	return 0;
}

int emu_create_queue(struct emu_call *call, struct gp_kfd_create_queue *args)
{
	int err = emu_queue_check_arguments(call->m, args);

	if (err)
		return err;
	if (call->m->config.kernel == EMU_KERNEL_GPREEMPT)
		args->logical_priority = emu_priority_granted(args->logical_priority, !call->uid);
	pthread_mutex_lock(&call->process->lock);
	err = create(call, args);
	pthread_mutex_unlock(&call->process->lock);
	return err;
}

/*
 * Destruction
 */

struct emu_queue *emu_queue_find(struct emu_process *p, uint32_t id)
{
	return id < EMU_QUEUES_MAX ? p->queue[id] : NULL;
}

/* The queue is destroyed in any case, as with the driver: a reset removes the rest. */
static int destroy(struct emu_queue *q)
{
	struct emu_process *p = q->process;
	struct emu_process_node *pn = &p->node[q->node->index];
	int err;

	emu_priority_remove_queue(q);
	pthread_mutex_lock(&q->node->lock);
	err = emu_sched_remove(q);
	emu_preempt_forget(q);
	give_doorbell(q);
	give_sdma(q);
	if (q->is_gws)
		pn->gws = false;
	pthread_mutex_unlock(&q->node->lock);
	pn->nr_queues--;
	p->queue[q->id] = NULL;
	emu_topology_remove_queue(q);
	free_queue(q);
	return err;
}

int emu_destroy_queue(struct emu_call *call, struct gp_kfd_destroy_queue *args)
{
	struct emu_process *p = call->process;
	struct emu_queue *q;
	int err = -EINVAL;

	pthread_mutex_lock(&p->lock);
	q = emu_queue_find(p, args->queue_id);
	if (q)
		err = emu_debug_await_destroy(call, q);
	if (q && !err) {
		uint32_t node = q->node->index;

		err = destroy(q);
		emu_debug_raise_node(p, node, GP_KFD_EC_MASK(GP_KFD_EC_DEVICE_QUEUE_DELETE), NULL);
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

/* All of a node at once: one stop for its other queues instead of one for each. */
static void hold_all(struct emu_process *p, struct emu_node *n)
{
	struct emu_queue *q[EMU_QUEUES_MAX];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < EMU_QUEUES_MAX; i++) {
		if (p->queue[i] && p->queue[i]->node == n)
			q[nr++] = p->queue[i];
	}
	if (!nr)
		return;
	pthread_mutex_lock(&n->lock);
	emu_sched_hold(n, q, nr, EMU_HELD_DESTROYED, EMU_STOP_RESET, 0);
	pthread_mutex_unlock(&n->lock);
}

void emu_destroy_queues(struct emu_process *p)
{
	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0; i < p->m->config.nr_gpus; i++)
		hold_all(p, p->m->node[i]);
	for (uint32_t i = 0; i < EMU_QUEUES_MAX; i++) {
		if (p->queue[i])
			destroy(p->queue[i]);
	}
	pthread_mutex_unlock(&p->lock);
}

/*
 * Changes
 */

static int update(struct emu_queue *q, const struct gp_kfd_update_queue *args)
{
	struct emu_node *n = q->node;
	struct emu_process *p = q->process;
	int err;

	if (!emu_is_6_1(p->m) && args->ring_base_address &&
	    !emu_queue_is_mapped_as(p, n->index, args->ring_base_address, args->ring_size))
		return -EFAULT;
	pthread_mutex_lock(&n->lock);
	err = emu_sched_unmap_queue(q);
	/* While a reset is pending no queue is processed. The request takes effect in any case. */
	emu_node_enter(n);
	q->ring = args->ring_base_address;
	q->ring_size = args->ring_size;
	q->percentage = args->queue_percentage & 0xff;
	q->priority = args->queue_priority;
	emu_node_leave(n);
	if (!emu_is_6_1(p->m) && p->node[n->index].reset)
		err = -EACCES;
	emu_sched_judge(q);
	emu_sched_map(n);
	pthread_mutex_unlock(&n->lock);
	return err;
}

int emu_update_queue(struct emu_call *call, struct gp_kfd_update_queue *args)
{
	struct emu_process *p = call->process;
	struct emu_queue *q;
	int err = emu_queue_check_share(call->m, args->queue_percentage, args->queue_priority);

	if (!err)
		err = emu_queue_check_ring(args->ring_base_address, &args->ring_size);
	if (err)
		return err;
	pthread_mutex_lock(&p->lock);
	q = emu_queue_find(p, args->queue_id);
	err = q ? update(q, args) : -EFAULT;
	if (!err)
		emu_priority_update_queue(q, !call->uid);
	pthread_mutex_unlock(&p->lock);
	return err;
}
