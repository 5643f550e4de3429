// SPDX-License-Identifier: MIT
#include "emu/kfd/arena.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "emu/kfd/memfd.h"

#define ARENA_BYTES ((uint64_t)64 << 30)

static struct emu_arena *new_arena(void)
{
	struct emu_arena *a;
	struct rlimit limit;
	void *host;

	/* Beyond the file size limit, the kernel sends SIGXFSZ. */
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < ARENA_BYTES)
		return NULL;
	a = malloc(sizeof(*a));
	if (!a)
		return NULL;
	*a = (struct emu_arena){ .refs = 1, .fd = emu_memfd("arena", ARENA_BYTES) };
	if (a->fd < 0)
		goto free_it;
	host = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, a->fd,
		    0);
	if (host == MAP_FAILED)
		goto close_it;
	madvise(host, ARENA_BYTES, MADV_DONTDUMP);
	a->host = host;
	return a;

close_it:
	close(a->fd);
free_it:
	free(a);
	return NULL;
}

void emu_arena_put(struct emu_arena *a)
{
	if (!a || --a->refs)
		return;
	munmap(a->host, ARENA_BYTES);
	close(a->fd);
	free(a);
}

struct emu_arena *emu_arena_take(struct emu_arena **arena, uint64_t bytes, uint64_t *offset)
{
	struct emu_arena *a = *arena;

	if (bytes > EMU_ARENA_LARGEST)
		return NULL;
	if (!a || bytes > ARENA_BYTES - a->used) {
		a = new_arena();
		if (!a)
			return NULL;
		emu_arena_put(*arena);
		*arena = a;
	}
	*offset = a->used;
	a->used += bytes;
	a->refs++;
	return a;
}

void emu_arena_give_back(struct emu_arena *a, uint64_t offset, uint64_t bytes)
{
	/* If this fails, the memory stays in use until the arena is freed. */
	(void)!fallocate(a->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
			 (off_t)bytes);
	emu_arena_put(a);
}
