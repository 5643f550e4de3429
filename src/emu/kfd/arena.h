/* SPDX-License-Identifier: MIT */
/*
 * Memory of many buffers in one file: a program with thousands of buffers needs neither a
 * descriptor nor a mapping of the machine's for each.
 *
 * An arena is a sparse memfd that belongs to one process and is mapped once. Space is handed out
 * from its start to its end and never twice: what is freed becomes a hole. The file ends with the
 * process and the last of its buffers.
 *
 * All of it happens under the machine's shared_lock, except for the accesses to the memory.
 */
#ifndef GP__EMU_KFD_ARENA_H
#define GP__EMU_KFD_ARENA_H

#include <stdint.h>

struct emu_arena {
	unsigned int refs; /* of buffers, and of the process it belongs to */
	int fd;
	uint8_t *host;
	uint64_t used;
};

/* More than that has a file of its own. */
#define EMU_ARENA_LARGEST ((uint64_t)256 << 20)

/*
 * Finds room for @bytes in *@arena, or in a new arena that takes its place, and takes a reference
 * for it: *@offset is where. NULL: the host has no room for an arena.
 */
struct emu_arena *emu_arena_take(struct emu_arena **arena, uint64_t bytes, uint64_t *offset);
/* Makes a hole of what was taken, and drops its reference. */
void emu_arena_give_back(struct emu_arena *a, uint64_t offset, uint64_t bytes);
/* Drops a reference; the arena may be NULL. */
void emu_arena_put(struct emu_arena *a);

#endif
