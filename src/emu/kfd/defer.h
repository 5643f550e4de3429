/* SPDX-License-Identifier: MIT */
/*
 * Deferred memory: memory of a program (userptr) that the machine has registered and does not map.
 *
 * Sharing a program's private memory with the machine moves all of it twice. A program that copies
 * pageable memory registers it for a single copy by a DMA engine, so that waits until something
 * else needs the memory: DMA copies it where it is, with process_vm_readv() and its counterpart.
 *
 * The first other access, by a wave or by a packet processor, converts it: the thread waits while
 * one of the program's answers the request (EMU_SERVE). If it does not within some seconds, the
 * access is a fault of the program. While memory of the program is converted in either direction,
 * nothing is copied like this.
 */
#ifndef GP__EMU_KFD_DEFER_H
#define GP__EMU_KFD_DEFER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cond.h"

struct emu_call;
struct emu_process;
struct emu_shared;

/* Whether a thread of the program serves. */
enum emu_serving { EMU_SERVING_NOT, EMU_SERVING, EMU_SERVING_REFUSED };

struct emu_defer {
	pthread_mutex_t lock; /* for what follows */
	struct gp__cond changed;
	enum emu_serving serving;
	int fd; /* the connection of the thread that serves */
	int wake_fd; /* an eventfd: something is wanted; -1: nobody has served yet */
	struct emu_shared *wanted; /* a list */
	struct emu_shared *converting;
	_Atomic uint32_t nr; /* how much memory is deferred */
	pthread_rwlock_t copies; /* to read: a copy; to write: a conversion */
};

int emu_defer_init(struct emu_defer *d);
void emu_defer_destroy(struct emu_defer *d);

/* 1: the memory is deferred; 0: it is to be shared now; -errno: the program cannot access it. */
int emu_defer(struct emu_call *call, struct emu_shared *s);
/* Shares deferred memory: its host address; NULL: that is not possible. Any thread may wait here.
 */
uint8_t *emu_defer_convert(struct emu_shared *s);
/* The memory is given up: afterwards it is not deferred, and nobody converts it. */
void emu_defer_cancel(struct emu_shared *s);
void emu_defer_stop_copies(struct emu_process *p);
void emu_defer_resume_copies(struct emu_process *p);

/* Whether the process has any. */
bool emu_defer_any(const struct emu_process *p);
/* Copies to or from the program's memory at @user. False: not possible, a part may be copied. */
bool emu_defer_copy(struct emu_process *p, uint64_t user, void *host, size_t bytes, bool to_user);

/* The call of the thread that serves; @cookie_at is the address of the program's cookie. */
int emu_defer_serve(struct emu_call *call, uint64_t cookie_at);

#endif
