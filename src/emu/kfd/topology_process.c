// SPDX-License-Identifier: MIT
/*
 * Files of a process in /sys/class/kfd/kfd/proc: its queues and the memory it uses. A file that
 * cannot be written is missing there; nothing else fails.
 */
#include "emu/kfd/topology.h"

#include <stdio.h>

#include "emu/kfd/node.h"
#include "emu/kfd/priority.h"
#include "emu/kfd/process.h"
#include "emu/kfd/queue.h"
#include "emu/kfd/tree.h"

#define PROC EMU_KFD_FOLDER "/proc"

/*
 * Counters are written when they are opened (stats.h). The time of evictions is counted when they
 * end, which does not happen here.
 */
static void add_counters(struct emu_process *p, uint32_t gpu_id)
{
	const char *dir = p->m->config.dir;
	char path[128];

	snprintf(path, sizeof(path), PROC "/%d/sdma_%u", p->pid, gpu_id);
	emu_tree_file(dir, path, "0\n");
	snprintf(path, sizeof(path), PROC "/%d/stats_%u/cu_occupancy", p->pid, gpu_id);
	emu_tree_file(dir, path, "0\n");
	snprintf(path, sizeof(path), PROC "/%d/stats_%u/evicted_ms", p->pid, gpu_id);
	emu_tree_file(dir, path, "0\n");
}

void emu_topology_add_process(struct emu_process *p)
{
	struct emu_machine *m = p->m;
	char path[128];

	snprintf(path, sizeof(path), PROC "/%d/queues", p->pid);
	emu_tree_folder(m->config.dir, path);
	snprintf(path, sizeof(path), PROC "/%d/pasid", p->pid);
	emu_tree_file(m->config.dir, path, "%u\n", p->pasid);
	for (uint32_t i = 0; i < m->config.nr_gpus; i++) {
		emu_topology_set_vram(p, i);
		add_counters(p, m->node[i]->gpu_id);
	}
}

void emu_topology_remove_process(struct emu_process *p)
{
	char path[128];

	snprintf(path, sizeof(path), PROC "/%d", p->pid);
	emu_tree_remove(p->m->config.dir, path);
}

void emu_topology_set_vram(struct emu_process *p, uint32_t node)
{
	char path[128];

	snprintf(path, sizeof(path), PROC "/%d/vram_%u", p->pid, p->m->node[node]->gpu_id);
	emu_tree_file(p->m->config.dir, path, "%llu\n",
		      (unsigned long long)atomic_load(&p->node[node].vram_used));
}

/* The driver's numbers, which differ from those of the ioctl. */
static uint32_t queue_type(const struct emu_queue *q)
{
	switch (q->type) {
	case GP_KFD_QUEUE_SDMA:
		return 1;
	case GP_KFD_QUEUE_SDMA_XGMI:
		return 4;
	case GP_KFD_QUEUE_SDMA_BY_ENGINE:
		return 5;
	default:
		return 0;
	}
}

void emu_topology_add_queue(const struct emu_queue *q)
{
	const char *dir = q->process->m->config.dir;
	char path[128];

	snprintf(path, sizeof(path), PROC "/%d/queues/%u/gpuid", q->process->pid, q->id);
	emu_tree_file(dir, path, "%u", q->node->gpu_id);
	snprintf(path, sizeof(path), PROC "/%d/queues/%u/size", q->process->pid, q->id);
	emu_tree_file(dir, path, "%u", q->ring_size);
	snprintf(path, sizeof(path), PROC "/%d/queues/%u/type", q->process->pid, q->id);
	emu_tree_file(dir, path, "%u", queue_type(q));
	if (q->process->m->config.kernel != EMU_KERNEL_GPREEMPT)
		return;
	emu_topology_set_priority(q);
	emu_priority_add_queue_files(q);
}

/* -1: not given */
void emu_topology_set_priority(const struct emu_queue *q)
{
	char path[128];

	snprintf(path, sizeof(path), PROC "/%d/queues/%u/logical_priority", q->process->pid, q->id);
	emu_tree_file(q->process->m->config.dir, path, "%lld",
		      (long long)(q->logical_priority & ~GP_KFD_PRIORITY_SPLIT) - 1);
}

void emu_topology_remove_queue(const struct emu_queue *q)
{
	char path[128];

	snprintf(path, sizeof(path), PROC "/%d/queues/%u", q->process->pid, q->id);
	emu_tree_remove(q->process->m->config.dir, path);
}
