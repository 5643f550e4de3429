/* SPDX-License-Identifier: MIT */
/* Writes PM4 packets into a growing buffer of dwords. */
#ifndef GP__TESTS_EMU_PM4_H
#define GP__TESTS_EMU_PM4_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "emu/kfd/pm4.h"

#define PM4_STREAM_MAX 4096

struct pm4_stream {
	uint32_t dw[PM4_STREAM_MAX];
	uint32_t n;
};

static inline void pm4_put(struct pm4_stream *s, uint32_t opcode, const uint32_t *body, uint32_t n)
{
	s->dw[s->n++] = PM4_HEADER(opcode, n + 1);
	memcpy(&s->dw[s->n], body, n * sizeof(*body));
	s->n += n;
}

#define PM4_PUT(s, opcode, ...)                               \
	pm4_put(s, opcode, (const uint32_t[]){ __VA_ARGS__ }, \
		sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))
#define PM4_ADDRESS(va) (uint32_t)(va), (uint32_t)((uint64_t)(va) >> 32)

static inline void pm4_write(struct pm4_stream *s, uint64_t va, uint32_t value)
{
	PM4_PUT(s, PM4_WRITE_DATA, PM4_MEMORY << 8, PM4_ADDRESS(va), value);
}

static inline void pm4_wait_equal(struct pm4_stream *s, uint64_t va, uint32_t value)
{
	PM4_PUT(s, PM4_WAIT_REG_MEM, 1u << 4 | 3, PM4_ADDRESS(va), value, 0xffffffff, 4);
}

static inline void pm4_release_to(struct pm4_stream *s, uint64_t va, uint64_t value, uint32_t data,
				  uint32_t interrupt, uint32_t context)
{
	PM4_PUT(s, PM4_RELEASE_MEM, 5u << 8 | 0x14, data << 29 | interrupt << 24, PM4_ADDRESS(va),
		PM4_ADDRESS(value), context);
}

static inline void pm4_flush(struct pm4_stream *s)
{
	PM4_PUT(s, PM4_EVENT_WRITE, 4u << 8 | PM4_CS_PARTIAL_FLUSH);
}

static inline void pm4_jump(struct pm4_stream *s, uint64_t va, uint32_t dwords)
{
	PM4_PUT(s, PM4_INDIRECT_BUFFER, PM4_ADDRESS(va), dwords | 1u << 23);
}

static inline void pm4_set(struct pm4_stream *s, uint32_t reg, const uint32_t *values, uint32_t n)
{
	uint32_t body[1 + PM4_SH_REGISTERS] = { reg };

	memcpy(&body[1], values, n * sizeof(*values));
	pm4_put(s, PM4_SET_SH_REG, body, n + 1);
}

#define PM4_SET(s, reg, ...)                               \
	pm4_set(s, reg, (const uint32_t[]){ __VA_ARGS__ }, \
		sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

/* Starts a kernel as its descriptor @kd (at @kd_va on the GPU) requires. */
struct pm4_kernel {
	const void *kd;
	uint64_t kd_va, kernarg;
	uint64_t packet; /* an AQL packet of the same dispatch, from which kernels read its sizes */
	uint32_t groups, size; /* of one axis */
};

static inline void pm4_dispatch(struct pm4_stream *s, const struct pm4_kernel *k)
{
	uint32_t w[16], lds, at, user[16] = { 0 };
	uint64_t program;
	int64_t entry;

	memcpy(w, k->kd, sizeof(w));
	memcpy(&entry, &w[4], sizeof(entry));
	program = (k->kd_va + (uint64_t)entry) >> 8;
	lds = (w[0] + 511) / 512;
	/* In the order of the ABI: scratch descriptor, dispatch, queue, arguments. */
	at = w[14] & 1 ? 4 : 0;
	if (w[14] & 2) {
		memcpy(&user[at], &k->packet, sizeof(k->packet));
		at += 2;
	}
	at += w[14] & 4 ? 2 : 0;
	memcpy(&user[at], &k->kernarg, sizeof(k->kernarg));
	PM4_PUT(s, PM4_ACQUIRE_MEM, 0x28c00000, 0xffffffff, 0, 0, 0, 4);
	PM4_SET(s, PM4_SH_START_X, 0, 0, 0, k->size, 1, 1, 0, 0);
	PM4_SET(s, PM4_SH_PGM_LO, PM4_ADDRESS(program), 0, 0, 0, 0);
	PM4_SET(s, PM4_SH_PGM_RSRC1, w[12], w[13] | lds << 15);
	PM4_SET(s, PM4_SH_PGM_RSRC3, w[11]);
	PM4_SET(s, PM4_SH_TMPRING_SIZE, 0);
	pm4_set(s, PM4_SH_USER_DATA_0, user, 16);
	PM4_PUT(s, PM4_DISPATCH_DIRECT, k->groups * k->size, 1, 1,
		PM4_SHADER_EN | PM4_USE_THREAD_DIMENSIONS);
}

#endif
