#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# scripts/check-callers finds functions that nothing but tests uses. Each case has a small tree of
# its own.

setup() {
	: "${SOURCE_DIR:=.}"
	check=$BATS_TEST_TMPDIR/check-callers
	cp "$SOURCE_DIR/scripts/check-callers" "$check"
	cd "$BATS_TEST_TMPDIR" || return
	mkdir -p src/base tests
	cat >src/base/a.h <<-'C'
		int gp__used(int x);
		GP_API int gp_exported(void);
		static inline int gp__inline(int x) { return x; }
	C
	cat >src/base/a.c <<-'C'
		int gp__used(int x)
		{
			return x ? gp__inline(x) : 0;
		}
		int gp_exported(void)
		{
			return gp__used(1);
		}
		int main(void)
		{
			return 0;
		}
	C
}

# refuses NAME
refuses() {
	run "$check"
	[ "$status" -eq 1 ]
	[[ $output == *": nothing outside tests uses $1()" ]]
}

@test "used, exported and main functions pass" {
	run "$check"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "an unused function is found" {
	printf 'void gp__unused(void)\n{\n}\n' >>src/base/a.c
	refuses gp__unused
	[[ $output == *src/base/a.c:13:* ]]
}

@test "a prototype, a comment, a string, a test and recursion are not uses" {
	printf 'int gp__unused(int x);\n/* gp__unused() */\n' >>src/base/a.h
	printf 'const char *name = "gp__unused";\n' >src/base/b.c
	printf 'int gp__unused(int x)\n{\n\treturn x ? gp__unused(x - 1) : 0;\n}\n' >>src/base/b.c
	printf 'int f(void)\n{\n\treturn gp__unused(1);\n}\n' >tests/t.c
	refuses gp__unused
}

@test "an unused inline function of a header is found" {
	printf 'static inline int gp__idle(void)\n{\n\treturn 1;\n}\n' >>src/base/a.h
	refuses gp__idle
}

@test "names that a macro makes are uses" {
	printf '#define CALL(name) gp__##name()\nint gp__pasted(void)\n{\n\treturn 1;\n}\n' >>src/base/a.c
	refuses gp__pasted
	printf 'static int f(void)\n{\n\treturn CALL(pasted);\n}\n' >>src/base/a.c
	"$check"
}

@test "a function that is marked as one for tests passes" {
	printf 'int gp__probe(void)\n{\n\treturn 1;\n}\n' >>src/base/a.c
	printf '/* How many there are. */\nint gp__probe(void);\n' >>src/base/a.h
	refuses gp__probe
	sed -i 's/How many/For tests: how many/' src/base/a.h
	"$check"
}
