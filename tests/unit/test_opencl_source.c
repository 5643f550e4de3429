/* SPDX-License-Identifier: MIT */
/* Decides which kernels get a guard, and where in the text it is inserted. */
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "join/opencl/source.h"

#define K "__kernel void k(__global uint *p) { p[get_global_id(0)] = 1; }\n"

static enum gp__wire_why why_with(const char *text, const char *options)
{
	struct gp__cl_guarded g;
	enum gp__wire_why why;

	assert_int_equal(gp__cl_guard_source(text, strlen(text), options, false, &g), 0);
	why = gp__cl_guarded_why(&g, "k");
	/* There is no text if no kernel is guarded. */
	if (why && g.nr_kernels < 2)
		assert_null(g.text);
	gp__cl_guarded_free(&g);
	return why;
}

static enum gp__wire_why why(const char *text)
{
	return why_with(text, "");
}

#define assert_why(text, expected) assert_int_equal(why(text), expected)

/* Removes the guard's text again: the rest must be the original. */
static void assert_only_added(const char *text, const char *head, const char *before_guard)
{
	struct gp__cl_guarded g;
	const char *at;

	assert_int_equal(gp__cl_guard_source(text, strlen(text), "", false, &g), 0);
	assert_non_null(g.text);
	assert_int_equal(strlen(g.text), g.size);
	at = strstr(g.text, head);
	if (!at)
		print_error("no '%s' in: %s\n", head, g.text);
	assert_non_null(at);
	at = strstr(g.text, " __local uint gp__ends;");
	assert_non_null(at);
	assert_true((size_t)(at - g.text) >= strlen(before_guard));
	assert_memory_equal(at - strlen(before_guard), before_guard, strlen(before_guard));
	assert_int_equal(strchr(text, '\n') == NULL, strchr(g.text, '\n') == NULL);
	gp__cl_guarded_free(&g);
}

static void a_guard_is_behind_the_brace(void **state)
{
	(void)state;
	assert_only_added("kernel void k(global int *p) { *p = 1; }",
			  "kernel void k(global int *p, __global volatile const uint *gp__held, "
			  "__global volatile uint *gp__block) {",
			  "gp__block) {");
	assert_only_added("kernel void k() {}", "k(__global volatile const", "gp__block) {");
	assert_only_added("kernel void k( void ) {}", "k( __global volatile const",
			  "gp__block ) {");
	assert_only_added("kernel void k(int a // the last\n) /* { */ \n{ }", "a // the last\n, __",
			  "/* { */ \n{");
	assert_only_added("__attribute__((reqd_work_group_size(8, 1, 1))) __kernel void k(int a)\n"
			  "__attribute__((vec_type_hint(float4))) { a = 1; }",
			  "void k(int a, ", "vec_type_hint(float4))) {");
}

static void kernels_that_may_be_guarded_are(void **state)
{
	(void)state;
	assert_why(K, GP__WIRE_GUARDED);
	assert_why("#define N 4\n#ifdef X\n" K "#else\n" K "#endif\n", GP__WIRE_GUARDED);
	assert_why("__constant int t[] = { 1, 2 };\ntypedef struct { int a; } s;\nstruct t;\n"
		   "enum { A, B };\nint f(int x);\nint f(int x) { return x; }\n" K,
		   GP__WIRE_GUARDED);
	assert_why("kernel void k(global int *p) { for (int i = 0; i < 9; i++) "
		   "if (i) atomic_inc(p); else atomic_add(p, (2)); }",
		   GP__WIRE_GUARDED);
	assert_why("kernel void k(global int *p) { int at = atomic_inc(p); p[at] = 1; }",
		   GP__WIRE_GUARDED);
	assert_why("kernel void k(global int *p) { while (*p < 9) *p += 1; "
		   "barrier(CLK_LOCAL_MEM_FENCE); }",
		   GP__WIRE_GUARDED);
	assert_why("// while (volatile) static pipe\nkernel void k(global int *p) "
		   "{ *p = '{'; printf(\"} static \\\" \"); }",
		   GP__WIRE_GUARDED);
	assert_why("#error Don't\n" K, GP__WIRE_GUARDED);
	assert_why("int spin(volatile int *p) { while (*p); return 0; }\n" K, GP__WIRE_GUARDED);
}

