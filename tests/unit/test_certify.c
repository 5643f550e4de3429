// SPDX-License-Identifier: MIT
/* The verdicts of certify on documents written by hand, and the files of its report. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/certify.h"

/* For certify_report.c: its stages are not part of this test. */
const char *certify_stage_name(enum certify_stage stage)
{
	return stage == CERTIFY_LEVELS ? "levels" : "other";
}

static struct certify c;

static int setup(void **state)
{
	(void)state;
	c = (struct certify){ .gpu = "a <GPU> & more", .driver = "amdkfd 1.17" };
	for (int i = 0; i < CERTIFY_STAGES; i++)
		snprintf(c.outcome[i].why, sizeof(c.outcome[i].why), "it was left out");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < CERTIFY_STAGES; i++)
		json_decref(c.outcome[i].document);
	return 0;
}

static void give(enum certify_stage stage, const char *text)
{
	json_decref(c.outcome[stage].document);
	c.outcome[stage].document = json_loads(text, 0, NULL);
	assert_non_null(c.outcome[stage].document);
}

static const struct certify_goal *goal_of(const char *id)
{
	for (const struct certify_goal *g = certify_goals; g->id; g++) {
		if (!strcmp(g->id, id))
			return g;
	}
	fail_msg("there is no goal %s", id);
	return NULL;
}

static struct certify_row judge(const char *id)
{
	struct certify_row row;

	certify_judge_goal(&c, goal_of(id), &row);
	return row;
}

static void assert_verdict(const char *id, enum certify_verdict verdict, const char *why)
{
	struct certify_row row = judge(id);

	if (row.verdict != verdict || !strstr(row.why, why))
		fail_msg("%s: %s, because '%s'", id, certify_verdict_name(row.verdict), row.why);
}

static void ids_are_unique(void **state)
{
	size_t n = 0;

	(void)state;
	for (const struct certify_goal *g = certify_goals; g->id; g++, n++) {
		assert_ptr_equal(goal_of(g->id), g);
		assert_true(g->stage != CERTIFY_STAGES || g->absent);
		assert_non_null(g->what);
		assert_non_null(g->unit);
	}
	assert_true(n < CERTIFY_ROWS_MAX);
}

static void a_stage_that_did_not_run_measures_nothing(void **state)
{
	struct certify_row row = judge("lv3-p99");

	(void)state;
	assert_int_equal(row.verdict, CERTIFY_NOT_MEASURED);
	assert_false(row.has_value);
	assert_string_equal(row.why, "it was left out");
	assert_verdict("run-levels", CERTIFY_NOT_MEASURED, "it was left out");
	/* No program measures it. */
	assert_verdict("second-level", CERTIFY_NOT_MEASURED, "trap handler");
}

static void limits_count(void **state)
{
	(void)state;
	give(CERTIFY_LEVELS,
	     "{\"results\": [{\"level\": \"Lv1\", \"preempt_p50_us\": 800.0, \"ratio\": 1.0},"
	     "{\"level\": \"Lv3\", \"preempt_p50_us\": 10.1, \"preempt_p99_us\": null, "
	     "\"ratio\": 3.0}]}");
	assert_verdict("lv1-p50", CERTIFY_PASSED, "");
	assert_verdict("lv1-ratio", CERTIFY_FAILED, "");
	assert_verdict("lv3-p50", CERTIFY_FAILED, "");
	/* More than 3 is more. */
	assert_verdict("lv3-ratio", CERTIFY_FAILED, "");
	assert_verdict("lv3-p99", CERTIFY_NOT_MEASURED, "need a hundred values");
	assert_verdict("lv2-drain-p50", CERTIFY_NOT_MEASURED, "do not have this level");
	assert_verdict("run-levels", CERTIFY_PASSED, "");
}

static void times_of_an_emulated_machine_pass_nothing(void **state)
{
	const char *levels = "{\"results\": [{\"level\": \"Lv3\", \"preempt_p50_us\": 1.0, "
			     "\"ratio\": 5.0}]}";
	json_t *root, *row;

	(void)state;
	c.emulated = true;
	give(CERTIFY_LEVELS, levels);
	assert_verdict("lv3-p50", CERTIFY_NOT_MEASURED, "not a GPU's");
	assert_true(judge("lv3-p50").has_value);
	/* A ratio of device times is judged. */
	assert_verdict("lv3-ratio", CERTIFY_PASSED, "");
	certify_judge(&c);
	assert_int_equal(certify_overall(&c), CERTIFY_NOT_MEASURED);
	assert_int_equal(certify_status(&c), CERTIFY_EXIT_NOTHING);
	root = certify_json(&c);
	assert_true(json_is_false(json_object_get(root, "hardware")));
	for (size_t i = 0; i < json_array_size(json_object_get(root, "rows")); i++) {
		row = json_array_get(json_object_get(root, "rows"), i);
		assert_true(json_is_null(json_object_get(row, "measured")));
	}
	json_decref(root);
}

