/* SPDX-License-Identifier: MIT */
/* The trap handler for a test: our own, or one from a file. */
#ifndef GP__TESTS_EMU_HANDLER_H
#define GP__TESTS_EMU_HANDLER_H

#include "emu/gfx9/machine.h"

#define HANDLER_BYTES_MAX 0x1800

/* False, after a message, if there is no file: the test is to be skipped. */
bool handler_read(const char *path);
/* Whether there is one from a file. */
bool handler_is_other(void);
/* Installs it, or our own, as the machine's trap handler. */
void handler_use(struct machine *m);
void handler_use_own(struct machine *m);

#endif
