// SPDX-License-Identifier: MIT
/* Runs a program on a machine. */
#include "cli/emu.h"

#include <stdlib.h>

#include "cli/child.h"
#include "emu/protocol.h"

#define PRELOAD "libgpreempt-emu.so"

/* The library emulates devices, so it comes after all preloads that intercept calls on devices. */
int emu_client_setup(struct gp__env *env, const char *dir)
{
	char path[PATH_MAX];
	int status = child_find_file(env, "../emu/client/" PRELOAD, GP_LIB_DIR "/" PRELOAD, path);

	if (!status)
		status = child_preload(env, path, false);
	if (!status && setenv(EMU_DIR_VARIABLE, dir, 1))
		status = gp__env_fail(env, GP__EXIT_FAILURE, NULL, "out of memory");
	return status;
}
