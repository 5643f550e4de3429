// SPDX-License-Identifier: MIT
/* No bytes may crash the scenario parser; what it accepts keeps the promises of scenario.h. */
#include "sim/scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
	if (!truth)
		abort();
}

static void check_dist(const struct gp__dist *dist)
{
	struct gp__rng rng;

	gp__rng_init(&rng, 1, "fuzz", GP__DRAW_KERNEL);
	require(gp__dist_sample(dist, &rng) <= GP__TIME_MAX_NS);
}

static void check_spec(const struct gp__scenario *sc, const struct gp__program_spec *spec)
{
	check_dist(&spec->kernel);
	check_dist(&spec->first);
	check_dist(&spec->gap);
	check_dist(&spec->arrivals.interval);
	check_dist(&spec->arrivals.think);
	require(spec->kernel.a_ns);
	require(!spec->first.a_ns || (spec->streams == 1 && !spec->gang));
	require(spec->concurrent == 1 || (spec->concurrent && spec->first.a_ns));
	require(spec->start_ns < spec->stop_ns && spec->stop_ns <= sc->duration_ns);
	require((spec->arrivals.kind == GP__ARRIVALS_TRACE) == (spec->arrivals.n_trace > 0));
	for (size_t i = 1; i < spec->arrivals.n_trace; i++)
		require(spec->arrivals.trace_ns[i - 1] <= spec->arrivals.trace_ns[i]);
	for (uint32_t i = 0; i < spec->n_gpus; i++)
		require(spec->gpus[i] < sc->n_gpus);
}

static void check_program(const struct gp__scenario *sc, const struct gp__scenario_program *program)
{
	require(program->name[0]);
	require(program->process < sc->n_processes);
	require(program->n_gpus && program->n_gpus <= program->spec->n_gpus);
	for (uint32_t i = 0; i < program->n_gpus; i++)
		require(program->gpus[i] < sc->n_gpus);
}

static void check_scenario(const struct gp__scenario *sc)
{
	require(sc->title && sc->duration_ns && sc->warmup_ns < sc->duration_ns);
	require(sc->n_gpus && sc->n_gpus <= GP__SCENARIO_MAX_GPUS);
	require(sc->n_programs && sc->n_programs <= GP__SCENARIO_MAX_PROGRAMS);
	for (size_t i = 0; i < sc->n_gpu_specs; i++) {
		check_dist(&sc->gpu_specs[i].cold);
		check_dist(&sc->gpu_specs[i].sees);
		check_dist(&sc->gpu_specs[i].settles);
	}
	for (size_t i = 0; i < sc->n_program_specs; i++)
		check_spec(sc, &sc->program_specs[i]);
	for (size_t i = 0; i < sc->n_programs; i++)
		check_program(sc, &sc->programs[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp__scenario_error err;
	struct gp__scenario *sc;
	int ret = gp__scenario_parse("fuzz.ini", (const char *)data, size, &sc, &err);

	if (!ret) {
		check_scenario(sc);
		gp__scenario_free(sc);
	} else {
		require(!strncmp(err.text, "fuzz.ini:", strlen("fuzz.ini:")));
	}
	return 0;
}
