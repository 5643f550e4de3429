/* SPDX-License-Identifier: MIT */
/*
 * The three levels at which a queue is held, and the rule that picks one.
 *
 * Level 1 hands nothing over beyond a small launch window, level 2 lets running kernels finish and
 * starts nothing new, level 3 takes running work off the GPU. A level that is not available is
 * replaced by the best one below it, or else by the next one above: no queue runs unscheduled
 * because of its level. The requested and the effective level are both shown wherever a queue is.
 */
#ifndef GP__QUEUE_LEVEL_H
#define GP__QUEUE_LEVEL_H

#include <stdint.h>

#define GP__LEVEL_BEST 3 /* a request for the best level means this one */
#define GP__HAS_LEVEL(level) (1u << (level))

/* @requested: 1 to 3, or 0 for the best; @available: GP__HAS_LEVEL() of each. 0: there is none. */
static inline uint32_t gp__level_effective(uint32_t requested, uint32_t available)
{
	uint32_t level = requested ? requested : GP__LEVEL_BEST;

	while (level && !(available & GP__HAS_LEVEL(level)))
		level--;
	if (level)
		return level;
	for (level = requested + 1; level <= GP__LEVEL_BEST; level++) {
		if (available & GP__HAS_LEVEL(level))
			return level;
	}
	return 0;
}

#endif
