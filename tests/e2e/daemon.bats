#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The commands that talk to gpreemptd, with a real daemon and fake joined programs.
# shellcheck disable=SC2030,SC2031,SC2154 # each test is a subshell; daemon.bash sets $daemon

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${BUILD_DIR:=build}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	# Other users need access as well.
	room=$(mktemp -d /tmp/gpreempt-bats.XXXXXX)
	chmod 755 "$room"
	export GPREEMPT_SOCKET=$room/control.sock
	unset NO_COLOR
	agent=$BUILD_DIR/tests/fake_agent
	nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	started=()
}

teardown() {
	local pid

	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	rm -rf "$room"
}

# Starts a program NAME that reads commands from $room/NAME.in. Sets $pid.
join() {
	local name=$1 in=$room/$1.in

	shift
	mkfifo "$in"
	"${as[@]}" "$agent" -n "$name" "$@" <"$in" >"$room/$name.out" 3>&- &
	pid=$!
	started+=("$pid")
	# Stays open until the test ends.
	exec {fd}>"$in"
	eval "to_$name=$fd"
	eventually grep -q joined "$room/$name.out"
}

tell() {
	local to=to_$1

	shift
	echo "$@" >&"${!to}"
}

was_told() {
	eventually grep -qx "$2" "$room/$1.out"
}

# Prints the system calls that the unit $1 allows on x86-64, one a line.
allowed_calls() {
	python3 -c 'import subprocess, sys
def calls(name):
    if name[0] != "@":
        return {name}
    lines = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    names = [line.strip() for line in lines[1:] if line.strip() and line.strip()[0] != "#"]
    return set().union(*map(calls, names))
allowed = calls("@default")
for line in open(sys.argv[1]):
    if line.startswith("SystemCallFilter="):
        value = line.split("=")[1].strip()
        named = set().union(*map(calls, value.lstrip("~").split()))
        allowed = allowed - named if value[0] == "~" else allowed | named
print("\n".join(allowed))' "$1"
}

# Prints a field of the JSON document on standard input.
field() {
	python3 -c 'import json, sys
d = json.load(sys.stdin)
for key in sys.argv[1:]:
    d = d[int(key)] if isinstance(d, list) else d[key]
print(json.dumps(d))' "$@"
}

# Prints the state of the first program, and the program for which it is held.
is_held() {
	[ "$("$GPREEMPT" ps --json | field groups 0 hold by_program)" = "\"$1\"" ]
}

# Starts train and serve, so that train is held for serve.
two() {
	start_daemon
	join train -p 2 -t batch
	train=$pid
	join serve -p 15
	serve=$pid
}

preempt() {
	tell train ready 0
	eventually has_work train
	tell serve ready 0
	was_told train "stop 0"
}

has_work() {
	[[ $("$GPREEMPT" ps --no-headers) == *"$1 "*running* ]]
}

needs_root() {
	[ "$(id -u)" -eq 0 ] || skip "only root can be somebody else"
	"${nobody[@]}" test -x "$GPREEMPT" || skip "$GPREEMPT is where nobody else can go"
}

@test "without a daemon: status 3, the socket, and a remedy" {
	for command in ps policy "why 1" "set 1 -p 2" "suspend 1" "resume 1"; do
		# shellcheck disable=SC2086
		run "$GPREEMPT" $command
		[ "$status" -eq 3 ]
		[[ $output == *"no gpreemptd runs: there is no socket $GPREEMPT_SOCKET"* ]]
		[[ $output == *"Start one:"* ]]
	done
	run --separate-stderr "$GPREEMPT" ps --json
	[ "$(field error status <<<"$output")" = 3 ]
	run "$GPREEMPT"
	[ "$status" -eq 0 ]
	[[ $output == *"Daemon: no gpreemptd runs"* ]]
	[ "$("$GPREEMPT" --json | field daemon)" = null ]
}

@test "a socket without a listener: status 3" {
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(sys.argv[1])' "$GPREEMPT_SOCKET"
	run "$GPREEMPT" ps
	[ "$status" -eq 3 ]
	[[ $output == *"nothing listens at $GPREEMPT_SOCKET"* ]]
}

@test "a file that is not a socket is not replaced by one" {
	echo precious >"$room/file"
	run --separate-stderr timeout 20 "$BUILD_DIR/src/daemon/gpreemptd" --socket "$room/file"
	[ "$status" -eq 1 ]
	[[ $stderr == *"cannot listen at $room/file: this file is not a socket"* ]]
	[ "$(cat "$room/file")" = precious ]
}

