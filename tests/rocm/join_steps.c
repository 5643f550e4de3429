// SPDX-License-Identifier: MIT
/*
 * A program with the preload that stops and starts its own queue through the preload's table, while
 * another process observes it.
 *
 * Usage: join_steps TEST WAY [debuggable]
 *
 * steps	submit, preempt, see it stopped, resume, see it continue and end with the right bits
 * runtime	the runtime changes the queue while it is held, which does not release it
 * other	the program uses the way itself: a held queue stays held, by another way
 * destroy	the runtime destroys a queue that is held
 * child	a child has none of its parent's queues, and the parent still has them
 * hold		stops the queue, prints "held" and waits to be killed
 *
 * WAY must be in use at the end; GPREEMPT_WAY is the requested one. With debuggable it tells the
 * driver that a debugger may attach, as newer runtimes do.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device/kfd/topology.h"
#include "hsa_lab.h"
#include "join/hsa/table.h"
#include "outside.h"

enum { GROUPS = 4, GROUP = 256, WAVES = GROUPS * GROUP / 64, ROUNDS = 6000, STOPS = 5 };
#define STILL_NS_MIN 20000000u
#define STILL_FACTOR 10
#define PATIENCE_S 60

/* Calls before main() are handled, too, before the preload is initialised. */
static int early_version = -1, early_error;

