/* SPDX-License-Identifier: MIT */
/* Of buffers, between memory.c, arena.c and dmabuf.c. */
#ifndef GP__EMU_KFD_BUFFER_H
#define GP__EMU_KFD_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct emu_machine;
struct emu_process;

/* An offset for mmap: the buffer's id + 1 above the offset in it. */
#define EMU_MMAP_SHIFT 40

/*
 * Memory, with as many users as refs says; under the machine's shared_lock. Memory that was
 * exported is remembered after its last user: a program may have a descriptor that keeps its bytes.
 */
struct emu_shared {
	struct emu_shared *next; /* of those exported, the latest first */
	struct emu_machine *m;
	unsigned int refs; /* 0: it is only remembered */
	bool exported;
	dev_t dev; /* of the descriptor that was exported */
	ino_t ino;
	int fd; /* -1: a client's, mapped from the start. The arena's, if there is one */
	struct emu_arena *arena; /* NULL: the descriptor is of this memory only */
	uint64_t offset; /* of the memory in the file */
	int token_fd; /* stands for memory of an arena outside the machine; -1: not exported */
	uint64_t bytes;
	_Atomic(uint8_t *) host; /* NULL: not yet mapped */
	uint32_t flags, node;
	_Atomic uint64_t *account; /* what it was counted under, or NULL */
	uint64_t counted;
};

struct emu_buffer {
	struct emu_shared *memory;
	uint64_t va, size; /* as GPUs see it: memory may be in it twice */
	uint64_t user_va; /* of a userptr */
	uint32_t node, flags, id;
	uint32_t mapped; /* a bit for each GPU */
	bool held; /* it may not be freed */
	bool imported; /* its memory is another's, and counted there */
	struct emu_buffer *next; /* of the machine's own */
};

/* Drops a reference; gone with the last, but for what is remembered of an export. */
void emu_shared_put(struct emu_shared *s);
/* Forgets exported memory when the machine ends. */
void emu_shared_forget(struct emu_machine *m);
/* Where it is here; NULL: out of memory. */
uint8_t *emu_shared_host(struct emu_shared *s);

/* A handle for a new buffer, and the buffer of one; the process's lock is held. */
int emu_buffer_publish(struct emu_process *p, struct emu_buffer *b);
struct emu_buffer *emu_buffer_find(struct emu_process *p, uint64_t handle);

#endif
