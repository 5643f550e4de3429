// SPDX-License-Identifier: MIT
/* The simulator: modelled GPUs behave as described, runs repeat, logs replay, and the shipped
 * scenarios show what they say they show. */
#include "policy/policy.h"
#include "sim/engine.h"
#include "sim/replay.h"

#include <stdio.h>
#include <stdlib.h>

#include "test.h"

static struct gp__scenario *parse(const char *text)
{
	struct gp__scenario_error err;
	struct gp__scenario *sc = NULL;

	if (gp__scenario_parse("test.ini", text, strlen(text), &sc, &err))
		fail_msg("%s", err.text);
	return sc;
}

static struct gp__scenario *load(const char *name)
{
	struct gp__scenario_error err;
	struct gp__scenario *sc = NULL;
	char path[512];

	snprintf(path, sizeof(path), "%s/scenarios/%s.ini", getenv("SOURCE_DIR"), name);
	if (gp__scenario_load(path, &sc, &err))
		fail_msg("%s", err.text);
	return sc;
}

static struct gp__sim_result *run(const struct gp__scenario *sc, const struct gp__policy *policy,
				  u32 level)
{
	struct gp__sim_options opt = {
		.policy = policy, .level = level, .seed = sc->seed, .only = -1
	};
	const struct gp__program_spec *overloaded;
	struct gp__sim_result *r = NULL;

	assert_int_equal(gp__sim_run(sc, &opt, &r, &overloaded), 0);
	return r;
}

static double mean_ms(const struct gp__sim_result *r, size_t program)
{
	double ns;

	assert_int_equal(gp__hist_mean(&r->programs[program].latency, &ns), 0);
	return ns / 1e6;
}

static double max_ms(const struct gp__sim_result *r, size_t program)
{
	uint64_t ns;

	assert_int_equal(gp__hist_quantile(&r->programs[program].latency, 1, &ns), 0);
	return (double)ns / 1e6;
}

static void assert_near(double value, double expected, double tolerance)
{
	if (value < expected - tolerance || value > expected + tolerance)
		fail_msg("%g is not %g +- %g", value, expected, tolerance);
}

#define GPU                                                                                       \
	"[gpu g]\nlaunch = 0\ninterrupt = 10us\nrestore = 10us\ndeactivate = 10us\nreactivate = " \
	"10us\n"
#define PAIR(train, infer)                                                                     \
	"[scenario]\nduration = 10s\n" GPU                                                     \
	"[program train]\nclass = offline\narrivals = closed\n" train                          \
	"\n[program infer]\nclass = online\narrivals = periodic 100ms\nstart = 5ms\nkernel = " \
	"1ms\n" infer

/* A policy as it is, in one scenario, and what the two programs' jobs took. */
static void run_pair(const char *text, const struct gp__policy *policy, u32 level, double *train,
		     double *infer)
{
	struct gp__scenario *sc = parse(text);
	struct gp__sim_result *r = run(sc, policy, level);

	*train = mean_ms(r, 0);
	*infer = max_ms(r, 1);
	gp__sim_result_free(r);
	gp__scenario_free(sc);
}

static void alone_a_job_takes_its_work(void **state)
{
	struct gp__scenario *sc =
		parse("[scenario]\nduration = 1s\n" GPU
		      "[program p]\narrivals = periodic 100ms\nkernels = 4\nkernel = 2ms\n");
	struct gp__sim_result *r = run(sc, &gp__policy_hpf, 0);

	(void)state;
	assert_int_equal(r->programs[0].done, 10);
	assert_near(max_ms(r, 0), 8, 0.001);
	assert_near((double)r->programs[0].gpu_ns, 80e6, 10);
	assert_int_equal(r->programs[0].preemptions, 0);
	gp__sim_result_free(r);
	gp__scenario_free(sc);
}

static void two_share_the_gpu_evenly(void **state)
{
	double train, infer;

	(void)state;
	run_pair(PAIR("kernel = 50ms", "kernels = 1\n"), &gp__policy_none, 0, &train, &infer);
	assert_near(infer, 2, 0.01);
}

/* Level 3 waits for nobody, level 2 for the kernel at hand, level 1 for all that was handed over.
 */
