/* SPDX-License-Identifier: MIT */
/*
 * The machine in sysfs: files in its folder with the content of amdkfd's, for programs that look
 * for GPUs and for tools that look at processes. Written before the first client connects;
 * afterwards only files of processes change.
 */
#ifndef GP__EMU_KFD_TOPOLOGY_H
#define GP__EMU_KFD_TOPOLOGY_H

#include <stdint.h>

/* Its path in the machine's folder. */
#define EMU_KFD_FOLDER "sys/devices/virtual/kfd/kfd"

struct emu_machine;
struct emu_process;
struct emu_queue;
struct gp_kfd_device_snapshot;

/* 0, or -errno with a sentence on stderr. */
int emu_topology_init(struct emu_machine *m);

/*
 * /sys/class/kfd/kfd/proc: a process, its queues, the memory it uses. If a file cannot be written,
 * it is missing; nothing else fails.
 */
void emu_topology_add_process(struct emu_process *p);
void emu_topology_remove_process(struct emu_process *p);
void emu_topology_add_queue(const struct emu_queue *q);
void emu_topology_set_priority(const struct emu_queue *q);
void emu_topology_remove_queue(const struct emu_queue *q);
void emu_topology_set_vram(struct emu_process *p, uint32_t node);

/* Values that render nodes and debuggers report as well. */
uint32_t emu_topology_bus(uint32_t node);
uint64_t emu_topology_unique_id(const struct emu_machine *m, uint32_t node);
uint32_t emu_topology_array_cus(const struct emu_machine *m);
uint32_t emu_topology_capability(const struct emu_machine *m);
uint32_t emu_topology_debug_prop(const struct emu_machine *m);
/* Fills the part of a debugger's device snapshot that comes from here. */
void emu_topology_describe(const struct emu_machine *m, uint32_t node,
			   struct gp_kfd_device_snapshot *entry);

#endif
