#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs with the runtime of ROCm 6 on emulated machines: it knows gfx942, and asks the driver for
# more than older ones do. Fetched by scripts/rocr6; where that cannot be, all is skipped.

bats_require_minimum_version 1.5.0

setup_file() {
	: "${BUILD_DIR:=build}" "${SOURCE_DIR:=.}"
	export ROCR6="$SOURCE_DIR/scripts/rocr6" ROCR6_DIR="$BUILD_DIR/rocr6"
	mkdir -p "$BUILD_DIR"
	# Where tests run at once, one of them fetches.
	ROCR6_REASON=$(flock "$BUILD_DIR" "$ROCR6" get "$ROCR6_DIR" 2>&1) && ROCR6_REASON=
	export ROCR6_REASON
}

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${ROCM_PROGRAMS:=build/tests/rocm}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	unset GPREEMPT_EMU_DIR
	# Meson has memory overwritten when it is freed. This runtime takes a lock in such memory when
	# a program ends, and waits for ever where that looks taken.
	unset MALLOC_PERTURB_
	[ -z "$ROCR6_REASON" ] || skip "$ROCR6_REASON"
}

teardown() {
	"$GPREEMPT" emu stop --all
}

# A command with the runtime, on a machine of the options before the --.
with_rocr6() {
	local options=()

	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	run timeout 120 "$GPREEMPT" emu exec "${options[@]}" -- "$ROCR6" exec "$ROCR6_DIR" "$@"
	echo "$output"
	[ "$status" -eq 0 ]
}

program() {
	[ -x "$ROCM_PROGRAMS/$1" ] || skip "no $1: it needs libhsa-runtime-dev and clang-19, or hipcc"
}

@test "ROCm 6: rocminfo sees a gfx942 of eight XCCs" {
	with_rocr6 --gpu gfx942 -- rocminfo
	[ "$(grep -c "Name: *gfx942" <<<"$output")" -eq 1 ]
	[[ $output == *"amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"* ]]
	[[ $output =~ "Compute Unit:"\ +304\  ]]
}

@test "ROCm 6: rocminfo sees eight GPUs" {
	with_rocr6 --gpus 8 --cus 2 -- rocminfo
	[ "$(grep -c "Name: *gfx90a" <<<"$output")" -eq 8 ]
}

@test "ROCm 6: queues and memory on gfx942" {
	program hsa_queues
	with_rocr6 --gpu gfx942 -- "$ROCM_PROGRAMS/hsa_queues"
	[[ $output == *"all 16 tests passed on gfx942" ]]
	with_rocr6 --gpu gfx942 -- "$ROCM_PROGRAMS/hsa_memory"
	[[ $output == *"all 8 tests passed on gfx942" ]]
}

@test "ROCm 6: queues and memory on gfx90a" {
	program hsa_queues
	with_rocr6 -- "$ROCM_PROGRAMS/hsa_queues"
	with_rocr6 -- "$ROCM_PROGRAMS/hsa_memory"
}

@test "ROCm 6: a kernel of before it asks for more" {
	program hsa_queues
	with_rocr6 --kernel 6.1 -- "$ROCM_PROGRAMS/hsa_queues"
}

@test "ROCm 6: two GPUs use each other's memory and signals" {
	program hsa_peers
	with_rocr6 --gpus 2 --cus 8 -- "$ROCM_PROGRAMS/hsa_peers"
	with_rocr6 --gpu gfx942 --gpus 2 --xccs 2 --cus 8 -- "$ROCM_PROGRAMS/hsa_peers"
}

@test "ROCm 6: a program goes on right while its queues are stopped and started" {
	program hsa_stops
	for how in debug update save; do
		with_rocr6 --gpu gfx942 --kernel gpreempt -- "$ROCM_PROGRAMS/hsa_stops" \
			--seconds 2 --stop $how
	done
}

@test "ROCm 6: a joined program is stopped and started, and its runtime ends under our debugger" {
	program join_steps
	: "${JOIN:=$PWD/build/src/join/libgpreempt-join.so}"
	for way in update dbgtrap preempt; do
		for gpu in gfx90a gfx942; do
			LD_PRELOAD=$JOIN GPREEMPT_WAY=$way with_rocr6 --gpu $gpu --kernel gpreempt --cus 8 -- \
				"$ROCM_PROGRAMS/join_steps" steps $way
			[[ $output == *"steps: ok ($way)" ]]
		done
	done
}

@test "ROCm 6: a wild pointer is told" {
	program hsa_wild
	with_rocr6 --gpu gfx942 -- "$ROCM_PROGRAMS/hsa_wild" handler
	[[ $output == *"memory fault at 0x123456789000"* ]]
}

@test "ROCm 6: a reset of the GPU is told" {
	program hsa_stops
	run timeout 60 "$GPREEMPT" emu exec --cus 4 --fault gpu-reset=2s -- \
		"$ROCR6" exec "$ROCR6_DIR" "$ROCM_PROGRAMS/hsa_stops" --seconds 30 --stop none
	echo "$output"
	[ "$status" -eq 134 ]
	[[ $output == *"HW Exception by GPU node-1"*"GPU Hang"* ]]
}

@test "ROCm 6: HIP" {
	program hip_kernels
	for name in hip_kernels hip_memory hip_streams; do
		with_rocr6 -- "$ROCM_PROGRAMS/$name"
	done
}

@test "ROCm 6: a kernel that traps ends its program, whatever the driver" {
	program hip_trap
	for kernel in 6.1 6.12 gpreempt; do
		run timeout 60 "$GPREEMPT" emu exec --cus 4 --kernel $kernel -- \
			"$ROCR6" exec "$ROCR6_DIR" "$ROCM_PROGRAMS/hip_trap"
		echo "$output"
		[ "$status" -eq 134 ]
		[[ $output == *"HSA_STATUS_ERROR_EXCEPTION"* ]]
	done
}

@test "ROCm 6: stage 1, whose debugger is answered to when a program's runtime ends" {
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no offline_trainer"
	export PYTHONPATH=$SOURCE_DIR/python:$SOURCE_DIR/tests/poc PYTHONDONTWRITEBYTECODE=1
	export POC_COMMAND="$ROCR6 exec $ROCR6_DIR"
	for name in basic queue_destroyed scheduler_killed; do
		run timeout 120 "$GPREEMPT" emu exec --cus 4 --kernel 6.12 -- \
			"$SOURCE_DIR/tests/poc/cases.py" $name
		echo "$output"
		[ "$status" -eq 0 ]
	done
}

@test "ROCm 6: programs are joined at its runtime" {
	program hsa_mix
	with_rocr6 -- "$ROCM_PROGRAMS/hsa_mix" 40 5
	plain=$(grep -o 'memory [0-9a-f]*' <<<"$output")
	for level in 1 "2 --idempotent" 3; do
		# shellcheck disable=SC2086 # several words
		run timeout 120 "$GPREEMPT" emu exec --kernel gpreempt -- \
			"$GPREEMPT" run --local --level $level -- \
			"$ROCR6" exec "$ROCR6_DIR" "$ROCM_PROGRAMS/hsa_mix" 40 5
		echo "$output"
		[ "$status" -eq 0 ]
		[[ $output == *"$plain"* ]]
		[[ $output != *"gpreempt:"* ]]
	done
}
