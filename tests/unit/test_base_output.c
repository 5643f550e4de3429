// SPDX-License-Identifier: MIT
/* env, json, table, log and progress: what is printed, where and in which form. */
#include "test.h"
#include "capture.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/table.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct capture c;

static int setup(void **state)
{
	(void)state;
	capture_start(&c);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	capture_end(&c);
	return 0;
}

static json_t *parse_output(void)
{
	json_t *root;

	capture_flush(&c);
	root = json_loads(c.out, 0, NULL);
	assert_non_null(root);
	assert_int_equal(json_integer_value(json_object_get(root, "schema")), 1);
	return root;
}

static void test_unknown_values_are_null(void **state)
{
	json_t *root = gp__json_envelope();

	(void)state;
	gp__json_set_u64(root, "a", false, 5);
	gp__json_set_u64(root, "b", true, 0);
	gp__json_set_u64(root, "c", true, UINT64_MAX);
	gp__json_set_real(root, "d", false, 5);
	gp__json_set_real(root, "e", true, NAN);
	gp__json_set_real(root, "f", true, INFINITY);
	gp__json_set_real(root, "g", true, 0.5);
	assert_int_equal(gp__json_print(&c.env, root), 0);
	root = parse_output();
	assert_true(json_is_null(json_object_get(root, "a")));
	assert_int_equal(json_integer_value(json_object_get(root, "b")), 0);
	assert_true(json_is_integer(json_object_get(root, "b")));
	assert_true(json_number_value(json_object_get(root, "c")) > 1.8e19);
	assert_true(json_is_null(json_object_get(root, "d")));
	assert_true(json_is_null(json_object_get(root, "e")));
	assert_true(json_is_null(json_object_get(root, "f")));
	assert_true(json_real_value(json_object_get(root, "g")) == 0.5);
	json_decref(root);
}

static void test_latency_of_nothing_is_null(void **state)
{
	static struct gp__hist h;
	json_t *row = json_object();

	(void)state;
	gp__json_set_latency(row, &h);
	assert_int_equal(json_integer_value(json_object_get(row, "count")), 0);
	assert_true(json_is_null(json_object_get(row, "mean_us")));
	assert_true(json_is_null(json_object_get(row, "p999_us")));
	gp__hist_record(&h, 1500);
	gp__json_set_latency(row, &h);
	assert_true(json_real_value(json_object_get(row, "p50_us")) == 1.5);
	assert_true(json_real_value(json_object_get(row, "max_us")) == 1.5);
	json_decref(row);
}

static void test_print_nothing(void **state)
{
	(void)state;
	assert_int_equal(gp__json_print(&c.env, NULL), -ENOMEM);
}

static void test_fail_for_people(void **state)
{
	(void)state;
	assert_int_equal(gp__env_fail(&c.env, 2, "Do that.", "no %s", "luck"), 2);
	capture_flush(&c);
	assert_string_equal(c.err, "prog: no luck\nDo that.\n");
	assert_string_equal(c.out, "");
}

static void test_fail_in_json(void **state)
{
	json_t *root, *error;

	(void)state;
	c.env.json = true;
	gp__env_fail(&c.env, 1, NULL, "a \"quoted\" word");
	root = parse_output();
	error = json_object_get(root, "error");
	assert_string_equal(json_string_value(json_object_get(error, "message")),
			    "a \"quoted\" word");
	assert_true(json_is_null(json_object_get(error, "remedy")));
	assert_int_equal(json_integer_value(json_object_get(error, "status")), 1);
	assert_string_equal(c.err, "prog: a \"quoted\" word\n");
	json_decref(root);
}

static void test_fail_in_json_with_bad_utf8(void **state)
{
	json_t *root;

	(void)state;
	c.env.json = true;
	gp__env_fail(&c.env, 1, NULL, "file '\xff\xfe'");
	root = parse_output();
	assert_true(json_is_object(json_object_get(root, "error")));
	json_decref(root);
}

static void finish_on(FILE *out, const char *why)
{
	FILE *memory = c.env.out;

	assert_non_null(out);
	c.env.out = out;
	fputs("text", out);
	assert_int_equal(gp__env_finish(&c.env, 0), 1);
	c.env.out = memory;
	fclose(out);
	capture_flush(&c);
	assert_non_null(strstr(c.err, "cannot write the output"));
	assert_non_null(strstr(c.err, why));
}

static void test_finish_on_full_disk(void **state)
{
	(void)state;
	finish_on(fopen("/dev/full", "w"), "No space left on device");
}

