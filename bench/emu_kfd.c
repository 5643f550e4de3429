// SPDX-License-Identifier: MIT
/*
 * Measures an emulated machine as a program sees it: the round trip of a packet, dispatches a
 * second, and stopping and starting a queue in each way of the driver, by the number of resident
 * waves. Both wall time and device time are shown; a slow host does not distort device time.
 * Neither is that of a GPU.
 *
 * Outside a machine it runs itself on one with 'gpreempt emu exec'.
 */
#include "benches.h"
#include "emu_memory.h"
#include "machine.h"
#include "resident.h"
#include "pingpong.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef GP_EMU_KERNELS

#define BATCH 512u
#define CUS "8"

static int barrier_round_trip(void *arg, uint64_t times)
{
	struct resident *c = arg;
	int err = 0;

	while (!err && times--) {
		atomic_store(&c->signal->value, 1);
		gp__kfd_barrier(&c->q, c->signal);
		err = resident_wait(c->signal, 1);
	}
	return err;
}

static int dispatch_batch(void *arg, uint64_t times)
{
	struct resident *c = arg;
	struct gp__kfd_dispatch d = { .kernel = resident_kernel(c, "knock.kd"),
				      .kernarg = &c->gate_args->open,
				      .grid = 64,
				      .group = 64 };
	int err = 0;

	while (!err && times--) {
		for (unsigned int i = 0; i < BATCH; i++)
			gp__kfd_launch(&c->q, &d, NULL);
		err = barrier_round_trip(c, 1);
	}
	return err;
}

/*
 * Stops
 */

struct cycle {
	double stop_wall, stop_device, start_wall, start_device;
};

struct call {
	struct gp__kfd_control *control;
	struct gp__kfd_target *target;
	enum gp__kfd_verb verb;
};

static int set(void *arg)
{
	struct call *c = arg;
	int n = gp__kfd_control(c->control, c->verb, c->target, 1);

	return n < 0 ? n : 0;
}

/* Sorts them. */
static double median(double *v, unsigned int n)
{
	struct gp__stats stats = { 0 };

	gp__stats_of(v, n, &stats);
	return stats.median;
}

static int measure_way(struct gp__bench_run *run, struct resident *r, struct gp__kfd_control *c,
		       uint32_t waves, struct cycle *result)
{
	enum { MAX = 64 };
	unsigned int n = gp__bench_repeats(run) < MAX ? gp__bench_repeats(run) : MAX;
	struct gp__kfd_queue_info queue = resident_queue(r);
	struct gp__kfd_target target = { .queue = &queue };
	struct call stop = { c, &target, GP__KFD_SAVE }, start = { c, &target, GP__KFD_RELEASE };
	double v[4][MAX];
	int err = resident_close_gate(r, waves);

	for (unsigned int i = 0; !err && i < n; i++) {
		err = resident_settle(r, waves);
		if (!err)
			err = resident_timed(r, set, &stop, &v[0][i], &v[1][i]);
		if (!err)
			err = resident_timed(r, set, &start, &v[2][i], &v[3][i]);
	}
	if (!err)
		err = resident_open_gate(r, waves);
	if (!err)
		*result = (struct cycle){ median(v[0], n), median(v[1], n), median(v[2], n),
					  median(v[3], n) };
	return err;
}

static void add_row(struct gp__bench_run *run, const char *what, const char *state, uint32_t waves,
		    double wall_ns, double device_ns)
{
	json_t *row = json_pack("{s:s, s:s, s:i, s:f}", "what", what, "state", state, "waves",
				(int)waves, "wall_us", wall_ns / 1e3);

	json_object_set_new(row, "device_us",
			    device_ns < 0 ? json_null() : json_real(device_ns / 1e3));
	gp__bench_row(run, row);
}

