/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace as Perfetto's native format: packets with TrackEvents. Times are those of
 * CLOCK_MONOTONIC, in nanoseconds; the viewer sorts them, so packets may come in any order.
 *
 * Two files of this format in a row are one trace again, if their sequences and tracks have
 * different numbers: gp__perfetto_uuid() sees to it.
 */
#ifndef GP__TRACE_PERFETTO_H
#define GP__TRACE_PERFETTO_H

#include <stdio.h>

#include "trace/proto.h"

struct gp__perfetto {
	FILE *out;
	struct gp__proto packet;
	uint32_t sequence;
	bool begun;
	int err; /* -errno of the first failure; nothing is written after it */
	uint64_t nr_packets;
};

enum gp__arg_kind {
	GP__ARG_U64,
	GP__ARG_S64,
	GP__ARG_TEXT,
};

struct gp__arg {
	const char *name;
	enum gp__arg_kind kind;
	uint64_t u;
	int64_t s;
	const char *text;
};

struct gp__track_event {
	uint64_t time, track;
	const char *name, *category;
	const uint64_t *flows; /* that begin at this event or pass through it */
	size_t nr_flows;
	uint64_t ends_flow; /* 0: none */
	const struct gp__arg *args;
	size_t nr_args;
};

/* @sequence: a number of its own for each writer of one file, from 1 on. */
void gp__perfetto_open(struct gp__perfetto *w, FILE *out, uint32_t sequence);
/* 0, or -errno of the first packet that could not be written. */
int gp__perfetto_close(struct gp__perfetto *w);

/* The number of a track: different for each source of the trace, kind of track and number. */
uint64_t gp__perfetto_uuid(const char *source, const char *kind, uint64_t number);

/* One moment by several clocks, in nanoseconds, so that the trace can be merged with others. 0: not
 * known. @monotonic is the clock of the trace. */
void gp__perfetto_clocks(struct gp__perfetto *w, uint64_t monotonic, uint64_t boot, uint64_t real);
/* @parent 0: none. @rank orders the children of a track. */
void gp__perfetto_track(struct gp__perfetto *w, uint64_t uuid, uint64_t parent, const char *name,
			uint32_t rank);
void gp__perfetto_counter(struct gp__perfetto *w, uint64_t uuid, uint64_t parent, const char *name,
			  uint32_t rank);

void gp__perfetto_begin(struct gp__perfetto *w, const struct gp__track_event *e);
void gp__perfetto_instant(struct gp__perfetto *w, const struct gp__track_event *e);
void gp__perfetto_end(struct gp__perfetto *w, uint64_t track, uint64_t time);
void gp__perfetto_count(struct gp__perfetto *w, uint64_t track, uint64_t time, int64_t value);

#endif