static void a_level_costs_what_it_says(void **state)
{
	double train, lv3, lv2, lv1;

	(void)state;
	run_pair(PAIR("kernels = 10\nkernel = 7ms\nwindow = 4\nbatch = 1", "kernels = 1"),
		 &gp__policy_hpf, 3, &train, &lv3);
	run_pair(PAIR("kernels = 10\nkernel = 7ms\nwindow = 4\nbatch = 1", "kernels = 40"),
		 &gp__policy_hpf, 2, &train, &lv2);
	run_pair(PAIR("kernels = 10\nkernel = 7ms\nwindow = 4\nbatch = 1", "kernels = 40"),
		 &gp__policy_hpf, 1, &train, &lv1);
	assert_near(lv3, 1.01, 0.02);
	assert_true(lv2 > 40.1 && lv2 < 47.1);
	assert_true(lv1 > 54 && lv1 < 68.1);
}

/* How long the trainer is held for each of the other program's jobs of 1 ms, and what these take.
 */
static void run_late(const char *gpu, double *held, double *infer)
{
	struct gp__scenario *sc;
	struct gp__sim_result *r;
	char text[1024];

	snprintf(text, sizeof(text),
		 "[scenario]\nduration = 10s\n" GPU
		 "%s[program train]\nclass = offline\narrivals = closed\nkernel = 20s\n"
		 "[program infer]\nclass = online\narrivals = periodic 100ms\nstart = 5ms\n"
		 "kernel = 1ms\n",
		 gpu);
	sc = parse(text);
	r = run(sc, &gp__policy_hpf, 3);
	assert_int_equal(r->programs[1].done, 100);
	*held = (double)r->programs[0].held_ns / 1e6 / 100;
	*infer = max_ms(r, 1);
	gp__sim_result_free(r);
	gp__scenario_free(sc);
}

static void work_is_seen_late(void **state)
{
	double held, infer;

	(void)state;
	run_late("", &held, &infer);
	assert_near(infer, 1.005, 0.001);
	assert_near(held, 1, 0.1);
	/* A millisecond of sharing, then 10 us to hold. */
	run_late("sees = 1ms\n", &held, &infer);
	assert_near(infer, 1.505, 0.001);
	assert_near(held, 0.5, 0.1);
	run_late("settles = 5ms\n", &held, &infer);
	assert_near(infer, 1.005, 0.001);
	assert_near(held, 6, 0.1);
	/* The work ends before it is seen. */
	run_late("sees = 3ms\nsettles = 5ms\n", &held, &infer);
	assert_near(infer, 2, 0.001);
	assert_near(held, 5, 0.1);
}

/* The scheduler sees work too late to hold anybody for it: what the hardware does by itself. */
static double run_blind(const char *gpu, const char *server)
{
	double train, infer;
	char text[1024];

	snprintf(text, sizeof(text),
		 "[scenario]\nduration = 10s\n" GPU
		 "sees = 50ms\n%s[program train]\nclass = offline\narrivals = closed\n"
		 "kernel = 5s\n[program infer]\nclass = online\narrivals = periodic 100ms\n"
		 "start = 5ms\nkernel = 1ms\n%s",
		 gpu, server);
	run_pair(text, &gp__policy_hpf, 3, &train, &infer);
	return infer;
}

static void the_least_weight_yields_at_once(void **state)
{
	(void)state;
	assert_near(run_blind("", ""), 2, 0.001);
	assert_near(run_blind("weighs = yes\n", ""), 1, 0.001);
}

static void another_program_makes_a_program_cold(void **state)
{
	(void)state;
	/* To the server, and from it to the trainer for 20 us and back. */
	assert_near(run_blind("weighs = yes\ncold = 100us\n", ""), 1.1, 0.001);
	assert_near(run_blind("weighs = yes\ncold = 100us\n", "kernels = 2\n"), 2.1, 0.001);
	assert_near(run_blind("weighs = yes\ncold = 100us\n", "kernels = 2\ngap = 20us\n"), 2.3,
		    0.001);
}

