/* SPDX-License-Identifier: MIT */
/*
 * Finds the processes that have GPUs open, joined or not: by their descriptors in /proc, and for
 * AMD GPUs also in amdkfd's sysfs, which lists processes whose descriptors cannot be read, and the
 * programs of an emulated machine.
 *
 * The owner of a process can stretch these reads, so they are not for the scheduling thread. To
 * see the descriptors of other users' processes takes root and CAP_SYS_PTRACE.
 *
 * A user may have any number of processes with any number of files: the census has a bounded number
 * of each user's, and spends a bounded time on looking for them.
 */
#ifndef GP__DAEMON_CENSUS_H
#define GP__DAEMON_CENSUS_H

#include "daemon/devices.h"

#define GP__CENSUS_MAX 1024
#define GP__CENSUS_PER_USER 256
/* Files of a user's processes that are looked at: about a tenth of a second. */
#define GP__CENSUS_COST_PER_USER 131072

/* A process that has a GPU open. */
struct gp__holder {
	pid_t pid, parent; /* parent 0: not known */
	u64 start; /* in ticks since the machine started: with the pid, it names the process */
	uid_t uid;
	char name[GP__WIRE_NAME_MAX];
	u32 nr_files; /* that were looked at */
	bool computes; /* it can compute; others draw, or watch the GPU */
	struct gp__devices *devices; /* of the machine; is_open and used are of the process */
};

struct gp__census {
	struct gp__holder *holder; /* by pid */
	u32 nr;
	u32 nr_unread; /* processes that could not be looked at for lack of permission */
	u32 nr_unlisted; /* processes that were not looked at because there are too many */
};

/*
 * Looks at one process. 1: it has a GPU open, and @h is to be freed; 0: it has none; -errno: it
 * cannot be told (-EACCES, -ESRCH, -ENOMEM). @root: "", or in tests a folder with sys/.
 */
int gp__holder_look(pid_t pid, const struct gp__devices *machine, const char *root,
		    struct gp__holder *h);
void gp__holder_free(struct gp__holder *h);
/* The memory that it uses of all its GPUs. False: that is not known of any. */
bool gp__holder_memory(const struct gp__holder *h, u64 *used);

/* Looks at all processes. 0 or -errno; on success, @c is to be freed. */
int gp__census_take(const struct gp__devices *machine, const char *root, struct gp__census *c);
void gp__census_free(struct gp__census *c);

#endif
