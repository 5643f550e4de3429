/* SPDX-License-Identifier: MIT */
/*
 * An emulated AMD machine: some GPUs (nodes), the processes that have them open, and the rules of
 * the kernel it stands for. One server process, one folder.
 *
 * Locks, in this order: machine, process, the node's scheduler by priority, node, the node's front
 * end; then those of the events, of an address space, and of the compute engine, under which none
 * of the former is taken. A function that wants one held says so.
 */
#ifndef GP__EMU_KFD_MACHINE_H
#define GP__EMU_KFD_MACHINE_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cond.h"
#include "emu/gfx9/area.h"
#include "emu/gfx9/gpu.h"

#define EMU_GPUS_MAX 8

/* Whose ioctls there are, and whose rules hold. */
enum emu_kernel {
	EMU_KERNEL_6_1, /* KFD 1.11: no debugger interface */
	EMU_KERNEL_6_12, /* KFD 1.17 */
	EMU_KERNEL_GPREEMPT, /* the same with gpreempt's series */
};

/* Faults on demand; probabilities are in millionths. */
struct emu_faults {
	uint32_t preempt_timeout, ioctl_eintr, ioctl_enomem;
	uint32_t late_slot; /* a dispatch keeps its slot until it has ended */
	uint64_t preempt_slow_ns;
	uint32_t hang_queue; /* so many dispatches are executed, the next one hangs; 0: none */
	uint64_t gpu_reset_ns; /* after so much time; 0: never */
};

struct emu_config {
	char name[64];
	char dir[PATH_MAX]; /* the machine's folder */
	enum gfx9_target target;
	uint32_t nr_gpus, nr_xccs, xcc_cus;
	uint64_t vram_bytes;
	enum emu_kernel kernel;
	bool kfd_sched; /* amdgpu.kfd_sched=1 of gpreempt's: it schedules by priority */
	bool cwsr;
	int threads; /* of each GPU's compute engine */
	uint32_t nice; /* of those */
	uint32_t preempt_timeout_ms; /* 0: the driver's own */
	uint64_t seed;
	struct emu_faults faults;
	int console_fd; /* for lines that concern the program's user as well (report.h); 0: none */
	bool strict; /* approximate instructions concern the user */
	FILE *trace; /* who was at the GPUs (trace.h), or NULL; the machine closes it */
};

struct emu_connection;
struct emu_file;
struct emu_node;
struct emu_process;
struct emu_shared;

struct emu_machine {
	struct emu_config config;
	struct emu_node *node[EMU_GPUS_MAX];
	pthread_mutex_t lock;
	struct emu_process *processes;
	struct emu_connection *connections;
	uint32_t nr_connections, nr_threads; /* and threads that serve them, or end a process */
	struct gp__cond ended; /* a connection or a process */
	uint32_t next_pasid;
	uint64_t next_file;
	int listen_fd, epoll_fd; /* of the server: clients, their files, and their deaths */
	pthread_mutex_t shared_lock;
	struct emu_shared *shared; /* memory that was exported */
	uint32_t max_buffers; /* of a process: each may be a mapping of ours */
	_Atomic uint32_t nr_memory_files; /* descriptors of buffers */
	uint32_t max_memory_files; /* so many or more: smaller buffers come from arenas */
	_Atomic uint64_t gtt_used; /* of the host's memory, which is the limit: */
	uint64_t gtt_bytes;
	_Atomic uint64_t random; /* state of emu_chance() */
	_Atomic bool quit;
};

/* Shader arrays of an XCC; what follows from the configuration for the size of a context save. */
uint32_t emu_config_arrays(const struct emu_config *config);
struct gfx9_area_gpu emu_config_area(const struct emu_config *config);

/* 0, or -errno with a sentence on stderr. The folder exists. */
int emu_machine_init(struct emu_machine *m, const struct emu_config *config);
void emu_machine_destroy(struct emu_machine *m);
/* Makes the socket: from now on clients can come. */
int emu_machine_listen(struct emu_machine *m);
/* Serves clients until @quit_fd becomes readable; all of them are gone then. */
int emu_machine_serve(struct emu_machine *m, int quit_fd);

struct emu_node *emu_machine_node(struct emu_machine *m, uint32_t gpu_id);
/* Seeded: true in @millionths of all cases. */
bool emu_chance(struct emu_machine *m, uint32_t millionths);

#endif
