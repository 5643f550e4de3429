#!/bin/bash
# SPDX-License-Identifier: MIT
# Core, policies, the judge of rings and the scheduler of a node compile as they would inside a
# kernel: no system header, no floating-point register, and of a library only string.h.
# Usage: freestanding.sh [CC...]
set -euo pipefail

cc=("${@:-cc}")
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

flags=(-std=gnu11 -O2 -fno-pie -ffreestanding -nostdinc -D__KERNEL__ -Wall -Wextra -Werror
	-I "$root/tests/core/shim" -I "$root/src")
# If the compiler knows it, any use of a floating-point or vector register is an error.
if echo 'int x;' | "${cc[@]}" -mgeneral-regs-only -x c -c -o /dev/null - 2>/dev/null; then
	flags+=(-mgeneral-regs-only)
else
	echo "${cc[*]} does not know -mgeneral-regs-only: registers are not checked"
fi

for source in "$root"/src/core/*.c "$root"/src/policy/*.c "$root"/src/{aql,node}/*.c; do
	object=$out/$(basename "$(dirname "$source")")-$(basename "$source" .c).o
	if ! "${cc[@]}" "${flags[@]}" -c "$source" -o "$object"; then
		echo "not freestanding: ${source#"$root"/}" >&2
		exit 1
	fi
done

nm "$out"/*.o | awk '$2 ~ /^[A-TV-Z]$/ { print $3 }' | sort -u >"$out/defined"
nm -u "$out"/*.o | awk '$1 == "U" { print $2 }' | sort -u >"$out/used"
printf '%s\n' memset memcpy memmove memcmp strlen strcmp | sort -u - "$out/defined" >"$out/allowed"
foreign=$(comm -23 "$out/used" "$out/allowed")
if [[ -n $foreign ]]; then
	echo "freestanding code uses: $foreign" >&2
	nm -uA "$out"/*.o | grep -wF "$foreign" >&2
	exit 1
fi
echo "$(find "$out" -name '*.o' | wc -l) files compile freestanding, $(wc -l <"$out/defined") symbols, none foreign"
