#!/bin/bash
# SPDX-License-Identifier: MIT
# Tests gpreempt-amdgpu-dkms with one version of dkms. scripts/dkms-test runs it in a mount namespace.
#
# Usage: dkms-machine.sh FOLDER ROOT PACKAGE
#
# FOLDER is where it mounts a tmpfs, ROOT has the files of dkms.
set -euo pipefail

work=$1
dkms=$2
package=$3
name=gpreempt-amdgpu
log=$work/log
old=6.1.0-40-amd64
plain=6.12.9+deb13-amd64
rt=6.12.9+deb13-rt-amd64
cloud=6.12.9+deb13-cloud-amd64

fail() {
	cat "$log" >&2
	echo "dkms-machine: $1" >&2
	exit 1
}

skip() {
	echo "dkms-machine: overlays cannot be mounted here"
	exit 77
}

make_machine() {
	local folder

	mount -t tmpfs none "$work" || skip
	for folder in usr etc var boot; do
		mkdir -p "$work/$folder/upper" "$work/$folder/work"
		mount -t overlay none "/$folder" \
			-o "lowerdir=/$folder,upperdir=$work/$folder/upper,workdir=$work/$folder/work" || skip
	done
	mkdir -p /lib/modules
	mount -t tmpfs none /lib/modules
	export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
}

# stub PROGRAM: the script is on standard input.
stub() {
	{
		echo '#!/bin/sh'
		cat
	} >"/usr/local/bin/$1"
	chmod +x "/usr/local/bin/$1"
}

make_stubs() {
	echo 'int x;' | gcc -c -x c - -o "$work/object"
	stub make <<-END
		case "\$*" in
		*" modules") ;;
		*) exit 0 ;;
		esac
		for a; do
			case \$a in
			M=*) cp $work/object "\${a#M=}/amdgpu.ko" ;;
			esac
		done
	END
	stub patch <<<"[ ! -e $work/patch-fails ]"
	stub depmod </dev/null
	stub modinfo </dev/null
	stub update-initramfs <<<"echo \"\$*\" >>$work/initramfs"
	stub mokutil <<-END
		case \$1 in
		--sb-state) echo SecureBoot enabled ;;
		--test-key)
			[ ! -e $work/enrolled ] || { echo "\$2 is already enrolled"; exit 1; }
			echo "\$2 is not enrolled"
			;;
		esac
	END
	stub uname <<-END
		[ "\$*" != -r ] || { echo $old; exit; }
		exec /usr/bin/uname "\$@"
	END
}

# install_debs DEB...: prints to $log.
install_debs() {
	dpkg --force-confold -i "$@" >"$log" 2>&1 </dev/null
}

# pack NAME VERSION [FOLDER]: makes a package with the files of $work/root; the kernel's hooks in FOLDER run.
pack() {
	mkdir -p "$work/root/DEBIAN"
	printf '%s\n' "Package: $1" "Version: $2" 'Architecture: all' 'Maintainer: nobody <nobody@example.org>' \
		'Description: stands for a package of Debian' >"$work/root/DEBIAN/control"
	if [[ ${3:-} ]]; then
		printf '#!/bin/sh\nexec run-parts --exit-on-error --arg=%s /etc/kernel/%s\n' "${1#linux-*-}" "$3" \
			>"$work/root/DEBIAN/postinst"
		chmod +x "$work/root/DEBIAN/postinst"
	fi
	dpkg-deb -b "$work/root" "$work/$1.deb" >/dev/null
	rm -r "$work/root"
}

# kernel VERSION KERNEL [SETTING...]: installs a kernel and its headers, whose configuration has SETTINGs.
kernel() {
	local version=$1 kernel=$2

	shift 2
	mkdir -p "$work/root/lib/modules/$kernel/build/include"
	printf '%s\n' "$@" >"$work/root/lib/modules/$kernel/build/.config"
	: >"$work/root/lib/modules/$kernel/build/include/file" # dkms deletes empty folders
	pack "linux-headers-$kernel" "$version" header_postinst.d
	mkdir -p "$work/root/boot"
	: >"$work/root/boot/config-$kernel"
	: >"$work/root/boot/initrd.img-$kernel"
	pack "linux-image-$kernel" "$version" postinst.d
	install_debs "$work/linux-headers-$kernel.deb" "$work/linux-image-$kernel.deb"
}

amdgpu=(CONFIG_DRM_AMDGPU=m CONFIG_HSA_AMD=y)

# linux_source VERSION
linux_source() {
	mkdir -p "$work/tree/linux-source-6.12"/{drivers/gpu/drm/amd/amdgpu,include/uapi/linux} "$work/root/usr/src"
	: >"$work/tree/linux-source-6.12/include/uapi/linux/kfd_ioctl.h"
	tar -cJf "$work/root/usr/src/linux-source-6.12.tar.xz" -C "$work/tree" linux-source-6.12
	pack linux-source-6.12 "$1"
	install_debs "$work/linux-source-6.12.deb"
}

# A package with the files of dkms, and without its maintainer scripts.
install_dkms() {
	cp -r "$dkms" "$work/root"
	pack dkms 3
	install_debs "$work/dkms.deb"
}

