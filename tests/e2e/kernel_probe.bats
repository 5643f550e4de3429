#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Compares the emulated machine with the recorded answers of a kernel; tests the comparison, and
# scripts/kernel-probe without a kernel. 'make kernel-probe' uses a real one.

# The cases that depend on neither time nor other threads.
groups=(calls ids files mappings events runtime sysfs)

setup() {
	: "${SOURCE_DIR:=.}"
	compare=$SOURCE_DIR/tests/kernel/compare.py
	a=$BATS_TEST_TMPDIR/kernel
	b=$BATS_TEST_TMPDIR/emulated
	list=$BATS_TEST_TMPDIR/list.md
	printf 'one/x: EINVAL\none/y: 0\ntwo/z: 7 of them\n' >"$a"
	printf 'one/x: EINVAL\none/y: 1\ntwo/z: 7 of them\n' >"$b"
	# shellcheck disable=SC2016
	printf '# Why\n\nSo it is.\n\n| case | a | b |\n|---|---|---|\n| `one/y` | `0` | `1` |\n' >"$list"
}

answers_as() {
	[ "$(id -u)" -eq 0 ] || skip "some answers are root's"
	"$GPREEMPT" emu exec --gpus 0 --kernel "$1" -- "$BUILD_DIR/tests/kernel/kfd_probe" \
		"${groups[@]}" >"$b"
	run "$compare" "$SOURCE_DIR/tests/kernel/answers-$1" "$b" \
		"$SOURCE_DIR/docs/emulator-differences.md" "${groups[@]}"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "an emulated machine answers as Linux 6.12 did" {
	answers_as 6.12
}

@test "an emulated machine answers as Linux 6.1 did" {
	answers_as 6.1
}

@test "a listed difference is no failure" {
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 0 ]
	[ "$output" = "kernel-probe: 3 passed, 0 failed" ]
}

@test "an unlisted difference is a failure" {
	echo 'two/new: 1' >>"$b"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
	[[ $output == *"FAILED  two/new"*"kernel:           -"*"emulated machine: 1"* ]]
	[[ $output == *"kernel-probe: 3 passed, 1 failed" ]]
}

@test "a listed difference that no longer exists is a failure" {
	cp "$a" "$b"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
	[[ $output == *"FAILED  one/y"*"listed as:        0 | 1"* ]]
}

@test "a listed difference with another answer is a failure" {
	sed -i 's/one\/y: 1/one\/y: 2/' "$b"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
}

@test "a listed case that is not asked is one" {
	sed -i '/one.y/d' "$a" "$b"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
	[[ $output == *"one/y is listed as a difference, but no case asks it"* ]]
}

@test "with groups, only their cases count" {
	echo 'two/new: 1' >>"$b"
	run "$compare" "$a" "$b" "$list" one
	[ "$status" -eq 0 ]
	[ "$output" = "kernel-probe: 2 passed, 0 failed" ]
}

@test "a list without a reason, or with an invalid row, is refused" {
	sed -i '/So it is/d' "$list"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
	[[ $output == *"no reason is given for one/y"* ]]
	# shellcheck disable=SC2016
	printf '# Why\n\nSo.\n\n| `one/y` | 0 | 1 |\n' >"$list"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
	[[ $output == *"not of the form that is read"* ]]
}

@test "an invalid answer, or two answers to one case, are refused" {
	echo 'Segmentation fault' >>"$b"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
	[[ $output == *"this is no answer: Segmentation fault"* ]]
	cp "$a" "$b"
	echo 'one/x: 0' >>"$b"
	run "$compare" "$a" "$b" "$list"
	[ "$status" -eq 1 ]
	[[ $output == *"two answers to one/x"* ]]
}

