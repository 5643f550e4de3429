/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints of the scheduler: what it sees in rings, and its actions */
#if !defined(KFD_SCHED_TRACE_H_) || defined(TRACE_HEADER_MULTI_READ)
#define KFD_SCHED_TRACE_H_

#include <linux/tracepoint.h>

#undef TRACE_SYSTEM
#define TRACE_SYSTEM amdkfd

TRACE_EVENT(kfd_sched_ring,
	    TP_PROTO(u32 gpu_id, int pid, u32 queue_id, bool is_busy, u64 rptr, u64 wptr),
	    TP_ARGS(gpu_id, pid, queue_id, is_busy, rptr, wptr),
	    TP_STRUCT__entry(__field(u32, gpu_id)
			     __field(int, pid)
			     __field(u32, queue_id)
			     __field(bool, is_busy)
			     __field(u64, rptr)
			     __field(u64, wptr)
	    ),
	    TP_fast_assign(__entry->gpu_id = gpu_id;
			   __entry->pid = pid;
			   __entry->queue_id = queue_id;
			   __entry->is_busy = is_busy;
			   __entry->rptr = rptr;
			   __entry->wptr = wptr;
	    ),
	    TP_printk("gpu_id=%u pid=%d queue=%u %s rptr=%llu wptr=%llu",
		      __entry->gpu_id, __entry->pid, __entry->queue_id,
		      __entry->is_busy ? "ready" : "idle", __entry->rptr, __entry->wptr)
);

TRACE_EVENT(kfd_sched_action,
	    TP_PROTO(u32 gpu_id, int pid, u32 queue_id, bool preempt, const char *why, int result,
		     u64 took_ns),
	    TP_ARGS(gpu_id, pid, queue_id, preempt, why, result, took_ns),
	    TP_STRUCT__entry(__field(u32, gpu_id)
			     __field(int, pid)
			     __field(u32, queue_id)
			     __field(bool, preempt)
			     __string(why, why)
			     __field(int, result)
			     __field(u64, took_ns)
	    ),
	    TP_fast_assign(__entry->gpu_id = gpu_id;
			   __entry->pid = pid;
			   __entry->queue_id = queue_id;
			   __entry->preempt = preempt;
			   __assign_str(why);
			   __entry->result = result;
			   __entry->took_ns = took_ns;
	    ),
	    TP_printk("gpu_id=%u pid=%d queue=%u %s why=%s result=%d took_ns=%llu",
		      __entry->gpu_id, __entry->pid, __entry->queue_id,
		      __entry->preempt ? "preempt" : "resume", __get_str(why), __entry->result,
		      __entry->took_ns)
);

#endif

/* This part must be outside protection */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE kfd_sched_trace
#include <trace/define_trace.h>
