// SPDX-License-Identifier: MIT
#include "device/kfd/watch.h"

/* How many times the longer grace a signal is believed that does not fire while no wave is there.
 */
#define BELIEF 10

#define PAUSE_PART 64
/* Of a spell, but no longer than a program needs that has more to launch. */
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

uint64_t gp__kfd_watch_pending(const struct gp__kfd_watch *w, uint64_t read, uint64_t write)
{
	uint64_t ring = w->ring_bytes;

	if (w->type == GP_KFD_QUEUE_COMPUTE_AQL)
		return write - read;
	/* Not all generations let these indices grow beyond the ring. */
	if (w->type == GP_KFD_QUEUE_COMPUTE)
		ring /= sizeof(uint32_t);
	return ring ? (write - read) % ring : write - read;
}

/* Indices that no queue has: half of one was read before it changed, and half after. */
static bool is_nonsense(const struct gp__kfd_watch *w, uint64_t read, uint64_t write)
{
	return w->type == GP_KFD_QUEUE_COMPUTE_AQL && (int64_t)(write - read) < 0;
}

bool gp__kfd_watch_asks(const struct gp__kfd_watch *w, uint64_t read, uint64_t write)
{
	return (w->busy || write != w->write) && !w->held && !is_nonsense(w, read, write) &&
	       !gp__kfd_watch_pending(w, read, write);
}

bool gp__kfd_watch_asks_waves(const struct gp__kfd_watch *w, const struct gp__kfd_sight *s,
			      const struct gp__kfd_patience *p)
{
	if (!gp__kfd_watch_asks(w, s->read, s->write))
		return false;
	return !s->has_signal || s->now - w->still_since >= BELIEF * p->blind_ns;
}

static bool has_fired(struct gp__kfd_watch *w, const struct gp__kfd_sight *s)
{
	bool fired = s->signal <= 0 || (w->signal_seen && s->signal < w->signal);

	w->signal = s->signal;
	w->signal_seen = true;
	return fired;
}

static bool has_ended(struct gp__kfd_watch *w, const struct gp__kfd_sight *s,
		      const struct gp__kfd_patience *p)
{
	uint64_t still;

	if (s->waves > 0)
		w->still_since = s->now;
	still = s->now - w->still_since;
	if (s->has_signal)
		return has_fired(w, s) || (!s->waves && still >= BELIEF * p->blind_ns);
	return still >= (s->waves ? p->blind_ns : p->grace_ns);
}

enum gp__kfd_watch_event gp__kfd_watch_look(struct gp__kfd_watch *w, const struct gp__kfd_sight *s,
					    const struct gp__kfd_patience *p)
{
	bool arrived, ended;

	if (is_nonsense(w, s->read, s->write))
		return GP__KFD_WATCH_NOTHING;
	if (s->write != w->write || s->read != w->read) {
		w->still_since = s->now;
		w->signal_seen = false;
	}
	if (w->held)
		w->still_since = s->now;
	ended = gp__kfd_watch_asks(w, s->read, s->write) && has_ended(w, s, p);
	arrived = !w->busy && (s->write != w->write || gp__kfd_watch_pending(w, s->read, s->write));
	w->read = s->read;
	w->write = s->write;
	if (arrived && !ended) {
		w->busy = true;
		return GP__KFD_WATCH_READY;
	}
	if (w->busy && ended) {
		w->busy = false;
		return GP__KFD_WATCH_IDLE;
	}
	return GP__KFD_WATCH_NOTHING;
}
