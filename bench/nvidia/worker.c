// SPDX-License-Identifier: MIT
/*
 * A program on an NVIDIA GPU, for the benchmarks of bench/nvidia/run: it reads commands from
 *standard input, one per line, and answers each with one line of JSON. It uses gpreempt only to
 *announce requests, if told so.
 *
 *	nvworker calibrate BLOCKSxTHREADS...	rounds of the mill in a microsecond, for each shape
 *	nvworker work    BLOCKSxTHREADS ROUNDS	kernels one after the other, until told to stop
 *	nvworker endless BLOCKSxTHREADS		one kernel, until told to stop
 *	nvworker serve   BLOCKSxTHREADS ROUNDS	a kernel, or some, for each request
 *	nvworker watch   PID			looks at that program's CPU time; no GPU is used
 *
 *	go					(work, endless) begin
 *	stop					end, check every result, and say what was done
 *	serve SECONDS FROM_MS TO_MS HINT_US TOUCH_US KERNELS
 *						(serve) requests, so many milliseconds apart; where
 *						HINT_US is not -1 each is announced so long before,
 *						and TOUCH_US before it a kernel that does nothing
 *						has the GPU get the program's context ready
 *	watch PERIOD_US				(watch) looks so often until told to stop, and says
 *when the time had moved, and what looking and only waking up cost quit
 *
 * Kernels do a fixed amount of work rather than run for a fixed time: a kernel that was held has to
 * do it later, and work that was lost or done twice shows in the result.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cuda.h"
#include "gpreempt/gpreempt.h"
#include "mill.h"

#define DEPTH 4 /* kernels handed over ahead */
#define WARM_UP 10 /* requests before those that count */
#define TIMES_MAX 4000000
/* To watch: looks between two looks for a command, and the wakes whose cost is measured. */
#define LOOKS 16
#define WAKES 500

static const char ptx[] =
#include "kernels.inc"
	;

struct worker {
	struct cuda cu;
	void *mill, *endless, *stream, *side;
	uint32_t blocks, threads, n, rounds;
	cu_ptr state, thousands, stop;
	uint32_t *host, *word; /* the state; memory that the copy engine reads from */
	uint64_t turned; /* rounds since the state was initialized */
	uint64_t *times; /* when each kernel had ended, or how long each request took */
	uint64_t *came; /* when each request arrived */
	size_t nr_times;
	char device[128];
};

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "nvworker: %s%s\n", what, why);
	exit(EXIT_FAILURE);
}

#define CHECK(w, call) cuda_check(&(w)->cu, (w)->cu.call, #call)

static void *must(void *p)
{
	if (!p)
		die("there is no memory left", "");
	return p;
}

static uint32_t number(const char *text, uint64_t min, uint64_t max)
{
	uint64_t n;
	char expected[64];

	if (gp__parse_u64(text, min, max, &n)) {
		fprintf(stderr, "nvworker: '%s': expected %s\n", text,
			gp__expect_u64(expected, sizeof(expected), min, max));
		exit(2);
	}
	return (uint32_t)n;
}

static void parse_shape(struct worker *w, const char *text)
{
	char blocks[16];
	const char *x = strchr(text, 'x');

	if (!x || (size_t)(x - text) >= sizeof(blocks))
		die("expected BLOCKSxTHREADS, such as 64x64, not ", text);
	memcpy(blocks, text, (size_t)(x - text));
	blocks[x - text] = '\0';
	w->blocks = number(blocks, 1, 65535);
	w->threads = number(x + 1, 1, 1024);
	w->n = w->blocks * w->threads;
}

/*
 * The GPU
 */

static void open_gpu(struct worker *w)
{
	const char *why = cuda_load(&w->cu);
	void *context, *module;
	int device;

	if (why)
		die("cannot work: ", why);
	CHECK(w, init(0));
	CHECK(w, device_get(&device, 0));
	CHECK(w, device_name(w->device, sizeof(w->device), device));
	CHECK(w, context_retain(&context, device));
	CHECK(w, context_set(context));
	CHECK(w, module_load(&module, ptx));
	CHECK(w, module_function(&w->mill, module, "mill"));
	CHECK(w, module_function(&w->endless, module, "endless"));
	CHECK(w, stream_create(&w->stream, CU_STREAM_NON_BLOCKING));
	CHECK(w, stream_create(&w->side, CU_STREAM_NON_BLOCKING));
	CHECK(w, host_alloc((void **)&w->word, sizeof(*w->word)));
}

static void new_state(struct worker *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		w->host[i] = mill_seed(i);
	CHECK(w, to_device(w->state, w->host, w->n * sizeof(*w->host)));
	/* It returns when the memory may be used again, which is before the GPU has all of it. */
	CHECK(w, stream_sync(NULL));
	w->turned = 0;
}

