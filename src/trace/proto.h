/* SPDX-License-Identifier: MIT */
/*
 * Writes messages of protocol buffers into memory that grows. Messages may be nested; the length of
 * a nested one is written when it ends. Out of memory is remembered: @failed is set, and what
 * follows is ignored.
 */
#ifndef GP__TRACE_PROTO_H
#define GP__TRACE_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp__proto {
	unsigned char *at;
	size_t used, room;
	bool failed;
};

void gp__proto_free(struct gp__proto *p);

void gp__proto_u64(struct gp__proto *p, uint32_t field, uint64_t value);
/* A negative value takes ten bytes, as int64 does. */
void gp__proto_s64(struct gp__proto *p, uint32_t field, int64_t value);
void gp__proto_fixed64(struct gp__proto *p, uint32_t field, uint64_t value);
void gp__proto_text(struct gp__proto *p, uint32_t field, const char *text);

/* Begins a message inside this one. Returns what gp__proto_end() takes. */
size_t gp__proto_begin(struct gp__proto *p, uint32_t field);
void gp__proto_end(struct gp__proto *p, size_t begun);

#endif
