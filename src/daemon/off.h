/* SPDX-License-Identifier: MIT */
/*
 * The GPUs on which scheduling is off, and the file that keeps them, so that a daemon that is
 * started again keeps to it.
 *
 * Without a file, nothing is off. With one that cannot be read, all GPUs are: somebody has switched
 * one off. A file that is not ours (keep.h) is ignored.
 */
#ifndef GP__DAEMON_OFF_H
#define GP__DAEMON_OFF_H

#include <stdbool.h>

#include "core/types.h"
#include "wire/wire.h"

#define GP__OFF_MAX 64

struct gp__off {
	bool all;
	u32 nr;
	char key[GP__OFF_MAX][GP__WIRE_DEVICE_MAX];
};

/* Whether scheduling is off on the GPU that agents call @key. */
bool gp__off_has(const struct gp__off *o, const char *key);
static inline bool gp__off_any(const struct gp__off *o)
{
	return o->all || o->nr;
}

/* False: there is no room. */
bool gp__off_add(struct gp__off *o, const char *key);
void gp__off_remove(struct gp__off *o, const char *key);

/* -EPERM: the file is ignored. */
int gp__off_read(struct gp__off *o, const char *path);
/* The lines of the file, from malloc(). NULL: out of memory. */
char *gp__off_text(const struct gp__off *o);

#endif
