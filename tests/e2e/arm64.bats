#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Messages of scripts/arm64 and scripts/unpack-debs about missing tools; the tests replace the tools.

setup() {
	: "${SOURCE_DIR:=.}"
	unpack=$SOURCE_DIR/scripts/unpack-debs
	folder=$BATS_TEST_TMPDIR/folder
	bin=$BATS_TEST_TMPDIR/bin
	mkdir -p "$bin"
	for tool in bash env sed cat dirname nproc realpath mkdir mktemp rm grep head; do
		ln -s "$(command -v "$tool")" "$bin/$tool"
	done
}

tool() {
	printf '#!/bin/bash\n%s\n' "$2" >"$bin/$1"
	chmod +x "$bin/$1"
}

@test "arm64: without a cross compiler, names the command that installs it" {
	PATH=$bin run "$SOURCE_DIR/scripts/arm64"
	[ "$status" -eq 77 ]
	[[ $output == *"no aarch64-linux-gnu-gcc; 'scripts/deps arm64' installs it" ]]
}

@test "unpack-debs: without a package, prints the usage" {
	run "$unpack" "$folder" bookworm arm64
	[ "$status" -eq 2 ]
	[[ $output == "Usage: scripts/unpack-debs "* ]]
}

@test "unpack-debs: without apt, skips with the reason" {
	PATH=$bin run "$unpack" "$folder" bookworm arm64 one
	[ "$status" -eq 77 ]
	[[ $output == *"needs apt and dpkg"* ]]
}

@test "unpack-debs: the same list is fetched once, another list again" {
	mkdir "$folder"
	echo "bookworm arm64 one two" >"$folder/complete"
	PATH=$bin run "$unpack" "$folder" bookworm arm64 one two
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	PATH=$bin run "$unpack" "$folder" bookworm arm64 one three
	[ "$status" -eq 77 ]
}

@test "unpack-debs: passes on apt's error and keeps the unpacked packages" {
	[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || skip "no debian-archive-keyring"
	mkdir -p "$folder/root/kept"
	tool dpkg-deb :
	tool apt-get '[[ $* == *update ]] || { echo "E: no such package"; exit 100; }'
	PATH=$bin run "$unpack" "$folder" bookworm arm64 one
	[ "$status" -eq 77 ]
	[[ $output == *"not all packages for arm64: E: no such package" ]]
	[ -d "$folder/root/kept" ]
	[ ! -e "$folder/complete" ]
	[ -z "$(compgen -G "$folder/fetch.*")" ]
}

@test "unpack-debs: --depends adds missing packages" {
	[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || skip "no debian-archive-keyring"
	for name in touch sort tail; do
		ln -s "$(command -v $name)" "$bin/$name"
	done
	mkdir -p "$folder/root/kept"
	echo "libold=1:2-3" >"$folder/packages"
	# shellcheck disable=SC2016
	tool dpkg-deb 'echo "$2" >>"$3/unpacked"'
	# shellcheck disable=SC2016
	tool apt-get 'case "$*" in
		*print-uris*) echo "'"'http://x/o' libold_1%3a2-3_arm64.deb 1 SHA256:1"'"
			echo "'"'http://x/n' libnew_4_arm64.deb 1 SHA256:1"'" ;;
		*download*) for last; do :; done; echo >"${last%=*}.deb" ;;
		esac'
	PATH=$bin run "$unpack" --depends "$folder" bookworm arm64 libnew
	echo "$output"
	[ "$status" -eq 0 ]
	[ -d "$folder/root/kept" ]
	[ "$(<"$folder/packages")" = $'libold=1:2-3\nlibnew=4' ]
	[[ $(<"$folder/root/unpacked") == *"/libnew.deb" ]]
	[ "$(<"$folder/complete")" = "bookworm arm64 libnew" ]
}

@test "unpack-debs: --progress prints the size first, --exclude omits files" {
	[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || skip "no debian-archive-keyring"
	for tool in awk tee tar; do
		ln -sf "$(command -v "$tool")" "$bin/$tool"
	done
	mkdir -p "$BATS_TEST_TMPDIR/files/usr/share/doc" "$BATS_TEST_TMPDIR/files/usr/lib"
	touch "$BATS_TEST_TMPDIR/files/usr/share/doc/a" "$BATS_TEST_TMPDIR/files/usr/lib/b"
	tool dpkg-deb "tar -C '$BATS_TEST_TMPDIR/files' -c ."
	tool apt-get 'case $* in
	*--print-uris*) echo "http://x/one.deb one.deb 2000000 SHA256:0"
		echo "http://x/two.deb two.deb 3000000 SHA256:0" ;;
	*download*) echo "Get:1 one" && echo >one.deb ;;
	esac'
	PATH=$bin run "$unpack" --progress --exclude ./usr/share/doc "$folder" sid amd64 one
	[ "$status" -eq 0 ]
	[[ $output == "downloading 2 packages of Debian, 5 MB"*"Get:1 one"* ]]
	[ -e "$folder/root/usr/lib/b" ]
	[ ! -e "$folder/root/usr/share/doc/a" ]
	[ "$(cat "$folder/complete")" = "sid amd64 one" ]
}
