// SPDX-License-Identifier: MIT
/*
 * Threads that call functions of the preload before it has started. The race is a short one, so
 * that many programs run.
 */
#include <errno.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../unit/sanitized.h"

#define ROUNDS 40

extern char **environ;

int early_threads_join(void); /* of the library */

static void test_yield_at_the_start(void **unused)
{
	char *argv[] = { "test_emu_early", "run", NULL };

	(void)unused;
	if (SANITIZED) {
		print_message("no preload in a program with a sanitizer\n");
		skip();
	}
	assert_int_equal(setenv("LD_PRELOAD", getenv("EMU_PRELOAD"), 1), 0);
	for (int i = 0; i < ROUNDS; i++) {
		int status = -1;
		pid_t pid;

		assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		assert_int_equal(status, 0);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_yield_at_the_start),
	};

	int err = early_threads_join();

	if (argc > 1 && !strcmp(argv[1], "run"))
		return err;
	return err ? err : cmocka_run_group_tests(tests, NULL, NULL);
}
