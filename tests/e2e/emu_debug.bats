#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Debuggers and the ioctls of the series hold queues of unmodified programs on an emulated machine,
# and every result is correct.

bats_require_minimum_version 1.5.0

load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}"
	: "${ROCM_PROGRAMS:=build/tests/rocm}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	unset GPREEMPT_EMU_DIR
	[ -x "$ROCM_PROGRAMS/hsa_stops" ] || skip "no HSA runtime here"
}

teardown() {
	"$GPREEMPT" emu stop --all
}

on_machine() {
	"$GPREEMPT" emu exec --name m -- "$@"
}

stops() {
	on_machine "$ROCM_PROGRAMS/hsa_stops" "$@"
}

start_machine() {
	"$GPREEMPT" emu start --name m --cus 8 "$@"
}

@test "a program that debugs itself" {
	start_machine
	stops --seconds 3 --stop debug
}

@test "a debugger that attached before the program opened the device, beside another program" {
	start_machine
	stops --seconds 4 --stop none >"$BATS_TEST_TMPDIR/other" &
	run on_machine "$ROCM_PROGRAMS/kfd_debugger" "$ROCM_PROGRAMS/hsa_stops" --seconds 3 \
		--stop debugged
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"each right"* ]]
	[[ $output == *"queues were suspended in"* ]]
	wait $!
	grep "each right" "$BATS_TEST_TMPDIR/other"
}

@test "queues are resumed when their debugger dies" {
	start_machine
	# The pipe stays open until the program ends.
	output=$(on_machine "$ROCM_PROGRAMS/kfd_debugger" --leave 1 "$ROCM_PROGRAMS/hsa_stops" \
		--seconds 3 --stop debugged | cat)
	echo "$output"
	[[ $output == *"queues were suspended in"* ]]
	[[ $output == *"each right"* ]]
}

@test "the series preempts queues with save and with drain" {
	start_machine --kernel gpreempt --sched none
	stops --seconds 3 --stop save
	stops --seconds 3 --stop drain
}

@test "older kernels have neither way" {
	start_machine --kernel 6.1
	run stops --seconds 1 --stop debug
	[ "$status" -eq 1 ]
	[[ $output == *"RUNTIME_ENABLE: Inappropriate ioctl"* ]]
	run stops --seconds 1 --stop save
	[ "$status" -eq 1 ]
	[[ $output == *"stop: this kernel does not have gpreempt's series"*"(ENOTTY)"* ]]
}

@test "debugfs shows queues, to root" {
	[ "$(id -u)" -eq 0 ] || skip "debugfs is root's"
	start_machine
	stops --seconds 10 --stop none &
	wait_for "Compute queue" on_machine cat /sys/kernel/debug/kfd/mqds
	[[ $output == *"Process "*" PASID 0x"*"  Compute queue on device "*"c0310800"* ]]
	run on_machine cat /sys/kernel/debug/kfd/rls
	[[ ${lines[1]} == "  00000000: c013a100 "* ]]
	run on_machine cat /sys/kernel/debug/kfd/hqds
	[[ $output == *"CP Pipe 0, Queue 2"* ]]
	wait $!
	run on_machine cat /sys/kernel/debug/kfd/rls
	[[ ${lines[1]} == "  No active runlist" ]]
}

@test "a kernel that traps ends only its own program" {
	[ -x "$ROCM_PROGRAMS/hip_trap" ] || skip "no hipcc here"
	start_machine
	stops --seconds 3 --stop none &
	run -134 on_machine "$ROCM_PROGRAMS/hip_trap"
	[[ $output == *"HSA_STATUS_ERROR_EXCEPTION"* ]]
	wait $!
}
