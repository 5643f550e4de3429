/* SPDX-License-Identifier: MIT */
/*
 * A hash table from addresses to entries, which threads search while another one changes it.
 *
 * Adding and removing need a lock of the caller's. Searching needs none, as long as the address
 * searched for is not being added or removed: a program does not use a queue while it creates or
 * destroys it. Open addressing with tombstones, so that removing an entry hides no other.
 */
#ifndef GP__JOIN_HSA_ADDRESS_MAP_H
#define GP__JOIN_HSA_ADDRESS_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Twice as many slots as entries, so that a search takes few steps. */
#define GP__ADDRESS_SLOTS 4096u

/* The first member of an entry. */
struct gp__address_entry {
	const void *address;
};

/* Addresses are stored beside the entries: a search may pass an entry that is being freed. */
struct gp__address_map {
	_Atomic(const void *) address[GP__ADDRESS_SLOTS];
	struct gp__address_entry *entry[GP__ADDRESS_SLOTS];
	uint32_t nr;
};

/* NULL: there is none. */
struct gp__address_entry *gp__address_map_find(struct gp__address_map *m, const void *address);
/* False: the table is full. */
bool gp__address_map_add(struct gp__address_map *m, struct gp__address_entry *entry);
/* NULL: there was none. */
struct gp__address_entry *gp__address_map_remove(struct gp__address_map *m, const void *address);

#endif
