/* SPDX-License-Identifier: MIT */
/*
 * The program that gpreempt bench launch measures: it launches small kernels through the HSA
 * runtime.
 *
 * Usage: hsa_launches cost BATCHES	the time of a kernel, and of launching it alone
 *        hsa_launches seen TIMES	when gpreemptd is notified of a doorbell, and has given an
 * order hsa_launches unwatched TIMES	launches while the monitor's thread is stopped hsa_launches
 * rest		is on the GPU, and does nothing
 */
#include <glob.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/latency.h"
#include "bench/stage.h"
#include "hsa_test.h"

enum {
	PACKETS = 1024,
	BATCH = 1000,
	CELLS = 64,
	SAMPLES_MAX = 100000,
	PATIENCE_S = 30,
	SLOTS = 8, /* more queues than there are */
	REST_US = 1000, /* long enough for all to sleep */
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

/*
 * Kernels in order, of which the last signals the end: the total time, and that of launching them.
 */
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

static bool scan(const char *folder, const char *file, const char *format, void *to)
{
	char path[128];
	bool found;
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	in = fopen(path, "re");
	found = in && fscanf(in, format, to) == 1;
	if (in)
		fclose(in);
	return found;
}

/* CPU time of gpreempt's threads in this program so far. */
static uint64_t ours_ns(void)
{
	glob_t threads = { 0 };
	uint64_t sum = 0;

	glob("/proc/self/task/*", 0, NULL, &threads);
	for (size_t i = 0; i < threads.gl_pathc; i++) {
		uint64_t ns = 0;
		char name[16];

		if (scan(threads.gl_pathv[i], "comm", "%15s", name) && !strncmp(name, "gp-", 3) &&
		    scan(threads.gl_pathv[i], "schedstat", "%" SCNu64, &ns))
			sum += ns;
	}
	globfree(&threads);
	return sum;
}

static void measure_cost(struct bench *b, int batches)
{
	static uint64_t all[SAMPLES_MAX], launching[SAMPLES_MAX];
	hsa_queue_t *queue = lab_queue(&b->lab, PACKETS);
	uint64_t from, ours;

	run_batch(b, queue, &all[0], &launching[0]); /* for once everything is made */
	from = gp__clock_ns();
	ours = ours_ns();
	for (int i = 0; i < batches; i++)
		run_batch(b, queue, &all[i], &launching[i]);
	ours = ours_ns() - ours;
	printf("{\"kernel_ns\": %.1f, \"launch_ns\": %.1f, \"threads_percent\": %.4f}\n",
	       at(all, batches, 0.5) / BATCH, at(launching, batches, 0.5) / BATCH,
	       100.0 * (double)ours / (double)(gp__clock_ns() - from));
	lab_must(hsa_queue_destroy(queue));
}

/*
 * Doorbells
 */

static const struct gp__wire_order_page *order_page;
static struct gp__wire_status_page *status_page;

/* The first order of this kind after @since; 0: none. */
static uint64_t order_after(enum gp__wire_verb verb, uint64_t since)
{
	uint64_t first = 0;

	for (int i = 0; i < SLOTS; i++) {
		uint64_t issued = atomic_load(&order_page->slot[i].issued_ns);

		if (gp__wire_order_verb(atomic_load(&order_page->slot[i].order)) == verb &&
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

/* The time when the agent has reported the latest work. */
static uint64_t last_told(void)
{
	uint64_t last = 0;

	for (int i = 0; i < SLOTS; i++) {
		uint64_t told = atomic_load(&status_page->slot[i].seen_ns);

		if (told > last)
			last = told;
	}
	return last;
}

static void await_daemon(void)
{
	for (int i = 0; !actor_find_pages(&status_page, &order_page); i++) {
		lab_check(i < PATIENCE_S * 100, "there is no gpreemptd");
		usleep(10000);
	}
}

/* A kernel that runs until its gate is opened. */
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

/* A process that sleeps until it is woken, as the daemon does, and records when it was. */
struct sleeper {
	pid_t pid;
	_Atomic uint32_t calls;
	_Atomic uint64_t woken_ns;
};

static _Noreturn void sleep_and_note(struct sleeper *s)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	gp__prefer_latency();
	for (uint32_t seen = 0;; seen++) {
		while (atomic_load(&s->calls) == seen)
			syscall(SYS_futex, &s->calls, FUTEX_WAIT, seen, NULL, NULL, 0);
		atomic_store(&s->woken_ns, gp__clock_ns());
	}
}

static struct sleeper *start_sleeper(void)
{
	struct sleeper *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	lab_check(s != MAP_FAILED, "no memory for a process that sleeps");
	pid = fork();
	lab_check(pid >= 0, "no process can be made");
	if (!pid)
		sleep_and_note(s);
	s->pid = pid;
	return s;
}

/* Like ringing a doorbell: the woken thread continues, and its results are read later. */
static uint64_t wake_once(struct sleeper *s)
{
	uint64_t from = gp__clock_ns(), woken;

	atomic_fetch_add(&s->calls, 1);
	syscall(SYS_futex, &s->calls, FUTEX_WAKE, 1, NULL, NULL, 0);
	while ((woken = atomic_load(&s->woken_ns)) < from)
		usleep(100);
	return woken - from;
}

struct sample {
	uint64_t telling, told, ordering, waking;
};

/*
 * First a launch into an idle queue: the time until the agent reports it, and until there is an
 * order. Then into the same queue, which has work, so that nothing is reported: another process is
 * woken directly after the doorbell instead. The machine does the same for both doorbells.
 */
static void ring_once(struct march *m, hsa_queue_t *urgent, struct sleeper *sleeper,
		      struct sample *s)
{
	hsa_signal_t done = lab_signal(1), again = lab_signal(1);
	uint64_t from = gp__clock_ns(), order;

	start_march(m, urgent, done);
	s->told = last_told();
	order = await_order(GP__WIRE_HOLD, from);
	s->telling = s->told - from;
	s->ordering = order - s->told;
	usleep(REST_US);
	lab_dispatch(urgent, &m->kernel, lab_line(64), m->args, again);
	s->waking = wake_once(sleeper);
	end_march(m, done);
	end_march(m, again);
	await_order(GP__WIRE_RELEASE, order);
}

static void print_hop(const char *name, uint64_t *ns, int times)
{
	printf("\"%s_p50_ns\": %.0f, \"%s_p99_ns\": %.0f, ", name, at(ns, times, 0.5), name,
	       at(ns, times, 0.99));
}

static void print_samples(const struct sample *s, int times)
{
	static uint64_t telling[SAMPLES_MAX], ordering[SAMPLES_MAX], waking[SAMPLES_MAX];

	for (int i = 0; i < times; i++) {
		telling[i] = s[i].telling;
		ordering[i] = s[i].ordering;
		waking[i] = s[i].waking;
	}
	putchar('{');
	print_hop("told", telling, times);
	print_hop("order", ordering, times);
	print_hop("futex", waking, times);
	printf("\"told_at\": [");
	for (int i = 0; i < times; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)s[i].told);
	puts("]}");
}

/* An urgent queue, and one with endless work, which is stopped for it. */
static void measure_seen(struct bench *b, struct sleeper *sleeper, int times)
{
	static struct sample sample[SAMPLES_MAX];
	hsa_queue_t *urgent = lab_queue(&b->lab, PACKETS), *patient = lab_queue(&b->lab, PACKETS);
	struct march work = make_march(b), urgent_work = make_march(b);
	hsa_signal_t done = lab_signal(1);

	lab_must(hsa_amd_queue_set_priority(urgent, HSA_AMD_QUEUE_PRIORITY_HIGH));
	start_march(&work, patient, done);
	await_daemon();
	ring_once(&urgent_work, urgent, sleeper, &sample[0]);
	for (int i = 0; i < times; i++) {
		usleep(REST_US);
		ring_once(&urgent_work, urgent, sleeper, &sample[i]);
	}
	end_march(&work, done);
	print_samples(sample, times);
	lab_must(hsa_queue_destroy(urgent));
	lab_must(hsa_queue_destroy(patient));
}

/*
 * Launches without the monitor
 */

/* The thread of this program with that name. */
static pid_t find_thread(const char *name)
{
	glob_t threads = { 0 };
	pid_t found = 0;
	char comm[16];

	glob("/proc/self/task/*", 0, NULL, &threads);
	for (size_t i = 0; i < threads.gl_pathc && !found; i++) {
		if (scan(threads.gl_pathv[i], "comm", "%15s", comm) && !strcmp(comm, name))
			found = atoi(strrchr(threads.gl_pathv[i], '/') + 1);
	}
	globfree(&threads);
	return found;
}

/* Stops the thread as a debugger does, says so, and waits for its end. */
static _Noreturn void debug_thread(pid_t thread, int stopped, int go)
{
	char word;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(go, &word, 1) == 1 && !ptrace(PTRACE_SEIZE, thread, NULL, NULL) &&
	    !ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) &&
	    waitpid(thread, NULL, __WALL) == thread && write(stopped, "", 1) == 1)
		pause();
	_exit(1);
}

