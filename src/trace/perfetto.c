// SPDX-License-Identifier: MIT
#include "trace/perfetto.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

/* Field numbers of perfetto_trace.proto. */
enum {
	TRACE_PACKET = 1,

	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_CLOCK = 58,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_FIRST_ON_SEQUENCE = 87,

	SNAPSHOT_CLOCKS = 1,
	SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIME = 2,

	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	TRACK_CHILD_ORDERING = 11,
	TRACK_RANK = 12,

	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_TRACK = 11,
	EVENT_CATEGORIES = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER = 30,
	EVENT_FLOWS = 47,
	EVENT_TERMINATING_FLOWS = 48,

	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_TEXT = 6,
	ANNOTATION_NAME = 10,
};

enum {
	ON_REALTIME = 1,
	ON_MONOTONIC = 3,
	ON_BOOTTIME = 6,
};

enum event_type {
	SLICE_BEGIN = 1,
	SLICE_END = 2,
	INSTANT = 3,
	COUNTER = 4,
};

/* Nothing that was written before is needed to understand what follows. */
#define STATE_CLEARED 1
#define ORDERED_BY_RANK 3

void gp__perfetto_open(struct gp__perfetto *w, FILE *out, uint32_t sequence)
{
	*w = (struct gp__perfetto){ .out = out, .sequence = sequence };
}

int gp__perfetto_close(struct gp__perfetto *w)
{
	gp__proto_free(&w->packet);
	if (!w->err && fflush(w->out))
		w->err = -errno;
	return w->err;
}

uint64_t gp__perfetto_uuid(const char *source, const char *kind, uint64_t number)
{
	uint64_t h = gp__hash(GP__HASH_START, source, strlen(source) + 1);

	h = gp__hash(h, kind, strlen(kind) + 1);
	h = gp__hash(h, &number, sizeof(number));
	return h ? h : 1; /* 0 is the track of the whole trace */
}

/*
 * Packets
 */

