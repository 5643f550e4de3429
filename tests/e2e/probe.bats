#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt probe on emulated machines of each kind, and with a fake NVIDIA driver.

bats_require_minimum_version 1.5.0

load nvidia

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	unset GPREEMPT_EMU_DIR
}

teardown() {
	"$GPREEMPT" emu stop --all
}

# probe_on MACHINE_OPTION... [-- PROBE_OPTION...]
probe_on() {
	local machine=()

	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		machine+=("$1")
		shift
	done
	shift || true
	"$GPREEMPT" emu exec --cus 4 "${machine[@]}" -- "$GPREEMPT" probe "$@"
}

# check JSON: runs the Python code on standard input, with the document d and way(name, verb) of GPU 0.
check() {
	python3 -c '
import json, sys
d = json.load(sys.stdin)
def way(name, verb="save", gpu=0):
    found = [a for a in d["gpus"][gpu]["abilities"] if (a["way"], a["verb"]) == (name, verb)]
    assert len(found) == 1, (name, verb, found)
    return found[0]
def works(a, level):
    assert a["works"] and a["level"] == level and a["stop_us"] > 0 and a["start_us"] > 0, a
def fails(a, error):
    assert not a["works"] and a["error"] == error and a["stop_us"] is None and a["reason"], a
'"$1"
}

@test "6.12: level 3 in two ways, and the series is missing" {
	probe_on --kernel 6.12 -- --json | check '
assert d["schema"] == 1 and d["emulated"] and len(d["gpus"]) == 1
g = d["gpus"][0]
assert g["gfx"] == "gfx90a" and g["compute_units"] == 4 and g["xccs"] == 1, g
assert g["kfd_version"] == "1.17" and g["series"] is None and g["cwsr_enable"] == 1, g
assert g["vram_bytes"] == 16 << 30 and g["live_queues"] == 0 and g["error"] is None, g
assert g["save_bytes_per_queue"] > 1 << 20 and g["save_bytes_live"] == 0
works(way("update"), 3)
works(way("dbgtrap"), 3)
for verb in "save", "drain", "reset":
    fails(way("preempt", verb), "ENOTTY")
assert g["best_way"] in ("update", "dbgtrap")
'
}

@test "6.1 has no debugger" {
	probe_on --kernel 6.1 -- --json | check '
assert d["gpus"][0]["kfd_version"] == "1.11"
works(way("update"), 3)
fails(way("dbgtrap"), "ENOTTY")
assert "6.5" in way("dbgtrap")["reason"]
assert d["gpus"][0]["best_way"] == "update"
'
}

@test "gpreempt's kernel saves in a third way, and without firmware's scheduler drains and resets as well" {
	for sched in hws mes; do
		probe_on --kernel gpreempt --sched $sched -- --json | check '
for name in "update", "dbgtrap", "preempt":
    works(way(name), 3)
for verb in "drain", "reset":
    fails(way("preempt", verb), "EOPNOTSUPP")
'
	done
	probe_on --kernel gpreempt --sched none -- --json | check '
assert d["gpus"][0]["series"]["version"] == 3
assert {"queues", "target", "set-priority"} <= set(d["gpus"][0]["series"]["features"])
for name in "update", "preempt":
    works(way(name), 3)
fails(way("dbgtrap"), "EINVAL")
works(way("preempt", "drain"), 2)
works(way("preempt", "reset"), 2)
'
}

# probe_with_scheduler 0|1 [OPTION...]: with the scheduler disabled or enabled.
probe_with_scheduler() {
	local enable=$1

	shift
	# shellcheck disable=SC2016
	"$GPREEMPT" emu exec --cus 4 --kernel gpreempt --kfd-sched -- sh -c '
		cd /sys/class/kfd/kfd/sched_*
		echo "$1" >enable
		echo 2500 >period_us
		shift
		exec "$@"' sh "$enable" "$GPREEMPT" probe "$@"
}

