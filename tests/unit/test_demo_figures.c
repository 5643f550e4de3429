// SPDX-License-Identifier: MIT
/* The demo's figures from traces that are short enough to work them out by hand. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/demo.h"

enum { ONLINE = 7, OFFLINE = 8 };

static const char trace[] = "100 100 0 busy\n"
			    "100 100 0 on 8 1\n"
			    "200 150 0 off 8 1\n"
			    "200 150 0 idle\n"
			    "30000 29950 0 on 7 0\n"
			    "30000 29950 0 busy\n"
			    "30200 30050 0 idle\n"
			    "30200 30050 0 off 7 0\n";

static bool read_text(struct demo_mode *m, const char *text, char *why, size_t size)
{
	char path[] = "/tmp/test-demo-XXXXXX";
	int fd = mkstemp(path);
	bool ok;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	m->pid[DEMO_ONLINE] = ONLINE;
	m->pid[DEMO_OFFLINE] = OFFLINE;
	ok = demo_trace_read(m, path, why, size);
	unlink(path);
	return ok;
}

static void read_trace(struct demo_mode *m)
{
	char text[sizeof(trace) + 8], why[256] = "";

	snprintf(text, sizeof(text), "%send\n", trace);
	assert_true(read_text(m, text, why, sizeof(why)));
}

static void idle_time_is_left_out(void **state)
{
	struct demo_mode m = { 0 };
	struct demo_request r = { .device_arrived = 120, .device_answered = 30040 };

	(void)state;
	read_trace(&m);
	assert_int_equal(demo_busy_at(&m, 0), 0);
	assert_int_equal(demo_busy_at(&m, 130), 30);
	assert_int_equal(demo_busy_at(&m, 9000), 50);
	assert_int_equal(demo_busy_at(&m, 29960), 60);
	assert_int_equal(demo_busy_at(&m, 99999), 150);
	/* 30 of others' work that it waited for, and 90 of its own. */
	assert_int_equal(demo_device_ns(&m, &r), 120);
	demo_mode_free(&m);
}

static void host_time_is_counted_as_well(void **state)
{
	struct demo_mode m = { 0 };
	struct demo_busy b;

	(void)state;
	read_trace(&m);
	b = demo_busy_until(&m, 30100);
	assert_float_equal(b.device, 100, 0.001);
	assert_float_equal(b.host, 200, 0.001);
	b = demo_busy_until(&m, 5000);
	assert_float_equal(b.device, 50, 0.001);
	assert_float_equal(b.host, 100, 0.001);
	demo_mode_free(&m);
}

static void each_program_has_its_spans(void **state)
{
	struct demo_mode m = { 0 };

	(void)state;
	read_trace(&m);
	assert_int_equal(m.on[DEMO_OFFLINE].n, 1);
	assert_int_equal(m.on[DEMO_OFFLINE].at[0].from, 100);
	assert_int_equal(m.on[DEMO_OFFLINE].at[0].to, 200);
	assert_int_equal(m.on[DEMO_ONLINE].n, 1);
	assert_int_equal(m.on[DEMO_ONLINE].at[0].to, 30200);
	demo_mode_free(&m);
}

static void what_is_cut_short_is_refused(void **state)
{
	static const char *const bad[] = { "", trace, "100 100 0 busy\nnothing\nend\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct demo_mode m = { 0 };
		char why[256] = "";

		assert_false(read_text(&m, bad[i], why, sizeof(why)));
		assert_non_null(strstr(why, "is not complete"));
		demo_mode_free(&m);
	}
}

/* Each step is compared, and no step is no result. */
static void every_step_must_be_as_expected(void **state)
{
	struct demo_step right[] = { { 10, 1 }, { 20, 2 } }, wrong[] = { { 10, 9 }, { 20, 2 } };
	struct demo_steps expected = { right, 2 };
	struct demo_mode m = { 0 };

	(void)state;
	demo_figures_make(&m, &m, &expected);
	assert_false(m.figures.identical);
	m.steps = (struct demo_steps){ right, 2 };
	demo_figures_make(&m, &m, &expected);
	assert_true(m.figures.identical);
	m.steps.at = wrong;
	demo_figures_make(&m, &m, &expected);
	assert_false(m.figures.identical);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_time_is_left_out),
		cmocka_unit_test(host_time_is_counted_as_well),
		cmocka_unit_test(each_program_has_its_spans),
		cmocka_unit_test(what_is_cut_short_is_refused),
		cmocka_unit_test(every_step_must_be_as_expected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
