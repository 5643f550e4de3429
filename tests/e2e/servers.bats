#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The servers of examples/ on an emulated GPU, beside a trainer, with a real daemon and preload. uvicorn
# is a real one; vLLM is a stand-in, with its processes and the names that the plugin uses.
# llama.cpp's server has its test in demo_llm.bats.

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}" "${SOURCE_DIR:=.}"
	: "${WORKLOADS:=$BUILD_DIR/src/demo}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	export GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$SOURCE_DIR/python:$SOURCE_DIR/tests/python
	unset GPREEMPT_EMU_DIR
}

teardown() {
	[ -z "${trainer:-}" ] || { kill "$trainer" && wait "$trainer"; } 2>/dev/null || true
	[ -z "${daemon:-}" ] || kill "$daemon" 2>/dev/null || true
	"$GPREEMPT" emu stop --all
}

# Finds a Python with uvicorn and puts the middleware on its path. Sets $python.
asgi() {
	for python in python3 /usr/bin/python3; do
		if "$python" -c 'import uvicorn' 2>/dev/null; then
			PYTHONPATH+=:$SOURCE_DIR/examples/asgi
			return
		fi
	done
	skip "no uvicorn: it needs python3-uvicorn"
}

# Installs the plugin beside the stand-in for vLLM. Sets $python.
vllm() {
	python=python3
	mkdir "$BATS_TEST_TMPDIR/site"
	"$python" "$SOURCE_DIR/tests/python/install_package.py" "$SOURCE_DIR/examples/vllm" \
		"$BATS_TEST_TMPDIR/site"
	PYTHONPATH+=:$BATS_TEST_TMPDIR/site:$SOURCE_DIR/tests/python/vllm_standin
}

# Starts a machine, the daemon, and a trainer that does not end.
train() {
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	start_daemon "$BATS_TEST_TMPDIR/decisions"
	"$GPREEMPT" emu start --cus 8
	"$GPREEMPT" run -c offline -- "$GPREEMPT" emu exec --name default -- \
		"$WORKLOADS/offline_trainer" --steps 1000000 >/dev/null 2>&1 3>&- &
	trainer=$!
	wait_for offline_trainer "$GPREEMPT" ps
}

# serve PROGRAM [ARGUMENT...]: runs a server of tests/python beside the trainer. Its requests must be
# answered, and their announcements must have made the GPU free before their work arrived.
serve() {
	run --separate-stderr timeout 120 "$GPREEMPT" run -c online -- \
		"$GPREEMPT" emu exec --name default -- "$python" "$SOURCE_DIR/tests/python/$1" "${@:2}"
	# shellcheck disable=SC2154 # of run
	echo "$output" "$stderr"
	[ "$status" -eq 0 ]
	[ "$output" = "20 requests, each answered right" ]
	[[ $stderr != *gpreempt* ]]
	kill "$daemon"
	wait "$daemon"
	grep -E 'entity-add|arriving|exclude' "$BATS_TEST_TMPDIR/decisions" | tail -n 30
	[ "$(made_room)" -gt 0 ]
}

called_off() {
	grep -c ' arriving at=0$' "$BATS_TEST_TMPDIR/decisions"
}

@test "an ASGI server announces requests" {
	asgi
	train
	serve asgi_server.py --requests 20
	[ "$(called_off)" -gt 0 ]
}

@test "an ASGI server without gpreempt answers, after one line" {
	asgi
	run --separate-stderr "$python" "$SOURCE_DIR/tests/python/asgi_server.py" --bare
	[ "$status" -eq 0 ]
	[ "$output" = "3 requests, each answered right" ]
	[ "$stderr" = "gpreempt: not started by 'gpreempt run'; requests are not announced" ]
}

@test "vLLM's processes (a stand-in) announce steps where the scheduler has the GPU" {
	vllm
	train
	serve vllm_server.py --requests 20
	[ "$(called_off)" -gt 0 ]
}

@test "vLLM's processes (a stand-in) announce steps where a worker has the GPU" {
	vllm
	train
	serve vllm_server.py --requests 20 --worker
	# A worker does not know which step is the last one: its announcements end by themselves.
	[ "$(called_off)" -eq 0 ]
}

@test "vLLM's processes (a stand-in) without gpreempt answer, after one line" {
	vllm
	for worker in '' --worker; do
		# shellcheck disable=SC2086
		run --separate-stderr "$python" "$SOURCE_DIR/tests/python/vllm_server.py" --bare $worker
		[ "$status" -eq 0 ]
		[ "$output" = "3 requests, each answered right" ]
		[ "$stderr" = "gpreempt: vLLM was not started by 'gpreempt run'; steps are not announced" ]
	done
}

@test "vLLM's processes (a stand-in) run with a gpreempt that has no daemon" {
	vllm
	run --separate-stderr "$GPREEMPT" run -c online -- \
		"$python" "$SOURCE_DIR/tests/python/vllm_server.py" --bare
	[ "$status" -eq 0 ]
	[ "$output" = "3 requests, each answered right" ]
	[[ $stderr == *"no gpreemptd runs"* ]]
}
