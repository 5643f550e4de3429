/* SPDX-License-Identifier: MIT */
/*
 * A fake driver that implements only the rules: which queues exist, what holds them, and which
 * calls would block for ever. Calls fail as a test asks. Calls are serialised, for any number of
 * threads.
 */
#ifndef GP_TEST_FAKE_KFD_H
#define GP_TEST_FAKE_KFD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpreempt/uapi/gpreempt_kfd.h"

#define FAKE_QUEUES 64
#define FAKE_FAILURES 8
#define FAKE_DEVICE "/dev/null" /* open it for /dev/kfd; each other descriptor is EBADF */

struct fake_queue {
	bool exists, is_new, suspended, preempted, destroying;
	uint32_t preempt_type;
	struct gp_kfd_create_queue made;
	uint64_t ring;
	uint32_t ring_size, percentage, priority;
};

/* The next @times calls of this number (and operation of DBG_TRAP or PREEMPT, if not -1) fail. */
struct fake_failure {
	uint32_t nr;
	int op;
	int err;
	bool has_effect; /* it takes effect nevertheless */
	/* Not the call, but one id of it: GP_KFD_QUEUE_ERROR or _INVALID. */
	uint32_t bit, id;
	unsigned int times;
};

struct fake_kfd {
	pthread_mutex_t lock;
	struct fake_queue queue[FAKE_QUEUES];
	bool has_dbg, has_series; /* Linux 6.5; the series */
	uint64_t magic; /* of the series' answer to a query */
	uint32_t features;
	bool targeted; /* the latest call of the series was about another process */
	uint32_t runtime; /* GP_KFD_RUNTIME_... */
	bool one_debugger; /* another process is debugged on the GPU */
	bool debugged, debugged_by_program;
	struct fake_failure failure[FAKE_FAILURES];
	/* Failures per thousand calls that hold or release; with and without effect. */
	unsigned int failing;
	uint64_t seed;
	/* Counters. */
	unsigned int calls[256], operations[16], deadlocks;
	uint32_t grace; /* of the latest suspend */
};

extern struct fake_kfd fake;

void fake_reset(void);
/* The next function of a control or an owner. */
int fake_ioctl(int fd, unsigned long request, void *args);
void fake_fail(struct fake_failure failure);
/* Prepare the driver without a call. */
uint32_t fake_create(void);
bool fake_runs(uint32_t id);

#endif
