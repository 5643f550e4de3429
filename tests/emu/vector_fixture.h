/* SPDX-License-Identifier: MIT */
/* Common parts of the tests of the vector ALU: a wave, edge cases, instructions by opcode. */
#ifndef GP_TEST_VECTOR_FIXTURE_H
#define GP_TEST_VECTOR_FIXTURE_H

#include "emu/gfx9/vector.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL 0x3f0u /* MODE as compilers set it */
#define NR_VGPRS 16
#define NR_AGPRS 4
#define POISON 0xdeadbeefu

typedef unsigned __int128 u128;
typedef __int128 i128;

/* The registers are of exactly the size the wave has, for the address sanitizer. */
struct fixture {
	struct gfx9_wave w;
	struct gfx9_spare spare;
	uint32_t (*v)[GFX9_LANES];
};

static inline struct fixture *fixture_new(void)
{
	struct fixture *f = aligned_alloc(64, (sizeof(*f) + 63) / 64 * 64);

	memset(f, 0, sizeof(*f));
	f->v = aligned_alloc(64, (NR_VGPRS + NR_AGPRS) * sizeof(*f->v));
	memset(f->v, 0, (NR_VGPRS + NR_AGPRS) * sizeof(*f->v));
	f->w.v = f->v;
	f->w.spare = &f->spare;
	f->w.nr_vgprs = NR_VGPRS;
	f->w.nr_agprs = NR_AGPRS;
	f->w.nr_sgprs = 102;
	f->w.mode = USUAL;
	gfx9_set64(&f->w, GFX9_EXEC, GFX9_ALL_LANES);
	f->w.lanes_of = 0;
	return f;
}

static inline void fixture_free(struct fixture *f)
{
	free(f->v);
	free(f);
}

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1du;
}

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static const uint64_t edges32[] = {
	0,	    1,		2,	    7,		0x1f,	    0x20,	0x7f,
	0x80,	    0xff,	0x7fff,	    0x8000,	0xffff,	    0x10000,	0x7fffffff,
	0x80000000, 0x80000001, 0xffffffff, 0xfffffffe, 0x00400000, 0x007fffff, 0x00800000,
	0x3f000000, 0x3f800000, 0xbf800000, 0x3fc00000, 0x40000000, 0xc0200000, 0x4effffff,
	0x4f000000, 0xcf000000, 0x4f800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
	0x7f800001, 0x7fc00123, 0xffd00000, 0x33800000, 0x477fefff, 0x477ff000, 0x38800000,
	0x387fe000, 0x33000001, 0x12345678, 0x0c0d0b08, 0x3e800000, 0x43808000, 0x0b800000,
	0x0c000000,
};

static inline bool is_wide(unsigned int type)
{
	return type == GFX9_T_B64 || type == GFX9_T_M64 || type == GFX9_T_F64 ||
	       type == GFX9_T_P32 || type == GFX9_T_PMOV;
}

static inline bool is_half(unsigned int type)
{
	return type == GFX9_T_B16 || type == GFX9_T_M16 || type == GFX9_T_F16;
}

#define V(n) (uint16_t)(GFX9_VGPR + (n))
#define DST 8
#define SDST 20
#define MASK_SRC 30

static inline bool is_vop3p(const char *name)
{
	if (!strcmp(name, "v_pk_fmac_f16") || strstr(name, "c_f32_f16") || strstr(name, "c_i32_i"))
		return false;
	return !strncmp(name, "v_pk_", 5) || !strncmp(name, "v_dot", 5) ||
	       !strncmp(name, "v_fma_mix", 9);
}

static inline struct gfx9_inst inst_of(const struct gfx9_vector_op *op, uint16_t code)
{
	const char *name = gfx9_op_name(code);
	struct gfx9_inst in = { .op = code, .format = GFX9_VOP3, .dst = V(DST), .sdst = SDST };

	if (is_vop3p(name)) {
		in.format = GFX9_VOP3P;
		in.op_sel_hi = 7;
	}
	if (op->flags & (GFX9_F_ACC | GFX9_F_MK | GFX9_F_AK))
		in.format = GFX9_VOP2;
	for (unsigned int k = 0; k < 3; k++)
		in.src[k] = op->src[k] == GFX9_T_MASK ? MASK_SRC : V(2 * k);
	if (!strncmp(name, "v_fma_mix", 9))
		in.op_sel_hi = 0;
	if (code == GFX9_V_PK_MOV_B32)
		in.op_sel = 0;
	return in;
}

static inline void put(struct fixture *f, unsigned int row, const uint64_t *v, unsigned int type)
{
	for (int i = 0; i < GFX9_LANES; i++) {
		uint64_t junk = is_half(type) ? 0xabcd0000u : 0;

		f->v[row][i] = (uint32_t)(v[i] | junk);
		if (is_wide(type))
			f->v[row + 1][i] = (uint32_t)(v[i] >> 32);
	}
}

#endif
