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
	echo "librocrand1-tests=1.0-1" >"$folder/sid/packages"
	records=$BATS_TEST_TMPDIR/records
	# Replaces the command that runs a program on a machine.
	cat >"$build/src/cli/gpreempt" <<-'SCRIPT'
		#!/bin/bash
		[[ $1 != --version ]] || exec echo "gpreempt 1.2.3"
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

		static const char *names[] = { "one/0", "one/1", "slow", "bad", "crash", "hang",
					       "stuck", "skip", "last" };
		#define NR_NAMES 9

		static void run(const char *name)
		{
			printf("[ RUN      ] Set.%s\n", name);
			fflush(stdout);
			if (!strcmp(name, "crash"))
				abort();
			while (!strcmp(name, "hang"))
				;
			if (!strcmp(name, "slow"))
				sleep(2);
			if (!strcmp(name, "stuck"))
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
					for (int k = 0; k < NR_NAMES; k++)
						printf("  %s  # a comment\n", names[k]);
					puts("  DISABLED_never");
					return 0;
				}
				if (!strncmp(argv[i], "--gtest_filter=", 15))
					filter = argv[i] + 15;
			}
			for (int k = 0; k < NR_NAMES; k++) {
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
	run "$suite" --folder "$folder" --build "$build" --records "$records" \
		--libraries rocrand --limit 1 "$@"
	echo "$output"
}

@test "rocm-suite: each verdict belongs to the right case" {
	rocm_suite --cases '*-*stuck'
	[ "$status" -eq 1 ]
	[[ $output == *"test_it: 4 passed, 2 failed, 1 skipped, 1 without a verdict"* ]]
	[[ $output == *"failed: librocrand1-tests.test_it Set.bad"* ]]
	[[ $output == *"failed: librocrand1-tests.test_it Set.crash: "* ]]
	[[ $output == *"no verdict: librocrand1-tests.test_it Set.hang ("*" s)"* ]]
	[[ $output == *$'\n'"tests: 4 passed, 2 failed, 1 skipped, 1 without a verdict" ]]
}

@test "rocm-suite: the limit is of processor time, and ten times as long for one that waits" {
	rocm_suite --cases '*slow:*stuck'
	[ "$status" -eq 0 ]
	[[ $output == *"no verdict: librocrand1-tests.test_it Set.stuck (0 s)"* ]]
	[[ $output == *$'\n'"tests: 1 passed, 0 failed, 0 skipped, 1 without a verdict" ]]
}

@test "rocm-suite: a program whose first cases take long runs after the others" {
	cp "$programs/test_it" "$programs/test_first"
	sed -i "2i [[ \$* == *gtest_list_tests* ]] || basename \"\${*: -3:1}\" >>$BATS_TEST_TMPDIR/starts" \
		"$build/src/cli/gpreempt"
	rocm_suite --limit 2 --probe 1 --cases '*hang:*last' --jobs 1
	[ "$status" -eq 0 ]
	[[ $output == *"tests: 2 passed, 0 failed, 0 skipped, 2 without a verdict" ]]
	[[ $output == *"no verdict: librocrand1-tests.test_first Set.hang ("[23]" s)"* ]]
	grep test_ "$BATS_TEST_TMPDIR/starts" | head -3 | tr '\n' ' ' >"$BATS_TEST_TMPDIR/order"
	[ "$(cat "$BATS_TEST_TMPDIR/order")" = "test_first test_it test_first " ]
}

@test "rocm-suite: after a case that the limit ends, other programs come first" {
	cp "$programs/test_it" "$programs/test_first"
	sed -i "2i [[ \$* == *gtest_list_tests* ]] || basename \"\${*: -3:1}\" >>$BATS_TEST_TMPDIR/starts" \
		"$build/src/cli/gpreempt"
	rocm_suite --cases '*hang:*last' --jobs 1
	[ "$status" -eq 0 ]
	[[ $output == *"tests: 2 passed, 0 failed, 0 skipped, 2 without a verdict" ]]
	grep test_ "$BATS_TEST_TMPDIR/starts" | head -2 | tr '\n' ' ' >"$BATS_TEST_TMPDIR/order"
	[ "$(cat "$BATS_TEST_TMPDIR/order")" = "test_first test_it " ]
}

