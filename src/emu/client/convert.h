/* SPDX-License-Identifier: MIT */
/*
 * Converts private memory to shared memory and back while the program uses it.
 *
 * Shared memory is a single memfd, in which the offset of a page is its address. Memory is copied
 * in chunks, while a guard blocks writers, and each chunk is replaced in one step; content and
 * protection stay the same.
 *
 * Without a guard (no userfaultfd with write protection; or memory that is a private mapping of a
 * file), writes of other threads between the copy of a chunk and its replacement are lost: such
 * chunks are small. On the way back none are lost: the memory stays a private mapping of the memfd,
 * in which MADV_DONTNEED restores the content at the time of the conversion, not zeros.
 *
 * Other properties of the memory are lost: MADV_DONTFORK, huge pages, NUMA policy.
 *
 * The guard may cover the stack and thread-local memory of the calling thread: the caller runs on
 * another stack, with signals blocked, and writes only to its own memory.
 */
#ifndef GP__EMU_CLIENT_CONVERT_H
#define GP__EMU_CLIENT_CONVERT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "emu/client/guard.h"

#define CLIENT_CHUNK (1u << 20)
#define CLIENT_CHUNK_UNGUARDED (1u << 16)

struct client_converter {
	int backing; /* the memfd */
	uint64_t page; /* size in bytes */
	/*
	 * Kept between conversions: the kernel walks every mapping of the process when one is
	 * closed. The program may close it: guard_ino and guard_dev identify it, and are 0 where
	 * there is none.
	 */
	struct client_guard guard;
	uint64_t guard_ino;
	dev_t guard_dev;
	bool guards; /* usable in this conversion */
	int memory, pagemap; /* of this process; -1: not readable */
	void *rseq; /* of this thread, while it is not registered */
	uint64_t data_from, data_to; /* data of the memfd without a hole; data_to is 0: unknown */
	/* Entries of the pagemap for a chunk, before and while the guard is active. */
	uint64_t before[CLIENT_CHUNK / 4096], present[CLIENT_CHUNK / 4096];
};

/* For the range [start, end) at most. */
void client_convert_begin(struct client_converter *c, uint64_t start, uint64_t end);
void client_convert_end(struct client_converter *c);
/* Closes the guard: a child must not use its parent's. */
void client_convert_release(struct client_converter *c);

/*
 * @anonymous: absent pages are zero. @own: it is a private mapping of the memfd, whose pages may
 * exist already. -errno: a part of it may be shared.
 */
int client_convert_share(struct client_converter *c, uint64_t start, uint64_t end, int prot,
			 bool anonymous, bool own);
void client_convert_private(struct client_converter *c, uint64_t start, uint64_t end, int prot);
/* Copies the content of the memfd to @to, which is zero. */
int client_convert_read(struct client_converter *c, uint64_t start, uint64_t end, uint64_t to);
void client_convert_forget(struct client_converter *c, uint64_t start, uint64_t end);

#endif
