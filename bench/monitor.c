// SPDX-License-Identifier: MIT
/*
 * Measures the cost of polling: the delay from the arrival of work in a ring until the monitor's
 * thread reports it, and the CPU time of the thread, by the number of queues and the period. The
 * rings are memory of this process, so no GPU is needed.
 *
 * The states are those of a queue, each with the period that the monitor has then (monitor.h): a
 * piece of work has just begun ("busy"); another program is on the GPU ("watched"); none is
 * ("idle"); a hook reports launches ("reported"). Work arrives at random times, one piece after the
 * other, and in idle queues within one period; the CPU time is measured while none arrives. The
 * monitor polls less often than its period if that would exceed its limit, a sixteenth of a CPU.
 */
#include "benches.h"

#include "base/clock.h"
#include "base/hist.h"
#include "base/json.h"
#include "device/kfd/monitor.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u
#define PACKETS (PAGE / 64)
#define PACKET_WORDS 8
#define SIGNAL_WORD 7
/* Words of a queue's page: indices as the runtime has them, and a signal. */
#define WRITE_WORD (0x38 / 8)
#define READ_WORD (0x80 / 8)
#define SIGNAL_AT (0x100 / 8)
/* A page of indices and one of packets. */
#define QUEUE_WORDS (2 * PAGE / sizeof(uint64_t))
#define PATIENCE_S 10

enum kind { NONE, BUSY, WATCHED, IDLE, REPORTED };

static const struct state {
	const char *name;
	uint64_t period_ns; /* 0: no polls */
	unsigned int arrivals;
	uint64_t silence_ns; /* for which the CPU time is measured */
} states[] = {
	[NONE] = { "none", 0, 0, GP__S },
	[BUSY] = { "busy", GP__KFD_BUSY_PERIOD_NS, 1000, GP__S },
	[WATCHED] = { "watched", GP__KFD_IDLE_PERIOD_NS, 400, GP__S },
	[IDLE] = { "idle", GP__KFD_CALM_PERIOD_NS, 0, GP__KFD_CALM_PERIOD_NS + 100 * GP__MS },
	[REPORTED] = { "reported", 0, 0, GP__S / 2 },
};
#define NR_STATES (sizeof(states) / sizeof(states[0]))
#define QUICK 10 /* times less of it */
#define ARRIVALS_NS (2 * GP__S) /* for all of them, on a busy host */
#define SPREAD 100 /* arrivals in one period of idle queues, each in another one */
#define P99_SAMPLES 100

struct stage {
	struct gp__kfd_monitor *monitor;
	uint64_t seed;
	size_t nr;
	_Atomic uint64_t *memory; /* a page of indices and one of packets for each queue */
	sem_t seen;
	uint64_t *came_at; /* of each queue; 0: it does not count */
	struct gp__hist seen_ns; /* the monitor's thread records, before the semaphore */
};

static void on_ready(void *data, void *cookie, uint64_t pending, uint64_t now)
{
	struct stage *s = data;
	size_t i = (size_t)((_Atomic uint64_t *)cookie - s->memory) / QUEUE_WORDS;

	(void)pending;
	if (s->came_at[i])
		gp__hist_record(&s->seen_ns, now - s->came_at[i]);
	sem_post(&s->seen);
}

static bool on_idle(void *data, void *cookie, uint64_t now)
{
	struct stage *s = data;

	(void)cookie;
	(void)now;
	sem_post(&s->seen);
	return true;
}

static _Atomic uint64_t *page_of(const struct stage *s, size_t i)
{
	return s->memory + i * QUEUE_WORDS;
}

static _Atomic uint64_t *packets_of(const struct stage *s, size_t i)
{
	return page_of(s, i) + PAGE / sizeof(*s->memory);
}

static int add_queues(struct stage *s, bool reported)
{
	for (size_t i = 0; i < s->nr; i++) {
		_Atomic uint64_t *page = page_of(s, i);
		const struct gp__kfd_queue_info info = {
			.id = (uint32_t)i,
			.type = GP_KFD_QUEUE_COMPUTE_AQL,
			.ring_bytes = PAGE,
			.ring = (uint64_t)packets_of(s, i),
			.read_index = (uint64_t)(page + READ_WORD),
			.write_index = (uint64_t)(page + WRITE_WORD),
		};
		int err;

		atomic_store(page + READ_WORD, 0); /* so that it is there */
		err = gp__kfd_monitor_add(s->monitor, &info, page);
		if (err)
			return err;
		gp__kfd_monitor_told(s->monitor, page, reported);
	}
	return 0;
}

