/* SPDX-License-Identifier: MIT */
/*
 * The TLB: host pages of a GPU address space (struct emu_vm), cached. Waves reach host memory only
 * through pages that the address space has returned.
 *
 * A TLB belongs to one host thread. It is emptied when the generation of its address space changes
 * (gfx9_tlb_sync()).
 */
#ifndef GP__EMU_GFX9_VM_H
#define GP__EMU_GFX9_VM_H

#include <string.h>

#include "emu/engine.h"

#define GFX9_TLB_ENTRIES 256

struct gfx9_tlb {
	struct emu_vm *vm;
	uint64_t generation;
	/*
	 * Separate for reading and writing, since a page may be read-only. A tag is the page's
	 * address + 1; 0: empty.
	 */
	struct {
		uint64_t tag;
		uint8_t *host;
	} entry[2][GFX9_TLB_ENTRIES];
};

void gfx9_tlb_init(struct gfx9_tlb *tlb, struct emu_vm *vm);
/* The slow path of gfx9_tlb_at(). */
uint8_t *gfx9_tlb_fill(struct gfx9_tlb *tlb, uint64_t page, bool write);
/* Empties the TLB if memory was unmapped since; called when a wave begins to run. */
void gfx9_tlb_sync(struct gfx9_tlb *tlb);

/* The host address of the byte at @va; valid up to the end of its page. NULL: a fault. */
static inline uint8_t *gfx9_tlb_at(struct gfx9_tlb *tlb, uint64_t va, bool write)
{
	uint64_t page = va & ~(EMU_PAGE - 1);
	size_t i = (va >> EMU_PAGE_SHIFT) % GFX9_TLB_ENTRIES;
	uint8_t *host = tlb->entry[write][i].host;

	if (__builtin_expect(tlb->entry[write][i].tag != page + 1, 0)) {
		host = gfx9_tlb_fill(tlb, page, write);
		if (!host)
			return NULL;
	}
	return host + (va & (EMU_PAGE - 1));
}

/*
 * Across pages, with the guarantees of single_copy.h; false: a fault at *@bad, and a write has
 * written the bytes before it.
 */
bool gfx9_tlb_read(struct gfx9_tlb *tlb, uint64_t va, void *buf, size_t len, uint64_t *bad);
bool gfx9_tlb_write(struct gfx9_tlb *tlb, uint64_t va, const void *buf, size_t len, uint64_t *bad);

#endif
