#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs that run together on two emulated GPUs, or not at all.

bats_require_minimum_version 1.5.0

load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}"
	: "${ROCM_PROGRAMS:=build/tests/rocm}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	# Not the one of root's daemon, which another test may have at the same time.
	export GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset GPREEMPT_EMU_DIR
	started=()
	stop=$BATS_TEST_TMPDIR/stop
	[ -x "$ROCM_PROGRAMS/hsa_pair" ] || skip "no hsa_pair: it needs libhsa-runtime-dev and clang-19"
	start_daemon
	# Neither guarantees nor ageing: a program is held for as long as a more urgent one has work.
	"$GPREEMPT" policy hpf age_ms=0 max_hold_ms=0 min_share_pct=0
	"$GPREEMPT" emu start --name pair --gpus 2 --cus 2
}

teardown() {
	touch "$stop" "$stop.busy"
	[ ${#started[@]} -eq 0 ] || kill "${started[@]}" 2>/dev/null || true
	"$GPREEMPT" emu stop --all
	wait
}

# start OUTPUT OPTION... -- ARGUMENT...: hsa_pair under gpreempt run, on the machine.
start() {
	local options=() output=$BATS_TEST_TMPDIR/$1

	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	"$GPREEMPT" emu exec --name pair -- "$GPREEMPT" run "${options[@]}" -- \
		"$ROCM_PROGRAMS/hsa_pair" "$@" >"$output" 2>&1 3>&- &
	started+=($!)
}

# start_pair OPTION...
start_pair() {
	for rank in 0 1; do
		start "rank$rank" -c offline "$@" -- rank $rank "$BATS_TEST_TMPDIR/shared" "$stop"
	done
	eventually grep -q "turn 20" "$BATS_TEST_TMPDIR/rank0"
}

# states: the states of the ranks, in the order of their GPUs.
states() {
	"$GPREEMPT" ps --json | python3 -c '
import json, sys
groups = [g for g in json.load(sys.stdin)["groups"] if g["priority"] == 2]
print(*[g["state"] for g in sorted(groups, key=lambda g: g["gpu"])])'
}

turn() {
	grep "^turn" "$BATS_TEST_TMPDIR/rank0" | tail -n 1
}

@test "ranks that wait for each other stall when one of them is held" {
	start_pair
	start busy -c online -- busy 0 "$stop.busy"
	# The other one gives up after so much device time: only it runs.
	for _ in {1..20}; do
		wait_for stalled cat "$BATS_TEST_TMPDIR/rank1" && break
	done
	[[ $output == *"stalled in turn"* ]]
	touch "$stop.busy"
}

@test "a gang of ranks that wait for each other is held and released together" {
	start_pair --gang pair:2
	start busy -c online -- busy 0 "$stop.busy"
	wait_for "excluded excluded" states
	before=$(turn)
	run "$GPREEMPT" ps
	[[ $output == *GANG* ]]
	[[ $output == *"pair 2 of 2"*"held"* ]]
	run "$GPREEMPT" why "group:$("$GPREEMPT" ps --json | python3 -c '
import json, sys
groups = json.load(sys.stdin)["groups"]
# The first program has GPU 0, whichever it is.
busy = {g["gpu"] for g in groups if g["priority"] == 15}
print(*[g["group"] for g in groups if g["gpu"] not in busy and g["priority"] == 2])')"
	[[ $output == *"gang: pair 2 of 2"* ]]
	[[ $output == *"another member of its gang cannot run (rule: gang)"* ]]
	[ "$(turn)" = "$before" ]
	touch "$stop.busy"
	wait_for "admitted admitted" states
	touch "$stop"
	for rank in 0 1; do
		wait_for "ended after" cat "$BATS_TEST_TMPDIR/rank$rank"
		[[ $output != *stalled* ]]
	done
}

@test "a gang that is not complete in time runs ungrouped, and says so" {
	start alone --tag alone --gang alone:2 -- busy 0 "$stop.busy"
	wait_for "waits for its gang" "$GPREEMPT" ps
	run "$GPREEMPT" why tag:alone
	[[ $output == *"not all members of its gang have joined (rule: gang)"* ]]
	wait_for "run ungrouped" cat "$BATS_TEST_TMPDIR/daemon" ||
		wait_for "run ungrouped" cat "$BATS_TEST_TMPDIR/daemon"
	[[ $output == *"gang 'alone' of user $(id -u): 1 of 2 members have joined within 30 s; they run ungrouped"* ]]
	wait_for "gang 'alone': not all of its 2 members have joined; this program runs ungrouped" \
		cat "$BATS_TEST_TMPDIR/alone"
	wait_for running "$GPREEMPT" ps
	[[ $output == *"alone 1 of 2, not in it"* ]]
	touch "$stop.busy"
	wait "${started[1]}"
}

@test "a member that dies leaves the others a smaller gang" {
	start_pair --gang pair:2
	kill -9 "$("$GPREEMPT" ps --json | python3 -c '
import json, sys
print(*[g["pid"] for g in json.load(sys.stdin)["groups"] if g["gpu"] == 1])')"
	wait_for "pair 1 of 2" "$GPREEMPT" ps
	[[ $output == *running* ]]
}
