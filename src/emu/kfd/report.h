/* SPDX-License-Identifier: MIT */
/*
 * Messages in the machine's log about instructions whose results a program should not trust: those
 * that stop a queue, and approximate ones, each opcode once per process. With a console, which
 * 'gpreempt emu exec' has, the former go there, too, and with --strict the latter.
 */
#ifndef GP__EMU_KFD_REPORT_H
#define GP__EMU_KFD_REPORT_H

#include "emu/engine.h"

struct emu_queue;

/* The compute engine decoded an approximate instruction; @process is a struct emu_process. Any
 * thread. */
emu_approximate_fn emu_report_approximate;
/* A wave stopped at an instruction that the engine does not execute. */
void emu_report_illegal(const struct emu_queue *q, const struct emu_failure *f);

#endif
