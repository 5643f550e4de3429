#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs, upgrades, tries and purges the packages in a folder, in a system that is thrown away.
#
# Usage: install.sh PACKAGES TESTS
#
# TESTS is debian/tests; the test of the daemon's units needs systemd (scripts/deb-boot). The kernel's
# module is not tried here (make dkms-test).
set -euo pipefail

packages=$1
tests=$2
export DEBIAN_FRONTEND=noninteractive PAGER=cat

apt() {
	apt-get -q -y --no-install-recommends -o Dpkg::Use-Pty=0 "$@" >/tmp/apt.log 2>&1 || {
		tail -30 /tmp/apt.log
		echo "deb-test: apt-get $* failed" >&2
		exit 1
	}
}

# What is there under our name. Folders of build and tests are mounted, so they are not looked at.
ours() {
	find / -xdev \( -name '*gpreempt*' -o -path '*/gpreempt/*' \) -not -path '/tmp/*' | sort
}

mapfile -t debs < <(find "$packages" -name '*.deb' -not -name '*-dkms_*' -not -name '*-dbgsym_*' | sort)
mapfile -t names < <(for deb in "${debs[@]}"; do dpkg-deb -f "$deb" Package; done)

before=$(ours)
apt update
apt install "${debs[@]}"
echo "installed: ${names[*]}"
apt install --reinstall "${debs[@]}"
[[ ! $(dpkg --audit) ]] || { dpkg --audit && exit 1; }

passed=0
for test in demo compile python3 completions; do
	depends=$(sed -n "/^Tests: $test\$/,/^\$/s/^Depends: //p" "$tests/control" | tr ',' '\n' | sed 's/|.*//')
	# shellcheck disable=SC2086 # several packages
	apt install libhsa-runtime64-1 $depends
	mkdir -p /tmp/test
	AUTOPKGTEST_TMP=/tmp/test "$tests/$test" >/tmp/test.log 2>&1 || {
		cat /tmp/test.log
		echo "deb-test: the test $test failed" >&2
		exit 1
	}
	rm -rf /tmp/test
	echo "test $test: passed"
	passed=$((passed + 1))
done

# Without a daemon, programs run, and doctor has findings.
gpreempt run -c online -- true
gpreempt doctor --json >/tmp/doctor || true
grep -q '"schema": *1' /tmp/doctor

# The daemon's folders, as its units make them.
mkdir -p /var/lib/gpreempt /var/log/gpreempt
apt remove "${names[@]}"
[[ -e /etc/gpreempt/gpreemptd.conf ]] || { echo "deb-test: removal deletes the configuration" >&2 && exit 1; }
dpkg --purge "${names[@]}" >/tmp/apt.log 2>&1 || { cat /tmp/apt.log && exit 1; }
left=$(comm -13 <(echo "$before") <(ours))
[[ ! $left ]] || {
	printf 'deb-test: purging leaves:\n%s\n' "$left" >&2
	exit 1
}
echo "purged: nothing is left"
echo "tests: $passed passed, 0 failed"
