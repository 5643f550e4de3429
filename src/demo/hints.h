/* SPDX-License-Identifier: MIT */
/*
 * Telling somebody of work before it is there. The programs of the demo know nobody to tell
 * (no_hints.c); a test builds the server with somebody.
 */
#ifndef DEMO_HINTS_H
#define DEMO_HINTS_H

#include <stdbool.h>
#include <stdint.h>

/* Work comes at this time of the host's monotonic clock. False: nobody was told. */
bool hint_arriving(uint64_t at_ns);
/* What was announced is done. */
void hint_over(void);

#endif
