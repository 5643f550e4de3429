// SPDX-License-Identifier: MIT
/*
 * Runs the stages, one after the other: other commands of this program, and the test cases of stage
 * 1. Each is a process of its own, so that a hang or a crash costs its own figures only. A stage
 * that takes far longer than it should is ended.
 */
#include "cli/certify.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/emulated.h"
#include "base/progress.h"
#include "bench/benches.h"
#include "cli/certify_find.h"
#include "cli/process.h"
#include "emu/kfd/tree.h"

#define ARGS_MAX 16
#define LOOK_MS 200
#define END_MS 5000
/* A stage is ended after so many times what it should take, and two minutes: hosts differ, and the
 * test cases wait for 100 s. */
#define PATIENCE 4
#define PATIENCE_S 120
#define MINUTE_S 60
/* The results of the frequent case are computed again after it. */
/* The length of a trainer's step on a real GPU, in milliseconds. */
#define STEP_MS "100"
#define PROGRAMS GP_BUILD_DIR "/src/demo"
#define CASES GP_SOURCE_DIR "/tests/poc/cases.py"
#define LIBRARY GP_BUILD_DIR "/src/poc/libgpreempt_poc.so"

struct runner {
	struct certify *c;
	struct gp__env *env;
	char self[4096], folder[64];
	char no_others[512]; /* why queues of other programs cannot be held; "": they can */
};

struct stage {
	const char *name, *title;
	unsigned int seconds, quick_seconds; /* that it should take; 0: left out */
	bool programs; /* it needs those of the demo */
	bool others; /* it holds queues of other programs, as libgpreempt_poc does */
	bool kernels; /* it needs kernels that were built */
	void (*run)(struct runner *r, const struct stage *stage, struct certify_outcome *o);
};

static void run_probe(struct runner *r, const struct stage *stage, struct certify_outcome *o);
static void run_bench(struct runner *r, const struct stage *stage, struct certify_outcome *o);
static void run_beside(struct runner *r, const struct stage *stage, struct certify_outcome *o);
static void run_cases(struct runner *r, const struct stage *stage, struct certify_outcome *o);
static void run_frequent(struct runner *r, const struct stage *stage, struct certify_outcome *o);

static const struct stage stages[CERTIFY_STAGES] = {
	[CERTIFY_PROBE] = { "probe", "each way on a scratch queue", 5, 5, .run = run_probe },
	[CERTIFY_PREEMPT] = { "preempt", "holds and releases by each way", 50, 5, .kernels = true,
			      .run = run_bench },
	[CERTIFY_LEVELS] = { "levels", "two streams at each level", 50, 5, .kernels = true,
			     .run = run_bench },
	[CERTIFY_STAGE1] = { "seed004", "a server beside a trainer, by libgpreempt_poc", 40, 8,
			     .programs = true, .others = true, .kernels = true, .run = run_bench },
	[CERTIFY_CASES] = { "cases", "the test cases of stage 1", 100, 10, .programs = true,
			    .others = true, .run = run_cases },
	[CERTIFY_BESIDE] = { "demo", "inference beside training, at each level", 180, 0,
			     .programs = true, .run = run_beside },
	[CERTIFY_MONITOR] = { "monitor", "polling for work", 50, 5, .run = run_bench },
	[CERTIFY_FREQUENT] = { "frequent", "frequent preemption", 1, 1, .programs = true,
			       .others = true, .run = run_frequent },
	[CERTIFY_LOG] = { "log", "the kernel's log", 1, 1, .run = NULL },
};

const char *certify_stage_name(enum certify_stage stage)
{
	return stages[stage].name;
}

int certify_stage_find(const char *name)
{
	for (int i = 0; i < CERTIFY_STAGES; i++) {
		if (!strcmp(stages[i].name, name))
			return i;
	}
	return -1;
}

/*
 * A process
 */

struct job {
	const char *name, *label; /* of its messages, and of its progress */
	unsigned int seconds;
	const char *argv[ARGS_MAX];
};

