/* SPDX-License-Identifier: MIT */
/*
 * The part of the HSA runtime's binary interface to tools that gpreempt uses: its tables of
 * functions, which only grow, and the layout of queues and signals. A test compares it with the
 * runtime's own headers, which are C++.
 */
#ifndef GP__JOIN_HSA_ABI_H
#define GP__JOIN_HSA_ABI_H

#include <stdint.h>

/* ROCm 5 has tables of version 1. ROCm 6 has version 3, and version 2 of the two used here. */
#define GP__HSA_TABLE_MAJOR_MAX 3
#define GP__HSA_CORE_MAJOR_MAX 2

struct gp__hsa_version {
	uint32_t major;
	uint32_t bytes; /* of the table */
	uint32_t step, reserved;
};

typedef void gp__hsa_fn(void);

/* Indices into the table of core functions. */
enum gp__hsa_core_fn {
	GP__HSA_SYSTEM_GET_INFO = 2,
	GP__HSA_QUEUE_CREATE = 7,
	GP__HSA_QUEUE_DESTROY = 9,
	GP__HSA_LOAD_READ_SCACQUIRE = 11,
	GP__HSA_LOAD_READ_RELAXED,
	GP__HSA_LOAD_WRITE_SCACQUIRE,
	GP__HSA_LOAD_WRITE_RELAXED,
	GP__HSA_STORE_WRITE_RELAXED,
	GP__HSA_STORE_WRITE_SCRELEASE,
	GP__HSA_CAS_WRITE_SCACQ_SCREL,
	GP__HSA_CAS_WRITE_SCACQUIRE,
	GP__HSA_CAS_WRITE_RELAXED,
	GP__HSA_CAS_WRITE_SCRELEASE,
	GP__HSA_ADD_WRITE_SCACQ_SCREL,
	GP__HSA_ADD_WRITE_SCACQUIRE,
	GP__HSA_ADD_WRITE_RELAXED,
	GP__HSA_ADD_WRITE_SCRELEASE,
	GP__HSA_SIGNAL_CREATE = 37,
	GP__HSA_SIGNAL_DESTROY,
	GP__HSA_SIGNAL_STORE_RELAXED = 41,
	GP__HSA_SIGNAL_STORE_SCRELEASE,
	GP__HSA_SIGNAL_WAIT_RELAXED,
	GP__HSA_SIGNAL_WAIT_SCACQUIRE,
	GP__HSA_SIGNAL_SUBTRACT_SCRELEASE = 67,
	GP__HSA_CORE_FNS,
};

struct gp__hsa_core {
	struct gp__hsa_version version;
	gp__hsa_fn *fn[GP__HSA_CORE_FNS];
};

struct gp__hsa_table {
	struct gp__hsa_version version;
	struct gp__hsa_core *core;
};

struct gp__hsa_queue {
	uint32_t type, features;
	void *ring;
	uint64_t doorbell; /* a signal */
	uint32_t size, reserved;
	uint64_t id;
	uint32_t reserved1[4];
	_Atomic uint64_t write_index;
	uint32_t reserved2[16];
	_Atomic uint64_t read_index;
};

#define GP__HSA_SIGNAL_USER 1

/* A signal's handle is the address of this. */
struct gp__hsa_signal {
	int64_t kind; /* negative: a doorbell */
	_Atomic int64_t value;
	uint64_t mailbox;
	uint32_t event_id, reserved;
	uint64_t start, end;
	struct gp__hsa_queue *queue; /* only a doorbell has it */
};

/* An attribute of hsa_system_get_info(): the unit of timeouts. */
#define GP__HSA_INFO_TICKS_PER_S 3

/* Conditions and states of hsa_signal_wait_*(). */
enum gp__hsa_condition { GP__HSA_EQ, GP__HSA_NE, GP__HSA_LT, GP__HSA_GTE };
enum gp__hsa_wait_state { GP__HSA_WAIT_BLOCKED, GP__HSA_WAIT_ACTIVE };

#endif
