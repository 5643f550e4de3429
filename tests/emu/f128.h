/* SPDX-License-Identifier: MIT */
/* Numbers of 113 bits: computations on 64-bit numbers are exact, or rounded once. */
#ifndef GP_TEST_F128_H
#define GP_TEST_F128_H

#include <float.h>

#if LDBL_MANT_DIG == 113 /* as on arm64, where compilers have no other name for it */
typedef long double f128;
#else
typedef __float128 f128;
#endif

#endif
