/* SPDX-License-Identifier: MIT */
/*
 * AQL packets, signals and the queue's own memory, which programs and the packet processor share.
 * The layouts are those of HSA and of AMD's runtime.
 */
#ifndef GP__EMU_KFD_AQL_H
#define GP__EMU_KFD_AQL_H

#include <stddef.h>
#include <stdint.h>

#define AQL_PACKET_BYTES 64

/* Header of a packet */
#define AQL_TYPE(header) ((header)&0xff)
#define AQL_BARRIER (1u << 8)
enum {
	AQL_VENDOR,
	AQL_INVALID, /* not written yet, or consumed */
	AQL_KERNEL_DISPATCH,
	AQL_BARRIER_AND,
	AQL_AGENT_DISPATCH,
	AQL_BARRIER_OR,
};
/* The format of a vendor packet, in its third byte. */
#define AQL_VENDOR_PM4_IB 1
#define AQL_VENDOR_BARRIER_VALUE 2

struct aql_dispatch {
	uint16_t header, setup;
	uint16_t group[3], reserved0;
	uint32_t grid[3];
	uint32_t private_bytes, group_bytes;
	uint64_t kernel_object, kernarg, reserved1;
	uint64_t signal;
};

#define AQL_DEPENDENCIES 5

struct aql_barrier {
	uint16_t header, reserved0;
	uint32_t reserved1;
	uint64_t dependency[AQL_DEPENDENCIES];
	uint64_t reserved2;
	uint64_t signal;
};

enum { AQL_EQ, AQL_NE, AQL_LT, AQL_GE };

struct aql_barrier_value {
	uint16_t header;
	uint8_t format, reserved0;
	uint32_t reserved1;
	uint64_t dependency;
	int64_t value, mask;
	uint32_t condition, reserved2;
	uint64_t reserved3[2];
	uint64_t signal;
};

struct aql_pm4_ib {
	uint16_t header, format;
	uint32_t jump[4]; /* INDIRECT_BUFFER: address, and size in dwords */
	uint32_t rest, reserved[8];
	uint64_t signal;
};

union aql_packet {
	uint16_t header;
	struct aql_dispatch dispatch;
	struct aql_barrier barrier;
	struct aql_barrier_value barrier_value;
	struct aql_pm4_ib pm4_ib;
};
_Static_assert(sizeof(union aql_packet) == AQL_PACKET_BYTES, "as HSA has it");
_Static_assert(offsetof(struct aql_dispatch, signal) == 56, "as HSA has it");
_Static_assert(offsetof(struct aql_barrier, signal) == 56, "as HSA has it");
_Static_assert(offsetof(struct aql_barrier_value, signal) == 56, "as AMD has it");
_Static_assert(offsetof(struct aql_pm4_ib, signal) == 56, "as AMD has it");

/* A signal; its handle is its address. */
#define AQL_SIGNAL_VALUE 8
#define AQL_SIGNAL_MAILBOX 16
#define AQL_SIGNAL_EVENT 24 /* and nothing in its upper half */
#define AQL_SIGNAL_START 32
#define AQL_SIGNAL_END 40

/* The runtime's memory of a queue, from the read index on. */
#define AQL_PROPERTY_SCRATCH_ONCE (1u << 4)
struct aql_queue {
	uint64_t read_index;
	uint32_t offset; /* offset of the read index in that memory */
	uint32_t tmpring; /* waves with scratch, and the size of each */
	uint32_t scratch_descriptor[4];
	uint64_t scratch_base, scratch_bytes;
	uint32_t scratch_lane_bytes;
	uint32_t properties;
	uint32_t reserved[2];
	uint64_t inactive_signal;
};
_Static_assert(offsetof(struct aql_queue, scratch_base) == 0x20, "as AMD has it");
_Static_assert(offsetof(struct aql_queue, scratch_lane_bytes) == 0x30, "as AMD has it");
_Static_assert(offsetof(struct aql_queue, properties) == 0x34, "as AMD has it");
_Static_assert(offsetof(struct aql_queue, inactive_signal) == 0x40, "as AMD has it");

#define AQL_TMPRING_WAVES(tmpring) ((tmpring)&0xfff)
#define AQL_TMPRING_WAVE_BYTES(tmpring) (((tmpring) >> 12 & 0x1fff) * 1024u)

/*
 * The packet processor adds these to the inactive signal. Errors of packets follow from their
 * exception codes.
 */
#define AQL_ERROR_SCRATCH 1u
#define AQL_ERROR_SCRATCH_RECLAIM 512u
#define AQL_ERROR_ILLEGAL 0x40000000u
#define AQL_ERROR_EXCEPTION 0x80000000u
#define AQL_ERROR_PACKET(code) (1u << ((code)-15))

#endif
