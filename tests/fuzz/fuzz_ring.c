// SPDX-License-Identifier: MIT
/*
 * Whatever a program writes into the memory of a queue: reading ends, only what the program has is
 * read, and a ring that does not change any more does not stay busy.
 */
#include <stdlib.h>
#include <string.h>

#include "aql/ring.h"

#define WORDS 64
#define ROUNDS_MAX 3

struct input {
	const uint8_t *data;
	size_t size;
};

struct memory {
	uint64_t word[WORDS];
	unsigned int reads;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t next(struct input *in)
{
	if (!in->size)
		return 0;
	in->size--;
	return *in->data++;
}

static bool read_memory(void *data, uint64_t address, void *to, size_t bytes)
{
	struct memory *m = data;

	m->reads++;
	if (address > sizeof(m->word) - bytes)
		return false;
	memcpy(to, (const uint8_t *)m->word + address, bytes);
	return true;
}

static void look(struct gp__ring *ring, const struct gp__ring_place *place, struct memory *m,
		 int waves, uint64_t now)
{
	static const struct gp__ring_patience patience = { 10, 100, 1000, 30000 };
	const struct gp__ring_reader from = { read_memory, m };
	struct gp__ring_reading reading;

	m->reads = 0;
	gp__ring_begin(&reading, ring, place, true, true);
	gp__ring_read(&reading, &from);
	if (m->reads > ROUNDS_MAX * GP__RING_WORDS || gp__ring_next(&reading))
		abort();
	if (gp__ring_asks_waves(ring, &reading.sight, &patience, now))
		reading.sight.waves = waves;
	gp__ring_look(ring, &reading.sight, &patience, now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct memory m = { 0 };
	struct gp__ring ring = { 0 };
	struct gp__ring_place place = { .ring = 16,
					.bytes = 64 * (next(&in) % 8),
					.read_index = next(&in),
					.write_index = next(&in),
					.kind = next(&in) % 3 };
	uint64_t now = 1;

	while (in.size) {
		uint64_t value = next(&in);

		if (next(&in) & 1)
			value = (uint64_t)(int8_t)value;
		m.word[next(&in) % WORDS] = value;
		now += 1ull << next(&in) % 16;
		look(&ring, &place, &m, next(&in) % 3 - 1, now);
	}
	for (int i = 0; i < 100; i++)
		look(&ring, &place, &m, i % 2 - 1, now += 1000);
	if (ring.is_busy)
		abort();
	return 0;
}