/* Reads what is there. False: it has ended. */
static bool read_some(const struct process *p, FILE *text)
{
	char bytes[65536];
	ssize_t n = read(p->out, bytes, sizeof(bytes));

	if (n > 0)
		fwrite(bytes, 1, (size_t)n, text);
	return n > 0 || (n < 0 && errno == EINTR);
}

/* Reads its output until it ends; else says why it was ended. */
static bool read_all(struct process *p, const struct job *job, struct gp__progress *progress,
		     FILE *text, struct certify_outcome *o)
{
	uint64_t begin = gp__clock_ns();
	uint64_t limit_s = (uint64_t)job->seconds * PATIENCE + PATIENCE_S;

	for (;;) {
		struct pollfd fd = { .fd = p->out, .events = POLLIN };
		uint64_t ms = (gp__clock_ns() - begin) / GP__MS;

		if (poll(&fd, 1, LOOK_MS) > 0 && !read_some(p, text))
			return true;
		gp__progress_update(progress, ms);
		if (process_signal()) {
			snprintf(o->why, sizeof(o->why), "certify was interrupted");
			return false;
		}
		if (ms > limit_s * 1000) {
			o->failed = true;
			snprintf(o->why, sizeof(o->why), "%s did not end within %u s", job->name,
				 (unsigned int)limit_s);
			return false;
		}
	}
}

/* The sentence of a failure: of its document, or the end of what it printed for people. */
static void take_failure(const struct process *p, const json_t *document, const char *name,
			 int status, char *why, size_t size)
{
	const char *message = json_string_value(certify_member(document, "error.message"));
	char text[2048], *line;

	process_errors(p, text, sizeof(text));
	line = strstr(text, "FAILED: ");
	if (line) {
		line[strcspn(line, "\n")] = '\0';
		snprintf(why, size, "%.400s", line + strlen("FAILED: "));
		return;
	}
	if (message) {
		snprintf(why, size, "%s", message);
		return;
	}
	line = strrchr(text, '\n');
	snprintf(why, size, "%s ended with status %d%s%.400s", name, status, *text ? ": " : "",
		 line ? line + 1 : text);
}

/* The document of a process that ended with this status; a failure's has none but the error. */
static json_t *take_document(const struct process *p, const struct job *job, const char *text,
			     int status, struct certify_outcome *o)
{
	json_t *document = json_loads(text ? text : "", JSON_DISABLE_EOF_CHECK, NULL);

	/* The demo's status is about its own claim; its figures are judged here. */
	if (document && (!status || json_object_get(document, "modes")))
		return document;
	o->failed = true;
	take_failure(p, document, job->name, status, o->why, sizeof(o->why));
	json_decref(document);
	return NULL;
}

static json_t *run_job(struct runner *r, const struct job *job, struct certify_outcome *o)
{
	struct process p = { .name = job->name, .out = -1 };
	struct gp__progress progress;
	json_t *document = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *in = open_memstream(&text, &size);
	bool whole;

	if (!in || process_start(r->env, r->folder, &p, job->argv, true)) {
		o->failed = true;
		snprintf(o->why, sizeof(o->why), "%s could not be started", job->name);
		if (in)
			fclose(in);
		free(text);
		return NULL;
	}
	gp__progress_start(&progress, r->env->err, job->label, NULL, job->seconds * 1000ull);
	whole = read_all(&p, job, &progress, in, o);
	gp__progress_end(&progress);
	fclose(in);
	if (whole)
		document = take_document(&p, job, text, process_reap(&p), o);
	else if (!process_stop(&p, END_MS))
		snprintf(o->why, sizeof(o->why),
			 "%s cannot be ended: it waits in the driver; see the kernel's log",
			 job->name);
	free(text);
	return document;
}

/*
 * The stages
 */

static unsigned int seconds_of(const struct runner *r, const struct stage *stage)
{
	if (stage == &stages[CERTIFY_FREQUENT])
		return (unsigned int)(r->c->options.minutes * MINUTE_S);
	return r->c->options.quick ? stage->quick_seconds : stage->seconds;
}

