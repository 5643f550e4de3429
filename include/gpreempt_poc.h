/* SPDX-License-Identifier: MIT */
/*
 * libgpreempt_poc: stage 1. Finds the compute queues of all programs on AMD GPUs, takes them off
 * the GPU in the middle of what they run, and puts them back; the caller decides when.
 *
 *	- Functions return 0, gpreempt_queues_busy() also 1, or -1 with errno;
 *	  gpreempt_last_error() is then a sentence that says which rule was met and what to do about
 *	  it. All of them may be called from any thread.
 *	- A queue's id is unique among the queues of all programs, the same in every program that
 *	  uses this library, and stays while the queue lives: the number of its process << 10 | the
 *	  driver's number for the queue, which is below 1024.
 *	- What is suspended runs again when it is resumed, when gpreempt_poc_cleanup() is called,
 * and when the caller ends in whatever way.
 *
 * The header is C99 and C++. gpreempt_poc(3) says more.
 */
#ifndef GPREEMPT_POC_H
#define GPREEMPT_POC_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GPREEMPT_POC_API __attribute__((visibility("default")))
#else
#define GPREEMPT_POC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The most that a single call accepts. */
#define GPREEMPT_POC_QUEUES_MAX 1024
/* The priority of a queue that neither its program's environment nor the driver gives one. */
#define GPREEMPT_POC_PRIORITY_DEFAULT 7

/* Opens /dev/kfd. Once: a second call fails with EALREADY until cleanup. */
GPREEMPT_POC_API int gpreempt_poc_init(void);
/* Resumes all suspended queues and ends control of all programs. */
GPREEMPT_POC_API void gpreempt_poc_cleanup(void);

/*
 * Suspends all of them or none: if one fails, those that this call has held are released. It
 * returns when their waves are off the GPU. A queue that is suspended already stays so, and needs
 * one resume.
 *
 * @grace_period_us: how long waves may run on before they are saved, if the driver's debugger
 * interface is the way. The driver counts it in steps of 1000 GPU clocks, at most 255, which is
 * 0.15 ms at 1.7 GHz; longer ones are cut to that. 0: they are saved at once.
 */
GPREEMPT_POC_API int gpreempt_suspend_queues(uint32_t *queue_ids, uint32_t num_queues,
					     uint32_t grace_period_us);
/*
 * Resumes all that it can; -1 if one of them failed, because it or its program is gone. Resuming a
 * running queue succeeds.
 */
GPREEMPT_POC_API int gpreempt_resume_queues(uint32_t *queue_ids, uint32_t num_queues);

/*
 * 1: a queue has work, or has had some since the previous call; 0: none has; -1: a queue does not
 * exist, or cannot be watched. A queue has work from the moment when a packet is written into its
 * ring until its kernels have ended.
 *
 * It reads the rings in the memory of the queues' programs, for which it needs Linux 6.5 and the
 * right to trace them. To see the end of work, call it again and again, for example every
 * millisecond: each call takes some tens of microseconds, but the first one about a program
 * attaches to it as a debugger for a moment.
 */
GPREEMPT_POC_API int gpreempt_queues_busy(uint32_t *queue_ids, uint32_t num_queues);

typedef struct {
	uint32_t queue_id;
	uint32_t priority; /* 0 to 15 */
	uint32_t gpu_id;
	char tag[64]; /* "": none */
	bool is_active; /* false: suspended through this library, or known not to be on the GPU */
} queue_info_t;

/*
 * Lists the compute queues of all programs, without those for copies (SDMA). AMD_QUEUE_PRIORITY and
 * AMD_QUEUE_TAG in a program's environment are its priority and tag. The list is freed with
 * gpreempt_free_queues(); NULL: there is no queue.
 */
GPREEMPT_POC_API int gpreempt_get_all_queues(queue_info_t **queues, uint32_t *num_queues);
/* From @min_priority to @max_priority, both included. */
GPREEMPT_POC_API int gpreempt_find_queues_by_priority(uint32_t min_priority, uint32_t max_priority,
						      queue_info_t **queues, uint32_t *num_queues);
GPREEMPT_POC_API int gpreempt_find_queues_by_tag(const char *tag, queue_info_t **queues,
						 uint32_t *num_queues);
GPREEMPT_POC_API void gpreempt_free_queues(queue_info_t *queues);

/* The process that owns the queue. */
GPREEMPT_POC_API int32_t gpreempt_queue_pid(uint32_t queue_id);

/* The error of this thread's latest failed call; "": none failed. */
GPREEMPT_POC_API const char *gpreempt_last_error(void);
/*
 * The queues for which that call failed: how many, and up to @max of their ids. 0: it was not about
 * queues.
 */
GPREEMPT_POC_API uint32_t gpreempt_failed_queues(uint32_t *queue_ids, uint32_t max);
/* A sentence about a problem of this machine that makes no call fail; "": there is none. */
GPREEMPT_POC_API const char *gpreempt_poc_warning(void);

#ifdef __cplusplus
}
#endif

#endif
