// SPDX-License-Identifier: MIT
/* Measures the decisions of gpreemptd with 200 programs and 2,000 queues, on one GPU and on eight.
 */
#include "benches.h"
#include "hall.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/latency.h"

#include <errno.h>
#include <stdlib.h>

#define ROUNDS_PER_REPEAT 5
#define QUICK_ROUNDS 10

static void add_rows(struct hall *h)
{
	static const char *const kinds[HALL_KINDS] = { [HALL_STOPS] = "stop", [HALL_RUNS] = "run" };

	for (int k = 0; k < HALL_KINDS; k++) {
		const struct hall_figures *f = &h->figures[k];
		json_t *row = json_pack("{s:i, s:i, s:i, s:s}", "programs", (int)HALL_PROGRAMS,
					"queues", (int)(HALL_PROGRAMS * HALL_QUEUES), "gpus",
					(int)h->nr_gpus, "order", kinds[k]);

		gp__json_set_u64(row, "decisions", true, f->decided_ns.count);
		gp__json_set_quantile_us(row, "decided_p50_us", &f->decided_ns, 0.5);
		gp__json_set_quantile_us(row, "decided_p99_us", &f->decided_ns, 0.99);
		gp__json_set_quantile_us(row, "decided_max_us", &f->decided_ns, 1);
		gp__json_set_quantile_us(row, "taken_p99_us", &f->taken_ns, 0.99);
		gp__bench_row(h->run, row);
	}
}

static int measure(struct gp__bench_run *run, struct hall *h, u32 nr_gpus, u64 budget_ns)
{
	unsigned int rounds = gp__bench_repeats(run) * ROUNDS_PER_REPEAT, n = 0;
	u64 end = gp__clock_ns() + budget_ns;
	int err;

	if (gp__bench_quick(run))
		rounds = QUICK_ROUNDS;
	err = hall_open(h, run, nr_gpus);
	while (!err && n < rounds && (!n || gp__clock_ns() < end)) {
		err = hall_play(h);
		n++;
	}
	hall_close(h);
	if (err)
		return gp__bench_fail(run, err, "%u GPUs, round %u", nr_gpus, n);
	if (n < rounds)
		gp__bench_cut_short(run);
	add_rows(h);
	return 0;
}

int bench_scale(struct gp__bench_run *run)
{
	static const u32 gpus[] = { 1, 8 };
	enum { SIZES = sizeof(gpus) / sizeof(gpus[0]) };
	struct hall *h = malloc(sizeof(*h));
	u64 late = 0;
	int err = h ? 0 : -ENOMEM;

	gp__prefer_latency(); /* like agents */
	for (u32 i = 0; !err && i < SIZES; i++) {
		err = measure(run, h, gpus[i], gp__bench_left_ns(run) / (SIZES - i));
		if (!err)
			late += h->figures[HALL_STOPS].late + h->figures[HALL_RUNS].late;
	}
	free(h);
	if (!err)
		gp__bench_summary(run, "later_than_10_ms", json_integer((json_int_t)late),
				  "%llu decisions were written later than after 10 ms",
				  (unsigned long long)late);
	return err;
}
