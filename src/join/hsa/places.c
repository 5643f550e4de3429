// SPDX-License-Identifier: MIT
#include "join/hsa/places.h"

#include <stddef.h>

/* Of a place that was left. */
static const char left;

static uint32_t first_place(const void *address)
{
	uint64_t hash = (uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(hash >> 32) % GP__PLACES;
}

/* GP__PLACES: it is not there. */
static uint32_t place_of(struct gp__places *p, const void *address)
{
	for (uint32_t n = 0, i = first_place(address); n < GP__PLACES;
	     n++, i = (i + 1) % GP__PLACES) {
		const void *is = atomic_load_explicit(&p->address[i], memory_order_acquire);

		if (is == address)
			return i;
		if (!is)
			break;
	}
	return GP__PLACES;
}

struct gp__placed *gp__places_find(struct gp__places *p, const void *address)
{
	uint32_t i = address ? place_of(p, address) : GP__PLACES;

	return i < GP__PLACES ? p->what[i] : NULL;
}

bool gp__places_put(struct gp__places *p, struct gp__placed *what)
{
	uint32_t i = first_place(what->address);

	if (p->nr == GP__PLACES / 2)
		return false;
	while (atomic_load(&p->address[i]) && atomic_load(&p->address[i]) != &left)
		i = (i + 1) % GP__PLACES;
	p->what[i] = what;
	atomic_store_explicit(&p->address[i], what->address, memory_order_release);
	p->nr++;
	return true;
}

/* Where nobody comes behind it, nobody has to look any further. */
static void leave(struct gp__places *p, uint32_t i)
{
	bool is_last = !atomic_load(&p->address[(i + 1) % GP__PLACES]);

	atomic_store(&p->address[i], &left);
	while (is_last && atomic_load(&p->address[i]) == &left) {
		atomic_store(&p->address[i], NULL);
		i = (i + GP__PLACES - 1) % GP__PLACES;
	}
}

struct gp__placed *gp__places_take(struct gp__places *p, const void *address)
{
	struct gp__placed *what = gp__places_find(p, address);

	if (!what)
		return NULL;
	leave(p, place_of(p, address));
	p->nr--;
	return what;
}