static int bench_way(struct gp__bench_run *run, struct resident *r, enum gp__kfd_way way)
{
	static const uint32_t waves[] = { 0, 1, 32, 256 };
	struct gp__kfd_control control;
	char what[64];
	int err = gp__kfd_control_open(&control, r->u.kfd, 0, way);

	if (err)
		return gp__bench_fail(run, err, "beginning to stop by %s", gp__kfd_way_name(way));
	for (size_t i = 0; !err && i < sizeof(waves) / sizeof(waves[0]); i++) {
		struct cycle cycle;

		err = measure_way(run, r, &control, waves[i], &cycle);
		if (err) {
			gp__bench_fail(run, err, "stopping by %s with %u waves",
				       gp__kfd_way_name(way), waves[i]);
			break;
		}
		snprintf(what, sizeof(what), "stop by %s", gp__kfd_way_name(way));
		add_row(run, what, "resident", waves[i], cycle.stop_wall, cycle.stop_device);
		snprintf(what, sizeof(what), "start by %s", gp__kfd_way_name(way));
		add_row(run, what, "resident", waves[i], cycle.start_wall, cycle.start_device);
	}
	gp__kfd_control_close(&control);
	return err;
}

static int bench_stops(struct gp__bench_run *run, struct resident *r)
{
	int err = 0;

	for (int way = 0; !err && way < GP__KFD_WAYS; way++)
		err = bench_way(run, r, (enum gp__kfd_way)way);
	return err;
}

/*
 * Packets
 */

static void let_machine_sleep(void *arg)
{
	(void)arg;
	gp__sleep_ns(20 * GP__MS);
}

static int bench_packets(struct gp__bench_run *run, struct resident *c)
{
	struct pingpong futex;
	struct gp__bench_pair pair;
	struct gp__stats ns;
	int err = pingpong_start(&futex, true);

	if (err)
		return gp__bench_fail(run, err, "starting a second thread");
	err = gp__bench_compare(run, barrier_round_trip, c, pingpong_round_trip, &futex, &pair);
	if (!err) {
		add_row(run, "barrier packet", "hot", 0, pair.a_ns.median, -1);
		add_row(run, "futex ping-pong", "hot", 0, pair.b_ns.median, -1);
		err = gp__bench_cold(run, barrier_round_trip, let_machine_sleep, c, &ns);
	}
	if (!err) {
		add_row(run, "barrier packet", "cold", 0, ns.median, -1);
		err = gp__bench_cold(run, pingpong_round_trip, let_machine_sleep, &futex, &ns);
	}
	pingpong_end(&futex);
	if (err)
		return gp__bench_fail(run, err, "sending barrier packets");
	add_row(run, "futex ping-pong", "cold", 0, ns.median, -1);
	err = gp__bench_hot(run, dispatch_batch, c, &ns);
	if (err)
		return gp__bench_fail(run, err, "dispatching");
	add_row(run, "dispatch of one wave", "hot", 1, ns.median / BATCH, -1);
	return 0;
}

/*
 * Bursts: small kernels on several queues with short gaps, like those of a language model, on an
 * idle host and beside two busy threads.
 */

#define BURST_QUEUES 4
#define BURST_KERNELS 32u
#define BURST_GAP_NS GP__MS
#define BUSY_LOOPS 2

struct bursts {
	struct resident *r;
	struct gp__kfd_queue queue[BURST_QUEUES];
	int nr_queues;
	_Atomic bool over;
};

static int burst(void *arg, uint64_t times)
{
	struct bursts *b = arg;
	struct gp__kfd_dispatch d = { .kernel = resident_kernel(b->r, "knock.kd"),
				      .kernarg = &b->r->gate_args->open,
				      .grid = 64,
				      .group = 64 };
	int err = 0;

	while (!err && times--) {
		atomic_store(&b->r->signal->value, BURST_KERNELS);
		for (unsigned int i = 0; i < BURST_KERNELS; i++)
			gp__kfd_launch(&b->queue[i % BURST_QUEUES], &d, b->r->signal);
		err = resident_wait(b->r->signal, 1);
	}
	return err;
}

