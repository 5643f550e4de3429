// SPDX-License-Identifier: MIT
/*
 * Measures the time from the doorbell of an urgent program until no wave of the patient one is left
 * on the GPU: two programs under gpreempt run with their agents, and gpreemptd, on an emulated
 * machine.
 *
 *	seen		the urgent program's agent has noticed the work
 *	decided		the daemon has written the hold
 *	delivered	the patient program's agent begins to carry it out
 *	stopped		a third process sees no wave of it
 *
 * Launches are seen by polling the ring or, if there is an HSA runtime, at the launch. The times of
 * the first three hops are read from the pages that agents and daemon share. The daemon's part is
 * from seen to delivered: it wakes two processes one after the other, like a futex round trip. Such
 *a round trip is measured alternately, by two threads on the two CPUs of the daemon and the
 *programs.
 *
 * Times are wall time. The compute units of the machine are threads that compete for the CPUs, so
 *all of it is slower than beside a GPU, and so is the round trip. The time to stop the waves is
 *that of the emulated GPU, and so is the launch: a doorbell is a page fault, which a thread of the
 *machine answers before the runtime goes on.
 */
#include "benches.h"
#include "stage.h"
#include "machine.h"
#include "pingpong.h"
#include "waiting.h"

#include "base/clock.h"
#include "base/latency.h"
#include "device/kfd/waves.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifdef GP_EMU_KERNELS

#define NAME "decide-e2e"
#define CUS "4"
#define WAVES 32u
#define PER_REPEAT 5 /* samples: a 99th percentile needs a hundred */
#define SAMPLES_MAX 1024
#define WARM_UP 3
#define IDLE_NS (100 * GP__MS)
#define LOOK_NS (20 * GP__US)
#define PATIENCE_NS (20 * GP__S)
#define SLOTS 8 /* that are read; the daemon gives more */
#define QUICK_SAMPLES 10

enum { PATIENT, URGENT, PARTS };
/* Cues: make a queue; wait until all waves run; report the order; ring the doorbell; end the work.
 */
enum { BEGIN, SETTLE, REPORT, RING, RELEASE };

struct stage {
	struct actor_line line[PARTS];
	uint32_t gpu_id, queue_id; /* of the patient program */
	uint64_t rung_ns, stored_ns, seen_ns; /* of the urgent program */
	uint64_t issued_ns, began_ns; /* of the patient program */
	uint64_t beats; /* of its waves */
};

/*
 * The programs
 */

struct part {
	struct stage *stage;
	struct resident r; /* of the patient program */
	struct waiting work; /* of the urgent program */
	struct gp__wire_status_page *status;
	const struct gp__wire_order_page *order;
	bool is_patient, hsa;
};

/* Waits until its agent has connected to the daemon. */
static int find_wire(struct part *p)
{
	uint64_t deadline = gp__clock_ns() + PATIENCE_NS;

	while (!actor_find_pages(&p->status, &p->order)) {
		if (gp__clock_ns() > deadline)
			return -ENOTCONN;
		gp__sleep_ns(GP__MS);
	}
	return 0;
}

static int begin(struct part *p)
{
	int err;

	if (!p->is_patient) {
		err = waiting_begin(&p->work, p->hsa, GP_EMU_KERNELS);
		return err ? err : find_wire(p);
	}
	err = resident_begin(&p->r, GP_EMU_KERNELS);
	if (!err) {
		p->stage->gpu_id = p->r.u.node.gpu_id;
		p->stage->queue_id = p->r.q.id;
		err = resident_close_gate(&p->r, WAVES);
	}
	return err ? err : find_wire(p);
}

static int ring(struct part *p)
{
	p->stage->rung_ns = gp__clock_ns();
	waiting_ring(&p->work);
	p->stage->stored_ns = gp__clock_ns();
	return 0;
}

