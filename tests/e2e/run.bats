#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt run: unmodified programs under gpreemptd on emulated GPUs.
# shellcheck disable=SC2030,SC2031 # each test is a subshell

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${SOURCE_DIR:=.}"
	: "${WORKLOADS:=$BUILD_DIR/src/demo}" "${ROCM_PROGRAMS:=$BUILD_DIR/tests/rocm}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	export GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset GPREEMPT_EMU_DIR
}

teardown() {
	[ -z "${daemon:-}" ] || kill "$daemon" 2>/dev/null || true
	"$GPREEMPT" emu stop --all
	# Root's own machines are elsewhere, as XDG_RUNTIME_DIR is not root's there.
	[ -z "${room:-}" ] || "${ordinary[@]}" "$GPREEMPT" emu stop --all
	rm -rf "${room:-}"
}

workloads() {
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
}

@test "run returns the command's exit status" {
	for wanted in 0 1 42; do
		run "$GPREEMPT" run -- sh -c "exit $wanted"
		[ "$status" -eq "$wanted" ]
	done
	run -127 --separate-stderr "$GPREEMPT" run -- no-such-command
	run -126 --separate-stderr "$GPREEMPT" run -- /etc/passwd
	run -143 "$GPREEMPT" run -- sh -c 'kill $$'
	run -143 "$GPREEMPT" run --local -- sh -c 'kill $$'
}

@test "wrong options are explained" {
	run -2 --separate-stderr "$GPREEMPT" run
	[[ $stderr == *"no command"* ]]
	run -2 --separate-stderr "$GPREEMPT" run -c fast -- true
	[[ $stderr == *"online, normal and offline"* ]]
	run -2 --separate-stderr "$GPREEMPT" run -p high -- true
	[[ $stderr == *"whole number"* ]]
	run -2 --separate-stderr "$GPREEMPT" run --deadline soon -- true
	[[ $stderr == *"duration"* ]]
	run -2 --separate-stderr "$GPREEMPT" run --gang ranks:1 -- true
	[[ $stderr == *"--gang: 'ranks:1' is not a name, or a name and a number of members"* ]]
	run -2 --separate-stderr "$GPREEMPT" run --share 0 -- true
	run -2 --separate-stderr "$GPREEMPT" run --level 3 --idempotent -- true
	[[ $stderr == *"applies to level 2, not to level 3"* ]]
}

@test "options behind the command belong to it" {
	run "$GPREEMPT" run -c online echo -n --class x
	[ "$status" -eq 0 ]
	[[ $output == *"--class x" ]]
}

@test "AMD_QUEUE_PRIORITY and AMD_QUEUE_TAG are defaults" {
	# shellcheck disable=SC2016 # the child expands it
	local show='echo $GPREEMPT_PRIORITY "$GPREEMPT_TAG"'

	start_daemon
	run --separate-stderr env AMD_QUEUE_PRIORITY=offline AMD_QUEUE_TAG='train a' \
		"$GPREEMPT" run -- sh -c "$show"
	[ "$output" = "2 train a" ]
	[ -z "$stderr" ]
	run --separate-stderr env AMD_QUEUE_PRIORITY=12 "$GPREEMPT" run -- sh -c "$show"
	[ "$output" = "12 " ]
	run --separate-stderr env AMD_QUEUE_PRIORITY=12 AMD_QUEUE_TAG=a \
		"$GPREEMPT" run -c online --tag b -- sh -c "$show"
	[ "$output" = "15 b" ]
	[ -z "$stderr" ]
	for bad in high 2000000; do
		run --separate-stderr env AMD_QUEUE_PRIORITY=$bad "$GPREEMPT" run -- sh -c "$show"
		[ "$output" = "7 " ]
		[[ $stderr == *"AMD_QUEUE_PRIORITY=$bad is neither"*"the priority is 7" ]]
	done
	run --separate-stderr env AMD_QUEUE_TAG=0123456789012345678901234567890123456789 \
		"$GPREEMPT" run -- sh -c "$show"
	[ "$output" = "7 0123456789012345678901234567890" ]
	[[ $stderr == *"AMD_QUEUE_TAG is too long; the tag is '0123456789012345678901234567890'" ]]
}

