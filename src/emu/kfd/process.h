/* SPDX-License-Identifier: MIT */
/*
 * A client process as amdkfd knows it: its address space, events, queues and debugger, from the
 * first open of /dev/kfd to the end of its last connection or file.
 */
#ifndef GP__EMU_KFD_PROCESS_H
#define GP__EMU_KFD_PROCESS_H

#include "emu/kfd/debug.h"
#include "emu/kfd/event.h"
#include "emu/kfd/machine.h"
#include "emu/kfd/memory.h"

#define EMU_QUEUES_MAX 1024 /* of a process */

struct emu_queue;

#define EMU_FILES_MAX 1024 /* of a process */

enum emu_file_kind { EMU_FILE_KFD, EMU_FILE_RENDER };

/* An open file: the client has one end of a socket pair and its duplicates, we have the other. */
struct emu_file {
	uint64_t id;
	enum emu_file_kind kind;
	uint32_t node; /* of a render node */
	uint32_t flags; /* of open() */
	int fd; /* our end: it hangs up when the last duplicate of the client's end is closed */
	struct emu_process *process; /* that opened it; it has a reference */
	struct emu_file *next;
};

struct gp_kfd_apertures;

/* The state of a process on one GPU. */
struct emu_process_node {
	uint64_t render_file; /* of ACQUIRE_VM: its address space is in use; 0: not yet */
	int doorbell_fd; /* two pages of doorbells, -1: none yet */
	_Atomic uint64_t *doorbells; /* mapped in the machine */
	uint64_t doorbell_bits[16]; /* in use */
	_Atomic uint32_t nr_watches; /* mappings of them in the program */
	/* a page of registers that flush caches, which are not emulated; -1: none yet */
	int mmio_fd;
	/*
	 * The trap handler of its waves. With context save, this is the machine's own, whose two
	 * pages are mapped here; it jumps to the program's handler as the second level.
	 */
	uint64_t tba, tma;
	_Atomic uint64_t *tma_words; /* level 2: handler, its memory, debugged or not; NULL */
	uint64_t scratch_va;
	bool evicted; /* its queues do not run (fault, reset); the node's lock */
	bool reset; /* its queues were lost in a reset; the node's lock */
	bool gws; /* a queue uses it */
	struct emu_wave_debug waves; /* its debugger's requests; the node's lock */
	uint32_t watch_ids; /* its address watches of the node's, a bit each; the node's lock */
	uint32_t nr_queues;
	_Atomic uint64_t vram_used;
	_Atomic uint64_t sdma_ns; /* host time that its DMA queues' packets took */
};

struct emu_process {
	struct emu_process *next;
	struct emu_machine *m;
	pid_t pid;
	uid_t uid;
	uint64_t cookie;
	uint32_t pasid;
	int pidfd; /* readable when it died; -1 */
	/* References: connections, files, and threads that use it; under the machine's lock. */
	unsigned int refs;
	struct emu_file *files; /* under the machine's lock */
	uint32_t nr_files;
	bool opened; /* it has opened /dev/kfd: others can see it; under the machine's lock */
	bool adopted; /* a tracer created it before it connected; holds a reference until it ends */
	pthread_mutex_t lock;
	struct emu_memory memory; /* one address space: addresses are the same on all GPUs */
	struct emu_events events;
	struct emu_process_node node[EMU_GPUS_MAX];
	struct emu_queue *queue[EMU_QUEUES_MAX]; /* by id */
	struct emu_debug debug;
	_Atomic uint32_t nr_holds; /* of its open files on queues */
	_Atomic uint64_t met[EMU_OPCODES_MAX / 64]; /* approximate opcodes that were reported */
};