@test "a kernel that schedules queues itself" {
	[ "$(id -u)" -eq 0 ] || skip "its files are root's to write"
	probe_on --kernel gpreempt -- --json | check '
assert d["gpus"][0]["kernel_scheduler"] is None
'
	run -0 "$GPREEMPT" emu exec --cus 1 --kernel gpreempt -- cat /sys/module/amdgpu/parameters/kfd_sched
	[ "$output" = N ]
	run -0 "$GPREEMPT" emu exec --cus 1 --kernel gpreempt --kfd-sched -- \
		cat /sys/module/amdgpu/parameters/kfd_sched
	[ "$output" = Y ]
	# Nothing is left out, as a report has room for all of it.
	probe_with_scheduler 1 --json | check '
g = d["gpus"][0]
assert g["kernel_scheduler"] == {"enabled": True, "period_us": 2500}
assert list(g) == ["index", "gpu_id", "gfx", "name", "compute_units", "xccs", "vram_bytes",
                   "kfd_version", "series", "kernel_scheduler", "cwsr_enable",
                   "save_bytes_per_queue", "live_queues", "save_bytes_live", "best_way",
                   "abilities", "error"], g
assert list(g["series"]) == ["version", "features", "timeout_ms"], g
assert g["series"]["features"] == ["queues", "target", "logical-priority", "set-priority", "scheduler"], g
assert [list(a) for a in g["abilities"]] == 5 * [["way", "verb", "level", "works", "stop_us",
                                                  "start_us", "error", "reason"]], g
'
	run -0 probe_with_scheduler 1
	[[ $output == *"the kernel schedules queues itself, every 2500 us"* ]]
	run -0 probe_with_scheduler 0
	[[ $output == *"the kernel has a scheduler of its own, which is disabled"* ]]
}

@test "without CWSR a hold drains, which is level 2" {
	probe_on --kernel 6.12 --cwsr off -- --json | check '
g = d["gpus"][0]
assert g["cwsr_enable"] == 0 and g["best_way"] is None
works(way("update"), 2)
assert "cwsr_enable=1" in way("update")["reason"]
'
	probe_on --kernel gpreempt --cwsr off -- --json | check '
works(way("update"), 2)
fails(way("preempt"), "EOPNOTSUPP")
fails(way("preempt", "drain"), "EOPNOTSUPP")
for verb in "save", "drain", "reset":
    assert "use update or dbgtrap" in way("preempt", verb)["reason"]
'
	probe_on --kernel gpreempt --sched none --cwsr off -- --json | check '
fails(way("preempt"), "EOPNOTSUPP")
assert "use DRAIN" in way("preempt")["reason"]
works(way("preempt", "drain"), 2)
'
	run probe_on --cwsr off
	[ "$status" -eq 0 ]
	[[ $output == *"no Lv3"* ]]
}

@test "three GPUs, and --gpu for one of them" {
	probe_on --gpus 3 -- --json | check '
assert [g["index"] for g in d["gpus"]] == [0, 1, 2]
assert len({g["gpu_id"] for g in d["gpus"]}) == 3
for i in range(3):
    works(way("update", gpu=i), 3)
'
	probe_on --gpus 3 -- --json --gpu 1 | check 'assert [g["index"] for g in d["gpus"]] == [1]'
	run probe_on --gpus 3 -- --gpu 3
	[ "$status" -eq 1 ]
	[[ $output == *"no gpu3"*"from gpu0 to gpu2"* ]]
	run probe_on -- --gpu x
	[ "$status" -eq 2 ]
	[[ $output == *"a whole number from 0 to 63"* ]]
}

@test "a gfx942 saves on all its XCCs" {
	probe_on --gpu gfx942 --xccs 4 -- --json | check '
g = d["gpus"][0]
assert g["gfx"] == "gfx942" and g["xccs"] == 4 and g["compute_units"] == 16, g
works(way("update"), 3)
'
}

@test "the table has each reason once" {
	run probe_on --kernel 6.1
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == "gpu0: emulated gfx90a, 4 compute units, 16.0 GiB" ]]
	[[ ${lines[1]} == *"amdkfd 1.11" ]]
	[[ $output == *"LEVEL"*"WAY"*"CALL"*"WORKS"*"HOLD"*"RELEASE"* ]]
	[[ $output == *"Lv3   update  UPDATE_QUEUE, 0 %"*"yes"* ]]
	[[ $output == *"Lv1   window"* ]]
	[ "$(grep -c "does not have gpreempt's series" <<<"$output")" -eq 1 ]
	[[ $output == *"fastest by update"* ]]
	[[ $output == *"The times are the emulator's"* ]]
}

