/* SPDX-License-Identifier: MIT */
/*
 * A program that computes for some seconds on its own queues while one of its threads stops and
 * starts them at random, by each of the driver's ways. Every result is compared with the host's,
 * every dispatch is counted, no signal may come before the stores of its dispatch, and a stopped
 * queue must not advance.
 *
 * Usage: hsa_stops [--seconds N] [--queues N] [--seed N]
 *                  [--stop none|update|debug|debugged|save|drain]
 *
 * Several of these at once test the effect of one program's stops on the others.
 */
#include <dlfcn.h>
#include <getopt.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "device/kfd/control.h"
#include "hsa_test.h"
#include "mill.h"

enum { QUEUES_MAX = 4, GROUPS = 6, ROUNDS = 200, BURST = 40, SEEN_MAX = 64 };

/*
 * Queues of this process by the driver's ids, which the runtime does not reveal: its ioctls are
 * intercepted here.
 */
static struct {
	pthread_mutex_t lock;
	int kfd;
	uint32_t nr;
	struct gp_kfd_create_queue queue[SEEN_MAX];
} seen = { PTHREAD_MUTEX_INITIALIZER, -1, 0, { { 0 } } };

static void note_queue(int fd, const struct gp_kfd_create_queue *args, size_t size)
{
	pthread_mutex_lock(&seen.lock);
	seen.kfd = fd;
	lab_check(seen.nr < SEEN_MAX, "the runtime makes too many queues");
	memcpy(&seen.queue[seen.nr++], args, size < sizeof(*args) ? size : sizeof(*args));
	pthread_mutex_unlock(&seen.lock);
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int, unsigned long, ...);
	va_list args;
	void *arg;
	int ret;

	if (!next)
		next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	ret = next(fd, request, arg);
	if (!ret && _IOC_TYPE(request) == GP_KFD_MAGIC &&
	    _IOC_NR(request) == _IOC_NR(GP_KFD_CREATE_QUEUE))
		note_queue(fd, arg, _IOC_SIZE(request));
	return ret;
}

static struct gp__kfd_queue_info find_seen(const hsa_queue_t *queue)
{
	struct gp__kfd_queue_info found = { 0 };

	pthread_mutex_lock(&seen.lock);
	for (uint32_t i = 0; i < seen.nr; i++) {
		const struct gp_kfd_create_queue *q = &seen.queue[i];

		if (q->ring_base_address == (uintptr_t)queue->base_address)
			found = (struct gp__kfd_queue_info){
				.id = q->queue_id,
				.gpu_id = q->gpu_id,
				.ring = q->ring_base_address,
				.ring_bytes = q->ring_size,
				.percentage = q->queue_percentage,
				.priority = q->queue_priority,
			};
	}
	pthread_mutex_unlock(&seen.lock);
	lab_check(found.ring, "the driver was never asked for a queue that the runtime made");
	return found;
}

/*
 * Work
 */

struct worker {
	struct lab *lab;
	hsa_queue_t *queue;
	struct gp__kfd_queue_info kfd;
	pthread_t thread;
	uint64_t seed;
	uint32_t turns;
	_Atomic bool ready; /* done and cells are there */
	_Atomic uint64_t mill; /* the running packet, or NO_PACKET */
	/* Memory of the kernels. */
	uint64_t *state;
	_Atomic uint32_t *done, *cells;
	uint64_t expected[GROUPS * MILL_GROUP];
};

#define NO_PACKET UINT64_MAX
static _Atomic bool time_is_up;

static void wait_somehow(struct worker *w, hsa_signal_t signal, const char *what)
{
	lab_wait(signal, lab_random(&w->seed) % 2 ? HSA_WAIT_STATE_ACTIVE : HSA_WAIT_STATE_BLOCKED,
		 what);
}

static void run_mill(struct worker *w, const struct lab_kernel *mill, void *args, hsa_signal_t done)
{
	hsa_signal_store_screlease(done, 1);
	w->mill = lab_dispatch(
		w->queue, mill,
		(struct lab_grid){ .size = { GROUPS * MILL_GROUP }, .group = { MILL_GROUP } }, args,
		done);
	for (int g = 0; g < GROUPS; g++)
		turn_mill(&w->expected[g * MILL_GROUP], ROUNDS);
	wait_somehow(w, done, "a mill");
	w->mill = NO_PACKET;
	w->turns++;
	lab_check(*w->done == w->turns * GROUPS, "turn %u: %u workgroups of %u have ended",
		  w->turns, *w->done, w->turns * GROUPS);
	for (int i = 0; i < GROUPS * MILL_GROUP; i++)
		lab_check(w->state[i] == w->expected[i], "turn %u: work-item %d has %#lx, not %#lx",
			  w->turns, i, (unsigned long)w->state[i], (unsigned long)w->expected[i]);
}

