#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs that gpreempt run cannot join, or that leave it: each case has its line. A device file
# stands for a GPU that any program can open, and an emulated GPU for those that compute on one.
# shellcheck disable=SC2034,SC2154 # daemon.bash uses $devices and sets $daemon

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${BUILD_DIR:=build}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	: "${WORKLOADS:=$BUILD_DIR/src/demo}"
	room=$(mktemp -d /tmp/gpreempt-bats.XXXXXX)
	chmod 755 "$room"
	export GPREEMPT_SOCKET=$room/control.sock
	unset GPREEMPT_EMU_DIR XDG_RUNTIME_DIR GPREEMPT_NOTES
	devices=/dev/full
	started=()
}

teardown() {
	local pid

	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
	"$GPREEMPT" emu stop --all
	rm -rf "$room"
}

# Runs a command under gpreempt run, and waits for the process that watches it, which has standard
# error open. Its lines are in $stderr.
unjoined() {
	# shellcheck disable=SC2016
	run bash -o pipefail -c '"$@" 2>&1 | cat' bash timeout 30 "$GPREEMPT" run "$@"
	stderr=$output stderr_lines=("${lines[@]}")
	echo "status $status: $stderr"
}

# Makes a program that has /dev/full open for half a second. $1: options of the compiler.
compile() {
	cat >"$room/opens.c" <<-'C'
		#include <fcntl.h>
		#include <unistd.h>
		int main(void)
		{
			return open("/dev/full", O_RDWR) < 0 || usleep(500000);
		}
	C
	# shellcheck disable=SC2086
	cc $1 -o "$room/opens" "$room/opens.c" 2>/dev/null || skip "cc $1 makes no program"
}

@test "a cleared environment is told when a GPU is opened, and when the command has ended" {
	start_daemon
	unjoined -- bash -c 'env -i sleep 0.7 9<>/dev/full'
	[ "$status" -eq 0 ]
	[[ ${stderr_lines[0]} == "gpreempt: sleep (pid "*") uses a GPU and has not joined, so it has no priority: it was started without gpreempt's LD_PRELOAD; put 'gpreempt run' directly in front of it" ]]
	[[ ${stderr_lines[1]} == "gpreempt: in summary, sleep (pid "*") used a GPU without a priority: it was started without gpreempt's LD_PRELOAD; "* ]]
	[ "${#stderr_lines[@]}" -eq 2 ]
}

@test "a joined program, and one that opens no GPU, cause no line" {
	start_daemon
	unjoined -- bash -c 'sleep 0.5 9<>/dev/full; env -i sleep 0.3'
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
}

@test "a descendant that outlives its parent is found" {
	start_daemon
	unjoined -- bash -c '(sleep 0.4; exec env -i sleep 0.8 9<>/dev/full) & disown; sleep 1.5'
	[[ $stderr == *"sleep (pid "*") uses a GPU and has not joined"* ]]
}

@test "a variable that was taken away is named" {
	start_daemon
	unjoined -- bash -c 'env -u GPREEMPT_PRIORITY sleep 0.5 9<>/dev/full'
	[[ $stderr == *"it was started without GPREEMPT_PRIORITY"* ]]
}

@test "a program that is linked statically" {
	compile -static
	start_daemon
	unjoined -- "$room/opens"
	[ "$status" -eq 0 ]
	[[ ${stderr_lines[0]} == "gpreempt: $room/opens is linked statically, so it cannot be joined and runs without a priority; link it dynamically" ]]
	[[ ${stderr_lines[1]} == "gpreempt: in summary, opens (pid "*") used a GPU without a priority: it is linked statically; "* ]]
	unjoined -- sh -c "'$room/opens'; true"
	[[ ${stderr_lines[0]} == "gpreempt: opens (pid "*") uses a GPU and has not joined, so it has no priority: it is linked statically; link it dynamically" ]]
}

