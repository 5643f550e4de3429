#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A real Prometheus that scrapes a real gpreemptd, with programs on an emulated GPU: each query of the
# dashboard and each alert returns data. See scripts/metrics-test, which sets PROMETHEUS and PROMTOOL.

# shellcheck disable=SC2153 # scripts/metrics-test sets PROMETHEUS

bats_require_minimum_version 1.5.0
load ../e2e/daemon

setup() {
	: "${BUILD_DIR:=build}" "${SOURCE_DIR:=.}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	: "${WORKLOADS:=$BUILD_DIR/src/demo}"
	rules=$SOURCE_DIR/integrations/prometheus/gpreempt.yml
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	export GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	unset GPREEMPT_EMU_DIR
	started=()
}

teardown() {
	local pid

	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	"$GPREEMPT" emu stop --all >/dev/null || true
}

# Prints a port that is free now.
free_port() {
	python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# Starts a program on the machine: program CLASS NAME [ARGUMENT...]
program() {
	"$GPREEMPT" run -c "$1" -t "$1" -- "$GPREEMPT" emu exec --name default -- "$WORKLOADS/$2" "${@:3}" \
		>/dev/null 2>&1 3>&- &
	started+=($!)
	wait_for "$2" "$GPREEMPT" ps
}

# Starts the daemon with the metrics at $port. Sets $daemon.
serve_metrics() {
	port=$(free_port)
	printf '[daemon]\nmetrics = 127.0.0.1:%s\n[everybody]\nmax_priority = 15\n' "$port" \
		>"$BATS_TEST_TMPDIR/gpreemptd.conf"
	"${GPREEMPT%/cli/gpreempt}/daemon/gpreemptd" -c "$BATS_TEST_TMPDIR/gpreemptd.conf" 3>&- &
	daemon=$!
	started+=("$daemon")
	eventually "$GPREEMPT" ps
}

# Starts Prometheus, which scrapes the daemon every second. Sets $prometheus to its address.
start_prometheus() {
	prometheus=127.0.0.1:$(free_port)
	cat >"$BATS_TEST_TMPDIR/prometheus.yml" <<-END
		global:
		  scrape_interval: 1s
		  evaluation_interval: 1s
		rule_files: ["$rules"]
		scrape_configs:
		  - job_name: gpreempt
		    static_configs:
		      - targets: ["127.0.0.1:$port"]
	END
	"$PROMETHEUS" --config.file="$BATS_TEST_TMPDIR/prometheus.yml" --web.listen-address="$prometheus" \
		--storage.tsdb.path="$BATS_TEST_TMPDIR/data" >"$BATS_TEST_TMPDIR/prometheus.log" 2>&1 3>&- &
	started+=($!)
	eventually python3 -c 'import sys, urllib.request
urllib.request.urlopen("http://%s/-/ready" % sys.argv[1])' "$prometheus"
}

# Prints the value of a query.
query() {
	"$PROMTOOL" query instant "http://$prometheus" "$1"
}

@test "the alerts are valid, and fire for what they are about" {
	run -0 "$PROMTOOL" check rules "$rules"
	run -0 "$PROMTOOL" test rules "$SOURCE_DIR/tests/metrics/rules_test.yml"
}

@test "a Prometheus gets data for each panel of the dashboard and each alert" {
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	serve_metrics
	"$GPREEMPT" emu start --cus 8 >/dev/null
	program offline offline_trainer --steps 1000000
	program online online_server --requests 1000000 --period 20ms
	start_prometheus
	eventually "$SOURCE_DIR/tests/metrics/evaluate.py" "$prometheus" \
		"$SOURCE_DIR/integrations/grafana/gpreempt.json" || true
	run "$SOURCE_DIR/tests/metrics/evaluate.py" "$prometheus" \
		"$SOURCE_DIR/integrations/grafana/gpreempt.json"
	echo "$output"
	[ "$status" -eq 0 ]
	# Both programs share one GPU, of which they cannot have more than all.
	query 'sum(rate(gpreempt_class_run_seconds_total[10s])) <= bool 1.01' | grep -q '=> 1 @'
	query 'sum(gpreempt_class_holds_total{class="offline",rule="priority"}) > bool 0' | grep -q '=> 1 @'
}

@test "an alert is pending when the daemon has gone" {
	serve_metrics
	start_prometheus
	wait_for '=> 1 @' query 'up{job="gpreempt"}'
	kill "$daemon"
	wait_for '=> 1 @' query 'ALERTS{alertname="GpreemptDown",alertstate="pending"}'
}
