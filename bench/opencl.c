// SPDX-License-Identifier: MIT
/*
 * Measures two OpenCL programs on one device, a server with a request now and then and a trainer
 * that always has kernels enqueued: the server alone, beside the trainer, and both under gpreempt
 * at levels 1 and 2. Then how long pending work takes to drain when the trainer is held, and the
 * cost of being joined for a program that is never held, in pairs.
 *
 * Usually the device is PoCL's, the CPUs of the host, so other load is measured, too. A device with
 * its own memory is taken for a GPU that gpreempt knows: the end of work-groups cannot be seen
 * there, and the OpenCL layer does not hold programs. The programs are plain OpenCL
 * (tests/opencl/cl_pair.c), and share a file with the benchmark.
 */
#include "benches.h"
#include "stage.h"
#include "opencl_pair.h"

#include "base/clock.h"
#include "core/types.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef GP_OPENCL_PROGRAM

#define GPREEMPT GP_OPENCL_BUILD "/src/cli/gpreempt"
#define NO_DEVICE 77 /* the exit status of its program */
#define PATIENCE_NS (30 * GP__S)
#define REQUESTS 150
#define QUICK_REQUESTS 20
#define PERIOD_US "20000"
#define STOPS 10
#define FIRST_KERNELS 24
#define QUIET_NS (100 * GP__MS) /* without a completion: nothing runs any more */
#define PAIRS 20
#define FEW_PAIRS 8
#define QUICK_PAIRS 2
#define KERNELS "800"
#define QUICK_KERNELS "64"

/* How a program is joined. */
struct joining {
	const char *class_name, *level; /* NULL: the default */
};

struct program {
	pid_t pid;
	struct pair *pair;
	char path[64];
};

/*
 * Programs
 */

