// SPDX-License-Identifier: MIT
/* Every key of a scenario file. */
#include "test.h"

#include <string.h>

#include "base/clock.h"
#include "sim/scenario.h"

static struct gp__scenario *parse(const char *text)
{
	struct gp__scenario_error err;
	struct gp__scenario *sc;

	if (gp__scenario_parse("x.ini", text, strlen(text), &sc, &err))
		fail_msg("%s", err.text);
	assert_string_equal(err.text, "");
	return sc;
}

static void assert_fixed(const struct gp__dist *dist, uint64_t ns)
{
	assert_int_equal(dist->kind, GP__DIST_FIXED);
	assert_int_equal(dist->a_ns, ns);
}

static void test_defaults(void **state)
{
	struct gp__scenario *sc = parse("[scenario]\nduration=1s\n[gpu g]\n"
					"[program p]\narrivals=closed\nkernel=1ms\n");
	const struct gp__program_spec *p = sc->programs[0].spec;
	const struct gp__gpu_spec *g = sc->gpus[0].spec;

	(void)state;
	assert_string_equal(sc->file, "x.ini");
	assert_string_equal(sc->title, "x.ini");
	assert_int_equal(sc->warmup_ns, 0);
	assert_int_equal(sc->seed, 0);
	assert_string_equal(sc->policy, "");
	assert_int_equal(sc->policy_line, 0);
	assert_int_equal(sc->n_gpus, 1);
	assert_string_equal(sc->gpus[0].name, "g");
	assert_int_equal(g->levels, 1 << 1 | 1 << 2 | 1 << 3);
	assert_int_equal(g->interrupt.kind, GP__DIST_LOGNORMAL);
	assert_int_equal(g->interrupt.a_ns, 5 * GP__US);
	assert_int_equal(g->deactivate.a_ns, 40 * GP__US);
	assert_fixed(&g->launch, 4 * GP__US);
	assert_fixed(&g->switch_cost, 0);
	assert_fixed(&g->cold, 0);
	assert_fixed(&g->sees, 0);
	assert_fixed(&g->settles, 0);
	assert_int_equal(sc->n_programs, 1);
	assert_string_equal(sc->programs[0].name, "p");
	assert_int_equal(p->line, 4);
	assert_int_equal(p->priority, GP__PRIO_NORMAL);
	assert_int_equal(p->streams, 1);
	assert_int_equal(p->level, 3);
	assert_int_equal(p->window, 0);
	assert_int_equal(p->weight, 100);
	assert_int_equal(p->kernels, 1);
	assert_int_equal(p->stop_ns, 1 * GP__S);
	assert_fixed(&p->gap, 0);
	assert_fixed(&p->first, 0);
	assert_int_equal(p->concurrent, 1);
	gp__scenario_free(sc);
}

static void test_scenario_keys(void **state)
{
	struct gp__scenario *sc = parse("; a comment\n"
					"[scenario]\n"
					"title = Two of a kind\n"
					"note = look here\n"
					"note = and there\n"
					"duration = 2min\n"
					"warmup = 1.5s\n"
					"seed = 18446744073709551615\n"
					"policy = hpf\n"
					"policy.age_ms = 250\n"
					"core.linger_us = 100\n"
					"core.max_hold_ms = 9\n"
					"[gpu g]\n[program p]\narrivals=closed\nkernel=1ms\n");

	(void)state;
	assert_string_equal(sc->title, "Two of a kind");
	assert_int_equal(sc->n_notes, 2);
	assert_string_equal(sc->notes[1], "and there");
	assert_int_equal(sc->duration_ns, 120 * GP__S);
	assert_int_equal(sc->warmup_ns, 1500 * GP__MS);
	assert_true(sc->seed == UINT64_MAX);
	assert_string_equal(sc->policy, "hpf");
	assert_int_equal(sc->policy_line, 9);
	assert_int_equal(sc->policy_params.n, 1);
	assert_string_equal(sc->policy_params.v[0].name, "age_ms");
	assert_string_equal(sc->policy_params.v[0].value, "250");
	assert_int_equal(sc->policy_params.v[0].line, 10);
	assert_int_equal(sc->core_params.n, 2);
	assert_string_equal(sc->core_params.v[1].name, "max_hold_ms");
	gp__scenario_free(sc);
}

