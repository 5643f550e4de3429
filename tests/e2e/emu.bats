#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt emu: starting and stopping machines, and running commands on them.

bats_require_minimum_version 1.5.0

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${ROCM_PROGRAMS:=build/tests/rocm}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	unset GPREEMPT_EMU_DIR
}

teardown() {
	"$GPREEMPT" emu stop --all
}

emu() {
	"$GPREEMPT" emu "$@"
}

field() {
	python3 -c 'import json, sys
d = json.load(sys.stdin)
for key in sys.argv[1:]:
    d = d[int(key)] if key.isdigit() else d[key]
print(d)' "$@"
}

@test "start, ls and stop" {
	run emu start --name one --cus 2 --gpus 2 --vram 1G
	[ "$status" -eq 0 ]
	[[ $output == *"'one' is ready"* ]]
	run emu ls
	[[ ${lines[1]} == one*"2x gfx90a"*"1.00 GiB"*6.12 ]]
	[ "$(emu ls --json | field machines 0 cus)" = 2 ]
	run emu start --name one
	[ "$status" -eq 1 ]
	[[ $output == *"already exists"* ]]
	emu start --name two --cus 1
	[ "$(emu ls --no-headers | wc -l)" -eq 2 ]
	emu stop one
	[ "$(emu ls --no-headers | cut -d' ' -f1)" = two ]
	run emu stop one
	[ "$status" -eq 1 ]
	[[ $output == *"no machine 'one'"* ]]
	[ "$(emu stop --all --json | field stopped)" = 1 ]
	[ -z "$(ls "$XDG_RUNTIME_DIR/gpreempt/emu")" ]
}

@test "info lists exact, approximate and unsupported instructions" {
	run emu info
	[ "$status" -eq 0 ]
	[[ $output == *"v_rcp_f32"*"approximate"*"1 ulp"*"s_setvskip"*"unsupported"* || \
		$output == *"s_setvskip"*"unsupported"*"v_rcp_f32"*"approximate"*"1 ulp"* ]]
	[[ ${lines[-1]} == "gfx90a: "*" exact "*" approximate, "*" unsupported" ]]
	[[ $output != *v_add_f32* ]]
	run emu info --all --gpu gfx942
	[[ $output == *v_add_f32*exact* && ${lines[-1]} == "gfx942: "* ]]
	[ "$(emu info --json | field unsupported)" -gt 0 ]
	run emu info --gpu gfx1100
	[ "$status" -eq 2 ]
}

@test "an option without a value does not consume the next option" {
	run emu exec --kfd-sched --kernel gpreempt --cus 1 -- true
	[ "$status" -eq 0 ]
	run emu exec --strict --cus 1 true
	[ "$status" -eq 0 ]
	run emu start --strict
	[ "$status" -eq 2 ]
}

@test "the series' aliases exist only where they are asked for" {
	run -2 emu exec --preempt-aliases --cus 1 -- true
	[[ $output == *"--preempt-aliases needs --kernel gpreempt"* ]]
	run -0 emu exec --kernel gpreempt --cus 1 -- cat /sys/module/amdgpu/parameters/kfd_preempt_aliases
	[ "$output" = N ]
	run -0 emu exec --kernel gpreempt --preempt-aliases --cus 1 -- \
		cat /sys/module/amdgpu/parameters/kfd_preempt_aliases
	[ "$output" = Y ]
}

