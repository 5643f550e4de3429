// SPDX-License-Identifier: MIT
/*
 * Measures a language model's server beside a trainer on an emulated machine: the server alone,
 * beside the trainer without gpreempt, and with it, in its default configuration. A request has a
 * long kernel and then many small ones with gaps, as llama.cpp's do (tests/rocm/hsa_llm.c).
 *
 * The situations take turns in blocks with the same requests. Times are device time; the gaps of
 * the server are host time, at which the clock of an idle emulated GPU runs. The trainer's work is
 * compared with what it would do in the time that is left, if the whole time of a request, with its
 * gaps, belongs to the server.
 */
#include "benches.h"
#include "llm.h"
#include "stage.h"

#include "base/clock.h"

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

#ifdef GP_EMU_KERNELS

#define CUS "1"
#define PROGRAM GP_BUILD_DIR "/tests/rocm/hsa_llm"
#define GPREEMPT GP_BUILD_DIR "/src/cli/gpreempt"
#define ROUNDS 16
#define QUICK_ROUNDS 1
#define REQUESTS 4 /* of a block */
#define NATIVE_REQUESTS 2 /* as they take long */
#define QUICK_REQUESTS 2
/* Between requests, on average: most of it with gpreempt, as it is long on an emulated machine. */
#define PAUSE_NS (120 * GP__MS)
#define NATIVE_PAUSE_NS (60 * GP__MS)
#define ALONE_PAUSE_NS (10 * GP__MS)
#define WARM_UP_KERNELS 3
#define TRAINER_KERNELS 5 /* for its rate alone */
#define PATIENCE_NS (60 * GP__S)
#define LOOK_NS GP__MS
#define CANNOT_RUN 127

enum { ALONE, NATIVE, JOINED, SITUATIONS };
static const char *const situations[SITUATIONS] = { "alone", "native", "gpreempt" };

static const uint64_t pauses_ns[SITUATIONS] = { ALONE_PAUSE_NS, NATIVE_PAUSE_NS, PAUSE_NS };

enum { SERVER, TRAINER, JOINED_SERVER, JOINED_TRAINER, PROGRAMS };
static const struct {
	const char *part, *class_name; /* NULL: not joined */
} programs[PROGRAMS] = {
	[SERVER] = { "serve", NULL },
	[TRAINER] = { "train", NULL },
	[JOINED_SERVER] = { "serve", "online" },
	[JOINED_TRAINER] = { "train", "offline" },
};

/* The time that a block left to the trainer, and the trainer's kernels that ended in it. */
struct left {
	uint64_t device_ns, wall_ns, kernels;
	uint32_t requests;
};

struct program {
	pid_t pid;
	struct llm_page *page;
	char path[64];
};

struct play {
	struct gp__bench_run *run;
	const struct stage_daemon *daemon;
	struct program program[PROGRAMS];
	struct llm_times times[SITUATIONS];
	struct left left[SITUATIONS][ROUNDS];
	uint64_t trainer_ns, trainer_wall_ns, trainer_kernels; /* of the trainer alone */
	unsigned int rounds;
	struct llm_span joined[ROUNDS * REQUESTS]; /* requests with gpreempt */
	size_t nr_joined;
};

/*
 * Programs
 */

