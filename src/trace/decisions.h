/* SPDX-License-Identifier: MIT */
/*
 * Turns the lines of a decision log into a trace. Tracks:
 *
 *	GPU
 *	    groups with work, groups held       counters
 *	    group: "train (pid 7, priority 2)"
 *	        run, or held and the rule;      "waiting" inside a hold is the time with work
 *	        pending                         counter
 *	        queue: work
 *	        queue: hold, with its level;    "stopping" inside it lasts until the acknowledgement
 *
 * Each hold of a group has a flow that begins at its cause: an event inside the work of the group
 * that it is for or, if that has no work now (it lingers, or has announced work), on that group's
 * track. If no group is the cause (the operator, a quota), it begins on the track of the GPU.
 *
 * A log may begin in the middle: gp__trace_group() and gp__trace_queue() tell what was there
 *before. Lines may be missing; a slice ends where the next line contradicts it.
 */
#ifndef GP__TRACE_DECISIONS_H
#define GP__TRACE_DECISIONS_H

#include "core/types.h"
#include "trace/perfetto.h"

struct gp__trace;

struct gp__trace_group {
	u32 group, gpu, pid;
	s32 priority;
	const char *name; /* of the program, or its tag; "": none */
};

struct gp__trace_queue {
	u32 group, queue;
	bool has_work, held;
	const char *rule; /* of a hold */
	u32 by; /* the group that it is held for; 0: none */
};

/*
 * @source: tells the tracks of one log from those of another. @wants decides which groups have
 * tracks; NULL: all. NULL is returned if memory is short.
 */
struct gp__trace *gp__trace_open(struct gp__perfetto *w, const char *source,
				 bool (*wants)(void *data, u32 group, u32 pid, const char *tag),
				 void *data);
void gp__trace_gpu(struct gp__trace *t, u32 gpu, const char *name);
void gp__trace_group(struct gp__trace *t, const struct gp__trace_group *g, u64 now);
void gp__trace_queue(struct gp__trace *t, const struct gp__trace_queue *q, u64 now);
/* Takes a line without its newline. 0, or -EINVAL with what was expected in @expected. */
int gp__trace_line(struct gp__trace *t, const char *line, size_t len, const char **expected);
/* Ends what has not ended at @now or, if that is earlier, at the time of the latest line. */
void gp__trace_close(struct gp__trace *t, u64 now);

#endif
