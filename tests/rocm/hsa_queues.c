/* SPDX-License-Identifier: MIT */
/*
 * Queues and signals through HSA: barriers between queues, rings that wrap, order, waits, grids,
 * scratch. Every result is computed by the host and compared.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hsa_test.h"

static uint64_t push_barrier(hsa_queue_t *queue, hsa_packet_type_t type, const hsa_signal_t *deps,
			     int nr_deps, hsa_signal_t done)
{
	/* Both kinds have the same layout. */
	hsa_barrier_and_packet_t p = { .completion_signal = done };

	for (int i = 0; i < nr_deps; i++)
		p.dep_signal[i] = deps[i];
	return lab_push(queue, &p, lab_header(type, true));
}

static void destroy_signals(hsa_signal_t *signals, int nr)
{
	for (int i = 0; i < nr; i++)
		lab_must(hsa_signal_destroy(signals[i]));
}

/* Nothing may have happened yet: waits a little for errors to show. */
static void check_waiting(hsa_signal_t signal, const char *what)
{
	usleep(20000);
	lab_check(hsa_signal_load_scacquire(signal) == 1, "%s did not wait", what);
}

static void test_barrier_and(struct lab *lab)
{
	hsa_queue_t *first = lab_queue(lab, 64), *second = lab_queue(lab, 64);
	hsa_signal_t deps[5], done = lab_signal(1);

	for (int i = 0; i < 5; i++)
		deps[i] = lab_signal(1);
	push_barrier(second, HSA_PACKET_TYPE_BARRIER_AND, deps, 5, done);
	for (int i = 0; i < 4; i++)
		push_barrier(first, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, deps[i]);
	lab_wait(deps[3], HSA_WAIT_STATE_ACTIVE, "the fourth barrier");
	check_waiting(done, "a barrier of five signals, of which four have fired,");
	hsa_signal_store_screlease(deps[4], 0);
	lab_wait(done, HSA_WAIT_STATE_BLOCKED, "the barrier of five signals");
	lab_must(hsa_queue_destroy(first));
	lab_must(hsa_queue_destroy(second));
	destroy_signals(deps, 5);
	destroy_signals(&done, 1);
}

static void test_barrier_or(struct lab *lab)
{
	hsa_queue_t *first = lab_queue(lab, 64), *second = lab_queue(lab, 64);
	hsa_signal_t deps[3], done = lab_signal(1);

	for (int i = 0; i < 3; i++)
		deps[i] = lab_signal(1);
	push_barrier(second, HSA_PACKET_TYPE_BARRIER_OR, deps, 3, done);
	check_waiting(done, "a barrier of which no signal has fired");
	push_barrier(first, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, deps[2]);
	lab_wait(done, HSA_WAIT_STATE_BLOCKED, "the barrier of any of three signals");
	lab_check(hsa_signal_load_relaxed(deps[0]) == 1, "a signal changed by itself");
	lab_must(hsa_queue_destroy(first));
	lab_must(hsa_queue_destroy(second));
	destroy_signals(deps, 3);
	destroy_signals(&done, 1);
}

/* Ping-pong between two queues: each waits for the other's last barrier. */
static void test_ping_pong(struct lab *lab)
{
	hsa_queue_t *queue[2] = { lab_queue(lab, 64), lab_queue(lab, 64) };
	hsa_signal_t turn[101];

	for (int i = 0; i < 101; i++)
		turn[i] = lab_signal(1);
	for (int i = 0; i < 100; i++)
		push_barrier(queue[i % 2], HSA_PACKET_TYPE_BARRIER_AND, &turn[i], 1, turn[i + 1]);
	check_waiting(turn[1], "the first turn");
	hsa_signal_store_screlease(turn[0], 0);
	lab_wait(turn[100], HSA_WAIT_STATE_BLOCKED, "the hundredth turn of two queues");
	for (int i = 0; i < 100; i++)
		lab_check(!hsa_signal_load_relaxed(turn[i]), "turn %d came after the last one", i);
	for (int i = 0; i < 2; i++)
		lab_must(hsa_queue_destroy(queue[i]));
	destroy_signals(turn, 101);
}

struct follow_arguments {
	uint32_t *cells, before, pad, *wrong;
};

/*
 * So many dispatches that small rings wrap many times. Each has to find the result of the one
 * before, which takes barrier bits; none may be lost or run twice.
 */
