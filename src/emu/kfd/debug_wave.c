// SPDX-License-Identifier: MIT
/*
 * A debugger's requests for waves: how they start, at which exceptions they trap, and which
 * addresses are watched. Except for watches, they are the same on all GPUs. They take effect while
 * the queues of a node are unmapped: saved waves are restored with them.
 */
#include "emu/kfd/debug_ops.h"

#include <errno.h>

#include "emu/kfd/node.h"
#include "emu/kfd/queue.h"

/*
 * Exceptions of floating point and of integer division are accepted, as the driver does; no
 * instruction raises one here.
 */
#define TRAPS_ALL 0x1ffu
#define TRAPS_WAVES (TRAPS_ALL | GP_KFD_DBG_TRAP_WAVE_START | GP_KFD_DBG_TRAP_WAVE_END)

/* Calls @change for the waves of @p on one GPU while its queues are unmapped. */
static int change_waves(struct emu_process *p, uint32_t node,
			void (*change)(struct emu_wave_debug *waves, const void *arg),
			const void *arg)
{
	struct emu_node *n = p->m->node[node];
	int err;

	pthread_mutex_lock(&n->lock);
	err = emu_sched_unmap(n, 0);
	if (!err) {
		change(&p->node[node].waves, arg);
		emu_sched_map(n);
	}
	pthread_mutex_unlock(&n->lock);
	return err;
}

static int change_all(struct emu_process *p,
		      void (*change)(struct emu_wave_debug *waves, const void *arg),
		      const void *arg)
{
	int err = 0;

	for (uint32_t i = 0; i < p->m->config.nr_gpus && !err; i++)
		err = change_waves(p, i, change, arg);
	return err;
}

/*
 * Launch override and mode
 */

static uint32_t traps_of(const struct emu_wave_debug *waves)
{
	return waves->exceptions | (waves->trap_on_start ? GP_KFD_DBG_TRAP_WAVE_START : 0) |
	       (waves->trap_on_end ? GP_KFD_DBG_TRAP_WAVE_END : 0);
}

static void set_traps(struct emu_wave_debug *waves, const void *arg)
{
	const struct gp_kfd_dbg_launch_override *o = arg;
	uint32_t traps = (o->enable_mask & o->support_request_mask) |
			 (traps_of(waves) & ~o->support_request_mask);

	waves->exceptions = traps & TRAPS_ALL;
	waves->trap_on_start = traps & GP_KFD_DBG_TRAP_WAVE_START;
	waves->trap_on_end = traps & GP_KFD_DBG_TRAP_WAVE_END;
}

/* Returns the previous mask, and the supported exceptions. */
int emu_debug_set_override(struct emu_process *p, struct gp_kfd_dbg_launch_override *args)
{
	const struct gp_kfd_dbg_launch_override wanted = *args;
	const struct emu_config *c = &p->m->config;

	args->support_request_mask = ~0u;
	if (!c->nr_gpus)
		return 0; /* no GPU that could refuse */
	args->support_request_mask = c->chip->has_wave_traps ? TRAPS_WAVES : TRAPS_ALL;
	if (wanted.override_mode != GP_KFD_DBG_OVERRIDE_OR &&
	    wanted.override_mode != GP_KFD_DBG_OVERRIDE_REPLACE)
		return -EPERM;
	if (wanted.support_request_mask & ~args->support_request_mask)
		return -EACCES;
	args->enable_mask = traps_of(&p->node[0].waves);
	return change_all(p, set_traps, &wanted);
}

static void set_mode(struct emu_wave_debug *waves, const void *arg)
{
	waves->launch_mode = *(const uint8_t *)arg;
}

int emu_debug_set_launch_mode(struct emu_process *p, const struct gp_kfd_dbg_launch_mode *args)
{
	uint8_t mode = (uint8_t)args->launch_mode;

	if (mode != GP_KFD_DBG_LAUNCH_NORMAL && mode != GP_KFD_DBG_LAUNCH_HALT &&
	    mode != GP_KFD_DBG_LAUNCH_DEBUG)
		return -EINVAL;
	return change_all(p, set_mode, &mode);
}

