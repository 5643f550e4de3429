// SPDX-License-Identifier: MIT
#include "test.h"

#include "base/units.h"

#include <errno.h>
#include <string.h>

struct text_case {
	const char *text;
	int err;
	uint64_t value;
};

typedef int parse_fn(const char *s, uint64_t *out);

static void check_cases(parse_fn *parse, const struct text_case *c)
{
	for (; c->text; c++) {
		uint64_t value = 4711;
		int err = parse(c->text, &value);

		if (err != c->err || value != (c->err ? 4711 : c->value))
			fail_msg("'%s' gave %d, %llu", c->text, err, (unsigned long long)value);
	}
}

static void test_duration(void **state)
{
	static const struct text_case cases[] = {
		{ "0", 0, 0 },
		{ "0s", 0, 0 },
		{ "1ns", 0, 1 },
		{ "10us", 0, 10000 },
		{ "10\xc2\xb5s", 0, 10000 },
		{ "1.5ms", 0, 1500000 },
		{ "1.1ms", 0, 1100000 },
		{ "2s", 0, 2000000000 },
		{ "1min", 0, 60000000000 },
		{ "1h", 0, 3600000000000 },
		{ "0.6ns", 0, 1 },
		{ "1.4999999999999999999999ns", 0, 1 },
		{ "1.99999999999999999999999ns", 0, 2 },
		{ "1.50000000000000000000000000000000ms", 0, 1500000 },
		{ "18446744073709551615ns", 0, UINT64_MAX },
		{ "18446744073709551616ns", -ERANGE, 0 },
		{ "99999999999h", -ERANGE, 0 },
		{ "0.1ns", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "10", -EINVAL, 0 },
		{ "us", -EINVAL, 0 },
		{ "1.ms", -EINVAL, 0 },
		{ ".5ms", -EINVAL, 0 },
		{ "-1ms", -EINVAL, 0 },
		{ " 1ms", -EINVAL, 0 },
		{ "1ms ", -EINVAL, 0 },
		{ "1 ms", -EINVAL, 0 },
		{ "1Ms", -EINVAL, 0 },
		{ "1e3ms", -EINVAL, 0 },
		{ NULL, 0, 0 },
	};

	(void)state;
	check_cases(gp__parse_duration, cases);
}

static void test_size(void **state)
{
	static const struct text_case cases[] = {
		{ "0", 0, 0 },
		{ "17", 0, 17 },
		{ "17B", 0, 17 },
		{ "512M", 0, 512ull << 20 },
		{ "16G", 0, 16ull << 30 },
		{ "16GiB", 0, 16ull << 30 },
		{ "1.5K", 0, 1536 },
		{ "2T", 0, 2ull << 40 },
		{ "16777216T", -ERANGE, 0 },
		{ "16X", -EINVAL, 0 },
		{ "G", -EINVAL, 0 },
		{ "1g", -EINVAL, 0 },
		{ NULL, 0, 0 },
	};

	(void)state;
	check_cases(gp__parse_size, cases);
}

static void test_percent(void **state)
{
	uint32_t ppm = 7;

	(void)state;
	assert_int_equal(gp__parse_percent("40%", &ppm), 0);
	assert_int_equal(ppm, 400000);
	assert_int_equal(gp__parse_percent("2.5", &ppm), 0);
	assert_int_equal(ppm, 25000);
	assert_int_equal(gp__parse_percent("100%", &ppm), 0);
	assert_int_equal(ppm, 1000000);
	assert_int_equal(gp__parse_percent("100.1%", &ppm), -ERANGE);
	assert_int_equal(gp__parse_percent("%", &ppm), -EINVAL);
	assert_int_equal(ppm, 1000000);
}

