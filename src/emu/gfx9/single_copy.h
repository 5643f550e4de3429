/* SPDX-License-Identifier: MIT */
/*
 * Accesses to memory that waves on other host threads, other processes and the host's own threads
 * use at the same time.
 *
 * Each function is a single access of the processor: a naturally aligned value is read or written
 * as a whole (single-copy atomicity), up to 16 bytes, as on the GPU. A plain memcpy() promises
 * neither: the compiler may split it, and libraries copy some bytes twice. Volatile keeps the
 * compiler from both. Values that are not aligned may be torn, as on the GPU.
 *
 * 16 bytes are one access on every x86-64 processor with AVX, and in practice on those without; on
 * arm64 from version 8.4 on (LSE2), before that they are two of 8 bytes.
 *
 * They do not order accesses: s_waitcnt and the cache instructions are the fences.
 */
#ifndef GP__EMU_GFX9_SINGLE_COPY_H
#define GP__EMU_GFX9_SINGLE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint16_t gfx9_any16 __attribute__((aligned(1), may_alias));
typedef uint32_t gfx9_any32 __attribute__((aligned(1), may_alias));
typedef uint64_t gfx9_any64 __attribute__((aligned(1), may_alias));
/* Vectors of dwords, anywhere in memory */
typedef uint32_t gfx9_quad __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint32_t gfx9_octet __attribute__((vector_size(32), aligned(1), may_alias));

static inline uint16_t gfx9_peek16(const void *p)
{
	return *(const volatile gfx9_any16 *)p;
}

static inline uint32_t gfx9_peek32(const void *p)
{
	return *(const volatile gfx9_any32 *)p;
}

static inline void gfx9_poke16(void *p, uint16_t v)
{
	*(volatile gfx9_any16 *)p = v;
}

static inline void gfx9_poke32(void *p, uint32_t v)
{
	*(volatile gfx9_any32 *)p = v;
}

#ifdef __aarch64__
/*
 * If an access of 8 or 16 bytes is not aligned, arm64 does not even guarantee single accesses to
 * its aligned dwords.
 */
static inline uint64_t gfx9_peek64(const void *p)
{
	if ((uintptr_t)p % 8 == 0)
		return *(const volatile gfx9_any64 *)p;
	return gfx9_peek32(p) | (uint64_t)gfx9_peek32((const char *)p + 4) << 32;
}

static inline void gfx9_poke64(void *p, uint64_t v)
{
	if ((uintptr_t)p % 8 == 0) {
		*(volatile gfx9_any64 *)p = v;
		return;
	}
	gfx9_poke32(p, (uint32_t)v);
	gfx9_poke32((char *)p + 4, (uint32_t)(v >> 32));
}

/* LSE2 makes a pair of registers one access, but not a vector register. */
static inline gfx9_quad gfx9_peek128(const void *p)
{
	uint64_t half[2];
	gfx9_quad v;

	if ((uintptr_t)p % 16 == 0) {
		__asm__ volatile("ldp %0, %1, [%2]"
				 : "=r"(half[0]), "=r"(half[1])
				 : "r"(p)
				 : "memory");
	} else {
		half[0] = gfx9_peek64(p);
		half[1] = gfx9_peek64((const char *)p + 8);
	}
	memcpy(&v, half, sizeof(v));
	return v;
}

static inline void gfx9_poke128(void *p, gfx9_quad v)
{
	uint64_t half[2];

	memcpy(half, &v, sizeof(half));
	if ((uintptr_t)p % 16 == 0) {
		__asm__ volatile("stp %0, %1, [%2]" ::"r"(half[0]), "r"(half[1]), "r"(p)
				 : "memory");
	} else {
		gfx9_poke64(p, half[0]);
		gfx9_poke64((char *)p + 8, half[1]);
	}
}
#else
static inline uint64_t gfx9_peek64(const void *p)
{
	return *(const volatile gfx9_any64 *)p;
}

static inline void gfx9_poke64(void *p, uint64_t v)
{
	*(volatile gfx9_any64 *)p = v;
}

static inline gfx9_quad gfx9_peek128(const void *p)
{
	return *(const volatile gfx9_quad *)p;
}

static inline void gfx9_poke128(void *p, gfx9_quad v)
{
	*(volatile gfx9_quad *)p = v;
}
#endif

/* Eight dwords, each in one access. */
static inline void gfx9_peek_octet(uint32_t *to, const void *from)
{
	*(gfx9_octet *)to = *(const volatile gfx9_octet *)from;
}

static inline void gfx9_poke_octet(void *to, const uint32_t *from)
{
	*(volatile gfx9_octet *)to = *(const gfx9_octet *)from;
}

/*
 * Copies @n bytes from @from, or to @to, in shared memory: in as few accesses as possible, the
 * largest first, no byte twice. Pieces that begin aligned are not torn.
 */
static inline void gfx9_peek_bytes(void *restrict to, const void *restrict from, size_t n)
{
	const char *in = from;
	char *out = to;

	for (; n >= 16; n -= 16, in += 16, out += 16) {
		gfx9_quad v = gfx9_peek128(in);

		memcpy(out, &v, sizeof(v));
	}
	if (n >= 8) {
		uint64_t v = gfx9_peek64(in);

		memcpy(out, &v, sizeof(v));
		n -= 8, in += 8, out += 8;
	}
	if (n >= 4) {
		uint32_t v = gfx9_peek32(in);

		memcpy(out, &v, sizeof(v));
		n -= 4, in += 4, out += 4;
	}
	if (n >= 2) {
		uint16_t v = gfx9_peek16(in);

		memcpy(out, &v, sizeof(v));
		n -= 2, in += 2, out += 2;
	}
	if (n)
		*out = *(const volatile char *)in;
}

static inline void gfx9_poke_bytes(void *restrict to, const void *restrict from, size_t n)
{
	const char *in = from;
	char *out = to;

	for (; n >= 16; n -= 16, in += 16, out += 16)
		gfx9_poke128(out, *(const gfx9_quad *)(const void *)in);
	if (n >= 8) {
		gfx9_poke64(out, *(const gfx9_any64 *)(const void *)in);
		n -= 8, in += 8, out += 8;
	}
	if (n >= 4) {
		gfx9_poke32(out, *(const gfx9_any32 *)(const void *)in);
		n -= 4, in += 4, out += 4;
	}
	if (n >= 2) {
		gfx9_poke16(out, *(const gfx9_any16 *)(const void *)in);
		n -= 2, in += 2, out += 2;
	}
	if (n)
		*(volatile char *)out = *in;
}

#endif
