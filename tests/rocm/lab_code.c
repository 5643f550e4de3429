/* SPDX-License-Identifier: MIT */
/* The kernels of programs.cl, loaded from the build folder. */
#include <stdio.h>
#include <stdlib.h>

#include "hsa_lab.h"

#define CODE_MAX (1u << 20)

const void *lab_code(const char *gpu_name, size_t *size)
{
	char path[512];
	void *code = malloc(CODE_MAX);
	FILE *f;

	snprintf(path, sizeof(path), "%s/programs-%s.co", LAB_CODE_DIR, gpu_name);
	f = fopen(path, "re");
	lab_check(f && code, "there is no %s: it is built with the test programs", path);
	/* Kept until the program ends: the runtime may use it again. */
	*size = fread(code, 1, CODE_MAX, f);
	fclose(f);
	return code;
}