__attribute__((constructor)) static void call_early(void)
{
	struct gp_kfd_version version = { 0 };
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	if (!ioctl(fd, GP_KFD_GET_VERSION, &version))
		early_version = (int)version.major;
	if (ioctl(fd, GP_KFD_DESTROY_QUEUE, NULL))
		early_error = errno;
	close(fd);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * The victim
 */

struct victim {
	struct lab lab;
	const struct gp_join_table *table;
	hsa_queue_t *queue;
	uint32_t id;
	struct outside_area area;
	struct {
		uint64_t *state;
		uint32_t rounds, pad;
		_Atomic uint32_t *progress, *gate;
	} * args;
	hsa_signal_t done;
	uint64_t expected[GROUPS * GROUP];
};

static void find_table(struct victim *v)
{
	const struct gp_join_table *(*find)(uint32_t);
	void *found = dlsym(RTLD_DEFAULT, "gp_join_table");

	lab_check(found, "the preload is not loaded");
	memcpy(&find, &found, sizeof(found));
	lab_check(!find(GP_JOIN_VERSION + 1), "it takes itself for a newer one");
	v->table = find(GP_JOIN_VERSION);
	lab_check(v->table, "the preload has stepped aside");
}

static uint32_t nr_xccs(uint32_t gpu_id)
{
	struct gp__kfd_node node[GP__KFD_NODES_MAX];
	int n = gp__kfd_nodes(node);

	for (int i = 0; i < n; i++) {
		if (node[i].gpu_id == gpu_id)
			return node[i].nr_xccs;
	}
	lab_fail("there is no GPU %u", gpu_id);
}

/* By its ring: the runtime has other queues. */
static void find_queue(struct victim *v)
{
	struct gp__kfd_owned list[16];
	size_t n = v->table->list(list, 16);

	for (size_t i = 0; i < n && i < 16; i++) {
		if (list[i].queue.ring != (uintptr_t)v->queue->base_address)
			continue;
		v->id = list[i].queue.id;
		v->area = (struct outside_area){ list[i].queue.save_area, list[i].queue.save_bytes,
						 nr_xccs(list[i].queue.gpu_id) };
		return;
	}
	lab_fail("of %zu queues that are listed none is the one that was made", n);
}

static struct gp__kfd_owned look_up(const struct victim *v)
{
	struct gp__kfd_owned list[16];
	size_t n = v->table->list(list, 16);

	for (size_t i = 0; i < n && i < 16; i++) {
		if (list[i].queue.id == v->id)
			return list[i];
	}
	lab_fail("queue %u is not listed", v->id);
}

static void prepare(struct victim *v)
{
	uint64_t seed = 5;

	v->args = lab_alloc(&v->lab, v->lab.kernarg, 4096);
	v->args->state = lab_alloc(&v->lab, v->lab.fine, sizeof(v->expected));
	v->args->rounds = ROUNDS;
	v->args->progress = lab_alloc(&v->lab, v->lab.fine, 4096);
	v->args->gate = v->args->progress + 64;
	*v->args->progress = *v->args->gate = 0;
	for (int i = 0; i < GROUPS * GROUP; i++) {
		uint64_t s = v->args->state[i] = lab_random(&seed);

		for (int r = 0; r < ROUNDS; r++) {
			s = s * 6364136223846793005u + 1442695040888963407u;
			s ^= s >> 29;
		}
		v->expected[i] = s;
	}
	v->done = lab_signal(1);
}

static void submit(struct victim *v)
{
	struct lab_kernel march = lab_find(&v->lab, "march");

	lab_dispatch(v->queue, &march,
		     (struct lab_grid){ .size = { GROUPS * GROUP }, .group = { GROUP } }, v->args,
		     v->done);
}

static void wait_for_progress(const struct victim *v, uint32_t least)
{
	uint64_t end = now_ns() + PATIENCE_S * 1000000000ull;

	while (*v->args->progress < least) {
		lab_check(now_ns() < end, "%u of %u rounds were done, and it does not go on",
			  *v->args->progress, WAVES * ROUNDS);
		usleep(200);
	}
}

static void let_end(const struct victim *v)
{
	wait_for_progress(v, WAVES * ROUNDS);
	*v->args->gate = 1;
	lab_wait(v->done, HSA_WAIT_STATE_BLOCKED, "the march");
}

static void check_result(const struct victim *v)
{
	let_end(v);
	for (int i = 0; i < GROUPS * GROUP; i++)
		lab_check(v->args->state[i] == v->expected[i], "work-item %d has %#lx, not %#lx", i,
			  (unsigned long)v->args->state[i], (unsigned long)v->expected[i]);
}

/* The time it took. */
static uint64_t set(const struct victim *v, enum gp__kfd_verb verb)
{
	uint64_t start = now_ns();
	char why[GP__KFD_EXPLAIN_MAX];
	int result, n = v->table->set(verb, &v->id, &result, 1);
	uint64_t took = now_ns() - start;

	if (n != 1) {
		v->table->explain(verb, result, why, sizeof(why));
		lab_fail("%s: %s", verb == GP__KFD_RELEASE ? "start" : "stop", why);
	}
	lab_check(look_up(v).held == (verb != GP__KFD_RELEASE), "it is listed as something else");
	return took;
}

/* Its word and all its waves do not change for ten times as long as the stop took. */
static void check_stopped(const struct victim *v, uint64_t took, uint32_t least_waves)
{
	uint64_t ns = took * STILL_FACTOR < STILL_NS_MIN ? STILL_NS_MIN : took * STILL_FACTOR;
	struct outside_sight s = outside_look((const void *)v->args->progress, v->area, ns);

	lab_check(s.readable, "the save area of the queue cannot be read from outside");
	lab_check(!s.moved, "a queue that was stopped went on");
	lab_check(s.nr_waves >= least_waves, "%u waves are saved, %u are under way", s.nr_waves,
		  least_waves);
	lab_check(!s.nr_waves || s.first_pc, "a wave is nowhere");
	printf("stopped in %lu us: %u waves stood still for %lu us, looked at %u times\n",
	       (unsigned long)(took / 1000), s.nr_waves, (unsigned long)(ns / 1000), s.looks);
}

static void check_running(const struct victim *v)
{
	struct outside_sight s;
	uint64_t end = now_ns() + PATIENCE_S * 1000000000ull;

	do {
		s = outside_look((const void *)v->args->progress, (struct outside_area){ 0 },
				 1000000);
		lab_check(s.readable, "the program cannot be looked at from outside");
	} while (!s.moved && now_ns() < end);
	lab_check(s.moved, "a queue that was started does not go on");
}

static void check_way(const struct victim *v, const char *name)
{
	char why[GP__KFD_EXPLAIN_MAX];
	const char *way = v->table->way(why, sizeof(why));

	lab_check(!strcmp(way, name), "%s is in use, not %s: %s", way, name, why);
	if (*why)
		printf("%s is in use: %s\n", way, why);
}

/*
 * Tests
 */

static void test_steps(struct victim *v)
{
	submit(v);
	for (uint32_t i = 1; i <= STOPS; i++) {
		wait_for_progress(v, i * WAVES * ROUNDS / 8);
		check_stopped(v, set(v, GP__KFD_SAVE), WAVES);
		set(v, GP__KFD_RELEASE);
		check_running(v);
	}
	check_result(v);
}

static void test_runtime(struct victim *v)
{
	uint64_t took;

	submit(v);
	wait_for_progress(v, WAVES * ROUNDS / 8);
	took = set(v, GP__KFD_SAVE);
	lab_must(hsa_amd_queue_set_priority(v->queue, HSA_AMD_QUEUE_PRIORITY_HIGH));
	check_stopped(v, took, WAVES);
	lab_check(look_up(v).queue.priority > 7, "the runtime's priority is not known: %u",
		  look_up(v).queue.priority);
	set(v, GP__KFD_RELEASE);
	check_running(v);
	check_result(v);
}

/* Two calls about itself, without effect; after that the program has used both ways. */
static void test_other(struct victim *v)
{
	struct gp_kfd_dbg_trap trap = { .pid = (uint32_t)getpid(), .op = GP_KFD_DBG_DISABLE };
	struct gp_kfd_preempt resume = {
		.op = GP_KFD_OP_RESUME,
		.queues = { .queue_array_ptr = (uint64_t)&v->id, .num_queues = 1 },
	};
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	uint64_t took;

	submit(v);
	wait_for_progress(v, WAVES * ROUNDS / 8);
	took = set(v, GP__KFD_SAVE);
	lab_check(ioctl(fd, GP_KFD_DBG_TRAP, &trap) && errno == EINVAL,
		  "a debugger is still there");
	lab_check(ioctl(fd, GP_KFD_PREEMPT, &resume) == 1, "the program cannot resume its queue");
	close(fd);
	check_way(v, "update");
	lab_check(look_up(v).held, "it is not held any more");
	check_stopped(v, took, WAVES);
	set(v, GP__KFD_RELEASE);
	check_running(v);
	check_result(v);
}

static void test_destroy(struct victim *v)
{
	hsa_queue_t *first = v->queue;
	uint32_t id = v->id;

	submit(v);
	wait_for_progress(v, WAVES * ROUNDS / 8);
	set(v, GP__KFD_SAVE);
	lab_must(hsa_queue_destroy(first));
	/* The next queue has its id, and is not held. */
	v->queue = lab_queue(&v->lab, 64);
	find_queue(v);
	lab_check(v->id == id, "the id was not given away again");
	lab_check(!look_up(v).held, "a new queue is held");
	*v->args->progress = 0;
	hsa_signal_store_screlease(v->done, 1);
	submit(v);
	let_end(v);
}

static void test_child(struct victim *v)
{
	struct gp__kfd_owned list[1];
	int status, result;
	pid_t pid;

	submit(v);
	wait_for_progress(v, WAVES * ROUNDS / 8);
	set(v, GP__KFD_SAVE);
	pid = fork();
	if (!pid) {
		int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
		struct gp_kfd_destroy_queue args = { .queue_id = v->id };

		_exit(v->table->list(list, 1) != 0				      ? 1
		      : v->table->set(GP__KFD_RELEASE, &v->id, &result, 1) != -ENOENT ? 2
		      : !ioctl(fd, GP_KFD_DESTROY_QUEUE, &args) || errno != EINVAL    ? 3
										      : 0);
	}
	lab_check(waitpid(pid, &status, 0) == pid && !status, "the child ended with %#x", status);
	check_stopped(v, 0, WAVES);
	set(v, GP__KFD_RELEASE);
	check_result(v);
}

static void test_hold(struct victim *v)
{
	submit(v);
	wait_for_progress(v, WAVES * ROUNDS / 8);
	set(v, GP__KFD_SAVE);
	puts("held");
	fflush(stdout);
	for (;;)
		pause();
}

static const struct {
	const char *name;
	void (*run)(struct victim *v);
} tests[] = {
	{ "steps", test_steps }, { "runtime", test_runtime }, { "destroy", test_destroy },
	{ "child", test_child }, { "hold", test_hold },	      { "other", test_other },
};

static void open_victim(struct victim *v, bool debuggable)
{
	lab_must(hsa_init());
	if (debuggable)
		lab_enable_runtime();
	lab_open(&v->lab);
	find_table(v);
	v->queue = lab_queue(&v->lab, 64);
	find_queue(v);
	prepare(v);
}

int main(int argc, char **argv)
{
	static struct victim v;
	size_t i = 0;

	while (i < sizeof(tests) / sizeof(tests[0]) && argc > 2 && strcmp(argv[1], tests[i].name))
		i++;
	if (argc < 3 || i == sizeof(tests) / sizeof(tests[0])) {
		fprintf(stderr, "usage: join_steps steps|runtime|other|destroy|child|hold WAY "
				"[debuggable]\n");
		return 2;
	}
	lab_check(early_version == 1, "calls before main() do not reach the driver");
	lab_check(early_error == EFAULT, "a bad call before main() fails with %d", early_error);
	lab_check(outside_start(), "no process can be made");
	open_victim(&v, argc > 3);
	tests[i].run(&v);
	check_way(&v, argv[2]);
	lab_must(hsa_queue_destroy(v.queue));
	lab_must(hsa_signal_destroy(v.done));
	lab_close(&v.lab);
	lab_must(hsa_shut_down());
	outside_end();
	printf("%s: ok (%s)\n", argv[1], argv[2]);
	return 0;
}
