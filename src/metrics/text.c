// SPDX-License-Identifier: MIT
#include "metrics/metrics.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/buckets.h"

#define LABELS_MAX 2048

/* The text that is being written. The labels of the row are formatted once for all its samples. */
struct text {
	FILE *f;
	const struct gp__metric *metric;
	char labels[LABELS_MAX];
};

static void put_escaped(FILE *f, const char *value)
{
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			fputc('\\', f);
		if (*value == '\n')
			fputs("\\n", f);
		else
			fputc(*value, f);
	}
}

/* For Prometheus, a label without a value is none. */
static void put_label(FILE *f, bool *first, const char *name, const json_t *value)
{
	if (!json_is_integer(value) && (!json_is_string(value) || !*json_string_value(value)))
		return;
	if (!*first)
		fputc(',', f);
	*first = false;
	fprintf(f, "%s=\"", name);
	if (json_is_integer(value))
		fprintf(f, "%lld", (long long)json_integer_value(value));
	else
		put_escaped(f, json_string_value(value));
	fputc('"', f);
}

static void format_labels(struct text *t, const json_t *row)
{
	const char *const *name = gp__scope_labels(t->metric->scope);
	FILE *f = fmemopen(t->labels, sizeof(t->labels), "w");
	bool first = true;

	t->labels[0] = '\0';
	if (!f)
		return;
	for (; *name; name++)
		put_label(f, &first, *name, json_object_get(row, *name));
	fclose(f);
}

static void begin_sample(const struct text *t, const char *suffix, const char *label,
			 const char *value)
{
	const char *comma = *t->labels && label ? "," : "";

	fprintf(t->f, "%s%s", t->metric->name, suffix);
	if (!*t->labels && !label)
		return;
	fprintf(t->f, "{%s%s", t->labels, comma);
	if (label) {
		fprintf(t->f, "%s=\"", label);
		put_escaped(t->f, value);
		fputc('"', t->f);
	}
	fputc('}', t->f);
}

/* Nanoseconds as seconds, without an error of rounding. */
static void put_seconds(FILE *f, uint64_t ns)
{
	fprintf(f, "%llu.%09llu", (unsigned long long)(ns / 1000000000u),
		(unsigned long long)(ns % 1000000000u));
}

static bool is_time(const char *member)
{
	size_t n = strlen(member);

	return n > 3 && !strcmp(member + n - 3, "_ns");
}

static void put_value(const struct text *t, const json_t *value)
{
	json_int_t n = json_integer_value(value);

	fputc(' ', t->f);
	if (is_time(t->metric->member))
		put_seconds(t->f, (uint64_t)n);
	else
		fprintf(t->f, "%lld", (long long)n);
	fputc('\n', t->f);
}

/* Prometheus' buckets have all samples up to their bound. */
static void put_histogram(const struct text *t, const json_t *histogram)
{
	const json_t *counts = json_object_get(histogram, "counts");
	uint64_t all = 0;
	char bound[32];

	for (size_t i = 0; i < GP__BUCKETS; i++) {
		all += (uint64_t)json_integer_value(json_array_get(counts, i));
		if (i == GP__BUCKETS - 1)
			snprintf(bound, sizeof(bound), "+Inf");
		else
			snprintf(bound, sizeof(bound), "%.10g", (double)gp__bucket_bound[i] / 1e9);
		begin_sample(t, "_bucket", "le", bound);
		fprintf(t->f, " %llu\n", (unsigned long long)all);
	}
	begin_sample(t, "_sum", NULL, NULL);
	fputc(' ', t->f);
	put_seconds(t->f, (uint64_t)json_integer_value(json_object_get(histogram, "sum_ns")));
	fputc('\n', t->f);
	begin_sample(t, "_count", NULL, NULL);
	fprintf(t->f, " %llu\n", (unsigned long long)all);
}

static void put_info(struct text *t, const json_t *labels)
{
	bool first = !*t->labels;
	const char *name;
	json_t *value;

	fprintf(t->f, "%s{%s", t->metric->name, t->labels);
	json_object_foreach ((json_t *)labels, name, value)
		put_label(t->f, &first, name, value);
	fputs("} 1\n", t->f);
}

static void put_row(struct text *t, const json_t *row)
{
	const json_t *member = json_object_get(row, t->metric->member);
	const char *name;
	json_t *value;

	if (!member || json_is_null(member))
		return;
	format_labels(t, row);
	if (t->metric->type == GP__METRIC_HISTOGRAM) {
		put_histogram(t, member);
	} else if (!t->metric->label) {
		begin_sample(t, "", NULL, NULL);
		put_value(t, member);
	} else if (!strcmp(t->metric->label, "*")) {
		put_info(t, member);
	} else {
		json_object_foreach ((json_t *)member, name, value) {
			begin_sample(t, "", t->metric->label, name);
			put_value(t, value);
		}
	}
}

static void put_metric(struct text *t, const json_t *document)
{
	static const char *const arrays[GP__SCOPES] = {
		[GP__SCOPE_GPU] = "gpus",
		[GP__SCOPE_CLASS] = "classes",
		[GP__SCOPE_PROGRAM] = "programs",
		[GP__SCOPE_USER] = "users",
	};
	const struct gp__metric *m = t->metric;
	json_t *row;
	size_t i;

	fprintf(t->f, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name,
		gp__metric_type_name(m->type));
	if (m->scope == GP__SCOPE_DAEMON) {
		put_row(t, json_object_get(document, "daemon"));
		return;
	}
	json_array_foreach (json_object_get(document, arrays[m->scope]), i, row)
		put_row(t, row);
}

char *gp__metrics_text(const json_t *document, size_t *size)
{
	char *text = NULL;
	struct text t = { .f = open_memstream(&text, size) };
	bool failed;

	if (!t.f)
		return NULL;
	for (t.metric = gp__metrics; t.metric->name; t.metric++)
		put_metric(&t, document);
	failed = ferror(t.f);
	if (fclose(t.f) || failed) {
		free(text);
		return NULL;
	}
	return text;
}
