#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt trace: traces of a real daemon with fake programs, of the simulator, of an emulated machine and
# of the kernel's tracepoints, read back and asked questions by SQL.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # SQL; each test is a process; of run and daemon.bash

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${BUILD_DIR:=build}" "${SOURCE_DIR:=.}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	: "${WORKLOADS:=$BUILD_DIR/src/demo}"
	room=$(mktemp -d /tmp/gpreempt-bats.XXXXXX)
	chmod 755 "$room"
	export GPREEMPT_SOCKET=$room/control.sock XDG_RUNTIME_DIR=$room
	unset GPREEMPT_EMU_DIR
	agent=$BUILD_DIR/tests/fake_agent
	trace=$room/trace.pftrace
	started=()
}

teardown() {
	local pid

	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	rm -rf "$room"
}

# Checks a trace, and asks it these questions.
ask() {
	python3 "$SOURCE_DIR/tests/trace/traces.py" "$trace" "$@"
}

# Starts two programs, one of which is held for the other every 40 ms.
two() {
	"$agent" -n train -p 2 -t batch -w 1000ms:1ms >"$room/train.out" 3>&- &
	started+=($!)
	train=$!
	"$agent" -n serve -p 15 -w 20ms:20ms >"$room/serve.out" 3>&- &
	started+=($!)
	serve=$!
	wait_for 'stop 0' cat "$room/train.out"
	wait_for 'run 0' cat "$room/train.out"
}

# Counts holds with at least this many, by the trace.
holds() {
	ask "SELECT 'holds', COUNT(*) FROM slice WHERE name = 'held: priority' HAVING COUNT(*) >= $1"
}

@test "the trace of a whole log agrees with why, and each hold has the flow of its cause" {
	start_daemon "$room/decisions"
	two
	sleep 1
	kill "$serve" "$train"
	wait_for ended "$GPREEMPT" why tag:batch
	"$GPREEMPT" why tag:batch --json >"$room/why.json"
	kill "$daemon"
	wait "$daemon"
	run -0 "$GPREEMPT" trace convert -o "$trace" "$room/decisions"
	run -0 ask --why "$room/why.json" \
		"SELECT c.name, COUNT(*) FROM flow JOIN slice c ON c.id = slice_out JOIN slice h ON h.id = slice_in
			JOIN track t ON t.id = c.track_id WHERE h.name = 'held: priority' AND t.name LIKE 'queue %: work'
			AND c.parent_id IS NOT NULL GROUP BY 1 HAVING COUNT(*) > 2"
	echo "$output"
	[[ $output == *"is held for this work|"* ]]
	# The counters of the GPU count one group with work, or two.
	run -0 ask "SELECT MAX(value), MIN(value) FROM counter JOIN track t ON t.id = track_id
		WHERE t.name = 'groups with work'"
	[ "$output" = "2|0" ]
}

@test "a log without its last line, and with a flow that nobody causes" {
	start_daemon "$room/decisions"
	# Alone: it is not held for another program when it is suspended.
	"$agent" -n train -p 2 -t batch -w 1000ms:1ms >"$room/train.out" 3>&- &
	started+=($!)
	wait_for train "$GPREEMPT" ps --no-headers
	"$GPREEMPT" suspend tag:batch
	# A thread writes the log.
	eventually grep ' suspend\b' "$room/decisions"
	eventually grep -E ' exclude .*operator' "$room/decisions"
	kill -9 "$daemon"
	wait "$daemon" || true
	printf '99 < gpu0 e1 rea' >>"$room/decisions"
	run -0 "$GPREEMPT" trace convert -o "$trace" "$room/decisions"
	run -0 ask "SELECT c.name FROM flow JOIN slice c ON c.id = slice_out JOIN slice h ON h.id = slice_in
		WHERE h.name = 'held: operator'"
	[[ $output == "group "*" is held for no program" ]]
}

