/* SPDX-License-Identifier: MIT */
/* A code object: an ELF shared object whose segments are copied as they are. */
#ifndef GP__EMU_GFX9_OBJECT_H
#define GP__EMU_GFX9_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gfx9_object {
	uint8_t *file;
	size_t size;
};

/* 0 or -errno; -ENOEXEC where it is no whole code object. */
int gfx9_object_read(struct gfx9_object *o, const char *path);
void gfx9_object_free(struct gfx9_object *o);
/* How much memory it takes, and filling that, which is zero before. */
uint64_t gfx9_object_bytes(const struct gfx9_object *o);
void gfx9_object_load(const struct gfx9_object *o, void *to);
/* Where a symbol is in that memory. */
bool gfx9_object_symbol(const struct gfx9_object *o, const char *name, uint64_t *offset);

#endif
