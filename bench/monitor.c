// SPDX-License-Identifier: MIT
/*
 * Measures the cost of polling: the delay from the arrival of work in a ring until the monitor's
 * thread reports it, and the CPU time of the thread, by the number of queues and the period. The
 * rings are memory of this process, so no GPU is needed.
 *
 * "busy", "idle" and "calm" are the three periods of the monitor (monitor.h). Work arrives at
 * random times, one piece after the other; the CPU time is measured while none arrives. The monitor
 * polls less often than its period if that would exceed its limit, a sixteenth of a CPU. For "calm"
 * no arrivals are measured: the delay is half the period on average.
 */
#include "benches.h"

#include "base/clock.h"
#include "base/hist.h"
#include "base/json.h"
#include "device/kfd/monitor.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
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
#define PATIENCE_S 10

static const struct state {
	const char *name;
	uint64_t period_ns;
	unsigned int arrivals;
	uint64_t silence_ns; /* for which the CPU time is measured */
} states[] = {
	{ "busy", GP__KFD_BUSY_PERIOD_NS, 1000, GP__S },
	{ "idle", GP__KFD_IDLE_PERIOD_NS, 400, GP__S },
	{ "calm", GP__KFD_CALM_PERIOD_NS, 0, 2 * GP__KFD_CALM_PERIOD_NS },
};
#define NR_STATES (sizeof(states) / sizeof(states[0]))
#define QUICK 10 /* times less of it */
#define ARRIVALS_NS (2 * GP__S) /* for all of them, on a busy host */

struct stage {
	struct gp__kfd_monitor *monitor;
	uint64_t seed;
	size_t nr;
	_Atomic uint64_t *memory; /* a page of indices and one of packets for each queue */
	sem_t seen;
	uint64_t seen_at; /* written before the semaphore */
};

static void on_ready(void *data, void *cookie, uint64_t pending, uint64_t now)
{
	struct stage *s = data;

	(void)cookie;
	(void)pending;
	s->seen_at = now;
	sem_post(&s->seen);
}

static bool on_idle(void *data, void *cookie, uint64_t now)
{
	on_ready(data, cookie, 0, now);
	return true;
}

static _Atomic uint64_t *page_of(const struct stage *s, size_t i)
{
	return s->memory + 2 * i * (PAGE / sizeof(*s->memory));
}

static _Atomic uint64_t *packets_of(const struct stage *s, size_t i)
{
	return page_of(s, i) + PAGE / sizeof(*s->memory);
}

static int add_queues(struct stage *s)
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
	}
	return 0;
}

static void end(struct stage *s)
{
	if (s->monitor)
		gp__kfd_monitor_destroy(s->monitor);
	if (s->memory)
		munmap((void *)s->memory, s->nr * 2 * PAGE);
	sem_destroy(&s->seen);
}

static int begin(struct stage *s, size_t nr, uint64_t period_ns)
{
	struct gp__kfd_monitor_options o = { .busy_period_ns = period_ns,
					     .idle_period_ns = period_ns,
					     .calm_period_ns = period_ns,
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
	}
	err = gp__kfd_monitor_create(&o, &s->monitor);
	return err ? err : add_queues(s);
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

/* Work arrives in one queue, is seen, ends, and its end is seen. */
static int arrive(struct stage *s, uint64_t period_ns, struct gp__hist *seen_ns)
{
	size_t i = draw(s, s->nr);
	_Atomic uint64_t *page = page_of(s, i);
	uint64_t n = atomic_load(page + WRITE_WORD), came_at;
	int err;

	gp__sleep_ns(period_ns / 4 + draw(s, 2 * period_ns));
	atomic_store(packets_of(s, i) + n % PACKETS * PACKET_WORDS + SIGNAL_WORD,
		     (uint64_t)(page + SIGNAL_AT));
	atomic_store(page + SIGNAL_AT + 1, 1);
	came_at = gp__clock_ns();
	atomic_store(page + WRITE_WORD, n + 1);
	err = wait_until_seen(s);
	if (err)
		return err;
	gp__hist_record(seen_ns, s->seen_at - came_at);
	atomic_store(page + READ_WORD, n + 1);
	atomic_store(page + SIGNAL_AT + 1, 0);
	return wait_until_seen(s);
}

/*
 * Rows
 */

struct silence {
	double looks_per_s, cpu_percent, cpu_us_per_look;
	bool looked;
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

static void add_row(struct gp__bench_run *run, size_t nr, const char *state, uint64_t period_ns,
		    const struct silence *quiet, const struct gp__hist *seen_ns)
{
	json_t *row = json_pack("{s:I, s:s}", "queues", (json_int_t)nr, "state", state);

	json_object_set_new(row, "period_us",
			    period_ns ? json_real(gp__to_us(period_ns)) : json_null());
	json_object_set_new(row, "looks_per_s", json_real(quiet->looks_per_s));
	gp__json_set_quantile_us(row, "seen_p50_us", seen_ns, 0.5);
	gp__json_set_quantile_us(row, "seen_p99_us", seen_ns, 0.99);
	json_object_set_new(row, "cpu_percent", json_real(quiet->cpu_percent));
	json_object_set_new(row, "cpu_us_per_look",
			    quiet->looked ? json_real(quiet->cpu_us_per_look) : json_null());
	gp__bench_row(run, row);
}

static int measure(struct gp__bench_run *run, size_t nr, const struct state *state,
		   struct silence *quiet)
{
	uint64_t less = gp__bench_quick(run) ? QUICK : 1, end_ns;
	struct gp__hist *seen_ns = calloc(1, sizeof(*seen_ns));
	uint64_t period_ns = state ? state->period_ns : 0;
	struct stage s;
	int err = seen_ns ? begin(&s, nr, period_ns) : -ENOMEM;

	if (!seen_ns)
		return err;
	end_ns = gp__clock_ns() + ARRIVALS_NS / less;
	for (unsigned int i = 0;
	     !err && nr && i < state->arrivals / less && gp__clock_ns() < end_ns; i++)
		err = arrive(&s, period_ns, seen_ns);
	if (!err) {
		*quiet = keep_silent(&s, (state ? state->silence_ns : GP__S) / less);
		add_row(run, nr, state ? state->name : "none", period_ns, quiet, seen_ns);
	}
	end(&s);
	free(seen_ns);
	return err;
}

int bench_monitor(struct gp__bench_run *run)
{
	static const size_t queues[] = { 1, 100, 1000 };
	struct silence quiet, calm = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(queues) / sizeof(queues[0]); i++) {
		for (size_t j = 0; !err && j < NR_STATES; j++) {
			err = measure(run, queues[i], &states[j], &quiet);
			if (!i && j == NR_STATES - 1)
				calm = quiet;
		}
	}
	if (!err)
		err = measure(run, 0, NULL, &quiet);
	if (err)
		return gp__bench_fail(run, err, "looking at rings");
	gp__bench_summary(run, "calm_cpu_percent", json_real(calm.cpu_percent),
			  "polling an idle queue takes %.5f %% of a CPU", calm.cpu_percent);
	return 0;
}