static void run_burst(struct worker *w, const struct lab_kernel *count, void *args,
		      hsa_signal_t done)
{
	hsa_signal_store_screlease(done, BURST);
	for (int i = 0; i < BURST; i++)
		lab_dispatch(w->queue, count, lab_line(64), args, done);
	wait_somehow(w, done, "a burst of dispatches");
	for (int i = 0; i < 64; i++)
		lab_check(w->cells[i] == w->turns * BURST, "%u dispatches were counted as %u",
			  w->turns * BURST, w->cells[i]);
}

static void *work(void *data)
{
	struct worker *w = data;
	struct lab_kernel mill = lab_find(w->lab, "mill"), count = lab_find(w->lab, "count");
	char *args = lab_alloc(w->lab, w->lab->kernarg, 4096);
	struct mill_arguments *mill_args = (void *)args;
	void **count_args = (void *)(args + 256);
	hsa_signal_t done = lab_signal(1);

	w->state = lab_alloc(w->lab, w->lab->fine, sizeof(w->expected));
	w->done = lab_alloc(w->lab, w->lab->fine, 4096);
	w->cells = w->done + 64;
	memset((void *)w->done, 0, 4096);
	w->mill = NO_PACKET;
	w->ready = true;
	for (int i = 0; i < GROUPS * MILL_GROUP; i++)
		w->state[i] = w->expected[i] = lab_random(&w->seed);
	*mill_args = (struct mill_arguments){ w->state, ROUNDS, 0, (void *)w->done };
	*count_args = (void *)w->cells;
	while (!time_is_up) {
		run_mill(w, &mill, mill_args, done);
		run_burst(w, &count, count_args, done);
	}
	lab_must(hsa_signal_destroy(done));
	return NULL;
}

/*
 * Ways to stop and start a queue. All of them return when the queue is off the hardware.
 */

struct stopper {
	const char *name;
	bool debuggable; /* the runtime says so between hsa_init() and the first queue */
	bool stops;
	enum gp__kfd_way way;
	enum gp__kfd_verb verb;
};

static const struct stopper stoppers[] = {
	{ .name = "none" },
	{ .name = "update", .stops = true, .way = GP__KFD_WAY_UPDATE, .verb = GP__KFD_SAVE },
	{ .name = "debug",
	  .debuggable = true,
	  .stops = true,
	  .way = GP__KFD_WAY_DBGTRAP,
	  .verb = GP__KFD_SAVE },
	{ .name = "debugged", .debuggable = true }, /* by another process */
	{ .name = "save", .stops = true, .way = GP__KFD_WAY_PREEMPT, .verb = GP__KFD_SAVE },
	{ .name = "drain", .stops = true, .way = GP__KFD_WAY_PREEMPT, .verb = GP__KFD_DRAIN },
};

static struct gp__kfd_control control;

static _Noreturn void refused(enum gp__kfd_verb verb, int err)
{
	char why[GP__KFD_EXPLAIN_MAX];

	gp__kfd_explain(&control, verb, err, why, sizeof(why));
	lab_fail("%s: %s", verb == GP__KFD_RELEASE ? "start" : "stop", why);
}

static void set(const struct worker *w, enum gp__kfd_verb verb)
{
	struct gp__kfd_target t = { .queue = &w->kfd };

	if (gp__kfd_control(&control, verb, &t, 1) != 1)
		refused(verb, t.result);
}

/* There are queues. */
static void begin(const struct stopper *s)
{
	int err = s->stops ? gp__kfd_control_open(&control, seen.kfd, 0, s->way) : 0;

	if (err)
		refused(s->verb, err);
}

static void end(const struct stopper *s)
{
	if (s->stops)
		gp__kfd_control_close(&control);
}

struct stops {
	uint32_t nr, amid; /* number of stops, and of those during a dispatch */
};

/* A stop, some time in which nothing may change, and the start. */
static void stop_for_a_while(const struct stopper *s, struct worker *w, uint64_t *seed,
			     struct stops *stops)
{
	uint64_t read_index, mill = w->mill;
	uint32_t done, cell;

