// SPDX-License-Identifier: MIT
#include "device/kfd/beside.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define RUNTIME "libhsa-runtime64.so.1"
#define VERSION_MAJOR 0 /* HSA_SYSTEM_INFO_VERSION_MAJOR */
#define NOT_INITIALIZED 0x100b /* HSA_STATUS_ERROR_NOT_INITIALIZED */

typedef int call_fn(void);
typedef int info_fn(int attribute, void *value);

/* Asks the runtime for its version, which it tells once it is initialised. */
static bool is_waiting(void *library)
{
	void *found = dlsym(library, "hsa_system_get_info");
	info_fn *info;
	uint64_t value;

	memcpy(&info, &found, sizeof(info));
	return info && info(VERSION_MAJOR, &value) == NOT_INITIALIZED;
}

static int call(void *library, const char *name)
{
	void *found = dlsym(library, name);
	call_fn *fn;

	memcpy(&fn, &found, sizeof(fn));
	return fn ? fn() : -1;
}

/* If the runtime cannot initialise, it cannot for the program either: gpreempt goes on without
 * it. */
void gp__kfd_beside_begin(struct gp__kfd_beside *b)
{
	void *library = dlopen(RUNTIME, RTLD_LAZY | RTLD_NOLOAD);

	b->library = NULL;
	if (!library)
		return;
	if (is_waiting(library) && !call(library, "hsa_init"))
		b->library = library;
	else
		dlclose(library);
}

void gp__kfd_beside_end(struct gp__kfd_beside *b)
{
	if (!b->library)
		return;
	call(b->library, "hsa_shut_down");
	dlclose(b->library);
	b->library = NULL;
}
