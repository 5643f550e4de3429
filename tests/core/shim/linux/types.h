/* SPDX-License-Identifier: MIT */
#ifndef SHIM_LINUX_TYPES_H
#define SHIM_LINUX_TYPES_H
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
typedef u8 uint8_t;
typedef u32 uint32_t;
typedef u64 uint64_t;
typedef s64 int64_t;
typedef __SIZE_TYPE__ size_t;
typedef _Bool bool;
enum { false, true };
#define NULL ((void *)0)
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
