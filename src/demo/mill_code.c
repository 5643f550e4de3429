/* SPDX-License-Identifier: MIT */
/* The kernel of mill.cl, compiled for the GPUs that the programs support. */
#include <string.h>

#include "hsa_lab.h"

#include "mill.inc"

const void *lab_code(const char *gpu_name, size_t *size)
{
	if (!strcmp(gpu_name, "gfx90a")) {
		*size = sizeof(mill_gfx90a);
		return mill_gfx90a;
	}
	*size = sizeof(mill_gfx942);
	return strcmp(gpu_name, "gfx942") ? NULL : mill_gfx942;
}