/* The runtime has queues of its own, too: the right one got work last. */
static uint64_t seen_ns(const struct part *p)
{
	uint64_t latest = 0;

	for (unsigned int i = 0; i < SLOTS; i++) {
		const struct gp__wire_status_slot *slot = &p->status->slot[i];

		if (atomic_load(&slot->work) & 1 && atomic_load(&slot->seen_ns) > latest)
			latest = atomic_load(&slot->seen_ns);
	}
	return latest;
}

static int release(struct part *p)
{
	p->stage->seen_ns = seen_ns(p);
	return waiting_release(&p->work);
}

/* The agent acknowledges a moment after the machine has stopped or started the queue. */
static int wait_for_order(struct part *p, enum gp__wire_verb verb)
{
	uint64_t deadline = gp__clock_ns() + PATIENCE_NS, order;

	for (;;) {
		order = atomic_load(&p->order->slot[0].order);
		if (gp__wire_order_verb(order) == verb &&
		    atomic_load(&p->status->slot[0].done) ==
			    gp__wire_done(gp__wire_order_number(order), 0))
			return 0;
		if (gp__clock_ns() > deadline)
			return -ETIME;
		gp__sleep_ns(50 * GP__US);
	}
}

/* The daemon gives no order before the previous one is acknowledged. */
static int settle(struct part *p)
{
	int err = wait_for_order(p, GP__WIRE_RELEASE);

	return err ? err : resident_settle(&p->r, WAVES);
}

static int report(struct part *p)
{
	int err = wait_for_order(p, GP__WIRE_HOLD);

	p->stage->issued_ns = atomic_load(&p->order->slot[0].issued_ns);
	p->stage->began_ns = atomic_load(&p->status->slot[0].began_ns);
	p->stage->beats = 0;
	for (unsigned int i = 0; i < WAVES; i++)
		p->stage->beats += atomic_load(&p->r.beat[i]);
	return err;
}

static int leave(struct part *p)
{
	if (p->is_patient) {
		resident_open_gate(&p->r, WAVES);
		resident_end(&p->r);
	} else {
		waiting_end(&p->work);
	}
	return 0;
}

static int act(void *data, int cue)
{
	struct part *p = data;

	switch (cue) {
	case BEGIN:
		return begin(p);
	case SETTLE:
		return settle(p);
	case REPORT:
		return report(p);
	case RING:
		return ring(p);
	case RELEASE:
		return release(p);
	default:
		return leave(p);
	}
}

static _Noreturn void play(const char *name)
{
	struct part p = { .stage = actor_memory(sizeof(struct stage)),
			  .is_patient = !strcmp(name, "patient"),
			  .hsa = !strcmp(name, "urgent-hsa") };

	if (!p.stage)
		_exit(1);
	/* The runtime prints warnings about the machine. */
	if (p.hsa && !freopen("/dev/null", "we", stderr))
		_exit(1);
	actor_play(&p.stage->line[p.is_patient ? PATIENT : URGENT], act, &p);
	_exit(0);
}

/*
 * Samples
 */

enum { SEEN, DECIDED, DELIVERED, STOPPED, ALL, LAUNCH, DAEMON, FUTEX, FIGURES };

static const char *const hops[FIGURES] = {
	[SEEN] = "seen",
	[DECIDED] = "decided",
	[DELIVERED] = "delivered",
	[STOPPED] = "stopped",
	[ALL] = "doorbell to stopped",
	[LAUNCH] = "the launch itself",
	[DAEMON] = "seen to delivered",
	[FUTEX] = "futex round trip",
};

struct play {
	struct gp__bench_run *run;
	struct stage *stage;
	struct stage_daemon daemon;
	struct actor program[PARTS];
	struct pingpong pingpong;
	bool has_pingpong;
	int cpu; /* of the programs */
	const char *by; /* how launches are seen */
	unsigned int n;
	double us[FIGURES][SAMPLES_MAX];
};

