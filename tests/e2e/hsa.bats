#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs joined at the HSA runtime, on emulated GPUs: launches are seen, level 1 withholds them,
# and the priorities of a program's own queues count.

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}"
	: "${ROCM_PROGRAMS:=build/tests/rocm}" "${SOURCE_DIR:=.}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	export GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset GPREEMPT_EMU_DIR HSA_TOOLS_LIB HSA_TOOLS_DISABLE_REGISTER
	[ -x "$ROCM_PROGRAMS/hsa_mix" ] || skip "no hsa_mix: it needs libhsa-runtime-dev and clang-19"
}

teardown() {
	[ -z "${daemon:-}" ] || kill "$daemon" 2>/dev/null || true
	"$GPREEMPT" emu stop --all
}

on_machine() {
	run timeout 120 "$GPREEMPT" emu exec -- "$@"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "random programs: the same memory, joined at any level or not" {
	on_machine "$ROCM_PROGRAMS/hsa_mix" 100 7
	plain=$(memory_of "$output")
	for options in "" "--level 1" "--level 1 --window 1" "--level 1 --window 100us"; do
		# shellcheck disable=SC2086 # they are several words
		on_machine "$GPREEMPT" run --local $options -- "$ROCM_PROGRAMS/hsa_mix" 100 7
		[ "$(memory_of "$output")" = "$plain" ]
		[[ $output != *"gpreempt:"* ]]
	done
}

@test "random programs leave the same memory while they are held and released at random" {
	start_daemon
	on_machine "$ROCM_PROGRAMS/hsa_mix" 60 8
	plain=$(memory_of "$output")
	for level in 1 3; do
		cat >"$BATS_TEST_TMPDIR/pair" <<-EOF
			"$GPREEMPT" run -c offline --level $level -t patient -- "$ROCM_PROGRAMS/hsa_mix" 60 8 &
			patient=\$!
			"$GPREEMPT" run -c online -- "$ROCM_PROGRAMS/hsa_mix" 20 9 &
			while kill -0 \$patient 2>/dev/null; do
				"$GPREEMPT" suspend tag:patient >/dev/null 2>&1
				sleep 0.0\$((RANDOM % 5))
				"$GPREEMPT" resume tag:patient >/dev/null 2>&1
				sleep 0.0\$((RANDOM % 9))
			done
			wait \$patient
		EOF
		on_machine bash "$BATS_TEST_TMPDIR/pair"
		[[ $output == *"$plain"* ]]
	done
}

@test "running kernels of an idempotent program are dropped, and it leaves the same memory" {
	start_daemon
	"$GPREEMPT" emu start --kernel gpreempt --sched none
	on_default() {
		timeout 120 "$GPREEMPT" emu exec --name default -- "$@"
	}
	plain=$(memory_of "$(on_default "$ROCM_PROGRAMS/hsa_mix" 60 8 idempotent)")
	# While the program is alone, its packets are not retained.
	on_default "$GPREEMPT" run -c offline -- "$ROCM_PROGRAMS/hsa_mix" 1000000 3>&- &
	neighbour=$!
	wait_for '"program": "hsa_mix"' "$GPREEMPT" ps --json
	on_default "$GPREEMPT" run --idempotent -t patient -- \
		"$ROCM_PROGRAMS/hsa_mix" 60 8 idempotent >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	patient=$!
	wait_for '2 of 2, drops' "$GPREEMPT" ps --queues
	while kill -0 $patient 2>/dev/null; do
		"$GPREEMPT" suspend tag:patient >/dev/null 2>&1 || true
		sleep 0.0$((RANDOM % 3))
		"$GPREEMPT" resume tag:patient >/dev/null 2>&1 || true
		sleep 0.0$((RANDOM % 5))
	done
	wait $patient
	grep "$plain" "$BATS_TEST_TMPDIR/out"
	kill $neighbour
}

@test "an idempotent program sees its queues as without gpreempt, scratch memory included" {
	run timeout 200 "$GPREEMPT" emu exec --kernel gpreempt --sched none -- "$GPREEMPT" run --local --idempotent -- \
		"$ROCM_PROGRAMS/hsa_queues"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"scratch: ok"* ]]
}

