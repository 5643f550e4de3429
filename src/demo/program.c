/* SPDX-License-Identifier: MIT */
#include "program.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hsa_lab.h"

#define SECOND 1000000000u

static uint64_t number(const char *name, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(optarg, &end, 10);
	lab_check(!errno && end != optarg && !*end && *optarg != '-' && value >= min &&
			  value <= max,
		  "--%s: '%s' is no number from %" PRIu64 " to %" PRIu64, name, optarg, min, max);
	return value;
}

static uint64_t duration(const char *name)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "us", 1000 }, { "ms", 1000000 }, { "s", SECOND } };
	char *end;
	unsigned long value = strtoul(optarg, &end, 10);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (end != optarg && !strcmp(end, units[i].name) && value <= UINT32_MAX)
			return value * units[i].ns;
	}
	lab_fail("--%s: '%s' is not a time such as 20ms", name, optarg);
}

static void take(const struct program_option *o)
{
	if (o->flag)
		*o->flag = true;
	else if (o->number)
		*o->number = number(o->name, o->min, o->max);
	else if (o->duration_ns)
		*o->duration_ns = duration(o->name);
	else
		*o->text = optarg;
}

void program_options(const struct program_option *known, size_t n, int argc, char **argv,
		     const char *usage)
{
	struct option names[PROGRAM_OPTIONS_MAX + 1] = { 0 };
	int which = 0, c;

	lab_check(n <= PROGRAM_OPTIONS_MAX, "too many options");
	for (size_t i = 0; i < n; i++)
		names[i] = (struct option){ .name = known[i].name, .has_arg = !known[i].flag };
	while ((c = getopt_long(argc, argv, "", names, &which)) == 0)
		take(&known[which]);
	lab_check(c == -1, "usage: %s", usage);
	lab_check(optind == argc, "unknown argument '%s'", argv[optind]);
}

uint64_t program_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

void program_sleep_until(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / SECOND), (long)(ns % SECOND) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

void program_times_add(struct program_times *t, uint64_t ns)
{
	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 1024;
		t->ns = realloc(t->ns, t->room * sizeof(*t->ns));
		lab_check(t->ns, "no memory");
	}
	t->ns[t->n++] = ns;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* In microseconds: the value that @percent of the sorted samples do not exceed. */
static double quantile(const struct program_times *t, size_t percent)
{
	return (double)t->ns[(t->n * percent + 99) / 100 - 1] / 1e3;
}

static void sort(struct program_times *t)
{
	qsort(t->ns, t->n, sizeof(*t->ns), compare);
}

void program_times_print(struct program_times *t, const char *what)
{
	if (!t->n)
		return;
	sort(t);
	printf("%s: p50 %.3f ms, p99 %.3f ms, max %.3f ms\n", what, quantile(t, 50) / 1e3,
	       quantile(t, 99) / 1e3, quantile(t, 100) / 1e3);
}

json_t *program_times_json(struct program_times *t)
{
	if (!t->n)
		return json_null();
	sort(t);
	return json_pack("{s:f, s:f, s:f}", "p50_us", quantile(t, 50), "p99_us", quantile(t, 99),
			 "max_us", quantile(t, 100));
}

void program_print(json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
}