/* The time at which another process sees no wave. */
static int wait_until_stopped(struct play *p, uint64_t *when)
{
	uint64_t deadline = gp__clock_ns() + PATIENCE_NS;
	int waves;

	do {
		gp__sleep_ns(LOOK_NS);
		waves = gp__kfd_waves(p->program[PATIENT].pid, p->stage->gpu_id,
				      p->stage->queue_id);
		*when = gp__clock_ns();
		if (waves < 0)
			return -ENODATA;
	} while (waves && *when < deadline);
	return waves ? -ETIME : 0;
}

/* Checks that held waves make no progress. */
static int check_that_it_stays(struct play *p)
{
	uint64_t beats = p->stage->beats;
	int err = actor_cue(&p->program[PATIENT], REPORT);

	return err ? err : beats == p->stage->beats ? 0 : -EILSEQ;
}

static int take_figures(struct play *p, uint64_t stopped_ns, double futex_us)
{
	const struct stage *s = p->stage;
	const uint64_t at[] = { s->rung_ns, s->seen_ns, s->issued_ns, s->began_ns, stopped_ns };

	for (int i = 0; i < 4; i++) {
		if (at[i + 1] < at[i])
			return -ERANGE;
		p->us[SEEN + i][p->n] = gp__to_us(at[i + 1] - at[i]);
	}
	p->us[ALL][p->n] = gp__to_us(stopped_ns - s->rung_ns);
	p->us[LAUNCH][p->n] = gp__to_us(s->stored_ns - s->rung_ns);
	p->us[DAEMON][p->n] = gp__to_us(s->began_ns - s->seen_ns);
	p->us[FUTEX][p->n] = futex_us;
	return 0;
}

static int measure_pingpong(struct play *p, double *us)
{
	uint64_t start = gp__clock_ns();
	int err = pingpong_round_trip(&p->pingpong, 1);

	*us = gp__to_us(gp__clock_ns() - start);
	return err;
}

static int take_sample(struct play *p, uint64_t idle_ns)
{
	double futex_us = 0;
	uint64_t stopped_ns;
	int err = actor_cue(&p->program[PATIENT], SETTLE);

	if (!err && idle_ns)
		gp__sleep_ns(idle_ns);
	if (!err)
		err = measure_pingpong(p, &futex_us);
	if (!err)
		err = actor_cue(&p->program[URGENT], RING);
	if (!err)
		err = wait_until_stopped(p, &stopped_ns);
	if (!err)
		err = actor_cue(&p->program[PATIENT], REPORT);
	if (!err)
		err = check_that_it_stays(p);
	if (!err)
		err = actor_cue(&p->program[URGENT], RELEASE);
	return err ? err : take_figures(p, stopped_ns, futex_us);
}

static unsigned int samples_wanted(const struct gp__bench_run *run)
{
	unsigned int n = gp__bench_repeats(run) * PER_REPEAT;

	if (gp__bench_quick(run))
		return QUICK_SAMPLES;
	return n < SAMPLES_MAX ? n : SAMPLES_MAX;
}

static int take_samples(struct play *p, uint64_t idle_ns, uint64_t budget_ns)
{
	unsigned int wanted = samples_wanted(p->run);
	uint64_t end = gp__clock_ns() + budget_ns;
	int err = 0;

	for (p->n = 0; !err && p->n < WARM_UP; p->n++)
		err = take_sample(p, 0);
	for (p->n = 0; !err && p->n < wanted && (!p->n || gp__clock_ns() < end); p->n++)
		err = take_sample(p, idle_ns);
	if (p->n < wanted)
		gp__bench_cut_short(p->run);
	return err;
}

/*
 * Rows
 */

static double add_row(struct play *p, const char *state, int hop)
{
	json_t *row = json_pack("{s:s, s:s, s:s, s:i}", "by", p->by, "state", state, "hop",
				hops[hop], "samples", (int)p->n);
	struct gp__stats stats;

	gp__stats_of(p->us[hop], p->n, &stats);
	gp__bench_set(row, "p50", "us", &stats);
	json_object_set_new(row, "p99_us",
			    p->n < 100 ? json_null() : json_real(p->us[hop][p->n * 99 / 100 - 1]));
	json_object_set_new(row, "max_us", json_real(stats.max));
	gp__bench_row(p->run, row);
	return stats.median;
}

