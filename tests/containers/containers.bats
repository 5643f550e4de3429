#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# An unmodified program in containers of runc, crun and podman around gpreempt-oci, on one emulated GPU.
# scripts/container-test sets $ENGINES, $IMAGE and $BUILD.

bats_require_minimum_version 1.5.0
load ../e2e/daemon

setup() {
	room=$(mktemp -d /tmp/gpreempt-containers.XXXXXX)
	GPREEMPT=$BUILD/src/cli/gpreempt
	export GPREEMPT XDG_RUNTIME_DIR=$room GPREEMPT_SOCKET=$room/socket/control.sock
	unset GPREEMPT_EMU_DIR STATE_DIRECTORY
	mkdir "$room/socket"
	libraries=$ENGINES/usr/lib/x86_64-linux-gnu
	runc=$ENGINES/usr/sbin/runc
	started=()
	start_daemon
	"$GPREEMPT" emu start --name box --cus 4
	steps=20
	alone=$("$GPREEMPT" emu exec --name box -- "$BUILD/src/demo/offline_trainer" --steps $steps 2>&1 | digest)
	[ -n "$alone" ]
}

teardown() {
	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	"$GPREEMPT" emu stop --all
	umount -R "$room/graph" 2>/dev/null || true
	rm -rf "$room"
}

digest() {
	sed -n 's/.* digest \([0-9a-f]*\).*/\1/p'
}

