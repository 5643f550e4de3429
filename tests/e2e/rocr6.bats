#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Runs programs with the HSA runtime and OpenCL of ROCm 6 on emulated machines: this runtime supports
# gfx942 and uses more ioctls than older ones do. scripts/rocr6 fetches it from the Debian
# release in ROCR6_SUITE, trixie unless set; 'make rocr6-sid' runs the tests with sid's. All tests are
# skipped if the packages cannot be fetched.

bats_require_minimum_version 1.5.0
load daemon

setup_file() {
	: "${BUILD_DIR:=build}" "${SOURCE_DIR:=.}" "${ROCR6_SUITE:=trixie}"
	export ROCR6="$SOURCE_DIR/scripts/rocr6" ROCR6_DIR="$BUILD_DIR/rocr6" ROCR6_SUITE
	[ "$ROCR6_SUITE" = trixie ] || ROCR6_DIR+=-$ROCR6_SUITE
	mkdir -p "$BUILD_DIR"
	# If tests run at the same time, one of them fetches.
	ROCR6_REASON=$(flock "$BUILD_DIR" "$ROCR6" get "$ROCR6_DIR" "$ROCR6_SUITE" 2>&1) && ROCR6_REASON=
	export ROCR6_REASON
}

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${ROCM_PROGRAMS:=build/tests/rocm}"
	: "${OPENCL_PROGRAMS:=build/tests/opencl}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	export GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset GPREEMPT_EMU_DIR OPENCL_LAYERS OCL_ICD_VENDORS HSA_TOOLS_LIB HSA_TOOLS_DISABLE_REGISTER
	# Meson overwrites freed memory. This runtime takes a lock in such memory when a program ends,
	# and waits for ever if the lock appears to be taken.
	unset MALLOC_PERTURB_
	[ -z "$ROCR6_REASON" ] || skip "$ROCR6_REASON"
}

teardown() {
	[ -z "${daemon:-}" ] || kill "$daemon" 2>/dev/null || true
	"$GPREEMPT" emu stop --all
}

# Runs a command with the runtime, on a machine with the options before the --.
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

# The tests of queues that the runtime passes. hsa_amd_signal_wait_any() of ROCm 6.4 writes behind its
# memory unless the first signal is the one that fires; AMD fixed that in July 2026.
queue_tests() {
	[ "$ROCR6_SUITE" = sid ] || return 0
	sed -n 's/^\t{ "\([a-z-]*\)", test_.*/\1/p' "$SOURCE_DIR/tests/rocm/hsa_queues.c" | grep -vx wait-any
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
	mapfile -t names < <(queue_tests)
	with_rocr6 --gpu gfx942 -- "$ROCM_PROGRAMS/hsa_queues" "${names[@]}"
	[[ $output =~ "all "1[56]" tests passed on gfx942"$ ]]
	with_rocr6 --gpu gfx942 -- "$ROCM_PROGRAMS/hsa_memory"
	[[ $output == *"all 8 tests passed on gfx942" ]]
}

@test "ROCm 6: queues and memory on gfx90a" {
	program hsa_queues
	mapfile -t names < <(queue_tests)
	with_rocr6 -- "$ROCM_PROGRAMS/hsa_queues" "${names[@]}"
	with_rocr6 -- "$ROCM_PROGRAMS/hsa_memory"
}

@test "ROCm 6: queues on Linux 6.1" {
	program hsa_queues
	mapfile -t names < <(queue_tests)
	with_rocr6 --kernel 6.1 -- "$ROCM_PROGRAMS/hsa_queues" "${names[@]}"
}

@test "ROCm 6: two GPUs use each other's memory and signals" {
	program hsa_peers
	with_rocr6 --gpus 2 --cus 8 -- "$ROCM_PROGRAMS/hsa_peers"
	with_rocr6 --gpu gfx942 --gpus 2 --xccs 2 --cus 8 -- "$ROCM_PROGRAMS/hsa_peers"
}

@test "ROCm 6: a program has correct results while its queues are held and released" {
	program hsa_stops
	for how in debug update save; do
		with_rocr6 --gpu gfx942 --kernel gpreempt -- "$ROCM_PROGRAMS/hsa_stops" \
			--seconds 2 --stop $how
	done
}

