#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Joined programs on a fake driver of NVIDIA: they are held; what cannot be joined is told, with the
# reason; a GPU that fails is dropped and taken back.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154 # eventually eval; variables of daemon.bash

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${RM_PROGRAM:=$PWD/build/tests/rm_program}"
	: "${FAKE_DRIVER:=$PWD/build/tests/fake_driver.so}"
	[ "$(id -u)" -eq 0 ] || skip "only root can put another machine together"
	unshare -m mount -t tmpfs none /mnt 2>/dev/null || skip "unshare and mount are not permitted"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	export CUDA_MPS_PIPE_DIRECTORY=$BATS_TEST_TMPDIR/mps FAKE_RM_BROKEN=$BATS_TEST_TMPDIR/broken
	unset STATE_DIRECTORY GPREEMPT_EMU_DIR
	mknod "$BATS_TEST_TMPDIR/nvidiactl" c 195 255 || skip "device files cannot be made here"
	mknod "$BATS_TEST_TMPDIR/nvidia0" c 195 0
	started=()
	devices=$BATS_TEST_TMPDIR/nvidia0
	start_daemon "$BATS_TEST_TMPDIR/decisions"
}

teardown() {
	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
}

# on_driver VERSION MODULE COMMAND...: where /proc has a GPU and this driver.
on_driver() {
	exec unshare -m bash -c '
		mount -t tmpfs none /proc/driver
		gpu=/proc/driver/nvidia/gpus/0000:01:00.0
		mkdir -p $gpu
		echo "NVRM version: NVIDIA UNIX $2  $1  Release Build" >/proc/driver/nvidia/version
		printf "Model: \t NVIDIA H200\nGPU UUID: \t GPU-0\nDevice Minor: \t 0\n" >$gpu/information
		shift 2
		exec "$@"' bash "$@"
}

open="Open Kernel Module for x86_64"

# program NAME CLASS [ARGUMENT...]: starts a program, whose output is in the file NAME.
program() {
	local name=$1 class=$2

	shift 2
	mkfifo "$BATS_TEST_TMPDIR/$name.in"
	LD_PRELOAD=$FAKE_DRIVER on_driver 580.159.04 "$open" "$GPREEMPT" run -c "$class" -t "$name" -- \
		"$RM_PROGRAM" "$BATS_TEST_TMPDIR" "$@" <"$BATS_TEST_TMPDIR/$name.in" \
		>"$BATS_TEST_TMPDIR/$name" 2>&1 3>&- &
	started+=($!)
	# Its end is the end of the program.
	exec {input}>"$BATS_TEST_TMPDIR/$name.in"
}

# Runs a program until it has its context.
run_once() {
	LD_PRELOAD=$FAKE_DRIVER run -0 on_driver "$@" </dev/null
	echo "$output"
	[[ $output == *ready* ]]
}

state_of() {
	"$GPREEMPT" ps --json | python3 -c 'import json, sys
for g in json.load(sys.stdin)["groups"]:
    if g.get("tag") == sys.argv[1]:
        print(g["state"], "lost" if g["lost"] else "")' "$1"
}

is_state() {
	[[ $(state_of "$1") == "$2"* ]]
}

@test "a program on a known driver is held for a more urgent one, and released" {
	program train offline
	eventually is_state train admitted
	wait_for "NVIDIA H200" "$GPREEMPT" ps --json
	program serve online
	eventually is_state train excluded
	exec {input}>&-
	eventually is_state train admitted
	run ! grep -i unscheduled "$BATS_TEST_TMPDIR/train"
}

@test "MPS, a part of a GPU, unknown drivers and generations: a line says why, and the program runs" {
	run_once 580.159.04 "$open" "$GPREEMPT" run -- "$RM_PROGRAM" "$BATS_TEST_TMPDIR"
	[[ $output != *unscheduled* ]]
	run_once 580.159.04 "$open" "$GPREEMPT" run -- "$RM_PROGRAM" "$BATS_TEST_TMPDIR" 0xc637
	[[ $output == *"this program runs on a part of a GPU (MIG), whose channels cannot be held separately; the program runs unscheduled"* ]]
	run_once 580.159.04 "$open" "$GPREEMPT" run -- "$RM_PROGRAM" "$BATS_TEST_TMPDIR" 0xdb6f
	[[ $output == *"this GPU is of a generation that gpreempt does not know (its channels have the class 0xdb6f); the program runs unscheduled"* ]]
	run_once 580.159.04 "$open" "$GPREEMPT" run --any-driver -- "$RM_PROGRAM" "$BATS_TEST_TMPDIR" 0xdb6f
	[[ $output != *unscheduled* ]]
	run_once 610.43.02 "$open" "$GPREEMPT" run -- "$RM_PROGRAM" "$BATS_TEST_TMPDIR"
	[[ $output == *"gpreempt does not know NVIDIA's driver 610.43.02, so this program runs unscheduled; 'gpreempt probe'"* ]]
	run_once 610.43.02 "$open" "$GPREEMPT" run --any-driver -- "$RM_PROGRAM" "$BATS_TEST_TMPDIR"
	[[ $output != *unscheduled* ]]
	run_once 580.159.04 "x86_64 Kernel Module" "$GPREEMPT" run -- "$RM_PROGRAM" "$BATS_TEST_TMPDIR"
	[[ $output == *"has the proprietary kernel module"*"runs unscheduled"* ]]
	mkdir "$CUDA_MPS_PIPE_DIRECTORY"
	: >"$CUDA_MPS_PIPE_DIRECTORY/control"
	run_once 580.159.04 "$open" "$GPREEMPT" run -- "$RM_PROGRAM" "$BATS_TEST_TMPDIR"
	[[ $output == *"NVIDIA's multi-process service (MPS)"*"so this program runs unscheduled; end MPS with"* ]]
}