static void kernels_that_may_wait_for_others_are_not(void **state)
{
	static const char *const texts[] = {
		"kernel void k(global int *p) { while (atomic_add(p, 0) < 9) ; }",
		"kernel void k(global int *p) { int x; do { x = (int)atomic_inc(p); } while (x); }",
		"kernel void k(volatile global int *p) { while (*p) ; }",
		"kernel void k(global atomic_int *p) { for (;;) if (*p) return; }",
		"kernel void k(global int *p) { again: mem_fence(7); if (*p) goto again; }",
		"kernel void k(global int *p) { while (*p) barrier(CLK_GLOBAL_MEM_FENCE); }",
		"int f(global int *p) { return atom_cmpxchg(p, 0, 1); }\n"
		"kernel void k(global int *p) { while (f(p)) ; }",
		"#define LOCK(p) while (atomic_cmpxchg(p, 0, 1))\n"
		"#define ENTER(p) LOCK(p)\n"
		"kernel void k(global int *p) { ENTER(p); }",
		"#define CALL(f) f##_all(p)\n"
		"void wait_all(global int *p) { while (atomic_load(p)) ; }\n"
		"kernel void k(global int *p) { CALL(wait); }",
		"kernel void k(global int *p) { asm(\"s_sleep\"); }",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_why(texts[i], GP__WIRE_WAITS);
	assert_int_equal(why_with("void w(volatile int *p) { while (*p) ; }\n"
				  "kernel void k(global int *p) { WAIT(p); }",
				  "-DWAIT=w"),
			 GP__WIRE_WAITS);
	assert_int_equal(why_with("kernel void k(global int *p) { WAIT; }",
				  "-D \"WAIT=while(atomic_load(p))\""),
			 GP__WIRE_WAITS);
}

static void kernels_with_memory_of_their_own_are_not(void **state)
{
	static const char *const texts[] = {
		"__global int counter;\n" K,
		"int counter;\n" K,
		"int t[2] = { 1, 2 };\n" K,
		"global int *f(int x);\n" K,
		"#define SHARED __global\nSHARED int (x);\n" K,
		"kernel void k(global int *p) { static global int n; p[0] = n++; }",
		"kernel void k(read_only pipe int p) { }",
		"kernel void k(global int *p) { write_pipe(q, p); }",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_why(texts[i], GP__WIRE_SHARES);
}

static void kernels_in_doubt_are_not(void **state)
{
	static const char *const unseen[] = {
		"",
		"#define KERNEL __kernel\nKERNEL void k(global int *p) { }",
		"#define MAKE(n) __kernel void n(global int *p) { }\nMAKE(k)",
		"#include \"rest.h\"\n" K,
		"#define barrier(x)\n" K,
		"#define gp__held 1\n" K,
		"#ifdef A\n__kernel void k(int a) {\n#else\n__kernel void k() {\n#endif\n}",
		"#if 1\n" K,
		K "}",
		K "/*",
		"kernel int k(global int *p) { return 1; }",
		"kernel void k(global int *p) <% %>",
		"ker\\\nnel void k(global int *p) { }\n__kernel void x(int a) { }",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++)
		assert_why(unseen[i], GP__WIRE_UNSEEN);
	assert_int_equal(why_with(K, "-cl-std=CLC++"), GP__WIRE_UNSEEN);
	assert_int_equal(why_with(K, "-D uint=int"), GP__WIRE_UNSEEN);
	assert_int_equal(why_with(K, "-Dreturn="), GP__WIRE_UNSEEN);
	assert_int_equal(why_with(K, "-I ./include -cl-std=CL3.0 -DN=4 -cl-kernel-arg-info"),
			 GP__WIRE_GUARDED);
	assert_why(K "kernel void other(global uint *p) { k(p); }", GP__WIRE_CALLED);
	assert_why("kernel void k(global uint *p);\n" K, GP__WIRE_CALLED);
	assert_why("__attribute__((autorun)) " K, GP__WIRE_STRANGE);
	assert_why("kernel void k(global int *p) { enqueue_kernel(q, f, n, ^{ }); }",
		   GP__WIRE_ENQUEUES);
}

static void each_kernel_is_judged_by_itself(void **state)
{
	static const char text[] =
		K "kernel void w(global int *p) { while (atomic_load(p)) ; }\n" K;
	struct gp__cl_guarded g;

	(void)state;
	assert_int_equal(gp__cl_guard_source(text, strlen(text), "", false, &g), 0);
	assert_int_equal(gp__cl_guarded_why(&g, "k"), GP__WIRE_GUARDED);
	assert_int_equal(gp__cl_guarded_why(&g, "w"), GP__WIRE_WAITS);
	assert_int_equal(gp__cl_guarded_why(&g, "none"), GP__WIRE_UNSEEN);
	assert_non_null(strstr(g.text, "void w(global int *p) { while (atomic_load(p)) ; }"));
	gp__cl_guarded_free(&g);
}

/* How many loops of an idempotent program's kernels check whether the queue is held. */
static int drops_in(const char *text)
{
	struct gp__cl_guarded g;
	int n = 0;

	assert_int_equal(gp__cl_guard_source(text, strlen(text), "", true, &g), 0);
	for (const char *at = g.text; at && (at = strstr(at, "{ if (!(++gp__turn & 15u)")); at++)
		n++;
	assert_int_equal(g.text ? strlen(g.text) : 0, g.size);
	assert_int_equal(gp__cl_guarded_drops(&g, "k"), n > 0);
	gp__cl_guarded_free(&g);
	return n;
}

#define LOOPS_IN(body) "kernel void k(global int *p) { " body " }\n"

static void loops_of_idempotent_kernels_are_left(void **state)
{
	static const char *const once[] = {
		LOOPS_IN("for (int i = 0; i < 9; i++) { p[i] = 1; }"),
		LOOPS_IN("do { --*p; } while (*p);"),
		LOOPS_IN("while (f(*p)) { --*p; }"),
		LOOPS_IN("__attribute__((opencl_unroll_hint(2))) for (;;) { *p = 1 ^ (*p); }"),
		/* The innermost of nested loops is short, and so is a loop without braces. */
		LOOPS_IN("for (;;) { if (*p) { break; } for (;;) { } }"),
		LOOPS_IN("for (;;) { for (;;) ++*p; }") "void f() { for (;;) { } }",
	};
	static const char *const never[] = {
		K,
		LOOPS_IN("for (int i = 0; i < 9; i++) p[i] = 1;"),
		LOOPS_IN("again: goto again;"),
		/* If items wait for each other, none may return early. */
		LOOPS_IN("for (;;) { barrier(0); }"),
		LOOPS_IN("for (;;) { f(); }") "void f() { work_group_reduce_add(1); }",
		LOOPS_IN("for (;;) { intel_work_group_barrier_arrive(1); }"),
		LOOPS_IN("for (;;) { __builtin_amdgcn_s_barrier(); }"),
		"#define SYNC sub_group_barrier(1)\n" LOOPS_IN("for (;;) { SYNC; }"),
		"#define CAT(a, b) a##b\n" LOOPS_IN("for (;;) { CAT(bar, rier)(1); }"),
		/* Nor in a block, where a return leaves only the block. */
		LOOPS_IN("void (^b)(int) = ^(int x) { for (;;) { } }; b(1);"),
		LOOPS_IN("int (^b)(void) = ^int (void) { for (;;) { } }; b();"),
		LOOPS_IN("void (^b)(void) = ^{ for (;;) { } }; b();"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++)
		assert_int_equal(drops_in(once[i]), 1);
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		assert_int_equal(drops_in(never[i]), 0);
	assert_int_equal(
		drops_in(LOOPS_IN("for (;;) { while (*p) { for (;;) { } } } for (;;) { }")), 3);
	assert_int_equal(drops_in(LOOPS_IN("for (;;) { } for (;;) { }")), 2);
}

static void loops_of_other_programs_are_not_changed(void **state)
{
	static const char text[] = LOOPS_IN("for (;;) { }");
	struct gp__cl_guarded g;

	(void)state;
	assert_int_equal(gp__cl_guard_source(text, strlen(text), "", false, &g), 0);
	assert_non_null(strstr(g.text, "for (;;) { }"));
	assert_false(gp__cl_guarded_drops(&g, "k"));
	gp__cl_guarded_free(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_guard_is_behind_the_brace),
		cmocka_unit_test(kernels_that_may_be_guarded_are),
		cmocka_unit_test(kernels_that_may_wait_for_others_are_not),
		cmocka_unit_test(kernels_with_memory_of_their_own_are_not),
		cmocka_unit_test(kernels_in_doubt_are_not),
		cmocka_unit_test(each_kernel_is_judged_by_itself),
		cmocka_unit_test(loops_of_idempotent_kernels_are_left),
		cmocka_unit_test(loops_of_other_programs_are_not_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
