/* SPDX-License-Identifier: MIT */
/*
 * The offline program: "trains" with long kernels on several queues, one step after the other. A
 * step takes every shard of the state through the kernel "mill", whose state is in registers, LDS
 * and at barriers, and its digest covers every word of it, so that a wave that was saved or
 * restored wrongly, ran twice or not at all shows in the digests from then on. The host can do the
 * same work, much faster than an emulated GPU: what a run of N steps must end with is known.
 *
 * Usage: offline_trainer [--steps N | --seconds N] [--on gpu|host] [--queues N] [--groups N]
 *                        [--rounds N] [--seed N] [--progress FILE] [--each] [--debuggable]
 *                        [--stay] [--json]
 *
 * SIGTERM ends it after the step under way, as --seconds does, with its digest. With --stay it
 * keeps its queues after the last step until then. With --each it prints a line "step N ENDED
 * DIGEST" after each step, with the host's monotonic time.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <hsa/amd_hsa_signal.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hsa_lab.h"
#include "mill.h"
#include "program.h"
#include "progress.h"

enum { QUEUES_MAX = 16, GROUPS_MAX = 1024, RING = 64, TICK_NS = 10, STAY_US = 20000 };

struct options {
	uint64_t steps, seconds, queues, groups, rounds, seed;
	const char *progress;
	bool on_host, debuggable, each, stay, json;
};

struct shard {
	uint64_t *state;
	/* On the GPU only. */
	hsa_queue_t *queue;
	struct mill_arguments *args;
	_Atomic uint32_t *done;
	hsa_signal_t ended;
};

struct training {
	struct options o;
	size_t words; /* of a shard */
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
	static const struct option known[] = {
		{ "steps", 1, 0, 's' },	 { "seconds", 1, 0, 't' },  { "on", 1, 0, 'o' },
		{ "queues", 1, 0, 'q' }, { "groups", 1, 0, 'g' },   { "rounds", 1, 0, 'r' },
		{ "seed", 1, 0, 'e' },	 { "progress", 1, 0, 'p' }, { "debuggable", 0, 0, 'd' },
		{ "json", 0, 0, 'j' },	 { "stay", 0, 0, 'y' },	    { "each", 0, 0, 'l' },
		{ 0, 0, 0, 0 },
	};
	struct options o = { .queues = 2, .groups = 4, .rounds = 8000, .seed = 1 };
	int c, which;

