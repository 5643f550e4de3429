#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# scripts/deps and scripts/reconfigure on machines that are not this one: their tools are replaced.

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

# Never through a link: what it points to is the machine's own.
tool() {
	rm -f "$bin/$1"
	printf '#!/bin/bash\n%s\n' "$2" >"$bin/$1"
	chmod +x "$bin/$1"
}

# A Debian on which the packages named are installed.
debian() {
	tool dpkg-query "printf 'installed %s\n' $*"
	tool apt-get "echo apt-get \"\$*\" >>'$calls'"
	tool id "echo 0"
	tool pkg-config :
}

demo_packages='gcc libc6-dev make meson ninja-build libjansson-dev libinih-dev libsmartcols-dev
	libncurses-dev uthash-dev scdoc'

@test "nothing is missing: nothing is said or done" {
	# shellcheck disable=SC2086
	debian $demo_packages
	PATH=$bin run "$deps" demo
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ ! -e "$calls" ]
}

@test "only what is missing is installed, and said" {
	# shellcheck disable=SC2086
	debian ${demo_packages/scdoc/}
	PATH=$bin run "$deps" demo
	[ "$status" -eq 0 ]
	[[ $output == "Installing 1 missing packages for 'make demo': scdoc" ]]
	[ "$(cat "$calls")" = "apt-get install -y -q --no-install-recommends scdoc" ]
}

@test "a name that only begins like an installed one is missing" {
	# shellcheck disable=SC2086
	debian ${demo_packages/make/make-guile} cmake
	PATH=$bin run "$deps" demo
	[[ $output == *"'make demo': make" ]]
}

@test "old package lists are fetched once, and failure is passed on" {
	debian gcc
	tool apt-get "echo apt-get \"\$1\" >>'$calls'; [ \"\$1\" = update ]"
	PATH=$bin run "$deps" demo
	[ "$status" -ne 0 ]
	[ "$(tr '\n' ' ' <"$calls")" = "apt-get install apt-get update apt-get install " ]
}

@test "neither root nor sudo: says what to do" {
	debian gcc
	tool id "echo 1000"
	PATH=$bin run "$deps" test
	[ "$status" -eq 1 ]
	[[ $output == *"needs root or sudo"* ]]
	[[ $output == *"As root: apt-get install"*"libcmocka-dev"* ]]
	[ ! -e "$calls" ]
}

@test "sudo is used where there is one" {
	debian gcc
	tool id "echo 1000"
	tool sudo "echo sudo >>'$calls'; exec \"\$@\""
	PATH=$bin run "$deps" demo
	[ "$status" -eq 0 ]
	[ "$(head -1 "$calls")" = sudo ]
}

@test "another distribution: the list and the reason" {
	PATH=$bin run "$deps" demo
	[ "$status" -eq 1 ]
	[[ $output == *"not Debian or Ubuntu"* ]]
	[[ $output == *"libjansson-dev"* ]]
}

@test "another distribution that has the tools: goes on" {
	tool meson :
	tool ninja :
	PATH=$bin run "$deps" demo
	[ "$status" -eq 0 ]
}

@test "an unknown purpose is wrong usage" {
	run "$deps" fun
	[ "$status" -eq 2 ]
}

@test "tests take the LLVM that the decoder's tables are from, where it is offered" {
	debian gcc
	tool apt-cache "[ \"\$2\" = llvm-19 ]"
	PATH=$bin run "$deps" test
	[ "$status" -eq 0 ]
	[[ $output == *" clang-19 lld-19 llvm-19" ]]
}

@test "tests take whatever LLVM there is where that is not offered" {
	debian gcc
	tool apt-cache false
	PATH=$bin run "$deps" test
	[ "$status" -eq 0 ]
	[[ $output == *" clang lld llvm" ]]
}

@test "what is offered is looked at again with fresh package lists" {
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

@test "tests take what there is of ROCm" {
	debian gcc
	tool apt-cache "[ \"\$2\" = rocminfo ] || [ \"\$2\" = libhsa-runtime-dev ]"
	PATH=$bin run "$deps" test
	[ "$status" -eq 0 ]
	[[ $output == *" libhsa-runtime-dev rocminfo" ]]
}

@test "arm64 takes a compiler and what runs its programs, and no libraries of the machine's own" {
	debian qemu-user
	PATH=$bin run "$deps" arm64
	[ "$status" -eq 0 ]
	[[ $output == *"'make arm64': gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross "* ]]
	[[ $(cat "$calls") != *:arm64* ]]
}

# A build folder that is set up, and a meson that says what it was called with.
build_folder() {
	build=$BATS_TEST_TMPDIR/build
	mkdir "$build"
	: >"$build/build.ninja"
	ln -s "$(command -v find)" "$(command -v sort)" "$bin"
	tool meson "echo meson \"\$*\" >>'$calls'"
}

@test "a build is reconfigured once when a compiler has come" {
	build_folder
	PATH=$bin "$SOURCE_DIR/scripts/reconfigure" --note "$build"
	PATH=$bin "$SOURCE_DIR/scripts/reconfigure" "$build"
	[ ! -e "$calls" ]
	tool clang-19 :
	PATH=$bin "$SOURCE_DIR/scripts/reconfigure" "$build"
	PATH=$bin "$SOURCE_DIR/scripts/reconfigure" "$build"
	[ "$(<"$calls")" = "meson setup --reconfigure $build" ]
}

@test "a build without a note is reconfigured, and one that is not set up is left alone" {
	build_folder
	PATH=$bin "$SOURCE_DIR/scripts/reconfigure" "$build"
	[ "$(<"$calls")" = "meson setup --reconfigure $build" ]
	rm "$calls" "$build/build.ninja"
	PATH=$bin "$SOURCE_DIR/scripts/reconfigure" "$build"
	[ ! -e "$calls" ]
}

@test "a reconfiguration that fails is tried again" {
	build_folder
	tool meson "echo meson >>'$calls'; exit 1"
	PATH=$bin run "$SOURCE_DIR/scripts/reconfigure" "$build"
	[ "$status" -eq 1 ]
	PATH=$bin run "$SOURCE_DIR/scripts/reconfigure" "$build"
	[ "$(wc -l <"$calls")" -eq 2 ]
}