/* The thread goes on when the returned process is killed. */
static pid_t stop_thread(pid_t thread)
{
	int stopped[2], go[2];
	pid_t debugger;
	char word;

	lab_check(!pipe(stopped) && !pipe(go), "no pipe");
	debugger = fork();
	lab_check(debugger >= 0, "no process can be made");
	if (!debugger) {
		close(stopped[0]);
		debug_thread(thread, stopped[1], go[0]);
	}
	close(stopped[1]);
	prctl(PR_SET_PTRACER, debugger);
	lab_check(write(go[1], "", 1) == 1, "no pipe");
	lab_check(read(stopped[0], &word, 1) == 1, "the thread cannot be stopped");
	close(stopped[0]);
	close(go[0]);
	close(go[1]);
	return debugger;
}

/*
 * With the monitor stopped, each launch into an idle queue ends, and the first one is reported and
 * answered. The monitor finds the end of the work when it runs again.
 */
static void launch_unwatched(struct bench *b, int times)
{
	hsa_queue_t *urgent = lab_queue(&b->lab, PACKETS), *patient = lab_queue(&b->lab, PACKETS);
	struct march work = make_march(b);
	hsa_signal_t done = lab_signal(1);
	uint64_t from, order;
	pid_t debugger;

	lab_must(hsa_amd_queue_set_priority(urgent, HSA_AMD_QUEUE_PRIORITY_HIGH));
	start_march(&work, patient, done);
	await_daemon();
	lab_check(find_thread("gp-monitor"), "no monitor's thread");
	debugger = stop_thread(find_thread("gp-monitor"));
	from = gp__clock_ns();
	for (int i = 0; i < times; i++) {
		hsa_signal_t end = lab_signal(1);

		lab_dispatch(urgent, &b->stir, lab_line_in_order(CELLS), b->args, end);
		lab_wait(end, HSA_WAIT_STATE_BLOCKED, "a kernel that the monitor does not see");
		lab_must(hsa_signal_destroy(end));
	}
	order = await_order(GP__WIRE_HOLD, from);
	lab_check(last_told() >= from, "the launch was not reported");
	kill(debugger, SIGKILL);
	waitpid(debugger, NULL, 0);
	await_order(GP__WIRE_RELEASE, order);
	end_march(&work, done);
	printf("%d launches ended, and the first one held the other queue\n", times);
	lab_must(hsa_queue_destroy(urgent));
	lab_must(hsa_queue_destroy(patient));
}

int main(int argc, char **argv)
{
	int times = argc > 2 ? atoi(argv[2]) : 0;
	struct sleeper *sleeper = NULL;
	static struct bench b;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* none of them outlives the benchmark */
	lab_check(argc > 1 && times >= 0 && times <= SAMPLES_MAX,
		  "usage: hsa_launches cost BATCHES | seen TIMES | unwatched TIMES | rest");
	/* Before there are threads and a GPU. */
	if (!strcmp(argv[1], "seen"))
		sleeper = start_sleeper();
	open_bench(&b);
	if (!strcmp(argv[1], "cost") && times) {
		measure_cost(&b, times);
	} else if (!strcmp(argv[1], "seen") && times) {
		measure_seen(&b, sleeper, times);
	} else if (!strcmp(argv[1], "unwatched") && times) {
		launch_unwatched(&b, times);
	} else {
		lab_queue(&b.lab, PACKETS);
		puts("ready");
		fflush(stdout);
		pause();
	}
	lab_close(&b.lab);
	if (sleeper)
		kill(sleeper->pid, SIGKILL);
	return 0;
}
