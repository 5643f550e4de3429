/* SPDX-License-Identifier: MIT */
/*
 * Everybody's queues, as sysfs, debugfs and the programs' environments show them. Whatever a kernel
 * version does not have is left unknown; nothing here needs a right beyond reading.
 *
 * Queues and programs come and go while one looks: what has gone is left out, and is no error.
 *
 * The driver names programs by the pids of the namespace it was loaded in. In a container with pids
 * of its own, the environments are those of others: list from outside.
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

/* Where a priority is from, the best first. */
enum gp__kfd_source {
	GP__KFD_FROM_AGENT, /* the program's own environment, in its own process */
	GP__KFD_FROM_ENVIRON, /* /proc/PID/environ */
	GP__KFD_FROM_QUEUE, /* the priority that the queue was made with */
	GP__KFD_FROM_CALLER, /* what the caller gives where nobody says anything */
};

/* What a kernel that schedules queues itself says of one (kernel/README.md). */
struct gp__kfd_kernel_state {
	char state[16]; /* "": it does not schedule this one */
	int priority, effective; /* what was asked for, and what ageing made of it; -1: unknown */
	int64_t pending; /* packets, or dwords; -1: unknown */
	uint64_t preempted_ms, preemptions;
};

struct gp__kfd_listed {
	pid_t pid;
	uint32_t queue_id, gpu_id;
	uint32_t type; /* GP_KFD_QUEUE_...; COMPUTE: or AQL, where nobody says which */
	uint64_t ring_bytes;
	uint64_t ring; /* its address, 0: unknown */
	int priority;
	enum gp__kfd_source priority_from;
	char tag[GP__KFD_TAG_MAX]; /* "": none */
	/* From debugfs, where it can be read and says which queue is meant. */
	bool active, active_known; /* whether the hardware has it now */
	int hw_priority; /* 0..15, -1: unknown */
	struct gp__kfd_kernel_state kernel;
};

struct gp__kfd_list {
	struct gp__kfd_listed *queue; /* in the order of processes and ids */
	size_t nr;
	/* What could not be looked at though it is there: -errno, or 0. */
	int debugfs_error, environ_error;
	struct gp__kfd_mqds mqds; /* what debugfs has */
};

/* @priority: of a queue for which nobody says one. 0 or -errno (-ENODEV: there is no amdkfd). */
int gp__kfd_list(struct gp__kfd_list *list, int priority);
/*
 * Only what sysfs has of them. Debugfs reads registers of the GPU under the driver's locks: not for
 * who wants to know often, or only how many there are.
 */
int gp__kfd_list_plain(struct gp__kfd_list *list);
void gp__kfd_list_free(struct gp__kfd_list *list);

/*
 * What a debugger's GET_QUEUE_SNAPSHOT says of a program's queues: with the rings' addresses,
 * debugfs tells more of them.
 */
void gp__kfd_list_snapshot(struct gp__kfd_list *list, pid_t pid,
			   const struct gp_kfd_queue_snapshot *entry, size_t n);

/* As gp__kfd_list(), from other places: for tests. */
struct gp__kfd_places {
	const char *kfd; /* /sys/class/kfd/kfd */
	const char *debugfs; /* /sys/kernel/debug/kfd; NULL: not looked at */
	const char *proc; /* /proc; NULL: environments are not looked at */
	const struct gp__kfd_node *node;
	size_t nr_nodes;
};
int gp__kfd_list_from(const struct gp__kfd_places *from, struct gp__kfd_list *list, int priority);

/*
 * Parsers, which take anything
 */

/* AMD_QUEUE_TAG and AMD_QUEUE_PRIORITY (a number, or offline, normal, online) in a block of
 * NUL-terminated settings. */
struct gp__kfd_wishes {
	bool has_priority, has_tag;
	int priority;
	char tag[GP__KFD_TAG_MAX]; /* printable; a longer one is cut */
};
void gp__kfd_wishes_parse(const char *environ, size_t size, struct gp__kfd_wishes *wishes);

/* A queue's file: a decimal number, and blanks around it. */
bool gp__kfd_number_parse(const char *text, size_t size, uint64_t max, uint64_t *value);

#endif
