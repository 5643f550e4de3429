// SPDX-License-Identifier: MIT
#include "emu/gfx9/object.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Elf64_Ehdr *header(const struct gfx9_object *o)
{
	return (const void *)o->file;
}

static const Elf64_Phdr *segment(const struct gfx9_object *o, int i)
{
	return (const Elf64_Phdr *)(o->file + header(o)->e_phoff) + i;
}

static const Elf64_Shdr *section(const struct gfx9_object *o, int i)
{
	return (const Elf64_Shdr *)(o->file + header(o)->e_shoff) + i;
}

static bool within(const struct gfx9_object *o, uint64_t at, uint64_t bytes)
{
	return at <= o->size && bytes <= o->size - at;
}

static bool has_tables(const struct gfx9_object *o)
{
	const Elf64_Ehdr *eh = header(o);

	return o->size >= sizeof(*eh) && !memcmp(eh->e_ident, ELFMAG, SELFMAG) &&
	       eh->e_ident[EI_CLASS] == ELFCLASS64 && eh->e_phentsize == sizeof(Elf64_Phdr) &&
	       eh->e_shentsize == sizeof(Elf64_Shdr) &&
	       within(o, eh->e_phoff, (uint64_t)eh->e_phnum * sizeof(Elf64_Phdr)) &&
	       within(o, eh->e_shoff, (uint64_t)eh->e_shnum * sizeof(Elf64_Shdr));
}

static bool is_whole(const struct gfx9_object *o)
{
	if (!has_tables(o))
		return false;
	for (int i = 0; i < header(o)->e_phnum; i++) {
		const Elf64_Phdr *ph = segment(o, i);

		if (ph->p_type == PT_LOAD &&
		    (!within(o, ph->p_offset, ph->p_filesz) || ph->p_filesz > ph->p_memsz ||
		     ph->p_vaddr + ph->p_memsz < ph->p_vaddr))
			return false;
	}
	for (int i = 0; i < header(o)->e_shnum; i++) {
		const Elf64_Shdr *sh = section(o, i);

		if (sh->sh_type != SHT_NOBITS && !within(o, sh->sh_offset, sh->sh_size))
			return false;
	}
	return true;
}

static int read_all(struct gfx9_object *o, FILE *f)
{
	long size;

	if (fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET))
		return -errno;
	o->size = (size_t)size;
	o->file = malloc(o->size + 1);
	if (!o->file)
		return -ENOMEM;
	if (fread(o->file, 1, o->size, f) != o->size)
		return -EIO;
	return is_whole(o) ? 0 : -ENOEXEC;
}

int gfx9_object_read(struct gfx9_object *o, const char *path)
{
	FILE *f = fopen(path, "re");
	int err;

	*o = (struct gfx9_object){ 0 };
	if (!f)
		return -errno;
	err = read_all(o, f);
	fclose(f);
	if (err)
		gfx9_object_free(o);
	return err;
}

void gfx9_object_free(struct gfx9_object *o)
{
	free(o->file);
	*o = (struct gfx9_object){ 0 };
}

uint64_t gfx9_object_bytes(const struct gfx9_object *o)
{
	uint64_t end = 0;

	for (int i = 0; i < header(o)->e_phnum; i++) {
		const Elf64_Phdr *ph = segment(o, i);

		if (ph->p_type == PT_LOAD && ph->p_vaddr + ph->p_memsz > end)
			end = ph->p_vaddr + ph->p_memsz;
	}
	return end;
}

void gfx9_object_load(const struct gfx9_object *o, void *to)
{
	for (int i = 0; i < header(o)->e_phnum; i++) {
		const Elf64_Phdr *ph = segment(o, i);

		if (ph->p_type == PT_LOAD)
			memcpy((uint8_t *)to + ph->p_vaddr, o->file + ph->p_offset, ph->p_filesz);
	}
}

/* Whether the string at @offset of a string table is this one. */
static bool is_named(const struct gfx9_object *o, const Elf64_Shdr *strings, uint32_t offset,
		     const char *name)
{
	size_t len = strlen(name) + 1;

	return offset <= strings->sh_size && len <= strings->sh_size - offset &&
	       !memcmp(o->file + strings->sh_offset + offset, name, len);
}

bool gfx9_object_symbol(const struct gfx9_object *o, const char *name, uint64_t *offset)
{
	for (int i = 0; i < header(o)->e_shnum; i++) {
		const Elf64_Shdr *sh = section(o, i);
		const Elf64_Sym *sym = (const void *)(o->file + sh->sh_offset);

		if (sh->sh_type != SHT_DYNSYM || sh->sh_link >= header(o)->e_shnum)
			continue;
		for (size_t k = 0; k < sh->sh_size / sizeof(*sym); k++) {
			if (!is_named(o, section(o, (int)sh->sh_link), sym[k].st_name, name))
				continue;
			*offset = sym[k].st_value;
			return true;
		}
	}
	return false;
}
