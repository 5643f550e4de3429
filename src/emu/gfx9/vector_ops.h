/* SPDX-License-Identifier: MIT */
/*
 * The table of vector instructions: GFX9_VECTOR_OPS(X) is X(opcode, kernel, saturating kernel,
 * types of the three sources, type of the destination, flags) for each. Types are those of vector.h
 * without GFX9_T_, flags those without GFX9_F_. "none" is no kernel.
 */
#ifndef GP__EMU_GFX9_VECTOR_OPS_H
#define GP__EMU_GFX9_VECTOR_OPS_H

#define GFX9_VECTOR_INT(X)                                                                     \
	X(V_MOV_B32, mov_b32, none, M32, NONE, NONE, B32, 0)                                   \
	X(V_MOV_B64, mov_b64, none, B64, NONE, NONE, B64, 0)                                   \
	X(V_NOT_B32, not_b32, none, B32, NONE, NONE, B32, 0)                                   \
	X(V_BFREV_B32, bfrev_b32, none, B32, NONE, NONE, B32, 0)                               \
	X(V_FFBH_U32, ffbh_u32, none, B32, NONE, NONE, B32, 0)                                 \
	X(V_FFBL_B32, ffbl_b32, none, B32, NONE, NONE, B32, 0)                                 \
	X(V_FFBH_I32, ffbh_i32, none, B32, NONE, NONE, B32, 0)                                 \
	X(V_CNDMASK_B32, cndmask_b32, none, M32, M32, MASK, B32, 0)                            \
	X(V_ADD_U32, add_u32, add_u32_sat, B32, B32, NONE, B32, 0)                             \
	X(V_SUB_U32, sub_u32, sub_u32_sat, B32, B32, NONE, B32, 0)                             \
	X(V_SUBREV_U32, subrev_u32, subrev_u32_sat, B32, B32, NONE, B32, 0)                    \
	X(V_ADD_I32, add_u32, add_i32_sat, B32, B32, NONE, B32, 0)                             \
	X(V_SUB_I32, sub_u32, sub_i32_sat, B32, B32, NONE, B32, 0)                             \
	X(V_ADD_CO_U32, add_co_u32, add_co_u32_sat, B32, B32, NONE, B32, MASK_OUT)             \
	X(V_SUB_CO_U32, sub_co_u32, sub_co_u32_sat, B32, B32, NONE, B32, MASK_OUT)             \
	X(V_SUBREV_CO_U32, subrev_co_u32, subrev_co_u32_sat, B32, B32, NONE, B32, MASK_OUT)    \
	X(V_ADDC_CO_U32, addc_co_u32, addc_co_u32_sat, B32, B32, MASK, B32, MASK_OUT)          \
	X(V_SUBB_CO_U32, subb_co_u32, subb_co_u32_sat, B32, B32, MASK, B32, MASK_OUT)          \
	X(V_SUBBREV_CO_U32, subbrev_co_u32, subbrev_co_u32_sat, B32, B32, MASK, B32, MASK_OUT) \
	X(V_AND_B32, and_b32, none, B32, B32, NONE, B32, 0)                                    \
	X(V_OR_B32, or_b32, none, B32, B32, NONE, B32, 0)                                      \
	X(V_XOR_B32, xor_b32, none, B32, B32, NONE, B32, 0)                                    \
	X(V_XNOR_B32, xnor_b32, none, B32, B32, NONE, B32, 0)                                  \
	X(V_LSHLREV_B32, lshlrev_b32, none, B32, B32, NONE, B32, 0)                            \
	X(V_LSHRREV_B32, lshrrev_b32, none, B32, B32, NONE, B32, 0)                            \
	X(V_ASHRREV_I32, ashrrev_i32, none, B32, B32, NONE, B32, 0)                            \
	X(V_MIN_U32, min_u32, none, B32, B32, NONE, B32, 0)                                    \
	X(V_MAX_U32, max_u32, none, B32, B32, NONE, B32, 0)                                    \
	X(V_MIN_I32, min_i32, none, B32, B32, NONE, B32, 0)                                    \
	X(V_MAX_I32, max_i32, none, B32, B32, NONE, B32, 0)                                    \
	X(V_MUL_I32_I24, mul_i32_i24, none, B32, B32, NONE, B32, 0)                            \
	X(V_MUL_HI_I32_I24, mul_hi_i32_i24, none, B32, B32, NONE, B32, 0)                      \
	X(V_MUL_U32_U24, mul_u32_u24, none, B32, B32, NONE, B32, 0)                            \
	X(V_MUL_HI_U32_U24, mul_hi_u32_u24, none, B32, B32, NONE, B32, 0)                      \
	X(V_MUL_LO_U32, mul_lo_u32, none, B32, B32, NONE, B32, 0)                              \
	X(V_MUL_HI_U32, mul_hi_u32, none, B32, B32, NONE, B32, 0)                              \
	X(V_MUL_HI_I32, mul_hi_i32, none, B32, B32, NONE, B32, 0)                              \
	X(V_MAD_I32_I24, mad_i32_i24, mad_i32_i24_sat, B32, B32, B32, B32, 0)                  \
	X(V_MAD_U32_U24, mad_u32_u24, mad_u32_u24_sat, B32, B32, B32, B32, 0)                  \
	X(V_MAD_U64_U32, mad_u64_u32, mad_u64_u32_sat, B32, B32, B64, B64, MASK_OUT)           \
	X(V_MAD_I64_I32, mad_i64_i32, mad_i64_i32_sat, B32, B32, B64, B64, MASK_OUT)           \
	X(V_BFE_U32, bfe_u32, none, B32, B32, B32, B32, 0)                                     \
	X(V_BFE_I32, bfe_i32, none, B32, B32, B32, B32, 0)                                     \
	X(V_BFI_B32, bfi_b32, none, B32, B32, B32, B32, 0)                                     \
	X(V_BFM_B32, bfm_b32, none, B32, B32, NONE, B32, 0)                                    \
	X(V_LERP_U8, lerp_u8, none, B32, B32, B32, B32, 0)                                     \
	X(V_ALIGNBIT_B32, alignbit_b32, none, B32, B32, B32, B32, 0)                           \
	X(V_ALIGNBYTE_B32, alignbyte_b32, none, B32, B32, B32, B32, 0)                         \
	X(V_PERM_B32, perm_b32, none, B32, B32, B32, B32, 0)                                   \
	X(V_MIN3_I32, min3_i32, none, B32, B32, B32, B32, 0)                                   \
	X(V_MIN3_U32, min3_u32, none, B32, B32, B32, B32, 0)                                   \
	X(V_MAX3_I32, max3_i32, none, B32, B32, B32, B32, 0)                                   \
	X(V_MAX3_U32, max3_u32, none, B32, B32, B32, B32, 0)                                   \
	X(V_MED3_I32, med3_i32, none, B32, B32, B32, B32, 0)                                   \
	X(V_MED3_U32, med3_u32, none, B32, B32, B32, B32, 0)                                   \
	X(V_SAD_U8, sad_u8, sad_u8_sat, B32, B32, B32, B32, 0)                                 \
	X(V_SAD_HI_U8, sad_hi_u8, sad_hi_u8_sat, B32, B32, B32, B32, 0)                        \
	X(V_SAD_U16, sad_u16, sad_u16_sat, B32, B32, B32, B32, 0)                              \
	X(V_SAD_U32, sad_u32, sad_u32_sat, B32, B32, B32, B32, 0)                              \
	X(V_MSAD_U8, msad_u8, msad_u8_sat, B32, B32, B32, B32, 0)                              \
	X(V_QSAD_PK_U16_U8, qsad_pk_u16_u8, qsad_pk_u16_u8_sat, B64, B32, B64, B64, 0)         \
	X(V_MQSAD_PK_U16_U8, mqsad_pk_u16_u8, mqsad_pk_u16_u8_sat, B64, B32, B64, B64, 0)      \
	X(V_XAD_U32, xad_u32, none, B32, B32, B32, B32, 0)                                     \
	X(V_LSHL_ADD_U32, lshl_add_u32, none, B32, B32, B32, B32, 0)                           \
	X(V_ADD_LSHL_U32, add_lshl_u32, none, B32, B32, B32, B32, 0)                           \
	X(V_ADD3_U32, add3_u32, none, B32, B32, B32, B32, 0)                                   \
	X(V_LSHL_OR_B32, lshl_or_b32, none, B32, B32, B32, B32, 0)                             \
	X(V_AND_OR_B32, and_or_b32, none, B32, B32, B32, B32, 0)                               \
	X(V_OR3_B32, or3_b32, none, B32, B32, B32, B32, 0)                                     \
	X(V_LSHL_ADD_U64, lshl_add_u64, none, B64, B32, B64, B64, 0)                           \
	X(V_LSHLREV_B64, lshlrev_b64, none, B32, B64, NONE, B64, 0)                            \
	X(V_LSHRREV_B64, lshrrev_b64, none, B32, B64, NONE, B64, 0)                            \
	X(V_ASHRREV_I64, ashrrev_i64, none, B32, B64, NONE, B64, 0)                            \
	X(V_BCNT_U32_B32, bcnt_u32_b32, none, B32, B32, NONE, B32, 0)                          \
	X(V_MBCNT_LO_U32_B32, mbcnt_lo_u32_b32, none, B32, B32, NONE, B32, 0)                  \
	X(V_MBCNT_HI_U32_B32, mbcnt_hi_u32_b32, none, B32, B32, NONE, B32, 0)                  \
	X(V_CVT_PK_U16_U32, cvt_pk_u16_u32, none, B32, B32, NONE, B32, 0)                      \
	X(V_CVT_PK_I16_I32, cvt_pk_i16_i32, none, B32, B32, NONE, B32, 0)                      \
	X(V_DOT4_I32_I8, dot4_i32_i8, dot4_i32_i8_sat, B32, B32, B32, B32, 0)                  \
	X(V_DOT4_U32_U8, dot4_u32_u8, dot4_u32_u8_sat, B32, B32, B32, B32, 0)                  \
	X(V_DOT8_I32_I4, dot8_i32_i4, dot8_i32_i4_sat, B32, B32, B32, B32, 0)                  \
	X(V_DOT8_U32_U4, dot8_u32_u4, dot8_u32_u4_sat, B32, B32, B32, B32, 0)                  \
	X(V_DOT2_I32_I16, dot2_i32_i16, dot2_i32_i16_sat, P16, P16, B32, B32, 0)               \
	X(V_DOT2_U32_U16, dot2_u32_u16, dot2_u32_u16_sat, P16, P16, B32, B32, 0)               \
	X(V_DOT4C_I32_I8, dot4_i32_i8, dot4_i32_i8_sat, B32, B32, B32, B32, ACC)               \
	X(V_DOT8C_I32_I4, dot8_i32_i4, dot8_i32_i4_sat, B32, B32, B32, B32, ACC)               \
	X(V_DOT2C_I32_I16, dot2_i32_i16, dot2_i32_i16_sat, B32, B32, B32, B32, ACC)

