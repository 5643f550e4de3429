// SPDX-License-Identifier: MIT
/*
 * Compares the levels of preemption: two streams of one program, one urgent and one not, each with
 * jobs of 8 kernels, over libgpreempt. Without a scheduler both are equally slow; with priorities
 * the speed of the urgent one depends on the level.
 *
 * Times are device time, and the urgent stream pauses until the other has done two kernels, so that
 * a slow host distorts neither. Wall time is shown, too. On an emulated machine the figures compare
 * levels; they are not those of a GPU.
 */
#include "benches.h"
#include "levels.h"
#include "levels_watch.h"
#include "machine.h"

#include "base/clock.h"

#include <errno.h>
#include <gpreempt/kfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef GP_EMU_KERNELS

#define CUS "1"
#define KERNELS 8
#define KERNEL_NS 3000000.0
#define HIGH_PAUSE_KERNELS 2
#define LOW_PAUSE_NS 3600000
#define TRIAL_ROUNDS 400000
#define TRIALS 3
#define LANES 64
#define LDS_BYTES 65536 /* of a whole compute unit: one workgroup at a time */
#define LOOK_NS 200000
#define WINDOW 8
#define BATCH 4
#define PREEMPT_KERNEL_NS 100000.0
#define PREEMPTIONS 120 /* a 99th percentile needs a hundred */
#define QUICK_PREEMPTIONS 8
#define TRIES 8 /* for each */
#define HIGH 0
#define LOW 1

/*
 * Guarantees count in host time, in which an emulated GPU is slow: short waits would count as
 * starving.
 */
#define PARAMETERS "age_ms=0 max_hold_ms=0 min_share_pct=0"

struct config {
	const char *name;
	bool scheduled;
	int level, level2;
	uint32_t window, batch;
};

static const struct config configs[] = {
	{ .name = "none", .level = 3 },
	/* A window for a whole job, because tuning uses host time. */
	{ .name = "Lv1", .scheduled = true, .level = 1, .window = WINDOW, .batch = BATCH },
	{ .name = "Lv2 drain", .scheduled = true, .level = 2, .level2 = GP_KFD_LEVEL2_DRAIN },
	{ .name = "Lv2 flush", .scheduled = true, .level = 2, .level2 = GP_KFD_LEVEL2_FLUSH },
	{ .name = "Lv3", .scheduled = true, .level = 3 },
};
#define NR_CONFIGS (sizeof(configs) / sizeof(configs[0]))

/* The arguments of the kernel "fill". */
struct args {
	uint64_t table, wrong;
	uint32_t id, rounds;
};

struct stream {
	struct rig *rig;
	void (*pause)(struct stream *s, uint64_t since);
	int priority;
	struct gp_kfd_queue *hwq;
	struct levels_watch watch;
	struct gp_queue *queue;
	struct args *args;
	struct gp_kfd_command command[KERNELS];
	struct levels_jobs jobs;
	_Atomic size_t done; /* jobs that count */
	_Atomic int error;
	pthread_t thread;
};

struct rig {
	struct gp__bench_run *run;
	struct gp_kfd *gpu;
	struct gp_kfd_code *code;
	uint64_t kernel;
	struct gp_kfd_info info;
	struct gp_error err;
	struct stream stream[2];
	_Atomic uint64_t end_ns; /* of the GPU's clock; 0: not yet */
};

/*
 * A stream
 */

static int set_up_commands(struct stream *s)
{
	struct rig *r = s->rig;
	size_t table = KERNELS * LANES * sizeof(uint32_t);
	void *memory;
	int rc = gp_kfd_alloc(r->gpu, table + LANES + sizeof(struct args) * KERNELS, &memory,
			      &r->err);

	if (rc)
		return rc;
	s->args = memory;
	for (uint32_t i = 0; i < KERNELS; i++) {
		struct gp_kfd_command *c = &s->command[i];

		s->args[i].table = (uint64_t)&s->args[KERNELS] + LANES;
		s->args[i].wrong = (uint64_t)&s->args[KERNELS];
		s->args[i].id = i;
		*c = (struct gp_kfd_command)GP_KFD_COMMAND_INIT;
		c->kernel = r->kernel;
		c->kernarg = &s->args[i];
		c->group[0] = LANES;
		c->grid[0] = LANES * r->info.compute_units;
		c->lds_bytes = LDS_BYTES;
	}
	return 0;
}

