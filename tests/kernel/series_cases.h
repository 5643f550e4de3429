/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The answers of AMDKFD_IOC_PREEMPT about the queues that a call names. The kernel of the series
 * and the emulated machine run the same list, on three queues under the hardware scheduler.
 */
#ifndef GP__KERNEL_SERIES_CASES_H
#define GP__KERNEL_SERIES_CASES_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpreempt/uapi/gpreempt_kfd.h"

enum series_queue {
	SERIES_A,
	SERIES_B,
	SERIES_HUNG, /* reset by SERIES_OP_HANG */
	SERIES_NONE, /* there is no such queue */
	SERIES_QUEUES,
};

/* Beside GP_KFD_OP_*: */
enum {
	SERIES_OP_HANG = 100, /* SERIES_HUNG hangs, and is reset */
	SERIES_OP_ALIAS_PREEMPT, /* of the first queue */
	SERIES_OP_ALIAS_RESUME,
};

#define SERIES_NAMES_MAX 4
#define SERIES_INVALID GP_KFD_QUEUE_INVALID
#define SERIES_ERROR GP_KFD_QUEUE_ERROR

struct series_step {
	const char *name;
	uint32_t op;
	bool by_file; /* the file holds, not the process */
	uint32_t nr;
	struct {
		enum series_queue queue;
		uint32_t before, after; /* marks in its id */
	} ids[SERIES_NAMES_MAX];
	int result;
};

/* clang-format off */
static const struct series_step series_steps[] = {
	{ "twice", GP_KFD_OP_PREEMPT, false, 2,
	  { { SERIES_A, 0, 0 }, { SERIES_A, 0, SERIES_INVALID } }, 1 },
	{ "twice, and others", GP_KFD_OP_PREEMPT, false, 4,
	  { { SERIES_A, 0, 0 }, { SERIES_NONE, 0, SERIES_INVALID }, { SERIES_B, 0, 0 },
	    { SERIES_A, 0, SERIES_INVALID } }, 2 },
	{ "resumed twice", GP_KFD_OP_RESUME, false, 3,
	  { { SERIES_A, 0, 0 }, { SERIES_B, 0, 0 }, { SERIES_B, 0, SERIES_INVALID } }, 2 },
	{ "none twice", GP_KFD_OP_PREEMPT, false, 2,
	  { { SERIES_NONE, 0, SERIES_INVALID }, { SERIES_NONE, 0, SERIES_INVALID } }, 0 },
	{ "marked invalid before", GP_KFD_OP_PREEMPT, false, 1,
	  { { SERIES_A, SERIES_INVALID, 0 } }, 1 },
	{ "marked failed before", GP_KFD_OP_PREEMPT, false, 2,
	  { { SERIES_A, SERIES_ERROR, SERIES_ERROR | SERIES_INVALID }, { SERIES_A, 0, 0 } }, 1 },
	{ "resumed", GP_KFD_OP_RESUME, false, 1, { { SERIES_A, 0, 0 } }, 1 },
	{ "held by the file", GP_KFD_OP_PREEMPT, true, 1, { { SERIES_HUNG, 0, 0 } }, 1 },
	{ "hangs", SERIES_OP_HANG, false, 0, { { SERIES_HUNG, 0, 0 } }, 0 },
	{ "reset while it is held", GP_KFD_OP_PREEMPT, true, 1,
	  { { SERIES_HUNG, 0, SERIES_ERROR } }, -EACCES },
	{ "reset, twice", GP_KFD_OP_PREEMPT, true, 2,
	  { { SERIES_HUNG, 0, SERIES_ERROR }, { SERIES_HUNG, 0, SERIES_INVALID } }, -EACCES },
	{ "reset, twice, and another", GP_KFD_OP_PREEMPT, true, 3,
	  { { SERIES_A, 0, 0 }, { SERIES_HUNG, 0, SERIES_ERROR },
	    { SERIES_HUNG, 0, SERIES_INVALID } }, 1 },
	{ "resumed after the reset", GP_KFD_OP_RESUME, true, 3,
	  { { SERIES_A, 0, 0 }, { SERIES_HUNG, 0, 0 }, { SERIES_HUNG, 0, SERIES_INVALID } }, 2 },
	{ "resumed once more", GP_KFD_OP_RESUME, true, 1, { { SERIES_HUNG, 0, 0 } }, 1 },
	{ "reset, and not held", GP_KFD_OP_PREEMPT, false, 3,
	  { { SERIES_B, 0, 0 }, { SERIES_HUNG, 0, SERIES_ERROR },
	    { SERIES_NONE, 0, SERIES_INVALID } }, 1 },
	{ "reset, by its alias", SERIES_OP_ALIAS_PREEMPT, false, 0,
	  { { SERIES_HUNG, 0, 0 } }, -EACCES },
	{ "not held, by its alias", SERIES_OP_ALIAS_RESUME, false, 0,
	  { { SERIES_HUNG, 0, 0 } }, -EINVAL },
	{ "another, by its alias", SERIES_OP_ALIAS_PREEMPT, false, 0,
	  { { SERIES_B, 0, 0 } }, -EALREADY },
	{ "resumed with a reset one", GP_KFD_OP_RESUME, false, 2,
	  { { SERIES_HUNG, 0, 0 }, { SERIES_B, 0, 0 } }, 2 },
	{ "priorities", GP_KFD_OP_SET_PRIORITY, false, 4,
	  { { SERIES_A, 0, 0 }, { SERIES_HUNG, 0, 0 }, { SERIES_A, 0, SERIES_INVALID },
	    { SERIES_NONE, 0, SERIES_INVALID } }, 2 },
};
/* clang-format on */

#define SERIES_STEPS (sizeof(series_steps) / sizeof(series_steps[0]))

#endif
