/* SPDX-License-Identifier: MIT */
/*
 * Lists the queues of all programs, from sysfs, debugfs and the programs' environments. Whatever a
 * kernel version does not have is left unknown; reading is the only permission it needs.
 *
 * Queues and programs come and go during a listing: one that is gone is left out, and is no error.
 *
 * The driver names programs by the pids of the namespace it was loaded in. A container with its own
 * pid namespace would read the environments of other programs: list from outside of it.
 */
#ifndef GP__DEVICE_KFD_LIST_H
#define GP__DEVICE_KFD_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "device/kfd/mqd.h"
#include "device/kfd/topology.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

#define GP__KFD_TAG_MAX 64

/* The source of a priority, the best first. */
enum gp__kfd_source {
	GP__KFD_FROM_AGENT, /* this process's own environment */
	GP__KFD_FROM_ENVIRON, /* /proc/PID/environ */
	GP__KFD_FROM_QUEUE, /* the priority that the queue was created with */
	GP__KFD_FROM_CALLER, /* the caller's default */
};

/* The state of a queue in a kernel that schedules queues itself (kernel/README.md). */
struct gp__kfd_kernel_state {
	char state[16]; /* "": the kernel does not schedule this queue */
	int priority, effective; /* requested, and after ageing; -1: unknown */
	bool has_own;
	int own; /* the program's own priority for it: -1, 0 or 1 */
	int64_t pending; /* packets, or dwords; -1: unknown */
	int64_t preempted_ms, preemptions; /* -1: unknown */
};

struct gp__kfd_listed {
	pid_t pid;
	uint32_t queue_id, gpu_id;
	uint32_t type; /* GP_KFD_QUEUE_...; COMPUTE may be AQL if the kernel does not tell */
	uint64_t ring_bytes;
	int priority;
	enum gp__kfd_source priority_from;
	char tag[GP__KFD_TAG_MAX]; /* "": none */
	/* From debugfs, if it is readable and the descriptor is unambiguous. */
	bool active, active_known; /* whether the hardware has it now */
	int hw_priority; /* 0..15, -1: unknown */
	struct gp__kfd_kernel_state kernel;
};

struct gp__kfd_list {
	struct gp__kfd_listed *queue; /* in the order of processes and ids */
	size_t nr;
	/* -errno of an existing source that could not be read, or 0. */
	int debugfs_error, environ_error;
	struct gp__kfd_mqds mqds; /* from debugfs */
};

/* @priority: the default of queues without one. 0 or -errno (-ENODEV: there is no amdkfd). */
int gp__kfd_list(struct gp__kfd_list *list, int priority);
/*
 * Lists only what sysfs shows. Debugfs reads registers of the GPU under the driver's locks: do not
 * use it often, or only to count queues.
 */
int gp__kfd_list_plain(struct gp__kfd_list *list);
void gp__kfd_list_free(struct gp__kfd_list *list);

/* As gp__kfd_list(), from other folders; for tests. */
struct gp__kfd_places {
	const char *kfd; /* /sys/class/kfd/kfd */
	const char *debugfs; /* /sys/kernel/debug/kfd; NULL: not looked at */
	const char *proc; /* /proc; NULL: environments are not looked at */
	const struct gp__kfd_node *node;
	size_t nr_nodes;
};
int gp__kfd_list_from(const struct gp__kfd_places *from, struct gp__kfd_list *list, int priority);

/*
 * Parsers, which accept any bytes
 */

/* AMD_QUEUE_TAG and AMD_QUEUE_PRIORITY (a number, or offline, normal, online) in a block of
 * NUL-terminated settings. */
struct gp__kfd_wishes {
	bool has_priority, has_tag;
	int priority;
	char tag[GP__KFD_TAG_MAX]; /* printable; a longer one is cut */
};
void gp__kfd_wishes_parse(const char *environ, size_t size, struct gp__kfd_wishes *wishes);
/* The same from this process's own environment, as it is now. */
void gp__kfd_wishes_own(struct gp__kfd_wishes *wishes);

/* A queue's file: a decimal number, and blanks around it. */
bool gp__kfd_number_parse(const char *text, size_t size, uint64_t max, uint64_t *value);

#endif
