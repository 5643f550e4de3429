/* SPDX-License-Identifier: MIT */
/* The trap handler that a test runs with: our own, or one from a file. */
#ifndef GP__TESTS_EMU_HANDLER_H
#define GP__TESTS_EMU_HANDLER_H

#include "emu/gfx9/machine.h"

#define HANDLER_BYTES_MAX 0x1800

/* False, and a word about it, where there is nothing to read: the test is to be skipped. */
bool handler_read(const char *path);
/* Whether there is one from a file. */
bool handler_is_other(void);
/* Puts it, or our own, where the machine's waves find it. */
void handler_use(struct machine *m);
void handler_use_own(struct machine *m);

#endif
