// SPDX-License-Identifier: MIT
/*
 * Measures stage 1 end to end, with the library, its Python module and two programs of the ROCm
 * runtime: seed004.py measures, and this shows its results. Times are wall time. On an emulated
 * machine kernels take far longer than on a GPU and everything else does not, so only the ratios
 * between rows are meaningful.
 */
#include "benches.h"
#include "machine.h"

#include "base/emulated.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CUS "4"
#define LINE_MAX_BYTES 4096

#ifdef GP_SEED004

static int take_line(struct gp__bench_run *run, const char *line)
{
	json_t *row = json_loads(line, 0, NULL);
	const char *key = json_string_value(json_object_get(row, "key"));
	const char *sentence = json_string_value(json_object_get(row, "sentence"));

	if (!row)
		return gp__bench_fail(run, -EPROTO, "seed004.py says '%s'", line);
	if (!key || !sentence) {
		gp__bench_row(run, row);
		return 0;
	}
	gp__bench_summary(run, key, json_incref(json_object_get(row, "value")), "%s", sentence);
	json_decref(row);
	return 0;
}

static int measure(struct gp__bench_run *run)
{
	char command[8192], line[LINE_MAX_BYTES];
	int err = 0, status;
	FILE *in;

	snprintf(command, sizeof(command),
		 "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='%s/python:%s/tests/poc' "
		 "GPREEMPT_POC_LIB='%s' WORKLOADS='%s/src/demo' "
		 "exec python3 '%s/bench/seed004.py'%s%s",
		 GP_SOURCE_DIR, GP_SOURCE_DIR, GP_SEED004, GP_BUILD_DIR, GP_SOURCE_DIR,
		 gp__bench_quick(run) ? " --quick" : "", gp__is_emulated() ? "" : " --fill 20");
	in = popen(command, "re");
	if (!in)
		return gp__bench_fail(run, -errno, "seed004.py cannot be started");
	while (!err && fgets(line, sizeof(line), in))
		err = take_line(run, line);
	status = pclose(in);
	if (!err && status)
		err = gp__bench_fail(run, -EIO, "seed004.py failed; its reason is above");
	return err;
}

int bench_seed004(struct gp__bench_run *run)
{
	bool emulated = gp__bench_chose(run, "emu");

	if (access(GP_BUILD_DIR "/src/demo/offline_trainer", X_OK))
		return gp__bench_fail(
			run, -ENOENT,
			"its programs are not built: they need libhsa-runtime-dev, and "
			"then 'meson setup --reconfigure'");
	if (emulated && !bench_is_on_machine())
		return gp__bench_fail(run, bench_run_on_machine(CUS, "hws"),
				      "no machine can be started");
	gp__bench_device(run, emulated ? "emulated gfx90a, " CUS " compute units" : "amd");
	return measure(run);
}

#else

int bench_seed004(struct gp__bench_run *run)
{
	return gp__bench_fail(run, -ENOSYS, BENCH_NO_KERNELS);
}

#endif