static void run_many(struct lab *lab, hsa_queue_t *queue, uint32_t nr, hsa_wait_state_t how)
{
	enum { ITEMS = 64 };
	struct lab_kernel follow = lab_find(lab, "follow");
	struct follow_arguments *args = lab_alloc(lab, lab->kernarg, nr * sizeof(*args));
	uint32_t *cells = lab_alloc(lab, lab->fine, (ITEMS + 1) * sizeof(*cells));
	hsa_signal_t done = lab_signal(nr);

	memset(cells, 0, (ITEMS + 1) * sizeof(*cells));
	for (uint32_t i = 0; i < nr; i++) {
		args[i] = (struct follow_arguments){ cells, i, 0, &cells[ITEMS] };
		lab_dispatch(queue, &follow, lab_line_in_order(ITEMS), &args[i], done);
	}
	lab_wait(done, how, "the last of many dispatches");
	lab_check(!hsa_signal_load_relaxed(done), "%u dispatches counted their signal to %ld", nr,
		  (long)hsa_signal_load_relaxed(done));
	lab_check(!cells[ITEMS], "%u work-items ran out of order", cells[ITEMS]);
	for (int i = 0; i < ITEMS; i++)
		lab_check(cells[i] == nr, "cell %d is %u after %u dispatches", i, cells[i], nr);
	lab_must(hsa_signal_destroy(done));
	lab_free(cells);
	lab_free(args);
}

static void test_many_dispatches(struct lab *lab)
{
	hsa_queue_t *small = lab_queue(lab, 64), *large = lab_queue(lab, 1024);

	run_many(lab, small, 5000, HSA_WAIT_STATE_BLOCKED);
	run_many(lab, large, 5000, HSA_WAIT_STATE_ACTIVE);
	lab_check(hsa_queue_load_read_index_scacquire(small) == 5000,
		  "the read index is %lu after 5000 packets",
		  (unsigned long)hsa_queue_load_read_index_scacquire(small));
	lab_must(hsa_queue_destroy(small));
	lab_must(hsa_queue_destroy(large));
}

struct many_thread {
	struct lab *lab;
	hsa_queue_t *queue;
	uint32_t *cells;
	uint32_t nr;
};

static void *count_from_thread(void *data)
{
	struct many_thread *t = data;
	struct lab_kernel count = lab_find(t->lab, "count");
	uint32_t **args = lab_alloc(t->lab, t->lab->kernarg, 4096);
	hsa_signal_t done = lab_signal(t->nr);

	args[0] = t->cells;
	for (uint32_t i = 0; i < t->nr; i++)
		lab_dispatch(t->queue, &count, lab_line(100), args, done);
	lab_wait(done, HSA_WAIT_STATE_BLOCKED, "a thread's last dispatch");
	lab_must(hsa_signal_destroy(done));
	lab_free(args);
	return NULL;
}

/* Threads that share a queue and one that has its own, all adding to the same cells. */
static void test_threads(struct lab *lab)
{
	enum { THREADS = 4, EACH = 500 };
	hsa_queue_t *shared = lab_queue(lab, 64), *own = lab_queue(lab, 64);
	uint32_t *cells = lab_alloc(lab, lab->fine, 4096);
	struct many_thread t[THREADS];
	pthread_t thread[THREADS];

	memset(cells, 0, 4096);
	for (int i = 0; i < THREADS; i++) {
		t[i] = (struct many_thread){ lab, i ? shared : own, cells, EACH };
		lab_check(!pthread_create(&thread[i], NULL, count_from_thread, &t[i]),
			  "no thread can be made");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 100; i++)
		lab_check(cells[i] == THREADS * EACH, "cell %d was counted to %u instead of %d", i,
			  cells[i], THREADS * EACH);
	lab_check(!cells[100], "a work-item beyond the grid ran");
	lab_must(hsa_queue_destroy(shared));
	lab_must(hsa_queue_destroy(own));
	lab_free(cells);
}

struct ticket_arguments {
	uint32_t *next, *mine;
};

/*
 * With the barrier bit, when a dispatch has signalled so have all before it, and its stores are
 * visible.
 */
