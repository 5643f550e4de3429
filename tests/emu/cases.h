/* SPDX-License-Identifier: MIT */
/* The kernels that clang compiles, each with arguments and the result it must have. */
#ifndef GP__TESTS_EMU_CASES_H
#define GP__TESTS_EMU_CASES_H

#include "emu/gfx9/machine.h"

#define CASE_ARGS_MAX 64

struct kernel_case {
	const char *name;
	uint32_t grid;
	uint16_t group;
	/* Allocates what the kernel works on; what it does not take stands behind its arguments. */
	void (*prepare)(struct machine *m, void *args);
	/* The first element of its result that is wrong, or CASE_RIGHT. */
	uint32_t (*check)(struct machine *m, const void *args);
};

#define CASE_RIGHT UINT32_MAX

extern const struct kernel_case kernel_cases[];
extern const unsigned int nr_kernel_cases;

#endif
