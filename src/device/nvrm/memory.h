/* SPDX-License-Identifier: MIT */
/*
 * The GPU memory that a program has allocated from the RM, by device: what it asked for, as the RM
 * rounded it. Memory of other processes to which it has handles is not its own, and managed memory,
 * which does not come from the RM, is not seen.
 *
 * Its lock is held for a moment only, so that no allocation waits for a call of ours to the RM.
 */
#ifndef GP__DEVICE_NVRM_MEMORY_H
#define GP__DEVICE_NVRM_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct gp__nvrm_piece;
struct gp__nvrm_total;

struct gp__nvrm_memory {
	pthread_mutex_t lock;
	struct gp__nvrm_piece *pieces; /* by client and handle */
	struct gp__nvrm_total *totals;
	bool unknown; /* for good: the program allocated in a way that is not followed */
};

/* A child of fork() begins anew with this: a thread of the parent may have held the lock and been
 * in the middle of the table. */
void gp__nvrm_memory_init(struct gp__nvrm_memory *m);
void gp__nvrm_memory_destroy(struct gp__nvrm_memory *m);
/* @parent: the device. A piece that had this handle is gone. */
void gp__nvrm_memory_add(struct gp__nvrm_memory *m, uint32_t client, uint32_t parent,
			 uint32_t handle, uint64_t bytes);
/* True: it was one. */
bool gp__nvrm_memory_remove(struct gp__nvrm_memory *m, uint32_t client, uint32_t handle);
/* Removes what was allocated from this device, or all of a client, if that is @parent. */
void gp__nvrm_memory_remove_of(struct gp__nvrm_memory *m, uint32_t client, uint32_t parent);
void gp__nvrm_memory_lose(struct gp__nvrm_memory *m);
/* Adds up what was allocated from this device. False: that is not known. */
bool gp__nvrm_memory_sum(struct gp__nvrm_memory *m, uint32_t client, uint32_t parent,
			 uint64_t *bytes);

#endif
