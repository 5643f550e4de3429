// SPDX-License-Identifier: MIT
/* The metrics as text: what Prometheus would refuse, and what docs/metrics.md says of them. */
#include "test.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/buckets.h"
#include "metrics/metrics.h"

static char *text_of(const char *json)
{
	json_t *document = json_loads(json, 0, NULL);
	size_t size;
	char *text = gp__metrics_text(document, &size);

	assert_non_null(document);
	assert_non_null(text);
	assert_int_equal(strlen(text), size);
	json_decref(document);
	return text;
}

static void expect(const char *text, const char *line)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	if (!strstr(text, whole))
		fail_msg("no line %s in:\n%s", line, text);
}

static void labels_are_escaped(void **state)
{
	char *text = text_of("{\"programs\": [{\"gpu\": 3, \"user\": 1000, \"class\": \"online\", "
			     "\"program\": \"a\\\"b\\\\c\\nx\", \"tag\": \"\", \"groups\": 2}]}");

	(void)state;
	expect(text, "gpreempt_program_groups{gpu=\"3\",user=\"1000\",class=\"online\","
		     "program=\"a\\\"b\\\\c\\nx\"} 2");
	free(text);
}

static void what_is_not_measured_has_no_sample(void **state)
{
	char *text = text_of("{\"gpus\": [{\"gpu\": 0, \"key\": \"k\", \"memory_bytes\": null, "
			     "\"groups\": 0}]}");

	(void)state;
	expect(text, "gpreempt_gpu_groups{gpu=\"0\",key=\"k\"} 0");
	assert_null(strstr(text, "gpreempt_gpu_memory_bytes{"));
	free(text);
}

static void times_are_in_seconds(void **state)
{
	char *text = text_of("{\"classes\": [{\"gpu\": 0, \"key\": \"k\", \"user\": 5, \"class\": "
			     "\"normal\", \"run_ns\": 1500000001, \"holds\": {\"priority\": 7, "
			     "\"slice\": 1}}]}");

	(void)state;
	expect(text, "gpreempt_class_run_seconds_total{gpu=\"0\",key=\"k\",user=\"5\","
		     "class=\"normal\"} 1.500000001");
	expect(text, "gpreempt_class_holds_total{gpu=\"0\",key=\"k\",user=\"5\",class=\"normal\","
		     "rule=\"priority\"} 7");
	expect(text, "gpreempt_class_holds_total{gpu=\"0\",key=\"k\",user=\"5\",class=\"normal\","
		     "rule=\"slice\"} 1");
	free(text);
}

static void infos_have_their_members_as_labels(void **state)
{
	char *text = text_of("{\"daemon\": {\"build\": {\"version\": \"1\"}}, \"gpus\": [{\"gpu\": "
			     "0, \"key\": \"k\", \"info\": {\"name\": \"a GPU\"}}]}");

	(void)state;
	expect(text, "gpreempt_build_info{version=\"1\"} 1");
	expect(text, "gpreempt_gpu_info{gpu=\"0\",key=\"k\",name=\"a GPU\"} 1");
	free(text);
}

static void a_bucket_has_all_times_up_to_its_bound(void **state)
{
	struct gp__buckets b = { 0 };
	json_t *counts = json_array(), *document;
	char *text, *json;

	(void)state;
	gp__buckets_record(&b, 0);
	gp__buckets_record(&b, gp__bucket_bound[0]);
	gp__buckets_record(&b, gp__bucket_bound[0] + 1);
	gp__buckets_record(&b, UINT64_C(5000000000));
	for (int i = 0; i < GP__BUCKETS; i++)
		json_array_append_new(counts, json_integer((json_int_t)b.count[i]));
	document = json_pack("{s:{s:{s:o,s:I}}}", "daemon", "turn", "counts", counts, "sum_ns",
			     (json_int_t)b.sum_ns);
	json = json_dumps(document, 0);
	text = text_of(json);
	expect(text, "gpreempt_daemon_turn_seconds_bucket{le=\"1e-06\"} 2");
	expect(text, "gpreempt_daemon_turn_seconds_bucket{le=\"5e-06\"} 3");
	expect(text, "gpreempt_daemon_turn_seconds_bucket{le=\"1\"} 3");
	expect(text, "gpreempt_daemon_turn_seconds_bucket{le=\"+Inf\"} 4");
	expect(text, "gpreempt_daemon_turn_seconds_sum 5.000002001");
	expect(text, "gpreempt_daemon_turn_seconds_count 4");
	free(text);
	free(json);
	json_decref(document);
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static void names_follow_the_conventions(void **state)
{
	(void)state;
	for (const struct gp__metric *m = gp__metrics; m->name; m++) {
		bool is_time = ends_with(m->member, "_ns") || m->type == GP__METRIC_HISTOGRAM;

		assert_int_equal(strncmp(m->name, "gpreempt_", 9), 0);
		for (const char *c = m->name; *c; c++)
			assert_true(islower(*c) || *c == '_');
		assert_int_equal(ends_with(m->name, "_total"), m->type == GP__METRIC_COUNTER);
		if (is_time)
			assert_non_null(strstr(m->name, "_seconds"));
		assert_true(ends_with(m->help, "."));
		assert_null(strpbrk(m->help, "\\\n|"));
		for (const struct gp__metric *other = gp__metrics; other < m; other++)
			assert_string_not_equal(other->name, m->name);
	}
}

/* The label of a metric beside those of its scope. NULL: it has none. */
static const char *own_label(const struct gp__metric *m)
{
	if (!m->label || strcmp(m->label, "*") != 0)
		return m->label;
	if (!strcmp(m->member, "build"))
		return "version";
	return strcmp(m->member, "info") ? "policy" : "name";
}

/* The row of the table in docs/metrics.md. */
static void format_row(const struct gp__metric *m, char *row, size_t size)
{
	const char *const *label = gp__scope_labels(m->scope);
	char labels[256] = "";

	for (; *label; label++)
		snprintf(labels + strlen(labels), sizeof(labels) - strlen(labels), "%s%s",
			 *labels ? ", " : "", *label);
	if (own_label(m))
		snprintf(labels + strlen(labels), sizeof(labels) - strlen(labels), "%s%s",
			 *labels ? ", " : "", own_label(m));
	snprintf(row, size, "| `%s` | %s | %s | %s |\n", m->name, gp__metric_type_name(m->type),
		 *labels ? labels : "–", m->help);
}

static void the_documentation_has_the_same_table(void **state)
{
	const struct gp__metric *m = gp__metrics;
	char path[512], line[1024], row[1024];
	FILE *f;

	(void)state;
	if (!getenv("SOURCE_DIR"))
		skip();
	snprintf(path, sizeof(path), "%s/docs/metrics.md", getenv("SOURCE_DIR"));
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "| `gpreempt_", 12) != 0)
			continue;
		assert_non_null(m->name);
		format_row(m++, row, sizeof(row));
		assert_string_equal(line, row);
	}
	fclose(f);
	assert_null(m->name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_are_escaped),
		cmocka_unit_test(what_is_not_measured_has_no_sample),
		cmocka_unit_test(times_are_in_seconds),
		cmocka_unit_test(infos_have_their_members_as_labels),
		cmocka_unit_test(a_bucket_has_all_times_up_to_its_bound),
		cmocka_unit_test(names_follow_the_conventions),
		cmocka_unit_test(the_documentation_has_the_same_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
