/* SPDX-License-Identifier: MIT */
/* Tracers and capabilities of processes, from /proc. */
#ifndef GP__EMU_KFD_TRACER_H
#define GP__EMU_KFD_TRACER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The process id of a thread that runs a program; -ESRCH where there is none, or it is dead. */
pid_t emu_tracer_process(pid_t tid);
/*
 * Whether @thread of the process @tracer traces the first thread of @pid. If @thread does not
 * belong to the process, such as 0, any of its threads will do.
 */
bool emu_tracer_is(pid_t tracer, pid_t thread, pid_t pid);
/*
 * Whether @thread of @process, or its first thread if that does not belong to it, has one of the
 * capabilities.
 */
bool emu_tracer_can(pid_t process, pid_t thread, uint64_t capabilities);

#endif
