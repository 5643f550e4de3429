#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt metrics, and metrics over HTTP, with a real daemon and fake joined programs.

# Each test is a subshell that ends the processes it has started.
# shellcheck disable=SC2016,SC2030,SC2031

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${BUILD_DIR:=build}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	room=$(mktemp -d /tmp/gpreempt-bats.XXXXXX)
	chmod 755 "$room"
	export GPREEMPT_SOCKET=$room/control.sock
	agent=$BUILD_DIR/tests/fake_agent
	gpreemptd=${GPREEMPT%/cli/gpreempt}/daemon/gpreemptd
	promtool=${PROMTOOL:-$(command -v promtool || true)}
	started=()
}

teardown() {
	local pid

	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	[ ! -d "${cgroup:-}" ] || rmdir "$cgroup" || true
	rm -rf "$room"
}

# Starts two programs, one of which is held for the other every 40 ms.
two() {
	start_daemon
	"$agent" -n train -p 2 -t batch -w 1000ms:1ms >"$room/train.out" 3>&- &
	started+=($!)
	"$agent" -n 'se"rve' -p 15 -w 20ms:20ms >"$room/serve.out" 3>&- &
	started+=($!)
	wait_for 'stop 0' cat "$room/train.out"
	wait_for 'run 0' cat "$room/train.out"
}

# Starts a daemon with these lines in [daemon]; it serves metrics if this returns.
start_serving() {
	printf '[daemon]\n%s\n' "$@" >"$room/conf"
	if ! output=$("$gpreemptd" -t -c "$room/conf" 2>&1) && [[ $output == *libmicrohttpd* ]]; then
		skip "this build has no libmicrohttpd"
	fi
	"$gpreemptd" -c "$room/conf" 2>>"$room/daemon" 3>&- &
	daemon=$!
	started+=("$daemon")
	eventually "$GPREEMPT" ps
}

# Prints the status and the text of the answer to a request: get ADDRESS PATH [METHOD]. The address is a
# path, or a port of this host.
get() {
	python3 -c 'import http.client, socket, sys
address, path, method = sys.argv[1:]
connection = http.client.HTTPConnection("localhost", timeout=20)
if address[0] == "/":
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(20)
    connection.sock.connect(address)
else:
    connection.sock = socket.create_connection(("127.0.0.1", int(address)), 20)
for _ in range(2):  # on one connection
    connection.request(method, path)
    answer = connection.getresponse()
    text = answer.read().decode()
    if method == "POST":
        break
print(answer.status, answer.getheader("Content-Type"))
print(text)' "$1" "$2" "${3:-GET}"
}

