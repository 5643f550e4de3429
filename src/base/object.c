// SPDX-License-Identifier: MIT
#include "base/object.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of structs that are read in place. */
#define ALIGNMENT 8
/* The part of the flags that says for which GPU it is. */
#define EF_MACHINE 0xffu

static const Elf64_Ehdr *header(const struct gp__object *o)
{
	return (const void *)o->file;
}

static const Elf64_Phdr *segment(const struct gp__object *o, int i)
{
	return (const Elf64_Phdr *)(o->file + header(o)->e_phoff) + i;
}

static const Elf64_Shdr *section(const struct gp__object *o, int i)
{
	return (const Elf64_Shdr *)(o->file + header(o)->e_shoff) + i;
}

static bool within(const struct gp__object *o, uint64_t at, uint64_t bytes)
{
	return at <= o->size && bytes <= o->size - at;
}

static bool has_tables(const struct gp__object *o)
{
	const Elf64_Ehdr *eh = header(o);

	return o->size >= sizeof(*eh) && !memcmp(eh->e_ident, ELFMAG, SELFMAG) &&
	       eh->e_ident[EI_CLASS] == ELFCLASS64 && eh->e_machine == EM_AMDGPU &&
	       eh->e_phentsize == sizeof(Elf64_Phdr) && eh->e_shentsize == sizeof(Elf64_Shdr) &&
	       !(eh->e_phoff % ALIGNMENT) && !(eh->e_shoff % ALIGNMENT) &&
	       within(o, eh->e_phoff, (uint64_t)eh->e_phnum * sizeof(Elf64_Phdr)) &&
	       within(o, eh->e_shoff, (uint64_t)eh->e_shnum * sizeof(Elf64_Shdr));
}

static bool is_whole(const struct gp__object *o)
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
		if (sh->sh_type == SHT_DYNSYM &&
		    (sh->sh_offset % ALIGNMENT || sh->sh_link >= header(o)->e_shnum ||
		     section(o, (int)sh->sh_link)->sh_type != SHT_STRTAB))
			return false;
	}
	return true;
}

int gp__object_parse(struct gp__object *o, void *file, size_t size)
{
	*o = (struct gp__object){ .file = file, .size = size };
	if (is_whole(o))
		return 0;
	gp__object_free(o);
	return -ENOEXEC;
}

static int read_all(FILE *f, void **bytes, size_t *size)
{
	long end;

	if (fseek(f, 0, SEEK_END) || (end = ftell(f)) < 0 || fseek(f, 0, SEEK_SET))
		return -errno;
	*size = (size_t)end;
	*bytes = malloc(*size + 1);
	if (!*bytes)
		return -ENOMEM;
	return fread(*bytes, 1, *size, f) == *size ? 0 : -EIO;
}

int gp__object_read(struct gp__object *o, const char *path)
{
	FILE *f = fopen(path, "re");
	void *bytes = NULL;
	size_t size = 0;
	int err;

	*o = (struct gp__object){ 0 };
	if (!f)
		return -errno;
	err = read_all(f, &bytes, &size);
	fclose(f);
	if (!err)
		return gp__object_parse(o, bytes, size);
	free(bytes);
	return err;
}

uint32_t gp__object_machine(const struct gp__object *o)
{
	return header(o)->e_flags & EF_MACHINE;
}

void gp__object_free(struct gp__object *o)
{
	free(o->file);
	*o = (struct gp__object){ 0 };
}

uint64_t gp__object_bytes(const struct gp__object *o)
{
	uint64_t end = 0;

	for (int i = 0; i < header(o)->e_phnum; i++) {
		const Elf64_Phdr *ph = segment(o, i);

		if (ph->p_type == PT_LOAD && ph->p_vaddr + ph->p_memsz > end)
			end = ph->p_vaddr + ph->p_memsz;
	}
	return end;
}

void gp__object_load(const struct gp__object *o, void *to)
{
	for (int i = 0; i < header(o)->e_phnum; i++) {
		const Elf64_Phdr *ph = segment(o, i);

		if (ph->p_type == PT_LOAD)
			memcpy((uint8_t *)to + ph->p_vaddr, o->file + ph->p_offset, ph->p_filesz);
	}
}

/* Whether the string at @offset of a string table is this one. */
static bool is_named(const struct gp__object *o, const Elf64_Shdr *strings, uint32_t offset,
		     const char *name)
{
	size_t len = strlen(name) + 1;

	return offset <= strings->sh_size && len <= strings->sh_size - offset &&
	       !memcmp(o->file + strings->sh_offset + offset, name, len);
}

bool gp__object_symbol(const struct gp__object *o, const char *name, uint64_t *offset)
{
	for (int i = 0; i < header(o)->e_shnum; i++) {
		const Elf64_Shdr *sh = section(o, i);
		const Elf64_Sym *sym;

		if (sh->sh_type != SHT_DYNSYM)
			continue;
		sym = (const void *)(o->file + sh->sh_offset);
		for (size_t k = 0; k < sh->sh_size / sizeof(*sym); k++) {
			if (!is_named(o, section(o, (int)sh->sh_link), sym[k].st_name, name))
				continue;
			*offset = sym[k].st_value;
			return true;
		}
	}
	return false;
}