static void end(struct stage *s)
{
	if (s->monitor)
		gp__kfd_monitor_destroy(s->monitor);
	if (s->memory)
		munmap((void *)s->memory, s->nr * 2 * PAGE);
	free(s->came_at);
	sem_destroy(&s->seen);
}

static int begin(struct stage *s, size_t nr, const struct state *state)
{
	struct gp__kfd_monitor_options o = { .busy_period_ns = state->period_ns,
					     .idle_period_ns = state->period_ns,
					     .ready = on_ready,
					     .idle = on_idle,
					     .data = s };
	int err;

	*s = (struct stage){ .nr = nr, .seed = nr + 1 };
	sem_init(&s->seen, 0, 0);
	if (nr) {
		void *at = mmap(NULL, nr * 2 * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			return -errno;
		s->memory = at;
		s->came_at = calloc(nr, sizeof(*s->came_at));
		if (!s->came_at)
			return -ENOMEM;
	}
	err = gp__kfd_monitor_create(&o, &s->monitor);
	return err ? err : add_queues(s, state == &states[REPORTED]);
}

static uint64_t draw(struct stage *s, uint64_t n)
{
	s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
	return (s->seed >> 33) % n;
}

static int wait_until_seen(struct stage *s)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	while (sem_timedwait(&s->seen, &until)) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* @counts: the time until it is seen. */
static void begin_work(struct stage *s, size_t i, bool counts)
{
	_Atomic uint64_t *page = page_of(s, i);
	uint64_t n = atomic_load(page + WRITE_WORD);

	atomic_store(packets_of(s, i) + n % PACKETS * PACKET_WORDS + SIGNAL_WORD,
		     (uint64_t)(page + SIGNAL_AT));
	atomic_store(page + SIGNAL_AT + 1, 1);
	s->came_at[i] = counts ? gp__clock_ns() : 0;
	atomic_store(page + WRITE_WORD, n + 1);
}

static void end_work(struct stage *s, size_t i)
{
	_Atomic uint64_t *page = page_of(s, i);

	atomic_store(page + READ_WORD, atomic_load(page + WRITE_WORD));
	atomic_store(page + SIGNAL_AT + 1, 0);
}

/* Work arrives in one queue, is seen, ends, and its end is seen. */
static int arrive(struct stage *s, uint64_t period_ns)
{
	size_t i = draw(s, s->nr);
	int err;

	gp__sleep_ns(period_ns / 4 + draw(s, 2 * period_ns));
	begin_work(s, i, true);
	err = wait_until_seen(s);
	if (err)
		return err;
	end_work(s, i);
	return wait_until_seen(s);
}

static int arrive_one_by_one(struct stage *s, const struct state *state, uint64_t less)
{
	uint64_t end_ns = gp__clock_ns() + ARRIVALS_NS / less;
	int err = 0;

	for (unsigned int i = 0; !err && i < state->arrivals / less && gp__clock_ns() < end_ns; i++)
		err = arrive(s, state->period_ns);
	return err;
}

/* A look takes as long to come as all arrivals. */
static int arrive_spread(struct stage *s, uint64_t period_ns)
{
	int err = 0;

	for (size_t i = 0; i < SPREAD; i++) {
		gp__sleep_ns(period_ns / SPREAD);
		begin_work(s, i, true);
	}
	for (size_t i = 0; i < SPREAD && !err; i++)
		err = wait_until_seen(s);
	return err;
}

/*
 * Rows
 */

struct silence {
	double looks_per_s, cpu_percent, cpu_us_per_look;
	bool looked; /* else there is no CPU time to speak of */
};

static struct silence keep_silent(struct stage *s, uint64_t ns)
{
	struct gp__kfd_monitor_stats before, after;
	uint64_t start, looks, cpu;
	double passed;

	gp__sleep_ns(20 * GP__MS); /* let a poll in progress end */
	gp__kfd_monitor_stats(s->monitor, &before);
	start = gp__clock_ns();
	gp__sleep_ns(ns);
	gp__kfd_monitor_stats(s->monitor, &after);
	passed = (double)(gp__clock_ns() - start);
	looks = after.looks - before.looks;
	cpu = after.cpu_ns - before.cpu_ns;
	return (struct silence){
		.looks_per_s = (double)looks * GP__S / passed,
		.cpu_percent = 100.0 * (double)cpu / passed,
		.looked = looks > 0,
		.cpu_us_per_look = looks ? gp__to_us(cpu) / (double)looks : 0,
	};
}

static void set_cost(json_t *row, const char *key, const struct silence *quiet, double value)
{
	json_object_set_new(row, key, quiet->looked ? json_real(value) : json_null());
}

static void add_row(struct gp__bench_run *run, const struct stage *s, const struct state *state,
		    const struct silence *quiet)
{
	json_t *row = json_pack("{s:I, s:s}", "queues", (json_int_t)s->nr, "state", state->name);
	uint64_t period_ns = state->period_ns;

	json_object_set_new(row, "period_us",
			    period_ns ? json_real(gp__to_us(period_ns)) : json_null());
	json_object_set_new(row, "looks_per_s", json_real(quiet->looks_per_s));
	gp__json_set_quantile_us(row, "seen_p50_us", &s->seen_ns, 0.5);
	gp__json_set_quantile_us(row, "seen_p99_us", &s->seen_ns, 0.99);
	if (s->seen_ns.count < P99_SAMPLES)
		json_object_set_new(row, "seen_p99_us", json_null());
	set_cost(row, "cpu_percent", quiet, quiet->cpu_percent);
	set_cost(row, "cpu_us_per_look", quiet, quiet->cpu_us_per_look);
	gp__bench_row(run, row);
}

/* Whoever does not poll still looks when a queue is added. */
static void wait_for_rest(struct stage *s)
{
	struct gp__kfd_monitor_stats before, after;

	gp__kfd_monitor_stats(s->monitor, &after);
	do {
		before = after;
		gp__sleep_ns(50 * GP__MS);
		gp__kfd_monitor_stats(s->monitor, &after);
	} while (after.looks != before.looks);
}

/* While one of the busy queues has work. */
static int measure_silence(struct stage *s, const struct state *state, uint64_t less,
			   struct silence *quiet)
{
	bool is_busy = state == &states[BUSY];
	int err = 0;

	if (is_busy) {
		begin_work(s, 0, false);
		err = wait_until_seen(s);
	} else if (!state->period_ns) {
		wait_for_rest(s);
	}
	if (err)
		return err;
	*quiet = keep_silent(s, state->silence_ns / less);
	if (!is_busy)
		return 0;
	end_work(s, 0);
	return wait_until_seen(s);
}

static int measure(struct gp__bench_run *run, size_t nr, const struct state *state,
		   struct silence *quiet)
{
	uint64_t less = gp__bench_quick(run) ? QUICK : 1;
	struct stage *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	err = begin(s, nr, state);
	if (!err)
		err = measure_silence(s, state, less, quiet);
	if (!err && nr && state->arrivals)
		err = arrive_one_by_one(s, state, less);
	else if (!err && nr >= SPREAD && state == &states[IDLE] && less == 1)
		err = arrive_spread(s, state->period_ns);
	if (!err)
		add_row(run, s, state, quiet);
	end(s);
	free(s);
	return err;
}

static void summarize(struct gp__bench_run *run, const struct silence quiet[NR_STATES])
{
	static const enum kind kinds[] = { BUSY, WATCHED, IDLE };
	char text[sizeof(kinds) / sizeof(kinds[0])][16];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct silence *q = &quiet[kinds[i]];

		if (q->looked)
			snprintf(text[i], sizeof(text[i]), "%.5f %%", q->cpu_percent);
		else
			snprintf(text[i], sizeof(text[i]), "-");
	}
	gp__bench_summary(run, "idle_cpu_percent",
			  quiet[IDLE].looked ? json_real(quiet[IDLE].cpu_percent) : json_null(),
			  "polling one queue takes of a CPU: busy %s, watched %s, idle %s", text[0],
			  text[1], text[2]);
}

int bench_monitor(struct gp__bench_run *run)
{
	static const size_t queues[] = { 1, 100, 1000 };
	struct silence quiet, one[NR_STATES] = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(queues) / sizeof(queues[0]); i++) {
		for (size_t j = BUSY; !err && j < NR_STATES; j++) {
			err = measure(run, queues[i], &states[j], &quiet);
			if (!i)
				one[j] = quiet;
		}
	}
	if (!err)
		err = measure(run, 0, &states[NONE], &quiet);
	if (err)
		return gp__bench_fail(run, err, "looking at rings");
	summarize(run, one);
	return 0;
}
