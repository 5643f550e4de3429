/* SPDX-License-Identifier: MIT */
/*
 * The ioctls of gpreempt's kernel series: a program preempts and resumes its own queue, or another
 * process several.
 */
#ifndef GP__EMU_KFD_PREEMPT_H
#define GP__EMU_KFD_PREEMPT_H

#include <stdint.h>

struct emu_call;
struct emu_machine;
struct emu_process;
struct emu_queue;
struct gp_kfd_preempt_batch;
struct gp_kfd_preempt_query;
struct gp_kfd_preempt_queue;
struct gp_kfd_resume_queue;

int emu_preempt_queue(struct emu_call *call, struct gp_kfd_preempt_queue *args);
int emu_resume_queue(struct emu_call *call, struct gp_kfd_resume_queue *args);
int emu_preempt_query(struct emu_call *call, struct gp_kfd_preempt_query *args);
int emu_preempt_batch(struct emu_call *call, struct gp_kfd_preempt_batch *args);

/*
 * An open file is closed, or a process is about to end: releases all its holds. No lock is held,
 * and this takes as long as a remapping.
 */
void emu_preempt_file_closed(struct emu_machine *m, uint64_t file);
void emu_preempt_end(struct emu_process *p);
/* The queue is about to be destroyed; with the node's lock. */
void emu_preempt_forget(struct emu_queue *q);

#endif
