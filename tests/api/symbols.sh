#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: symbols.sh LIBRARY HEADER. What the library exports is exactly what the
# header declares, all of it with a version, all of it gp_.
set -eu

exported=$(nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort)
declared=$(sed -n 's/^GP_API .*[ *]\(gp_[a-z_]*\)(.*/\1/p' "$2" | sort)

if echo "$exported" | grep -v '^gp_[a-z_]*@@GPREEMPT_'; then
	echo "the above is exported and should not be, or has no version" >&2
	exit 1
fi
if [ "$(echo "$exported" | sed 's/@@.*//')" != "$declared" ]; then
	echo "exported:" "$exported" >&2
	echo "declared:" "$declared" >&2
	exit 1
fi
