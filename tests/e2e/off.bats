#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt off and on, with programs on an emulated GPU.
# shellcheck disable=SC2016,SC2154 # eventually eval; daemon.bash sets $daemon

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${WORKLOADS:=build/src/demo}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset GPREEMPT_EMU_DIR STATE_DIRECTORY
	started=()
}

teardown() {
	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	"$GPREEMPT" emu stop --all
	[ -z "${room:-}" ] || rm -rf "$room"
}

# start CLASS PROGRAM [ARGUMENT...]: runs a workload on the machine, in the background.
start() {
	local class=$1 program=$2

	shift 2
	"$GPREEMPT" emu exec --name one -- "$GPREEMPT" run -c "$class" -- "$WORKLOADS/$program" "$@" \
		>>"$BATS_TEST_TMPDIR/$program" 2>&1 3>&- &
	started+=($!)
}

# Two trainers that are held for a server which always has work.
load_gpu() {
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	"$GPREEMPT" emu start --name one --cus 4
	start_daemon "$BATS_TEST_TMPDIR/decisions"
	start offline offline_trainer --seconds 600
	start offline offline_trainer --seconds 600
	start online online_server --requests 100000 --period 1ms
	eventually held 2
}

# held N: that many groups are held now.
held() {
	[ "$("$GPREEMPT" ps --json | grep -c '"state": "excluded",$')" -ge "$1" ]
}

nobody_is_held() {
	! "$GPREEMPT" ps --json | grep -qE '"state": "(exclud|admitting)'
}

# Prints how long after it was switched off the last queue was released, in milliseconds.
released_ms() {
	awk '$5 == "device-off" { off = $1; n = 0; delete waits }
	     off && $5 == "admit" && /why=off/ { n++; waits[$4 $6] = 1 }
	     off && $5 == "ack" && ($4 $6) in waits { delete waits[$4 $6]; last = $1 }
	     END { for (w in waits) { print "not released: " w; exit }
		   if (n) printf "%.3f\n", (last - off) / 1e6 }' "$BATS_TEST_TMPDIR/decisions"
}

# Switches it off while somebody is held, and sets $ms.
off_under_load() {
	# They may have been released in a gap of the server's work.
	for _ in {1..20}; do
		eventually held 2
		run -0 "$GPREEMPT" off
		[[ $output == *"(0 held"* ]] || break
		"$GPREEMPT" on
	done
	[[ $output == "Scheduling is off on all GPUs: all programs run as without gpreempt ("*" released)." ]]
	eventually nobody_is_held
	# A thread writes the log.
	eventually eval '[[ $(released_ms) =~ ^[0-9.]+$ ]]'
	ms=$(released_ms)
	echo "# everybody was released within $ms ms by the host's clock" >&3
}

@test "off releases everybody on a loaded GPU within 100 ms, and on holds again" {
	load_gpu
	# A busy host may not run the programs for longer.
	for _ in 1 2 3; do
		off_under_load
		! awk -v ms="$ms" 'BEGIN { exit !(ms < 100) }' || break
		"$GPREEMPT" on
	done
	awk -v ms="$ms" 'BEGIN { exit !(ms < 100) }'
	# A program that joins now is not scheduled either.
	start offline offline_trainer --seconds 600
	eventually eval '[ "$("$GPREEMPT" ps --no-headers | grep -c offline_trainer)" -eq 3 ]'
	nobody_is_held
	"$GPREEMPT" on
	eventually held 2
	kill "${started[@]:1}"
	"$GPREEMPT" emu stop --all
	eventually eval '! grep -q . < <("$GPREEMPT" ps --no-headers | grep offline)'
	kill "$daemon"
	wait "$daemon" || true
	run -0 "$GPREEMPT" sim --replay "$BATS_TEST_TMPDIR/decisions"
}

@test "what is off is shown everywhere" {
	load_gpu
	"$GPREEMPT" off 0
	run -0 "$GPREEMPT" ps
	[[ ${lines[0]} == "Scheduling is off on gpu0: programs run as without gpreempt. 'gpreempt on' switches it on." ]]
	run -0 "$GPREEMPT" doctor
	[[ $output == *"scheduling is off on gpu0: programs run as without gpreempt"* ]]
	run -0 "$GPREEMPT" why group:1
	[[ $output == *"scheduling is off on this GPU ('gpreempt off'): it runs as without gpreempt"* ]]
	run -0 "$GPREEMPT" top --once --window 200ms
	[[ $output == *"gpu0 "*"scheduling is off"* ]]
	run -0 "$GPREEMPT"
	[[ $output == *"gpu0 "*"; scheduling is off"* ]]
	run -0 "$GPREEMPT" ps --json
	[[ $output == *'"off": true'* ]]
	"$GPREEMPT" on 0
	run -0 "$GPREEMPT" ps
	[[ $output != *"Scheduling is off"* ]]
}

@test "off outlasts the daemon, also for a GPU that no program uses" {
	start_daemon
	run -0 "$GPREEMPT" off amd-12
	[[ $output == "Scheduling is off on amd-12: "* ]]
	run -0 "$GPREEMPT" off amd-13
	kill -KILL "$daemon"
	wait "$daemon" || true
	start_daemon
	run -0 "$GPREEMPT" ps
	[[ ${lines[0]} == "Scheduling is off on amd-12, amd-13: "* ]]
	run -0 "$GPREEMPT" on amd-12
	[[ ${lines[1]} == "It is still off on amd-13." ]]
	run -0 "$GPREEMPT" on
	run -0 "$GPREEMPT" ps
	[ "${lines[0]}" = "No program is joined." ]
	[ ! -e "$GPREEMPT_SOCKET.off" ]
}

@test "wrong usage" {
	start_daemon
	run -2 "$GPREEMPT" off 0 1
	[[ $output == *"one GPU at a time"* ]]
	run -1 "$GPREEMPT" off 5
	[[ $output == *"there is no GPU '5'"* ]]
	"$GPREEMPT" off
	run -1 "$GPREEMPT" on 0
	[[ $output == *"there is no GPU '0'"* ]]
	run -1 "$GPREEMPT" on amd-1
	[[ $output == *"scheduling is off on all GPUs: 'gpreempt on' without a GPU switches it on"* ]]
	"$GPREEMPT" on
}

@test "a user without rights cannot switch root's daemon" {
	[ "$(id -u)" -eq 0 ] || skip "only root can be another user"
	room=$(mktemp -d /tmp/gpreempt-bats.XXXXXX)
	chmod 755 "$room"
	export GPREEMPT_SOCKET=$room/control.sock
	start_daemon
	run -4 setpriv --reuid 65534 --regid 65534 --clear-groups "$GPREEMPT" off
	[[ $output == *"only root or a member of group gpreempt may do that"* ]]
}
