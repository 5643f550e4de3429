/* SPDX-License-Identifier: MIT */
/* Who traces whom, as /proc says it. */
#ifndef GP__EMU_KFD_TRACER_H
#define GP__EMU_KFD_TRACER_H

#include <stdbool.h>
#include <sys/types.h>

/* The process of a thread that runs a program: its id; -ESRCH where it is none, or a dead one. */
pid_t emu_tracer_process(pid_t tid);
/* Whether a thread of @tracer traces the first thread of @pid. */
bool emu_tracer_is(pid_t tracer, pid_t pid);

#endif
