/* SPDX-License-Identifier: MIT */
/*
 * Replaces librocprofiler-register.so.0: passes the tables that a library registers to the profiler
 * that ROCP_TOOL_LIBRARIES names. The real one finds profilers in more ways, and passes the tables
 * to rocprofiler-sdk, which loads the libraries of that variable.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

enum { SUCCESS, NO_TOOLS, BAD_LENGTH = 3, PROFILER_FAILED = 6 };

typedef int set_table_fn(const char *name, uint64_t version, uint64_t instance, void **tables,
			 uint64_t nr_tables);

static set_table_fn *find_profiler(void)
{
	const char *path = getenv("ROCP_TOOL_LIBRARIES");
	void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	void *found = library ? dlsym(library, "rocprofiler_set_api_table") : NULL;
	set_table_fn *fn = NULL;

	if (found)
		memcpy(&fn, &found, sizeof(found));
	return fn;
}

PUBLIC int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
						  uint32_t version, void **tables,
						  uint64_t nr_tables, uint64_t *id);
int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
					   uint32_t version, void **tables, uint64_t nr_tables,
					   uint64_t *id)
{
	static uint64_t instances;
	set_table_fn *set_table = find_profiler();

	(void)import;
	if (!nr_tables)
		return BAD_LENGTH;
	*id = instances++;
	if (!set_table)
		return NO_TOOLS;
	return set_table(name, version, *id, tables, nr_tables) ? PROFILER_FAILED : SUCCESS;
}