static void make_room(struct worker *w)
{
	w->host = must(calloc(w->n, sizeof(*w->host)));
	w->times = must(calloc(TIMES_MAX, sizeof(*w->times)));
	w->came = must(calloc(TIMES_MAX, sizeof(*w->came)));
	CHECK(w, alloc(&w->state, w->n * sizeof(*w->host)));
	CHECK(w, alloc(&w->thousands, w->n * sizeof(*w->host)));
	CHECK(w, alloc(&w->stop, sizeof(uint32_t)));
	new_state(w);
}

static void turn(struct worker *w, uint32_t rounds)
{
	void *args[] = { &w->state, &rounds };

	CHECK(w, launch(w->mill, w->blocks, 1, 1, w->threads, 1, 1, 0, w->stream, args, NULL));
	w->turned += rounds;
}

static bool is_right(struct worker *w)
{
	CHECK(w, to_host(w->host, w->state, w->n * sizeof(*w->host)));
	return mill_wrong(w->host, w->n, w->turned) == w->n;
}

/* How many kernels a thread has missed or run twice; OFF_MAX: it is wrong otherwise. */
#define OFF_MAX 100

static int kernels_off(const struct worker *w, uint32_t id)
{
	for (int off = -OFF_MAX + 1; off < OFF_MAX; off++) {
		uint64_t rounds = w->turned + (uint64_t)((int64_t)off * w->rounds);

		if (w->host[id] == mill_after(mill_seed(id), rounds))
			return off;
	}
	return OFF_MAX;
}

/* Prints the differences that is_right() has found. */
static void print_right(const struct worker *w, bool right)
{
	uint32_t first = mill_wrong(w->host, w->n, w->turned), wrong = 0;

	for (uint32_t i = 0; i < w->n; i++)
		wrong += w->host[i] != mill_after(mill_seed(i), w->turned);
	printf("\"right\": %s, \"wrong_threads\": %" PRIu32, right ? "true" : "false", wrong);
	if (first < w->n)
		printf(", \"first_wrong\": %" PRIu32 ", \"kernels_off\": %d", first,
		       kernels_off(w, first));
}

/*
 * Answers
 */

static void print_times(const char *name, const uint64_t *times, size_t n)
{
	printf("\"%s\": [", name);
	for (size_t i = 0; i < n; i++)
		printf("%s%" PRIu64, i ? ", " : "", times[i]);
	printf("]");
}

static void end_answer(void)
{
	printf("}\n");
	fflush(stdout);
}

static void note(struct worker *w, uint64_t value)
{
	if (w->nr_times < TIMES_MAX - 1)
		w->times[w->nr_times++] = value;
}

/* The next line; false at the end, or after "quit". */
static bool next_command(char *line, int size)
{
	if (!fgets(line, size, stdin))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return strcmp(line, "quit") != 0;
}

