// SPDX-License-Identifier: MIT
#include "levels.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double device_ns(const struct levels_job *j)
{
	return (double)(j->end_ns - j->begin_ns);
}

static double wall_ns(const struct levels_job *j)
{
	return (double)j->wall_ns;
}

/* The value that a share @q of the jobs does not exceed; -1: there are none. */
static double quantile(const struct levels_jobs *jobs, double (*ns)(const struct levels_job *j),
		       double q)
{
	static const double none = -1;
	double *v = jobs->nr ? malloc(jobs->nr * sizeof(*v)) : NULL, result;
	size_t rank = (size_t)ceil(q * (double)jobs->nr);

	if (!v)
		return none;
	for (size_t i = 0; i < jobs->nr; i++)
		v[i] = ns(&jobs->job[i]);
	qsort(v, jobs->nr, sizeof(*v), by_size);
	result = v[rank ? rank - 1 : 0];
	free(v);
	return result;
}

static void set_ms(json_t *row, const char *name, const char *what, double ns)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_%s_ms", name, what);
	json_object_set_new(row, key, ns < 0 ? json_null() : json_real(ns / GP__MS));
}

void levels_set_latency(json_t *row, const char *name, const struct levels_jobs *jobs)
{
	set_ms(row, name, "p50", quantile(jobs, device_ns, 0.50));
	set_ms(row, name, "p99", quantile(jobs, device_ns, 0.99));
	set_ms(row, name, "wall_p50", quantile(jobs, wall_ns, 0.50));
}

static double ratio(const struct levels_jobs *low, const struct levels_jobs *high,
		    double (*ns)(const struct levels_job *j))
{
	double l = quantile(low, ns, 0.50), h = quantile(high, ns, 0.50);

	return l > 0 && h > 0 ? l / h : 0;
}

double levels_ratio(const struct levels_jobs *low, const struct levels_jobs *high)
{
	return ratio(low, high, device_ns);
}

double levels_wall_ratio(const struct levels_jobs *low, const struct levels_jobs *high)
{
	return ratio(low, high, wall_ns);
}

uint64_t levels_ready_ns(const struct levels_jobs *a, const struct levels_jobs *b, uint64_t end_ns)
{
	uint64_t ready = 0, covered = 0;
	size_t i = 0, k = 0;

	while (i < a->nr_all || k < b->nr_all) {
		bool of_a = k == b->nr_all ||
			    (i < a->nr_all && a->job[i].begin_ns < b->job[k].begin_ns);
		const struct levels_job *j = of_a ? &a->job[i++] : &b->job[k++];
		uint64_t from = j->begin_ns > covered ? j->begin_ns : covered;
		uint64_t to = j->end_ns < end_ns ? j->end_ns : end_ns;

		if (to <= from)
			continue;
		ready += to - from;
		covered = to;
	}
	return ready;
}
