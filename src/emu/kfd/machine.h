/* SPDX-License-Identifier: MIT */
/*
 * An emulated AMD machine: some GPUs (nodes), the processes that have them open, and the rules of
 * the emulated kernel. It is one server process with one folder.
 *
 * Locks, in this order: machine, process, the node's scheduler by priority, node, the node's front
 * end; then those of the events, of an address space, and of the compute engine, under which none
 * of the former is taken. A function that expects a lock to be held says so.
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
#include "emu/kfd/chip.h"

#define EMU_GPUS_MAX 8

/* The kernel whose ioctls and rules the machine has. */
enum emu_kernel {
	EMU_KERNEL_6_1, /* KFD 1.11: no debugger interface */
	EMU_KERNEL_6_12, /* KFD 1.17 */
	EMU_KERNEL_GPREEMPT, /* the same with gpreempt's series */
};

/* The scheduler that maps queues to hardware queues. */
enum emu_sched {
	EMU_SCHED_HWS, /* firmware, by a run list of all queues of the node */
	EMU_SCHED_MES, /* firmware, queue by queue */
	EMU_SCHED_NONE, /* the driver, queue by queue: amdgpu.sched_policy=2 */
};

/* Faults on demand; probabilities are in millionths. */
struct emu_faults {
	uint32_t preempt_timeout, ioctl_eintr, ioctl_enomem;
	uint32_t late_slot; /* a dispatch keeps its slot in the ring until it has ended */
	uint64_t preempt_slow_ns;
	uint32_t hang_queue; /* the dispatch after so many hangs; 0: none */
	uint64_t gpu_reset_ns; /* after so much time; 0: never */
};

struct emu_config {
	char name[64];
	char dir[PATH_MAX]; /* the machine's folder */
	const struct emu_chip *chip; /* the model of all GPUs */
	uint32_t nr_gpus, nr_xccs, xcc_cus;
	uint64_t vram_bytes;
	enum emu_kernel kernel;
	enum emu_sched sched;
	bool kfd_sched; /* amdgpu.kfd_sched=1 of gpreempt's: it schedules by priority */
	bool preempt_aliases; /* amdgpu.kfd_preempt_aliases=1 of gpreempt's: it has 0x87 and 0x88 */
	bool cwsr;
	int threads; /* of each GPU's compute engine */
	uint32_t nice; /* of those threads */
	uint32_t preempt_timeout_ms; /* 0: the driver's, see emu_sched_timeout_ms() */
	uint64_t seed;
	struct emu_faults faults;
	/* for messages that the program's user should see as well (report.h); 0: none */
	int console_fd;
	bool strict; /* report approximate instructions there, too */
	FILE *trace; /* occupancy of the GPUs (trace.h), or NULL; the machine closes it */
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
	uint32_t nr_connections, nr_threads; /* threads serve connections, or end a process */
	struct gp__cond ended; /* signalled for a connection or a process */
	uint32_t next_pasid;
	uint64_t next_file;
	int listen_fd, epoll_fd; /* of the server: clients, their files and their deaths */
	pthread_mutex_t shared_lock;
	struct emu_shared *shared; /* exported memory */
	uint32_t max_buffers; /* of a process: each may be a mapping of ours */
	_Atomic uint32_t nr_memory_files; /* descriptors of buffers */
	uint32_t max_memory_files; /* from so many on, small buffers come from arenas */
	_Atomic uint64_t gtt_used; /* of the host's memory, limited to: */
	uint64_t gtt_bytes;
	_Atomic uint64_t random; /* state of emu_chance() */
	_Atomic bool quit;
};

static inline bool emu_is_6_1(const struct emu_machine *m)
{
	return m->config.kernel == EMU_KERNEL_6_1;
}

/* Sizes of the context save area of a queue. */
struct emu_save_sizes emu_save_sizes(const struct emu_config *config);

/* 0, or -errno with a sentence on stderr. The folder exists. */
int emu_machine_init(struct emu_machine *m, const struct emu_config *config);
void emu_machine_destroy(struct emu_machine *m);
/* Creates the socket: clients can connect from now on. */
int emu_machine_listen(struct emu_machine *m);
/* Serves clients until @quit_fd becomes readable; all are disconnected when it returns. */
int emu_machine_serve(struct emu_machine *m, int quit_fd);

struct emu_node *emu_machine_node(struct emu_machine *m, uint32_t gpu_id);
/* True with a probability of @millionths; seeded. */
bool emu_chance(struct emu_machine *m, uint32_t millionths);

#endif
