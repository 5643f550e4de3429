/* SPDX-License-Identifier: MIT */
/*
 * A rank of two, each with a GPU of its own, whose kernels wait for one another in every turn; or a
 * program that keeps one GPU busy.
 *
 *	hsa_pair rank 0|1 SHARED STOP [SECONDS]
 *		the ranks share the file SHARED, and end when STOP exists
 *	hsa_pair busy GPU STOP [ON_MS OFF_MS]
 *		has work all the time, or for ON_MS out of ON_MS + OFF_MS
 *
 * A kernel that waits for the other rank for PATIENCE rounds gives up. That is device time: a rank
 * that is held does not count. With SECONDS, it does not give up, but the rank has a watchdog, as
 * libraries for collectives have: a rank ends the program if a round takes longer, on the clock of
 * the host. The host's threads pass the flags on. PAIR_LIBRARY is a library that a rank loads
 *first.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hsa_test.h"

enum { GPUS = 2, TURNS = 10, PATIENCE = 100000000, GO = 1, STOP = 2 };

struct shared {
	_Atomic uint32_t turn[2]; /* of each rank */
	_Atomic uint32_t round, decision; /* rank 0 says what both do in this round */
};

struct rank {
	struct shared *shared;
	_Atomic uint32_t *mine, *theirs;
	int number;
	_Atomic bool ends;
	_Atomic time_t round_at; /* when the round began */
	int watchdog; /* seconds; 0: none */
};

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static hsa_agent_t gpus[GPUS];
static int nr_gpus;

static hsa_status_t see_agent(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;

	(void)data;
	lab_must(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_GPU && nr_gpus < GPUS)
		gpus[nr_gpus++] = agent;
	return HSA_STATUS_SUCCESS;
}

static void open_gpu(struct lab *lab, int number)
{
	lab_must(hsa_init());
	lab_must(hsa_iterate_agents(see_agent, NULL));
	lab_check(nr_gpus == GPUS, "%d GPUs instead of %d", nr_gpus, GPUS);
	lab_open_gpu(lab, gpus[number]);
}

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void *watch(void *data)
{
	struct rank *r = data;

	for (;;) {
		pause_ms(100);
		if (seconds() - r->round_at <= r->watchdog)
			continue;
		printf("watchdog: a round takes longer than %d s\n", r->watchdog);
		fflush(stdout);
		_exit(4);
	}
	return NULL;
}

static void load_library(void)
{
	const char *name = getenv("PAIR_LIBRARY");

	if (name)
		lab_check(dlopen(name, RTLD_NOW | RTLD_GLOBAL), "cannot load %s: %s", name,
			  dlerror());
}

static void *pass_on(void *data)
{
	struct rank *r = data;

	while (!r->ends) {
		r->shared->turn[r->number] = *r->mine;
		*r->theirs = r->shared->turn[!r->number];
		usleep(20);
	}
	return NULL;
}

/* The work of both ranks in the round: rank 0 says it. */
static uint32_t decide(struct rank *r, uint32_t round, const char *stop)
{
	struct shared *s = r->shared;

	if (!r->number) {
		s->decision = access(stop, F_OK) ? GO : STOP;
		s->round = round;
	}
	while (s->round < round)
		usleep(100);
	return s->decision;
}

struct meet_arguments {
	_Atomic uint32_t *mine, *theirs;
	uint32_t from, to, patience, pad;
};