static uint64_t gpu_now(struct rig *r)
{
	uint64_t ns = 0;

	gp_kfd_clock(r->gpu, &ns);
	return ns;
}

static uint64_t completed(const struct stream *s)
{
	struct gp_queue_stats stats = GP_QUEUE_STATS_INIT;

	gp_queue_stats(s->queue, &stats);
	return stats.completed;
}

/*
 * Waits until low has done some kernels, not for a time: the clock of an idle emulated GPU is the
 * host's, and would run out before a busy host has started low again.
 */
static void pause_for_low(struct stream *s, uint64_t since)
{
	struct stream *low = &s->rig->stream[LOW];
	uint64_t until = completed(low) + HIGH_PAUSE_KERNELS;

	(void)since;
	while (!atomic_load(&s->rig->end_ns) && completed(low) < until)
		gp__sleep_ns(LOOK_NS);
}

/* Waits in host time at first: the GPU's clock is never faster than the host's. */
static void pause_a_while(struct stream *s, uint64_t since)
{
	uint64_t until = since + LOW_PAUSE_NS, now;

	while (!atomic_load(&s->rig->end_ns) && (now = gpu_now(s->rig)) < until)
		gp__sleep_ns(until - now > LOOK_NS ? until - now : LOOK_NS);
}

static int do_job(struct stream *s, struct levels_job *job)
{
	uint64_t ticket = 0, wall = gp__clock_ns();
	int rc = 0;

	job->begin_ns = gpu_now(s->rig);
	for (int i = 0; !rc && i < KERNELS; i++)
		rc = gp_queue_submit(s->queue, &s->command[i], &ticket);
	if (!rc)
		rc = gp_queue_wait(s->queue, ticket, -1);
	job->wall_ns = gp__clock_ns() - wall;
	job->end_ns = s->command[KERNELS - 1].end_ns;
	return rc;
}

static void count_job(struct stream *s)
{
	s->jobs.nr_all++;
	if (!atomic_load(&s->rig->end_ns))
		s->jobs.nr++;
	atomic_store(&s->done, s->jobs.nr);
}

static void *stream_main(void *arg)
{
	struct stream *s = arg;
	struct rig *r = s->rig;

	while (!atomic_load(&r->end_ns) && s->jobs.nr_all < LEVELS_JOBS_MAX) {
		struct levels_job *job = &s->jobs.job[s->jobs.nr_all];
		int rc = do_job(s, job);

		if (rc) {
			atomic_store(&s->error, rc);
			break;
		}
		count_job(s);
		s->pause(s, job->end_ns);
	}
	return NULL;
}

/*
 * A configuration
 */

static int make_queue(struct stream *s, const struct config *c, struct gp_sched *sched)
{
	struct gp_kfd_queue_options hw = GP_KFD_QUEUE_OPTIONS_INIT;
	struct gp_queue_options options = GP_QUEUE_OPTIONS_INIT;
	struct rig *r = s->rig;
	int rc;

	hw.flags = GP_KFD_QUEUE_IDEMPOTENT;
	hw.level2 = c->level2;
	options.level = c->level;
	options.flags = GP_QUEUE_STRICT_LEVEL;
	options.window = c->window;
	options.batch = c->batch;
	options.sched = sched;
	options.priority = s->priority;
	rc = gp_kfd_queue_create(r->gpu, &hw, &s->hwq, &r->err);
	if (rc)
		return rc;
	levels_watch(&s->watch, r->gpu, s->hwq);
	return gp_queue_create(&s->watch.ops, &s->watch, &options, &s->queue, &r->err);
}

static void end_queues(struct rig *r)
{
	for (int i = 0; i < 2; i++) {
		gp_queue_destroy(r->stream[i].queue);
		gp_kfd_queue_destroy(r->stream[i].hwq);
		r->stream[i].queue = NULL;
		r->stream[i].hwq = NULL;
	}
}

