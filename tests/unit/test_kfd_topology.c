// SPDX-License-Identifier: MIT
/*
 * GPUs from sysfs's lines, and the sizes of their save areas: the driver's formulas stand in the
 * emulated GPU as well, written apart from these.
 */
#include "device/kfd/topology.h"
#include "emu/gfx9/area.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct gp__kfd_node node_of(uint32_t gfx, uint32_t xccs, uint32_t cus, uint32_t arrays)
{
	struct gp__kfd_node n = { .index = 1 };
	char line[64];

	snprintf(line, sizeof(line), "gfx_target_version %u\n", gfx);
	gp__kfd_node_property(&n, line);
	snprintf(line, sizeof(line), "simd_count %u\n", xccs * cus * 4);
	gp__kfd_node_property(&n, line);
	snprintf(line, sizeof(line), "num_xcc %u\n", xccs);
	gp__kfd_node_property(&n, line);
	snprintf(line, sizeof(line), "array_count %u\n", xccs * arrays);
	gp__kfd_node_property(&n, line);
	gp__kfd_node_property(&n, "simd_arrays_per_engine 1\n");
	gp__kfd_node_complete(&n);
	return n;
}

static void check_sizes(uint32_t gfx, uint32_t xccs, uint32_t cus, uint32_t arrays)
{
	const struct emu_gpu_shape gpu = {
		.nr_xccs = xccs, .xcc_cus = cus, .nr_arrays = arrays, .engine_arrays = 1
	};
	struct emu_save_sizes sizes = gfx9_area_sizes(&gpu);
	struct gp__kfd_node n = node_of(gfx, xccs, cus, arrays);

	assert_int_equal(n.nr_cus, xccs * cus);
	assert_int_equal(n.ctl_stack_bytes, sizes.ctl_bytes);
	assert_int_equal(n.save_bytes, sizes.slice_bytes);
	assert_int_equal(n.debug_bytes, sizes.debug_bytes);
}

static void sizes_are_the_drivers(void **state)
{
	struct gp__kfd_node mi300x = node_of(90402, 8, 38, 4);

	(void)state;
	assert_int_equal((mi300x.save_bytes + mi300x.debug_bytes) * 8, 186019840);
	for (uint32_t cus = 1; cus <= 40; cus++) {
		for (uint32_t arrays = 1; arrays <= 8; arrays++) {
			check_sizes(90010, 1, cus * 2, arrays);
			check_sizes(90402, 8, cus, arrays);
		}
	}
}

static void what_the_driver_says_goes(void **state)
{
	struct gp__kfd_node n = { 0 };

	(void)state;
	gp__kfd_node_property(&n, "simd_count 416");
	gp__kfd_node_property(&n, "cwsr_size 123456");
	gp__kfd_node_property(&n, "ctl_stack_size 8192");
	gp__kfd_node_complete(&n);
	assert_int_equal(n.save_bytes, 123456);
	assert_int_equal(n.ctl_stack_bytes, 8192);
	assert_int_equal(n.nr_cus, 104);
	assert_int_equal(n.nr_xccs, 1);
}

static void other_lines_are_passed_over(void **state)
{
	static const char *const lines[] = {
		"",
		"\n",
		"simd_count",
		"simd_count ",
		"simd_count x",
		"simd_counts 8",
		"simd_coun 8",
		" simd_count 8",
		"unknown 99999",
		"simd_count -1",
		"simd_count 99999999999",
	};
	struct gp__kfd_node n = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		gp__kfd_node_property(&n, lines[i]);
	assert_int_equal(n.nr_cus, 0);
	/* A node that says nothing has sizes all the same. */
	gp__kfd_node_complete(&n);
	assert_int_equal(n.nr_xccs, 1);
	assert_int_equal(n.ctl_stack_bytes, 4096);
}

static void gpus_have_their_usual_names(void **state)
{
	char text[GP__KFD_GFX_NAME_MAX];

	(void)state;
	assert_string_equal(gp__kfd_gfx_name(90010, text), "gfx90a");
	assert_string_equal(gp__kfd_gfx_name(90402, text), "gfx942");
	assert_string_equal(gp__kfd_gfx_name(80003, text), "gfx803");
	assert_string_equal(gp__kfd_gfx_name(110001, text), "gfx1101");
	assert_string_equal(gp__kfd_gfx_name(UINT32_MAX, text), "gfx429496725f");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_the_drivers),
		cmocka_unit_test(what_the_driver_says_goes),
		cmocka_unit_test(other_lines_are_passed_over),
		cmocka_unit_test(gpus_have_their_usual_names),
	};

	return cmocka_run_group_tests_name("kfd_topology", tests, NULL, NULL);
}
