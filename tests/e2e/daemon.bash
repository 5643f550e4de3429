# SPDX-License-Identifier: MIT
# Helpers for tests with a daemon: starting it, and waiting.
# shellcheck shell=bash

# Repeats the command until it succeeds, for at most 20 seconds.
eventually() {
	local _

	for _ in {1..400}; do
		if "$@" >/dev/null 2>&1; then
			return 0
		fi
		sleep 0.05
	done
	echo "never true: $*" >&2
	return 1
}

# Repeats the command until its output has the text $1, for at most 20 seconds. Sets $output.
wait_for() {
	local words=$1 _

	shift
	for _ in {1..400}; do
		output=$("$@" 2>&1) || true
		[[ $output == *"$words"* ]] && return
		sleep 0.05
	done
	echo "never seen: $words, but: $output"
	return 1
}

# Starts the daemon of $GPREEMPT's build, with the decision log $1, if any, and the device files
# $devices, if any; it listens when this returns. Sets $daemon. Its configuration, gpreemptd.conf, and its output, daemon, are in $room or
# else in the test's folder.
start_daemon() {
	local folder=${room:-$BATS_TEST_TMPDIR}

	printf '[daemon]\nlog = %s\n' "${1:-}" >"$folder/gpreemptd.conf"
	[ -z "${devices:-}" ] || echo "devices = $devices" >>"$folder/gpreemptd.conf"
	"${GPREEMPT%/cli/gpreempt}/daemon/gpreemptd" -c "$folder/gpreemptd.conf" \
		2>>"$folder/daemon" 3>&- &
	daemon=$!
	started+=("$daemon")
	eventually "$GPREEMPT" ps
}

# Counts in the decision log, decisions, how often the GPU was made free before announced work arrived.
made_room() {
	awk '$5 == "arriving" && !/ at=0$/ { told = 1; out = 0 }
	     $5 == "exclude" { out = told }
	     $5 == "ready" { n += told && out && $4 == who; if ($4 == who) told = 0 }
	     $5 == "entity-add" && / prio=15 / { who = $4 }
	     END { print n + 0 }' "$BATS_TEST_TMPDIR/decisions"
}

# Prints the digest of its memory that a program of random steps has printed.
memory_of() {
	grep -o 'memory [0-9a-f]*' <<<"$1"
}
