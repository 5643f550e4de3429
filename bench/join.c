// SPDX-License-Identifier: MIT
/*
 * Measures the cost of being joined for a program that is never held: its dispatches a second,
 * joined and not, on an emulated machine, while another program is preempted. An urgent program has
 * work that waits for a signal all the time, so that gpreemptd holds the patient one, whose waves
 * would fill the GPU. A third program, as urgent, launches short kernels, many in a row.
 *
 * The third program is started for every run, with gpreempt run or without, in pairs. Its rate is
 * the median of many short spells, because other processes have the CPUs in some of them. The ratio
 * of a pair is compared: a host that slows down slows both.
 *
 * The machine, which stands for a GPU, has all CPUs but one; all programs and the daemon share that
 * one. The CPU time of the threads that joining adds is shown separately: a program without a spare
 * CPU pays for it as well.
 */
#include "benches.h"
#include "stage.h"
#include "machine.h"
#include "waiting.h"

#include "base/clock.h"
#include "device/kfd/wait.h"
#include "device/kfd/waves.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef GP_EMU_KERNELS

#define NAME "join"
#define CUS "1"
#define WAVES 32u
#define BATCH 1024u /* launches before the last ones are waited for */
#define SPELL_NS (20 * GP__MS)
#define SPELLS_MAX 30 /* of a turn */
#define QUICK_SPELLS 10
#define SECOND_SIGNAL 6144 /* in a resident's memory */
#define PATIENCE_NS (20 * GP__S)
#define RENEW_NS (200 * GP__MS)

/* The last two never run at the same time. */
enum { PATIENT, URGENT, JOINED, BARE, PARTS };
static const char *const parts[PARTS] = { "patient", "urgent", "joined", "bare" };
static const char *const classes[PARTS] = { "offline", "online", "online", NULL };

/* Cues: make a queue and start its work; launch kernels for the time of a run. */
enum { BEGIN, LAUNCH };

struct stage {
	struct actor_line line[PARTS];
	uint32_t gpu_id, queue_id; /* of the patient program */
	int spells; /* of a run */
	double rate, others_percent; /* the results */
};

/*
 * The programs
 */

struct part {
	struct stage *stage;
	struct resident r;
	struct waiting work; /* of the urgent program */
	pthread_t renewer; /* of that work */
	atomic_bool leaves;
	/* For the program that launches: the completion of this batch and of the one before. */
	struct gp__kfd_signal *ended[2];
	struct gp__kfd_waiter waiter;
	int who;
};

/* Waits for its agent, if it is joined. */
static int wait_for_wire(const struct part *p)
{
	uint64_t deadline = gp__clock_ns() + PATIENCE_NS;
	const struct gp__wire_order_page *order;
	struct gp__wire_status_page *status;

	while (classes[p->who] && !actor_find_pages(&status, &order)) {
		if (gp__clock_ns() > deadline)
			return -ENOTCONN;
		gp__sleep_ns(GP__MS);
	}
	return 0;
}

/* Work that makes no progress is not believed for longer than a second. */
static void *renew(void *data)
{
	struct part *p = data;

	while (!atomic_load(&p->leaves) && !waiting_renew(&p->work))
		gp__sleep_ns(RENEW_NS);
	return NULL;
}

static int begin(struct part *p)
{
	int err = p->who == URGENT ? waiting_begin(&p->work, false, GP_EMU_KERNELS)
				   : resident_begin(&p->r, GP_EMU_KERNELS);

	if (!err)
		err = wait_for_wire(p);
	if (err)
		return err;
	if (p->who == PATIENT) {
		p->stage->gpu_id = p->r.u.node.gpu_id;
		p->stage->queue_id = p->r.q.id;
		return resident_close_gate(&p->r, WAVES);
	}
	if (p->who == URGENT) {
		waiting_ring(&p->work);
		return -pthread_create(&p->renewer, NULL, renew, p);
	}
	p->ended[0] = p->r.signal;
	p->ended[1] = (void *)((char *)p->r.data.at + SECOND_SIGNAL);
	p->ended[1]->kind = GP__KFD_SIGNAL_USER;
	err = gp__kfd_waiter_open(&p->r.u, &p->waiter);
	for (int i = 0; !err && i < 2; i++)
		gp__kfd_waiter_attach(&p->waiter, p->ended[i]);
	return err;
}