@test "one line says that kernels cannot be dropped" {
	start_daemon
	on_machine "$GPREEMPT" run --idempotent -- "$ROCM_PROGRAMS/hsa_mix" 5 1 idempotent
	[ "$(grep -c '^gpreempt:' <<<"$output")" -eq 1 ]
	[[ $output == *"level 2 is not available: it needs gpreempt's kernel series and amdgpu.sched_policy=2; using level 3"* ]]
	run timeout 120 "$GPREEMPT" emu exec --kernel gpreempt --sched none -- "$GPREEMPT" run --idempotent -- \
		env -u HSA_TOOLS_LIB "$ROCM_PROGRAMS/hsa_mix" 5 1 idempotent
	[ "$status" -eq 0 ]
	[ "$(grep -c '^gpreempt:' <<<"$output")" -eq 1 ]
	[[ $output == *"kernels finish instead of being dropped"* ]]
}

@test "where the kernel's scheduler cannot drain, level 2 is level 3, and one line says so" {
	start_daemon
	for sched in hws mes; do
		"$GPREEMPT" emu start --name $sched --kernel gpreempt --sched $sched --cus 4
		timeout 120 "$GPREEMPT" emu exec --name $sched -- "$GPREEMPT" run --level 2 -t $sched -- \
			"$ROCM_PROGRAMS/hsa_mix" 100000 >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
		program=$!
		wait_for $sched "$GPREEMPT" ps
		"$GPREEMPT" suspend tag:$sched
		wait_for '"state": "excluded"' "$GPREEMPT" ps --json
		"$GPREEMPT" ps --json | grep '"level_requested": 2'
		"$GPREEMPT" ps --json | grep '"level": 3'
		kill "$program"
		[ "$(grep -c '^gpreempt:' "$BATS_TEST_TMPDIR/out")" -eq 1 ]
		grep "level 2 is not available: this kernel's scheduler cannot drain queues; using level 3" \
			"$BATS_TEST_TMPDIR/out"
		wait_for "No program is joined" "$GPREEMPT" ps
	done
}

@test "a launch is reported and answered while the monitor's thread is stopped" {
	start_daemon
	on_machine "$GPREEMPT" run -p 20 --split-streams -- "$ROCM_PROGRAMS/hsa_launches" unwatched 100
	[[ $output == *"100 launches ended, and the first one held the other queue"* ]]
}

@test "launches are seen at the HSA runtime, or without it by polling" {
	start_daemon
	"$GPREEMPT" emu start
	for tools in yes no; do
		"$GPREEMPT" emu exec --name default -- "$GPREEMPT" run -t "$tools" -- \
			bash -c "[ $tools = yes ] || unset HSA_TOOLS_LIB; exec \"$ROCM_PROGRAMS/hsa_mix\" 100000" \
			3>&- &
		programs+=("$!")
	done
	for words in '"seen_by": "launch"' '"seen_by": "ring"'; do
		wait_for "$words" "$GPREEMPT" ps --json
	done
	wait_for " launch " "$GPREEMPT" ps --queues
	kill "${programs[@]}"
}

@test "at level 1 launches are withheld, and the program continues afterwards" {
	start_daemon
	"$GPREEMPT" emu start
	"$GPREEMPT" emu exec --name default -- "$GPREEMPT" run --level 1 -t patient -- \
		"$ROCM_PROGRAMS/hsa_mix" 300 3 >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	program=$!
	wait_for patient "$GPREEMPT" ps
	"$GPREEMPT" suspend tag:patient
	wait_for '"state": "excluded"' "$GPREEMPT" ps --json
	wait_for ' 1 of 1 ' "$GPREEMPT" ps --queues
	sleep 1
	kill -0 "$program"
	"$GPREEMPT" resume tag:patient
	wait "$program"
	grep "300 programs" "$BATS_TEST_TMPDIR/out"
}

@test "foreign work in a queue runs, and is reported" {
	start_daemon
	"$GPREEMPT" emu start
	mkfifo "$BATS_TEST_TMPDIR/in"
	"$GPREEMPT" emu exec --name default -- "$GPREEMPT" run --level 1 -- \
		"$ROCM_PROGRAMS/hsa_foreign" <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	program=$!
	exec 8>"$BATS_TEST_TMPDIR/in"
	wait_for "all came in order" cat "$BATS_TEST_TMPDIR/out"
	wait_for "1 of 1, not all" "$GPREEMPT" ps --queues
	wait_for '"foreign_work": true' "$GPREEMPT" ps --json
	exec 8>&-
	wait "$program"
	[ "$(grep -c '^gpreempt: another process or a kernel on the GPU' "$BATS_TEST_TMPDIR/out")" -eq 1 ]
}

