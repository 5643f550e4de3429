// SPDX-License-Identifier: MIT
/*
 * Two priorities on one AMD GPU: a thread with short requests, and a thread that keeps the GPU busy
 * and is preempted, in the middle of a kernel, whenever the first has work.
 *
 *	cc amd_two_priorities.c $(pkg-config --cflags --libs gpreempt) -lpthread
 *	clang -x cl -target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O2 ... -o kernels.co
 *	./amd_two_priorities kernels.co
 *
 * The code must have a kernel
 *
 *	__kernel void fill(__global uint *table, __global uint *wrong, uint id, uint rounds)
 *
 * that computes for that number of rounds and then fills 64 words of the table, as the one in
 * src/emu/kernels/kernels.cl. Without a GPU:
 *
 *	gpreempt emu exec --cus 1 -- ./amd_two_priorities kernels.co
 */
#include <gpreempt/kfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REQUESTS 10
#define LANES 64

struct arguments {
	void *table;
	uint32_t *wrong;
	uint32_t id, rounds;
};

static struct gp_kfd *gpu;
static struct gp_error err;
static uint64_t kernel;
static atomic_int finished;

static void check(int rc)
{
	if (!rc)
		return;
	fprintf(stderr, "amd_two_priorities: %s\n", err.message);
	exit(1);
}

/* A stream: a queue of the GPU, one of libgpreempt over it, and the arguments of its command. */
struct stream {
	struct gp_kfd_queue *hwq;
	struct gp_queue *queue;
	struct arguments *arguments;
	struct gp_kfd_command command;
};

static void stream_open(struct stream *s, struct gp_sched *sched, int priority, uint32_t rounds)
{
	struct gp_queue_options options = GP_QUEUE_OPTIONS_INIT;
	struct gp_kfd_info info = GP_KFD_INFO_INIT;
	void *memory;

	check(gp_kfd_queue_create(gpu, NULL, &s->hwq, &err));
	options.sched = sched;
	options.priority = priority;
	check(gp_queue_create(gp_kfd_ops(s->hwq), s->hwq, &options, &s->queue, &err));

	/* The memory has the same address for the GPU. */
	check(gp_kfd_alloc(gpu, 4096, &memory, &err));
	s->arguments = memory;
	s->arguments->table = (char *)memory + 1024;
	s->arguments->wrong = (uint32_t *)memory + 128;
	s->arguments->rounds = rounds;

	gp_kfd_info(gpu, &info);
	s->command = (struct gp_kfd_command)GP_KFD_COMMAND_INIT;
	s->command.kernel = kernel;
	s->command.kernarg = s->arguments;
	s->command.group[0] = LANES;
	s->command.grid[0] = LANES * info.compute_units;
	s->command.lds_bytes = 65536; /* a whole compute unit for each workgroup */
}

static void stream_close(struct stream *s)
{
	gp_queue_destroy(s->queue);
	gp_kfd_queue_destroy(s->hwq);
	gp_kfd_free(gpu, s->arguments);
}

static int stream_run(struct stream *s)
{
	uint64_t ticket;
	int rc = gp_queue_submit(s->queue, &s->command, &ticket);

	return rc ? rc : gp_queue_wait(s->queue, ticket, -1);
}

static void *offline_main(void *arg)
{
	unsigned long kernels = 0;

	while (!atomic_load(&finished) && !stream_run(arg))
		kernels++;
	return (void *)kernels;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the time from the submit to the end of the kernel, by the GPU's clock. */
static uint64_t online_median(struct stream *s)
{
	uint64_t latency[REQUESTS], begin;
	struct timespec pause = { 0, 20000000 };
	int i;

	for (i = 0; i < REQUESTS; i++) {
		nanosleep(&pause, NULL);
		gp_kfd_clock(gpu, &begin);
		if (stream_run(s))
			exit(1);
		latency[i] = s->command.end_ns - begin;
	}
	qsort(latency, REQUESTS, sizeof(latency[0]), by_size);
	return latency[REQUESTS / 2];
}

static void run(const char *title, struct gp_sched *sched)
{
	struct gp_queue_stats stats = GP_QUEUE_STATS_INIT;
	struct stream online, offline;
	pthread_t thread;
	uint64_t median;
	void *kernels;

	stream_open(&online, sched, GP_PRIORITY_ONLINE, 50000);
	stream_open(&offline, sched, GP_PRIORITY_OFFLINE, 2000000);
	atomic_store(&finished, 0);
	if (pthread_create(&thread, NULL, offline_main, &offline))
		exit(1);
	median = online_median(&online);
	atomic_store(&finished, 1);
	pthread_join(thread, &kernels);
	gp_queue_stats(offline.queue, &stats);
	printf("%-14s %8.2f ms %8lu kernels %8lu stops at level %d\n", title, (double)median / 1e6,
	       (unsigned long)kernels, (unsigned long)stats.suspends, stats.level_effective);
	stream_close(&online);
	stream_close(&offline);
}

int main(int argc, char **argv)
{
	struct gp_sched_options options = GP_SCHED_OPTIONS_INIT;
	struct gp_kfd_code *code;
	struct gp_sched *sched;

	if (argc != 2) {
		fprintf(stderr, "usage: amd_two_priorities CODE\n");
		return 2;
	}
	check(gp_kfd_open(0, &gpu, &err));
	check(gp_kfd_load(gpu, argv[1], &code, &err));
	check(gp_kfd_kernel(code, "fill", &kernel, &err));
	check(gp_sched_create(&options, &sched, &err));

	printf("%-14s %11s %16s\n", "", "online p50", "offline");
	run("no scheduler", NULL);
	run("by priority", sched);

	gp_sched_destroy(sched);
	gp_kfd_unload(code);
	return gp_kfd_close(gpu) != 0;
}
