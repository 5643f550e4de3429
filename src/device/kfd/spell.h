/* SPDX-License-Identifier: MIT */
/*
 * Says how soon to look at queues again, from how long there has been work on any of them, or none.
 *
 * A look after a 64th of that time sees the end of work, or the next arrival, early enough beside
 * it, and costs little. Short gaps belong to a spell of work.
 */
#ifndef GP__DEVICE_KFD_SPELL_H
#define GP__DEVICE_KFD_SPELL_H

#include <stdbool.h>
#include <stdint.h>

struct gp__kfd_spell {
	uint64_t from, to;
};

/* There is work. @still: there was at the last look. */
void gp__kfd_spell_note(struct gp__kfd_spell *spell, bool still, uint64_t now);
/* How long to wait before the next look. */
uint64_t gp__kfd_spell_pause(const struct gp__kfd_spell *spell, bool busy, uint64_t now);

#endif