@test "record: for a time, with the names of programs, of what goes on already" {
	start_daemon
	two
	run -0 "$GPREEMPT" trace record --seconds 0.5 -o "$trace" --json
	[ "$(python3 -c 'import json, sys
d = json.load(sys.stdin)
print(d["lines_missing"], d["daemon_ended"], d["lines"] > 10)' <<<"$output")" = "0 False True" ]
	run -0 holds 3
	run -0 ask "SELECT name FROM track WHERE name LIKE 'train, batch, group % (pid $train, priority 2)'"
}

@test "record: until interrupted, of targets" {
	start_daemon
	two
	"$GPREEMPT" trace record -o "$trace" tag:batch >"$room/said" 3>&- &
	recorder=$!
	started+=("$recorder")
	sleep 0.5
	kill -INT "$recorder"
	wait "$recorder"
	[[ $(<"$room/said") == *"open it in ui.perfetto.dev"* ]]
	run -0 holds 3
	# The cause has no track of its own: it is on that of the GPU.
	run -0 ask "SELECT COUNT(*) FROM track WHERE name LIKE '%group %'"
	[ "$output" = 1 ]
	run -0 ask "SELECT DISTINCT substr(t.name, 1, 4) FROM flow JOIN slice c ON c.id = slice_out
		JOIN track t ON t.id = c.track_id"
	[ "$output" = gpu0 ]
}

@test "record ends with the daemon, and needs one" {
	start_daemon
	two
	"$GPREEMPT" trace record -o "$trace" >"$room/said" 3>&- &
	recorder=$!
	started+=("$recorder")
	eventually test -s "$trace"
	sleep 0.2
	kill "$daemon"
	wait "$recorder"
	[[ $(<"$room/said") == *"gpreemptd has ended"* ]]
	run -0 ask
	run -3 "$GPREEMPT" trace record -o "$trace"
	[[ $output == *"no gpreemptd runs"* ]]
}

@test "a trace of the simulator" {
	"$GPREEMPT" sim gang --log "$room/log" >/dev/null
	run -0 "$GPREEMPT" trace convert -o - "$room/log"
	run -0 "$GPREEMPT" trace convert -o "$trace" "$room/log"
	run -0 holds 3
}

@test "tracepoints of the kernel's scheduler" {
	cat >"$room/tracepoints" <<-END
		# tracer: nop
		#
		 kfd_sched-77 [001] d..1.  100.000001: kfd_sched_ring: gpu_id=7 pid=12 queue=0 ready rptr=0 wptr=4
		 kfd_sched-77 [001] d..1.  100.000005: kfd_sched_action: gpu_id=7 pid=13 queue=1 preempt why=priority result=0 took_ns=900
		 kfd_sched-77 [001] d..1.  100.000006: kfd_sched_action: gpu_id=7 pid=14 queue=2 preempt why=priority result=-62 took_ns=900
		 other-1 [001] d..1.  100.000006: sched_switch: prev_comm=x
		 kfd_sched-77 [001] d..1.  100.000011: kfd_sched_ring: gpu_id=7 pid=12 queue=0 idle rptr=4 wptr=4
		 kfd_sched-77 [001] d..1.  100.000015: kfd_sched_action: gpu_id=7 pid=13 queue=1 resume why=idle result=0 took_ns=400
	END
	run -0 "$GPREEMPT" trace convert -o "$trace" "$room/tracepoints"
	run -0 ask "SELECT t.name, s.name, s.ts, s.dur FROM slice s JOIN track t ON t.id = track_id ORDER BY s.id"
	[ "$output" = "pid 12 queue 0: work|work|100000001000|10000
pid 13 queue 1: hold|hold: priority|100000005000|10000
pid 14 queue 2: hold|hold failed|100000006000|0" ]
}

# How long workgroups of the group's program were on the GPU while it was held and had stopped, in
# percent of the time it was held.
beside_its_hold='
	WITH held AS (SELECT s.ts + COALESCE((SELECT SUM(p.dur) FROM slice p WHERE p.parent_id = s.id), 0) AS a,
			s.ts + s.dur AS b FROM slice s JOIN track t ON t.id = s.track_id
			JOIN track g ON g.id = t.parent_id
			WHERE s.name LIKE "hold: %" AND s.category = "gpreempt" AND g.name LIKE "%(pid " || PID || ",%"),
		on_cus AS (SELECT ts AS a, ts + dur AS b FROM slice s JOIN track t ON t.id = track_id
			WHERE s.name = "workgroups" AND t.name LIKE "pid " || PID || " %")
	SELECT (SELECT COUNT(*) FROM on_cus) > 5,
		SUM(MAX(0, MIN(held.b, on_cus.b) - MAX(held.a, on_cus.a))) * 50 <= (SELECT SUM(b - a) FROM held)
		FROM held, on_cus'

@test "the machine and the decisions are on one time axis" {
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	"$GPREEMPT" emu start --name one --cus 4 --trace "$room/machine" >/dev/null
	start_daemon "$room/decisions"
	"$GPREEMPT" run -c offline -- "$GPREEMPT" emu exec --name one -- "$WORKLOADS/offline_trainer" \
		--seconds 600 >/dev/null 2>&1 3>&- &
	started+=($!)
	wait_for offline_trainer "$GPREEMPT" ps
	"$GPREEMPT" run -c online -- "$GPREEMPT" emu exec --name one -- "$WORKLOADS/online_server" \
		--requests 8 --period 50ms >/dev/null 2>&1 3>&-
	"$GPREEMPT" emu stop --all >/dev/null
	pid=$(awk '/ entity-add / && / class=offline/ { sub(/.*process=/, ""); print $1; exit }' "$room/decisions")
	run -0 "$GPREEMPT" trace convert -o "$trace" "$room/decisions" "$room/machine"
	run -0 ask "${beside_its_hold//PID/$pid}"
	echo "$output"
	[ "$output" = "1|1" ]
}

@test "what cannot be converted is named by file and line, and leaves no file" {
	printf '# gpreempt decision log 2\n1 < gpu0 e1 dance\n' >"$room/log"
	run -2 "$GPREEMPT" trace convert -o "$trace" "$room/log"
	[[ $output == *"$room/log:2: expected what happened"* ]]
	[ ! -e "$trace" ]
	printf '1 2 0 busy\n1 2 0 perhaps\n' >"$room/log"
	run -2 "$GPREEMPT" trace convert -o "$trace" "$room/log"
	[[ $output == *"$room/log:2: expected HOST DEVICE GPU"* ]]
	echo hello >"$room/log"
	run -2 "$GPREEMPT" trace convert -o "$trace" "$room/log"
	[[ $output == *":1: expected a decision log"* ]]
	: >"$room/log"
	run -2 "$GPREEMPT" trace convert -o "$trace" "$room/log"
	run -1 "$GPREEMPT" trace convert -o "$trace" "$room/none"
	[[ $output == *"cannot read $room/none: No such file"* ]]
	printf '# gpreempt decision log 2\n1 < gpu0 - device-add memory=0 can_weigh=0\n' >"$room/log"
	run -1 "$GPREEMPT" trace convert -o /dev/full "$room/log"
	[[ $output == *"cannot write the trace /dev/full: No space left"* ]]
	[ -c /dev/full ]
	run -2 "$GPREEMPT" trace convert
	run -2 "$GPREEMPT" trace
	run -2 "$GPREEMPT" trace dance
	run -2 "$GPREEMPT" trace record --seconds never
}
