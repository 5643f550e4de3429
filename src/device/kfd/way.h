/* SPDX-License-Identifier: MIT */
/* A way of holding queues, as control.c uses it: a table of functions that each try once. */
#ifndef GP__DEVICE_KFD_WAY_H
#define GP__DEVICE_KFD_WAY_H

#include <errno.h>

#include "device/kfd/control.h"

/* The result of a target that is still to be tried; targets with other results are skipped. */
#define GP__KFD_PENDING (-EINPROGRESS)

struct gp__kfd_way_ops {
	const char *name;
	bool (*can)(enum gp__kfd_verb verb);
	int (*open)(struct gp__kfd_control *c);
	void (*close)(struct gp__kfd_control *c); /* NULL: nothing to end */
	/* Tries the pending targets once, and sets their results. */
	void (*set)(struct gp__kfd_control *c, enum gp__kfd_verb verb, struct gp__kfd_target *t,
		    size_t n);
};

extern const struct gp__kfd_way_ops gp__kfd_way_update;
extern const struct gp__kfd_way_ops gp__kfd_way_dbgtrap;
extern const struct gp__kfd_way_ops gp__kfd_way_preempt;

/* Way dbgtrap, whether queues can be suspended or not: 0 or -errno. */
int gp__kfd_attach_debugger(struct gp__kfd_control *c);

/* A call, repeated a limited number of times if signals interrupt it; its result or -errno. */
int gp__kfd_call(const struct gp__kfd_control *c, unsigned long request, void *args);

/* Traces the other process for a call that requires its tracer; 0 or -errno. The same thread ends
 * it. */
int gp__kfd_trace(const struct gp__kfd_control *c);
void gp__kfd_end_trace(const struct gp__kfd_control *c);

/* Whether the error means that the driver refused the call and changed nothing. */
bool gp__kfd_is_refusal(int err);

/* Sets the result of all pending targets. */
void gp__kfd_set_results(struct gp__kfd_target *t, size_t n, int result);
/* Writes the ids of pending targets and returns how many; reads back what the driver wrote over
 * them. */
size_t gp__kfd_write_ids(const struct gp__kfd_target *t, size_t n, uint32_t *ids);
void gp__kfd_read_ids(struct gp__kfd_target *t, size_t n, const uint32_t *ids);

#endif
