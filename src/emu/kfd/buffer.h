/* SPDX-License-Identifier: MIT */
/* Buffers and the memory behind them, for memory.c, shared.c, space.c and dmabuf.c. */
#ifndef GP__EMU_KFD_BUFFER_H
#define GP__EMU_KFD_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct emu_call;
struct emu_machine;
struct emu_process;

/* An offset for mmap: the buffer's id + 1 above the offset in it. */
#define EMU_MMAP_SHIFT 40

/*
 * Memory with reference counting; the machine's shared_lock protects it. Exported memory is
 * remembered after its last reference: a program may have a descriptor that keeps its bytes.
 */
struct emu_shared {
	struct emu_shared *next; /* in the list of exported memory, the latest first */
	struct emu_machine *m;
	unsigned int refs; /* 0: only remembered */
	bool exported;
	dev_t dev; /* of the descriptor that was exported */
	ino_t ino;
	int fd; /* -1: a client's, mapped from the start; with an arena, the arena's */
	struct emu_arena *arena; /* NULL: the file has only this memory */
	uint64_t offset; /* of the memory in the file */
	int token_fd; /* represents memory of an arena outside the machine; -1: not exported */
	uint64_t bytes;
	_Atomic(uint8_t *) host; /* NULL: not yet mapped */
	/* Of a client's memory; defer.h has the rest. */
	struct emu_process *process;
	uint64_t user_va;
	bool write;
	_Atomic bool deferred; /* not shared with the machine yet */
	bool wanted; /* on the list of memory to be shared */
	struct emu_shared *next_wanted;
	uint32_t flags, node;
	_Atomic uint64_t *account; /* the counter it is accounted to, or NULL */
	uint64_t counted;
};

struct emu_buffer {
	struct emu_shared *memory;
	uint64_t va, size; /* on the GPU: the memory may appear in it twice */
	uint32_t node, flags, id;
	uint32_t mapped; /* a bit for each GPU */
	bool held; /* it may not be freed */
	bool imported; /* its memory belongs to another process, and is accounted there */
	struct emu_buffer *next; /* in the list of the machine's own */
};

/* Memory without bytes, with one reference; counted against VRAM or GTT. NULL: out of memory. */
struct emu_shared *emu_shared_new(struct emu_machine *m, uint32_t node, uint32_t flags,
				  uint64_t bytes);
/* The bytes: a file of its own, whose descriptor it takes (false if @fd is -errno); new memory for
 * a VRAM or GTT buffer; or the client's memory at @va (0, or -errno), which may be deferred. */
bool emu_shared_use_file(struct emu_shared *s, int fd);
bool emu_shared_use_new(struct emu_process *p, struct emu_shared *s, const char *name);
int emu_shared_use_client(struct emu_call *call, struct emu_shared *s, uint64_t va, bool write);
/* Shares deferred memory; no copies are in progress. 0, or -errno. */
int emu_shared_convert(struct emu_call *call, struct emu_shared *s);
/* The client no longer shares it; -ECONNRESET: the client is gone. */
int emu_shared_end_client(struct emu_call *call, struct emu_shared *s);
/* Drops a reference. The last one frees the memory, except for the record of an export. */
void emu_shared_put(struct emu_shared *s);
/* Frees the records of exported memory when the machine ends. */
void emu_shared_forget(struct emu_machine *m);
/* The host address; NULL: out of memory. */
uint8_t *emu_shared_host(struct emu_shared *s);

/* Gives a new buffer a handle, and finds a buffer by handle; the process's lock is held. */
int emu_buffer_publish(struct emu_process *p, struct emu_buffer *b);
struct emu_buffer *emu_buffer_find(struct emu_process *p, uint64_t handle);

#endif
