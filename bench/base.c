// SPDX-License-Identifier: MIT
/*
 * Measures the building blocks: reading the clock, recording a sample, and a
 * round trip to another thread by futex or eventfd.
 *
 * "hot" is one call among many, "cold" a single one after the caches were filled
 * with other data (for a round trip: after 2 ms of sleep, so that the other
 * thread's core has gone idle).
 */
#include "benches.h"
#include "pingpong.h"

#include "base/clock.h"
#include "base/hist.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>

static int read_clock(void *arg, uint64_t times)
{
	volatile uint64_t *sink = arg;

	while (times--)
		*sink = gp__clock_ns();
	return 0;
}

static int record(void *arg, uint64_t times)
{
	struct gp__hist *h = arg;
	uint64_t value = 1;

	while (times--) {
		value = value * 6364136223846793005u + 1442695040888963407u;
		gp__hist_record(h, value >> (value & 63));
	}
	return 0;
}

static void let_partner_sleep(void *arg)
{
	(void)arg;
	gp__sleep_ns(2 * GP__MS);
}

static void add_row(struct gp__bench_run *run, const char *what, const char *state,
		    const struct gp__stats *ns)
{
	json_t *row = json_pack("{s:s, s:s}", "what", what, "state", state);

	gp__bench_set(row, "time", "ns", ns);
	gp__bench_set(row, "ratio", "", &(struct gp__stats){ .n = 0 });
	gp__bench_row(run, row);
}

static int measure(struct gp__bench_run *run, const char *what, gp__bench_fn *fn,
		   void (*before)(void *arg), void *arg)
{
	struct gp__stats ns;
	int err;

	err = gp__bench_hot(run, fn, arg, &ns);
	if (err)
		return gp__bench_fail(run, err, "%s", what);
	add_row(run, what, "hot", &ns);
	err = gp__bench_cold(run, fn, before, arg, &ns);
	if (err)
		return gp__bench_fail(run, err, "%s", what);
	add_row(run, what, "cold", &ns);
	return 0;
}

static int compare_wakes(struct gp__bench_run *run, struct pingpong *futex, struct pingpong *event)
{
	struct gp__bench_pair pair;
	int err;
	json_t *row;

	err = gp__bench_compare(run, pingpong_round_trip, futex, pingpong_round_trip, event, &pair);
	if (err)
		return gp__bench_fail(run, err, "comparing futex with eventfd");
	row = json_pack("{s:s, s:s}", "what", "futex/eventfd", "state", "pairs");
	gp__bench_set(row, "time", "ns", &pair.a_ns);
	gp__bench_set(row, "ratio", "", &pair.ratio);
	gp__bench_row(run, row);
	return 0;
}

static int measure_wakes(struct gp__bench_run *run)
{
	struct pingpong futex, event;
	int err;

	err = pingpong_start(&futex, true);
	if (err)
		return gp__bench_fail(run, err, "starting a thread");
	err = pingpong_start(&event, false);
	if (err) {
		gp__bench_fail(run, err, "starting a thread");
		goto out;
	}
	err = measure(run, "futex round trip", pingpong_round_trip, let_partner_sleep, &futex);
	if (!err)
		err = measure(run, "eventfd round trip", pingpong_round_trip, let_partner_sleep,
			      &event);
	if (!err)
		err = compare_wakes(run, &futex, &event);
	pingpong_end(&event);
out:
	pingpong_end(&futex);
	return err;
}

int bench_base(struct gp__bench_run *run)
{
	struct gp__hist *h = calloc(1, sizeof(*h));
	uint64_t sink;
	int err;

	if (!h)
		return -ENOMEM;
	err = measure(run, "clock read", read_clock, NULL, &sink);
	if (!err)
		err = measure(run, "histogram record", record, NULL, h);
	if (!err)
		err = measure_wakes(run);
	free(h);
	return err;
}
