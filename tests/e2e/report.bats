#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt report: its figures against others' computations, its page, and what is no log.
# shellcheck disable=SC2154 # join() sets $to_NAME

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${BUILD_DIR:=$PWD/build}" "${SOURCE_DIR:=$PWD}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	room=$(mktemp -d /tmp/gpreempt-bats.XXXXXX)
	export GPREEMPT_SOCKET=$room/control.sock
	started=()
	cd "$BATS_TEST_TMPDIR" || exit 1
}

teardown() {
	local pid

	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	rm -rf "$room"
}

# Writes the decision log of a scenario, under the policy $2 if it is given.
simulate() {
	"$GPREEMPT" sim "$SOURCE_DIR/scenarios/$1.ini" --no-alone --log "$3" ${2:+--policy "$2"} >sim.out
}

# Starts a program NAME that reads commands from the descriptor $to_NAME. Sets $pid.
join() {
	local fd

	mkfifo "$room/in-$2"
	"$BUILD_DIR/tests/fake_agent" -n "$1" "${@:3}" <"$room/in-$2" >"$room/out-$2" 3>&- &
	pid=$!
	started+=("$pid")
	exec {fd}>"$room/in-$2"
	eval "to_$2=$fd"
	eventually grep -q joined "$room/out-$2"
}

