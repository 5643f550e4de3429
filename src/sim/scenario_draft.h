/* SPDX-License-Identifier: MIT */
/*
 * A scenario between reading and checking: values that can only be resolved once the whole file is
 * known (the GPUs of a program), and line numbers for errors.
 */
#ifndef GP_SIM_SCENARIO_DRAFT_H
#define GP_SIM_SCENARIO_DRAFT_H

#include "sim/scenario.h"

enum gp__program_key {
	GP__PROGRAM_GPU,
	GP__PROGRAM_GANG,
	GP__PROGRAM_COUNT,
	GP__PROGRAM_CLASS,
	GP__PROGRAM_PRIORITY,
	GP__PROGRAM_TAG,
	GP__PROGRAM_PROCESS,
	GP__PROGRAM_USER,
	GP__PROGRAM_STREAMS,
	GP__PROGRAM_LEVEL,
	GP__PROGRAM_WINDOW,
	GP__PROGRAM_BATCH,
	GP__PROGRAM_DEADLINE,
	GP__PROGRAM_SHARE,
	GP__PROGRAM_MIN_SHARE,
	GP__PROGRAM_WEIGHT,
	GP__PROGRAM_MAX_HOLD,
	GP__PROGRAM_MEMORY,
	GP__PROGRAM_ARRIVALS,
	GP__PROGRAM_THINK,
	GP__PROGRAM_START,
	GP__PROGRAM_STOP,
	GP__PROGRAM_JOBS,
	GP__PROGRAM_HINT,
	GP__PROGRAM_KERNELS,
	GP__PROGRAM_KERNEL,
	GP__PROGRAM_GAP,
	GP__PROGRAM_FIRST,
	GP__PROGRAM_CONCURRENT,
	GP__PROGRAM_KEYS,
};

struct gp__program_draft {
	char *gpu; /* the list as written, NULL if not */
	char process[GP__TAG_MAX], user[GP__TAG_MAX];
	unsigned int line[GP__PROGRAM_KEYS]; /* 0: the key is not there */
};

struct gp__draft {
	const char *file;
	struct gp__scenario *scenario;
	struct gp__program_draft *programs; /* parallel to scenario->program_specs */
	struct gp__scenario_error *err;
};

/* Fill in the error; the first one stays. Returns -EINVAL. */
int gp__draft_fail(struct gp__draft *draft, unsigned int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Make the GPUs and programs of the specs, and check what needs more than one section. */
int gp__draft_resolve(struct gp__draft *draft);

#endif
