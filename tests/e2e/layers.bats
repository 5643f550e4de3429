#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# scripts/check-layers finds an #include line that scripts/layers does not allow, and an outdated
# table in CONTRIBUTING.md. Each case has a small tree and a table of its own.

setup() {
	: "${SOURCE_DIR:=.}"
	SOURCE_DIR=$(realpath "$SOURCE_DIR")
	cd "$BATS_TEST_TMPDIR" || return
	mkdir -p scripts src/core src/policy src/base src/cli src/device/red src/device/blue
	cp "$SOURCE_DIR/scripts/check-layers" scripts/
	check=$BATS_TEST_TMPDIR/scripts/check-layers
	row src/core/ freestanding
	row src/policy/ 'freestanding core'
	row src/base/ –
	row src/device/ base
	row src/device/red/ 'base core/core.h'
	row src/device/blue/ base
	row src/cli/ all
	echo '#include "core/core.h"' >src/policy/hpf.c
	echo '#include <stdint.h>' >src/core/core.h
	echo '#include <stdio.h>' >src/base/log.c
	echo '#include "core/core.h"' >src/cli/main.c
	echo '#include "base/log.h"' >src/device/backend.h
	printf '#include "%s"\n' device/backend.h core/core.h >src/device/red/red.c
	printf '#include "%s"\n' device/backend.h device/blue/blue.h >src/device/blue/blue.c
}

row() {
	printf '%s\t%s\ttext\n' "$@" >>scripts/layers
}

@test "allowed includes pass" {
	run "$check"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "core may not use policy" {
	echo '  #  include "policy/policy.h"' >>src/core/core.h
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *'src/core/core.h:2: src/core may not include "policy/policy.h"'* ]]
}

@test "core may not use libc" {
	echo '#include <stdio.h>' >>src/core/core.h
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *"src/core is freestanding and may not include <stdio.h>"* ]]
}

@test "angle brackets do not hide a folder" {
	echo '#include <core/core.h>' >>src/base/log.c
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *'src/base may not include "core/core.h"'* ]]
}

@test "src/join names vendors only in its table of backends" {
	mkdir -p src/join/hsa
	row src/join/ –
	echo 'int amd_first;' | tee src/join/backends.c >src/join/hsa/entry.c
	run "$check"
	[ "$status" -eq 0 ]
	echo '/* of the OpenCL layer */' >>src/join/agent.c
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *'src/join/agent.c:1: src/join names a vendor, "OpenCL", outside src/join/backends.c'* ]]
}

@test "a path with .. is refused" {
	echo '#include "../core/core.h"' >>src/base/log.c
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *'src/base/log.c:2: "../core/core.h" is in no folder'* ]]
}

@test "a folder without a row is refused" {
	mkdir src/attic
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *"src/attic has no row in scripts/layers"* ]]
}

@test "a row without a folder is refused" {
	row src/attic/ base
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *"src/attic/ has a row in scripts/layers and does not exist"* ]]
}

@test "a folder may not use its sibling" {
	echo '#include "device/blue/blue.h"' >>src/device/red/red.c
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *'src/device/red may not include "device/blue/blue.h"'* ]]
}

@test "a grant of one header is not one of its folder" {
	echo '#include "core/ring.h"' >>src/device/red/red.c
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *'src/device/red may not include "core/ring.h"'* ]]
}

@test "a temporary grant that is not needed is an error" {
	sed -i 's|^src/device/blue/\tbase|&  (core)|' scripts/layers
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *"src/device/blue no longer uses core: remove (core)"* ]]
	echo '#include "core/core.h"' >>src/device/blue/blue.c
	run "$check"
	[ "$status" -eq 0 ]
}

@test "the table in CONTRIBUTING.md is checked and written" {
	printf '%s\n' before '<!-- scripts/check-layers --write: begin -->' \
		'<!-- scripts/check-layers --write: end -->' after >CONTRIBUTING.md
	run "$check" --table
	[ "$status" -eq 1 ]
	[[ $output == *"run 'scripts/check-layers --write'"* ]]
	"$check" --write
	"$check" --table
	grep -q "src/policy/.*| text. Freestanding C | core |$" CONTRIBUTING.md
	[ "$(head -n 1 CONTRIBUTING.md) $(tail -n 1 CONTRIBUTING.md)" = "before after" ]
}
