/* SPDX-License-Identifier: MIT */
/*
 * Announces work before it arrives. The programs of the demo announce nothing (no_hints.c); a test
 * builds the server with another implementation.
 */
#ifndef DEMO_HINTS_H
#define DEMO_HINTS_H

#include <stdbool.h>
#include <stdint.h>

/* Work will arrive at this time of the host's monotonic clock. False: not announced. */
bool hint_arriving(uint64_t at_ns);
/* The announced work is done. */
void hint_over(void);

#endif