# Prints a port that is free now.
free_port() {
	python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

@test "without a daemon: status 3 and a remedy" {
	run "$GPREEMPT" metrics
	[ "$status" -eq 3 ]
	[[ $output == *"Start one:"* ]]
}

@test "holds and times are there, by program and by class" {
	two
	run "$GPREEMPT" metrics
	[ "$status" -eq 0 ]
	[[ $output == *'gpreempt_program_holds_total{gpu="0",user="'$UID'",class="offline",program="train",tag="batch",rule="priority"} '* ]]
	[[ $output == *'gpreempt_class_held_seconds_total{gpu="0",key="'*'",user="'$UID'",class="offline"} 0.'* ]]
	[[ $output == *'program="se\"rve"'* ]]
	[[ $output == *'gpreempt_gpu_stop_seconds_bucket{gpu="0",key="'*'",le="+Inf"} '[1-9]* ]]
	[ "$("$GPREEMPT" metrics --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["programs"]))')" = 2 ]
}

@test "a program in a container has the container's label" {
	id=$(printf '%064d' "$$")
	cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/docker-$id.scope
	mkdir "$cgroup" 2>/dev/null || skip "no control group can be made here"
	start_daemon
	as=(sh -c "echo \$\$ >'$cgroup/cgroup.procs' && exec \"\$@\"" sh)
	"${as[@]}" "$agent" -n train -p 2 -w 1000ms:1ms >"$room/train.out" 3>&- &
	started+=($!)
	wait_for ",program=\"train\",container_id=\"$id\"}" "$GPREEMPT" metrics
	kill "${started[-1]}"
	wait "${started[-1]}" || true
	unset 'started[-1]'
	rmdir "$cgroup"
}

@test "promtool finds nothing to complain about" {
	[ -n "$promtool" ] || skip "promtool is missing: it is in Debian's package prometheus"
	two
	"$GPREEMPT" metrics >"$room/metrics"
	run "$promtool" check metrics <"$room/metrics"
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "the dashboard and the alerts name metrics that exist, and the documentation each alert" {
	cd "${SOURCE_DIR:-.}"
	names=$(grep -rhoE '\bgpreempt_[a-z_]+' integrations/grafana integrations/prometheus |
		sed -E 's/_(bucket|sum|count)$//' | sort -u)
	[ "$(wc -l <<<"$names")" -gt 20 ]
	for name in $names; do
		grep -qF "| \`$name\` |" docs/metrics.md || { echo "no metric $name" && return 1; }
	done
	diff <(sed -n 's/.*- alert: //p' integrations/prometheus/gpreempt.yml) \
		<(sed -n 's/^| `\(Gpreempt[A-Za-z]*\)`.*/\1/p' docs/metrics.md)
}

@test "metrics over a Unix socket are those of gpreempt metrics" {
	start_serving "metrics = unix:$room/metrics.sock"
	"$agent" -n train -p 2 -w 1000ms:1ms >"$room/train.out" 3>&- &
	started+=($!)
	wait_for train "$GPREEMPT" metrics
	sleep 0.3
	run get "$room/metrics.sock" /metrics
	echo "$output"
	[[ ${lines[0]} == "200 text/plain; version=0.0.4; charset=utf-8" ]]
	[[ $output == *'gpreempt_program_groups{gpu="0",user="'$UID'",class="offline",program="train"} 1'* ]]
	diff <(grep '^#' <<<"$output") <("$GPREEMPT" metrics | grep '^#')
	[[ $(get "$room/metrics.sock" /-/healthy) == "200 "*"gpreemptd is healthy"* ]]
	[[ $(get "$room/metrics.sock" /) == "404 "*"there are only /metrics and /-/healthy"* ]]
	[[ $(get "$room/metrics.sock" /metrics POST) == "405 "* ]]
}

@test "only the owner and the group of administrators may connect to the Unix socket" {
	start_serving "metrics = unix:$room/metrics.sock" "group ="
	[ "$(stat -c '%a %U' "$room/metrics.sock")" = "600 $(id -un)" ]
	kill "$daemon"
	wait "$daemon"
	[ ! -e "$room/metrics.sock" ]
	group=$(id -Gn | tr ' ' '\n' | tail -n 1)
	start_serving "metrics = unix:$room/metrics.sock" "group = $group"
	[ "$(stat -c '%a %G' "$room/metrics.sock")" = "660 $group" ]
}

@test "a socket that was left behind is replaced, and one in use is not" {
	start_serving "metrics = unix:$room/metrics.sock"
	kill -KILL "$daemon"
	wait "$daemon" || true
	[ -S "$room/metrics.sock" ]
	start_serving "metrics = unix:$room/metrics.sock"
	[[ $(get "$room/metrics.sock" /-/healthy) == "200 "* ]]
	GPREEMPT_SOCKET=$room/second.sock start_serving "metrics = unix:$room/metrics.sock"
	wait_for "cannot serve metrics at unix:$room/metrics.sock: Address already in use; programs are scheduled without" \
		cat "$room/daemon"
	[[ $(get "$room/metrics.sock" /-/healthy) == "200 "* ]]
}

@test "metrics at a port of this host" {
	port=$(free_port)
	start_serving "metrics = 127.0.0.1:$port"
	[[ $(get "$port" /metrics) == "200 "*'gpreempt_build_info{version="'* ]]
}

@test "other hosts get them only if the configuration says so twice" {
	start_serving "metrics = unix:$room/metrics.sock"
	for address in 10.0.0.7:80 '[2001:db8::1]:80' 0.0.0.0:80; do
		printf '[daemon]\nmetrics = %s\n' "$address" >"$room/conf"
		run "$gpreemptd" -t -c "$room/conf"
		[ "$status" -eq 1 ]
		[[ $output == *"conf: metrics: other hosts reach '$address'"*"metrics_from = any"* ]]
		echo "metrics_from = any" >>"$room/conf"
		"$gpreemptd" -t -c "$room/conf"
	done
	for address in 127.0.0.1 127.0.0.1:0 127.0.0.1:99999 localhost:80 unix:metrics '[::1:80' :80; do
		printf '[daemon]\nmetrics = %s\n' "$address" >"$room/conf"
		run "$gpreemptd" -t -c "$room/conf"
		[[ $output == *"conf:2: metrics: '$address' is not unix:PATH, ADDRESS:PORT or [ADDRESS]:PORT"* ]]
	done
}

@test "another address takes effect after a restart, and the daemon says so" {
	start_serving "metrics = unix:$room/metrics.sock"
	printf '[daemon]\nmetrics = unix:%s/other.sock\n' "$room" >"$room/conf"
	kill -HUP "$daemon"
	wait_for "metrics = unix:$room/other.sock takes effect when gpreemptd is restarted" cat "$room/daemon"
	[[ $(get "$room/metrics.sock" /-/healthy) == "200 "* ]]
}

@test "clients that are silent or do not read delay neither decisions nor the end" {
	start_serving "metrics = unix:$room/metrics.sock"
	python3 -c 'import socket, sys, time
clients = []
for i in range(100):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(1)
    try:
        client.connect(sys.argv[1])
        client.setblocking(False)
        for _ in range(i % 2 * 1000):
            client.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    except OSError:
        pass  # there is no room for more
    clients.append(client)
print("connected", flush=True)
time.sleep(60)' "$room/metrics.sock" >"$room/clients" 3>&- &
	started+=($!)
	wait_for connected cat "$room/clients"
	"$agent" -n train -p 2 -w 1000ms:1ms >"$room/train.out" 3>&- &
	started+=($!)
	"$agent" -n serve -p 15 -w 20ms:20ms >"$room/serve.out" 3>&- &
	started+=($!)
	wait_for 'stop 0' cat "$room/train.out"
	wait_for 'run 0' cat "$room/train.out"
	kill "$daemon"
	wait "$daemon"
}

@test "systemd's socket is served" {
	start_serving "metrics = unix:$room/metrics.sock"
	kill "$daemon"
	wait "$daemon"
	port=$(free_port)
	GPREEMPT_SOCKET=$room/own.sock python3 -c 'import os, socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
if s.fileno() != 3:
    os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])' "$port" "$gpreemptd" 2>>"$room/daemon" 3>&- &
	started+=($!)
	GPREEMPT_SOCKET=$room/own.sock eventually "$GPREEMPT" ps
	[[ $(get "$port" /metrics) == "200 "*gpreempt_build_info* ]]
}