# node RUNTIME [LINE...]: the node's configuration, and $oci, which uses it: engines call a runtime with
# an environment of their own.
node() {
	local runtime=$1

	shift
	{
		printf '[oci]\nruntime = %s\nlibraries = %s\nsocket = %s\n' "$runtime" "$BUILD/src/join" "$GPREEMPT_SOCKET"
		[ $# -eq 0 ] || printf '%s\n' "$@"
	} >"$room/oci.conf"
	oci=$room/gpreempt-oci
	printf '#!/bin/sh\nGPREEMPT_OCI_CONF=%s LD_LIBRARY_PATH=%s exec %s-oci "$@"\n' "$room/oci.conf" \
		"$libraries" "$GPREEMPT" >"$oci"
	chmod +x "$oci"
}

# bundle NAME ANNOTATIONS: of the program, in $room/NAME.
bundle() {
	mkdir "$room/$1"
	LD_LIBRARY_PATH=$libraries "$runc" spec -b "$room/$1"
	python3 - "$room/$1/config.json" "$2" "$1" <<-END
		import json, sys
		c = json.load(open(sys.argv[1]))
		c["root"] = {"path": "$IMAGE", "readonly": False}
		c["process"]["terminal"] = False
		c["process"]["args"] = ["/workloads/offline_trainer", "--steps", "$steps"]
		c["process"]["env"] += ["LD_PRELOAD=/client/libgpreempt-emu.so", "GPREEMPT_EMU_DIR=$room/gpreempt/emu/box"]
		c["annotations"] = json.loads(sys.argv[2])
		c["linux"]["cgroupsPath"] = "/gpreempt-test/" + sys.argv[3]
		c["linux"].pop("seccomp", None)
		for source, at in (("$BUILD/src/demo", "/workloads"), ("$BUILD/src/emu/client", "/client"),
		                   ("$room/gpreempt", "$room/gpreempt")):
		    c["mounts"].append({"destination": at, "source": source, "type": "bind", "options": ["rbind"]})
		json.dump(c, open(sys.argv[1], "w"))
	END
}

# contain NAME ANNOTATIONS: runs the program in a container; its output is in $room/NAME.out.
contain() {
	bundle "$1" "$2"
	"$oci" --root "$room/state" run -b "$room/$1" "$1" >"$room/$1.out" 2>&1 </dev/null 3>&-
}

@test "runc: the result of an online and an offline container on one GPU is that of the program alone" {
	node "$runc" '[default]' 'class = offline' 'max_class = online'
	contain patient '{"gpreempt.dev/tag": "patient"}' &
	started+=($!)
	wait_for "patient" "$GPREEMPT" ps
	[[ $output == *offline* ]]
	contain urgent '{"gpreempt.dev/class": "online", "gpreempt.dev/tag": "urgent"}'
	wait "${started[-1]}"
	unset 'started[-1]'
	[ "$(digest <"$room/patient.out")" = "$alone" ]
	[ "$(digest <"$room/urgent.out")" = "$alone" ]
	run -0 "$GPREEMPT" why tag:urgent
	[[ $output == *"priority 15 on gpu0"* ]]
	run -0 "$GPREEMPT" why tag:patient
	[[ $output == *"priority 2 on gpu0"* ]]
}

@test "runc: a container gets no more than the node grants, whatever it asks for" {
	node "$runc" '[default]' 'class = offline'
	contain greedy '{"gpreempt.dev/class": "online", "gpreempt.dev/tag": "greedy"}'
	grep -F "priority 15 is above 2, the highest in control group /gpreempt-test/greedy, and is lowered to it" "$room/greedy.out"
	[ "$(digest <"$room/greedy.out")" = "$alone" ]
	run -0 "$GPREEMPT" why tag:greedy
	[[ $output == *"priority 2 on gpu0"* ]]
}

@test "another wrapper beneath, as of a GPU's vendor, edits the configuration as well" {
	# It stands for a runtime such as nvidia-container-runtime.
	cat >"$room/vendor" <<-END
		#!/bin/sh
		for word; do
			[ -e "\$word/config.json" ] && sed -i 's|"GPREEMPT_EMU_DIR=|"VENDOR=1", &|' "\$word/config.json"
		done
		exec $runc "\$@"
	END
	chmod +x "$room/vendor"
	node "$room/vendor"
	contain chained '{"gpreempt.dev/class": "offline"}'
	[ "$(digest <"$room/chained.out")" = "$alone" ]
	grep -F VENDOR=1 "$room/chained/config.json"
}

@test "crun: the result is the same" {
	node "$ENGINES/usr/bin/crun"
	if ! contain crun '{"gpreempt.dev/class": "offline"}'; then
		grep -F "hybrid mode not supported" "$room/crun.out" && skip "crun does not support hybrid control groups"
		cat "$room/crun.out"
		return 1
	fi
	[ "$(digest <"$room/crun.out")" = "$alone" ]
}

# in_podman OPTION...: the program in a container of podman.
in_podman() {
	cat >"$room/containers.conf" <<-END
		[engine]
		cgroup_manager = "cgroupfs"
		events_logger = "file"
		conmon_path = ["$ENGINES/usr/bin/conmon"]
		hooks_dir = ["$room/hooks"]
	END
	printf '[storage]\ndriver = "vfs"\ngraphroot = "%s/graph"\nrunroot = "%s/run"\n' "$room" "$room" >"$room/storage.conf"
	mkdir -p "$room/hooks"
	CONTAINERS_CONF=$room/containers.conf CONTAINERS_STORAGE_CONF=$room/storage.conf \
		LD_LIBRARY_PATH=$libraries "$ENGINES/usr/bin/podman" "$@" --rm --network none \
		--ulimit nproc=1024:1024 --ulimit nofile=1024:1024 --security-opt seccomp=unconfined \
		--security-opt apparmor=unconfined -v "$BUILD/src/demo:/workloads" -v "$BUILD/src/emu/client:/client" \
		-v "$room/gpreempt:$room/gpreempt" -e LD_PRELOAD=/client/libgpreempt-emu.so \
		-e "GPREEMPT_EMU_DIR=$room/gpreempt/emu/box" --rootfs "$IMAGE" \
		/workloads/offline_trainer --steps "$steps" >"$room/podman.out" 2>&1 </dev/null 3>&-
}

@test "podman --runtime: the result is the same, and the node's limit holds" {
	node "$runc" '[default]' 'class = offline'
	in_podman --runtime "$oci" run --annotation gpreempt.dev/class=online --annotation gpreempt.dev/tag=pod ||
		{ cat "$room/podman.out" && return 1; }
	[ "$(digest <"$room/podman.out")" = "$alone" ]
	grep -E "priority 15 is above 2, the highest in control group /[^ ]*libpod-[0-9a-f]{64}, and is lowered to it" "$room/podman.out"
}
