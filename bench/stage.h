/* SPDX-License-Identifier: MIT */
/*
 * The processes of a benchmark: gpreemptd, and actors, which are this command again, each with its
 * part, joined by gpreempt run or not. They share memory, in which each actor has a line for its
 * cues.
 *
 * All of them end with the benchmark, however that ends.
 */
#ifndef GP_BENCH_STAGE_H
#define GP_BENCH_STAGE_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bench.h"
#include "wire/wire.h"

/*
 * The daemon
 */

struct stage_daemon {
	pid_t pid;
	char folder[64], socket[108], config[108], log[108];
};

/* Starts the daemon and sets $GPREEMPT_SOCKET. It listens when this returns. @cpu: -1: any. @logs:
 * decisions are logged to @d->log. 0 or -errno. */
int stage_daemon_start(struct stage_daemon *d, int cpu, bool logs);
void stage_daemon_end(struct stage_daemon *d);

/* A measurement on an emulated machine with a daemon. */
struct stage_scene {
	const char *program, *remedy; /* the program it starts; the remedy if that is not built */
	const char *cus, *device; /* number of compute units; description of the device */
	bool logs;
	int (*measure)(struct gp__bench_run *run, const struct stage_daemon *daemon);
};

int stage_measure(struct gp__bench_run *run, const struct stage_scene *scene); /* 0 or -errno */

/*
 * Actors
 */

struct actor_line {
	_Atomic uint32_t said, done; /* numbers of cues given and carried out */
	_Atomic int32_t cue, result;
};

#define ACTOR_LEAVE (-1) /* a cue that every actor has */

struct actor {
	pid_t pid;
	struct actor_line *line;
};

/* Makes the shared memory, in the benchmark. NULL: out of memory. */
void *stage_memory(size_t bytes);
/*
 * Starts an actor: @bench as @part. @class_name: "online" and so on; NULL: it is not joined. It
 * waits for its first cue. 0 or -errno.
 */
int actor_start(struct actor *p, const char *bench, const char *part, const char *class_name,
		int cpu, struct actor_line *line);
/* Gives a cue and waits for its result: -ESRCH: the actor has ended, -ETIME: it does not answer. */
int actor_cue(struct actor *p, int cue);
void actor_end(struct actor *p);

/* The part of this actor, NULL in the benchmark itself; and the shared memory. */
const char *actor_part(void);
void *actor_memory(size_t bytes);
/* Carries out cues until ACTOR_LEAVE. */
void actor_play(struct actor_line *line, int (*act)(void *data, int cue), void *data);

/* Finds the pages that the agent in this process shares with the daemon. False: not connected yet.
 */
bool actor_find_pages(struct gp__wire_status_page **status,
		      const struct gp__wire_order_page **order);

/* The first and the last CPU that this thread may use. */
void stage_find_cpus(int *first, int *last);
/* Pins the calling thread to a CPU; -1: does nothing. */
void stage_pin(int cpu);

#endif