/* 16-bit integers. HI0: the high half of the destination becomes 0, otherwise it is kept. */
#define GFX9_VECTOR_INT16(X)                                                  \
	X(V_ADD_U16, add_u16, add_u16_sat, B16, B16, NONE, B16, HI0)          \
	X(V_SUB_U16, sub_u16, sub_u16_sat, B16, B16, NONE, B16, HI0)          \
	X(V_SUBREV_U16, subrev_u16, subrev_u16_sat, B16, B16, NONE, B16, HI0) \
	X(V_MUL_LO_U16, mul_lo_u16, none, B16, B16, NONE, B16, HI0)           \
	X(V_LSHLREV_B16, lshlrev_b16, none, B16, B16, NONE, B16, HI0)         \
	X(V_LSHRREV_B16, lshrrev_b16, none, B16, B16, NONE, B16, HI0)         \
	X(V_ASHRREV_I16, ashrrev_i16, none, B16, B16, NONE, B16, HI0)         \
	X(V_MAX_U16, max_u16, none, B16, B16, NONE, B16, HI0)                 \
	X(V_MAX_I16, max_i16, none, B16, B16, NONE, B16, HI0)                 \
	X(V_MIN_U16, min_u16, none, B16, B16, NONE, B16, HI0)                 \
	X(V_MIN_I16, min_i16, none, B16, B16, NONE, B16, HI0)                 \
	X(V_ADD_I16, add_u16, add_i16_sat, B16, B16, NONE, B16, 0)            \
	X(V_SUB_I16, sub_u16, sub_i16_sat, B16, B16, NONE, B16, 0)            \
	X(V_MAD_U16, mad_u16, mad_u16_sat, B16, B16, B16, B16, 0)             \
	X(V_MAD_I16, mad_u16, mad_i16_sat, B16, B16, B16, B16, 0)             \
	X(V_MAD_LEGACY_U16, mad_u16, mad_u16_sat, B16, B16, B16, B16, HI0)    \
	X(V_MAD_LEGACY_I16, mad_u16, mad_i16_sat, B16, B16, B16, B16, HI0)    \
	X(V_MAD_U32_U16, mad_u32_u16, mad_u32_u16_sat, B16, B16, B32, B32, 0) \
	X(V_MAD_I32_I16, mad_i32_i16, mad_i32_i16_sat, B16, B16, B32, B32, 0) \
	X(V_MIN3_I16, min3_i16, none, B16, B16, B16, B16, 0)                  \
	X(V_MIN3_U16, min3_u16, none, B16, B16, B16, B16, 0)                  \
	X(V_MAX3_I16, max3_i16, none, B16, B16, B16, B16, 0)                  \
	X(V_MAX3_U16, max3_u16, none, B16, B16, B16, B16, 0)                  \
	X(V_MED3_I16, med3_i16, none, B16, B16, B16, B16, 0)                  \
	X(V_MED3_U16, med3_u16, none, B16, B16, B16, B16, 0)                  \
	X(V_SAT_PK_U8_I16, sat_pk_u8_i16, none, B32, NONE, NONE, B16, HI0)    \
	X(V_PK_MAD_I16, pk_mad_u16, pk_mad_i16_sat, P16, P16, P16, P16, 0)    \
	X(V_PK_MAD_U16, pk_mad_u16, pk_mad_u16_sat, P16, P16, P16, P16, 0)    \
	X(V_PK_MUL_LO_U16, pk_mul_lo_u16, none, P16, P16, NONE, P16, 0)       \
	X(V_PK_ADD_I16, pk_add_u16, pk_add_i16_sat, P16, P16, NONE, P16, 0)   \
	X(V_PK_SUB_I16, pk_sub_u16, pk_sub_i16_sat, P16, P16, NONE, P16, 0)   \
	X(V_PK_ADD_U16, pk_add_u16, pk_add_u16_sat, P16, P16, NONE, P16, 0)   \
	X(V_PK_SUB_U16, pk_sub_u16, pk_sub_u16_sat, P16, P16, NONE, P16, 0)   \
	X(V_PK_LSHLREV_B16, pk_lshlrev_b16, none, P16, P16, NONE, P16, 0)     \
	X(V_PK_LSHRREV_B16, pk_lshrrev_b16, none, P16, P16, NONE, P16, 0)     \
	X(V_PK_ASHRREV_I16, pk_ashrrev_i16, none, P16, P16, NONE, P16, 0)     \
	X(V_PK_MAX_I16, pk_max_i16, none, P16, P16, NONE, P16, 0)             \
	X(V_PK_MIN_I16, pk_min_i16, none, P16, P16, NONE, P16, 0)             \
	X(V_PK_MAX_U16, pk_max_u16, none, P16, P16, NONE, P16, 0)             \
	X(V_PK_MIN_U16, pk_min_u16, none, P16, P16, NONE, P16, 0)