@test "a daemon that does not answer has a message of its own" {
	start_daemon
	kill -STOP "$daemon"
	run "$GPREEMPT" ps
	kill -CONT "$daemon"
	[ "$status" -eq 1 ]
	[[ $output == *"does not answer"* ]]
}

@test "a socket without write permission: status 4" {
	needs_root
	start_daemon
	chmod 600 "$GPREEMPT_SOCKET"
	run "${nobody[@]}" "$GPREEMPT" ps
	[ "$status" -eq 4 ]
	[[ $output == *"no permission to connect to $GPREEMPT_SOCKET"* ]]
}

@test "ps: no program is joined" {
	start_daemon
	run "$GPREEMPT" ps
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "No program is joined." ]
	run "$GPREEMPT"
	[[ $output == *"Daemon: gpreemptd "*"no program is joined"* ]]
}

@test "ps: queues that the kernel schedules are shown, with a daemon and without" {
	unshare -m mount -t tmpfs none /mnt 2>/dev/null || skip "unshare and mount are not permitted"
	start_daemon
	for socket in "$GPREEMPT_SOCKET" /nowhere; do
		# shellcheck disable=SC2016
		GPREEMPT_SOCKET=$socket run --separate-stderr unshare -m bash -c '
			mount -t tmpfs none /sys/class
			queue=/sys/class/kfd/kfd/proc/$$/queues/3
			mkdir -p "$queue"
			for f in gpuid:4660 size:4096 type:0 state:excluded logical_priority:2 \
				effective_priority:9 own_priority:1 pending:17 preempted_ms:1234 preemptions:5; do
				echo "${f#*:}" >"$queue/${f%%:*}"
			done
			! "$1" ps --no-headers | grep Scheduled || exit 9
			[ "$(timeout 60 "$1" ps -w50ms | grep -cm2 Scheduled)" -eq 2 ] || exit 9
			"$1" ps --json && "$1" ps' bash "$GPREEMPT"
		[ "$status" -eq 0 ]
		python3 -c '
import json, sys
text = sys.stdin.read()
document, end = json.JSONDecoder().raw_decode(text)
(queue,) = document["kernel_queues"]
assert queue["pid"] > 0 and queue["program"] == "bash", queue
assert (queue["priority"], queue["effective"], queue["state"]) == (2, 9, "excluded"), queue
assert queue["own_priority"] == 1, queue
assert (queue["held_ms"], queue["excluded"], queue["pending"]) == (1234, 5, 17), queue
assert "Scheduled by the kernel:" in text[end:], text
assert text[end:].split()[-8:] == ["(now", "9)", "+1", "excluded", "17", "1.23", "s", "5"], text
' <<<"$output"
	done
}

@test "ps: joined programs and their holds" {
	two
	preempt
	run "$GPREEMPT" ps
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == *GROUP*PID*USER*PROGRAM*TAG*GPU*CLASS*PRIO*STATE*LEVEL*QUEUES*USED*HELD*SINCE ]]
	[[ ${lines[1]} == *"$train $(id -un)"*train*batch*offline*2*"held by serve"* ]]
	[[ ${lines[2]} == *"$serve $(id -un)"*serve*online*15*running* ]]
	is_held serve
	[ "$("$GPREEMPT" ps --no-headers | wc -l)" -eq 2 ]
	[ "$("$GPREEMPT" ps --json | field schema)" = 1 ]
	[ "$("$GPREEMPT" ps --json | field you administrator)" = true ]
	tell serve idle 0
	was_told train "run 0"
}

@test "ps: an effective level below the requested one" {
	start_daemon
	join train -l 1 -q 3
	[[ $("$GPREEMPT" ps --no-headers) == *"1 of 3"*" 3 "* ]]
}

@test "ps -q: a line for each queue" {
	start_daemon
	join train -q 3
	tell train ready 1
	eventually has_work train
	run "$GPREEMPT" ps -q --no-headers
	[ "${#lines[@]}" -eq 3 ]
	[[ ${lines[1]} == *train*admitted*yes* ]]
	[[ ${lines[2]} == *train*admitted*no* ]]
}

@test "ps -w repeats" {
	start_daemon
	join train
	run timeout 3 "$GPREEMPT" ps -w50ms --no-headers
	[ "$status" -eq 124 ]
	[ "$(grep -c train <<<"$output")" -ge 2 ]
	run "$GPREEMPT" ps -wnow
	[ "$status" -eq 2 ]
	[[ $output == *"'now' is not a duration"* ]]
}

@test "ps -w ends with the daemon" {
	start_daemon
	"$GPREEMPT" ps -w50ms >/dev/null 2>"$room/err" 3>&- &
	watcher=$!
	sleep 0.3
	kill "$daemon"
	status=0
	wait "$watcher" || status=$?
	[ "$status" -eq 3 ]
	grep -q "did not answer" "$room/err"
}

