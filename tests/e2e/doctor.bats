#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt doctor on machines with problems: /dev, /proc and /sys are made in a mount namespace.
# daemon.bats has the tests with a daemon and on emulated machines.

bats_require_minimum_version 1.5.0

setup() {
	: "${BUILD_DIR:=build}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	export GPREEMPT GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset LD_PRELOAD GPREEMPT_EMU_DIR
}

# Runs the commands of $1 and then the doctor; with $2, as the user nobody.
doctor_where() {
	[ "$(id -u)" -eq 0 ] || skip "only root can put another machine together"
	unshare -m mount -t tmpfs none /mnt 2>/dev/null || skip "unshare and mount are not permitted"
	setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$GPREEMPT" ||
		skip "$GPREEMPT is where nobody else can go"
	# shellcheck disable=SC2016
	run unshare -m bash -c '
		set -e
		mount -t tmpfs none /mnt
		for device in null zero urandom; do
			touch /mnt/$device
			mount --bind /dev/$device /mnt/$device
		done
		mount --rbind /mnt /dev
		eval "$1"
		[ -z "$2" ] || as="setpriv --reuid=65534 --regid=65534 --clear-groups"
		$as "$GPREEMPT" doctor' bash "$1" "${2:-}"
	echo "$output"
}

@test "a device that is not open to the user" {
	doctor_where 'touch /dev/kfd; chmod 660 /dev/kfd' nobody
	[ "$status" -eq 1 ]
	[[ $output == *"bad   amd          /dev/kfd is open to the group render; add the user to it with usermod -aG render"* ]]
}

@test "a device without GPUs" {
	doctor_where 'touch /dev/kfd; mount -t tmpfs none /sys/class'
	[[ $output == *"warn  amd          /dev/kfd exists, but there is no GPU"*"-> 'dmesg' may say why"* ]]
}

@test "no device: bad only if the driver is loaded" {
	doctor_where 'mount -t tmpfs none /sys/module'
	[[ $output == *"warn  amd          there is no /dev/kfd"*"-> To try it without a GPU:"* ]]
	[[ $output == *"ok    nvidia       no driver of NVIDIA's is loaded"* ]]
	doctor_where 'mount -t tmpfs none /sys/module; mkdir /sys/module/amdgpu'
	[[ $output == *"bad   amd          there is no /dev/kfd"* ]]
}

# shellcheck disable=SC2016
nvidia='mount -t tmpfs none /proc/driver
	gpu=/proc/driver/nvidia/gpus/0000:01:00.0
	mkdir -p $gpu
	echo "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build" \
		>/proc/driver/nvidia/version
	printf "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-1\nDevice Minor: \t 0\n" >$gpu/information'

@test "NVIDIA's driver without its device" {
	doctor_where "$nvidia"
	[[ $output == *"bad   nvidia       NVIDIA's driver 580.159.04 is loaded, but /dev/nvidiactl cannot be opened: No such file"*"-> 'nvidia-modprobe' creates it."* ]]
}

@test "NVIDIA's GPUs, with and without their system processor" {
	doctor_where "$nvidia; touch /dev/nvidiactl"
	[[ $output == *"ok    nvidia       NVIDIA's driver 580.159.04, open kernel module, 1 GPU"* ]]
	[[ $output == *"warn  gpu0         NVIDIA H200: the driver does not use the GPU's system processor"* ]]
	# shellcheck disable=SC2016
	doctor_where "$nvidia; touch /dev/nvidiactl"'; echo "GPU Firmware: 580.159.04" >>$gpu/information'
	[[ $output == *"ok    gpu0         NVIDIA H200: channel groups are held off the GPU"* ]]
	# shellcheck disable=SC2016
	doctor_where "$nvidia; touch /dev/nvidiactl"'; rm -r $gpu'
	[[ $output == *"warn  nvidia       NVIDIA's driver 580.159.04, open kernel module, 0 GPUs"* ]]
}

@test "a driver of NVIDIA that is not known" {
	doctor_where "${nvidia//580.159.04/610.43.02}; touch /dev/nvidiactl"
	[[ $output == *"warn  nvidia       gpreempt does not know NVIDIA's driver 610.43.02: programs on NVIDIA GPUs run unscheduled"*"-> 'gpreempt probe' tries what it can do;"* ]]
	doctor_where "${nvidia//Open Kernel Module for x86_64/x86_64 Kernel Module}; touch /dev/nvidiactl"
	[[ $output == *"warn  nvidia       NVIDIA's driver 580.159.04 has the proprietary kernel module"* ]]
	doctor_where "${nvidia//580.159.04/550.54.14}; touch /dev/nvidiactl"
	[[ $output != *"does not know"* ]]
}

scope() {
	echo "mount -t tmpfs none /proc/sys/kernel; mkdir /proc/sys/kernel/yama
		echo $1 >/proc/sys/kernel/yama/ptrace_scope"
}

@test "ptrace permissions" {
	doctor_where "$(scope 0)" nobody
	[[ $output == *"ok    ptrace       your programs can be held without having joined"* ]]
	doctor_where "$(scope 1)"
	[[ $output == *"ok    ptrace       kernel.yama.ptrace_scope is 1, but root may trace all programs"* ]]
	doctor_where "$(scope 1)" nobody
	[[ $output == *"warn  ptrace       kernel.yama.ptrace_scope is 1: programs that have not joined can be held only by root"* ]]
	doctor_where "$(scope 3)"
	[[ $output == *"warn  ptrace       kernel.yama.ptrace_scope is 3: programs that have not joined cannot be held"$'\n'* ]]
}

@test "without userfaultfd" {
	# A seccomp filter like that of containers.
	run python3 - "$GPREEMPT" doctor <<-'END'
		import ctypes, os, platform, struct, sys

		number = {"x86_64": 323, "aarch64": 282}.get(platform.machine())
		if not number:
		    sys.exit(77)
		allow, forbid = 0x7fff0000, 0x00050001
		code = b"".join(struct.pack("HBBI", *i) for i in (
		    (0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, forbid), (0x06, 0, 0, allow)))
		room = ctypes.create_string_buffer(code)
		program = struct.pack("HP", 4, ctypes.addressof(room))
		libc = ctypes.CDLL(None, use_errno=True)
		if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program):
		    sys.exit(77)
		os.execv(sys.argv[1], sys.argv[1:])
	END
	[ "$status" -ne 77 ] || skip "no system calls can be forbidden here"
	echo "$output"
	[[ $output == *"warn  userfaultfd  no userfaultfd with write protection: emulated machines poll doorbells"*"-> Linux 5.19 or later has it"* ]]
}

@test "the remedy for a missing daemon fits the installation" {
	# shellcheck disable=SC2016 # it runs in the namespace
	doctor_where 'for folder in /etc /usr/lib /lib /usr/local/lib; do
		[ ! -d $folder/systemd/system ] || mount -t tmpfs none $folder/systemd/system
	done'
	[[ $output == *"bad   daemon       no gpreemptd runs"*"-> Start one: 'gpreemptd &' for your own programs, as root for all users."* ]]
	[ -d /etc/systemd/system ] || return 0
	doctor_where 'mount -t tmpfs none /etc/systemd/system; touch /etc/systemd/system/gpreemptd.service'
	[[ $output == *"-> Start one: 'systemctl enable --now gpreemptd' for all users"* ]]
}