static void test_completion_order(struct lab *lab)
{
	enum { NR = 200 };
	struct lab_kernel ticket = lab_find(lab, "take_ticket");
	hsa_queue_t *queue = lab_queue(lab, 256);
	struct ticket_arguments *args = lab_alloc(lab, lab->kernarg, NR * sizeof(*args));
	uint32_t *memory = lab_alloc(lab, lab->fine, (NR + 1) * sizeof(*memory));
	hsa_signal_t done[NR];

	memset(memory, 0xff, (NR + 1) * sizeof(*memory));
	memory[NR] = 0;
	for (int i = 0; i < NR; i++) {
		done[i] = lab_signal(1);
		args[i] = (struct ticket_arguments){ &memory[NR], &memory[i] };
	}
	for (int i = 0; i < NR; i++)
		lab_dispatch(queue, &ticket, lab_line_in_order(64), &args[i], done[i]);
	for (int i = NR - 1; i >= 0; i -= 7) {
		lab_wait(done[i], i % 2 ? HSA_WAIT_STATE_ACTIVE : HSA_WAIT_STATE_BLOCKED,
			 "a dispatch in order");
		for (int k = 0; k <= i; k++) {
			lab_check(!hsa_signal_load_scacquire(done[k]),
				  "dispatch %d signalled before dispatch %d", i, k);
			lab_check(memory[k] == (uint32_t)k, "dispatch %d had turn %u", k,
				  memory[k]);
		}
	}
	lab_must(hsa_queue_destroy(queue));
	destroy_signals(done, NR);
	lab_free(memory);
	lab_free(args);
}

/* The reverse order: the newest first, as soon as it signals. Its store must be visible. */
static void test_signal_not_early(struct lab *lab)
{
	struct lab_kernel ticket = lab_find(lab, "take_ticket");
	hsa_queue_t *queue = lab_queue(lab, 64);
	struct ticket_arguments *args = lab_alloc(lab, lab->kernarg, 4096);
	_Atomic uint32_t *memory = lab_alloc(lab, lab->fine, 4096);
	hsa_signal_t done = lab_signal(1);

	args[0] = (struct ticket_arguments){ (uint32_t *)&memory[1], (uint32_t *)&memory[0] };
	memory[1] = 0;
	for (uint32_t i = 0; i < 1000; i++) {
		memory[0] = ~0u;
		hsa_signal_store_screlease(done, 1);
		lab_dispatch(queue, &ticket, lab_line(64), args, done);
		if (i % 4)
			while (hsa_signal_load_scacquire(done))
				;
		else
			lab_wait(done, HSA_WAIT_STATE_BLOCKED, "a dispatch");
		lab_check(memory[0] == i, "dispatch %u signalled, and its store was not there", i);
	}
	lab_must(hsa_queue_destroy(queue));
	destroy_signals(&done, 1);
	lab_free((void *)memory);
	lab_free(args);
}

/* A kernel that waits for the host does not block the other queue. */
static void test_two_queues_run_at_once(struct lab *lab)
{
	struct lab_kernel gate = lab_find(lab, "wait_for_host");
	hsa_queue_t *first = lab_queue(lab, 64), *second = lab_queue(lab, 64);
	_Atomic uint32_t *memory = lab_alloc(lab, lab->fine, 4096);
	void **args = lab_alloc(lab, lab->kernarg, 4096);
	hsa_signal_t done = lab_signal(1);

	memory[0] = memory[1] = 0;
	args[0] = (void *)&memory[0];
	args[1] = (void *)&memory[1];
	lab_dispatch(first, &gate, lab_line(64), args, done);
	for (int i = 0; !memory[0]; i++) {
		lab_check(i < LAB_TIMEOUT_S * 1000, "the kernel that waits did not start");
		usleep(1000);
	}
	run_many(lab, second, 100, HSA_WAIT_STATE_BLOCKED);
	check_waiting(done, "the kernel that waits for the host");
	memory[1] = 1;
	lab_wait(done, HSA_WAIT_STATE_BLOCKED, "the kernel that waited for the host");
	lab_must(hsa_queue_destroy(first));
	lab_must(hsa_queue_destroy(second));
	destroy_signals(&done, 1);
	lab_free((void *)memory);
	lab_free(args);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void test_wait_ends_in_time(struct lab *lab)
{
	hsa_signal_t never = lab_signal(1);
	uint64_t second;
	double start = now();

	(void)lab;
	lab_must(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &second));
	hsa_signal_wait_scacquire(never, HSA_SIGNAL_CONDITION_LT, 1, second / 5,
				  HSA_WAIT_STATE_BLOCKED);
	lab_check(now() - start > 0.15 && now() - start < 5, "a wait of 0.2 s took %.3f s",
		  now() - start);
	destroy_signals(&never, 1);
}

