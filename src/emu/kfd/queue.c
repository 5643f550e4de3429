// SPDX-License-Identifier: MIT
/*
 * The ioctls of queues, with amdkfd's checks in amdkfd's order.
 */
#include "emu/kfd/queue.h"

#include "emu/gfx9/area.h"
#include "emu/kfd/call.h"
#include "emu/kfd/node.h"
#include "emu/kfd/preempt.h"
#include "emu/kfd/priority.h"
#include "emu/kfd/topology.h"

#include <errno.h>
#include <stdlib.h>

/* The kernel's own, which leaks to programs. */
#define KERNEL_ENOTSUPP 524

#define PAGE 4096
/* Addresses a program can have at all. */
#define USER_LIMIT ((uint64_t)0x7ffffffff000)
#define CU_MASK_BITS_MAX 1024

#define MMAP_TYPE_DOORBELL ((uint64_t)3 << 62)
#define MMAP_GPU_ID_SHIFT 46
#define MMAP_GPU_ID_MASK 0xffff

/* Doorbells of a process: 1024, some of which are not for compute queues, in each half the same. */
#define DOORBELLS 1024
#define DOORBELL_MIRROR 512
#define DOORBELL_SDMA 0x100 /* of the first engine */
#define DOORBELL_SDMA_STEP 10
#define DOORBELL_SDMA_ALIGN 4 /* on gfx942 */

static bool is_6_1(const struct emu_machine *m)
{
	return m->config.kernel == EMU_KERNEL_6_1;
}

static bool is_user_address(uint64_t va, uint64_t size)
{
	return va <= USER_LIMIT - size;
}

/*
 * What the arguments themselves must be
 */

static int check_share(const struct emu_machine *m, uint32_t percentage, uint32_t priority)
{
	/* Since 6.5 the second byte says to which XCC packets go. */
	if (!is_6_1(m))
		percentage &= 0xff;
	if (percentage > GP_KFD_PERCENTAGE_MAX || priority > GP_KFD_PRIORITY_MAX)
		return -EINVAL;
	return 0;
}

static int check_ring(uint64_t address, uint32_t *size)
{
	if (address && !is_user_address(address, sizeof(uint64_t)))
		return -EFAULT;
	if (*size & (*size - 1))
		return -EINVAL;
	if (*size < GP_KFD_RING_MIN)
		*size = GP_KFD_RING_MIN;
	return 0;
}

static int check_addresses(const struct gp_kfd_create_queue *args)
{
	const uint64_t address[] = {
		args->read_pointer_address,
		args->write_pointer_address,
		args->eop_buffer_address,
		args->ctx_save_restore_address,
	};

	for (size_t i = 0; i < sizeof(address) / sizeof(address[0]); i++) {
		if (!is_user_address(address[i], sizeof(uint32_t)))
			return -EFAULT;
	}
	return 0;
}

static bool is_type(const struct emu_machine *m, uint32_t type)
{
	return type <= GP_KFD_QUEUE_SDMA_XGMI ||
	       (type == GP_KFD_QUEUE_SDMA_BY_ENGINE && !is_6_1(m));
}

static int check_arguments(const struct emu_machine *m, struct gp_kfd_create_queue *args)
{
	int err = check_share(m, args->queue_percentage, args->queue_priority);

	if (!err)
		err = check_ring(args->ring_base_address, &args->ring_size);
	if (!err)
		err = check_addresses(args);
	if (!err && !is_type(m, args->queue_type))
		err = -KERNEL_ENOTSUPP;
	return err;
}

/*
 * Memory of a queue: since 6.12 each part must be mapped as a whole, and be no larger.
 */

static bool is_mapped_as(struct emu_process *p, uint32_t node, uint64_t va, uint64_t size)
{
	struct emu_space *s = &p->memory.space[node];
	uint32_t low = 0, high;
	bool found = false;

	va &= ~(uint64_t)(PAGE - 1);
	size &= ~(uint64_t)(PAGE - 1);
	pthread_rwlock_rdlock(&s->lock);
	high = s->nr;
	while (low < high && !found) {
		uint32_t mid = low + (high - low) / 2;
		const struct emu_range *r = &s->range[mid];

		if (r->start == va) {
			found = !size || r->end - r->start == size;
			break;
		}
		if (r->start < va)
			low = mid + 1;
		else
			high = mid;
	}
	pthread_rwlock_unlock(&s->lock);
	return found;
}

static bool is_compute(const struct gp_kfd_create_queue *args)
{
	return args->queue_type == GP_KFD_QUEUE_COMPUTE ||
	       args->queue_type == GP_KFD_QUEUE_COMPUTE_AQL;
}