@test "a user sees only the existence of other users' programs" {
	needs_root
	two
	run "${nobody[@]}" "$GPREEMPT" ps --no-headers
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 2 ]
	[[ $output != *train* ]]
	[[ ${lines[0]} == *" - root "* ]]
	# As if they did not exist.
	run "${nobody[@]}" "$GPREEMPT" suspend 1
	[ "$status" -eq 1 ]
	refused=${output/pid 1:/pid $train:}
	run "${nobody[@]}" "$GPREEMPT" suspend "$train"
	[ "$status" -eq 1 ]
	[ "$output" = "$refused" ]
	[[ $output == *"pid $train: no joined program"* ]]
	for command in "set $train -p 1" "resume $train" "why $train" "why tag:batch" "suspend tag:batch"; do
		# shellcheck disable=SC2086
		run "${nobody[@]}" "$GPREEMPT" $command
		[ "$status" -eq 1 ]
	done
	for command in "ps --json" "top --json --window 200ms" "--json" "ps -q"; do
		# shellcheck disable=SC2086
		run "${nobody[@]}" "$GPREEMPT" $command
		[ "$status" -eq 0 ]
		[[ $output != *train* && $output != *serve* && $output != *batch* && $output != *"$train"* ]]
	done
	run "${nobody[@]}" "$GPREEMPT" policy fair
	[ "$status" -eq 4 ]
	run --separate-stderr "${nobody[@]}" "$GPREEMPT" policy fair --json
	[ "$(field error status <<<"$output")" = 4 ]
}

@test "a user may lower their programs, and raise them up to the limit" {
	needs_root
	start_daemon
	as=("${nobody[@]}")
	join mine -p 5
	run "${nobody[@]}" "$GPREEMPT" set "$pid" -p 7
	[ "$status" -eq 0 ]
	run "${nobody[@]}" "$GPREEMPT" set "$pid" -p 8
	[ "$status" -eq 4 ]
	[[ $output == *"priority 8 is above this user's limit, 7"* ]]
	run "$GPREEMPT" set "$pid" -p 8
	[ "$status" -eq 0 ]
}

@test "set: a changed priority changes which program is held" {
	two
	preempt
	run "$GPREEMPT" set "$train" -p 20
	[ "$status" -eq 0 ]
	[[ $output == "train (pid $train, group "*"): priority 20" ]]
	was_told train "run 0"
	was_told serve "stop 0"
	run "$GPREEMPT" set "pid:$train" -c offline
	[[ $output == *"priority 2 (offline)" ]]
	was_told serve "run 0"
}

@test "set: shares, weights and times, and removing them" {
	two
	run "$GPREEMPT" set "$train" --share 40% --min-share 5 --weight 200 --deadline 10ms --max-hold 1.5s
	[ "$status" -eq 0 ]
	[[ $output == *"priority 2 (offline), share 40 %, at least 5 %, weight 200, deadline 10.0 ms, held at most 1.50 s" ]]
	run "$GPREEMPT" set "$train" --share 0 --deadline 0
	[[ $output == *"priority 2 (offline), at least 5 %, weight 200, held at most 1.50 s" ]]
	[ "$("$GPREEMPT" set "$train" --weight 3 --json | field groups 0 weight)" = 3 ]
}

@test "set: errors are explained" {
	start_daemon
	while read -r args; do
		# shellcheck disable=SC2086
		run "$GPREEMPT" set $args
		echo "$args: $output"
		[ "$status" -eq 2 ]
	done <<-END
		1
		-p 3
		1 -p x
		1 -p 1000001
		1 -c urgent
		1 --share 101
		1 --share 2.5
		1 --weight -1
		1 --deadline 10
		1 --max-hold soon
		0 -p 3
		x -p 3
		group: -p 3
		group:x -p 3
		thing:3 -p 3
		tag: -p 3
	END
	run "$GPREEMPT" set 1 -p 3
	[ "$status" -eq 1 ]
	[[ $output == *"pid 1: no joined program"*"'gpreempt ps' lists them"* ]]
}

