# SPDX-License-Identifier: MIT
# What tests with a daemon have in common: to start one, and to wait for what must come.
# shellcheck shell=bash

# Until the command succeeds; it is tried for 20 seconds.
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

# Until the command's output has the words; with what it had at last in $output.
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

# Of $GPREEMPT's build, with the decision log $1, if any; it listens when this returns. Sets
# $daemon. In $room, or else in the test's folder: its configuration in gpreemptd.conf, and in
# daemon what it says.
start_daemon() {
	local folder=${room:-$BATS_TEST_TMPDIR}

	printf '[daemon]\nlog = %s\n' "${1:-}" >"$folder/gpreemptd.conf"
	"${GPREEMPT%/cli/gpreempt}/daemon/gpreemptd" -c "$folder/gpreemptd.conf" \
		2>>"$folder/daemon" 3>&- &
	daemon=$!
	started+=("$daemon")
	eventually "$GPREEMPT" ps
}

# What a program of random steps says of the memory it left, in what it printed.
memory_of() {
	grep -o 'memory [0-9a-f]*' <<<"$1"
}