/* NEAREST: not subject to the rounding mode. */
#define GFX9_VECTOR_F32(X)                                                             \
	X(V_ADD_F32, add_f32, none, F32, F32, NONE, F32, 0)                            \
	X(V_SUB_F32, sub_f32, none, F32, F32, NONE, F32, 0)                            \
	X(V_SUBREV_F32, subrev_f32, none, F32, F32, NONE, F32, 0)                      \
	X(V_MUL_F32, mul_f32, none, F32, F32, NONE, F32, 0)                            \
	X(V_MUL_LEGACY_F32, mul_legacy_f32, none, F32, F32, NONE, F32, 0)              \
	X(V_MIN_F32, min_f32, none, F32, F32, NONE, F32, 0)                            \
	X(V_MAX_F32, max_f32, none, F32, F32, NONE, F32, 0)                            \
	X(V_MIN3_F32, min3_f32, none, F32, F32, F32, F32, 0)                           \
	X(V_MAX3_F32, max3_f32, none, F32, F32, F32, F32, 0)                           \
	X(V_MED3_F32, med3_f32, none, F32, F32, F32, F32, 0)                           \
	X(V_MAC_F32, mad_f32, none, F32, F32, F32, F32, ACC)                           \
	X(V_MADMK_F32, mad_f32, none, F32, F32, F32, F32, MK)                          \
	X(V_MADAK_F32, mad_f32, none, F32, F32, F32, F32, AK)                          \
	X(V_MAD_F32, mad_f32, none, F32, F32, F32, F32, 0)                             \
	X(V_MAD_LEGACY_F32, mad_legacy_f32, none, F32, F32, F32, F32, 0)               \
	X(V_FMA_F32, fma_f32, none, F32, F32, F32, F32, 0)                             \
	X(V_FMAC_F32, fma_f32, none, F32, F32, F32, F32, ACC)                          \
	X(V_FMAMK_F32, fma_f32, none, F32, F32, F32, F32, MK)                          \
	X(V_FMAAK_F32, fma_f32, none, F32, F32, F32, F32, AK)                          \
	X(V_FRACT_F32, fract_f32, none, F32, NONE, NONE, F32, 0)                       \
	X(V_TRUNC_F32, trunc_f32, none, F32, NONE, NONE, F32, NEAREST)                 \
	X(V_CEIL_F32, ceil_f32, none, F32, NONE, NONE, F32, NEAREST)                   \
	X(V_RNDNE_F32, rndne_f32, none, F32, NONE, NONE, F32, NEAREST)                 \
	X(V_FLOOR_F32, floor_f32, none, F32, NONE, NONE, F32, NEAREST)                 \
	X(V_EXP_F32, exp_f32, none, F32, NONE, NONE, F32, NEAREST)                     \
	X(V_LOG_F32, log_f32, none, F32, NONE, NONE, F32, NEAREST)                     \
	X(V_EXP_LEGACY_F32, exp_f32, none, F32, NONE, NONE, F32, NEAREST)              \
	X(V_LOG_LEGACY_F32, log_f32, none, F32, NONE, NONE, F32, NEAREST)              \
	X(V_RCP_F32, rcp_f32, none, F32, NONE, NONE, F32, NEAREST)                     \
	X(V_RCP_IFLAG_F32, rcp_f32, none, F32, NONE, NONE, F32, NEAREST)               \
	X(V_RSQ_F32, rsq_f32, none, F32, NONE, NONE, F32, NEAREST)                     \
	X(V_SQRT_F32, sqrt_f32, none, F32, NONE, NONE, F32, NEAREST)                   \
	X(V_SIN_F32, sin_f32, none, F32, NONE, NONE, F32, NEAREST)                     \
	X(V_COS_F32, cos_f32, none, F32, NONE, NONE, F32, NEAREST)                     \
	X(V_FREXP_EXP_I32_F32, frexp_exp_i32_f32, none, F32, NONE, NONE, B32, NEAREST) \
	X(V_FREXP_MANT_F32, frexp_mant_f32, none, F32, NONE, NONE, F32, NEAREST)       \
	X(V_LDEXP_F32, ldexp_f32, none, F32, B32, NONE, F32, 0)                        \
	X(V_DIV_SCALE_F32, div_scale_f32, none, F32, F32, F32, F32, MASK_OUT)          \
	X(V_DIV_FMAS_F32, div_fmas_f32, none, F32, F32, F32, F32, VCC_IN)              \
	X(V_DIV_FIXUP_F32, div_fixup_f32, none, F32, F32, F32, F32, 0)                 \
	X(V_CUBEID_F32, cubeid_f32, none, F32, F32, F32, F32, 0)                       \
	X(V_CUBESC_F32, cubesc_f32, none, F32, F32, F32, F32, 0)                       \
	X(V_CUBETC_F32, cubetc_f32, none, F32, F32, F32, F32, 0)                       \
	X(V_CUBEMA_F32, cubema_f32, none, F32, F32, F32, F32, 0)                       \
	X(V_PK_FMA_F32, pk_fma_f32, none, P32, P32, P32, P32, 0)                       \
	X(V_PK_MUL_F32, pk_mul_f32, none, P32, P32, NONE, P32, 0)                      \
	X(V_PK_ADD_F32, pk_add_f32, none, P32, P32, NONE, P32, 0)                      \
	X(V_PK_MOV_B32, pk_mov_b32, none, PMOV, PMOV, NONE, B64, 0)

