// SPDX-License-Identifier: MIT
/*
 * The policies are listed once, in gp__policies. Each place that has to repeat their names, because
 * it is no program, is compared with that list here: the manual pages.
 */
#include "test.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"

#define FILE_MAX (1 << 16)
#define NAMES_MAX 256

static char *read_source(const char *name)
{
	const char *source = getenv("SOURCE_DIR");
	char path[4096], *text = calloc(1, FILE_MAX);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", source ? source : ".", name);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_true(fread(text, 1, FILE_MAX - 1, f) > 0);
	fclose(f);
	return text;
}

static const char *names(void)
{
	static char text[NAMES_MAX];

	*text = '\0';
	for (size_t i = 0; gp__policies[i]; i++) {
		strcat(text, i ? " " : "");
		strcat(text, gp__policies[i]->name);
	}
	return text;
}

/* The first line of each entry of a list: a name in asterisks that is alone on its line. */
static void collect_entries(const char *at, const char *end, char *found)
{
	*found = '\0';
	while (at < end) {
		size_t n = strcspn(at, "\n");

		if (n > 2 && at[0] == '*' && at[n - 1] == '*' && islower(at[1])) {
			strcat(found, *found ? " " : "");
			strncat(found, at + 1, n - 2);
		}
		at += n + 1;
	}
}

static void assert_entries(const char *file, const char *from, const char *to)
{
	char *text = read_source(file), *start = strstr(text, from), *end;
	char found[NAMES_MAX];

	assert_non_null(start);
	end = strstr(start, to);
	assert_non_null(end);
	collect_entries(start, end, found);
	assert_string_equal(found, names());
	free(text);
}

static void test_manual_describes_each_policy(void **state)
{
	(void)state;
	assert_entries("man/gpreempt-policy.7.scd", "\n# POLICIES\n", "\n# GUARANTEES\n");
	assert_entries("man/gpreempt-scenario.5.scd", "\nThe policies, each with", "\n# ");
}

/* "*hpf*, *fair* or *none*" in the description of --policy. */
static void test_manual_of_sim_names_each_policy(void **state)
{
	char *text = read_source("man/gpreempt-sim.1.scd"), expected[NAMES_MAX] = "";

	(void)state;
	for (size_t i = 0; gp__policies[i]; i++) {
		strcat(expected, !i ? "" : gp__policies[i + 1] ? ", " : " or ");
		strcat(expected, "*");
		strcat(expected, gp__policies[i]->name);
		strcat(expected, "*");
	}
	assert_non_null(strstr(text, expected));
	free(text);
}

static void test_each_is_found_by_its_name(void **state)
{
	(void)state;
	for (size_t i = 0; gp__policies[i]; i++) {
		assert_ptr_equal(gp__policy_find(gp__policies[i]->name), gp__policies[i]);
		assert_true(*gp__policies[i]->summary);
	}
	assert_null(gp__policy_find("hp"));
	assert_null(gp__policy_find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_manual_describes_each_policy),
		cmocka_unit_test(test_manual_of_sim_names_each_policy),
		cmocka_unit_test(test_each_is_found_by_its_name),
	};

	return cmocka_run_group_tests_name("policy names", tests, NULL, NULL);
}
