// SPDX-License-Identifier: MIT
#include "join/hsa/places.h"

#include <stddef.h>

static struct gp__placed left;

static uint32_t first_place(const void *address)
{
	uint64_t hash = (uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(hash >> 32) % GP__PLACES;
}

struct gp__placed *gp__places_find(struct gp__places *p, const void *address)
{
	for (uint32_t n = 0, i = first_place(address); n < GP__PLACES;
	     n++, i = (i + 1) % GP__PLACES) {
		struct gp__placed *what = atomic_load_explicit(&p->place[i], memory_order_acquire);

		if (!what)
			return NULL;
		if (what != &left && what->address == address)
			return what;
	}
	return NULL;
}

bool gp__places_put(struct gp__places *p, struct gp__placed *what)
{
	uint32_t i = first_place(what->address);

	if (p->nr == GP__PLACES / 2)
		return false;
	while (atomic_load(&p->place[i]) && atomic_load(&p->place[i]) != &left)
		i = (i + 1) % GP__PLACES;
	atomic_store_explicit(&p->place[i], what, memory_order_release);
	p->nr++;
	return true;
}

/* Where nobody comes behind it, nobody has to look any further. */
static void leave(struct gp__places *p, uint32_t i)
{
	bool is_last = !atomic_load(&p->place[(i + 1) % GP__PLACES]);

	atomic_store(&p->place[i], &left);
	while (is_last && atomic_load(&p->place[i]) == &left) {
		atomic_store(&p->place[i], NULL);
		i = (i + GP__PLACES - 1) % GP__PLACES;
	}
}

struct gp__placed *gp__places_take(struct gp__places *p, const void *address)
{
	for (uint32_t n = 0, i = first_place(address); n < GP__PLACES;
	     n++, i = (i + 1) % GP__PLACES) {
		struct gp__placed *what = atomic_load(&p->place[i]);

		if (!what)
			return NULL;
		if (what == &left || what->address != address)
			continue;
		leave(p, i);
		p->nr--;
		return what;
	}
	return NULL;
}
