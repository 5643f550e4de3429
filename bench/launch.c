// SPDX-License-Identifier: MIT
/*
 * Measures the cost of being joined at the HSA runtime: the delay from a doorbell to the daemon's
 * order, the overhead of a launch that is seen, and the overhead of a launch window by its size.
 * Times are wall time. On an emulated machine kernels take longer than on a GPU, but launches do
 * not, so the overhead is compared with a launch, too.
 */
#include "benches.h"
#include "stage.h"

#include "base/clock.h"
#include "base/json.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef GP_EMU_KERNELS

#define CUS "1"
#define PROGRAM GP_BUILD_DIR "/tests/rocm/hsa_launches"
#define GPREEMPT GP_BUILD_DIR "/src/cli/gpreempt"
#define PAIRS 20
#define QUICK_PAIRS 2
#define BATCHES 30
#define QUICK_BATCHES 3
#define SEEN_RUNS 15
#define QUICK_SEEN_RUNS 2
#define DOORBELLS 50
#define LOG_TRIES 200
#define LOG_PAUSE_NS (10 * GP__MS)
#define QUICK_DOORBELLS 10
#define PERCENT 100.0

static const char *const windows[] = { "1", "2", "4", "8", "16", "64", "1ms" };
#define NR_WINDOWS (sizeof(windows) / sizeof(windows[0]))

/* The measured hops of a doorbell, and the round trip that they are compared with. */
enum hop { FUTEX, TOLD, SEEN, ORDER, NR_HOPS };

static const struct {
	const char *key, *what;
} hops[NR_HOPS] = { [FUTEX] = { "futex", "futex wake" },
		    [TOLD] = { "told", "doorbell until told" },
		    [SEEN] = { "seen", "told until seen" },
		    [ORDER] = { "order", "told until order" } };

static json_t *run_program(struct gp__bench_run *run, const char *joined, const char *what,
			   int times)
{
	char command[4096];
	json_t *said;
	FILE *in;

	snprintf(command, sizeof(command), "exec %s" PROGRAM " %s %d 2>/dev/null", joined, what,
		 times);
	in = popen(command, "re");
	said = in ? json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
	if (in && !pclose(in) && said)
		return said;
	json_decref(said);
	gp__bench_fail(run, -EIO, "%s" PROGRAM " %s %d failed; try it by hand", joined, what,
		       times);
	return NULL;
}

/* @prefix: of the keys in the program's output. A missing key was not measured. */
static void add_row(struct gp__bench_run *run, const char *what, const json_t *said,
		    const char *prefix, const double *added_percent)
{
	static const struct {
		const char *key, *from;
	} columns[] = { { "p50_us", "p50_ns" },
			{ "p99_us", "p99_ns" },
			{ "launch_us", "launch_ns" },
			{ "kernel_us", "kernel_ns" } };
	json_t *row = json_object();
	char key[32];

	json_object_set_new(row, "what", json_string(what));
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		const json_t *v;

		snprintf(key, sizeof(key), "%s%s", prefix, columns[i].from);
		v = json_object_get(said, key);
		gp__json_set_real(row, columns[i].key, v, json_number_value(v) / GP__US);
	}
	gp__json_set_real(row, "added_percent", added_percent, added_percent ? *added_percent : 0);
	gp__bench_row(run, row);
}

static double number(const json_t *said, const char *key)
{
	return json_number_value(json_object_get(said, key));
}

static double median(double *sample, int n)
{
	struct gp__stats stats;

	return gp__stats_of(sample, (size_t)n, &stats) ? 0 : stats.median;
}

/*
 * Reads from the log of gpreemptd when it saw the work: the first "ready" after each of these
 * times. Returns how many are in the log yet.
 */
static size_t read_seen(const char *log, const json_t *told_at, double *seen)
{
	FILE *f = fopen(log, "re");
	char *line = NULL;
	size_t room = 0, n = 0;

	while (f && n < json_array_size(told_at) && getline(&line, &room, f) > 0) {
		uint64_t told = (uint64_t)json_integer_value(json_array_get(told_at, n));
		uint64_t at = strtoull(line, NULL, 10);

		if (at < told || !strstr(line, " ready "))
			continue;
		/* The event belongs to a later time; the one for this is missing. */
		if (n + 1 < json_array_size(told_at) &&
		    at >= (uint64_t)json_integer_value(json_array_get(told_at, n + 1)))
			break;
		seen[n++] = (double)(at - told);
	}
	free(line);
	if (f)
		fclose(f);
	return n;
}

/* The daemon writes the log when it is idle. */
static size_t await_seen(const char *log, const json_t *told_at, double *seen)
{
	size_t n = read_seen(log, told_at, seen);

	for (int i = 0; n < json_array_size(told_at) && i < LOG_TRIES; i++) {
		gp__sleep_ns(LOG_PAUSE_NS);
		n = read_seen(log, told_at, seen);
	}
	return n;
}

