// SPDX-License-Identifier: MIT
/* Sources from other lanes (DPP), and sources and results of less than a dword (SDWA). */
#include "emu/gfx9/vector_job.h"

#define EACH_LANE(expr)                      \
	for (int i = 0; i < GFX9_LANES; i++) \
		lane[i] = (int8_t)(expr);    \
	break

/* The lane that each lane gets its first source from, -1 where there is none. */
static void dpp_lanes(unsigned int ctrl, int8_t *lane)
{
	int n = (int)(ctrl & 15);

	switch (ctrl < 0x100 ? 0 : ctrl >> 4 == 0x13 || ctrl >> 4 == 0x14 ? ctrl : ctrl >> 4) {
	case 0: /* quad_perm */
		EACH_LANE((i & ~3) | (int)(ctrl >> 2 * (i & 3) & 3));
	case 0x10: /* row_shl */
		EACH_LANE((i & 15) + n < 16 ? i + n : -1);
	case 0x11: /* row_shr */
		EACH_LANE((i & 15) >= n ? i - n : -1);
	case 0x12: /* row_ror */
		EACH_LANE((i & ~15) | ((i - n) & 15));
	case 0x15: /* row_newbcast */
		EACH_LANE((i & ~15) | n);
	case 0x130: /* wave_shl */
		EACH_LANE(i < 63 ? i + 1 : -1);
	case 0x134: /* wave_rol */
		EACH_LANE((i + 1) & 63);
	case 0x138: /* wave_shr */
		EACH_LANE(i - 1);
	case 0x13c: /* wave_ror */
		EACH_LANE((i - 1) & 63);
	case 0x140: /* row_mirror */
		EACH_LANE(i ^ 15);
	case 0x141: /* row_half_mirror */
		EACH_LANE(i ^ 7);
	case 0x142: /* row_bcast15 */
		EACH_LANE((i & ~15) - 1);
	default: /* row_bcast31 */
		EACH_LANE(i < 32 ? -1 : 31);
	}
}

bool GFX9_V(dpp_valid)(unsigned int ctrl)
{
	switch (ctrl >> 4) {
	case 0x10:
	case 0x11:
	case 0x12:
		return ctrl & 15;
	case 0x15:
		return true;
	}
	switch (ctrl) {
	case 0x130:
	case 0x134:
	case 0x138:
	case 0x13c:
	case 0x140:
	case 0x141:
	case 0x142:
	case 0x143:
		return true;
	default:
		return ctrl < 0x100;
	}
}

/* The lanes that the masks of rows and banks leave on. */
static uint64_t dpp_enabled(const struct gfx9_inst *in)
{
	uint64_t banks = 0, mask = 0;

	for (int k = 0; k < 4; k++)
		banks |= (uint64_t)(in->bank_mask >> k & 1 ? 0xf : 0) << 4 * k;
	for (int k = 0; k < 4; k++)
		mask |= in->row_mask >> k & 1 ? banks << 16 * k : 0;
	return mask;
}

/* A lane that EXEC has disabled provides no data either. */
void GFX9_V(dpp)(struct gfx9_vector_job *j, uint32_t *row, unsigned int n)
{
	uint64_t exec = gfx9_exec(j->w), valid = 0;
	uint32_t from[ROWS];
	int8_t lane[GFX9_LANES];

	dpp_lanes(j->in->dpp_ctrl, lane);
	for (int i = 0; i < GFX9_LANES; i++)
		valid |= (uint64_t)(lane[i] >= 0 && (exec >> (lane[i] & 63) & 1)) << i;
	memcpy(from, row, n * GFX9_LANES * sizeof(*row));
	for (int i = 0; i < GFX9_LANES; i++)
		row[i] = valid >> i & 1 ? from[lane[i] & 63] : 0;
	for (int i = GFX9_LANES; n == 2 && i < ROWS; i++)
		row[i] = valid >> (i - 64) & 1 ? from[64 + (lane[i - 64] & 63)] : 0;
	j->active &= dpp_enabled(j->in);
	if (!j->in->bound_ctrl)
		j->active &= valid;
}

void GFX9_V(sdwa_select)(uint32_t *row, unsigned int sel, bool sext)
{
	unsigned int shift = sel < 4 ? 8 * sel : 16 * (sel - 4), bits = sel < 4 ? 8 : 16;

	if (sel >= 6)
		return;
	LANES
	{
		uint32_t v = row[i] << (32 - bits - shift);

		row[i] = sext ? (uint32_t)((int32_t)v >> (32 - bits)) : v >> (32 - bits);
	}
}

enum { UNUSED_PAD, UNUSED_SEXT, UNUSED_PRESERVE };

void GFX9_V(sdwa_place)(struct gfx9_vector_job *j, const uint32_t *old)
{
	const struct gfx9_inst *in = j->in;
	unsigned int sel = in->dst_sel;
	unsigned int shift = sel < 4 ? 8 * sel : 16 * (sel - 4), bits = sel < 4 ? 8 : 16;
	uint32_t field;

	if (sel >= 6)
		return;
	field = ((1u << bits) - 1) << shift;
	for (int i = 0; i < GFX9_LANES; i++) {
		uint32_t v = j->out[i] << shift & field, sign = v >> (shift + bits - 1) & 1;

		if (in->dst_unused == UNUSED_PRESERVE)
			v |= old[i] & ~field;
		else if (in->dst_unused == UNUSED_SEXT && sign)
			v |= ~(field | (field - 1));
		j->out[i] = v;
	}
}
