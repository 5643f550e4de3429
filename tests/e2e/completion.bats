#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Bash completion, called as the shell calls it.

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${SOURCE_DIR:=.}"
	PATH=$(dirname "$GPREEMPT"):$PATH
	# shellcheck source=/dev/null
	source "$SOURCE_DIR/completions/gpreempt"
}

complete_words() {
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_gpreempt
}

@test "commands come from the program" {
	complete_words gpreempt ""
	[[ " ${COMPREPLY[*]} " == *" bench "* ]]
	[[ " ${COMPREPLY[*]} " == *" help "* ]]
	complete_words gpreempt ver
	[ "${COMPREPLY[*]}" = version ]
}

@test "benchmarks come from the program" {
	complete_words gpreempt bench b
	[[ " ${COMPREPLY[*]} " == *" base "* ]]
}

@test "every option that the completion offers exists" {
	for command in $(_gpreempt_names commands); do
		complete_words gpreempt "$command" --
		[ "${#COMPREPLY[@]}" -ge 4 ]
		help=$(gpreempt "$command" --help)
		for option in "${COMPREPLY[@]}"; do
			[[ $help == *"$option"* ]]
		done
	done
}

@test "scenarios are completed by name, and every name is that of a scenario" {
	cd "$BATS_TEST_TMPDIR"
	complete_words gpreempt sim llm
	[ "${COMPREPLY[*]}" = "llm llm-batch" ]
	complete_words gpreempt sim ""
	files=("$SOURCE_DIR"/scenarios/*.ini)
	[ "${#COMPREPLY[@]}" -eq "${#files[@]}" ]
	for name in "${COMPREPLY[@]}"; do
		[ -f "$SOURCE_DIR/scenarios/$name.ini" ]
	done
}

@test "policies are completed alone and in a list" {
	complete_words gpreempt sim x.ini --policy h
	[ "${COMPREPLY[*]}" = hpf ]
	complete_words gpreempt sim x.ini --policy = ed
	[ "${COMPREPLY[*]}" = edf ]
	complete_words gpreempt sim x.ini --compare none,h
	[ "${COMPREPLY[*]}" = none,hpf ]
	complete_words gpreempt sim x.ini --compare hpf,h
	[ "${#COMPREPLY[@]}" -eq 0 ]
}
