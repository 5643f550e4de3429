/* SPDX-License-Identifier: MIT */
/*
 * Makes an HSA runtime that was built without rocprofiler-register behave as one that was built
 * with it: as a tools library it registers the runtime's tables when the runtime starts.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "join/hsa/abi.h"

#define PUBLIC __attribute__((visibility("default")))

int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
					   uint32_t version, void **tables, uint64_t nr_tables,
					   uint64_t *id);

static uint32_t import(void)
{
	return 11800;
}

PUBLIC bool OnLoad(struct gp__hsa_table *table, uint64_t version, uint64_t nr_failed,
		   const char *const *failed);
bool OnLoad(struct gp__hsa_table *table, uint64_t version, uint64_t nr_failed,
	    const char *const *failed)
{
	void *tables[] = { table };
	uint64_t id = 0;
	int status;

	(void)version, (void)nr_failed, (void)failed;
	status = rocprofiler_register_library_api_table("hsa", import, import(), tables, 1, &id);
	printf("the runtime has registered: status %d\n", status);
	return true;
}