/* Several runs of the program: the placement of threads on CPUs matters most. */
struct seen {
	const char *log; /* of the daemon */
	double p50[NR_HOPS][SEEN_RUNS], p99[NR_HOPS][SEEN_RUNS];
	double more_us[NR_HOPS][SEEN_RUNS]; /* than the wake */
	int n;
};

static void note_hops(struct seen *s, const json_t *said, double *seen, size_t nr_seen)
{
	char key[32];

	for (int i = 0; i < NR_HOPS; i++) {
		snprintf(key, sizeof(key), "%s_p50_ns", hops[i].key);
		s->p50[i][s->n] = number(said, key);
		snprintf(key, sizeof(key), "%s_p99_ns", hops[i].key);
		s->p99[i][s->n] = number(said, key);
	}
	s->p50[SEEN][s->n] = median(seen, (int)nr_seen); /* which sorts */
	s->p99[SEEN][s->n] = seen[nr_seen * 99 / 100];
	for (int i = 0; i < NR_HOPS; i++)
		s->more_us[i][s->n] = (s->p50[i][s->n] - s->p50[FUTEX][s->n]) / GP__US;
	s->n++;
}

static int measure_seen_once(struct gp__bench_run *run, struct seen *s)
{
	int times = gp__bench_quick(run) ? QUICK_DOORBELLS : DOORBELLS;
	json_t *said = run_program(run, GPREEMPT " run -p 20 --split-streams -- ", "seen", times);
	double seen[DOORBELLS];
	size_t n;

	if (!said)
		return -EIO;
	n = await_seen(s->log, json_object_get(said, "told_at"), seen);
	if (n == (size_t)times)
		note_hops(s, said, seen, n);
	json_decref(said);
	if (n == (size_t)times)
		return 0;
	return gp__bench_fail(run, -EIO, "%s has %zu events of %d", s->log, n, times);
}

static void report_more(struct gp__bench_run *run, struct seen *s, enum hop hop, const char *key,
			const char *until)
{
	struct gp__stats more;
	json_t *json;

	gp__stats_of(s->more_us[hop], (size_t)s->n, &more);
	json = json_pack("{s:i, s:f}", "runs", s->n, "us", more.median);
	gp__json_set_real(json, "us_lo", more.has_ci, more.ci_lo);
	gp__json_set_real(json, "us_hi", more.has_ci, more.ci_hi);
	gp__bench_summary(run, key, json,
			  "from the moment that gpreemptd is told of a doorbell until %s it takes "
			  "%.1f us more than a bare wake of another process in its place, at the "
			  "median of %d runs (95 %%: %.1f to %.1f)",
			  until, more.median, s->n, more.ci_lo, more.ci_hi);
}

static int measure_seen(struct gp__bench_run *run, const char *log)
{
	int runs = gp__bench_quick(run) ? QUICK_SEEN_RUNS : SEEN_RUNS, err = 0;
	static struct seen s;
	json_t *said;

	s.log = log;
	s.n = 0;
	while (!err && s.n < runs)
		err = measure_seen_once(run, &s);
	if (err)
		return err;
	for (int i = 0; i < NR_HOPS; i++) {
		said = json_pack("{s:f, s:f}", "p50_ns", median(s.p50[i], s.n), "p99_ns",
				 median(s.p99[i], s.n));
		add_row(run, hops[i].what, said, "", NULL);
		json_decref(said);
	}
	report_more(run, &s, SEEN, "seen_over_futex", "it has seen that");
	report_more(run, &s, ORDER, "order_over_futex", "its order");
	return 0;
}

/*
 * Kernels
 */

static int batches(struct gp__bench_run *run)
{
	return gp__bench_quick(run) ? QUICK_BATCHES : BATCHES;
}

/* Interleaved runs of the program, one joined and one not. */
struct pairs {
	double kernel[2][PAIRS], launch[2][PAIRS];
	double added_percent[PAIRS], added_ns[PAIRS];
	double threads_percent[PAIRS]; /* CPU time of gpreempt's threads */
	int n;
};

static int measure_pair(struct gp__bench_run *run, struct pairs *p)
{
	static const char *const joined[] = { "", GPREEMPT " run -- " };
	int i = p->n;

	/* The order alternates from pair to pair. */
	for (int turn = 0; turn < 2; turn++) {
		int k = (turn + i) % 2;
		json_t *said = run_program(run, joined[k], "cost", batches(run));

		if (!said)
			return -EIO;
		p->kernel[k][i] = number(said, "kernel_ns");
		p->launch[k][i] = number(said, "launch_ns");
		if (k)
			p->threads_percent[i] = number(said, "threads_percent");
		json_decref(said);
	}
	p->added_percent[i] = PERCENT * (p->kernel[1][i] / p->kernel[0][i] - 1);
	p->added_ns[i] = p->launch[1][i] - p->launch[0][i];
	p->n++;
	return 0;
}

