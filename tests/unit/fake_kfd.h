/* SPDX-License-Identifier: MIT */
/*
 * A driver that is only its rules: which queues there are, who has stopped them, and what would
 * block for ever. Calls fail as a test asks. One at a time, for any number of threads.
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

/* The next @times calls of this number (and operation of DBG_TRAP, if not -1) fail. */
struct fake_failure {
	uint32_t nr;
	int op;
	int err;
	bool has_effect; /* it is done all the same */
	/* Not the call, but one id of it: GP_KFD_QUEUE_ERROR or _INVALID. */
	uint32_t bit, id;
	unsigned int times;
};

struct fake_kfd {
	pthread_mutex_t lock;
	struct fake_queue queue[FAKE_QUEUES];
	bool has_dbg, has_series; /* Linux 6.5; the series */
	uint32_t features;
	uint32_t runtime; /* GP_KFD_RUNTIME_... */
	bool one_debugger; /* another process is debugged on the GPU */
	bool debugged, debugged_by_program;
	struct fake_failure failure[FAKE_FAILURES];
	/* Of a thousand calls that stop or start something; with and without effect. */
	unsigned int failing;
	uint64_t seed;
	/* What happened. */
	unsigned int calls[256], operations[16], deadlocks;
	uint32_t grace; /* of the latest suspend */
};

extern struct fake_kfd fake;

void fake_reset(void);
/* What a control or an owner gets as its next function. */
int fake_ioctl(int fd, unsigned long request, void *args);
void fake_fail(struct fake_failure failure);
/* Without a call: how a test prepares. */
uint32_t fake_create(void);
bool fake_runs(uint32_t id);

#endif