static int make_pair(struct program *p)
{
	int fd;

	snprintf(p->path, sizeof(p->path), "/tmp/gpreempt-bench-XXXXXX");
	fd = mkostemp(p->path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	p->pair = ftruncate(fd, sizeof(*p->pair))
			  ? MAP_FAILED
			  : mmap(NULL, sizeof(*p->pair), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p->pair != MAP_FAILED)
		return 0;
	unlink(p->path);
	return -ENOMEM;
}

static _Noreturn void become(const char *path, const struct joining *as, const char *const *words)
{
	const char *argv[16] = { NULL };
	int n = 0, nothing = open("/dev/null", O_WRONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(nothing, STDOUT_FILENO);
	if (as) {
		const char *const joined[] = {
			GPREEMPT, "run", "-c", as->class_name, "-t", words[0]
		};

		memcpy(argv, joined, sizeof(joined));
		n = sizeof(joined) / sizeof(joined[0]);
		if (as->level) {
			argv[n++] = "--level";
			argv[n++] = as->level;
		}
		argv[n++] = "--";
	}
	argv[n++] = GP_OPENCL_PROGRAM;
	argv[n++] = path;
	for (; *words; words++)
		argv[n++] = *words;
	execv(argv[0], (char **)argv);
	_exit(127);
}

/* Waits for a flag. False: the program has ended before, or the flag never comes. */
static bool wait_for(const struct program *p, _Atomic uint32_t *flag)
{
	uint64_t until = gp__clock_ns() + PATIENCE_NS;
	siginfo_t ended = { 0 };

	while (!atomic_load(flag) && gp__clock_ns() < until && !ended.si_pid) {
		gp__sleep_ns(500 * GP__US);
		waitid(P_PID, (id_t)p->pid, &ended, WEXITED | WNOHANG | WNOWAIT);
	}
	return atomic_load(flag);
}

static void end(struct program *p)
{
	if (p->pid <= 0)
		return;
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	munmap(p->pair, sizeof(*p->pair));
	unlink(p->path);
	p->pid = 0;
}

static bool ended_without_device(pid_t pid)
{
	siginfo_t ended = { 0 };

	return pid > 0 && !waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) &&
	       ended.si_pid && ended.si_code == CLD_EXITED && ended.si_status == NO_DEVICE;
}

/* Starts a program, which waits for `go`. @as: NULL: it is not joined. */
static int start(struct program *p, const struct joining *as, const char *const *words)
{
	int err = make_pair(p);

	if (err)
		return err;
	p->pid = fork();
	if (!p->pid)
		become(p->path, as, words);
	if (p->pid > 0 && wait_for(p, &p->pair->ready))
		return 0;
	err = ended_without_device(p->pid) ? -ENODEV : -EIO;
	end(p);
	return err;
}

static int start_server(struct program *p, const struct joining *as, bool quick)
{
	char requests[16];
	const char *const words[] = { "serve", requests, PERIOD_US, NULL };

	snprintf(requests, sizeof(requests), "%d", quick ? QUICK_REQUESTS : REQUESTS);
	return start(p, as, words);
}

static int start_trainer(struct program *p, const struct joining *as)
{
	static const char *const words[] = { "train", NULL };
	int err = start(p, as, words);

	if (!err)
		atomic_store(&p->pair->go, 1);
	return err;
}

/*
 * The table
 */

struct figures {
	double p50_ms, p99_ms; /* of requests */
	double kernels_per_s; /* of the trainer; 0: there is none */
};

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Waits for all requests. False: they never end. */
static bool serve(struct program *server, int requests, struct figures *f)
{
	uint64_t *ns = server->pair->latency_ns;

	atomic_store(&server->pair->go, 1);
	if (!wait_for(server, &server->pair->done))
		return false;
	qsort(ns, (size_t)requests, sizeof(*ns), compare);
	f->p50_ms = gp__to_ms(ns[requests / 2]);
	f->p99_ms = gp__to_ms(ns[requests * 99 / 100]);
	return true;
}

static double rate(const struct pair *pair, uint64_t ended, uint64_t since)
{
	return (double)(atomic_load(&pair->nr_ended) - ended) * GP__S /
	       (double)(gp__clock_ns() - since);
}

/* @offline, @online: NULL: it is not joined. */
static int measure(bool quick, const struct joining *online, const struct joining *offline,
		   bool trains, struct figures *f)
{
	struct program server = { 0 }, trainer = { 0 };
	uint64_t ended = 0, since;
	int err = start_server(&server, online, quick);

	if (!err && trains)
		err = start_trainer(&trainer, offline);
	if (!err && trains) {
		gp__sleep_ns(300 * GP__MS); /* until its queue is full */
		ended = atomic_load(&trainer.pair->nr_ended);
	}
	since = gp__clock_ns();
	if (!err && !serve(&server, quick ? QUICK_REQUESTS : REQUESTS, f))
		err = -ETIME;
	if (!err && trains)
		f->kernels_per_s = rate(trainer.pair, ended, since);
	end(&server);
	end(&trainer);
	return err;
}

static int measure_joined(bool quick, const char *level, struct figures *f)
{
	const struct joining online = { "online", level }, offline = { "offline", level };

	return measure(quick, &online, &offline, true, f);
}

/* Also finds out whether the host sees what its kernels count. */
static int measure_trainer(bool quick, double *kernels_per_s, bool *counts)
{
	struct program trainer = { 0 };
	uint64_t ended, since;
	int err = start_trainer(&trainer, NULL);

	if (err)
		return err;
	gp__sleep_ns(300 * GP__MS);
	ended = atomic_load(&trainer.pair->nr_ended);
	since = gp__clock_ns();
	gp__sleep_ns((quick ? 300 : 3000) * GP__MS);
	*kernels_per_s = rate(trainer.pair, ended, since);
	*counts = atomic_load(&trainer.pair->nr_groups);
	end(&trainer);
	return 0;
}

static void add_row(struct gp__bench_run *run, const char *mode, const struct figures *f,
		    const struct figures *alone, bool trains)
{
	json_t *row = json_object();

	json_object_set_new(row, "mode", json_string(mode));
	json_object_set_new(row, "p50_ms", json_real(f->p50_ms));
	json_object_set_new(row, "p99_ms", json_real(f->p99_ms));
	json_object_set_new(row, "p99_over_alone", json_real(f->p99_ms / alone->p99_ms));
	json_object_set_new(row, "kernels_per_s", json_real(f->kernels_per_s));
	json_object_set_new(row, "kept_percent",
			    trains ? json_real(100 * f->kernels_per_s / alone->kernels_per_s)
				   : json_null());
	gp__bench_row(run, row);
}

/* A device with a known GPU has one level, which is not the layer's. */
static int make_table(struct gp__bench_run *run, struct figures *alone, bool *by_layer)
{
	bool quick = gp__bench_quick(run);
	struct figures native = { 0 }, joined[2] = { 0 };
	int err = measure_trainer(quick, &alone->kernels_per_s, by_layer);

	if (!err)
		err = measure(quick, NULL, NULL, false, alone);
	if (!err)
		err = measure(quick, NULL, NULL, true, &native);
	if (!err)
		err = measure_joined(quick, *by_layer ? "1" : NULL, &joined[0]);
	if (!err && *by_layer)
		err = measure_joined(quick, "2", &joined[1]);
	if (err)
		return gp__bench_fail(run, err, GP_OPENCL_PROGRAM " failed; try it by hand");
	add_row(run, "alone", alone, alone, false);
	add_row(run, "native", &native, alone, true);
	add_row(run, *by_layer ? "Lv1" : "joined", &joined[0], alone, true);
	if (*by_layer)
		add_row(run, "Lv2", &joined[1], alone, true);
	return 0;
}

/*
 * Stops
 */

struct stops {
	double ms[STOPS];
	uint32_t most_kernels, most_groups; /* that ended after a hold */
};

/* The time from the acknowledgement of the hold until the last work-group has ended. */
static bool stop_once(const struct program *trainer, struct stops *s, double *ms)
{
	const struct pair *pair = trainer->pair;
	uint64_t stopped, ended, kernels;
	uint32_t before, groups;

	if (system(GPREEMPT " suspend tag:train >/dev/null"))
		return false;
	stopped = ended = gp__clock_ns();
	before = groups = atomic_load(&pair->nr_groups);
	kernels = atomic_load(&pair->nr_ended);
	while (gp__clock_ns() < ended + QUIET_NS) {
		if (atomic_load(&pair->nr_groups) != groups)
			ended = gp__clock_ns();
		groups = atomic_load(&pair->nr_groups);
		gp__sleep_ns(20 * GP__US);
	}
	s->most_groups = (uint32_t)gp__max_u64(s->most_groups, groups - before);
	s->most_kernels =
		(uint32_t)gp__max_u64(s->most_kernels, atomic_load(&pair->nr_ended) - kernels);
	*ms = gp__to_ms(ended - stopped);
	if (system(GPREEMPT " resume tag:train >/dev/null"))
		return false;
	gp__sleep_ns(50 * GP__MS);
	return true;
}

/* Waits until the work that was enqueued before it joined has ended. False: it never does. */
static bool wait_for_kernels(const struct program *trainer)
{
	uint64_t until = gp__clock_ns() + PATIENCE_NS;

	while (atomic_load(&trainer->pair->nr_ended) < FIRST_KERNELS && gp__clock_ns() < until)
		gp__sleep_ns(500 * GP__US);
	return atomic_load(&trainer->pair->nr_ended) >= FIRST_KERNELS;
}

static int stop_often(int n, const char *level, struct stops *s)
{
	const struct joining online = { "online", level }, offline = { "offline", level };
	struct program neighbour = { 0 }, trainer = { 0 };
	/* Another program with a queue is needed: alone there is no window and no guard. */
	int err = start_server(&neighbour, &online, true);

	if (!err)
		err = start_trainer(&trainer, &offline);
	if (!err && !wait_for_kernels(&trainer))
		err = -ETIME;
	for (int i = 0; i < n && !err; i++)
		err = stop_once(&trainer, s, &s->ms[i]) ? 0 : -EIO;
	end(&trainer);
	end(&neighbour);
	return err;
}

static int measure_stops(struct gp__bench_run *run, double kernels_per_s)
{
	static const char *const keys[2][4] = {
		{ "stop_ms", "stop_max_ms", "stop_kernels_max", "stop_groups_max" },
		{ "lv2_stop_ms", "lv2_stop_max_ms", "lv2_stop_kernels_max", "lv2_stop_groups_max" },
	};
	int n = gp__bench_quick(run) ? 3 : STOPS;

	for (int level = 1; level <= 2; level++) {
		const char *const *key = keys[level - 1];
		struct stops s = { 0 };
		struct gp__stats stats;
		int err = stop_often(n, level == 1 ? "1" : "2", &s);

		if (err)
			return gp__bench_fail(run, err, "the trainer cannot be stopped");
		gp__stats_of(s.ms, (size_t)n, &stats);
		gp__bench_summary(run, key[0], json_real(stats.median),
				  "stopped at level %d: what has started takes %.2f ms more to end "
				  "(median of %d)",
				  level, stats.median, n);
		gp__bench_summary(run, key[1], json_real(stats.max),
				  "at most %.2f ms; one of its kernels takes %.2f ms alone",
				  stats.max, 1000 / kernels_per_s);
		gp__bench_summary(run, key[2], json_integer(s.most_kernels),
				  "at most %u kernels end then", s.most_kernels);
		gp__bench_summary(run, key[3], json_integer(s.most_groups),
				  "and %u work-groups, of which a kernel has 64", s.most_groups);
	}
	return 0;
}

/*
 * The cost of being joined
 */

struct cost {
	double wall, cpu; /* of all threads, including kernels if the device is the host */
};

static int work(bool quick, const struct joining *as, struct cost *cost)
{
	const char *const words[] = { "work", quick ? QUICK_KERNELS : KERNELS, NULL };
	struct program p = { 0 };
	int err = start(&p, as, words);

	if (err)
		return err;
	atomic_store(&p.pair->go, 1);
	if (wait_for(&p, &p.pair->done))
		*cost = (struct cost){ (double)p.pair->work_ns, (double)p.pair->cpu_ns };
	else
		err = -ETIME;
	end(&p);
	return err;
}

/* Runs both, one after the other; @swapped: the joined one first. In percent. */
static int compare_pair(bool quick, const char *level, bool swapped, struct cost *over)
{
	const struct joining as = { "normal", level };
	struct cost bare = { 1, 1 }, joined = { 1, 1 };
	int err = swapped ? work(quick, &as, &joined) : work(quick, NULL, &bare);

	if (!err)
		err = swapped ? work(quick, NULL, &bare) : work(quick, &as, &joined);
	*over = (struct cost){ 100 * (joined.wall / bare.wall - 1),
			       100 * (joined.cpu / bare.cpu - 1) };
	return err;
}

/* The cost for a program that is never held. */
struct measured {
	const char *name, *level;
	size_t nr_pairs;
	const char *wall_key, *cpu_key;
};

static int compare_work(struct gp__bench_run *run, const struct measured *what,
			struct gp__stats *wall, struct gp__stats *cpu)
{
	bool quick = gp__bench_quick(run);
	size_t most = quick ? QUICK_PAIRS : what->nr_pairs, n = 0;
	double walls[PAIRS], cpus[PAIRS];
	int err = 0;

	while (!err && n < most && (n < QUICK_PAIRS || gp__bench_left_ns(run))) {
		struct cost over;

		err = compare_pair(quick, what->level, n % 2, &over);
		walls[n] = over.wall;
		cpus[n++] = over.cpu;
	}
	if (err)
		return gp__bench_fail(run, err, GP_OPENCL_PROGRAM " failed; try it by hand");
	if (n < most)
		gp__bench_cut_short(run);
	gp__stats_of(walls, n, wall);
	return gp__stats_of(cpus, n, cpu);
}

/* Wall time says less the busier the host is. */
static int say_cost(struct gp__bench_run *run, const struct measured *what)
{
	struct gp__stats wall, cpu;
	int err = compare_work(run, what, &wall, &cpu);

	if (err)
		return err;
	gp__bench_summary(run, what->wall_key, json_real(wall.median),
			  "%s, small kernels take %.2f %% more time (%zu pairs, %.2f to %.2f)",
			  what->name, wall.median, wall.n, wall.has_ci ? wall.ci_lo : wall.min,
			  wall.has_ci ? wall.ci_hi : wall.max);
	gp__bench_summary(run, what->cpu_key, json_real(cpu.median),
			  "and %.2f %% more CPU time (%.2f to %.2f)", cpu.median,
			  cpu.has_ci ? cpu.ci_lo : cpu.min, cpu.has_ci ? cpu.ci_hi : cpu.max);
	return 0;
}

static int measure_cost(struct gp__bench_run *run, bool by_layer)
{
	const struct measured joined = { "joined", by_layer ? "2" : NULL, PAIRS, "joined_percent",
					 "joined_cpu_percent" };
	static const struct measured windowed = { "with a window", "1", FEW_PAIRS,
						  "windowed_percent", "windowed_cpu_percent" },
				     guarded = { "with a window and guards", "2", FEW_PAIRS,
						 "guarded_percent", "guarded_cpu_percent" };
	const struct joining as = { "normal", "2" };
	struct program neighbour = { 0 };
	int err = say_cost(run, &joined);

	if (err || !by_layer)
		return err;
	err = start_server(&neighbour, &as, true);
	if (err)
		return gp__bench_fail(run, err, GP_OPENCL_PROGRAM " failed; try it by hand");
	err = say_cost(run, &windowed);
	if (!err)
		err = say_cost(run, &guarded);
	end(&neighbour);
	return err;
}

int bench_opencl(struct gp__bench_run *run)
{
	struct figures alone = { 0 };
	struct stage_daemon daemon;
	bool by_layer = false;
	int err;

	if (access(GP_OPENCL_PROGRAM, X_OK))
		return gp__bench_fail(run, -ENOENT, "its program is not built, as tests are not");
	gp__bench_device(run, "the first OpenCL device");
	err = stage_daemon_start(&daemon, -1, false);
	if (err)
		return gp__bench_fail(run, err, "gpreemptd cannot be started");
	err = make_table(run, &alone, &by_layer);
	if (!err && by_layer)
		err = measure_stops(run, alone.kernels_per_s);
	if (!err)
		err = measure_cost(run, by_layer);
	stage_daemon_end(&daemon);
	return err;
}

#else

int bench_opencl(struct gp__bench_run *run)
{
	return gp__bench_fail(run, -ENOSYS, "this build has no OpenCL");
}

#endif
