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

/* Takes ownership of bytes from malloc(). 0 or -ENOEXEC: they are not a whole code object. */
int gp__object_parse(struct gp__object *o, void *file, size_t size);
/* Reads a file. 0 or -errno; -ENOEXEC: it is not a whole code object. */
int gp__object_read(struct gp__object *o, const char *path);
void gp__object_free(struct gp__object *o);
/* The GPU that it was built for, in LLVM's numbers: 0x3f is gfx90a. */
uint32_t gp__object_machine(const struct gp__object *o);
/* The size of the memory that it needs; and fills that memory, which is zero before. */
uint64_t gp__object_bytes(const struct gp__object *o);
void gp__object_load(const struct gp__object *o, void *to);
/* Finds a symbol's offset in that memory. */
bool gp__object_symbol(const struct gp__object *o, const char *name, uint64_t *offset);

#endif