@test "live queues are counted, with the memory to save them" {
	[ -x "${ROCM_PROGRAMS:-build/tests/rocm}/hsa_stops" ] || skip "no HSA runtime here"
	"$GPREEMPT" emu start --name m --cus 4
	"$GPREEMPT" emu exec --name m -- "${ROCM_PROGRAMS:-build/tests/rocm}/hsa_stops" --seconds 10 \
		--stop none 3>&- &
	for _ in $(seq 50); do
		"$GPREEMPT" emu exec --name m -- "$GPREEMPT" probe --json >"$BATS_TEST_TMPDIR/json"
		grep -q '"live_queues": 0' "$BATS_TEST_TMPDIR/json" || break
		sleep 0.1
	done
	check '
g = d["gpus"][0]
assert g["live_queues"] > 0
assert g["save_bytes_live"] == g["live_queues"] * g["save_bytes_per_queue"]
' <"$BATS_TEST_TMPDIR/json"
	wait $!
}

@test "no GPU: a remedy" {
	[ ! -e /sys/class/kfd ] || skip "this machine has amdkfd"
	[ ! -e /proc/driver/nvidia ] || skip "this machine has NVIDIA's driver"
	run "$GPREEMPT" probe
	[ "$status" -eq 1 ]
	[[ $output == *"there is no GPU here (amd: its driver is not loaded; nvidia: "*"gpreempt emu exec -- gpreempt probe"* ]]
	run --separate-stderr "$GPREEMPT" probe --json
	[ "$status" -eq 1 ]
	python3 -c 'import json, sys
d = json.loads(sys.argv[1])
assert d["schema"] == 1 and "emu exec" in json.dumps(d)' "$output"
}

@test "NVIDIA: missing parts are reported" {
	! ldconfig -p | grep -q libcuda.so.1 || skip "this machine has libcuda"
	run "$(dirname "$GPREEMPT")/../device/nvrm/gpreempt-nvidia-try" GPU-0 /dev/nvidia0
	[ "$status" -eq 1 ]
	[[ $output == "context no 0.0 0.0 cannot load libcuda.so.1"* ]]
}

# nvidia_probe LINE... [-- OPTION...]: probe on a machine as on_nvidia has it.
nvidia_probe() {
	local lines=()

	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		lines+=("$1")
		shift
	done
	shift || true
	on_nvidia "${lines[@]}" -- probe "$@"
}

@test "NVIDIA: abilities, reasons and times" {
	[ ! -e /sys/class/kfd ] || skip "this machine has amdkfd"
	lines=("context yes 0.0 0.0 " "hold yes 31.5 30.5 " "slice yes 12.0 0.0 "
		"work yes 0.0 0.0 the end is not seen" "drain no 0.0 0.0 a kernel began")
	nvidia_probe "${lines[@]}" -- --json | check '
assert [g["index"] for g in d["gpus"]] == [0, 1] and not d["emulated"]
assert list(d["gpus"][1]) == ["index", "vendor", "name", "uuid", "driver", "open_module",
                              "driver_known", "gsp_firmware", "abilities", "work_seen", "error"]
g = d["gpus"][0]
assert (g["vendor"], g["name"], g["uuid"]) == ("nvidia", "NVIDIA H200", "GPU-0"), g
assert g["driver"] == "580.159.04" and g["open_module"] and g["gsp_firmware"] is None, g
assert g["work_seen"] == "begin" and g["error"] is None, g
hold, drain, slice = g["abilities"]
assert hold == {"way": "hold", "level": 3, "works": True, "stop_us": 31.5, "start_us": 30.5,
                "reason": None}, hold
assert drain == {"way": "drain", "level": 2, "works": False, "stop_us": None, "start_us": None,
                 "reason": "a kernel began"}, drain
assert slice == {"way": "slice", "level": None, "works": True, "stop_us": 12.0,
                 "start_us": None, "reason": None}, slice
assert d["gpus"][1]["gsp_firmware"] == "580.159.04"
'
	run -0 nvidia_probe "${lines[@]}"
	echo "$output"
	[[ $output == "gpu0: NVIDIA H200, GPU-0"*"gpu1: NVIDIA H200, GPU-1"* ]]
	[[ $output == *"  work    seen: begin"$'\n'"          the end is not seen"$'\n'* ]]
	[[ $output == *"-     slice SET_TIMESLICE, 1 us"*"12.0 us "*"-"$'\n'"  1) a kernel began"* ]]
	# Below the GPUs that were measured.
	[ "$(grep -c "medians with a kernel of one thread running" <<<"$output")" -eq 1 ]
}

