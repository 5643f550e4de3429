/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The few types the core needs, from the kernel or from the compiler's own freestanding headers,
 * and the priorities and weights that messages and backends share with it.
 *
 * Core and policies use nothing else: no clock, no allocation, no I/O, no floating point, and of
 * libc only string.h. A test compiles them with -ffreestanding -nostdinc to keep it so.
 */
#ifndef GP__CORE_TYPES_H
#define GP__CORE_TYPES_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#endif

#ifndef container_of
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#endif

/* No device, entity or user. */
#define GP__NOBODY (~(u32)0)

/* "At no time": later than every clock reading. */
#define GP__NEVER (~(u64)0)
/* Clock readings are below this (146 years), so that keys and sums of a few of them do not wrap. */
#define GP__TIME_END ((u64)1 << 62)

/* In nanoseconds. base/clock.h has the same for what does not use the core. */
#define GP__US 1000ull
#define GP__MS 1000000ull
#define GP__S 1000000000ull

#define GP__PRIO_OFFLINE 2
#define GP__PRIO_NORMAL 7
#define GP__PRIO_ONLINE 15
/* The bound keeps the arithmetic of ageing far from overflow. */
#define GP__PRIO_LIMIT 1000000

/*
 * Weights are relative, up to 10000; 0 is the device's own. These two are special: an entity with
 * the least weight yields at once to any other that has work, and one with the most runs as long as
 * it has work.
 */
#define GP__WEIGHT_LEAST 0xfffffeu
#define GP__WEIGHT_MOST 0xffffffu

static inline u64 gp__min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 gp__max_u64(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* Times may be "never"; adding to them must not wrap round to "long ago". */
static inline u64 gp__time_add(u64 t, u64 d)
{
	return t > GP__NEVER - d ? GP__NEVER : t + d;
}

#endif
