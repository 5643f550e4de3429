/* SPDX-License-Identifier: MIT */
/*
 * The ioctl of gpreempt's kernel series: a program preempts, resumes and prioritises its own
 * queues, or those of another process; and its aliases for one queue.
 */
#ifndef GP__EMU_KFD_PREEMPT_H
#define GP__EMU_KFD_PREEMPT_H

#include <stdint.h>

/* Queues that the open files of a process may hold, and those of a user other than root. */
#define EMU_HOLDS_MAX 4096
#define EMU_USER_HOLDS_MAX (4 * EMU_HOLDS_MAX)

struct emu_call;
struct emu_machine;
struct emu_process;
struct emu_queue;
struct gp_kfd_preempt;
struct gp_kfd_preempt_queue;
struct gp_kfd_resume_queue;

int emu_preempt_queue(struct emu_call *call, struct gp_kfd_preempt_queue *args);
int emu_resume_queue(struct emu_call *call, struct gp_kfd_resume_queue *args);
int emu_preempt(struct emu_call *call, struct gp_kfd_preempt *args);
/* -E2BIG: what the caller knows more than this kernel is not zero. */
int emu_preempt_check(const void *args, uint32_t size);

/*
 * An open file is closed, or a process is about to end: releases all its holds. No lock is held,
 * and this takes as long as a remapping.
 */
void emu_preempt_file_closed(struct emu_machine *m, uint64_t file);
void emu_preempt_end(struct emu_process *p);
/* The queue is about to be destroyed; with the node's lock. */
void emu_preempt_forget(struct emu_queue *q);

#endif
