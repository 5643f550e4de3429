// SPDX-License-Identifier: MIT
/*
 * Random event sequences against the rules that must always hold (world_check.c checks them after
 * every event).
 *
 *	test_core_random [EVENTS [SEED]]
 *
 * Without SEED a fixed set of seeds is run, EVENTS (default 1,000,000) in all. A failure names the
 * rule, the seed and the number of events that lead there, and shows the end of the decision log;
 * the same seed fails the same way.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

#define TAIL 40
#define SEEDS 40

struct tail {
	char line[TAIL][GP__LOG_LINE_MAX];
	u64 nr;
	u64 hash;
};

static void keep(void *ctx, const struct gp__record *r)
{
	struct tail *t = ctx;
	char *line = t->line[t->nr++ % TAIL];
	size_t n = gp__record_format(r, line);

	while (n--)
		t->hash = (t->hash ^ (u8)line[n]) * 0x100000001b3ull;
}

static void show(const struct tail *t)
{
	u64 i = t->nr > TAIL ? t->nr - TAIL : 0;

	for (; i < t->nr; i++)
		fputs(t->line[i % TAIL], stderr);
}

static bool run(u64 seed, u64 events, struct tail *t, u64 *done)
{
	struct world *w = calloc(1, sizeof(*w));
	bool ok = true;

	if (!w)
		return false;
	memset(t, 0, sizeof(*t));
	world_init(w, seed);
	gp__core_log(&w->core, keep, t);
	while (ok && w->nr_events < events)
		ok = world_step(w);
	ok = ok && world_quiesce(w);
	*done += w->nr_events;
	if (!ok) {
		show(t);
		fprintf(stderr,
			"broken rule: %s\nseed %" PRIu64 ", policy %s, after %" PRIu64 " events\n",
			w->broken, seed, w->core.policy->name, w->nr_events);
	}
	free(w);
	return ok;
}

int main(int argc, char **argv)
{
	u64 events = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000, done = 0;
	static struct tail first, again;
	u64 seed;

	if (argc > 2)
		return run(strtoull(argv[2], NULL, 0), events, &first, &done) ? 0 : 1;
	for (seed = 1; seed <= SEEDS; seed++) {
		if (!run(seed, events / SEEDS, &first, &done))
			return 1;
	}
	/* The same events give the same actions. */
	if (!run(1, events / SEEDS, &first, &done) || !run(1, events / SEEDS, &again, &done) ||
	    first.hash != again.hash) {
		fprintf(stderr, "seed 1 did not repeat itself\n");
		return 1;
	}
	printf("%" PRIu64 " events with seeds 1 to %d: every rule held\n", done, SEEDS);
	return 0;
}
