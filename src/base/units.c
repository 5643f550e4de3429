// SPDX-License-Identifier: MIT
/*
 * Parsing is done in integers: "1.1ms" is 1,100,000 ns exactly. Digits finer
 * than one unit of the result are rounded to the nearest; a value that is not
 * zero never becomes zero.
 */
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

struct unit {
	const char *name;
	uint64_t scale;
};

static const struct unit duration_units[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "\xc2\xb5s", 1000 }, /* MICRO SIGN */
	{ "\xce\xbcs", 1000 }, /* GREEK SMALL LETTER MU */
	{ "ms", 1000 * 1000 },
	{ "s", 1000 * 1000 * 1000 },
	{ "min", 60ull * 1000 * 1000 * 1000 },
	{ "h", 3600ull * 1000 * 1000 * 1000 },
	{ NULL, 0 },
};

static const struct unit size_units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "K", 1ull << 10 },
	{ "KB", 1ull << 10 },
	{ "KiB", 1ull << 10 },
	{ "M", 1ull << 20 },
	{ "MB", 1ull << 20 },
	{ "MiB", 1ull << 20 },
	{ "G", 1ull << 30 },
	{ "GB", 1ull << 30 },
	{ "GiB", 1ull << 30 },
	{ "T", 1ull << 40 },
	{ "TB", 1ull << 40 },
	{ "TiB", 1ull << 40 },
	{ NULL, 0 },
};

static const struct unit percent_units[] = {
	{ "%", 10000 },
	{ "", 10000 },
	{ NULL, 0 },
};

/* The number is whole + frac / frac_scale; digits of frac beyond 18 are dropped. */
struct decimal {
	uint64_t whole;
	uint64_t frac;
	uint64_t frac_scale;
	bool overflow;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void add_digit(struct decimal *d, char c)
{
	if (__builtin_mul_overflow(d->whole, 10, &d->whole) ||
	    __builtin_add_overflow(d->whole, (uint64_t)(c - '0'), &d->whole))
		d->overflow = true;
}

static void add_fraction_digit(struct decimal *d, char c)
{
	if (d->frac_scale == 1000000000000000000ull)
		return;
	d->frac = d->frac * 10 + (uint64_t)(c - '0');
	d->frac_scale *= 10;
}

/* Returns what follows the number, or NULL when there is none. */
static const char *parse_decimal(const char *s, struct decimal *d)
{
	*d = (struct decimal){ .frac_scale = 1 };
	if (!is_digit(*s))
		return NULL;
	while (is_digit(*s))
		add_digit(d, *s++);
	if (*s != '.')
		return s;
	if (!is_digit(*++s))
		return NULL;
	while (is_digit(*s))
		add_fraction_digit(d, *s++);
	return s;
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
	for (; units->name; units++) {
		if (!strcmp(units->name, name))
			return units;
	}
	return NULL;
}

static int scale_decimal(const struct decimal *d, uint64_t scale, uint64_t *out)
{
	u128 frac = ((u128)d->frac * scale + d->frac_scale / 2) / d->frac_scale;
	u128 value = (u128)d->whole * scale + frac;

	if (d->overflow || value > UINT64_MAX)
		return -ERANGE;
	if (!value && d->frac)
		return -ERANGE;
	*out = (uint64_t)value;
	return 0;
}

static int parse_with_unit(const char *s, const struct unit *units, uint64_t *out)
{
	const struct unit *unit;
	struct decimal d;

	s = parse_decimal(s, &d);
	if (!s)
		return -EINVAL;
	unit = find_unit(units, s);
	if (!unit)
		return -EINVAL;
	return scale_decimal(&d, unit->scale, out);
}

int gp__parse_duration(const char *s, uint64_t *ns)
{
	if (!strcmp(s, "0")) {
		*ns = 0;
		return 0;
	}
	return parse_with_unit(s, duration_units, ns);
}

int gp__parse_size(const char *s, uint64_t *bytes)
{
	return parse_with_unit(s, size_units, bytes);
}

int gp__parse_percent(const char *s, uint32_t *ppm)
{
	uint64_t value;
	int err = parse_with_unit(s, percent_units, &value);

	if (err)
		return err;
	if (value > 1000000)
		return -ERANGE;
	*ppm = (uint32_t)value;
	return 0;
}

int gp__parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out)
{
	struct decimal d = { .frac_scale = 1 };

	if (!*s)
		return -EINVAL;
	for (; *s; s++) {
		if (!is_digit(*s))
			return -EINVAL;
		add_digit(&d, *s);
	}
	if (d.overflow || d.whole < min || d.whole > max)
		return -ERANGE;
	*out = d.whole;
	return 0;
}

int gp__parse_i64(const char *s, int64_t min, int64_t max, int64_t *out)
{
	bool negative = *s == '-';
	uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
	uint64_t magnitude;
	int64_t value;
	int err;

	err = gp__parse_u64(s + negative, 0, limit, &magnitude);
	if (err)
		return err;
	value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	if (value < min || value > max)
		return -ERANGE;
	*out = value;
	return 0;
}

int gp__parse_double(const char *s, double min, double max, double *out)
{
	double value;
	char *end;

	/* strtod() also takes blanks, hexadecimal, "inf" and "nan". */
	if (!*s || s[strspn(s, "0123456789+-.eE")])
		return -EINVAL;
	value = strtod(s, &end);
	if (*end)
		return -EINVAL;
	if (!(value >= min && value <= max))
		return -ERANGE;
	*out = value;
	return 0;
}

const char *gp__expect_u64(char *buf, size_t n, uint64_t min, uint64_t max)
{
	if (max == UINT64_MAX)
		snprintf(buf, n, "a whole number of at least %" PRIu64, min);
	else
		snprintf(buf, n, "a whole number from %" PRIu64 " to %" PRIu64, min, max);
	return buf;
}

const char *gp__expect_i64(char *buf, size_t n, int64_t min, int64_t max)
{
	snprintf(buf, n, "a whole number from %" PRId64 " to %" PRId64, min, max);
	return buf;
}

/* Three significant digits; 999.5 and more is left to the next unit by the caller. */
static void format_scaled(char *buf, size_t n, double value, const char *unit)
{
	int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(buf, n, "%.*f %s", digits, value, unit);
}

const char *gp__format_duration(char *buf, size_t n, uint64_t ns)
{
	static const char *const names[] = { "us", "ms", "s" };
	double value = (double)ns / 1e3;
	size_t i = 0;

	if (ns < 1000) {
		snprintf(buf, n, "%" PRIu64 " ns", ns);
		return buf;
	}
	while (value >= 999.5 && i + 1 < sizeof(names) / sizeof(names[0])) {
		value /= 1e3;
		i++;
	}
	format_scaled(buf, n, value, names[i]);
	return buf;
}

const char *gp__format_size(char *buf, size_t n, uint64_t bytes)
{
	static const char *const names[] = { "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(buf, n, "%" PRIu64 " B", bytes);
		return buf;
	}
	while (value >= 1023.5 && i + 1 < sizeof(names) / sizeof(names[0])) {
		value /= 1024;
		i++;
	}
	format_scaled(buf, n, value, names[i]);
	return buf;
}