static int make_queues(struct rig *r, const struct config *c, struct gp_sched *sched)
{
	int rc = 0;

	for (int i = 0; !rc && i < 2; i++) {
		struct stream *s = &r->stream[i];

		memset(&s->jobs, 0, sizeof(s->jobs));
		atomic_store(&s->done, 0);
		rc = make_queue(s, c, sched);
	}
	if (rc)
		end_queues(r);
	return rc;
}

static bool is_enough(const struct rig *r, uint64_t deadline)
{
	bool quick = gp__bench_quick(r->run), late = gp__clock_ns() > deadline;
	size_t high = atomic_load(&r->stream[HIGH].done), low = atomic_load(&r->stream[LOW].done);
	size_t want_low = late ? 1 : quick ? 3 : 9;
	size_t want_high = late ? 1 : quick ? 7 : 18;

	if (atomic_load(&r->stream[HIGH].error) || atomic_load(&r->stream[LOW].error))
		return true;
	return high >= want_high && low >= want_low;
}

static int run_streams(struct rig *r, uint64_t patience_ns)
{
	int started = 0, rc = 0;
	uint64_t deadline = gp__clock_ns() + patience_ns;

	atomic_store(&r->end_ns, 0);
	for (; !rc && started < 2; started += !rc)
		rc = -pthread_create(&r->stream[started].thread, NULL, stream_main,
				     &r->stream[started]);
	while (!rc && !is_enough(r, deadline))
		gp__sleep_ns(5 * GP__MS);
	atomic_store(&r->end_ns, gpu_now(r));
	for (int i = 0; i < started; i++) {
		pthread_join(r->stream[i].thread, NULL);
		if (!rc)
			rc = atomic_load(&r->stream[i].error);
	}
	return rc;
}

static json_t *real_or_null(double value)
{
	return value > 0 ? json_real(value) : json_null();
}

/* The times to stop and start low, and their part of the run. */
static void set_switching(json_t *row, struct rig *r)
{
	struct levels_watch *w = &r->stream[LOW].watch;
	uint64_t ready = levels_ready_ns(&r->stream[HIGH].jobs, &r->stream[LOW].jobs,
					 atomic_load(&r->end_ns));

	json_object_set_new(row, "stop_us", real_or_null(levels_device_ns(w, LEVELS_STOP) / 1e3));
	json_object_set_new(row, "start_us", real_or_null(levels_device_ns(w, LEVELS_START) / 1e3));
	json_object_set_new(row, "switching_percent",
			    w->nr[LEVELS_STOP] && ready
				    ? json_real(100.0 * (double)w->total_ns / (double)ready)
				    : json_null());
}

/*
 * How long it takes until nothing of a queue runs
 */

struct preemptions {
	double ns[PREEMPTIONS]; /* host time */
	size_t n;
};

static void scale_kernels(struct stream *s, double factor)
{
	for (int k = 0; k < KERNELS; k++)
		s->args[k].rounds = (uint32_t)(s->args[k].rounds * factor);
}

/*
 * Suspends low while the second of its kernels runs, on an emulated GPU the first, and waits for
 * the others afterwards. @ns is -1 if all had ended before, because the host was busy; that is
 * known only afterwards, since level 1 looks for ended commands once a batch.
 */
static int preempt_once(struct stream *low, double *ns)
{
	struct gp_suspend_result result = GP_SUSPEND_RESULT_INIT;
	uint64_t ticket = 0, begin;
	struct gp_error *err = &low->rig->err;
	int rc = 0;

	for (int i = 0; !rc && i < KERNELS; i++)
		rc = gp_queue_submit(low->queue, &low->command[i], &ticket);
	gp__sleep_ns((uint64_t)(PREEMPT_KERNEL_NS * 1.5));
	begin = gpu_now(low->rig);
	if (!rc)
		rc = gp_queue_suspend(low->queue, GP_SUSPEND_DRAIN, -1, &result, err);
	*ns = (double)result.took_ns;
	if (!rc)
		rc = gp_queue_resume(low->queue, err);
	if (!rc)
		rc = gp_queue_wait(low->queue, ticket, -1);
	if (!rc && low->command[KERNELS - 1].end_ns <= begin)
		*ns = -1;
	return rc;
}

