// SPDX-License-Identifier: MIT
/*
 * The time of each instruction of the vector ALU in nanoseconds, in each of its compilations: the
 * best of some tries. Run by hand.
 */
#include "emu/gfx9/vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NR_VGPRS 16
#define ROUNDS 100000
#define TRIES 9

static uint32_t registers[NR_VGPRS][GFX9_LANES] __attribute__((aligned(64)));

static const struct {
	const char *name;
	struct gfx9_inst inst;
} cases[] = {
#define V(n) (GFX9_VGPR + (n))
	{ "v_mov_b32",
	  { .op = GFX9_V_MOV_B32, .format = GFX9_VOP1, .dst = V(0), .src = { V(2) } } },
	{ "v_add_f32",
	  { .op = GFX9_V_ADD_F32, .format = GFX9_VOP2, .dst = V(0), .src = { V(2), V(4) } } },
	{ "v_add_f32 s",
	  { .op = GFX9_V_ADD_F32, .format = GFX9_VOP2, .dst = V(0), .src = { 4, V(4) } } },
	{ "v_fma_f32",
	  { .op = GFX9_V_FMA_F32, .format = GFX9_VOP3, .dst = V(0), .src = { V(2), V(4), V(6) } } },
	{ "v_fmac_f32",
	  { .op = GFX9_V_FMAC_F32, .format = GFX9_VOP2, .dst = V(0), .src = { V(2), V(4) } } },
	{ "v_fma_f32 -",
	  { .op = GFX9_V_FMA_F32,
	    .format = GFX9_VOP3,
	    .dst = V(0),
	    .src = { V(2), V(4), V(6) },
	    .neg = 1 } },
	{ "v_min_f32",
	  { .op = GFX9_V_MIN_F32, .format = GFX9_VOP2, .dst = V(0), .src = { V(2), V(4) } } },
	{ "v_cmp_lt_f32",
	  { .op = GFX9_V_CMP_LT_F32,
	    .format = GFX9_VOPC,
	    .sdst = GFX9_VCC,
	    .src = { V(2), V(4) } } },
	{ "v_cmp_lt_u64",
	  { .op = GFX9_V_CMP_LT_U64,
	    .format = GFX9_VOPC,
	    .sdst = GFX9_VCC,
	    .src = { V(2), V(4) } } },
	{ "v_add_u32",
	  { .op = GFX9_V_ADD_U32, .format = GFX9_VOP2, .dst = V(0), .src = { V(2), V(4) } } },
	{ "v_add_co_u32",
	  { .op = GFX9_V_ADD_CO_U32,
	    .format = GFX9_VOP2,
	    .dst = V(0),
	    .sdst = GFX9_VCC,
	    .src = { V(2), V(4) } } },
	{ "v_addc_co_u32",
	  { .op = GFX9_V_ADDC_CO_U32,
	    .format = GFX9_VOP2,
	    .dst = V(0),
	    .sdst = GFX9_VCC,
	    .src = { V(2), V(4), GFX9_VCC } } },
	{ "v_mul_lo_u32",
	  { .op = GFX9_V_MUL_LO_U32, .format = GFX9_VOP3, .dst = V(0), .src = { V(2), V(4) } } },
	{ "v_mul_hi_u32",
	  { .op = GFX9_V_MUL_HI_U32, .format = GFX9_VOP3, .dst = V(0), .src = { V(2), V(4) } } },
	{ "v_mad_u64_u32",
	  { .op = GFX9_V_MAD_U64_U32,
	    .format = GFX9_VOP3,
	    .dst = V(0),
	    .sdst = GFX9_VCC,
	    .src = { V(2), V(4), V(6) } } },
	{ "v_lshl_add_u64",
	  { .op = GFX9_V_LSHL_ADD_U64,
	    .format = GFX9_VOP3,
	    .dst = V(0),
	    .src = { V(2), V(4), V(6) } } },
	{ "v_lshlrev_b64",
	  { .op = GFX9_V_LSHLREV_B64, .format = GFX9_VOP3, .dst = V(0), .src = { 130, V(4) } } },
	{ "v_alignbit_b32",
	  { .op = GFX9_V_ALIGNBIT_B32,
	    .format = GFX9_VOP3,
	    .dst = V(0),
	    .src = { V(2), V(2), 135 } } },
	{ "v_add_f64",
	  { .op = GFX9_V_ADD_F64, .format = GFX9_VOP3, .dst = V(0), .src = { V(2), V(4) } } },
	{ "v_fma_f64",
	  { .op = GFX9_V_FMA_F64, .format = GFX9_VOP3, .dst = V(0), .src = { V(2), V(4), V(6) } } },
	{ "v_cndmask_b32",
	  { .op = GFX9_V_CNDMASK_B32,
	    .format = GFX9_VOP2,
	    .dst = V(0),
	    .src = { V(2), V(4), GFX9_VCC } } },
	{ "v_cvt_f32_u32",
	  { .op = GFX9_V_CVT_F32_U32, .format = GFX9_VOP1, .dst = V(0), .src = { V(2) } } },
	{ "v_cvt_u32_f32",
	  { .op = GFX9_V_CVT_U32_F32, .format = GFX9_VOP1, .dst = V(0), .src = { V(2) } } },
	{ "v_cvt_f16_f32",
	  { .op = GFX9_V_CVT_F16_F32, .format = GFX9_VOP1, .dst = V(0), .src = { V(2) } } },
	{ "v_rcp_f32",
	  { .op = GFX9_V_RCP_F32, .format = GFX9_VOP1, .dst = V(0), .src = { V(2) } } },
	{ "v_exp_f32",
	  { .op = GFX9_V_EXP_F32, .format = GFX9_VOP1, .dst = V(0), .src = { V(2) } } },
	{ "v_div_scale_f32",
	  { .op = GFX9_V_DIV_SCALE_F32,
	    .format = GFX9_VOP3,
	    .dst = V(0),
	    .sdst = GFX9_VCC,
	    .src = { V(2), V(2), V(4) } } },
	{ "v_div_fixup_f64",
	  { .op = GFX9_V_DIV_FIXUP_F64,
	    .format = GFX9_VOP3,
	    .dst = V(0),
	    .src = { V(2), V(4), V(6) } } },
	{ "v_mov_b32 dpp",
	  { .op = GFX9_V_MOV_B32,
	    .format = GFX9_VOP1,
	    .extra = GFX9_DPP,
	    .dst = V(0),
	    .src = { V(2) },
	    .dpp_ctrl = 0x111,
	    .row_mask = 15,
	    .bank_mask = 15 } },
	{ "v_mbcnt_lo",
	  { .op = GFX9_V_MBCNT_LO_U32_B32,
	    .format = GFX9_VOP3,
	    .dst = V(0),
	    .src = { 193, 128 } } },
	{ "v_pk_fma_f16",
	  { .op = GFX9_V_PK_FMA_F16,
	    .format = GFX9_VOP3P,
	    .dst = V(0),
	    .src = { V(2), V(4), V(6) },
	    .op_sel_hi = 7 } },
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double measure(const struct gfx9_vector_variant *v, const struct gfx9_inst *inst,
		      uint64_t exec)
{
	static struct gfx9_spare spare;
	struct gfx9_inst in = *inst;
	struct gfx9_wave *w = aligned_alloc(64, (sizeof(*w) + 63) / 64 * 64);
	gfx9_run_fn *run = v->bind(&in);
	double best = 1e9;

	*w = (struct gfx9_wave){
		.v = registers, .nr_vgprs = NR_VGPRS, .mode = 0x3f0, .spare = &spare
	};
	gfx9_set64(w, GFX9_EXEC, exec);
	for (int r = 0; r < NR_VGPRS; r++) {
		for (int i = 0; i < GFX9_LANES; i++)
			registers[r][i] = 0x3f800000u + (uint32_t)(r * 1000 + i);
	}
	for (int t = 0; t < TRIES; t++) {
		double ns = seconds();

		for (int i = 0; i < ROUNDS; i++) {
			if (run(w, &in) != GFX9_GO)
				abort();
		}
		ns = (seconds() - ns) / ROUNDS * 1e9;
		best = ns < best ? ns : best;
	}
	free(w);
	return best;
}

int main(void)
{
	const struct gfx9_vector_variant *const *v = gfx9_vector_variants();

	printf("%-16s", "ns");
	for (size_t k = 0; v[k]; k++)
		printf(" %8s %8s", v[k]->name, "partial");
	printf("\n");
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		printf("%-16s", cases[c].name);
		for (size_t k = 0; v[k]; k++) {
			printf(" %8.1f", measure(v[k], &cases[c].inst, GFX9_ALL_LANES));
			printf(" %8.1f", measure(v[k], &cases[c].inst, 0x00ff00ff12345678));
		}
		printf("\n");
	}
	return 0;
}
