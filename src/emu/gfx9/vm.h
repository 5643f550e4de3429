/* SPDX-License-Identifier: MIT */
/*
 * A GPU address space as waves see it: a callback that finds the host page of an address, and a
 * small cache in front of it. Nothing a guest does reaches host memory other than through a page
 * the callback gave out.
 *
 * A cache belongs to one host thread; whoever unmaps memory bumps the generation first, and every
 * cache forgets.
 */
#ifndef GP__EMU_GFX9_VM_H
#define GP__EMU_GFX9_VM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GFX9_PAGE_SHIFT 12
#define GFX9_PAGE ((uint64_t)1 << GFX9_PAGE_SHIFT)
#define GFX9_TLB_ENTRIES 256

struct gfx9_vm {
	/* Host address of the 4 KiB page that begins at @va, or NULL where there is none or it may
	 * not be written. */
	void *(*page)(void *ctx, uint64_t va, bool write);
	void *ctx;
	_Atomic uint64_t generation;
};

struct gfx9_tlb {
	struct gfx9_vm *vm;
	uint64_t generation;
	/* Reading and writing apart, since a page may be readable only. A tag is the page's address
	 * + 1; 0: empty. */
	struct {
		uint64_t tag;
		uint8_t *host;
	} entry[2][GFX9_TLB_ENTRIES];
};

void gfx9_tlb_init(struct gfx9_tlb *tlb, struct gfx9_vm *vm);
/* The slow path of gfx9_tlb_at(). */
uint8_t *gfx9_tlb_fill(struct gfx9_tlb *tlb, uint64_t page, bool write);
/* Forgets everything if memory was unmapped since; to be called where a wave begins to run. */
void gfx9_tlb_sync(struct gfx9_tlb *tlb);

/* Where the byte at @va is; valid up to the end of its page. NULL: a fault. */
static inline uint8_t *gfx9_tlb_at(struct gfx9_tlb *tlb, uint64_t va, bool write)
{
	uint64_t page = va & ~(GFX9_PAGE - 1);
	size_t i = (va >> GFX9_PAGE_SHIFT) % GFX9_TLB_ENTRIES;
	uint8_t *host = tlb->entry[write][i].host;

	if (__builtin_expect(tlb->entry[write][i].tag != page + 1, 0)) {
		host = gfx9_tlb_fill(tlb, page, write);
		if (!host)
			return NULL;
	}
	return host + (va & (GFX9_PAGE - 1));
}

/* Across pages, as single_copy.h has it; false: a fault at *@bad, and of a write the bytes before
 * it are written. */
bool gfx9_tlb_read(struct gfx9_tlb *tlb, uint64_t va, void *buf, size_t len, uint64_t *bad);
bool gfx9_tlb_write(struct gfx9_tlb *tlb, uint64_t va, const void *buf, size_t len, uint64_t *bad);

#endif
