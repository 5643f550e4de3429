#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs of the distribution's ROCm runtime on emulated machines.

bats_require_minimum_version 1.5.0

load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}"
	: "${ROCM_PROGRAMS:=build/tests/rocm}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	unset GPREEMPT_EMU_DIR
}

teardown() {
	"$GPREEMPT" emu stop --all
}

emu() {
	"$GPREEMPT" emu "$@"
}

# Needs this test program; without it, the test is skipped.
program() {
	[ -x "$ROCM_PROGRAMS/$1" ] ||
		skip "no $1: it needs libhsa-runtime-dev and clang-19, or hipcc"
}

rocminfo_or_skip() {
	command -v rocminfo >/dev/null || skip "no rocminfo"
}

on_machine() {
	run timeout 120 "$GPREEMPT" emu exec "$@"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "rocminfo sees the GPU" {
	rocminfo_or_skip
	on_machine -- rocminfo
	[[ $output == *"amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"* ]]
	[ "$(grep -c "Name: *gfx90a" <<<"$output")" -eq 1 ]
	[[ $output =~ "Compute Unit:"\ +104\  ]]
	[ "$(grep -cE "Size: +16777216\(" <<<"$output")" -eq 1 ]
}

@test "rocminfo shows the requested machine" {
	rocminfo_or_skip
	on_machine --gpus 3 --cus 8 --vram 2G -- rocminfo
	[ "$(grep -c "Name: *gfx90a" <<<"$output")" -eq 3 ]
	[ "$(grep -cE "Compute Unit: +8 " <<<"$output")" -eq 3 ]
	# Each GPU has a coarse-grained pool of its memory, and a fine-grained one for the others.
	[ "$(grep -cE "Size: +2097152\(" <<<"$output")" -eq 6 ]
	[ "$(grep "Uuid: *GPU-" <<<"$output" | sort -u | wc -l)" -eq 3 ]
}

@test "each render node has its own device" {
	on_machine --gpus 2 --cus 1 -- ls /sys/dev/char/226:128/device/drm /sys/dev/char/226:129/device/drm
	[[ $output == *card0*renderD128*card1*renderD129* ]]
}

@test "queues, signals and dispatches through HSA" {
	program hsa_queues
	on_machine -- "$ROCM_PROGRAMS/hsa_queues"
	[[ $output == *"all 16 tests passed on gfx90a" ]]
}

@test "memory, copies and fills through HSA" {
	program hsa_memory
	on_machine -- "$ROCM_PROGRAMS/hsa_memory"
	[[ $output == *"all 8 tests passed on gfx90a" ]]
}

@test "the same on a small machine with an old kernel" {
	program hsa_queues
	on_machine --kernel 6.1 --cus 1 -- "$ROCM_PROGRAMS/hsa_queues"
	on_machine --kernel 6.1 --cus 1 -- "$ROCM_PROGRAMS/hsa_memory"
}

@test "ring slots that are freed when their dispatch has ended" {
	program hsa_queues
	on_machine --fault late-slot=50% -- "$ROCM_PROGRAMS/hsa_queues"
	[[ $output == *"all 16 tests passed on gfx90a" ]]
}

@test "two GPUs use each other's memory and signals" {
	program hsa_peers
	on_machine --gpus 2 --cus 16 -- "$ROCM_PROGRAMS/hsa_peers"
}

@test "kernels through HIP" {
	program hip_kernels
	on_machine -- "$ROCM_PROGRAMS/hip_kernels"
	[[ $output == *"all 6 tests passed on gfx90a:sramecc+:xnack-" ]]
}

@test "memory through HIP" {
	program hip_memory
	on_machine -- "$ROCM_PROGRAMS/hip_memory"
}

@test "the language of HIP kernels" {
	program hip_device
	on_machine --cus 8 -- "$ROCM_PROGRAMS/hip_device"
	[[ $output == *"all 20 tests passed on gfx90a:sramecc+:xnack-" ]]
}

@test "graphs, modules, managed memory, fills and two devices through HIP" {
	program hip_api
	on_machine --cus 8 --gpus 2 -- "$ROCM_PROGRAMS/hip_api"
	[[ $output == *"all 14 tests passed on gfx90a:sramecc+:xnack-" ]]
}

@test "scans and sorts of rocPRIM" {
	[ -x "$ROCM_PROGRAMS/hip_primitives" ] || skip "no hip_primitives: it needs hipcc and librocprim-dev"
	on_machine --cus 4 -- "$ROCM_PROGRAMS/hip_primitives"
	[[ $output == *"all 5 tests passed on gfx90a:sramecc+:xnack-" ]]
}

@test "streams and events through HIP" {
	program hip_streams
	on_machine -- "$ROCM_PROGRAMS/hip_streams"
}

@test "cooperative groups through HIP" {
	program hip_cooperative
	on_machine --cus 4 -- "$ROCM_PROGRAMS/hip_cooperative"
	[[ $output == *"all 2 tests passed on gfx90a"* ]]
}

@test "cooperative groups synchronise while their queue is saved and restored" {
	program hip_cooperative
	emu start --kernel gpreempt --cus 4
	start_victim "$ROCM_PROGRAMS/hip_cooperative" 60000
	on_machine --name default -- "$ROCM_PROGRAMS/kfd_stop" preempt "$victim_pid" 1
	victim_is_right
	grep -q "all 2 tests passed" "$BATS_TEST_TMPDIR/victim"
}

@test "a program has correct results while its queues are held and released" {
	program hsa_stops
	on_machine -- "$ROCM_PROGRAMS/hsa_stops" --seconds 2 --stop update
	[[ $output =~ "stopped "([0-9]+)" times" ]]
	[ "${BASH_REMATCH[1]}" -gt 5 ]
}

@test "without context save, a hold waits for running kernels" {
	program hsa_stops
	on_machine --cwsr off -- "$ROCM_PROGRAMS/hsa_stops" --seconds 2 --stop update
}

@test "two programs at once, each held separately" {
	program hsa_stops
	emu start --kernel gpreempt --cus 16
	timeout 120 "$GPREEMPT" emu exec --name default -- "$ROCM_PROGRAMS/hsa_stops" \
		--seconds 4 --seed 2 --stop save >"$BATS_TEST_TMPDIR/first" 2>&1 &
	first=$!
	on_machine --name default -- "$ROCM_PROGRAMS/hsa_stops" --seconds 4 --seed 3 --stop update
	wait $first || { cat "$BATS_TEST_TMPDIR/first"; false; }
}

@test "eight programs with more queues than the hardware has slots" {
	program hsa_stops
	emu start --kernel gpreempt --cus 16
	pids=()
	for i in 1 2 3 4 5 6 7 8; do
		how=$([ $((i % 2)) -eq 0 ] && echo update || echo save)
		timeout 120 "$GPREEMPT" emu exec --name default -- "$ROCM_PROGRAMS/hsa_stops" --seconds 3 \
			--queues 4 --seed $i --stop "$how" >"$BATS_TEST_TMPDIR/program.$i" 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || { cat "$BATS_TEST_TMPDIR"/program.*; false; }
	done
}

# Starts a program on the machine "default" and returns when it has queues.
start_victim() {
	local clients=$XDG_RUNTIME_DIR/gpreempt/emu/default/sys/class/kfd/kfd/proc

	timeout 120 "$GPREEMPT" emu exec --name default -- "$@" >"$BATS_TEST_TMPDIR/victim" 2>&1 &
	victim=$!
	# The pid of the program, which is a child of timeout.
	for _ in $(seq 100); do
		victim_pid=$(pgrep -P $victim) && [ -e "$clients/$victim_pid/queues/1" ] && return
		sleep 0.1
	done
	false
}

# Starts a victim that computes.
victim() {
	start_victim "$ROCM_PROGRAMS/hsa_stops" --seconds 10 --stop "$1"
}

victim_is_right() {
	wait $victim || { cat "$BATS_TEST_TMPDIR/victim"; false; }
}

@test "another program holds and releases it: by the series' batch, by a debugger" {
	program hsa_stops
	emu start --kernel gpreempt --cus 16
	victim none
	on_machine --name default -- "$ROCM_PROGRAMS/kfd_stop" preempt "$victim_pid" 2
	victim_is_right
	victim debugged
	on_machine --name default -- "$ROCM_PROGRAMS/kfd_stop" dbgtrap "$victim_pid" 2
	victim_is_right
}

@test "queues are released when the process that holds them is killed" {
	program hsa_stops
	emu start --kernel gpreempt --cus 16
	for how in preempt dbgtrap; do
		victim debugged
		coproc holder { exec "$GPREEMPT" emu exec --name default -- "$ROCM_PROGRAMS/kfd_stop" \
			$how "$victim_pid" 10 hold; }
		read -r -t 30 line <&"${holder[0]}"
		[ "$line" = held ]
		# shellcheck disable=SC2154 # of the coproc
		kill -KILL "$holder_PID"
		victim_is_right
	done
}

@test "libgpreempt's own queues beside the runtime's in one process" {
	program hsa_beside
	for kernel in 6.1 6.12 gpreempt; do
		on_machine --kernel $kernel --cus 4 -- "$ROCM_PROGRAMS/hsa_beside" \
			"$BUILD_DIR/src/emu/kernels/kernels-gfx90a.co"
		[[ $output == *"both were right"* ]]
	done
}

@test "libgpreempt's own queues are created first, and the runtime still starts" {
	program hsa_beside
	for kernel in 6.1 6.12 gpreempt; do
		on_machine --kernel $kernel --cus 4 -- "$ROCM_PROGRAMS/hsa_beside" \
			"$BUILD_DIR/src/emu/kernels/kernels-gfx90a.co" first
		[[ $output == *"both were right"* ]]
	done
}

@test "an unsupported instruction is reported, and with --strict an approximate one" {
	program hsa_wild
	run -1 emu exec --cus 2 -- "$ROCM_PROGRAMS/hsa_wild" unsupported
	[[ $output == *"queue"*"cannot be executed: s_setvskip"*"(bf"*") at pc 0x"*"no compiler uses"* ]]
	[[ $output != *"approximate instruction"* ]]
	log=$(sed -n "s/.*log is kept in //p" <<<"$output")
	grep -q "approximate instruction v_rcp_.*f32 (.*) at pc 0x.*: more accurate than hardware" "$log"
	grep -q "cannot be executed: s_setvskip" "$log"
	run emu exec --cus 2 --strict -- "$ROCM_PROGRAMS/hsa_wild" unsupported
	[[ $output == *"gpreempt emu: pid"*"approximate instruction v_rcp"*"cannot be executed"* ]]
	for _ in $(seq 18); do
		run emu exec --cus 1 -- "$ROCM_PROGRAMS/hsa_wild" unsupported
	done
	logs=("$XDG_RUNTIME_DIR"/gpreempt/emu/.logs/*)
	[ ${#logs[@]} -eq 16 ]
}

@test "an invalid address is a fault of its own program only" {
	program hsa_wild
	emu start --cus 16
	timeout 120 "$GPREEMPT" emu exec --name default -- "$ROCM_PROGRAMS/hsa_stops" --seconds 4 \
		>"$BATS_TEST_TMPDIR/neighbour" 2>&1 &
	neighbour=$!
	wait_for /queues/ emu exec --name default -- sh -c 'ls -d /sys/class/kfd/kfd/proc/*/queues/* 2>/dev/null'
	for _ in 1 2 3; do
		on_machine --name default -- "$ROCM_PROGRAMS/hsa_wild" handler
		[[ $output == *"memory fault at 0x123456789000"* ]]
		run -134 emu exec --name default -- "$ROCM_PROGRAMS/hsa_wild" abort
		[[ $output == *"Memory access fault by GPU node-1"*"on address 0x123456789000"* ]]
		[[ $output == *"Page not present"* ]]
	done
	wait $neighbour || { cat "$BATS_TEST_TMPDIR/neighbour"; false; }
}

@test "a hung queue is reset by a hold, and the next program runs" {
	program hsa_stops
	emu start --cus 4 --fault hang-queue=30
	run timeout 60 "$GPREEMPT" emu exec --name default -- \
		"$ROCM_PROGRAMS/hsa_stops" --seconds 5 --stop update
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"the GPU was reset, and this program lost its queues"*"(EACCES)"* ]]
	on_machine --name default -- "$ROCM_PROGRAMS/hsa_queues"
}

# This runtime does not wait for the event of a reset, and hangs, as it does on hardware.
@test "a GPU reset ends the queues of its programs, and of no others" {
	program hsa_stops
	emu start --cus 4 --fault gpu-reset=5s
	run_list() {
		emu exec --name default -- cat /sys/kernel/debug/kfd/rls
	}
	timeout 200 "$GPREEMPT" emu exec --name default -- \
		"$ROCM_PROGRAMS/hsa_stops" --seconds 180 --stop none 3>&- &
	stuck=$!
	wait_for "  00000000: " run_list
	wait_for "No active runlist" run_list
	on_machine --name default -- "$ROCM_PROGRAMS/hsa_queues"
	run_list | grep "No active runlist"
	kill -0 $stuck
	kill $stuck
}

@test "clients and machines that are killed leave nothing behind" {
	program hsa_stops
	run timeout 200 "$SOURCE_DIR/tests/rocm/kills.py" "$GPREEMPT" "$ROCM_PROGRAMS" --rounds 20
	echo "$output"
	[ "$status" -eq 0 ]
}
