// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "core/ring.h"

#define AQL_PACKET_BYTES 64
#define AQL_COMPLETION_SIGNAL 56 /* in a packet that has one */
#define SIGNAL_VALUE 8 /* in struct amd_signal_s */

static bool is_power_of_two(u64 n)
{
	return n && !(n & (n - 1));
}

static bool read_u64(const struct gp__ring_reader *from, u64 address, u64 *value)
{
	return from->read(from->data, address, value, sizeof(*value));
}

/* Of the last packet, which is in the ring until others take its place. */
static bool read_signal(const struct gp__ring_place *p, const struct gp__ring_reader *from,
			u64 wptr, s64 *value)
{
	u64 packets = p->bytes / AQL_PACKET_BYTES;
	u64 handle, packet, signal, wptr_now;

	if (!wptr || !is_power_of_two(packets))
		return false;

	packet = p->ring + ((wptr - 1) & (packets - 1)) * AQL_PACKET_BYTES;
	if (!read_u64(from, packet + AQL_COMPLETION_SIGNAL, &handle) || !handle ||
	    !read_u64(from, handle + SIGNAL_VALUE, &signal))
		return false;

	/* What came meanwhile has another signal. */
	if (!read_u64(from, p->write_ptr, &wptr_now) || wptr_now != wptr)
		return false;
	*value = (s64)signal;
	return true;
}

/* The read pointer first, so that what is pending cannot become less than nothing. */
static int read_aql(const struct gp__ring_place *p, const struct gp__ring_reader *from,
		    struct gp__ring_sight *sight)
{
	if (!read_u64(from, p->read_ptr, &sight->rptr) ||
	    !read_u64(from, p->write_ptr, &sight->wptr))
		return -EFAULT;
	if (sight->wptr < sight->rptr || sight->wptr - sight->rptr > p->bytes / AQL_PACKET_BYTES)
		return -ERANGE;

	sight->pending = sight->wptr - sight->rptr;
	sight->has_signal = !sight->pending && read_signal(p, from, sight->wptr, &sight->signal);
	return 0;
}

/* The pointers go round with the ring, and nothing in it says when it is done. */
static int read_pm4(const struct gp__ring_place *p, const struct gp__ring_reader *from,
		    struct gp__ring_sight *sight)
{
	u64 dwords = p->bytes / sizeof(u32);
	u32 rptr, wptr;

	if (!from->read(from->data, p->read_ptr, &rptr, sizeof(rptr)) ||
	    !from->read(from->data, p->write_ptr, &wptr, sizeof(wptr)))
		return -EFAULT;
	if (!is_power_of_two(dwords))
		return -ERANGE;

	sight->rptr = rptr;
	sight->wptr = wptr;
	sight->pending = (wptr - rptr) & (dwords - 1);
	return 0;
}

int gp__ring_read(const struct gp__ring_place *place, const struct gp__ring_reader *from,
		  struct gp__ring_sight *sight)
{
	memset(sight, 0, sizeof(*sight));
	return place->is_aql ? read_aql(place, from, sight) : read_pm4(place, from, sight);
}

/* Some programs set the signal up again as soon as it has fired: less than before is fired, too. */
static bool has_ended(const struct gp__ring *ring, const struct gp__ring_sight *sight, u64 grace_ns,
		      u64 now)
{
	if (sight->pending)
		return false;
	if (sight->has_signal)
		return sight->signal <= 0 || (ring->has_signal && sight->signal < ring->signal);

	return now - ring->still_since >= grace_ns;
}

enum gp__ring_event gp__ring_look(struct gp__ring *ring, const struct gp__ring_sight *sight,
				  bool is_running, u64 grace_ns, u64 now)
{
	/* What was consumed before the first look may run: that it has ended is to be seen. */
	bool has_come = sight->wptr != ring->wptr;
	bool has_moved = has_come || sight->rptr != ring->rptr || !ring->is_known;
	bool was_busy = ring->is_busy;

	if (has_moved || !is_running)
		ring->still_since = now;
	if (has_moved)
		ring->has_signal = false;

	if (has_ended(ring, sight, grace_ns, now))
		ring->is_busy = false;
	else if (has_come || sight->pending)
		ring->is_busy = true;

	ring->is_known = true;
	ring->rptr = sight->rptr;
	ring->wptr = sight->wptr;
	ring->pending = sight->pending;
	ring->has_signal = sight->has_signal;
	ring->signal = sight->signal;

	if (was_busy == ring->is_busy)
		return GP__RING_NOTHING;
	return ring->is_busy ? GP__RING_READY : GP__RING_IDLE;
}
