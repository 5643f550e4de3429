/* SPDX-License-Identifier: MIT */
/*
 * The agent: a thread in a joined program that speaks with the daemon for its queues.
 *
 * Whoever sees the program's queues adds them, says when there is work in them, and carries out
 * what is asked: struct gp__agent_ops. The thread begins with the first queue. It registers queues,
 * obeys orders and acknowledges them, and gives an order up that is not renewed in time. Without a
 * daemon everything runs, and the agent looks for one now and then.
 *
 * Nothing here makes the program wait for the daemon, and no failure becomes the program's.
 *
 * Whoever sees work come where nobody tells of it (device/kfd/monitor.h) has another thread: here a
 * stop may take as long as the kernel that is drained, and a queue's registration as long as the
 * daemon, and neither the arrivals nor the launch windows of other queues may wait for that.
 */
#ifndef GP__JOIN_AGENT_H
#define GP__JOIN_AGENT_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/wire.h"

struct gp__agent;

struct gp__agent_queue {
	u32 id; /* unique among those of the program */
	u32 level_requested, level;
	u32 weigh_flags; /* GP__WIRE_CAN_WEIGH, GP__WIRE_CAN_YIELD */
	char device[GP__WIRE_DEVICE_MAX]; /* names the GPU, the same in every program */
	char device_name[GP__WIRE_NAME_MAX];
	u64 device_memory;
	char tag[GP__WIRE_TAG_MAX];
	struct gp__wire_hints hints;
};

struct gp__agent_ops {
	/*
	 * Stops or starts queues, all in one step where the device can. Each result is 0 or -errno;
	 * -ENOENT: it has gone. Called by the agent's thread, without a lock.
	 */
	void (*stop)(void *data, const u32 *ids, int *results, size_t n);
	void (*start)(void *data, const u32 *ids, int *results, size_t n);
	int (*weigh)(void *data, u32 id, u32 weight); /* may be NULL */
	/* Nobody else is on the program's GPUs, or somebody is, so that it matters when work is
	 * seen. Told when there is a daemon who knows, and again when there is none any more. May
	 * be NULL. */
	void (*alone)(void *data, bool alone);
};

struct gp__agent_options {
	const char *path; /* the daemon's socket */
	const char *program; /* its name, for people */
	/* For people, once for each kind of trouble; NULL: nobody is told. */
	void (*say)(void *data, const char *text);
	struct gp__agent_ops ops;
	void *data;
};

int gp__agent_create(const struct gp__agent_options *options, struct gp__agent **agent);
/* Starts what is stopped, and ends the thread. */
void gp__agent_destroy(struct gp__agent *agent);
/* In a child after fork(), which has neither queues nor the thread: its parent's connection is not
 * the child's to keep. The agent is as good as new. */
void gp__agent_forget(struct gp__agent *agent);

/* From any thread, and none of them waits for the daemon. 0 or -errno. */
int gp__agent_add(struct gp__agent *agent, const struct gp__agent_queue *queue);
void gp__agent_remove(struct gp__agent *agent, u32 id);
/* Of a priority above the user's limit, it gets as much as there is. */
void gp__agent_hints(struct gp__agent *agent, u32 id, const struct gp__wire_hints *hints);
/* It runs, though the daemon ordered it to be stopped, and nobody here may keep it: the daemon is
 * told, and orders it again. */
void gp__agent_lost(struct gp__agent *agent, u32 id);
/* How work is seen that comes into it, for people; at first by looking at the ring. */
void gp__agent_sees(struct gp__agent *agent, u32 id, enum gp__wire_sees sees);
/* GP__WIRE_NOTE_..., for people, which then holds for good. */
void gp__agent_note(struct gp__agent *agent, u32 id, u32 note);
void gp__agent_work(struct gp__agent *agent, u32 id, bool has_work, u32 pending, u64 now);
/*
 * Work is announced for @at, CLOCK_MONOTONIC, on all queues; 0: no longer. 0, -ENOTCONN: there is
 * no daemon, or -ENODEV: the daemon has no queue of this program.
 */
int gp__agent_arriving(struct gp__agent *agent, u64 at);

struct gp__agent_state {
	bool connected;
	u32 nr_queues, nr_stopped;
	u64 nr_orders, nr_expired, nr_connects;
};

void gp__agent_state(struct gp__agent *agent, struct gp__agent_state *state);

#endif
