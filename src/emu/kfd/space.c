// SPDX-License-Identifier: MIT
/*
 * The address space of a process on one GPU: buffers by address, and access to guest memory for
 * waves, packet processors and DMA. The space's lock protects it; waves look up pages at any time.
 */
#include "emu/kfd/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/kfd/buffer.h"
#include "emu/kfd/guest.h"
#include "emu/kfd/process.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

/* Strips the sign extension of a 48-bit address. False: neither zero- nor sign-extended. */
static bool strip(uint64_t *va)
{
	uint64_t high = *va >> EMU_ADDRESS_BITS;

	if (high && (high != 0xffff || !(*va >> (EMU_ADDRESS_BITS - 1) & 1)))
		return false;
	*va &= EMU_ADDRESS_MASK;
	return true;
}

/* The first range that ends behind @va, or their number. */
static uint32_t locate(const struct emu_space *s, uint64_t va)
{
	uint32_t low = 0, high = s->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->range[middle].end > va)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/*
 * Finds the memory at @va, and how many bytes are contiguous from there; NULL: not mapped. The
 * space's lock is held.
 */
static struct emu_shared *find(struct emu_space *s, uint64_t va, bool write, uint64_t *offset,
			       uint64_t *len)
{
	const struct emu_buffer *b;
	uint64_t left;
	uint32_t i;

	if (!strip(&va))
		return NULL;
	i = locate(s, va);
	if (i == s->nr || s->range[i].start > va)
		return NULL;
	b = s->range[i].buffer;
	if (write && !(b->flags & GP_KFD_MEM_WRITABLE))
		return NULL;
	*offset = (va - b->va) % b->memory->bytes;
	left = b->memory->bytes - *offset;
	if (left > s->range[i].end - va)
		left = s->range[i].end - va;
	if (*len > left)
		*len = left;
	return b->memory;
}

/* The same, on the host. */
static uint8_t *look_up(struct emu_space *s, uint64_t va, bool write, uint64_t *len)
{
	uint64_t offset;
	struct emu_shared *memory = find(s, va, write, &offset, len);
	uint8_t *host = memory ? emu_shared_host(memory) : NULL;

	return host ? host + offset : NULL;
}

/* For waves; any thread. */
void *emu_space_page(void *ctx, uint64_t va, bool write)
{
	struct emu_space *s = ctx;
	uint64_t len = EMU_PAGE;
	void *host;

	pthread_rwlock_rdlock(&s->lock);
	host = look_up(s, va, write, &len);
	pthread_rwlock_unlock(&s->lock);
	return len == EMU_PAGE ? host : NULL;
}

void *emu_memory_at(struct emu_process *p, uint32_t node, uint64_t va, bool write, size_t *len)
{
	struct emu_space *s = &p->memory.space[node];
	uint64_t n = *len;
	void *host;

	pthread_rwlock_rdlock(&s->lock);
	host = look_up(s, va, write, &n);
	pthread_rwlock_unlock(&s->lock);
	*len = host ? n : 0;
	return host;
}

bool emu_memory_deferred(struct emu_process *p, uint32_t node, uint64_t va, bool write, size_t *len,
			 uint64_t *user)
{
	struct emu_space *s = &p->memory.space[node];
	uint64_t n = *len, offset;
	const struct emu_shared *memory;
	bool deferred;

	pthread_rwlock_rdlock(&s->lock);
	memory = find(s, va, write, &offset, &n);
	deferred = memory && atomic_load(&memory->deferred);
	if (deferred) {
		*user = memory->user_va + offset;
		*len = n;
	}
	pthread_rwlock_unlock(&s->lock);
	return deferred;
}

/* Copies with the space's lock, so that nothing is unmapped meanwhile. */
static bool copy(struct emu_process *p, uint32_t node, uint64_t va, uint8_t *to,
		 const uint8_t *from, size_t len, uint64_t *bad)
{
	struct emu_space *s = &p->memory.space[node];
	bool good = true;

	pthread_rwlock_rdlock(&s->lock);
	for (size_t done = 0; done < len && good;) {
		uint64_t n = len - done;
		uint8_t *host = look_up(s, va + done, from != NULL, &n);

		good = host != NULL;
		if (!good)
			*bad = va + done;
		else if (from)
			emu_guest_copy(host, from + done, n);
		else
			emu_guest_copy(to + done, host, n);
		done += n;
	}
	pthread_rwlock_unlock(&s->lock);
	return good;
}

bool emu_memory_read(struct emu_process *p, uint32_t node, uint64_t va, void *to, size_t len,
		     uint64_t *bad)
{
	return copy(p, node, va, to, NULL, len, bad);
}

bool emu_memory_write(struct emu_process *p, uint32_t node, uint64_t va, const void *from,
		      size_t len, uint64_t *bad)
{
	return copy(p, node, va, NULL, from, len, bad);
}

/* -EINVAL: the range is in use, or not valid. */
int emu_space_insert(struct emu_space *s, struct emu_buffer *b)
{
	uint64_t start = b->va, end = b->va + b->size;
	int err = 0;
	uint32_t i;

	if (start & (EMU_PAGE - 1) || end <= start || end > EMU_ADDRESS_MASK)
		return -EINVAL;
	pthread_rwlock_wrlock(&s->lock);
	i = locate(s, start);
	if (i < s->nr && s->range[i].start < end) {
		err = -EINVAL;
	} else if (s->nr == s->room) {
		uint32_t room = s->room ? 2 * s->room : 64;
		struct emu_range *more = realloc(s->range, room * sizeof(*more));

		if (more) {
			s->range = more;
			s->room = room;
		} else {
			err = -ENOMEM;
		}
	}
	if (!err) {
		memmove(&s->range[i + 1], &s->range[i], (s->nr - i) * sizeof(*s->range));
		s->range[i] = (struct emu_range){ start, end, b };
		s->nr++;
	}
	pthread_rwlock_unlock(&s->lock);
	return err;
}

void emu_space_remove(struct emu_space *s, const struct emu_buffer *b)
{
	uint32_t i;

	pthread_rwlock_wrlock(&s->lock);
	i = locate(s, b->va);
	if (i < s->nr && s->range[i].buffer == b) {
		s->nr--;
		memmove(&s->range[i], &s->range[i + 1], (s->nr - i) * sizeof(*s->range));
	}
	pthread_rwlock_unlock(&s->lock);
}
