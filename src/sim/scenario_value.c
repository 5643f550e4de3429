// SPDX-License-Identifier: MIT
#include "sim/scenario_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define MAX_WORDS 4
#define WORD_LEN 200
#define MAX_SIGMA 5.0

struct words {
	char text[WORD_LEN];
	char *v[MAX_WORDS];
	int n;
};

/* More words than MAX_WORDS count as MAX_WORDS, which no value has. */
static int split(const char *s, struct words *words)
{
	char *rest, *word;

	if (strlen(s) >= sizeof(words->text))
		return -EINVAL;
	strcpy(words->text, s);
	words->n = 0;
	for (word = strtok_r(words->text, " \t", &rest); word && words->n < MAX_WORDS;
	     word = strtok_r(NULL, " \t", &rest))
		words->v[words->n++] = word;
	return words->n ? 0 : -EINVAL;
}

static int parse_time(const char *s, uint64_t min, uint64_t *ns)
{
	uint64_t value;
	int err = gp__parse_duration(s, &value);

	if (err)
		return err;
	if (value < min || value > GP__TIME_MAX_NS)
		return -ERANGE;
	*ns = value;
	return 0;
}

static int parse_fixed(char **arg, struct gp__dist *dist)
{
	dist->kind = GP__DIST_FIXED;
	return parse_time(arg[0], 0, &dist->a_ns);
}

static int parse_uniform(char **arg, struct gp__dist *dist)
{
	int err;

	dist->kind = GP__DIST_UNIFORM;
	err = parse_time(arg[0], 0, &dist->a_ns);
	return err ? err : parse_time(arg[1], dist->a_ns, &dist->b_ns);
}

static int parse_lognormal(char **arg, struct gp__dist *dist)
{
	int err;

	dist->kind = GP__DIST_LOGNORMAL;
	err = parse_time(arg[0], 1, &dist->a_ns);
	return err ? err : gp__parse_double(arg[1], 0, MAX_SIGMA, &dist->sigma);
}

static int parse_exp(char **arg, struct gp__dist *dist)
{
	dist->kind = GP__DIST_EXP;
	return parse_time(arg[0], 1, &dist->a_ns);
}

static const struct {
	const char *name;
	int n_args;
	int (*parse)(char **arg, struct gp__dist *dist);
} dists[] = {
	{ "fixed", 1, parse_fixed },
	{ "uniform", 2, parse_uniform },
	{ "lognormal", 2, parse_lognormal },
	{ "exp", 1, parse_exp },
};

static int parse_dist_words(struct words *words, struct gp__dist *dist)
{
	if (words->n == 1)
		return parse_fixed(words->v, dist);
	for (size_t i = 0; i < sizeof(dists) / sizeof(dists[0]); i++) {
		if (!strcmp(words->v[0], dists[i].name) && words->n == dists[i].n_args + 1)
			return dists[i].parse(words->v + 1, dist);
	}
	return -EINVAL;
}

int gp__parse_dist(const char *s, struct gp__dist *dist)
{
	struct gp__dist value = { 0 };
	struct words words;
	int err;

	err = split(s, &words);
	if (err)
		return err;
	err = parse_dist_words(&words, &value);
	if (err)
		return err;
	*dist = value;
	return 0;
}

/* "50/s" is one in 20 ms on average. */
static int parse_rate(char *s, uint64_t *mean_ns)
{
	static const struct {
		const char *name;
		double ns;
	} per[] = { { "s", 1e9 }, { "min", 60e9 }, { "h", 3600e9 } };
	char *slash = strchr(s, '/');
	double rate, mean;
	int err;

	if (!slash)
		return -EINVAL;
	*slash = '\0';
	for (size_t i = 0; i < sizeof(per) / sizeof(per[0]); i++) {
		if (strcmp(slash + 1, per[i].name))
			continue;
		err = gp__parse_double(s, 1e-6, 1e9, &rate);
		if (err)
			return err;
		mean = per[i].ns / rate;
		if (mean < 1.0 || mean > (double)GP__TIME_MAX_NS)
			return -ERANGE;
		*mean_ns = (uint64_t)(mean + 0.5);
		return 0;
	}
	return -EINVAL;
}

static int parse_periodic(char *arg, struct gp__arrivals *arrivals)
{
	arrivals->kind = GP__ARRIVALS_PERIODIC;
	arrivals->interval.kind = GP__DIST_FIXED;
	return parse_time(arg, 1, &arrivals->interval.a_ns);
}

static int parse_poisson(char *arg, struct gp__arrivals *arrivals)
{
	arrivals->kind = GP__ARRIVALS_POISSON;
	arrivals->interval.kind = GP__DIST_EXP;
	return parse_rate(arg, &arrivals->interval.a_ns);
}

static int parse_trace(const char *list, struct gp__arrivals *arrivals)
{
	uint64_t last = 0, *trace;
	char element[WORD_LEN];
	int err;

	arrivals->kind = GP__ARRIVALS_TRACE;
	if (arrivals->n_trace)
		last = arrivals->trace_ns[arrivals->n_trace - 1];
	while (!(err = gp__next_element(&list, element, sizeof(element)))) {
		err = parse_time(element, last, &last);
		if (err)
			return err;
		trace = gp__grow(arrivals->trace_ns, arrivals->n_trace, sizeof(*trace));
		if (!trace)
			return -ENOMEM;
		arrivals->trace_ns = trace;
		trace[arrivals->n_trace++] = last;
	}
	return err == -ENOENT ? 0 : err;
}

int gp__parse_arrivals(const char *s, struct gp__arrivals *arrivals)
{
	struct words words;
	int err;

	/* A list may have blanks after its commas, so a trace is not split into words. */
	if (!strncmp(s, "trace", 5) && (s[5] == ' ' || s[5] == '\t'))
		return strlen(s) < WORD_LEN ? parse_trace(s + 6, arrivals) : -EINVAL;
	err = split(s, &words);
	if (err)
		return err;
	if (words.n == 1 && !strcmp(words.v[0], "closed")) {
		arrivals->kind = GP__ARRIVALS_CLOSED;
		return 0;
	}
	if (words.n != 2)
		return -EINVAL;
	if (!strcmp(words.v[0], "periodic"))
		return parse_periodic(words.v[1], arrivals);
	if (!strcmp(words.v[0], "poisson"))
		return parse_poisson(words.v[1], arrivals);
	return -EINVAL;
}

int gp__parse_levels(const char *s, uint32_t *levels)
{
	uint32_t bits = 0;
	char element[8];
	uint64_t level;
	int err;

	while (!(err = gp__next_element(&s, element, sizeof(element)))) {
		err = gp__parse_u64(element, 1, 3, &level);
		if (err)
			return err;
		bits |= 1u << level;
	}
	if (err != -ENOENT)
		return err;
	*levels = bits;
	return 0;
}

int gp__next_element(const char **list, char *buf, size_t size)
{
	static const char blanks[] = " \t";
	const char *s = *list;
	size_t len, span;

	if (!s)
		return -ENOENT;
	s += strspn(s, blanks);
	span = len = strcspn(s, ",");
	while (len && strchr(blanks, s[len - 1]))
		len--;
	if (!len || len >= size)
		return -EINVAL;
	memcpy(buf, s, len);
	buf[len] = '\0';
	*list = s[span] ? s + span + 1 : NULL;
	return 0;
}

void *gp__grow(void *array, size_t n, size_t size)
{
	if (n & (n - 1))
		return array;
	return reallocarray(array, n ? 2 * n : 1, size);
}
