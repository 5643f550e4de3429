// SPDX-License-Identifier: MIT
/*
 * Measures two streams of an unmodified HIP program, with HIP's priorities, at each level of
 * preemption: the time of a job of eight kernels on each. Without gpreempt both are equally slow.
 * Times are wall time: on an emulated machine only the ratio is meaningful.
 */
#include "benches.h"
#include "stage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef GP_EMU_KERNELS

#define CUS "1"
#define PROGRAM GP_BUILD_DIR "/tests/rocm/hip_levels"
#define GPREEMPT GP_BUILD_DIR "/src/cli/gpreempt"
#define JOBS 24
#define QUICK_JOBS 3

/* No guarantees: they count in host time, in which an emulated GPU is slow. */
#define PARAMETERS "hpf age_ms=0 max_hold_ms=0 min_share_pct=0"

static const struct {
	const char *name, *joined;
} levels[] = {
	{ "none", "" },
	/* A window for a whole job, because tuning uses host time. */
	{ "Lv1", GPREEMPT " run -p 20 --split-streams --level 1 --window 8 -- " },
	{ "Lv2", GPREEMPT " run -p 20 --split-streams --level 2 -- " },
	{ "Lv3", GPREEMPT " run -p 20 --split-streams --level 3 -- " },
};
#define NR_LEVELS (sizeof(levels) / sizeof(levels[0]))

static json_t *run_program(struct gp__bench_run *run, const char *joined)
{
	char command[4096];
	json_t *said;
	FILE *in;

	snprintf(command, sizeof(command), "exec %s" PROGRAM " %d 2>/dev/null", joined,
		 gp__bench_quick(run) ? QUICK_JOBS : JOBS);
	in = popen(command, "re");
	if (!in)
		return NULL;
	said = json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL);
	if (!pclose(in))
		return said;
	json_decref(said);
	return NULL;
}

static int measure_level(struct gp__bench_run *run, size_t level, double *ratio)
{
	json_t *row = json_object(), *said = run_program(run, levels[level].joined);
	double high = json_number_value(json_object_get(said, "high_ms"));
	double low = json_number_value(json_object_get(said, "low_ms"));

	if (high <= 0 || low <= 0) {
		json_decref(row);
		json_decref(said);
		return gp__bench_fail(run, -EIO, "%s%s failed; try it by hand",
				      levels[level].joined, PROGRAM);
	}
	*ratio = low / high;
	json_object_set_new(row, "level", json_string(levels[level].name));
	json_object_set_new(row, "high_ms", json_real(high));
	json_object_set_new(row, "low_ms", json_real(low));
	json_object_set_new(row, "low_over_high", json_real(*ratio));
	json_object_set(row, "high_jobs", json_object_get(said, "high_jobs"));
	json_object_set(row, "low_jobs", json_object_get(said, "low_jobs"));
	json_decref(said);
	gp__bench_row(run, row);
	return 0;
}

static int measure(struct gp__bench_run *run, const struct stage_daemon *daemon)
{
	double ratio = 0;
	int err = 0;

	(void)daemon;
	if (system(GPREEMPT " policy " PARAMETERS " >/dev/null"))
		return gp__bench_fail(run, -EIO, "gpreemptd does not take its parameters");
	for (size_t i = 0; i < NR_LEVELS && !err; i++)
		err = measure_level(run, i, &ratio);
	if (!err)
		gp__bench_summary(run, "low_over_high_lv3", json_real(ratio),
				  "at level 3 a job of the patient stream takes %.2f times as long "
				  "as one of the urgent",
				  ratio);
	return err;
}

int bench_streams(struct gp__bench_run *run)
{
	const struct stage_scene scene = {
		.program = PROGRAM,
		.remedy = "it needs hipcc, and then 'meson setup --reconfigure'",
		.cus = CUS,
		.device = "emulated gfx90a, " CUS " compute unit",
		.measure = measure,
	};

	return stage_measure(run, &scene);
}

#else

int bench_streams(struct gp__bench_run *run)
{
	return gp__bench_fail(run, -ENOSYS, BENCH_NO_KERNELS);
}

#endif
