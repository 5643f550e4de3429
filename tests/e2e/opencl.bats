#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Unmodified OpenCL programs under gpreempt, on whatever device there is: PoCL's, usually.

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}"
	: "${OPENCL_PROGRAMS:=build/tests/opencl}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	export GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset OPENCL_LAYERS GPREEMPT_EMU_DIR
	mix=$OPENCL_PROGRAMS/cl_mix
	[ -x "$mix" ] || skip "no cl_mix: it needs opencl-headers and ocl-icd-opencl-dev"
	run timeout 120 "$mix" 0
	[ "$status" -ne 77 ] || skip "there is no OpenCL device; pocl-opencl-icd has one"
	[ "$status" -eq 0 ]
}

teardown() {
	[ -z "${daemon:-}" ] || kill "$daemon" 2>/dev/null || true
	[ ! -e "$BATS_TEST_TMPDIR/programs" ] || xargs -r kill <"$BATS_TEST_TMPDIR/programs" 2>/dev/null || true
}

# With the test.
ends() {
	echo "$1" >>"$BATS_TEST_TMPDIR/programs"
}

succeed() {
	run timeout 200 "$@"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "clinfo says the same" {
	command -v clinfo || skip "no clinfo"
	diff <(clinfo) <("$GPREEMPT" run --local -- clinfo)
}

@test "random programs leave the same memory, joined with any window or not" {
	succeed "$mix" 60 7
	plain=$(memory_of "$output")
	for options in "" "--level 1" "--level 2" "--window 1" "--window 100us"; do
		# shellcheck disable=SC2086 # they are several words
		succeed "$GPREEMPT" run --local $options -- "$mix" 60 7
		[ "$(memory_of "$output")" = "$plain" ]
		[[ $output != *"gpreempt:"* ]]
	done
}

@test "random programs leave the same memory while they are held and let go at random" {
	start_daemon
	succeed "$mix" 40 8
	plain=$(memory_of "$output")
	"$GPREEMPT" run -c online -- "$mix" 1000000 9 >/dev/null 2>&1 3>&- &
	ends "$!"
	for window in 1 3 1ms; do
		"$GPREEMPT" run -c offline -t patient --window "$window" -- timeout 200 "$mix" 40 8 \
			>"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
		patient=$!
		while kill -0 "$patient" 2>/dev/null; do
			"$GPREEMPT" suspend tag:patient >/dev/null 2>&1 || true
			sleep "0.0$((RANDOM % 5))"
			"$GPREEMPT" resume tag:patient >/dev/null 2>&1 || true
			sleep "0.0$((RANDOM % 9))"
		done
		wait "$patient"
		cat "$BATS_TEST_TMPDIR/out"
		[ "$(memory_of "$(<"$BATS_TEST_TMPDIR/out")")" = "$plain" ]
	done
}

@test "command queues are queues of gpreemptd's, seen by their launches, and go with the program" {
	start_daemon
	"$GPREEMPT" run -c offline -t steps -- "$OPENCL_PROGRAMS/cl_steps" 1000000 \
		>/dev/null 2>&1 3>&- &
	ends "$!"
	wait_for '"seen_by": "launch"' "$GPREEMPT" ps --json
	wait_for ' 2 of 3 ' "$GPREEMPT" ps --queues
	[[ $output == *cl_steps*launch* ]]
	wait_for ' running ' "$GPREEMPT" ps
	kill "$(<"$BATS_TEST_TMPDIR/programs")"
	for _ in $(seq 200); do
		[[ $("$GPREEMPT" ps) == *cl_steps* ]] || return 0
		sleep 0.05
	done
	false
}

@test "what is held starts nothing, and goes on afterwards as if nothing had been" {
	start_daemon
	succeed "$OPENCL_PROGRAMS/cl_steps" 300
	plain=$output
	"$GPREEMPT" run -c offline -t patient -- "$OPENCL_PROGRAMS/cl_steps" 300 \
		>"$BATS_TEST_TMPDIR/out" 3>&- &
	program=$!
	ends "$program"
	wait_for "step 5:" cat "$BATS_TEST_TMPDIR/out"
	"$GPREEMPT" suspend tag:patient
	wait_for '"state": "excluded"' "$GPREEMPT" ps --json
	# A step that was on its way ends.
	sleep 0.5
	before=$(wc -l <"$BATS_TEST_TMPDIR/out")
	sleep 1
	[ "$(wc -l <"$BATS_TEST_TMPDIR/out")" -eq "$before" ]
	[ "$before" -lt 300 ]
	kill -0 "$program"
	"$GPREEMPT" resume tag:patient
	wait "$program"
	diff <(echo "$plain") "$BATS_TEST_TMPDIR/out"
}

@test "the patient give way to the urgent" {
	start_daemon
	"$GPREEMPT" run -c offline -t patient -- "$OPENCL_PROGRAMS/cl_steps" 1000000 \
		>/dev/null 2>&1 3>&- &
	ends "$!"
	wait_for "cl_steps" "$GPREEMPT" ps
	succeed "$GPREEMPT" run -c online -t urgent -- "$OPENCL_PROGRAMS/cl_steps" 50
	wait_for "had work and is more urgent (rule: priority)" "$GPREEMPT" why tag:patient
}

@test "work that is announced is told to the daemon" {
	start_daemon "$BATS_TEST_TMPDIR/decisions"
	# To one who is alone on a device nobody has to give way.
	"$GPREEMPT" run -c offline -- "$OPENCL_PROGRAMS/cl_steps" 1000000 >/dev/null 2>&1 3>&- &
	ends "$!"
	wait_for cl_steps "$GPREEMPT" ps
	succeed "$GPREEMPT" run -c online -- "$OPENCL_PROGRAMS/cl_hint"
	[ "$output" = announced ]
	kill "$daemon"
	wait "$daemon"
	grep arriving "$BATS_TEST_TMPDIR/decisions"
}

@test "a level that is not to be had is refused in one line, and the program runs" {
	succeed "$GPREEMPT" run --local --level 3 -- "$mix" 5 1
	[ "$(grep -c "level 3 is not to be had for this program's OpenCL queues" <<<"$output")" -eq 1 ]
}

# Somebody who has a queue and no work: who is alone on a device is not stopped in kernels.
start_neighbour() {
	truncate -s 64K "$BATS_TEST_TMPDIR/pair"
	"$GPREEMPT" run -c online -t neighbour -- "$OPENCL_PROGRAMS/cl_pair" "$BATS_TEST_TMPDIR/pair" \
		train >/dev/null 2>&1 3>&- &
	ends "$!"
	wait_for neighbour "$GPREEMPT" ps
}

@test "level 2: each work-group runs once, however often kernels are cut short" {
	start_daemon "$BATS_TEST_TMPDIR/decisions"
	start_neighbour
	for seed in 1 2; do
		"$GPREEMPT" run -c offline -t patient --level 2 -- timeout 200 \
			"$OPENCL_PROGRAMS/cl_groups" 160 "$seed" 20000 >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
		patient=$!
		while kill -0 "$patient" 2>/dev/null; do
			"$GPREEMPT" suspend tag:patient >/dev/null 2>&1 || true
			sleep "0.00$((RANDOM % 9))"
			"$GPREEMPT" resume tag:patient >/dev/null 2>&1 || true
			sleep "0.0$((RANDOM % 3))"
		done
		wait "$patient" || { cat "$BATS_TEST_TMPDIR/out"; false; }
		grep "launches, each work-group once" "$BATS_TEST_TMPDIR/out"
	done
	[ "$(grep -c suspend "$BATS_TEST_TMPDIR/decisions")" -gt 20 ]
}

# Of a trainer: work-groups that have ended (bench/opencl_pair.h), once the number stays.
groups_of() {
	local before=-1 now=0

	while [ "$now" != "$before" ]; do
		before=$now
		sleep 0.3
		now=$(od -An -tu4 -j8192 -N4 "$1" | tr -d ' ')
	done
	echo "$now"
}

@test "level 2: a kernel that runs is stopped in its middle, and goes on" {
	start_daemon
	start_neighbour
	file=$BATS_TEST_TMPDIR/train
	truncate -s 64K "$file"
	printf '\1' | dd of="$file" bs=1 seek=4 conv=notrunc status=none # go
	"$GPREEMPT" run -c offline -t patient --level 2 -- "$OPENCL_PROGRAMS/cl_pair" "$file" train \
		>/dev/null 2>&1 3>&- &
	ends "$!"
	wait_for patient "$GPREEMPT" ps
	for _ in $(seq 40); do
		"$GPREEMPT" suspend tag:patient
		wait_for '"state": "excluded"' "$GPREEMPT" ps --json
		groups=$(groups_of "$file")
		# Between kernels it would be a multiple of what each has.
		[ "$((groups % 64))" -eq 0 ] || break
		"$GPREEMPT" resume tag:patient
		sleep 0.05
	done
	[ "$((groups % 64))" -ne 0 ]
	sleep 1
	[ "$(groups_of "$file")" -eq "$groups" ]
	"$GPREEMPT" resume tag:patient
	for _ in $(seq 200); do
		[ "$(od -An -tu4 -j8192 -N4 "$file")" -eq "$groups" ] || return 0
		sleep 0.05
	done
	false
}

# In parts of the time that a kernel takes.
sleep_part() {
	sleep "$(awk "BEGIN { print $kernel_ms * $1 / 1000 }")"
}

@test "level 2: what runs of an idempotent program is dropped in its middle, and runs again" {
	start_daemon
	start_neighbour
	out=$BATS_TEST_TMPDIR/out
	begin=$(date +%s%N)
	succeed "$OPENCL_PROGRAMS/cl_long" 2 80000000
	kernel_ms=$((($(date +%s%N) - begin) / 2000000))
	"$GPREEMPT" run -c offline -t patient --idempotent -- timeout 200 \
		"$OPENCL_PROGRAMS/cl_long" 4 80000000 >"$out" 2>&1 3>&- &
	patient=$!
	ends "$patient"
	wait_for "2 of 2, drops" "$GPREEMPT" ps --queues
	for i in 0 1; do
		wait_for "launch $i" cat "$out"
		# The next has hardly begun, and has a single work-group, which would end by itself.
		"$GPREEMPT" suspend tag:patient
		wait_for '"state": "excluded"' "$GPREEMPT" ps --json
		sleep_part 0.4
		before=$(wc -l <"$out")
		sleep_part 1.5
		[ "$(wc -l <"$out")" -eq "$before" ]
		"$GPREEMPT" resume tag:patient
	done
	wait "$patient" || { cat "$out"; false; }
	[ "$(tail -n 1 "$out")" = "launch 3" ]
}

@test "level 2: what has no guard is shown with the reason, and runs all the same" {
	start_daemon
	start_neighbour
	succeed "$OPENCL_PROGRAMS/cl_steps" 20 4 binary
	plain=$output
	succeed "$GPREEMPT" run --level 2 -- "$OPENCL_PROGRAMS/cl_steps" 20 4 binary
	[ "$output" = "$plain" ]
	"$GPREEMPT" run -c offline -t patient -- "$OPENCL_PROGRAMS/cl_steps" 1000000 4 binary \
		>/dev/null 2>&1 3>&- &
	ends "$!"
	wait_for "2 of 3, not all: no source" "$GPREEMPT" ps --queues
	"$GPREEMPT" ps --json | python3 -c '
import json, sys
queues = [q for g in json.load(sys.stdin)["groups"] for q in g["queues"]]
assert sorted(q["unguarded"] for q in queues) == [[], ["no source"]], queues
'
}

@test "layers that are there already stay, and a second run adds nothing" {
	# shellcheck disable=SC2016
	OPENCL_LAYERS=/some/layer.so succeed "$GPREEMPT" run --local -- \
		"$GPREEMPT" run --local -- sh -c 'echo "$OPENCL_LAYERS"'
	[[ $output =~ ^/[^:]*/libgpreempt-opencl.so:/some/layer.so$ ]]
}

@test "without a daemon, or when it ends, the program runs on" {
	succeed "$OPENCL_PROGRAMS/cl_steps" 200
	plain=$output
	run --separate-stderr timeout 200 "$GPREEMPT" run -- "$OPENCL_PROGRAMS/cl_steps" 200
	[ "$status" -eq 0 ]
	[ "$output" = "$plain" ]
	start_daemon
	"$GPREEMPT" run -c offline -t patient -- "$OPENCL_PROGRAMS/cl_steps" 200 \
		>"$BATS_TEST_TMPDIR/out" 2>/dev/null 3>&- &
	program=$!
	ends "$program"
	wait_for "step 5:" cat "$BATS_TEST_TMPDIR/out"
	"$GPREEMPT" suspend tag:patient
	kill -9 "$daemon"
	wait "$program"
	diff <(echo "$plain") "$BATS_TEST_TMPDIR/out"
}

@test "doctor says whether OpenCL programs are joined" {
	run "$GPREEMPT" doctor
	[[ $output == *"ok    OpenCL       programs are joined"* ]]
	# One who has no loader needs no layer.
	if unshare -m mount -t tmpfs none /mnt 2>/dev/null; then
		# shellcheck disable=SC2016
		run unshare -m bash -c '
			for lib in /usr/lib/*/libOpenCL.so.1; do mount --bind /dev/null "$lib"; done
			"$1" doctor' bash "$GPREEMPT"
		echo "$output"
		[[ $output == *"ok    OpenCL       there is no OpenCL loader"* ]]
		# One who has a loader does, and a device to go with it.
		layer=${GPREEMPT%/cli/gpreempt}/join/libgpreempt-opencl.so
		# shellcheck disable=SC2016
		run unshare -m bash -c 'mount -t tmpfs none "${2%/*}"; "$1" doctor' bash "$GPREEMPT" "$layer"
		echo "$output"
		[[ $output == *"warn  OpenCL       libgpreempt-opencl.so is not to be found"* ]]
		run env OCL_ICD_VENDORS="$BATS_TEST_TMPDIR" "$GPREEMPT" doctor
		[[ $output == *"ok    OpenCL       there is no OpenCL device"* ]]
	fi
}

@test "bench opencl: a row for each mode, and what has been stopped ends within its window" {
	"$GPREEMPT" bench opencl --quick --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["bench"] == "opencl", d
rows = {r["mode"]: r for r in d["results"]}
assert list(rows) == ["alone", "native", "Lv1", "Lv2"], d
for mode, r in rows.items():
    assert r["p99_ms"] >= r["p50_ms"] > 0 and r["kernels_per_s"] > 0, r
    assert (r["kept_percent"] is None) == (mode == "alone"), r
for key in "stop", "lv2_stop":
    assert d[key + "_max_ms"] >= d[key + "_ms"] >= 0, d
assert d["stop_kernels_max"] <= 4, d
assert d["stop_groups_max"] >= 0 and d["lv2_stop_groups_max"] >= 0, d
for key in "joined", "windowed", "guarded":
    assert isinstance(d[key + "_percent"], float) and isinstance(d[key + "_cpu_percent"], float), d
'
}
