// SPDX-License-Identifier: MIT
/* The shipped scenarios, and the parameters and the example in the manual. */
#include "test.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "sim/scenario.h"

static struct gp__scenario *parse(const char *text)
{
	struct gp__scenario_error err;
	struct gp__scenario *sc;

	if (gp__scenario_parse("x.ini", text, strlen(text), &sc, &err))
		fail_msg("%s", err.text);
	assert_string_equal(err.text, "");
	return sc;
}

static void test_shipped(void **state)
{
	const char *source = getenv("SOURCE_DIR");
	struct gp__scenario_error err;
	struct gp__scenario *sc;
	char pattern[4096];
	glob_t files;

	(void)state;
	snprintf(pattern, sizeof(pattern), "%s/scenarios/*.ini", source ? source : ".");
	assert_int_equal(glob(pattern, 0, NULL, &files), 0);
	assert_true(files.gl_pathc >= 12);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		if (gp__scenario_load(files.gl_pathv[i], &sc, &err))
			fail_msg("%s", err.text);
		assert_string_not_equal(sc->title, files.gl_pathv[i]);
		assert_string_not_equal(sc->policy, "");
		gp__scenario_free(sc);
	}
	globfree(&files);
}

/*
 * The manual
 */

static char *read_manual(void)
{
	const char *source = getenv("SOURCE_DIR");
	char path[4096], *text = calloc(1, 1 << 16);
	FILE *f;

	snprintf(path, sizeof(path), "%s/man/gpreempt-scenario.5.scd", source ? source : ".");
	f = fopen(path, "re");
	assert_non_null(f);
	assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
	fclose(f);
	return text;
}

static void assert_documents(const char *text, const char *prefix, const struct gp__param *param)
{
	char entry[100];

	snprintf(entry, sizeof(entry), "*%s%s* = %llu", prefix, param->name,
		 (unsigned long long)param->def);
	if (!strstr(text, entry))
		fail_msg("the manual does not have %s", entry);
}

/* The entry of one policy: up to the next line that is not indented. */
static void cut_entry(char *entry)
{
	for (char *s = entry; (s = strchr(s, '\n')); s++) {
		if (s[1] != '\t' && s[1] != '\n') {
			*s = '\0';
			return;
		}
	}
}

static void test_manual_has_parameters(void **state)
{
	char *manual = read_manual(), *entry, title[40];

	(void)state;
	for (int i = 0; i < GP__CFG_COUNT; i++)
		assert_documents(manual, "core.", &gp__core_params[i]);
	for (int i = 0; gp__policies[i]; i++) {
		snprintf(title, sizeof(title), "\n*%s*\n", gp__policies[i]->name);
		entry = strstr(manual, title);
		assert_non_null(entry);
		entry = strdup(entry + strlen(title));
		cut_entry(entry);
		for (u32 j = 0; j < gp__policies[i]->nr_params; j++)
			assert_documents(entry, "", &gp__policies[i]->params[j]);
		free(entry);
	}
	free(manual);
}

static void test_manual_has_a_good_example(void **state)
{
	char *manual = read_manual();
	char *start = strstr(manual, "```\n"), *end;

	(void)state;
	assert_non_null(start);
	end = strstr(start + 4, "```\n");
	assert_non_null(end);
	*end = '\0';
	gp__scenario_free(parse(start + 4));
	free(manual);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shipped),
		cmocka_unit_test(test_manual_has_parameters),
		cmocka_unit_test(test_manual_has_a_good_example),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
