#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The emulated machine against the answers that a kernel gave when it was asked last, and how such
# answers are compared. 'make kernel-probe' asks the kernel itself.

# What depends on neither time nor other threads.
groups=(calls ids files mappings events runtime sysfs)

setup() {
	: "${SOURCE_DIR:=.}"
	compare=$SOURCE_DIR/tests/kernel/compare.py
	a=$BATS_TEST_TMPDIR/kernel
	b=$BATS_TEST_TMPDIR/emulated
	list=$BATS_TEST_TMPDIR/list.md
	printf 'one/x: EINVAL\none/y: 0\ntwo/z: 7 of them\n' >"$a"
	printf 'one/x: EINVAL\none/y: 1\ntwo/z: 7 of them\n' >"$b"
	# shellcheck disable=SC2016
	printf '# Why\n\nSo it is.\n\n| case | a | b |\n|---|---|---|\n| `one/y` | `0` | `1` |\n' >"$list"
}

@test "an emulated machine without a GPU answers as the kernel did" {
	[ "$(id -u)" -eq 0 ] || skip "some answers are root's"
	"$GPREEMPT" emu exec --gpus 0 -- "$BUILD_DIR/tests/kernel/kfd_probe" "${groups[@]}" >"$b"
	run "$compare" "$SOURCE_DIR/tests/kernel/answers" "$b" \
		"$SOURCE_DIR/docs/emulator-differences.md" "${groups[@]}"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "differences that are listed are no failure" {
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 0 ]
	[ "$output" = "kernel-probe: 3 passed, 0 failed" ]
}

@test "a difference that is not listed is one" {
	echo 'two/new: 1' >>"$b"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
	[[ $output == *"FAILED  two/new"*"kernel:           -"*"emulated machine: 1"* ]]
	[[ $output == *"kernel-probe: 3 passed, 1 failed" ]]
}

@test "a listed difference that is none any more is one" {
	cp "$a" "$b"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
	[[ $output == *"FAILED  one/y"*"listed as:        0 | 1"* ]]
}

@test "a listed difference with another answer is one" {
	sed -i 's/one\/y: 1/one\/y: 2/' "$b"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
}

@test "a listed case that nobody asks is one" {
	sed -i '/one.y/d' "$a" "$b"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
	[[ $output == *"one/y is listed as a difference, and nobody asks it"* ]]
}

@test "of groups, only their cases count" {
	echo 'two/new: 1' >>"$b"
	run "$compare" "$a" "$b" "$list" one
	[ "$status" -eq 0 ]
	[ "$output" = "kernel-probe: 2 passed, 0 failed" ]
}

@test "a list without a reason, or with a row that cannot be read, is refused" {
	sed -i '/So it is/d' "$list"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
	[[ $output == *"no reason is given for one/y"* ]]
	# shellcheck disable=SC2016
	printf '# Why\n\nSo.\n\n| `one/y` | 0 | 1 |\n' >"$list"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
	[[ $output == *"not of the form that is read"* ]]
}

@test "an answer that is none, or two to one case, are refused" {
	echo 'Segmentation fault' >>"$b"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
	[[ $output == *"this is no answer: Segmentation fault"* ]]
	cp "$a" "$b"
	echo 'one/x: 0' >>"$b"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
	[[ $output == *"two answers to one/x"* ]]
}
