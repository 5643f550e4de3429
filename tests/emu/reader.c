// SPDX-License-Identifier: MIT
#include "reader.h"

bool walk_begin(struct walk *k, struct machine *m, uint64_t base)
{
	const uint32_t *header = machine_at(m, base);

	*k = (struct walk){ .m = m, .base = base, .at = base + header[2] };
	k->bottom = header[2] - header[3];
	k->entry = machine_at(m, base + header[0]);
	k->entries_end = k->entry + header[1] / 4;
	if (header[1])
		k->entry += 2;
	return header[0] + header[1] == k->bottom;
}

static void describe(struct walk *k, uint32_t wave, struct record *r)
{
	uint64_t end = k->at - 64;

	r->nr_vgprs = ((k->state >> 24 & 0x3f) + 1) * 4;
	r->nr_agprs = ((k->state & 0x3f) + 1) * 8 - r->nr_vgprs;
	r->nr_sgprs = ((k->state >> 6 & 7) + 1) * 16 - 16;
	r->lds_bytes = (k->state >> 9 & 0xff) * 512;
	r->last = wave >> 16 & 1;
	r->first = wave >> 17 & 1;
	r->lds = NULL;
	if (r->first) {
		end -= r->lds_bytes;
		r->lds = machine_at(k->m, end);
	}
	r->ttmp = machine_at(k->m, end - 64);
	r->hw = r->ttmp - 16;
	r->s = r->hw - r->nr_sgprs;
	r->v = r->s - (r->nr_vgprs + r->nr_agprs) * 64;
	k->at = end - 128 - r->nr_sgprs * 4 - (uint64_t)(r->nr_vgprs + r->nr_agprs) * 256;
}

bool walk_on(struct walk *k, struct record *r)
{
	while (k->entry < k->entries_end) {
		uint32_t e = *k->entry++;

		if (e >> 30 & 1)
			continue;
		if (e >> 31) {
			k->state = e;
			continue;
		}
		describe(k, e, r);
		return true;
	}
	return false;
}

bool walk_is_complete(const struct walk *k)
{
	return k->entry == k->entries_end && k->at == k->base + k->bottom;
}
