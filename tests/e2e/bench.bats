#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt bench: the JSON envelope of all benchmarks, and the rows of each.

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}"
}

# Runs benchmark $1 with --quick and these options, and checks its document with the Python code on
# standard input, in which it is d.
check_bench() {
	local name=$1 out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err

	"$GPREEMPT" bench "$@" --quick --json >"$out" 2>"$err" || {
		grep -q "has no kernels" "$err" "$out" && skip "no kernels"
		cat "$err"
		return 1
	}
	{
		echo "import json"
		echo "d = json.load(open('$out'))"
		echo "assert list(d)[:2] == ['schema', 'bench'], d"
		echo "assert d['schema'] == 1 and d['bench'] == '$name', d"
		cat
	} | python3 -
}

@test "bench without a name lists the benchmarks" {
	run "$GPREEMPT" bench
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == NAME* ]]
	[[ $output == *"base "* ]]
	[ "$("$GPREEMPT" bench --list --no-headers | head -1 | cut -c1-4)" != NAME ]
}

@test "bench base: envelope, order and values of the JSON document" {
	check_bench base <<'END'
assert d["device"] == "host"
rows = d["results"]
assert {r["state"] for r in rows} == {"hot", "cold", "pairs"}
for r in rows:
    assert r["time_ns"] > 0
    assert r["time_lo_ns"] <= r["time_ns"] <= r["time_hi_ns"]
pair = [r for r in rows if r["state"] == "pairs"][0]
assert pair["ratio_lo"] <= pair["ratio"] <= pair["ratio_hi"]
assert all(r["ratio"] is None for r in rows if r["state"] != "pairs")
END
}

@test "too few repeats for an interval: null in JSON, - in the table" {
	check_bench base --repeats 3 <<'END'
assert d["repeats"] == 3
assert all(r["time_lo_ns"] is None for r in d["results"])
END
	run "$GPREEMPT" bench base --quick --repeats 3
	[ "$status" -eq 0 ]
	[[ $output == *"quick: a check, not a measurement"* ]]
	[[ $output == *" - "* ]]
}

@test "an unknown benchmark: suggests the nearest, status 2" {
	run "$GPREEMPT" bench bas
	[ "$status" -eq 2 ]
	[[ $output == *"did you mean 'base'?"* ]]
}

@test "a value out of range: the message has the valid range" {
	run "$GPREEMPT" bench base --repeats 2
	[ "$status" -eq 2 ]
	[[ $output == *"a whole number from 3 to 1001"* ]]
	run "$GPREEMPT" bench base --cpu x
	[ "$status" -eq 2 ]
	[[ $output == *"a whole number from 0 to 1023"* ]]
}

@test "a CPU that does not exist: reported, status 1" {
	run "$GPREEMPT" bench base --quick --cpu 1023
	[ "$status" -eq 1 ]
	[[ $output == *"cannot run on CPU 1023"* ]]
}

@test "a full disk: reported, status 1" {
	run bash -c '"$0" bench base --quick --json >/dev/full' "$GPREEMPT"
	[ "$status" -eq 1 ]
	[[ $output == *"No space left on device"* ]]
}

@test "bench emu-kfd: every way of holding, on a new machine that ends with it" {
	check_bench emu-kfd <<'END'
rows = d["results"]
for way in "update", "dbgtrap", "preempt":
    for verb in "stop", "start":
        of = [r for r in rows if r["what"] == f"{verb} by {way}"]
        assert [r["waves"] for r in of] == [0, 1, 32, 256], of
        assert all(r["wall_us"] > 0 for r in of)
packets = [(r["what"], r["state"]) for r in rows if r["device_us"] is None]
assert ("barrier packet", "hot") in packets and ("futex ping-pong", "cold") in packets
assert d["idle_cpu_percent"] >= 0
for verb in "make", "free":
    for kind in "GTT", "VRAM", "userptr":
        assert [r["wall_us"] > 0 for r in rows if r["what"] == f"{verb} {kind} buffer"] == [True]
assert 0 < d["buffers_descriptors"] < 600
for way in "processor", "pinned", "pageable":
    assert d[f"copy_{way}_gb_per_s"] > 0
END
}