static int check_save_area(struct emu_process *p, uint32_t node,
			   const struct gp_kfd_create_queue *args)
{
	const struct gfx9_area_gpu gpu = emu_config_area(&p->m->config);
	struct gfx9_area_sizes sizes = gfx9_area_sizes(&gpu);
	uint64_t total = args->ctx_save_restore_size + (uint64_t)sizes.debug_bytes;

	if (args->eop_buffer_address &&
	    (args->eop_buffer_size < PAGE ||
	     !is_mapped_as(p, node, args->eop_buffer_address,
			   (args->eop_buffer_size + PAGE - 1) & ~(uint64_t)(PAGE - 1))))
		return -EINVAL;
	if (args->ctl_stack_size != sizes.ctl_bytes ||
	    args->ctx_save_restore_size < sizes.slice_bytes)
		return -EINVAL;
	total = (total * p->m->config.nr_xccs + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	return is_mapped_as(p, node, args->ctx_save_restore_address, total) ? 0 : -EINVAL;
}

static int check_memory(struct emu_process *p, uint32_t node,
			const struct gp_kfd_create_queue *args)
{
	if (is_6_1(p->m))
		return 0;
	if (!is_mapped_as(p, node, args->write_pointer_address, PAGE) ||
	    !is_mapped_as(p, node, args->read_pointer_address, PAGE) ||
	    !is_mapped_as(p, node, args->ring_base_address, args->ring_size))
		return -EINVAL;
	return is_compute(args) ? check_save_area(p, node, args) : 0;
}

/*
 * Numbers: ids, DMA queues, doorbells
 */

static int take_id(const struct emu_process *p, uint32_t *id)
{
	for (*id = 0; *id < EMU_QUEUES_MAX; (*id)++) {
		if (!p->queue[*id])
			return 0;
	}
	return -ENOMEM;
}

/* Those of one kind of engines; a queue's number is that of its engine plus so many rounds. */
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

/* Doorbells that no compute queue gets: of DMA, interrupts and video. */
static bool is_reserved_doorbell(const struct emu_machine *m, uint32_t index)
{
	uint32_t last = m->config.target == GFX9_TARGET_GFX942 ? 0x1e8 : 0x18f;

	index %= DOORBELL_MIRROR;
	return index >= DOORBELL_SDMA && index <= last;
}

static uint32_t sdma_doorbell(const struct emu_queue *q)
{
	bool xgmi = q->type == GP_KFD_QUEUE_SDMA_XGMI;
	uint32_t round = q->sdma_id / (xgmi ? EMU_SDMA_XGMI_ENGINES : EMU_SDMA_ENGINES);
	uint32_t base = DOORBELL_SDMA + q->sdma_engine * DOORBELL_SDMA_STEP;

	if (q->node->m->config.target == GFX9_TARGET_GFX942)
		base = (base + DOORBELL_SDMA_ALIGN - 1) / DOORBELL_SDMA_ALIGN * DOORBELL_SDMA_ALIGN;
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

/* Whatever the last queue with this doorbell was told, nobody has rung for this one. */
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
	q->hw.doorbell = q->doorbell;
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
	return m->config.target == GFX9_TARGET_GFX942 && !is_6_1(m) ? 255 : 127;
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
	err = check_memory(p, node, args);
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
	int err = check_arguments(call->m, args);

	if (err)
		return err;
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

/* It is gone whatever happens, as with the driver: what is left of it a reset takes away. */
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

/* All of a node at once: one stop for the others there, not one for each. */
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
	emu_sched_hold(n, q, nr, EMU_HELD_DESTROYED, GFX9_RESET, 0);
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

	if (!is_6_1(p->m) && args->ring_base_address &&
	    !is_mapped_as(p, n->index, args->ring_base_address, args->ring_size))
		return -EFAULT;
	pthread_mutex_lock(&n->lock);
	err = emu_sched_unmap(n, 0);
	/* While a reset is due nobody looks at queues. What was asked for counts in any case. */
	emu_node_enter(n);
	q->ring = args->ring_base_address;
	q->ring_size = args->ring_size;
	q->percentage = args->queue_percentage & 0xff;
	q->priority = args->queue_priority;
	emu_node_leave(n);
	if (!is_6_1(p->m) && p->node[n->index].reset)
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
	int err = check_share(call->m, args->queue_percentage, args->queue_priority);

	if (!err)
		err = check_ring(args->ring_base_address, &args->ring_size);
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

/*
 * One bit after the other goes to the XCCs in turn, and within an XCC to its shader engines in
 * turn: a mask of n bits is n compute units, as far apart as can be.
 */
static void spread_mask(const struct emu_config *c, const uint32_t *mask, uint32_t bits,
			uint32_t *cus)
{
	uint32_t engines = emu_config_arrays(c);
	uint32_t per_engine = (c->xcc_cus + engines - 1) / engines;

	memset(cus, 0, GFX9_CUS_MAX / 8);
	if (bits > c->nr_xccs * c->xcc_cus)
		bits = c->nr_xccs * c->xcc_cus;
	for (uint32_t xcc = 0; xcc < c->nr_xccs; xcc++) {
		uint32_t bit = xcc;

		for (uint32_t i = 0; i < per_engine * engines && bit < bits; i++) {
			uint32_t cu = i % engines * per_engine + i / engines;

			if (cu >= c->xcc_cus)
				continue;
			if (mask[bit / 32] >> bit % 32 & 1)
				cus[(xcc * c->xcc_cus + cu) / 32] |=
					1u << (xcc * c->xcc_cus + cu) % 32;
			bit += c->nr_xccs;
		}
	}
}

static int set_mask(struct emu_queue *q, const uint32_t *mask, uint32_t bits)
{
	struct emu_node *n = q->node;
	int err;

	pthread_mutex_lock(&n->lock);
	err = emu_sched_unmap(n, 0);
	if (!is_6_1(n->m) && q->process->node[n->index].reset)
		err = -EACCES;
	if (!err) {
		spread_mask(&n->m->config, mask, bits, q->cu_mask);
		q->is_masked = true;
	}
	emu_sched_map(n);
	pthread_mutex_unlock(&n->lock);
	return err;
}

int emu_set_cu_mask(struct emu_call *call, struct gp_kfd_set_cu_mask *args)
{
	uint32_t mask[CU_MASK_BITS_MAX / 32], bits = args->num_cu_mask;
	struct emu_process *p = call->process;
	struct emu_queue *q;
	int err;

	if (bits % 32 || !bits)
		return -EINVAL;
	if (bits > CU_MASK_BITS_MAX)
		bits = CU_MASK_BITS_MAX;
	err = emu_copy_from_user(call, mask, args->cu_mask_ptr, bits / 8);
	if (err)
		return err;
	pthread_mutex_lock(&p->lock);
	q = emu_queue_find(p, args->queue_id);
	err = q ? set_mask(q, mask, bits) : -EFAULT;
	pthread_mutex_unlock(&p->lock);
	return err;
}

static int set_gws(struct emu_queue *q, bool on)
{
	struct emu_process_node *pn = &q->process->node[q->node->index];
	int err;

	if (on && pn->gws)
		return -EBUSY;
	if (!on && !pn->gws)
		return -EINVAL;
	pthread_mutex_lock(&q->node->lock);
	pn->gws = on;
	err = emu_sched_unmap(q->node, 0);
	if (!err) {
		q->is_gws = on;
		/* On gfx942 this is a formality: it has no global sync. */
		q->hw.has_gws = on && q->node->m->config.target != GFX9_TARGET_GFX942;
	}
	emu_sched_map(q->node);
	pthread_mutex_unlock(&q->node->lock);
	return err;
}

int emu_alloc_queue_gws(struct emu_call *call, struct gp_kfd_alloc_queue_gws *args)
{
	struct emu_process *p = call->process;
	struct emu_queue *q;
	int err;

	pthread_mutex_lock(&p->lock);
	q = emu_queue_find(p, args->queue_id);
	err = q ? set_gws(q, args->num_gws) : -EINVAL;
	pthread_mutex_unlock(&p->lock);
	if (q)
		args->first_gws = 0;
	return err;
}

/*
 * What is saved
 */

static int copy_state(struct emu_call *call, struct emu_queue *q, uint32_t xcc, uint64_t to,
		      struct gfx9_area_header *h)
{
	const struct gfx9_context *c = &q->hw.context[xcc];
	uint8_t stack[PAGE];
	uint64_t bad;
	int err;

	*h = (struct gfx9_area_header){ 0 };
	if (c->saved)
		h->ctl_bytes = 4 * (GFX9_AREA_TOP_WORDS + c->entries);
	h->ctl_offset = c->ctl_bytes - h->ctl_bytes;
	h->records_bytes = (uint32_t)c->used;
	h->records_end = c->ctl_bytes + h->records_bytes;
	err = emu_copy_to_user(call, to, h, sizeof(*h));
	for (uint32_t at = h->ctl_offset; !err && at < c->ctl_bytes;) {
		uint32_t n = c->ctl_bytes - at < PAGE ? c->ctl_bytes - at : PAGE;

		if (!emu_memory_read(q->process, q->node->index, c->area + at, stack, n, &bad))
			return -EFAULT;
		err = emu_copy_to_user(call, to + at, stack, n);
		at += n;
	}
	return err;
}

static int get_state(struct emu_call *call, struct emu_queue *q,
		     struct gp_kfd_get_queue_wave_state *args)
{
	struct gfx9_area_header h;
	bool may;
	int err = 0;

	pthread_mutex_lock(&q->node->lock);
	may = !emu_queue_is_sdma(q) && !q->active && call->m->config.cwsr;
	pthread_mutex_unlock(&q->node->lock);
	if (!may)
		return -EINVAL;
	for (uint32_t i = 0; !err && i < call->m->config.nr_xccs; i++) {
		err = copy_state(call, q, i, args->ctl_stack_address + (uint64_t)i * q->save_size,
				 &h);
		if (err || i)
			continue;
		args->ctl_stack_used_size = h.ctl_bytes;
		args->save_area_used_size = h.records_bytes;
	}
	return err;
}

int emu_get_queue_wave_state(struct emu_call *call, struct gp_kfd_get_queue_wave_state *args)
{
	struct emu_process *p = call->process;
	struct emu_queue *q;
	int err;

	pthread_mutex_lock(&p->lock);
	q = emu_queue_find(p, args->queue_id);
	err = q ? get_state(call, q, args) : -EFAULT;
	pthread_mutex_unlock(&p->lock);
	return err;
}
