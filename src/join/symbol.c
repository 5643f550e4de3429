// SPDX-License-Identifier: MIT
#include "join/symbol.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BITS (8 * sizeof(ElfW(Addr)))

struct tables {
	const uint32_t *hash; /* NULL: there is none */
	const ElfW(Sym) * symbols;
	const char *strings;
};

/* glibc has added the base address to these, musl and the kernel's vdso have not. */
static const void *table_at(const struct dl_phdr_info *object, ElfW(Addr) address)
{
	if (address < object->dlpi_addr)
		address += object->dlpi_addr;
	return (const void *)(uintptr_t)address;
}

static void read_dynamic(const struct dl_phdr_info *object, const ElfW(Phdr) * header,
			 struct tables *t)
{
	const ElfW(Dyn) *entry =
		(const ElfW(Dyn) *)(uintptr_t)(object->dlpi_addr + header->p_vaddr);

	for (; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_GNU_HASH)
			t->hash = table_at(object, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_SYMTAB)
			t->symbols = table_at(object, entry->d_un.d_ptr);
		else if (entry->d_tag == DT_STRTAB)
			t->strings = table_at(object, entry->d_un.d_ptr);
	}
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (const unsigned char *c = (const unsigned char *)name; *c; c++)
		hash = hash * 33 + *c;
	return hash;
}

/* The words of the table: buckets, index of the first symbol, words of the filter, its shift; then
 * the filter, the buckets and, per symbol, its hash, with the lowest bit set in a bucket's last. */
static bool has(const struct tables *t, const char *name)
{
	uint32_t nr_buckets = t->hash[0], first = t->hash[1], words = t->hash[2];
	const ElfW(Addr) *filter = (const ElfW(Addr) *)(t->hash + 4);
	const uint32_t *bucket = (const uint32_t *)(filter + words);
	const uint32_t *chain = bucket + nr_buckets;
	uint32_t hash = hash_of(name), i;
	ElfW(Addr) word;

	if (!nr_buckets || !words)
		return false;
	word = filter[hash / BITS % words] >> hash % BITS;
	if (!(word & filter[hash / BITS % words] >> (hash >> t->hash[3]) % BITS & 1))
		return false;
	for (i = bucket[hash % nr_buckets]; i >= first; i++) {
		uint32_t other = chain[i - first];

		if ((other | 1) == (hash | 1) && !strcmp(t->strings + t->symbols[i].st_name, name))
			return t->symbols[i].st_shndx != SHN_UNDEF;
		if (other & 1)
			break;
	}
	return false;
}

bool gp__object_exports(const struct dl_phdr_info *object, const char *symbol)
{
	struct tables t = { 0 };

	for (int i = 0; i < object->dlpi_phnum; i++) {
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			read_dynamic(object, &object->dlpi_phdr[i], &t);
	}
	return t.hash && t.symbols && t.strings && has(&t, symbol);
}