static bool is_told_something(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static void greet(const struct worker *w, const char *role)
{
	printf("{\"ready\": \"%s\", \"pid\": %d, \"gpu\": \"%s\"", role, (int)getpid(), w->device);
	end_answer();
}

/*
 * Roles
 */

/* Launches kernels ahead, so that the GPU never waits for the host. */
static void work_until_told(struct worker *w)
{
	void *event[DEPTH];
	uint64_t launched = 0, ended = 0;

	for (int i = 0; i < DEPTH; i++)
		CHECK(w, event_create(&event[i], 0));
	w->nr_times = 0;
	do {
		while (launched < ended + DEPTH) {
			turn(w, w->rounds);
			CHECK(w, event_record(event[launched++ % DEPTH], w->stream));
		}
		CHECK(w, event_sync(event[ended++ % DEPTH]));
		note(w, gp__clock_ns());
	} while (!is_told_something());
	CHECK(w, stream_sync(w->stream));
}

static void run_work(struct worker *w)
{
	char line[128];

	greet(w, "work");
	while (next_command(line, sizeof(line))) {
		if (strcmp(line, "go") != 0)
			die("expected 'go', not ", line);
		work_until_told(w);
		if (!next_command(line, sizeof(line)))
			return;
		printf("{");
		print_right(w, is_right(w));
		printf(", ");
		print_times("ended_ns", w->times, w->nr_times);
		end_answer();
		new_state(w);
	}
}

static bool is_endless_right(struct worker *w, uint64_t *rounds)
{
	uint32_t *thousands = must(calloc(w->n, sizeof(*thousands)));
	bool right = true;

	CHECK(w, to_host(w->host, w->state, w->n * sizeof(*w->host)));
	CHECK(w, to_host(thousands, w->thousands, w->n * sizeof(*thousands)));
	*rounds = 0;
	for (uint32_t i = 0; i < w->n; i++) {
		right &= w->host[i] == mill_after(mill_seed(i), 1000ull * thousands[i]);
		*rounds += thousands[i];
	}
	free(thousands);
	return right;
}

static void run_endless(struct worker *w)
{
	void *args[] = { &w->state, &w->thousands, &w->stop };
	char line[128];
	uint64_t rounds;
	bool right;

	greet(w, "endless");
	while (next_command(line, sizeof(line))) {
		if (strcmp(line, "go") != 0)
			die("expected 'go', not ", line);
		*w->word = 0;
		CHECK(w, to_device(w->stop, w->word, sizeof(*w->word)));
		CHECK(w, launch(w->endless, w->blocks, 1, 1, w->threads, 1, 1, 0, w->stream, args,
				NULL));
		if (!next_command(line, sizeof(line)))
			strcpy(line, "quit"); /* the kernel still ends */
		*w->word = 1;
		CHECK(w, to_device_async(w->stop, w->word, sizeof(*w->word), w->side));
		CHECK(w, stream_sync(w->stream));
		right = is_endless_right(w, &rounds);
		printf("{\"right\": %s, \"thousands\": %" PRIu64, right ? "true" : "false", rounds);
		end_answer();
		new_state(w);
	}
}

static void sleep_until(uint64_t at)
{
	struct timespec t = { .tv_sec = (time_t)(at / 1000000000u),
			      .tv_nsec = (long)(at % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

struct requests {
	double seconds, from_ms, to_ms;
	long hint_us; /* -1: they are not announced */
	unsigned int kernels;
};

static bool parse_requests(const char *line, struct requests *r)
{
	return sscanf(line, "serve %lf %lf %lf %ld %u", &r->seconds, &r->from_ms, &r->to_ms,
		      &r->hint_us, &r->kernels) == 5 &&
	       r->seconds > 0 && r->from_ms >= 0 && r->to_ms >= r->from_ms && r->kernels > 0;
}

/* Runs a request and records the time from its arrival to the end of its last kernel. */
static void serve_one(struct worker *w, const struct requests *r, uint64_t at, uint64_t *announced)
{
	uint64_t begin, took;

	if (r->hint_us >= 0) {
		sleep_until(at - (uint64_t)r->hint_us * 1000);
		*announced += !gp_hint_arriving(NULL, at);
	}
	sleep_until(at);
	begin = gp__clock_ns();
	for (unsigned int k = 0; k < r->kernels; k++)
		turn(w, w->rounds);
	CHECK(w, stream_sync(w->stream));
	took = gp__clock_ns() - begin;
	if (r->hint_us >= 0)
		gp_hint_over(NULL);
	w->came[w->nr_times] = begin;
	note(w, took);
}

static uint64_t some_time_later(const struct requests *r)
{
	return gp__clock_ns() +
	       (uint64_t)((r->from_ms + (r->to_ms - r->from_ms) * drand48()) * 1e6);
}

static void serve(struct worker *w, const struct requests *r)
{
	uint64_t announced = 0, wrong = 0, begin, end;

	for (int i = 0; i < WARM_UP; i++)
		serve_one(w, r, some_time_later(r), &announced);
	begin = gp__clock_ns();
	end = begin + (uint64_t)(r->seconds * 1e9);
	w->nr_times = 0;
	while (gp__clock_ns() < end) {
		serve_one(w, r, some_time_later(r), &announced);
		wrong += !is_right(w);
	}
	printf("{");
	print_right(w, !wrong);
	printf(", \"wrong_answers\": %" PRIu64 ", \"announced\": %" PRIu64
	       ", \"begin_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64 ", ",
	       wrong, announced, begin, gp__clock_ns());
	print_times("came_ns", w->came, w->nr_times);
	printf(", ");
	print_times("took_ns", w->times, w->nr_times);
	end_answer();
}

static void run_serve(struct worker *w)
{
	struct requests r;
	char line[128];

	for (int i = 0; i < 20; i++)
		turn(w, w->rounds);
	CHECK(w, stream_sync(w->stream));
	greet(w, "serve");
	while (next_command(line, sizeof(line))) {
		if (!parse_requests(line, &r))
			die("expected 'serve SECONDS FROM_MS TO_MS HINT_US KERNELS', not ", line);
		serve(w, &r);
	}
}

/* The shortest of several runs: disturbances only make a kernel slower. */
static double time_rounds(struct worker *w, uint32_t rounds)
{
	void *from, *to;
	float ms, best = 0;

	CHECK(w, event_create(&from, 0));
	CHECK(w, event_create(&to, 0));
	for (int i = 0; i < 5; i++) {
		CHECK(w, event_record(from, w->stream));
		turn(w, rounds);
		CHECK(w, event_record(to, w->stream));
		CHECK(w, event_sync(to));
		CHECK(w, event_elapsed(&ms, from, to));
		best = i && best < ms ? best : ms;
	}
	return (double)best * 1e3;
}

/* From the difference of two runs, which cancels the launch. */
static double calibrate(struct worker *w)
{
	uint32_t rounds = 100000;
	double us;

	for (uint64_t end = gp__clock_ns() + 300000000u; gp__clock_ns() < end;)
		time_rounds(w, rounds); /* until the GPU's clocks are up */
	us = time_rounds(w, 11 * rounds) - time_rounds(w, rounds);
	if (us <= 0)
		die("kernels take no time on this GPU", "");
	return 10.0 * rounds / us;
}

static int run_calibrate(struct worker *w, int n, char **shapes)
{
	open_gpu(w);
	printf("{\"gpu\": \"%s\", \"rounds_per_us\": {", w->device);
	for (int i = 0; i < n; i++) {
		parse_shape(w, shapes[i]);
		make_room(w);
		printf("%s\"%s\": %.3f", i ? ", " : "", shapes[i], calibrate(w));
		free(w->host);
		free(w->times);
	}
	printf("}");
	end_answer();
	return 0;
}

static uint64_t time_of(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		die("cannot read the CPU time: ", strerror(errno));
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Looks until told to stop. Returns how often. */
static uint64_t look(struct worker *w, clockid_t clock, uint64_t period_ns)
{
	uint64_t used = time_of(clock), looks = 0;

	do {
		uint64_t before = used;

		sleep_until(gp__clock_ns() + period_ns);
		used = time_of(clock);
		if (used != before)
			note(w, gp__clock_ns());
	} while (++looks % LOOKS || !is_told_something());
	return looks;
}

static void watch(struct worker *w, clockid_t clock, uint64_t period_ns)
{
	uint64_t from = time_of(CLOCK_THREAD_CPUTIME_ID), cost, looks;

	w->nr_times = 0;
	looks = look(w, clock, period_ns);
	cost = time_of(CLOCK_THREAD_CPUTIME_ID) - from;
	printf("{\"looks\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 ", ", looks, cost);
	print_times("moved_ns", w->times, w->nr_times);
	from = time_of(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < WAKES; i++)
		sleep_until(gp__clock_ns() + period_ns);
	printf(", \"wakes\": %d, \"wakes_cpu_ns\": %" PRIu64, WAKES,
	       time_of(CLOCK_THREAD_CPUTIME_ID) - from);
	end_answer();
}

static int run_watch(struct worker *w, const char *pid)
{
	clockid_t clock;
	char line[128];
	long period_us;

	if (clock_getcpuclockid((pid_t)number(pid, 1, INT32_MAX), &clock))
		die("there is no process ", pid);
	w->times = must(calloc(TIMES_MAX, sizeof(*w->times)));
	prctl(PR_SET_TIMERSLACK, 1000ul);
	greet(w, "watch");
	while (next_command(line, sizeof(line))) {
		if (sscanf(line, "watch %ld", &period_us) != 1 || period_us < 1)
			die("expected 'watch PERIOD_US', not ", line);
		watch(w, clock, (uint64_t)period_us * 1000);
		if (!next_command(line, sizeof(line)))
			break;
	}
	return 0;
}

static const struct {
	const char *name;
	void (*run)(struct worker *w);
	int nr_args;
} roles[] = { { "work", run_work, 2 }, { "endless", run_endless, 1 }, { "serve", run_serve, 2 } };

int main(int argc, char **argv)
{
	static struct worker w;

	/* poll() waits for commands, so none may be in a buffer. */
	setvbuf(stdin, NULL, _IONBF, 0);
	if (argc > 2 && !strcmp(argv[1], "calibrate"))
		return run_calibrate(&w, argc - 2, argv + 2);
	if (argc == 3 && !strcmp(argv[1], "watch"))
		return run_watch(&w, argv[2]);
	for (size_t i = 0; argc > 1 && i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (strcmp(argv[1], roles[i].name) != 0 || argc != 2 + roles[i].nr_args)
			continue;
		parse_shape(&w, argv[2]);
		w.rounds = argc > 3 ? number(argv[3], 1, UINT32_MAX) : 1;
		open_gpu(&w);
		make_room(&w);
		roles[i].run(&w);
		return 0;
	}
	fprintf(stderr, "usage: nvworker calibrate SHAPE... | work SHAPE ROUNDS | endless SHAPE | "
			"serve SHAPE ROUNDS | watch PID\n");
	return 2;
}
