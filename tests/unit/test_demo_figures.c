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
			    "100 100 0 work 8 1\n"
			    "100 100 0 work 7 0\n"
			    "200 150 0 off 8 1\n"
			    "200 150 0 idle\n"
			    "30000 29950 0 on 7 0\n"
			    "30000 29950 0 busy\n"
			    "30200 30050 0 idle\n"
			    "30200 30050 0 done 7 0\n"
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

/* The batch's kernels delay nobody while the request has no work, on any of two queues. */
static void only_waiting_counts(void **state)
{
	static const char text[] = "0 1000 0 busy\n"
				   "0 1000 0 on 8 1\n"
				   "10 1100 0 work 7 0\n"
				   "20 1200 0 work 7 1\n"
				   "30 1300 0 done 7 0\n"
				   "40 1400 0 done 7 1\n"
				   "50 1500 0 idle\n"
				   "60 1600 0 work 7 0\n"
				   "70 1700 0 busy\n"
				   "80 1800 0 done 7 0\n"
				   "90 1900 0 idle\n"
				   "end\n";
	struct demo_mode m = { 0 };
	struct demo_request r = { .device_arrived = 1000, .device_answered = 1900 };
	char why[256] = "";

	(void)state;
	assert_true(read_text(&m, text, why, sizeof(why)));
	assert_int_equal(demo_device_ns(&m, &r), 300 + 100);
	assert_int_equal(demo_busy_for_at(&m, 1050), 0);
	assert_int_equal(demo_busy_for_at(&m, 1250), 150);
	assert_int_equal(demo_busy_for_at(&m, 1450), 300);
	assert_int_equal(demo_busy_for_at(&m, 1650), 300);
	assert_int_equal(demo_busy_for_at(&m, 1750), 350);
	demo_mode_free(&m);
}

/* There is no trace, and the GPU's clock goes on while it is idle. */
static void on_a_gpu_device_time_is_what_its_clock_says(void **state)
{
	struct demo_mode m = { .on_gpu = true };
	struct demo_request r = { .device_arrived = 120, .device_answered = 30040 };
	struct demo_busy b = demo_busy_until(&m, 500);

	(void)state;
	assert_int_equal(demo_device_ns(&m, &r), 29920);
	assert_true(b.device == 500 && b.host == 500);
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
	struct demo_mode m = { 0 }, host = { .steps = { right, 2 } };

	(void)state;
	demo_figures_make(&m, &m, &host);
	assert_false(m.figures.identical);
	m.steps = (struct demo_steps){ right, 2 };
	demo_figures_make(&m, &m, &host);
	assert_true(m.figures.identical);
	m.steps.at = wrong;
	demo_figures_make(&m, &m, &host);
	assert_false(m.figures.identical);
}

/* The first token ends at 200 by the host's clock and 150 by the device's, which was idle since. */
static void tokens_have_figures_of_their_own(void **state)
{
	struct demo_request got[] = { { .arrived = 100,
					.first = 200,
					.answered = 30200,
					.device_arrived = 100,
					.device_first = 150,
					.device_answered = 30050,
					.tokens = 3,
					.digest = 5 } };
	struct demo_mode m = { 0 };

	(void)state;
	read_trace(&m);
	m.requests = (struct demo_requests){ got, 1 };
	demo_figures_make(&m, &m, &m);
	assert_float_equal(m.figures.first_p50_ms, 100e-6, 1e-9);
	assert_float_equal(m.figures.first_p50_device_ns, 50, 0.001);
	assert_float_equal(m.figures.tokens_per_s, 2 / 30000e-9, 0.1);
	assert_float_equal(m.figures.token_device_ns, 50, 0.001);
	m.requests = (struct demo_requests){ 0 };
	demo_mode_free(&m);
}