#define GFX9_VECTOR_CVT(X)                                                              \
	X(V_CVT_F32_I32, cvt_f32_i32, none, B32, NONE, NONE, F32, 0)                    \
	X(V_CVT_F32_U32, cvt_f32_u32, none, B32, NONE, NONE, F32, 0)                    \
	X(V_CVT_I32_F32, cvt_i32_f32, none, F32, NONE, NONE, B32, NEAREST)              \
	X(V_CVT_U32_F32, cvt_u32_f32, none, F32, NONE, NONE, B32, NEAREST)              \
	X(V_CVT_RPI_I32_F32, cvt_rpi_i32_f32, none, F32, NONE, NONE, B32, NEAREST)      \
	X(V_CVT_FLR_I32_F32, cvt_flr_i32_f32, none, F32, NONE, NONE, B32, NEAREST)      \
	X(V_CVT_OFF_F32_I4, cvt_off_f32_i4, none, B32, NONE, NONE, F32, 0)              \
	X(V_CVT_F32_UBYTE0, cvt_f32_ubyte0, none, B32, NONE, NONE, F32, 0)              \
	X(V_CVT_F32_UBYTE1, cvt_f32_ubyte1, none, B32, NONE, NONE, F32, 0)              \
	X(V_CVT_F32_UBYTE2, cvt_f32_ubyte2, none, B32, NONE, NONE, F32, 0)              \
	X(V_CVT_F32_UBYTE3, cvt_f32_ubyte3, none, B32, NONE, NONE, F32, 0)              \
	X(V_CVT_F64_I32, cvt_f64_i32, none, B32, NONE, NONE, F64, 0)                    \
	X(V_CVT_F64_U32, cvt_f64_u32, none, B32, NONE, NONE, F64, 0)                    \
	X(V_CVT_I32_F64, cvt_i32_f64, none, F64, NONE, NONE, B32, NEAREST)              \
	X(V_CVT_U32_F64, cvt_u32_f64, none, F64, NONE, NONE, B32, NEAREST)              \
	X(V_CVT_F32_F64, cvt_f32_f64, none, F64, NONE, NONE, F32, 0)                    \
	X(V_CVT_F64_F32, cvt_f64_f32, none, F32, NONE, NONE, F64, 0)                    \
	X(V_CVT_F32_F16, cvt_f32_f16, none, F16, NONE, NONE, F32, NEAREST)              \
	X(V_CVT_F16_F32, cvt_f16_f32, none, F32, NONE, NONE, F16, HI0)                  \
	X(V_CVT_F16_U16, cvt_f16_u16, none, B16, NONE, NONE, F16, HI0)                  \
	X(V_CVT_F16_I16, cvt_f16_i16, none, B16, NONE, NONE, F16, HI0)                  \
	X(V_CVT_U16_F16, cvt_u16_f16, none, F16, NONE, NONE, B16, HI0)                  \
	X(V_CVT_I16_F16, cvt_i16_f16, none, F16, NONE, NONE, B16, HI0)                  \
	X(V_CVT_NORM_I16_F16, cvt_norm_i16_f16, none, F16, NONE, NONE, B16, HI0)        \
	X(V_CVT_NORM_U16_F16, cvt_norm_u16_f16, none, F16, NONE, NONE, B16, HI0)        \
	X(V_CVT_PKRTZ_F16_F32, cvt_pkrtz_f16_f32, none, F32, F32, NONE, PF16, NEAREST)  \
	X(V_CVT_PKNORM_I16_F32, cvt_pknorm_i16_f32, none, F32, F32, NONE, B32, NEAREST) \
	X(V_CVT_PKNORM_U16_F32, cvt_pknorm_u16_f32, none, F32, F32, NONE, B32, NEAREST) \
	X(V_CVT_PKNORM_I16_F16, cvt_pknorm_i16_f16, none, F16, F16, NONE, B32, NEAREST) \
	X(V_CVT_PKNORM_U16_F16, cvt_pknorm_u16_f16, none, F16, F16, NONE, B32, NEAREST) \
	X(V_CVT_PK_U8_F32, cvt_pk_u8_f32, none, F32, B32, B32, B32, NEAREST)            \
	X(V_CVT_PKACCUM_U8_F32, cvt_pk_u8_f32, none, F32, B32, B32, B32, NEAREST | ACC)

