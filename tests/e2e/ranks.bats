#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Ranks of a collective on two emulated GPUs: they are recognised, and held together or not at all.
#
# WATCHDOG is the ranks' watchdog in seconds; a rank dies if a round takes longer.

bats_require_minimum_version 1.5.0

load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${WATCHDOG:=2}"
	: "${ROCM_PROGRAMS:=build/tests/rocm}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	# Not the one of root's daemon, which another test may have at the same time.
	export GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset GPREEMPT_EMU_DIR RANK WORLD_SIZE MASTER_ADDR MASTER_PORT
	started=()
	stop=$BATS_TEST_TMPDIR/stop
	[ -x "$ROCM_PROGRAMS/hsa_pair" ] || skip "no hsa_pair: it needs libhsa-runtime-dev and clang-19"
	printf '[daemon]\nrank_hold = %dms\n' $((WATCHDOG * 200)) >"$BATS_TEST_TMPDIR/conf"
	"${GPREEMPT%/cli/gpreempt}/daemon/gpreemptd" -c "$BATS_TEST_TMPDIR/conf" \
		2>"$BATS_TEST_TMPDIR/daemon" 3>&- &
	started+=($!)
	eventually "$GPREEMPT" ps
	# Neither guarantees nor ageing: a program is held for as long as a more urgent one has work.
	"$GPREEMPT" policy hpf age_ms=0 max_hold_ms=0 min_share_pct=0 grant_ms=100
	"$GPREEMPT" emu start --name pair --gpus 2 --cus 2
	# Any library serves: the name is what counts.
	library=$BATS_TEST_TMPDIR/librccl.so.1
	cp "$(find_library)" "$library"
}

# A small library of this system.
find_library() {
	ldd "$GPREEMPT" | awk '/libjansson/ { print $3 }'
}