static void test_gpu_keys(void **state)
{
	struct gp__scenario *sc = parse("[scenario]\nduration = 1s\n"
					"[gpu mi]\n"
					"count = 2\n"
					"vram = 192G\n"
					"levels = 3\n"
					"interrupt = uniform 1us 10us\n"
					"restore = exp 3us\n"
					"deactivate = lognormal 40us 0.25\n"
					"reactivate = fixed 7us\n"
					"launch = 5us\n"
					"switch_cost = 9us\n"
					"cold = 8us\n"
					"weighs = yes\n"
					"sees = uniform 0 1ms\n"
					"settles = 2ms\n"
					"fail = 0.125\n"
					"[gpu nv]\n"
					"levels = 1, 2\n"
					"[program p]\ngpu=nv\narrivals=closed\nkernel=1ms\n");
	const struct gp__gpu_spec *g = &sc->gpu_specs[0];

	(void)state;
	assert_int_equal(sc->n_gpus, 3);
	assert_string_equal(sc->gpus[0].name, "mi0");
	assert_string_equal(sc->gpus[1].name, "mi1");
	assert_string_equal(sc->gpus[2].name, "nv");
	assert_ptr_equal(sc->gpus[1].spec, g);
	assert_true(g->vram_bytes == 192ull << 30);
	assert_int_equal(g->levels, 1 << 1 | 1 << 3);
	assert_int_equal(g->interrupt.kind, GP__DIST_UNIFORM);
	assert_int_equal(g->interrupt.a_ns, 1 * GP__US);
	assert_int_equal(g->interrupt.b_ns, 10 * GP__US);
	assert_int_equal(g->restore.kind, GP__DIST_EXP);
	assert_int_equal(g->restore.a_ns, 3 * GP__US);
	assert_int_equal(g->deactivate.kind, GP__DIST_LOGNORMAL);
	assert_true(g->deactivate.sigma == 0.25);
	assert_fixed(&g->reactivate, 7 * GP__US);
	assert_fixed(&g->launch, 5 * GP__US);
	assert_fixed(&g->switch_cost, 9 * GP__US);
	assert_fixed(&g->cold, 8 * GP__US);
	assert_true(g->weighs);
	assert_false(sc->gpu_specs[1].weighs);
	assert_int_equal(g->sees.kind, GP__DIST_UNIFORM);
	assert_int_equal(g->sees.b_ns, 1 * GP__MS);
	assert_fixed(&g->settles, 2 * GP__MS);
	assert_true(g->fail == 0.125);
	assert_int_equal(sc->gpu_specs[1].levels, 1 << 1 | 1 << 2);
	assert_int_equal(sc->programs[0].gpus[0], 2);
	gp__scenario_free(sc);
}

static void test_requests(void **state)
{
	struct gp__scenario *sc = parse("[scenario]\nduration = 10s\n[gpu g]\n"
					"[program p]\narrivals = poisson 4/s\nkernels = 33\n"
					"first = exp 5ms\nkernel = 1ms\ngap = 20us\n"
					"concurrent = 8\n");
	const struct gp__program_spec *p = sc->programs[0].spec;

	(void)state;
	assert_int_equal(p->first.kind, GP__DIST_EXP);
	assert_int_equal(p->first.a_ns, 5 * GP__MS);
	assert_int_equal(p->concurrent, 8);
	gp__scenario_free(sc);
}

