/* SPDX-License-Identifier: MIT */
/* What a library of ours tells the people who use the program that it is in. */
#ifndef GP__JOIN_SAY_H
#define GP__JOIN_SAY_H

/* A line on the program's standard error, in one piece or not at all. */
void gp__join_say(const char *text);
/* The same of why the program, or a part of it, is not joined: @why and @what follow each other. */
void gp__join_step_aside(const char *why, const char *what);

#endif
