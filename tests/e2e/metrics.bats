#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt metrics, with a real daemon and fake joined programs.

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${BUILD_DIR:=build}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	room=$(mktemp -d /tmp/gpreempt-bats.XXXXXX)
	chmod 755 "$room"
	export GPREEMPT_SOCKET=$room/control.sock
	agent=$BUILD_DIR/tests/fake_agent
	promtool=${PROMTOOL:-$(command -v promtool || true)}
	started=()
}

teardown() {
	local pid

	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	rm -rf "$room"
}

# Starts two programs, one of which is held for the other every 40 ms.
two() {
	start_daemon
	"$agent" -n train -p 2 -t batch -w 1000ms:1ms >"$room/train.out" 3>&- &
	started+=($!)
	"$agent" -n 'se"rve' -p 15 -w 20ms:20ms >"$room/serve.out" 3>&- &
	started+=($!)
	wait_for 'stop 0' cat "$room/train.out"
	wait_for 'run 0' cat "$room/train.out"
}

@test "without a daemon: status 3 and a remedy" {
	run "$GPREEMPT" metrics
	[ "$status" -eq 3 ]
	[[ $output == *"Start one:"* ]]
}

@test "holds and times are there, by program and by class" {
	two
	run "$GPREEMPT" metrics
	[ "$status" -eq 0 ]
	[[ $output == *'gpreempt_program_holds_total{gpu="0",user="'$UID'",class="offline",program="train",tag="batch",rule="priority"} '* ]]
	[[ $output == *'gpreempt_class_held_seconds_total{gpu="0",key="'*'",user="'$UID'",class="offline"} 0.'* ]]
	[[ $output == *'program="se\"rve"'* ]]
	[[ $output == *'gpreempt_gpu_stop_seconds_bucket{gpu="0",key="'*'",le="+Inf"} '[1-9]* ]]
	[ "$("$GPREEMPT" metrics --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["programs"]))')" = 2 ]
}

@test "promtool finds nothing to complain about" {
	[ -n "$promtool" ] || skip "promtool is missing: it is in Debian's package prometheus"
	two
	"$GPREEMPT" metrics >"$room/metrics"
	run "$promtool" check metrics <"$room/metrics"
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}
