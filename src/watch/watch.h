/* SPDX-License-Identifier: MIT */
/*
 * The inside of gpreempt-watch, the helper that `gpreemptd --watch` starts for a program that has
 * not joined. It is the program's agent, from outside: it finds the program's queues, reads their
 * rings, and carries out the daemon's orders. Everything that concerns the program's process,
 * ptrace, its memory and the driver's debugger, is done here and never in the daemon.
 *
 * Threads: the main thread finds queues and answers the driver's debugger; the agent's thread holds
 * and releases; the monitor's thread reads rings. `lock` protects the control, and the driver is
 * called with it; everything else belongs to the main thread once the others have started.
 *
 * The helper's end, however it comes, ends its holds: the driver releases what a debugger or an
 * open file held. It ends with the program, with the program's last queue and with the daemon's
 * connection.
 */
#ifndef GP__WATCH_WATCH_H
#define GP__WATCH_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "device/kfd/control.h"
#include "device/kfd/topology.h"
#include "device/watch.h"
#include "join/agent.h"

/* Exit statuses; with all but the first, standard output has a sentence. */
enum watch_status {
	WATCH_OVER, /* the program, its queues or the connection have ended */
	WATCH_FAILED = 1,
	WATCH_UNWATCHABLE = 3,
	WATCH_JOINS = 4, /* it is not to be watched: it has gpreempt in it */
};

struct watch_queue {
	uint32_t id;
	uint64_t identity; /* of the queue among all that have had its id */
	bool is_scheduled; /* the agent and the monitor have it */
	bool is_seen; /* scratch: the driver still has it */
};

struct watch {
	pid_t pid;
	int life; /* a pidfd */
	const char *name;
	int kfd, mem; /* /dev/kfd and the program's memory */
	enum gp__kfd_verb verb; /* to hold */
	uint32_t level; /* of that */
	struct gp__request request;
	struct gp__agent *agent;
	struct gp__port *port;
	struct gp__watch queues; /* of the agent and the monitor */
	struct gp__kfd_node node[GP__KFD_NODES_MAX];
	int nr_nodes;
	struct watch_queue queue[GP__KFD_QUEUES_MAX];
	size_t nr;
	bool had_queues;
	uint64_t memory; /* of all GPUs, when it was looked at last */

	pthread_mutex_t lock;
	struct gp__kfd_control control;
	bool is_open;
	/* Of the order that is being carried out; the agent's thread. */
	struct gp__kfd_queue_info info[GP__WIRE_SLOTS_MAX];
	struct gp__kfd_target target[GP__WIRE_SLOTS_MAX];
};

/* Whether gpreempt schedules the program without this helper, with the reason in @why. */
bool watch_is_joined(pid_t pid, char why[GP__WIRE_TEXT_MAX]);

/* Reads the priority and tag that the program's environment asks for. */
void watch_read_wishes(struct watch *w);

/* Takes control of the program. 0, or -errno with the reason in @why. */
int watch_open_control(struct watch *w, char why[GP__WIRE_TEXT_MAX]);
void watch_close_control(struct watch *w);
/* Answers the program's runtime if it waits for its debugger. */
void watch_answer(struct watch *w);
extern const struct gp__queue_ops watch_queue_ops;

/* Prepares watching. 0 or -errno. */
int watch_open_queues(struct watch *w);
/* Finds new queues, and those that are gone. 0, or -errno with the reason in @why. */
int watch_look(struct watch *w, char why[GP__WIRE_TEXT_MAX]);
/* From now on nothing of the program's queues is reported. */
void watch_end_reports(struct watch *w);
void watch_close_queues(struct watch *w);

#endif