@test "a program that is started through the dynamic loader has joined" {
	start_daemon
	compile ""
	loader=$(readelf -l "$room/opens" | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
	unjoined -- "$loader" "$room/opens"
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	unjoined --require -- "$loader" "$room/opens"
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
}

@test "a program that overwrites its environment has joined" {
	start_daemon
	cat >"$room/title.c" <<-'C'
		#include <fcntl.h>
		#include <string.h>
		#include <unistd.h>
		extern char **environ;
		int main(void)
		{
			for (char **e = environ; *e; e++)
				memset(*e, 0, strlen(*e));
			return open("/dev/full", O_RDWR) < 0 || usleep(500000);
		}
	C
	cc -o "$room/title" "$room/title.c"
	unjoined -- "$room/title"
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
}

@test "programs for musl and of 32 bits" {
	start_daemon
	# The paths of loaders that the kernel would start; the files are not executed here.
	python3 - "$room" <<-'P'
		import os, struct, sys
		loader = b"/lib/ld-musl-x86_64.so.1\0"
		head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
		interp = struct.pack("<IIQQQQQQ", 3, 4, 120, 0, 0, len(loader), len(loader), 1)
		for name, data in (("musl", head + interp + loader), ("small", b"\x7fELF\1\1\1" + bytes(57))):
		    with open(os.path.join(sys.argv[1], name), "wb") as f:
		        f.write(data)
		    os.chmod(f.name, 0o755)
	P
	unjoined --require -- "$room/musl"
	[ "$status" -eq 125 ]
	[[ $stderr == *"musl is linked with musl, not with glibc, so it cannot be joined; run a build of it for glibc"* ]]
	unjoined --require -- "$room/small"
	[ "$status" -eq 125 ]
	[[ $stderr == *"small is a 32-bit program"* ]]
}

@test "the interpreter of a script counts" {
	compile -static
	start_daemon
	printf '#!%s\n' "$room/opens" >"$room/script"
	chmod +x "$room/script"
	unjoined --require -- "$room/script"
	[ "$status" -eq 125 ]
	[[ $stderr == *"script is linked statically"* ]]
}

@test "a program that runs as another user" {
	[ "$(id -u)" -eq 0 ] || skip "only root makes a program of another user"
	start_daemon
	cp "$(command -v sleep)" "$room/sleep"
	chown 65534 "$room/sleep"
	chmod u+s "$room/sleep"
	unjoined -- "$room/sleep" 0.5
	[[ $stderr == *"runs as another user than you, so it cannot be joined"* ]]
	unjoined -- bash -c "'$room/sleep' 0.7 9<>/dev/full"
	[[ ${stderr_lines[0]} == *"sleep (pid "*"it got the rights of another user or of its file when it was started, so LD_PRELOAD was ignored; start it as that user, behind 'gpreempt run'" ]]
}

# Makes a library whose ioctl() has a body of $2, which may use next().
compile_preload() {
	cat >"$room/$1.c" <<-C
		#define _GNU_SOURCE
		#include <dlfcn.h>
		static int next(int fd, unsigned long request, void *argument)
		{
			int (*fn)(int, unsigned long, void *) = dlsym(RTLD_NEXT, "ioctl");
			return fn(fd, request, argument);
		}
		int ioctl(int fd, unsigned long request, void *argument)
		{
			$2
		}
	C
	cc -shared -fPIC -o "$room/$1.so" "$room/$1.c" -ldl
}

@test "another preload in the way" {
	start_daemon
	compile_preload hides '(void)next; return -1;'
	# shellcheck disable=SC2016
	unjoined -- bash -c 'LD_PRELOAD=$1/hides.so:$LD_PRELOAD sleep 6 9<>/dev/full' bash "$room"
	[[ ${stderr_lines[0]} == *"sleep (pid "*": hides.so has its calls first and does not pass them on; preload that library after gpreempt's, or run the program without it" ]]
}

@test "a preload that has no calls of the program, or comes later, is not in the way" {
	start_daemon
	compile_preload hides '(void)next; return -1;'
	# shellcheck disable=SC2016
	unjoined -- bash -c 'LD_PRELOAD=libm.so.6:$LD_PRELOAD:$1/hides.so sleep 5 9<>/dev/full' bash "$room"
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
}

@test "a preload that passes the calls on is not in the way" {
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	start_daemon
	compile_preload passes 'return next(fd, request, argument);'
	export GPREEMPT room WORKLOADS
	# shellcheck disable=SC2016
	# It has the GPU for longer than such a program is given for its first call.
	run --separate-stderr timeout 90 "$GPREEMPT" emu exec --cus 4 -- "$GPREEMPT" run --require -- \
		bash -c 'LD_PRELOAD=$room/passes.so:$LD_PRELOAD "$WORKLOADS/offline_trainer" --seconds 5'
	echo "$stderr"
	[ "$status" -eq 0 ]
	[[ $stderr != *"has its calls first"* ]]
}

@test "launchers are recognised before they start" {
	start_daemon
	for launcher in sudo doas su runuser pkexec ssh docker podman nerdctl kubectl apptainer \
		singularity flatpak lxc-attach machinectl systemd-run at batch tmux; do
		unjoined --require -- "$launcher" train
		[ "$status" -eq 125 ]
		[[ $stderr == *"$launcher "*"so it cannot be joined; "*"'gpreempt run'"* ]]
	done
	for arguments in "-i" "-" "--ignore-environment" "-u LD_PRELOAD" "-uLD_PRELOAD" "--unset=LD_PRELOAD" \
		"-iv" "A=1 LD_PRELOAD="; do
		# shellcheck disable=SC2086
		unjoined --require -- env $arguments true
		[ "$status" -eq 125 ]
		[[ $stderr == *"env starts its command without this LD_PRELOAD"* ]]
	done
	for arguments in "A=i" "-u LC_i" "-uPATHi A=1" "-v"; do
		# shellcheck disable=SC2086
		unjoined --require -- env $arguments true
		[ "$status" -eq 0 ]
	done
	# There it is joined.
	unjoined --require -- env -i "GPREEMPT_SOCKET=$GPREEMPT_SOCKET" "$GPREEMPT" run --require -- true
	[ "$status" -eq 0 ]
}

@test "a launcher that is not required starts after one line" {
	start_daemon
	unjoined -- env -i sleep 0.6 9<>/dev/full
	[ "$status" -eq 0 ]
	[[ ${stderr_lines[0]} == *"env starts its command without this LD_PRELOAD, so it cannot be joined and runs without a priority; put 'gpreempt run' behind it, directly in front of the program" ]]
	[[ ${stderr_lines[1]} == *"in summary, sleep"* ]]
	[ "${#stderr_lines[@]}" -eq 2 ]
}

@test "--require ends a command that uses a GPU without having joined" {
	start_daemon
	SECONDS=0
	unjoined --require -- bash -c 'env -i sleep 20 9<>/dev/full; exit 3'
	[ "$status" -eq 125 ]
	[ "$SECONDS" -lt 15 ]
	[[ $stderr == *"uses a GPU and has not joined"*"the command is ended, because of --require"*"in summary"* ]]
	unjoined --require -- sh -c 'exit 3'
	[ "$status" -eq 3 ]
	[ -z "$stderr" ]
}

@test "--require needs a daemon" {
	unjoined --require -- true
	[ "$status" -eq 125 ]
	[[ $stderr == *"no gpreemptd runs"* ]]
}

@test "the watcher keeps no file of the command open, and ends with it" {
	start_daemon
	SECONDS=0
	run "$GPREEMPT" run -- sh -c 'sleep 4 >/dev/null 2>&1 3>&- & echo done'
	[ "$output" = "done" ]
	[ "$SECONDS" -lt 4 ]
	run ! pgrep -f "$GPREEMPT run -- sh -c sleep"
}

@test "on an emulated GPU a program that lost the preload is found, and a joined one is not" {
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	start_daemon
	run --separate-stderr timeout 60 "$GPREEMPT" emu exec --cus 4 -- "$GPREEMPT" run -c offline -- \
		"$WORKLOADS/offline_trainer" --steps 2
	[ "$status" -eq 0 ]
	[[ $stderr != *"has not joined"* ]]
	# shellcheck disable=SC2016
	run --separate-stderr timeout 60 "$GPREEMPT" emu exec --cus 4 -- "$GPREEMPT" run -c offline -- \
		bash -c 'LD_PRELOAD=${LD_PRELOAD##*:} "$0" --steps 2; true' "$WORKLOADS/offline_trainer"
	echo "$stderr"
	[ "$status" -eq 0 ]
	[[ $stderr == *"gpreempt: offline_trainer (pid "*") uses a GPU and has not joined, so it has no priority: it was started without gpreempt's LD_PRELOAD"* ]]
}

@test "what a joined program says is repeated when the command has ended, and --require ends it" {
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	start_daemon
	export GPREEMPT WORKLOADS
	# shellcheck disable=SC2016
	run bash -o pipefail -c '"$GPREEMPT" emu exec --cus 4 -- "$GPREEMPT" run -- \
		env GPREEMPT_LEVEL=7 "$WORKLOADS/offline_trainer" --steps 2 2>&1 | cat'
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"gpreempt: GPREEMPT_LEVEL=7 is not a level"*"gpreempt: pid "*" GPREEMPT_LEVEL=7 is not a level"* ]]
	run --separate-stderr timeout 60 "$GPREEMPT" emu exec --cus 4 -- "$GPREEMPT" run --require -- \
		env GPREEMPT_LEVEL=7 "$WORKLOADS/offline_trainer" --steps 1000
	echo "$stderr"
	[ "$status" -eq 125 ]
}
