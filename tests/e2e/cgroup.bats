#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Rules about control groups, with programs on an emulated GPU.
# shellcheck disable=SC2016,SC2154 # eventually eval; daemon.bash sets $daemon

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${WORKLOADS:=build/src/demo}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset GPREEMPT_EMU_DIR STATE_DIRECTORY
	started=()
	cgroup=
}

teardown() {
	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	"$GPREEMPT" emu stop --all
	[ -z "$cgroup" ] || eventually rmdir "$cgroup"
}

# Makes a control group; sets $cgroup, its folder, and $path, as in /proc/PID/cgroup.
make_cgroup() {
	local mount

	[ "$(id -u)" -eq 0 ] || skip "only root can make control groups"
	mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	path=/gpreempt-test-$$.slice
	mkdir "$mount$path" 2>/dev/null || skip "no control group can be made here"
	cgroup=$mount$path
}

# The rules, with single blanks.
rules() {
	"$GPREEMPT" cgroup --no-headers | tr -s ' '
}

@test "cgroup: without a daemon, a remedy; without a rule, a line" {
	run -3 "$GPREEMPT" cgroup
	[[ $output == *"Start one:"* ]]
	start_daemon
	run -0 "$GPREEMPT" cgroup
	[ "$output" = "There is no rule about a control group." ]
	run -2 "$GPREEMPT" cgroup add /job/1
	[[ $output == *"nothing to register: give --class, --max, ..."* ]]
	run -1 "$GPREEMPT" cgroup remove /job/1
	[[ $output == *"control group '/job/1' is not registered"* ]]
}

@test "cgroup: rules are listed with those of the configuration" {
	start_daemon
	printf '[slice machine-batch.slice]\nclass = offline\nmax_class = 4\n' >>"$BATS_TEST_TMPDIR/gpreemptd.conf"
	kill -HUP "$daemon"
	wait_for "/machine.slice/machine-batch.slice offline 4 - - - configuration 0" rules
	run -0 "$GPREEMPT" cgroup add /job/1 -c normal --share 40 --weight 7 -t one
	[ "$output" = "/job/1: registered" ]
	[[ $(rules) == *"/job/1 normal - 40 7 one request 0"* ]]
	run -0 "$GPREEMPT" cgroup remove /job/1
	run -0 "$GPREEMPT" cgroup --json
	[[ $output != *"/job/1"* && $output == *'"max_priority": 4'* ]]
}

@test "cgroup: a program in a registered group gets its class, and cannot raise itself" {
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	make_cgroup
	start_daemon
	"$GPREEMPT" emu start --name one --cus 4
	"$GPREEMPT" cgroup add "$path" --class offline --tag batch
	"$GPREEMPT" emu exec --name one -- sh -c "echo \$\$ >'$cgroup/cgroup.procs' && exec \"\$@\"" sh \
		"$GPREEMPT" run -c online -- "$WORKLOADS/offline_trainer" --seconds 600 \
		>"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	started+=($!)
	wait_for "offline" "$GPREEMPT" ps
	[[ $output == *batch* && $output != *online* ]]
	grep -F "priority 15 is above 2, the highest in control group $path, and is lowered to it" \
		"$BATS_TEST_TMPDIR/out"
	[[ $(rules) == "$path offline - - - batch request 1" ]]
}
