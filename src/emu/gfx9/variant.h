/* SPDX-License-Identifier: MIT */
/*
 * Code that is compiled once for each kind of processor (GFX9_VARIANT): everything that works on 64
 * lanes. GFX9_V() adds the variant to a name; exec_vector_variants.c chooses one at run time.
 */
#ifndef GP__EMU_GFX9_VARIANT_H
#define GP__EMU_GFX9_VARIANT_H

#include "emu/gfx9/wave.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

#ifdef GFX9_VARIANT
#define GFX9_PASTE2(name, variant) gfx9_##variant##_##name
#define GFX9_PASTE(name, variant) GFX9_PASTE2(name, variant)
#define GFX9_V(name) GFX9_PASTE(name, GFX9_VARIANT)
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Expands a bit for each lane to a dword of 0 or ~0. */
static inline void expand(uint64_t mask, uint32_t *out)
{
#if defined(__AVX512DQ__)
	for (int i = 0; i < 4; i++)
		_mm512_storeu_si512(out + 16 * i, _mm512_movm_epi32((__mmask16)(mask >> 16 * i)));
#else
	static const _Alignas(64) uint32_t bit[32] = {
		1u << 0,  1u << 1,  1u << 2,  1u << 3,	1u << 4,  1u << 5,  1u << 6,  1u << 7,
		1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
		1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
		1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31,
	};
	uint32_t lo = (uint32_t)mask, hi = (uint32_t)(mask >> 32);

	for (int i = 0; i < 32; i++) {
		out[i] = lo & bit[i] ? ~0u : 0;
		out[i + 32] = hi & bit[i] ? ~0u : 0;
	}
#endif
}

/* The reverse. */
static inline uint64_t compress(const uint32_t *m)
{
	uint64_t mask = 0;

#if defined(__AVX512DQ__)
	for (int i = 0; i < 4; i++)
		mask |= (uint64_t)_mm512_movepi32_mask(_mm512_loadu_si512(m + 16 * i)) << 16 * i;
#elif defined(__AVX2__)
	for (int i = 0; i < 8; i++) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(m + 8 * i));

		mask |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(v)) << 8 * i;
	}
#elif defined(__SSE2__)
	for (int i = 0; i < 16; i++) {
		__m128i v = _mm_loadu_si128((const __m128i *)(m + 4 * i));

		mask |= (uint64_t)(uint32_t)_mm_movemask_ps(_mm_castsi128_ps(v)) << 4 * i;
	}
#else
	for (int i = 0; i < GFX9_LANES; i++)
		mask |= (uint64_t)(m[i] & 1) << i;
#endif
	return mask;
}

/* Updates w->lanes from EXEC and returns it. */
static inline const uint32_t *gfx9_lanes(struct gfx9_wave *w)
{
	uint64_t exec = gfx9_exec(w);

	if (w->lanes_of != exec) {
		expand(exec, w->lanes);
		w->lanes_of = exec;
	}
	return w->lanes;
}

#endif
