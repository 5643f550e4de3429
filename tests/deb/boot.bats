#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The installed packages under systemd, and their upgrade while a program runs; see scripts/deb-boot. The
# older packages are in /srv/older and the newer ones in /srv/newer.

bats_require_minimum_version 1.5.0

trainer=(/usr/libexec/gpreempt/offline_trainer --groups 2 --queues 1 --rounds 400 --steps 300 --json)

setup_file() {
	export XDG_RUNTIME_DIR=/run/programs
	mkdir -p $XDG_RUNTIME_DIR
	gpreempt emu start --name packaged --cus 2 >/dev/null 3>&-
	"${trainer[@]}" --on host | digest >/run/programs/expected
}

teardown_file() {
	gpreempt emu stop --all
}

# Shown if the test fails.
teardown() {
	journalctl --no-pager --unit gpreemptd --lines 20
}

digest() {
	grep -o '"digest":"[0-9a-f]*"'
}

# Repeats the command until it succeeds.
eventually() {
	local _

	for _ in {1..400}; do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05
	done
	echo "never true: $*"
	return 1
}

has_joined() {
	gpreempt ps --json | jq -e '[.groups[].class] == ["offline"]'
}

# Starts the trainer. Sets $program.
start_trainer() {
	gpreempt run -c offline -- gpreempt emu exec --name packaged -- "${trainer[@]}" \
		>/run/programs/result 2>/run/programs/messages 3>&- &
	program=$!
	eventually has_joined
}

# install FOLDER
install() {
	dpkg -i "$1"/*.deb >/run/programs/dpkg 2>&1 3>&- || { cat /run/programs/dpkg && return 1; }
}

@test "the sockets and the daemon are there after a boot" {
	[ "$(systemctl is-active gpreemptd.socket gpreemptd.service | sort -u)" = active ]
	getent group gpreempt
	[ "$(stat -c %a /run/gpreempt/control.sock)" = 666 ]
	gpreempt ps
}

@test "the metrics' socket is there when it is enabled" {
	run systemctl is-enabled gpreemptd-metrics.socket
	[ "$output" = disabled ]
}

@test "a restart under load costs a program nothing" {
	start_trainer
	systemctl restart gpreemptd
	eventually has_joined
	wait $program
	diff <(digest </run/programs/result) /run/programs/expected
}

@test "an upgrade under load costs a program nothing" {
	start_trainer
	[[ $(dpkg-query -W -f '${Version}' gpreemptd) == 0~* ]]
	install /srv/newer
	[[ $(dpkg-query -W -f '${Version}' gpreemptd) != 0~* ]]
	systemctl is-active gpreemptd
	eventually has_joined
	wait $program
	diff <(digest </run/programs/result) /run/programs/expected
	run ! grep -i 'warning\|error' /run/programs/messages
}

@test "a downgrade under load costs a program nothing" {
	start_trainer
	install /srv/older
	systemctl is-active gpreemptd
	eventually has_joined
	wait $program
	diff <(digest </run/programs/result) /run/programs/expected
	install /srv/newer
}

@test "a changed configuration is kept by an upgrade" {
	echo '# changed' >>/etc/gpreempt/gpreemptd.conf
	dpkg --force-confold -i /srv/older/*.deb >/dev/null 2>&1 3>&-
	grep -q '^# changed' /etc/gpreempt/gpreemptd.conf
	dpkg --force-confold -i /srv/newer/*.deb >/dev/null 2>&1 3>&-
	systemctl reload gpreemptd
}

@test "the unit is confined" {
	run systemd-analyze security gpreemptd.service --no-pager
	echo "$output" | tail -1
	score=$(echo "$output" | sed -n 's/.*Overall exposure level.*: \([0-9]*\)\..*/\1/p')
	[ "$score" -le 3 ]
}

@test "a program that is held is released when the packages are removed" {
	start_trainer
	gpreempt suspend "$(gpreempt ps --json | jq '.groups[0].pid')"
	dpkg -r gpreemptd >/dev/null 2>&1 3>&-
	wait $program
	diff <(digest </run/programs/result) /run/programs/expected
}

@test "purging leaves nothing but the group" {
	dpkg --purge gpreemptd gpreempt gpreempt-emu gpreempt-join libgpreempt0 libgpreempt-poc0 libgpreempt-dev \
		python3-gpreempt gpreempt-doc >/dev/null 2>&1 3>&-
	run find / -xdev \( -name '*gpreempt*' -o -path '*/gpreempt/*' \) -not -path '/srv/*' \
		-not -path '/etc/systemd/system/gpreempt-test.service'
	echo "$output"
	[ -z "$output" ]
	getent group gpreempt
}
