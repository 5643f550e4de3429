/* SPDX-License-Identifier: MIT */
/* FNV-1a: tells apart short byte strings. It does not resist chosen collisions. */
#ifndef GP_BASE_HASH_H
#define GP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define GP__HASH_START UINT64_C(0xcbf29ce484222325)

/* Extends a hash by these bytes. */
static inline uint64_t gp__hash(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

#endif
