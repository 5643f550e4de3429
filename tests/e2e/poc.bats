#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Stage 1: errors of libgpreempt_poc, and its use by one and several programs.

bats_require_minimum_version 1.5.0

load poc

refusals() {
	on_machine --kernel "$1" -- "$SOURCE_DIR/tests/poc/refusals.py" "${@:2}"
}

@test "stage 1: dbgtrap on a kernel with the series" {
	export GPREEMPT_POC_WAY=dbgtrap
	on_machine --kernel gpreempt -- "$SOURCE_DIR/tests/poc/cases.py" scheduler_killed
}

@test "stage 1: a program's own queues, joined and not" {
	on_machine --kernel gpreempt -- "$POC_PROGRAMS/own_queues"
	on_machine --kernel 6.12 -- "$POC_PROGRAMS/own_queues" --debuggable
	for kernel in gpreempt 6.12 6.1; do
		LD_PRELOAD=$JOIN on_machine --kernel $kernel -- "$POC_PROGRAMS/own_queues"
	done
	run -1 timeout 60 "$GPREEMPT" emu exec --kernel 6.1 -- "$POC_PROGRAMS/own_queues"
	[[ $output == *"suspend: process "*"this kernel does not have DBG_TRAP"* ]]
}

@test "stage 1: no device, no permission" {
	[ ! -e /dev/kfd ] || skip "there is a /dev/kfd"
	run "$SOURCE_DIR/tests/poc/refusals.py" no_device
	echo "$output"
	[ "$status" -eq 0 ]
	# A device of root's, for another user.
	unshare -m mount -t tmpfs none /dev 2>/dev/null || skip "may not mount"
	setpriv --reuid 65534 --clear-groups test -r "$GPREEMPT_POC_LIB" -a -x /usr/bin/python3 ||
		skip "others may not read the library"
	run unshare -m sh -c 'mount -t tmpfs none /dev && touch /dev/kfd && chmod 600 /dev/kfd &&
		exec setpriv --reuid 65534 --clear-groups /usr/bin/python3 "$@"' _ \
		"$SOURCE_DIR/tests/poc/refusals.py" no_permission
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "stage 1: each refused call has a message" {
	for kernel in gpreempt 6.12; do
		refusals $kernel arguments all_or_none program_ended bad_way
	done
	refusals 6.12 debugger unwatchable
	refusals 6.12 no_runtime
	refusals gpreempt two_holders
	refusals 6.1 old_kernel
}

@test "stage 1: without context save a suspend drains, and says so" {
	for kernel in gpreempt 6.12; do
		on_machine --cwsr off --kernel $kernel -- "$SOURCE_DIR/tests/poc/refusals.py" drains
	done
}

@test "stage 1: many threads, forks, and initialising again" {
	for kernel in gpreempt 6.12; do
		refusals $kernel many_threads fork begin_anew
	done
}
