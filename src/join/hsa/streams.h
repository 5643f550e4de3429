/* SPDX-License-Identifier: MIT */
/*
 * Which queue of the driver is a queue of the HSA runtime, or carries a stream of HIP.
 *
 * HIP does not say where a stream goes, and several streams share a queue. So a stream is asked: an
 * event is recorded in it, and the doorbell that the calling thread rings for that is its queue's.
 * Nothing waits for the event, so a queue that is busy or held can be found as well. Wrong where
 * HIP submits from threads of its own.
 */
#ifndef GP__JOIN_HSA_STREAMS_H
#define GP__JOIN_HSA_STREAMS_H

#include <gpreempt/kfd.h>

/* For gp_kfd_queue_of_hsa() and gp_kfd_queue_of_stream(), and the same for callers in Python. */
int gp_join_queue_of_hsa(const void *hsa_queue, struct gp_kfd_runtime_queue *found,
			 struct gp_error *err);
int gp_join_queue_of_stream(void *stream, struct gp_kfd_runtime_queue *found, struct gp_error *err);

/* The queue is gone, and its number may be another's. */
void gp__hsa_streams_removed(uint32_t id);
/* In a child after fork(), which has none of the queues. */
void gp__hsa_streams_forget(void);

#endif