@test "without a daemon the program runs, after one line" {
	run --separate-stderr "$GPREEMPT" run -- echo hello
	[ "$status" -eq 0 ]
	[ "$output" = hello ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	[[ $stderr == *"no gpreemptd runs: there is no socket $GPREEMPT_SOCKET; "*" runs without a priority"* ]]
}

@test "with a daemon gpreempt prints nothing" {
	start_daemon "$BATS_TEST_TMPDIR/decisions"
	run --separate-stderr "$GPREEMPT" run -c online -- echo hello
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
}

@test "a program that cannot be joined runs, and one line says why" {
	[ -x /sbin/ldconfig ] || skip "no program that is linked statically"
	start_daemon "$BATS_TEST_TMPDIR/decisions"
	run --separate-stderr "$GPREEMPT" run -- /sbin/ldconfig --version
	[ "$status" -eq 0 ]
	[[ $stderr == *"/sbin/ldconfig is linked statically"* ]]
}

@test "children are joined, and other preloads stay" {
	# shellcheck disable=SC2016
	LD_PRELOAD=libm.so.6 run --separate-stderr "$GPREEMPT" run -p 9 -t web -- \
		sh -c 'echo $GPREEMPT_PRIORITY $GPREEMPT_TAG $LD_PRELOAD'
	[[ $output == "9 web "*libgpreempt-join.so:libm.so.6 ]]
	run --separate-stderr "$GPREEMPT" run --copies -- printenv GPREEMPT_COPIES
	[ "$output" = 1 ]
	run --separate-stderr "$GPREEMPT" run --split-streams -- printenv GPREEMPT_SPLIT_STREAMS
	[ "$output" = 1 ]
	run --separate-stderr "$GPREEMPT" run --any-driver -- printenv GPREEMPT_ANY_DRIVER
	[ "$output" = 1 ]
	run --separate-stderr "$GPREEMPT" run -- printenv GPREEMPT_COPIES GPREEMPT_SPLIT_STREAMS \
		GPREEMPT_ANY_DRIVER
	[ -z "$output" ]
}

@test "a private daemon ends with the command" {
	# shellcheck disable=SC2016
	run --separate-stderr "$GPREEMPT" run --local -- sh -c 'test -S "$GPREEMPT_SOCKET" && echo "$GPREEMPT_SOCKET"'
	[ "$status" -eq 0 ]
	[[ $output == "$BATS_TEST_TMPDIR"/gpreempt-*/control.sock ]]
	[ ! -e "${output%/*}" ]
}

# Starts the trainer in the background, joined, and waits for it; its output is in
# $BATS_TEST_TMPDIR/trainer. 60 steps take longer than the servers do.
train() {
	"$GPREEMPT" run -c offline -t train -- "$GPREEMPT" emu exec --name default -- \
		"$WORKLOADS/offline_trainer" --steps "$1" >"$BATS_TEST_TMPDIR/trainer" 2>&1 3>&- &
	trainer=$!
	wait_for offline_trainer "$GPREEMPT" ps
}

digest() {
	sed -n 's/.*digest //p' "$1"
}

excluded() {
	grep -c ' exclude ' "$BATS_TEST_TMPDIR/decisions"
}

@test "an online program gets the GPU, and the offline one ends with the right result" {
	workloads
	start_daemon "$BATS_TEST_TMPDIR/decisions"
	"$GPREEMPT" emu start --cus 8
	train 60
	run timeout 120 "$GPREEMPT" run -c online -- "$GPREEMPT" emu exec --name default -- \
		"$WORKLOADS/online_server" --requests 30 --period 20ms
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"30 requests, each answered right"* ]]
	wait $trainer || { cat "$BATS_TEST_TMPDIR/trainer"; false; }
	"$WORKLOADS/offline_trainer" --steps 60 --on host >"$BATS_TEST_TMPDIR/host"
	[ -n "$(digest "$BATS_TEST_TMPDIR/host")" ]
	[ "$(digest "$BATS_TEST_TMPDIR/trainer")" = "$(digest "$BATS_TEST_TMPDIR/host")" ]
	kill "$daemon"
	wait "$daemon"
	[ "$(excluded)" -gt 0 ]
}

