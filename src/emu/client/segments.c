// SPDX-License-Identifier: MIT
#include "emu/client/segments.h"

#include <errno.h>
#include <string.h>

uint32_t client_segments_find(const struct client_segments *s, uint64_t address)
{
	uint32_t low = 0, high = s->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->segment[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void insert(struct client_segments *s, uint32_t at, struct client_segment new)
{
	memmove(&s->segment[at + 1], &s->segment[at], (s->nr - at) * sizeof(new));
	s->segment[at] = new;
	s->nr++;
}

static void erase(struct client_segments *s, uint32_t at)
{
	s->nr--;
	memmove(&s->segment[at], &s->segment[at + 1], (s->nr - at) * sizeof(s->segment[0]));
}

/* Makes @address the start of a segment if it is within one. */
static void split(struct client_segments *s, uint64_t address)
{
	uint32_t i = client_segments_find(s, address);
	struct client_segment tail;

	if (i == s->nr || s->segment[i].start >= address)
		return;
	tail = s->segment[i];
	tail.start = address;
	s->segment[i].end = address;
	insert(s, i + 1, tail);
}

/* Joins neighbours with the same count, from the one before @from to the one behind @end. */
static void join(struct client_segments *s, uint64_t from, uint64_t end)
{
	uint32_t i = client_segments_find(s, from ? from - 1 : 0);

	while (i + 1 < s->nr && s->segment[i].start <= end) {
		struct client_segment *a = &s->segment[i], *b = a + 1;

		if (a->end == b->start && a->refs == b->refs) {
			a->end = b->end;
			erase(s, i + 1);
		} else {
			i++;
		}
	}
}

/* How many segments adding a range can create. */
static uint32_t worst(const struct client_segments *s, uint64_t start, uint64_t end)
{
	uint32_t i = client_segments_find(s, start), n = 3;

	for (; i < s->nr && s->segment[i].start < end; i++)
		n++;
	return n;
}

int client_segments_add(struct client_segments *s, uint64_t start, uint64_t end)
{
	uint64_t at = start;

	if (worst(s, start, end) > CLIENT_SEGMENTS_MAX - s->nr)
		return -ENOMEM;
	split(s, start);
	split(s, end);
	for (uint32_t i = client_segments_find(s, start); at < end; i++) {
		uint64_t stop = i < s->nr && s->segment[i].start < end ? s->segment[i].start : end;

		if (stop > at)
			insert(s, i, (struct client_segment){ .start = at, .end = stop });
		s->segment[i].refs++;
		at = s->segment[i].end;
	}
	join(s, start, end);
	return 0;
}

void client_segments_remove(struct client_segments *s, uint64_t start, uint64_t end,
			    client_segments_gone *gone)
{
	uint32_t i;

	if (CLIENT_SEGMENTS_MAX - s->nr >= 2) {
		split(s, start);
		split(s, end);
	}
	i = client_segments_find(s, start);
	while (i < s->nr && s->segment[i].start < end) {
		struct client_segment *g = &s->segment[i];

		/* A segment that could not be split stays shared for longer than needed. */
		if (g->start < start || g->end > end || --g->refs) {
			i++;
			continue;
		}
		gone(g->start, g->end);
		erase(s, i);
	}
	join(s, start, end);
}