static int time_preemptions(struct rig *r, struct preemptions *p)
{
	size_t n = gp__bench_quick(r->run) ? QUICK_PREEMPTIONS : PREEMPTIONS;
	size_t tries = n * TRIES;
	int rc = 0;

	scale_kernels(&r->stream[LOW], PREEMPT_KERNEL_NS / KERNEL_NS);
	for (p->n = 0; !rc && p->n < n && tries; tries--) {
		rc = preempt_once(&r->stream[LOW], &p->ns[p->n]);
		p->n += !rc && p->ns[p->n] >= 0;
	}
	scale_kernels(&r->stream[LOW], KERNEL_NS / PREEMPT_KERNEL_NS);
	return rc;
}

static void set_preemptions(json_t *row, struct preemptions *p)
{
	bool has_p50 = p->n, has_p99 = p->n >= 100;
	struct gp__stats stats = { 0 };

	gp__stats_of(p->ns, p->n, &stats);
	json_object_set_new(row, "preempt_p50_us",
			    has_p50 ? json_real(stats.median / GP__US) : json_null());
	json_object_set_new(row, "preempt_p99_us",
			    has_p99 ? json_real(p->ns[p->n * 99 / 100 - 1] / GP__US) : json_null());
}

/*
 * Figures
 */

static double add_row(struct rig *r, const struct config *c, struct preemptions *p)
{
	const struct levels_jobs *high = &r->stream[HIGH].jobs, *low = &r->stream[LOW].jobs;
	struct gp_queue_stats stats = GP_QUEUE_STATS_INIT;
	struct gp_kfd_queue_info info = GP_KFD_QUEUE_INFO_INIT;
	double ratio = levels_ratio(low, high);
	json_t *row = json_pack("{s:s}", "level", c->name);

	gp_queue_stats(r->stream[LOW].queue, &stats);
	gp_kfd_queue_info(r->stream[LOW].hwq, &info);
	levels_set_latency(row, "high", high);
	levels_set_latency(row, "low", low);
	json_object_set_new(row, "ratio", real_or_null(ratio));
	json_object_set_new(row, "wall_ratio", real_or_null(levels_wall_ratio(low, high)));
	json_object_set_new(row, "stops", json_integer((json_int_t)stats.suspends));
	set_switching(row, r);
	set_preemptions(row, p);
	json_object_set_new(row, "repeated", json_integer((json_int_t)info.repeated));
	gp__bench_row(r->run, row);
	return ratio;
}

static int run_config(struct rig *r, const struct config *c, uint64_t patience_ns, double *ratio)
{
	struct gp_sched_options options = GP_SCHED_OPTIONS_INIT;
	struct preemptions preemptions = { .n = 0 };
	struct gp_sched *sched = NULL;
	int rc = 0;

	options.policy = "hpf";
	options.params = PARAMETERS;
	if (c->scheduled)
		rc = gp_sched_create(&options, &sched, &r->err);
	if (!rc)
		rc = make_queues(r, c, sched);
	if (!rc) {
		rc = run_streams(r, patience_ns);
		if (!rc && c->scheduled)
			rc = time_preemptions(r, &preemptions);
		if (!rc)
			*ratio = add_row(r, c, &preemptions);
		else
			snprintf(r->err.message, sizeof(r->err.message), "a command fails");
		end_queues(r);
	}
	gp_sched_destroy(sched);
	return rc;
}

/*
 * The rig
 */

static int time_kernel(struct stream *s, uint64_t *ns)
{
	uint64_t ticket;
	int rc = gp_queue_submit(s->queue, &s->command[0], &ticket);

	if (!rc)
		rc = gp_queue_wait(s->queue, ticket, -1);
	*ns = s->command[0].end_ns - s->command[0].start_ns;
	return rc;
}

/*
 * Finds the number of rounds for the wanted duration of a kernel. The shortest of some tries
 * counts: an emulated GPU is idle between the packet and its waves, and its clock is the host's
 * then.
 */
