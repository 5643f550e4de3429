/* SPDX-License-Identifier: MIT */
/*
 * The offline program: "trains" with long kernels on several queues, one step after the other. A
 * step takes every shard of the state through the kernel "mill", whose state is in registers, LDS
 * and at barriers. Its digest covers every word, so that a wave that was saved or restored wrongly,
 * ran twice or not at all changes all later digests. The host can do the same work, much faster
 * than an emulated GPU, so the result of a run of N steps is known.
 *
 * A step begins when the result of the one before was checked, and the GPU waits for that; with
 * --ahead N so many are queued, as training loops do, and the state has N parts that the steps use
 * in turn.
 *
 * Usage: offline_trainer [--steps N | --seconds N] [--on gpu|host] [--queues N] [--groups N]
 *                        [--rounds N] [--ahead N] [--seed N] [--progress FILE] [--each]
 *                        [--memory MIB] [--debuggable] [--stay] [--json]
 *        offline_trainer --fill DURATION [--queues N]
 *
 * With --fill it only prints, as JSON, the --groups that fill the GPU together and the --rounds
 * with which a step takes so long, by the GPU's clock: what is long on one GPU is short on another.
 *
 * SIGTERM ends it after the running steps, as --seconds does, with their digest. With --stay it
 * keeps its queues after the last step until then. With --memory it also has so many mebibytes of
 * the GPU's memory, unused. With --each it prints a line "step N ENDED
 * DIGEST" after each step, with the host's monotonic time.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device_clock.h"
#include "hsa_lab.h"
#include "mill.h"
#include "program.h"
#include "progress.h"

enum { QUEUES_MAX = 16, AHEAD_MAX = 8, GROUPS_MAX = 4096, RING = 64, STAY_US = 20000 };
/* A compute unit holds 32 waves. */
enum { CU_GROUPS = 32 * 64 / MILL_GROUP, TRY_ROUNDS = 500, TRIES = 3 };

struct options {
	uint64_t steps, seconds, queues, groups, rounds, ahead, seed, memory, fill_ns;
	const char *progress;
	bool on_host, debuggable, each, stay, json;
};

/* The state of every --ahead-th step. */
struct part {
	uint64_t *state;
	/* On the GPU only. */
	struct mill_arguments *args;
	_Atomic uint32_t *done;
	hsa_signal_t ended;
};

struct shard {
	hsa_queue_t *queue; /* on the GPU only */
	struct part part[AHEAD_MAX];
};

struct training {
	struct options o;
	size_t words; /* of a part */
	struct shard shard[QUEUES_MAX];
	uint64_t steps, digest, device_ns;
	struct progress *progress;
};

static volatile sig_atomic_t is_told_to_end;

static void tell_to_end(int sig)
{
	(void)sig;
	is_told_to_end = 1;
}

static struct options parse(int argc, char **argv)
{
	struct options o = { .queues = 2, .groups = 4, .rounds = 8000, .ahead = 1, .seed = 1 };
	const char *on = "gpu";
	const struct program_option known[] = {
		{ "steps", .number = &o.steps, .min = 1, .max = UINT32_MAX },
		{ "seconds", .number = &o.seconds, .min = 1, .max = UINT32_MAX },
		{ "on", .text = &on },
		{ "queues", .number = &o.queues, .min = 1, .max = QUEUES_MAX },
		{ "groups", .number = &o.groups, .min = 1, .max = GROUPS_MAX },
		{ "rounds", .number = &o.rounds, .min = 1, .max = UINT32_MAX },
		{ "ahead", .number = &o.ahead, .min = 1, .max = AHEAD_MAX },
		{ "seed", .number = &o.seed, .max = UINT64_MAX },
		{ "memory", .number = &o.memory, .max = 1 << 20 },
		{ "progress", .text = &o.progress },
		{ "fill", .duration_ns = &o.fill_ns },
		{ "each", .flag = &o.each },
		{ "debuggable", .flag = &o.debuggable },
		{ "stay", .flag = &o.stay },
		{ "json", .flag = &o.json },
	};

	program_options(known, sizeof(known) / sizeof(known[0]), argc, argv,
			"offline_trainer [--steps N | --seconds N] [--on gpu|host] ...");
	o.on_host = !strcmp(on, "host");
	lab_check(o.on_host || !strcmp(on, "gpu"), "--on: '%s' is neither gpu nor host", on);
	return o;
}

static uint64_t mix(uint64_t digest, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		digest = (digest ^ words[i]) * 0x100000001b3u ^ digest >> 29;
	return digest;
}