@test "without tools libraries level 1 is replaced, with one line" {
	start_daemon
	on_machine "$GPREEMPT" run --level 1 -- \
		env -u HSA_TOOLS_LIB "$ROCM_PROGRAMS/hsa_mix" 10 1
	[ "$(grep -c '^gpreempt:' <<<"$output")" -eq 1 ]
	[[ $output == *"level 1 is not available: the program does not launch through the HSA runtime; using level 3"* ]]
	[[ $output == *"10 programs"* ]]
}

@test "tools libraries of the user stay, missing ones included" {
	on_machine env HSA_TOOLS_LIB=/nowhere/tool.so "$GPREEMPT" run --local --level 1 -- \
		bash -c "printenv HSA_TOOLS_LIB; exec \"$ROCM_PROGRAMS/hsa_mix\" 10 1"
	[[ $output == *"libgpreempt-join.so /nowhere/tool.so"* ]]
	[[ $output == *"10 programs"* ]]
}

@test "another tools library works beside gpreempt's" {
	on_machine env HSA_TOOLS_LIB="$ROCM_PROGRAMS/hsa_tool.so" "$ROCM_PROGRAMS/hsa_mix" 20 4
	[[ $output == *"the other tool saw 5 queues"* ]]
	plain=$(memory_of "$output")
	for options in "--level 1 --window 2" "--level 3"; do
		# shellcheck disable=SC2086 # they are several words
		on_machine env HSA_TOOLS_LIB="$ROCM_PROGRAMS/hsa_tool.so" \
			"$GPREEMPT" run --local $options -- "$ROCM_PROGRAMS/hsa_mix" 20 4
		[[ $output == *"the other tool saw 5 queues"* ]]
		[ "$(memory_of "$output")" = "$plain" ]
		[[ $output != *"gpreempt:"* ]]
	done
}

# Debian's runtime does not register its tables for profilers, as ROCm's newer ones do: as a tools
# library, hsa_registers.so does that for it, with a stand-in for librocprofiler-register. A runtime
# whose tables a profiler has taken does not load libgpreempt-join.so as a tools library.
@test "a profiler that uses rocprofiler-register works beside gpreempt" {
	on_machine env HSA_TOOLS_LIB="$ROCM_PROGRAMS/hsa_registers.so" \
		ROCP_TOOL_LIBRARIES="$ROCM_PROGRAMS/hsa_tool.so" "$ROCM_PROGRAMS/hsa_mix" 20 4
	[[ $output == *"has registered: status 0"*"the other tool saw 5 queues"* ]]
	plain=$(memory_of "$output")
	for options in "--level 1 --window 2" "--level 3"; do
		# shellcheck disable=SC2086 # they are several words
		on_machine "$GPREEMPT" run --local $options -- \
			env HSA_TOOLS_LIB="$ROCM_PROGRAMS/hsa_registers.so" \
			ROCP_TOOL_LIBRARIES="$ROCM_PROGRAMS/hsa_tool.so" "$ROCM_PROGRAMS/hsa_mix" 20 4
		[[ $output == *"has registered: status 0"*"the other tool saw 5 queues"* ]]
		[ "$(memory_of "$output")" = "$plain" ]
		[[ $output != *"gpreempt:"* ]]
	done
}

@test "a runtime that registers without a profiler is joined once, and again after a restart" {
	ours=${GPREEMPT%/cli/gpreempt}/join/libgpreempt-join.so
	for tools in "" " $ours"; do
		on_machine "$GPREEMPT" run --local --level 1 -- \
			env HSA_TOOLS_LIB="$ROCM_PROGRAMS/hsa_registers.so$tools" "$ROCM_PROGRAMS/hsa_mix" 20 4
		[[ $output == *"has registered: status 1"* ]]
		[[ $output == *"20 programs"* ]]
		[[ $output != *"gpreempt:"* ]]
		for how in again leave; do
			on_machine "$GPREEMPT" run --local --level 1 -- \
				env HSA_TOOLS_LIB="$ROCM_PROGRAMS/hsa_registers.so$tools" \
				"$ROCM_PROGRAMS/hsa_ends" $how
			[[ $output == *done* ]]
			[[ $output != *"gpreempt:"* ]]
		done
	done
}

