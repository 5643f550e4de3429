/* SPDX-License-Identifier: MIT */
/*
 * A daemon and programs for a benchmark that has several processes: gpreemptd as it is, and this
 * very command once more for each part, joined by gpreempt run or not. They share a piece of
 * memory, in which each part has a line by which it is told what to do.
 *
 * All of them end with the benchmark, whatever ends that.
 */
#ifndef GP_BENCH_CAST_H
#define GP_BENCH_CAST_H

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

struct cast_daemon {
	pid_t pid;
	char folder[64], socket[108], config[108], log[108];
};

/* Listens when this returns, and is $GPREEMPT_SOCKET from then on. @cpu: -1 is any. @logs:
 * its decisions, in @d->log. 0 or -errno. */
int cast_daemon_start(struct cast_daemon *d, int cpu, bool logs);
void cast_daemon_end(struct cast_daemon *d);

/* What is measured on a machine of its own, beside a daemon. */
struct cast_scene {
	const char *program, *remedy; /* what it starts; and where that is not built, what helps */
	const char *cus, *device; /* how many compute units, and what readers are told */
	bool logs;
	int (*measure)(struct gp__bench_run *run, const struct cast_daemon *daemon);
};

int cast_measure(struct gp__bench_run *run, const struct cast_scene *scene); /* 0 or -errno */

/*
 * Programs
 */

struct cast_line {
	_Atomic uint32_t said, done; /* how often something was said, and carried out */
	_Atomic int32_t cue, result;
};

#define CAST_LEAVE (-1) /* a cue that every part has */

struct cast_program {
	pid_t pid;
	struct cast_line *line;
};

/* The memory that is shared: for the one who starts the others. NULL: there is none. */
void *cast_memory(size_t bytes);
/*
 * Starts @bench as @part. @class_name: "online" and so on, NULL: it is not joined. It begins with
 * its first cue. 0 or -errno.
 */
int cast_start(struct cast_program *p, const char *bench, const char *part, const char *class_name,
	       int cpu, struct cast_line *line);
/* Its result once it has done that: -ESRCH where it has ended, -ETIME where it never does it. */
int cast_cue(struct cast_program *p, int cue);
void cast_end(struct cast_program *p);

/* In a part: which, NULL in the benchmark itself; and the memory. */
const char *cast_part(void);
void *cast_memory_of_part(size_t bytes);
/* Does what it is told until it is to leave. */
void cast_play(struct cast_line *line, int (*act)(void *data, int cue), void *data);

/* What the agent in this process shares with the daemon. False: it has no daemon yet. */
bool cast_find_wire(struct gp__wire_up **up, const struct gp__wire_down **down);

/* The first and the last CPU that this thread may use. */
void cast_find_cpus(int *first, int *last);
/* Keeps the calling thread there; -1: nothing changes. */
void cast_pin(int cpu);

#endif