	while ((c = getopt_long(argc, argv, "", known, &which)) != -1) {
		if (c == 's')
			o.steps = program_number("steps", 1, UINT32_MAX);
		else if (c == 't')
			o.seconds = program_number("seconds", 1, UINT32_MAX);
		else if (c == 'q')
			o.queues = program_number("queues", 1, QUEUES_MAX);
		else if (c == 'g')
			o.groups = program_number("groups", 1, GROUPS_MAX);
		else if (c == 'r')
			o.rounds = program_number("rounds", 1, UINT32_MAX);
		else if (c == 'e')
			o.seed = program_number("seed", 0, UINT64_MAX);
		else if (c == 'p')
			o.progress = optarg;
		else if (c == 'd')
			o.debuggable = true;
		else if (c == 'j')
			o.json = true;
		else if (c == 'l')
			o.each = true;
		else if (c == 'y')
			o.stay = true;
		else if (c == 'o' && (!strcmp(optarg, "host") || !strcmp(optarg, "gpu")))
			o.on_host = *optarg == 'h';
		else
			lab_fail("usage: offline_trainer [--steps N | --seconds N] [--on gpu|host] "
				 "...");
	}
	lab_check(optind == argc, "an argument that it does not know: '%s'", argv[optind]);
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

static void begin_state(struct training *t)
{
	uint64_t seed = t->o.seed;

	for (uint64_t q = 0; q < t->o.queues; q++)
		for (size_t i = 0; i < t->words; i++)
			t->shard[q].state[i] = lab_random(&seed);
	t->digest = t->o.seed;
}

static void alloc_on_gpu(struct training *t, struct lab *lab)
{
	for (uint64_t q = 0; q < t->o.queues; q++) {
		struct shard *s = &t->shard[q];

		s->state = lab_alloc(lab, lab->fine, t->words * sizeof(uint64_t));
		s->done = lab_alloc(lab, lab->fine, 4096);
		s->args = lab_alloc(lab, lab->kernarg, 4096);
		*s->done = 0;
		*s->args = (struct mill_arguments){ s->state, (uint32_t)t->o.rounds, 0,
						    (void *)s->done };
		s->queue = lab_queue(lab, RING);
		lab_must(hsa_amd_profiling_set_profiler_enabled(s->queue, 1));
		s->ended = lab_signal(1);
	}
}

static uint64_t device_ns_of(hsa_signal_t signal)
{
	const amd_signal_t *s = (const amd_signal_t *)signal.handle;

	return (s->end_ts - s->start_ts) * TICK_NS;
}

/* All shards at once, each in a queue of its own; the longest counts. */
static void step_on_gpu(struct training *t, const struct lab_kernel *mill)
{
	uint64_t longest = 0;

	for (uint64_t q = 0; q < t->o.queues; q++) {
		hsa_signal_store_screlease(t->shard[q].ended, 1);
		lab_dispatch(t->shard[q].queue, mill,
			     (struct lab_grid){ .size = { (uint32_t)t->words },
						.group = { MILL_GROUP } },
			     t->shard[q].args, t->shard[q].ended);
	}
	for (uint64_t q = 0; q < t->o.queues; q++) {
		struct shard *s = &t->shard[q];
		uint64_t ns;

		lab_wait(s->ended, HSA_WAIT_STATE_BLOCKED, "a step");
		lab_check(*s->done == (t->steps + 1) * t->o.groups,
			  "step %" PRIu64 ": %u workgroups have ended, not %" PRIu64, t->steps + 1,
			  *s->done, (t->steps + 1) * t->o.groups);
		ns = device_ns_of(s->ended);
		longest = ns > longest ? ns : longest;
	}
	t->device_ns += longest;
}

static void step_on_host(struct training *t)
{
	for (uint64_t q = 0; q < t->o.queues; q++)
		for (uint64_t g = 0; g < t->o.groups; g++)
			turn_mill(t->shard[q].state + g * MILL_GROUP, (uint32_t)t->o.rounds);
}

static void train(struct training *t, const struct lab_kernel *mill)
{
	uint64_t end = t->o.seconds ? program_now() + t->o.seconds * 1000000000u : UINT64_MAX;

	show_progress(t);
	while (!is_told_to_end && program_now() < end && (!t->o.steps || t->steps < t->o.steps)) {
		if (mill)
			step_on_gpu(t, mill);
		else
			step_on_host(t);
		t->steps++;
		for (uint64_t q = 0; q < t->o.queues; q++)
			t->digest = mix(t->digest, t->shard[q].state, t->words);
		show_progress(t);
		show_step(t);
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
	begin_state(t);
	train(t, &mill);
	while (t->o.stay && !is_told_to_end)
		usleep(STAY_US);
	for (uint64_t q = 0; q < t->o.queues; q++) {
		lab_must(hsa_queue_destroy(t->shard[q].queue));
		lab_must(hsa_signal_destroy(t->shard[q].ended));
	}
	lab_close(&lab);
	lab_must(hsa_shut_down());
}

static void train_on_host(struct training *t)
{
	for (uint64_t q = 0; q < t->o.queues; q++) {
		t->shard[q].state = calloc(t->words, sizeof(uint64_t));
		lab_check(t->shard[q].state, "no memory");
	}
	begin_state(t);
	train(t, NULL);
	for (uint64_t q = 0; q < t->o.queues; q++)
		free(t->shard[q].state);
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
	open_progress(&t);
	begin = program_now();
	if (t.o.on_host)
		train_on_host(&t);
	else
		train_on_gpu(&t);
	report(&t, (double)(program_now() - begin) / 1e9);
	return 0;
}
