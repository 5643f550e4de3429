// SPDX-License-Identifier: MIT
/* /proc/PID/stat, whose second field is a name of the process's choice. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/proc.h"

#define REST " 4 4 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 2"

static void the_fields_are_found(void **state)
{
	char text[] = "42 (trainer) S 7" REST;
	struct gp__proc_stat s;

	(void)state;
	assert_true(gp__proc_parse_stat(text, &s));
	assert_string_equal(s.name, "trainer");
	assert_int_equal(s.state, 'S');
	assert_int_equal(s.parent, 7);
	assert_int_equal(s.start, 98765);
}

static void a_name_may_look_like_the_fields(void **state)
{
	char text[] = "42 (a) R 1 (b\n) S 7" REST;
	struct gp__proc_stat s;

	(void)state;
	assert_true(gp__proc_parse_stat(text, &s));
	assert_string_equal(s.name, "a) R 1 (b\n");
	assert_int_equal(s.parent, 7);
}

static void other_text_is_refused(void **state)
{
	static const char *const wrong[] = { "",   "42",     "42 (a",		"42 a)",
					     ")(", "42 (a)", "42 (a) S 7 4 4 0" };
	struct gp__proc_stat s;
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), "%s", wrong[i]);
		if (gp__proc_parse_stat(text, &s))
			fail_msg("'%s' is accepted", wrong[i]);
	}
}

static void a_process_is_read(void **state)
{
	struct gp__proc_stat s;

	(void)state;
	prctl(PR_SET_NAME, ") R 1 1");
	assert_true(gp__proc_stat(AT_FDCWD, "/proc/self/stat", &s));
	assert_string_equal(s.name, ") R 1 1");
	assert_int_equal(s.state, 'R');
	assert_int_equal(s.parent, getppid());
	assert_true(s.start > 0);
	assert_false(gp__proc_stat(AT_FDCWD, "/proc/self/no such file", &s));
}

/* A file that is longer than the room. */
static void the_beginning_of_a_file_is_read(void **state)
{
	char text[8];

	(void)state;
	assert_int_equal(gp__proc_read(AT_FDCWD, "/proc/self/status", text, sizeof(text)), 7);
	assert_int_equal(strlen(text), 7);
	assert_memory_equal(text, "Name:", 5);
	assert_int_equal(gp__proc_read(AT_FDCWD, "/nonexistent", text, sizeof(text)), 0);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fields_are_found),
		cmocka_unit_test(a_name_may_look_like_the_fields),
		cmocka_unit_test(other_text_is_refused),
		cmocka_unit_test(a_process_is_read),
		cmocka_unit_test(the_beginning_of_a_file_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
