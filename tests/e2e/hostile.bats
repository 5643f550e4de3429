#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Each known attack on gpreemptd for about a second, beside programs of other users. The daemon
# survives and answers, the victims are held and released, and memory and log are bounded. Attacks that
# it does not withstand yet are in tests/hostile/expected-failures.

bats_require_minimum_version 1.5.0

setup() {
	: "${BUILD_DIR:=build}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	: "${WORKLOADS:=$BUILD_DIR/src/demo}" "${SOURCE_DIR:=$PWD}"
}

# withstands ATTACK,...
withstands() {
	[ "$(id -u)" -eq 0 ] || skip "only root can be other users"
	run timeout -k 1 400 "$SOURCE_DIR/tests/hostile/soak.py" "$GPREEMPT" "$BUILD_DIR/src/daemon/gpreemptd" \
		"$BUILD_DIR/tests/hostile" "$WORKLOADS" --each 1 --attacks "$1" 3>&-
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "attackers cannot make the daemon or a machine wait, grow or write without end" {
	withstands linger,groups,regroup,why,deaf,toggle,subuids,machine
}

@test "attackers cannot take GPU time by lying" {
	withstands weight,claim,announce
}

@test "attackers cannot evade the operator, mislead people or learn of others" {
	withstands escape,presence,names,probe,container
}

@test "the soak says that it needs root" {
	[ "$(id -u)" -eq 0 ] || skip "only root can be another user"
	setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$SOURCE_DIR/tests/hostile/soak.py" ||
		skip "other users cannot read the source"
	run setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$SOURCE_DIR/tests/hostile/soak.py" x x x x
	echo "$output"
	[ "$status" -eq 77 ]
	[[ $output == *"run this as root"* ]]
}
