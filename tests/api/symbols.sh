#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: symbols.sh LIBRARY HEADER... What the library exports is exactly what the
# headers declare, all of it with a version, all of it gp_.
set -eu

library=$1
shift
exported=$(nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort)
declared=$(sed -n 's/^GP_API .*[ *]\(gp_[a-z_]*\)(.*/\1/p' "$@" | sort)

if echo "$exported" | grep -v '^gp_[a-z_]*@@GPREEMPT_'; then
	echo "the above is exported and should not be, or has no version" >&2
	exit 1
fi
if [ "$(echo "$exported" | sed 's/@@.*//')" != "$declared" ]; then
	echo "exported:" "$exported" >&2
	echo "declared:" "$declared" >&2
	exit 1
fi
