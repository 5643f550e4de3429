// SPDX-License-Identifier: MIT
#include "emu/kfd/stats.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "emu/kfd/memfd.h"
#include "emu/kfd/node.h"
#include "emu/kfd/process.h"
#include "emu/kfd/queue.h"

/* Like the driver: the number of compute units that its waves would fill. */
static uint64_t cu_occupancy(struct emu_node *n, struct emu_process *p)
{
	uint64_t waves = 0;

	pthread_mutex_lock(&n->lock);
	for (struct emu_queue *q = n->queues; q; q = q->next) {
		if (q->process == p && !emu_queue_is_sdma(q))
			waves += n->engine->queue_waves(n->gpu, q->hw);
	}
	pthread_mutex_unlock(&n->lock);
	return (waves + n->engine->cu_waves - 1) / n->engine->cu_waves;
}

/* Host time for which the DMA engines worked for it. */
static uint64_t sdma_us(struct emu_node *n, struct emu_process *p)
{
	return atomic_load(&p->node[n->index].sdma_ns) / GP__US;
}

static int write_number(struct emu_machine *m, int pid, unsigned int gpu_id,
			uint64_t (*count)(struct emu_node *n, struct emu_process *p))
{
	struct emu_node *n = emu_machine_node(m, gpu_id);
	struct emu_process *p = n ? emu_process_find(m, pid) : NULL;
	char text[32];
	int len;

	if (!p)
		return -ENOENT;
	len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)count(n, p));
	emu_process_put(p);
	return emu_memfd_text(text, (size_t)len);
}

int emu_stats_open(struct emu_machine *m, const char *path)
{
	const char *at = strstr(path, "/kfd/kfd/proc/");
	unsigned int gpu_id;
	int pid, end = 0;

	if (!at)
		return -ENOENT;
	at += strlen("/kfd/kfd/proc/");
	if (sscanf(at, "%d/sdma_%u%n", &pid, &gpu_id, &end) == 2 && !at[end])
		return write_number(m, pid, gpu_id, sdma_us);
	end = 0;
	if (sscanf(at, "%d/stats_%u/cu_occupancy%n", &pid, &gpu_id, &end) == 2 && end && !at[end])
		return write_number(m, pid, gpu_id, cu_occupancy);
	return -ENOENT;
}
