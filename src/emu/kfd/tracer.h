/* SPDX-License-Identifier: MIT */
/* Who traces whom, and who may do what, as /proc says it. */
#ifndef GP__EMU_KFD_TRACER_H
#define GP__EMU_KFD_TRACER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The process of a thread that runs a program: its id; -ESRCH where it is none, or a dead one. */
pid_t emu_tracer_process(pid_t tid);
/*
 * Whether @thread of the process @tracer traces the first thread of @pid. One that is none of the
 * process's, as 0, says nothing: then any of its threads will do.
 */
bool emu_tracer_is(pid_t tracer, pid_t thread, pid_t pid);
/* Whether @thread of @process, or its first one where that is none, has one of the capabilities. */
bool emu_tracer_can(pid_t process, pid_t thread, uint64_t capabilities);

#endif
