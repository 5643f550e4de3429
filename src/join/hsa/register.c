// SPDX-License-Identifier: MIT
#include "join/hsa/register.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static gp__register_fn *find_in(void *handle)
{
	void *found = dlsym(handle, GP__REGISTER_NAME);
	gp__register_fn *fn = NULL;

	if (found)
		memcpy(&fn, &found, sizeof(found));
	return fn;
}

/* A runtime that was opened with dlopen() may see libraries that the program does not. */
static gp__register_fn *find_near(const void *caller)
{
	gp__register_fn *fn;
	Dl_info library;
	void *handle;

	if (!dladdr(caller, &library) || !library.dli_fname)
		return NULL;
	handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	fn = find_in(handle);
	dlclose(handle); /* the caller still has it */
	return fn;
}

gp__register_fn *gp__register_next(const void *caller, gp__register_fn *ours)
{
	gp__register_fn *fn = find_in(RTLD_NEXT);

	if (!fn)
		fn = find_near(caller);
	return fn == ours ? NULL : fn;
}
