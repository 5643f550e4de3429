#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The in-kernel scheduler of the emulated machine: programs of the HSA runtime without a daemon.

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${WORKLOADS:=$BUILD_DIR/src/demo}" "${SOURCE_DIR:=.}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	export GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/nobody
	unset GPREEMPT_EMU_DIR
	[ "$(id -u)" -eq 0 ] || skip "being urgent, the scheduler's log and its files are root's"
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	"$GPREEMPT" emu start --name own --kernel gpreempt --kfd-sched --cus 4
}

teardown() {
	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	"$GPREEMPT" emu stop --all
}

# sysfs COMMAND: runs a shell command in the kernel's folder.
sysfs() {
	"$GPREEMPT" emu exec --name own -- bash -c "cd /sys/class/kfd/kfd && $1"
}

# run_as CLASS PROGRAM [ARGUMENT...]: runs a workload with a priority.
run_as() {
	local class=$1 program=$2

	shift 2
	"$GPREEMPT" emu exec --name own -- "$GPREEMPT" run -c "$class" -- "$WORKLOADS/$program" "$@"
}

# Starts a patient program that does not end by itself; it has queues when this returns.
train() {
	run_as offline offline_trainer --seconds 600 >"$BATS_TEST_TMPDIR/trainer" 2>&1 3>&- &
	started+=($!)
	eventually sysfs 'grep -q . proc/*/queues/*/state'
}

# Starts an urgent one, with a request every 10 ms.
serve() {
	run_as online online_server --requests 1000 --period 10ms >"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
	started+=($!)
	eventually sysfs 'grep -qx 15 proc/*/queues/*/logical_priority'
}

@test "an urgent and a patient program have correct results without a daemon" {
	train
	run -0 --separate-stderr run_as online online_server --requests 100 --period 10ms
	[[ $output == *"100 requests, each answered right"* ]]
	# shellcheck disable=SC2154 # of run
	[[ $stderr == *"the kernel schedules AMD GPUs itself"* ]]
	[[ $stderr == *"the kernel, not gpreemptd, schedules the queues of this GPU, with the requested priority and at level 3"* ]]
	[ "$(sysfs 'cat sched_*/switches')" -gt 0 ]
}

