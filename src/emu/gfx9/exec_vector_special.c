// SPDX-License-Identifier: MIT
/* Instructions of the vector ALU that do not work lane by lane. */
#include "emu/gfx9/vector_job.h"
#include "emu/gfx9/vector_math.h"

enum gfx9_stop GFX9_V(run_nop)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	(void)w;
	(void)in;
	return GFX9_GO;
}

static enum gfx9_stop to_scalar(struct gfx9_wave *w, const struct gfx9_inst *in, unsigned int lane)
{
	unsigned int code = indexed(w, in->src[0], 0);
	const uint32_t *row;

	if (in->dst >= GFX9_SREGS)
		return GFX9_ILLEGAL;
	if (code < GFX9_VGPR) {
		gfx9_sreg_set(w, in->dst, gfx9_operand(w, in, code));
		return GFX9_GO;
	}
	row = row_of(w, code, 1);
	if (!row)
		return GFX9_ILLEGAL;
	gfx9_sreg_set(w, in->dst, row[lane % GFX9_LANES]);
	return GFX9_GO;
}

enum gfx9_stop GFX9_V(run_readfirstlane)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint64_t exec = gfx9_exec(w);

	if (in->extra != GFX9_PLAIN)
		return GFX9_ILLEGAL;
	return to_scalar(w, in, exec ? (unsigned int)__builtin_ctzll(exec) : 0);
}

/* The lane number is uniform: a scalar operand; the hardware defines nothing else. */
enum gfx9_stop GFX9_V(run_readlane)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	if (in->src[1] >= GFX9_VGPR)
		return GFX9_ILLEGAL;
	return to_scalar(w, in, gfx9_operand(w, in, in->src[1]));
}

enum gfx9_stop GFX9_V(run_writelane)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint32_t *d = row_of(w, indexed(w, in->dst, INDEX_DST), 1);

	if (!d || in->src[0] >= GFX9_VGPR || in->src[1] >= GFX9_VGPR)
		return GFX9_ILLEGAL;
	d[gfx9_operand(w, in, in->src[1]) % GFX9_LANES] = gfx9_operand(w, in, in->src[0]);
	return GFX9_GO;
}

enum gfx9_stop GFX9_V(run_swap)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint32_t *d = row_of(w, indexed(w, in->dst, INDEX_DST), 1);
	unsigned int code = indexed(w, in->src[0], 0);
	uint32_t *s = code >= GFX9_VGPR ? row_of(w, code, 1) : NULL;
	const uint32_t *lanes = gfx9_lanes(w);

	if (!d || !s || in->extra != GFX9_PLAIN)
		return GFX9_ILLEGAL;
	LANES
	{
		uint32_t x = (d[i] ^ s[i]) & lanes[i];

		d[i] ^= x;
		s[i] ^= x;
	}
	return GFX9_GO;
}

/* Four sums of 32 bits, over a window of four bytes that moves by one. */
enum gfx9_stop GFX9_V(run_mqsad_u32)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	static const struct gfx9_vector_op sources = { .src = { GFX9_T_B64, GFX9_T_B32 } };
	gfx9_lanes_fn *msad = in->clamp ? GFX9_V(msad_u8_sat) : GFX9_V(msad_u8);
	const uint32_t *c = row_of(w, indexed(w, in->src[2], 2), 4), *lanes = gfx9_lanes(w);
	uint32_t *d = row_of(w, indexed(w, in->dst, INDEX_DST), 4);
	_Alignas(64) uint32_t window[GFX9_LANES], sums[4][GFX9_LANES];
	struct gfx9_vector_job j = { .w = w, .in = in, .op = &sources };

	if (!c || !d || in->src[2] < GFX9_VGPR || !GFX9_V(fetch)(&j, 0) || !GFX9_V(fetch)(&j, 1))
		return GFX9_ILLEGAL;
	for (int k = 0; k < 4; k++) {
		LANES
		{
			window[i] = (uint32_t)(load64(j.operand[0], i) >> 8 * k);
		}
		msad(sums[k], NULL, window, j.operand[1], c + k * GFX9_LANES, w->mode);
	}
	for (int k = 0; k < 4; k++)
		blend(d + k * GFX9_LANES, sums[k], lanes);
	return GFX9_GO;
}

/*
 * Accumulation registers. The opcode says which side is one.
 */

static unsigned int number(unsigned int code)
{
	return (code - GFX9_VGPR) & 0xff;
}

static enum gfx9_stop move(struct gfx9_wave *w, uint32_t *d, const uint32_t *s)
{
	if (!d || !s)
		return GFX9_ILLEGAL;
	blend(d, s, gfx9_lanes(w));
	return GFX9_GO;
}

enum gfx9_stop GFX9_V(run_accvgpr_read)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	if (in->src[0] < GFX9_VGPR)
		return GFX9_ILLEGAL;
	return move(w, row_of(w, GFX9_VGPR + number(in->dst), 1),
		    acc_row(w, number(in->src[0]) + index_of(w, 0)));
}

enum gfx9_stop GFX9_V(run_accvgpr_write)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	uint32_t *d = acc_row(w, number(in->dst) + index_of(w, INDEX_DST));
	_Alignas(64) uint32_t tmp[GFX9_LANES];

	if (in->src[0] >= GFX9_VGPR)
		return move(w, d, row_of(w, GFX9_VGPR + number(in->src[0]), 1));
	broadcast(tmp, gfx9_operand(w, in, in->src[0]));
	return move(w, d, tmp);
}

enum gfx9_stop GFX9_V(run_accvgpr_mov)(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	if (in->src[0] < GFX9_VGPR)
		return GFX9_ILLEGAL;
	return move(w, acc_row(w, number(in->dst)), acc_row(w, number(in->src[0])));
}