static void a_weighing_gpu_keeps_to_the_proportions(void **state)
{
	struct gp__scenario *sc = parse("[scenario]\nduration = 10s\n" GPU "weighs = yes\n"
					"[program a]\nshare = 75%\narrivals = closed\n"
					"kernel = 3ms\n"
					"[program b]\nshare = 25%\narrivals = closed\n"
					"kernel = 7ms\n");
	u64 params[GP__POLICY_PARAMS_MAX];
	const struct gp__policy *share = &gp__policy_share;
	struct gp__sim_options opt = { .policy = share, .params = params, .only = -1 };
	const struct gp__program_spec *overloaded;
	struct gp__sim_result *r;

	(void)state;
	for (u32 i = 0; i < share->nr_params; i++)
		params[i] = share->params[i].def;
	params[gp__param_find(share->params, share->nr_params, "by_weight", 9)] = 1;
	assert_int_equal(gp__sim_run(sc, &opt, &r, &overloaded), 0);
	assert_near((double)r->programs[0].gpu_ns / (double)r->measured_ns, 0.75, 0.001);
	assert_near((double)r->programs[1].gpu_ns / (double)r->measured_ns, 0.25, 0.001);
	assert_int_equal(r->programs[0].preemptions + r->programs[1].preemptions, 0);
	gp__sim_result_free(r);
	gp__scenario_free(sc);
}

#define REQUESTS                                                       \
	"[scenario]\nduration = 1s\n" GPU "[program p]\nkernels = 4\n" \
	"first = 5ms\nkernel = 1ms\n"

static double hist_max_ms(const struct gp__hist *h)
{
	uint64_t ns;

	assert_int_equal(gp__hist_quantile(h, 1, &ns), 0);
	return (double)ns / 1e6;
}

static void assert_requests(const char *text, double first, double next, double whole,
			    double in_progress, double work)
{
	struct gp__scenario *sc = parse(text);
	struct gp__sim_result *r = run(sc, &gp__policy_hpf, 3);
	const struct gp__sim_program_result *p = &r->programs[0];

	assert_non_null(p->requests);
	assert_int_equal(p->requests->first.count, p->done);
	assert_int_equal(p->requests->next.count, 3 * p->done);
	assert_int_equal(p->unfinished, 0);
	assert_near(hist_max_ms(&p->requests->first), first, 0.001);
	assert_near(hist_max_ms(&p->requests->next), next, 0.001);
	assert_near(max_ms(r, 0), whole, 0.001);
	assert_near((double)p->requests->in_progress_ns / 1e6, in_progress, 0.001);
	assert_near((double)p->gpu_ns / 1e6, work, 0.001);
	gp__sim_result_free(r);
	gp__scenario_free(sc);
}

static void requests_are_timed_by_the_token(void **state)
{
	(void)state;
	assert_requests(REQUESTS "arrivals = periodic 100ms\n", 5, 1, 8, 80, 80);
	assert_requests(REQUESTS "arrivals = periodic 100ms\ngap = 500us\n", 5, 1.5, 9.5, 95, 80);
	/* The second one waits for the first one. */
	assert_requests(REQUESTS "arrivals = trace 0ms, 7ms\ngap = 500us\n", 7.5, 1.5, 12, 19, 16);
}

static void concurrent_requests_share_kernels(void **state)
{
	(void)state;
	/* Tokens of the first at 5, 6.5, 13.5 and 15 ms, of the second at 12, 13.5, 15 and 16.5. */
	assert_requests(REQUESTS "arrivals = trace 0ms, 6.8ms\ngap = 500us\nconcurrent = 8\n", 5.2,
			7, 15, 16.5, 14);
	/* A third one begins when the first one has ended; the second one ends at 22 ms. */
	assert_requests(REQUESTS "arrivals = trace 0ms, 6.8ms, 6.9ms\ngap = 500us\n"
				 "concurrent = 2\n",
			13.6, 7, 18.1, 25, 21);
}

/* Requests of the warm-up have no figures, but one in progress after it takes time. */
static void the_warmup_has_no_requests(void **state)
{
	struct gp__scenario *sc = parse("[scenario]\nduration = 1s\nwarmup = 450ms\n" GPU
					"[program p]\nkernels = 4\nfirst = 5ms\nkernel = 1ms\n"
					"arrivals = periodic 100ms\nstart = 48ms\n");
	struct gp__sim_result *r = run(sc, &gp__policy_hpf, 3);
	const struct gp__sim_requests *q = r->programs[0].requests;

	(void)state;
	assert_int_equal(q->first.count, 5);
	assert_int_equal(q->next.count, 15);
	assert_near((double)q->in_progress_ns / 1e6, 6 + 5 * 8, 0.001);
	gp__sim_result_free(r);
	gp__scenario_free(sc);
}