static int measure_kernel(struct rig *r)
{
	static const struct config config = { .name = "trial", .level = 1 };
	uint64_t ns, least = UINT64_MAX;
	int rc = make_queues(r, &config, NULL);

	r->stream[HIGH].args[0].rounds = TRIAL_ROUNDS;
	for (int i = 0; !rc && i < TRIALS; i++) {
		rc = time_kernel(&r->stream[HIGH], &ns);
		if (ns && ns < least)
			least = ns;
	}
	end_queues(r);
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < KERNELS; k++)
			r->stream[i].args[k].rounds =
				(uint32_t)(TRIAL_ROUNDS * KERNEL_NS / (double)least);
	}
	return rc;
}

static int load(struct rig *r)
{
	const char *path = r->info.gfx_version == 90402 ? GP_GFX942_KERNELS : GP_EMU_KERNELS;
	int rc = gp_kfd_load(r->gpu, path, &r->code, &r->err);

	return rc ? rc : gp_kfd_kernel(r->code, "fill", &r->kernel, &r->err);
}

static int begin(struct rig *r)
{
	char device[128];
	int rc = gp_kfd_open(0, &r->gpu, &r->err);

	if (rc)
		return rc;
	r->info.size = sizeof(r->info);
	gp_kfd_info(r->gpu, &r->info);
	snprintf(device, sizeof(device), "%s%s, %u compute unit%s",
		 bench_is_on_machine() ? "emulated " : "", r->info.name, r->info.compute_units,
		 r->info.compute_units == 1 ? "" : "s");
	gp__bench_device(r->run, device);
	if (!r->info.clock_hz) {
		snprintf(r->err.message, sizeof(r->err.message),
			 "the clock of this GPU is not known");
		return -ENOTSUP;
	}
	rc = load(r);
	for (int i = 0; !rc && i < 2; i++) {
		struct stream *s = &r->stream[i];

		s->rig = r;
		s->pause = i == HIGH ? pause_for_low : pause_a_while;
		s->priority = i == HIGH ? GP_PRIORITY_ONLINE : GP_PRIORITY_OFFLINE;
		rc = set_up_commands(s);
	}
	return rc ? rc : measure_kernel(r);
}

static void end(struct rig *r)
{
	if (!r->gpu)
		return;
	for (int i = 0; i < 2; i++)
		gp_kfd_free(r->gpu, r->stream[i].args);
	gp_kfd_unload(r->code);
	gp_kfd_close(r->gpu);
}

static int run_all(struct rig *r)
{
	double ratio[NR_CONFIGS] = { 0 };

	for (size_t i = 0; i < NR_CONFIGS; i++) {
		uint64_t patience = gp__bench_left_ns(r->run) / (NR_CONFIGS - i);
		int rc = run_config(r, &configs[i], patience, &ratio[i]);

		/* Levels that this kernel does not support are left out. */
		if (rc == -EOPNOTSUPP)
			continue;
		if (rc)
			return rc;
	}
	gp__bench_summary(r->run, "lv3_ratio", real_or_null(ratio[NR_CONFIGS - 1]),
			  "a job of low takes %.2f times as long as one of high at Lv3, and %.2f "
			  "times without a scheduler (GPU time)",
			  ratio[NR_CONFIGS - 1], ratio[0]);
	return 0;
}

int bench_levels(struct gp__bench_run *run)
{
	struct rig *r;
	int rc;

	/* Firmware cannot drain: without it, all levels are there. */
	if (gp__bench_chose(run, "emu") && !bench_is_on_machine())
		return gp__bench_fail(run, bench_run_on_machine(CUS, "none"),
				      "no machine can be started");
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->run = run;
	rc = begin(r);
	if (!rc)
		rc = run_all(r);
	if (rc)
		gp__bench_fail(run, rc, "%s", r->err.message);
	end(r);
	free(r);
	return rc;
}

#else

int bench_levels(struct gp__bench_run *run)
{
	return gp__bench_fail(run, -ENOENT, BENCH_NO_KERNELS);
}

#endif