@test "ROCm 6: a joined program is held and released, and its runtime ends under our debugger" {
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

@test "ROCm 6: an invalid address is reported" {
	program hsa_wild
	with_rocr6 --gpu gfx942 -- "$ROCM_PROGRAMS/hsa_wild" handler
	[[ $output == *"memory fault at 0x123456789000"* ]]
}

@test "ROCm 6: a GPU reset is reported" {
	program hsa_stops
	run timeout 60 "$GPREEMPT" emu exec --cus 4 --fault gpu-reset=2s -- \
		"$ROCR6" exec "$ROCR6_DIR" "$ROCM_PROGRAMS/hsa_stops" --seconds 30 --stop none
	echo "$output"
	[ "$status" -eq 134 ]
	[[ $output == *"HW Exception by GPU node-1"*"GPU Hang"* ]]
}

@test "ROCm 6: HIP" {
	[ "$ROCR6_SUITE" = trixie ] || skip "the programs were built for HIP 5"
	program hip_kernels
	for name in hip_kernels hip_memory hip_streams; do
		with_rocr6 -- "$ROCM_PROGRAMS/$name"
	done
}

@test "ROCm 6: a kernel that traps ends its program, with every driver" {
	program hip_trap
	for kernel in 6.1 6.12 gpreempt; do
		run timeout 60 "$GPREEMPT" emu exec --cus 4 --kernel $kernel -- \
			"$ROCR6" exec "$ROCR6_DIR" "$ROCM_PROGRAMS/hip_trap"
		echo "$output"
		[ "$status" -eq 134 ]
		[[ $output == *"HSA_STATUS_ERROR_EXCEPTION"* ]]
	done
}

@test "ROCm 6: a watched address is reported to the debugger" {
	program hip_watch
	with_rocr6 --cus 4 -- "$ROCM_PROGRAMS/hip_watch"
	[[ $output == *"the watched address was seen"* ]]
}

@test "ROCm 6: stage 1, whose debugger handles the end of a program's runtime" {
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
		run timeout 120 "$GPREEMPT" emu exec --kernel gpreempt --sched none -- \
			"$GPREEMPT" run --local --level $level -- \
			"$ROCR6" exec "$ROCR6_DIR" "$ROCM_PROGRAMS/hsa_mix" 40 5
		echo "$output"
		[ "$status" -eq 0 ]
		[[ $output == *"$plain"* ]]
		[[ $output != *"gpreempt:"* ]]
	done
}

opencl_program() {
	[ -x "$OPENCL_PROGRAMS/$1" ] || skip "no $1: it needs opencl-headers and ocl-icd-opencl-dev"
}

# Runs the rest of the command in a machine that the test has started, under gpreempt run.
joined() {
	timeout 120 "$GPREEMPT" emu exec --name default -- "$GPREEMPT" run -t patient "${options[@]}" -- \
		"$ROCR6" exec "$ROCR6_DIR" "$@"
}

@test "ROCm 6: clinfo sees the GPUs" {
	with_rocr6 --gpus 2 --cus 4 -- clinfo -l
	plain=$(grep '#' <<<"$output")
	[[ $plain == *"Platform #0: AMD Accelerated Parallel Processing"* ]]
	[ "$(grep -c "Device #.: gfx90a:" <<<"$output")" -eq 2 ]
	run timeout 120 "$GPREEMPT" emu exec --gpus 2 --cus 4 -- "$GPREEMPT" run --local -- \
		"$ROCR6" exec "$ROCR6_DIR" clinfo -l
	[ "$status" -eq 0 ]
	[ "$(grep '#' <<<"$output")" = "$plain" ]
	with_rocr6 --gpu gfx942 --cus 4 -- clinfo
	[[ $output =~ "Device Name"\ +"gfx942:sramecc+:xnack-" ]]
}

# The emulated gfx90a has no images, although the driver reports them; gfx942 has none.
@test "ROCm 6: random OpenCL programs: the same memory, joined at any level or not" {
	opencl_program cl_mix
	with_rocr6 --gpu gfx942 --cus 4 -- "$OPENCL_PROGRAMS/cl_mix" 12 7
	plain=$(memory_of "$output")
	for level in 1 "2 --idempotent" 3; do
		# shellcheck disable=SC2086 # several words
		run timeout 120 "$GPREEMPT" emu exec --gpu gfx942 --cus 4 --kernel gpreempt --sched none -- \
			"$GPREEMPT" run --local --level $level -- \
			"$ROCR6" exec "$ROCR6_DIR" "$OPENCL_PROGRAMS/cl_mix" 12 7
		echo "$output"
		[ "$status" -eq 0 ]
		[ "$(memory_of "$output")" = "$plain" ]
		[[ $output != *"gpreempt:"* ]]
	done
}

@test "ROCm 6: an OpenCL program is one program, held by the amd backend" {
	opencl_program cl_steps
	with_rocr6 --cus 4 -- "$OPENCL_PROGRAMS/cl_steps" 5000
	grep '^step' <<<"$output" >"$BATS_TEST_TMPDIR/plain"
	start_daemon
	"$GPREEMPT" emu start --cus 4
	options=(-c offline)
	joined "$OPENCL_PROGRAMS/cl_steps" 5000 >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	program=$!
	wait_for "step 5:" cat "$BATS_TEST_TMPDIR/out"
	"$GPREEMPT" suspend tag:patient
	wait_for '"state": "excluded"' "$GPREEMPT" ps --json
	output=$("$GPREEMPT" ps --queues)
	[[ $output == *" launch "* ]]
	[ "$(grep -c ' 3 of 3 ' <<<"$output")" -eq "$(grep -c cl_steps <<<"$output")" ]
	output=$("$GPREEMPT" ps)
	[ "$(wc -l <<<"$output")" -eq 2 ]
	[[ $output == *cl_steps* ]]
	before=$(wc -l <"$BATS_TEST_TMPDIR/out")
	sleep 0.5
	[ "$(wc -l <"$BATS_TEST_TMPDIR/out")" -eq "$before" ]
	"$GPREEMPT" resume tag:patient
	wait "$program"
	diff "$BATS_TEST_TMPDIR/plain" <(grep '^step' "$BATS_TEST_TMPDIR/out")
}

@test "ROCm 6: random OpenCL programs: the same memory while they are held at random" {
	opencl_program cl_mix
	with_rocr6 --gpu gfx942 --cus 4 -- "$OPENCL_PROGRAMS/cl_mix" 10 8
	plain=$(memory_of "$output")
	start_daemon
	"$GPREEMPT" emu start --gpu gfx942 --cus 4
	for level in 1 3; do
		options=(-c offline --level "$level")
		joined "$OPENCL_PROGRAMS/cl_mix" 10 8 >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
		program=$!
		while kill -0 "$program" 2>/dev/null; do
			"$GPREEMPT" suspend tag:patient >/dev/null 2>&1 || true
			sleep "0.0$((RANDOM % 5))"
			"$GPREEMPT" resume tag:patient >/dev/null 2>&1 || true
			sleep "0.0$((RANDOM % 9))"
		done
		wait "$program"
		cat "$BATS_TEST_TMPDIR/out"
		[ "$(memory_of "$(<"$BATS_TEST_TMPDIR/out")")" = "$plain" ]
	done
}

@test "ROCm 6: without the preload the OpenCL layer holds the command queues itself" {
	opencl_program cl_steps
	start_daemon
	"$GPREEMPT" emu start --cus 4
	OPENCL_LAYERS=${GPREEMPT%/cli/gpreempt}/join/libgpreempt-opencl.so GPREEMPT_PRIORITY=2 \
		timeout 60 "$GPREEMPT" emu exec --name default -- \
		"$ROCR6" exec "$ROCR6_DIR" "$OPENCL_PROGRAMS/cl_steps" 1000000 >/dev/null 2>&1 3>&- &
	program=$!
	wait_for ' 1 of 3 ' "$GPREEMPT" ps --queues
	kill "$program"
}
