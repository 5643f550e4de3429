/* SPDX-License-Identifier: MIT */
/*
 * The inside of libgpreempt_poc, the library of stage 1 (a proof of concept): a scheduler of the
 * user's own, in C or Python, lists, suspends and resumes the queues of other programs with it. It
 * is independent of gpreemptd.
 *
 * One thread, the worker, does everything with queues: a debugger must act from the thread that
 * attached, and a single thread at the driver needs no locks. Callers hand it one request at a time
 * and wait. It sleeps until a request comes, a program ends whose queues it has held, or the driver
 * has an event for a debugger.
 */
#ifndef GP__POC_POC_H
#define GP__POC_POC_H

#include <gpreempt_poc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/cond.h"
#include "device/kfd/control.h"
#include "device/kfd/remote.h"
#include "join/hsa/table.h"

#define GP__POC_SENTENCE_MAX 512
#define GP__POC_TARGETS_MAX 256 /* live programs whose queues were suspended, or are watched */

/* The error that gpreempt_last_error() and gpreempt_failed_queues() report. */
struct gp__poc_error {
	int err; /* a positive errno; 0: nothing failed */
	char sentence[GP__POC_SENTENCE_MAX];
	uint32_t failed[GPREEMPT_POC_QUEUES_MAX];
	uint32_t nr_failed;
};

/* Sets the error, about no queue yet. Each returns -1. */
GP__PRINTF(3, 4)
int gp__poc_fail(struct gp__poc_error *e, int err, const char *fmt, ...);
/* The same, with the name of the error after the sentence. */
int gp__poc_fail_plain(struct gp__poc_error *e, int err, const char *sentence);
/* Add a queue that failed, and more text. */
void gp__poc_fail_queue(struct gp__poc_error *e, uint32_t id);
GP__PRINTF(2, 3)
void gp__poc_fail_more(struct gp__poc_error *e, const char *fmt, ...);

/*
 * Ids
 */

#define GP__POC_QUEUE_BITS 10

static inline uint32_t gp__poc_id(pid_t pid, uint32_t kfd_id)
{
	return (uint32_t)pid << GP__POC_QUEUE_BITS | kfd_id;
}

static inline pid_t gp__poc_id_pid(uint32_t id)
{
	return (pid_t)(id >> GP__POC_QUEUE_BITS);
}

static inline uint32_t gp__poc_id_kfd(uint32_t id)
{
	return id & ((1u << GP__POC_QUEUE_BITS) - 1);
}

/*
 * Programs whose queues were suspended; used by the worker only
 */

struct gp__poc_target {
	pid_t pid;
	int pidfd; /* readable when the program has ended */
	const struct gp_join_table *join; /* our own process, if joined; NULL: control is used */
	struct gp__kfd_control control;
	uint64_t held[GP__KFD_QUEUES_MAX / 64];
};

/* The queues of a request, each at the index of its id. */
struct gp__poc_table {
	struct gp__kfd_queue_info queue[GPREEMPT_POC_QUEUES_MAX];
	struct gp__kfd_target target[GPREEMPT_POC_QUEUES_MAX];
	bool was_held[GPREEMPT_POC_QUEUES_MAX];
};

struct gp__poc {
	int kfd;
	enum gp__kfd_way way;
	enum gp__kfd_verb verb; /* to suspend: SAVE, or DRAIN if the driver cannot save */
	uint32_t clock_mhz; /* of the fastest GPU; 0: unknown */
	char warning[GP__POC_SENTENCE_MAX];

	struct gp__poc_target *target[GP__POC_TARGETS_MAX];
	size_t nr_targets;
	struct gp__poc_table table;
	struct gp__kfd_remote watched[GP__POC_TARGETS_MAX];
	size_t nr_watched;

	/* Between callers and the worker. */
	pthread_t thread;
	pthread_mutex_t lock;
	struct gp__cond done;
	struct gp__poc_request *request;
	bool ends;
	int wake; /* an eventfd */
};

struct gp__poc_request {
	/* Called in the worker; 0, or -1 with the error set. */
	int (*run)(struct gp__poc *p, struct gp__poc_request *r);
	struct gp__poc_error *error;
	const uint32_t *ids; /* sorted and unique */
	uint32_t nr_ids, grace_us;
	queue_info_t *queues; /* the result of a listing, allocated */
	uint32_t nr_queues;
	bool busy; /* whether a queue has work */
	int result;
};

/* Opens the driver and starts the worker; NULL, with the error set. */
struct gp__poc *gp__poc_open(struct gp__poc_error *e);
/* Ends the worker, which resumes all. */
void gp__poc_close(struct gp__poc *p);
/* The process is a child after fork(): the parent keeps its holds, and the child has none. */
void gp__poc_abandon(struct gp__poc *p);

int gp__poc_start_worker(struct gp__poc *p, struct gp__poc_error *e);
void gp__poc_stop_worker(struct gp__poc *p);
/* Has the worker carry out a request. Only one thread at a time may call it. */
int gp__poc_call(struct gp__poc *p, struct gp__poc_request *r);

/* Requests. */
int gp__poc_suspend(struct gp__poc *p, struct gp__poc_request *r);
int gp__poc_resume(struct gp__poc *p, struct gp__poc_request *r);
int gp__poc_list(struct gp__poc *p, struct gp__poc_request *r);
int gp__poc_busy(struct gp__poc *p, struct gp__poc_request *r);

/* A program may have ended before the driver has removed its queues. */
bool gp__poc_has_ended(pid_t pid);
/* Whether the driver has the queue. */
bool gp__poc_is_there(uint32_t id);
/* The preload's table of our own process; NULL: it has not joined. */
const struct gp_join_table *gp__poc_find_join(void);
/* Ends watching. */
void gp__poc_watched_close(struct gp__poc *p);

/* The program's entry; NULL: its queues were never suspended, or it has ended. */
struct gp__poc_target *gp__poc_target_find(struct gp__poc *p, pid_t pid);
/* The same, taking control of the program if need be. NULL, with the error set. */
struct gp__poc_target *gp__poc_target_get(struct gp__poc *p, pid_t pid, struct gp__poc_error *e);
/* Whether a queue is held; and notes that it is, or is not. */
bool gp__poc_target_holds(const struct gp__poc_target *t, uint32_t kfd_id);
void gp__poc_target_hold(struct gp__poc_target *t, uint32_t kfd_id, bool held);
/* As gp__kfd_control() and gp__kfd_explain(). */
void gp__poc_target_set(struct gp__poc_target *t, enum gp__kfd_verb verb,
			struct gp__kfd_target *queues, size_t n);
void gp__poc_target_explain(const struct gp__poc_target *t, enum gp__kfd_verb verb, int err,
			    char *text, size_t size);
/* To be called when the worker is done with the target: control of it ends unless it must be
 * kept. */
void gp__poc_target_put(struct gp__poc *p, struct gp__poc_target *t);
/* Ends control of all programs; their held queues run again. */
void gp__poc_targets_close(struct gp__poc *p);
/* Forgets programs that have ended, and answers events of the others. */
void gp__poc_targets_look(struct gp__poc *p);

#endif
