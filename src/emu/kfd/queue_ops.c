// SPDX-License-Identifier: MIT
/*
 * SET_CU_MASK, ALLOC_QUEUE_GWS and GET_QUEUE_WAVE_STATE. The first two take effect while the queues
 * of the node are unmapped.
 */
#include "emu/kfd/queue.h"

#include <errno.h>
#include <string.h>

#include "emu/kfd/call.h"
#include "emu/kfd/node.h"

#define PAGE 4096
#define CU_MASK_BITS_MAX 1024

/*
 * Consecutive bits go to the XCCs in turn, and within an XCC to its shader engines in turn: a mask
 * of n bits selects n compute units that are as far apart as possible.
 */
static void spread_mask(const struct emu_config *c, const uint32_t *mask, uint32_t bits,
			uint32_t *cus)
{
	uint32_t engines = c->chip->nr_arrays;
	uint32_t per_engine = (c->xcc_cus + engines - 1) / engines;

	memset(cus, 0, EMU_CUS_MAX / 8);
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
	err = emu_sched_unmap_queue(q);
	if (!emu_is_6_1(n->m) && q->process->node[n->index].reset)
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
	err = emu_sched_unmap_queue(q);
	if (!err) {
		q->is_gws = on;
		/* A chip without the instructions accepts the call as well. */
		if (q->hw)
			q->hw->has_gws = on && q->node->m->config.chip->has_gws;
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
	if (q && call->m->config.sched == EMU_SCHED_NONE)
		err = -ENODEV;
	else
		err = q ? set_gws(q, args->num_gws) : -EINVAL;
	pthread_mutex_unlock(&p->lock);
	if (q)
		args->first_gws = 0;
	return err;
}

/*
 * Saved waves
 */

static int copy_state(struct emu_call *call, struct emu_queue *q, uint32_t xcc, uint64_t to,
		      struct emu_save_header *h)
{
	uint64_t area = q->save_area + (uint64_t)xcc * q->save_size, bad;
	uint8_t stack[PAGE];
	uint32_t end;
	int err;

	q->node->engine->queue_saved(q->hw, xcc, h);
	end = h->ctl_offset + h->ctl_bytes;
	err = emu_copy_to_user(call, to, h, sizeof(*h));
	for (uint32_t at = h->ctl_offset; !err && at < end;) {
		uint32_t n = end - at < PAGE ? end - at : PAGE;

		if (!emu_memory_read(q->process, q->node->index, area + at, stack, n, &bad))
			return -EFAULT;
		err = emu_copy_to_user(call, to + at, stack, n);
		at += n;
	}
	return err;
}

static int get_state(struct emu_call *call, struct emu_queue *q,
		     struct gp_kfd_get_queue_wave_state *args)
{
	struct emu_save_header h;
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
