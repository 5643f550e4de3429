/* SPDX-License-Identifier: MIT */
/*
 * Finds the ancestors of processes, for verdict.h. A thread of its own reads /proc: reading
 * /proc/PID/stat, status or cgroup takes no lock of the process's memory map, but the reader may
 * drop the last reference to the memory of a process that ends, and then frees it and the files
 * mapped there; and control groups have one lock for all. A client can stretch both. There is at
 * most one question per connection.
 */
#ifndef GP__DAEMON_LINEAGE_H
#define GP__DAEMON_LINEAGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/list.h"
#include "core/types.h"

#define GP__LINEAGE_MAX 64
#define GP__CGROUP_MAX 256
#define GP__CGROUPS_MAX 16 /* different ones of a process, in all hierarchies */

/* A pid is reused; a pid with a start time is not. */
struct gp__process_id {
	pid_t pid;
	u64 start; /* in ticks since the machine started; 0: unknown */
};

struct gp__lineage {
	struct gp__process_id up[GP__LINEAGE_MAX]; /* the process, its parent, and so on */
	u32 nr; /* 0: the process has ended, or cannot be read */
	/*
	 * When the first of these started whose parent may be another than the kernel says: it may
	 * have been adopted by init or by a service manager of its user when its parent ended, or
	 * the list has no room for its parent. 0: there is none.
	 */
	u64 adopted_start;
	char cgroup[GP__CGROUP_MAX]; /* of the process, version 2; "": none */
	/*
	 * The beginnings of the paths of its control groups in all hierarchies, without roots, each
	 * with its NUL; an empty one ends them.
	 */
	char cgroups[GP__CGROUPS_MAX * GP__CGROUP_MAX + 1];
	u32 cgroups_size; /* 0: they cannot be read */
};

/* Reads the ancestors of a process. Can be stretched by its owner. */
void gp__lineage_read(pid_t pid, struct gp__lineage *l);

struct gp__lineages;

/* NULL: out of memory, or no thread can be made. */
struct gp__lineages *gp__lineages_start(void);
/* Waits for the read under way. @t may be NULL. */
void gp__lineages_stop(struct gp__lineages *t);
/* Readable when there are answers. */
int gp__lineages_fd(const struct gp__lineages *t);
/* Asks for the lineage of the process; @ticket comes back with the answer. 0 or -ENOMEM. */
int gp__lineages_ask(struct gp__lineages *t, u64 ticket, pid_t pid);
/* Drops a question whose answer is not wanted any more, unless it is being answered. */
void gp__lineages_cancel(struct gp__lineages *t, u64 ticket);
/*
 * Asks whether there is a control group with this path in any hierarchy. The answer has the ticket
 * and GP__TICKET_CGROUP, and `nr` is 1 if there is, or if that cannot be told. 0 or -ENOMEM.
 */
#define GP__TICKET_CGROUP (UINT64_C(1) << 63)
int gp__lineages_find(struct gp__lineages *t, u64 ticket, const char *cgroup);
/* Takes an answer. False: there is none. */
bool gp__lineages_take(struct gp__lineages *t, u64 *ticket, struct gp__lineage *l);

#endif
