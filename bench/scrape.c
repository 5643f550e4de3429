// SPDX-License-Identifier: MIT
/*
 * Measures a scrape of the metrics with 200 programs and 2,000 queues, and what a scrape every
 * second costs the decisions. A scrape is what the daemon's thread that serves metrics does: it
 * connects, asks, and turns the answer into text. Every program has a name of its own, so the user
 * has as many time series as one may have.
 */
#include "benches.h"
#include "hall.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/latency.h"
#include "base/stats.h"
#include "metrics/metrics.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define GPUS 8
#define SCRAPES_PER_REPEAT 5
#define PAIRS 20
#define QUICK_PAIRS 2
#define PERIOD_NS GP__S
#define QUICK_PERIOD_NS (100 * GP__MS)

struct scrapes {
	const char *socket;
	struct gp__hist answer_ns, text_ns, all_ns;
	size_t bytes; /* of the latest */
	int err;
};

static int scrape(struct scrapes *s)
{
	u64 begin = gp__clock_ns(), answered, end;
	char why[GP__WIRE_TEXT_MAX], *answer, *text = NULL;
	int fd = gp__wire_control(s->socket, why), err;
	json_t *document;

	if (fd < 0)
		return fd;
	err = gp__wire_ask(fd, "{\"op\":\"metrics\"}", &answer);
	close(fd);
	if (err)
		return err;
	answered = gp__clock_ns();
	document = json_loads(answer, 0, NULL);
	if (document)
		text = gp__metrics_text(document, &s->bytes);
	end = gp__clock_ns();
	gp__hist_record(&s->answer_ns, answered - begin);
	gp__hist_record(&s->text_ns, end - answered);
	gp__hist_record(&s->all_ns, end - begin);
	err = text ? 0 : -ENOMEM;
	json_decref(document);
	free(answer);
	free(text);
	return err;
}

static int scrape_at_rest(struct gp__bench_run *run, struct scrapes *s)
{
	unsigned int n = gp__bench_repeats(run) * SCRAPES_PER_REPEAT;
	json_t *row;
	int err = scrape(s);

	/* The first one has cold caches. */
	s->answer_ns = s->text_ns = s->all_ns = (struct gp__hist){ 0 };
	while (!err && n--)
		err = scrape(s);
	if (err)
		return err;
	row = json_pack("{s:i, s:i, s:i}", "programs", (int)HALL_PROGRAMS, "queues",
			(int)(HALL_PROGRAMS * HALL_QUEUES), "gpus", GPUS);
	gp__json_set_u64(row, "scrapes", true, s->all_ns.count);
	gp__json_set_quantile_us(row, "answer_p50_us", &s->answer_ns, 0.5);
	gp__json_set_quantile_us(row, "text_p50_us", &s->text_ns, 0.5);
	gp__json_set_quantile_us(row, "scrape_p50_us", &s->all_ns, 0.5);
	gp__json_set_quantile_us(row, "scrape_max_us", &s->all_ns, 1);
	gp__json_set_u64(row, "text_bytes", true, s->bytes);
	gp__bench_row(run, row);
	return 0;
}

/*
 * Beside decisions
 */

static void *scrape_once(void *data)
{
	struct scrapes *s = data;

	gp__prefer_others(); /* as the daemon's thread does */
	s->err = scrape(s);
	return NULL;
}

/* The median time of the orders to hold in a period, with a scrape in it or without. */
static int play_period(struct hall *h, struct scrapes *s, bool scrapes, u64 ns, double *median_us)
{
	u64 end = gp__clock_ns() + ns, median;
	pthread_t thread;
	int err = 0;

	hall_forget(h);
	if (scrapes)
		err = -pthread_create(&thread, NULL, scrape_once, s);
	if (err)
		return err;
	while (!err && gp__clock_ns() < end)
		err = hall_play(h);
	if (scrapes) {
		pthread_join(thread, NULL);
		err = err ? err : s->err;
	}
	if (!err)
		err = gp__hist_quantile(&h->figures[HALL_STOPS].decided_ns, 0.5, &median);
	if (!err)
		*median_us = (double)median / 1e3;
	return err;
}

static int play_pair(struct hall *h, struct scrapes *s, u32 number, u64 ns, double *ratio)
{
	bool first = number % 2;
	double median[2];
	int err = play_period(h, s, first, ns, &median[first]);

	if (!err)
		err = play_period(h, s, !first, ns, &median[!first]);
	if (!err)
		*ratio = median[1] / median[0];
	return err;
}

static int scrape_beside_decisions(struct gp__bench_run *run, struct hall *h, struct scrapes *s)
{
	u64 period = gp__bench_quick(run) ? QUICK_PERIOD_NS : PERIOD_NS;
	u32 pairs = gp__bench_quick(run) ? QUICK_PAIRS : PAIRS, n = 0;
	double ratio[PAIRS];
	struct gp__stats stats;
	json_t *o = json_object();
	int err = 0;

	while (!err && n < pairs && gp__bench_left_ns(run) > 2 * period) {
		err = play_pair(h, s, n, period, &ratio[n]);
		n++;
	}
	if (err)
		return gp__bench_fail(run, err, "pair %u", n);
	if (n < pairs)
		gp__bench_cut_short(run);
	err = gp__stats_of(ratio, n, &stats);
	if (err)
		return err;
	gp__json_set_u64(o, "pairs", true, n);
	gp__json_set_real(o, "ratio", true, stats.median);
	gp__json_set_real(o, "ratio_lo", stats.has_ci, stats.ci_lo);
	gp__json_set_real(o, "ratio_hi", stats.has_ci, stats.ci_hi);
	gp__bench_summary(run, "decisions", o,
			  "beside a scrape every second, the median decision takes %.3f times as "
			  "long (%.3f to %.3f, %u pairs)",
			  stats.median, stats.has_ci ? stats.ci_lo : stats.min,
			  stats.has_ci ? stats.ci_hi : stats.max, n);
	return 0;
}

int bench_scrape(struct gp__bench_run *run)
{
	struct hall *h = malloc(sizeof(*h));
	struct scrapes *s = calloc(1, sizeof(*s));
	int err = h && s ? 0 : -ENOMEM;

	if (err)
		goto out;
	gp__prefer_latency(); /* like agents */
	err = hall_open(h, run, GPUS);
	s->socket = h->daemon.socket;
	if (!err) {
		err = scrape_at_rest(run, s);
		if (err)
			gp__bench_fail(run, err, "the metrics cannot be had");
	}
	if (!err)
		err = scrape_beside_decisions(run, h, s);
	hall_close(h);
out:
	free(s);
	free(h);
	return err;
}