static void a_way_that_the_driver_refuses_is_no_failure(void **state)
{
	(void)state;
	give(CERTIFY_PROBE,
	     "{\"gpus\": [{\"abilities\": ["
	     "{\"way\": \"update\", \"verb\": \"save\", \"works\": true, \"reason\": null},"
	     "{\"way\": \"dbgtrap\", \"verb\": \"save\", \"works\": false, \"error\": \"EPROTO\","
	     " \"reason\": \"it ran on\"},"
	     "{\"way\": \"preempt\", \"verb\": \"save\", \"works\": false, \"stop_us\": null,"
	     " \"error\": \"ENOTTY\", \"reason\": \"no series\"}]}]}");
	give(CERTIFY_PREEMPT, "{\"results\": []}");
	assert_verdict("way-update", CERTIFY_PASSED, "");
	assert_verdict("way-dbgtrap", CERTIFY_FAILED, "it ran on");
	assert_verdict("way-preempt", CERTIFY_NOT_MEASURED, "no series");
	assert_verdict("save-us", CERTIFY_NOT_MEASURED, "no series");
	/* A benchmark without rows of that way: probe says why. */
	assert_verdict("hold-preempt-p50", CERTIFY_NOT_MEASURED, "no series");
}

static void the_fullest_row_counts(void **state)
{
	(void)state;
	give(CERTIFY_PREEMPT,
	     "{\"results\": ["
	     "{\"what\": \"stop by update\", \"through\": \"owner\", \"waves\": 1, "
	     "\"wall_p50_us\": 9.0},"
	     "{\"what\": \"stop by update\", \"through\": \"owner\", \"waves\": 512, "
	     "\"wall_p50_us\": 4000.0},"
	     "{\"what\": \"stop by update\", \"through\": \"ioctl\", \"waves\": 1, "
	     "\"wall_p50_us\": 8.0},"
	     "{\"what\": \"stop by update\", \"through\": \"ioctl\", \"waves\": 512, "
	     "\"wall_p50_us\": 7000.0}]}");
	assert_true(judge("hold-many-update-p50").value == 4);
	assert_true(judge("hold-update-p50").value == 8);
}

static void a_case_that_fails_says_why(void **state)
{
	(void)state;
	give(CERTIFY_CASES,
	     "{\"cases\": [{\"case\": \"basic\", \"passed\": false, \"why\": \"lost\"},"
	     "{\"case\": \"seed_program\", \"why\": \"left out\"}]}");
	assert_verdict("case-basic", CERTIFY_FAILED, "lost");
	assert_verdict("five-steps", CERTIFY_FAILED, "lost");
	assert_verdict("case-seed_program", CERTIFY_NOT_MEASURED, "left out");
}

static void too_short_is_not_measured(void **state)
{
	(void)state;
	give(CERTIFY_FREQUENT, "{\"passed\": true, \"minutes\": 0.5}");
	assert_verdict("frequent", CERTIFY_PASSED, "");
	assert_verdict("frequent-minutes", CERTIFY_NOT_MEASURED, "0.5 of 10 minutes");
	give(CERTIFY_FREQUENT, "{\"passed\": true, \"minutes\": 10.01}");
	assert_verdict("frequent-minutes", CERTIFY_PASSED, "");
}

static void a_stage_that_ends_badly_fails(void **state)
{
	(void)state;
	c.outcome[CERTIFY_LEVELS].failed = true;
	snprintf(c.outcome[CERTIFY_LEVELS].why, sizeof(c.outcome[0].why), "a wave was lost");
	assert_verdict("run-levels", CERTIFY_FAILED, "a wave was lost");
	assert_verdict("lv3-ratio", CERTIFY_NOT_MEASURED, "a wave was lost");
	certify_judge(&c);
	assert_int_equal(certify_status(&c), GP__EXIT_FAILURE);
}

static void on_a_gpu_one_passed_row_is_enough(void **state)
{
	(void)state;
	certify_judge(&c);
	assert_int_equal(certify_status(&c), CERTIFY_EXIT_NOTHING);
	give(CERTIFY_LEVELS, "{\"results\": []}");
	certify_judge(&c);
	assert_int_equal(certify_status(&c), GP__EXIT_OK);
}

