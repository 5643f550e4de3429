// SPDX-License-Identifier: MIT
/*
 * Computes the figures of a mode.
 *
 * Latencies are measured by two clocks. Wall time is that of the host. Device time is what the GPU
 * executed, for any program, between the arrival of a request and its answer while the online
 * program had work on the GPU or waiting for it. What the GPU does for others while a request is
 * with the host's processor does not delay it: on a busy host that would be most of the time.
 *
 * Steps are counted in wall time, because the cost of a scheduler includes time in which the GPU is
 * idle. To be independent of the load of the host, wall time is scaled to the speed of the host
 * while the offline program was alone: the trace tells how much device time was emulated while the
 * GPU was busy.
 */
#include "cli/demo.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

uint64_t demo_device_ns(const struct demo_mode *m, const struct demo_request *r)
{
	return demo_busy_for_at(m, r->device_answered) - demo_busy_for_at(m, r->device_arrived);
}

/*
 * Latency
 */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the values and returns a percentile. */
static double quantile(double *values, size_t n, size_t percent)
{
	if (!n)
		return 0;
	qsort(values, n, sizeof(*values), compare);
	return values[(n * percent + 99) / 100 - 1];
}

typedef uint64_t measure_fn(const struct demo_mode *m, const struct demo_request *r);

static uint64_t wall_ns(const struct demo_mode *m, const struct demo_request *r)
{
	(void)m;
	return r->answered - r->arrived;
}

static uint64_t first_ns(const struct demo_mode *m, const struct demo_request *r)
{
	(void)m;
	return r->first - r->arrived;
}

static uint64_t first_device_ns(const struct demo_mode *m, const struct demo_request *r)
{
	return demo_busy_for_at(m, r->device_first) - demo_busy_for_at(m, r->device_arrived);
}

static void take_quantiles(const struct demo_mode *m, measure_fn *measure, double *p50, double *p99)
{
	size_t n = m->requests.n;
	double *values = calloc(n ? n : 1, sizeof(*values));

	if (!values)
		return;
	for (size_t i = 0; i < n; i++)
		values[i] = (double)measure(m, &m->requests.at[i]);
	*p50 = quantile(values, n, 50);
	*p99 = n >= DEMO_P99_REQUESTS ? quantile(values, n, 99) : 0;
	free(values);
}

/* The tokens after the first one: their rate, and the device time of each. */
static void make_token_speed(struct demo_mode *m)
{
	double tokens = 0, wall = 0, device = 0;

	for (size_t i = 0; i < m->requests.n; i++) {
		const struct demo_request *r = &m->requests.at[i];

		if (r->tokens < 2)
			continue;
		tokens += (double)(r->tokens - 1);
		wall += (double)(r->answered - r->first);
		device += (double)(demo_busy_for_at(m, r->device_answered) -
				   demo_busy_for_at(m, r->device_first));
	}
	if (wall > 0) {
		m->figures.tokens_per_s = tokens / wall * GP__S;
		m->figures.token_device_ns = device / tokens;
	}
}

static void make_latency(struct demo_mode *m)
{
	struct demo_figures *f = &m->figures;

	f->has_p99 = m->requests.n >= DEMO_P99_REQUESTS;
	take_quantiles(m, wall_ns, &f->p50_ms, &f->p99_ms);
	f->p50_ms /= GP__MS;
	f->p99_ms /= GP__MS;
	take_quantiles(m, demo_device_ns, &f->p50_device_ns, &f->p99_device_ns);
	if (!m->requests.n || !m->requests.at[0].tokens)
		return;
	take_quantiles(m, first_ns, &f->first_p50_ms, &f->first_p99_ms);
	f->first_p50_ms /= GP__MS;
	f->first_p99_ms /= GP__MS;
	take_quantiles(m, first_device_ns, &f->first_p50_device_ns, &f->first_p99_device_ns);
	make_token_speed(m);
}

/*
 * Steps
 */

/* The time in which both programs ran, or the offline one was alone. */
static struct demo_span window_of(const struct demo_mode *m)
{
	const struct demo_requests *r = &m->requests;
	const struct demo_steps *s = &m->steps;

	if (m->apart && s->n)
		return (struct demo_span){ s->at[0].ended, s->at[s->n - 1].ended };
	if (!m->apart && r->n)
		return (struct demo_span){ r->at[0].arrived, r->at[r->n - 1].answered };
	return (struct demo_span){ 0 };
}