static int make_page(struct program *p)
{
	int fd;

	snprintf(p->path, sizeof(p->path), "/tmp/gpreempt-bench-XXXXXX");
	fd = mkostemp(p->path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	p->page = ftruncate(fd, sizeof(*p->page))
			  ? MAP_FAILED
			  : mmap(NULL, sizeof(*p->page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p->page == MAP_FAILED ? -ENOMEM : 0;
}

static _Noreturn void become(const struct program *p, const char *part, const char *class_name)
{
	int nothing = open("/dev/null", O_WRONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(nothing, STDOUT_FILENO);
	dup2(nothing, STDERR_FILENO);
	if (class_name)
		execl(GPREEMPT, "gpreempt", "run", "-c", class_name, "-t", part, "--", PROGRAM,
		      part, p->path, (char *)NULL);
	else
		execl(PROGRAM, PROGRAM, part, p->path, (char *)NULL);
	_exit(CANNOT_RUN);
}

/* Waits until the word has this value. -ESRCH: the program has ended, -ETIME: it does not answer.
 */
static int wait_for(struct program *p, const _Atomic uint32_t *word, uint32_t value)
{
	uint64_t deadline = gp__clock_ns() + PATIENCE_NS;

	while (atomic_load(word) != value) {
		if (waitpid(p->pid, NULL, WNOHANG)) {
			p->pid = 0;
			return -ESRCH;
		}
		if (gp__clock_ns() > deadline)
			return -ETIME;
		gp__sleep_ns(LOOK_NS);
	}
	return 0;
}

static int start(struct play *play, int who)
{
	struct program *p = &play->program[who];
	int err = make_page(p);

	if (err)
		return err;
	p->pid = fork();
	if (!p->pid)
		become(p, programs[who].part, programs[who].class_name);
	err = p->pid < 0 ? -errno : wait_for(p, &p->page->ready, 1);
	return err ? gp__bench_fail(play->run, err, PROGRAM " %s failed; try it by hand",
				    programs[who].part)
		   : 0;
}

static void end(struct program *p)
{
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	if (p->page && p->page != MAP_FAILED)
		munmap(p->page, sizeof(*p->page));
	if (*p->path)
		unlink(p->path);
}

/*
 * Blocks
 */

/* A moment at which a kernel of the trainer ended. */
struct progress {
	uint64_t kernels, ns, wall_ns;
};

/* Waits until so many more have ended. */
static int wait_for_kernels(struct program *p, uint64_t more, struct progress *at)
{
	uint64_t deadline = gp__clock_ns() + PATIENCE_NS;
	uint64_t until = atomic_load(&p->page->nr_kernels) + more;

	while (atomic_load(&p->page->nr_kernels) < until) {
		if (waitpid(p->pid, NULL, WNOHANG)) {
			p->pid = 0;
			return -ESRCH;
		}
		if (gp__clock_ns() > deadline)
			return -ETIME;
		gp__sleep_ns(LOOK_NS);
	}
	do {
		at->kernels = atomic_load(&p->page->nr_kernels);
		at->ns = atomic_load(&p->page->ended_ns);
	} while (at->kernels != atomic_load(&p->page->nr_kernels));
	at->wall_ns = gp__clock_ns();
	return 0;
}

/* Starts training, and waits until its queue is full. */
static int begin_training(struct program *p)
{
	struct progress at;

	atomic_store(&p->page->go, 1);
	return wait_for_kernels(p, WARM_UP_KERNELS, &at);
}

static int end_training(struct program *p)
{
	atomic_store(&p->page->go, 0);
	return wait_for(p, &p->page->busy, 0);
}

/* The rate of the trainer, which runs and has the GPU for itself. */
static int time_trainer(struct play *p, struct program *trainer)
{
	struct progress from, to;
	int err = wait_for_kernels(trainer, 1, &from);

	if (!err)
		err = wait_for_kernels(trainer, TRAINER_KERNELS, &to);
	if (err)
		return err;
	p->trainer_ns += to.ns - from.ns;
	p->trainer_wall_ns += to.wall_ns - from.wall_ns;
	p->trainer_kernels += to.kernels - from.kernels;
	return 0;
}

static int serve(struct play *p, struct program *server, int situation)
{
	bool quick = gp__bench_quick(p->run);
	struct llm_page *page = server->page;

	page->nr_requests = quick		  ? QUICK_REQUESTS
			    : situation == NATIVE ? NATIVE_REQUESTS
						  : REQUESTS;
	page->seed = p->rounds + 1;
	page->pause_ns = pauses_ns[situation] / (quick ? 4 : 1);
	atomic_store(&page->go, atomic_load(&page->done) + 1);
	return wait_for(server, &page->done, atomic_load(&page->go));
}

static void note_request(struct play *p, struct llm_times *times, const struct llm_request *r)
{
	llm_note(times, r);
	if (times == &p->times[JOINED])
		p->joined[p->nr_joined++] =
			(struct llm_span){ r->wall_arrived_ns,
					   r->token[LLM_TOKENS - 1].wall_ended_ns };
}

static int run_block(struct play *p, int situation, struct program *server)
{
	int err = serve(p, server, situation);

	for (uint32_t i = 0; !err && i < server->page->nr_requests; i++)
		note_request(p, &p->times[situation], &server->page->request[i]);
	return err;
}

/* By each clock: the time between two moments, less that of the requests in it. */
static struct left subtract_requests(const struct progress *from, const struct progress *to,
				     const struct llm_page *server)
{
	struct left left = { .device_ns = to->ns - from->ns,
			     .wall_ns = to->wall_ns - from->wall_ns,
			     .kernels = to->kernels - from->kernels,
			     .requests = server->nr_requests };

	for (uint32_t i = 0; i < server->nr_requests; i++) {
		const struct llm_request *r = &server->request[i];
		const struct llm_token *last = &r->token[LLM_TOKENS - 1];

		left.device_ns -= last->ended_ns - r->arrived_ns;
		left.wall_ns -= last->wall_ended_ns - r->wall_arrived_ns;
	}
	return left;
}

/* A block begins and ends with a kernel of the trainer. */
static int run_beside(struct play *p, int situation)
{
	bool joined = situation == JOINED;
	struct program *trainer = &p->program[joined ? JOINED_TRAINER : TRAINER];
	struct program *server = &p->program[joined ? JOINED_SERVER : SERVER];
	struct progress from, to;
	int err = begin_training(trainer);

	if (!err && !joined)
		err = time_trainer(p, trainer);
	if (!err)
		err = wait_for_kernels(trainer, 1, &from);
	if (!err)
		err = run_block(p, situation, server);
	if (!err)
		err = wait_for_kernels(trainer, 1, &to);
	if (!err)
		p->left[situation][p->rounds] = subtract_requests(&from, &to, server->page);
	return err ? err : end_training(trainer);
}

/* In the other order in every second round. */
static int run_round(struct play *p)
{
	int err = 0;

	for (int i = 0; !err && i < SITUATIONS; i++) {
		int situation = p->rounds % 2 ? SITUATIONS - 1 - i : i;

		err = situation == ALONE ? run_block(p, ALONE, &p->program[SERVER])
					 : run_beside(p, situation);
	}
	p->rounds++;
	return err;
}

static int run_rounds(struct play *p)
{
	unsigned int rounds = gp__bench_quick(p->run) ? QUICK_ROUNDS : ROUNDS;
	uint64_t since = gp__clock_ns();
	int err = 0;

	while (!err && p->rounds < rounds) {
		err = run_round(p);
		if ((gp__clock_ns() - since) / p->rounds > gp__bench_left_ns(p->run))
			break;
	}
	if (p->rounds < rounds)
		gp__bench_cut_short(p->run);
	return err ? gp__bench_fail(p->run, err, "round %u", p->rounds) : 0;
}

/*
 * Figures
 */

static double quantile(const struct gp__hist *h, double q)
{
	uint64_t ns = 0;

	gp__hist_quantile(h, q, &ns);
	return (double)ns;
}

/* The trainer's work, in percent of that in the time that was left to it: of the blocks. */
static struct gp__stats trained_percent(const struct play *p, int situation, bool wall)
{
	double kernel_ns =
		(double)(wall ? p->trainer_wall_ns : p->trainer_ns) / (double)p->trainer_kernels;
	double percent[ROUNDS];
	struct gp__stats stats;

	for (unsigned int i = 0; i < p->rounds; i++) {
		const struct left *l = &p->left[situation][i];

		percent[i] = 100 * (double)l->kernels * kernel_ns /
			     (double)(wall ? l->wall_ns : l->device_ns);
	}
	gp__stats_of(percent, p->rounds, &stats);
	return stats;
}

/* The device time that a request costs the trainer besides the request's own: of the blocks. */
static struct gp__stats lost_ms(const struct play *p)
{
	double kernel_ns = (double)p->trainer_ns / (double)p->trainer_kernels, ms[ROUNDS];
	struct gp__stats stats;

	for (unsigned int i = 0; i < p->rounds; i++) {
		const struct left *l = &p->left[JOINED][i];

		ms[i] = ((double)l->device_ns - (double)l->kernels * kernel_ns) / GP__MS /
			(double)l->requests;
	}
	gp__stats_of(ms, p->rounds, &stats);
	return stats;
}

static void add_trainer(struct play *p)
{
	struct gp__stats percent = trained_percent(p, JOINED, false), lost = lost_ms(p);
	struct gp__stats wall = trained_percent(p, JOINED, true);
	struct gp__stats native = trained_percent(p, NATIVE, false);
	json_t *trainer = json_object();

	gp__bench_set(trainer, "percent", "", &percent);
	gp__bench_set(trainer, "lost", "ms", &lost);
	json_object_set_new(trainer, "wall_percent", json_real(wall.median));
	json_object_set_new(trainer, "native_percent", json_real(native.median));
	gp__bench_summary(
		p->run, "trainer", trainer,
		"in the time that requests leave, the trainer does %.1f %% of its work "
		"(%.1f %% without gpreempt; %.1f %% by the host's clock): a request costs "
		"it %.2f ms besides its own time",
		percent.median, native.median, wall.median, lost.median);
}

static void add_ratio(struct play *p)
{
	double slower[SITUATIONS];

	for (int i = ALONE; i < SITUATIONS; i++)
		slower[i] = quantile(&p->times[i].device[LLM_REQUEST], 0.99) /
			    quantile(&p->times[ALONE].device[LLM_REQUEST], 0.99);
	gp__bench_summary(p->run, "request_p99_ratio", json_real(slower[JOINED]),
			  "with gpreempt the p99 of a request is %.2f times that of the server "
			  "alone (%.2f times without)",
			  slower[JOINED], slower[NATIVE]);
}

static int add_decisions(struct play *p)
{
	double n = (double)p->nr_joined;
	struct llm_decisions d;
	int err = llm_read_log(p->daemon->log, p->joined, p->nr_joined, &d);

	if (err)
		return gp__bench_fail(p->run, err, "%s", p->daemon->log);
	gp__bench_summary(p->run, "per_request",
			  json_pack("{s:f, s:f, s:f, s:f}", "holds", d.holds / n, "releases",
				    d.releases / n, "lingered_ms", gp__to_ms(d.inside_ns) / n,
				    "wasted_ms", gp__to_ms(d.outside_ns) / n),
			  "in a request the trainer is held %.2f times and released %.2f times; it "
			  "is held without work of the server for %.2f ms in a request and for "
			  "%.2f ms after it (by the host's clock)",
			  d.holds / n, d.releases / n, gp__to_ms(d.inside_ns) / n,
			  gp__to_ms(d.outside_ns) / n);
	return 0;
}

static int add_figures(struct play *p)
{
	for (int i = 0; i < SITUATIONS; i++)
		llm_add_rows(p->run, situations[i], &p->times[i], &p->times[ALONE]);
	add_ratio(p);
	add_trainer(p);
	return add_decisions(p);
}

static int measure(struct gp__bench_run *run, const struct stage_daemon *daemon)
{
	struct play *p = calloc(1, sizeof(*p));
	int err = p ? 0 : -ENOMEM;

	if (err)
		return err;
	p->run = run;
	p->daemon = daemon;
	for (int i = 0; !err && i < PROGRAMS; i++)
		err = start(p, i);
	if (!err)
		err = run_rounds(p);
	if (!err)
		err = add_figures(p);
	for (int i = 0; i < PROGRAMS; i++)
		end(&p->program[i]);
	free(p);
	return err;
}

int bench_llm(struct gp__bench_run *run)
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

int bench_llm(struct gp__bench_run *run)
{
	return gp__bench_fail(run, -ENOSYS, BENCH_NO_KERNELS);
}

#endif
