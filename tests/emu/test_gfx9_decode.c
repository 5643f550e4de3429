// SPDX-License-Identifier: MIT
/*
 * Decoder and text, as far as no other disassembler is needed. With --filter it is a filter for
 * gfx9-decode.py, which has one: lines "TARGET WORD WORD WORD" become "DWORDS TEXT" or "-".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>

#include "emu/gfx9/format.h"

static const char *const target_names[GFX9_TARGETS] = { "gfx90a", "gfx942" };

static const char *text_of(enum gfx9_target target, uint32_t w, uint32_t x)
{
	static char text[GFX9_TEXT_SIZE];
	const uint32_t words[] = { w, x };
	struct gfx9_inst in;

	if (gfx9_decode(target, words, 2, &in) < 0)
		return "-";
	gfx9_format_inst(target, &in, text, sizeof(text));
	return text;
}

static void test_text(void **state)
{
	(void)state;
	assert_string_equal(text_of(GFX9_TARGET_GFX90A, 0xbf8c0070, 0),
			    "s_waitcnt vmcnt(0) lgkmcnt(0)");
	assert_string_equal(text_of(GFX9_TARGET_GFX90A, 0xbf900004, 0),
			    "s_sendmsg sendmsg(MSG_SAVEWAVE)");
	assert_string_equal(text_of(GFX9_TARGET_GFX90A, 0xdc518000, 0x047f0008),
			    "global_load_dword v4, v[8:9], off glc");
	assert_string_equal(text_of(GFX9_TARGET_GFX942, 0xdc518000, 0x04100008),
			    "global_load_dword v4, v8, s[16:17] sc0");
	assert_string_equal(text_of(GFX9_TARGET_GFX90A, 0xd3c08004, 0x1c421908),
			    "v_mfma_f32_32x32x1f32 a[4:35], a8, a12, a[16:47]");
}

/* Instructions of one dword, with a literal, and of two: each is refused only if data is missing.
 */
static void test_cut_off(void **state)
{
	static const uint32_t literal[] = { 0x800404ff, 1 }, two[] = { 0xd1fe0004, 0x04421908 };
	static const uint32_t sdwa[] = { 0x020810f9, 0x06060600 };
	struct gfx9_inst in;

	(void)state;
	for (int t = 0; t < GFX9_TARGETS; t++) {
		assert_int_equal(gfx9_decode((enum gfx9_target)t, literal, 0, &in), -ENODATA);
		assert_int_equal(gfx9_decode((enum gfx9_target)t, literal, 1, &in), -ENODATA);
		assert_int_equal(gfx9_decode((enum gfx9_target)t, literal, 2, &in), 2);
		assert_int_equal(in.literal, 1);
		assert_int_equal(gfx9_decode((enum gfx9_target)t, two, 1, &in), -ENODATA);
		assert_int_equal(gfx9_decode((enum gfx9_target)t, two, 2, &in), 2);
		assert_int_equal(gfx9_decode((enum gfx9_target)t, sdwa, 1, &in), -ENODATA);
		assert_int_equal(gfx9_decode((enum gfx9_target)t, sdwa, 2, &in), 2);
	}
}

static void test_short_buffer(void **state)
{
	static const uint32_t word = 0xbf800000; /* s_nop 0 */
	struct gfx9_inst in;
	char text[8];

	(void)state;
	assert_int_equal(gfx9_decode(GFX9_TARGET_GFX90A, &word, 1, &in), 1);
	memset(text, 'x', sizeof(text));
	assert_int_equal(gfx9_format_inst(GFX9_TARGET_GFX90A, &in, text, 5), 7);
	assert_string_equal(text, "s_no");
	assert_int_equal(text[5], 'x');
	assert_int_equal(gfx9_format_inst(GFX9_TARGET_GFX90A, &in, NULL, 0), 7);
	assert_int_equal(gfx9_format_inst(GFX9_TARGET_GFX90A, &in, text, 8), 7);
	assert_string_equal(text, "s_nop 0");
}

/* Encodings that must be refused: the executors rely on it for vector registers. */
static void test_refused(void **state)
{
	(void)state;
	/* v_readfirstlane_b32 of src_scc, and into a constant */
	assert_string_equal(text_of(GFX9_TARGET_GFX90A, 0x7e0804fd, 0), "-");
	assert_string_equal(text_of(GFX9_TARGET_GFX90A, 0x7fd60508, 0), "-");
	/* v_mov_b32 of lds_direct, s_mov_b32 of register 125 */
	assert_string_equal(text_of(GFX9_TARGET_GFX90A, 0x7e0802fe, 0), "-");
	assert_string_equal(text_of(GFX9_TARGET_GFX90A, 0xbe84007d, 0), "-");
	/* SDWA selection 7, DPP control 0x100 */
	assert_string_equal(text_of(GFX9_TARGET_GFX90A, 0x020810f9, 0x06060708), "-");
	assert_string_equal(text_of(GFX9_TARGET_GFX90A, 0x020810fa, 0xff010008), "-");
}

/* The codes of scalar tuples are those of their first register, whatever the low bits are. */
static void test_tuple_is_aligned(void **state)
{
	static const uint32_t word = 0xbe850107; /* s_mov_b64 s[4:5], s[6:7], as s5 and s7 */
	struct gfx9_inst in;

	(void)state;
	assert_int_equal(gfx9_decode(GFX9_TARGET_GFX90A, &word, 1, &in), 1);
	assert_int_equal(in.dst, 4);
	assert_int_equal(in.src[0], 6);
}

/* Whether scratch counts its vector address is a bit on gfx942; gfx90a has one address or the
 * other. */
static void test_scratch_address(void **state)
{
	static const struct {
		enum gfx9_target target;
		uint32_t words[2];
		bool vector, lds;
	} t[] = {
		{ GFX9_TARGET_GFX90A, { 0xdc504000, 0x047f0008 }, true, false },
		{ GFX9_TARGET_GFX90A, { 0xdc504000, 0x04100008 }, false, false },
		{ GFX9_TARGET_GFX90A, { 0xdc506000, 0x047f0008 }, true, true },
		{ GFX9_TARGET_GFX942, { 0xdc504000, 0x047f0008 }, false, false },
		{ GFX9_TARGET_GFX942, { 0xdc506000, 0x04100008 }, true, false },
	};
	struct gfx9_inst in;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(gfx9_decode(t[i].target, t[i].words, 2, &in), 2);
		assert_int_equal(in.sve, t[i].vector);
		assert_int_equal(in.lds, t[i].lds);
	}
}

static int filter(void)
{
	char name[8], text[GFX9_TEXT_SIZE];
	uint32_t words[3];
	struct gfx9_inst in;

	while (scanf("%7s %x %x %x", name, &words[0], &words[1], &words[2]) == 4) {
		enum gfx9_target target = strcmp(name, target_names[GFX9_TARGET_GFX90A])
						  ? GFX9_TARGET_GFX942
						  : GFX9_TARGET_GFX90A;
		int ret = gfx9_decode(target, words, 3, &in);

		if (ret < 0) {
			puts(ret == -EILSEQ ? "-" : "?");
			continue;
		}
		gfx9_format_inst(target, &in, text, sizeof(text));
		printf("%d %s\n", ret, text);
	}
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_short_buffer),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_tuple_is_aligned),
		cmocka_unit_test(test_scratch_address),
	};

	if (argc == 2 && !strcmp(argv[1], "--filter"))
		return filter();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