#define GFX9_VECTOR_F64(X)                                                             \
	X(V_ADD_F64, add_f64, none, F64, F64, NONE, F64, 0)                            \
	X(V_MUL_F64, mul_f64, none, F64, F64, NONE, F64, 0)                            \
	X(V_MIN_F64, min_f64, none, F64, F64, NONE, F64, 0)                            \
	X(V_MAX_F64, max_f64, none, F64, F64, NONE, F64, 0)                            \
	X(V_FMA_F64, fma_f64, none, F64, F64, F64, F64, 0)                             \
	X(V_FMAC_F64, fma_f64, none, F64, F64, F64, F64, ACC)                          \
	X(V_FRACT_F64, fract_f64, none, F64, NONE, NONE, F64, 0)                       \
	X(V_TRUNC_F64, trunc_f64, none, F64, NONE, NONE, F64, NEAREST)                 \
	X(V_CEIL_F64, ceil_f64, none, F64, NONE, NONE, F64, NEAREST)                   \
	X(V_RNDNE_F64, rndne_f64, none, F64, NONE, NONE, F64, NEAREST)                 \
	X(V_FLOOR_F64, floor_f64, none, F64, NONE, NONE, F64, NEAREST)                 \
	X(V_RCP_F64, rcp_f64, none, F64, NONE, NONE, F64, NEAREST)                     \
	X(V_RSQ_F64, rsq_f64, none, F64, NONE, NONE, F64, NEAREST)                     \
	X(V_SQRT_F64, sqrt_f64, none, F64, NONE, NONE, F64, NEAREST)                   \
	X(V_FREXP_EXP_I32_F64, frexp_exp_i32_f64, none, F64, NONE, NONE, B32, NEAREST) \
	X(V_FREXP_MANT_F64, frexp_mant_f64, none, F64, NONE, NONE, F64, NEAREST)       \
	X(V_LDEXP_F64, ldexp_f64, none, F64, B32, NONE, F64, 0)                        \
	X(V_DIV_SCALE_F64, div_scale_f64, none, F64, F64, F64, F64, MASK_OUT)          \
	X(V_DIV_FMAS_F64, div_fmas_f64, none, F64, F64, F64, F64, VCC_IN)              \
	X(V_DIV_FIXUP_F64, div_fixup_f64, none, F64, F64, F64, F64, 0)                 \
	X(V_TRIG_PREOP_F64, trig_preop_f64, none, F64, B32, NONE, F64, NEAREST)