static void run_probe(struct runner *r, const struct stage *stage, struct certify_outcome *o)
{
	struct job job = { stage->name,
			   stage->title,
			   seconds_of(r, stage),
			   { r->self, "probe", "--json", NULL } };

	o->document = run_job(r, &job, o);
}

static void run_bench(struct runner *r, const struct stage *stage, struct certify_outcome *o)
{
	bool has_device = stage->kernels;
	struct job job = { stage->name,
			   stage->title,
			   seconds_of(r, stage),
			   { r->self, "bench", stage->name, "--json" } };
	int n = 4;

	if (has_device) {
		job.argv[n++] = "--device";
		job.argv[n++] = r->c->emulated ? "emu" : "amd";
	}
	if (r->c->options.quick)
		job.argv[n++] = "--quick";
	o->document = run_job(r, &job, o);
}

static void run_beside(struct runner *r, const struct stage *stage, struct certify_outcome *o)
{
	struct job job = { stage->name,
			   stage->title,
			   seconds_of(r, stage),
			   { r->self, "demo", "--device", "amd", "--json", NULL } };
	const json_t *modes;
	double native, lv3;

	o->document = run_job(r, &job, o);
	modes = certify_member(o->document, "modes");
	native = json_number_value(
		certify_member(certify_find_row(modes, "name=native"), "online.p99_ms"));
	lv3 = json_number_value(
		certify_member(certify_find_row(modes, "name=lv3"), "online.p99_ms"));
	if (native > 0 && lv3 > 0)
		json_object_set_new(o->document, "native_over_lv3", json_real(native / lv3));
}

static json_t *run_case(struct runner *r, const char *name, const char *label, unsigned int seconds,
			bool timed, struct certify_outcome *o)
{
	char number[32];
	struct job job = { name, label, seconds, { "python3", CASES, name, "--json" } };
	int n = 4;

	snprintf(number, sizeof(number), "%u", seconds);
	if (timed) {
		job.argv[n++] = "--seconds";
		job.argv[n++] = number;
		job.seconds += seconds;
	}
	/* Work that is long on an emulated GPU is over there before it is preempted. */
	if (!r->c->emulated) {
		job.argv[n++] = "--fill";
		job.argv[n++] = STEP_MS;
	}
	return run_job(r, &job, o);
}

/* A row for each case, with its figures. */
static json_t *case_row(const char *name, json_t *document, const struct certify_outcome *o)
{
	json_t *row = document ? document : json_pack("{s:s}", "case", name);

	if (document || o->failed)
		json_object_set_new(row, "passed", json_boolean(document));
	if (!document)
		json_object_set_new(row, "why", json_string(o->why));
	return row;
}

static void run_cases(struct runner *r, const struct stage *stage, struct certify_outcome *o)
{
	static const char *const names[] = { "identification",	 "basic",
					     "no_offline_queue", "both_at_once",
					     "many_at_once",	 "queue_destroyed",
					     "program_killed",	 "scheduler_killed",
					     "nobody_ends",	 "seed_program" };
	size_t all = sizeof(names) / sizeof(names[0]), n = r->c->options.quick ? 2 : all;
	json_t *list = json_array();

	for (size_t i = 0; i < all; i++) {
		struct certify_outcome of = { .why = "left out by --quick" };
		char label[64];
		json_t *document = NULL;

		snprintf(label, sizeof(label), "case %zu of %zu, %s", i + 1, n, names[i]);
		if (i < n && process_signal())
			snprintf(of.why, sizeof(of.why), "certify was interrupted");
		else if (i < n)
			document = run_case(r, names[i], label,
					    seconds_of(r, stage) / (unsigned int)n, false, &of);
		json_array_append_new(list, case_row(names[i], document, &of));
	}
	o->document = json_pack("{s:o}", "cases", list);
}