@test "a report has what was found, and nothing that identifies the machine" {
	[ ! -e /sys/class/kfd ] || skip "this machine has amdkfd"
	local report=$BATS_TEST_TMPDIR/report.json

	CUDA_MPS_PIPE_DIRECTORY=$BATS_TEST_TMPDIR run -0 nvidia_probe "context yes 0.0 0.0 " \
		"hold yes 31.5 30.5 " "drain no 0.0 0.0 cannot open /home/somebody/x: denied" \
		-- --report "$report"
	[[ $output == *"Wrote $report."* ]]
	check '
assert list(d) == ["schema", "report", "gpreempt", "kernel", "machine", "emulated", "gpus"], list(d)
assert len(d["gpus"]) == 2 and not d["emulated"]
g = d["gpus"][0]
assert g["driver"] == "580.159.04" and g["driver_known"] and "uuid" not in g, g
assert g["abilities"][0]["stop_us"] == 31.5
assert g["abilities"][1]["reason"] == "cannot open /- denied", g["abilities"][1]
' <"$report"
	run ! grep -e GPU-0 -e somebody -e "$(hostname)" "$report"
	# It is none of the machine's folders that MPS would be in.
	: >"$BATS_TEST_TMPDIR/control"
	CUDA_MPS_PIPE_DIRECTORY=$BATS_TEST_TMPDIR run -1 nvidia_probe "" -- --report "$report"
	grep -q "multi-process service is running in /-; end it" "$report"
	run ! grep -e "$BATS_TEST_TMPDIR" "$report"
	rm "$BATS_TEST_TMPDIR/control"
	run -1 nvidia_probe "context yes 0.0 0.0 " -- --report /nowhere/report.json
	[[ $output == *"cannot write the report /nowhere/report.json: No such file or directory"* ]]
	probe_on -- --report "$report" >/dev/null
	check 'assert d["emulated"] and d["kernel"] is None and "gpu_id" not in d["gpus"][0], d' <"$report"
}

@test "NVIDIA: an attempt that fails, and one that ends early" {
	[ ! -e /sys/class/kfd ] || skip "this machine has amdkfd"
	run -1 nvidia_probe "context no 0.0 0.0 CUDA makes no context here"
	[[ $output == *"nothing can be done: CUDA makes no context here"* ]]
	[[ $output != *LEVEL* ]]
	run -1 nvidia_probe -- --gpu 1 --json
	check '
assert len(d["gpus"]) == 1 and d["gpus"][0]["abilities"] == [] and d["gpus"][0]["index"] == 1
assert "hung or crashed" in d["gpus"][0]["error"] and d["gpus"][0]["work_seen"] is None
' <<<"$output"
	nvidia_probe "context yes 0.0 0.0 " "hold yes 1.0 2.0 " -- --json | check '
hold, drain, slice = d["gpus"][0]["abilities"]
assert hold["works"] and not drain["works"] and "hung" in drain["reason"] and "hung" in slice["reason"]
assert d["gpus"][0]["work_seen"] == "presence"
'
}

@test "a driver that does not carry out a hold" {
	# Every ioctl may be interrupted.
	probe_on --kernel gpreempt --fault ioctl-eintr=50% -- --json | check '
for name in "update", "dbgtrap", "preempt":
    works(way(name), 3)
'
	# Every allocation fails.
	run --separate-stderr probe_on --fault ioctl-enomem=90% -- --json
	[ "$status" -eq 1 ]
	check '
assert d["gpus"][0]["error"] and d["gpus"][0]["abilities"] == [] and d["gpus"][0]["best_way"] is None
' <<<"$output"
}
