/* SPDX-License-Identifier: MIT */
/* Checks a program's requests to the scheduler, in words and numbers, before anything changes. */
#ifndef GP_QUEUE_PARAMS_H
#define GP_QUEUE_PARAMS_H

#include <gpreempt/gpreempt.h>

#include "core/core.h"
#include "policy/choice.h"

/*
 * Reads a policy's name (NULL: the one in force) and "name=value ..." (NULL: none). Parameters that
 * are not named keep their values in the core, except that another policy begins with its defaults.
 */
int gp__choice_read(struct gp__choice *c, const struct gp__core *core, const char *policy,
		    const char *params, struct gp_error *err);

/* Puts one hint into the struct that the core takes. */
int gp__hint_set(struct gp__hints *h, enum gp_hint hint, int64_t value, struct gp_error *err);

#endif
