#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# ps, top, doctor and the daemon's warnings show programs that use a GPU without having joined. The
# daemon runs on an emulated machine, as on one with an AMD GPU.
# shellcheck disable=SC2016 # eventually eval

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${WORKLOADS:=build/src/demo}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset GPREEMPT_EMU_DIR STATE_DIRECTORY
	started=()
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	"$GPREEMPT" emu start --name one --cus 4
}

teardown() {
	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	"$GPREEMPT" emu stop --all
}

# start COMMAND...: on the machine, in the background.
start() {
	"$GPREEMPT" emu exec --name one -- "$@" >>"$BATS_TEST_TMPDIR/output" 2>&1 3>&- &
	started+=($!)
}

# $1: lines of the configuration.
start_daemon_there() {
	printf '[daemon]\n%s\n' "$1" >"$BATS_TEST_TMPDIR/gpreemptd.conf"
	start "${GPREEMPT%/cli/gpreempt}/daemon/gpreemptd" -c "$BATS_TEST_TMPDIR/gpreemptd.conf"
	eventually "$GPREEMPT" ps
}

train() {
	start "$@" "$WORKLOADS/offline_trainer" --seconds 600
}

@test "a program that has not joined is in ps, top, doctor and their JSON" {
	start_daemon_there ''
	train
	wait_for "offline_trainer renderD128 unjoined" "$GPREEMPT" ps
	[[ $output == *"No program is joined."*"Not scheduled, with a GPU open:"*"DISTURBS"* ]]
	[[ $output == *" no"* ]]
	run "$GPREEMPT" doctor
	[[ $output == *"ok    unjoined     no program disturbs the joined ones; processes that have a GPU open: 1"* ]]
	train "$GPREEMPT" run --
	wait_for "offline_trainer gpu0 unjoined" "$GPREEMPT" ps
	eventually eval '[[ $("$GPREEMPT" ps) == *"gpu0 unjoined "*iB" yes"* ]]'
	run "$GPREEMPT" doctor
	[[ $output == *"warn  unjoined     offline_trainer (pid "*") uses gpu0, has not joined, and disturbs the programs that have"* ]]
	run -0 "$GPREEMPT" top --once
	[[ $output == *"offline_trai      unjoined  disturbs; "*", memory "* ]]
	run -0 "$GPREEMPT" top --json
	[ "$(python3 -c 'import json, sys
print(sorted(p["disturbs"] for p in json.load(sys.stdin)["processes"]))' <<<"$output")" = "[False, True]" ]
	run -0 "$GPREEMPT" ps --json
	[ "$(python3 -c 'import json, sys
for p in json.load(sys.stdin)["processes"]:
    print(p["joined"], p["computes"], p["memory_used_bytes"] > 0, p["devices"][0]["gpu"])' <<<"$output" | sort)" = \
		"False True True 0"$'\n'"True True True 0" ]
}

# Prints which devices, and files of /proc and /sys, the process $1 has open or mapped.
open_devices() {
	{
		readlink /proc/"$1"/fd/*
		sed -nE 's,.* (/.*),\1,p' /proc/"$1"/maps
	} | grep -E '^/(dev|proc|sys)/' | grep -vE '^/dev/(null|pts/.*)$'
}

@test "the daemon keeps no device and no file of a program open" {
	# shellcheck disable=SC2034 # of start_daemon
	devices=/dev/full
	start_daemon
	exec 9<>/dev/full
	train "$GPREEMPT" run --
	exec 9>&-
	wait_for offline_trainer "$GPREEMPT" ps
	# shellcheck disable=SC2154 # of daemon.bash
	eventually eval '! open_devices "$daemon"'
}

@test "warn_unjoined names what disturbs the joined programs, once" {
	start_daemon_there 'warn_unjoined = yes'
	train
	train "$GPREEMPT" run --
	wait_for "has not joined" cat "$BATS_TEST_TMPDIR/output"
	[[ $output == *"offline_trainer (pid "*", user $(id -u)) computes on renderD128 (memory: "*"iB) and has not joined, so it disturbs the programs that have: start it with 'gpreempt run'"* ]]
	sleep 7
	[ "$(grep -c "has not joined" "$BATS_TEST_TMPDIR/output")" -eq 1 ]
}

@test "without it, nobody is named, and a wrong value is refused" {
	start_daemon_there ''
	train
	train "$GPREEMPT" run --
	eventually eval '[[ $("$GPREEMPT" ps) == *" yes"* ]]'
	sleep 7
	run ! grep "has not joined" "$BATS_TEST_TMPDIR/output"
	printf '[daemon]\nwarn_unjoined = maybe\n' >"$BATS_TEST_TMPDIR/wrong.conf"
	run -1 "${GPREEMPT%/cli/gpreempt}/daemon/gpreemptd" -t -c "$BATS_TEST_TMPDIR/wrong.conf"
	[[ $output == *"warn_unjoined: 'maybe' is neither no nor yes"* ]]
}