static void run_frequent(struct runner *r, const struct stage *stage, struct certify_outcome *o)
{
	struct certify_outcome of = { 0 };
	json_t *document = run_case(r, "frequent", stage->title, seconds_of(r, stage), true, &of);

	/* Interrupted, it is no failure, and there is nothing to say. */
	if (document || of.failed)
		o->document = case_row("frequent", document, &of);
	snprintf(o->why, sizeof(o->why), "%s", of.why);
}

/*
 * The GPU and what it can do
 */

/* Why a stage cannot run here; NULL: it can. */
static const char *why_not(const struct runner *r, enum certify_stage stage)
{
	const struct stage *s = &stages[stage];
	unsigned int only = r->c->options.only;

	if (process_signal())
		return "certify was interrupted";
	if (stage != CERTIFY_PROBE && only && !(only & 1u << stage))
		return "left out by --only";
	if (!seconds_of(r, s))
		return "left out by --quick";
	if (s->kernels && !bench_has_kernels())
		return BENCH_NO_KERNELS;
	if (s->others && *r->no_others)
		return r->no_others;
	if (s->programs && access(PROGRAMS "/offline_trainer", X_OK))
		return "its programs are not in the build folder: they need libhsa-runtime-dev, "
		       "and "
		       "then 'meson setup --reconfigure' and 'make'";
	if (s->programs && s->run != run_beside && access(CASES, R_OK))
		return "its test cases are in gpreempt's sources, which are not here";
	return NULL;
}

static void run_stage(struct runner *r, enum certify_stage stage)
{
	struct certify_outcome *o = &r->c->outcome[stage];
	const struct stage *s = &stages[stage];
	const char *why = why_not(r, stage);
	uint64_t begin = gp__clock_ns();

	if (why) {
		snprintf(o->why, sizeof(o->why), "%s", why);
		return;
	}
	fprintf(r->env->err, "%s: %s, about %u s\n", s->name, s->title, seconds_of(r, s));
	s->run(r, s, o);
	o->seconds = gp__to_s(gp__clock_ns() - begin);
	if (o->document)
		fprintf(r->env->err, "%s: done in %.0f s\n", s->name, o->seconds);
	else
		fprintf(r->env->err, "%s: %s\n", s->name, o->why);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "?";
}

/* The figures that are computed of probe's. */
static void add_figures(json_t *gpu)
{
	double bytes = json_number_value(json_object_get(gpu, "save_bytes_per_queue"));
	double cus = json_number_value(json_object_get(gpu, "compute_units"));

	if (bytes > 0 && cus > 0)
		json_object_set_new(gpu, "save_mb_per_cu", json_real(bytes / cus / 1e6));
	json_object_set_new(gpu, "holds",
			    json_boolean(json_is_string(json_object_get(gpu, "best_way"))));
}

static void describe(struct certify *c, const json_t *document, const json_t *gpu)
{
	const char *kernel = json_string_value(json_object_get(document, "kernel"));
	int cus = (int)json_integer_value(json_object_get(gpu, "compute_units"));

	if (c->nvidia)
		snprintf(c->gpu, sizeof(c->gpu), "%s", text_of(gpu, "name"));
	else
		snprintf(c->gpu, sizeof(c->gpu), "%s%s (%s), %d compute units",
			 c->emulated ? "emulated " : "", text_of(gpu, "name"), text_of(gpu, "gfx"),
			 cus);
	snprintf(c->driver, sizeof(c->driver), "%s %s%s%s", c->nvidia ? "NVIDIA" : "amdkfd",
		 text_of(gpu, c->nvidia ? "driver" : "kfd_version"), kernel ? " of Linux " : "",
		 kernel ? kernel : "");
}

/* False: nothing can be measured. */
static bool take_probe(struct certify *c)
{
	const json_t *document = c->outcome[CERTIFY_PROBE].document;
	json_t *gpu = certify_member(document, "gpus.0");

	if (!gpu || json_is_string(json_object_get(gpu, "error")))
		return false;
	c->emulated = c->emulated || json_is_true(json_object_get(document, "emulated"));
	c->nvidia = json_is_string(json_object_get(gpu, "vendor"));
	if (!c->nvidia)
		add_figures(gpu);
	describe(c, document, gpu);
	return true;
}