/* A model's answers are compared with the host's, one by one. */
static void every_answer_must_be_as_expected(void **state)
{
	struct demo_step step = { 10, 1 };
	struct demo_request right[] = { { .tokens = 1, .digest = 5 },
					{ .tokens = 1, .digest = 6 } };
	struct demo_request wrong[] = { { .tokens = 1, .digest = 5 },
					{ .tokens = 1, .digest = 5 } };
	struct demo_mode m = { .steps = { &step, 1 } };
	struct demo_mode host = { .steps = { &step, 1 }, .requests = { right, 2 } };

	(void)state;
	m.requests = (struct demo_requests){ right, 2 };
	demo_figures_make(&m, &m, &host);
	assert_true(m.figures.identical);
	m.requests.at = wrong;
	demo_figures_make(&m, &m, &host);
	assert_false(m.figures.identical);
	m.requests.at = right;
	host.requests.n = 1;
	demo_figures_make(&m, &m, &host);
	assert_false(m.figures.identical);
}

/* A hundred requests, of which two take this long and the others 10. */
static void measure(struct demo_mode *m, const char *name, struct demo_request *r, size_t n,
		    uint64_t slow)
{
	for (size_t i = 0; i < n; i++)
		r[i] = (struct demo_request){ .arrived = 100,
					      .answered = 110,
					      .device_arrived = 100,
					      .device_answered = i < 2 ? 100 + slow : 110 };
	m->name = name;
	read_trace(m);
	m->requests = (struct demo_requests){ r, n };
}

static void level_3_must_be_better_than_native(void **state)
{
	struct demo_request r[3][DEMO_P99_REQUESTS];
	struct demo_mode m[3] = { 0 }, host = { 0 };
	double native, lv3;

	(void)state;
	for (uint64_t slow = 20; slow <= 60; slow += 20) {
		const char *const names[] = { "alone", "native", "lv3" };
		const uint64_t times[] = { 10, 40, slow };

		for (int i = 0; i < 3; i++) {
			m[i] = (struct demo_mode){ 0 };
			measure(&m[i], names[i], r[i], DEMO_P99_REQUESTS, times[i]);
			demo_figures_make(&m[i], &m[0], &host);
			assert_true(m[i].figures.has_p99);
		}
		/* Equal is not better. */
		assert_int_equal(demo_is_better(m, 3, &native, &lv3), slow < 40);
		assert_true(native > 1 && lv3 > 1);
		/* Without one of the two there is nothing to compare. */
		assert_true(demo_is_better(m, 2, &native, &lv3));
		strcpy(m[1].unsupported, "why");
		assert_true(demo_is_better(m, 3, &native, &lv3));
		for (int i = 0; i < 3; i++) {
			m[i].requests = (struct demo_requests){ 0 };
			demo_mode_free(&m[i]);
		}
	}
}

static void fewer_requests_have_no_p99(void **state)
{
	struct demo_request r[DEMO_P99_REQUESTS];
	struct demo_mode m = { 0 }, host = { 0 };

	(void)state;
	measure(&m, "alone", r, DEMO_P99_REQUESTS - 1, 40);
	demo_figures_make(&m, &m, &host);
	assert_false(m.figures.has_p99);
	assert_true(m.figures.p50_device_ns > 0 && m.figures.p99_device_ns <= 0 &&
		    m.figures.x_alone <= 0);
	m.requests = (struct demo_requests){ 0 };
	demo_mode_free(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_time_is_left_out),
		cmocka_unit_test(only_waiting_counts),
		cmocka_unit_test(on_a_gpu_device_time_is_what_its_clock_says),
		cmocka_unit_test(host_time_is_counted_as_well),
		cmocka_unit_test(each_program_has_its_spans),
		cmocka_unit_test(what_is_cut_short_is_refused),
		cmocka_unit_test(every_step_must_be_as_expected),
		cmocka_unit_test(tokens_have_figures_of_their_own),
		cmocka_unit_test(every_answer_must_be_as_expected),
		cmocka_unit_test(level_3_must_be_better_than_native),
		cmocka_unit_test(fewer_requests_have_no_p99),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
