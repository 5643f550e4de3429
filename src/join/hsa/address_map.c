// SPDX-License-Identifier: MIT
#include "join/hsa/address_map.h"

#include <stddef.h>

/* The address in a slot whose entry was removed. */
static const char tombstone;

static uint32_t first_slot(const void *address)
{
	uint64_t hash = (uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(hash >> 32) % GP__ADDRESS_SLOTS;
}

/* GP__ADDRESS_SLOTS: there is none. */
static uint32_t slot_of(struct gp__address_map *m, const void *address)
{
	for (uint32_t n = 0, i = first_slot(address); n < GP__ADDRESS_SLOTS;
	     n++, i = (i + 1) % GP__ADDRESS_SLOTS) {
		const void *is = atomic_load_explicit(&m->address[i], memory_order_acquire);

		if (is == address)
			return i;
		if (!is)
			break;
	}
	return GP__ADDRESS_SLOTS;
}

struct gp__address_entry *gp__address_map_find(struct gp__address_map *m, const void *address)
{
	uint32_t i = address ? slot_of(m, address) : GP__ADDRESS_SLOTS;

	return i < GP__ADDRESS_SLOTS ? m->entry[i] : NULL;
}

bool gp__address_map_add(struct gp__address_map *m, struct gp__address_entry *entry)
{
	uint32_t i = first_slot(entry->address);

	if (m->nr == GP__ADDRESS_SLOTS / 2)
		return false;
	while (atomic_load(&m->address[i]) && atomic_load(&m->address[i]) != &tombstone)
		i = (i + 1) % GP__ADDRESS_SLOTS;
	m->entry[i] = entry;
	atomic_store_explicit(&m->address[i], entry->address, memory_order_release);
	m->nr++;
	return true;
}

/* Tombstones before an empty slot are not needed: a search ends there anyway. */
static void clear_slot(struct gp__address_map *m, uint32_t i)
{
	bool is_last = !atomic_load(&m->address[(i + 1) % GP__ADDRESS_SLOTS]);

	atomic_store(&m->address[i], &tombstone);
	while (is_last && atomic_load(&m->address[i]) == &tombstone) {
		atomic_store(&m->address[i], NULL);
		i = (i + GP__ADDRESS_SLOTS - 1) % GP__ADDRESS_SLOTS;
	}
}

struct gp__address_entry *gp__address_map_remove(struct gp__address_map *m, const void *address)
{
	struct gp__address_entry *entry = gp__address_map_find(m, address);

	if (!entry)
		return NULL;
	clear_slot(m, slot_of(m, address));
	m->nr--;
	return entry;
}