teardown() {
	touch "$stop" "$stop.busy"
	[ ${#started[@]} -eq 0 ] || kill "${started[@]}" 2>/dev/null || true
	"$GPREEMPT" emu stop --all
	wait
}

# start OUTPUT COMMAND...: in the background.
start() {
	local output=$BATS_TEST_TMPDIR/$1

	shift
	"$@" >"$output" 2>&1 3>&- &
	started+=($!)
}

# rank NUMBER [OPTION...]: as torchrun starts it; with the library, unless it is empty.
rank() {
	local number=$1

	shift
	start "rank$number" env RANK="$number" WORLD_SIZE="${size:-2}" MASTER_ADDR=localhost \
		MASTER_PORT=29500 ${library:+PAIR_LIBRARY="$library"} \
		"$GPREEMPT" emu exec --name pair -- "$GPREEMPT" run -c offline "$@" -- \
		"$ROCM_PROGRAMS/hsa_pair" rank "$number" "$BATS_TEST_TMPDIR/shared" "$stop" "$WATCHDOG"
}

# load GPU [ON_MS OFF_MS]
load_gpu() {
	start "busy$1" "$GPREEMPT" emu exec --name pair -- "$GPREEMPT" run -c online -- \
		"$ROCM_PROGRAMS/hsa_pair" busy "$1" "$stop.busy" "${@:2}"
}

# The first GPU is wanted for 60 % of the time, for longer than the watchdog allows at a time.
load_for_most_of_the_time() {
	load_gpu 0 $((WATCHDOG * 1800)) $((WATCHDOG * 1200))
}

turn() {
	grep "^turn" "$BATS_TEST_TMPDIR/rank0" | tail -n 1 | grep -o '[0-9]*'
}

save_states() {
	"$GPREEMPT" ps --json >"$BATS_TEST_TMPDIR/ps"
}

gangs() {
	"$GPREEMPT" ps --json | python3 -c '
import json, sys
for g in json.load(sys.stdin)["groups"]:
    if g["priority"] == 2:
        gang = g["gang"] or {"state": "none"}
        print(gang["state"], gang.get("programs"), gang.get("size"), g["not_held"] or "-")'
}

@test "a watchdog ends ranks of which one is held for most of the time, unless they are recognised" {
	rank 0 --independent
	rank 1 --independent
	eventually grep -q "turn 20" "$BATS_TEST_TMPDIR/rank0"
	load_for_most_of_the_time
	for _ in {1..20}; do
		wait_for watchdog cat "$BATS_TEST_TMPDIR/rank0" "$BATS_TEST_TMPDIR/rank1" && break
	done
	[[ $output == *"watchdog: a round takes longer than $WATCHDOG s"* ]]
}

@test "ranks that are recognised outlive their watchdog under the same load" {
	rank 0
	rank 1
	wait_for "together 2 2 -" gangs
	run "$GPREEMPT" ps
	[[ $output == *"torchrun-"*" 2 of 2"* ]]
	before=$(turn)
	load_for_most_of_the_time
	# One interval of the load, and more.
	sleep $((WATCHDOG * 3 + 1))
	eventually save_states
	after=$(turn)
	echo "turns $before to $after"
	[ "$after" -gt "$before" ]
	python3 - "$BATS_TEST_TMPDIR/ps" "$WATCHDOG" <<-'END'
		import json, sys
		groups = [g for g in json.load(open(sys.argv[1]))["groups"] if g["priority"] == 2]
		held = [(g["held_ms"], g["longest_hold_ms"], g["holds"]) for g in groups]
		print("held for, longest, times:", held)
		# Both have been held, for the most of the time that the GPU was wanted, never for long.
		assert len(held) == 2
		assert all(h[0] > 900 * int(sys.argv[2]) for h in held)
		assert all(h[1] < 500 * int(sys.argv[2]) for h in held)
	END
	touch "$stop.busy" "$stop"
	for number in 0 1; do
		wait_for "ended after" cat "$BATS_TEST_TMPDIR/rank$number"
		[[ $output != *watchdog* ]]
	done
}

@test "a rank without its peers is not held, and ps says why" {
	size=3 rank 0
	size=3 rank 1
	wait_for "free 2 3 ranks are missing" gangs
	run "$GPREEMPT" ps
	[[ $output == *"2 of 3, not held: ranks are missing"* ]]
	load_gpu 0
	eventually grep -q "turn 40" "$BATS_TEST_TMPDIR/rank0"
	before=$(turn)
	sleep 1
	[ "$(turn)" -gt "$before" ]
	[ "$("$GPREEMPT" ps --json | grep -c '"holds": 0')" -ge 3 ]
}

@test "workers that have no rank, or no library for collectives, are no gang" {
	library='' rank 0
	WORLD_SIZE=1 start rank1 "$GPREEMPT" emu exec --name pair -- \
		env RANK=0 PAIR_LIBRARY="$library" "$GPREEMPT" run -c offline -- \
		"$ROCM_PROGRAMS/hsa_pair" rank 1 "$BATS_TEST_TMPDIR/shared" "$stop"
	eventually grep -q "turn 20" "$BATS_TEST_TMPDIR/rank0"
	run gangs
	[ "${lines[*]}" = "none None None - none None None -" ]
	load_gpu 0
	wait_for "held by" "$GPREEMPT" ps
}

@test "ranks of Open MPI's mpirun are a gang" {
	command -v mpirun >/dev/null || skip "no mpirun: it is in openmpi-bin"
	library=$(ldconfig -p | awk '/libmpi\.so\.40 / { print $NF; exit }')
	[ -n "$library" ] || skip "no libmpi.so.40"
	start mpi env PAIR_LIBRARY="$library" mpirun --allow-run-as-root --oversubscribe -n 2 \
		"$GPREEMPT" emu exec --name pair -- "$GPREEMPT" run -c offline -- sh -c \
		"exec $ROCM_PROGRAMS/hsa_pair rank \$OMPI_COMM_WORLD_RANK $BATS_TEST_TMPDIR/shared $stop"
	wait_for "together 2 2 -" gangs
	run "$GPREEMPT" ps
	[[ $output == *"mpirun-"*" 2 of 2"* ]]
	touch "$stop"
	wait_for "ended after" cat "$BATS_TEST_TMPDIR/mpi"
}

@test "a program that is observed is listed, never held, and no program is held for it" {
	start observed "$GPREEMPT" emu exec --name pair -- "$GPREEMPT" run -c online --observe -t seen -- \
		"$ROCM_PROGRAMS/hsa_pair" busy 0 "$stop.busy"
	start patient "$GPREEMPT" emu exec --name pair -- "$GPREEMPT" run -c offline -t patient -- \
		"$ROCM_PROGRAMS/hsa_pair" busy 0 "$stop.busy"
	wait_for "observed" "$GPREEMPT" ps
	wait_for "running" "$GPREEMPT" ps
	run "$GPREEMPT" suspend tag:seen
	[[ $output == *"only observed"* ]]
	"$GPREEMPT" suspend tag:patient
	wait_for suspended "$GPREEMPT" ps
	[[ $output == *observed* ]]
	[ "$("$GPREEMPT" ps --json | grep -c '"holds": 0')" -eq 1 ]
}