/* The speed of the emulation, and the length of the window at that speed, in device time. */
struct pace {
	double speed, device_ns;
};

static struct pace pace_of(const struct demo_mode *m, struct demo_span window)
{
	struct demo_busy from = demo_busy_until(m, window.from), to = demo_busy_until(m, window.to);
	double device = to.device - from.device, host = to.host - from.host;
	double idle = (double)(window.to - window.from) - host;
	struct pace p = { 0 };

	if (host <= 0)
		return p;
	p.speed = device / host;
	p.device_ns = device + idle * p.speed;
	return p;
}

/* From the end of the first step in the window to that of the last. */
static struct demo_span span_of_steps(const struct demo_mode *m, struct demo_span window, size_t *n)
{
	struct demo_span span = { 0 };

	*n = 0;
	for (size_t i = 0; i < m->steps.n; i++) {
		uint64_t at = m->steps.at[i].ended;

		if (at < window.from || at > window.to)
			continue;
		span.from = (*n)++ ? span.from : at;
		span.to = at;
	}
	return span;
}

/* The part of the GPU's time that requests take when they are alone. */
static double online_share(const struct demo_mode *m, const struct demo_mode *alone,
			   double device_ns)
{
	uint64_t took = 0;

	if (m->apart || !alone->requests.n || device_ns <= 0)
		return 0;
	for (size_t i = 0; i < alone->requests.n; i++)
		took += demo_device_ns(alone, &alone->requests.at[i]);
	return (double)took / (double)alone->requests.n * (double)m->requests.n / device_ns;
}

static void make_steps(struct demo_mode *m, const struct demo_mode *alone)
{
	struct demo_span window = window_of(m), steps;
	double left = 1 - online_share(m, alone, pace_of(m, window).device_ns), took;
	size_t n;

	steps = span_of_steps(m, window, &n);
	took = pace_of(m, steps).device_ns;
	if (n < 2 || took <= 0)
		return;
	m->figures.steps_per_s =
		(double)(n - 1) / took * pace_of(alone, window_of(alone)).speed * GP__S;
	if (alone->figures.steps_per_s > 0 && left > 0)
		m->figures.kept_pct =
			100 * m->figures.steps_per_s / (alone->figures.steps_per_s * left);
}

static bool are_steps_identical(const struct demo_steps *got, const struct demo_steps *expected)
{
	for (size_t i = 0; i < got->n; i++) {
		if (i >= expected->n || got->at[i].digest != expected->at[i].digest)
			return false;
	}
	return got->n;
}

/* Answers of a model have digests; the demo's own server checks its answers itself. */
static bool are_answers_identical(const struct demo_requests *got,
				  const struct demo_requests *expected)
{
	for (size_t i = 0; i < got->n; i++) {
		if (!got->at[i].tokens)
			continue;
		if (i >= expected->n || got->at[i].digest != expected->at[i].digest)
			return false;
	}
	return true;
}

void demo_figures_make(struct demo_mode *m, const struct demo_mode *alone,
		       const struct demo_mode *host)
{
	make_latency(m);
	m->figures.x_alone = alone->figures.p99_device_ns > 0
				     ? m->figures.p99_device_ns / alone->figures.p99_device_ns
				     : 0;
	make_steps(m, alone);
	m->figures.identical = are_steps_identical(&m->steps, &host->steps) &&
			       are_answers_identical(&m->requests, &host->requests);
	m->figures.preemptions = m->held.n;
}

bool demo_is_better(const struct demo_mode *modes, size_t n, double *native, double *lv3)
{
	*native = *lv3 = 0;
	for (size_t i = 0; i < n; i++) {
		if (*modes[i].unsupported || !modes[i].figures.has_p99)
			continue;
		if (!strcmp(modes[i].name, "native"))
			*native = modes[i].figures.x_alone;
		else if (!strcmp(modes[i].name, "lv3"))
			*lv3 = modes[i].figures.x_alone;
	}
	return *native <= 0 || *lv3 <= 0 || *lv3 < *native;
}

void demo_mode_free(struct demo_mode *m)
{
	free(m->requests.at);
	free(m->steps.at);
	free(m->gpu.at);
	free(m->programs.at);
	free(m->work.at);
	free(m->held.at);
	for (int i = 0; i < DEMO_PROGRAMS; i++)
		free(m->on[i].at);
}
