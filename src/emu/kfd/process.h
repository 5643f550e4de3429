/* SPDX-License-Identifier: MIT */
/*
 * A client process as amdkfd knows it: its address space, events, queues and debugger, from the
 * first open of /dev/kfd to the end of its last connection or file.
 */
#ifndef GP__EMU_KFD_PROCESS_H
#define GP__EMU_KFD_PROCESS_H

#include "emu/kfd/event.h"
#include "emu/kfd/machine.h"
#include "emu/kfd/memory.h"

#define EMU_QUEUES_MAX 1024 /* of a process */

struct emu_queue;
struct emu_debug;

enum emu_file_kind { EMU_FILE_KFD, EMU_FILE_RENDER };

/* An open file: the client has one end of a socket pair and its duplicates, we have the other. */
struct emu_file {
	uint64_t id;
	enum emu_file_kind kind;
	uint32_t node; /* of a render node */
	int fd;
	struct emu_file *next;
};

/* What a process has on one GPU. */
struct emu_process_node {
	bool acquired; /* ACQUIRE_VM: its address space is in use */
	int doorbell_fd; /* two pages of doorbells, -1: none yet */
	_Atomic uint64_t *doorbells; /* as the machine sees them */
	uint64_t doorbell_bits[16]; /* in use */
	uint64_t trap_va; /* the two pages of the trap handler */
	uint64_t tba, tma; /* what SET_TRAP_HANDLER said */
	uint64_t evicted; /* nonzero: its queues do not run (fault, eviction) */
	uint64_t vram_used;
};

struct emu_process {
	struct emu_process *next;
	struct emu_machine *m;
	pid_t pid;
	uid_t uid;
	uint64_t cookie;
	uint32_t pasid;
	unsigned int refs; /* connections and files; under the machine's lock */
	pthread_mutex_t lock;
	struct emu_file *files;
	struct emu_memory memory; /* one address space: addresses are the same on all GPUs */
	struct emu_events events;
	struct emu_process_node node[EMU_GPUS_MAX];
	struct emu_queue *queue[EMU_QUEUES_MAX]; /* by id */
	struct emu_debug *debug; /* NULL: nothing was ever debugged */
	bool dying;
};

/* Finds or makes the process of a connection, with a reference to it. NULL: out of memory. */
struct emu_process *emu_process_get(struct emu_machine *m, pid_t pid, uid_t uid, uint64_t cookie);
/* The last one ends it: queues, events, memory, and what others have of it. */
void emu_process_put(struct emu_process *p);
/* That of a pid, with a reference; NULL: it has nothing open here. */
struct emu_process *emu_process_find(struct emu_machine *m, pid_t pid);

#endif