static const json_t *find_ability(const struct certify *c, const char *where)
{
	return certify_find_row(
		certify_member(c->outcome[CERTIFY_PROBE].document, "gpus.0.abilities"), where);
}

/* The debugger's calls and the series' hold queues of other programs. */
static void take_others(struct runner *r)
{
	const json_t *trap = find_ability(r->c, "way=dbgtrap,verb=save");
	const json_t *series = find_ability(r->c, "way=preempt,verb=save");

	if (!json_is_true(json_object_get(trap, "works")) &&
	    !json_is_true(json_object_get(series, "works")))
		snprintf(r->no_others, sizeof(r->no_others),
			 "this driver does not let libgpreempt_poc hold other programs' queues: %s",
			 text_of(trap, "reason"));
}

/*
 * The whole
 */

static int prepare(struct runner *r)
{
	const char *base = getenv("XDG_RUNTIME_DIR");
	ssize_t n = readlink("/proc/self/exe", r->self, sizeof(r->self) - 1);

	if (n < 0)
		return gp__env_fail(r->env, GP__EXIT_FAILURE, NULL, "/proc/self/exe: %s",
				    strerror(errno));
	if (!base || *base != '/' || strlen(base) > 32 || access(base, W_OK))
		base = "/tmp";
	snprintf(r->folder, sizeof(r->folder), "%s/gpreempt-certify-XXXXXX", base);
	if (!mkdtemp(r->folder))
		return gp__env_fail(r->env, GP__EXIT_FAILURE, NULL, "%s: %s", r->folder,
				    strerror(errno));
	/* For the test cases, which are Python. */
	setenv("GPREEMPT_POC_LIB", LIBRARY, 1);
	setenv("WORKLOADS", PROGRAMS, 1);
	setenv("PYTHONPATH", GP_SOURCE_DIR "/python:" GP_SOURCE_DIR "/tests/poc", 1);
	setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
	return 0;
}

static int no_gpu(struct runner *r)
{
	const struct certify_outcome *o = &r->c->outcome[CERTIFY_PROBE];
	const char *why = json_string_value(certify_member(o->document, "gpus.0.error"));

	return gp__env_fail(r->env, GP__EXIT_FAILURE,
			    "'gpreempt doctor' says more; on an emulated machine: gpreempt certify "
			    "--device emu",
			    "nothing can be measured: %s", why ? why : o->why);
}

static void read_log(struct certify *c, int fd, const char *why)
{
	struct certify_outcome *o = &c->outcome[CERTIFY_LOG];

	snprintf(o->why, sizeof(o->why), "%s", why);
	if (fd < 0)
		return;
	o->document = certify_log_read(fd);
	close(fd);
}

int certify_run(struct certify *c, struct gp__env *env)
{
	struct runner r = { .c = c, .env = env };
	int status = prepare(&r), fd;
	char why[256];

	if (status)
		return status;
	c->emulated = gp__is_emulated();
	c->root = !geteuid();
	run_stage(&r, CERTIFY_PROBE);
	if (!process_signal() && !take_probe(c))
		status = no_gpu(&r);
	take_others(&r);
	fd = c->emulated ? -1 : certify_log_open(why, sizeof(why));
	for (int i = CERTIFY_PROBE + 1; !status && i < CERTIFY_LOG && !c->nvidia; i++)
		run_stage(&r, (enum certify_stage)i);
	read_log(c, fd, c->emulated ? "an emulated machine has no kernel's log" : why);
	emu_tree_remove(r.folder, "");
	return status;
}

void certify_free(struct certify *c)
{
	for (int i = 0; i < CERTIFY_STAGES; i++)
		json_decref(c->outcome[i].document);
}
