#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt sim: as somebody meets it who has never seen it before.

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

@test "a log replays to the same actions, byte for byte" {
	"$GPREEMPT" sim "$scenarios/gang.ini" --log gang.log >/dev/null
	run "$GPREEMPT" sim --replay gang.log --log again.log
	[ "$status" -eq 0 ]
	[[ $output == *"gave the same"* ]]
	cmp gang.log again.log
	"$GPREEMPT" sim "$scenarios/gang.ini" --log - | cmp - gang.log
}

@test "a log that was changed is told apart, and where" {
	"$GPREEMPT" sim "$scenarios/example3.ini" --log a.log >/dev/null
	line=$(grep -n ' exclude ' a.log | sed -n '5s/:.*//p')
	sed -i "${line}s/why=priority/why=slice/" a.log
	run "$GPREEMPT" sim --replay a.log
	[ "$status" -eq 1 ]
	[[ $output == "a.log:$line: the replay differs"* ]]
	run "$GPREEMPT" sim --replay "$scenarios/example3.ini"
	[ "$status" -eq 2 ]
	[[ $output == *"example3.ini:1: expected"*"decision log 1"* ]]
	run "$GPREEMPT" sim --replay /dev/null
	[ "$status" -eq 2 ]
}

@test "a mistake in a scenario: file, line, what was expected, status 2" {
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

@test "wrong usage says what to do, status 2" {
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

@test "a full disk is told, not ignored" {
	[ -w /dev/full ] || skip "no /dev/full"
	run "$GPREEMPT" sim "$scenarios/example3.ini" --log /dev/full
	[ "$status" -eq 1 ]
	[[ $output == *"/dev/full is incomplete"* ]]
}

@test "what is being read is never overwritten" {
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
	# Nor is a log lost to a mistake in the scenario.
	sed -i 's/^policy .*/policy = foo/' mine.ini
	run "$GPREEMPT" sim mine.ini --log a.log
	[ "$status" -eq 2 ]
	cmp a.log b.log
}

@test "--json: one document, whatever goes wrong" {
	[ -w /dev/full ] || skip "no /dev/full"
	"$GPREEMPT" sim "$scenarios/example3.ini" --log /dev/full --json 2>/dev/null | python3 -c '
import json, sys
assert json.load(sys.stdin)["error"]["status"] == 1'
}

@test "a shipped scenario goes by its name" {
	cd "$SOURCE_DIR"
	run "$GPREEMPT" sim example3
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == "Two priorities in one process" ]]
	run "$GPREEMPT" sim example33
	[ "$status" -eq 1 ]
	[[ $output == *"go by name"* ]]
}

@test "options that do not go together are refused" {
	"$GPREEMPT" sim "$scenarios/example3.ini" --log a.log >/dev/null
	run "$GPREEMPT" sim --replay a.log --policy fair
	[ "$status" -eq 2 ]
	[[ $output == *"--replay goes with"* ]]
	run "$GPREEMPT" sim "$scenarios/example3.ini" --level 1,1
	[ "$status" -eq 2 ]
	[[ $output == *"named twice"* ]]
}

@test "every shipped scenario runs under every policy" {
	for file in "$scenarios"/*.ini; do
		"$GPREEMPT" sim "$file" --compare hpf,fair,share,edf,drf,none --no-alone >/dev/null
	done
}
