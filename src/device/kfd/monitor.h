/* SPDX-License-Identifier: MIT */
/*
 * Finds work in queues, and its end, by polling the rings' indices: for programs whose launches are
 * not seen. One thread per process polls all of its queues; aql/ring.h judges what it reads.
 *
 * The period adapts. It is busy_period when work has just arrived or ended, and grows from there:
 * the end of work is seen after a 64th of the time that it took, and an arrival after a 64th of the
 * time without work, but no later than after idle_period. Other bounds apply
 * - while no other program is on the GPU (calm): calm_period and calm_busy_period;
 * - where a launch hook reports the arrivals of some queues (told): these are polled only while
 *   they have work, and the others, which are a runtime's own, after rest_period at the latest.
 *
 * The thread sleeps while there is nothing to poll. With many queues the periods grow, so that
 * polling takes at most a sixteenth of a CPU, or a quarter while prepare() wants the next look
 * soon.
 *
 * Memory of a queue may vanish while it is read: that is counted, and the queue keeps its state.
 *
 * It also watches queues of another process, with a function that reads that process's memory.
 *
 * It is the wrong tool where launches are seen: a hook is exact and costs less. A child after
 * fork() has no thread and creates a monitor of its own.
 */
#ifndef GP__DEVICE_KFD_MONITOR_H
#define GP__DEVICE_KFD_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "aql/ring.h"
#include "base/peek.h"
#include "device/kfd/queue.h"

struct gp__kfd_monitor;

#define GP__KFD_BUSY_PERIOD_NS 50000ull
#define GP__KFD_IDLE_PERIOD_NS 1000000ull
#define GP__KFD_REST_PERIOD_NS 10000000ull
#define GP__KFD_CALM_PERIOD_NS 4000000000ull
#define GP__KFD_CALM_BUSY_PERIOD_NS 10000000ull
#define GP__KFD_GRACE_NS GP__RING_GRACE_NS
#define GP__KFD_BLIND_NS GP__RING_BLIND_NS

/* Periods and times that are 0 are the ones above. */
struct gp__kfd_monitor_options {
	uint64_t busy_period_ns, idle_period_ns, rest_period_ns;
	uint64_t calm_period_ns, calm_busy_period_ns;
	/* How long a queue whose last packet has no signal must be still before it is idle: where
	 * the driver says that its process has no waves on the GPU, and where it does not say. */
	uint64_t grace_ns, blind_ns;
	/* Before each look, with the monitor's lock. True: look again soon, work or not. */
	bool (*prepare)(void *data, uint64_t now);
	/* With the monitor's lock: whether the hook has reported an arrival in a told queue since
	 * the last call. The queue has work then, whatever its ring shows. */
	bool (*arrived)(void *data, void *cookie);
	/* Called without a lock, one at a time. They may not add or remove queues.
	 * @pending: not fetched yet, in packets, words (PM4) or bytes (SDMA). */
	void (*ready)(void *data, void *cookie, uint64_t pending, uint64_t now);
	/* False: the queue has work after all, which its ring does not show. */
	bool (*idle)(void *data, void *cookie, uint64_t now);
	void *data;
	/* Instead of gp__kfd_waves(), with the monitor's lock. */
	int (*waves)(void *data, const struct gp__kfd_queue_info *queue);
	/* Of the queues and their rings; 0: this process. */
	pid_t pid;
	/* Reads words of its memory, as gp__peek() does of this process's; with the monitor's
	 * lock. */
	void (*read)(void *data, struct gp__word *word, size_t n);
};

struct gp__kfd_monitor_stats {
	uint64_t looks; /* at all queues */
	uint64_t cpu_ns; /* of the thread */
	uint64_t unreadable; /* times a queue's memory could not be read */
};

/* 0 or -errno. */
int gp__kfd_monitor_create(const struct gp__kfd_monitor_options *options,
			   struct gp__kfd_monitor **monitor);
void gp__kfd_monitor_destroy(struct gp__kfd_monitor *monitor);

/* @cookie is passed to the callbacks and is unique to the queue, which begins idle. 0 or -errno
 * (-EEXIST: the cookie is in use). */
int gp__kfd_monitor_add(struct gp__kfd_monitor *monitor, const struct gp__kfd_queue_info *queue,
			void *cookie);
/* Returns when no callback for the queue runs or will run. */
void gp__kfd_monitor_remove(struct gp__kfd_monitor *monitor, void *cookie);

/* Whether a hook reports arrivals in the queue. It calls gp__kfd_monitor_kick() for each, which
 * does not wait. */
void gp__kfd_monitor_told(struct gp__kfd_monitor *monitor, void *cookie, bool told);
void gp__kfd_monitor_kick(struct gp__kfd_monitor *monitor);

/* The queue is held, or released: while it is held it does not become idle. */
void gp__kfd_monitor_hold(struct gp__kfd_monitor *monitor, void *cookie, bool held);
/* Whether no other program is on the GPU; at first one may be. */
void gp__kfd_monitor_calm(struct gp__kfd_monitor *monitor, bool calm);

void gp__kfd_monitor_stats(struct gp__kfd_monitor *monitor, struct gp__kfd_monitor_stats *stats);

#endif