@test "a priority above the limit is lowered: an ordinary user shares a GPU under root's daemon" {
	workloads
	[ "$(id -u)" -eq 0 ] || skip "only root can be somebody else"
	setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$GPREEMPT" || skip "$GPREEMPT is where nobody else can go"
	room=$(mktemp -d /tmp/gpreempt-bats.XXXXXX)
	ordinary=(setpriv --reuid=65534 --regid=65534 --clear-groups env "XDG_RUNTIME_DIR=$room")
	export GPREEMPT_SOCKET=$room/control.sock
	start_daemon "$room/decisions"
	chown 65534 "$room"
	"${ordinary[@]}" "$GPREEMPT" emu start --cus 8 3>&-
	# It runs until it is killed, so that the server has somebody to hold.
	"${ordinary[@]}" "$GPREEMPT" run -c offline -- "$GPREEMPT" emu exec --name default -- \
		"$WORKLOADS/offline_trainer" --seconds 300 >"$room/trainer" 2>&1 3>&- &
	held=$!
	wait_for offline_trainer "$GPREEMPT" ps
	run "${ordinary[@]}" timeout 120 "$GPREEMPT" run -c online -- "$GPREEMPT" emu exec --name default -- \
		"$WORKLOADS/online_server" --requests 20 --period 20ms
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c "limit" <<<"$output")" -eq 1 ]
	[[ $output == *"gpreempt: priority 15 is above your limit, 7, and is lowered to it: ask an administrator for max_priority in gpreemptd.conf(5)"* ]]
	# Programs that set the variable by hand get what they may have, too.
	run "${ordinary[@]}" timeout 60 env GPREEMPT_PRIORITY=9 LD_PRELOAD="$JOIN" "$GPREEMPT" emu exec --name default -- \
		"$WORKLOADS/online_server" --requests 3
	echo "$output"
	[[ $output == *"priority 9 is above this user's limit, 7, and is lowered to it"* ]]
	kill -0 $held || { cat "$room/trainer"; false; }
	kill $held
	wait $held || true
	run -125 "${ordinary[@]}" "$GPREEMPT" run --require -c online -- true
	[[ $output == *"priority 15 is above your limit, 7"* ]]
	kill "$daemon"
	wait "$daemon"
	grep -q ' entity-add .*prio=7' "$room/decisions"
	grep -q ' exclude ' "$room/decisions"
}

@test "announced work finds the GPU free" {
	workloads
	start_daemon "$BATS_TEST_TMPDIR/decisions"
	"$GPREEMPT" emu start --cus 8
	train 60
	run timeout 120 "$GPREEMPT" run -c online -- "$GPREEMPT" emu exec --name default -- \
		"$ROCM_PROGRAMS/hinting_server" --requests 20 --period 60ms --hint 20ms
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"20 requests, each answered right"* ]]
	[[ $output == *"20 announced"* ]]
	wait $trainer || { cat "$BATS_TEST_TMPDIR/trainer"; false; }
	"$WORKLOADS/offline_trainer" --steps 60 --on host >"$BATS_TEST_TMPDIR/host"
	[ "$(digest "$BATS_TEST_TMPDIR/trainer")" = "$(digest "$BATS_TEST_TMPDIR/host")" ]
	kill "$daemon"
	wait "$daemon"
	grep -E 'arriving|exclude|ready' "$BATS_TEST_TMPDIR/decisions" | tail -n 30
	[ "$(made_room)" -gt 0 ]
}

@test "announcing without a daemon is refused, and costs nothing" {
	workloads
	run "$GPREEMPT" emu exec --cus 8 -- "$ROCM_PROGRAMS/hinting_server" --requests 3 --hint 1ms
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"0 announced"* ]]
}

