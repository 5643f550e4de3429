/* SPDX-License-Identifier: MIT */
/* A code object: an ELF shared object whose segments are copied as they are. */
#ifndef GP_BASE_OBJECT_H
#define GP_BASE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gp__object {
	uint8_t *file;
	size_t size;
};

/* Of bytes from malloc(), which it owns from then on. 0 or -ENOEXEC: no whole code object. */
int gp__object_parse(struct gp__object *o, void *file, size_t size);
/* 0 or -errno; -ENOEXEC where it is no whole code object. */
int gp__object_read(struct gp__object *o, const char *path);
void gp__object_free(struct gp__object *o);
/* For which GPU it is, as LLVM counts them: 0x3f is gfx90a. */
uint32_t gp__object_machine(const struct gp__object *o);
/* How much memory it takes, and filling that, which is zero before. */
uint64_t gp__object_bytes(const struct gp__object *o);
void gp__object_load(const struct gp__object *o, void *to);
/* Where a symbol is in that memory. */
bool gp__object_symbol(const struct gp__object *o, const char *name, uint64_t *offset);

#endif