static void test_program_keys(void **state)
{
	struct gp__scenario *sc = parse("[scenario]\nduration = 10s\n[gpu g]\nvram=16G\n"
					"[program p]\n"
					"priority = -3\n"
					"tag = TRAIN\n"
					"process = app\n"
					"streams = 8\n"
					"level = 1\n"
					"window = 16\n"
					"batch = 8\n"
					"deadline = 50ms\n"
					"share = 40%\n"
					"min_share = 5\n"
					"weight = 250\n"
					"max_hold = 2s\n"
					"memory = 8G\n"
					"arrivals = periodic 20ms\n"
					"start = 1s\n"
					"stop = 9s\n"
					"jobs = 100\n"
					"hint = 2ms\n"
					"kernels = 12\n"
					"kernel = lognormal 1ms 0.5\n"
					"gap = uniform 1us 2us\n");
	const struct gp__program_spec *p = sc->programs[0].spec;

	(void)state;
	assert_int_equal(p->priority, -3);
	assert_string_equal(p->tag, "TRAIN");
	assert_int_equal(p->streams, 8);
	assert_int_equal(p->level, 1);
	assert_int_equal(p->window, 16);
	assert_int_equal(p->batch, 8);
	assert_int_equal(p->deadline_ns, 50 * GP__MS);
	assert_int_equal(p->share_pct, 40);
	assert_int_equal(p->min_share_pct, 5);
	assert_int_equal(p->weight, 250);
	assert_int_equal(p->max_hold_ns, 2 * GP__S);
	assert_true(p->memory_bytes == 8ull << 30);
	assert_int_equal(p->arrivals.kind, GP__ARRIVALS_PERIODIC);
	assert_fixed(&p->arrivals.interval, 20 * GP__MS);
	assert_int_equal(p->start_ns, 1 * GP__S);
	assert_int_equal(p->stop_ns, 9 * GP__S);
	assert_int_equal(p->jobs, 100);
	assert_int_equal(p->hint_ns, 2 * GP__MS);
	assert_int_equal(p->kernels, 12);
	assert_int_equal(p->kernel.kind, GP__DIST_LOGNORMAL);
	assert_int_equal(p->gap.kind, GP__DIST_UNIFORM);
	gp__scenario_free(sc);
}

static void test_classes(void **state)
{
	struct gp__scenario *sc =
		parse("[scenario]\nduration=1s\n[gpu g]\n"
		      "[program a]\nclass=online\narrivals=closed\nkernel=1ms\n"
		      "[program b]\nclass=normal\narrivals=closed\nkernel=1ms\n"
		      "[program c]\nclass=offline\narrivals=closed\nkernel=1ms\n");

	(void)state;
	assert_int_equal(sc->programs[0].spec->priority, 15);
	assert_int_equal(sc->programs[1].spec->priority, 7);
	assert_int_equal(sc->programs[2].spec->priority, 2);
	gp__scenario_free(sc);
}

static void test_arrivals(void **state)
{
	struct gp__scenario *sc = parse("[scenario]\nduration=1s\n[gpu g]\n"
					"[program a]\narrivals=poisson 50/s\nkernel=1ms\n"
					"[program b]\narrivals=poisson 30/min\nkernel=1ms\n"
					"[program c]\narrivals=trace 0ms,5ms, 5ms\n"
					"arrivals = trace 80ms\nkernel=1ms\n"
					"[program d]\nthink=exp 3ms\narrivals=closed\nkernel=1ms\n"
					"window=auto\nbatch=auto\ngang=no\n");
	const struct gp__arrivals *a = &sc->programs[0].spec->arrivals;

	(void)state;
	assert_int_equal(a->kind, GP__ARRIVALS_POISSON);
	assert_int_equal(a->interval.kind, GP__DIST_EXP);
	assert_int_equal(a->interval.a_ns, 20 * GP__MS);
	assert_int_equal(sc->programs[1].spec->arrivals.interval.a_ns, 2 * GP__S);
	a = &sc->programs[2].spec->arrivals;
	assert_int_equal(a->kind, GP__ARRIVALS_TRACE);
	assert_int_equal(a->n_trace, 4);
	assert_int_equal(a->trace_ns[0], 0);
	assert_int_equal(a->trace_ns[2], 5 * GP__MS);
	assert_int_equal(a->trace_ns[3], 80 * GP__MS);
	a = &sc->programs[3].spec->arrivals;
	assert_int_equal(a->kind, GP__ARRIVALS_CLOSED);
	assert_int_equal(a->think.kind, GP__DIST_EXP);
	assert_int_equal(a->think.a_ns, 3 * GP__MS);
	gp__scenario_free(sc);
}

