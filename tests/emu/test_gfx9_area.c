// SPDX-License-Identifier: MIT
/* Sizes of the context save area against those of the driver, computed by hand. */
#include "../unit/test.h"

#include "emu/gfx9/area.h"

static void mi300x(void **state)
{
	const struct emu_gpu_shape gpu = {
		.nr_xccs = 8, .xcc_cus = 38, .nr_arrays = 32, .engine_arrays = 1
	};
	struct emu_save_sizes s = gfx9_area_sizes(&gpu);

	(void)state;
	assert_int_equal(s.ctl_bytes, 12288);
	assert_int_equal(s.slice_bytes, 12288 + 23191552);
	assert_int_equal(s.debug_bytes, 48640);
	assert_int_equal(s.total_bytes, 186019840);
}

/* Here the engines have fewer waves than the compute units might. */
static void mi250(void **state)
{
	const struct emu_gpu_shape gpu = {
		.nr_xccs = 1, .xcc_cus = 104, .nr_arrays = 8, .engine_arrays = 1
	};
	struct emu_save_sizes s = gfx9_area_sizes(&gpu);

	(void)state;
	assert_int_equal(s.ctl_bytes, 36864);
	assert_int_equal(s.slice_bytes, 36864 + 104 * 0x95000);
	assert_int_equal(s.slice_bytes, 63508480);
	assert_int_equal(s.debug_bytes, 4096 * 32);
	assert_int_equal(s.total_bytes, 63508480 + 4096 * 32);
}

static void two_arrays_an_engine(void **state)
{
	const struct emu_gpu_shape gpu = {
		.nr_xccs = 2, .xcc_cus = 60, .nr_arrays = 8, .engine_arrays = 2
	};
	struct emu_save_sizes s = gfx9_area_sizes(&gpu);

	(void)state;
	assert_int_equal(s.ctl_bytes, 20480); /* 2048 waves */
	assert_int_equal(s.slice_bytes, 20480 + 60 * 0x95000);
	assert_int_equal(s.debug_bytes, 65536);
	assert_int_equal(s.total_bytes, 2 * (20480 + 60 * 0x95000 + 65536));
}

/* The driver leaves exactly enough room for 32 waves of a compute unit, of any shape. */
static void the_control_stack_has_room_for_all_waves(void **state)
{
	(void)state;
	for (uint32_t cus = 1; cus <= 120; cus++) {
		const struct emu_gpu_shape gpu = {
			.nr_xccs = 1, .xcc_cus = cus, .nr_arrays = 8, .engine_arrays = 1
		};
		struct emu_save_sizes s = gfx9_area_sizes(&gpu);
		uint32_t waves = cus * 32;
		uint64_t records = s.slice_bytes - s.ctl_bytes;

		assert_true(gfx9_area_fits(s.ctl_bytes, 2 * waves)); /* workgroups of one wave */
		assert_true(cus * (uint64_t)(4 * 512 * 256 + 65536) + waves * (448u + 128 + 64) <=
			    records);
	}
	assert_false(gfx9_area_fits(4096, 1013));
	assert_true(gfx9_area_fits(4096, 1012));
}

static void entries(void **state)
{
	(void)state;
	assert_int_equal(gfx9_area_state(24, 16, 112, 512),
			 0x80000000 | 5 << 24 | 1 << 9 | 7 << 6 | 4);
	assert_int_equal(gfx9_area_state(256, 256, 112, 65536),
			 0x80000000 | 63 << 24 | 128 << 9 | 7 << 6 | 63);
	assert_int_equal(gfx9_area_wave(513, true, false, true), 1 | 1 << 15 | 1 << 16);
	assert_int_equal(gfx9_area_wave(2, false, true, false), 2 | 1 << 17);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mi300x),
		cmocka_unit_test(mi250),
		cmocka_unit_test(two_arrays_an_engine),
		cmocka_unit_test(the_control_stack_has_room_for_all_waves),
		cmocka_unit_test(entries),
	};

	return cmocka_run_group_tests_name("gfx9_area", tests, NULL, NULL);
}
