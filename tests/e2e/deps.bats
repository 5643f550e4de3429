#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# scripts/deps and scripts/reconfigure on fake machines, whose tools the tests replace.

setup() {
	: "${SOURCE_DIR:=.}"
	deps=$SOURCE_DIR/scripts/deps
	bin=$BATS_TEST_TMPDIR/bin
	calls=$BATS_TEST_TMPDIR/calls
	mkdir -p "$bin"
	for tool in bash env sed grep cat; do
		ln -s "$(command -v "$tool")" "$bin/$tool"
	done
}

# Removes a link first: its target belongs to this machine.
tool() {
	rm -f "$bin/$1"
	printf '#!/bin/bash\n%s\n' "$2" >"$bin/$1"
	chmod +x "$bin/$1"
}

# Makes a Debian on which these packages are installed.
debian() {
	tool dpkg-query "printf 'installed %s\n' $*"
	tool apt-get "echo apt-get \"\$*\" >>'$calls'"
	tool id "echo 0"
	tool pkg-config :
}

demo_packages='gcc libc6-dev make meson ninja-build libjansson-dev libinih-dev libsmartcols-dev
	libncurses-dev uthash-dev scdoc'

@test "no missing packages: no output and no installation" {
	# shellcheck disable=SC2086
	debian $demo_packages
	PATH=$bin run "$deps" demo
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ ! -e "$calls" ]
}

@test "installs and names only missing packages" {
	# shellcheck disable=SC2086
	debian ${demo_packages/scdoc/}
	PATH=$bin run "$deps" demo
	[ "$status" -eq 0 ]
	[[ $output == "Installing 1 missing packages for 'make demo': scdoc" ]]
	[ "$(cat "$calls")" = "apt-get install -y -q --no-install-recommends scdoc" ]
}

@test "a prefix of an installed package's name is missing" {
	# shellcheck disable=SC2086
	debian ${demo_packages/make/make-guile} cmake
	PATH=$bin run "$deps" demo
	[[ $output == *"'make demo': make" ]]
}

@test "old package lists are fetched once, and a failure is passed on" {
	debian gcc
	tool apt-get "echo apt-get \"\$1\" >>'$calls'; [ \"\$1\" = update ]"
	PATH=$bin run "$deps" demo
	[ "$status" -ne 0 ]
	[ "$(tr '\n' ' ' <"$calls")" = "apt-get install apt-get update apt-get install " ]
}

@test "neither root nor sudo: prints the command" {
	debian gcc
	tool id "echo 1000"
	PATH=$bin run "$deps" test
	[ "$status" -eq 1 ]
	[[ $output == *"needs root or sudo"* ]]
	[[ $output == *"As root, run:"*"apt-get install"*"libcmocka-dev"* ]]
	[ ! -e "$calls" ]
}

@test "sudo is used if it is installed" {
	debian gcc
	tool id "echo 1000"
	tool sudo "echo sudo >>'$calls'; exec \"\$@\""
	PATH=$bin run "$deps" demo
	[ "$status" -eq 0 ]
	[ "$(head -1 "$calls")" = sudo ]
}

@test "another distribution: prints the reason and the packages" {
	PATH=$bin run "$deps" demo
	[ "$status" -eq 1 ]
	[[ $output == *"not Debian or Ubuntu"* ]]
	[[ $output == *"libjansson-dev"* ]]
}

@test "another distribution with the tools: continues" {
	tool meson :
	tool ninja :
	PATH=$bin run "$deps" demo
	[ "$status" -eq 0 ]
}

@test "an unknown purpose is wrong usage" {
	run "$deps" fun
	[ "$status" -eq 2 ]
}

@test "tests use the LLVM version of the decoder's tables, if available" {
	debian gcc
	tool apt-cache "[ \"\$2\" = llvm-19 ]"
	PATH=$bin run "$deps" test
	[ "$status" -eq 0 ]
	[[ $output == *" clang-19 lld-19 llvm-19" ]]
}

@test "tests use the default LLVM if that version is not available" {
	debian gcc
	tool apt-cache false
	PATH=$bin run "$deps" test
	[ "$status" -eq 0 ]
	[[ $output == *" clang lld llvm" ]]
}

@test "availability is checked again with new package lists" {
	debian gcc
	tool apt-cache "[ -e '$calls.updated' ]"
	tool apt-get "echo apt-get \"\$*\" >>'$calls'
		case \$1 in update) : >'$calls.updated' ;; install) [ -e '$calls.updated' ] ;; esac"
	PATH=$bin run "$deps" test
	[ "$status" -eq 0 ]
	[[ $(tail -1 "$calls") == *" clang-19 lld-19 llvm-19 "* ]]
}

@test "a demo needs no LLVM and no ROCm" {
	debian gcc
	tool apt-cache true
	PATH=$bin run "$deps" demo
	[[ $output != *llvm* && $output != *clang* && $output != *rocm* && $output != *hip* ]]
}

@test "tests use the available ROCm packages" {
	debian gcc
	tool apt-cache "[ \"\$2\" = rocminfo ] || [ \"\$2\" = libhsa-runtime-dev ]"
	PATH=$bin run "$deps" test
	[ "$status" -eq 0 ]
	[[ $output == *" libhsa-runtime-dev rocminfo" ]]
}

@test "arm64 installs a compiler and an emulator, and no libraries" {
	debian qemu-user
	PATH=$bin run "$deps" arm64
	[ "$status" -eq 0 ]
	[[ $output == *"'make arm64': gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross "* ]]
	[[ $(cat "$calls") != *:arm64* ]]
}

# Makes a configured build folder, and a meson that prints its arguments.
build_folder() {
	build=$BATS_TEST_TMPDIR/build
	mkdir "$build"
	: >"$build/build.ninja"
	ln -s "$(command -v find)" "$(command -v sort)" "$bin"
	tool meson "echo meson \"\$*\" >>'$calls'"
}

@test "a build is reconfigured once when a compiler was installed" {
	build_folder
	PATH=$bin "$SOURCE_DIR/scripts/reconfigure" --note "$build"
	PATH=$bin "$SOURCE_DIR/scripts/reconfigure" "$build"
	[ ! -e "$calls" ]
	tool clang-19 :
	PATH=$bin "$SOURCE_DIR/scripts/reconfigure" "$build"
	PATH=$bin "$SOURCE_DIR/scripts/reconfigure" "$build"
	[ "$(<"$calls")" = "meson setup --reconfigure $build" ]
}

@test "a build without a note is reconfigured; one that is not set up is not" {
	build_folder
	PATH=$bin "$SOURCE_DIR/scripts/reconfigure" "$build"
	[ "$(<"$calls")" = "meson setup --reconfigure $build" ]
	rm "$calls" "$build/build.ninja"
	PATH=$bin "$SOURCE_DIR/scripts/reconfigure" "$build"
	[ ! -e "$calls" ]
}

@test "a failed reconfiguration is retried" {
	build_folder
	tool meson "echo meson >>'$calls'; exit 1"
	PATH=$bin run "$SOURCE_DIR/scripts/reconfigure" "$build"
	[ "$status" -eq 1 ]
	PATH=$bin run "$SOURCE_DIR/scripts/reconfigure" "$build"
	[ "$(wc -l <"$calls")" -eq 2 ]
}
