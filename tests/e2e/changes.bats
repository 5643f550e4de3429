#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt ps --watch --json and why --watch: streams of changes, with a real daemon and fake programs.
# shellcheck disable=SC2030,SC2031,SC2154 # each test is a process; of run and daemon.bash

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${BUILD_DIR:=build}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	room=$(mktemp -d /tmp/gpreempt-bats.XXXXXX)
	chmod 755 "$room"
	export GPREEMPT_SOCKET=$room/control.sock
	agent=$BUILD_DIR/tests/fake_agent
	started=()
	start_daemon
}

teardown() {
	local pid

	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	rm -rf "$room"
}

# follow COMMAND...: its output is $room/changes, and its pid $follower.
follow() {
	# An earlier one must not write into the file of this one.
	[ -z "${follower:-}" ] || kill "$follower" 2>/dev/null || true
	rm -f "$room/changes"
	"$GPREEMPT" "$@" >"$room/changes" 2>"$room/err" 3>&- &
	follower=$!
	started+=("$follower")
	eventually grep -q '"kind":"daemon"' "$room/changes"
}

# program NAME PRIORITY WORK: its pid is $program.
program() {
	"$agent" -n "$1" -p "$2" -t "tag-$1" -w "$3" >"$room/$1.out" 3>&- &
	program=$!
	started+=("$program")
	wait_for "$1" "$GPREEMPT" ps
}

# Evaluates an expression of Python over the changes, a list c of objects.
changes() {
	python3 -c 'import json, sys
c = [json.loads(l) for l in open(sys.argv[1])]
assert all(o["schema"] == 1 and o["time_s"] > 1e9 and "event" in o for o in c)
sys.exit(not eval(sys.argv[2]))' "$room/changes" "$1"
}

of_group='[(o["event"], o["group"]["program"]) for o in c if o.get("kind") == "group" and o["event"] != "changed"]'

@test "ps: a line when a program joins, changes and leaves, with the keys that changed" {
	follow ps --watch=10s --json
	program train 2 1ms:100s
	eventually changes "('appeared', 'train') in $of_group"
	"$GPREEMPT" suspend tag:tag-train
	eventually changes 'any(o["event"] == "changed" and "suspended" in o["keys"] and o["group"]["suspended"] for o in c)'
	kill "$program"
	eventually changes "${of_group}[-1] == ('gone', 'train')"
	eventually changes 'any(o["event"] == "gone" and o["kind"] == "gpu" for o in c)'
	changes '[o["kind"] for o in c if o["event"] == "appeared"] == ["daemon", "gpu", "group"]'
}

@test "why: each hold when it begins and ends, for whom and for how long" {
	program train 2 1000ms:1ms
	train=$program
	follow why --watch "$train"
	program serve 15 150ms:150ms
	eventually changes '[o["event"] for o in c].count("released") >= 4'
	# They alternate, and a release has the time of its hold.
	changes 'all(a["event"] != b["event"] for l in [[o for o in c if o["event"] in ("held", "released")]]
		for a, b in zip(l, l[1:]))'
	changes 'all(o["hold"]["held_ms"] > 20 and o["hold"]["ended"] and o["hold"]["by_program"] == "serve"
		and o["hold"]["rule"] == "priority" for o in c if o["event"] == "released")'
	kill "$train"
	eventually changes 'c[-1]["event"] == "gone" and c[-1]["program"] == "train"'
}

@test "a daemon that restarts in the middle" {
	program train 2 1000ms:1ms
	follow ps --watch=10s --json
	eventually changes "('appeared', 'train') in $of_group"
	kill "$daemon"
	eventually changes '(c[-1]["event"], c[-1]["kind"]) == ("gone", "daemon")'
	kill "$program" 2>/dev/null || true
	start_daemon
	eventually changes '[o["event"] for o in c if o["kind"] == "daemon"] == ["appeared", "gone", "appeared"]'
	program again 2 1000ms:1ms
	eventually changes "$of_group == [('appeared', 'train'), ('appeared', 'again')]"
	# why goes on, too, though its program has not joined again yet.
	follow why --watch tag:tag-again
	kill "$daemon"
	eventually changes '(c[-1]["event"], c[-1].get("kind")) == ("gone", "daemon")'
	start_daemon
	eventually changes '(c[-1]["event"], c[-1].get("kind")) == ("appeared", "daemon")'
	program again 2 1000ms:1ms
	eventually changes 'c[-1]["event"] == "appeared" and c[-1].get("program") == "again"'
}

@test "a reader that goes away ends the stream, although nothing changes" {
	program train 2 1ms:100s
	for command in "ps --watch=100s --json" "why --watch=100s tag:tag-train"; do
		# shellcheck disable=SC2086
		timeout 10 "$GPREEMPT" $command 2>"$room/err" | head -1 >"$room/changes"
		changes 'c[0]["kind"] == "daemon"'
		[[ ${PIPESTATUS[0]} -ne 124 ]]
	done
}

# The times that a process has slept.
sleeps() {
	awk '/^voluntary/ { print $2 }' "/proc/$follower/status"
}

@test "why asks nothing while nothing happens" {
	program train 2 1ms:100s
	follow why --watch tag:tag-train
	eventually changes 'c[-1].get("program") == "train"'
	sleep 0.3
	before=$(sleeps)
	sleep 1
	[ "$(sleeps)" -eq "$before" ]
}

@test "a user without the right to see decisions looks at intervals" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to become another user"
	cp "$GPREEMPT" "$room/gpreempt"
	printf '[daemon]\n[everybody]\nmax_priority = 15\n' >"$room/gpreemptd.conf"
	chmod 666 "$GPREEMPT_SOCKET"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$room/gpreempt" ps --watch=100ms --json \
		>"$room/changes" 2>"$room/err" 3>&- &
	started+=($!)
	eventually grep -q '"kind":"daemon"' "$room/changes"
	program train 2 1000ms:1ms
	eventually changes 'any(o["event"] == "appeared" and o["kind"] == "group" for o in c)'
	# It sees that the program exists, not which it is.
	changes 'not any("program" in o["group"] for o in c if o["kind"] == "group")'
}

@test "wrong use" {
	run -2 "$GPREEMPT" why --watch
	run -2 "$GPREEMPT" why --watch=now 1
	[[ $output == *"'now' is not a duration"* ]]
	run -1 "$GPREEMPT" why --watch tag:nobody
	kill "$daemon"
	wait "$daemon"
	run -3 "$GPREEMPT" why --watch tag:nobody
	run -3 "$GPREEMPT" ps --watch --json
}
