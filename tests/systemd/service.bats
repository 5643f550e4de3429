#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreemptd as a service of a real systemd, confined by its unit; see scripts/systemd-test. A system call
# that the unit forbids kills the daemon here, and would return an error otherwise.

bats_require_minimum_version 1.5.0
load ../e2e/daemon

USER_ID=1234

setup_file() {
	mkdir -p /run/systemd/system/gpreemptd.service.d /etc/gpreempt
	printf '[Service]\nSystemCallErrorNumber=\nWatchdogSec=5\n' \
		>/run/systemd/system/gpreemptd.service.d/test.conf
	cat >/etc/gpreempt/gpreemptd.conf <<-END
		[daemon]
		ttl = 10s
		log = /var/log/gpreempt/decisions
		[core]
		min_share_pct = 0
		max_hold_ms = 0
		[everybody]
		max_priority = 15
		[slice machine-batch.slice]
		class = offline
	END
	systemctl daemon-reload
	systemctl start gpreemptd.socket
	install -d -o $USER_ID /run/programs
	as_user gpreempt emu start --name machine --cus 4 >/dev/null 3>&-
}

teardown_file() {
	as_user gpreempt emu stop --all >/dev/null
}

setup() {
	trainer=$WORKLOADS/offline_trainer
	progress=/run/programs/progress
}

# Shown if the test fails.
teardown() {
	journalctl --no-pager --unit gpreemptd --lines 20
}

# As a user who is not root, as whom the daemon runs.
as_user() {
	setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups \
		env XDG_RUNTIME_DIR=/run/programs "$@"
}

# Starts a trainer of this class and tag, with these options. Sets $program.
start() {
	local tag=$1 class=$2

	shift 2
	as_user gpreempt run -c "$class" -t "$tag" -- gpreempt emu exec --name machine -- \
		"$trainer" --groups 2 --queues 2 --json "$@" >"/run/programs/$tag.json" \
		2>"/run/programs/$tag.err" 3>&- &
	program=$!
}

steps() {
	# Behind magic and pid.
	od -A n -t u8 -j 8 -N 8 "$progress" | tr -d ' '
}

takes_steps() {
	[ "$(steps)" -gt "$1" ]
}

is_held() {
	gpreempt ps --json | jq -e '[.groups[] | select(.tag == "victim").state] == ["excluded"]'
}

main_pid() {
	systemctl show --value -p MainPID gpreemptd
}

has_new_pid() {
	systemctl is-active --quiet gpreemptd && [ "$(main_pid)" -ne "$1" ]
}

hold_victim() {
	rm -f "$progress"
	start victim offline --rounds 400 --progress "$progress"
	victim=$program
	eventually takes_steps 0
	start urgent online --rounds 1000000000
	urgent=$program
	eventually is_held
}

end_urgent() {
	pkill -KILL -u $USER_ID -f 'rounds 1000000000' || true
	wait "$urgent" || true
}

# Ends the victim and compares its result with that of the host.
check_result() {
	local steps got

	pkill -TERM -u $USER_ID -f 'offline_trainer.*--rounds 400'
	wait "$victim"
	read -r steps got < <(jq -r '"\(.steps) \(.digest)"' /run/programs/victim.json)
	[ "$("$trainer" --on host --groups 2 --queues 2 --rounds 400 --steps "$steps" |
		sed -n 's/.*digest //p')" = "$got" ]
}

@test "the first request starts the daemon by its socket" {
	run systemctl is-active gpreemptd
	[ "$output" = inactive ]
	as_user gpreempt ps
	[ "$(systemctl is-active gpreemptd)" = active ]
	gpreempt doctor
}

@test "the daemon is confined" {
	status=/proc/$(main_pid)/status
	# CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE.
	grep -E '^CapEff:\s+0000000000080004$' "$status"
	grep -E '^NoNewPrivs:\s+1$' "$status"
	grep -E '^Seccomp:\s+2$' "$status"
	echo "# $(systemd-analyze security --no-pager gpreemptd | tail -n 1)" >&3
}

# Prints the answer to a request for the metrics at this port.
ask() {
	exec {web}<>"/dev/tcp/127.0.0.1/$1"
	printf 'GET /metrics HTTP/1.0\r\n\r\n' >&"$web"
	cat <&"$web"
	exec {web}>&-
}

