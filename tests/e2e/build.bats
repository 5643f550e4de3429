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

@test "each part says the version of meson.build" {
	version=$(sed -n "s/^  version: '\(.*\)',/\1/p" "$SOURCE_DIR/meson.build")
	cd "$SOURCE_DIR"
	[ "$("$GPREEMPT" --version)" = "gpreempt $version" ]
	grep -qx "version = \"$version\"" python/pyproject.toml
	grep -qx "__version__ = \"$version\"" python/gpreempt.py
	[[ $(head -1 debian/changelog) == "gpreempt ($version-"* ]]
}

@test "each file that is installed is in one package for Debian" {
	cd "$SOURCE_DIR"
	for file in completions/_gpreempt completions/gpreempt.fish man/*.scd; do
		name=$(basename "$file" .scd)
		found=0
		while read -r pattern; do
			# shellcheck disable=SC2053 # a pattern
			[[ $name != $pattern ]] || found=$((found + 1))
		done < <(sed 's|.*/||' debian/*.install)
		[[ $name != *.3 ]] || found=1 # the folder man3
		[ "$found" -eq 1 ] || { echo "$file is in $found packages" && return 1; }
	done
}

@test "python3 -m gpreempt says which parts are there" {
	cd "$BATS_TEST_TMPDIR"
	run -0 env PYTHONPATH="$SOURCE_DIR/python" LD_LIBRARY_PATH="$BATS_TEST_TMPDIR" python3 -m gpreempt
	[[ $output == *"joined           no; start the program with 'gpreempt run'"* ]]
	run -0 env PYTHONPATH="$SOURCE_DIR/python" LD_LIBRARY_PATH="$(dirname "$GPREEMPT")/../queue" \
		python3 -m gpreempt
	[[ $output == *"libgpreempt      $("$GPREEMPT" --version | cut -d' ' -f2)"* ]]
}