@test "bench preempt: every way, through the owner and by ioctl, by number of waves" {
	check_bench preempt --device emu <<'END'
rows = d["results"]
for way in "update", "dbgtrap", "preempt":
    for verb in "stop", "start":
        for through in "owner", "ioctl":
            of = [r for r in rows if r["what"] == f"{verb} by {way}" and r["through"] == through]
            assert [r["waves"] for r in of] == [0, 1, 32, 256, 512], of
            assert all(r["wall_p50_us"] > 0 and r["device_p50_us"] >= 0 for r in of), of
            assert all((r["wall_p99_us"] is None) == (r["cycles"] < 100) for r in of), of
assert isinstance(d["owner_adds_us"], float)
END
}

@test "bench decide-e2e: each hop from the doorbell, hot and idle" {
	check_bench decide-e2e <<'END'
rows = {(r["by"], r["state"], r["hop"]): r for r in d["results"]}
hops = ["seen", "decided", "delivered", "stopped"]
ways = list(dict.fromkeys(r["by"] for r in d["results"]))
assert ways in (["ring"], ["ring", "launch"]), ways
for by, state in [(by, state) for by in ways for state in ("hot", "idle")]:
    for hop in hops + ["doorbell to stopped", "the launch itself", "seen to delivered", "futex round trip"]:
        r = rows[by, state, hop]
        assert 0 < r["p50_us"] <= r["max_us"] and r["p99_us"] is None, r
    all = rows[by, state, "doorbell to stopped"]
    assert all["p50_us"] > max(rows[by, state, hop]["p50_us"] for hop in hops), rows
    assert d[f"{by}_{state}_daemon_to_futex"] > 0
END
}

@test "bench join: a program joined and not, in pairs, while another is held" {
	check_bench join <<'END'
joined, bare = d["results"]
assert joined["program"] == "joined" and bare["program"] == "bare"
for r in joined, bare:
    assert r["pairs"] == 7 and r["dispatches_lo_per_s"] <= r["dispatches_per_s"], r
    assert r["threads_cpu_percent"] >= 0, r
lo, hi = d["joined_to_bare_interval"]
assert lo <= d["joined_to_bare"] <= hi
END
}

@test "bench levels: at Lv3 the urgent stream is more than three times as fast" {
	check_bench levels --device emu <<'END'
assert d["device"] == "emulated aldebaran, 1 compute unit", d["device"]
rows = {r["level"]: r for r in d["results"]}
assert list(rows) == ["none", "Lv1", "Lv2 drain", "Lv2 flush", "Lv3"]
for level, r in rows.items():
    assert r["high_p50_ms"] > 0 and r["high_p50_ms"] <= r["high_p99_ms"], r
    assert r["low_p50_ms"] > 0 and r["high_wall_p50_ms"] > 0, r
    assert (r["stops"] > 0) == level.startswith("Lv"), r
    assert (r["stop_us"] is not None) == level.startswith(("Lv2", "Lv3")), r
    assert r["repeated"] == 0 or level == "Lv2 flush", r
# These are ratios of device times within one run: a slow host slows both.
assert rows["Lv3"]["ratio"] > 3, rows["Lv3"]
assert rows["Lv3"]["ratio"] > rows["none"]["ratio"], rows["none"]
assert d["lv3_ratio"] == rows["Lv3"]["ratio"]
# How many kernels still have to end at Lv1 depends on when the host's thread runs.
for level, r in rows.items():
    assert (r["preempt_p50_us"] is not None) == level.startswith("Lv"), r
    assert r["preempt_p50_us"] is None or r["preempt_p50_us"] > 0, r
END
}

@test "--device is refused by benchmarks without a choice" {
	run "$GPREEMPT" bench base --device emu
	[ "$status" -eq 2 ]
	[[ $output == *"benchmark 'base' has none to choose"* ]]
	run "$GPREEMPT" bench levels --device gpu
	[ "$status" -eq 2 ]
	[[ $output == *"'gpu' is none of: emu amd"* ]]
}