# The kernels that have the module, in the order of their names.
modules() {
	find /lib/modules -name 'amdgpu.ko*' -path '*/updates/dkms/*' | cut -d/ -f4 | LC_ALL=C sort | xargs
}

# has KERNEL...
has() {
	[[ $(modules) == "$*" ]] || fail "these kernels have the module: $(modules); not: $*"
}

says() {
	grep -qF -- "$1" "$log" || fail "it does not say: $1"
}

says_not() {
	! grep -qF -- "$1" "$log" || fail "it says: $1"
}

test_install() {
	linux_source 6.12.9-1
	kernel 6.1.150-1 $old "${amdgpu[@]}"
	kernel 6.12.9-1 $plain "${amdgpu[@]}"
	kernel 6.12.9-1 $rt "${amdgpu[@]}"
	kernel 6.12.9-1 $cloud
	install_debs "$package" || fail "the package cannot be installed"
	has $plain $rt
	says "no module for $old: the series is for Linux 6.12; its driver stays as it is"
	says "no module for $cloud: its configuration lacks CONFIG_DRM_AMDGPU=m"
	says 'Enroll MOK'
	[[ $(sort -u "$work/initramfs" | xargs) == "-u -k $plain -u -k $rt" ]] || fail "an initramfs is missing"
	dkms status >"$log" 2>&1
	says_not 'its driver stays'
}

test_kernels() {
	touch "$work/enrolled"
	kernel 6.1.151-1 6.1.0-41-amd64 "${amdgpu[@]}" || fail "a kernel of another series cannot be installed"
	says 'the series is for Linux 6.12'
	says_not 'no module was installed'
	says_not 'Secure Boot'
	kernel 6.12.10-1 6.12.10+deb13-amd64 "${amdgpu[@]}" || fail "a kernel that waits for its source cannot be installed"
	says 'its headers are 6.12.10-1 and linux-source-6.12 is 6.12.9-1'
	has $plain $rt
	linux_source 6.12.10-1 || fail "the source cannot be installed"
	has 6.12.10+deb13-amd64 $plain $rt
	says_not 'Secure Boot'
	kernel 6.12.10-1 6.12.10+deb13-rt-amd64 "${amdgpu[@]}" || fail "a second kernel cannot be installed"
	has 6.12.10+deb13-amd64 6.12.10+deb13-rt-amd64 $plain $rt
}

# The modules of the older kernels cannot be built again: their source is gone.
test_failures() {
	touch "$work/patch-fails"
	kernel 6.12.10-1 6.12.10+deb13-late-amd64 "${amdgpu[@]}" || fail "a kernel for which the build fails cannot be installed"
	says 'the build for 6.12.10+deb13-late-amd64 failed'
	has 6.12.10+deb13-amd64 6.12.10+deb13-rt-amd64 $plain $rt
	! install_debs "$package" || fail "an upgrade succeeds though the build fails"
	says "run 'dpkg --configure gpreempt-amdgpu-dkms'"
	has
	rm "$work/patch-fails" "$work/enrolled"
	dpkg --configure gpreempt-amdgpu-dkms >"$log" 2>&1 || fail "it cannot be configured again"
	has 6.12.10+deb13-amd64 6.12.10+deb13-late-amd64 6.12.10+deb13-rt-amd64
	says 'Enroll MOK'
}

# With the last module, dkms of Debian 12 forgets the source.
test_kernels_go() {
	local kernel

	for kernel in $(modules); do
		run-parts --exit-on-error --arg="$kernel" /etc/kernel/prerm.d >"$log" 2>&1 || fail "$kernel cannot be removed"
	done
	has
	says_not 'no module for'
	kernel 6.12.10-1 6.12.10+deb13-amd64 "${amdgpu[@]}" || fail "a kernel cannot be installed again"
	has 6.12.10+deb13-amd64
}

test_removal() {
	dpkg -r gpreempt-amdgpu-dkms >"$log" 2>&1 || fail "the package cannot be removed"
	has
	says_not 'no module for'
	[[ ! $(dkms status) ]] || fail "dkms still knows: $(dkms status)"
	kernel 6.12.10-1 6.12.10+deb13-last-amd64 "${amdgpu[@]}" || fail "a kernel cannot be installed after removal"
	says_not $name
	install_debs "$package" || fail "the package cannot be installed again"
	dpkg -P gpreempt-amdgpu-dkms >"$log" 2>&1 || fail "the package cannot be purged"
	[[ ! $(ls /etc/kernel/*/$name 2>/dev/null) ]] || fail "hooks are left"
}

test_no_kernel() {
	rm -rf /lib/modules/*
	install_debs "$package" || fail "the package cannot be installed without kernels"
	says "no kernel's headers are installed"
	says 'no module was installed'
	says_not 'Secure Boot'
	dpkg -P gpreempt-amdgpu-dkms >"$log" 2>&1 || fail "the package cannot be purged"
}

make_machine
make_stubs
install_dkms
test_install
test_kernels
test_failures
test_kernels_go
test_removal
test_no_kernel
echo "dkms $(dkms --version | tr -dc '0-9.'): installed, upgraded and removed; kernels came and went"
