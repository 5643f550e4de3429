/* SPDX-License-Identifier: MIT */
/*
 * A program that suspends its own queues through libgpreempt_poc, without any right: alone, and
 * joined, where the preload has the say. The runtime shuts down while the library is in use.
 *
 * Usage: own_queues [--debuggable]
 */
#include <gpreempt_poc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hsa_lab.h"
#include "mill.h"

enum { TURNS = 20, ROUNDS = 3000, QUEUES_MAX = 64 };

static void must(int result, const char *what)
{
	lab_check(!result, "%s: %s", what, gpreempt_last_error());
}

/* Its own queues, as everybody sees them. */
static uint32_t find_own(uint32_t *ids)
{
	queue_info_t *queues;
	uint32_t nr, own = 0;

	must(gpreempt_get_all_queues(&queues, &nr), "list");
	for (uint32_t i = 0; i < nr && own < QUEUES_MAX; i++) {
		if (gpreempt_queue_pid(queues[i].queue_id) == getpid())
			ids[own++] = queues[i].queue_id;
	}
	gpreempt_free_queues(queues);
	return own;
}

/* The turn was work since the previous look, and has ended. */
static void look_at_turn(uint32_t *ids, uint32_t nr, uint32_t turn)
{
	int busy = gpreempt_queues_busy(ids, nr);

	must(busy < 0, "look");
	lab_check(busy || !turn, "work came and went, and was not seen");
	while (busy) {
		usleep(1000);
		busy = gpreempt_queues_busy(ids, nr);
		must(busy < 0, "look again");
	}
}

static void run_turns(struct lab *lab, hsa_queue_t *queue, uint32_t *ids, uint32_t nr)
{
	struct lab_kernel mill = lab_find(lab, "mill");
	uint64_t *state = lab_alloc(lab, lab->fine, MILL_GROUP * sizeof(*state));
	uint64_t expected[MILL_GROUP] = { 0 };
	_Atomic uint32_t *done = lab_alloc(lab, lab->fine, 4096);
	struct mill_arguments *args = lab_alloc(lab, lab->kernarg, 4096);
	hsa_signal_t ended = lab_signal(1);

	memset(state, 0, sizeof(expected));
	*done = 0;
	*args = (struct mill_arguments){ state, ROUNDS, 0, (void *)done };
	for (uint32_t i = 0; i < TURNS; i++) {
		uint32_t before;

		hsa_signal_store_screlease(ended, 1);
		lab_dispatch(queue, &mill,
			     (struct lab_grid){ .size = { MILL_GROUP }, .group = { MILL_GROUP } },
			     args, ended);
		usleep(500 * i);
		must(gpreempt_suspend_queues(ids, nr, 10), "suspend");
		before = *done;
		usleep(30000);
		lab_check(*done == before, "a queue that is suspended goes on");
		must(gpreempt_resume_queues(ids, nr), "resume");
		lab_wait(ended, HSA_WAIT_STATE_BLOCKED, "a turn");
		turn_mill(expected, ROUNDS);
		lab_check(!memcmp(state, expected, sizeof(expected)), "turn %u is wrong", i);
		look_at_turn(ids, nr, i);
	}
	lab_must(hsa_signal_destroy(ended));
}

int main(int argc, char **argv)
{
	uint32_t ids[QUEUES_MAX], nr;
	hsa_queue_t *queue;
	struct lab lab;

	lab_must(hsa_init());
	if (argc > 1 && !strcmp(argv[1], "--debuggable"))
		lab_enable_runtime();
	lab_open(&lab);
	queue = lab_queue(&lab, 64);
	must(gpreempt_poc_init(), "init");
	nr = find_own(ids);
	lab_check(nr >= 1, "its own queues are not listed");
	run_turns(&lab, queue, ids, nr);
	lab_must(hsa_queue_destroy(queue));
	lab_close(&lab);
	lab_must(hsa_shut_down());
	lab_check(gpreempt_suspend_queues(ids, nr, 0) == -1, "queues that are gone are suspended");
	gpreempt_poc_cleanup();
	puts("own queues were suspended and resumed, and went on right");
	return 0;
}