static size_t begin_packet(struct gp__perfetto *w)
{
	size_t begun;

	w->packet.used = 0;
	begun = gp__proto_begin(&w->packet, TRACE_PACKET);
	gp__proto_u64(&w->packet, PACKET_SEQUENCE, w->sequence);
	if (!w->begun) {
		gp__proto_u64(&w->packet, PACKET_FIRST_ON_SEQUENCE, 1);
		gp__proto_u64(&w->packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
	}
	w->begun = true;
	return begun;
}

static void end_packet(struct gp__perfetto *w, size_t begun)
{
	gp__proto_end(&w->packet, begun);
	if (w->err)
		return;
	if (w->packet.failed)
		w->err = -ENOMEM;
	else if (fwrite(w->packet.at, 1, w->packet.used, w->out) != w->packet.used)
		w->err = errno ? -errno : -EIO;
	else
		w->nr_packets++;
}

static void put_clock(struct gp__proto *p, uint32_t id, uint64_t time)
{
	size_t begun;

	if (!time)
		return;
	begun = gp__proto_begin(p, SNAPSHOT_CLOCKS);
	gp__proto_u64(p, CLOCK_ID, id);
	gp__proto_u64(p, CLOCK_TIME, time);
	gp__proto_end(p, begun);
}

void gp__perfetto_clocks(struct gp__perfetto *w, uint64_t monotonic, uint64_t boot, uint64_t real)
{
	struct gp__proto *p = &w->packet;
	size_t packet = begin_packet(w), snapshot = gp__proto_begin(p, PACKET_CLOCK_SNAPSHOT);

	put_clock(p, ON_MONOTONIC, monotonic);
	put_clock(p, ON_BOOTTIME, boot);
	put_clock(p, ON_REALTIME, real);
	gp__proto_u64(p, SNAPSHOT_PRIMARY, ON_MONOTONIC);
	gp__proto_end(p, snapshot);
	end_packet(w, packet);
}

static void put_track(struct gp__perfetto *w, uint64_t uuid, uint64_t parent, const char *name,
		      uint32_t rank, bool counts)
{
	struct gp__proto *p = &w->packet;
	size_t packet = begin_packet(w), track = gp__proto_begin(p, PACKET_TRACK_DESCRIPTOR);

	gp__proto_u64(p, TRACK_UUID, uuid);
	if (parent)
		gp__proto_u64(p, TRACK_PARENT, parent);
	gp__proto_text(p, TRACK_NAME, name);
	if (counts)
		gp__proto_end(p, gp__proto_begin(p, TRACK_COUNTER));
	else
		gp__proto_u64(p, TRACK_CHILD_ORDERING, ORDERED_BY_RANK);
	gp__proto_u64(p, TRACK_RANK, rank);
	gp__proto_end(p, track);
	end_packet(w, packet);
}

void gp__perfetto_track(struct gp__perfetto *w, uint64_t uuid, uint64_t parent, const char *name,
			uint32_t rank)
{
	put_track(w, uuid, parent, name, rank, false);
}

void gp__perfetto_counter(struct gp__perfetto *w, uint64_t uuid, uint64_t parent, const char *name,
			  uint32_t rank)
{
	put_track(w, uuid, parent, name, rank, true);
}

/*
 * Events
 */

static void put_arg(struct gp__proto *p, const struct gp__arg *arg)
{
	size_t begun = gp__proto_begin(p, EVENT_ANNOTATIONS);

	gp__proto_text(p, ANNOTATION_NAME, arg->name);
	switch (arg->kind) {
	case GP__ARG_U64:
		gp__proto_u64(p, ANNOTATION_UINT, arg->u);
		break;
	case GP__ARG_S64:
		gp__proto_s64(p, ANNOTATION_INT, arg->s);
		break;
	case GP__ARG_TEXT:
		gp__proto_text(p, ANNOTATION_TEXT, arg->text);
		break;
	}
	gp__proto_end(p, begun);
}

static size_t begin_event(struct gp__perfetto *w, enum event_type type, uint64_t track,
			  uint64_t time, size_t *packet)
{
	struct gp__proto *p = &w->packet;
	size_t event;

	*packet = begin_packet(w);
	gp__proto_u64(p, PACKET_TIMESTAMP, time);
	gp__proto_u64(p, PACKET_CLOCK, ON_MONOTONIC);
	event = gp__proto_begin(p, PACKET_TRACK_EVENT);
	gp__proto_u64(p, EVENT_TYPE, type);
	gp__proto_u64(p, EVENT_TRACK, track);
	return event;
}

static void put_event(struct gp__perfetto *w, enum event_type type, const struct gp__track_event *e)
{
	struct gp__proto *p = &w->packet;
	size_t packet, event = begin_event(w, type, e->track, e->time, &packet);

	gp__proto_text(p, EVENT_CATEGORIES, e->category);
	gp__proto_text(p, EVENT_NAME, e->name);
	/* Perfetto's schema does not pack them. */
	for (size_t i = 0; i < e->nr_flows; i++)
		gp__proto_fixed64(p, EVENT_FLOWS, e->flows[i]);
	if (e->ends_flow)
		gp__proto_fixed64(p, EVENT_TERMINATING_FLOWS, e->ends_flow);
	for (size_t i = 0; i < e->nr_args; i++)
		put_arg(p, &e->args[i]);
	gp__proto_end(p, event);
	end_packet(w, packet);
}

void gp__perfetto_begin(struct gp__perfetto *w, const struct gp__track_event *e)
{
	put_event(w, SLICE_BEGIN, e);
}

void gp__perfetto_instant(struct gp__perfetto *w, const struct gp__track_event *e)
{
	put_event(w, INSTANT, e);
}

void gp__perfetto_end(struct gp__perfetto *w, uint64_t track, uint64_t time)
{
	size_t packet, event = begin_event(w, SLICE_END, track, time, &packet);

	gp__proto_end(&w->packet, event);
	end_packet(w, packet);
}

void gp__perfetto_count(struct gp__perfetto *w, uint64_t track, uint64_t time, int64_t value)
{
	size_t packet, event = begin_event(w, COUNTER, track, time, &packet);

	gp__proto_s64(&w->packet, EVENT_COUNTER, value);
	gp__proto_end(&w->packet, event);
	end_packet(w, packet);
}
