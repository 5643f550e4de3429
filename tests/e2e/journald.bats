#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreemptd's messages and decisions in a real systemd-journald, which runs in a mount namespace of the test.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # each test is a process; of run and daemon.bash

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${BUILD_DIR:=build}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	[ "$(id -u)" -eq 0 ] || skip "needs root to have a /run of its own"
	for tool in /lib/systemd/systemd-journald "$(command -v unshare)" "$(command -v journalctl)" \
		"$(command -v systemd-cat)"; do
		[ -x "$tool" ] || skip "no systemd-journald, unshare, journalctl or systemd-cat"
	done
	room=$(mktemp -d /tmp/gpreempt-bats.XXXXXX)
	export GPREEMPT_SOCKET=$room/control.sock
	agent=$BUILD_DIR/tests/fake_agent
	gpreemptd=$(realpath "${GPREEMPT%/cli/gpreempt}/daemon/gpreemptd")
	started=()
	# It has a /run of its own until it is killed.
	unshare --mount --fork sh -c 'mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal &&
		exec /lib/systemd/systemd-journald' >/dev/null 2>&1 3>&- &
	started+=($!)
	eventually pgrep -P $! -x systemd-journal
	journald=$(pgrep -P $! -x systemd-journal)
	eventually inside test -S /run/systemd/journal/stdout
}

teardown() {
	local pid

	# unshare itself ignores signals.
	[ -z "${journald:-}" ] || kill "$journald" || true
	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	rm -rf "${room:?}"
}

# Runs a command in the namespace.
inside() {
	nsenter --mount --target "$journald" "$@"
}

# Starts the daemon there, as a service is, with these lines of configuration.
start_service() {
	printf '[daemon]\n%s\n' "$1" >"$room/conf"
	# systemd names the stream like this; systemd-cat did not before version 254.
	nsenter --mount --target "$journald" systemd-cat --identifier other sh -c 'export JOURNAL_STREAM=$(stat -L -c %d:%i /proc/$$/fd/2)
		exec "$@"' sh "$gpreemptd" -v -c "$room/conf" 3>&- &
	started+=($!)
	daemon=$!
	eventually "$GPREEMPT" ps
}

# Prints the value of $1 in each entry with these matches.
entries() {
	local field=$1

	shift
	inside journalctl --sync
	inside journalctl --output json --all "$@" | python3 -c 'import json, sys
for line in sys.stdin:
    print(json.loads(line).get(sys.argv[1]))' "$field"
}

@test "messages have the pid and the user that they are about, a priority and a name" {
	start_service ''
	run -0 entries MESSAGE SYSLOG_IDENTIFIER=gpreemptd _TRANSPORT=journal PRIORITY=6
	[[ $output == "listening at $GPREEMPT_SOCKET with policy hpf"* ]]
	"$agent" -n train -p 2 -w 1000ms:1ms >/dev/null 3>&- &
	started+=($!)
	"$agent" -n serve -p 15 -w 1000ms:1ms >"$room/serve.out" 3>&- &
	serve=$!
	started+=("$serve")
	wait_for serve "$GPREEMPT" ps
	sleep 0.5
	kill -STOP "$serve"
	sleep 2
	kill -CONT "$serve"
	run -0 entries MESSAGE "GPREEMPT_PID=$serve" GPREEMPT_USER=0
	[ "${lines[0]}" = "process $serve, user 0, is stopped: it holds no other program" ]
}

@test "decisions: one entry for a hold, with its rule and both programs, if they are wanted" {
	start_service 'journal = decisions'
	"$agent" -n train -p 2 -t batch -q 3 -w 1000ms:1ms >/dev/null 3>&- &
	train=$!
	started+=("$train")
	wait_for train "$GPREEMPT" ps
	"$agent" -n serve -p 15 -w 100ms:100ms >/dev/null 3>&- &
	serve=$!
	started+=("$serve")
	eventually eval '[ "$(entries MESSAGE GPREEMPT_EVENT=released GPREEMPT_PID=$train | wc -l)" -ge 3 ]'
	kill -STOP "$serve"
	run -0 entries MESSAGE GPREEMPT_EVENT=held "GPREEMPT_PID=$train" GPREEMPT_RULE=priority \
		"GPREEMPT_BY_PID=$serve" GPREEMPT_BY_PROGRAM=serve GPREEMPT_TAG=batch GPREEMPT_PROGRAM=train
	kill -CONT "$serve"
	[ "${lines[0]}" = "train (pid $train) is held for serve (pid $serve) (rule: priority)" ]
	# An entry for the group, not for each of its three queues.
	n=$(entries MESSAGE GPREEMPT_EVENT=held "GPREEMPT_PID=$train" | wc -l)
	run -0 "$GPREEMPT" why tag:batch --json
	holds=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["groups"][0]["holds"])' <<<"$output")
	[ "$n" -ge 3 ]
	[ "$n" -le "$holds" ]
	# A reload without the key ends them.
	echo '[daemon]' >"$room/conf"
	kill -HUP "$daemon"
	eventually eval '[[ $(entries MESSAGE) == *"configuration read again"* ]]'
	n=$(entries MESSAGE GPREEMPT_EVENT=held | wc -l)
	sleep 0.5
	[ "$(entries MESSAGE GPREEMPT_EVENT=held | wc -l)" -le "$n" ]
}

@test "without journald, messages go to standard error, which says why decisions are not in it" {
	printf '[daemon]\njournal = decisions\n' >"$room/conf"
	unshare --mount sh -c 'mount -t tmpfs tmpfs /run && exec "$@"' sh "$gpreemptd" -c "$room/conf" \
		2>"$room/err" 3>&- &
	started+=($!)
	eventually "$GPREEMPT" ps
	eventually grep -q "nothing listens at /run/systemd/journal/socket: No such file" "$room/err"
	run -1 "$gpreemptd" -t -c <(printf '[daemon]\njournal = all\n')
	[[ $output == *"journal"* ]]
}
