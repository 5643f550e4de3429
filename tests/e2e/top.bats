#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt top: recorded logs, the detail of a program, and the mouse. daemon.bats has the live view.
# shellcheck disable=SC2154 # join() sets $to_NAME

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${BUILD_DIR:=$PWD/build}" "${SOURCE_DIR:=$PWD}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	room=$(mktemp -d /tmp/gpreempt-bats.XXXXXX)
	export GPREEMPT_SOCKET=$room/control.sock
	unset NO_COLOR
	started=()
	cd "$BATS_TEST_TMPDIR" || exit 1
	"$GPREEMPT" sim "$SOURCE_DIR/scenarios/users.ini" --no-alone --log log >sim.out
}

teardown() {
	local pid

	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	rm -rf "$room"
}

needs_terminal() {
	script -qec true /dev/null </dev/null >/dev/null 2>&1 || skip "no pseudo-terminal to be had"
}

# Runs a command on a terminal of 80x24, and types the other arguments, one at a time. Then quits. Only
# what changes is drawn; after \f it is everything.
on_terminal() {
	local how=$1 key

	shift
	for key in "$@" q; do
		sleep 0.7
		printf '%b' "$key"
	done | TERM=xterm-256color LC_ALL=C.UTF-8 timeout -k 1 30 \
		script -qec "stty rows 24 cols 80; $how" /dev/null
}

@test "a recorded log: its picture has the times of the report" {
	"$GPREEMPT" report log --json >figures
	"$GPREEMPT" top --replay log --json --window 60s >shown
	python3 - figures shown <<-'END'
		import json, sys
		report, top = (json.load(open(name)) for name in sys.argv[1:])
		assert top["policy"] == "fair" and top["by_decisions"] is True
		length = report["length_ms"]
		found = {g["group"]: g for g in top["groups"]}
		assert len(found) == len(report["groups"]) == 21
		for g in report["groups"]:
		    t = found[g["group"]]
		    assert t["pid"] == g["pid"] and t["tag"] == g["tag"]
		    assert abs(t["run_pct"] - 100 * g["used_ms"] / length) < 0.01, (t, g)
		    assert abs(t["held_pct"] - 100 * g["held_ms"] / length) < 0.01, (t, g)
		    assert abs(t["wait_max_ms"] - g["longest_hold_ms"]) < 0.01, (t, g)
	END
	LC_ALL=C run -0 "$GPREEMPT" top --replay log --once --window 2s --at 10s
	[[ ${lines[0]} == "gpreempt top  log 10.0 s of 30.0 s x1; fair, 21 groups: "* ]]
	[[ ${lines[2]} == gpu0* ]]
	[[ ${lines[3]} == *"1 one"*"50%  50% 10.0 ms"* ]]
	[ "${#lines[@]}" -eq 24 ]
}

@test "a recorded log: what is none, and what does not go with it" {
	run -2 "$GPREEMPT" top --replay "$SOURCE_DIR/scenarios/users.ini"
	[[ $output == *"users.ini:1: expected \"# gpreempt decision log 2\""* ]]
	run -1 "$GPREEMPT" top --replay none
	[[ $output == *"cannot read the log none: No such file"* ]]
	run -2 "$GPREEMPT" top --at 3s
	[[ $output == *"--at goes with --replay"* ]]
	run -2 "$GPREEMPT" top --replay log </dev/null
	[[ $output == *"top needs a terminal"* ]]
	head -c 50000 log >torn
	run -0 "$GPREEMPT" top --replay torn --once
}

@test "a recorded log on a terminal: it plays, moves, and explains" {
	needs_terminal
	run -0 on_terminal "$GPREEMPT top --replay log --window 2s --at 10s" '\f'
	[[ $output == *" of 30.0 s x1; fair, 21 groups"*"fair, 21 groups"* ]]
	# Time goes on, the faster the more often it is told to; and nothing can be changed.
	run -0 on_terminal "$GPREEMPT top --replay log --window 2s --at 10s" ']' ']' ']' 's\f'
	[[ $output == *"x8"* && $output == *"this is a recorded log: nothing can be changed"* ]]
	# Enter shows the first program in detail, with the reasons of its holds.
	run -0 on_terminal "$GPREEMPT top --replay log --window 2s --at 10s" ' ' '\r\f'
	[[ $output == *"one (pid 1, group 1)"* ]]
	[[ $output == *"held 10.0 ms, "*" ago: its turn was over, and twenty."* ]]
	# To the end, by jumps of half a window.
	run -0 on_terminal "$GPREEMPT top --replay log --window 30s --at 10s" '\033OC' '\033OC\f'
	[[ $output == *"(end)"* ]]
}

@test "the mouse selects a program, shows it in detail, and sorts" {
	needs_terminal
	# Reports of xterm: row 5 is the second program; a heading is in row 2.
	run -0 on_terminal "$GPREEMPT top --replay log --window 2s --at 10s" ' ' '\033[<0;10;5M\f'
	[[ $output == *"group 2 twenty.0"* ]]
	run -0 on_terminal "$GPREEMPT top --replay log --window 2s --at 10s" ' ' '\033[<0;10;5M\033[<0;10;5m' '\033[<0;10;5M\033[<0;10;5m\f'
	[[ $output == *"twenty.0 (pid 2, group 2)"* ]]
	run -0 on_terminal "$GPREEMPT top --replay log --window 2s --at 10s" ' ' '\033[<0;38;2M\f'
	[[ $output == *"o run"* ]]
}

@test "a picture that does not change is not drawn again" {
	needs_terminal
	run -0 on_terminal "$GPREEMPT top --replay log --at 30s --window 2s"
	short=${#output}
	run -0 on_terminal "$GPREEMPT top --replay log --at 30s --window 2s" '' '' '' ''
	# Four times the time, and hardly a character more.
	[ "${#output}" -le $((short + 200)) ]
}

@test "live: the detail of a program tells why it was held" {
	needs_terminal
	start_daemon
	mkfifo "$room/train" "$room/serve"
	for name in train serve; do
		"$BUILD_DIR/tests/fake_agent" -n "$name" -p "$([ $name = train ] && echo 2 || echo 15)" \
			<"$room/$name" >"$room/$name.out" 3>&- &
		started+=("$!")
		exec {fd}>"$room/$name"
		eval "to_$name=$fd"
		eventually grep -q joined "$room/$name.out"
	done
	echo "ready 0" >&"$to_train"
	wait_for "runs: train" "$GPREEMPT"
	echo "ready 0" >&"$to_serve"
	wait_for "runs: serve" "$GPREEMPT"
	run -0 on_terminal "$GPREEMPT top" j '\r' '\f'
	[[ $output == *"train (pid "*"held by serve; gpu0, priority 2"* ]]
	[[ $output == *"held for "*" now: serve (pid "*"priority 15)"*"(rule: priority)"* ]]
	[[ $output == *"held 1 times, waited "* ]]
}
