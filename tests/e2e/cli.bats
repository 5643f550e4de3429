#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The parts of the command line that all commands share.

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${SOURCE_DIR:=.}"
	unset NO_COLOR JOURNAL_STREAM
}

# Runs a command and prints only its standard output.
stdout_of() {
	"$@" 2>/dev/null
}

json_get() {
	python3 -c 'import json, sys
d = json.load(sys.stdin)
for key in sys.argv[1:]:
    d = d[int(key) if isinstance(d, list) else key]
print(json.dumps(d))' "$@"
}

@test "no arguments: a description and commands to try" {
	run "$GPREEMPT"
	[ "$status" -eq 0 ]
	[[ $output == gpreempt\ [0-9]*:* ]]
	[[ $output == *"gpreempt sim seed004-basic"* ]]
}

@test "no arguments, --json: schema 1, and the backends as the text has them" {
	json=$("$GPREEMPT" --json)
	text=$("$GPREEMPT")
	[ "$(json_get schema <<<"$json")" = 1 ]
	[ "$(json_get works amd <<<"$json")" = true ]
	[ "$(json_get works nvidia <<<"$json")" = true ]
	[[ $text == *$'\n'"  amd      "* && $text == *$'\n'"  nvidia   "* ]]
	# The layer for OpenCL is built where its headers are.
	if [ "${HAS_OPENCL:-yes}" = yes ]; then
		[ "$(json_get works opencl <<<"$json")" = true ]
		[ "$(json_get backends 2 missing <<<"$json")" = null ]
		[[ $text != *"not in this build"* ]]
	else
		[ "$(json_get works opencl <<<"$json")" = false ]
		[ "$(json_get backends 2 built <<<"$json")" = false ]
		missing=$(json_get backends 2 missing <<<"$json")
		[[ $missing == '"built '* ]]
		[[ $text == *"  opencl   not in this build: ${missing:1:-1}"$'\n'* ]]
	fi
}

@test "no arguments: commands and policies are those of the tables" {
	[ "$("$GPREEMPT" --json | json_get commands)" = "$("$GPREEMPT" help --json |
		python3 -c 'import json, sys
print(json.dumps([c["name"] for c in json.load(sys.stdin)["commands"]]))')" ]
	[ "$("$GPREEMPT" --json | json_get policies 0 default)" = true ]
	# The simulator accepts each of them.
	for policy in $("$GPREEMPT" | sed -n '/^Policies/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
		"$GPREEMPT" sim --no-alone --policy "$policy" "$SOURCE_DIR/scenarios/seed004-basic.ini"
		policies+=$policy,
	done
	[[ $policies == hpf,*none, ]]
}

@test "--version, -V and version agree" {
	version=$("$GPREEMPT" --version)
	[[ $version =~ ^gpreempt\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	[ "$("$GPREEMPT" -V)" = "$version" ]
	[ "$("$GPREEMPT" version)" = "$version" ]
	[ "gpreempt $("$GPREEMPT" version --json | json_get version | tr -d '"')" = "$version" ]
}

@test "help lists every command, and each has a help text" {
	run "$GPREEMPT" help
	[ "$status" -eq 0 ]
	for name in $("$GPREEMPT" help --json |
		python3 -c 'import json, sys; [print(c["name"]) for c in json.load(sys.stdin)["commands"]]'); do
		[[ $output == *"  $name "* ]]
		run "$GPREEMPT" help "$name"
		[ "$status" -eq 0 ]
		[[ $output == "Usage: gpreempt $name"* ]]
		[[ $output == *"--json"* ]]
		run "$GPREEMPT" "$name" -h
		[ "$status" -eq 0 ]
		run "$GPREEMPT" help
	done
}

@test "an unknown command: suggests the nearest, status 2" {
	run "$GPREEMPT" versino
	[ "$status" -eq 2 ]
	[[ $output == "gpreempt: 'versino' is not a command; did you mean 'version'?"* ]]
	run "$GPREEMPT" help bnch
	[ "$status" -eq 2 ]
	[[ $output == *"did you mean 'bench'?"* ]]
}

@test "an unknown command unlike any other: no suggestion" {
	run "$GPREEMPT" xyzzy
	[ "$status" -eq 2 ]
	[[ $output == "gpreempt: 'xyzzy' is not a command"* ]]
	[[ $output != *"did you mean"* ]]
	run "$GPREEMPT" "$(printf 'x%.0s' {1..5000})"
	[ "$status" -eq 2 ]
}

@test "an unknown option: status 2" {
	run "$GPREEMPT" version --frobnicate
	[ "$status" -eq 2 ]
	[[ $output == *"--frobnicate"* ]]
	run "$GPREEMPT" --frobnicate
	[ "$status" -eq 2 ]
}

@test "with --json, errors are JSON as well" {
	run stdout_of "$GPREEMPT" nothing --json
	[ "$status" -eq 2 ]
	[ "$(json_get schema <<<"$output")" = 1 ]
	[ "$(json_get error status <<<"$output")" = 2 ]
	run stdout_of "$GPREEMPT" version --frobnicate --json
	[ "$status" -eq 2 ]
	[ "$(json_get error status <<<"$output")" = 2 ]
}

@test "an extra argument is refused" {
	run "$GPREEMPT" version now
	[ "$status" -eq 2 ]
	run "$GPREEMPT" help version bench
	[ "$status" -eq 2 ]
	[[ $output == *"one command at a time"* ]]
}

@test "headings are bold on a terminal, but not with NO_COLOR or elsewhere" {
	script -qec true /dev/null >/dev/null 2>&1 || skip "no pseudo-terminal to be had"
	command -v script >/dev/null || skip "no script(1) to make a terminal with"
	on_terminal() {
		TERM=xterm script -qec "$GPREEMPT bench --list" /dev/null </dev/null
	}
	[[ $(on_terminal) == *$'\033['* ]]
	[[ $(NO_COLOR=1 on_terminal) != *$'\033['* ]]
	[[ $(NO_COLOR='' on_terminal) == *$'\033['* ]]
	[[ $(TERM=xterm "$GPREEMPT" bench --list) != *$'\033['* ]]
}

@test "a full disk: reported, status 1" {
	for args in "" help version "version --json" "bench --list"; do
		# shellcheck disable=SC2086
		run bash -c '"$0" "$@" >/dev/full' "$GPREEMPT" $args
		[ "$status" -eq 1 ]
		[[ $output == *"cannot write the output: No space left on device"* ]]
	done
}

@test "a closed pipe: reported, status 1" {
	# The reader has closed its end before anything is written.
	run bash -c '{ sleep 0.3; "$0" help; echo "status $?" >&2; } 2>&1 >&3 3>&- | cat' "$GPREEMPT" 3> >(exec 0<&-; sleep 0.1)
	[[ $output == *"cannot write the output: Broken pipe"* ]]
	[[ $output == *"status 1"* ]]
}

@test "a closed standard output: reported, status 1" {
	run bash -c '"$0" version >&-' "$GPREEMPT"
	[ "$status" -eq 1 ]
	[[ $output == *"cannot write the output"* ]]
}
