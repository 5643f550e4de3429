/* SPDX-License-Identifier: MIT */
/*
 * A machine with processes that are not programs: the test itself makes their memory, queues and
 * packets. Only requests to a client are not answered.
 */
#ifndef GP__TESTS_EMU_KFD_BENCH_H
#define GP__TESTS_EMU_KFD_BENCH_H

#include "emu/gfx9/machine.h"
#include "emu/kfd/aql.h"
#include "emu/kfd/call.h"
#include "emu/kfd/node.h"
#include "emu/kfd/queue.h"

#define BENCH_SECOND ((uint64_t)1000000000)
#define BENCH_TIMEOUT (30 * BENCH_SECOND)

/* A signal as the runtime makes it. */
struct bench_signal {
	int64_t kind;
	_Atomic int64_t value;
	uint64_t mailbox;
	uint32_t event, reserved;
	uint64_t start, end, more[2];
};

struct bench {
	struct emu_machine m;
	struct emu_config config; /* may be changed before bench_start() */
	struct emu_node *node;
	const char *object; /* the kernels */
};

struct bench_process {
	struct bench *b;
	struct emu_process *p;
	struct machine *memory; /* its memory, and kernels loaded into it */
	struct emu_call call;
};

struct bench_queue {
	struct bench_process *p;
	struct emu_queue *q;
	uint32_t id, packets;
	uint8_t *ring;
	uint64_t ring_va;
	_Atomic uint64_t *read_index, *write_index, *doorbell;
	struct aql_queue *state;
	struct bench_signal *inactive;
};

void bench_start(struct bench *b, enum gfx9_target target, const char *object);
void bench_end(struct bench *b);

void bench_process_start(struct bench *b, struct bench_process *p, pid_t pid);
void bench_process_end(struct bench_process *p);
/* Zeroed memory of it, and its host address. */
uint64_t bench_alloc(struct bench_process *p, uint64_t bytes, void *host);
uint64_t bench_signal(struct bench_process *p, int64_t value, struct bench_signal **s);

/*
 * 0 or -errno of CREATE_QUEUE. A ring has room for @packets of 64 bytes, or for DMA packets of any
 * size.
 */
int bench_queue(struct bench_process *p, struct bench_queue *q, uint32_t type, uint32_t packets);
void bench_destroy(struct bench_queue *q);
/* Reserves a slot, waiting while there is none, publishes the packet and rings the doorbell. */
void bench_push(struct bench_queue *q, const union aql_packet *packet);
void bench_ring(struct bench_queue *q, uint64_t value);
/* A dispatch of a kernel with one axis, ready to be pushed. */
union aql_packet bench_dispatch(struct bench_process *p, const char *kernel, uint32_t groups,
				uint16_t size, const void *args, size_t args_size, uint64_t signal);

/* A dispatch of @groups that wait until their gate is open. */
struct bench_gate {
	_Atomic uint32_t *arrived, *open, *left;
	uint64_t open_va;
	struct bench_signal *done;
};
void bench_push_gate(struct bench_queue *q, struct bench_gate *g, uint32_t groups);

/* The compute engine's GPU and queue, and the number of its workgroups on compute units. */
struct gfx9_gpu *bench_gpu(const struct bench *b);
struct gfx9_queue *bench_hw(const struct bench_queue *q);
uint64_t bench_resident(const struct bench_queue *q);

/* Whether the value becomes so within the timeout of a test. */
bool bench_wait32(_Atomic uint32_t *value, uint32_t expected);
bool bench_wait(_Atomic int64_t *value, int64_t expected);
bool bench_wait_index(struct bench_queue *q, uint64_t index);
/* Whether the value stays so for a moment. */
bool bench_stays(_Atomic int64_t *value, int64_t expected);

int bench_hold(struct bench_queue *q, uint32_t why, enum emu_stop_type how);
int bench_release(struct bench_queue *q, uint32_t why);

/*
 * Work that takes a while, and whose result shows lost or repeated work: a packet for it, and the
 * check.
 */
#define BENCH_WORK_ITEMS 256
union aql_packet bench_work(struct bench_process *p, uint32_t rounds, uint64_t **state,
			    uint64_t signal);
void bench_check_work(const uint64_t *state, uint32_t rounds);

#endif
