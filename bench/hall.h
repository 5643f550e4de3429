/* SPDX-License-Identifier: MIT */
/*
 * A real gpreemptd with 200 programs of ten queues each. The programs are agents in this process,
 * which acknowledge every order at once. All of them have work, and some run out of it and get new
 * work in every round. Then one program on each GPU gets urgent work: all other queues there are
 * held, and released when it ends.
 *
 * A decision is one order: the time from the report of the urgent program's agent until the order
 * is written, and until an agent takes it. The agents share one thread, so the second depends on
 * this process as much as on the daemon.
 */
#ifndef GP_BENCH_HALL_H
#define GP_BENCH_HALL_H

#include "stage.h"

#include "base/bench.h"
#include "base/hist.h"
#include "wire/client.h"

#define HALL_PROGRAMS 200u
#define HALL_QUEUES 10u /* of each */

enum { HALL_STOPS, HALL_RUNS, HALL_KINDS };

struct hall_agent {
	struct gp__wire_client client;
	bool urgent;
	u32 gpu;
	u32 number[HALL_QUEUES]; /* of the latest acknowledged order */
	bool has_work[HALL_QUEUES], stopped[HALL_QUEUES];
};

struct hall_figures {
	struct gp__hist decided_ns, taken_ns;
	u64 late;
};

struct hall {
	struct gp__bench_run *run;
	struct stage_daemon daemon;
	struct hall_agent agent[HALL_PROGRAMS];
	u32 nr_gpus, nr_agents;
	int epoll;
	u64 seed;
	u32 nr_held, nr_waited_for; /* patient queues with work: held, and in all */
	u64 said_ns[HALL_PROGRAMS]; /* by GPU: when its urgent program reported a change */
	bool urgent; /* the reported state */
	struct hall_figures figures[HALL_KINDS];
};

/* Starts the daemon, lets the programs join, and plays a round. 0 or -errno; close it then, too. */
int hall_open(struct hall *h, struct gp__bench_run *run, u32 nr_gpus);
/* Plays a round. 0 or -errno. */
int hall_play(struct hall *h);
/* Forgets the figures so far. */
void hall_forget(struct hall *h);
void hall_close(struct hall *h);

#endif