@test "a patient program that is held often has the same results, and the log has the reasons" {
	serve
	stopped=$(run_as offline offline_trainer --steps 60 --json 2>/dev/null)
	[ "$(sysfs 'cat sched_*/switches')" -gt 0 ]
	sysfs 'cat /sys/kernel/debug/kfd/sched_*' >"$BATS_TEST_TMPDIR/log"
	grep -q 'exclude q=.*why=priority by=e' "$BATS_TEST_TMPDIR/log"
	# A log that lost its beginning cannot be replayed.
	if ! grep -q '^#.* not kept' "$BATS_TEST_TMPDIR/log"; then
		run -0 "$SOURCE_DIR/tests/kernel/replay-log" "$GPREEMPT" "$BATS_TEST_TMPDIR/log"
		[[ $output =~ gave\ the\ same\ [1-9][0-9]*\ actions ]]
	fi
	alone=$("$GPREEMPT" emu exec --cus 4 -- "$WORKLOADS/offline_trainer" --steps 60 --json 2>/dev/null)
	[[ $alone =~ \"digest\":\"[0-9a-f]+\" ]]
	[[ $stopped == *"${BASH_REMATCH[0]}"* ]]
}

@test "ps lists queues that the kernel schedules, and their holds" {
	train
	serve
	# shellcheck disable=SC2016
	eventually sh -c '"$1" emu exec --name own -- "$1" ps --json | grep -q "\"state\": \"excluded\""' sh "$GPREEMPT"
	run -0 "$GPREEMPT" emu exec --name own -- "$GPREEMPT" ps
	[[ $output == *"Scheduled by the kernel:"*offline_trainer* ]]
}

@test "no queue is held while disabled; scheduling restarts when enabled" {
	train
	serve
	sysfs 'echo 0 >sched_*/enable'
	[ "$(sysfs 'cat sched_*/enable')" = 0 ]
	run -1 sysfs 'cat proc/*/queues/0/state'
	[[ $output == *"No data available"* ]]
	sleep 0.2
	[ "$(sysfs 'cat sched_*/switches')" = 0 ]
	sysfs 'echo 1 >>sched_*/enable'
	# shellcheck disable=SC2016
	eventually sysfs '[ $(cat sched_*/switches) -gt 0 ]'
}

@test "its files have the kernel's permissions" {
	run -1 sysfs 'echo 1 >sched_*/ticks'
	[[ $output == *"ermission denied"* ]]
	run -1 sysfs 'set -C; echo 1 >sched_*/enable'
	run -1 sysfs 'cat sched_*/nothing'
	[[ $output == *"No such file"* ]]
	# Invalid values change nothing.
	sysfs 'echo 5 >sched_*/period_us; echo ten >sched_*/age_ms; printf 2000 >sched_*/grace_us'
	[ "$(sysfs 'cat sched_*/period_us sched_*/age_ms sched_*/grace_us' | paste -sd' ')" = "1000 500 2000" ]
	[ "$(sysfs 'ls -l sched_*/enable /sys/kernel/debug/kfd/sched_*' | cut -c1-10 | sort | paste -sd' ')" = \
		"-r-------- -rw-r--r--" ]
}

@test "an unsupported combination is refused with the reason" {
	run -2 "$GPREEMPT" emu start --name other --kfd-sched
	[[ $output == *"needs --kernel gpreempt"* ]]
	run -2 "$GPREEMPT" emu start --name other --kfd-sched --kernel gpreempt --cwsr off
	[[ $output == *"needs context save"* ]]
	[ "$("$GPREEMPT" emu ls --json | python3 -c 'import json, sys
print(json.load(sys.stdin)["machines"][0]["kfd_sched"])')" = True ]
}

# streams [OPTION...]: runs a HIP program with three stream priorities, online; its streams have queues
# when this returns. Without options `gpreempt run` has no part in it.
streams() {
	local joined=()

	[ -x "${ROCM_PROGRAMS:-}/hip_priorities" ] || skip "no hipcc that builds for gfx90a"
	[ $# -eq 0 ] || joined=("$GPREEMPT" run -c online "$@" --)
	"$GPREEMPT" emu start --name hip --gpu gfx90a --kernel gpreempt --kfd-sched --cus 4
	mkfifo "$BATS_TEST_TMPDIR/in"
	"$GPREEMPT" emu exec --name hip -- "${joined[@]}" "$ROCM_PROGRAMS/hip_priorities" \
		<"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	started+=($!)
	exec 8>"$BATS_TEST_TMPDIR/in"
	wait_for ready cat "$BATS_TEST_TMPDIR/out"
}

# own_priorities: "OWN:EFFECTIVE" of the queues of ps, one a word, each once.
own_priorities() {
	"$GPREEMPT" emu exec --name hip -- "$GPREEMPT" ps --queues --json | python3 -c 'import json, sys
queues = json.load(sys.stdin)["kernel_queues"]
print(" ".join("%d:%d" % p for p in sorted({(q["own_priority"], q["effective"]) for q in queues})))'
}

# Ends the program of streams().
end_streams() {
	exec 8>&-
	wait "${started[-1]}"
	grep "^done" "$BATS_TEST_TMPDIR/out"
}

@test "streams of a HIP program are one group of the kernel's, and ps shows both numbers" {
	streams -t streams
	wait_for "-1:15 0:15 1:15" own_priorities
	run -0 "$GPREEMPT" emu exec --name hip -- "$GPREEMPT" ps
	[[ $output =~ PRIO\ OWN.*hip_priorities.*\ 15\ +\+1\  ]]
	end_streams
}

@test "with --split-streams streams of a HIP program are three groups of the kernel's" {
	streams --split-streams
	wait_for "-1:14 0:15 1:16" own_priorities
	end_streams
}

@test "the priorities of a program's streams alone do not split it" {
	streams
	# It is as urgent as its most urgent stream.
	wait_for "-1:15 0:15 1:15" own_priorities
	end_streams
}

@test "streams that wait for each other do so while the kernel schedules urgent work" {
	[ -x "${ROCM_PROGRAMS:-}/hip_waits" ] || skip "no hipcc that builds for gfx90a"
	"$GPREEMPT" emu start --name hip --gpu gfx90a --kernel gpreempt --kfd-sched --cus 4
	"$GPREEMPT" emu exec --name hip -- "$GPREEMPT" run -c online -- "$WORKLOADS/online_server" \
		--requests 100000 --period 10ms >/dev/null 2>&1 3>&- &
	started+=($!)
	on_hip() {
		timeout 120 "$GPREEMPT" emu exec --name hip -- "$@"
	}
	eventually on_hip sh -c 'grep -qx 15 /sys/class/kfd/kfd/proc/*/queues/*/logical_priority'
	run -0 on_hip "$GPREEMPT" run -c offline -- "$ROCM_PROGRAMS/hip_waits"
	[[ $output == *"20 rounds"* ]]
	# None of its queues was held for another.
	on_hip sh -c 'cat /sys/kernel/debug/kfd/sched_*' >"$BATS_TEST_TMPDIR/log"
	[ "$(grep -c 'entity-add .* prio=2\b' "$BATS_TEST_TMPDIR/log")" -eq 1 ]
	grep -q ' exclude .*why=priority' "$BATS_TEST_TMPDIR/log"
}

@test "gpreempt off leaves the kernel's scheduler as it is, and says how root switches it off" {
	start_daemon
	train
	run -0 "$GPREEMPT" emu exec --name own -- "$GPREEMPT" off
	[[ ${lines[1]} =~ ^"The kernel schedules the GPU with id "[0-9]+" itself, which this does not change; as root: "(echo 0 .*)$ ]]
	[ "$(sysfs 'cat sched_*/enable')" = 1 ]
	sysfs "${BASH_REMATCH[1]}"
	[ "$(sysfs 'cat sched_*/enable')" = 0 ]
	run -0 "$GPREEMPT" emu exec --name own -- "$GPREEMPT" on --json
	[[ $output == *'"kernel_gpus": ['* ]]
}
