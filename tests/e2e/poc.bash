# SPDX-License-Identifier: MIT
# Helpers for the tests of stage 1: paths, and machines to run on.
# shellcheck shell=bash disable=SC2154 # status and output are of run

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${SOURCE_DIR:=.}"
	: "${WORKLOADS:=$PWD/build/src/demo}" "${POC_PROGRAMS:=$PWD/build/tests/poc}"
	: "${GPREEMPT_POC_LIB:=$PWD/build/src/poc/libgpreempt_poc.so}"
	: "${JOIN:=$PWD/build/src/join/libgpreempt-join.so}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR WORKLOADS GPREEMPT_POC_LIB PYTHONDONTWRITEBYTECODE=1
	export PYTHONPATH=$SOURCE_DIR/python:$SOURCE_DIR/tests/poc
	unset GPREEMPT_EMU_DIR GPREEMPT_POC_WAY GPREEMPT_WAY
}

teardown() {
	"$GPREEMPT" emu stop --all
}

# Runs a script on a new machine with the options before the --. Its programs end with it, so that
# nothing of a failed test keeps running.
on_machine() {
	local options=(--cus 4)

	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	[ -x "$WORKLOADS/offline_trainer" ] ||
		skip "no offline_trainer: it needs libhsa-runtime-dev"
	run timeout 300 "$GPREEMPT" emu exec "${options[@]}" -- "$@"
	echo "$output"
	[ "$status" -eq 0 ]
}
