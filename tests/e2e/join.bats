#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs with the preload, which sees their queues, on emulated machines.
#
# Each test is a subshell, and checks what it runs in the same one.
# shellcheck disable=SC2030,SC2031

bats_require_minimum_version 1.5.0

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}"
	: "${ROCM_PROGRAMS:=build/tests/rocm}"
	: "${JOIN:=$PWD/build/src/join/libgpreempt-join.so}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	unset GPREEMPT_EMU_DIR GPREEMPT_WAY
}

teardown() {
	"$GPREEMPT" emu stop --all
}

# Finds a test program; without it, the test is skipped.
program() {
	[ -x "$ROCM_PROGRAMS/$1" ] ||
		skip "no $1: it needs libhsa-runtime-dev and clang-19, or hipcc"
}

joined() {
	LD_PRELOAD=$JOIN run timeout 120 "$GPREEMPT" emu exec "$@"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "the preload exports exactly the expected names" {
	run nm -D --defined-only --format=just-symbols "$JOIN"
	names=(OnLoad OnUnload gp_join_arriving gp_join_gang gp_join_is_beneath gp_join_lead_time gp_join_open
		gp_join_queue_of_hsa
		gp_join_queue_of_stream gp_join_table ioctl
		rocprofiler_register_library_api_table)
	[ "$output" = "$(printf '%s\n' "${names[@]}")" ]
}

@test "HSA programs behave as without the preload" {
	program hsa_queues
	joined -- "$ROCM_PROGRAMS/hsa_queues"
	[[ $output == *"all 16 tests passed on gfx90a" ]]
	joined -- "$ROCM_PROGRAMS/hsa_memory"
	[[ $output == *"all 8 tests passed on gfx90a" ]]
	joined --gpus 2 --cus 16 -- "$ROCM_PROGRAMS/hsa_peers"
}

@test "HIP programs behave as without the preload" {
	program hip_kernels
	joined -- "$ROCM_PROGRAMS/hip_kernels"
	[[ $output == *"all 6 tests passed on gfx90a:sramecc+:xnack-" ]]
	joined -- "$ROCM_PROGRAMS/hip_memory"
	joined -- "$ROCM_PROGRAMS/hip_streams"
}

@test "programs that stop their own queues can do so, whichever way the preload uses" {
	program hsa_stops
	for way in update dbgtrap preempt; do
		for stop in update debug save; do
			export GPREEMPT_WAY=$way
			joined --kernel gpreempt --cus 8 -- "$ROCM_PROGRAMS/hsa_stops" --seconds 1 --stop $stop
			[[ $output == *"each right"* ]]
		done
	done
}

# kernel, the requested way, the way in use, and whether a debugger may attach.
five_steps() {
	program join_steps
	GPREEMPT_WAY=$2 joined --kernel "$1" --cus 8 -- "$ROCM_PROGRAMS/join_steps" steps "$3" ${4:+"$4"}
	[ "$(grep -c "16 waves stood still" <<<"$output")" -eq 5 ]
	[[ $output == *"steps: ok ($3)" ]]
}

@test "submit, preempt, check that it is held, resume, check that it continues: Linux 6.1" {
	five_steps 6.1 update update
	# This kernel has no other way.
	five_steps 6.1 dbgtrap update
	[[ $output == *"update is in use: this kernel does not have DBG_TRAP"*"(ENOTTY)"* ]]
	five_steps 6.1 preempt update
	[[ $output == *"update is in use: this kernel does not have gpreempt's series"*"(ENOTTY)"* ]]
}

@test "submit, preempt, check that it is held, resume, check that it continues: Linux 6.12" {
	five_steps 6.12 update update
	five_steps 6.12 dbgtrap dbgtrap debuggable
	# The runtime has not enabled debuggers.
	five_steps 6.12 dbgtrap update
	[[ $output == *"update is in use: the runtime did not call RUNTIME_ENABLE"*"(EPERM)"* ]]
	five_steps 6.12 preempt update
}

@test "submit, preempt, check that it is held, resume, check that it continues: the series" {
	five_steps gpreempt update update debuggable
	five_steps gpreempt dbgtrap dbgtrap debuggable
	five_steps gpreempt preempt preempt debuggable
}

@test "submit, preempt and resume while signals arrive" {
	program join_steps
	for way in update dbgtrap preempt; do
		GPREEMPT_WAY=$way joined --kernel gpreempt --cus 8 --fault ioctl-eintr=20% -- \
			"$ROCM_PROGRAMS/join_steps" steps $way debuggable
	done
}

# Runs a test with all ways, on the kernel that has them.
in_each_way() {
	program join_steps
	for way in update dbgtrap preempt; do
		GPREEMPT_WAY=$way joined --kernel gpreempt --cus 8 -- "$ROCM_PROGRAMS/join_steps" "$1" $way \
			debuggable
		[[ $output == *"$1: ok ($way)" ]]
	done
}

@test "a held queue stays held when the runtime changes it" {
	in_each_way runtime
}

@test "a held queue stays held, by another way, when the program uses the way itself" {
	program join_steps
	for way in update dbgtrap preempt; do
		GPREEMPT_WAY=$way joined --kernel gpreempt --cus 8 -- "$ROCM_PROGRAMS/join_steps" other update \
			debuggable
		[[ $output == *"16 waves stood still"*"other: ok (update)" ]]
	done
}

@test "the runtime can destroy a held queue" {
	in_each_way destroy
}

@test "a child has no queues, and its parent keeps its own" {
	in_each_way child
}

@test "a program that is killed while its queue is held leaves nothing behind" {
	program join_steps
	"$GPREEMPT" emu start --kernel gpreempt --cus 8
	clients=$XDG_RUNTIME_DIR/gpreempt/emu/default/sys/class/kfd/kfd/proc
	for way in update dbgtrap preempt; do
		coproc victim { LD_PRELOAD=$JOIN GPREEMPT_WAY=$way exec "$GPREEMPT" emu exec --name default \
			-- "$ROCM_PROGRAMS/join_steps" hold $way debuggable; }
		read -r -t 60 line <&"${victim[0]}"
		[ "$line" = held ]
		# shellcheck disable=SC2154 # of the coproc
		kill -KILL "$victim_PID"
		for _ in $(seq 100); do
			[ -z "$(ls "$clients")" ] && break
			sleep 0.1
		done
		[ -z "$(ls "$clients")" ]
		joined --name default -- "$ROCM_PROGRAMS/hsa_stops" --seconds 1
		[[ $output == *"each right"* ]]
	done
}

@test "behind a library that implements the device, the preload sees nothing and does no harm" {
	program hsa_queues
	run timeout 120 "$GPREEMPT" emu exec --cus 4 -- \
		sh -c "LD_PRELOAD=\$LD_PRELOAD:$JOIN exec $ROCM_PROGRAMS/hsa_queues"
	echo "$output"
	[[ $output == *"all 16 tests passed on gfx90a" ]]
}

@test "an invalid setting disables the preload with one line" {
	program hsa_queues
	GPREEMPT_WAY=sometimes joined --cus 4 -- "$ROCM_PROGRAMS/hsa_queues" times
	[ "$(grep -c ^gpreempt: <<<"$output")" -eq 1 ]
	[[ $output == *"gpreempt: GPREEMPT_WAY=sometimes is not update, dbgtrap or preempt; the program runs without gpreempt"* ]]
}

@test "programs without a GPU are not affected" {
	run env LD_PRELOAD="$JOIN" GPREEMPT_WAY=sometimes stty -a </dev/null
	[[ $output == *"not a tty"* || $output == *"Inappropriate ioctl"* ]]
	[[ $output != *gpreempt:* ]]
}
