/* SPDX-License-Identifier: MIT */
/* The GPUs of this machine as amdkfd shows them in sysfs. */
#ifndef GP__DEVICE_KFD_TOPOLOGY_H
#define GP__DEVICE_KFD_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define GP__KFD_NODES_MAX 64
#define GP__KFD_GFX_NAME_MAX 24

struct gp__kfd_node {
	uint32_t index; /* of the node's folder */
	uint32_t gpu_id;
	uint64_t unique_id; /* of the chip, worldwide; 0: it has none */
	uint32_t gfx_version; /* 90010 is gfx90a */
	uint32_t nr_cus, nr_xccs; /* nr_cus: of all XCCs */
	uint32_t nr_arrays, engine_arrays; /* shader arrays: of all XCCs, and of an engine */
	uint32_t render_minor;
	uint32_t nr_cp_queues;
	uint32_t clock_mhz; /* the highest of the compute units; 0: unknown */
	/* Sizes of a compute queue's context save area; from the driver if it shows them. */
	uint32_t save_bytes, ctl_stack_bytes; /* of each XCC: records with the control stack */
	uint32_t debug_bytes; /* of each XCC, behind all of them */
	uint64_t vram_bytes; /* 0: unknown */
	char name[64];
};

/* The GPUs, in the order of their nodes: how many, or -errno (-ENODEV: there is no amdkfd). */
int gp__kfd_nodes(struct gp__kfd_node node[GP__KFD_NODES_MAX]);

/* The GPU's name in the protocol: the same in every program of the machine. */
void gp__kfd_node_key(const struct gp__kfd_node *node, char *key, size_t size);

/* How much memory of a GPU a process uses, by its pid outside of containers. False: the driver does
 * not say. */
bool gp__kfd_memory_used(pid_t pid, uint32_t gpu_id, uint64_t *bytes);

/* amdgpu's parameter cwsr_enable: whether waves are saved; -1: the driver does not say. */
int gp__kfd_cwsr_enable(void);

/* The scheduler of a kernel with gpreempt's series, for GPUs on which it was enabled. */
struct gp__kfd_scheduler {
	bool exists;
	bool enabled;
	uint32_t period_us; /* how often it polls for work; 0: unknown */
};

struct gp__kfd_scheduler gp__kfd_kernel_scheduler(uint32_t gpu_id);

/* "gfx90a" of 90010. Returns @text. */
const char *gp__kfd_gfx_name(uint32_t gfx_version, char text[GP__KFD_GFX_NAME_MAX]);

/* Reads one line of a node's properties, "NAME VALUE"; unknown names are ignored. */
void gp__kfd_node_property(struct gp__kfd_node *node, const char *line);
/* Derives the remaining fields. */
void gp__kfd_node_complete(struct gp__kfd_node *node);

#endif
