#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# scripts/rocm-suite with a fake test program: each case gets its verdict, and a repeated run
# continues. Nothing is downloaded, and no machine is started.

bats_require_minimum_version 1.5.0

setup() {
	: "${SOURCE_DIR:=.}"
	suite=$SOURCE_DIR/scripts/rocm-suite
	folder=$BATS_TEST_TMPDIR/folder
	programs=$folder/sid/root/usr/libexec/rocm/librocrand1-tests
	build=$BATS_TEST_TMPDIR/build
	command -v cc >/dev/null || skip "no C compiler"
	command -v dpkg >/dev/null || skip "no dpkg"
	loader=$(compgen -G "/lib*/ld-linux-*.so.*" | head -1)
	mkdir -p "$programs" "$folder/sid/root/usr/lib/any" "$build/src/cli"
	ln -s "$loader" "$folder/sid/root/usr/lib/any/$(basename "$loader")"
	echo "sid $(dpkg --print-architecture) librocrand1-tests" >"$folder/sid/complete"
	# Replaces the command that runs a program on a machine.
	cat >"$build/src/cli/gpreempt" <<-'SCRIPT'
		#!/bin/bash
		while [[ $1 != -- ]]; do shift; done
		# Without a library path, the libraries are this machine's.
		exec "$2" "${@:5}"
	SCRIPT
	chmod +x "$build/src/cli/gpreempt"
	cat >"$BATS_TEST_TMPDIR/program.c" <<-'SOURCE'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>

		static const char *names[] = { "one", "bad", "crash", "hang", "skip", "last" };

		static void run(const char *name)
		{
			printf("[ RUN      ] Set.%s\n", name);
			fflush(stdout);
			if (!strcmp(name, "crash"))
				abort();
			if (!strcmp(name, "hang"))
				sleep(100);
			printf("a word without an end");
			printf(!strcmp(name, "bad")	? "[  FAILED  ] Set.%s (1 ms)\n" :
			       !strcmp(name, "skip") ? "[  SKIPPED ] Set.%s (0 ms)\n" :
						       "[       OK ] Set.%s (0 ms)\n",
			       name);
			fflush(stdout);
		}

		int main(int argc, char **argv)
		{
			const char *filter = "";

			for (int i = 1; i < argc; i++) {
				if (!strcmp(argv[i], "--gtest_list_tests")) {
					puts("Set.");
					for (int k = 0; k < 6; k++)
						printf("  %s  # a comment\n", names[k]);
					puts("  DISABLED_never");
					return 0;
				}
				if (!strncmp(argv[i], "--gtest_filter=", 15))
					filter = argv[i] + 15;
			}
			for (int k = 0; k < 6; k++) {
				char name[32];

				snprintf(name, sizeof(name), "Set.%s", names[k]);
				if (strstr(filter, name))
					run(names[k]);
			}
			return 0;
		}
	SOURCE
	cc -o "$programs/test_it" "$BATS_TEST_TMPDIR/program.c"
}

rocm_suite() {
	run "$suite" --folder "$folder" --build "$build" --libraries rocrand --limit 2 "$@"
	echo "$output"
}

@test "rocm-suite: each verdict belongs to the right case" {
	rocm_suite
	[ "$status" -eq 1 ]
	[[ $output == *"test_it: 2 passed, 2 failed, 1 skipped, 1 without a verdict"* ]]
	[[ $output == *"failed: librocrand1-tests.test_it Set.bad"* ]]
	[[ $output == *"failed: librocrand1-tests.test_it Set.crash: "* ]]
	[[ $output == *"no verdict: librocrand1-tests.test_it Set.hang (2 s)"* ]]
	[[ $output == *$'\n'"tests: 2 passed, 2 failed, 1 skipped, 1 without a verdict" ]]
}

@test "rocm-suite: a second run continues, and --again repeats" {
	rocm_suite --cases '*one:*last'
	[ "$status" -eq 0 ]
	[[ $output == *"tests: 2 passed, 0 failed, 0 skipped, 0 without a verdict" ]]
	# Cases with a verdict do not run: the program, which would fail, is not started.
	printf '#!/bin/bash\nexit 1\n' >"$build/src/cli/gpreempt"
	rocm_suite --cases '*-*bad:*crash:*hang:*skip'
	[ "$status" -eq 0 ]
	[[ $output == *"tests: 2 passed, 0 failed"* ]]
	rocm_suite --cases '*one' --again passed
	[ "$status" -eq 1 ]
	[[ $output == *"tests: 0 passed, 1 failed"* ]]
}

@test "rocm-suite: the shards cover all cases" {
	rocm_suite --list --shard 1/2
	one=$(grep -c Set <<<"$output")
	rocm_suite --list --shard 2/2
	[ $((one + $(grep -c Set <<<"$output"))) -eq 6 ]
	rocm_suite --list --shard 3/2
	[ "$status" -eq 2 ]
}

@test "rocm-suite: missing programs are reported" {
	rocm_suite --libraries nothing
	[ "$status" -eq 2 ]
	[[ $output == *"no library 'nothing'; there are: "* ]]
	rocm_suite --programs nothing
	[ "$status" -eq 2 ]
	rm "$build/src/cli/gpreempt"
	rocm_suite
	[ "$status" -eq 1 ]
	[[ $output == *"gpreempt is missing; 'make' builds it" ]]
}
