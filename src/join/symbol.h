/* SPDX-License-Identifier: MIT */
/*
 * Whether a loaded object exports a symbol, asked without the dynamic loader: dlsym() would wait
 * for a constructor of another thread that may itself wait for the agent.
 *
 * Only the table of DT_GNU_HASH is read, which linkers have made by default since 2006. A symbol
 * that is not exported is not found, which is the rule in executables.
 */
#ifndef GP__JOIN_SYMBOL_H
#define GP__JOIN_SYMBOL_H

#include <link.h>
#include <stdbool.h>

/* @object: as dl_iterate_phdr() gives it, during its call, which keeps the object mapped. */
bool gp__object_exports(const struct dl_phdr_info *object, const char *symbol);

#endif