@test "bench monitor: looks, cost and delay of busy, watched and idle queues" {
	check_bench monitor <<'END'
assert d["device"] == "host"
rows = {(r["queues"], r["state"]): r for r in d["results"]}
states = ["busy", "watched", "idle", "reported"]
assert list(rows) == [(n, s) for n in (1, 100, 1000) for s in states] + [(0, "none")], rows
for (queues, state), r in rows.items():
    # No look, no cost: what was not measured is not 0.
    assert (r["looks_per_s"] == 0) == (r["cpu_percent"] is None) == (r["cpu_us_per_look"] is None), r
    assert r["cpu_percent"] is None or r["cpu_percent"] > 0, r
    if state in ("busy", "watched"):
        assert 0 < r["seen_p50_us"] <= (r["seen_p99_us"] or r["seen_p50_us"]), r
        # The limit is a sixteenth of a CPU; there is room for the looks that learn what they cost.
        assert 0 < r["cpu_percent"] < 50, r
    else:
        assert r["seen_p50_us"] is None and r["seen_p99_us"] is None, r
for queues in 1, 100, 1000:
    busy, watched, idle, reported = (rows[queues, s] for s in states)
    assert min(busy["looks_per_s"], watched["looks_per_s"]) > idle["looks_per_s"], rows
    assert reported["looks_per_s"] == 0, reported
assert rows[0, "none"]["looks_per_s"] == 0
assert d["idle_cpu_percent"] == rows[1, "idle"]["cpu_percent"]
END
	run "$GPREEMPT" bench monitor --quick
	[ "$status" -eq 0 ]
	[[ $output != *"0.00000"* ]]
}

@test "bench llm: a row for each situation and time, and what the daemon did" {
	[ -x "$BUILD_DIR/tests/rocm/hsa_llm" ] || skip "no libhsa-runtime-dev, or no clang-19"
	check_bench llm <<'END'
assert d["device"].startswith("emulated gfx90a"), d
rows = {(r["situation"], r["time_of"]): r for r in d["results"]}
situations, times = ["alone", "native", "gpreempt"], ["first token", "next token", "request"]
assert list(rows) == [(s, t) for s in situations for t in times], rows
for (situation, time), r in rows.items():
    assert r["samples"] == (22 if time == "next token" else 2), r
    assert 0 < r["p50_ms"] <= r["p95_ms"] <= r["p99_ms"], r
    assert r["wall_p50_ms"] > 0 and r["gap_p50_ms"] > 0, r
    base = rows["alone", time]
    for p in "p50", "p95", "p99":
        assert abs(r[f"{p}_ratio"] - r[f"{p}_ms"] / base[f"{p}_ms"]) < 1e-6, r
assert d["request_p99_ratio"] == rows["gpreempt", "request"]["p99_ratio"], d
assert d["trainer"]["percent"] > 0 and d["trainer"]["percent_lo"] is None, d
assert isinstance(d["trainer"]["lost_ms"], float) and d["trainer"]["lost_lo_ms"] is None, d
assert d["trainer"]["wall_percent"] > 0 and d["trainer"]["native_percent"] > 0, d
# The trainer was on the GPU when a request came.
assert d["per_request"]["holds"] > 0 and d["per_request"]["releases"] >= 0, d
assert d["per_request"]["lingered_ms"] >= 0 and d["per_request"]["wasted_ms"] >= 0, d
END
}

@test "bench scale: holds and releases each program's queues in each round" {
	check_bench scale <<'END'
assert d["device"] == "host"
rows = {(r["gpus"], r["order"]): r for r in d["results"]}
assert list(rows) == [(1, "stop"), (1, "run"), (8, "stop"), (8, "run")], rows
for r in rows.values():
    assert r["programs"] == 200 and r["queues"] == 2000, r
    # In each of ten rounds, all programs with work are held: always more than half of them.
    assert r["decisions"] > 10000, r
    assert 0 < r["decided_p50_us"] <= r["decided_p99_us"] <= r["decided_max_us"], r
assert isinstance(d["later_than_10_ms"], int)
END
}

