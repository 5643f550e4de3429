// SPDX-License-Identifier: MIT
#include "device/kfd/spell.h"

#define PAUSE_PART 64
/* The longest gap is a part of the spell, and no longer than a program needs to launch more. */
#define GAP_PART 16
#define GAP_MOST_NS 1000000u

void gp__kfd_spell_note(struct gp__kfd_spell *s, bool still, uint64_t now)
{
	uint64_t gap = still ? 0 : now - s->to;

	if (gap > GAP_MOST_NS || gap > (s->to - s->from) / GAP_PART)
		s->from = now;
	s->to = now;
}

uint64_t gp__kfd_spell_pause(const struct gp__kfd_spell *s, bool busy, uint64_t now)
{
	return (now - (busy ? s->from : s->to)) / PAUSE_PART;
}