/* The state of a process on a GPU; NULL: @gpu_id is none. */
struct emu_process_node *emu_process_node(struct emu_process *p, uint32_t gpu_id, uint32_t *node);
/* The same, where the process has acquired an address space on it; -EINVAL, -ENODEV otherwise. */
int emu_process_bind(struct emu_process *p, uint32_t gpu_id, uint32_t *node);
/* The descriptor of its doorbells, created on demand, all ones; -errno. With its lock. */
int emu_process_doorbells(struct emu_process *p, uint32_t node);
uint64_t emu_doorbell_bytes(void);
/* The same for its page of registers. */
int emu_process_mmio(struct emu_process *p, uint32_t node);
/* mmap of /dev/kfd: the reply has the prot and flags to use; the caller does not close *@fd. */
struct emu_call;
struct emu_message;
int emu_kfd_mmap(struct emu_call *call, const struct emu_message *msg, struct emu_message *reply,
		 int *fd);

/* Finds or creates the process of a connection, and takes a reference. NULL: out of memory. */
struct emu_process *emu_process_get(struct emu_machine *m, pid_t pid, uid_t uid, uint64_t cookie);
/* The process of a pid, created if necessary: later requests of its program belong to it. */
struct emu_process *emu_process_adopt(struct emu_machine *m, pid_t pid);
/* The last reference ends it: queues, events, memory, and its holds on others. */
void emu_process_put(struct emu_process *p);
/* The process of a pid, with a reference; NULL: it has nothing open here. */
struct emu_process *emu_process_find(struct emu_machine *m, pid_t pid);

/* How many queues the open files of a user's processes hold. */
uint32_t emu_process_holds_of_user(struct emu_machine *m, uid_t uid);

/*
 * Open files. No caller holds the machine's lock; a file that is found stays open as long as its
 * owner has a connection in a call.
 */
int emu_file_open(struct emu_process *p, enum emu_file_kind kind, uint32_t node, uint32_t flags,
		  int *client_fd, uint64_t *id);
/* Copies the file, whichever process opened it; false: no such id. */
bool emu_file_find(struct emu_machine *m, uint64_t id, struct emu_file *file);
/* Its last duplicate was closed. */
void emu_file_close(struct emu_machine *m, uint64_t id);

/* The ioctls. */
struct emu_call;
struct gp_kfd_acquire_vm;
struct gp_kfd_criu;
struct gp_kfd_get_apertures;
struct gp_kfd_get_apertures_old;
struct gp_kfd_get_clock_counters;
struct gp_kfd_get_tile_config;
struct gp_kfd_set_memory_policy;
struct gp_kfd_set_scratch_backing_va;
struct gp_kfd_set_trap_handler;
struct gp_kfd_set_xnack_mode;
struct gp_kfd_svm;
struct gp_kfd_version;
int emu_get_version(struct emu_call *call, struct gp_kfd_version *args);
int emu_get_clock_counters(struct emu_call *call, struct gp_kfd_get_clock_counters *args);
int emu_get_apertures_old(struct emu_call *call, struct gp_kfd_get_apertures_old *args);
int emu_get_apertures(struct emu_call *call, struct gp_kfd_get_apertures *args);
int emu_set_memory_policy(struct emu_call *call, struct gp_kfd_set_memory_policy *args);
int emu_set_scratch_backing_va(struct emu_call *call, struct gp_kfd_set_scratch_backing_va *args);
int emu_get_tile_config(struct emu_call *call, struct gp_kfd_get_tile_config *args);
int emu_set_trap_handler(struct emu_call *call, struct gp_kfd_set_trap_handler *args);
int emu_acquire_vm(struct emu_call *call, struct gp_kfd_acquire_vm *args);
int emu_set_xnack_mode(struct emu_call *call, struct gp_kfd_set_xnack_mode *args);
int emu_svm(struct emu_call *call, struct gp_kfd_svm *args);
/* Checkpoints are not supported; only callers with the capability are told so. */
bool emu_may_checkpoint(const struct emu_call *call);
int emu_criu(struct emu_call *call, struct gp_kfd_criu *args);
/* The apertures of a process on a GPU, also for debuggers. */
void emu_apertures(const struct emu_machine *m, uint32_t node, struct gp_kfd_apertures *a);

#endif
