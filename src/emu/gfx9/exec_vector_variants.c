// SPDX-License-Identifier: MIT
/*
 * Chooses among the compilations of the vector ALU and of vector memory by the features of this
 * processor.
 */
#include "emu/gfx9/vector.h"

extern const struct gfx9_vector_variant gfx9_base_vector, gfx9_avx2_vector, gfx9_avx512_vector;

const struct gfx9_vector_variant *const *gfx9_vector_variants(void)
{
#ifdef GFX9_X86_VARIANTS
	static const struct gfx9_vector_variant *const all[] = { &gfx9_avx512_vector,
								 &gfx9_avx2_vector,
								 &gfx9_base_vector, NULL };

	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("fma"))
		return all;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return all + 1;
	return all + 2;
#else
	static const struct gfx9_vector_variant *const all[] = { &gfx9_base_vector, NULL };

	return all;
#endif
}

gfx9_run_fn *gfx9_vector_bind(struct gfx9_inst *in)
{
	return gfx9_vector_variants()[0]->bind(in);
}

gfx9_run_fn *gfx9_memory_op(unsigned int op)
{
	return gfx9_vector_variants()[0]->memory[op];
}

static enum gfx9_stop run(struct gfx9_wave *w, const struct gfx9_inst *in)
{
	return gfx9_vector_variants()[0]->run(w, in);
}

#define OP(op, k, sat, s0, s1, s2, d, flags) [GFX9_##op] = run,
#define SPECIAL(op, f) [GFX9_##op] = run,

gfx9_run_fn *const gfx9_vector_ops[GFX9_OPS] = { GFX9_VECTOR_OPS(OP) GFX9_VECTOR_SPECIAL(SPECIAL) };
