/* SPDX-License-Identifier: MIT */
/* Ids: the lowest free one is allocated next, as the driver does. No lock. */
#ifndef GP__EMU_KFD_TABLE_H
#define GP__EMU_KFD_TABLE_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

struct emu_table {
	void **entry; /* NULL: free */
	uint32_t room; /* ids below it may be in use */
	uint32_t lowest; /* no id below it is free */
};

static inline void *emu_table_find(const struct emu_table *t, uint64_t id)
{
	return id < t->room ? t->entry[id] : NULL;
}

/* The id of @entry, which is below @limit; -ENOSPC, -ENOMEM. */
static inline int64_t emu_table_add(struct emu_table *t, void *entry, uint32_t limit)
{
	uint32_t id = t->lowest;

	while (id < t->room && t->entry[id])
		id++;
	if (id >= limit)
		return -ENOSPC;
	if (id == t->room) {
		uint32_t room = t->room ? 2 * t->room : 16;
		void **more = realloc(t->entry, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		for (uint32_t i = t->room; i < room; i++)
			more[i] = NULL;
		t->entry = more;
		t->room = room;
	}
	t->entry[id] = entry;
	t->lowest = id + 1;
	return id;
}

static inline void emu_table_remove(struct emu_table *t, uint32_t id)
{
	t->entry[id] = NULL;
	if (id < t->lowest)
		t->lowest = id;
}

static inline void emu_table_destroy(struct emu_table *t)
{
	free(t->entry);
	*t = (struct emu_table){ 0 };
}

#endif
