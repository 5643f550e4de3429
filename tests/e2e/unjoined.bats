#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs that gpreempt run cannot join, or that leave it: each case has its line. A device file
# stands for a GPU that any program can open, and an emulated GPU for those that compute on one.
# shellcheck disable=SC2034,SC2154 # daemon.bash uses $devices and sets $daemon

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${BUILD_DIR:=build}" "${GPREEMPT:=$BUILD_DIR/src/cli/gpreempt}"
	: "${WORKLOADS:=$BUILD_DIR/src/demo}" "${JOIN:=$BUILD_DIR/src/join/libgpreempt-join.so}"
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
	run bash -o pipefail -c '"$@" 2>&1 | cat' bash timeout 100 "$GPREEMPT" run "$@"
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
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	start_daemon
	export GPREEMPT WORKLOADS
	# shellcheck disable=SC2016
	run bash -o pipefail -c '"$GPREEMPT" emu exec --cus 4 -- "$GPREEMPT" run -- \
		env -u GPREEMPT_PRIORITY "$WORKLOADS/offline_trainer" --steps 1 2>&1 | cat'
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"gpreempt: pid "*" uses a GPU and was started without GPREEMPT_PRIORITY, so it has no priority; put 'gpreempt run' directly in front of it"* ]]
}

@test "a process that had the GPU before the command is not of it" {
	start_daemon
	export GPREEMPT
	# shellcheck disable=SC2016
	run timeout 20 bash -c 'env -i sleep 3 9<>/dev/full & sleep 0.2; exec "$GPREEMPT" run --require -- sleep 1'
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	# shellcheck disable=SC2016
	run timeout 20 bash -c '(sleep 0.6; exec env -i sleep 2 9<>/dev/full) & exec "$GPREEMPT" run --require -- sleep 1'
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "a container or root folder without the library" {
	[ "$(id -u)" -eq 0 ] || skip "only root may"
	unshare -m true || skip "no mount namespaces"
	start_daemon
	mkdir "$room/empty"
	# shellcheck disable=SC2016
	unjoined -- unshare -m bash -c 'mount --bind "$1" "$2" && exec env sleep 0.6 9<>/dev/full' bash \
		"$room/empty" "$(dirname "$JOIN")"
	[[ $stderr == *"sleep (pid "*": gpreempt's library is not in its container or root folder; have gpreempt and the folder of the daemon's socket in it"* ]]
}

@test "devices that appear after the command has started" {
	[ "$(id -u)" -eq 0 ] || skip "only root makes device files"
	# shellcheck disable=SC2034 # start_daemon reads it
	devices="$room/gpu*"
	start_daemon
	# shellcheck disable=SC2016
	unjoined --require -- bash -c 'mknod "$1/gpu0" c 1 7 && exec env -i sleep 600 9<>"$1/gpu0"' bash "$room"
	[[ $stderr != *mknod* && $stderr != *"Permission denied"* ]] || skip "no device files here"
	[ "$status" -eq 125 ]
	[[ $stderr == *"sleep (pid "*") uses a GPU and has not joined"* ]]
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

@test "a program that nobody may read is not told of" {
	[ "$(id -u)" -eq 0 ] || skip "only root can be somebody else"
	setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$GPREEMPT" || skip "$GPREEMPT is where nobody else can go"
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	start_daemon
	# Such a program is in amdkfd's list, although its descriptors cannot be read.
	printf '#include <sys/prctl.h>\n__attribute__((constructor)) static void f(void) { prctl(PR_SET_DUMPABLE, 0); }\n' >"$room/secret.c"
	cc -shared -fPIC -o "$room/secret.so" "$room/secret.c"
	chown 65534 "$room"
	export GPREEMPT room WORKLOADS
	ordinary=(setpriv --reuid=65534 --regid=65534 --clear-groups env "XDG_RUNTIME_DIR=$room")
	# shellcheck disable=SC2016
	run timeout 90 "${ordinary[@]}" "$GPREEMPT" emu exec --cus 4 -- "$GPREEMPT" run -c offline -- \
		bash -c 'LD_PRELOAD=$LD_PRELOAD:$room/secret.so "$WORKLOADS/offline_trainer" --seconds 5'
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output != *"has not joined"* ]]
}

