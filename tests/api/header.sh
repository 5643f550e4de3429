#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: header.sh c89|c99|cxx17 LIBRARY VERSION [SOURCE NAME]. Compiles header.c as that
# language, without a single warning, and runs it.
set -eu

here=$(dirname "$0")
libdir=$(dirname "$2")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

case $1 in
c89 | c99) compiler="${CC:-cc} -x c -std=$1" ;;
cxx17) compiler="${CXX:-c++} -x c++ -std=c++17" ;;
esac
if ! command -v "${compiler%% *}" >/dev/null; then
	echo "no compiler for $1: ${compiler%% *}"
	exit 77
fi
$compiler -pedantic-errors -Wall -Wextra -Wmissing-field-initializers -Werror -DGPREEMPT_TEST_VERSION="\"$3\"" \
	-I"$here/../../include" "$here/${4:-header.c}" -o "$tmp/header" \
	-L"$libdir" -l"${5:-gpreempt}" -Wl,-rpath,"$libdir"
# As meson runs its own programs for another machine.
# shellcheck disable=SC2086
${MESON_EXE_WRAPPER:-} "$tmp/header"
