// SPDX-License-Identifier: MIT
#include "trace/proto.h"

#include <stdlib.h>
#include <string.h>

enum wire_type {
	VARINT = 0,
	FIXED64 = 1,
	BYTES = 2,
};

/* A number of 64 bits. */
#define VARINT_MAX 10

void gp__proto_free(struct gp__proto *p)
{
	free(p->at);
	*p = (struct gp__proto){ 0 };
}

/* Returns where @n more bytes go. NULL: out of memory. */
static unsigned char *more(struct gp__proto *p, size_t n)
{
	size_t room = p->room ? p->room : 256;
	unsigned char *at;

	if (p->failed)
		return NULL;
	while (room - p->used < n)
		room *= 2;
	at = room == p->room ? p->at : realloc(p->at, room);
	if (!at) {
		p->failed = true;
		return NULL;
	}
	p->at = at;
	p->room = room;
	return at + p->used;
}

static size_t encode(unsigned char *at, uint64_t value)
{
	size_t n = 0;

	for (; value > 0x7f; value >>= 7)
		at[n++] = (unsigned char)(value | 0x80);
	at[n++] = (unsigned char)value;
	return n;
}

static void put(struct gp__proto *p, uint64_t value)
{
	unsigned char *at = more(p, VARINT_MAX);

	if (at)
		p->used += encode(at, value);
}

static void put_key(struct gp__proto *p, uint32_t field, enum wire_type type)
{
	put(p, (uint64_t)field << 3 | type);
}

static void put_bytes(struct gp__proto *p, const void *data, size_t n)
{
	unsigned char *at = more(p, n);

	if (!at)
		return;
	memcpy(at, data, n);
	p->used += n;
}

void gp__proto_u64(struct gp__proto *p, uint32_t field, uint64_t value)
{
	put_key(p, field, VARINT);
	put(p, value);
}

void gp__proto_s64(struct gp__proto *p, uint32_t field, int64_t value)
{
	gp__proto_u64(p, field, (uint64_t)value);
}

void gp__proto_fixed64(struct gp__proto *p, uint32_t field, uint64_t value)
{
	unsigned char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
	put_key(p, field, FIXED64);
	put_bytes(p, bytes, sizeof(bytes));
}

void gp__proto_text(struct gp__proto *p, uint32_t field, const char *text)
{
	size_t n = strlen(text);

	put_key(p, field, BYTES);
	put(p, n);
	put_bytes(p, text, n);
}

size_t gp__proto_begin(struct gp__proto *p, uint32_t field)
{
	put_key(p, field, BYTES);
	return p->used;
}

/* The length takes as many bytes as it needs, so the message moves to make room for it. */
void gp__proto_end(struct gp__proto *p, size_t begun)
{
	unsigned char length[VARINT_MAX];
	size_t size, n;

	if (p->failed)
		return;
	size = p->used - begun;
	n = encode(length, size);
	if (!more(p, n))
		return;
	memmove(p->at + begun + n, p->at + begun, size);
	memcpy(p->at + begun, length, n);
	p->used += n;
}
