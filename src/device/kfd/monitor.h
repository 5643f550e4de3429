/* SPDX-License-Identifier: MIT */
/*
 * Sees work arrive in queues and end there, by looking at the rings' indices: for programs that
 * tell nobody. One thread for all queues of a process; what idle means is in watch.h.
 *
 * It looks every busy_period when work has come or gone, and then less and less often: so often
 * that the end of work is seen after a 64th of the time that it took, and an arrival after a 64th
 * of that for which there was none, or after idle_period, whichever is earlier. Where nobody else
 * has work on the GPU either, no arrival and no end has to be seen at once: whoever knows that says
 * calm, and the bounds are calm_period and calm_busy_period. Where the launches of a queue are seen
 * by others, they say so (gp__kfd_monitor_rang), and it is looked at only while it has work; what
 * comes into the rest, which are a runtime's own, comes before or after launches that are told, and
 * the bound is rest_period. While there is nothing to look at the thread sleeps for good. With many
 * queues the periods are longer,
 * so that looking never takes more than a sixteenth of a CPU, or a quarter while whoever prepares a
 * look wants the next one soon.
 *
 * Memory of a queue may go away while it is looked at: that is counted, and the queue stays what it
 * was.
 *
 * Wrong tool where the launch itself can be seen: that is exact and costs less. A child after
 * fork() has no thread: it makes a monitor of its own.
 */
#ifndef GP__DEVICE_KFD_MONITOR_H
#define GP__DEVICE_KFD_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "device/kfd/queue.h"

struct gp__kfd_monitor;

#define GP__KFD_BUSY_PERIOD_NS 50000ull
#define GP__KFD_IDLE_PERIOD_NS 1000000ull
#define GP__KFD_REST_PERIOD_NS 10000000ull
#define GP__KFD_CALM_PERIOD_NS 4000000000ull
#define GP__KFD_CALM_BUSY_PERIOD_NS 10000000ull
#define GP__KFD_GRACE_NS 10000000ull
#define GP__KFD_BLIND_NS 100000000ull

/* Periods and times that are 0 are the ones above. */
struct gp__kfd_monitor_options {
	uint64_t busy_period_ns, idle_period_ns, rest_period_ns;
	uint64_t calm_period_ns, calm_busy_period_ns;
	/* How long a queue whose last packet has no signal must be still before it is idle: where
	 * the driver says that its process has no waves on the GPU, and where it does not say. */
	uint64_t grace_ns, blind_ns;
	/* Before each look, with the monitor's lock. True: look again soon, work or not. */
	bool (*prepare)(void *data, uint64_t now);
	/* Called without a lock, one at a time. It may not add or remove queues.
	 * @pending: what was not fetched yet, in packets, words (PM4) or bytes (SDMA). */
	void (*ready)(void *data, void *cookie, uint64_t pending, uint64_t now);
	/* False: it has work after all, which the queue does not show; nobody is told then. */
	bool (*idle)(void *data, void *cookie, uint64_t now);
	void *data;
	/* Instead of gp__kfd_waves(), with the monitor's lock. */
	int (*waves)(void *data, const struct gp__kfd_queue_info *queue);
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

/* @cookie: what the callbacks get, one of its own for each queue. A queue begins idle. 0 or -errno
 * (-EEXIST: that cookie is there). */
int gp__kfd_monitor_add(struct gp__kfd_monitor *monitor, const struct gp__kfd_queue_info *queue,
			void *cookie);
/* Returns when no callback for it runs or will. */
void gp__kfd_monitor_remove(struct gp__kfd_monitor *monitor, void *cookie);

/* Whether arrivals in the queue are told by gp__kfd_monitor_rang(). */
void gp__kfd_monitor_told(struct gp__kfd_monitor *monitor, void *cookie, bool told);
/* Work has come into a queue: where it had none, ready() is called, by the caller's thread. */
void gp__kfd_monitor_rang(struct gp__kfd_monitor *monitor, void *cookie);

/* The scheduler stops the queue, or has let it go: while it is held it does not become idle. */
void gp__kfd_monitor_hold(struct gp__kfd_monitor *monitor, void *cookie, bool held);
/* Nobody else has work on the GPU, or somebody may have; at first somebody may. */
void gp__kfd_monitor_calm(struct gp__kfd_monitor *monitor, bool calm);

void gp__kfd_monitor_stats(struct gp__kfd_monitor *monitor, struct gp__kfd_monitor_stats *stats);

#endif
