/* SPDX-License-Identifier: MIT */
/*
 * What gpreempt bench launch has measured: a program of the HSA runtime that launches small
 * kernels.
 *
 * Usage: hsa_launches cost BATCHES	how long a kernel takes, and to launch it alone
 *        hsa_launches seen TIMES	how long after a doorbell gpreemptd has acted upon it
 *        hsa_launches rest		is on the GPU, and does nothing
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/cast.h"
#include "bench/tennis.h"
#include "hsa_lab.h"

enum {
	PACKETS = 1024,
	BATCH = 200,
	CELLS = 64,
	SAMPLES_MAX = 100000,
	PATIENCE_S = 30,
	SLOTS = 8, /* more queues than there are */
};

struct stir_arguments {
	uint32_t *to;
	const uint32_t *from;
	uint32_t with, pad;
};

struct march_arguments {
	uint64_t *state;
	uint32_t rounds, pad;
	uint32_t *progress;
	volatile uint32_t *gate;
};

struct bench {
	struct lab lab;
	struct lab_kernel stir;
	struct stir_arguments *args;
};

static void open_bench(struct bench *b)
{
	uint32_t *cells;

	lab_open(&b->lab);
	b->stir = lab_find(&b->lab, "stir");
	cells = lab_alloc(&b->lab, b->lab.fine, CELLS * sizeof(*cells));
	b->args = lab_alloc(&b->lab, b->lab.kernarg, sizeof(*b->args));
	*b->args = (struct stir_arguments){ cells, cells, 1, 0 };
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double at(uint64_t *sample, int n, double part)
{
	qsort(sample, (size_t)n, sizeof(*sample), compare);
	return (double)sample[(int)(part * (n - 1) + 0.5)];
}

/*
 * Cost
 */

/* Kernels in order, of which the last tells the end: the times of all, and of launching them. */
static void run_batch(struct bench *b, hsa_queue_t *queue, uint64_t *all, uint64_t *launching)
{
	hsa_signal_t done = lab_signal(1);
	uint64_t from = gp__clock_ns();

	for (int i = 0; i < BATCH; i++)
		lab_dispatch(queue, &b->stir, lab_line_in_order(CELLS), b->args,
			     i == BATCH - 1 ? done : (hsa_signal_t){ 0 });
	*launching = gp__clock_ns() - from;
	lab_wait(done, HSA_WAIT_STATE_ACTIVE, "a batch");
	*all = gp__clock_ns() - from;
	lab_must(hsa_signal_destroy(done));
}

static void measure_cost(struct bench *b, int batches)
{
	static uint64_t all[SAMPLES_MAX], launching[SAMPLES_MAX];
	hsa_queue_t *queue = lab_queue(&b->lab, PACKETS);

	run_batch(b, queue, &all[0], &launching[0]); /* for once everything is made */
	for (int i = 0; i < batches; i++)
		run_batch(b, queue, &all[i], &launching[i]);
	printf("{\"kernel_ns\": %.1f, \"launch_ns\": %.1f}\n", at(all, batches, 0.5) / BATCH,
	       at(launching, batches, 0.5) / BATCH);
	lab_must(hsa_queue_destroy(queue));
}

/*
 * Doorbells
 */

static const struct gp__wire_down *down;
static struct gp__wire_up *up;

/* The first order of this kind that was given after @since; 0: none was. */
static uint64_t order_after(enum gp__wire_verb verb, uint64_t since)
{
	uint64_t first = 0;

	for (int i = 0; i < SLOTS; i++) {
		uint64_t issued = atomic_load(&down->slot[i].issued_ns);

		if (gp__wire_order_verb(atomic_load(&down->slot[i].order)) == verb &&
		    issued > since && (!first || issued < first))
			first = issued;
	}
	return first;
}

static uint64_t await_order(enum gp__wire_verb verb, uint64_t since)
{
	uint64_t end = gp__clock_ns() + PATIENCE_S * 1000000000ull, first;

	while (!(first = order_after(verb, since))) {
		lab_check(gp__clock_ns() < end, "gpreemptd gives no order");
		usleep(100);
	}
	return first;
}

/* When the agent has told of the latest work. */
static uint64_t last_told(void)
{
	uint64_t last = 0;

	for (int i = 0; i < SLOTS; i++) {
		uint64_t told = atomic_load(&up->slot[i].seen_ns);

		if (told > last)
			last = told;
	}
	return last;
}

static void await_daemon(void)
{
	for (int i = 0; !cast_find_wire(&up, &down); i++) {
		lab_check(i < PATIENCE_S * 100, "there is no gpreemptd");
		usleep(10000);
	}
}

/* A kernel that goes on until its gate is opened. */
struct march {
	struct lab_kernel kernel;
	struct march_arguments *args;
	uint32_t *gate;
};

static struct march make_march(struct bench *b)
{
	uint32_t *words = lab_alloc(&b->lab, b->lab.fine, 4096);
	struct march m = { lab_find(&b->lab, "march"),
			   lab_alloc(&b->lab, b->lab.kernarg, sizeof(*m.args)), words + 1 };

	memset(words, 0, 4096);
	*m.args = (struct march_arguments){ (uint64_t *)(words + 64), 1, 0, words, m.gate };
	return m;
}

static void start_march(struct march *m, hsa_queue_t *queue, hsa_signal_t done)
{
	__atomic_store_n(m->gate, 0, __ATOMIC_SEQ_CST);
	lab_dispatch(queue, &m->kernel, lab_line(64), m->args, done);
}

static void end_march(struct march *m, hsa_signal_t done)
{
	__atomic_store_n(m->gate, 1, __ATOMIC_SEQ_CST);
	lab_wait(done, HSA_WAIT_STATE_BLOCKED, "a kernel whose gate is open");
	lab_must(hsa_signal_destroy(done));
}

/* Once more into a queue that rests: how long until the agent tells, and until there is an order.
 */
static void ring_once(struct march *m, hsa_queue_t *urgent, uint64_t *telling, uint64_t *seeing)
{
	hsa_signal_t done = lab_signal(1);
	uint64_t from = gp__clock_ns(), told, order;

	start_march(m, urgent, done);
	told = last_told();
	order = await_order(GP__WIRE_STOP, from);
	end_march(m, done);
	await_order(GP__WIRE_RUN, order);
	*telling = told - from;
	*seeing = order - told;
}

static uint64_t wake_once(struct table_tennis *tennis)
{
	uint64_t from = gp__clock_ns();

	lab_check(!tennis_round_trip(tennis, 1), "no futex");
	return (gp__clock_ns() - from) / 2;
}

/* A queue that others give way to and one with work that does not end, which is stopped for it. */
static void measure_seen(struct bench *b, int times)
{
	static uint64_t told[SAMPLES_MAX], seen[SAMPLES_MAX], woken[SAMPLES_MAX];
	hsa_queue_t *urgent = lab_queue(&b->lab, PACKETS), *patient = lab_queue(&b->lab, PACKETS);
	struct march work = make_march(b), urgent_work = make_march(b);
	hsa_signal_t done = lab_signal(1);
	struct table_tennis tennis;

	lab_check(!tennis_start(&tennis, true), "no thread can be made");
	lab_must(hsa_amd_queue_set_priority(urgent, HSA_AMD_QUEUE_PRIORITY_HIGH));
	start_march(&work, patient, done);
	await_daemon();
	ring_once(&urgent_work, urgent, &told[0], &seen[0]);
	for (int i = 0; i < times; i++) {
		usleep(1000); /* long enough for all to sleep */
		woken[i] = wake_once(&tennis);
		ring_once(&urgent_work, urgent, &told[i], &seen[i]);
	}
	end_march(&work, done);
	tennis_end(&tennis);
	printf("{\"told_p50_ns\": %.0f, \"told_p99_ns\": %.0f, \"seen_p50_ns\": %.0f, "
	       "\"seen_p99_ns\": %.0f, \"futex_p50_ns\": %.0f, \"futex_p99_ns\": %.0f}\n",
	       at(told, times, 0.5), at(told, times, 0.99), at(seen, times, 0.5),
	       at(seen, times, 0.99), at(woken, times, 0.5), at(woken, times, 0.99));
	lab_must(hsa_queue_destroy(urgent));
	lab_must(hsa_queue_destroy(patient));
}

int main(int argc, char **argv)
{
	int times = argc > 2 ? atoi(argv[2]) : 0;
	static struct bench b;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* none of them outlives the benchmark */
	lab_check(argc > 1 && times >= 0 && times <= SAMPLES_MAX,
		  "usage: hsa_launches cost BATCHES | seen TIMES | rest");
	open_bench(&b);
	if (!strcmp(argv[1], "cost") && times) {
		measure_cost(&b, times);
	} else if (!strcmp(argv[1], "seen") && times) {
		measure_seen(&b, times);
	} else {
		lab_queue(&b.lab, PACKETS);
		puts("ready");
		fflush(stdout);
		pause();
	}
	lab_close(&b.lab);
	return 0;
}