static int run_rank(int number, const char *path, const char *stop, int watchdog)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	struct rank r = { .number = number, .watchdog = watchdog };
	hsa_queue_t *queue;
	uint32_t turn = 0, seen = 0;
	pthread_t thread, dog;
	struct lab lab;

	load_library();
	lab_check(fd >= 0 && !ftruncate(fd, sizeof(*r.shared)), "cannot make %s", path);
	r.shared = mmap(NULL, sizeof(*r.shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	lab_check(r.shared != MAP_FAILED, "cannot map %s", path);
	open_gpu(&lab, number);
	queue = lab_queue(&lab, 64);
	r.mine = lab_alloc(&lab, lab.fine, 4096);
	r.theirs = r.mine + 64;
	*r.mine = *r.theirs = 0;
	lab_check(!pthread_create(&thread, NULL, pass_on, &r), "cannot start a thread");
	r.round_at = seconds();
	if (watchdog)
		lab_check(!pthread_create(&dog, NULL, watch, &r), "cannot start a thread");
	for (uint32_t round = 1; decide(&r, round, stop) == GO; round++) {
		struct meet_arguments args = {
			r.mine, r.theirs, turn + 1, turn + TURNS, watchdog ? UINT32_MAX : PATIENCE,
			0
		};

		lab_run(&lab, queue, "meet", 64, &args, sizeof(args));
		turn += TURNS;
		r.round_at = seconds();
		seen = *r.theirs;
		if (seen < turn)
			break;
		printf("turn %u\n", turn);
		fflush(stdout);
		/* The other reads what this one has said before it overwrites it. */
		while (r.shared->turn[number] < turn)
			usleep(20);
	}
	r.ends = true;
	pthread_join(thread, NULL);
	/* The other may go on afterwards. */
	if (seen < turn) {
		printf("stalled in turn %u: the other is in turn %u\n", *r.mine, seen);
		return 3;
	}
	printf("ended after %u turns\n", *r.mine);
	return 0;
}

static void sleep_or_stop(const char *stop, int ms)
{
	for (int slept = 0; (!ms || slept < ms) && access(stop, F_OK); slept += 10)
		pause_ms(10);
}

/* Kernels that run for @on_ms, or until the file exists if that is 0. */
static int keep_busy(int gpu, const char *stop, int on_ms, int off_ms)
{
	struct {
		uint64_t *state;
		uint32_t rounds, pad;
		uint32_t *progress, *gate;
	} * args;
	hsa_signal_t done;
	struct lab_kernel march;
	hsa_queue_t *queue;
	struct lab lab;

	open_gpu(&lab, gpu);
	done = lab_signal(0);
	queue = lab_queue(&lab, 64);
	march = lab_find(&lab, "march");
	args = lab_alloc(&lab, lab.kernarg, sizeof(*args));
	args->state = lab_alloc(&lab, lab.fine, 64 * 8);
	args->rounds = 1;
	args->progress = lab_alloc(&lab, lab.fine, 4096);
	args->gate = args->progress + 64;
	do {
		*args->progress = *args->gate = 0;
		hsa_signal_store_screlease(done, 1);
		lab_dispatch(queue, &march, lab_line_in_order(64), args, done);
		sleep_or_stop(stop, on_ms);
		__atomic_store_n(args->gate, 1, __ATOMIC_SEQ_CST);
		lab_wait(done, HSA_WAIT_STATE_BLOCKED, "the busy kernel");
		if (off_ms)
			sleep_or_stop(stop, off_ms);
	} while (access(stop, F_OK));
	lab_must(hsa_queue_destroy(queue));
	lab_close(&lab);
	return 0;
}

int main(int argc, char **argv)
{
	if ((argc == 5 || argc == 6) && !strcmp(argv[1], "rank"))
		return run_rank(atoi(argv[2]), argv[3], argv[4], argc == 6 ? atoi(argv[5]) : 0);
	if (argc == 4 && !strcmp(argv[1], "busy"))
		return keep_busy(atoi(argv[2]), argv[3], 0, 0);
	if (argc == 6 && !strcmp(argv[1], "busy"))
		return keep_busy(atoi(argv[2]), argv[3], atoi(argv[4]), atoi(argv[5]));
	lab_fail("usage: hsa_pair rank 0|1 SHARED STOP [SECONDS], or hsa_pair busy GPU STOP "
		 "[ON_MS OFF_MS]");
}