static void an_idle_gpu_is_wasted_on_the_held(void **state)
{
	struct gp__scenario *sc = parse("[scenario]\nduration = 10s\n" GPU "settles = 5ms\n"
					"[program train]\nclass = offline\narrivals = closed\n"
					"kernel = 20s\n"
					"[program infer]\nclass = online\nstart = 5ms\n"
					"arrivals = periodic 100ms\nfirst = 1ms\nkernel = 1ms\n");
	struct gp__sim_result *hpf = run(sc, &gp__policy_hpf, 3),
			      *none = run(sc, &gp__policy_none, 3);
	const struct gp__sim_gpu_result *g = &hpf->gpus[0];

	(void)state;
	assert_near((double)g->wasted_ns / 1e6 / 100, 5, 0.1);
	assert_true(g->wasted_ns < g->idle_ready_ns);
	assert_int_equal(g->holds, hpf->programs[0].preemptions);
	assert_int_equal(g->holds, 100);
	assert_int_equal(g->other_ns, hpf->programs[0].gpu_ns);
	assert_int_equal(none->gpus[0].wasted_ns, 0);
	assert_int_equal(none->gpus[0].holds, 0);
	gp__sim_result_free(hpf);
	gp__sim_result_free(none);
	gp__scenario_free(sc);
}

static void a_hold_that_always_fails_hangs_nothing(void **state)
{
	double train, infer;

	(void)state;
	run_pair("[scenario]\nduration = 10s\n" GPU
		 "fail = 1\n[program train]\nclass = offline\narrivals = closed\nkernel = 50ms\n"
		 "[program infer]\nclass = online\narrivals = periodic 100ms\nkernel = 1ms\n",
		 &gp__policy_hpf, 3, &train, &infer);
	/* As without a scheduler: they share. */
	assert_near(infer, 2, 0.1);
}

static void what_cannot_be_stopped_is_said(void **state)
{
	struct gp__scenario *sc =
		parse("[scenario]\nduration = 10s\n" GPU
		      "fail = 1\n[program train]\nclass = offline\narrivals = closed\n"
		      "kernel = 50ms\n[program infer]\nclass = online\n"
		      "arrivals = periodic 100ms\nkernel = 1ms\n");
	struct gp__sim_result *r = run(sc, &gp__policy_hpf, 3);

	(void)state;
	assert_int_equal(r->programs[0].failed, 1);
	assert_int_equal(r->programs[0].inversions, 1);
	assert_int_equal(r->programs[0].preemptions, 0);
	assert_int_equal(r->programs[1].failed, 0);
	gp__sim_result_free(r);
	gp__scenario_free(sc);
}

static void overload_is_refused_not_swallowed(void **state)
{
	struct gp__scenario *sc = parse("[scenario]\nduration = 1h\n" GPU
					"[program flood]\narrivals = periodic 1us\nkernels = 1000\n"
					"kernel = 1ms\n");
	struct gp__sim_options opt = { .policy = &gp__policy_hpf, .only = -1 };
	const struct gp__program_spec *overloaded = NULL;
	struct gp__sim_result *r = NULL;

	(void)state;
	assert_int_equal(gp__sim_run(sc, &opt, &r, &overloaded), -EOVERFLOW);
	assert_string_equal(overloaded->name, "flood");
	gp__scenario_free(sc);
}

static void nothing_is_lost(void **state)
{
	struct gp__scenario *sc = load("seed004-frequent");
	struct gp__sim_result *r = run(sc, &gp__policy_hpf, 3);
	const struct gp__sim_gpu_result *g = &r->gpus[0];
	double work = (double)(r->programs[0].gpu_ns + r->programs[1].gpu_ns);

	(void)state;
	assert_near(work / (double)g->busy_ns, 1, 0.0001);
	assert_near((double)(g->busy_ns + g->lost_ns + g->idle_ready_ns) / (double)r->measured_ns,
		    1, 0.001);
	assert_int_equal(r->programs[1].done, 5990);
	gp__sim_result_free(r);
	gp__scenario_free(sc);
}

/* The picture of the three levels: hardly a difference at level 1, more than three times at
 * level 3. */
