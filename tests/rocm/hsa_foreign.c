/* SPDX-License-Identifier: MIT */
/*
 * Puts work into a queue behind the runtime's back, as a kernel on the GPU may: the indices and the
 * doorbell are the queue's own memory. In between it submits work normally. All of it must run in
 * order.
 *
 * Usage: hsa_foreign; it continues when its input ends
 */
#define AMD_INTERNAL_BUILD
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hsa_test.h"

enum { CELLS = 64, ROUNDS = 6, PACKETS = 256 };

struct follow_arguments {
	uint32_t *cells, before, pad;
	uint32_t *wrong;
};

static void put_behind(hsa_queue_t *queue, const hsa_kernel_dispatch_packet_t *packet)
{
	amd_queue_t *q = (amd_queue_t *)queue;
	const amd_signal_t *doorbell = (const amd_signal_t *)queue->doorbell_signal.handle;
	uint64_t at = __atomic_fetch_add(&q->write_dispatch_id, 1, __ATOMIC_SEQ_CST);
	char *slot = (char *)queue->base_address + at % queue->size * sizeof(*packet);

	memcpy(slot + 4, (const char *)packet + 4, sizeof(*packet) - 4);
	__atomic_store_n((uint32_t *)slot, *(const uint32_t *)packet, __ATOMIC_RELEASE);
	__atomic_store_n(doorbell->hardware_doorbell_ptr, at, __ATOMIC_SEQ_CST);
}

static void run_behind(hsa_queue_t *queue, const struct lab_kernel *kernel, void *arguments,
		       hsa_signal_t done)
{
	const hsa_kernel_dispatch_packet_t p =
		lab_packet(kernel, lab_line_in_order(CELLS), arguments, done);

	put_behind(queue, &p);
}

static void run_round(hsa_queue_t *queue, const struct lab_kernel *kernel, void *arguments,
		      bool behind)
{
	hsa_signal_t done = lab_signal(1);

	if (behind)
		run_behind(queue, kernel, arguments, done);
	else
		lab_dispatch(queue, kernel, lab_line_in_order(CELLS), arguments, done);
	lab_wait(done, HSA_WAIT_STATE_BLOCKED, behind ? "work from behind" : "work");
	lab_must(hsa_signal_destroy(done));
}

int main(void)
{
	struct follow_arguments *args;
	struct lab_kernel follow;
	hsa_queue_t *queue;
	uint32_t *cells;
	struct lab lab;
	char unused[64];

	lab_open(&lab);
	follow = lab_find(&lab, "follow");
	queue = lab_queue(&lab, PACKETS);
	cells = lab_alloc(&lab, lab.fine, 2 * CELLS * sizeof(*cells));
	memset(cells, 0, 2 * CELLS * sizeof(*cells));
	args = lab_alloc(&lab, lab.kernarg, ROUNDS * sizeof(*args));
	for (uint32_t i = 0; i < ROUNDS; i++) {
		args[i] = (struct follow_arguments){ cells, i, 0, cells + CELLS };
		run_round(queue, &follow, &args[i], i % 2);
	}
	lab_check(!cells[CELLS] && cells[0] == ROUNDS, "%u came in another order", cells[CELLS]);
	puts("all came in order");
	fflush(stdout);
	while (read(STDIN_FILENO, unused, sizeof(unused)) > 0)
		;
	lab_must(hsa_queue_destroy(queue));
	lab_close(&lab);
	return 0;
}