@test "suspend and resume: a program, a group, a queue, a tag" {
	two
	group=$("$GPREEMPT" ps --json | field groups 0 group)
	queue=$("$GPREEMPT" ps --json | field groups 0 queues 0 queue)
	tell train ready 0
	for target in "$train" "group:$group" "queue:$queue" tag:batch "--tag batch"; do
		# shellcheck disable=SC2086
		run "$GPREEMPT" suspend $target
		[ "$status" -eq 0 ]
		[ "$output" = "train (pid $train, group $group): suspended" ]
		was_told train "stop 0"
		[[ $("$GPREEMPT" ps --no-headers) == *train*suspended*serve* ]]
		: >"$room/train.out"
		# shellcheck disable=SC2086
		run "$GPREEMPT" resume $target
		[ "$output" = "train (pid $train, group $group): resumed" ]
		was_told train "run 0"
		: >"$room/train.out"
	done
	run "$GPREEMPT" suspend
	[ "$status" -eq 2 ]
	run "$GPREEMPT" suspend tag:none
	[ "$status" -eq 1 ]
	[[ $output == *"tag 'none': no joined program"* ]]
}

@test "several targets" {
	two
	run "$GPREEMPT" suspend "$train" "$serve"
	[ "${#lines[@]}" -eq 2 ]
	[ "$("$GPREEMPT" resume "$train" "$serve" --json | field groups 1 program)" = '"serve"' ]
}

@test "several targets: all are changed or none" {
	two
	run "$GPREEMPT" suspend "$train" tag:none "$serve"
	[ "$status" -eq 1 ]
	[[ $output == *"tag 'none': no joined program"* ]]
	[[ $("$GPREEMPT" ps --no-headers) != *suspended* ]]
	run "$GPREEMPT" set "$train" "$serve" pid:1 -p 9
	[ "$status" -eq 1 ]
	[[ $output == *"pid 1: no joined program"* ]]
	[ "$("$GPREEMPT" ps --json | field groups 0 priority)" = 2 ]
	needs_root
	# Another user's program is not found.
	as=("${nobody[@]}")
	join mine -p 3
	run "${nobody[@]}" "$GPREEMPT" suspend "$pid" "$train"
	[ "$status" -eq 1 ]
	[[ $output == *"pid $train: no joined program"* ]]
	run "${nobody[@]}" "$GPREEMPT" set "$pid" "$serve" -p 1
	[ "$status" -eq 1 ]
	[ "$("$GPREEMPT" ps --json | field groups 2 priority)" = 3 ]
	[ "$("$GPREEMPT" ps --json | field groups 2 suspended)" = false ]
}

@test "why: holds with program and rule, and the current hold" {
	two
	run "$GPREEMPT" why "$train"
	[[ ${lines[1]} == *"never held since it joined"* ]]
	preempt
	run "$GPREEMPT" why "$train"
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == "train (pid $train, group "*"), priority 2 on gpu0: held by serve" ]]
	[[ ${lines[1]} == *"held 1 times"* ]]
	[[ ${lines[2]} == *"held for "*" now: serve (pid $serve, priority 15) has work and is more urgent (rule: priority)" ]]
	tell serve idle 0
	was_told train "run 0"
	run "$GPREEMPT" why "$train"
	[[ ${lines[2]} == *"held "*" ago: serve (pid $serve, priority 15) had work and is more urgent (rule: priority)" ]]
	"$GPREEMPT" suspend "$train"
	run "$GPREEMPT" why "$train"
	[[ ${lines[2]} == *"it is suspended by hand (rule: operator)" ]]
	[ "$("$GPREEMPT" why "$train" --json | field groups 0 history 1 by_program)" = '"serve"' ]
}

lingered() {
	tell serve ready 0
	sleep 0.01
	tell serve idle 0
	"$GPREEMPT" why "$serve" |
		grep -q "between two pieces of its work, the GPU was idle and others were held for .* in all"
}

@test "why: what lingering has cost" {
	two
	printf '[core]\nlinger_us = 50000\nwaste_pct = 50\n' >>"$room/gpreemptd.conf"
	kill -HUP "$daemon"
	wait_for '"linger_us": 50000' "$GPREEMPT" ps --json
	preempt
	eventually lingered
	run "$GPREEMPT" why "$train"
	[[ $output != *"between two pieces of its work, the GPU"* ]]
	tell train quit
	wait "$train"
	tell serve quit
	wait "$serve"
	wait_for ": ended " "$GPREEMPT" why "$serve"
	[[ $output == *"between two pieces of its work, the GPU was idle"* ]]
}

@test "why: an ended program, by pid and by tag" {
	two
	preempt
	kill "$train"
	for target in "$train" tag:batch; do
		wait_for ", priority 2 on gpu0: ended " "$GPREEMPT" why "$target"
		[[ $output == "train (pid $train, group "*" ago"* ]]
		[[ $output == *"held 1 times"* ]]
		[[ $output == *"held "*" ago: serve (pid $serve, priority 15) had work and is more urgent"* ]]
	done
	[ "$("$GPREEMPT" why "$train" --json | field groups 0 state)" = '"ended"' ]
	[[ $("$GPREEMPT" ps) != *train* ]]
	run "$GPREEMPT" suspend "$train"
	[ "$status" -eq 1 ]
	needs_root
	run "${nobody[@]}" "$GPREEMPT" why "$train"
	[ "$status" -eq 1 ]
}

