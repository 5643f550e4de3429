// SPDX-License-Identifier: MIT
/* Texts of NVIDIA's driver, as on an H200, and others. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/nvrm/gpus.h"

#define H200                                                      \
	"Model: \t\t NVIDIA H200\n"                               \
	"IRQ:   \t\t 41\n"                                        \
	"GPU UUID: \t GPU-6417efe4-c24a-bf19-53d2-9f784f1f97dd\n" \
	"Video BIOS: \t 96.00.a5.00.1a\n"                         \
	"Bus Location: \t 0000:00:06.0\n"                         \
	"Device Minor: \t 1\n"                                    \
	"GPU Firmware: \t 580.159.04\n"                           \
	"GPU Excluded:\t No\n"
#define OLD                                                       \
	"Model: \t\t Tesla P4\n"                                  \
	"GPU UUID: \t GPU-00000000-c24a-bf19-53d2-9f784f1f97dd\n" \
	"Device Minor: \t 0\n"                                    \
	"GPU Firmware: \t N/A\n"
#define VERSION                                                                                \
	"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  " \
	"(u@h)"                                                                                \
	"\nGCC version:  gcc version 15.3.0 (GCC) \n"

static void test_gpu(void **state)
{
	struct gp__nvrm_gpu gpu;

	(void)state;
	assert_true(gp__nvrm_gpu_parse(H200, &gpu));
	assert_string_equal(gpu.name, "NVIDIA H200");
	assert_string_equal(gpu.uuid, "GPU-6417efe4-c24a-bf19-53d2-9f784f1f97dd");
	assert_string_equal(gpu.firmware, "580.159.04");
	assert_int_equal(gpu.minor, 1);
	assert_true(gp__nvrm_gpu_parse(OLD, &gpu));
	assert_string_equal(gpu.firmware, "");
	assert_false(gp__nvrm_gpu_parse("", &gpu));
	assert_false(gp__nvrm_gpu_parse("GPU UUID: GPU-1\n", &gpu));
	assert_false(gp__nvrm_gpu_parse("GPU UUID: ???\nDevice Minor: 0\n", &gpu));
	assert_false(gp__nvrm_gpu_parse("GPU UUID: GPU-1\nDevice Minor: x\n", &gpu));
	assert_false(gp__nvrm_gpu_parse("GPU UUID: GPU-1\nDevice Minor: -1\n", &gpu));
}

static void test_driver(void **state)
{
	struct gp__nvrm_driver driver;

	(void)state;
	assert_true(gp__nvrm_driver_parse(VERSION, &driver));
	assert_string_equal(driver.version, "580.159.04");
	assert_true(driver.open);
	assert_true(gp__nvrm_driver_parse(
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.1  Tue\n", &driver));
	assert_string_equal(driver.version, "535.1");
	assert_false(driver.open);
	assert_false(gp__nvrm_driver_parse("NVRM version: none\n", &driver));
	assert_false(gp__nvrm_driver_parse("", &driver));
}

static void write_file(const char *root, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void make_folder(const char *root, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void test_machine(void **state)
{
	char root[] = "/tmp/gp-nvrm-XXXXXX", command[64], folder[128];
	struct gp__nvrm_gpu gpus[4];
	struct gp__nvrm_driver driver;

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(gp__nvrm_gpus(root, gpus, 4), -ENODEV);
	assert_int_equal(gp__nvrm_driver(root, &driver), -ENODEV);
	make_folder(root, "gpus");
	make_folder(root, "gpus/0000:00:06.0");
	make_folder(root, "gpus/0000:00:07.0");
	make_folder(root, "gpus/0000:00:08.0");
	write_file(root, "gpus/0000:00:06.0/information", H200);
	write_file(root, "gpus/0000:00:07.0/information", OLD);
	write_file(root, "gpus/0000:00:08.0/information", "nothing\n");
	write_file(root, "version", VERSION);
	assert_int_equal(gp__nvrm_gpus(root, gpus, 4), 2);
	assert_string_equal(gpus[0].name, "Tesla P4");
	assert_string_equal(gpus[1].name, "NVIDIA H200");
	assert_int_equal(gp__nvrm_gpus(root, gpus, 1), 1);
	assert_int_equal(gp__nvrm_driver(root, &driver), 0);
	setenv("CUDA_MPS_PIPE_DIRECTORY", root, 1);
	assert_false(gp__nvrm_has_mps(folder, sizeof(folder)));
	write_file(root, "control", "");
	assert_true(gp__nvrm_has_mps(folder, sizeof(folder)));
	assert_string_equal(folder, root);
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpu),
		cmocka_unit_test(test_driver),
		cmocka_unit_test(test_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
