#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The kernel's own scheduler, as the emulated machine has it: programs of the HSA runtime, and no
# daemon.

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${WORKLOADS:=$BUILD_DIR/src/demo}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	export GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/nobody
	unset GPREEMPT_EMU_DIR
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	"$GPREEMPT" emu start --name own --kernel gpreempt --kfd-sched --cus 4
}

teardown() {
	"$GPREEMPT" emu stop --all
}

# sysfs COMMAND: in a shell, in the kernel's folder.
sysfs() {
	"$GPREEMPT" emu exec --name own -- bash -c "cd /sys/class/kfd/kfd && $1"
}

# train STEPS: a patient program, $trainer, that says what it has computed.
train() {
	"$GPREEMPT" emu exec --name own -- "$GPREEMPT" run -c offline -- \
		"$WORKLOADS/offline_trainer" --steps "$1" --json >"$BATS_TEST_TMPDIR/trainer" \
		2>"$BATS_TEST_TMPDIR/trainer.err" 3>&- &
	trainer=$!
	eventually sysfs 'grep -q . proc/*/queues/*/state'
}

serve() {
	"$GPREEMPT" emu exec --name own -- "$GPREEMPT" run -c online -- \
		"$WORKLOADS/online_server" --requests "$1" --period 10ms
}

@test "an urgent program stops a patient one, nothing is lost, and the log says why" {
	train 100
	run -0 --separate-stderr serve 100
	[[ $output == *"100 requests, each answered right"* ]]
	# No daemon is missed where the kernel does it.
	[[ $stderr != *"without a priority"* ]]
	[[ $stderr == *"the kernel schedules the queues of this GPU itself"* ]]
	[ "$(sysfs 'cat sched_*/switches')" -gt 50 ]
	sysfs 'cat /sys/kernel/debug/kfd/sched_*' >"$BATS_TEST_TMPDIR/log"
	grep -q 'exclude q=.*why=priority by=e' "$BATS_TEST_TMPDIR/log"
	run -0 "$GPREEMPT" sim --replay "$BATS_TEST_TMPDIR/log"
	[[ $output =~ gave\ the\ same\ [0-9]{3,}\ actions ]]
	wait "$trainer"
	alone=$("$GPREEMPT" emu exec --name own -- "$WORKLOADS/offline_trainer" --steps 100 --json)
	[[ $alone =~ \"digest\":\"([0-9a-f]+)\" ]]
	grep -q "\"digest\":\"${BASH_REMATCH[1]}\"" "$BATS_TEST_TMPDIR/trainer"
}

@test "ps shows what the kernel schedules, and whom it has stopped" {
	train 150
	serve 300 >"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
	server=$!
	# shellcheck disable=SC2016
	eventually sh -c '"$1" emu exec --name own -- "$1" ps --json | grep -q "\"state\": \"excluded\""' sh "$GPREEMPT"
	run -0 "$GPREEMPT" emu exec --name own -- "$GPREEMPT" ps
	[[ $output == *"Scheduled by the kernel:"*offline_trainer* ]]
	wait "$server"
	wait "$trainer"
}

@test "disabled, nobody is stopped; enabled again, it begins anew" {
	train 150
	sysfs 'echo 0 >sched_*/enable'
	[ "$(sysfs 'cat sched_*/enable')" = 0 ]
	run -1 sysfs 'cat proc/*/queues/0/state'
	[[ $output == *"No data available"* ]]
	serve 20
	[ "$(sysfs 'cat sched_*/switches')" = 0 ]
	sysfs 'echo 1 >sched_*/enable'
	serve 20
	[ "$(sysfs 'cat sched_*/switches')" -gt 0 ]
	wait "$trainer"
}

@test "its files are as the kernel's: who may write what" {
	run -1 sysfs 'echo 1 >sched_*/ticks'
	[[ $output == *"ermission denied"* ]]
	run -1 sysfs 'cat sched_*/nothing'
	[[ $output == *"No such file"* ]]
	# What makes no sense changes nothing.
	sysfs 'echo 5 >sched_*/period_us; echo ten >sched_*/age_ms; printf 2000 >sched_*/grace_us'
	[ "$(sysfs 'cat sched_*/period_us sched_*/age_ms sched_*/grace_us' | paste -sd' ')" = "1000 500 2000" ]
	[ "$(sysfs 'ls -l sched_*/enable /sys/kernel/debug/kfd/sched_*' | cut -c1-10 | sort | paste -sd' ')" = \
		"-r-------- -rw-r--r--" ]
}

@test "where it cannot be, that is said" {
	run -2 "$GPREEMPT" emu start --name other --kfd-sched
	[[ $output == *"only --kernel gpreempt"* ]]
	run -2 "$GPREEMPT" emu start --name other --kfd-sched --kernel gpreempt --cwsr off
	[[ $output == *"waves cannot be saved"* ]]
	[ "$("$GPREEMPT" emu ls --json | python3 -c 'import json, sys
print(json.load(sys.stdin)["machines"][0]["kfd_sched"])')" = True ]
}