@test "bench scrape: the metrics of 200 programs fit into 1 MB" {
	check_bench scrape <<'END'
assert d["device"] == "host"
[r] = d["results"]
assert r["programs"] == 200 and r["queues"] == 2000 and r["gpus"] == 8, r
assert 0 < r["answer_p50_us"] < r["scrape_p50_us"] <= r["scrape_max_us"], r
assert r["text_p50_us"] < r["scrape_p50_us"], r
# Names of programs beyond 32 count as one.
assert 50000 < r["text_bytes"] < 1000000, r
assert d["decisions"]["pairs"] == 2 and d["decisions"]["ratio"] > 0, d
END
}

@test "bench seed004: each row has its figures, and the steps are correct" {
	[ -x "${WORKLOADS:-build/src/demo}/online_server" ] || skip "its programs are not built"
	check_bench seed004 <<'END'
assert d["device"].startswith("emulated gfx90a"), d
rows = {r["situation"]: r for r in d["results"]}
by_scheduler = ["preempted", "the same by ioctl"]
assert list(rows) == ["online alone", "offline alone", "together"] + by_scheduler, rows
for name, r in rows.items():
    assert (r["online_p50_ms"] is None) == (name == "offline alone"), r
    assert (r["offline_steps_per_s"] is None) == (name in ("online alone", "the same by ioctl")), r
    assert (r["suspend_p50_ms"] is None) == (name not in by_scheduler), r
# Of one run, and with room for a busy host: the offline program is not held but for requests.
assert 0 <= d["offline_loss_percent"] < 90, d["offline_loss_percent"]
alone, preempted = (rows[n]["offline_steps_per_s"] for n in ("offline alone", "preempted"))
assert preempted > alone / 10, (preempted, alone)
END
}

@test "bench streams: each level of a HIP program has a row" {
	[ -x "$BUILD_DIR/tests/rocm/hip_levels" ] || skip "no hipcc that builds for gfx90a"
	check_bench streams <<'END'
assert d["device"].startswith("emulated gfx90a"), d
rows = {r["level"]: r for r in d["results"]}
assert list(rows) == ["none", "Lv1", "Lv2", "Lv3"], d
for r in d["results"]:
    assert r["high_ms"] > 0 and r["low_ms"] > 0 and r["high_jobs"] and r["low_jobs"], r
    assert abs(r["low_over_high"] / (r["low_ms"] / r["high_ms"]) - 1) < 1e-6, r
    assert abs(r["device_low_over_high"] / (r["low_device_ms"] / r["high_device_ms"]) - 1) < 1e-6, r
assert d["device_low_over_high_lv3"] == rows["Lv3"]["device_low_over_high"], d
# In device time, with room for a busy host; it is about 1 if nothing is held.
assert rows["Lv3"]["device_low_over_high"] > 1.3, d
END
}

@test "bench launch: rows for doorbells, launches and windows" {
	[ -x "$BUILD_DIR/tests/rocm/hsa_launches" ] || skip "no libhsa-runtime-dev, or no clang-19"
	check_bench launch <<'END'
assert d["device"].startswith("emulated gfx90a"), d
rows = {r["what"]: r for r in d["results"]}
wakes = ["futex wake", "doorbell until told", "told until seen", "told until order"]
assert list(rows)[:7] == wakes + ["not joined", "joined", "window 1"], d
for name, r in rows.items():
    assert (r["p50_us"] is None) == (name not in wakes), r
    assert (r["kernel_us"] is None) == (name in wakes), r
    assert (r["added_percent"] is None) == (name in wakes + ["not joined"]), r
assert d["joined"]["pairs"] == 2 and d["joined"]["percent_lo"] is None, d
assert 0 <= d["joined"]["threads_percent"] < 100, d
for key in "seen_over_futex", "order_over_futex":
    assert d[key]["runs"] == 2 and isinstance(d[key]["us"], float), d
END
}