static void report_side(struct gp__bench_run *run, struct pairs *p, int side,
			const double *added_percent)
{
	json_t *said = json_pack("{s:f, s:f}", "kernel_ns", median(p->kernel[side], p->n),
				 "launch_ns", median(p->launch[side], p->n));

	add_row(run, side ? "joined" : "not joined", said, "", added_percent);
	json_decref(said);
}

static void report_pairs(struct gp__bench_run *run, struct pairs *p)
{
	struct gp__stats percent, ns;
	json_t *json;

	gp__stats_of(p->added_percent, (size_t)p->n, &percent);
	gp__stats_of(p->added_ns, (size_t)p->n, &ns);
	report_side(run, p, 0, NULL);
	report_side(run, p, 1, &percent.median);
	json = json_pack("{s:i, s:f, s:f, s:f}", "pairs", p->n, "percent", percent.median,
			 "launch_ns", ns.median, "threads_percent",
			 median(p->threads_percent, p->n));
	gp__json_set_real(json, "percent_lo", percent.has_ci, percent.ci_lo);
	gp__json_set_real(json, "percent_hi", percent.has_ci, percent.ci_hi);
	gp__json_set_real(json, "launch_ns_lo", ns.has_ci, ns.ci_lo);
	gp__json_set_real(json, "launch_ns_hi", ns.has_ci, ns.ci_hi);
	gp__bench_summary(
		run, "joined", json,
		"being joined adds %.2f %% to a kernel (95 %%: %.2f to %.2f) and %.0f ns to "
		"its launch (%.0f to %.0f), in %d pairs; its threads take %.2f %% of a processor",
		percent.median, percent.ci_lo, percent.ci_hi, ns.median, ns.ci_lo, ns.ci_hi, p->n,
		median(p->threads_percent, p->n));
}

/* Time reserved for the windows, at the end. */
#define WINDOWS_NS 20000000000ull

static int measure_pairs(struct gp__bench_run *run, double *alone_ns)
{
	int pairs = gp__bench_quick(run) ? QUICK_PAIRS : PAIRS, err = 0;
	static struct pairs p;

	p.n = 0;
	while (!err && p.n < pairs && (!p.n || gp__bench_left_ns(run) > WINDOWS_NS))
		err = measure_pair(run, &p);
	if (err)
		return err;
	if (p.n < pairs)
		gp__bench_cut_short(run);
	report_pairs(run, &p);
	*alone_ns = median(p.kernel[0], p.n);
	return 0;
}

/*
 * Windows
 */

static int measure_window(struct gp__bench_run *run, const char *window, double alone_ns)
{
	char joined[512], what[32];
	double added;
	json_t *said;

	snprintf(joined, sizeof(joined), GPREEMPT " run --level 1 --window %s -- ", window);
	said = run_program(run, joined, "cost", batches(run));
	if (!said)
		return -EIO;
	snprintf(what, sizeof(what), "window %s", window);
	added = PERCENT * (number(said, "kernel_ns") / alone_ns - 1);
	add_row(run, what, said, "", &added);
	json_decref(said);
	return 0;
}

/* Starts an idle program: windows are unlimited while a program is alone. */
static FILE *start_neighbour(pid_t *pid)
{
	int ends[2];

	if (pipe(ends))
		return NULL;
	*pid = fork();
	if (!*pid) {
		dup2(ends[1], STDOUT_FILENO);
		execl(GPREEMPT, GPREEMPT, "run", "-c", "offline", "--", PROGRAM, "rest",
		      (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	return fdopen(ends[0], "r");
}

static int measure_windows(struct gp__bench_run *run, double alone_ns)
{
	char line[64];
	pid_t pid = -1;
	FILE *neighbour = start_neighbour(&pid);
	int err = neighbour && fgets(line, sizeof(line), neighbour) ? 0 : -EIO;

	if (err)
		gp__bench_fail(run, err, PROGRAM " does not come up");
	for (size_t i = 0; !err && i < NR_WINDOWS; i++) {
		if (i && !gp__bench_left_ns(run))
			break;
		err = measure_window(run, windows[i], alone_ns);
	}
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	if (neighbour)
		fclose(neighbour);
	return err;
}

static int measure(struct gp__bench_run *run, const struct stage_daemon *daemon)
{
	double alone_ns = 0;
	int err = measure_seen(run, daemon->log);

	if (!err)
		err = measure_pairs(run, &alone_ns);
	if (!err)
		err = measure_windows(run, alone_ns);
	return err;
}

int bench_launch(struct gp__bench_run *run)
{
	const struct stage_scene scene = {
		.program = PROGRAM,
		.remedy = "it needs libhsa-runtime-dev and clang-19, and then 'meson setup "
			  "--reconfigure'",
		.cus = CUS,
		.device = "emulated gfx90a, " CUS " compute unit",
		.logs = true,
		.measure = measure,
	};

	return stage_measure(run, &scene);
}

#else

int bench_launch(struct gp__bench_run *run)
{
	return gp__bench_fail(run, -ENOSYS, BENCH_NO_KERNELS);
}

#endif
