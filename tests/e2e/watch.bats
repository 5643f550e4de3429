#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreemptd --watch: programs that nobody started with gpreempt are scheduled all the same. The
# programs run on an emulated machine with the HSA runtime of ROCm 6, which scripts/rocr6 fetches.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # eval; each test is a process; of run and daemon.bash

bats_require_minimum_version 1.5.0
load daemon

setup_file() {
	: "${BUILD_DIR:=build}" "${SOURCE_DIR:=.}"
	export ROCR6="$SOURCE_DIR/scripts/rocr6" ROCR6_DIR="$BUILD_DIR/rocr6"
	mkdir -p "$BUILD_DIR"
	# If tests run at the same time, one of them fetches.
	ROCR6_REASON=$(flock "$BUILD_DIR" "$ROCR6" get "$ROCR6_DIR" trixie 2>&1) && ROCR6_REASON=
	export ROCR6_REASON
}

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${WORKLOADS:=build/src/demo}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	export GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset GPREEMPT_EMU_DIR HSA_TOOLS_LIB HSA_TOOLS_DISABLE_REGISTER AMD_QUEUE_PRIORITY AMD_QUEUE_TAG
	# The runtime of ROCm 6 takes a lock in freed memory when a program ends.
	unset MALLOC_PERTURB_
	started=()
	[ "$(id -u)" -eq 0 ] || skip "only root may watch programs"
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no offline_trainer: it needs libhsa-runtime-dev"
	runtime=("$ROCR6" exec "$ROCR6_DIR")
}

teardown() {
	local pid

	for pid in "${started[@]}"; do
		kill -CONT "$pid" 2>/dev/null || true
		kill "$pid" 2>/dev/null || true
	done
	"$GPREEMPT" emu stop --all
}

need_rocr6() {
	[ -z "$ROCR6_REASON" ] || skip "$ROCR6_REASON"
}

on_machine() {
	timeout 120 "$GPREEMPT" emu exec --name default -- "$@"
}

# Starts gpreemptd --watch on the machine; it listens when this returns. Sets $daemon.
start_watching() {
	printf '[daemon]\nlog = %s\n' "$BATS_TEST_TMPDIR/decisions" >"$BATS_TEST_TMPDIR/gpreemptd.conf"
	"$GPREEMPT" emu exec --name default -- "${GPREEMPT%/cli/gpreempt}/daemon/gpreemptd" --watch -v \
		-c "$BATS_TEST_TMPDIR/gpreemptd.conf" 2>>"$BATS_TEST_TMPDIR/daemon" 3>&- &
	daemon=$!
	started+=("$daemon")
	eventually "$GPREEMPT" ps
}

# Starts a trainer that runs until it gets SIGTERM, with steps that are counted in a file; its
# progress says which process it is. Sets $trainer.
train() {
	AMD_QUEUE_PRIORITY=offline AMD_QUEUE_TAG=train on_machine "${runtime[@]}" \
		"$WORKLOADS/offline_trainer" --groups 16 --rounds 1000 --ahead 2 --json \
		--progress "$BATS_TEST_TMPDIR/progress" \
		>"$BATS_TEST_TMPDIR/trainer" 2>&1 3>&- &
	started+=($!)
	eventually eval '[ "$(steps)" -ge 1 ]'
	trainer=$(od -A n -t u4 -j 4 -N 4 "$BATS_TEST_TMPDIR/progress" | tr -d ' ')
}

# The number of steps that the trainer has made.
steps() {
	od -A n -t u8 -j 8 -N 8 "$BATS_TEST_TMPDIR/progress" 2>/dev/null | tr -d ' '
}

more_steps() {
	local before

	before=$(steps)
	eventually eval "[ \"\$(steps)\" -ge $((before + 2)) ]"
}