@test "suspend lasts until resume, also for a program that joins again" {
	start_daemon
	join train -p 2
	"$GPREEMPT" suspend "$pid"
	kill "$pid"
	eventually [ "$("$GPREEMPT" ps --json | field groups)" = "[]" ]
	[ "$("$GPREEMPT" ps --json | field left 0 pid)" = "$pid" ]
	run "$GPREEMPT" resume "$pid"
	[ "$status" -eq 0 ]
	[[ $output == *"no longer suspended"* ]]
	[ "$("$GPREEMPT" ps --json | field left)" = "[]" ]
	run "$GPREEMPT" resume "$pid"
	[ "$status" -eq 1 ]
}

@test "why: another user's program has no name" {
	needs_root
	devices=/dev/full start_daemon
	as=("${nobody[@]}")
	join mine -p 3 -o /dev/full
	mine=$pid
	as=()
	join serve -p 15 -o /dev/full
	tell mine ready 0
	eventually has_work mine
	tell serve ready 0
	was_told mine "stop 0"
	run "${nobody[@]}" "$GPREEMPT" why "$mine"
	[[ $output == *"another user's program (group "*", priority 15) has work"* ]]
	[[ $output != *serve* ]]
}

# Whether the program was held this number of times.
was_held() {
	[ "$(grep -cx "stop 0" "$room/$1.out")" -eq "$2" ]
}

@test "a program without a GPU open, or a stopped one, holds no other user's" {
	needs_root
	devices=/dev/full start_daemon "$room/decisions"
	# Nothing but the end of the hold releases a program.
	"$GPREEMPT" policy hpf age_ms=0 max_hold_ms=0 min_share_pct=0
	as=("${nobody[@]}")
	join mine -p 3 -o /dev/full
	tell mine ready 0
	eventually has_work mine
	as=()
	join liar -p 15
	tell liar ready 0
	join serve -p 15 -o /dev/full
	urgent=$pid
	was_held mine 0
	"$GPREEMPT" ps --json | python3 -c '
import json, sys
gpus = json.load(sys.stdin)["gpus"]
assert 0 in [gpu["only_user"] for gpu in gpus], gpus'
	tell serve ready 0
	was_told mine "stop 0"
	kill -STOP "$urgent"
	was_told mine "run 0"
	kill -CONT "$urgent"
	eventually was_held mine 2
	# The groups that have moved to another GPU are replayed, too.
	run "$GPREEMPT" sim --replay "$room/decisions"
	[ "$status" -eq 0 ]
}

@test "policy: lists, changes, and explains errors" {
	start_daemon
	run "$GPREEMPT" policy
	[ "$status" -eq 0 ]
	[[ $output == *"* hpf "* ]]
	[[ $output == *max_hold_ms*"all "*2000* ]]
	run "$GPREEMPT" policy fair quantum_ms=5 max_hold_ms=100
	[ "$status" -eq 0 ]
	[[ $output == *"* fair "* ]]
	[ "$("$GPREEMPT" policy --json | field core max_hold_ms)" = 100 ]
	[ "$("$GPREEMPT" ps --json | field daemon params quantum_ms)" = 5 ]
	"$GPREEMPT" policy quantum_ms=7
	[ "$("$GPREEMPT" ps --json | field daemon params quantum_ms)" = 7 ]
	run "$GPREEMPT" policy fiar
	[ "$status" -eq 1 ]
	[[ $output == *"there is no policy 'fiar'"* ]]
	run "$GPREEMPT" policy hpf width=3
	[ "$status" -eq 2 ]
	[[ $output == *"policy hpf has no parameter 'width'"* ]]
	run "$GPREEMPT" policy fair quantum_ms=0
	[ "$status" -eq 2 ]
	[[ $output == *"quantum_ms is between "* ]]
	for wrong in "quantum_ms=x" "=3" "fair hpf"; do
		# shellcheck disable=SC2086
		run "$GPREEMPT" policy $wrong
		[ "$status" -eq 2 ]
	done
	[ "$("$GPREEMPT" ps --json | field daemon policy)" = '"fair"' ]
}

@test "the summary lists running and held programs" {
	two
	preempt
	run "$GPREEMPT"
	[[ $output == *"Daemon: gpreemptd "*", policy hpf, up "* ]]
	[[ $output == *"gpu0 a GPU: 2 groups; runs: serve (15); held: train (2)"* ]]
	[ "$("$GPREEMPT" --json | field daemon policy)" = '"hpf"' ]
}

