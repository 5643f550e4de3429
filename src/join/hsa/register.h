/* SPDX-License-Identifier: MIT */
/*
 * The binary interface of rocprofiler-register, by which ROCm's runtimes offer their tables of
 * functions to profilers. The runtime calls a function of that library; the preload has one of the
 * same name, which comes first, changes the HSA runtime's table and calls the library's. So a
 * profiler finds our functions in the table and calls them after its own.
 */
#ifndef GP__JOIN_HSA_REGISTER_H
#define GP__JOIN_HSA_REGISTER_H

#include <stdint.h>

#define GP__ROCP_REG_NO_TOOLS 1

/*
 * @name is "hsa" for the HSA runtime, whose only table is a struct gp__hsa_table. @id is written:
 * a number that identifies the registration.
 */
typedef int gp__register_fn(const char *name, uint32_t (*import)(void), uint32_t version,
			    void **tables, uint64_t nr_tables, uint64_t *id);
#define GP__REGISTER_NAME "rocprofiler_register_library_api_table"

/*
 * The library's function, as it would be found by code at @caller if @ours did not exist; NULL:
 * there is none.
 */
gp__register_fn *gp__register_next(const void *caller, gp__register_fn *ours);

#endif