# Ends the trainer, and compares its results with those of the host.
check_trainer() {
	local result

	kill "$trainer"
	eventually grep -q digest "$BATS_TEST_TMPDIR/trainer"
	result=$(grep -o '{.*' "$BATS_TEST_TMPDIR/trainer")
	[ "$(digest <<<"$result")" = "$("$WORKLOADS/offline_trainer" --on host --groups 16 --rounds 1000 \
		--ahead 2 --json --steps "$(python3 -c 'import json, sys
print(json.load(sys.stdin)["steps"])' <<<"$result")" | digest)" ]
}

digest() {
	python3 -c 'import json, sys; print(json.load(sys.stdin)["digest"])'
}

# Serves requests; prints the 99th percentile of their device times in microseconds.
serve() {
	AMD_QUEUE_PRIORITY=15 on_machine "${runtime[@]}" "$WORKLOADS/online_server" --groups 8 --rounds 300 \
		--requests 100 --period 10ms --json 2>/dev/null |
		python3 -c 'import json, sys; print(int(json.load(sys.stdin)["device"]["p99_us"]))'
}

# Evaluates a Python expression of the groups g of ps, by their tags or else programs.
groups() {
	"$GPREEMPT" ps --json 2>/dev/null | python3 -c 'import json, sys
l = json.load(sys.stdin)
p = {x["pid"]: x for x in l["processes"] or []}
g = {x["tag"] or "server": x for x in l["groups"]}
sys.exit(not eval(sys.argv[1]))' "$1"
}

beside_each_other() {
	local alone watched

	need_rocr6
	"$GPREEMPT" emu start --cus 4 --kernel "$1"
	start_watching
	train
	eventually groups '"train" in g'
	groups 'g["train"]["priority"] == 2 and g["train"]["watched"] and g["train"]["user"] == 0'
	groups "g['train']['pid'] == $trainer"
	eventually groups "$trainer in p and p[$trainer]['watch']['state'] == 'watched'"
	groups "not p[$trainer]['joined'] and p[$trainer]['scheduled']"
	# Other work on the processors of the host counts while the emulated GPU rests: one of three
	# pairs is enough.
	for _ in 1 2 3; do
		kill -STOP "$trainer"
		alone=$(serve)
		kill -CONT "$trainer"
		more_steps
		watched=$(serve)
		echo "p99 alone $alone us, beside the watched trainer $watched us, of device time"
		[ $((2 * watched)) -gt $((3 * alone)) ] || break
	done
	[ $((2 * watched)) -le $((3 * alone)) ]
	# A hold may last over the gaps between requests.
	grep -q " exclude " "$BATS_TEST_TMPDIR/decisions"
	run -0 "$GPREEMPT" why tag:train
	[[ $output == *"priority 15) had work and is more urgent"* ]]
	check_trainer
	eventually groups 'not g'
	# Their helpers have ended with them.
	eventually eval '! pgrep -P "$daemon"'
}

@test "two programs that have not joined, on Linux 6.12" {
	beside_each_other 6.12
}

@test "two programs that have not joined, on a kernel with the series" {
	beside_each_other gpreempt
}

# Has an urgent program that never rests hold the trainer.
hold_trainer() {
	train
	eventually groups '"train" in g'
	AMD_QUEUE_PRIORITY=15 on_machine "${runtime[@]}" "$WORKLOADS/offline_trainer" --ahead 4 --groups 4 \
		--rounds 100000 >/dev/null 2>&1 3>&- &
	started+=($!)
	eventually groups '"server" in g and g["train"]["state"] == "excluded"'
}

@test "a killed helper leaves nobody held, and is replaced" {
	need_rocr6
	"$GPREEMPT" emu start --cus 4 --kernel 6.12
	start_watching
	hold_trainer
	eventually groups "$trainer in p and p[$trainer]['watch']['helper']"
	before=$(steps)
	helper=$("$GPREEMPT" ps --json | python3 -c 'import json, sys
for p in json.load(sys.stdin)["processes"]:
    if p["pid"] == int(sys.argv[1]): print(p["watch"]["helper"])' "$trainer")
	kill -KILL "$helper"
	eventually eval '[ "$(steps)" -gt "$before" ]'
	grep -q "(pid $trainer) was ended by signal 9; the program runs unscheduled until it is watched again" \
		"$BATS_TEST_TMPDIR/daemon"
	eventually groups '"train" in g and g["train"]["state"] == "excluded"'
}

@test "a daemon that is killed or stopped leaves nobody held" {
	need_rocr6
	"$GPREEMPT" emu start --cus 4 --kernel 6.12
	start_watching
	hold_trainer
	kill -STOP "$daemon"
	more_steps
	kill -CONT "$daemon"
	eventually groups 'g["train"]["state"] == "excluded"'
	kill -KILL "$daemon"
	more_steps
	eventually eval '! pgrep -f "gpreempt-watch $trainer "'
	check_trainer
}

@test "a program that has joined is not watched" {
	need_rocr6
	"$GPREEMPT" emu start --cus 4 --kernel 6.12
	start_watching
	on_machine "$GPREEMPT" run -t mine -- "${runtime[@]}" "$WORKLOADS/offline_trainer" --seconds 60 \
		>/dev/null 2>&1 3>&- &
	started+=($!)
	eventually groups '"mine" in g'
	eventually groups 'p[g["mine"]["pid"]]["watch"]["state"] == "waits"'
	sleep 0.7
	groups 'len(g) == 1 and not g["mine"]["watched"] and p[g["mine"]["pid"]]["joined"]'
	groups 'p[g["mine"]["pid"]]["watch"]["helper"] is None'
}

@test "a runtime that lets no debugger hold its queues is told, with the reason" {
	"$GPREEMPT" emu start --cus 4 --kernel 6.12
	start_watching
	on_machine "$WORKLOADS/offline_trainer" --seconds 60 >/dev/null 2>&1 3>&- &
	started+=($!)
	wait_for "is not watched: " "$GPREEMPT" ps
	[[ $output == *"offline_trainer (pid "*") is not watched: the program's runtime did not call RUNTIME_ENABLE, so its queues cannot be suspended; use ROCr 5.7 or later, or let the program join (EPERM)"* ]]
	groups 'not g and [x["watch"]["state"] for x in p.values()] == ["unwatchable"]'
	grep -q "cannot be watched: .*(EPERM)" "$BATS_TEST_TMPDIR/daemon"
}

@test "the series holds programs whose runtime lets no debugger" {
	"$GPREEMPT" emu start --cus 4 --kernel gpreempt
	start_watching
	runtime=()
	train
	eventually groups '"train" in g'
	"$GPREEMPT" suspend tag:train
	eventually groups 'g["train"]["state"] == "excluded"'
	"$GPREEMPT" resume tag:train
	more_steps
	check_trainer
}

@test "only root watches" {
	run -1 setpriv --reuid "$(id -u nobody)" --clear-groups "${GPREEMPT%/cli/gpreempt}/daemon/gpreemptd" \
		--watch -s "/tmp/gpreempt-watch-$$.sock"
	[[ $output == *"only root may watch programs that have not joined; run gpreemptd --watch as root"* ]]
	run -2 "${GPREEMPT%/cli/gpreempt}/watch/gpreempt-watch"
	[[ $output == *"only gpreemptd starts this program; run 'gpreemptd --watch'"* ]]
}