@test "systemd opens the port for metrics, and the daemon serves them" {
	mkdir -p /run/systemd/system/gpreemptd-metrics.socket.d
	printf '[Socket]\nSocketGroup=\nListenStream=\nListenStream=127.0.0.1:9789\n' \
		>/run/systemd/system/gpreemptd-metrics.socket.d/test.conf
	systemctl daemon-reload
	systemctl stop gpreemptd
	systemctl start gpreemptd-metrics.socket
	systemctl start gpreemptd
	run ask 9789
	[[ $output == "HTTP/1.1 200 OK"*'gpreempt_build_info{version="'* ]]
	pid=$(main_pid)
	sleep 1
	[ "$(main_pid)" -eq "$pid" ]
	systemctl stop gpreemptd-metrics.socket
}

@test "programs of another user are held, and their results are right" {
	hold_victim
	before=$(steps)
	sleep 0.3
	[ "$(steps)" -eq "$before" ]
	end_urgent
	eventually takes_steps "$before"
	check_result
	grep -q ' exclude ' /var/log/gpreempt/decisions
}

@test "a hold outlasts systemctl restart" {
	hold_victim
	before=$(steps)
	pid=$(main_pid)
	systemctl restart gpreemptd
	eventually is_held
	[ "$(main_pid)" -ne "$pid" ]
	[ "$(steps)" -eq "$before" ]
	end_urgent
	eventually takes_steps "$before"
	check_result
}

@test "off is kept in the state folder and outlasts systemctl restart" {
	hold_victim
	before=$(steps)
	run -0 gpreempt off
	[[ $output == "Scheduling is off on all GPUs: "* ]]
	[[ $output != *"not saved"* ]]
	[ -s /var/lib/gpreempt/off ]
	eventually takes_steps "$before"
	systemctl restart gpreemptd
	eventually eval 'gpreempt ps --json | jq -e ".daemon.off.all and (.groups | length) >= 2"'
	[ "$(gpreempt ps --json | jq '[.groups[] | select(.state == "excluded")] | length')" -eq 0 ]
	gpreempt on
	[ ! -e /var/lib/gpreempt/off ]
	eventually is_held
	end_urgent
	check_result
}

@test "systemctl reload reads the configuration" {
	pid=$(main_pid)
	sed -i 's/^\[daemon\]/&\npolicy = fair/' /etc/gpreempt/gpreemptd.conf
	systemctl reload gpreemptd
	eventually eval 'gpreempt ps --json | jq -e ".daemon.policy == \"fair\""'
	sed -i '/^policy/d' /etc/gpreempt/gpreemptd.conf
	systemctl reload gpreemptd
	eventually eval 'gpreempt ps --json | jq -e ".daemon.policy == \"hpf\""'
	[ "$(main_pid)" -eq "$pid" ]
}

@test "a daemon that hangs is replaced, and the hold stays" {
	hold_victim
	before=$(steps)
	pid=$(main_pid)
	kill -STOP "$pid"
	eventually has_new_pid "$pid"
	eventually is_held
	[ "$(steps)" -eq "$before" ]
	end_urgent
	eventually takes_steps "$before"
	check_result
}

@test "everything runs on when the service is stopped" {
	hold_victim
	before=$(steps)
	systemctl stop gpreemptd.socket gpreemptd
	eventually takes_steps "$before"
	end_urgent
	check_result
}

shown_classes() {
	gpreempt ps --json | jq -r '[.groups[] | select(.tag == "service") | .class] | join(" ")'
}

is_shown_as() {
	[ "$(shown_classes)" = "$1" ]
}

# Starts a service of the user from the drop-in that is installed, in its slice.
start_service() {
	mkdir -p /run/systemd/system/trainer.service.d
	cp "$PREFIX/share/gpreempt/systemd/gpreempt.conf" /run/systemd/system/trainer.service.d/
	cat >/run/systemd/system/trainer.service <<-END
		[Service]
		Environment=XDG_RUNTIME_DIR=/run/programs GPREEMPT_TAG=service LD_LIBRARY_PATH=$LD_LIBRARY_PATH
		ExecStart=/usr/bin/setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups $*
	END
	systemctl daemon-reload
	systemctl start trainer
}

stop_service() {
	systemctl stop trainer
	eventually is_shown_as ""
}

@test "a service has the class of its slice by the drop-in, and cannot raise itself" {
	systemctl start gpreemptd.socket gpreemptd.service
	gpreempt on
	start_service "$PREFIX/bin/gpreempt" emu exec --name machine -- "$trainer" --rounds 400
	eventually is_shown_as offline
	stop_service
	start_service "$PREFIX/bin/gpreempt" run -c online -t service -- "$PREFIX/bin/gpreempt" emu exec \
		--name machine -- "$trainer" --rounds 400
	eventually is_shown_as offline
	journalctl --no-pager --unit trainer | grep -F \
		'priority 15 is above 2, the highest in control group /machine.slice/machine-batch.slice'
	stop_service
}
