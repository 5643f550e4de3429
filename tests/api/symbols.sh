#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: symbols.sh LIBRARY PREFIX HEADER... What the library exports is exactly what the
# headers declare as ..._API, all of it with a version, all of it with the prefix.
set -eu

library=$1
prefix=$2
shift 2
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort)
declared=$(sed -n "s/^[A-Z_]*_API .*[ *]\\(${prefix}[a-z_]*\\)(.*/\\1/p" "$@" | sort)

if echo "$exported" | grep -v "^${prefix}[a-z_]*@@GPREEMPT_"; then
	echo "the above is exported and should not be, or has no version" >&2
	exit 1
fi
if [ "$(echo "$exported" | sed 's/@@.*//')" != "$declared" ]; then
	echo "exported:" "$exported" >&2
	echo "declared:" "$declared" >&2
	exit 1
fi