	set(w, s->verb);
	read_index = hsa_queue_load_read_index_scacquire(w->queue);
	done = *w->done;
	cell = w->cells[63];
	usleep(lab_random(seed) % 8000);
	lab_check(*w->done == done && w->cells[63] == cell,
		  "a queue that was stopped (%s) went on to execute", s->name);
	lab_check(hsa_queue_load_read_index_scacquire(w->queue) == read_index,
		  "a queue that was stopped (%s) went on to read packets", s->name);
	stops->nr++;
	/* Its packet is consumed, and it has not signalled yet. */
	if (mill != NO_PACKET && w->mill == mill && read_index > mill)
		stops->amid++;
	set(w, GP__KFD_RELEASE);
}

static struct stops stop_at_random(const struct stopper *s, struct worker *w, int nr_workers,
				   uint64_t seed, double end)
{
	struct stops stops = { 0 };
	struct timespec t;

	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		if ((double)t.tv_sec + (double)t.tv_nsec / 1e9 >= end)
			return stops;
		usleep(lab_random(&seed) % 6000);
		if (!s->stops)
			continue;
		stop_for_a_while(s, &w[lab_random(&seed) % nr_workers], &seed, &stops);
	}
}

struct options {
	int seconds, queues;
	uint64_t seed;
	const struct stopper *stopper;
};

static struct options parse(int argc, char **argv)
{
	static const struct option known[] = { { "seconds", 1, 0, 't' },
					       { "queues", 1, 0, 'q' },
					       { "seed", 1, 0, 's' },
					       { "stop", 1, 0, 'h' },
					       { 0, 0, 0, 0 } };
	struct options o = { .seconds = 5, .queues = 2, .seed = 1, .stopper = &stoppers[0] };
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c == 't')
			o.seconds = atoi(optarg);
		else if (c == 'q')
			o.queues = atoi(optarg);
		else if (c == 's')
			o.seed = strtoull(optarg, NULL, 0);
		else if (c != 'h')
			lab_fail("unknown option");
		else
			o.stopper = NULL;
		for (size_t i = 0; !o.stopper && i < sizeof(stoppers) / sizeof(stoppers[0]); i++)
			if (!strcmp(optarg, stoppers[i].name))
				o.stopper = &stoppers[i];
		lab_check(o.stopper, "no way to stop a queue is called '%s'", optarg);
	}
	lab_check(o.queues > 0 && o.queues <= QUEUES_MAX, "1 to %d queues", QUEUES_MAX);
	return o;
}

static void start_workers(struct lab *lab, struct worker *w, const struct options *o)
{
	for (int i = 0; i < o->queues; i++) {
		w[i].lab = lab;
		w[i].seed = o->seed * 100 + i;
		w[i].queue = lab_queue(lab, 64);
		w[i].kfd = find_seen(w[i].queue);
	}
	begin(o->stopper);
	for (int i = 0; i < o->queues; i++)
		lab_check(!pthread_create(&w[i].thread, NULL, work, &w[i]),
			  "no thread can be made");
	/* The stopper reads their counters. */
	for (int i = 0; i < o->queues; i++)
		while (!atomic_load(&w[i].ready))
			usleep(1000);
}

int main(int argc, char **argv)
{
	static struct worker workers[QUEUES_MAX];
	struct options o = parse(argc, argv);
	struct stops stops;
	uint32_t turns = 0;
	struct timespec t;
	struct lab lab;

	lab_must(hsa_init());
	if (o.stopper->debuggable)
		lab_enable_runtime();
	lab_open(&lab);
	start_workers(&lab, workers, &o);
	clock_gettime(CLOCK_MONOTONIC, &t);
	stops = stop_at_random(o.stopper, workers, o.queues, o.seed,
			       (double)(t.tv_sec + o.seconds));
	time_is_up = true;
	for (int i = 0; i < o.queues; i++) {
		pthread_join(workers[i].thread, NULL);
		turns += workers[i].turns;
	}
	end(o.stopper);
	for (int i = 0; i < o.queues; i++)
		lab_must(hsa_queue_destroy(workers[i].queue));
	lab_check(turns, "nothing was computed");
	printf("%u turns, each right, on %d queues that were stopped %u times (%s), %u amid a "
	       "dispatch\n",
	       turns, o.queues, stops.nr, o.stopper->name, stops.amid);
	lab_close(&lab);
	lab_must(hsa_shut_down());
	return 0;
}
