/* SPDX-License-Identifier: MIT */
/*
 * Two GPUs of one machine in one program: each computes on its own, reads and writes the other's
 * memory, and waits for the other's signals.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hsa_test.h"

enum { GPUS = 2, N = 20000 };

struct gpus {
	int nr;
	hsa_agent_t agent[GPUS];
	struct lab lab[GPUS]; /* the same program, seen from each */
};

static hsa_status_t see_agent(hsa_agent_t agent, void *data)
{
	struct gpus *g = data;
	hsa_device_type_t type;

	lab_must(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_GPU && g->nr < GPUS)
		g->agent[g->nr++] = agent;
	return HSA_STATUS_SUCCESS;
}

static void *alloc_for_both(struct gpus *g, hsa_amd_memory_pool_t pool, size_t size)
{
	void *memory;

	lab_must(hsa_amd_memory_pool_allocate(pool, size, 0, &memory));
	lab_must(hsa_amd_agents_allow_access(GPUS, g->agent, NULL, memory));
	return memory;
}

struct add_arguments {
	const uint32_t *a, *b;
	uint32_t *c, n;
};

/* Each GPU adds the other's memory to its own. */
static void test_memory_of_the_other(struct gpus *g)
{
	uint32_t *host = alloc_for_both(g, g->lab[0].fine, N * 4), *vram[GPUS];

	for (int i = 0; i < GPUS; i++)
		vram[i] = alloc_for_both(g, g->lab[i].vram, N * 4);
	for (uint32_t i = 0; i < N; i++)
		host[i] = i * i + 1;
	for (int i = 0; i < GPUS; i++)
		lab_copy(&g->lab[i], vram[i], g->agent[i], host, g->lab[0].cpu, N * 4);
	for (int i = 0; i < GPUS; i++) {
		struct add_arguments args = { vram[!i], vram[i], vram[!i], N };
		hsa_queue_t *queue = lab_queue(&g->lab[i], 64);

		lab_run(&g->lab[i], queue, "vector_add", N, &args, sizeof(args));
		lab_must(hsa_queue_destroy(queue));
	}
	/* 1, 1; then 1, 2; then 3, 2. */
	lab_copy(&g->lab[0], host, g->lab[0].cpu, vram[0], g->agent[0], N * 4);
	for (uint32_t i = 0; i < N; i++)
		lab_check(host[i] == 3 * (i * i + 1), "item %u is %u after both GPUs", i, host[i]);
	lab_copy(&g->lab[0], vram[0], g->agent[0], vram[1], g->agent[1], N * 4);
	lab_copy(&g->lab[0], host, g->lab[0].cpu, vram[0], g->agent[0], N * 4);
	for (uint32_t i = 0; i < N; i++)
		lab_check(host[i] == 2 * (i * i + 1), "item %u is %u after a copy", i, host[i]);
	for (int i = 0; i < GPUS; i++)
		lab_free(vram[i]);
	lab_free(host);
}

/* A barrier on one GPU waits for the other's dispatch, in turns. */
static void test_signals_of_the_other(struct gpus *g)
{
	enum { TURNS = 100 };
	struct {
		uint32_t *cells, before, pad, *wrong;
	} *args = alloc_for_both(g, g->lab[0].kernarg, TURNS * sizeof(*args));
	uint32_t *cells = alloc_for_both(g, g->lab[0].fine, 65 * 4);
	hsa_signal_t done[TURNS];
	hsa_queue_t *queue[GPUS];
	struct lab_kernel follow[GPUS];

	memset(cells, 0, 65 * 4);
	for (int i = 0; i < GPUS; i++) {
		queue[i] = lab_queue(&g->lab[i], 64);
		follow[i] = lab_find(&g->lab[i], "follow");
	}
	for (int i = 0; i < TURNS; i++) {
		hsa_barrier_and_packet_t wait = { 0 };

		done[i] = lab_signal(1);
		args[i].cells = cells;
		args[i].before = i;
		args[i].wrong = &cells[64];
		if (i)
			wait.dep_signal[0] = done[i - 1];
		lab_push(queue[i % 2], &wait, lab_header(HSA_PACKET_TYPE_BARRIER_AND, true));
		lab_dispatch(queue[i % 2], &follow[i % 2], lab_line_in_order(64), &args[i],
			     done[i]);
	}
	lab_wait(done[TURNS - 1], HSA_WAIT_STATE_BLOCKED, "the last turn of two GPUs");
	for (int i = 0; i < 64; i++)
		lab_check(cells[i] == TURNS, "cell %d is %u after %d turns", i, cells[i], TURNS);
	lab_check(!cells[64], "%u work-items ran out of turn", cells[64]);
	for (int i = 0; i < TURNS; i++)
		lab_must(hsa_signal_destroy(done[i]));
	for (int i = 0; i < GPUS; i++)
		lab_must(hsa_queue_destroy(queue[i]));
	lab_free(cells);
	lab_free(args);
}

int main(void)
{
	struct gpus g = { 0 };

	lab_must(hsa_init());
	lab_must(hsa_iterate_agents(see_agent, &g));
	lab_check(g.nr == GPUS, "%d GPUs instead of %d", g.nr, GPUS);
	for (int i = 0; i < GPUS; i++)
		lab_open_gpu(&g.lab[i], g.agent[i]);
	test_memory_of_the_other(&g);
	test_signals_of_the_other(&g);
	for (int i = 0; i < GPUS; i++)
		lab_close(&g.lab[i]);
	lab_must(hsa_shut_down());
	printf("both GPUs use each other's memory and signals\n");
	return 0;
}