# Runs the command $1 on a terminal and types the other arguments.
on_terminal() {
	local how=$1 key

	shift
	for key in "$@"; do
		sleep 0.7
		printf '%s' "$key"
	done | TERM=xterm LC_ALL=C.UTF-8 timeout -k 1 30 script -qec "$how" /dev/null
}

needs_terminal() {
	script -qec true /dev/null </dev/null >/dev/null 2>&1 || skip "no pseudo-terminal to be had"
}

@test "top: one picture" {
	two
	preempt
	LC_ALL=C run "$GPREEMPT" top --once --window 300ms
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == "gpreempt top  hpf, up "*"2 groups: 1 running, 1 held" ]]
	[[ ${lines[1]} == *PID*PROGRAM*PRIO*STATE*RUN*HELD*WAIT*"-300 ms"*now ]]
	[[ ${lines[2]} == "gpu0 a GPU"* ]]
	[[ ${lines[3]} == *"$serve serve"*15*running*100%*0%*"###"* ]]
	[[ ${lines[4]} == *"$train train"*2*held*0%*100%*"xxx"* ]]
	COLUMNS=120 run "$GPREEMPT" top --once --window 100ms
	[[ ${lines[1]} == *USER*TAG* ]]
}

@test "top: one document" {
	two
	preempt
	run "$GPREEMPT" top --json --window 300ms
	[ "$status" -eq 0 ]
	[ "$(field schema <<<"$output")" = 1 ]
	[ "$(field by_decisions <<<"$output")" = true ]
	[ "$(field groups 0 program <<<"$output")" = '"train"' ]
	[ "$(field groups 0 run_pct <<<"$output")" = 0.0 ]
	[ "$(field groups 1 held_pct <<<"$output")" = 0.0 ]
}

# serve says that no work follows what it has, so that nobody is held for it.
says_it_is_over() {
	tell serve arriving 0
	"$GPREEMPT" ps
	tell serve over 0
	grep -qx "run 0" "$room/train.out"
}

@test "a program that yields is neither held nor running" {
	start_daemon
	join train -p 2 -y
	join serve -p 15 -y
	was_told train "weigh 0 16777214"
	preempt
	eventually says_it_is_over
	wait_for "yielding" "$GPREEMPT" ps
	[[ $output == *serve*running* ]]
	wait_for "runs: serve (15); yields: train (2)" "$GPREEMPT"
	run "$GPREEMPT" top --json --window 300ms
	[ "$status" -eq 0 ]
	python3 - "$output" <<'END'
import json, sys
train, serve = json.loads(sys.argv[1])["groups"]
assert train["program"] == "train" and serve["program"] == "serve"
assert train["run_pct"] + serve["run_pct"] <= 100.001, (train, serve)
assert train["yielding_pct"] > 50 and train["held_pct"] == 0, train
assert serve["run_pct"] > 50 and serve["yielding_pct"] == 0, serve
END
	tell serve idle 0
	wait_for "runs: train (2)" "$GPREEMPT"
}

@test "top: polls for a user who may not watch decisions" {
	needs_root
	start_daemon
	as=("${nobody[@]}")
	join mine -p 3
	tell mine ready 0
	eventually has_work mine
	run "${nobody[@]}" "$GPREEMPT" top --json --window 500ms
	[ "$status" -eq 0 ]
	[ "$(field by_decisions <<<"$output")" = false ]
	[ "$(field groups 0 run_pct <<<"$output")" = 100.0 ]
}

@test "top: no daemon, no terminal, wrong usage" {
	run "$GPREEMPT" top
	[ "$status" -eq 3 ]
	start_daemon
	run "$GPREEMPT" top </dev/null
	[ "$status" -ne 0 ]
	run "$GPREEMPT" top --window 1ms
	[ "$status" -eq 2 ]
	[[ $output == *"from 100ms to 1h"* ]]
}

@test "top: keys act on the selected group" {
	needs_terminal
	two
	# The first line is serve, the second train.
	run on_terminal "$GPREEMPT top" j s q
	[ "$status" -eq 0 ]
	[[ $output == *"gpreempt top"* ]]
	[ "$("$GPREEMPT" ps --json | field groups 0 suspended)" = true ]
	run on_terminal "$GPREEMPT top" j r + + q
	[ "$("$GPREEMPT" ps --json | field groups 0 suspended)" = false ]
	[ "$("$GPREEMPT" ps --json | field groups 0 priority)" = 4 ]
	[ "$("$GPREEMPT" ps --json | field groups 1 priority)" = 15 ]
}