@test "queues are mapped by firmware, MES or the driver, as sched_policy says" {
	for sched in hws:0:64 mes:0:64 none:2:0; do
		IFS=: read -r name policy gws <<<"$sched"
		run -0 emu exec --sched "$name" --cus 1 -- sh -c '
			cat /sys/module/amdgpu/parameters/sched_policy
			grep num_gws /sys/class/kfd/kfd/topology/nodes/1/properties'
		[ "$output" = "$policy
num_gws $gws" ]
	done
	run -2 emu exec --sched cfs --cus 1 -- true
	[[ $output == *"--sched: 'cfs' is not hws, mes or none"* ]]
}

@test "a machine's folder is private to its user" {
	emu start --cus 1
	[ "$(stat -c %a "$XDG_RUNTIME_DIR/gpreempt/emu")" = 700 ]
	[ "$(stat -c %a "$XDG_RUNTIME_DIR/gpreempt/emu/default")" = 700 ]
}

@test "the folder of a killed machine is removed" {
	emu start --cus 1
	kill -KILL "$(emu ls --json | field machines 0 pid)"
	sleep 0.1
	[ -d "$XDG_RUNTIME_DIR/gpreempt/emu/default" ]
	[ -z "$(emu ls --no-headers)" ]
	[ ! -d "$XDG_RUNTIME_DIR/gpreempt/emu/default" ]
	emu start --cus 1
}

@test "the folder of a starting machine is not removed" {
	emu ls
	dir=$XDG_RUNTIME_DIR/gpreempt/emu/soon
	mkdir "$dir"
	(
		flock 9
		[ -z "$(emu ls --no-headers 9>&-)" ]
		[ -d "$dir" ]
		run emu start --name soon 9>&-
		[ "$status" -eq 1 ]
	) 9>"$dir/lock"
	emu ls
	[ ! -d "$dir" ]
}

@test "exec returns the command's status" {
	run emu exec --cus 1 -- sh -c 'exit 7'
	[ "$status" -eq 7 ]
	run emu exec --cus 1 -- sh -c 'kill -TERM $$'
	[ "$status" -eq 143 ]
	run -127 emu exec --cus 1 -- /nonexistent/program
	run emu exec --cus 1 -- /etc/passwd
	[ "$status" -eq 126 ]
	run emu exec --name nobody -- true
	[ "$status" -eq 125 ]
	run emu exec --cus 1
	[ "$status" -eq 2 ]
	[ -z "$(ls "$XDG_RUNTIME_DIR/gpreempt/emu")" ]
}

@test "exec needs no -- if the command is unambiguous" {
	[ "$(emu exec --cus 1 echo --json)" = --json ]
	[ "$(emu exec --cus=1 -- echo --cus)" = --cus ]
}

@test "exec's own machine ends with it, however it ends" {
	"$GPREEMPT" emu exec --cus 1 -- sleep 60 3>&- &
	exec_pid=$!
	for _ in $(seq 50); do
		[ "$(emu ls --no-headers | wc -l)" -eq 1 ] && break
		sleep 0.1
	done
	machine=$(emu ls --json | field machines 0 pid)
	kill -KILL $exec_pid
	for _ in $(seq 50); do
		kill -0 "$machine" 2>/dev/null || break
		sleep 0.1
	done
	run kill -0 "$machine"
	[ "$status" -ne 0 ]
	[ -z "$(emu ls --no-headers)" ]
}

@test "the machine appears in /sys and /dev, and nowhere else" {
	emu start --cus 2 --gpus 2
	nodes=/sys/class/kfd/kfd/topology/nodes
	[ "$(emu exec --name default -- cat $nodes/2/properties | sed -n 's/^simd_count //p')" = 8 ]
	[ "$(emu exec --name default -- ls /dev/dri)" = "renderD128
renderD129" ]
	[ "$(emu exec --name default -- cat /sys/module/amdgpu/parameters/cwsr_enable)" = 1 ]
	run emu exec --name default -- ls $nodes
	[ "${#lines[@]}" -eq 3 ]
}

# The threads set it themselves, shortly after they have started.
@test "--nice applies to the compute units' threads only" {
	emu start --cus 2 --nice 7
	pid=$(emu ls --json | field machines 0 pid)
	for _ in $(seq 100); do
		nice=$(cut -d' ' -f19 "/proc/$pid/task/"*/stat | sort -n | tr '\n' ' ')
		[[ $nice == *"7 " ]] && break
		sleep 0.05
	done
	[[ $nice == "0 "*"7 " ]]
	run -2 emu start --name other --nice 20
	[[ $output == *"--nice: '20' is not"* ]]
}

@test "wrong usage: the message has the correct usage" {
	run emu
	[ "$status" -eq 2 ]
	run emu stat
	[ "$status" -eq 2 ]
	[[ $output == *"did you mean 'start'"* ]]
	run emu start --gpu gfx803
	[ "$status" -eq 2 ]
	[[ $output == *"gfx90a nor gfx942"* ]]
	run emu start --xccs 2
	[ "$status" -eq 2 ]
	run emu start --gpu gfx942 --xccs 8 --cus 41
	[ "$status" -eq 2 ]
	run emu start --fault ioctl-eintr
	[ "$status" -eq 2 ]
	run emu start --name ../x
	[ "$status" -eq 2 ]
	run emu exec --name default --cus 3 -- true
	[ "$status" -eq 2 ]
}

@test "rocminfo finds the GPU" {
	command -v rocminfo >/dev/null || skip "no rocminfo here"
	run emu exec --cus 6 -- rocminfo
	[ "$status" -eq 0 ]
	[[ $output == *"Name:"*gfx90a* ]]
	[[ $output == *"Compute Unit:            6 "* ]]
}

@test "a process' counters in sysfs change with its work" {
	[ -x "$ROCM_PROGRAMS/hsa_stops" ] || skip "no hsa_stops: it needs libhsa-runtime-dev and clang-19"
	emu start --cus 4
	emu exec --name default -- "$ROCM_PROGRAMS/hsa_stops" --seconds 60 --stop none 3>&- &
	program=$!
	# Waits until a kernel runs, and then samples for the largest number.
	# shellcheck disable=SC2016
	run emu exec --name default -- timeout 50 sh -c '
		cd /sys/class/kfd/kfd/proc
		until cat */stats_*/cu_occupancy 2>/dev/null | grep -q "[1-9]"; do
			sleep 0.02
		done
		cat */stats_*/evicted_ms */sdma_* | wc -l
		echo 1
		for n in $(seq 50); do
			cat */stats_*/cu_occupancy
			sleep 0.02
		done 2>/dev/null'
	echo "$output"
	kill $program
	[ "$status" -eq 0 ]
	[ "${lines[0]}" -ge 2 ]
	[ "$(printf '%s\n' "${lines[@]:1}" | sort -n | tail -n 1)" -le 4 ]
}
