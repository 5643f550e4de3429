#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# No program depends on gpreemptd: tests with failures of the daemon, a disk, a program or a machine.
# shellcheck disable=SC2154 # daemon.bash sets $daemon

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${BUILD_DIR:=build}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	: "${WORKLOADS:=$BUILD_DIR/src/demo}" "${SOURCE_DIR:=$PWD}"
	GPREEMPTD=$BUILD_DIR/src/daemon/gpreemptd
	room=$BATS_TEST_TMPDIR
	export GPREEMPT GPREEMPT_SOCKET=$room/control.sock
	started=()
}

teardown() {
	local pid

	for pid in "${started[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
}

# Starts two programs whose work comes and goes, so that one is held and released all the time.
start_load() {
	local prio

	for prio in 2 15; do
		"$BUILD_DIR/tests/fake_agent" -n "p$prio" -p $prio -q 4 -w "${prio}ms:5ms" >"$room/p$prio" 3>&- &
		started+=("$!")
	done
}

orders() {
	"$GPREEMPT" ps --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["daemon"]["orders"])'
}

# Waits until the daemon has given this number of further orders.
goes_on() {
	local before

	before=$(orders)
	eventually eval "[ \$(orders) -gt $((before + 50)) ]"
}

replays() {
	run bash -c 'cat "$@" | "$GPREEMPT" sim --replay -' _ "$@"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"gave the same"* ]]
}

@test "no queue stays held after gpreemptd, programs or machines are killed or stopped" {
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev and clang-19"
	run timeout 300 "$SOURCE_DIR/tests/failopen/soak.py" "$GPREEMPT" "$GPREEMPTD" "$WORKLOADS" --rounds 8
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "the decision log is rotated under load, and replays as one" {
	start_daemon "$room/log"
	start_load
	for i in 1 2 3 4; do
		goes_on
		mv "$room/log" "$room/log.$i"
		# An error in the configuration does not prevent the rotation.
		[ $i -ne 3 ] || echo nonsense >>"$room/gpreemptd.conf"
		kill -HUP "$daemon"
		eventually test -s "$room/log"
	done
	goes_on
	kill "$daemon"
	wait "$daemon"
	[ "$(head -n 1 "$room/log.1")" = "# gpreempt decision log 2" ]
	[ "$(head -n 1 "$room/log.2")" = "# gpreempt decision log 2, continued" ]
	grep -q "the configuration in force is unchanged" "$room/daemon"
	replays "$room/log.1" "$room/log.2" "$room/log.3" "$room/log.4" "$room/log"
}

@test "a decision log that cannot be written does not affect programs" {
	start_daemon /dev/full
	start_load
	goes_on
	goes_on
	[ "$(grep -c "No space left on device: decisions are dropped" "$room/daemon")" -eq 1 ]
	kill "$daemon"
	wait "$daemon"
	rm "$room/daemon"
	start_daemon "$room/no/such/folder/log"
	start_load
	goes_on
	grep -q "decisions are not logged" "$room/daemon"
}

@test "a full disk: the log has complete lines, and continues when there is space" {
	[ "$(id -u)" -eq 0 ] || skip "only root can mount"
	unshare -mpf true 2>/dev/null || skip "unshare is not permitted"
	mkdir "$room/disk"
	ends_whole() { [ "$(tail -c 1 "$room/disk/log" | wc -l)" -eq 1 ]; }
	export -f start_daemon start_load goes_on orders eventually ends_whole
	export room GPREEMPT GPREEMPTD BUILD_DIR
	# shellcheck disable=SC2016
	run timeout -k 1 120 unshare -mpf --mount-proc --kill-child bash -c '
		set -e
		mount -t tmpfs -o size=256k none "$room/disk"
		head -c 200000 /dev/zero >"$room/disk/other"
		start_daemon "$room/disk/log"
		start_load
		eventually grep -q "decisions are dropped" "$room/daemon"
		goes_on
		# A partial line is truncated at once.
		eventually ends_whole
		rm "$room/disk/other"
		eventually grep -q "lines are missing here" "$room/disk/log"
		eventually grep -q "can be written again" "$room/daemon"
		goes_on
		kill "$daemon" && wait "$daemon"
		cp "$room/disk/log" "$room/log"' 2>&1 </dev/null
	echo "$output"
	[ "$status" -eq 0 ]
	# The log replays up to the first missing line, except that actions of the last event may be
	# missing; no line is partial.
	sed '/missing here/,$d' "$room/log" >"$room/first"
	run "$GPREEMPT" sim --replay "$room/first"
	echo "$output"
	[[ $output == *"gave the same"* || $output == *"the replay differs"*"logged:   (nothing)"* ]]
	run grep -vcE '^#|^[0-9]+ [<>!] ' "$room/log"
	[ "$output" = 0 ]
}

@test "gpreemptd without free descriptors keeps working, and accepts programs again later" {
	start_daemon
	start_load
	goes_on
	prlimit --pid "$daemon" --nofile=20:1024
	others=()
	for i in $(seq 8); do
		"$BUILD_DIR/tests/fake_agent" -n "late$i" -p 3 -w 1s:1s >"$room/late$i" 3>&- &
		others+=("$!")
	done
	started+=("${others[@]}")
	eventually grep -q "is at its limit of open files" "$room"/late*
	prlimit --pid "$daemon" --nofile=1024:1024
	goes_on
	"$BUILD_DIR/tests/fake_agent" -n last -p 3 -w 1ms:5ms >"$room/last" 3>&- &
	started+=("$!")
	eventually grep -q joined "$room/last"
}