@test "gpreempt run does not prevent a profiler from registering" {
	run "$GPREEMPT" run --local -- env
	[[ $output != *HSA_TOOLS_DISABLE_REGISTER* ]]
}

@test "a runtime that shuts down and starts again is joined again" {
	for options in "--level 1" "--level 3"; do
		# shellcheck disable=SC2086 # they are several words
		on_machine "$GPREEMPT" run --local $options -- "$ROCM_PROGRAMS/hsa_ends" again
		[[ $output == *done* ]]
		[[ $output != *"gpreempt:"* ]]
	done
}

# Starts a program that is held at level $1 when it is told to continue.
held_at_level() {
	start_daemon
	"$GPREEMPT" emu start --kernel gpreempt --sched none
	mkfifo "$BATS_TEST_TMPDIR/in"
	timeout 120 "$GPREEMPT" emu exec --name default -- "$GPREEMPT" run --level "$1" -t patient -- \
		"$ROCM_PROGRAMS/hsa_ends" "$2" <"$BATS_TEST_TMPDIR/in" \
		>"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	program=$!
	exec 8>"$BATS_TEST_TMPDIR/in"
	wait_for ready cat "$BATS_TEST_TMPDIR/out"
	wait_for patient "$GPREEMPT" ps
	"$GPREEMPT" suspend tag:patient
	wait_for '"state": "excluded"' "$GPREEMPT" ps --json
	echo go >&8
}

@test "a program forks while it is held at level 1" {
	held_at_level 1 fork
	wait_for doubled cat "$BATS_TEST_TMPDIR/out"
	"$GPREEMPT" resume tag:patient
	wait "$program"
	grep "^done" "$BATS_TEST_TMPDIR/out"
}

@test "a program calls exec() while it is held at level 1" {
	held_at_level 1 exec
	# The program that it executes is another group, and as suspended.
	wait_for '"group": 3' "$GPREEMPT" ps --json
	wait_for '"suspended": true' "$GPREEMPT" ps --json
	"$GPREEMPT" resume tag:patient
	echo go >&8
	wait "$program"
	grep "^done" "$BATS_TEST_TMPDIR/out"
}

@test "a program ends while it is held at level 1" {
	held_at_level 1 exit
	status=0
	wait "$program" || status=$?
	[ "$status" -eq 3 ]
	wait_for "No program is joined" "$GPREEMPT" ps
}

@test "at level 2 kernels that do not drain in time are saved, and nothing is lost" {
	held_at_level 2 never
	wait_for "falling back to level 3" cat "$BATS_TEST_TMPDIR/out"
	kill -0 "$program"
	"$GPREEMPT" resume tag:patient
	wait "$program"
	grep "^done" "$BATS_TEST_TMPDIR/out"
	[ "$(grep -c "kernels did not drain in time; falling back to level 3" "$BATS_TEST_TMPDIR/out")" -eq 1 ]
}

# streams OPTION...: runs a HIP program with three stream priorities, at priority 20; its streams have
# queues when this returns. Bytes for it go to descriptor 8.
streams() {
	[ -x "$ROCM_PROGRAMS/hip_priorities" ] || skip "no hipcc that builds for gfx90a"
	start_daemon
	"$GPREEMPT" emu start --gpu gfx90a
	mkfifo "$BATS_TEST_TMPDIR/in"
	"$GPREEMPT" emu exec --name default -- "$GPREEMPT" run -p 20 "$@" -- \
		"$ROCM_PROGRAMS/hip_priorities" <"$BATS_TEST_TMPDIR/in" \
		>"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	program=$!
	exec 8>"$BATS_TEST_TMPDIR/in"
	wait_for ready cat "$BATS_TEST_TMPDIR/out"
}

# Ends it.
end_streams() {
	echo more >&8
	exec 8>&-
	wait "$program"
	grep "done" "$BATS_TEST_TMPDIR/out"
}