static void example3_shows_the_levels(void **state)
{
	struct gp__scenario *sc = load("example3");
	double ratio[4];

	(void)state;
	for (u32 level = 1; level <= 3; level++) {
		struct gp__sim_result *r = run(sc, &gp__policy_hpf, level);

		ratio[level] = mean_ms(r, 1) / mean_ms(r, 0);
		if (level == 3)
			assert_near(mean_ms(r, 0), 22.5, 2.5);
		gp__sim_result_free(r);
	}
	gp__scenario_free(sc);
	assert_near(ratio[1], 1.15, 0.05);
	assert_true(ratio[2] > 2);
	assert_true(ratio[3] > 3);
	assert_true(ratio[3] > ratio[2]);
}

static void online_is_fast_and_offline_loses_little(void **state)
{
	static const char *const names[] = { "seed004-basic", "seed004-frequent" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct gp__scenario *sc = load(names[i]);
		struct gp__sim_result *r = run(sc, &gp__policy_hpf, 3);
		double train = (double)r->programs[0].gpu_ns, infer = (double)r->programs[1].gpu_ns;

		assert_true(max_ms(r, 1) < 50);
		assert_int_equal(r->programs[1].missed, 0);
		assert_true(train > 0.95 * ((double)r->measured_ns - infer));
		gp__sim_result_free(r);
		gp__scenario_free(sc);
	}
}

static void edges_end_well(void **state)
{
	struct gp__scenario *sc = load("seed004-edge");
	struct gp__sim_result *r = run(sc, &gp__policy_hpf, 3);

	(void)state;
	for (size_t i = 0; i < r->n_programs; i++)
		assert_int_equal(r->programs[i].unfinished, 0);
	assert_true(max_ms(r, 1) < 31 && max_ms(r, 2) < 31);
	gp__sim_result_free(r);
	gp__scenario_free(sc);
}

static void edf_meets_what_priority_misses(void **state)
{
	struct gp__scenario *sc = load("deadlines");
	struct gp__sim_result *edf = run(sc, &gp__policy_edf, 3),
			      *hpf = run(sc, &gp__policy_hpf, 3);
	u64 missed_edf = 0, missed_hpf = 0;

	(void)state;
	for (size_t i = 0; i < edf->n_programs; i++) {
		missed_edf += edf->programs[i].missed;
		missed_hpf += hpf->programs[i].missed;
	}
	assert_int_equal(missed_edf, 0);
	assert_true(missed_hpf > 100);
	gp__sim_result_free(edf);
	gp__sim_result_free(hpf);
	gp__scenario_free(sc);
}

static void the_starved_get_what_was_promised(void **state)
{
	struct gp__scenario *sc = load("starvation");
	struct gp__sim_result *r = run(sc, &gp__policy_hpf, 3);

	(void)state;
	assert_near((double)r->programs[1].gpu_ns / (double)r->measured_ns, 0.10, 0.005);
	assert_true(r->programs[2].longest_hold_ns <= 500 * GP__MS);
	assert_true((double)r->programs[3].gpu_ns / (double)r->measured_ns > 0.009);
	assert_true(r->programs[3].longest_hold_ns <= 2 * GP__S);
	gp__sim_result_free(r);
	gp__scenario_free(sc);
}

/* Many programs of one user get no more than one would. */
static void time_is_divided_between_users(void **state)
{
	static const struct gp__policy *const policies[] = { &gp__policy_fair, &gp__policy_share,
							     &gp__policy_drf };
	struct gp__scenario *sc = load("users");

	(void)state;
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		struct gp__sim_result *r = run(sc, policies[i], 3);

		assert_near((double)r->programs[0].gpu_ns / (double)r->measured_ns, 0.5, 0.02);
		gp__sim_result_free(r);
	}
	gp__scenario_free(sc);
}

static double quantile_ms(const struct gp__hist *h, double q)
{
	uint64_t ns;

	assert_int_equal(gp__hist_quantile(h, q, &ns), 0);
	return (double)ns / 1e6;
}

static struct gp__sim_result *run_alone(const struct gp__scenario *sc, int program)
{
	struct gp__sim_options opt = { .policy = &gp__policy_none,
				       .seed = sc->seed,
				       .only = program };
	const struct gp__program_spec *overloaded;
	struct gp__sim_result *r = NULL;