@test "figures are those that another program computes from the log" {
	for scenario in llm users starvation; do
		simulate "$scenario" "" log
		"$GPREEMPT" report log --json >json
		python3 - log json <<-'END'
			import collections, json, sys
			class Group:
			    def __init__(self, user, prio, gpu):
			        self.user, self.prio, self.gpu = user, prio, gpu
			        self.ready, self.held, self.pieces = set(), False, []
			        self.asked, self.least = {}, set()
			        self.used = self.waited = self.holds = self.longest = 0
			        self.since = self.began = self.ended = None
			    def yields(self):
			        return self.ready <= self.least
			now, groups, at = 0, {}, collections.defaultdict(int)
			busy, idle = collections.Counter(), collections.Counter()
			def spend(gpu, now):
			    dt, at[gpu] = now - at[gpu], now
			    mine = [g for g in groups.values() if g.gpu == gpu]
			    run = [g for g in mine if g.ready and not g.held]
			    # The least weight gets what others leave.
			    first = [g for g in run if not g.yields()] or run
			    for g in first:
			        g.used += dt / len(first)
			    for g in mine:
			        g.waited += dt if g.ready and g.held else 0
			    busy[gpu] += dt if run else 0
			    idle[gpu] += dt if not run and any(g.ready and g.held for g in mine) else 0
			def look(g, now):
			    waits = bool(g.ready) and g.held
			    if g.since is not None and not waits:
			        g.longest, g.since = max(g.longest, now - g.since), None
			    elif waits and g.since is None:
			        g.since = now
			causes = collections.Counter()
			for line in open(sys.argv[1]):
			    if line[0] == "#":
			        continue
			    now, sign, gpu, who, what, *rest = line.split()
			    now, f = int(now), dict(x.split("=", 1) for x in rest if "=" in x)
			    if gpu != "-":
			        spend(gpu, now)
			    if what == "entity-add":
			        groups[who] = Group(f["user"], int(f["prio"]), gpu)
			    g = groups.get(who)
			    if what == "ready":
			        if not g.ready:
			            g.began, g.ended = now, 0
			        g.ready.add(f["q"])
			    elif what == "idle":
			        g.ready.discard(f["q"])
			        g.ended = max(g.ended, int(f["since"]))
			        if not g.ready:
			            g.pieces.append(g.ended - g.began)
			    elif what == "weigh":
			        g.asked[f["q"]] = f["weight"] == "16777214"
			    elif what == "ack" and f["q"] in g.asked:
			        (g.least.add if g.asked.pop(f["q"]) else g.least.discard)(f["q"])
			    elif what == "exclude" and not g.held:
			        g.held, g.holds = True, g.holds + 1
			        causes[who, f["by"], f["why"]] += 1
			    elif what == "admit":
			        g.held = False
			    if g:
			        look(g, now)
			for gpu in list(at):
			    spend(gpu, now)  # until the end of the log
			for g in groups.values():
			    g.held = False
			    look(g, now)
			report = json.load(open(sys.argv[2]))
			near = lambda ms, ns: abs(ms * 1e6 - ns) <= 1e-6 * ns + 1e4
			assert len(report["groups"]) == sum(g.used + g.waited > 0 for g in groups.values())
			for r in report["groups"]:
			    g = groups["e%d" % r["group"]]
			    assert near(r["used_ms"], g.used) and near(r["held_ms"], g.waited), (r, vars(g))
			    assert near(r["longest_hold_ms"], g.longest), (r, vars(g))
			    assert (r["holds"], r["pieces"]) == (g.holds, len(g.pieces)), (r, vars(g))
			for r in report["gpus"]:
			    assert near(r["busy_ms"], busy["gpu%d" % r["gpu"]]), (r, busy)
			    assert near(r["wasted_ms"], idle["gpu%d" % r["gpu"]]), (r, idle)
			names = {15: "online", 7: "normal", 2: "offline"}
			for r in report["classes"]:
			    all = sorted(p for g in groups.values() if names[g.prio] == r["class"] for p in g.pieces)
			    assert r["pieces"] == len(all) >= 100
			    for key, share in ("p50_ms", 50), ("p99_ms", 99):
			        assert near(r[key], all[(len(all) * share + 99) // 100 - 1]), (r, key)
			for r in report["users"]:
			    mine = [g.used for g in groups.values() if g.user == str(r["user"])]
			    assert near(r["used_ms"], sum(mine)) and r["groups"] == len(mine), r
			found = {("e%d" % r["group"], "e%d" % r["by_group"] if r["by_group"] else "-", r["rule"]): r["holds"]
			         for r in report["holds"]}
			assert found == causes, (found, causes)
		END
	done
}

@test "holds are those that why tells, and programs have names" {
	start_daemon "$room/decisions"
	join train patient -p 2 -t batch
	join 'se<b>rve</script>' urgent -p 15
	echo "ready 0" >&"$to_patient"
	for _ in {1..5}; do
		echo "ready 0" >&"$to_urgent"
		wait_for "runs: se" "$GPREEMPT"
		echo "idle 0" >&"$to_urgent"
		wait_for "runs: train" "$GPREEMPT"
	done
	echo "idle 0" >&"$to_patient"
	wait_for "idle" "$GPREEMPT" ps
	"$GPREEMPT" why tag:batch --json >told
	[ "$("$GPREEMPT" ps --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["daemon"]["log"])')" = "$room/decisions" ]
	# The log is written by a thread, and read by its name in the daemon's answer.
	report_has_it() {
		"$GPREEMPT" report --json -o page.html >json 2>err
		python3 - told json page.html <<-'END'
			import json, re, sys
			why = json.load(open(sys.argv[1]))["groups"][0]
			report = json.load(open(sys.argv[2]))
			train = next(g for g in report["groups"] if g["program"] == "train")
			serve = next(g for g in report["groups"] if g["program"] == "se<b>rve</script>")
			assert train["holds"] == why["holds"] == 5, (train, why)
			for key in "held_ms", "longest_hold_ms":
			    assert abs(train[key] - why[key]) < 0.01, (key, train, why)
			assert train["tag"] == "batch" and train["pid"] == why["pid"]
			assert [(h["group"], h["by_group"], h["holds"]) for h in report["holds"]] == \
			    [(train["group"], serve["group"], 5)]
			page = open(sys.argv[3]).read()
			assert "rve</script>" not in page and page.count("</script>") == 2
			data = json.loads(re.search(r'id="data">(.*)</script>', page).group(1))
			assert any("se<b>rve</script>" in str(t) for t in data["tables"])
		END
	}
	eventually report_has_it
	[[ $(<err) == *"The report is page.html"* ]]
}

@test "the page needs nothing else, and shows the same figures" {
	simulate llm "" log
	run -0 --separate-stderr "$GPREEMPT" report log --compare none
	[[ ${lines[0]} == "log: 120 s on 2 GPUs under hpf; "* ]]
	[[ $output == *"The report is gpreempt-report.html"* ]]
	"$GPREEMPT" report log --json >json
	python3 - gpreempt-report.html json <<-'END'
		import json, re, sys
		page = open(sys.argv[1]).read()
		assert not re.search(r'(src|href)=|url\((?!#|\$)|https?:|@import', page), "it needs something else"
		data = json.loads(re.search(r'id="data">(.*)</script>', page).group(1))
		report = json.load(open(sys.argv[2]))
		tables = {t["title"]: t for t in data["tables"]}
		assert set(tables) == {"Under another policy", "Classes", "Who held whom", "Users",
		                       "Programs", "GPUs"}, set(tables)
		for row, c in zip(tables["Classes"]["rows"], report["classes"]):
		    assert row["cells"][0] == c["class"] and row["cells"][2] == str(c["pieces"])
		    assert abs(float(row["cells"][3].split()[0]) - c["p50_ms"]) < 0.01 * c["p50_ms"]
		assert len(tables["Programs"]["rows"]) == len(report["groups"]) == 4
		lanes = [row for g in data["timeline"]["groups"] for row in g["rows"]]
		assert len(lanes) == 4
		for lane in lanes:
		    for layer in lane["layers"]:
		        last = 0
		        for a, b, *_ in layer["at"]:
		            assert last <= a < b <= data["timeline"]["length"] + 1e-3
		            last = b
		trainer = next(row for row in lanes if row["name"].startswith("train-nv"))
		held = sum(b - a for a, b, *_ in trainer["layers"][0]["at"])
		told = next(g["held_ms"] for g in report["groups"] if g["tag"] == "train-nv")
		assert abs(held - told) < 0.02 * told, (held, told)
		curves = {c["name"]: c["values"] for c in data["cdfs"][0]["series"]}
		assert set(curves) == {"online", "offline"} and all(len(v) == 1000 for v in curves.values())
	END
}

@test "another policy on the same day: as the policy itself would have done" {
	for scenario in seed004-basic starvation; do
		simulate "$scenario" "" log
		"$GPREEMPT" report log --compare none,fair --json >json
		for policy in none fair; do
			simulate "$scenario" "$policy" truth
			"$GPREEMPT" report truth --json >"$policy"
		done
		python3 - json none fair <<-'END'
			import json, sys
			report, *truths = (json.load(open(name)) for name in sys.argv[1:])
			c = report["comparison"]
			assert c["refused"] is None and c["simulated"] is True
			names = [r["name"] for r in c["runs"]]
			assert names == ["measured", report["policy"] + ", simulated", "none, simulated",
			                 "fair, simulated"], names
			def check(run, classes, within):
			    mine = {x["class"]: x for x in run["classes"]}
			    for real in classes:
			        for key in "p50_ms", "p99_ms":
			            if real[key] is not None:
			                assert abs(mine[real["class"]][key] / real[key] - 1) < within, (run["name"], mine, real)
			check(c["runs"][0], report["classes"], 1e-9)
			check(c["runs"][1], report["classes"], 0.1)
			for run, truth in zip(c["runs"][2:], truths):
			    check(run, truth["classes"], 0.15)
		END
	done
}

@test "what cannot be simulated is not compared, and the page says so" {
	simulate gang "" log
	run -1 "$GPREEMPT" report log --compare fair
	[[ $output == *"no comparison: programs of a gang ran"* ]]
	grep -q "No comparison: programs of a gang ran" gpreempt-report.html
	run ! grep -q "Under another policy" gpreempt-report.html
	# Two pieces of work are no distribution.
	head -n 60 log | grep -v gang >short
	run -1 "$GPREEMPT" report short --compare fair --json
	[[ $output == *'"refused": "no class has 20 pieces of work'* ]]
	# Without what introduces its policy.
	simulate llm "" log
	(echo "# gpreempt decision log 2, continued" && tail -n +30 log) >continued
	run -1 "$GPREEMPT" report continued --compare fair
	[[ $output == *"no comparison: the log does not say which policy was in force"* ]]
	# Holds that the policy which it names would not have made.
	simulate seed004-basic "" log
	sed 's/ policy hpf .*/ policy none/' log >changed
	run -1 "$GPREEMPT" report changed --compare fair --json
	[[ $output == *'"refused": "simulated under its own policy, the p50 of online work is '*' ms, and 10.2 ms was measured: '*' % off, where at most 10 % are allowed'* ]]
	[[ $output != *'"fair, simulated"'* ]]
}

@test "two logs beside each other, and the last part of one" {
	simulate llm "" a
	simulate llm none b
	run -0 "$GPREEMPT" report a --compare b --json
	python3 - "$output" <<-'END'
		import json, sys
		c = json.loads(sys.argv[1])["comparison"]
		assert c["simulated"] is False and [r["name"] for r in c["runs"]] == ["a", "b"]
		assert c["runs"][0]["holds"] > 1000 and c["runs"][1]["holds"] == 0
	END
	run -0 "$GPREEMPT" report a --since 30s --json
	python3 - "$output" <<-'END'
		import json, sys
		r = json.loads(sys.argv[1])
		assert abs(r["length_ms"] - 30000) < 1e-3, r["length_ms"]
		for gpu in r["gpus"]:
		    assert 90 < gpu["busy_pct"] <= 100 and gpu["busy_ms"] + gpu["wasted_ms"] <= 30000.001
	END
	run -2 "$GPREEMPT" report a --compare nothing
	[[ $output == *"'nothing' is neither policies nor a log: No such file or directory"*"'gpreempt policy' lists the policies." ]]
	run -2 "$GPREEMPT" report a --since soon
	[[ $output == *"'soon' is not a duration"* ]]
	run -2 "$GPREEMPT" report a b
	[[ $output == *"one log at a time"* ]]
}

@test "a log that continues another one is read after it" {
	simulate llm "" whole
	head -n 1000 whole >log.1
	(echo "# gpreempt decision log 2, continued" && tail -n +1001 whole) >log
	"$GPREEMPT" report whole --json | grep -v '"log":' >one
	"$GPREEMPT" report log --json | grep -v '"log":' >two
	cmp one two
	rm log.1
	run -0 "$GPREEMPT" report log
	grep -q "joined before this log begins" gpreempt-report.html
}

@test "no log, a truncated one, a wrong one, and no daemon" {
	simulate users "" log
	run -1 "$GPREEMPT" report none.log
	[ "$output" = "gpreempt: cannot read the log none.log: No such file or directory" ]
	run -2 "$GPREEMPT" report "$SOURCE_DIR/scenarios/llm.ini"
	[[ $output == *"llm.ini:1: expected \"# gpreempt decision log 2\", as every log begins"*"A decision log is written by gpreemptd"* ]]
	run -2 "$GPREEMPT" report /dev/null
	[[ $output == *"/dev/null:0: expected a decision log, but the file is empty"* ]]
	run -1 "$GPREEMPT" report .
	[[ $output == *"cannot read the log .: Is a directory"* ]]
	head -c 100000 log >torn
	run -0 "$GPREEMPT" report torn
	grep -q "The last line of the log is not complete" gpreempt-report.html
	(head -n 50 log && echo "12 < gpu0 e1 dance" && tail -n +51 log) >wrong
	run -2 "$GPREEMPT" report wrong
	[[ $output == *"wrong:51: expected what happened"* ]]
	head -n 20 log >begin
	run -1 "$GPREEMPT" report begin
	[[ $output == *"no program had work on a GPU"* ]]
	run -1 "$GPREEMPT" report log -o no/page.html
	[[ $output == *"cannot write the page no/page.html: No such file or directory"*"--output names another file."* ]]
	run -3 "$GPREEMPT" report
	start_daemon
	run -1 "$GPREEMPT" report
	[[ $output == *"gpreemptd writes no decision log"*"Set 'log = FILE' in gpreemptd.conf(5), or name a log." ]]
}

@test "any changed log is reported, or refused with its line" {
	simulate users "" log
	head -n 2000 log >small
	python3 - "$GPREEMPT" <<-'END'
		import json, random, re, subprocess, sys
		random.seed(7)
		lines = open("small").read().splitlines(True)
		seen = set()
		for turn in range(150):
		    text = lines[:]
		    for _ in range(random.choice([1, 3, 30])):
		        if len(text) < 3:
		            break
		        i = random.randrange(1, len(text))
		        what = random.randrange(6)
		        if what == 0:
		            del text[i]
		        elif what == 1:
		            text[i] = text[random.randrange(len(text))]
		        elif what == 2:
		            j = random.randrange(len(text))
		            text[i], text[j] = text[j], text[i]
		        elif what == 3:
		            text = text[:i + 1]
		            text[i] = text[i][:random.randrange(len(text[i]) + 1)]
		        elif what == 4:
		            words = text[i].split(" ")
		            words[random.randrange(len(words))] = random.choice(
		                ["", "-1", "18446744073709551615", "e4294967295", "gpu9", "q=0", "\0", "é"])
		            text[i] = " ".join(words)
		        else:
		            text[i] = "# gpreempt decision log 2\n"
		    open("fuzzed", "w").write("".join(text))
		    p = subprocess.run([sys.argv[1], "report", "fuzzed", "--json", "--compare", "fair", "-o", "f.html"],
		                       capture_output=True, timeout=60)
		    seen.add(p.returncode)
		    assert p.returncode in (0, 1, 2), (turn, p)
		    document = json.loads(p.stdout)
		    if p.returncode == 2:
		        assert re.match(rb"gpreempt: fuzzed:\d+: expected ", p.stderr), p.stderr
		    elif "error" not in document:
		        assert document["length_ms"] is not None
		        for g in document["groups"]:
		            assert g["used_ms"] + g["held_ms"] <= document["length_ms"] * (1 + 1e-6) + 1e-3, g
		assert 2 in seen and len(seen) > 1, seen
	END
}
