/* SPDX-License-Identifier: MIT */
/*
 * What the preload offers to others in its process, who find it by name:
 *
 *	const struct gp_join_table *(*find)(uint32_t) = dlsym(RTLD_DEFAULT, "gp_join_table");
 *	const struct gp_join_table *table = find ? find(GP_JOIN_VERSION) : NULL;
 *
 * Both sides must have been built with the same version of it.
 */
#ifndef GP__JOIN_TABLE_H
#define GP__JOIN_TABLE_H

#include "device/kfd/owner.h"

#define GP_JOIN_VERSION 2

struct gp_join_table {
	uint32_t version;
	/* The queues of this process, up to @max of them; how many there are. */
	size_t (*list)(struct gp__kfd_owned *list, size_t max);
	/* As gp__kfd_owner_set(). */
	int (*set)(enum gp__kfd_verb verb, const uint32_t *ids, int *results, size_t n);
	/* The name of the way that is used, and why it is not the one asked for, "" where it is. */
	const char *(*way)(char *why, size_t size);
	/* Of a result of set(): a sentence for people. */
	void (*explain)(enum gp__kfd_verb verb, int error, char *text, size_t size);
	/*
	 * Tells one watcher about queues from now on; those that are there already he lists. NULL:
	 * nobody any more, and no call to him is under way when it returns. 0, or -EBUSY where
	 * somebody watches. Not to be called by the watcher when he is told.
	 */
	int (*watch)(const struct gp__kfd_owner_events *watcher);
};

/* NULL: the preload is of another version, or has stepped aside. */
const struct gp_join_table *gp_join_table(uint32_t version);

/*
 * What gp_hint_arriving() and gp_hint_over() come to in a joined program: work is announced for
 * @when_ns, CLOCK_MONOTONIC; 0: no longer. 0; -ENOTCONN: the program is not joined, or there is no
 * daemon; -ENODEV: it has no queue that the daemon knows of.
 */
int gp_join_arriving(uint64_t when_ns);

/* Another library of ours in the process, which has queues of its own: it is asked as well. It is
 * there until the process ends. */
void gp_join_also(int (*arriving)(uint64_t when_ns));

#endif