static void nvidia_has_its_own_rows(void **state)
{
	(void)state;
	c.nvidia = true;
	give(CERTIFY_PROBE, "{\"gpus\": [{\"abilities\": [{\"way\": \"hold\", \"works\": true, "
			    "\"stop_us\": 120.0, \"start_us\": 80.0}]}]}");
	certify_judge(&c);
	assert_true(c.nr_rows >= 3 && c.nr_rows < 10);
	assert_int_equal(certify_count(&c, CERTIFY_PASSED), 3);
	assert_int_equal(certify_status(&c), GP__EXIT_OK);
}

static void lines_of_the_kernels_log(void **state)
{
	(void)state;
	assert_true(certify_log_is_bad("amdgpu 0000:03:00.0: amdgpu: GPU reset begin!"));
	assert_true(certify_log_is_bad("amdgpu: [gfxhub0] no-retry page fault (src_id:0)"));
	assert_true(certify_log_is_bad("kfd kfd: amdgpu: HWS hang detected"));
	assert_false(certify_log_is_bad("amdgpu: clock changed"));
	assert_false(certify_log_is_bad("usb 1-1: reset high-speed USB device"));
}

/*
 * The report
 */

static char folder[64];

static const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static char *read_file(const char *name)
{
	static char text[1 << 20];
	FILE *in = fopen(in_folder(name), "re");
	size_t n;

	assert_non_null(in);
	n = fread(text, 1, sizeof(text) - 1, in);
	fclose(in);
	text[n] = '\0';
	return text;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	while ((text = strstr(text, what))) {
		n++;
		text++;
	}
	return n;
}

static void write_report(void)
{
	struct certify_report r;

	assert_int_equal(certify_report_open(&r, in_folder("r")), 0);
	certify_judge(&c);
	assert_int_equal(certify_report_write(&r, &c), 0);
	certify_report_close(&r);
}

static void the_banner_is_in_each_section(void **state)
{
	char *page;

	(void)state;
	c.emulated = true;
	write_report();
	page = read_file("r.html");
	/* At the top, and in the head of each table. */
	assert_int_equal(count(page, "these are not the figures of a GPU"),
			 count(page, "<section>") + 1);
	assert_true(count(page, "<section>") >= 5);
	assert_null(strstr(page, "<GPU>"));
	assert_non_null(strstr(page, "a &lt;GPU&gt; &amp; more"));
	assert_non_null(strstr(read_file("r.json"), "\"hardware\": false"));
	c.emulated = false;
	write_report();
	assert_null(strstr(read_file("r.html"), "mulated machine:"));
	assert_int_equal(access(in_folder("r.html.new"), F_OK), -1);
}

static void a_full_disk_leaves_the_older_report(void **state)
{
	struct certify_report r;
	char older[16] = "older";
	FILE *out = fopen(in_folder("r.html"), "we");

	(void)state;
	fputs(older, out);
	fclose(out);
	assert_int_equal(certify_report_open(&r, in_folder("r")), 0);
	fclose(r.html);
	r.html = fopen("/dev/full", "we");
	certify_judge(&c);
	assert_int_equal(certify_report_write(&r, &c), -ENOSPC);
	assert_string_equal(r.path, in_folder("r.html"));
	certify_report_close(&r);
	assert_string_equal(read_file("r.html"), older);
	assert_int_equal(access(in_folder("r.html.new"), F_OK), -1);
	assert_int_equal(access(in_folder("r.json.new"), F_OK), -1);
}

static void a_folder_that_is_not_there_is_found_at_once(void **state)
{
	struct certify_report r;

	(void)state;
	assert_int_equal(certify_report_open(&r, in_folder("no/r")), -ENOENT);
	assert_non_null(strstr(r.path, "no/r.html"));
	certify_report_close(&r);
}

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test-certify-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(in_folder("r.html"));
	unlink(in_folder("r.json"));
	return rmdir(folder);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ids_are_unique),
		TEST(a_stage_that_did_not_run_measures_nothing),
		TEST(limits_count),
		TEST(times_of_an_emulated_machine_pass_nothing),
		TEST(a_way_that_the_driver_refuses_is_no_failure),
		TEST(the_fullest_row_counts),
		TEST(a_case_that_fails_says_why),
		TEST(too_short_is_not_measured),
		TEST(a_stage_that_ends_badly_fails),
		TEST(on_a_gpu_one_passed_row_is_enough),
		TEST(nvidia_has_its_own_rows),
		TEST(lines_of_the_kernels_log),
		TEST(the_banner_is_in_each_section),
		TEST(a_full_disk_leaves_the_older_report),
		TEST(a_folder_that_is_not_there_is_found_at_once),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
