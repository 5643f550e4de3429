#!/bin/bash
# SPDX-License-Identifier: MIT
# Checks the package gpreempt-amdgpu-dkms without a kernel: what is in it, for which kernels it builds
# the module, and what it says of others. `make dkms-test` installs it.
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
}

# configure SETTING...: the configuration of $kernel.
configure() {
	mkdir -p "$work/modules/$kernel/build"
	printf '%s\n' "$@" >"$work/modules/$kernel/build/.config"
}

deb=$(scripts/dkms-package "$work")
dpkg-deb -x "$deb" "$work/root"
dpkg-deb -e "$deb" "$work/root/DEBIAN"
source=$(echo "$work"/root/usr/src/gpreempt-amdgpu-*)
sed -i "s|/lib/modules/|$work/modules/|" "$source/build"
: >"$work/archive"
scripts/kernel-patches 6.12 "$work/patches"
diff -r "$work/patches" "$source/patches" || fail "the package has another series"
! grep -r '@[A-Z]*@' "$work/root/DEBIAN" "$work/root/usr/lib" "$source/dkms.conf" ||
	fail "something is not filled in"
mkdir "$work/again"
cmp "$deb" "$(scripts/dkms-package "$work/again")" || fail "a second package differs"

versions 6.12.9-1 6.12.9-1
refused "$kernel" "linux-headers-$kernel is not installed"
configure CONFIG_DRM_AMDGPU=m CONFIG_HSA_AMD=y
check "$kernel" || fail "$kernel is refused"
configure '# CONFIG_DRM_AMDGPU is not set'
refused "$kernel" 'its configuration lacks CONFIG_DRM_AMDGPU=m'
configure CONFIG_DRM_AMDGPU=m '# CONFIG_HSA_AMD is not set'
refused "$kernel" 'its configuration lacks CONFIG_HSA_AMD=y'
configure CONFIG_DRM_AMDGPU=m CONFIG_HSA_AMD=y
refused 6.1.0-9-amd64 'the series is for Linux 6.12'
refused 6.12.10+deb13-amd64 'linux-headers-6.12.10+deb13-amd64 is not installed'
versions 6.12.9-1 6.12.8-1
refused "$kernel" 'its headers are 6.12.9-1 and linux-source-6.12 is 6.12.8-1'
versions 6.12.9-1 6.12.9-1
archive=$work/nothing refused "$kernel" 'linux-source-6.12 is not installed'
echo "the package is complete, and refuses seven kernels"
