#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The options of the build: -Dopencl with OpenCL's headers and without. Nothing is compiled.

bats_require_minimum_version 1.5.0

setup() {
	: "${SOURCE_DIR:=.}"
	folder=$BATS_TEST_TMPDIR/build
	# A header that fails stands for one that is not there.
	mkdir -p "$BATS_TEST_TMPDIR/none/CL"
	echo '#error none' >"$BATS_TEST_TMPDIR/none/CL/cl_layer.h"
	command -v meson >/dev/null || skip "no meson"
	unset CC CFLAGS
}

configure() {
	meson setup "$folder" "$SOURCE_DIR" -Dtests=disabled -Dman=disabled -Dvariants=false "$@"
}

# Whether the library that joins OpenCL programs is built.
has_layer() {
	meson introspect --targets "$folder" | grep -qF '"gpreempt-opencl"'
}

# The reason that the program shows, as its source gets it; nothing if the backend is built.
missing() {
	grep -oE 'OPENCL_MISSING=[^ ]*"[^"]*"' "$folder/compile_commands.json" | grep -oE 'built [^"\\]*' || true
}

@test "opencl=auto takes the layer where its headers are" {
	has=no
	! echo '#include <CL/cl_layer.h>' | cc -fsyntax-only -xc - 2>/dev/null || has=yes
	configure
	if [ "$has" = yes ]; then
		has_layer
		[ -z "$(missing)" ]
	else
		run ! has_layer
		[ "$(missing)" = "built without OpenCL headers" ]
	fi
}

@test "opencl=auto leaves the layer out where its headers are not" {
	configure -Dc_args="-I$BATS_TEST_TMPDIR/none"
	run ! has_layer
	[ "$(missing)" = "built without OpenCL headers" ]
}

@test "opencl=enabled refuses to build without the headers" {
	run configure -Dopencl=enabled -Dc_args="-I$BATS_TEST_TMPDIR/none"
	[ "$status" -ne 0 ]
	[[ $output == *"CL/cl_layer.h was not found: install opencl-headers, or set -Dopencl=auto"* ]]
}

@test "opencl=disabled leaves the layer out" {
	configure -Dopencl=disabled
	run ! has_layer
	[ "$(missing)" = "built with -Dopencl=disabled" ]
}
