/* SPDX-License-Identifier: MIT */
/* An opened GPU of the public API (gpreempt/kfd.h), as its queues see it. */
#ifndef GP__DEVICE_KFD_GPU_H
#define GP__DEVICE_KFD_GPU_H

#include <gpreempt/kfd.h>
#include <pthread.h>
#include <stdbool.h>

#include "device/kfd/beside.h"
#include "device/kfd/control.h"
#include "device/kfd/user.h"

struct gp__kfd_allocation;

struct gp_kfd {
	struct gp__kfd_beside beside;
	struct gp__kfd_user u;
	/* The abilities of the kernel series; version 0: the kernel does not have it. */
	struct gp_kfd_preempt_query series;
	bool cwsr; /* waves are saved; without it the driver drains */
	uint32_t clock_hz; /* 0: not known */

	pthread_mutex_t lock; /* of all below; held while a queue is created */
	struct gp__kfd_allocation *memory;
	unsigned int users; /* queues and code */
	/* The controls that hold queues, by way; opened when first needed. */
	struct gp__kfd_control control[GP__KFD_WAYS];
	bool opened[GP__KFD_WAYS];
	bool runtime; /* the library called RUNTIME_ENABLE, for dbgtrap */
};

/* Ticks of the GPU's clock in nanoseconds; 0: not known. */
uint64_t gp__kfd_gpu_ns(const struct gp_kfd *gpu, uint64_t ticks);

/* The control of this way; NULL, with a sentence in @err. The lock is held. */
struct gp__kfd_control *gp__kfd_gpu_control(struct gp_kfd *gpu, enum gp__kfd_way way,
					    struct gp_error *err);

#endif