@test "top: restores the terminal" {
	needs_terminal
	two
	# It leaves the alternate screen at last, however it ends.
	for how in "$GPREEMPT top" "timeout --foreground -s INT 2 $GPREEMPT top" "timeout --foreground 2 $GPREEMPT top"; do
		run on_terminal "$how; stty -a | grep -o ' echo ' >$room/echo" "" "" "" "" q
		[[ $output == *$'\033[?1049l'* ]]
		[ "$(cat "$room/echo")" = " echo " ]
	done
}

@test "top: reports that the daemon ended, and reconnects" {
	needs_terminal
	start_daemon
	(
		sleep 1.5
		kill "$daemon"
		sleep 1
		"$BUILD_DIR/src/daemon/gpreemptd" -c "$room/gpreemptd.conf" 3>&- &
		echo $! >"$room/pid"
	) &
	run on_terminal "$GPREEMPT top" "" "" "" "" "" "" "" "" q
	wait
	kill "$(cat "$room/pid")"
	[ "$status" -eq 0 ]
	[[ $output == *"gpreemptd has ended"* ]]
	[[ ${output##*is gone} == *"No program is joined"* ]]
}

# Runs the doctor on an emulated machine, so that results do not depend on the host.
doctor() {
	XDG_RUNTIME_DIR=$room "$GPREEMPT" emu exec --cus 1 "${machine[@]}" -- "$GPREEMPT" doctor "$@"
}

with_few_files() {
	(
		ulimit -n 500
		"$@"
	)
}

@test "doctor: no problem with a daemon and a GPU" {
	start_daemon
	run doctor
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"ok    daemon       gpreemptd "*" answers at $GPREEMPT_SOCKET; policy hpf, 0 groups"* ]]
	[[ $output == *"ok    limits       you are an administrator"* ]]
	[[ $output == *"ok    join "*libgpreempt-join.so* ]]
	[[ $output == *"ok    amd          /dev/kfd can be opened; 1 GPU"* ]]
	[[ $output == *"ok    gpu0 "*"taken off the GPU and put back"* ]]
	[[ $output == *" 0 bad" ]]
	machine=(--kernel gpreempt)
	run doctor --json
	[ "$(field bad <<<"$output")" = 0 ]
	[ "$(field checks 0 result <<<"$output")" = '"ok"' ]
	[[ $output == *"by the ioctls of gpreempt's kernel series"* ]]
}

@test "doctor: a missing daemon is bad, and each problem has a remedy" {
	machine=(--cwsr off)
	run with_few_files doctor
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == "bad   daemon       no gpreemptd runs: there is no socket $GPREEMPT_SOCKET"* ]]
	[[ $output == *"-> Start one:"* ]]
	[[ $output == *"warn  gpu0 "*"cwsr_enable is 0"*"-> Boot with amdgpu.cwsr_enable=1."* ]]
	[[ $output == *"warn  files        a process may have 500 files open"* ]]
	run --separate-stderr env LD_PRELOAD=/no/such.so "$GPREEMPT" doctor
	[[ $output == *"warn  LD_PRELOAD   /no/such.so cannot be read"* ]]
}

@test "doctor: permissions of other users" {
	needs_root
	start_daemon
	[[ $("$GPREEMPT" doctor) == *"ok    socket       all users may join"* ]]
	run "${nobody[@]}" "$GPREEMPT" doctor
	[[ $output == *"ok    limits       you may have priorities up to 7, and 256 programs"*"0 are joined"* ]]
	chmod 600 "$GPREEMPT_SOCKET"
	[[ $("$GPREEMPT" doctor) == *"warn  socket       other users cannot join"* ]]
	run "${nobody[@]}" "$GPREEMPT" doctor
	[ "$status" -eq 1 ]
	[[ $output == *"bad   daemon       no permission to connect"* ]]
}

@test "edf is refused for programs whose work is not seen" {
	start_daemon
	"$GPREEMPT" policy edf
	join serve -P
	run "$GPREEMPT" doctor
	[[ $output == *"warn  policy       policy edf needs the time at which work arrives, which is not known for serve (pid $pid)"*"gpreempt policy hpf"* ]]
	"$GPREEMPT" policy hpf
	run "$GPREEMPT" policy edf
	[ "$status" -eq 1 ]
	[[ $output == *"policy edf needs the time at which work arrives, which is not known for serve (pid $pid)"*"--force"* ]]
	"$GPREEMPT" policy edf --force
	[ "$("$GPREEMPT" ps --json | field daemon policy)" = '"edf"' ]
}

# Prints how often the daemon and a program have gone to sleep.
sleeps() {
	sed -n 's/^voluntary_ctxt_switches:\t//p' "/proc/$daemon/status" "/proc/$pid/status"
}

