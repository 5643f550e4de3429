/* SPDX-License-Identifier: MIT */
/* The median alone; stats.h also gives its confidence interval. */
#ifndef GP_BASE_MEDIAN_H
#define GP_BASE_MEDIAN_H

#include <stddef.h>

/* The median of @n samples, at least one. Sorts them. */
double gp__median(double *samples, size_t n);

#endif