@test "Python programs announce work" {
	export PYTHONPATH=$SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1
	run python3 "$SOURCE_DIR/tests/python/joined.py"
	[ "$output" = "not joined, refused, refused" ]
	start_daemon "$BATS_TEST_TMPDIR/decisions"
	run "$GPREEMPT" run -c online -- python3 "$SOURCE_DIR/tests/python/joined.py"
	[ "$output" = "joined, refused, refused" ]
	workloads
	run --separate-stderr "$GPREEMPT" run -c online -- "$GPREEMPT" emu exec --cus 1 -- \
		python3 "$SOURCE_DIR/tests/python/joined.py" --queue
	echo "$output"
	[ "$output" = "joined, announced, over" ]
}

# serve: runs an online program for some seconds on the machine "own"; its output is in server.
serve() {
	"$GPREEMPT" emu exec --name own -- "$GPREEMPT" run -c online -- \
		"$WORKLOADS/online_server" --requests 100 --period 20ms \
		>"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
	server=$!
}

@test "programs on a GPU that the kernel schedules are left to it" {
	[ "$(id -u)" -eq 0 ] || skip "its files are root's to write"
	workloads
	start_daemon
	"$GPREEMPT" emu start --name own --kernel gpreempt --kfd-sched --cus 8
	own() {
		"$GPREEMPT" emu exec --name own -- bash -c "cd /sys/class/kfd/kfd; $1"
	}
	serve
	wait_for 15 own "cat proc/*/queues/*/logical_priority"
	run -0 "$GPREEMPT" ps --json
	[[ $output == *'"groups": []'* ]]
	wait "$server"
	grep "the kernel, not gpreemptd, schedules the queues of this GPU" "$BATS_TEST_TMPDIR/server"
	grep "100 requests, each answered right" "$BATS_TEST_TMPDIR/server"
	# With the kernel's scheduler disabled, the daemon schedules them.
	own 'echo 0 >sched_*/enable'
	serve
	wait_for '"priority": 15' "$GPREEMPT" ps --json
	run -0 own "cat proc/*/queues/*/logical_priority"
	[[ $output != *15* ]]
	wait "$server"
}

@test "run --local shares a GPU within one command, on the kernel of the series" {
	workloads
	run timeout 120 "$GPREEMPT" emu exec --kernel gpreempt --cus 8 -- \
		"$GPREEMPT" run --local -c offline -- sh -c "
			'$WORKLOADS/offline_trainer' --steps 4 >'$BATS_TEST_TMPDIR/trainer' 2>&1 &
			trainer=\$!
			'$GPREEMPT' run -c online -- '$WORKLOADS/online_server' --requests 20 --period 20ms &&
				wait \$trainer"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"20 requests, each answered right"* ]]
	"$WORKLOADS/offline_trainer" --steps 4 --on host >"$BATS_TEST_TMPDIR/host"
	[ "$(digest "$BATS_TEST_TMPDIR/trainer")" = "$(digest "$BATS_TEST_TMPDIR/host")" ]
}

@test "programs continue when the daemon is killed or stopped while it holds one" {
	workloads
	start_daemon "$BATS_TEST_TMPDIR/decisions"
	"$GPREEMPT" emu start --cus 8
	train 6
	"$GPREEMPT" run -c online -- "$GPREEMPT" emu exec --name default -- \
		"$WORKLOADS/online_server" --requests 60 --period 10ms >"$BATS_TEST_TMPDIR/server" 2>&1 3>&- &
	server=$!
	for _ in $(seq 200); do
		"$GPREEMPT" ps --json | grep -q '"excluded"' && break
		sleep 0.02
	done
	kill -STOP "$daemon"
	sleep 1.5
	kill -KILL "$daemon"
	sleep 0.5
	start_daemon "$BATS_TEST_TMPDIR/decisions"
	wait $server || { cat "$BATS_TEST_TMPDIR/server"; false; }
	wait $trainer || { cat "$BATS_TEST_TMPDIR/trainer"; false; }
	"$WORKLOADS/offline_trainer" --steps 6 --on host >"$BATS_TEST_TMPDIR/host"
	[ "$(digest "$BATS_TEST_TMPDIR/trainer")" = "$(digest "$BATS_TEST_TMPDIR/host")" ]
}