	assert_int_equal(gp__sim_run(sc, &opt, &r, &overloaded), 0);
	return r;
}

/* Both GPUs of both scenarios: priority comes close to the server alone, and no scheduler does not.
 */
static void requests_are_fast_by_priority_only(void **state)
{
	static const char *const names[] = { "llm", "llm-batch" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct gp__scenario *sc = load(names[i]);
		struct gp__sim_result *hpf = run(sc, &gp__policy_hpf, 0),
				      *none = run(sc, &gp__policy_none, 0);

		for (int p = 0; p < 4; p += 2) {
			struct gp__sim_result *alone = run_alone(sc, p);
			const struct gp__sim_program_result *a = &alone->programs[p],
							    *h = &hpf->programs[p],
							    *n = &none->programs[p];

			assert_true(h->done > 400);
			for (size_t j = 0; j < 2; j++) {
				double q = j ? 0.99 : 0.5;
				double whole = quantile_ms(&a->latency, q);
				double next = quantile_ms(&a->requests->next, q);

				assert_true(quantile_ms(&h->latency, q) < 1.25 * whole);
				assert_true(quantile_ms(&h->requests->next, q) < 1.15 * next);
				assert_true(quantile_ms(&n->latency, q) > 1.75 * whole);
			}
			gp__sim_result_free(alone);
		}
		gp__sim_result_free(hpf);
		gp__sim_result_free(none);
		gp__scenario_free(sc);
	}
}

/* A server that uses less than its proportion need not wait for its turns. */
static void a_server_has_credit_under_fair_and_share(void **state)
{
	static const struct gp__policy *const policies[] = { &gp__policy_fair, &gp__policy_share };
	struct gp__scenario *sc = load("llm");

	(void)state;
	for (int p = 0; p < 4; p += 2) {
		struct gp__sim_result *alone = run_alone(sc, p);
		double whole = quantile_ms(&alone->programs[p].latency, 0.5);

		for (size_t i = 0; i < 2; i++) {
			struct gp__sim_result *r = run(sc, policies[i], 0);

			assert_true(r->programs[p].done > 400);
			assert_true(quantile_ms(&r->programs[p].latency, 0.5) < 1.1 * whole);
			gp__sim_result_free(r);
		}
		gp__sim_result_free(alone);
	}
	gp__scenario_free(sc);
}

/* 33 kernels of each request, if none is shared. */
static void batched_requests_take_fewer_kernels(void **state)
{
	static const char *const names[] = { "llm", "llm-batch" };
	double work[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct gp__scenario *sc = load(names[i]);
		struct gp__sim_result *r = run_alone(sc, 0);

		work[i] = (double)r->programs[0].gpu_ns / (double)r->programs[0].ended / 1e6;
		gp__sim_result_free(r);
		gp__scenario_free(sc);
	}
	assert_near(work[0], 5 + 32 * 1.25, 0.5);
	assert_true(work[1] < 0.8 * work[0]);
}

static void work_before_the_end_of_the_warmup_does_not_count(void **state)
{
	struct gp__scenario *sc = parse("[scenario]\nduration = 10s\nwarmup = 5s\n" GPU
					"[program train]\nclass = offline\narrivals = closed\n"
					"kernel = 4s\n");
	struct gp__sim_result *r = run(sc, &gp__policy_hpf, 3);

	(void)state;
	assert_near((double)r->programs[0].gpu_ns / (double)r->measured_ns, 1, 0.001);
	gp__sim_result_free(r);
	gp__scenario_free(sc);
}

/* At Lv1 the kernel that was running ends while its program is held, and then there is no work. */
static void held_without_work_at_the_end_of_the_warmup(void **state)
{
	struct gp__scenario *sc = parse("[scenario]\nduration = 10s\nwarmup = 3s\n" GPU
					"[program train]\nclass = offline\narrivals = closed\n"
					"jobs = 1\nkernel = 100ms\n"
					"[program infer]\nclass = online\narrivals = closed\n"
					"jobs = 1\nstart = 10ms\nkernel = 6s\n");
	struct gp__sim_result *r = run(sc, &gp__policy_hpf, 1);

	(void)state;
	assert_int_equal(r->programs[0].held_ns, 0);
	assert_int_equal(r->programs[0].longest_hold_ns, 0);
	gp__sim_result_free(r);
	gp__scenario_free(sc);
}

