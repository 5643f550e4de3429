/* SPDX-License-Identifier: MIT */
/*
 * The machine in sysfs: files in its folder that say what amdkfd's would, for programs that look
 * for GPUs and for those that look at processes. Written before the first client comes; afterwards
 * only what belongs to a process changes.
 */
#ifndef GP__EMU_KFD_TOPOLOGY_H
#define GP__EMU_KFD_TOPOLOGY_H

#include <stdint.h>

/* Where it is, in the machine's folder. */
#define EMU_KFD_FOLDER "sys/devices/virtual/kfd/kfd"

struct emu_machine;
struct emu_process;
struct emu_queue;
struct gp_kfd_device_snapshot;

/* 0, or -errno with a sentence on stderr. */
int emu_topology_init(struct emu_machine *m);

/*
 * Of /sys/class/kfd/kfd/proc: a process, its queues, the memory it uses. What cannot be written is
 * missing there, and nowhere else.
 */
void emu_topology_add_process(struct emu_process *p);
void emu_topology_remove_process(struct emu_process *p);
void emu_topology_add_queue(const struct emu_queue *q);
void emu_topology_remove_queue(const struct emu_queue *q);
void emu_topology_set_vram(struct emu_process *p, uint32_t node);

/* Numbers in it that others say as well: render nodes and debuggers. */
const char *emu_topology_name(const struct emu_machine *m);
uint32_t emu_topology_device(const struct emu_machine *m);
uint32_t emu_topology_revision(const struct emu_machine *m);
uint32_t emu_topology_bus(uint32_t node);
uint32_t emu_topology_mhz(const struct emu_machine *m);
uint32_t emu_topology_memory_mhz(const struct emu_machine *m);
uint32_t emu_topology_memory_width(const struct emu_machine *m);
uint64_t emu_topology_unique_id(const struct emu_machine *m, uint32_t node);
uint32_t emu_topology_array_cus(const struct emu_machine *m);
uint32_t emu_topology_capability(const struct emu_machine *m);
uint32_t emu_topology_debug_prop(const struct emu_machine *m);
/* What there is of a debugger's description of a node. */
void emu_topology_describe(const struct emu_machine *m, uint32_t node,
			   struct gp_kfd_device_snapshot *entry);

/* Bits that the mask of a watched address has. */
void emu_topology_watch_bits(const struct emu_machine *m, uint32_t *low, uint32_t *high);

#endif
