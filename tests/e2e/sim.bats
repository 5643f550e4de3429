#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt sim: output, logs, replays and errors.

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}"
	: "${SOURCE_DIR:=.}"
	cd "$BATS_TEST_TMPDIR" || exit 1
	scenarios=$SOURCE_DIR/scenarios
}

@test "a scenario: a table with its legend" {
	run "$GPREEMPT" sim "$scenarios/example3.ini"
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == "Two priorities in one process" ]]
	[[ $output == *"policy hpf"* ]]
	[[ $output == *"SLOWDOWN: mean of that"* ]]
	[[ $output == *"times as long as alone"* ]]
}

@test "two runs with one seed are identical, another seed is not" {
	"$GPREEMPT" sim "$scenarios/multistream.ini" --seed 5 --json >a
	"$GPREEMPT" sim "$scenarios/multistream.ini" --seed 5 --json >b
	"$GPREEMPT" sim "$scenarios/multistream.ini" --seed 6 --json >c
	cmp a b
	! cmp -s a c || false
}

@test "levels and policies are compared in one document" {
	"$GPREEMPT" sim "$scenarios/example3.ini" --compare hpf,fair --level 1,3 --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == 1 and d["seed"] == 3
runs = {(r["policy"], r["level"]): {p["name"]: p for p in r["programs"]} for r in d["runs"]}
assert set(runs) == {("hpf", 1), ("hpf", 3), ("fair", 1), ("fair", 3)}
def ratio(run):
    return run["low"]["latency"]["mean_us"] / run["high"]["latency"]["mean_us"]
assert ratio(runs["hpf", 3]) > 3, ratio(runs["hpf", 3])
assert 1 < ratio(runs["hpf", 1]) < 1.25, ratio(runs["hpf", 1])
assert runs["hpf", 3]["high"]["missed"] is None
'
}

@test "requests: times of tokens against the server alone, and their cost" {
	cat >llm.ini <<-END
		[scenario]
		duration = 20s
		[gpu g]
		[program chat]
		class = online
		arrivals = poisson 5/s
		first = 5ms
		kernels = 11
		kernel = 1ms
		gap = 500us
		[program train]
		class = offline
		arrivals = closed
		kernel = 5ms
	END
	"$GPREEMPT" sim llm.ini --compare hpf,none --json | python3 -c '
import json, sys
runs = {r["policy"]: {p["name"]: p for p in r["programs"]} for r in json.load(sys.stdin)["runs"]}
hpf, none = runs["hpf"]["chat"]["requests"], runs["none"]["chat"]["requests"]
assert "requests" not in runs["hpf"]["train"]
assert hpf["whole"]["count"] == runs["hpf"]["chat"]["jobs"]
assert hpf["next_token"]["count"] == 10 * hpf["first_token"]["count"]
for times in "first_token", "next_token", "whole":
    assert 1 <= hpf[times]["p50_against_alone"] < 1.1, (times, hpf[times])
    assert none[times]["p50_against_alone"] > 1.5, (times, none[times])
assert 1495 < hpf["next_token"]["p50_us"] < 1600
assert 95 < hpf["others_kept_pct"] < none["others_kept_pct"]
assert hpf["holds_per_request"] > 0.5 and none["holds_per_request"] == 0
assert hpf["wasted_pct"] > 0 and none["wasted_pct"] == 0
'
	run "$GPREEMPT" sim llm.ini
	[ "$status" -eq 0 ]
	[[ $output =~ REQUESTS\ +POLICY\ +FIRST\ P50.*KEPT\ +HOLDS\ +WASTED ]]
	[[ $output =~ chat\ +alone\ +5\.0.\ ms ]]
	[[ $output == *"WASTED: time"* ]]
	"$GPREEMPT" sim llm.ini --no-alone --json | python3 -c '
import json, sys
requests = json.load(sys.stdin)["runs"][0]["programs"][0]["requests"]
assert requests["whole"]["p50_against_alone"] is None and requests["others_kept_pct"] is None
assert requests["whole"]["p50_us"] > 0 and requests["holds_per_request"] > 0
'
	# Other scenarios have none of this.
	run "$GPREEMPT" sim "$scenarios/example3.ini"
	[[ $output != *REQUESTS* && $output != *WASTED* ]]
	run "$GPREEMPT" sim "$scenarios/example3.ini" --json
	[[ $output != *'"requests"'* ]]
}

@test "a log replays to the same actions, byte for byte" {
	"$GPREEMPT" sim "$scenarios/gang.ini" --log gang.log >/dev/null
	run "$SOURCE_DIR/tests/kernel/replay-log" "$GPREEMPT" gang.log
	[ "$status" -eq 0 ]
	[[ $output == *"gave the same"* ]]
	"$GPREEMPT" sim "$scenarios/gang.ini" --log - | cmp - gang.log
}

