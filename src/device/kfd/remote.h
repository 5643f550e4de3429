/* SPDX-License-Identifier: MIT */
/*
 * Sees whether queues of another process have work, by reading their rings in its memory;
 * aql/ring.h judges what is read.
 *
 * The driver tells the rings' addresses to a debugger (gp__kfd_debug_snapshot()). The memory is
 * read through /proc/PID/mem, which also reads mappings of devices; process_vm_readv() does not.
 * Both need the right to trace the process: the same user, or CAP_SYS_PTRACE.
 *
 * One thread at a time uses a process. The caller looks again and again: the end of work whose
 * completion signal cannot be read is only seen by its stillness over several looks.
 */
#ifndef GP__DEVICE_KFD_REMOTE_H
#define GP__DEVICE_KFD_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "aql/ring.h"
#include "device/kfd/queue.h"

struct gp__kfd_remote_queue {
	uint32_t id, gpu_id;
	uint64_t identity; /* of the queue among all that have had its id */
	bool was_seen;
	struct gp__ring_place place;
	struct gp__ring ring;
};

struct gp__kfd_remote {
	pid_t pid;
	int mem; /* -1: closed */
	struct gp__kfd_remote_queue *queue;
	size_t nr;
};

/* Reads which queue of all that have had the id the driver has now. False: none. */
bool gp__kfd_remote_identify(pid_t pid, uint32_t id, uint64_t *identity);

/* 0 or -errno (-EACCES, -EPERM: the process may not be traced). */
int gp__kfd_remote_open(struct gp__kfd_remote *r, pid_t pid);
void gp__kfd_remote_close(struct gp__kfd_remote *r);

/* Adds a queue of the process, or replaces the one that has the same id. 0 or -errno (-ENOENT: the
 * driver does not have it). */
int gp__kfd_remote_add(struct gp__kfd_remote *r, const struct gp__kfd_queue_info *queue);
/* Whether gp__kfd_remote_look() can look at the queue: it was added, and no other one has its id
 * now. */
bool gp__kfd_remote_has(const struct gp__kfd_remote *r, uint32_t id);

/*
 * 1: the queue has work, or had some since the last look; 0: neither; or -errno (-ENOENT: it is
 * gone; -EFAULT: its ring cannot be read). @held: somebody holds the queue.
 */
int gp__kfd_remote_look(struct gp__kfd_remote *r, uint32_t id, bool held, uint64_t now);

#endif