static void test_placing(void **state)
{
	struct gp__scenario *sc =
		parse("[scenario]\nduration=1s\n[gpu g]\ncount=4\n[gpu other]\n"
		      "[program each]\ngpu=g*\narrivals=closed\nkernel=1ms\n"
		      "[program two]\ngpu=g3,other\ncount=3\narrivals=closed\nkernel=1ms\n"
		      "[program gang]\ngpu=g0, g2\ngang=yes\ncount=2\narrivals=closed\nkernel=1ms\n"
		      "[program all]\ngpu=*\ngang=yes\narrivals=closed\nkernel=1ms\n");
	const struct gp__scenario_program *p = sc->programs;

	(void)state;
	assert_int_equal(sc->n_programs, 4 + 3 + 2 + 1);
	assert_string_equal(p[0].name, "each.0");
	assert_string_equal(p[3].name, "each.3");
	assert_int_equal(p[3].n_gpus, 1);
	assert_int_equal(p[3].gpus[0], 3);
	assert_int_equal(p[4].gpus[0], 3);
	assert_int_equal(p[5].gpus[0], 4);
	assert_int_equal(p[6].gpus[0], 3);
	assert_string_equal(p[8].name, "gang.1");
	assert_int_equal(p[8].n_gpus, 2);
	assert_int_equal(p[8].gpus[0], 0);
	assert_int_equal(p[8].gpus[1], 2);
	assert_string_equal(p[9].name, "all");
	assert_int_equal(p[9].n_gpus, 5);
	gp__scenario_free(sc);
}

static void test_users(void **state)
{
	struct gp__scenario *sc =
		parse("[scenario]\nduration=1s\n[gpu g]\n"
		      "[program a]\nuser=x\narrivals=closed\nkernel=1ms\n"
		      "[program b]\nprocess=p\narrivals=closed\nkernel=1ms\n"
		      "[program c]\nuser=x\ncount=2\narrivals=closed\nkernel=1ms\n"
		      "[program d]\nprocess=p\ntag=d\narrivals=closed\nkernel=1ms\n"
		      "[program e]\nuser=y\narrivals=closed\nkernel=1ms\n");
	const struct gp__scenario_program *p = sc->programs;

	(void)state;
	assert_int_equal(sc->n_programs, 6);
	assert_int_equal(p[0].user, p[2].user);
	assert_int_equal(p[0].user, p[3].user);
	assert_int_equal(p[1].user, p[4].user);
	assert_int_not_equal(p[0].user, p[1].user);
	assert_int_not_equal(p[5].user, p[0].user);
	assert_int_not_equal(p[5].user, p[1].user);
	gp__scenario_free(sc);
}

static void test_processes(void **state)
{
	struct gp__scenario *sc =
		parse("[scenario]\nduration=1s\n[gpu g]\n"
		      "[program a]\nprocess=x\npriority=1\narrivals=closed\nkernel=1ms\n"
		      "[program b]\narrivals=closed\nkernel=1ms\n"
		      "[program c]\nprocess=x\npriority=2\narrivals=closed\nkernel=1ms\n"
		      "[program d]\nprocess=y\ncount=1\narrivals=closed\nkernel=1ms\n"
		      "[program e]\nprocess=y\ntag=E\narrivals=closed\nkernel=1ms\n");
	const struct gp__scenario_program *p = sc->programs;

	(void)state;
	assert_int_equal(sc->n_processes, 3);
	assert_int_equal(p[0].process, p[2].process);
	assert_int_equal(p[3].process, p[4].process);
	assert_int_not_equal(p[0].process, p[3].process);
	assert_int_not_equal(p[1].process, p[0].process);
	assert_int_not_equal(p[1].process, p[3].process);
	for (int i = 0; i < 5; i++)
		assert_true(p[i].process < sc->n_processes);
	gp__scenario_free(sc);
}

static void test_layout_of_text(void **state)
{
	struct gp__scenario *sc = parse("\xef\xbb\xbf  [scenario] # comment\r\n"
					"\tduration = 1s ; comment\r\n"
					"   title = \xc3\x9c"
					"bung \xe2\x9c\x93\r\n"
					"\r\n"
					"[ gpu   g ] ; comment\n"
					"  vram = 1G\n"
					"  levels = 1\n"
					"[program p]\n  arrivals: closed\n  kernel = 1ms");

	(void)state;
	assert_string_equal(sc->title, "\xc3\x9c"
				       "bung \xe2\x9c\x93");
	assert_int_equal(sc->gpus[0].spec->vram_bytes, 1 << 30);
	assert_int_equal(sc->gpus[0].spec->levels, 1 << 1);
	gp__scenario_free(sc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_scenario_keys),
		cmocka_unit_test(test_gpu_keys), cmocka_unit_test(test_program_keys),
		cmocka_unit_test(test_classes),	 cmocka_unit_test(test_arrivals),
		cmocka_unit_test(test_placing),	 cmocka_unit_test(test_processes),
		cmocka_unit_test(test_users),	 cmocka_unit_test(test_layout_of_text),
		cmocka_unit_test(test_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
