#!/bin/bash
# SPDX-License-Identifier: MIT
# Checks the package gpreempt-amdgpu-dkms without a kernel: what is in it, for which kernels it builds
# the module, and what it says of others.
set -euo pipefail

cd "${SOURCE_DIR:-$(dirname "$0")/../..}"
command -v dpkg-deb >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kernel=6.12.9+deb13-amd64

fail() {
	echo "dkms: $1" >&2
	exit 1
}

# Stands for dpkg: one version for the headers of $kernel, one for the source.
versions() {
	mkdir -p "$work/bin"
	cat >"$work/bin/dpkg-query" <<-END
		#!/bin/sh
		for name; do :; done
		case \$name in
		linux-headers-$kernel) printf '%s' '$1' ;;
		linux-source-6.12) printf '%s' '$2' ;;
		esac
	END
	chmod +x "$work/bin/dpkg-query"
}

check() {
	PATH=$work/bin:$PATH KERNEL_SOURCE=${archive-$work/archive} "$source/build" check "$1" 2>&1
}

# refused KERNEL SENTENCE
refused() {
	local said

	! said=$(check "$1") || fail "$1 is not refused"
	[[ $said == *"$2"* ]] || fail "it says of $1: $said; not: $2"
	[[ $(exclusive "$1") == '^none$' ]] || fail "dkms would build for $1"
}

# What dkms would find in dkms.conf.
exclusive() {
	PATH=$work/bin:$PATH KERNEL_SOURCE=${archive-$work/archive} kernelver=$1 bash -c '
		. "$1/dkms.conf"
		echo "${BUILD_EXCLUSIVE_KERNEL:-all}"' - "$source" 2>/dev/null
}

deb=$(scripts/dkms-package "$work")
dpkg-deb -x "$deb" "$work/root"
dpkg-deb -e "$deb" "$work/root/DEBIAN"
source=$(echo "$work"/root/usr/src/gpreempt-amdgpu-*)
sed -i "s|/usr/src/|$work/root/usr/src/|" "$source/dkms.conf"
: >"$work/archive"
scripts/kernel-patches "$work/patches"
diff -r "$work/patches" "$source/patches" || fail "the package has another series"
! grep -r '@[A-Z]*@' "$work/root/DEBIAN" "$source/dkms.conf" || fail "something is not filled in"
sh -n "$work/root/DEBIAN/postinst"
sh -n "$work/root/DEBIAN/prerm"

versions 6.12.9-1 6.12.9-1
check "$kernel" || fail "$kernel is refused"
[[ $(exclusive "$kernel") == all ]] || fail "dkms would not build for $kernel"
refused 6.1.0-9-amd64 'the series is for Linux 6.12'
refused 6.12.10+deb13-amd64 'linux-headers-6.12.10+deb13-amd64 is not installed'
versions 6.12.9-1 6.12.8-1
refused "$kernel" 'its headers are 6.12.9-1 and linux-source-6.12 is 6.12.8-1'
versions 6.12.9-1 6.12.9-1
archive=$work/nothing refused "$kernel" 'linux-source-6.12 is not installed'
echo "the package is complete, and refuses four kernels"