@test "rocm-suite: Thrust's framework: a failure that is known counts as skipped" {
	cat >"$BATS_TEST_TMPDIR/thrust.c" <<-'SOURCE'
		#include <stdio.h>
		#include <string.h>

		/* The usage of the framework: --verbose [PartialTestName1 PartialTestName2 ...] */
		int main(int argc, char **argv)
		{
			static const char *names[] = { "TestGood", "TestBad", "TestKnown" };
			static const char *lines[] = { "[PASS]             1.23 ms TestGood",
						       "[FAILURE]             0.10 ms TestBad",
						       "[KNOWN FAILURE]      TestKnown" };

			for (int i = 0; i < 3; i++) {
				if (argc > 1 && !strcmp(argv[1], "--list"))
					puts(names[i]);
				for (int k = 1; k < argc; k++) {
					if (strcmp(argv[k], names[i]))
						continue;
					printf("Running %s...", names[i]);
					if (!i)
						puts("a warning");
					fflush(stdout);
					printf("\r%s\n", lines[i]);
				}
			}
			return printf("%s", argc > 9 ? "PartialTestName1" : "") > 0;
		}
	SOURCE
	cc -o "$programs/test_thrust" "$BATS_TEST_TMPDIR/thrust.c"
	rocm_suite --programs test_thrust
	[ "$status" -eq 1 ]
	[[ $output == *"test_thrust: 1 passed, 1 failed, 1 skipped, 0 without a verdict"* ]]
	[[ $output == *"failed: librocrand1-tests.test_thrust TestBad"* ]]
}

@test "rocm-suite: --wall says how long a case may wait, and --ci waits less" {
	rocm_suite --cases '*stuck' --wall 2
	[ "$status" -eq 0 ]
	grep -qF "time limit of 1 s of processor time, or 2 s" "$folder/sid/results/librocrand1-tests.test_it"
	"$suite" --help | tr -s ' \n' ' ' | grep -qF -- "--limit 240 --wall 2 "
}

@test "rocm-suite: recorded verdicts count apart and are not run, unless --again is given" {
	rocm_suite --cases '*one*:*skip' --record
	[ "$status" -eq 0 ]
	cat "$records/sid/librocrand1-tests"
	grep -qP "^run\t1\t$(date +%F), gpreempt 1\.2\.3.*, 4 CUs$" "$records/sid/librocrand1-tests"
	grep -qP '^passed\t1\t0\.\d\tSet\.one/\* 0-1$' "$records/sid/librocrand1-tests"
	rm -r "$folder/sid/results"
	rocm_suite --cases '*one*:*skip:*last'
	[[ $output == *"test_it: 3 passed, 0 failed, 1 skipped, 0 without a verdict; recorded: 3 ($(date +%F), gpreempt 1.2.3"*"); run here: 1"* ]]
	[[ $output == *"recorded by earlier runs, not run here: 3; run here: 1"* ]]
	rocm_suite --cases '*one*:*skip:*last' --again all
	[[ $output != *"recorded"* ]]
	rm -r "$folder/sid/results"
	rocm_suite --report --no-record
	[[ $output == *"tests: 0 passed, 0 failed, 0 skipped, 0 without a verdict, 9 not run" ]]
	# Another version of the package is other programs.
	echo "librocrand1-tests=1.0-2" >"$folder/sid/packages"
	rocm_suite --report
	[[ $output == *"tests: 0 passed, 0 failed, 0 skipped, 0 without a verdict, 9 not run" ]]
}

@test "rocm-suite: a recorded verdict outlives a run without one" {
	rocm_suite --cases '*last' --record
	sed -i 's/last/hang/' "$records/sid/librocrand1-tests"
	rocm_suite --cases '*hang:*bad' --again all --record
	[ "$status" -eq 1 ]
	grep -qP '^passed\t.*Set\.hang(\t|$)' "$records/sid/librocrand1-tests"
	rm -r "$folder/sid/results"
	rocm_suite --cases '*bad' --report
	[ "$status" -eq 1 ]
	[[ $output == *"failed: librocrand1-tests.test_it Set.bad: recorded"* ]]
}

@test "rocm-suite: a second run continues, and --again repeats" {
	rocm_suite --cases '*one/0:*last'
	[ "$status" -eq 0 ]
	[[ $output == *"tests: 2 passed, 0 failed, 0 skipped, 0 without a verdict" ]]
	# Cases with a verdict do not run: the program, which would fail, is not started.
	# shellcheck disable=SC2016 # of the program
	printf '#!/bin/bash\n[[ $1 == --version ]]\n' >"$build/src/cli/gpreempt"
	rocm_suite --cases '*-*one/1:*bad:*crash:*hang:*skip:*slow:*stuck'
	[ "$status" -eq 0 ]
	[[ $output == *"tests: 2 passed, 0 failed"* ]]
	rocm_suite --cases '*one/0' --again passed
	[ "$status" -eq 1 ]
	[[ $output == *"tests: 0 passed, 1 failed"* ]]
}

@test "rocm-suite: the shards cover all cases" {
	rocm_suite --list --shard 1/2
	one=$(grep -c Set <<<"$output")
	rocm_suite --list --shard 2/2
	[ $((one + $(grep -c Set <<<"$output"))) -eq 9 ]
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
