#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt-oci around a stand-in for a runtime, which prints its arguments; `make container-test` runs
# containers. A root file system has no more than the files that are looked at.
# shellcheck disable=SC2016 # of bash -c

bats_require_minimum_version 1.5.0
load daemon

setup() {
	: "${GPREEMPT:=build/src/cli/gpreempt}"
	oci=$GPREEMPT-oci
	[ -x "$oci" ] || skip "this build has no gpreempt-oci"
	room=$BATS_TEST_TMPDIR
	export XDG_RUNTIME_DIR=$room GPREEMPT_SOCKET=$room/control.sock GPREEMPT_OCI_CONF=$room/oci.conf
	unset STATE_DIRECTORY
	started=()
	printf '#!/bin/sh\necho "beneath $*"\n' >"$room/beneath"
	chmod +x "$room/beneath"
	mkdir -p "$room/lib" "$room/bundle/rootfs/lib/x86_64-linux-gnu"
	printf 'GLIBC_2.34\0GLIBC_2.2.5\0' >"$room/lib/libgpreempt-join.so"
	printf 'GLIBC_2.36\0' >"$room/bundle/rootfs/lib/x86_64-linux-gnu/libc.so.6"
	node ''
	config '{}'
}

teardown() {
	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

# $1: further lines of the node's configuration.
node() {
	printf '[oci]\nruntime = %s\nlibraries = %s\nsocket = %s\n%s\n' \
		"$room/beneath" "$room/lib" "$GPREEMPT_SOCKET" "$1" >"$GPREEMPT_OCI_CONF"
}

# $1: the annotations; $2: variables of the environment, as a list; $3: the path of the control group.
config() {
	cat >"$room/bundle/config.json" <<-END
		{"ociVersion": "1.0.2", "root": {"path": "rootfs"}, "annotations": $1,
		 "process": {"args": ["sh"], "env": ${2:-[\"A=b\"]}},
		 "mounts": [], "linux": {"cgroupsPath": "${3:-/box/one}"}}
	END
}

# Prints the environment and the mounts of the edited configuration.
edited() {
	python3 -c 'import json, sys
c = json.load(open(sys.argv[1]))
print("\n".join(c["process"]["env"]))
print("\n".join(m["source"] + " " + m["destination"] + " " + ",".join(m["options"]) for m in c["mounts"]))' \
		"$room/bundle/config.json"
}

create() {
	run "$oci" --root /r --log "$room/log" --log-format json create --bundle "$room/bundle" one
}

@test "oci: create edits the configuration and executes the runtime beneath" {
	config '{"gpreempt.dev/class": "offline", "gpreempt.dev/tag": "box"}' \
		'["A=b", "LD_PRELOAD=/x.so", "GPREEMPT_PRIORITY=15"]'
	create
	[ "$status" -eq 0 ]
	[ "$output" = "beneath --root /r --log $room/log --log-format json create --bundle $room/bundle one" ]
	run -0 edited
	[ "$output" = "A=b
LD_PRELOAD=/run/gpreempt-lib/libgpreempt-join.so:/x.so
GPREEMPT_PRIORITY=2
GPREEMPT_TAG=box
GPREEMPT_SOCKET=/run/gpreempt-socket/control.sock
HSA_TOOLS_LIB=/run/gpreempt-lib/libgpreempt-join.so
OPENCL_LAYERS=/run/gpreempt-lib/libgpreempt-opencl.so
$room/lib /run/gpreempt-lib rbind,ro,nosuid,nodev
$room /run/gpreempt-socket rbind,ro,nosuid,nodev" ]
}

@test "oci: without an annotation, the node or the container's own variable decides" {
	create
	[[ $(edited) == *"GPREEMPT_PRIORITY=default"* ]]
	config '{}' '["GPREEMPT_PRIORITY=3"]'
	create
	[[ $(edited) == *"GPREEMPT_PRIORITY=3"* ]]
}

@test "oci: other commands leave the configuration alone" {
	before=$(<"$room/bundle/config.json")
	run -0 "$oci" --root /r state one
	[ "$output" = "beneath --root /r state one" ]
	run -0 "$oci" delete --force create
	[ "$output" = "beneath delete --force create" ]
	[ "$(<"$room/bundle/config.json")" = "$before" ]
}

@test "oci: musl is refused if a class is asked for, and else runs without gpreempt" {
	rm -r "$room/bundle/rootfs"
	mkdir -p "$room/bundle/rootfs/lib"
	echo >"$room/bundle/rootfs/lib/ld-musl-x86_64.so.1"
	create
	[ "$status" -eq 0 ]
	[[ $output == *"run without gpreempt: its C library is musl, and gpreempt's libraries need glibc 2.34; use an image with glibc, such as Debian's"*"beneath"* ]]
	[ "$(edited)" = "A=b" ]
	config '{"gpreempt.dev/class": "online"}'
	create
	[ "$status" -eq 1 ]
	[[ $output == *"cannot join, though annotation gpreempt.dev/class asks for a class: its C library is musl"* ]]
	[[ $output != *beneath* ]]
	grep -F '"level": "error"' "$room/log" || grep -F '"level":"error"' "$room/log"
}

@test "oci: a C library that is too old is refused, also behind a link of the image" {
	rm -r "$room/bundle/rootfs/lib"
	mkdir -p "$room/bundle/rootfs/usr/lib/x86_64-linux-gnu"
	ln -s /usr/lib "$room/bundle/rootfs/lib"
	printf 'GLIBC_2.31\0GLIBC_2.4\0' >"$room/bundle/rootfs/usr/lib/x86_64-linux-gnu/libc.so.6"
	config '{"gpreempt.dev/class": "online"}'
	create
	[ "$status" -eq 1 ]
	[[ $output == *"its image has glibc 2.31, and gpreempt's libraries need 2.34; use a newer image"* ]]
}

@test "oci: what is malformed is refused with the reason" {
	config '{"gpreempt.dev/class": "urgent"}'
	create
	[ "$status" -eq 1 ]
	[[ $output == *"'urgent' is none of online, normal and offline, nor a whole number; the container is not started"* ]]
	echo '{' >"$room/bundle/config.json"
	create
	[ "$status" -eq 1 ]
	[[ $output == *"$room/bundle/config.json: "*"; the container is not started"* ]]
	config '{}'
	for line in $'[pod x]\nclass = online' $'[default]\nclass = urgent' $'[default]\nlimit = 3' $'[oci]\nsocket = here'; do
		node "$line"
		create
		[ "$status" -eq 1 ]
		[[ $output == *"gpreempt-oci: $GPREEMPT_OCI_CONF: "* ]]
	done
	node $'[oci]\nruntime = /does/not/exist'
	create
	[[ $output == *"cannot execute the runtime beneath, /does/not/exist: No such file or directory; set runtime in"* ]]
}

@test "oci: the node's configuration decides what the container may have" {
	start_daemon
	node $'[default]\nclass = offline\n[namespace serving]\nclass = normal\nmax_class = online'
	config '{"gpreempt.dev/class": "online"}'
	create
	config '{"gpreempt.dev/class": "online", "io.kubernetes.cri.sandbox-namespace": "serving"}' '' \
		'kubepods-pod1.slice:cri-containerd:abc'
	create
	config '{"io.kubernetes.cri.sandbox-namespace": "serving"}' '' 'system.slice:docker:def'
	create
	run -0 bash -c '"$0" cgroup --no-headers | tr -s " " | cut -d" " -f1-3' "$GPREEMPT"
	[ "$output" = "/box/one offline offline
/kubepods.slice/kubepods-pod1.slice/cri-containerd-abc.scope online online
/system.slice/docker-def.scope normal online" ]
}

@test "oci: without gpreemptd the container starts, with a warning" {
	node $'[default]\nclass = offline'
	create
	[ "$status" -eq 0 ]
	[[ $output == *"cannot register control group /box/one: "*"the limits of their user"*"beneath"* ]]
}

@test "oci: --edit is a filter, for hooks before the creation" {
	sed -i "s|\"rootfs\"|\"$room/bundle/rootfs\"|" "$room/bundle/config.json"
	run -0 bash -c '"$0" --edit <"$1" 2>&1' "$oci" "$room/bundle/config.json"
	[[ $output == *"GPREEMPT_PRIORITY=default"* ]]
}

@test "cdi: generate prints a specification with each class" {
	run -0 "$GPREEMPT" cdi generate
	[ "$(python3 -c 'import json, sys
c = json.load(sys.stdin)
print(c["kind"], [d["name"] for d in c["devices"]], c["containerEdits"]["mounts"][0]["hostPath"])' <<<"$output")" = \
		"gpreempt.dev/class ['online', 'normal', 'offline', 'default'] $room/lib" ]
	run -2 "$GPREEMPT" cdi
	[[ $output == *"say what to do: generate"* ]]
}
