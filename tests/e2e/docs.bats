#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2013,SC2016
bats_require_minimum_version 1.5.0

# The lists in README, CONTRIBUTING and the manual pages are those of the code.

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${SOURCE_DIR:=.}"
	GPREEMPT=$(realpath "$GPREEMPT")
	cd "$SOURCE_DIR" || return
}

# names LIST: the names in a list of the summary's JSON form.
names() {
	"$GPREEMPT" --json | python3 -c 'import json, sys
for item in json.load(sys.stdin)[sys.argv[1]]:
    print(item if isinstance(item, str) else item["name"])' "$1" | sort
}

# section FILE HEADING: the lines of a manual page below a heading.
section() {
	sed -n "/^# $2\$/,/^# /p" "$1" | sed '1d; /^# /d'
}

# entries: the names in bold that begin an entry of a definition list.
entries() {
	sed -n 's/^\*\([a-z-]*\)\*.*/\1/p' | sort
}

# The list on standard input against the words of $1; prints what differs.
same_as() {
	diff <(tr -s ' ' '\n' <<<"$1" | sort -u) <(sort -u)
}

@test "gpreempt(1) has each command" {
	section man/gpreempt.1.scd COMMANDS | entries | same_as "$(names commands)"
}

@test "each command has its options in the completion" {
	for command in $(names commands); do
		[[ $(bash -c "source completions/gpreempt; _gpreempt_options $command") == *--json* ]]
	done
}

@test "gpreempt-policy(7) and README have each policy" {
	section man/gpreempt-policy.7.scd POLICIES | entries | same_as "$(names policies)"
	sed -n '/^## Policies/,/^## /p' README.md | grep -oE '^(- )?`[a-z]+`|· ?`[a-z]+`' | tr -cd 'a-z\n' |
		same_as "$(names policies)"
}

@test "gpreempt(1), gpreempt-join(7) and README have each backend" {
	for backend in $(names backends); do
		section man/gpreempt.1.scd DESCRIPTION | grep -qF "*$backend*"
		section man/gpreempt-join.7.scd BACKENDS | grep -q "^\*$backend\*"
		grep -qi "\b$backend\b" README.md
	done
	section man/gpreempt-join.7.scd BACKENDS | entries | same_as "$(names backends)"
}