static void open_progress(struct training *t)
{
	int fd;

	if (!t->o.progress)
		return;
	fd = open(t->o.progress, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	lab_check(fd >= 0 && !ftruncate(fd, sizeof(*t->progress)), "%s: %s", t->o.progress,
		  strerror(errno));
	t->progress = mmap(NULL, sizeof(*t->progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	lab_check(t->progress != MAP_FAILED, "%s: %s", t->o.progress, strerror(errno));
	close(fd);
	t->progress->pid = (uint32_t)getpid();
}

static void show_progress(struct training *t)
{
	if (!t->progress)
		return;
	t->progress->digest = t->digest;
	t->progress->device_ns = t->device_ns;
	t->progress->steps = t->steps;
	t->progress->magic = PROGRESS_MAGIC;
}

static void show_step(const struct training *t)
{
	if (t->o.each)
		printf("step %" PRIu64 " %" PRIu64 " %016" PRIx64 "\n", t->steps, program_now(),
		       t->digest);
}

/* The state of a step in a shard. */
static struct part *part_of(struct training *t, uint64_t q, uint64_t step)
{
	return &t->shard[q].part[step % t->o.ahead];
}

static void begin_state(struct training *t)
{
	uint64_t seed = t->o.seed;

	for (uint64_t a = 0; a < t->o.ahead; a++)
		for (uint64_t q = 0; q < t->o.queues; q++)
			for (size_t i = 0; i < t->words; i++)
				part_of(t, q, a)->state[i] = lab_random(&seed);
	t->digest = t->o.seed;
}

static void alloc_part(struct training *t, struct lab *lab, struct part *p)
{
	p->state = lab_alloc(lab, lab->fine, t->words * sizeof(uint64_t));
	p->done = lab_alloc(lab, lab->fine, 4096);
	p->args = lab_alloc(lab, lab->kernarg, 4096);
	*p->done = 0;
	*p->args = (struct mill_arguments){ p->state, (uint32_t)t->o.rounds, 0, (void *)p->done };
	p->ended = lab_signal(1);
}

static void alloc_on_gpu(struct training *t, struct lab *lab)
{
	for (uint64_t q = 0; q < t->o.queues; q++) {
		for (uint64_t a = 0; a < t->o.ahead; a++)
			alloc_part(t, lab, part_of(t, q, a));
		t->shard[q].queue = lab_queue(lab, RING);
		lab_must(hsa_amd_profiling_set_profiler_enabled(t->shard[q].queue, 1));
	}
}

static void free_on_gpu(struct training *t)
{
	for (uint64_t q = 0; q < t->o.queues; q++) {
		lab_must(hsa_queue_destroy(t->shard[q].queue));
		for (uint64_t a = 0; a < t->o.ahead; a++)
			lab_must(hsa_signal_destroy(part_of(t, q, a)->ended));
	}
}

/* All shards in parallel, each in its own queue, behind the step before. */
static void begin_on_gpu(struct training *t, const struct lab_kernel *mill, uint64_t step)
{
	for (uint64_t q = 0; q < t->o.queues; q++) {
		struct part *p = part_of(t, q, step);

		hsa_signal_store_screlease(p->ended, 1);
		lab_dispatch(t->shard[q].queue, mill,
			     (struct lab_grid){ .size = { (uint32_t)t->words },
						.group = { MILL_GROUP },
						.barrier = true },
			     p->args, p->ended);
	}
}

/* The longest of the shards counts. */
static void end_on_gpu(struct training *t, uint64_t step)
{
	uint64_t longest = 0, groups = (step / t->o.ahead + 1) * t->o.groups;

	for (uint64_t q = 0; q < t->o.queues; q++) {
		struct part *p = part_of(t, q, step);
		uint64_t ns;

		lab_wait(p->ended, HSA_WAIT_STATE_BLOCKED, "a step");
		lab_check(*p->done == groups,
			  "step %" PRIu64 ": %u workgroups have ended, not %" PRIu64, step + 1,
			  *p->done, groups);
		ns = device_clock_end_ns(p->ended) - device_clock_start_ns(p->ended);
		longest = ns > longest ? ns : longest;
	}
	t->device_ns += longest;
}

static void step_on_host(struct training *t, uint64_t step)
{
	for (uint64_t q = 0; q < t->o.queues; q++)
		for (uint64_t g = 0; g < t->o.groups; g++)
			turn_mill(part_of(t, q, step)->state + g * MILL_GROUP,
				  (uint32_t)t->o.rounds);
}

static void end_step(struct training *t, bool on_gpu)
{
	if (on_gpu)
		end_on_gpu(t, t->steps);
	for (uint64_t q = 0; q < t->o.queues; q++)
		t->digest = mix(t->digest, part_of(t, q, t->steps)->state, t->words);
	t->steps++;
	show_progress(t);
	show_step(t);
}

static bool goes_on(const struct training *t, uint64_t begun, uint64_t end)
{
	return !is_told_to_end && program_now() < end && (!t->o.steps || begun < t->o.steps);
}

/* @mill is NULL on the host. */
static void train(struct training *t, const struct lab_kernel *mill)
{
	uint64_t end = t->o.seconds ? program_now() + t->o.seconds * 1000000000u : UINT64_MAX;
	uint64_t begun = 0;

	show_progress(t);
	for (;;) {
		for (; begun < t->steps + t->o.ahead && goes_on(t, begun, end); begun++) {
			if (mill)
				begin_on_gpu(t, mill, begun);
			else
				step_on_host(t, begun);
		}
		if (t->steps == begun)
			return;
		end_step(t, mill);
	}
}

static void train_on_gpu(struct training *t)
{
	struct lab_kernel mill;
	struct lab lab;

	lab_must(hsa_init());
	if (t->o.debuggable)
		lab_enable_runtime();
	lab_open(&lab);
	mill = lab_find(&lab, "mill");
	alloc_on_gpu(t, &lab);
	if (t->o.memory)
		lab_alloc(&lab, lab.vram, t->o.memory << 20);
	begin_state(t);
	train(t, &mill);
	while (t->o.stay && !is_told_to_end)
		usleep(STAY_US);
	free_on_gpu(t);
	lab_close(&lab);
	lab_must(hsa_shut_down());
}

/* The time of one step with so many rounds, by the GPU's clock. */
static uint64_t time_step(struct training *t, const struct lab_kernel *mill, uint64_t rounds)
{
	uint64_t before = t->device_ns;

	for (uint64_t q = 0; q < t->o.queues; q++)
		part_of(t, q, t->steps)->args->rounds = (uint32_t)rounds;
	begin_on_gpu(t, mill, t->steps);
	end_on_gpu(t, t->steps++);
	return t->device_ns - before;
}

static uint64_t find_rounds(struct training *t, const struct lab_kernel *mill)
{
	uint64_t rounds = TRY_ROUNDS;

	for (int i = 0; i < TRIES; i++) {
		uint64_t ns = time_step(t, mill, rounds);
		double wanted = (double)rounds * (double)t->o.fill_ns / (double)(ns ? ns : 1);

		rounds = wanted < 1 ? 1 : wanted > UINT32_MAX ? UINT32_MAX : (uint64_t)wanted;
	}
	return rounds;
}

static void fill_gpu(struct training *t)
{
	struct lab_kernel mill;
	struct lab lab;
	uint32_t cus;

	lab_open(&lab);
	mill = lab_find(&lab, "mill");
	lab_must(hsa_agent_get_info(lab.gpu,
				    (hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, &cus));
	t->o.ahead = 1;
	t->o.groups = (cus * CU_GROUPS + t->o.queues - 1) / t->o.queues;
	t->o.groups = t->o.groups < GROUPS_MAX ? t->o.groups : GROUPS_MAX;
	t->words = t->o.groups * MILL_GROUP;
	alloc_on_gpu(t, &lab);
	begin_state(t);
	program_print(json_pack("{s:i, s:I, s:I}", "schema", 1, "groups", (json_int_t)t->o.groups,
				"rounds", (json_int_t)find_rounds(t, &mill)));
	free_on_gpu(t);
	lab_close(&lab);
}

static void train_on_host(struct training *t)
{
	size_t parts = t->o.queues * t->o.ahead;
	uint64_t *states = calloc(parts * t->words, sizeof(*states));

	lab_check(states, "no memory");
	for (size_t i = 0; i < parts; i++)
		part_of(t, i / t->o.ahead, i)->state = states + i * t->words;
	begin_state(t);
	train(t, NULL);
	free(states);
}

static void report(const struct training *t, double seconds)
{
	char digest[20];

	snprintf(digest, sizeof(digest), "%016" PRIx64, t->digest);
	if (!t->o.json) {
		printf("%" PRIu64 " steps in %.3f s, digest %s\n", t->steps, seconds, digest);
		return;
	}
	json_t *root = json_pack("{s:i, s:I, s:s, s:f}", "schema", 1, "steps", (json_int_t)t->steps,
				 "digest", digest, "wall_s", seconds);

	json_object_set_new(root, "device_s",
			    t->o.on_host ? json_null() : json_real((double)t->device_ns / 1e9));
	program_print(root);
}

int main(int argc, char **argv)
{
	static struct training t;
	uint64_t begin;

	t.o = parse(argc, argv);
	t.words = t.o.groups * MILL_GROUP;
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGTERM, tell_to_end);
	if (t.o.fill_ns) {
		fill_gpu(&t);
		return 0;
	}
	open_progress(&t);
	begin = program_now();
	if (t.o.on_host)
		train_on_host(&t);
	else
		train_on_gpu(&t);
	report(&t, (double)(program_now() - begin) / 1e9);
	return 0;
}
