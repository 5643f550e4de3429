/* SPDX-License-Identifier: MIT */
/* Checks the sizes of structs and fills in error sentences, for every public entry point. */
#ifndef GP_BASE_API_H
#define GP_BASE_API_H

#include <gpreempt/gpreempt.h>

/*
 * Copies a struct that begins with its size into one of this library's size. Fields that the
 * caller's header did not have yet read as zero. -E2BIG: the caller set something this library does
 * not know. -EINVAL: the size is nonsense.
 */
int gp__struct_in(void *dst, size_t dst_size, const void *src);

/* The other way: fills as much as the caller's struct holds, zeroes the rest. */
int gp__struct_out(void *dst, const void *src, size_t src_size);

/* Fills *err, if there is one, and returns code. */
__attribute__((format(printf, 3, 4))) int gp__fail(struct gp_error *err, int code, const char *fmt,
						   ...);

#endif
