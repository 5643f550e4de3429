/* SPDX-License-Identifier: MIT */
/*
 * PM4: the packets of compute queues that are not AQL, and of indirect buffers in AQL queues.
 *
 * A stream of dwords is executed packet by packet; a packet that waits is retried. The registers
 * that a queue has set and its position in an indirect buffer stay with it, so that it can lose its
 * slot between any two packets. All with the front end's lock.
 */
#ifndef GP__EMU_KFD_PM4_H
#define GP__EMU_KFD_PM4_H

#include <stdbool.h>
#include <stdint.h>

struct emu_queue;

/* The header of a packet: type 3, or a filler dword. */
#define PM4_TYPE(header) ((header) >> 30)
#define PM4_OPCODE(header) ((header) >> 8 & 0xff)
#define PM4_COUNT(header) ((header) >> 16 & 0x3fff)
#define PM4_HEADER(opcode, dwords) (3u << 30 | ((dwords)-2u) << 16 | (opcode) << 8)
#define PM4_NOP_ONE_DWORD 0x3fff

enum {
	PM4_NOP = 0x10,
	PM4_DISPATCH_DIRECT = 0x15,
	PM4_WRITE_DATA = 0x37,
	PM4_WAIT_REG_MEM = 0x3c,
	PM4_INDIRECT_BUFFER = 0x3f,
	PM4_COPY_DATA = 0x40,
	PM4_EVENT_WRITE = 0x46,
	PM4_RELEASE_MEM = 0x49,
	PM4_ACQUIRE_MEM = 0x58,
	PM4_SET_SH_REG = 0x76,
};

/* The registers of compute shaders, numbered as in SET_SH_REG. */
#define PM4_SH_FIRST 0x200
#define PM4_SH_REGISTERS 0x80
enum {
	PM4_SH_START_X = 0x204,
	PM4_SH_NUM_THREAD_X = 0x207,
	PM4_SH_PGM_LO = 0x20c,
	PM4_SH_PGM_HI = 0x20d,
	PM4_SH_SCRATCH_BASE_LO = 0x210,
	PM4_SH_SCRATCH_BASE_HI = 0x211,
	PM4_SH_PGM_RSRC1 = 0x212,
	PM4_SH_PGM_RSRC2 = 0x213,
	PM4_SH_TMPRING_SIZE = 0x218,
	PM4_SH_PGM_RSRC3 = 0x22d,
	PM4_SH_USER_DATA_0 = 0x240,
};

/* The last dword of a dispatch. */
#define PM4_SHADER_EN (1u << 0)
#define PM4_PARTIAL_TG_EN (1u << 1)
#define PM4_FORCE_START_AT_000 (1u << 2)
#define PM4_USE_THREAD_DIMENSIONS (1u << 5)

/* Destination and source of data. */
#define PM4_MEMORY 5
#define PM4_L2 2
#define PM4_FROM_MEMORY 1
#define PM4_IMMEDIATE 5
#define PM4_CLOCK 9
#define PM4_ONE_ADDRESS (1u << 16) /* WRITE_DATA: all words to the same address */
#define PM4_COPY_64 (1u << 16)

/* WAIT_REG_MEM */
#define PM4_FUNCTION(dw) ((dw)&7)
#define PM4_WAIT_MEMORY(dw) (((dw) >> 4 & 3) == 1)

/* RELEASE_MEM: its third dword selects the data and the interrupt. */
#define PM4_RELEASE_DATA(dw) ((dw) >> 29)
#define PM4_RELEASE_INTERRUPT(dw) ((dw) >> 24 & 7)
enum { PM4_DATA_NONE, PM4_DATA_32, PM4_DATA_64, PM4_DATA_CLOCK };
enum { PM4_INT_NONE, PM4_INT_ONLY, PM4_INT_AFTER_WRITE, PM4_WRITE_CONFIRMED, PM4_INT_ALWAYS };

#define PM4_EVENT_TYPE(dw) ((dw)&0x3f)
#define PM4_CS_PARTIAL_FLUSH 7

/* INDIRECT_BUFFER: its last dword. */
#define PM4_IB_DWORDS(dw) ((dw)&0xfffff)
#define PM4_IB_CHAIN (1u << 20)

struct pm4_release {
	uint64_t after; /* the number of dispatches that must have ended */
	uint64_t address, data;
	uint32_t what; /* the packet's third dword */
	uint32_t context; /* of the interrupt */
};

#define PM4_RELEASES_MAX 64 /* waiting for dispatches */

struct pm4 {
	uint32_t sh[PM4_SH_REGISTERS];
	uint64_t ib; /* the current buffer; its remaining dwords */
	uint32_t ib_dwords;
	struct pm4_release release[PM4_RELEASES_MAX];
	uint32_t first_release, nr_releases;
};

#endif