/* Half precision: the kernels round by themselves. */
#define GFX9_VECTOR_F16(X)                                                          \
	X(V_ADD_F16, add_f16, none, F16, F16, NONE, F16, HI0)                       \
	X(V_SUB_F16, sub_f16, none, F16, F16, NONE, F16, HI0)                       \
	X(V_SUBREV_F16, subrev_f16, none, F16, F16, NONE, F16, HI0)                 \
	X(V_MUL_F16, mul_f16, none, F16, F16, NONE, F16, HI0)                       \
	X(V_MIN_F16, min_f16, none, F16, F16, NONE, F16, HI0)                       \
	X(V_MAX_F16, max_f16, none, F16, F16, NONE, F16, HI0)                       \
	X(V_LDEXP_F16, ldexp_f16, none, F16, B16, NONE, F16, HI0)                   \
	X(V_MAC_F16, mad_f16, none, F16, F16, F16, F16, ACC)                        \
	X(V_MADMK_F16, mad_f16, none, F16, F16, F16, F16, MK)                       \
	X(V_MADAK_F16, mad_f16, none, F16, F16, F16, F16, AK)                       \
	X(V_MAD_F16, mad_f16, none, F16, F16, F16, F16, 0)                          \
	X(V_MAD_LEGACY_F16, mad_f16, none, F16, F16, F16, F16, HI0)                 \
	X(V_FMA_F16, fma_f16, none, F16, F16, F16, F16, 0)                          \
	X(V_FMA_LEGACY_F16, fma_f16, none, F16, F16, F16, F16, HI0)                 \
	X(V_DIV_FIXUP_F16, div_fixup_f16, none, F16, F16, F16, F16, 0)              \
	X(V_DIV_FIXUP_LEGACY_F16, div_fixup_f16, none, F16, F16, F16, F16, HI0)     \
	X(V_MIN3_F16, min3_f16, none, F16, F16, F16, F16, 0)                        \
	X(V_MAX3_F16, max3_f16, none, F16, F16, F16, F16, 0)                        \
	X(V_MED3_F16, med3_f16, none, F16, F16, F16, F16, 0)                        \
	X(V_RCP_F16, rcp_f16, none, F16, NONE, NONE, F16, HI0)                      \
	X(V_RSQ_F16, rsq_f16, none, F16, NONE, NONE, F16, HI0)                      \
	X(V_SQRT_F16, sqrt_f16, none, F16, NONE, NONE, F16, HI0)                    \
	X(V_LOG_F16, log_f16, none, F16, NONE, NONE, F16, HI0)                      \
	X(V_EXP_F16, exp_f16, none, F16, NONE, NONE, F16, HI0)                      \
	X(V_SIN_F16, sin_f16, none, F16, NONE, NONE, F16, HI0)                      \
	X(V_COS_F16, cos_f16, none, F16, NONE, NONE, F16, HI0)                      \
	X(V_FRACT_F16, fract_f16, none, F16, NONE, NONE, F16, HI0)                  \
	X(V_TRUNC_F16, trunc_f16, none, F16, NONE, NONE, F16, HI0)                  \
	X(V_CEIL_F16, ceil_f16, none, F16, NONE, NONE, F16, HI0)                    \
	X(V_RNDNE_F16, rndne_f16, none, F16, NONE, NONE, F16, HI0)                  \
	X(V_FLOOR_F16, floor_f16, none, F16, NONE, NONE, F16, HI0)                  \
	X(V_FREXP_EXP_I16_F16, frexp_exp_i16_f16, none, F16, NONE, NONE, B16, HI0)  \
	X(V_FREXP_MANT_F16, frexp_mant_f16, none, F16, NONE, NONE, F16, HI0)        \
	X(V_PACK_B32_F16, pack_b32_f16, none, M16, M16, NONE, B32, 0)               \
	X(V_PK_ADD_F16, pk_add_f16, none, PF16, PF16, NONE, PF16, 0)                \
	X(V_PK_MUL_F16, pk_mul_f16, none, PF16, PF16, NONE, PF16, 0)                \
	X(V_PK_FMA_F16, pk_fma_f16, none, PF16, PF16, PF16, PF16, 0)                \
	X(V_PK_FMAC_F16, pk_fma_f16, none, PF16, PF16, PF16, PF16, ACC)             \
	X(V_PK_MIN_F16, pk_min_f16, none, PF16, PF16, NONE, PF16, 0)                \
	X(V_PK_MAX_F16, pk_max_f16, none, PF16, PF16, NONE, PF16, 0)                \
	X(V_FMA_MIX_F32, fma_mix_f32, none, MIX, MIX, MIX, F32, 0)                  \
	X(V_FMA_MIXLO_F16, fma_mixlo_f16, none, MIX, MIX, MIX, F16, NEAREST)        \
	X(V_FMA_MIXHI_F16, fma_mixlo_f16, none, MIX, MIX, MIX, F16, NEAREST | HIGH) \
	X(V_DOT2_F32_F16, dot2_f32_f16, none, PF16, PF16, F32, F32, 0)              \
	X(V_DOT2C_F32_F16, dot2_f32_f16, none, PF16, PF16, F32, F32, ACC)