static bool note_signal(hsa_signal_value_t value, void *data)
{
	atomic_store((_Atomic long *)data, (long)value + 1000);
	return false;
}

static void test_async_handler(struct lab *lab)
{
	hsa_queue_t *queue = lab_queue(lab, 64);
	_Atomic long seen[20];
	hsa_signal_t done[20];

	for (int i = 0; i < 20; i++) {
		seen[i] = 0;
		lab_must(hsa_amd_signal_create(1, 0, NULL, 0, &done[i]));
		lab_must(hsa_amd_signal_async_handler(done[i], HSA_SIGNAL_CONDITION_LT, 1,
						      note_signal, (void *)&seen[i]));
	}
	for (int i = 0; i < 20; i++)
		push_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, done[i]);
	for (int i = 0; i < 20; i++)
		for (int k = 0; !seen[i]; k++) {
			lab_check(k < LAB_TIMEOUT_S * 1000, "handler %d was not called", i);
			usleep(1000);
		}
	lab_must(hsa_queue_destroy(queue));
	destroy_signals(done, 20);
}

static void test_wait_any(struct lab *lab)
{
	hsa_queue_t *queue = lab_queue(lab, 64);
	hsa_signal_condition_t condition[8];
	hsa_signal_value_t below[8], value = -1;
	hsa_signal_t signal[8];
	uint32_t which;

	for (int i = 0; i < 8; i++) {
		signal[i] = lab_signal(1);
		condition[i] = HSA_SIGNAL_CONDITION_LT;
		below[i] = 1;
	}
	push_barrier(queue, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, signal[5]);
	which = hsa_amd_signal_wait_any(8, signal, condition, below, UINT64_MAX,
					HSA_WAIT_STATE_BLOCKED, &value);
	lab_check(which == 5 && !value, "signal %u of 8 is said to have fired, with %ld", which,
		  (long)value);
	lab_must(hsa_queue_destroy(queue));
	destroy_signals(signal, 8);
}

static void test_grids(struct lab *lab)
{
	static const uint32_t sizes[][3] = {
		{ 1, 1, 1 }, { 65, 1, 1 }, { 33, 7, 5 }, { 64, 64, 4 }, { 5, 1, 130 },
	};
	struct lab_kernel place = lab_find(lab, "place");
	hsa_queue_t *queue = lab_queue(lab, 64);
	struct {
		uint32_t *out, width, height, depth;
	} *args = lab_alloc(lab, lab->kernarg, 4096);
	uint32_t *out = lab_alloc(lab, lab->coarse, 1 << 20);
	hsa_signal_t done = lab_signal(1);

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		uint32_t w = sizes[s][0], h = sizes[s][1], d = sizes[s][2];

		memset(out, 0xff, 1 << 20);
		args->out = out;
		args->width = w;
		args->height = h;
		args->depth = d;
		hsa_signal_store_screlease(done, 1);
		lab_dispatch(queue, &place,
			     (struct lab_grid){ .size = { w, h, d }, .group = { 8, 4, 2 } }, args,
			     done);
		lab_wait(done, HSA_WAIT_STATE_BLOCKED, "a grid");
		for (uint32_t i = 0; i < w * h * d; i++) {
			uint32_t want = i % w | i / w % h << 10 | i / w / h << 20;

			lab_check(out[i] == want, "%u x %u x %u: item %u is %#x, not %#x", w, h, d,
				  i, out[i], want);
		}
		lab_check(out[w * h * d] == ~0u, "%u x %u x %u: one item too many", w, h, d);
	}
	lab_must(hsa_queue_destroy(queue));
	destroy_signals(&done, 1);
	lab_free(out);
	lab_free(args);
}

static uint32_t scratch_result(uint32_t id, uint32_t rounds)
{
	uint32_t a[32], x = id;

	for (uint32_t k = 0; k < 32; k++)
		a[k] = x + k;
	for (uint32_t r = 0; r < rounds; r++)
		a[(x + r) & 31] += a[(x * 3 + r) & 31] + r;
	for (uint32_t k = 0; k < 32; k++)
		x = x * 31 + a[k];
	return x;
}