@test "--require ends a program on an unknown driver" {
	mkfifo "$BATS_TEST_TMPDIR/in"
	sleep 60 >"$BATS_TEST_TMPDIR/in" 3>&- &
	started+=($!)
	LD_PRELOAD=$FAKE_DRIVER run -125 on_driver 610.43.02 "$open" "$GPREEMPT" run --require -- \
		"$RM_PROGRAM" "$BATS_TEST_TMPDIR" <"$BATS_TEST_TMPDIR/in"
	[[ $output == *"gpreempt does not know NVIDIA's driver 610.43.02"* ]]
}

# $1: a status of the RM that says that the GPU has failed.
fails_and_returns() {
	program train offline
	eventually is_state train admitted
	echo "$1" >"$FAKE_RM_BROKEN"
	# Held for it, it does not answer. This one has its context already.
	"$GPREEMPT" suspend tag:train
	wait_for "does not answer" "$GPREEMPT" ps
	[[ $output == *"gpu0 (NVIDIA H200) does not answer: its programs run unscheduled"* ]]
	eventually eval '[[ $(state_of train) == *lost ]]'
	run -1 "$GPREEMPT" doctor
	[[ $output == *"bad   lost         gpu0 (NVIDIA H200) does not answer"* ]]
	grep -q "gpu0 (NVIDIA H200) does not answer: it was reset or has fallen off the bus" "$BATS_TEST_TMPDIR/daemon"
	# While it is gone, no program can start on it.
	LD_PRELOAD=$FAKE_DRIVER run -1 on_driver 580.159.04 "$open" "$GPREEMPT" run -- "$RM_PROGRAM" \
		"$BATS_TEST_TMPDIR" </dev/null
	rm "$FAKE_RM_BROKEN"
	program next offline
	eventually grep -q "gpu0 (NVIDIA H200) is back" "$BATS_TEST_TMPDIR/daemon"
	program serve online
	eventually is_state next excluded
}

@test "a GPU that has fallen off the bus (Xid 79) is dropped, and taken back when it returns" {
	fails_and_returns 0xf
}

@test "a GPU that needs a reset after an ECC error is dropped, and taken back after it" {
	fails_and_returns 0x62
}

@test "a GPU in a reset by nvidia-smi is dropped, and taken back after it" {
	fails_and_returns 0x10
}

# broken STATUS: another program runs, and the channels of "train" answer with this status. The GPU is not
# dropped, and the other program is held for the urgent one as before.
broken() {
	FAKE_RM_BROKEN=$BATS_TEST_TMPDIR/dead program train offline
	program other offline
	eventually is_state train admitted
	eventually is_state other admitted
	echo "$1" >"$BATS_TEST_TMPDIR/dead"
	program serve online
	eventually is_state other excluded
	"$GPREEMPT" ps
	run "$GPREEMPT" ps --json
	[[ $(python3 -c 'import json, sys; print(json.load(sys.stdin)["gpus"][0]["lost"])' <<<"$output") == False ]]
}

@test "an error that ends one program's channels (Xid 13, 31, 43, 94): it is lost, and nobody else" {
	broken 0x60
	eventually eval '[[ $(state_of train) == *lost ]]'
	grep "gpu0 (NVIDIA H200) has lost the queues of rm_program (pid [0-9]*), by a reset or an error" \
		"$BATS_TEST_TMPDIR/daemon"
}

@test "channels that are not stopped in time (Xid 109, 119): the program runs, and nobody else is concerned" {
	broken 0x65
	eventually is_state train failed
	run ! grep "does not answer\|has lost" "$BATS_TEST_TMPDIR/daemon"
}

@test "the driver is loaded again when no program is left: the daemon does not keep it" {
	program train offline
	eventually is_state train admitted
	run ! bash -c 'ls -l /proc/$1/fd | grep nvidia' bash "$daemon"
	exec {input}>&-
	eventually eval '! "$GPREEMPT" ps --no-headers | grep -q train'
	rm "$BATS_TEST_TMPDIR"/nvidia*
	"$GPREEMPT" ps
	mknod "$BATS_TEST_TMPDIR/nvidiactl" c 195 255
	mknod "$BATS_TEST_TMPDIR/nvidia0" c 195 0
	program next offline
	program serve online
	eventually is_state next excluded
}
