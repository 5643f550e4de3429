// SPDX-License-Identifier: MIT
#include "device/nvrm/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/emulated.h"
#include "device/nvrm/gpus.h"
#include "device/nvrm/layout.h"

#define TRY "gpreempt-nvidia-try"
#define PATIENCE_NS 30000000000ull
#define OUTPUT_MAX 4096

enum { CONTEXT, HOLD, DRAIN, SLICE, WORK, NR_TRIES };

static const struct {
	const char *word; /* of gpreempt-nvidia-try, and in JSON */
	int level;
	const char *call;
} tries[NR_TRIES] = {
	[CONTEXT] = { .word = "context" },
	[HOLD] = { "hold", 3, "FIFO_DISABLE_CHANNELS" },
	[DRAIN] = { "drain", 2, "the same, only scheduling" },
	[SLICE] = { "slice", 0, "SET_TIMESLICE, 1 us" },
	[WORK] = { .word = "work" },
};

struct result {
	bool works;
	double hold_us, release_us;
	char reason[GP__REPORT_REASON_MAX];
};

struct findings {
	struct gp__nvrm_gpu gpu;
	struct gp__nvrm_driver driver;
	struct result of[NR_TRIES];
};

int gp__nvrm_machine_count(void)
{
	struct gp__nvrm_gpu gpus[GP__NVRM_GPUS_MAX];

	/* An emulated machine has only its own GPUs. */
	return gp__is_emulated() ? -ENODEV : gp__nvrm_gpus(GP__NVRM_PROC, gpus, GP__NVRM_GPUS_MAX);
}

/*
 * gpreempt-nvidia-try
 */

static void set_reason(struct result *r, const char *why)
{
	snprintf(r->reason, sizeof(r->reason), "%s", why);
}

/* Reads a line "WHAT yes|no HOLD_US RELEASE_US SENTENCE"; other lines are ignored. */
static void take_line(struct findings *f, const char *line)
{
	char what[16], answer[8];
	struct result r = { 0 };
	int end = 0;

	if (sscanf(line, "%15s %7s %lf %lf %n", what, answer, &r.hold_us, &r.release_us, &end) !=
		    4 ||
	    !end)
		return;
	r.works = !strcmp(answer, "yes");
	set_reason(&r, line + end);
	for (int i = 0; i < NR_TRIES; i++) {
		if (!strcmp(tries[i].word, what))
			f->of[i] = r;
	}
}

