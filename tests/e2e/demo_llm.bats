#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# gpreempt demo --llm: llama.cpp on the emulated GPU. The case that runs it needs the packages in the
# build folder, about 480 MB, which 'make demo-llm' downloads.

bats_require_minimum_version 1.5.0

setup() {
	: "${GPREEMPT:=$PWD/build/src/cli/gpreempt}" "${WORKLOADS:=$PWD/build/src/demo}"
	packages=$(dirname "$(dirname "$WORKLOADS")")/llama
	XDG_RUNTIME_DIR=$(mktemp -d /tmp/gp-XXXXXX)
	export XDG_RUNTIME_DIR
	unset GPREEMPT_EMU_DIR GPREEMPT_SOCKET
}

teardown() {
	rm -rf "$XDG_RUNTIME_DIR"
}

@test "the model is identical in each run" {
	command -v python3 || skip "python3 is not installed"
	"$WORKLOADS/llm_model" "$BATS_TEST_TMPDIR/a"
	"$WORKLOADS/llm_model" "$BATS_TEST_TMPDIR/b"
	cmp "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
	[ "$(head -c 4 "$BATS_TEST_TMPDIR/a")" = GGUF ]
}

@test "without packages: a remedy, status 77" {
	run -77 "$GPREEMPT" demo --llm="$BATS_TEST_TMPDIR/none" --no-report
	[[ $output == *"none has no packages of llama.cpp"*"--download"*"480 MB"* ]]
	XDG_CACHE_HOME=$BATS_TEST_TMPDIR run -77 "$GPREEMPT" demo --llm --no-report
	[[ $output == *"$BATS_TEST_TMPDIR/gpreempt/llama has no packages"* ]]
	run -2 "$GPREEMPT" demo --download
	[[ $output == *"--download needs --llm"* ]]
}

@test "unavailable packages: a message, status 77" {
	mkdir "$BATS_TEST_TMPDIR/bin"
	printf '#!/bin/sh\necho riscv64\n' >"$BATS_TEST_TMPDIR/bin/dpkg"
	chmod +x "$BATS_TEST_TMPDIR/bin/dpkg"
	PATH=$BATS_TEST_TMPDIR/bin:$PATH run -77 "$GPREEMPT" demo --llm="$BATS_TEST_TMPDIR/none" --download
	[[ $output == *"480 MB"*"on amd64 only"*"cannot download the packages of llama.cpp"* ]]
}

@test "every token equals the CPU's: alone, native and under gpreempt" {
	[ -e "$packages/complete" ] || skip "no llama.cpp: 'make demo-llm' downloads it, about 480 MB"
	cd "$BATS_TEST_TMPDIR"
	timeout 900 "$GPREEMPT" demo --llm="$packages" --requests 10 --json --report r.html >json
	python3 - json r.html <<-'END'
		import json, re, sys
		modes = {m["name"]: m for m in json.load(open(sys.argv[1]))["modes"]}
		assert list(modes) == ["alone", "native", "lv3"]
		for name, m in modes.items():
		    assert m["offline"]["identical"] is True
		    online = m["online"]
		    assert online["requests"] == 10 and online["tokens_per_s"] > 0
		    assert online["first_token_p50_ms"] > 0
		    # Ten requests have no p99.
		    for key in ("p99_ms", "x_alone", "p99_device_cycles", "first_token_p99_ms",
		                "first_token_p99_device_cycles"):
		        assert online[key] is None, (key, online)
		    assert online["token_device_cycles"] > 0
		    assert (m["preemptions"] > 0) == (name == "lv3")
		page = open(sys.argv[2]).read()
		data = json.loads(re.search(r'id="data">(.*)</script>', page).group(1))
		assert [t["title"] for t in data["tables"]] == ["All figures", "Tokens"]
		assert len(data["cdfs"][0]["series"][2]["values"]) == 10
		assert data["timeline"]["groups"][2]["rows"][0]["layers"][0]["at"]
	END
	[ -z "$("$GPREEMPT" emu ls --no-headers)" ]
	[ -z "$(find "$XDG_RUNTIME_DIR/" -name 'gpreempt-demo-*')" ]
}
