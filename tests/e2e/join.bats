#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs with the preload that sees their queues, on emulated machines.

bats_require_minimum_version 1.5.0

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}"
	: "${ROCM_PROGRAMS:=build/tests/rocm}"
	: "${JOIN:=$PWD/build/src/join/libgpreempt-join.so}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	unset GPREEMPT_EMU_DIR GPREEMPT_WAY
}

teardown() {
	"$GPREEMPT" emu stop --all
}

# A test program; without it, the test is skipped.
program() {
	[ -x "$ROCM_PROGRAMS/$1" ] ||
		skip "no $1: it needs libhsa-runtime-dev and clang-19, or hipcc"
}

joined() {
	LD_PRELOAD=$JOIN run timeout 120 "$GPREEMPT" emu exec "$@"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "two names are the preload's, and no others" {
	run nm -D --defined-only --format=just-symbols "$JOIN"
	[ "$output" = $'gp_join_table\nioctl' ]
}

@test "programs of HSA do what they do without it" {
	program hsa_queues
	joined -- "$ROCM_PROGRAMS/hsa_queues"
	[[ $output == *"all 16 tests passed on gfx90a" ]]
	joined -- "$ROCM_PROGRAMS/hsa_memory"
	[[ $output == *"all 8 tests passed on gfx90a" ]]
	joined --gpus 2 --cus 16 -- "$ROCM_PROGRAMS/hsa_peers"
}

@test "programs of HIP do what they do without it" {
	program hip_kernels
	joined -- "$ROCM_PROGRAMS/hip_kernels"
	[[ $output == *"all 6 tests passed on gfx90a:sramecc+:xnack-" ]]
	joined -- "$ROCM_PROGRAMS/hip_memory"
	joined -- "$ROCM_PROGRAMS/hip_streams"
}

@test "programs that stop their queues themselves do so, whichever way it would take" {
	program hsa_stops
	for way in update dbgtrap preempt; do
		for stop in update debug save; do
			export GPREEMPT_WAY=$way
			joined --kernel gpreempt --cus 8 -- "$ROCM_PROGRAMS/hsa_stops" --seconds 1 --stop $stop
			[[ $output == *"each right"* ]]
		done
	done
}

@test "what it does not understand makes it step aside, in one line" {
	program hsa_queues
	GPREEMPT_WAY=sometimes joined --cus 4 -- "$ROCM_PROGRAMS/hsa_queues" times
	[ "$(grep -c ^gpreempt: <<<"$output")" -eq 1 ]
	[[ $output == *"gpreempt: GPREEMPT_WAY is none of update, dbgtrap and preempt, but sometimes: this program is not joined"* ]]
}

@test "programs without a GPU notice nothing" {
	run env LD_PRELOAD="$JOIN" GPREEMPT_WAY=sometimes stty -a </dev/null
	[[ $output == *"not a tty"* || $output == *"Inappropriate ioctl"* ]]
	[[ $output != *gpreempt:* ]]
}