static pid_t start_try(const struct findings *f, const struct gp__files *files, int *out)
{
	char path[PATH_MAX], node[32];
	int pipes[2];
	pid_t pid;

	snprintf(node, sizeof(node), "/dev/nvidia%d", f->gpu.minor);
	if (!files->find("../device/nvrm/" TRY, TRY, path) || pipe2(pipes, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(pipes[1], STDOUT_FILENO);
		/* It intercepts ioctl() itself and must not be scheduled. */
		unsetenv("LD_PRELOAD");
		execl(path, TRY, f->gpu.uuid, node, (char *)NULL);
		_exit(EXIT_FAILURE);
	}
	close(pipes[1]);
	*out = pipes[0];
	return pid;
}

/* Reads until it ends or its time is over. */
static void read_all(int fd, char text[OUTPUT_MAX])
{
	uint64_t end = gp__clock_ns() + PATIENCE_NS, now;
	size_t n = 0;

	while ((now = gp__clock_ns()) < end && n < OUTPUT_MAX - 1) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t got;

		if (poll(&p, 1, (int)((end - now) / 1000000) + 1) <= 0)
			break;
		got = read(fd, text + n, OUTPUT_MAX - 1 - n);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	text[n] = '\0';
}

static void run_try(struct findings *f, const struct gp__files *files)
{
	char text[OUTPUT_MAX], *rest = text, *line;
	int out = -1;
	pid_t pid = start_try(f, files, &out);

	if (pid < 0) {
		set_reason(&f->of[CONTEXT],
			   TRY " was not found: install gpreempt, or build all of it");
		return;
	}
	set_reason(&f->of[CONTEXT], "gpreempt-nvidia-try hung or crashed before it had a context");
	for (int i = HOLD; i < NR_TRIES; i++)
		set_reason(&f->of[i], "gpreempt-nvidia-try hung before it came to this");
	read_all(out, text);
	close(out);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while ((line = strsep(&rest, "\n")))
		take_line(f, line);
}

/*
 * gpreempt probe
 */

static void report_abilities(struct gp__probe_report *r, const struct findings *f)
{
	for (int i = HOLD; i <= SLICE; i++) {
		struct gp__ability ability = {
			.level = tries[i].level,
			.way = tries[i].word,
			.call = tries[i].call,
			.works = f->of[i].works,
			.has_hold = f->of[i].works,
			.has_release = f->of[i].works && i != SLICE,
			.hold_us = f->of[i].hold_us,
			.release_us = f->of[i].release_us,
		};

		snprintf(ability.reason, sizeof(ability.reason), "%s", f->of[i].reason);
		gp__report_ability(r, &ability);
	}
}

static void report_work(struct gp__probe_report *r, const struct result *work)
{
	const char *seen = !work->works ? "presence" : *work->reason ? "begin" : "begin and end";

	gp__report_text(r, "work_seen", seen);
	gp__report_line(r, "work", "seen: %s", seen);
	if (*work->reason)
		gp__report_line(r, "", "%s", work->reason);
}

static void report_gpu(struct gp__probe_report *r, const struct findings *f)
{
	const char *firmware = *f->gpu.firmware ? f->gpu.firmware : NULL;
	char why[128];
	bool known = gp__nvrm_driver_known(&f->driver, why, sizeof(why));

	snprintf(r->title, sizeof(r->title), "%s, %s", f->gpu.name, f->gpu.uuid);
	gp__report_line(r, "driver", "%s%s", f->driver.version,
			f->driver.open ? ", open kernel module" : "");
	if (!known)
		gp__report_line(r, "", "%s: programs run unscheduled without --any-driver", why);
	gp__report_line(r, "gsp", "%s",
			firmware ? firmware : "not used: gpreempt was tested only with it");
	gp__report_text(r, "vendor", "nvidia");
	gp__report_text(r, "name", f->gpu.name);
	gp__report_text(r, "uuid", f->gpu.uuid);
	gp__report_text(r, "driver", f->driver.version);
	gp__report_bool(r, "open_module", f->driver.open);
	gp__report_bool(r, "driver_known", known);
	gp__report_text(r, "gsp_firmware", firmware);
	r->nr_facts_first = r->nr_facts;
}

void gp__nvrm_machine_probe(int nth, const struct gp__files *files, struct gp__probe_report *report)
{
	struct gp__nvrm_gpu gpus[GP__NVRM_GPUS_MAX];
	struct findings f = { 0 };
	char folder[128];
	int nr = gp__nvrm_gpus(GP__NVRM_PROC, gpus, GP__NVRM_GPUS_MAX);

	gp__nvrm_driver(GP__NVRM_PROC, &f.driver);
	if (nth < nr)
		f.gpu = gpus[nth];
	if (gp__nvrm_has_mps(folder, sizeof(folder)))
		snprintf(f.of[CONTEXT].reason, sizeof(f.of[CONTEXT].reason),
			 "NVIDIA's multi-process service is running in %s; end it with 'echo quit "
			 "| nvidia-cuda-mps-control'",
			 folder);
	else
		run_try(&f, files);
	report_gpu(report, &f);
	if (!f.of[CONTEXT].works) {
		gp__report_text(report, "work_seen", NULL);
		snprintf(report->error, sizeof(report->error), "%s", f.of[CONTEXT].reason);
		return;
	}
	report_work(report, &f.of[WORK]);
	report_abilities(report, &f);
	snprintf(report->conditions, sizeof(report->conditions),
		 "with a kernel of one thread running");
}

/*
 * gpreempt doctor
 */

static void check_gpu(struct gp__checks *c, const struct gp__nvrm_gpu *gpu)
{
	char name[16];

	snprintf(name, sizeof(name), "gpu%d", c->nr_gpus++);
	if (*gpu->firmware)
		gp__check(c, name, GP__CHECK_OK, NULL,
			  "%s: channel groups are held off the GPU and weighed; 'gpreempt probe' "
			  "measures it",
			  gpu->name);
	else
		gp__check(c, name, GP__CHECK_WARN, "'gpreempt probe' tries it.",
			  "%s: the driver does not use the GPU's system processor (GSP); gpreempt "
			  "was tested only with it",
			  gpu->name);
}

void gp__nvrm_machine_doctor(struct gp__checks *checks)
{
	struct gp__nvrm_gpu gpus[GP__NVRM_GPUS_MAX];
	struct gp__nvrm_driver driver;
	char folder[128], why[128];
	int nr;

	if (gp__nvrm_driver(GP__NVRM_PROC, &driver)) {
		gp__check(checks, "nvidia", GP__CHECK_OK, NULL,
			  "no driver of NVIDIA's is loaded, so programs use none of its GPUs");
		return;
	}
	if (access("/dev/nvidiactl", R_OK | W_OK)) {
		gp__check(checks, "nvidia", GP__CHECK_BAD, "'nvidia-modprobe' creates it.",
			  "NVIDIA's driver %s is loaded, but /dev/nvidiactl cannot be opened: %s",
			  driver.version, strerror(errno));
		return;
	}
	nr = gp__nvrm_gpus(GP__NVRM_PROC, gpus, GP__NVRM_GPUS_MAX);
	gp__check(checks, "nvidia", nr > 0 ? GP__CHECK_OK : GP__CHECK_WARN,
		  nr > 0 ? NULL : "'dmesg' may say why it took none.",
		  "NVIDIA's driver %s%s, %d GPU%s", driver.version,
		  driver.open ? ", open kernel module" : "", nr > 0 ? nr : 0, nr == 1 ? "" : "s");
	if (!gp__nvrm_driver_known(&driver, why, sizeof(why)))
		gp__check(checks, "nvidia", GP__CHECK_WARN,
			  "'gpreempt probe' tries what it can do; 'gpreempt run --any-driver' uses "
			  "it "
			  "all the same.",
			  "%s: programs on NVIDIA GPUs run unscheduled", why);
	for (int i = 0; i < nr; i++)
		check_gpu(checks, &gpus[i]);
	if (gp__nvrm_has_mps(folder, sizeof(folder)))
		gp__check(checks, "mps", GP__CHECK_WARN,
			  "End it with 'echo quit | nvidia-cuda-mps-control'.",
			  "NVIDIA's multi-process service is running in %s and runs the work of "
			  "all programs as one: programs on NVIDIA GPUs have no priorities",
			  folder);
}
