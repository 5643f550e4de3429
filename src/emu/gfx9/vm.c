// SPDX-License-Identifier: MIT
#include "emu/gfx9/vm.h"

#include "emu/gfx9/single_copy.h"

void gfx9_tlb_init(struct gfx9_tlb *tlb, struct emu_vm *vm)
{
	memset(tlb, 0, sizeof(*tlb));
	tlb->vm = vm;
	tlb->generation = atomic_load_explicit(&vm->generation, memory_order_acquire);
}

void gfx9_tlb_sync(struct gfx9_tlb *tlb)
{
	uint64_t generation = atomic_load_explicit(&tlb->vm->generation, memory_order_acquire);

	if (generation == tlb->generation)
		return;
	memset(tlb->entry, 0, sizeof(tlb->entry));
	tlb->generation = generation;
}

uint8_t *gfx9_tlb_fill(struct gfx9_tlb *tlb, uint64_t page, bool write)
{
	size_t i = (page >> EMU_PAGE_SHIFT) % GFX9_TLB_ENTRIES;
	uint8_t *host = tlb->vm->page(tlb->vm->ctx, page, write);

	if (!host)
		return NULL;
	tlb->entry[write][i].tag = page + 1;
	tlb->entry[write][i].host = host;
	return host;
}

static size_t within_page(uint64_t va, size_t len)
{
	size_t room = (size_t)(EMU_PAGE - (va & (EMU_PAGE - 1)));

	return len < room ? len : room;
}

bool gfx9_tlb_read(struct gfx9_tlb *tlb, uint64_t va, void *buf, size_t len, uint64_t *bad)
{
	uint8_t *to = buf;

	while (len) {
		size_t n = within_page(va, len);
		const uint8_t *host = gfx9_tlb_at(tlb, va, false);

		if (!host) {
			*bad = va;
			return false;
		}
		gfx9_peek_bytes(to, host, n);
		to += n;
		va += n;
		len -= n;
	}
	return true;
}

bool gfx9_tlb_write(struct gfx9_tlb *tlb, uint64_t va, const void *buf, size_t len, uint64_t *bad)
{
	const uint8_t *from = buf;

	while (len) {
		size_t n = within_page(va, len);
		uint8_t *host = gfx9_tlb_at(tlb, va, true);

		if (!host) {
			*bad = va;
			return false;
		}
		gfx9_poke_bytes(host, from, n);
		from += n;
		va += n;
		len -= n;
	}
	return true;
}