is_quiet() {
	local before

	before=$(sleeps)
	sleep "$1"
	[ "$(sleeps)" = "$before" ]
}

@test "an idle daemon and idle programs do not wake up; during a hold they do" {
	start_daemon
	join patient -p 2
	join urgent -p 15
	tell patient ready 0
	tell urgent ready 0
	was_told patient "stop 0"
	run ! is_quiet 2
	tell urgent idle 0
	was_told patient "run 0"
	eventually is_quiet 0.3
	is_quiet 3
	tell patient idle 0
	eventually is_quiet 0.3
	is_quiet 3
}

@test "a daemon without a client notifies systemd's watchdog" {
	run timeout 60 python3 - "${GPREEMPT%/cli/gpreempt}/daemon/gpreemptd" "$BATS_TEST_TMPDIR" <<-'END'
		import os, socket, subprocess, sys
		program, folder = sys.argv[1:]
		notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		notify.bind(folder + "/notify")
		daemon = subprocess.Popen([program, "-c", "/dev/null", "-s", folder + "/idle.sock"],
		                          env=dict(os.environ, NOTIFY_SOCKET=folder + "/notify", WATCHDOG_USEC="500000"))
		try:
		    notify.settimeout(30)
		    for _ in range(3):
		        print(notify.recv(4096).decode().split()[0])
		finally:
		    daemon.kill()
	END
	echo "$output"
	[ "$output" = $'READY=1\nWATCHDOG=1\nWATCHDOG=1' ]
}

@test "messages that nobody reads delay neither programs nor the end of the daemon" {
	mkfifo "$room/errors"
	# Held open, never read, and full.
	exec {errors}<>"$room/errors"
	python3 -c 'import os, sys
os.set_blocking(int(sys.argv[1]), False)
try:
    while True:
        os.write(int(sys.argv[1]), b"x")
except BlockingIOError:
    pass
os.set_blocking(int(sys.argv[1]), True)' "$errors"
	"${GPREEMPT%/cli/gpreempt}/daemon/gpreemptd" -v -c /dev/null 2>"$room/errors" 3>&- &
	daemon=$!
	started+=("$daemon")
	eventually "$GPREEMPT" ps
	join first
	join second
	kill -HUP "$daemon"
	eventually "$GPREEMPT" ps
	kill "$daemon"
	for _ in {1..100}; do
		kill -0 "$daemon" 2>/dev/null || break
		sleep 0.1
	done
	run ! kill -0 "$daemon"
}

@test "the unit's filter allows every system call of the daemon" {
	command -v strace && command -v systemd-analyze || skip "no strace or systemd-analyze"
	printf '[daemon]\nlog = %s\ndevices = /dev/full\n' "$room/log" >"$room/gpreemptd.conf"
	# The tracer is a grandchild.
	strace -D -f -qq -o "$room/calls" "${GPREEMPT%/cli/gpreempt}/daemon/gpreemptd" -v \
		-c "$room/gpreemptd.conf" 2>"$room/daemon" 3>&- &
	daemon=$!
	started+=("$daemon")
	sleep 0.5
	! grep -q 'Operation not permitted' "$room/daemon" || skip "ptrace is not permitted"
	eventually "$GPREEMPT" ps
	join patient -p 1
	join urgent -p 15
	tell patient ready 0
	tell urgent ready 0
	eventually eval "$GPREEMPT ps --json | grep -q excluded"
	"$GPREEMPT" ps --users
	"$GPREEMPT" why "$pid"
	"$GPREEMPT" suspend "$pid"
	"$GPREEMPT" resume "$pid"
	"$GPREEMPT" policy fair
	kill -HUP "$daemon"
	eventually grep -q 'configuration read again' "$room/daemon"
	kill -STOP "${started[1]}"
	sleep 0.3
	kill -KILL "${started[1]}"
	"$GPREEMPT" ps
	kill "$daemon"
	wait "$daemon"
	# The tracer still writes.
	# shellcheck disable=SC2016
	eventually eval '! pgrep -f "^strace .*$room/calls"'
	sed -nE 's/^[0-9]+ +([a-z0-9_]+)\(.*/\1/p' "$room/calls" | sort -u >"$room/made"
	# It has traced threads as well.
	grep -x epoll_pwait2 "$room/made"
	[ "$(cut -d ' ' -f 1 "$room/calls" | sort -u | wc -l)" -gt 2 ]
	allowed_calls "$BUILD_DIR/integrations/gpreemptd.service" | sort >"$room/allowed"
	grep -qx read "$room/allowed"
	run comm -23 "$room/made" "$room/allowed"
	echo "not allowed: $output"
	[ -z "$output" ]
}
