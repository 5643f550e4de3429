/* SPDX-License-Identifier: MIT */
/* The table of backends. To add one: a folder in src/device, and a line in backends.c. */
#ifndef GP__JOIN_BACKENDS_H
#define GP__JOIN_BACKENDS_H

#include "device/backend.h"

#define GP__BACKENDS_MAX 8

/* Ends with NULL. */
extern const struct gp__backend *const gp__backends[];

#endif
