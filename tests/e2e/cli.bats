#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The frame of the command line: what every command shares.

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}"
	unset NO_COLOR JOURNAL_STREAM
}

# Standard output alone, as a program that reads JSON sees it.
stdout_of() {
	"$@" 2>/dev/null
}

json_get() {
	python3 -c 'import json, sys
d = json.load(sys.stdin)
for key in sys.argv[1:]:
    d = d[key]
print(json.dumps(d))' "$@"
}

@test "no arguments: what this is and what to try" {
	run "$GPREEMPT"
	[ "$status" -eq 0 ]
	[[ $output == gpreempt\ [0-9]*:* ]]
	[[ $output == *"gpreempt sim seed004-basic"* ]]
}

@test "no arguments, --json: schema 1" {
	[ "$("$GPREEMPT" --json | json_get schema)" = 1 ]
	[ "$("$GPREEMPT" --json | json_get works amd)" = true ]
	[ "$("$GPREEMPT" --json | json_get works nvidia)" = false ]
}

@test "--version, -V and version agree" {
	version=$("$GPREEMPT" --version)
	[[ $version =~ ^gpreempt\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	[ "$("$GPREEMPT" -V)" = "$version" ]
	[ "$("$GPREEMPT" version)" = "$version" ]
	[ "gpreempt $("$GPREEMPT" version --json | json_get version | tr -d '"')" = "$version" ]
}

@test "help lists every command, and each explains itself" {
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

@test "an unknown command names the nearest and ends with 2" {
	run "$GPREEMPT" versino
	[ "$status" -eq 2 ]
	[[ $output == "gpreempt: 'versino' is not a command; did you mean 'version'?"* ]]
	run "$GPREEMPT" help bnch
	[ "$status" -eq 2 ]
	[[ $output == *"did you mean 'bench'?"* ]]
}

@test "a command like no other gets no suggestion" {
	run "$GPREEMPT" xyzzy
	[ "$status" -eq 2 ]
	[[ $output == "gpreempt: 'xyzzy' is not a command"* ]]
	[[ $output != *"did you mean"* ]]
	run "$GPREEMPT" "$(printf 'x%.0s' {1..5000})"
	[ "$status" -eq 2 ]
}

@test "an unknown option ends with 2" {
	run "$GPREEMPT" version --frobnicate
	[ "$status" -eq 2 ]
	[[ $output == *"--frobnicate"* ]]
	run "$GPREEMPT" --frobnicate
	[ "$status" -eq 2 ]
}

@test "errors are JSON too when --json is chosen" {
	run stdout_of "$GPREEMPT" nothing --json
	[ "$status" -eq 2 ]
	[ "$(json_get schema <<<"$output")" = 1 ]
	[ "$(json_get error status <<<"$output")" = 2 ]
	run stdout_of "$GPREEMPT" version --frobnicate --json
	[ "$status" -eq 2 ]
	[ "$(json_get error status <<<"$output")" = 2 ]
}

@test "an argument too many is refused" {
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

@test "a full disk is told and ends with 1" {
	for args in "" help version "version --json" "bench --list"; do
		# shellcheck disable=SC2086
		run bash -c '"$0" "$@" >/dev/full' "$GPREEMPT" $args
		[ "$status" -eq 1 ]
		[[ $output == *"cannot write the output: No space left on device"* ]]
	done
}

@test "a reader that went away is told and ends with 1" {
	# The reader has closed its end before anything is written.
	run bash -c '{ sleep 0.3; "$0" help; echo "status $?" >&2; } 2>&1 >&3 3>&- | cat' "$GPREEMPT" 3> >(exec 0<&-; sleep 0.1)
	[[ $output == *"cannot write the output: Broken pipe"* ]]
	[[ $output == *"status 1"* ]]
}

@test "a closed standard output is told and ends with 1" {
	run bash -c '"$0" version >&-' "$GPREEMPT"
	[ "$status" -eq 1 ]
	[[ $output == *"cannot write the output"* ]]
}
