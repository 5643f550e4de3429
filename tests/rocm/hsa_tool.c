/* SPDX-License-Identifier: MIT */
/*
 * Counts the queues that a program creates, as a tools library of the HSA runtime and as the
 * profiler to which rocprofiler-register passes the runtime's tables.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "join/hsa/abi.h"

#define PUBLIC __attribute__((visibility("default")))

typedef uint32_t create_fn(uint64_t agent, uint32_t size, uint32_t type, void *callback, void *data,
			   uint32_t private_bytes, uint32_t group_bytes,
			   struct gp__hsa_queue **queue);

static create_fn *next;
static int nr_queues;

static uint32_t count_queue(uint64_t agent, uint32_t size, uint32_t type, void *callback,
			    void *data, uint32_t private_bytes, uint32_t group_bytes,
			    struct gp__hsa_queue **queue)
{
	nr_queues++;
	return next(agent, size, type, callback, data, private_bytes, group_bytes, queue);
}

static void count(struct gp__hsa_table *table)
{
	next = (create_fn *)table->core->fn[GP__HSA_QUEUE_CREATE];
	table->core->fn[GP__HSA_QUEUE_CREATE] = (gp__hsa_fn *)count_queue;
}

static void report(void)
{
	printf("the other tool saw %d queues\n", nr_queues);
}

/* A preload that exports these names, too, must not be called instead: they call nothing public. */
PUBLIC bool OnLoad(struct gp__hsa_table *table, uint64_t version, uint64_t nr_failed,
		   const char *const *failed);
bool OnLoad(struct gp__hsa_table *table, uint64_t version, uint64_t nr_failed,
	    const char *const *failed)
{
	(void)version, (void)nr_failed, (void)failed;
	count(table);
	return true;
}

PUBLIC void OnUnload(void);
void OnUnload(void)
{
	report();
}

PUBLIC int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance,
				     void **tables, uint64_t nr_tables);
int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
			      uint64_t nr_tables)
{
	static bool planned;

	(void)version, (void)instance;
	if (strcmp(name, "hsa") || !nr_tables)
		return 0;
	if (!planned)
		atexit(report);
	planned = true;
	count(tables[0]);
	return 0;
}