/*
 * Logs
 */

static void write_line(void *ctx, const struct gp__record *r)
{
	char line[GP__LOG_LINE_MAX];
	size_t len = gp__record_format(r, line);

	fwrite(line, 1, len, ctx);
}

struct text {
	char *p;
	size_t n;
};

static struct text log_of(const struct gp__scenario *sc, const struct gp__policy *policy, u64 seed)
{
	struct gp__sim_options opt = {
		.policy = policy, .seed = seed, .only = -1, .log = write_line
	};
	const struct gp__program_spec *overloaded;
	struct gp__sim_result *r;
	struct text t = { 0 };
	FILE *f = open_memstream(&t.p, &t.n);

	opt.log_ctx = f;
	fputs(GP__LOG_HEADER, f);
	assert_int_equal(gp__sim_run(sc, &opt, &r, &overloaded), 0);
	fclose(f);
	gp__sim_result_free(r);
	return t;
}

static int replay(struct text t, FILE *copy, struct gp__replay_result *r,
		  struct gp__replay_error *err)
{
	FILE *f = fmemopen(t.p, t.n, "r");
	int rc = gp__replay(f, copy, r, err);

	fclose(f);
	return rc;
}

static void assert_replays(struct text log)
{
	struct gp__replay_result r;
	struct gp__replay_error err;
	struct text again = { 0 };
	FILE *copy = open_memstream(&again.p, &again.n);

	fputs(GP__LOG_HEADER, copy);
	assert_int_equal(replay(log, copy, &r, &err), 0);
	fclose(copy);
	if (r.differs_at)
		fail_msg("line %llu: logged %s, replayed %s", (unsigned long long)r.differs_at,
			 r.logged, r.replayed);
	assert_int_equal(again.n, log.n);
	assert_memory_equal(again.p, log.p, log.n);
	free(again.p);
}

static void runs_repeat_and_logs_replay(void **state)
{
	static const char *const names[] = { "example3",   "seed004-basic", "seed004-edge",
					     "starvation", "deadlines",	    "multistream",
					     "gang",	   "llm",	    "llm-batch",
					     "64gpus",	   "users" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct gp__scenario *sc = load(names[i]);

		sc->duration_ns = gp__min_u64(sc->duration_ns, 6 * GP__S);
		for (size_t p = 0; gp__policies[p]; p++) {
			struct text a = log_of(sc, gp__policies[p], 1),
				    b = log_of(sc, gp__policies[p], 1);

			assert_int_equal(a.n, b.n);
			assert_memory_equal(a.p, b.p, a.n);
			assert_replays(a);
			free(a.p);
			free(b.p);
		}
		gp__scenario_free(sc);
	}
}

static void another_seed_is_another_run(void **state)
{
	struct gp__scenario *sc = load("multistream");
	struct text a = log_of(sc, &gp__policy_hpf, 1), b = log_of(sc, &gp__policy_hpf, 2);

	(void)state;
	assert_true(a.n != b.n || memcmp(a.p, b.p, a.n));
	free(a.p);
	free(b.p);
	gp__scenario_free(sc);
}

static void a_changed_log_is_noticed(void **state)
{
	struct gp__scenario *sc = load("example3");
	struct text log = log_of(sc, &gp__policy_hpf, 1);
	char *exclude = strstr(log.p, "exclude"), *level = strstr(exclude, "level=3");
	struct gp__replay_result r;
	struct gp__replay_error err;

	(void)state;
	level[6] = '1';
	assert_int_equal(replay(log, NULL, &r, &err), 0);
	assert_true(r.differs_at > 10);
	assert_non_null(strstr(r.logged, "level=1"));
	assert_non_null(strstr(r.replayed, "level=3"));
	free(log.p);
	gp__scenario_free(sc);
}

static void assert_refused(const char *text, u64 line, const char *sentence)
{
	struct text t = { 0 };
	struct gp__replay_result r;
	struct gp__replay_error err;

	t.n = (size_t)asprintf(&t.p, "%s%s", GP__LOG_HEADER, text);
	assert_int_equal(replay(t, NULL, &r, &err), -EINVAL);
	assert_int_equal(err.line, line + 1);
	assert_string_equal(err.text, sentence);
	free(t.p);
}

