#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# An emulated GPU that is gone while a program is held, and a host that was suspended. The daemon forgets
# what is lost and schedules the programs that come afterwards.
# shellcheck disable=SC2016,SC2154 # eventually eval; variables of daemon.bash

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${WORKLOADS:=build/src/demo}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset GPREEMPT_EMU_DIR STATE_DIRECTORY
	started=()
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	start_daemon
}

teardown() {
	for pid in "${started[@]}"; do
		kill -CONT "$pid" 2>/dev/null || true
		kill "$pid" 2>/dev/null || true
	done
	"$GPREEMPT" emu stop --all
}

# train TAG CLASS: a program on the machine that works until it is ended. Sets $program.
train() {
	"$GPREEMPT" emu exec --name one -- "$GPREEMPT" run -c "$2" -t "$1" -- \
		"$WORKLOADS/offline_trainer" --seconds 600 >>"$BATS_TEST_TMPDIR/output" 2>&1 3>&- &
	program=$!
	started+=("$program")
	eventually eval '"$GPREEMPT" ps --no-headers | grep -q " '"$1"' "'
}

state_of() {
	"$GPREEMPT" ps --json | python3 -c 'import json, sys
for g in json.load(sys.stdin)["groups"]:
    if g.get("tag") == sys.argv[1]:
        print(g["state"], "lost" if g["lost"] else "")' "$1"
}

is_state() {
	[[ $(state_of "$1") == *"$2"* ]]
}

# A patient program is held for an urgent one.
one_is_held() {
	train next offline
	train urgent online
	eventually is_state next excluded
}

@test "a GPU that is gone while a program is held: another one is scheduled when it is back" {
	"$GPREEMPT" emu start --name one --cus 4
	one_is_held
	kill -9 "$("$GPREEMPT" emu ls --no-headers | awk '{ print $2 }')"
	# The programs end with a message, and the daemon forgets them.
	eventually eval '! "$GPREEMPT" ps --no-headers | grep offline_trainer'
	"$GPREEMPT" emu start --name one --cus 4
	one_is_held
}

# The GPU works again at once, and has lost the queues of all programs. Their runtime hangs, as on hardware.
@test "a GPU that is reset while a program is held: nobody stays held, and others are scheduled" {
	"$GPREEMPT" emu start --name one --cus 4 --fault gpu-reset=12s
	one_is_held
	eventually is_state next lost
	grep "gpu0 (.*) has lost the queues of offline_trainer (pid [0-9]*), by a reset or an error" \
		"$BATS_TEST_TMPDIR/daemon"
	"$GPREEMPT" why tag:next
	# Nobody waits for the packets that are left in their rings.
	sleep 1.5
	[[ $(state_of next) != *excluded* && $(state_of urgent) != *excluded* ]]
	# The next programs are scheduled against each other.
	train later offline
	train sooner online
	eventually is_state later excluded
	"$GPREEMPT" suspend tag:sooner
	eventually is_state later admitted
}

@test "a host that was suspended: programs and daemon continue where they were" {
	"$GPREEMPT" emu start --name one --cus 4
	one_is_held
	# Nobody runs for longer than the lease of a hold. The clock goes on meanwhile, which is worse than in
	# a suspended host, where it stands still.
	local frozen
	mapfile -t frozen < <("$GPREEMPT" ps --json | python3 -c 'import json, sys
for pid in sorted({g["pid"] for g in json.load(sys.stdin)["groups"]}):
    print(pid)')
	frozen+=("$daemon" "$("$GPREEMPT" emu ls --no-headers | awk '{ print $2 }')")
	kill -STOP "${frozen[@]}"
	sleep 3
	kill -CONT "${frozen[@]}"
	eventually is_state next excluded
	"$GPREEMPT" suspend tag:urgent
	eventually is_state next admitted
	"$GPREEMPT" resume tag:urgent
	eventually is_state next excluded
}