/*
 * Address watches: a GPU has four for all processes; each is for addresses of one process.
 */

struct watch_change {
	uint32_t id;
	struct emu_address_watch watch;
};

static void set_watch(struct emu_wave_debug *waves, const void *arg)
{
	const struct watch_change *c = arg;

	waves->watch[c->id] = c->watch;
	waves->watches = false;
	for (uint32_t i = 0; i < EMU_WATCHES; i++)
		waves->watches |= waves->watch[i].valid;
}

static int take_watch(struct emu_process *p, uint32_t node, uint32_t *id)
{
	struct emu_node *n = p->m->node[node];
	int err = -ENOMEM;

	*id = ~0u;
	pthread_mutex_lock(&n->lock);
	for (uint32_t i = 0; i < EMU_WATCHES && err; i++) {
		if (n->watch_ids >> i & 1)
			continue;
		n->watch_ids |= 1u << i;
		p->node[node].watch_ids |= 1u << i;
		*id = i;
		err = 0;
	}
	pthread_mutex_unlock(&n->lock);
	return err;
}

static void give_watch(struct emu_process *p, uint32_t node, uint32_t id)
{
	struct emu_node *n = p->m->node[node];

	pthread_mutex_lock(&n->lock);
	n->watch_ids &= ~(1u << id);
	p->node[node].watch_ids &= ~(1u << id);
	pthread_mutex_unlock(&n->lock);
}

/* Bits below the mask are never compared, those above it always are. */
static uint64_t watch_mask(const struct emu_machine *m, uint32_t mask)
{
	uint32_t low = m->config.chip->watch_low, high = m->config.chip->watch_high;
	uint64_t field;

	field = ((uint64_t)1 << (high + 1)) - ((uint64_t)1 << low);
	return (mask & field) | (((uint64_t)1 << EMU_ADDRESS_BITS) - ((uint64_t)1 << (high + 1)));
}

/* Like the driver, this succeeds even if the node cannot be stopped. */
int emu_debug_set_watch(struct emu_process *p, struct gp_kfd_dbg_set_address_watch *args)
{
	struct watch_change c = {
		.watch = { .valid = true,
			   .mode = args->mode & EMU_WATCH_ALL,
			   .address = args->address,
			   .mask = watch_mask(p->m, args->mask) },
	};
	uint32_t node;
	int err;

	emu_process_node(p, args->gpu_id, &node);
	err = take_watch(p, node, &args->id);
	if (err)
		return err;
	c.id = args->id;
	if (change_waves(p, node, set_watch, &c))
		give_watch(p, node, c.id);
	return 0;
}

static int clear_watch(struct emu_process *p, uint32_t node, uint32_t id)
{
	const struct watch_change c = { .id = id };
	int err;

	if (id >= EMU_WATCHES || !(p->node[node].watch_ids >> id & 1))
		return -EINVAL;
	err = change_waves(p, node, set_watch, &c);
	give_watch(p, node, id);
	return err;
}

int emu_debug_clear_watch(struct emu_process *p, const struct gp_kfd_dbg_clear_address_watch *args)
{
	uint32_t node;

	emu_process_node(p, args->gpu_id, &node);
	return clear_watch(p, node, args->id);
}

static void forget(struct emu_wave_debug *waves, const void *arg)
{
	(void)arg;
	*waves = (struct emu_wave_debug){ 0 };
}

void emu_debug_clear_waves(struct emu_process *p)
{
	for (uint32_t i = 0; i < p->m->config.nr_gpus; i++) {
		for (uint32_t id = 0; id < EMU_WATCHES; id++)
			clear_watch(p, i, id);
		change_waves(p, i, forget, NULL);
	}
}
