# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A machine with NVIDIA GPUs for gpreempt, put together in a mount namespace.

# on_nvidia LINE... -- COMMAND [OPTION...]: a command of gpreempt on a machine with two NVIDIA GPUs, the
# second of them with firmware, where gpreempt-nvidia-try prints these lines.
on_nvidia() {
	local try=$BATS_TEST_TMPDIR/try

	[ "$(id -u)" -eq 0 ] || skip "only root can put another machine together"
	unshare -m mount -t tmpfs none /mnt 2>/dev/null || skip "unshare and mount are not permitted"
	echo '#!/bin/sh' >"$try"
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		echo "echo '$1'" >>"$try"
		shift
	done
	shift
	chmod +x "$try"
	# shellcheck disable=SC2016
	unshare -m bash -c '
		set -e
		mount -t tmpfs none /proc/driver
		for i in 0 1; do
			gpu=/proc/driver/nvidia/gpus/0000:0$i:00.0
			mkdir -p $gpu
			printf "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-$i\nDevice Minor: \t $i\n" >$gpu/information
		done
		echo "GPU Firmware: 580.159.04" >>$gpu/information
		echo "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build" \
			>/proc/driver/nvidia/version
		mount --bind "$1" "$2"
		shift 2
		exec "$@"' bash "$try" "$(dirname "$GPREEMPT")/../device/nvrm/gpreempt-nvidia-try" \
		"$GPREEMPT" "$@"
}
