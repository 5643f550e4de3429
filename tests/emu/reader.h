/* SPDX-License-Identifier: MIT */
/*
 * Reads context save areas by their documentation alone, as a debugger would: a header, the control
 * stack from its top, and one record below the other.
 */
#ifndef GP__TESTS_EMU_READER_H
#define GP__TESTS_EMU_READER_H

#include "emu/gfx9/machine.h"

struct record {
	uint32_t nr_vgprs, nr_agprs, nr_sgprs, lds_bytes;
	uint32_t *v, *s, *hw, *ttmp;
	uint8_t *lds; /* with the first wave of a workgroup */
	bool first, last;
};

struct walk {
	struct machine *m;
	uint64_t base, at; /* the end of the record before */
	const uint32_t *entry, *entries_end;
	uint32_t state, bottom;
};

/* The slice of an XCC begins at @base. False: its parts are inconsistent. */
bool walk_begin(struct walk *k, struct machine *m, uint64_t base);
/* The next record. False: there is none. */
bool walk_on(struct walk *k, struct record *r);
/* Afterwards: whether every record was described by an entry. */
bool walk_is_complete(const struct walk *k);

#endif
