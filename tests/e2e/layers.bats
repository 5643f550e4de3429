#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# scripts/check-layers must see an arrow that points the wrong way.

setup() {
	: "${SOURCE_DIR:=.}"
	check=$(realpath "$SOURCE_DIR/scripts/check-layers")
	cd "$BATS_TEST_TMPDIR" || return
	mkdir -p src/core src/policy src/base src/cli
	echo '#include "core/core.h"' >src/policy/hpf.c
	echo '#include <stdint.h>' >src/core/core.h
	echo '#include <stdio.h>' >src/base/log.c
	echo '#include "core/core.h"' >src/cli/main.c
}

@test "arrows that point the right way" {
	run "$check"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "core may not use policy" {
	echo '  #  include "policy/policy.h"' >>src/core/core.h
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *"src/core/core.h:2: src/core may not include"* ]]
}

@test "core may not use libc" {
	echo '#include <stdio.h>' >>src/core/core.h
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *"freestanding"* ]]
}

@test "angle brackets do not hide a room" {
	echo '#include <core/core.h>' >>src/base/log.c
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *"src/base may not include"* ]]
}

@test "a path that climbs out is seen" {
	echo '#include "../core/core.h"' >>src/base/log.c
	run "$check"
	[ "$status" -eq 1 ]
}

@test "a room without a rule is seen" {
	mkdir src/attic
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *"src/attic"* ]]
}
