/* SPDX-License-Identifier: MIT */
/* Messages of gpreempt's libraries to the user of the program they are in. */
#ifndef GP__JOIN_SAY_H
#define GP__JOIN_SAY_H

#include <stdbool.h>

/*
 * Writes a line to the program's standard error, whole or not at all. @unscheduled: it says why
 * something of the program has no priority, which gpreempt run is told as well. Keeps errno.
 */
void gp__join_say(const char *text, bool unscheduled);

/* Writes one of GP__NOTE_... and @text for gpreempt run, if it watches this program. Keeps errno.
 */
void gp__join_note(const char *word, const char *text);

#endif
