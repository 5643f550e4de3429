/* SPDX-License-Identifier: MIT */
/*
 * Private memory becomes shared, and the other way round, under a program that goes on using it.
 *
 * Shared memory is one memfd for all of it, in which a page has its own address as its offset. A
 * chunk at a time is copied while a guard holds those who write to it, and replaced in one step;
 * what it holds and how it is protected stays.
 *
 * Where there is no guard to be had (no userfaultfd with write protection; memory that is a private
 * mapping of a file), what another thread writes to a chunk between its copy and its replacement is
 * lost: such chunks are small. On the way back nothing ever is: then it remains a private mapping
 * of the memfd, in which MADV_DONTNEED shows what it held when it was given back, not zero.
 *
 * What else was said about the memory is forgotten: MADV_DONTFORK, huge pages, where to put it.
 *
 * The caller's thread may find its own stack and thread-local memory guarded: whoever calls this
 * runs on another stack, with signals blocked, and writes to no memory but his own.
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
	uint64_t page; /* bytes of one */
	/* Kept from one conversion to the next: the kernel looks at every mapping of the process
	 * when one is closed. The program may close it: guard_ino and guard_dev identify it, and
	 * are 0 where there is none. */
	struct client_guard guard;
	uint64_t guard_ino;
	dev_t guard_dev;
	bool guards; /* it may be used in this conversion */
	int memory, pagemap; /* of this process; -1: may not be read */
	void *rseq; /* of this thread, while it is not registered */
	uint64_t data_from, data_to; /* data of the memfd without a hole; data_to is 0: unknown */
	/* Entries of the pagemap for a chunk, before and while the guard is up. */
	uint64_t before[CLIENT_CHUNK / 4096], present[CLIENT_CHUNK / 4096];
};

/* For the range [start, end) at most. */
void client_convert_begin(struct client_converter *c, uint64_t start, uint64_t end);
void client_convert_end(struct client_converter *c);
/* Closes the guard: a child must not use its parent's. */
void client_convert_release(struct client_converter *c);

/* @anonymous: pages that are not there are zero. @own: it is a private mapping of the memfd, whose
 * pages may be there already. -errno: a part of it may be shared. */
int client_convert_share(struct client_converter *c, uint64_t start, uint64_t end, int prot,
			 bool anonymous, bool own);
void client_convert_private(struct client_converter *c, uint64_t start, uint64_t end, int prot);
/* Copies what the memfd has there to @to, which is zero. */
int client_convert_read(struct client_converter *c, uint64_t start, uint64_t end, uint64_t to);
void client_convert_forget(struct client_converter *c, uint64_t start, uint64_t end);

#endif
