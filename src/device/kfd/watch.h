/* SPDX-License-Identifier: MIT */
/*
 * One queue that is looked at again and again: whether it has work.
 *
 * Pure: what was seen and when goes in, what follows from it comes out. Work is seen to arrive by
 * the write index. It has ended when the indices are equal and the last packet's completion signal
 * has fired; where that has none, when the driver says that no wave of the process is on the GPU
 * and nothing has moved for a grace time; where the driver does not say, after a longer one. A
 * queue that is held has not ended, for its waves are saved: the time begins when it is let go.
 *
 * Only the last packet's signal is looked at: one before it that runs on beside it, as no barrier
 * bit forbids, is not seen.
 *
 * A signal that does not fire is believed, but not for ever: some programs set it up again as soon
 * as it has fired. Where no wave is on the GPU for ten times the longer grace, the work has ended.
 */
#ifndef GP__DEVICE_KFD_WATCH_H
#define GP__DEVICE_KFD_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "device/kfd/queue.h"

enum gp__kfd_watch_event {
	GP__KFD_WATCH_NOTHING,
	GP__KFD_WATCH_READY,
	GP__KFD_WATCH_IDLE,
};

struct gp__kfd_watch {
	uint32_t type, ring_bytes; /* of the queue */
	bool busy, held;
	uint64_t read, write; /* as they were last seen */
	uint64_t still_since; /* nothing has moved, and no wave was there */
	bool signal_seen;
	int64_t signal; /* its value when it was last seen, for these indices */
};

/* What is seen of a queue. */
struct gp__kfd_sight {
	uint64_t now;
	uint64_t read, write;
	/* Where gp__kfd_watch_asks() and gp__kfd_watch_asks_waves(): */
	bool has_signal;
	int64_t signal; /* the value of the last packet's completion signal */
	int waves; /* whether the process has any on the GPU: 1 or 0, -1: nobody says */
};

struct gp__kfd_patience {
	uint64_t grace_ns; /* no signal, no waves */
	uint64_t blind_ns; /* no signal, and nobody says whether there are waves */
};

/*
 * Some work, on any queue: gaps that are short, also beside it, belong to it. Who looks again after
 * a 64th of the time for which there has been work, or none, sees its end or the next early enough
 * beside that, and looks seldom.
 */
struct gp__kfd_spell {
	uint64_t from, to;
};

/* There is work. @still: there was when it was last looked. */
void gp__kfd_spell_note(struct gp__kfd_spell *spell, bool still, uint64_t now);
/* When to look again: in so long. */
uint64_t gp__kfd_spell_pause(const struct gp__kfd_spell *spell, bool busy, uint64_t now);

static inline void gp__kfd_watch_init(struct gp__kfd_watch *w, const struct gp__kfd_queue_info *q)
{
	*w = (struct gp__kfd_watch){ .type = q->type, .ring_bytes = q->ring_bytes };
}

/* Work has come, as somebody saw who saw it come. True: there was none before. */
static inline bool gp__kfd_watch_rang(struct gp__kfd_watch *w)
{
	bool was_idle = !w->busy;

	w->busy = true;
	return was_idle;
}

/* How much is in the ring that was not fetched: packets, words (PM4) or bytes (SDMA). */
uint64_t gp__kfd_watch_pending(const struct gp__kfd_watch *w, uint64_t read, uint64_t write);
/* Whether signal and waves matter now that the indices are these. */
bool gp__kfd_watch_asks(const struct gp__kfd_watch *w, uint64_t read, uint64_t write);
/* Whether it matters whether there are waves, now that the rest was seen. */
bool gp__kfd_watch_asks_waves(const struct gp__kfd_watch *w, const struct gp__kfd_sight *s,
			      const struct gp__kfd_patience *p);
/* Work that came and went unseen, with its signal fired, is nothing. */
enum gp__kfd_watch_event gp__kfd_watch_look(struct gp__kfd_watch *w, const struct gp__kfd_sight *s,
					    const struct gp__kfd_patience *p);

#endif