static int wait_for_batch(struct part *p, unsigned int n)
{
	return gp__kfd_wait(&p->waiter, p->ended[n % 2], p->r.q.errors);
}

/* Keeps one batch pending while the next is written. Returns dispatches a second. */
static int launch_for_a_spell(struct part *p, double *rate)
{
	const struct gp__kfd_dispatch d = { .kernel = resident_kernel(&p->r, "knock.kd"),
					    .kernarg = &p->r.gate_args->open,
					    .grid = 64,
					    .group = 64 };
	uint64_t start = gp__clock_ns(), now = start;
	unsigned int n = 0;
	int err = 0;

	while (!err && now - start < SPELL_NS) {
		atomic_store(&p->ended[n % 2]->value, 1);
		for (unsigned int i = 1; i < BATCH; i++)
			gp__kfd_launch(&p->r.q, &d, NULL);
		gp__kfd_barrier(&p->r.q, p->ended[n++ % 2]);
		if (n > 1)
			err = wait_for_batch(p, n);
		now = gp__clock_ns();
	}
	if (!err)
		err = wait_for_batch(p, n + 1);
	*rate = (double)n * BATCH * GP__S / (double)(gp__clock_ns() - start);
	return err;
}

static double cpu_s(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* CPU time of the threads of this process that are not the program's own. */
static double others_cpu_s(void)
{
	double own = cpu_s(CLOCK_THREAD_CPUTIME_ID);

	return cpu_s(CLOCK_PROCESS_CPUTIME_ID) - own;
}

static int launch(struct part *p)
{
	double rate[SPELLS_MAX], cpu = others_cpu_s(), start = cpu_s(CLOCK_MONOTONIC);
	struct gp__stats stats;
	int err = 0;

	for (int i = 0; !err && i < p->stage->spells; i++)
		err = launch_for_a_spell(p, &rate[i]);
	if (err)
		return err;
	gp__stats_of(rate, (size_t)p->stage->spells, &stats);
	p->stage->rate = stats.median;
	/* The two clocks do not tick at the same time. */
	cpu = others_cpu_s() - cpu;
	p->stage->others_percent = cpu > 0 ? 100 * cpu / (cpu_s(CLOCK_MONOTONIC) - start) : 0;
	return 0;
}

static int leave(struct part *p)
{
	if (p->who == URGENT) {
		atomic_store(&p->leaves, true);
		pthread_join(p->renewer, NULL);
		waiting_release(&p->work);
		waiting_end(&p->work);
		return 0;
	}
	if (p->who == PATIENT)
		resident_open_gate(&p->r, WAVES);
	resident_end(&p->r);
	return 0;
}

static int act(void *data, int cue)
{
	switch (cue) {
	case BEGIN:
		return begin(data);
	case LAUNCH:
		return launch(data);
	default:
		return leave(data);
	}
}

static _Noreturn void play(const char *name)
{
	struct part p = { .stage = actor_memory(sizeof(struct stage)) };

	while (p.who < PARTS && strcmp(parts[p.who], name))
		p.who++;
	if (!p.stage || p.who == PARTS)
		_exit(1);
	actor_play(&p.stage->line[p.who], act, &p);
	_exit(0);
}

/*
 * Pairs
 */

struct play {
	struct gp__bench_run *run;
	struct stage *stage;
	struct stage_daemon daemon;
	struct actor program[PARTS];
	int cpu; /* of the programs and the daemon */
	unsigned int n;
	double rate[PARTS][GP__BENCH_REPEATS_MAX], others[PARTS][GP__BENCH_REPEATS_MAX];
	double ratio[GP__BENCH_REPEATS_MAX];
};

static int start(struct play *p, int who)
{
	int err;

	p->stage->line[who] = (struct actor_line){ 0 };
	err = actor_start(&p->program[who], NAME, parts[who], classes[who], p->cpu,
			  &p->stage->line[who]);
	return err ? err : actor_cue(&p->program[who], BEGIN);
}

/* Dispatches a second. */
static int take_turn(struct play *p, int who)
{
	int err = start(p, who);

	if (!err)
		err = actor_cue(&p->program[who], LAUNCH);
	actor_end(&p->program[who]);
	p->rate[who][p->n] = p->stage->rate;
	p->others[who][p->n] = p->stage->others_percent;
	return err;
}

static int take_pair(struct play *p)
{
	int first = p->n % 2 ? BARE : JOINED;
	int err = take_turn(p, first);

	if (!err)
		err = take_turn(p, first == BARE ? JOINED : BARE);
	p->ratio[p->n] = p->rate[JOINED][p->n] / p->rate[BARE][p->n];
	return err;
}

/* Waits until it is held, apart from its guaranteed share. */
static int wait_until_held(struct play *p)
{
	uint64_t deadline = gp__clock_ns() + PATIENCE_NS;
	int waves;

	while ((waves = gp__kfd_waves(p->program[PATIENT].pid, p->stage->gpu_id,
				      p->stage->queue_id))) {
		if (waves < 0)
			return -ENODATA;
		if (gp__clock_ns() > deadline)
			return -ETIME;
		gp__sleep_ns(GP__MS);
	}
	return 0;
}

static int measure(struct play *p, unsigned int pairs)
{
	int err = 0;

	for (p->n = 0; !err && p->n < pairs && (!p->n || gp__bench_left_ns(p->run)); p->n++) {
		err = wait_until_held(p);
		if (err)
			return gp__bench_fail(p->run, err, "the patient program is not held");
		err = take_pair(p);
	}
	if (p->n < pairs)
		gp__bench_cut_short(p->run);
	return err ? gp__bench_fail(p->run, err, "pair %u", p->n) : 0;
}

static void add_rows(struct play *p)
{
	struct gp__stats stats;

	for (int who = JOINED; who <= BARE; who++) {
		json_t *row = json_pack("{s:s, s:i}", "program", parts[who], "pairs", (int)p->n);

		gp__stats_of(p->rate[who], p->n, &stats);
		gp__bench_set(row, "dispatches", "per_s", &stats);
		gp__stats_of(p->others[who], p->n, &stats);
		json_object_set_new(row, "threads_cpu_percent", json_real(stats.median));
		gp__bench_row(p->run, row);
	}
	gp__stats_of(p->ratio, p->n, &stats);
	gp__bench_summary(p->run, "joined_to_bare", json_real(stats.median),
			  "joined, a program dispatches at %.2f %% of the rate at which it does "
			  "otherwise",
			  100 * stats.median);
	if (stats.has_ci)
		gp__bench_summary(p->run, "joined_to_bare_interval",
				  json_pack("[f, f]", stats.ci_lo, stats.ci_hi),
				  "(95 %% interval: %.2f to %.2f %%, of %u pairs)",
				  100 * stats.ci_lo, 100 * stats.ci_hi, p->n);
}

/*
 * Setup
 */

static int begin_play(struct play *p)
{
	int first, err;

	stage_find_cpus(&first, &p->cpu);
	bench_keep_machine_off(p->cpu);
	p->stage = stage_memory(sizeof(*p->stage));
	err = p->stage ? stage_daemon_start(&p->daemon, p->cpu, false) : -ENOMEM;
	if (err)
		return gp__bench_fail(p->run, err, "gpreemptd cannot be started");
	p->stage->spells = gp__bench_quick(p->run) ? QUICK_SPELLS : SPELLS_MAX;
	for (int i = PATIENT; !err && i <= URGENT; i++)
		err = start(p, i);
	return err ? gp__bench_fail(p->run, err, "programs on the emulated machine") : 0;
}

static void end_play(struct play *p)
{
	for (int i = 0; i < PARTS; i++)
		actor_end(&p->program[i]);
	stage_daemon_end(&p->daemon);
}

int bench_join(struct gp__bench_run *run)
{
	unsigned int repeats = gp__bench_repeats(run);
	struct play *p;
	int err;

	if (!bench_is_on_machine())
		return gp__bench_fail(run, bench_run_on_machine(CUS, "hws"),
				      "no machine can be started");
	if (actor_part())
		play(actor_part());
	gp__bench_device(run, "emulated gfx90a, one compute unit");
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->run = run;
	err = begin_play(p);
	if (!err)
		err = measure(p, repeats);
	end_play(p);
	if (!err)
		add_rows(p);
	free(p);
	return err;
}

#else

int bench_join(struct gp__bench_run *run)
{
	return gp__bench_fail(run, -ENOENT, BENCH_NO_KERNELS);
}

#endif