@test "each manual page that a page names exists" {
	for page in $(grep -ohE '\*(lib)?gpreempt[a-z_.-]*\*\([1-8]\)' man/*.scd | sort -u | tr -d '*' |
		sed 's/(\(.\))/.\1/'); do
		[ -e "man/$page.scd" ] || { echo "no man/$page.scd" && return 1; }
	done
}

@test "gpreempt(1) names each manual page of a command" {
	for page in man/gpreempt-*.1.scd; do
		page=$(basename "$page" .1.scd)
		section man/gpreempt.1.scd 'SEE ALSO' | grep -qF "*$page*(1)"
	done
}

@test "each environment variable is in a manual page, and each one there exists" {
	pattern='(GPREEMPT|AMD_QUEUE)_[A-Z_]+'
	# GPREEMPT_POC_API is a macro. Comments do not count.
	code=$(grep -rhoE "[\"']${pattern}[\"']" src python --include='*.[ch]' --include='*.py' |
		tr -d "\"'" | sort -u)
	grep -hoE "\*$pattern\*" man/*.scd | tr -d '*' | same_as "$code"
}

@test "make help has each target" {
	make -f Makefile help | sed -n 's/^make \([a-z0-9-]*\).*/\1/p' |
		same_as "$(sed -n '/^\.PHONY:/,$p' Makefile | tr -d '\\\t' | sed 's/^\.PHONY://; s/\ball\b//; s/\bhelp\b//')"
}

@test "the guide has each option of the build, with its default" {
	tr -d '\n' <meson_options.txt | sed 's/option(/\n&/g' |
		sed -n "s/^option('\([a-z]*\)',.* value: '*\([a-z]*\).*/\1=\2/p" |
		same_as "$(sed -n '/^## Building/,$s/^| `\([a-z]*\)` .* | \([a-z]*\) |$/\1=\2/p' docs/guide.md)"
}

@test "Python packages have the version of the project" {
	version=$("$GPREEMPT" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)
	run grep -rLxF "version = \"$version\"" --include=pyproject.toml python examples
	[ -z "$output" ] || { echo "not $version: $output" && return 1; }
}

@test "each make target that the documentation names exists" {
	for target in $(grep -hoE '(`|^|\()make [a-z][a-z0-9-]*' ./*.md docs/*.md examples/*/*.md kernel/*.md man/*.scd | sed 's/.*make //' | sort -u); do
		grep -qE "^([a-z0-9-]+ )*$target( [a-z0-9-]+)*:" Makefile || { echo "no target $target" && return 1; }
	done
}

# checks WORD: the targets in CONTRIBUTING whose last column begins with the word.
checks() {
	sed -n "s/^| .make \([a-z0-9-]*\). .* | $1[^|]*|\$/\1/p" CONTRIBUTING.md
}

@test "CONTRIBUTING has each target that tests something" {
	sed -n '/^\.PHONY:/,$p' Makefile | tr -d '\\\t' | sed 's/^\.PHONY://' | tr ' ' '\n' |
		grep -vE '^(all|bench.*|clean|demo.*|dkms-package|help|install|)$' | same_as "$(checks yes; checks no)"
}

@test "CONTRIBUTING says what .ci/run runs" {
	# A selection of make rocm-suite is a step of its own.
	sed -n 's/^step .* make \([a-z0-9-]*\).*/\1/p; s/^step .*may-skip \([a-z0-9-]*\).*/\1/p' .ci/run |
		same_as "$(checks yes)"
}

@test "CONTRIBUTING has the table of layers" {
	scripts/check-layers --table
}

@test "docs/support.md has the reports of docs/reports, and only what is recorded" {
	run -0 scripts/support-table --check
	[ -z "$output" ]
	local copy=$BATS_TEST_TMPDIR/copy

	mkdir -p "$copy/scripts"
	cp -r docs "$copy"
	cp scripts/support-table "$copy/scripts"
	sed -i 's/"kfd_version": "1.11"/"kfd_version": "1.12"/' "$copy"/docs/reports/*6.1.json
	run -1 "$copy/scripts/support-table" --check
	[[ $output == "docs/support.md is not up to date: scripts/support-table --write" ]]
	"$copy/scripts/support-table" --write
	run -0 "$copy/scripts/support-table" --check
	grep -q "amdkfd 1.12" "$copy/docs/support.md"
	# A figure that its page no longer has is not repeated.
	sed -i 's/takes 0.55 to 0.59/takes 0.5 to 0.6/' "$copy/docs/nvidia.md"
	run -1 "$copy/scripts/support-table" --check
	[[ $output == *"docs/nvidia.md no longer says"* ]]
	echo '{}' >"$copy/docs/reports/none.json"
	run -1 "$copy/scripts/support-table" --check
	[[ $output == *"none.json: this is no report"* ]]
}

@test "each path that the documentation names exists" {
	# Not the generated table, which has the folders that the layers allow.
	for path in $(sed '/check-layers --write: begin/,/check-layers --write: end/d' ./*.md docs/*.md examples/*/*.md kernel/*.md |
		grep -ohE '`(src|scripts|tests|docs|bench|examples|python|integrations|include)/[A-Za-z0-9_/.-]+`' |
		tr -d '`' | sort -u); do
		[ -e "$path" ] || compgen -G "$path.*" >/dev/null || { echo "no $path" && return 1; }
	done
}

@test "each file that docs/architecture.md names exists" {
	for path in $(grep -oE '`(aql|bench|cli|core|daemon|device|emu|join|metrics|policy|queue|sim|wire)/[a-z0-9_/.]+`' \
		docs/architecture.md | tr -d '`' | sort -u); do
		[ -e "src/$path" ] || [ -e "$path" ] || { echo "no $path" && return 1; }
	done
}

@test "each command and setting that docs/operations.md names exists" {
	run -0 comm -23 <(grep -oE '(^|`)gpreempt [a-z]+' docs/operations.md | cut -d' ' -f2 | sort -u) \
		<(names commands)
	[ -z "$output" ]
	for word in max_priority max_hold_ms min_share_pct warn_unjoined devices gpu_time log_max ttl; do
		grep -q "\b$word\b" docs/operations.md
		grep -qE "\*$word\*|^\*$word" man/gpreemptd.conf.5.scd man/gpreempt-policy.7.scd
	done
	# The versions of the protocol.
	version=$(sed -n 's/^#define GP__WIRE_VERSION \([0-9]*\).*/\1/p' src/wire/wire.h)
	grep -q "gpreemptd speaks versions 1 to $version\." docs/operations.md
	grep -q "speaks versions 1, that of gpreempt 0.1.0, to $version\." man/gpreemptd.8.scd
}
