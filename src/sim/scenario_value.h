/* SPDX-License-Identifier: MIT */
/*
 * Values of a scenario file that are more than a number: distributions, arrivals, levels. The
 * parsers behave like those of base/units.h: they take the whole string, return 0, -EINVAL or
 * -ERANGE, and have a sentence for "expected ".
 */
#ifndef GP_SIM_SCENARIO_VALUE_H
#define GP_SIM_SCENARIO_VALUE_H

#include <stdint.h>

#include "sim/scenario.h"

#define GP__EXPECT_DIST                                                                          \
	"a time such as 20us, 'uniform 10us 30us', 'lognormal 1ms 0.5' (median, sigma up to 5) " \
	"or 'exp 1ms' (mean)"
#define GP__EXPECT_ARRIVALS \
	"'periodic 20ms', 'poisson 50/s', 'trace 0ms,5ms,80ms' (ascending) or 'closed'"
#define GP__EXPECT_LEVELS "levels from 1 to 3, such as '1,3'"

int gp__parse_dist(const char *s, struct gp__dist *dist);
/* Sets kind and interval; a trace is appended to the one that is there, or -ENOMEM. */
int gp__parse_arrivals(const char *s, struct gp__arrivals *arrivals);
int gp__parse_levels(const char *s, uint32_t *levels);

/*
 * Copies the next element of a comma-separated list to @buf. 0, -ENOENT at the end, or -EINVAL if
 * it is empty or does not fit.
 */
int gp__next_element(const char **list, char *buf, size_t size);

/* Returns @array with room for one more than @n elements of @size, or NULL. Doubles its size. */
void *gp__grow(void *array, size_t n, size_t size);

#endif