static void test_scratch(struct lab *lab)
{
	enum { ITEMS = 20000, ROUNDS = 20 };
	hsa_queue_t *queue = lab_queue(lab, 64);
	uint32_t *out = lab_alloc(lab, lab->fine, ITEMS * sizeof(*out));
	struct {
		uint32_t *out, rounds;
	} args = { out, ROUNDS };

	lab_check(lab_find(lab, "scratch").private_size, "the kernel needs no scratch");
	lab_run(lab, queue, "scratch", ITEMS, &args, sizeof(args));
	for (uint32_t i = 0; i < ITEMS; i++)
		lab_check(out[i] == scratch_result(i, ROUNDS), "work-item %u: %#x, not %#x", i,
			  out[i], scratch_result(i, ROUNDS));
	lab_must(hsa_queue_destroy(queue));
	lab_free(out);
}

/* Queues are created and destroyed, with work and without; ids and doorbells are reused. */
static void test_queues_come_and_go(struct lab *lab)
{
	for (int round = 0; round < 30; round++) {
		hsa_queue_t *queue[5];

		for (int i = 0; i < 5; i++)
			queue[i] = lab_queue(lab, 64u << i);
		run_many(lab, queue[round % 5], 20, HSA_WAIT_STATE_BLOCKED);
		for (int i = 0; i < 5; i++)
			lab_must(hsa_queue_destroy(queue[(i + round) % 5]));
	}
}

static void test_priorities_and_masks(struct lab *lab)
{
	static const hsa_amd_queue_priority_t priority[] = { HSA_AMD_QUEUE_PRIORITY_LOW,
							     HSA_AMD_QUEUE_PRIORITY_HIGH,
							     HSA_AMD_QUEUE_PRIORITY_NORMAL };
	hsa_queue_t *queue = lab_queue(lab, 64);
	uint32_t mask[] = { 0x0000ff01, 0, 0, 0 };

	for (int i = 0; i < 3; i++) {
		lab_must(hsa_amd_queue_set_priority(queue, priority[i]));
		run_many(lab, queue, 50, HSA_WAIT_STATE_BLOCKED);
	}
	lab_must(hsa_amd_queue_cu_set_mask(queue, 32, mask));
	run_many(lab, queue, 50, HSA_WAIT_STATE_BLOCKED);
	lab_must(hsa_queue_destroy(queue));
}

/*
 * A dispatch has a start and an end. The runtime converts them to the system's clock assuming a
 * constant rate, so times of different dispatches may overlap a little.
 */
static void test_times(struct lab *lab)
{
	hsa_queue_t *queue = lab_queue(lab, 64);
	struct lab_kernel count = lab_find(lab, "count");
	hsa_amd_profiling_dispatch_time_t time;
	uint32_t **args = lab_alloc(lab, lab->kernarg, 4096);
	uint32_t *cells = lab_alloc(lab, lab->fine, 4096);
	hsa_signal_t done = lab_signal(1);

	lab_must(hsa_amd_profiling_set_profiler_enabled(queue, 1));
	args[0] = cells;
	for (int i = 0; i < 20; i++) {
		hsa_signal_store_screlease(done, 1);
		lab_dispatch(queue, &count, lab_line(64), args, done);
		lab_wait(done, HSA_WAIT_STATE_BLOCKED, "a dispatch");
		lab_must(hsa_amd_profiling_get_dispatch_time(lab->gpu, done, &time));
		lab_check(time.start && time.start <= time.end, "a dispatch ran from %lu to %lu",
			  (unsigned long)time.start, (unsigned long)time.end);
	}
	lab_must(hsa_queue_destroy(queue));
	destroy_signals(&done, 1);
	lab_free(cells);
	lab_free(args);
}

static const struct lab_test tests[] = {
	{ "barrier-and", test_barrier_and },
	{ "barrier-or", test_barrier_or },
	{ "ping-pong", test_ping_pong },
	{ "many-dispatches", test_many_dispatches },
	{ "threads", test_threads },
	{ "completion-order", test_completion_order },
	{ "signal-not-early", test_signal_not_early },
	{ "two-queues-at-once", test_two_queues_run_at_once },
	{ "wait-ends-in-time", test_wait_ends_in_time },
	{ "async-handler", test_async_handler },
	{ "wait-any", test_wait_any },
	{ "grids", test_grids },
	{ "scratch", test_scratch },
	{ "queues-come-and-go", test_queues_come_and_go },
	{ "priorities-and-masks", test_priorities_and_masks },
	{ "times", test_times },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return lab_main(tests, argc, argv);
}
