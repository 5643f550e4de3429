#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreemptd is killed or restarted while it holds a program: the hold stays, and ends with its lease.

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${BUILD_DIR:=build}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	: "${WORKLOADS:=$BUILD_DIR/src/demo}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	export GPREEMPT GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset GPREEMPT_EMU_DIR NOTIFY_SOCKET
	trainer=$WORKLOADS/offline_trainer
	[ -x "$trainer" ] || skip "no workloads: they need libhsa-runtime-dev and clang-19"
	"$GPREEMPT" emu start --name restart --cus 4 >/dev/null
	started=()
}

teardown() {
	local pid

	for pid in "${started[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	"$GPREEMPT" emu stop --all >/dev/null 2>&1 || true
}

# Starts the daemon with this lease, and without guarantees, which would end a hold.
begin() {
	printf '[daemon]\nttl = %s\n[core]\nmin_share_pct = 0\nmax_hold_ms = 0\n' "$1" \
		>"$BATS_TEST_TMPDIR/gpreemptd.conf"
	"${GPREEMPT%/cli/gpreempt}/daemon/gpreemptd" -c "$BATS_TEST_TMPDIR/gpreemptd.conf" \
		2>>"$BATS_TEST_TMPDIR/daemon" 3>&- &
	daemon=$!
	started+=("$daemon")
	eventually "$GPREEMPT" ps
}

# Starts a trainer, $1, of this class, with these options. Sets $program.
start() {
	local tag=$1 class=$2

	shift 2
	"$GPREEMPT" run -c "$class" -t "$tag" -- "$GPREEMPT" emu exec --name restart -- \
		"$trainer" --groups 2 --queues 2 --json "$@" >"$BATS_TEST_TMPDIR/$tag" 3>&- &
	program=$!
	started+=("$program")
}

# Prints the number of steps that the victim has taken.
steps() {
	# Behind magic and pid.
	od -A n -t u8 -j 8 -N 8 "$BATS_TEST_TMPDIR/progress" | tr -d ' '
}

takes_steps() {
	[ "$(steps)" -gt "$1" ]
}

# Whether the daemon knows that the victim is held, and that the other program has joined.
is_held() {
	"$GPREEMPT" ps --json | python3 -c '
import json, sys
states = {g["tag"]: g["state"] for g in json.load(sys.stdin)["groups"]}
sys.exit(states.get("victim") != "excluded" or "urgent" not in states)'
}

# Ends the victim and compares its result with that of the host.
check_result() {
	local steps got

	kill -TERM "$victim"
	wait "$victim"
	read -r steps got < <(python3 -c 'import json, sys; d = json.load(sys.stdin)
print(d["steps"], d["digest"])' <"$BATS_TEST_TMPDIR/victim")
	[ "$("$trainer" --on host --groups 2 --queues 2 --rounds 400 --steps "$steps" |
		sed -n 's/.*digest //p')" = "$got" ]
}

# Both programs run, and the victim is held. The first kernel of the other one does not end.
hold_victim() {
	begin "$1"
	start victim offline --rounds 400 --progress "$BATS_TEST_TMPDIR/progress"
	victim=$program
	eventually takes_steps 0
	start urgent online --rounds 1000000000
	urgent=$program
	eventually is_held
}

@test "a hold outlasts a gpreemptd that is killed and started again" {
	hold_victim 10s
	before=$(steps)
	for _ in 1 2 3; do
		kill -KILL "$daemon"
		wait "$daemon" || true
		begin 10s
		eventually is_held
	done
	[ "$(steps)" -eq "$before" ]
	kill -KILL "$urgent"
	wait "$urgent" || true
	eventually takes_steps "$before"
	check_result
}

@test "a hold ends when no gpreemptd follows, at once after a goodbye" {
	hold_victim 1s
	before=$(steps)
	kill -KILL "$daemon"
	eventually takes_steps "$before"
	begin 10s
	eventually is_held
	before=$(steps)
	kill -INT "$daemon"
	wait "$daemon"
	eventually takes_steps "$before"
	check_result
}

@test "gpreemptd leaves holds for a moment if systemd stops or restarts it" {
	export NOTIFY_SOCKET=$BATS_TEST_TMPDIR/notify
	hold_victim 10s
	kill -TERM "$daemon"
	wait "$daemon"
	begin 10s
	eventually is_held
	before=$(steps)
	kill -TERM "$daemon"
	wait "$daemon"
	eventually takes_steps "$before"
	check_result
}
