#!/bin/bash
# SPDX-License-Identifier: MIT
# Checks that kernel/patches is what scripts/kernel-patches makes of kernel/hooks and kernel/src for each
# version of Linux, that each file of kernel/src is in the series, and that the patches are whole: `git apply` reads them.
# Needs no kernel tree.
set -euo pipefail

cd "${SOURCE_DIR:-$(dirname "$0")/../..}"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

fail() {
	echo "patches: $1" >&2
	exit 1
}

# check_series VERSION
check_series() {
	local made=$out/$1 kept=kernel/patches/$1 patch name file object

	scripts/kernel-patches "$1" "$made"
	for patch in "$kept"/*.patch; do
		[[ -f $made/$(basename "$patch") ]] || fail "$patch has no source in kernel/hooks; run scripts/kernel-patches --update"
	done
	for patch in "$made"/*.patch; do
		name=$(basename "$patch")
		git apply --stat "$patch" >/dev/null || fail "$name for Linux $1 is not a patch"
		! grep -q '^Adds: ' "$patch" || fail "$name for Linux $1 still says what it adds"
		if [[ -f $kept/$name ]]; then
			cmp "$patch" "$kept/$name" || fail "$kept/$name is out of date; run scripts/kernel-patches --update"
		else
			grep -q '/gpreempt/Makefile$' "$patch" || fail "$kept/$name is missing; run scripts/kernel-patches --update"
		fi
	done
	for file in kernel/src/*.[ch] kernel/src/"$1"/*.[ch]; do
		grep -lqx "+++ b/drivers/gpu/drm/amd/amdkfd/$(basename "$file")" "$kept"/*.patch ||
			fail "$file is in no patch for Linux $1; name it after 'Adds:' in a file of kernel/hooks/$1"
	done
	# What the kernel compiles of src, its Makefile lists.
	for file in src/aql/*.c src/core/*.c src/node/*.c; do
		object=${file#src/}
		grep -q "^+AMDKFD_GPREEMPT_FILES += .*/gpreempt/${object%.c}.o$" "$made"/*.patch ||
			fail "$file is not compiled into Linux $1"
	done
}

for folder in kernel/hooks/*; do
	check_series "${folder##*/}"
done
for folder in kernel/patches/*; do
	[[ -d kernel/hooks/${folder##*/} ]] || fail "$folder has no source in kernel/hooks; remove it"
done
# The posting changes amdkfd alone, under the driver's licence, and all of it is signed.
posted=(kernel/posting/000[1-9]-*.patch)
[[ -f kernel/posting/0000-cover-letter.patch ]] || fail "kernel/posting has no cover letter"
grep -q "^Subject: \[RFC PATCH 0/${#posted[@]}\] " kernel/posting/0000-cover-letter.patch ||
	fail "the cover letter in kernel/posting is not that of ${#posted[@]} patches"
for patch in "${posted[@]}"; do
	git apply --stat "$patch" >/dev/null || fail "$patch is not a patch"
	grep -q '^Signed-off-by: ' "$patch" || fail "$patch is not signed"
	! grep -hE '^\+\+\+ ' "$patch" | grep -vE '^\+\+\+ b/(drivers/gpu/drm/amd/amdkfd/|include/uapi/linux/kfd_ioctl.h$)' ||
		fail "$patch changes more than amdkfd"
	! grep -E '^\+.*SPDX-License-Identifier:' "$patch" | grep -v 'GPL-2.0 OR MIT' ||
		fail "$patch has a file under another licence than the driver's"
done
echo "$(find "$out" -name '*.patch' | wc -l) patches are up to date"
