/* SPDX-License-Identifier: MIT */
/*
 * JSON output over jansson. Every document is an object with "schema": 1; a
 * value that was not measured is null, never 0; a key ends in its unit.
 *
 * The setters take out-of-memory as jansson does: a missing value. Documents are
 * small and made once; what prints them checks that they exist.
 */
#ifndef GP_BASE_JSON_H
#define GP_BASE_JSON_H

#include "base/env.h"
#include "base/hist.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define GP__JSON_SCHEMA 1

json_t *gp__json_envelope(void);

/* Text from outside: bytes that are not UTF-8 become '?', as JSON has no place for them. */
json_t *gp__json_text(const char *text);

/* known: whether there is a value; a number that is not finite counts as unknown. */
void gp__json_set_u64(json_t *object, const char *key, bool known, uint64_t value);
void gp__json_set_real(json_t *object, const char *key, bool known, double value);
/* Of a histogram of nanoseconds, in microseconds. */
void gp__json_set_quantile_us(json_t *object, const char *key, const struct gp__hist *ns, double q);
/* Of a histogram of nanoseconds: count, mean_us, p50_us, p99_us, p999_us, max_us. */
void gp__json_set_latency(json_t *object, const struct gp__hist *ns);

/* Prints and releases root. 0, -ENOMEM when root is NULL, or -EIO. */
int gp__json_print(struct gp__env *env, json_t *root);
/* The document of a failure; gp__env_fail() is what commands call. remedy may be NULL. */
int gp__json_print_error(struct gp__env *env, int status, const char *message, const char *remedy);

#endif
