#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A machine is killed: the programs on it end with a message.

bats_require_minimum_version 1.5.0

load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${ROCM_PROGRAMS:=build/tests/rocm}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	unset GPREEMPT_EMU_DIR
}

teardown() {
	"$GPREEMPT" emu stop --all
}

@test "a ROCm program ends with a message when its machine is killed" {
	[ -x "$ROCM_PROGRAMS/hsa_stops" ] || skip "no HSA runtime here"
	local pid

	"$GPREEMPT" emu start --name doomed --cus 2
	pid=$("$GPREEMPT" emu ls --no-headers | awk '{ print $2 }')
	timeout 60 "$GPREEMPT" emu exec --name doomed -- "$ROCM_PROGRAMS/hsa_stops" --seconds 30 \
		>"$BATS_TEST_TMPDIR/out" 2>&1 &
	# Until it has a queue.
	wait_for /queues/ "$GPREEMPT" emu exec --name doomed -- sh -c 'ls -d /sys/class/kfd/kfd/proc/*/queues/* 2>/dev/null'
	kill -9 "$pid"
	# Not with run, whose subshell cannot wait for the program.
	status=0
	wait $! || status=$?
	[ "$status" -ne 0 ]
	[ "$status" -ne 124 ]
	grep -q "the machine has ended" "$BATS_TEST_TMPDIR/out"
	# Its folder is recognised as that of a dead machine.
	[ -z "$("$GPREEMPT" emu ls --no-headers)" ]
	"$GPREEMPT" emu start --name doomed --cus 2
}

# ROCr of HIP 5.2 polls the event's signal, and so does its thread for exceptions.
@test "a HIP program that waits without system calls ends when its machine is killed" {
	[ -x "$ROCM_PROGRAMS/hip_endless" ] || skip "no HIP here"
	local pid

	"$GPREEMPT" emu start --name doomed --cus 2
	pid=$("$GPREEMPT" emu ls --no-headers | awk '{ print $2 }')
	timeout 60 "$GPREEMPT" emu exec --name doomed -- "$ROCM_PROGRAMS/hip_endless" \
		>"$BATS_TEST_TMPDIR/out" 2>&1 &
	wait_for launched cat "$BATS_TEST_TMPDIR/out"
	kill -9 "$pid"
	status=0
	wait $! || status=$?
	[ "$status" -eq 134 ] # aborted
	grep -q "the machine has ended" "$BATS_TEST_TMPDIR/out"
}
