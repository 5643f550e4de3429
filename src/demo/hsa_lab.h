/* SPDX-License-Identifier: MIT */
/*
 * Common code of the HSA programs of the demo and of the tests: the runtime with one GPU, kernels,
 * queues, and memory. No function returns an error: a failure ends the program with a sentence and
 * status 1.
 */
#ifndef DEMO_HSA_LAB_H
#define DEMO_HSA_LAB_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAB_TIMEOUT_S 120

struct lab {
	hsa_agent_t cpu, gpu;
	char gpu_name[64];
	hsa_amd_memory_pool_t vram, kernarg, fine, coarse; /* the last three are the host's */
	hsa_executable_t code;
};

/* A kernel; the arguments of its dispatches are laid out as the compiler did. */
struct lab_kernel {
	uint64_t object;
	uint32_t kernarg_size, group_size, private_size;
};

struct lab_grid {
	uint32_t size[3]; /* work-items; 0: as 1 */
	uint16_t group[3];
	bool barrier; /* waits for all earlier packets of its queue */
};

void lab_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* The same where @ok is false. */
#define lab_check(ok, ...)                     \
	do {                                   \
		if (!(ok))                     \
			lab_fail(__VA_ARGS__); \
	} while (0)
#define lab_must(call) lab_status(call, #call)
void lab_status(hsa_status_t status, const char *call);

/*
 * The program provides its kernels: the code object for a GPU of this name, and its size. NULL: it
 * has none.
 */
const void *lab_code(const char *gpu_name, size_t *size);

/* With the first GPU, or with the given one. */
void lab_open(struct lab *lab);
void lab_open_gpu(struct lab *lab, hsa_agent_t gpu);
void lab_close(struct lab *lab);
/*
 * Tells the driver that a debugger may attach, as newer runtimes do. Call it between hsa_init() and
 * the first queue.
 */
void lab_enable_runtime(void);
struct lab_kernel lab_find(struct lab *lab, const char *name);

/* Memory that the GPU can use. */
void *lab_alloc(struct lab *lab, hsa_amd_memory_pool_t pool, size_t size);
hsa_signal_t lab_signal(hsa_signal_value_t value);

hsa_queue_t *lab_queue(struct lab *lab, uint32_t packets);
/*
 * Writes a packet to the queue, waiting while that is full, and rings the doorbell; returns its
 * index.
 */
uint64_t lab_push(hsa_queue_t *queue, const void *packet, uint16_t header);
uint16_t lab_header(hsa_packet_type_t type, bool barrier);
/* The arguments must stay until the dispatch has ended. */
hsa_kernel_dispatch_packet_t lab_packet(const struct lab_kernel *kernel, struct lab_grid grid,
					const void *arguments, hsa_signal_t done);
uint64_t lab_dispatch(hsa_queue_t *queue, const struct lab_kernel *kernel, struct lab_grid grid,
		      const void *arguments, hsa_signal_t done);

/* Waits until it is below 1, for at most LAB_TIMEOUT_S. @what is for the message. */
void lab_wait(hsa_signal_t signal, hsa_wait_state_t how, const char *what);

uint32_t lab_random(uint64_t *state);

#endif