# Makes a folder with fake tools, and a fake build.
stage() {
	bin=$BATS_TEST_TMPDIR/bin
	build=$BATS_TEST_TMPDIR/build
	mkdir -p "$bin" "$build/tests/kernel" "$build/src/cli"
	for name in tests/kernel/kfd_probe src/cli/gpreempt; do
		printf '#!/bin/sh\n' >"$build/$name"
		chmod +x "$build/$name"
	done
	for name in qemu-system-x86_64 busybox modprobe; do
		tool "$name" :
	done
	tool cpio 'cat >/dev/null'
	tool uname 'echo x86_64'
	tool sudo "exec \"\$@\""
	# All packages of scripts/deps.
	tool dpkg-query "tr -cs 'a-z0-9+.-' '\n' <'$SOURCE_DIR/scripts/deps' | sed 's/^/installed /'"
}

tool() {
	printf '#!/bin/bash\n%s\n' "$2" >"$bin/$1"
	chmod +x "$bin/$1"
}

probe_kernel() {
	PATH=$bin:$PATH run "$SOURCE_DIR/scripts/kernel-probe" "$@"
}

@test "kernel-probe: another series is wrong usage" {
	stage
	probe_kernel "$build" 5.10
	[ "$status" -eq 2 ]
	probe_kernel "$build" 6.12 --else
	[ "$status" -eq 2 ]
}

@test "kernel-probe: without a build, prints the command that builds" {
	stage
	rm "$build/src/cli/gpreempt"
	probe_kernel "$build" 6.12
	[ "$status" -eq 1 ]
	[[ $output == *"gpreempt is missing; 'make kernel-probe' builds it" ]]
}

@test "kernel-probe: is skipped on another architecture" {
	stage
	tool uname 'echo aarch64'
	probe_kernel "$build" 6.12
	[ "$status" -eq 77 ]
	[[ $output == *"for x86-64"* ]]
}

@test "kernel-probe: is skipped if packages cannot be installed" {
	stage
	tool dpkg-query :
	tool apt-cache :
	tool apt-get 'exit 100'
	probe_kernel "$build" 6.12
	[ "$status" -eq 77 ]
	[[ $output == *"cannot be installed" ]]
}

@test "kernel-probe: is skipped if there is no such kernel" {
	stage
	tool apt-cache 'echo linux-image-6.12-amd64; echo linux-image-6.12.9+deb12-cloud-amd64'
	probe_kernel "$build" 6.12
	[ "$status" -eq 77 ]
	[[ $output == *"apt knows no linux-image-6.12 package" ]]
}

@test "kernel-probe: is skipped if the newest kernel cannot be fetched" {
	stage
	# The newest name may be one that no mirror has any more.
	# shellcheck disable=SC2016
	tool apt-cache 'case $1 in
		pkgnames) printf "linux-image-6.12.%s+deb12-amd64\n" 9 115 113 ;;
		madison) [[ $2 == *115* ]] || echo "$2 | 1 | here" ;;
		esac'
	tool apt-get 'echo "E: no network" >&2; exit 100'
	probe_kernel "$build" 6.12
	[ "$status" -eq 77 ]
	[[ $output == *"apt cannot download linux-image-6.12.113+deb12-amd64 (E: no network)" ]]
	[ ! -e "$build/kernel-probe/6.12/complete" ]
}

# Makes a fake QEMU that runs the command $1 in the folder of the kernel.
stage_kernel() {
	stage
	mkdir -p "$build/kernel-probe/6.12/image/boot"
	: >"$build/kernel-probe/6.12/complete"
	: >"$build/kernel-probe/6.12/image/boot/vmlinuz-6.12.9"
	for name in depmod sleep; do
		tool "$name" :
	done
	tool qemu-system-x86_64 "cd '$build/kernel-probe/6.12'; $1"
}

@test "kernel-probe: a kernel that fails is reported with its console" {
	stage_kernel 'echo "Kernel panic: no init" >console; exit 1'
	probe_kernel "$build" 6.12
	[ "$status" -eq 1 ]
	[[ $output == *"did not shut down in time; its console:"*"Kernel panic: no init"* ]]
}

@test "kernel-probe: incomplete answers are an error" {
	stage_kernel 'echo "one/x: 0" >kernel.raw; echo "it ends here" >console'
	probe_kernel "$build" 6.12
	[ "$status" -eq 1 ]
	[[ $output == *"did not finish on Linux 6.12.9:"*"one/x: 0"*"it ends here"* ]]
}
