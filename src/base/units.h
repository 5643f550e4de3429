/* SPDX-License-Identifier: MIT */
/*
 * Numbers as people write them: durations, sizes, percentages, plain numbers.
 *
 * Every parser takes the whole string, so no blanks and no trailing text, and
 * is independent of the locale. It returns 0, -EINVAL when the text is not of
 * the form described by the matching GP__EXPECT_ sentence, or -ERANGE when it is
 * but the value does not fit. The result is written only on success.
 */
#ifndef GP_BASE_UNITS_H
#define GP_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Text to follow "expected " in an error message. */
#define GP__EXPECT_DURATION "a duration such as 10us, 1.5ms or 2s (units: ns, us, ms, s, min, h)"
#define GP__EXPECT_SIZE "a size such as 512M or 16G (units: K, M, G, T, powers of 1024)"
#define GP__EXPECT_PERCENT "a percentage from 0% to 100%, such as 40% or 2.5%"

/* The unit is required, except for a plain 0. */
int gp__parse_duration(const char *s, uint64_t *ns);
/* Powers of 1024, with or without "B" or "iB" at the end; no unit means bytes. */
int gp__parse_size(const char *s, uint64_t *bytes);
/* Parts per million, so that no rounding is lost; the sign "%" may be left out. */
int gp__parse_percent(const char *s, uint32_t *ppm);
int gp__parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out);
int gp__parse_i64(const char *s, int64_t min, int64_t max, int64_t *out);
/* Decimal or exponent notation; neither hexadecimal nor inf nor nan. */
int gp__parse_double(const char *s, double min, double max, double *out);

/* "a whole number from 1 to 64": text to follow "expected " for a range. Returns buf. */
const char *gp__expect_u64(char *buf, size_t n, uint64_t min, uint64_t max);
const char *gp__expect_i64(char *buf, size_t n, int64_t min, int64_t max);

/* For people: three significant digits and a unit, "1.25 ms", "16.0 GiB". Return buf. */
const char *gp__format_duration(char *buf, size_t n, uint64_t ns);
const char *gp__format_size(char *buf, size_t n, uint64_t bytes);

#endif