static void test_finish_after_an_earlier_failure(void **state)
{
	FILE *out = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(out);
	setvbuf(out, NULL, _IONBF, 0);
	fputs("lost", out);
	assert_true(ferror(out));
	finish_on(out, "");
}

static void test_finish_on_closed_pipe(void **state)
{
	int fd[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fd), 0);
	close(fd[0]);
	finish_on(fdopen(fd[1], "w"), "Broken pipe");
}

static void test_finish_keeps_status(void **state)
{
	(void)state;
	assert_int_equal(gp__env_finish(&c.env, 0), 0);
	assert_int_equal(gp__env_finish(&c.env, 2), 2);
}

static void test_json_on_full_disk(void **state)
{
	FILE *memory = c.env.out;

	(void)state;
	c.env.out = fopen("/dev/full", "w");
	assert_non_null(c.env.out);
	setvbuf(c.env.out, NULL, _IONBF, 0);
	assert_int_equal(gp__json_print(&c.env, gp__json_envelope()), -EIO);
	fclose(c.env.out);
	c.env.out = memory;
}

static void make_table(void)
{
	struct gp__table *t = gp__table_new(&c.env);

	gp__table_column(t, "NAME", GP__LEFT);
	gp__table_column(t, "COUNT", GP__RIGHT);
	gp__table_column(t, "NOTE", GP__LEFT);
	gp__table_row(t);
	gp__table_cell(t, "a");
	gp__table_row(t);
	gp__table_cell(t, "long-name");
	gp__table_cellf(t, "%d", 7);
	gp__table_cell(t, NULL);
	gp__table_row(t);
	gp__table_cell(t, "b");
	assert_int_equal(gp__table_print(t), 0);
	capture_flush(&c);
}

static void test_table(void **state)
{
	(void)state;
	make_table();
	assert_string_equal(c.out, "NAME      COUNT NOTE\n"
				   "a             - -\n"
				   "long-name     7 -\n"
				   "b             - -\n");
}

static void test_table_without_headers(void **state)
{
	(void)state;
	c.env.headers = false;
	make_table();
	assert_null(strstr(c.out, "NAME"));
	assert_non_null(strstr(c.out, "long-name"));
}

static void test_table_misused(void **state)
{
	struct gp__table *t = gp__table_new(&c.env);

	(void)state;
	gp__table_column(t, "NAME", GP__LEFT);
	gp__table_cell(t, "before any row");
	assert_int_equal(gp__table_print(t), -EINVAL);
	t = gp__table_new(&c.env);
	gp__table_column(t, "NAME", GP__LEFT);
	gp__table_row(t);
	gp__table_cell(t, "a");
	gp__table_cell(t, "one too many");
	assert_true(gp__table_print(t) < 0);
	assert_int_equal(gp__table_print(NULL), -ENOMEM);
}

static void test_log_levels(void **state)
{
	(void)state;
	gp__log_info(&c.env.log, "quiet");
	gp__log_warning(&c.env.log, "careful: %d", 3);
	gp__log_error(&c.env.log, "bad\nworse");
	c.env.log.level = GP__LOG_INFO;
	gp__log_info(&c.env.log, "heard");
	capture_flush(&c);
	assert_string_equal(c.err, "prog: warning: careful: 3\n"
				   "prog: error: bad\n"
				   "prog: error: worse\n"
				   "prog: heard\n");
}

static void test_log_truncates_visibly(void **state)
{
	char long_text[3000];

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	gp__log_error(&c.env.log, "%s", long_text);
	capture_flush(&c);
	assert_true(strlen(c.err) < sizeof(long_text));
	assert_non_null(strstr(c.err, "x...\n"));
}

static void test_log_for_journald(void **state)
{
	FILE *stream = tmpfile();
	char text[128] = "";
	struct gp__log log;
	struct stat st;

	(void)state;
	assert_non_null(stream);
	assert_int_equal(fstat(fileno(stream), &st), 0);
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", text, 1);
	gp__log_init(&log, "prog", stream);
	gp__log_error(&log, "one\ntwo");
	gp__log_warning(&log, "three");
	rewind(stream);
	text[fread(text, 1, sizeof(text) - 1, stream)] = '\0';
	assert_string_equal(text, "<3>one\n<3>two\n<4>three\n");
	/* Inherited, but this stream has been sent elsewhere. */
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino + 1);
	setenv("JOURNAL_STREAM", text, 1);
	gp__log_init(&log, "prog", stream);
	assert_false(log.journal);
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev + 1, (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", text, 1);
	gp__log_init(&log, "prog", stream);
	assert_false(log.journal);
	setenv("JOURNAL_STREAM", "garbage", 1);
	gp__log_init(&log, "prog", stream);
	assert_false(log.journal);
	unsetenv("JOURNAL_STREAM");
	fclose(stream);
}

