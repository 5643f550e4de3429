// SPDX-License-Identifier: MIT
/*
 * The functions by which the HSA runtime reaches the preload: it loads the preload as a tools
 * library (OnLoad), or registers its tables with rocprofiler-register, or both. Connects the hook
 * (tools.h) to the backend: the hook reports queues and launches, and the backend
 * has it withhold launches.
 */
#include <stdio.h>
#include <string.h>

#include "device/kfd/backend.h"
#include "join/hsa/register.h"
#include "join/hsa/streams.h"
#include "join/hsa/tools.h"
#include "join/preload.h"

static bool find_queue(void *data, const void *write_index, uint32_t *id)
{
	return gp__kfd_join_find(data, write_index, id);
}

static void added(void *data, uint32_t id, const void *write_index)
{
	gp__kfd_join_sees(data, id, write_index);
}

static void arrived(void *data, uint32_t id)
{
	gp__kfd_join_launched(data, id);
}

static void foreign(void *data, uint32_t id)
{
	gp__kfd_join_foreign(data, id);
}

static void removed(uint32_t id)
{
	gp__hsa_streams_removed(id);
	gp__hsa_removed(id);
}

static void forget(void)
{
	gp__hsa_streams_forget();
	gp__hsa_forget();
}

static const struct gp__kfd_launches launches = {
	.is_loaded = gp__hsa_is_loaded,
	.removed = removed,
	.forget = forget,
	.rest = gp__hsa_rest,
	.waits = gp__hsa_waits,
	.hold = gp__hsa_hold,
	.hold_to_drop = gp__hsa_hold_to_drop,
	.dropped = gp__hsa_dropped,
	.set_held = gp__hsa_set_held,
	.narrow = gp__hsa_narrow,
	.advance = gp__hsa_advance,
};

static void load_into(struct gp__kfd_join *j, struct gp__hsa_table *table)
{
	const struct gp__kfd_launch_options o = gp__kfd_join_launch_options(j);
	const struct gp__hsa_host host = { .find = find_queue,
					   .added = added,
					   .arrived = arrived,
					   .foreign = foreign,
					   .data = j,
					   .windows = o.windows,
					   .retains = o.keeps,
					   .width = o.width,
					   .budget_ns = o.budget_ns };
	char text[256];
	const char *why;

	if (gp__hsa_load(table, &host, &why)) {
		gp__kfd_join_launches(j, &launches);
		return;
	}
	snprintf(text, sizeof(text),
		 "cannot see launches through the HSA runtime, as %s; polling for work instead",
		 why);
	gp__port_say(gp__kfd_join_port(j), text);
}

static void load(struct gp__hsa_table *table)
{
	struct gp__process *p = gp__preload_process();
	struct gp__kfd_join *j = p ? gp__process_use(p, &gp__backend_amd) : NULL;

	if (j && gp__kfd_join_port(j) && !gp__hsa_is_loaded())
		load_into(j, table);
}

GP__PUBLIC bool OnLoad(struct gp__hsa_table *table, uint64_t version, uint64_t nr_failed,
		       const char *const *failed);
bool OnLoad(struct gp__hsa_table *table, uint64_t version, uint64_t nr_failed,
	    const char *const *failed)
{
	(void)version, (void)nr_failed, (void)failed;
	gp__preload_is_tool();
	load(table);
	return true; /* false would be reported as a failure of the program's environment */
}

GP__PUBLIC void OnUnload(void);
void OnUnload(void)
{
	gp__hsa_unload();
}

GP__PUBLIC gp__register_fn rocprofiler_register_library_api_table;
int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
					   uint32_t version, void **tables, uint64_t nr_tables,
					   uint64_t *id)
{
	gp__register_fn *next = gp__register_next(__builtin_return_address(0),
						  rocprofiler_register_library_api_table);

	if (name && !strcmp(name, "hsa") && tables && nr_tables && tables[0]) {
		gp__hsa_renew(tables[0]);
		load(tables[0]);
	}
	return next ? next(name, import, version, tables, nr_tables, id) : GP__ROCP_REG_NO_TOOLS;
}
