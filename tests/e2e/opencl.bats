#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Unmodified OpenCL programs under gpreempt, on any device, usually PoCL's.

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

# Ends with the test.
ends() {
	echo "$1" >>"$BATS_TEST_TMPDIR/programs"
}

succeed() {
	run timeout 200 "$@"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "clinfo prints the same under gpreempt" {
	command -v clinfo || skip "no clinfo"
	diff <(clinfo) <("$GPREEMPT" run --local -- clinfo)
}

@test "random programs: the same memory, joined with any window or not" {
	succeed "$mix" 60 7
	plain=$(memory_of "$output")
	for options in "" "--level 1" "--level 2" "--window 1" "--window 100us"; do
		# shellcheck disable=SC2086 # they are several words
		succeed "$GPREEMPT" run --local $options -- "$mix" 60 7
		[ "$(memory_of "$output")" = "$plain" ]
		[[ $output != *"gpreempt:"* ]]
	done
}

@test "random programs leave the same memory while they are held and released at random" {
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

@test "the memory of a program is the sum of its buffers" {
	start_daemon
	"$GPREEMPT" run -t steps -- "$OPENCL_PROGRAMS/cl_steps" 1000000 >/dev/null 2>&1 3>&- &
	ends "$!"
	wait_for '"memory_used_bytes": 256' "$GPREEMPT" ps --json
	wait_for ' 256 B ' "$GPREEMPT" ps
}

@test "command queues are listed, their launches are seen, and they end with the program" {
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

no_step_in_a_second() {
	local before

	before=$(wc -l <"$BATS_TEST_TMPDIR/out")
	sleep 1
	[ "$(wc -l <"$BATS_TEST_TMPDIR/out")" -eq "$before" ]
}

@test "a held program starts nothing, and continues with the right results" {
	start_daemon
	succeed "$OPENCL_PROGRAMS/cl_steps" 300
	plain=$output
	"$GPREEMPT" run -c offline -t patient -- "$OPENCL_PROGRAMS/cl_steps" 300 \
		>"$BATS_TEST_TMPDIR/out" 3>&- &
	program=$!
	ends "$program"
	wait_for "step 5:" cat "$BATS_TEST_TMPDIR/out"
	wait_for patient "$GPREEMPT" ps
	"$GPREEMPT" suspend tag:patient
	wait_for '"state": "excluded"' "$GPREEMPT" ps --json
	# A step that was submitted ends; then a second passes without one.
	eventually no_step_in_a_second
	before=$(wc -l <"$BATS_TEST_TMPDIR/out")
	[ "$before" -lt 300 ]
	kill -0 "$program"
	"$GPREEMPT" resume tag:patient
	wait "$program"
	diff <(echo "$plain") "$BATS_TEST_TMPDIR/out"
}

@test "an offline program yields to an online one" {
	start_daemon
	"$GPREEMPT" run -c offline -t patient -- "$OPENCL_PROGRAMS/cl_steps" 1000000 \
		>/dev/null 2>&1 3>&- &
	ends "$!"
	wait_for "cl_steps" "$GPREEMPT" ps
	succeed "$GPREEMPT" run -c online -t urgent -- "$OPENCL_PROGRAMS/cl_steps" 50
	wait_for "had work and is more urgent (rule: priority)" "$GPREEMPT" why tag:patient
}

@test "announced work reaches the daemon" {
	start_daemon "$BATS_TEST_TMPDIR/decisions"
	# For a program that is alone on the device nothing is held.
	"$GPREEMPT" run -c offline -- "$OPENCL_PROGRAMS/cl_steps" 1000000 >/dev/null 2>&1 3>&- &
	ends "$!"
	wait_for cl_steps "$GPREEMPT" ps
	succeed "$GPREEMPT" run -c online -- "$OPENCL_PROGRAMS/cl_hint"
	[ "$output" = announced ]
	kill "$daemon"
	wait "$daemon"
	grep arriving "$BATS_TEST_TMPDIR/decisions"
}

@test "a process that uses the HSA runtime and OpenCL is one program" {
	[ -x "$OPENCL_PROGRAMS/cl_hsa" ] || skip "no cl_hsa: it needs libhsa-runtime-dev"
	start_daemon
	mkfifo "$BATS_TEST_TMPDIR/in"
	"$GPREEMPT" emu exec --cus 4 -- "$GPREEMPT" run -c offline -- "$OPENCL_PROGRAMS/cl_hsa" \
		<"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	program=$!
	ends "$program"
	exec 8>"$BATS_TEST_TMPDIR/in"
	wait_for ready cat "$BATS_TEST_TMPDIR/out"
	# Groups, GPUs, processes, and programs that count against max_programs.
	counts() {
		"$GPREEMPT" ps --json | python3 -c 'import json, sys
ps = json.load(sys.stdin)
groups = ps["groups"]
print(len(groups), len({g["gpu"] for g in groups}), len({g["pid"] for g in groups}),
      ps["you"]["programs"])'
	}
	wait_for "2 2 1 1" counts
	# A single thread talks to the daemon.
	pid=$("$GPREEMPT" ps --no-headers | awk 'NR == 1 { print $2 }')
	[ "$(cat /proc/"$pid"/task/*/comm | grep -c gp-agent)" -eq 1 ]
	# The program is suspended and resumed as a whole, and nothing is lost.
	"$GPREEMPT" suspend "$pid"
	echo >&8
	"$GPREEMPT" resume "$pid"
	exec 8>&-
	wait "$program"
	grep -x "done" "$BATS_TEST_TMPDIR/out"
}

@test "a level that is not available is replaced by the best one, with one line" {
	succeed "$GPREEMPT" run --local --level 3 -- "$mix" 5 1
	[ "$(grep -c "level 3 is not available for OpenCL queues on this device; using level 2" <<<"$output")" -eq 1 ]
}

# A second program with a queue and no work: a program that is alone has no guards.
start_neighbour() {
	truncate -s 64K "$BATS_TEST_TMPDIR/pair"
	"$GPREEMPT" run -c online -t neighbour -- "$OPENCL_PROGRAMS/cl_pair" "$BATS_TEST_TMPDIR/pair" \
		train >/dev/null 2>&1 3>&- &
	ends "$!"
	wait_for neighbour "$GPREEMPT" ps
}

@test "level 2: each work-group runs once, however often kernels end early" {
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

# The work-groups of a trainer that have ended (bench/opencl_pair.h), once the number is stable.
groups_of() {
	local before=-1 now=0

	while [ "$now" != "$before" ]; do
		before=$now
		sleep 0.3
		now=$(od -An -tu4 -j8192 -N4 "$1" | tr -d ' ')
	done
	echo "$now"
}

@test "level 2: a running kernel is held in its middle, and continues" {
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
		# Between kernels the number would be a multiple of the groups of a kernel.
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

# A time as a fraction of the time that a kernel takes.
sleep_part() {
	sleep "$(awk "BEGIN { print $kernel_ms * $1 / 1000 }")"
}

@test "level 2: a running kernel of an idempotent program is dropped, and runs again" {
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
		# The next kernel has just begun, and its single work-group would run to its end.
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

@test "level 2: kernels without a guard run, and the reason is shown" {
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

@test "layers of the user stay, and a nested run adds nothing" {
	# shellcheck disable=SC2016
	OPENCL_LAYERS=/some/layer.so succeed "$GPREEMPT" run --local -- \
		"$GPREEMPT" run --local -- sh -c 'echo "$OPENCL_LAYERS"'
	[[ $output =~ ^/[^:]*/libgpreempt-opencl.so:/some/layer.so$ ]]
}

@test "without a daemon, or when it ends, the program continues" {
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
	wait_for patient "$GPREEMPT" ps
	"$GPREEMPT" suspend tag:patient
	kill -9 "$daemon"
	wait "$program"
	diff <(echo "$plain") "$BATS_TEST_TMPDIR/out"
}

@test "doctor checks that OpenCL programs are joined" {
	run "$GPREEMPT" doctor
	[[ $output == *"ok    OpenCL       programs are joined"* ]]
	# A machine without a loader needs no layer.
	if unshare -m mount -t tmpfs none /mnt 2>/dev/null; then
		# shellcheck disable=SC2016
		run unshare -m bash -c '
			for lib in /usr/lib/*/libOpenCL.so.1; do mount --bind /dev/null "$lib"; done
			"$1" doctor' bash "$GPREEMPT"
		echo "$output"
		[[ $output == *"ok    OpenCL       there is no OpenCL loader"* ]]
		# A machine with a loader needs the layer and a device.
		layer=${GPREEMPT%/cli/gpreempt}/join/libgpreempt-opencl.so
		# shellcheck disable=SC2016
		run unshare -m bash -c 'mount -t tmpfs none "${2%/*}"; "$1" doctor' bash "$GPREEMPT" "$layer"
		echo "$output"
		[[ $output == *"warn  OpenCL       libgpreempt-opencl.so was not found"* ]]
		run env OCL_ICD_VENDORS="$BATS_TEST_TMPDIR" "$GPREEMPT" doctor
		[[ $output == *"ok    OpenCL       there is no OpenCL device"* ]]
	fi
}

@test "bench opencl: a row for each mode, and a held program ends within its window" {
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
