/* SPDX-License-Identifier: MIT */
/* The kernels of programs.cl, from where the build has put them. */
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
	/* For as long as the program lives: the runtime may come back to it. */
	*size = fread(code, 1, CODE_MAX, f);
	fclose(f);
	return code;
}
