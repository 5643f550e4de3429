#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Nobody's work depends on gpreemptd: what happens when it, a disk, a program or a machine fails.

bats_require_minimum_version 1.5.0

setup() {
	: "${BUILD_DIR:=build}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	: "${WORKLOADS:=$BUILD_DIR/src/demo}" "${SOURCE_DIR:=$PWD}"
	GPREEMPTD=$BUILD_DIR/src/daemon/gpreemptd
}

@test "gpreemptd, programs and machines that are killed or stopped leave nobody excluded" {
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev and clang-19"
	run timeout 300 "$SOURCE_DIR/tests/failopen/soak.py" "$GPREEMPT" "$GPREEMPTD" "$WORKLOADS" --rounds 8
	echo "$output"
	[ "$status" -eq 0 ]
}
