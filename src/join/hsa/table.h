/* SPDX-License-Identifier: MIT */
/*
 * The AMD queues of a process, for libraries in it that schedule them themselves (src/poc). They
 * find the table by name:
 *
 *	const struct gp_join_table *(*find)(uint32_t) = dlsym(RTLD_DEFAULT, "gp_join_table");
 *	const struct gp_join_table *table = find ? find(GP_JOIN_VERSION) : NULL;
 *
 * Both sides must have been built with the same version of it.
 */
#ifndef GP__JOIN_HSA_TABLE_H
#define GP__JOIN_HSA_TABLE_H

#include "device/kfd/owner.h"

#define GP_JOIN_VERSION 2

struct gp_join_table {
	uint32_t version;
	/* Lists up to @max queues of this process; returns how many there are. */
	size_t (*list)(struct gp__kfd_owned *list, size_t max);
	/* As gp__kfd_owner_set(). */
	int (*set)(enum gp__kfd_verb verb, const uint32_t *ids, int *results, size_t n);
	/* The name of the way that is used. @why: why it is not the one asked for, or "". */
	const char *(*way)(char *why, size_t size);
	/* Explains a result of set() in a sentence. */
	void (*explain)(enum gp__kfd_verb verb, int error, char *text, size_t size);
	/* As gp__kfd_join_watch(). */
	int (*watch)(const struct gp__kfd_owner_events *observer);
};

/* NULL: the preload is of another version, or has stepped aside. */
const struct gp_join_table *gp_join_table(uint32_t version);

#endif
