#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs with the preload that sees their queues, on emulated machines.
#
# Each test is a subshell, and what it runs is looked at in the same one.
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

# A test program; without it, the test is skipped.
program() {
	[ -x "$ROCM_PROGRAMS/$1" ] ||
		skip "no $1: it needs libhsa-runtime-dev and clang-19, or hipcc"
}

joined() {
	LD_PRELOAD=$JOIN run timeout 120 "$GPREEMPT" emu exec "$@"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "the preload exports these names, and no others" {
	run nm -D --defined-only --format=just-symbols "$JOIN"
	names=(OnLoad OnUnload gp_join_also gp_join_arriving gp_join_table ioctl
		rocprofiler_register_library_api_table)
	[ "$output" = "$(printf '%s\n' "${names[@]}")" ]
}

@test "programs of HSA do what they do without it" {
	program hsa_queues
	joined -- "$ROCM_PROGRAMS/hsa_queues"
	[[ $output == *"all 16 tests passed on gfx90a" ]]
	joined -- "$ROCM_PROGRAMS/hsa_memory"
	[[ $output == *"all 8 tests passed on gfx90a" ]]
	joined --gpus 2 --cus 16 -- "$ROCM_PROGRAMS/hsa_peers"
}

@test "programs of HIP do what they do without it" {
	program hip_kernels
	joined -- "$ROCM_PROGRAMS/hip_kernels"
	[[ $output == *"all 6 tests passed on gfx90a:sramecc+:xnack-" ]]
	joined -- "$ROCM_PROGRAMS/hip_memory"
	joined -- "$ROCM_PROGRAMS/hip_streams"
}

@test "programs that stop their queues themselves do so, whichever way it would take" {
	program hsa_stops
	for way in update dbgtrap preempt; do
		for stop in update debug save; do
			export GPREEMPT_WAY=$way
			joined --kernel gpreempt --cus 8 -- "$ROCM_PROGRAMS/hsa_stops" --seconds 1 --stop $stop
			[[ $output == *"each right"* ]]
		done
	done
}

# kernel, the way asked for, the one in use, and whether a debugger may come.
five_steps() {
	program join_steps
	GPREEMPT_WAY=$2 joined --kernel "$1" --cus 8 -- "$ROCM_PROGRAMS/join_steps" steps "$3" ${4:+"$4"}
	[ "$(grep -c "16 waves stood still" <<<"$output")" -eq 5 ]
	[[ $output == *"steps: ok ($3)" ]]
}

@test "submit, preempt, see it stopped, resume, see it continue: Linux 6.1" {
	five_steps 6.1 update update
	# It has no other.
	five_steps 6.1 dbgtrap update
	[[ $output == *"update is in use: DBG_TRAP came with Linux 6.5"*"(ENOTTY)"* ]]
	five_steps 6.1 preempt update
	[[ $output == *"update is in use: this kernel has not gpreempt's series"*"(ENOTTY)"* ]]
}

@test "submit, preempt, see it stopped, resume, see it continue: Linux 6.12" {
	five_steps 6.12 update update
	five_steps 6.12 dbgtrap dbgtrap debuggable
	# Of a runtime that has not said that a debugger may come.
	five_steps 6.12 dbgtrap update
	[[ $output == *"update is in use: queues can be suspended once the runtime has said"*"(EPERM)"* ]]
	five_steps 6.12 preempt update
}

@test "submit, preempt, see it stopped, resume, see it continue: the series" {
	five_steps gpreempt update update debuggable
	five_steps gpreempt dbgtrap dbgtrap debuggable
	five_steps gpreempt preempt preempt debuggable
}

@test "the same while signals come" {
	program join_steps
	for way in update dbgtrap preempt; do
		GPREEMPT_WAY=$way joined --kernel gpreempt --cus 8 --fault ioctl-eintr=20% -- \
			"$ROCM_PROGRAMS/join_steps" steps $way debuggable
	done
}

# All ways on the kernel that has them.
in_each_way() {
	program join_steps
	for way in update dbgtrap preempt; do
		GPREEMPT_WAY=$way joined --kernel gpreempt --cus 8 -- "$ROCM_PROGRAMS/join_steps" "$1" $way \
			debuggable
		[[ $output == *"$1: ok ($way)" ]]
	done
}

@test "the runtime changes a queue that is held, and does not release it" {
	in_each_way runtime
}

@test "a program that uses the way itself: what is held stays so, in another way" {
	program join_steps
	for way in update dbgtrap preempt; do
		GPREEMPT_WAY=$way joined --kernel gpreempt --cus 8 -- "$ROCM_PROGRAMS/join_steps" other update \
			debuggable
		[[ $output == *"16 waves stood still"*"other: ok (update)" ]]
	done
}

@test "the runtime destroys a queue that is held" {
	in_each_way destroy
}

@test "a child has none of the queues, and its parent still does" {
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

@test "behind whatever answers for the device it sees nothing, and does no harm" {
	program hsa_queues
	run timeout 120 "$GPREEMPT" emu exec --cus 4 -- \
		sh -c "LD_PRELOAD=\$LD_PRELOAD:$JOIN exec $ROCM_PROGRAMS/hsa_queues"
	echo "$output"
	[[ $output == *"all 16 tests passed on gfx90a" ]]
}

@test "what it does not understand makes it step aside, in one line" {
	program hsa_queues
	GPREEMPT_WAY=sometimes joined --cus 4 -- "$ROCM_PROGRAMS/hsa_queues" times
	[ "$(grep -c ^gpreempt: <<<"$output")" -eq 1 ]
	[[ $output == *"gpreempt: GPREEMPT_WAY is none of update, dbgtrap and preempt, but sometimes: this program is not joined"* ]]
}

@test "programs without a GPU notice nothing" {
	run env LD_PRELOAD="$JOIN" GPREEMPT_WAY=sometimes stty -a </dev/null
	[[ $output == *"not a tty"* || $output == *"Inappropriate ioctl"* ]]
	[[ $output != *gpreempt:* ]]
}
