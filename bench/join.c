// SPDX-License-Identifier: MIT
/*
 * What being joined costs a program that nobody stops: its dispatches a second, joined and not, on
 * an emulated machine, while another program is preempted. An urgent program has work that waits
 * for something all the time, so that gpreemptd holds the patient one, whose waves would fill the
 * GPU; beside them a third, as urgent, does nothing but launch kernels that are over at once, many
 * in a row.
 *
 * That one is started anew for every turn, with gpreempt run or without, in pairs of the two. A
 * turn's rate is the median of many short spells, as there are some in which others had the CPUs,
 * and a pair's ratio is what is compared: a machine that slows down slows both.
 *
 * The machine has all CPUs but one, as it stands for a GPU, and all programs and the daemon have
 * that one. What the threads that come with being joined take of it is the other figure: who has no
 * CPU to spare for them pays that as well.
 */
#include "benches.h"
#include "cast.h"
#include "machine.h"
#include "waiting.h"

#include "base/clock.h"
#include "device/kfd/wait.h"
#include "device/kfd/waves.h"

#include <errno.h>
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

/* The last two are never there at the same time. */
enum { PATIENT, URGENT, JOINED, BARE, PARTS };
static const char *const parts[PARTS] = { "patient", "urgent", "joined", "bare" };
static const char *const classes[PARTS] = { "offline", "online", "online", NULL };

/* Cues: make a queue, and what it is there for; launch for the time of a turn. */
enum { BEGIN, LAUNCH };

struct stage {
	struct cast_line line[PARTS];
	uint32_t gpu_id, queue_id; /* of the patient one */
	int spells; /* of a turn */
	double rate, others_percent; /* what came of it */
};

/*
 * The programs
 */

struct part {
	struct stage *stage;
	struct resident r;
	struct waiting work; /* of the urgent one */
	/* Of a program that launches: the ends of this batch and of the one before. */
	struct gp__kfd_signal *ended[2];
	struct gp__kfd_waiter waiter;
	int who;
};

/* Waits for its agent, where it has one. */
static int wait_for_wire(const struct part *p)
{
	const struct timespec pause = { 0, (long)GP__MS };
	uint64_t deadline = gp__clock_ns() + PATIENCE_NS;
	const struct gp__wire_down *down;
	struct gp__wire_up *up;

	while (classes[p->who] && !cast_find_wire(&up, &down)) {
		if (gp__clock_ns() > deadline)
			return -ENOTCONN;
		nanosleep(&pause, NULL);
	}
	return 0;
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
		return 0;
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

/* Always with a batch to do while the next is written. Dispatches a second. */
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
	*rate = (double)n * BATCH * 1e9 / (double)(gp__clock_ns() - start);
	return err;
}

static double cpu_s(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Of this process' threads that are not the program's own. */
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
	/* The two clocks do not tick at once. */
	cpu = others_cpu_s() - cpu;
	p->stage->others_percent = cpu > 0 ? 100 * cpu / (cpu_s(CLOCK_MONOTONIC) - start) : 0;
	return 0;
}

static int leave(struct part *p)
{
	if (p->who == URGENT) {
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
	struct part p = { .stage = cast_memory_of_part(sizeof(struct stage)) };

	while (p.who < PARTS && strcmp(parts[p.who], name))
		p.who++;
	if (!p.stage || p.who == PARTS)
		_exit(1);
	cast_play(&p.stage->line[p.who], act, &p);
	_exit(0);
}

/*
 * Pairs
 */

struct play {
	struct gp__bench_run *run;
	struct stage *stage;
	struct cast_daemon daemon;
	struct cast_program program[PARTS];
	int cpu; /* of all but the machine */
	unsigned int n;
	double rate[PARTS][GP__BENCH_REPEATS_MAX], others[PARTS][GP__BENCH_REPEATS_MAX];
	double ratio[GP__BENCH_REPEATS_MAX];
};

static int start(struct play *p, int who)
{
	int err;

	p->stage->line[who] = (struct cast_line){ 0 };
	err = cast_start(&p->program[who], NAME, parts[who], classes[who], p->cpu,
			 &p->stage->line[who]);
	return err ? err : cast_cue(&p->program[who], BEGIN);
}

/* Dispatches a second. */
static int take_turn(struct play *p, int who)
{
	int err = start(p, who);

	if (!err)
		err = cast_cue(&p->program[who], LAUNCH);
	cast_end(&p->program[who]);
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

/* It is held, but for the moments that it is guaranteed. */
static int wait_until_held(struct play *p)
{
	const struct timespec pause = { 0, (long)GP__MS };
	uint64_t deadline = gp__clock_ns() + PATIENCE_NS;
	int waves;

	while ((waves = gp__kfd_waves(p->program[PATIENT].pid, p->stage->gpu_id,
				      p->stage->queue_id))) {
		if (waves < 0)
			return -ENODATA;
		if (gp__clock_ns() > deadline)
			return -ETIME;
		nanosleep(&pause, NULL);
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
 * Beginning and end
 */

static int begin_play(struct play *p)
{
	int first, err;

	cast_find_cpus(&first, &p->cpu);
	bench_keep_machine_off(p->cpu);
	p->stage = cast_memory(sizeof(*p->stage));
	err = p->stage ? cast_daemon_start(&p->daemon, p->cpu, false) : -ENOMEM;
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
		cast_end(&p->program[i]);
	cast_daemon_end(&p->daemon);
}

int bench_join(struct gp__bench_run *run)
{
	unsigned int repeats = gp__bench_repeats(run);
	struct play *p;
	int err;

	if (!bench_is_on_machine())
		return gp__bench_fail(run, bench_run_on_machine(CUS), "no machine can be started");
	if (cast_part())
		play(cast_part());
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
