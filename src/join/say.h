/* SPDX-License-Identifier: MIT */
/* Messages of gpreempt's libraries to the user of the program they are in. */
#ifndef GP__JOIN_SAY_H
#define GP__JOIN_SAY_H

/* Writes a line to the program's standard error, whole or not at all. Keeps errno. */
void gp__join_say(const char *text);

#endif