@test "a program has joined whose loader has not mapped the library yet" {
	start_daemon
	# It is stopped for a second before the first instruction of the dynamic loader.
	cat >"$room/slow.c" <<-'C'
		#include <fcntl.h>
		#include <signal.h>
		#include <sys/ptrace.h>
		#include <sys/wait.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			pid_t pid = fork();
			int status;
			if (!pid) {
				dup2(open("/dev/full", O_RDWR), 9);
				ptrace(PTRACE_TRACEME, 0, 0, 0);
				execvp(argv[1], argv + 1);
				_exit(127);
			}
			waitpid(pid, &status, 0);
			sleep(1);
			ptrace(PTRACE_DETACH, pid, 0, 0);
			return argc < 2 || waitpid(pid, &status, 0) < 0 || status;
		}
	C
	cc -o "$room/slow" "$room/slow.c"
	unjoined --require -- "$room/slow" sleep 0.5
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

@test "another preload is not in the way if the notes are full, as one that says otherwise may be lost" {
	start_daemon
	compile_preload hides '(void)next; return -1;'
	# shellcheck disable=SC2016
	unjoined -- bash -c 'LD_PRELOAD=$1/hides.so:$LD_PRELOAD sleep 5 9<>/dev/full & sleep 0.5
		printf "%070000d\n" 0 >>"$GPREEMPT_NOTES"; wait' bash "$room"
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
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
	for launcher in sudo doas "su -" "su -l" "runuser --login" "runuser -pl" pkexec ssh docker podman nerdctl kubectl apptainer \
		singularity flatpak lxc-attach machinectl systemd-run at batch /usr/bin/sudo; do
		# shellcheck disable=SC2086
		unjoined --require -- $launcher train
		[ "$status" -eq 125 ]
		[[ $stderr == *"${launcher%% *} "*"so it cannot be joined; "*"'gpreempt run'"* ]]
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

@test "programs of the user that have the name of a launcher start" {
	start_daemon
	printf '#!/bin/sh\nexit 3\n' >"$room/batch"
	chmod +x "$room/batch"
	unjoined --require -- "$room/batch"
	[ "$status" -eq 3 ]
	[ -z "$stderr" ]
}

@test "su and runuser of root keep the preload, except for a login" {
	[ "$(id -u)" -eq 0 ] || skip "only root may"
	start_daemon
	unjoined --require -- su root -s /bin/sh -c 'grep -c libgpreempt-join /proc/self/maps'
	[ "$status" -eq 0 ]
	unjoined --require -- runuser -u root -- ls -l /proc/self/exe
	[ "$status" -eq 0 ]
	[[ $stderr != *"cannot be joined"* ]]
	unjoined --require -- su root -lc true
	[ "$status" -eq 125 ]
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
	unjoined --require -- bash -c 'env -i sleep 600 9<>/dev/full; exit 3'
	[ "$status" -eq 125 ]
	[[ $stderr == *"uses a GPU and has not joined"*"the command is ended, because of --require"*"in summary"* ]]
	unjoined --require -- sh -c 'exit 3'
	[ "$status" -eq 3 ]
	[ -z "$stderr" ]
}

@test "--require ends programs that ignore SIGTERM" {
	start_daemon
	unjoined --require -- sh -c "(trap '' TERM; env -i sleep 623 9<>/dev/full); true"
	[ "$status" -eq 125 ]
	run ! pgrep -fx "sleep 623"
}

@test "the status is known to a caller that ignores SIGCHLD, as the command then does" {
	start_daemon
	# Waits for its child with the default.
	cat >"$room/ignore.py" <<-'P'
		import os, signal, sys
		pid = os.fork()
		if not pid:
		    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
		    os.execv(sys.argv[1], sys.argv[1:])
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	P
	run -42 python3 "$room/ignore.py" "$GPREEMPT" run --require -- sh -c 'exit 42'
	run -125 python3 "$room/ignore.py" "$GPREEMPT" run --require -- bash -c 'env -i sleep 20 9<>/dev/full; exit 3'
	for option in --require --class=normal; do
		run -0 python3 "$room/ignore.py" "$GPREEMPT" run $option -- grep SigIgn /proc/self/status
		[ $((0x${output##*[[:blank:]]} >> 16 & 1)) -eq 1 ]
	done
}

@test "a command that is the first process, or adopts others, has no further child" {
	start_daemon
	cat >"$room/waits.py" <<-'P'
		import os
		os.spawnlp(os.P_NOWAIT, "true", "true")
		nr = 0
		try:
		    while True:
		        os.wait()
		        nr += 1
		except ChildProcessError:
		    print("children:", nr)
	P
	printf 'import ctypes, os, sys\nctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\nos.execv(sys.argv[1], sys.argv[1:])\n' >"$room/adopts.py"
	run -0 timeout 20 python3 "$room/adopts.py" "$GPREEMPT" run -- python3 "$room/waits.py"
	[ "$output" = "children: 1" ]
	[ "$(id -u)" -eq 0 ] && unshare -pf --mount-proc true || skip "no pid namespaces"
	run -0 timeout 20 unshare -pf --kill-child --mount-proc "$GPREEMPT" run -- python3 "$room/waits.py"
	[ "$output" = "children: 1" ]
}

# Whether a process that watches $1 runs.
is_watching() {
	pgrep -f "^$GPREEMPT run .*-- $1"
}

@test "the watcher works with few descriptors and without space for files" {
	start_daemon
	run bash -c 'ulimit -n 20; "$@" 2>&1 | cat' bash timeout 20 "$GPREEMPT" run -- \
		bash -c 'env -i sleep 0.6 9<>/dev/full'
	[[ $output == *"sleep (pid "*") uses a GPU and has not joined"*"in summary"* ]]
	compile_preload hides '(void)next; return -1;'
	# shellcheck disable=SC2016
	run bash -c 'ulimit -f 0; "$@" 2>&1' bash "$GPREEMPT" run -- \
		bash -c 'LD_PRELOAD=$1/hides.so:$LD_PRELOAD true' bash "$room"
	[ "$status" -eq 0 ]
}

@test "the watcher ends when gpreempt run is killed" {
	start_daemon
	"$GPREEMPT" run --require -- sleep 31 2>/dev/null 3>&- &
	eventually pgrep -fx "sleep 31"
	kill -KILL $!
	wait $! || true
	run -0 eventually eval '! is_watching "sleep 31"'
	kill "$(pgrep -fx "sleep 31")"
}

@test "the end of the watcher is told" {
	start_daemon
	"$GPREEMPT" run --require -- sleep 2 2>"$room/said" 3>&- &
	command=$!
	eventually pgrep -P "$command" -fx "sleep 2"
	kill -KILL "$(pgrep -P "$command" -f "$GPREEMPT")"
	wait "$command" && status=0 || status=$?
	[ "$status" -eq 125 ]
	grep "gpreempt: the process that watches the command was ended by signal 9" "$room/said"
}

@test "what a joined program says is read at once" {
	start_daemon
	SECONDS=0
	# By then the watcher looks at intervals of 6 seconds by itself: next at 12.7.
	# shellcheck disable=SC2016
	unjoined --require -- bash -c 'sleep 6.5; echo "$$ unscheduled is a test" >>"$GPREEMPT_NOTES"; sleep 600'
	[ "$status" -eq 125 ]
	[ "$SECONDS" -lt 12 ]
	[[ $stderr == *"the command is ended, because of --require"*"pid "*" is a test" ]]
}

@test "GPUs that are opened all the time cost little" {
	start_daemon
	"$GPREEMPT" run -- sleep 4 2>/dev/null 3>&- &
	command=$!
	eventually pgrep -f "^$GPREEMPT run -- sleep 4"
	watcher=$(pgrep -f "^$GPREEMPT run -- sleep 4")
	timeout 2 bash -c 'while sleep 0.003; do : 9<>/dev/full; done' || true
	# In ticks of 10 ms.
	read -ra stat <"/proc/$watcher/stat"
	echo "processor time: $((stat[13] + stat[14]))"
	[ $((stat[13] + stat[14])) -lt 15 ]
	wait "$command"
}

@test "--require needs a daemon" {
	unjoined --require -- true
	[ "$status" -eq 125 ]
	[[ $stderr == *"no gpreemptd runs"* ]]
}

@test "the watcher keeps no file of the command open, and ends with it" {
	start_daemon
	# The output has an end while the process that is left goes on.
	# shellcheck disable=SC2016
	run timeout 60 "$GPREEMPT" run -- sh -c 'sleep 600 >/dev/null 2>&1 3>&- & echo "$!"'
	kill "$output"
	[ "$status" -eq 0 ]
	run ! pgrep -f "$GPREEMPT run -- sh -c sleep"
	# With large numbers, too. The command ends when the pipe, which it has closed, has no writer.
	mkfifo "$room/go"
	# shellcheck disable=SC2016
	run timeout 60 bash -c '"$0" run -- bash -c "exec >/dev/null 2>&1 600>&-; read -r <\"$1/go\"" 600>&1 2>/dev/null 3>&- | {
		! read -r
		echo go >"$1/go"
	}' "$GPREEMPT" "$room"
	[ "$status" -eq 0 ]
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
		bash -c 'LD_PRELOAD=${LD_PRELOAD##*:} "$0" --seconds 2; true' "$WORKLOADS/offline_trainer"
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
