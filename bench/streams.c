// SPDX-License-Identifier: MIT
/*
 * Measures two streams of an unmodified HIP program, with HIP's priorities, at each level of
 * preemption: the time of a job of eight kernels on each, by the host's clock and by the GPU's.
 * Without gpreempt both are equally slow. On an emulated machine only ratios are meaningful; that
 * of device times does not depend on how busy the host is.
 */
#include "benches.h"
#include "stage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef GP_EMU_KERNELS

#define CUS "1"
#define PROGRAM GP_BUILD_DIR "/tests/rocm/hip_levels"
#define GPREEMPT GP_BUILD_DIR "/src/cli/gpreempt"
#define JOBS 14
#define QUICK_JOBS 6
#define RATIO "device_low_over_high"

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

/* @errors: the file of its standard error. */
static json_t *run_program(struct gp__bench_run *run, const char *joined, const char *errors)
{
	char command[4096];
	json_t *said;
	FILE *in;

	snprintf(command, sizeof(command), "exec %s" PROGRAM " %d 2>%s", joined,
		 gp__bench_quick(run) ? QUICK_JOBS : JOBS, errors);
	in = popen(command, "re");
	if (!in)
		return NULL;
	said = json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL);
	if (!pclose(in))
		return said;
	json_decref(said);
	return NULL;
}

/* Copies the two times of a clock and adds their ratio. False: one is missing. */
static bool add_times(json_t *row, const json_t *said, const char *high_key, const char *low_key,
		      const char *ratio_key)
{
	double high = json_number_value(json_object_get(said, high_key));
	double low = json_number_value(json_object_get(said, low_key));

	if (high <= 0 || low <= 0)
		return false;
	json_object_set_new(row, high_key, json_real(high));
	json_object_set_new(row, low_key, json_real(low));
	json_object_set_new(row, ratio_key, json_real(low / high));
	return true;
}

/* The last line that it wrote. */
static const char *last_line(const char *path, char *text, size_t size)
{
	FILE *in = fopen(path, "re");
	char line[128];

	snprintf(text, size, "it said nothing");
	while (in && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		snprintf(text, size, "%s", line);
	}
	if (in)
		fclose(in);
	unlink(path);
	return text;
}

static int measure_level(struct gp__bench_run *run, const struct stage_daemon *daemon, size_t level,
			 double *ratio)
{
	char errors[96], why[128];
	json_t *row = json_pack("{s:s}", "level", levels[level].name);
	json_t *said;
	bool ok;

	snprintf(errors, sizeof(errors), "%s/program.err", daemon->folder);
	said = run_program(run, levels[level].joined, errors);
	ok = add_times(row, said, "high_device_ms", "low_device_ms", RATIO) &&
	     add_times(row, said, "high_ms", "low_ms", "low_over_high");

	if (!ok) {
		json_decref(row);
		json_decref(said);
		return gp__bench_fail(run, -EIO, "hip_levels failed at level %s: %s",
				      levels[level].name, last_line(errors, why, sizeof(why)));
	}
	unlink(errors);
	*ratio = json_real_value(json_object_get(row, RATIO));
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

	if (system(GPREEMPT " policy " PARAMETERS " >/dev/null"))
		return gp__bench_fail(run, -EIO, "gpreemptd does not take its parameters");
	for (size_t i = 0; i < NR_LEVELS && !err; i++)
		err = measure_level(run, daemon, i, &ratio);
	if (!err)
		gp__bench_summary(run, RATIO "_lv3", json_real(ratio),
				  "at level 3 a job of the patient stream takes %.2f times as long "
				  "as one of the urgent (GPU time)",
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