static void test_u64(void **state)
{
	uint64_t v = 7;
	char buf[80];

	(void)state;
	assert_int_equal(gp__parse_u64("1", 1, 64, &v), 0);
	assert_int_equal(v, 1);
	assert_int_equal(gp__parse_u64("64", 1, 64, &v), 0);
	assert_int_equal(v, 64);
	assert_int_equal(gp__parse_u64("0", 1, 64, &v), -ERANGE);
	assert_int_equal(gp__parse_u64("65", 1, 64, &v), -ERANGE);
	assert_int_equal(gp__parse_u64("", 0, 64, &v), -EINVAL);
	assert_int_equal(gp__parse_u64("-1", 0, 64, &v), -EINVAL);
	assert_int_equal(gp__parse_u64("0x10", 0, 64, &v), -EINVAL);
	assert_int_equal(gp__parse_u64("1.5", 0, 64, &v), -EINVAL);
	assert_int_equal(v, 64);
	assert_int_equal(gp__parse_u64("18446744073709551615", 0, UINT64_MAX, &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(gp__parse_u64("18446744073709551616", 0, UINT64_MAX, &v), -ERANGE);
	assert_string_equal(gp__expect_u64(buf, sizeof(buf), 1, 64), "a whole number from 1 to 64");
}

static void test_i64(void **state)
{
	int64_t v = 7;

	(void)state;
	assert_int_equal(gp__parse_i64("-5", -10, 10, &v), 0);
	assert_int_equal(v, -5);
	assert_int_equal(gp__parse_i64("-11", -10, 10, &v), -ERANGE);
	assert_int_equal(gp__parse_i64("--5", -10, 10, &v), -EINVAL);
	assert_int_equal(gp__parse_i64("-", -10, 10, &v), -EINVAL);
	assert_int_equal(gp__parse_i64("-9223372036854775808", INT64_MIN, INT64_MAX, &v), 0);
	assert_true(v == INT64_MIN);
	assert_int_equal(gp__parse_i64("9223372036854775808", INT64_MIN, INT64_MAX, &v), -ERANGE);
}

static void test_double(void **state)
{
	double v = 7;

	(void)state;
	assert_int_equal(gp__parse_double("0.25", 0, 1, &v), 0);
	assert_true(v == 0.25);
	assert_int_equal(gp__parse_double("1e-3", 0, 1, &v), 0);
	assert_true(v == 1e-3);
	assert_int_equal(gp__parse_double("1.5", 0, 1, &v), -ERANGE);
	assert_int_equal(gp__parse_double("1e999", 0, 1e300, &v), -ERANGE);
	assert_int_equal(gp__parse_double("nan", 0, 1, &v), -EINVAL);
	assert_int_equal(gp__parse_double("inf", 0, 1, &v), -EINVAL);
	assert_int_equal(gp__parse_double("0x1", 0, 1, &v), -EINVAL);
	assert_int_equal(gp__parse_double(" 1", 0, 1, &v), -EINVAL);
	assert_int_equal(gp__parse_double("1-", 0, 1, &v), -EINVAL);
	assert_int_equal(gp__parse_double("", 0, 1, &v), -EINVAL);
	assert_true(v == 1e-3);
}

static void test_format_duration(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0 ns" },		 { 999, "999 ns" },	  { 1000, "1.00 us" },
		{ 1250000, "1.25 ms" },	 { 12500000, "12.5 ms" }, { 125000000, "125 ms" },
		{ 999499999, "999 ms" }, { 999500000, "1.00 s" }, { 3600000000000, "3600 s" },
	};
	char buf[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(gp__format_duration(buf, sizeof(buf), cases[i].ns),
				    cases[i].text);
}

static void test_format_size(void **state)
{
	char buf[32];

	(void)state;
	assert_string_equal(gp__format_size(buf, sizeof(buf), 0), "0 B");
	assert_string_equal(gp__format_size(buf, sizeof(buf), 1023), "1023 B");
	assert_string_equal(gp__format_size(buf, sizeof(buf), 1536), "1.50 KiB");
	assert_string_equal(gp__format_size(buf, sizeof(buf), 16ull << 30), "16.0 GiB");
	assert_string_equal(gp__format_size(buf, sizeof(buf), (1ull << 20) - 1), "1.00 MiB");
}

static void test_small_buffer(void **state)
{
	char buf[4] = "xyz";

	(void)state;
	gp__format_duration(buf, sizeof(buf), 1250000);
	assert_string_equal(buf, "1.2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_percent),
		cmocka_unit_test(test_u64),
		cmocka_unit_test(test_i64),
		cmocka_unit_test(test_double),
		cmocka_unit_test(test_format_duration),
		cmocka_unit_test(test_format_size),
		cmocka_unit_test(test_small_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
