/* SPDX-License-Identifier: MIT */
/*
 * Litmus tests of the memory model: two roles run without pause and count forbidden results.
 *
 * They are perpetual: a role does its part @n times and meets the other only now and then, so that
 * both race whenever the host runs both. Values grow with each turn, so that they show the order of
 * turns. Every lane is a separate test, at @at[lane]: the positions of lanes decide how the
 * emulated GPU accesses memory. Lanes whose position is OFF do not take part.
 *
 * Two roles are two workgroups (device and system scope), or two waves of one (workgroup scope).
 */
#include "common.h"

typedef uchar u8;
typedef ushort u16;
typedef uint4 u128;

#define OFF 0xffffffffu
#define WAVE 64

struct litmus {
	__global u32 *at; /* of each lane, in elements */
	__global char *data; /* @row elements for each turn */
	__global u32 *flag, *other; /* at at[lane] */
	__global u32 *log[2]; /* n + 1 rows of 64 */
	__global u32 *bad;
	__global u32 *meet; /* the first turn behind the stretch that each role has come to */
	u32 n, row;
};
#define STRETCH 512 /* turns between two meetings */

#define LANE() (local_id() % WAVE)

static inline void wrong(__global u32 *bad)
{
	__scoped_atomic_fetch_add(bad, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

#define LOAD(p, order, scope) __scoped_atomic_load_n(p, order, __MEMORY_SCOPE_##scope)
#define STORE(p, v, order, scope) __scoped_atomic_store_n(p, v, order, __MEMORY_SCOPE_##scope)

/* Waits until the other role has come as far; returns the end of the next stretch. */
static inline u32 meet(struct litmus *t, u32 role, u32 done)
{
	u32 end = done + STRETCH < t->n ? done + STRETCH : t->n;

	STORE(&t->meet[role], end, __ATOMIC_RELAXED, SYSTEM);
	while (LOAD(&t->meet[!role], __ATOMIC_RELAXED, SYSTEM) < end)
		;
	return end;
}

#define GROUPS group_id()
#define WAVES (local_id() / WAVE)

/* A value that depends on the turn in each of its bytes. */
#define PATTERN(word, i) ((word)((i)*0x9e3779b97f4a7c15ul >> 8) | 1)

/* Message passing: data written before a release is visible after the acquire that sees it. */
#define MESSAGE(name, word, scope, roles)                                                     \
	__kernel void name(struct litmus t)                                                   \
	{                                                                                     \
		u32 lane = LANE(), at = t.at[lane], role = roles, i = 0, seen = 0, end;       \
		__global word *data = (__global word *)t.data + at;                           \
                                                                                              \
		if (at == OFF)                                                                \
			return;                                                               \
		do {                                                                          \
			end = meet(&t, role, role ? seen : i);                                \
			while (!role && i < end) {                                            \
				i++;                                                          \
				data[(ulong)i * t.row] = PATTERN(word, i);                    \
				STORE(&t.flag[at], i, __ATOMIC_RELEASE, scope);               \
			}                                                                     \
			while (role && seen < end) {                                          \
				seen = LOAD(&t.flag[at], __ATOMIC_ACQUIRE, scope);            \
				if (seen && data[(ulong)seen * t.row] != PATTERN(word, seen)) \
					wrong(t.bad);                                         \
			}                                                                     \
		} while (end < t.n);                                                          \
	}

MESSAGE(message_1, u8, DEVICE, GROUPS)
MESSAGE(message_2, u16, DEVICE, GROUPS)
MESSAGE(message_4, u32, DEVICE, GROUPS)
MESSAGE(message_8, u64, DEVICE, GROUPS)
MESSAGE(message_system, u64, SYSTEM, GROUPS)
MESSAGE(message_waves, u64, WRKGRP, WAVES)

/* Each turn of a role does two accesses and records its result in @log; the host judges. */
#define TURNS(name, roles, first, second)                                     \
	__kernel void name(struct litmus t)                                   \
	{                                                                     \
		u32 lane = LANE(), at = t.at[lane], role = roles, i = 0, end; \
		__global u32 *mine, *others, *log = t.log[role];              \
                                                                              \
		if (at == OFF)                                                \
			return;                                               \
		mine = (role ? t.flag : t.other) + at;                        \
		others = (role ? t.other : t.flag) + at;                      \
		do {                                                          \
			end = meet(&t, role, i);                              \
			while (i++ < end) {                                   \
				first;                                        \
				second;                                       \
			}                                                     \
			i = end;                                              \
		} while (end < t.n);                                          \
	}

#define WRITE(order, scope) STORE(mine, i, order, scope)
#define SEE(order, scope) log[i * WAVE + lane] = LOAD(others, order, scope)

/*
 * Store buffering: each role writes its own location, then reads the other's. One of two
 * overlapping turns must see the other's write.
 */
#define BUFFERING(name, scope, roles) \
	TURNS(name, roles, WRITE(__ATOMIC_SEQ_CST, scope), SEE(__ATOMIC_SEQ_CST, scope))

BUFFERING(buffering, DEVICE, GROUPS)
BUFFERING(buffering_system, SYSTEM, GROUPS)
BUFFERING(buffering_waves, WRKGRP, WAVES)

/* Load buffering: each role reads the other's location, then writes its own. */
#define LOAD_BUFFERING(name, scope, roles) \
	TURNS(name, roles, SEE(__ATOMIC_ACQUIRE, scope), WRITE(__ATOMIC_RELEASE, scope))

LOAD_BUFFERING(load_buffering, DEVICE, GROUPS)
LOAD_BUFFERING(load_buffering_waves, WRKGRP, WAVES)

/*
 * Coherence of one location, and single accesses: a reader sees no value whose parts are from
 * different turns, nor an older one after a newer one.
 */
#define COHERENCE(name, word, as_number, of_number, pointer)                         \
	__kernel void name(struct litmus t)                                          \
	{                                                                            \
		u32 lane = LANE(), at = t.at[lane], role = group_id(), i = 0, end;   \
		volatile pointer word *place = (volatile pointer word *)t.data + at; \
                                                                                     \
		if (at == OFF)                                                       \
			return;                                                      \
		do {                                                                 \
			end = meet(&t, role, i);                                     \
			while (!role && i < end) {                                   \
				i++;                                                 \
				*place = of_number(i);                               \
			}                                                            \
			while (role && i < end) {                                    \
				word value = *place;                                 \
				u32 seen = as_number(value);                         \
                                                                                     \
				if (seen < i || any_differs(value, of_number(seen))) \
					wrong(t.bad);                                \
				i = seen;                                            \
			}                                                            \
		} while (end < t.n);                                                 \
	}

static inline bool __attribute__((overloadable)) any_differs(u32 a, u32 b)
{
	return a != b;
}

static inline bool __attribute__((overloadable)) any_differs(u64 a, u64 b)
{
	return a != b;
}

static inline bool __attribute__((overloadable)) any_differs(u128 a, u128 b)
{
	return a.x != b.x || a.y != b.y || a.z != b.z || a.w != b.w;
}

#define SAME(v) (v)
#define LOW(v) ((u32)(v))
#define TWICE(i) ((u64)(i) << 32 | (i))
#define FIRST(v) ((v).x)
#define FOUR_TIMES(i) ((u128)(i))

COHERENCE(coherence_4, u32, SAME, SAME, __global)
COHERENCE(coherence_8, u64, LOW, TWICE, __global)
COHERENCE(coherence_16, u128, FIRST, FOUR_TIMES, __global)
COHERENCE(coherence_16_flat, u128, FIRST, FOUR_TIMES, __generic)

/* The same through a buffer that ends before the last lane's position. All lanes stay active. */
__kernel void coherence_16_buffer(struct litmus t)
{
	u32 lane = LANE(), at = t.at[lane], role = group_id(), i = 0, last = 0, end;
	__amdgpu_buffer_rsrc_t b =
		__builtin_amdgcn_make_buffer_rsrc(t.data, 0, 16 * (WAVE - 1), 0x27000);

	do {
		end = meet(&t, role, i);
		while (!role && i < end) {
			i++;
			__builtin_amdgcn_raw_buffer_store_b128((u128)(i), b, 16 * at, 0, 1);
		}
		while (role && i < end) {
			u128 value = __builtin_amdgcn_raw_buffer_load_b128(b, 16 * at, 0, 1);

			if (value.x < last || any_differs(value, (u128)(value.x)) ||
			    (lane == WAVE - 1 && value.x))
				wrong(t.bad);
			last = value.x;
			i = __builtin_amdgcn_readfirstlane(last);
		}
	} while (end < t.n);
}
