#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Runs the example of README as it stands there, in an environment like that of meson devenv.

setup() {
	: "${SOURCE_DIR:=.}" "${WORKLOADS:=$BUILD_DIR/src/demo}"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	export GPREEMPT_SOCKET=$BATS_TEST_TMPDIR/control.sock
	export PATH=$BUILD_DIR/src/cli:$BUILD_DIR/src/daemon:$PATH
	unset GPREEMPT_EMU_DIR
}

teardown() {
	gpreempt emu stop --all
}

# block TEXT: the first fenced block below the line of README that begins with TEXT.
block() {
	awk -v text="$1" 'index($0, text) == 1 { found = 1 }
		found && /^```/ { if (inside) exit; inside = 1; next }
		inside' "$SOURCE_DIR/README.md"
}

@test "the commands of README for a machine without a GPU" {
	[ -x "$WORKLOADS/offline_trainer" ] || skip "no workloads: they need libhsa-runtime-dev"
	commands=$(block '**Without a GPU**')
	[[ $commands == *offline_trainer* ]]
	cd "$BUILD_DIR"
	# Only the descriptor of the output: bats waits until each of its own is closed.
	run bash -m -c "$commands" 3>&-
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output =~ offline_trainer\ +train ]]
	[[ $output =~ online_server\ +serve ]]
	[[ $output == *"offline_trainer (pid"*"in all: held"* ]]
	digest=$("$WORKLOADS/offline_trainer" --on host --steps 200 | grep -oE 'digest [0-9a-f]+')
	[[ $output == *"200 steps in "*"$digest"* ]]
	run gpreempt emu ls --json
	[[ $output == *'"machines": []'* ]]
}

@test "the shell of meson devenv has both programs" {
	run meson devenv -C "$BUILD_DIR" bash -c 'command -v gpreempt gpreemptd'
	[ "$status" -eq 0 ]
	[[ $output == *"/src/cli/gpreempt"*"/src/daemon/gpreemptd"* ]]
}

@test "the commands of README for the simulator" {
	commands=$(block 'The defaults suit most uses.')
	[[ $commands == *"--replay gang.log"* ]]
	cd "$BATS_TEST_TMPDIR"
	run bash -e -c "$commands" 3>&-
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"gave the same"*"actions"* ]]
}

@test "the lines of Python in README" {
	example=$(block 'the kernel arrives: `gp_hint_arriving')
	[[ $example == *"with gpreempt.request("* ]]
	PYTHONPATH=$SOURCE_DIR/python run python3 -c "
body, decode, model = 'body', str.upper, {'BODY': 'answer'}.get
$example
print(answer)"
	[ "$status" -eq 0 ]
	[ "$output" = answer ]
}

@test "the HIP program of the guide" {
	command -v hipcc >/dev/null || skip "no hipcc"
	[ -x "$BUILD_DIR/tests/rocm/hip_api" ] || skip "no hipcc that builds for gfx90a"
	example=$(grep -E '^\$ hipcc' "$SOURCE_DIR/docs/guide.md")
	cd "$SOURCE_DIR"
	run bash -c "$(sed "s/^\$ //; s|-o saxpy|-o $BATS_TEST_TMPDIR/saxpy|; s|\./saxpy|$BATS_TEST_TMPDIR/saxpy|" \
		<<<"$example")"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"$(grep -A1 -E '^\$ hipcc' docs/guide.md | tail -n 1)"* ]]
}

@test "pictures and pages that README and docs/README.md name exist" {
	for page in README.md docs/README.md; do
		grep -oE '\]\([^)#]+' "$SOURCE_DIR/$page" | cut -c 3- | grep -v '^http' | while read -r path; do
			[ -e "$SOURCE_DIR/$(dirname $page)/$path" ] || echo "$page: no $path"
		done
	done >"$BATS_TEST_TMPDIR/missing"
	cat "$BATS_TEST_TMPDIR/missing"
	[ ! -s "$BATS_TEST_TMPDIR/missing" ]
	# The index has every page.
	for page in "$SOURCE_DIR"/docs/*.md; do
		[ "${page##*/}" = README.md ] || grep -qF "](${page##*/})" "$SOURCE_DIR/docs/README.md"
	done
}
