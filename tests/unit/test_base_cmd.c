// SPDX-License-Identifier: MIT
#include "test.h"
#include "capture.h"

#include "base/cmd.h"

#include <string.h>

static struct capture c;
static int seen_argc;
static const char *seen_name;

static int run_plain(struct gp__env *env, int argc, char **argv)
{
	static const struct argp argp = { .doc = "Plain." };
	int status;

	seen_argc = argc;
	if (!gp__cmd_parse(env, &argp, argc, argv, NULL, &status))
		return status;
	seen_name = argv[0];
	return 40;
}

static error_t parse_picky(int key, char *arg, struct argp_state *state)
{
	const char **value = state->input;

	switch (key) {
	case 'v':
		if (strcmp(arg, "good"))
			return gp__cmd_usage(state, "'%s' is not good", arg);
		*value = arg;
		return 0;
	case ARGP_KEY_END:
		return *value ? 0 : gp__cmd_usage(state, "a value is needed");
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int run_picky(struct gp__env *env, int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "value", 'v', "VALUE", 0, "a good one", 0 },
		{ 0 },
	};
	static const struct argp argp = { .options = options, .parser = parse_picky };
	const char *value = NULL;
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, &value, &status))
		return status;
	return 41;
}

static int bare(struct gp__env *env, int argc, char **argv)
{
	static const struct argp argp = { .doc = "Bare." };
	int status;

	if (!gp__cmd_parse(env, &argp, argc, argv, NULL, &status))
		return status;
	return 42;
}

static const struct gp__cmd commands[] = {
	{ "plain", run_plain, "does nothing" },
	{ "picky", run_picky, "wants a good value" },
	{ "help", gp__cmd_help, "explains" },
	{ NULL, NULL, NULL },
};

static int setup(void **state)
{
	(void)state;
	capture_start(&c);
	c.env.commands = commands;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	capture_end(&c);
	return 0;
}

#define MAIN(...) run_main((char *[]){ "/path/to/prog", __VA_ARGS__, NULL })

static int run_main(char **argv)
{
	int argc = 0;
	int status;

	while (argv[argc])
		argc++;
	status = gp__cmd_main(&c.env, argc, argv, bare);
	capture_flush(&c);
	return status;
}

static void test_dispatch(void **state)
{
	(void)state;
	assert_int_equal(MAIN("plain"), 40);
	assert_int_equal(seen_argc, 1);
	assert_string_equal(seen_name, "plain");
	assert_int_equal(MAIN("picky", "--value=good"), 41);
	assert_int_equal(run_main((char *[]){ "prog", NULL }), 42);
	assert_int_equal(MAIN("--json"), 42);
	assert_true(c.env.json);
}

static void test_no_arguments_at_all(void **state)
{
	char *argv[] = { NULL };

	(void)state;
	assert_int_equal(gp__cmd_main(&c.env, 0, argv, bare), 42);
}

static void test_unknown_command(void **state)
{
	(void)state;
	assert_int_equal(MAIN("pikcy"), 2);
	assert_string_equal(c.err, "prog: 'pikcy' is not a command; did you mean 'picky'?\n"
				   "Try 'prog help' for the list of commands.\n");
}

static void test_no_far_suggestion(void **state)
{
	(void)state;
	assert_int_equal(MAIN("zzz"), 2);
	assert_null(strstr(c.err, "did you mean"));
	assert_int_equal(MAIN(""), 2);
	assert_null(strstr(c.err, "did you mean"));
}

static void test_wrong_value(void **state)
{
	(void)state;
	assert_int_equal(MAIN("picky", "--value", "bad"), 2);
	assert_non_null(strstr(c.err, "prog picky: 'bad' is not good\n"));
	assert_string_equal(c.out, "");
}

static void test_missing_value(void **state)
{
	(void)state;
	assert_int_equal(MAIN("picky"), 2);
	assert_non_null(strstr(c.err, "prog picky: a value is needed\n"));
}

static void test_wrong_value_in_json(void **state)
{
	(void)state;
	assert_int_equal(MAIN("picky", "--value", "bad", "--json"), 2);
	assert_non_null(strstr(c.out, "\"message\": \"'bad' is not good\""));
	assert_non_null(strstr(c.out, "\"schema\": 1"));
}

static void test_json_behind_the_dashes_is_no_option(void **state)
{
	(void)state;
	assert_int_equal(MAIN("picky", "--value", "bad", "--", "--json"), 2);
	assert_string_equal(c.out, "");
}

static const char *strrstr(const char *text, const char *word)
{
	const char *last = NULL;

	while ((text = strstr(text, word)))
		last = text++;
	return last;
}

static void test_help(void **state)
{
	(void)state;
	assert_int_equal(MAIN("help", "plain"), 0);
	assert_non_null(strstr(c.out, "Plain."));
	assert_ptr_equal(strstr(c.out, "Plain."), strrstr(c.out, "Plain."));
	assert_int_equal(MAIN("help", "picky"), 0);
	assert_non_null(strstr(c.out, "Usage: prog picky"));
	assert_non_null(strstr(c.out, "a good one"));
	assert_string_equal(c.err, "");
}

static void test_help_is_output(void **state)
{
	(void)state;
	assert_int_equal(MAIN("picky", "-h"), 0);
	assert_non_null(strstr(c.out, "--no-headers"));
	assert_int_equal(MAIN("picky", "--usage"), 0);
	assert_int_equal(MAIN("--help"), 0);
	assert_non_null(strstr(c.out, "wants a good value"));
	assert_string_equal(c.err, "");
}

static const char *word_at(const void *table, size_t i)
{
	return ((const char *const *)table)[i];
}

static void test_nearest(void **state)
{
	static const char *const words[] = { "bend", "bench", "beach", "a", NULL };

	(void)state;
	assert_string_equal(gp__nearest("bench", word_at, words), "bench");
	assert_string_equal(gp__nearest("benhc", word_at, words), "bench");
	assert_string_equal(gp__nearest("beac", word_at, words), "beach");
	assert_null(gp__nearest("scheduler", word_at, words));
	/* A one-letter name with another letter is not similar. */
	assert_null(gp__nearest("x", word_at, words));
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_dispatch),
		CASE(test_no_arguments_at_all),
		CASE(test_unknown_command),
		CASE(test_no_far_suggestion),
		CASE(test_wrong_value),
		CASE(test_missing_value),
		CASE(test_wrong_value_in_json),
		CASE(test_json_behind_the_dashes_is_no_option),
		CASE(test_help),
		CASE(test_help_is_output),
		CASE(test_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
