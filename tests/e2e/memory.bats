#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# GPU memory of programs on an emulated machine: as the driver counts it, as ps and top show it, and
# as the policy drf takes it into account.

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}"
	: "${ROCM_PROGRAMS:=build/tests/rocm}" "${WORKLOADS:=build/src/demo}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	export GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset GPREEMPT_EMU_DIR GPREEMPT_WAY
	started=()
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no offline_trainer: it needs libhsa-runtime-dev"
	"$GPREEMPT" emu start --name memory --cus 4 --vram 1G >/dev/null
}

teardown() {
	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	"$GPREEMPT" emu stop --all
}

# Starts a program on the machine under gpreempt, with its output in the file $1, and its input from
# $input.
start() {
	local out=$1

	shift
	"$GPREEMPT" run -t "$out" -- "$GPREEMPT" emu exec --name memory -- "$@" \
		<"${input:-/dev/null}" >"$BATS_TEST_TMPDIR/$out" 2>&1 3>&- &
	started+=("$!")
}

# Prints the mebibytes of the only program.
shown() {
	"$GPREEMPT" "$@" --json | python3 -c '
import json, sys
used = [g["memory_used_bytes"] for g in json.load(sys.stdin)["groups"]]
print("null" if used[0] is None else used[0] >> 20)'
}

is_shown() {
	[ "$(shown ps)" = "$1" ]
}

@test "ps and top show how much memory a program uses, as the driver counts it" {
	[ -e "$ROCM_PROGRAMS/programs-gfx90a.co" ] || skip "no hsa_grows: it needs clang-19"
	start_daemon
	mkfifo "$BATS_TEST_TMPDIR/in"
	exec 7<>"$BATS_TEST_TMPDIR/in"
	input=$BATS_TEST_TMPDIR/in start grows "$ROCM_PROGRAMS/hsa_grows"
	eventually is_shown 0
	echo 300 >&7
	eventually is_shown 300
	echo 200 >&7
	eventually is_shown 500
	[ "$(shown top --once)" = 500 ]
	run "$GPREEMPT" ps
	[[ ${lines[0]} == *QUEUES*MEMORY*USED* ]]
	[[ ${lines[1]} == *" 500 MiB "* ]]
	pid=$("$GPREEMPT" ps --json | python3 -c 'import json, sys
print(json.load(sys.stdin)["groups"][0]["pid"])')
	bytes=$("$GPREEMPT" emu exec --name memory -- \
		sh -c "cat /sys/class/kfd/kfd/proc/$pid/vram_*")
	[ "$("$GPREEMPT" ps --json | python3 -c 'import json, sys
print(json.load(sys.stdin)["groups"][0]["memory_used_bytes"])')" = "$bytes" ]
	echo free >&7
	eventually is_shown 300
	exec 7>&-
}

steps() {
	grep -c '^step' "$BATS_TEST_TMPDIR/$1" || true
}

has_steps() {
	[ "$(steps "$1")" -ge "$2" ]
}

# Both have joined, and the memory of one is known.
is_measured() {
	"$GPREEMPT" ps --json | python3 -c '
import json, sys
used = sorted(g["memory_used_bytes"] or 0 for g in json.load(sys.stdin)["groups"])
sys.exit(len(used) != 2 or used[1] < 850 << 20)'
}

# Prints how many steps of the program "light" there are to one of "heavy", in percent, while both
# have work all the time. A step is the same work on the GPU for both.
compare() {
	local light heavy

	eventually is_measured
	eventually has_steps light 2
	eventually has_steps heavy 1
	light=$(steps light) heavy=$(steps heavy)
	eventually has_steps light $((light + 20))
	eventually has_steps light $((light + 40))
	light=$(($(steps light) - light)) heavy=$(($(steps heavy) - heavy))
	echo $((100 * light / (heavy + 1)))
}

@test "drf gives a program that fills the memory less of the GPU's time" {
	start_daemon
	"$GPREEMPT" policy drf quantum_ms=20
	start light "$WORKLOADS/offline_trainer" --each --ahead 8 --rounds 2000
	start heavy "$WORKLOADS/offline_trainer" --each --ahead 8 --rounds 2000 --memory 850
	ratio=$(compare)
	echo "with memory: $ratio%"
	[ "$ratio" -ge 150 ]
	"$GPREEMPT" policy none
}