static void keep_message(void *data, enum gp__log_level level, const char *message)
{
	snprintf(data, 64, "%d %s", level, message);
}

static void test_log_callback(void **state)
{
	char kept[64] = "";

	(void)state;
	c.env.log.fn = keep_message;
	c.env.log.data = kept;
	gp__log_warning(&c.env.log, "n = %d", 1);
	assert_string_equal(kept, "4 n = 1");
	capture_flush(&c);
	assert_string_equal(c.err, "");
}

static void test_progress_waits_two_seconds(void **state)
{
	struct gp__progress p = {
		.stream = c.env.err, .label = "work", .unit = "events", .total = 400
	};

	(void)state;
	gp__progress_update_at(&p, 100, GP__S);
	capture_flush(&c);
	assert_string_equal(c.err, "");
	gp__progress_end(&p);
	capture_flush(&c);
	assert_string_equal(c.err, "");
	gp__progress_update_at(&p, 100, 2 * GP__S);
	gp__progress_update_at(&p, 101, 2 * GP__S + 1);
	capture_flush(&c);
	assert_string_equal(c.err, "\r\033[Kwork:  25 %, 6 s left, 50 events/s");
	gp__progress_end(&p);
	gp__progress_end(&p);
	capture_flush(&c);
	assert_string_equal(c.err, "\r\033[Kwork:  25 %, 6 s left, 50 events/s\r\033[K");
}

static void test_progress_without_total(void **state)
{
	struct gp__progress p = { .stream = c.env.err, .label = "work", .unit = "events" };

	(void)state;
	gp__progress_update_at(&p, 6000000, 3 * GP__S);
	capture_flush(&c);
	assert_string_equal(c.err, "\r\033[Kwork: 6000000 events, 2.0 million events/s");
}

static void test_progress_of_time_has_no_rate(void **state)
{
	struct gp__progress p = { .stream = c.env.err, .label = "work", .total = 8000 };

	(void)state;
	gp__progress_update_at(&p, 2000, 2 * GP__S);
	capture_flush(&c);
	assert_string_equal(c.err, "\r\033[Kwork:  25 %, 6 s left");
}

static void test_progress_at_its_edges(void **state)
{
	struct gp__progress p = {
		.stream = c.env.err, .label = "work", .unit = "events", .total = 4
	};

	(void)state;
	gp__progress_update_at(&p, 0, 2 * GP__S);
	gp__progress_update_at(&p, 9, 4 * GP__S);
	capture_flush(&c);
	assert_string_equal(c.err, "\r\033[Kwork:   0 %, 0 events/s"
				   "\r\033[Kwork: 100 %, 0 s left, 2 events/s");
}

static void test_progress_is_silent_off_a_terminal(void **state)
{
	struct gp__progress p;
	FILE *file = tmpfile();

	(void)state;
	assert_non_null(file);
	gp__progress_start(&p, file, "work", "events", 10);
	p.started_ns = 0;
	gp__progress_update(&p, 5);
	gp__progress_end(&p);
	fflush(file);
	assert_int_equal(ftell(file), 0);
	fclose(file);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_unknown_values_are_null),
		CASE(test_latency_of_nothing_is_null),
		CASE(test_print_nothing),
		CASE(test_fail_for_people),
		CASE(test_fail_in_json),
		CASE(test_fail_in_json_with_bad_utf8),
		CASE(test_finish_on_full_disk),
		CASE(test_finish_after_an_earlier_failure),
		CASE(test_finish_on_closed_pipe),
		CASE(test_finish_keeps_status),
		CASE(test_json_on_full_disk),
		CASE(test_table),
		CASE(test_table_without_headers),
		CASE(test_table_misused),
		CASE(test_log_levels),
		CASE(test_log_truncates_visibly),
		CASE(test_log_for_journald),
		CASE(test_log_callback),
		CASE(test_progress_waits_two_seconds),
		CASE(test_progress_without_total),
		CASE(test_progress_of_time_has_no_rate),
		CASE(test_progress_at_its_edges),
		CASE(test_progress_is_silent_off_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