static void a_log_begins_with_its_version(void **state)
{
	static const char *const texts[] = { "\n", "# gpreempt decision log 1\n",
					     "0 < - - tick\n" };
	struct gp__replay_result r;
	struct gp__replay_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct text t = { .p = (char *)texts[i], .n = strlen(texts[i]) };

		assert_int_equal(replay(t, NULL, &r, &err), -EINVAL);
		assert_int_equal(err.line, 1);
	}
}

static void a_log_no_core_wrote_is_refused(void **state)
{
	(void)state;
#define DEVICE "0 < gpu0 - device-add memory=0 can_weigh=0\n"
#define ENTITY                                                                             \
	DEVICE "0 < gpu0 e1 entity-add process=1 class=other prio=2 weight=0 share_pct=0 " \
	       "min_share_pct=0 "                                                          \
	       "deadline_ns=0 max_hold_ns=0 memory=0 tag=t\n"
#define QUEUE ENTITY "0 < gpu0 e1 queue-add q=1 requested=3 level=3\n"
	assert_refused("hello\n", 1, "expected a time in nanoseconds");
	assert_refused(DEVICE DEVICE, 2, "gpu0 was added before");
	assert_refused("5 < gpu0 e1 suspend\n", 1, "its device was never added");
	assert_refused(DEVICE "5 < gpu0 e1 suspend\n", 2, "its entity was never added to gpu0");
	assert_refused(ENTITY "5 < gpu0 e1 ready q=9 pending=1\n", 3, "e1 has no queue 9");
	assert_refused(ENTITY "5 < gpu0 e1 queue-add q=1 requested=3 level=9\n", 3,
		       "a level is 1, 2 or 3");
	assert_refused(QUEUE "5 < gpu0 e1 ack q=1 result=0\n", 4,
		       "q1 has no action to acknowledge");
	assert_refused(ENTITY "5 < gpu0 - device-remove\n", 3, "gpu0 still has entities");
	assert_refused(ENTITY "5 < gpu0 e1 gang-join gang=4\n", 3, "gang 4 was never added");
	assert_refused("5 < - - config linger_us=99999999\n", 1,
		       "expected a value in the parameter's range");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone_a_job_takes_its_work),
		cmocka_unit_test(two_share_the_gpu_evenly),
		cmocka_unit_test(a_level_costs_what_it_says),
		cmocka_unit_test(work_is_seen_late),
		cmocka_unit_test(the_least_weight_yields_at_once),
		cmocka_unit_test(another_program_makes_a_program_cold),
		cmocka_unit_test(a_weighing_gpu_keeps_to_the_proportions),
		cmocka_unit_test(requests_are_timed_by_the_token),
		cmocka_unit_test(concurrent_requests_share_kernels),
		cmocka_unit_test(the_warmup_has_no_requests),
		cmocka_unit_test(an_idle_gpu_is_wasted_on_the_held),
		cmocka_unit_test(a_hold_that_always_fails_hangs_nothing),
		cmocka_unit_test(what_cannot_be_stopped_is_said),
		cmocka_unit_test(overload_is_refused_not_swallowed),
		cmocka_unit_test(nothing_is_lost),
		cmocka_unit_test(example3_shows_the_levels),
		cmocka_unit_test(online_is_fast_and_offline_loses_little),
		cmocka_unit_test(edges_end_well),
		cmocka_unit_test(edf_meets_what_priority_misses),
		cmocka_unit_test(the_starved_get_what_was_promised),
		cmocka_unit_test(requests_are_fast_by_priority_only),
		cmocka_unit_test(a_server_has_credit_under_fair_and_share),
		cmocka_unit_test(time_is_divided_between_users),
		cmocka_unit_test(batched_requests_take_fewer_kernels),
		cmocka_unit_test(work_before_the_end_of_the_warmup_does_not_count),
		cmocka_unit_test(held_without_work_at_the_end_of_the_warmup),
		cmocka_unit_test(runs_repeat_and_logs_replay),
		cmocka_unit_test(another_seed_is_another_run),
		cmocka_unit_test(a_changed_log_is_noticed),
		cmocka_unit_test(a_log_begins_with_its_version),
		cmocka_unit_test(a_log_no_core_wrote_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
