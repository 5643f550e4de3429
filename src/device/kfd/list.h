/* SPDX-License-Identifier: MIT */
/*
 * Everybody's queues, as sysfs, debugfs and the programs' environments show them. Whatever a kernel
 * version does not have is left unknown; nothing here needs a right beyond reading.
 */
#ifndef GP__DEVICE_KFD_LIST_H
#define GP__DEVICE_KFD_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GP__KFD_TAG_MAX 64

/* Where a tag or priority is from, the best first. */
enum gp__kfd_source {
	GP__KFD_FROM_AGENT, /* the program's own environment, in its own process */
	GP__KFD_FROM_ENVIRON, /* /proc/PID/environ */
	GP__KFD_FROM_QUEUE, /* the priority that the queue was made with */
	GP__KFD_FROM_CALLER, /* what the caller gives where nobody says anything */
};

struct gp__kfd_listed {
	pid_t pid;
	uint32_t queue_id, gpu_id;
	uint32_t type; /* GP_KFD_QUEUE_... */
	uint64_t ring_bytes;
	int priority;
	enum gp__kfd_source priority_from;
	char tag[GP__KFD_TAG_MAX]; /* "": none */
	/* Whether the hardware has it now; known where debugfs can be read. */
	bool active, active_known;
};

struct gp__kfd_list {
	struct gp__kfd_listed *queue; /* in the order of processes and ids */
	size_t nr;
	/* What could not be looked at though it is there: -errno, or 0. */
	int debugfs_error, environ_error;
};

/* @priority: of a queue for which nobody says one. 0 or -errno (-ENODEV: there is no amdkfd). */
int gp__kfd_list(struct gp__kfd_list *list, int priority);
void gp__kfd_list_free(struct gp__kfd_list *list);

/*
 * Parsers, which take anything
 */

/* AMD_QUEUE_TAG and AMD_QUEUE_PRIORITY in a block of NUL-terminated settings. */
struct gp__kfd_wishes {
	bool has_priority, has_tag;
	int priority;
	char tag[GP__KFD_TAG_MAX];
};
void gp__kfd_wishes_parse(const char *environ, size_t size, struct gp__kfd_wishes *wishes);

#endif
