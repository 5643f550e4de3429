#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs in containers that share only the folder of the socket with gpreemptd: processes, /proc,
# /run and /dev/shm are the container's.

# Each test is a subshell that ends the processes it has started.
# shellcheck disable=SC2030,SC2031

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${BUILD_DIR:=build}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	: "${WORKLOADS:=$BUILD_DIR/src/demo}"
	room=$BATS_TEST_TMPDIR
	mkdir "$room/run"
	export GPREEMPT_SOCKET=$room/run/control.sock GPREEMPT room
	unset GPREEMPT_EMU_DIR XDG_RUNTIME_DIR
	agent=$BUILD_DIR/tests/fake_agent
	apart=(unshare -mpf --kill-child)
	[ "$(id -u)" -eq 0 ] || apart=(unshare -Urmpf --kill-child)
	"${apart[@]}" mount -t tmpfs none /mnt 2>/dev/null || skip "unshare and mount are not permitted"
	started=()
}

teardown() {
	local pid

	for pid in "${started[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
}

# Runs the command in a container; its output is in $room/NAME on the host.
contain() {
	local name=$1

	shift
	# shellcheck disable=SC2016
	"${apart[@]}" sh -c '
		mount --bind "$room/run" /mnt
		for folder in "$room" /run /dev/shm; do
			mount -t tmpfs none "$folder"
		done
		mount -t proc proc /proc
		export GPREEMPT_SOCKET=/mnt/control.sock XDG_RUNTIME_DIR=/dev/shm
		exec "$@"' sh "$@" >"$room/$name" 2>&1 </dev/null 3>&- &
	started+=("$!")
}

# Prints a field of the JSON document on standard input.
field() {
	python3 -c 'import json, sys
d = json.load(sys.stdin)
for key in sys.argv[1:]:
    d = d[int(key)] if isinstance(d, list) else d[key]
print(json.dumps(d))' "$@"
}

# Whether this number of programs is joined.
joined() {
	[ "$("$GPREEMPT" ps --no-headers | grep -c "$1")" -eq "$2" ]
}

@test "a container does not see the host" {
	start_daemon
	contain inside sh -c 'ls /run /dev/shm /mnt; echo pid $$; ls /proc | grep -c "^[0-9]"'
	eventually grep -q pid "$room/inside"
	sleep 0.2
	cat "$room/inside"
	grep -qx "pid 1" "$room/inside"
	grep -qx control.sock "$room/inside"
	[ "$(tail -n 1 "$room/inside")" -lt 10 ]
}

@test "a program in a container is scheduled, under its pid on the host" {
	start_daemon
	contain train "$agent" -n train -p 2 -w 10s:1ms
	eventually joined train 1
	# Its pid in the container is 1.
	pid=$("$GPREEMPT" ps --json | field groups 0 pid)
	grep -q fake_agent "/proc/$pid/cmdline"
	[ "$pid" -ne 1 ]
	"$agent" -n serve -p 15 -w 20ms:20ms >"$room/serve" 3>&- &
	started+=("$!")
	eventually grep -qx "stop 0" "$room/train"
	eventually grep -qx "run 0" "$room/train"
	run "$GPREEMPT" why "$pid"
	[[ $output == *"serve"*"more urgent"* ]]
	# A killed program is no longer listed.
	kill -KILL "$pid"
	eventually joined train 0
}

@test "commands in a container reach the daemon outside" {
	start_daemon
	contain ps "$GPREEMPT" ps
	eventually grep -q "No program is joined" "$room/ps"
}

@test "an unmodified program in a container is preempted from outside, and its result is right" {
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	start_daemon
	contain train "$GPREEMPT" run -c offline -- "$GPREEMPT" emu exec --cus 4 -- \
		"$WORKLOADS/offline_trainer" --steps 300 --rounds 2000
	trainer=$!
	eventually joined offline_trainer 1
	key=$("$GPREEMPT" ps --json | field gpus 0 key | tr -d '"')
	"$agent" -n serve -p 15 -g "$key" -w 50ms:50ms >"$room/serve" 3>&- &
	started+=("$!")
	was_held() {
		[ "$("$GPREEMPT" ps --json | field groups 0 holds)" -gt 2 ]
	}
	eventually was_held
	wait "$trainer" || { cat "$room/train"; false; }
	"$WORKLOADS/offline_trainer" --steps 300 --rounds 2000 --on host >"$room/host"
	digest=$(sed -n 's/.*digest //p' "$room/host")
	[ -n "$digest" ]
	grep -q "digest $digest" "$room/train"
	eventually joined offline_trainer 0
}
