/* SPDX-License-Identifier: MIT */
/*
 * The backend's state in one program, for its parts: backend.c begins and follows the queues,
 * join_levels.c decides the level, join_orders.c holds and releases, join_work.c reports work.
 */
#ifndef GP__DEVICE_KFD_JOIN_H
#define GP__DEVICE_KFD_JOIN_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/kfd/backend.h"
#include "device/kfd/monitor.h"
#include "device/kfd/topology.h"
#include "device/kfd/work.h"
#include "device/watch.h"

struct gp__kfd_join {
	struct gp__kfd_owner *owner;
	struct gp__port *port; /* NULL: the program is not joined */
	struct gp_kfd_preempt_query
		series; /* the kernel's; all zero: it does not have the series */
	const struct gp__kfd_launches *_Atomic launches; /* NULL: launches are not seen */
	struct gp__watch watch; /* its monitor knows queues by gp__kfd_cookie() */
	struct gp__kfd_work work;
	pthread_mutex_t lock; /* before the locks of the launch library; of: */
	struct gp__kfd_node node[GP__KFD_NODES_MAX];
	int nr_nodes;
	u32 level; /* the effective one; 0: there is no queue yet */
	bool narrow; /* another program may want the GPU; at first none does */

	bool saves; /* the agent's thread only: level 2 failed to drain, so waves are saved */
	pthread_rwlock_t observer_lock; /* for reading: the observer is being told */
	struct gp__kfd_owner_events observer;
	bool watched;
};

/* The monitor knows a queue by a pointer that is not NULL. */
static inline void *gp__kfd_cookie(uint32_t id)
{
	return (void *)((uintptr_t)id + 1);
}

static inline uint32_t gp__kfd_cookie_id(const void *cookie)
{
	return (uint32_t)((uintptr_t)cookie - 1);
}

/* Levels. */
bool gp__kfd_join_sees_launches(struct gp__kfd_join *j);
/* Whether kernels can drain on this kernel, or be dropped as the request allows. */
bool gp__kfd_join_can_drain(struct gp__kfd_join *j);
bool gp__kfd_join_can_drop(struct gp__kfd_join *j);
/* Whether queues have launch windows. */
bool gp__kfd_join_has_windows(struct gp__kfd_join *j);
/* The level of the program; the first queue decides it for all, and the user is told. */
u32 gp__kfd_join_level(struct gp__kfd_join *j);

/* Orders, as in struct gp__queue_ops. */
void gp__kfd_join_hold(void *state, const u32 *ids, int *results, size_t n);
void gp__kfd_join_release(void *state, const u32 *ids, int *results, size_t n);
void gp__kfd_join_set_alone(void *state, bool alone);

/* Work. Also for a child after fork(): all queues are forgotten. */
void gp__kfd_join_init_work(struct gp__kfd_join *j);

/* Queues. */
void gp__kfd_join_add(struct gp__kfd_join *j, const struct gp__kfd_queue_info *queue);
/* At level 1 a queue is added when it gets its window; the runtime's own queues get none. */
bool gp__kfd_join_waits_for_window(struct gp__kfd_join *j);

#endif
