// SPDX-License-Identifier: MIT
#include "base/median.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

double gp__median(double *samples, size_t n)
{
	qsort(samples, n, sizeof(*samples), compare);
	return (samples[(n - 1) / 2] + samples[n / 2]) / 2;
}
