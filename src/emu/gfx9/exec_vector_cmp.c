// SPDX-License-Identifier: MIT
/* Comparisons of the vector ALU. */
#include "emu/gfx9/vector_plain.h"

#define CMP(name, type, load, expr)                          \
	KERNEL(cmp_##name)                                   \
	{                                                    \
		LANES                                        \
		{                                            \
			type x = load(a, i), y = load(b, i); \
			(void)x;                             \
			(void)y;                             \
			m[i] = (expr) ? ~0u : 0;             \
		}                                            \
	}

#define CMP_INT(t, type, load)          \
	CMP(f_##t, type, load, 0)       \
	CMP(lt_##t, type, load, x < y)  \
	CMP(eq_##t, type, load, x == y) \
	CMP(le_##t, type, load, x <= y) \
	CMP(gt_##t, type, load, x > y)  \
	CMP(ne_##t, type, load, x != y) \
	CMP(ge_##t, type, load, x >= y) \
	CMP(t_##t, type, load, 1)

/* Negated comparisons are true for NaNs. */
#define CMP_FLOAT(t, type, load)                                 \
	CMP(f_##t, type, load, 0)                                \
	CMP(lt_##t, type, load, x < y)                           \
	CMP(eq_##t, type, load, x == y)                          \
	CMP(le_##t, type, load, x <= y)                          \
	CMP(gt_##t, type, load, x > y)                           \
	CMP(lg_##t, type, load, __builtin_islessgreater(x, y))   \
	CMP(ge_##t, type, load, x >= y)                          \
	CMP(o_##t, type, load, !__builtin_isunordered(x, y))     \
	CMP(u_##t, type, load, __builtin_isunordered(x, y))      \
	CMP(nge_##t, type, load, !(x >= y))                      \
	CMP(nlg_##t, type, load, !__builtin_islessgreater(x, y)) \
	CMP(ngt_##t, type, load, !(x > y))                       \
	CMP(nle_##t, type, load, !(x <= y))                      \
	CMP(neq_##t, type, load, x != y)                         \
	CMP(nlt_##t, type, load, !(x < y))                       \
	CMP(tru_##t, type, load, 1)

#define LOAD_U32(p, i) ((p)[i])
#define LOAD_I32(p, i) ((int32_t)(p)[i])
#define LOAD_U16(p, i) ((uint16_t)(p)[i])
#define LOAD_I16(p, i) ((int16_t)(uint16_t)(p)[i])
#define LOAD_U64(p, i) load64(p, i)
#define LOAD_I64(p, i) ((int64_t)load64(p, i))
#define LOAD_F32(p, i) f32((p)[i])
#define LOAD_F64(p, i) f64(load64(p, i))
#define LOAD_F16(p, i) f32(widen16((p)[i] & 0xffff))

CMP_INT(u32, uint32_t, LOAD_U32)
CMP_INT(i32, int32_t, LOAD_I32)
CMP_INT(u16, uint16_t, LOAD_U16)
CMP_INT(i16, int16_t, LOAD_I16)
CMP_INT(u64, uint64_t, LOAD_U64)
CMP_INT(i64, int64_t, LOAD_I64)
CMP_FLOAT(f32, float, LOAD_F32)
CMP_FLOAT(f64, double, LOAD_F64)
CMP_FLOAT(f16, float, LOAD_F16)

/*
 * Classes: signalling NaN, quiet NaN, then -inf, -normal, -denormal, -0, and the positive ones
 * from 0 up.
 */
#define CLASS(t, type, load, bits, inf, quiet)                                                  \
	KERNEL(cmp_class_##t)                                                                   \
	{                                                                                       \
		LANES                                                                           \
		{                                                                               \
			type u = load(a, i), v = u & (((type)1 << (bits - 1)) - 1);             \
			bool neg = u >> (bits - 1) & 1;                                         \
			uint32_t k = v == 0 ? 6 : v < (inf & (~inf + 1)) ? 7 : v < inf ? 8 : 9; \
			k = neg ? 11 - k : k;                                                   \
			k = v > inf ? (v & quiet ? 1 : 0) : k;                                  \
			m[i] = b[i] >> k & 1 ? ~0u : 0;                                         \
		}                                                                               \
	}

CLASS(f16, uint32_t, LOAD_U16, 16, F16_INF, F16_QUIET)
CLASS(f32, uint32_t, LOAD_U32, 32, F32_INF, F32_QUIET)
CLASS(f64, uint64_t, LOAD_U64, 64, F64_INF, F64_QUIET)

GFX9_VECTOR_CMP(PLAIN)
