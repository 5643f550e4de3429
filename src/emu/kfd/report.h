/* SPDX-License-Identifier: MIT */
/*
 * Lines about instructions whose results a program should not trust, in the machine's log: those
 * that stop a queue, and approximate ones, each opcode once for a process. With a console, which
 * 'gpreempt emu exec' has, the former go there, too, and with --strict the latter.
 */
#ifndef GP__EMU_KFD_REPORT_H
#define GP__EMU_KFD_REPORT_H

#include "emu/gfx9/code.h"

struct emu_process;
struct emu_queue;
struct gfx9_report;

/* The compute engine met an approximate instruction; @process is a struct emu_process. Any thread.
 */
void emu_report_approximate(void *process, const struct gfx9_inst *in, uint64_t pc,
			    const uint32_t *words);
/* A wave stopped at an instruction that cannot be executed. */
void emu_report_illegal(const struct emu_queue *q, const struct gfx9_report *r);

#endif
