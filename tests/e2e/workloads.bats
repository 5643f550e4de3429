#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The offline and the online program of the demo and of the tests.

bats_require_minimum_version 1.5.0

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${WORKLOADS:=build/src/demo}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	unset GPREEMPT_EMU_DIR
	trainer=$WORKLOADS/offline_trainer server=$WORKLOADS/online_server
	[ -x "$trainer" ] || skip "no offline_trainer: it needs libhsa-runtime-dev"
}

on_machine() {
	timeout 120 "$GPREEMPT" emu exec --cus 4 "$@"
}

# Prints the last word of a run's output.
digest() {
	"$@" | sed -n 's/.*digest //p'
}

@test "the trainer's steps on a GPU and on the host have the same digest" {
	want=$(digest "$trainer" --on host --steps 6 --queues 3 --rounds 500)
	[ "${#want}" -eq 16 ]
	[ "$(digest on_machine -- "$trainer" --steps 6 --queues 3 --rounds 500)" = "$want" ]
	want=$(digest "$trainer" --on host --steps 7 --queues 2 --rounds 500 --ahead 3)
	[ "$(digest on_machine -- "$trainer" --steps 7 --queues 2 --rounds 500 --ahead 3)" = "$want" ]
}

@test "the digest depends on steps, rounds and seed" {
	want=$(digest "$trainer" --on host --steps 6 --rounds 50)
	for other in "--steps 5 --rounds 50" "--steps 6 --rounds 51" \
		"--steps 6 --rounds 50 --seed 2" "--steps 6 --rounds 50 --queues 1" \
		"--steps 6 --rounds 50 --ahead 2"; do
		# shellcheck disable=SC2086 # two words
		[ "$(digest "$trainer" --on host $other)" != "$want" ]
	done
}

@test "a trainer ends after the current step on SIGTERM, with the digest so far" {
	on_machine -- "$trainer" --json --rounds 500 --ahead 2 --progress "$BATS_TEST_TMPDIR/progress" \
		>"$BATS_TEST_TMPDIR/out" &
	for _ in $(seq 200); do
		# The number of steps, behind magic and pid.
		steps=$(od -A n -t u8 -j 8 -N 8 "$BATS_TEST_TMPDIR/progress" 2>/dev/null || true)
		[ "${steps:-0}" -gt 2 ] && break
		sleep 0.05
	done
	kill "$(od -A n -t u4 -j 4 -N 4 "$BATS_TEST_TMPDIR/progress" | tr -d ' ')"
	wait $!
	read -r steps got < <(python3 -c 'import json, sys; d = json.load(sys.stdin)
print(d["steps"], d["digest"])' <"$BATS_TEST_TMPDIR/out")
	[ "$steps" -gt 2 ]
	[ "$(digest "$trainer" --on host --rounds 500 --ahead 2 --steps "$steps")" = "$got" ]
}

@test "an unknown option or an invalid value ends a program with a message" {
	run -1 "$trainer" --ahead 9
	[[ $output == *"--ahead: '9' is no number from 1 to 8"* ]]
	run -1 "$trainer" --on paper
	[[ $output == *"--on: 'paper' is neither gpu nor host"* ]]
	run -1 "$trainer" more
	[[ $output == *"unknown argument 'more'"* ]]
	run -1 "$server" --period 3
	[[ $output == *"--period: '3' is not a time such as 20ms"* ]]
	for wrong in --unknown --requests; do
		run -1 "$server" $wrong
		[[ $output == *"usage: online_server"* ]]
	done
}

@test "the server answers single, concurrent and line-wise requests" {
	run on_machine -- "$server" --requests 12 --period 1ms
	[[ $output == *"12 requests, each answered right"*"wall time: p50"*"device time: p50"* ]]
	run on_machine -- "$server" --requests 70 --at-once 32 --queues 2 --json
	[[ $output == *'"requests":70'*'"p99_us"'* ]]
	run bash -c 'printf "3\n1\n" | timeout 60 "$@"' _ "$GPREEMPT" emu exec --cus 4 -- "$server" \
		--stdin
	[[ $output == *"served 3 wall_us "*"served 1 wall_us "*"4 requests, each answered right"* ]]
	run -1 bash -c 'echo many | timeout 60 "$@"' _ "$GPREEMPT" emu exec --cus 4 -- "$server" --stdin
	[[ $output == *"'many' is no number of requests from 1 to 256"* ]]
}

@test "a machine's trace lists the queues on the compute units, and is complete" {
	on_machine --trace "$BATS_TEST_TMPDIR/trace" -- "$server" --requests 5 --period 5ms --groups 8
	python3 - "$BATS_TEST_TMPDIR/trace" <<-'END'
		import sys
		lines = [line.split() for line in open(sys.argv[1])]
		assert lines[-1] == ["end"], lines[-1]
		clocks = [l for l in lines[:-1] if l[3] in ("busy", "idle")]
		queues = [l for l in lines[:-1] if l[3] in ("on", "off")]
		work = [l for l in lines[:-1] if l[3] in ("work", "done")]
		assert clocks and queues and work
		assert len(clocks) + len(queues) + len(work) == len(lines) - 1
		for kind in clocks, queues, work:
		    times = [int(l[1]) for l in kind]
		    assert times == sorted(times)
		assert [l[3] for l in clocks] == ["busy", "idle"] * (len(clocks) // 2)
		for queue in {tuple(l[4:]) for l in queues}:
		    states = [l[3] for l in queues if tuple(l[4:]) == queue]
		    assert states == ["on", "off"] * (len(states) // 2), (queue, states)
	END
	run -125 "$GPREEMPT" emu exec --trace "$BATS_TEST_TMPDIR/no/trace" -- true
	[[ $output == *"no/trace: No such file or directory"* ]]
}
