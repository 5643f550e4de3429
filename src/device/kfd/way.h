/* SPDX-License-Identifier: MIT */
/* One way of stopping queues, as control.c uses it: a table of functions and one try. */
#ifndef GP__DEVICE_KFD_WAY_H
#define GP__DEVICE_KFD_WAY_H

#include <errno.h>

#include "device/kfd/control.h"

/* The result of a target that is to be tried; the others are left alone. */
#define GP__KFD_PENDING (-EINPROGRESS)

struct gp__kfd_way_ops {
	const char *name;
	bool (*can)(enum gp__kfd_verb verb);
	int (*open)(struct gp__kfd_control *c);
	void (*close)(struct gp__kfd_control *c); /* NULL: nothing to end */
	/* Tries those that are pending once, and sets their results. */
	void (*set)(struct gp__kfd_control *c, enum gp__kfd_verb verb, struct gp__kfd_target *t,
		    size_t n);
};

extern const struct gp__kfd_way_ops gp__kfd_way_update;
extern const struct gp__kfd_way_ops gp__kfd_way_dbgtrap;
extern const struct gp__kfd_way_ops gp__kfd_way_preempt;

/* A call, again where a signal came, though not for ever; its result or -errno. */
int gp__kfd_call(const struct gp__kfd_control *c, unsigned long request, void *args);

/* Whether the driver said so before anything was done. */
bool gp__kfd_is_refusal(int err);

/* Of all that are pending. */
void gp__kfd_set_results(struct gp__kfd_target *t, size_t n, int result);
/* Their ids, how many; and what the driver has written over them, as results. */
size_t gp__kfd_write_ids(const struct gp__kfd_target *t, size_t n, uint32_t *ids);
void gp__kfd_read_ids(struct gp__kfd_target *t, size_t n, const uint32_t *ids);

#endif
