#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A machine that is killed: the programs on it end, and are told why.

bats_require_minimum_version 1.5.0

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${ROCM_PROGRAMS:=build/tests/rocm}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	unset GPREEMPT_EMU_DIR
}

teardown() {
	"$GPREEMPT" emu stop --all
}

@test "a ROCm program whose machine is killed ends with a sentence, not never" {
	[ -x "$ROCM_PROGRAMS/hsa_stops" ] || skip "no HSA runtime here"
	local pid

	"$GPREEMPT" emu start --name doomed --cus 2
	pid=$("$GPREEMPT" emu ls --no-headers | awk '{ print $2 }')
	timeout 60 "$GPREEMPT" emu exec --name doomed -- "$ROCM_PROGRAMS/hsa_stops" --seconds 30 \
		>"$BATS_TEST_TMPDIR/out" 2>&1 &
	sleep 1
	kill -9 "$pid"
	# Not with run: what that starts has no children to wait for.
	status=0
	wait $! || status=$?
	[ "$status" -ne 0 ]
	[ "$status" -ne 124 ]
	grep -q "the machine has ended" "$BATS_TEST_TMPDIR/out"
	# What it left is recognised as dead.
	[ -z "$("$GPREEMPT" emu ls --no-headers)" ]
	"$GPREEMPT" emu start --name doomed --cus 2
}
