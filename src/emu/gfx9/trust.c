// SPDX-License-Identifier: MIT
#include "emu/gfx9/trust.h"

#include "emu/gfx9/exec_mfma.h"

#include <string.h>

#define ONE_ULP "more accurate than hardware, which is within 1 ulp"
#define MANY_ULPS "more accurate than hardware, which has about half of the bits"
#define TURNS "more accurate than hardware, whose error is not documented"
#define ORDER \
	"one product after the other, each sum rounded; the hardware's order is not documented"
#define MATRIX                                                                                     \
	"order and rounding as measured on hardware (arXiv 2511.10909), not documented; a NaN is " \
	"always the positive quiet one"
#define CONVERSION \
	"conversions round to nearest and saturate; the hardware's rounding is not documented"
#define CLOCK "the clock counts executed instructions, not cycles"

/* By the beginning of the name; the first match counts. NULL: exact. */
static const struct {
	const char *prefix, *note;
} approximate[] = {
	{ "v_exp_", ONE_ULP },
	{ "v_log_", ONE_ULP },
	{ "v_rcp_f64", MANY_ULPS },
	{ "v_rsq_f64", MANY_ULPS },
	{ "v_sqrt_f64", MANY_ULPS },
	{ "v_rcp_", ONE_ULP },
	{ "v_rsq_", ONE_ULP },
	{ "v_sqrt_", ONE_ULP },
	{ "v_sin_", TURNS },
	{ "v_cos_", TURNS },
	{ "v_dot2_f32_f16", ORDER },
	{ "v_dot2c_f32_f16", ORDER },
	{ "v_mfma_i32", NULL },
	{ "v_smfmac_i32", NULL },
	{ "v_mfma_", MATRIX },
	{ "v_smfmac_", MATRIX },
	{ "buffer_load_format", CONVERSION },
	{ "buffer_store_format", CONVERSION },
	{ "tbuffer_", CONVERSION },
	{ "s_memtime", CLOCK },
	{ "s_memrealtime", CLOCK },
};

const struct gfx9_left_out gfx9_left_out[] = {
	{ GFX9_S_CBRANCH_G_FORK, "a stack of branches in registers, which no compiler uses" },
	{ GFX9_S_CBRANCH_I_FORK, "a stack of branches in registers, which no compiler uses" },
	{ GFX9_S_CBRANCH_JOIN, "a stack of branches in registers, which no compiler uses" },
	{ GFX9_S_SETVSKIP, "a mode that skips vector instructions, which no compiler uses" },
	{ GFX9_S_ENDPGM_ORDERED_PS_DONE, "belongs to pixel shaders" },
	{ GFX9_V_SCREEN_PARTITION_4SE_B32, "belongs to pixel shaders" },
};
const unsigned int gfx9_nr_left_out = sizeof(gfx9_left_out) / sizeof(gfx9_left_out[0]);

static bool is_executed(enum gfx9_op op)
{
	return gfx9_scalar_ops[op] || gfx9_memory_op(op) || gfx9_mfma_ops[op] ||
	       gfx9_vector_ops[op];
}

static const char *reason(enum gfx9_op op)
{
	for (unsigned int i = 0; i < gfx9_nr_left_out; i++) {
		if (gfx9_left_out[i].op == op)
			return gfx9_left_out[i].reason;
	}
	return "not executed";
}

enum emu_trust gfx9_trust(enum gfx9_op op, const char **note)
{
	const char *name = gfx9_op_name(op);

	*note = NULL;
	if (!is_executed(op)) {
		*note = reason(op);
		return EMU_UNSUPPORTED;
	}
	for (size_t i = 0; i < sizeof(approximate) / sizeof(approximate[0]); i++) {
		if (!strncmp(name, approximate[i].prefix, strlen(approximate[i].prefix))) {
			*note = approximate[i].note;
			break;
		}
	}
	return *note ? EMU_APPROXIMATE : EMU_EXACT;
}
