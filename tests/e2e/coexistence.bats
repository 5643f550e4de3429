#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Some rows of docs/coexistence.md; scripts/coexistence tries all of them.

bats_require_minimum_version 1.5.0

setup() {
	: "${SOURCE_DIR:=.}" "${BUILD_DIR:=build}"
}

@test "programs, workers of Python and observed programs beside an online program" {
	[ -x "$BUILD_DIR/src/demo/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	STEPS=15 run "$SOURCE_DIR/scripts/coexistence" "$BUILD_DIR" alone forkserver observe 3>&-
	echo "$output"
	[ "$status" -eq 0 ]
	[[ ${lines[2]} == "| nothing else | joins, is held ("*" times here), and its results are right |"* ]]
	[[ ${lines[3]} == "| multiprocessing, forkserver | joins, "* ]]
	[[ ${lines[4]} == *"--observe"*"| joins, and was not held here; its results are right |"* ]]
}

@test "docs/coexistence.md has each row of the scripts" {
	# shellcheck disable=SC2016 # a backtick is a character here
	sed -n 's/^\tsay "\(.*\)" .*/\1/p; s/^\tsay "\(.*\)" \\$/\1/p' "$SOURCE_DIR/scripts/coexistence" |
		cut -d'"' -f1 | sed 's/\\`/`/g; s/\\$//' >"$BATS_TEST_TMPDIR/rows"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/rows")" -ge 10 ]
	while read -r row; do
		grep -qF "| $row" "$SOURCE_DIR/docs/coexistence.md" || [ "$row" = "\$2" ]
	done <"$BATS_TEST_TMPDIR/rows"
	run "$SOURCE_DIR/scripts/coexistence" "$BUILD_DIR" no-such-row
	[ "$status" -eq 2 ]
	[[ $output == *"there is no row 'no-such-row'"* ]]
}

@test "the script for NVIDIA lists its rows, and needs a GPU" {
	run "$SOURCE_DIR/bench/nvidia/coexist" --programs "$BUILD_DIR" --list
	[ "$status" -eq 0 ]
	[[ $output == *plain*compute-sanitizer*ncu*graphs*ipc*managed* ]]
	[ ! -e /dev/nvidiactl ] || skip "there is a GPU"
	run "$SOURCE_DIR/bench/nvidia/coexist" --programs "$BUILD_DIR"
	[ "$status" -eq 2 ]
	[[ $output == *"there is no NVIDIA GPU here"* ]]
}
