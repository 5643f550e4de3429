#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# scripts/count-tests, scripts/may-skip and scripts/steps: a test that was skipped or that crashed
# never counts as passed.

setup() {
	: "${SOURCE_DIR:=.}"
	SOURCE_DIR=$(realpath "$SOURCE_DIR")
	scripts=$SOURCE_DIR/scripts
	cd "$BATS_TEST_TMPDIR" || return
}

# program NAME RESULT STATUS SECONDS STDOUT: adds a test program to the log of a run.
program() {
	python3 -c 'import json, sys
name, result, status, seconds, stdout = sys.argv[1:]
print(json.dumps({"name": name, "result": result, "returncode": int(status),
                  "duration": float(seconds), "stdout": stdout, "stderr": ""}))' "$@" >>log
}

@test "count-tests: cases of bats and cmocka, and programs without cases" {
	program 'gpreempt:e2e / run' OK 0 3 $'1..2\nok 1 first in 1200ms\nok 2 second in 4ms # skip no GPU here\n'
	program 'gpreempt:unit / test_a' OK 0 0.5 $'[ RUN      ] one\n[       OK ] one\n[  PASSED  ] 1 test(s).\n'
	program 'gpreempt:unit / header' OK 0 1 ''
	program 'gpreempt:unit / test_b' OK 0 1 \
		$'no root\n[  SKIPPED ] two\n[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] two\n'
	run "$scripts/count-tests" log
	[ "$status" -eq 0 ]
	[[ $output == *'skipped: 1 case: no GPU here'* ]]
	[[ $output == *'skipped: 1 case: no root'* ]]
	[[ $output == *'1.2 s  run: first'* ]]
	[[ $output == *'suite e2e: 1 programs, 3 s'* ]]
	[[ $output == *'suite unit: 3 programs, 2 s'* ]]
	[ "${lines[-1]}" = 'tests: 3 passed, 0 failed, 2 skipped' ]
}

@test "count-tests: failed cases, each once, and programs that crash or hang" {
	program 'gpreempt:e2e / run' FAIL 1 3 $'1..1\nnot ok 1 first in 12sec\n'
	program 'gpreempt:unit / test_a' FAIL 1 1 \
		$'[  FAILED  ] one\n[  FAILED  ] tests: 1 test(s), listed below:\n[  FAILED  ] one\n'
	program 'gpreempt:unit / test_b' FAIL -11 1 $'[       OK ] one\n'
	program 'gpreempt:unit / test_c' TIMEOUT -15 30 ''
	run "$scripts/count-tests" log
	[ "$status" -eq 1 ]
	[[ $output == *'failed: run: first'* ]]
	[[ $output == *'failed: test_a: one'* ]]
	[[ $output == *'failed: test_b: fail, exit status -11'* ]]
	[[ $output == *'failed: test_c: timeout'* ]]
	[ "${lines[-1]}" = 'tests: 1 passed, 4 failed, 0 skipped' ]
}

@test "count-tests: a program that ends with status 77 is skipped, with its reason" {
	program 'gpreempt:unit / ptx' SKIP 77 1 $'nvidia-ptx: no clang-19\n'
	run "$scripts/count-tests" log
	[ "$status" -eq 0 ]
	[[ $output == *'skipped: 1 case: nvidia-ptx: no clang-19'* ]]
	[ "${lines[-1]}" = 'tests: 0 passed, 0 failed, 1 skipped' ]
}

@test "count-tests: only the ten slowest" {
	for i in {1..15}; do
		program "gpreempt:unit / test_$i" OK 0 "$i" ''
	done
	run "$scripts/count-tests" log
	[ "$(grep -c '^ .* s  test_' <<<"$output")" -eq 10 ]
	[[ $output == *'15.0 s  test_15'* && $output != *' test_5'* ]]
}

@test "count-tests: no log is an error" {
	run "$scripts/count-tests" none
	[ "$status" -eq 2 ]
	[[ $output == *'no test ran'* ]]
}

@test "may-skip: status 77 is reported, with the last line as the reason" {
	run "$scripts/may-skip" soak bash -c 'echo one; echo "soak: no compiler" >&2; exit 77'
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = 'soak: SKIPPED: soak: no compiler' ]
}

@test "may-skip: any other status stays" {
	run "$scripts/may-skip" soak true
	[ "$status" -eq 0 ]
	[[ $output != *SKIPPED* ]]
	run "$scripts/may-skip" soak bash -c 'exit 3'
	[ "$status" -eq 3 ]
}

@test "steps: cases, checks, skips and steps without either add up" {
	run bash -c 'source "$0/steps"
		step cases echo "tests: 12 passed, 0 failed, 2 skipped"
		step checks echo "lint: 9 passed, 0 failed"
		step plain true
		step soak "$0/may-skip" soak bash -c "echo no compiler; exit 77"
		summary' "$scripts"
	[ "$status" -eq 0 ]
	[[ $output == *$'\nsoak: SKIPPED: no compiler\ntotal: '* ]]
	[ "${lines[-1]}" = '22 passed, 0 failed, 3 skipped' ]
}

@test "steps: a step that fails without a failed case counts as one" {
	run bash -c 'source "$0/steps"
		step cases bash -c "echo failed: a: b; echo tests: 3 passed, 2 failed, 0 skipped; exit 1"
		step broken false
		summary' "$scripts"
	[ "$status" -eq 1 ]
	[[ $output == *$'\nFAILED: cases\nfailed: a: b\nFAILED: broken\ntotal: '* ]]
	[ "${lines[-1]}" = '3 passed, 3 failed, 0 skipped' ]
}

@test "a make target with a step that may be skipped says so" {
	run grep -nE '\?? -eq 77' "$SOURCE_DIR/Makefile" "$SOURCE_DIR/.ci/run"
	[ "$status" -eq 1 ]
}
