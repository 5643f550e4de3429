/* SPDX-License-Identifier: MIT */
/*
 * A file for the memory of many buffers: a program with thousands of buffers does not cost the
 * machine a descriptor and a mapping for each.
 *
 * An arena is a sparse memfd that belongs to one process and is mapped once. Space is allocated
 * from its start to its end and is not reused: freed memory becomes a hole. The file ends with the
 * process and the last of its buffers.
 *
 * The machine's shared_lock protects all of it, except for accesses to the memory.
 */
#ifndef GP__EMU_KFD_ARENA_H
#define GP__EMU_KFD_ARENA_H

#include <stdint.h>

struct emu_arena {
	unsigned int refs; /* by buffers, and by the process it belongs to */
	int fd;
	uint8_t *host;
	uint64_t used;
};

/* Larger buffers have their own file. */
#define EMU_ARENA_LARGEST ((uint64_t)256 << 20)

/*
 * Allocates @bytes in *@arena, or in a new arena that replaces it, and takes a reference for it;
 * *@offset is the position. NULL: the host has no memory for an arena.
 */
struct emu_arena *emu_arena_take(struct emu_arena **arena, uint64_t bytes, uint64_t *offset);
/* Makes a hole of an allocation, and drops its reference. */
void emu_arena_give_back(struct emu_arena *a, uint64_t offset, uint64_t bytes);
/* Drops a reference; the arena may be NULL. */
void emu_arena_put(struct emu_arena *a);

#endif