# own_priorities: "OWN:EFFECTIVE" of the queues of ps, one a word, each once.
own_priorities() {
	"$GPREEMPT" ps --queues --json | python3 -c 'import json, sys
queues = [q for g in json.load(sys.stdin)["groups"] for q in g["queues"]]
pairs = sorted({(q["own_priority"], q["effective"]) for q in queues if q["own_priority"] is not None})
print(" ".join("%d:%d" % p for p in pairs))'
}

@test "streams of one HIP program with three priorities are one group, and ps shows both numbers" {
	streams
	wait_for "-1:20 0:20 1:20" own_priorities
	[ "$("$GPREEMPT" ps --no-headers | wc -l)" -eq 1 ]
	run -0 "$GPREEMPT" ps --queues
	[[ $output =~ PRIO\ OWN.*hip_priorities\ +gpu0\ +20\ +\+1\  ]]
	end_streams
}

@test "with --split-streams streams of one HIP program with three priorities are three groups" {
	streams --split-streams
	wait_for "-1:19 0:20 1:21" own_priorities
	[ "$("$GPREEMPT" ps --no-headers | wc -l)" -eq 3 ]
	end_streams
}

@test "streams of two priorities that wait for each other do so under online load" {
	[ -x "$ROCM_PROGRAMS/hip_waits" ] || skip "no hipcc that builds for gfx90a"
	start_daemon "$BATS_TEST_TMPDIR/decisions"
	"$GPREEMPT" emu start --gpu gfx90a
	"$GPREEMPT" emu exec --name default -- "$GPREEMPT" run -c online -- \
		"$ROCM_PROGRAMS/hsa_mix" 1000000 7 >/dev/null 2>&1 3>&- &
	neighbour=$!
	wait_for '"program": "hsa_mix"' "$GPREEMPT" ps --json
	on_default() {
		timeout 120 "$GPREEMPT" emu exec --name default -- "$@"
	}
	on_default "$GPREEMPT" run -c offline -- "$ROCM_PROGRAMS/hip_waits" >"$BATS_TEST_TMPDIR/out" 2>&1
	kill "$neighbour"
	grep "^20 rounds" "$BATS_TEST_TMPDIR/out"
	# It was held for its neighbour, and never one of its queues for another.
	groups=$(awk '$5 == "entity-add" && / prio=2( |$)/' "$BATS_TEST_TMPDIR/decisions" | wc -l)
	[ "$groups" -eq 1 ]
	grep -q ' exclude .*why=priority' "$BATS_TEST_TMPDIR/decisions"
}

@test "the driver's queues of HIP streams and HSA queues are found, in C and Python" {
	[ -x "$ROCM_PROGRAMS/hip_queues" ] || skip "no hipcc that builds for gfx90a"
	hip=$(ldd "$ROCM_PROGRAMS/hip_queues" | awk '$1 ~ /^libamdhip64/ { print $3 }')
	export PYTHONPATH=$SOURCE_DIR/python
	"$GPREEMPT" emu start --gpu gfx90a --kernel gpreempt --preempt-aliases --cus 4
	on_default() {
		run -0 timeout 120 "$GPREEMPT" emu exec --name default -- "$@"
		echo "$output"
	}
	on_default "$ROCM_PROGRAMS/hip_queues"
	[[ $output == *"start it with 'gpreempt run'"* ]]
	on_default "$GPREEMPT" run --local -- "$ROCM_PROGRAMS/hip_queues"
	[[ $output =~ 6\ streams\ on\ [2-4]\ queues.*held\ and\ released.*done ]]
	# The runtime rings the doorbells from a thread of its own.
	run -1 timeout 120 "$GPREEMPT" emu exec --name default -- env AMD_DIRECT_DISPATCH=0 \
		"$GPREEMPT" run --local -- "$ROCM_PROGRAMS/hip_queues"
	[[ $output == *"unset AMD_DIRECT_DISPATCH"* ]]
	on_default python3 "$SOURCE_DIR/tests/python/stream_queue.py" "$hip"
	[[ $output == *"start it with 'gpreempt run'"* ]]
	on_default "$GPREEMPT" run --local -- python3 "$SOURCE_DIR/tests/python/stream_queue.py" "$hip"
	[[ $output == *" queues"*"no queue of this process has its indices at 0x40"* ]]
}
