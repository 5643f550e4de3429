# SPDX-License-Identifier: MIT
# Completion of gpreempt(1) for fish. Commands and options come from the installed program.

function __gpreempt_commands
	gpreempt help 2>/dev/null | string replace -rf '^  ([a-z]+) +(.*)' '$1\t$2'
end

function __gpreempt_options
	set -l words (commandline -opc)
	gpreempt help $words[2] 2>/dev/null |
		string replace -rf '^ *(?:-[a-zA-Z?], )?(--[a-z-]+)\S* *(.*)' '$1\t$2'
end

function __gpreempt_programs
	gpreempt ps --no-headers 2>/dev/null | string match -rv '^\S+ +- ' |
		string replace -rf '^\S+ +(\d+) +(.*)' '$1\t$2'
end

complete -c gpreempt -n __fish_use_subcommand -f -a '(__gpreempt_commands)'
complete -c gpreempt -n '__fish_seen_subcommand_from help' -f -a '(__gpreempt_commands)'
complete -c gpreempt -n '__fish_seen_subcommand_from suspend resume why set' -f -a '(__gpreempt_programs)'
complete -c gpreempt -n '__fish_seen_subcommand_from ps top doctor version' -f
complete -c gpreempt -n '__fish_seen_subcommand_from run' -x -a '(__fish_complete_subcommand --fcs-skip=2)'
complete -c gpreempt -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f \
	-a '(__gpreempt_options)'
