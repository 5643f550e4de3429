// SPDX-License-Identifier: MIT
#include "device/nvrm/work.h"

#include "device/nvrm/abi.h"

void gp__nvrm_work_begin(struct gp__nvrm_work *w, uint32_t nr)
{
	w->nr = nr;
	for (uint32_t i = 0; i < nr; i++)
		w->channel[i].put = ~w->ring[i].userd[GP__NVRM_USERD_PUT / 4]; /* moved */
}

/* Finds the end of the latest submission once, and polls it until it is done. */
static void look_for_end(struct gp__peek *peek, const struct gp__nvrm_ring *ring,
			 struct gp__nvrm_channel *c, bool came)
{
	int reached;

	if (came) {
		gp__nvrm_end_find(peek, ring, c->put, &c->end);
		c->state = c->end.at ? GP__NVRM_END_COMES : GP__NVRM_END_UNKNOWN;
	}
	if (c->state != GP__NVRM_END_COMES)
		return;
	reached = gp__nvrm_end_reached(peek, &c->end);
	if (reached)
		c->state = reached > 0 ? GP__NVRM_END_REACHED : GP__NVRM_END_UNKNOWN;
}

/* True: an index has moved since the last look. A channel without work is read once. */
static bool look_at_channel(struct gp__peek *peek, const struct gp__nvrm_ring *ring,
			    struct gp__nvrm_channel *c, uint64_t now)
{
	uint32_t put = ring->userd[GP__NVRM_USERD_PUT / 4], get = c->get;
	bool came = put != c->put, moved;

	if (came || get != put)
		get = ring->userd[GP__NVRM_USERD_GET / 4];
	moved = came || get != c->get;
	c->put = put;
	c->get = get;
	if (moved)
		c->moved_at = now;
	look_for_end(peek, ring, c, came);
	return moved;
}

static bool is_at_work(const struct gp__nvrm_channel *c, uint64_t grace_ns, uint64_t now)
{
	if (c->put != c->get || c->state == GP__NVRM_END_COMES)
		return true;
	return c->state == GP__NVRM_END_UNKNOWN && now - c->moved_at < grace_ns;
}

enum gp__nvrm_change gp__nvrm_work_look(struct gp__nvrm_work *w, struct gp__peek *peek,
					const struct gp__nvrm_work_times *times, uint64_t now)
{
	bool moved = false;

	w->pending = 0;
	for (uint32_t i = 0; i < w->nr; i++) {
		moved |= look_at_channel(peek, &w->ring[i], &w->channel[i], now);
		w->pending += is_at_work(&w->channel[i], times->grace_ns, now);
	}
	if (moved || w->pending) {
		w->moved_at = now;
		w->quiet_at = 0;
	} else if (!w->quiet_at) {
		w->quiet_at = now;
	}
	if (moved && !w->busy) {
		w->busy = true;
		return GP__NVRM_BECAME_BUSY;
	}
	if (now < gp__nvrm_work_settles(w, times))
		return GP__NVRM_NO_CHANGE;
	w->busy = false;
	return GP__NVRM_BECAME_IDLE;
}

uint64_t gp__nvrm_work_settles(const struct gp__nvrm_work *w,
			       const struct gp__nvrm_work_times *times)
{
	if (!w->busy || w->held || !w->quiet_at)
		return UINT64_MAX;
	return w->quiet_at + times->settle_ns;
}

void gp__nvrm_work_hold(struct gp__nvrm_work *w, bool held, uint64_t now)
{
	w->held = held;
	w->moved_at = now;
	w->quiet_at = 0;
}