static void leave_a_gap(void *arg)
{
	(void)arg;
	gp__sleep_ns(BURST_GAP_NS);
}

static void *be_busy(void *arg)
{
	struct bursts *b = arg;

	while (!atomic_load(&b->over))
		;
	return NULL;
}

/* Measures beside so many busy loops. 0 or -errno. */
static int measure_bursts(struct gp__bench_run *run, struct bursts *b, int loops)
{
	pthread_t thread[BUSY_LOOPS];
	struct gp__stats ns;
	int err = 0, started = 0;

	atomic_store(&b->over, false);
	while (!err && started < loops) {
		err = -pthread_create(&thread[started], NULL, be_busy, b);
		started += !err;
	}
	if (!err)
		err = gp__bench_cold(run, burst, leave_a_gap, b, &ns);
	atomic_store(&b->over, true);
	while (started--)
		pthread_join(thread[started], NULL);
	if (!err)
		add_row(run, "burst of 32 kernels on 4 queues", loops ? "busy host" : "idle host",
			1, ns.median, -1);
	return err;
}

static int bench_bursts(struct gp__bench_run *run, struct resident *r)
{
	struct bursts b = { .r = r };
	int err = 0;

	while (!err && b.nr_queues < BURST_QUEUES) {
		err = gp__kfd_queue_create(&r->u, &b.queue[b.nr_queues], 64);
		b.nr_queues += !err;
	}
	if (!err)
		err = measure_bursts(run, &b, 0);
	if (!err)
		err = measure_bursts(run, &b, BUSY_LOOPS);
	while (b.nr_queues--)
		gp__kfd_queue_destroy(&b.queue[b.nr_queues]);
	return err ? gp__bench_fail(run, err, "bursts of small kernels") : 0;
}

/*
 * An idle machine
 */

/* CPU time in nanoseconds; 0: unknown. */
static uint64_t cpu_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec ts;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * GP__S + (uint64_t)ts.tv_nsec;
}

static void bench_idle(struct gp__bench_run *run)
{
	pid_t pid = bench_machine_pid();
	uint64_t start, cpu, seconds = gp__bench_quick(run) ? 1 : 5;
	double percent;

	gp__sleep_ns(500 * GP__MS); /* let the machine become idle */
	start = gp__clock_ns();
	cpu = cpu_ns(pid);
	if (!cpu)
		return;
	gp__sleep_ns((uint64_t)seconds * GP__S);
	cpu = cpu_ns(pid) - cpu;
	percent = 100.0 * (double)cpu / (double)(gp__clock_ns() - start);
	gp__bench_summary(run, "idle_cpu_percent", json_real(percent),
			  "an idle machine with an idle client on it: %.3f %% of a CPU", percent);
}

int bench_emu_kfd(struct gp__bench_run *run)
{
	struct resident r;
	int err;

	if (!bench_is_on_machine())
		return gp__bench_fail(run, bench_run_on_machine(CUS, "hws"),
				      "no machine can be started");
	gp__bench_device(run, "emulated gfx90a, " CUS " compute units");
	err = resident_begin(&r, GP_EMU_KERNELS);
	if (err)
		err = gp__bench_fail(run, err, "a queue on the emulated machine");
	if (!err)
		err = bench_packets(run, &r);
	if (!err)
		err = bench_bursts(run, &r);
	if (!err)
		err = bench_stops(run, &r);
	if (!err)
		err = bench_emu_copies(run, &r);
	if (!err)
		err = bench_emu_buffers(run, &r);
	if (!err)
		bench_idle(run);
	resident_end(&r);
	return err;
}

#else

int bench_emu_kfd(struct gp__bench_run *run)
{
	return gp__bench_fail(run, -ENOENT, BENCH_NO_KERNELS);
}

#endif