@test "a modified log is detected, with the line" {
	"$GPREEMPT" sim "$scenarios/example3.ini" --log a.log >/dev/null
	line=$(grep -n ' exclude ' a.log | sed -n '5s/:.*//p')
	sed -i "${line}s/why=priority/why=slice/" a.log
	run "$GPREEMPT" sim --replay a.log
	[ "$status" -eq 1 ]
	[[ $output == "a.log:$line: the replay differs"* ]]
	run "$GPREEMPT" sim --replay "$scenarios/example3.ini"
	[ "$status" -eq 2 ]
	[[ $output == *"example3.ini:1: expected"*"decision log 2"* ]]
	run "$GPREEMPT" sim --replay /dev/null
	[ "$status" -eq 2 ]
}

@test "an error in a scenario: file, line, the expected value, status 2" {
	printf '[scenario]\nduration = 1s\n[gpu g]\n[program p]\npriorty = 3\n' >bad.ini
	run "$GPREEMPT" sim bad.ini
	[ "$status" -eq 2 ]
	[[ $output == *"bad.ini:5: "*"did you mean 'priority'"* ]]
	printf '[scenario]\nduration = 1s\npolicy = hpf\npolicy.age_ms = soon\n[gpu g]\n[program p]\nkernel=1ms\narrivals = closed\n' >bad.ini
	run "$GPREEMPT" sim bad.ini
	[ "$status" -eq 2 ]
	[[ $output == *"bad.ini:4: policy.age_ms: 'soon' is not a whole number from 0 to 600000"* ]]
	sed -i 's/^policy = hpf/policy = hfp/' bad.ini
	run "$GPREEMPT" sim bad.ini
	[ "$status" -eq 2 ]
	[[ $output == *"bad.ini:3: 'hfp' is not a policy"* ]]
}

@test "wrong usage: a remedy, status 2" {
	run "$GPREEMPT" sim
	[ "$status" -eq 2 ]
	[[ $output == *"a scenario is missing"* ]]
	run "$GPREEMPT" sim x.ini --policy fare
	[ "$status" -eq 2 ]
	[[ $output == *"did you mean 'fair'"* ]]
	run "$GPREEMPT" sim x.ini --level 4
	[ "$status" -eq 2 ]
	run "$GPREEMPT" sim "$scenarios/example3.ini" --compare hpf,fair --log x
	[ "$status" -eq 2 ]
	[[ $output == *"--log is for one run"* ]]
	run "$GPREEMPT" sim "$scenarios/example3.ini" --log - --json
	[ "$status" -eq 2 ]
	run "$GPREEMPT" sim missing.ini
	[ "$status" -eq 1 ]
	[[ $output == *"missing.ini"*"No such file"* ]]
}

@test "a full disk is reported" {
	[ -w /dev/full ] || skip "no /dev/full"
	run "$GPREEMPT" sim "$scenarios/example3.ini" --log /dev/full
	[ "$status" -eq 1 ]
	[[ $output == *"/dev/full is incomplete"* ]]
}

@test "an input file is never overwritten" {
	cp "$scenarios/example3.ini" mine.ini
	run "$GPREEMPT" sim mine.ini --log mine.ini
	[ "$status" -eq 2 ]
	[[ $output == *"would overwrite mine.ini"* ]]
	cmp mine.ini "$scenarios/example3.ini"
	"$GPREEMPT" sim mine.ini --log a.log >/dev/null
	cp a.log b.log
	ln a.log c.log
	run "$GPREEMPT" sim --replay a.log --log c.log
	[ "$status" -eq 2 ]
	cmp a.log b.log
	# An error in the scenario does not truncate the log.
	sed -i 's/^policy .*/policy = foo/' mine.ini
	run "$GPREEMPT" sim mine.ini --log a.log
	[ "$status" -eq 2 ]
	cmp a.log b.log
}

@test "--json: one document, for errors too" {
	[ -w /dev/full ] || skip "no /dev/full"
	"$GPREEMPT" sim "$scenarios/example3.ini" --log /dev/full --json 2>/dev/null | python3 -c '
import json, sys
assert json.load(sys.stdin)["error"]["status"] == 1'
}

@test "an installed scenario can be named without a path" {
	cd "$SOURCE_DIR"
	run "$GPREEMPT" sim example3
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == "Two priorities in one process" ]]
	run "$GPREEMPT" sim example33
	[ "$status" -eq 1 ]
	[[ $output == *"go by name"* ]]
}

@test "conflicting options are refused" {
	"$GPREEMPT" sim "$scenarios/example3.ini" --log a.log >/dev/null
	run "$GPREEMPT" sim --replay a.log --policy fair
	[ "$status" -eq 2 ]
	[[ $output == *"--replay goes with"* ]]
	run "$GPREEMPT" sim "$scenarios/example3.ini" --level 1,1
	[ "$status" -eq 2 ]
	[[ $output == *"named twice"* ]]
}

@test "every installed scenario runs under every policy" {
	for file in "$scenarios"/*.ini; do
		"$GPREEMPT" sim "$file" --compare hpf,fair,share,edf,drf,none --no-alone >/dev/null
	done
}

@test "a shipped scenario is found by name from any folder" {
	run "$GPREEMPT" sim example3
	[ "$status" -eq 0 ]
	[[ $output == *high* ]]
	run "$GPREEMPT" sim no-such-scenario
	[ "$status" -eq 1 ]
	[[ $output == *"no-such-scenario"*"Shipped scenarios go by name"* ]]
}