static void add_rows(struct play *p, const char *state)
{
	double p50[FIGURES], ratio;
	char key[64];

	for (int hop = 0; hop < FIGURES; hop++)
		p50[hop] = add_row(p, state, hop);
	ratio = p50[DAEMON] / p50[FUTEX];
	snprintf(key, sizeof(key), "%s_%s_daemon_to_futex", p->by, state);
	gp__bench_summary(p->run, key, json_real(ratio),
			  "by %s, %s: from seen to delivered takes %.2f times a futex round trip",
			  p->by, state, ratio);
}

/* Divides the remaining time into @parts of equal length. */
static int measure_state(struct play *p, const char *state, uint64_t idle_ns, unsigned int parts)
{
	int err = take_samples(p, idle_ns, gp__bench_left_ns(p->run) / parts);

	if (err)
		return gp__bench_fail(p->run, err, "by %s, %s, sample %u", p->by, state, p->n);
	add_rows(p, state);
	return 0;
}

static int start(struct play *p, int part, const char *name, const char *class_name)
{
	int err;

	p->stage->line[part] = (struct actor_line){ 0 };
	err = actor_start(&p->program[part], NAME, name, class_name, p->cpu, &p->stage->line[part]);
	if (!err)
		err = actor_cue(&p->program[part], BEGIN);
	return err ? gp__bench_fail(p->run, err, "a program on the emulated machine") : 0;
}

/* Measures with an urgent program whose launches are seen in this way. */
static int measure(struct play *p, const char *by, const char *name, unsigned int parts)
{
	int err = start(p, URGENT, name, "online");

	p->by = by;
	if (!err)
		err = measure_state(p, "hot", 0, 3 * parts);
	if (!err)
		err = measure_state(p, "idle", IDLE_NS, parts);
	actor_end(&p->program[URGENT]);
	return err;
}

static int measure_all(struct play *p)
{
	bool hsa = waiting_has_hsa();
	int err = measure(p, "ring", "urgent", hsa ? 2 : 1);

	return err || !hsa ? err : measure(p, "launch", "urgent-hsa", 1);
}

/*
 * Setup
 */

static int begin_play(struct play *p)
{
	int first, err;

	stage_find_cpus(&first, &p->cpu);
	p->stage = stage_memory(sizeof(*p->stage));
	err = p->stage ? stage_daemon_start(&p->daemon, first, false) : -ENOMEM;
	if (err)
		return gp__bench_fail(p->run, err, "gpreemptd cannot be started");
	err = start(p, PATIENT, "patient", "offline");
	if (err)
		return err;
	/* The partner is on the CPU of the daemon, this thread on that of the programs. */
	stage_pin(first);
	err = pingpong_start(&p->pingpong, true);
	p->has_pingpong = !err;
	stage_pin(p->cpu);
	return err;
}

static void end_play(struct play *p)
{
	for (int i = 0; i < PARTS; i++)
		actor_end(&p->program[i]);
	stage_daemon_end(&p->daemon);
	if (p->has_pingpong)
		pingpong_end(&p->pingpong);
}

int bench_decide_e2e(struct gp__bench_run *run)
{
	static struct play p;
	int err;

	if (!bench_is_on_machine())
		return gp__bench_fail(run, bench_run_on_machine(CUS, "hws"),
				      "no machine can be started");
	if (actor_part())
		play(actor_part());
	gp__bench_device(run, "emulated gfx90a, " CUS " compute units");
	p = (struct play){ .run = run };
	prctl(PR_SET_TIMERSLACK, 1000ul);
	gp__prefer_latency(); /* as agents and the daemon do */
	err = begin_play(&p);
	if (!err)
		err = measure_all(&p);
	end_play(&p);
	return err;
}

#else

int bench_decide_e2e(struct gp__bench_run *run)
{
	return gp__bench_fail(run, -ENOENT, BENCH_NO_KERNELS);
}

#endif