/* Eight-bit floating point of gfx942. */
#define GFX9_VECTOR_F8(X)                                                        \
	X(V_CVT_F32_FP8, cvt_f32_fp8, none, B32, NONE, NONE, F32, NEAREST)       \
	X(V_CVT_F32_BF8, cvt_f32_bf8, none, B32, NONE, NONE, F32, NEAREST)       \
	X(V_CVT_PK_F32_FP8, cvt_pk_f32_fp8, none, B32, NONE, NONE, B64, NEAREST) \
	X(V_CVT_PK_F32_BF8, cvt_pk_f32_bf8, none, B32, NONE, NONE, B64, NEAREST) \
	X(V_CVT_PK_FP8_F32, cvt_pk_fp8_f32, none, M32, M32, NONE, B16, NEAREST)  \
	X(V_CVT_PK_BF8_F32, cvt_pk_bf8_f32, none, M32, M32, NONE, B16, NEAREST)  \
	X(V_CVT_SR_FP8_F32, cvt_sr_fp8_f32, none, M32, B32, NONE, B8, NEAREST)   \
	X(V_CVT_SR_BF8_F32, cvt_sr_bf8_f32, none, M32, B32, NONE, B8, NEAREST)

#define GFX9_VECTOR_CMPI1(X, TYPE, type, S, cond, COND)                                 \
	X(V_CMP_##COND##_##TYPE, cmp_##cond##_##type, none, S, S, NONE, NONE, MASK_OUT) \
	X(V_CMPX_##COND##_##TYPE, cmp_##cond##_##type, none, S, S, NONE, NONE, MASK_OUT | EXEC_OUT)

#define GFX9_VECTOR_CMPI(X, TYPE, type, S)          \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, f, F)   \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, lt, LT) \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, eq, EQ) \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, le, LE) \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, gt, GT) \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, ne, NE) \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, ge, GE) \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, t, T)

#define GFX9_VECTOR_CMPF(X, TYPE, type, S)            \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, f, F)     \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, lt, LT)   \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, eq, EQ)   \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, le, LE)   \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, gt, GT)   \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, lg, LG)   \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, ge, GE)   \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, o, O)     \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, u, U)     \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, nge, NGE) \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, nlg, NLG) \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, ngt, NGT) \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, nle, NLE) \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, neq, NEQ) \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, nlt, NLT) \
	GFX9_VECTOR_CMPI1(X, TYPE, type, S, tru, TRU)

#define GFX9_VECTOR_CLASS(X, TYPE, type, S)                                         \
	X(V_CMP_CLASS_##TYPE, cmp_class_##type, none, S, B32, NONE, NONE, MASK_OUT) \
	X(V_CMPX_CLASS_##TYPE, cmp_class_##type, none, S, B32, NONE, NONE, MASK_OUT | EXEC_OUT)

#define GFX9_VECTOR_CMP(X)                  \
	GFX9_VECTOR_CMPI(X, I16, i16, B16)  \
	GFX9_VECTOR_CMPI(X, U16, u16, B16)  \
	GFX9_VECTOR_CMPI(X, I32, i32, B32)  \
	GFX9_VECTOR_CMPI(X, U32, u32, B32)  \
	GFX9_VECTOR_CMPI(X, I64, i64, B64)  \
	GFX9_VECTOR_CMPI(X, U64, u64, B64)  \
	GFX9_VECTOR_CMPF(X, F16, f16, F16)  \
	GFX9_VECTOR_CMPF(X, F32, f32, F32)  \
	GFX9_VECTOR_CMPF(X, F64, f64, F64)  \
	GFX9_VECTOR_CLASS(X, F16, f16, M16) \
	GFX9_VECTOR_CLASS(X, F32, f32, M32) \
	GFX9_VECTOR_CLASS(X, F64, f64, M64)

#define GFX9_VECTOR_OPS(X)   \
	GFX9_VECTOR_INT(X)   \
	GFX9_VECTOR_INT16(X) \
	GFX9_VECTOR_F32(X)   \
	GFX9_VECTOR_CVT(X)   \
	GFX9_VECTOR_F64(X)   \
	GFX9_VECTOR_F16(X)   \
	GFX9_VECTOR_F8(X)    \
	GFX9_VECTOR_CMP(X)

/* Instructions that do not work lane by lane: X(opcode, function). */
#define GFX9_VECTOR_SPECIAL(X)                    \
	X(V_NOP, run_nop)                         \
	X(V_CLREXCP, run_nop)                     \
	X(V_READFIRSTLANE_B32, run_readfirstlane) \
	X(V_READLANE_B32, run_readlane)           \
	X(V_WRITELANE_B32, run_writelane)         \
	X(V_SWAP_B32, run_swap)                   \
	X(V_MQSAD_U32_U8, run_mqsad_u32)          \
	X(V_ACCVGPR_READ_B32, run_accvgpr_read)   \
	X(V_ACCVGPR_WRITE_B32, run_accvgpr_write) \
	X(V_ACCVGPR_MOV_B32, run_accvgpr_mov)

#endif
