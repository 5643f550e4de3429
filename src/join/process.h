/* SPDX-License-Identifier: MIT */
/*
 * The program that a library of ours is loaded into: its request from `gpreempt run`, its one
 * agent, and the backends that it uses. A backend begins with the program's first call on one of
 * its devices; a program that uses none has neither a thread nor a connection.
 *
 * Locking: `lock` is held while the program or a backend begins. Both exist until the process ends,
 * so they are read without the lock.
 */
#ifndef GP__JOIN_PROCESS_H
#define GP__JOIN_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "join/agent.h"
#include "join/backends.h"

struct gp__process {
	const struct gp__backend *const *backends; /* ends with NULL */
	gp__ioctl_fn *next; /* passes a call on */
	void (*say)(const char *text, bool unscheduled);
	pthread_mutex_t lock;
	bool begun, usable;
	struct gp__request request;
	struct gp__agent *agent; /* NULL: the program is not joined */
	atomic_bool asked[GP__BACKENDS_MAX]; /* the backend has begun, or has nothing to do */
	void *_Atomic state[GP__BACKENDS_MAX];
};

#define GP__PROCESS_INIT(table, next_ioctl, say_fn)                         \
	{                                                                   \
		.backends = (table), .next = (next_ioctl), .say = (say_fn), \
		.lock = PTHREAD_MUTEX_INITIALIZER                           \
	}

/* Whether any backend looks at calls with this number. */
bool gp__process_wants(const struct gp__process *p, unsigned long request);
/* Carries out a call of the program: by the backend of the device, or by the next ioctl(). */
int gp__process_ioctl(struct gp__process *p, int fd, unsigned long request, void *argument);

/* Begins a backend if the program has not used it yet. Returns its state; NULL: not in use. */
void *gp__process_use(struct gp__process *p, const struct gp__backend *backend);
/* Opens a port for a library that reports queues by itself. NULL: the program is not joined, or
 * there is no memory. */
struct gp__port *gp__process_open(struct gp__process *p, const struct gp__queue_ops *ops,
				  void *state);

/* As gp__agent_arriving(). */
int gp__process_arriving(struct gp__process *p, u64 at);
/* As gp__agent_lead_time(). */
int gp__process_lead_time(struct gp__process *p, u64 *ns);
/* As gp__agent_gang(). */
int gp__process_gang(struct gp__process *p, const char *name, u32 members);
/* The process is a new child after fork(). */
void gp__process_forget(struct gp__process *p);
/* The process ends. */
void gp__process_exit(struct gp__process *p);
/* For tests: ends the agent. No call of the program may be under way. */
void gp__process_end(struct gp__process *p);

#endif
