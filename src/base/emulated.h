/* SPDX-License-Identifier: MIT */
/* Tells whether this process runs on an emulated machine. */
#ifndef GP_BASE_EMULATED_H
#define GP_BASE_EMULATED_H

#include <stdbool.h>
#include <stdlib.h>

/* The machine's folder, in the environment of every program that runs on it. */
#define GP__EMULATED_VARIABLE "GPREEMPT_EMU_DIR"

static inline bool gp__is_emulated(void)
{
	return getenv(GP__EMULATED_VARIABLE) != NULL;
}

#endif
