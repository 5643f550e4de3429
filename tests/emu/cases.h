/* SPDX-License-Identifier: MIT */
/* The kernels that clang compiles, each with its arguments and expected result. */
#ifndef GP__TESTS_EMU_CASES_H
#define GP__TESTS_EMU_CASES_H

#include "emu/gfx9/machine.h"

#define CASE_ARGS_MAX 64

struct kernel_case {
	const char *name;
	uint32_t grid;
	uint16_t group;
	/* Allocates the kernel's data; data of the check alone is stored behind the arguments. */
	void (*prepare)(struct machine *m, void *args);
	/* The first wrong element of the result, or CASE_RIGHT. */
	uint32_t (*check)(struct machine *m, const void *args);
};

#define CASE_RIGHT UINT32_MAX

extern const struct kernel_case kernel_cases[];
extern const unsigned int nr_kernel_cases;

#endif
