/* SPDX-License-Identifier: MIT */
/* Helpers of the HSA test programs, over those they share with the programs of the demo. */
#ifndef TESTS_ROCM_HSA_TEST_H
#define TESTS_ROCM_HSA_TEST_H

#include "hsa_lab.h"

/* A grid of one dimension, workgroups of 64. */
static inline struct lab_grid lab_line(uint32_t items)
{
	return (struct lab_grid){ .size = { items }, .group = { 64 } };
}

/* A grid of one dimension, workgroups of 64, after all earlier dispatches of the queue have ended.
 */
static inline struct lab_grid lab_line_in_order(uint32_t items)
{
	return (struct lab_grid){ .size = { items }, .group = { 64 }, .barrier = true };
}

void lab_free(void *memory);
/* Dispatches @items in workgroups of 64 and waits for the end. The arguments are copied. */
void lab_run(struct lab *lab, hsa_queue_t *queue, const char *kernel, uint32_t items,
	     const void *arguments, size_t size);
void lab_copy(struct lab *lab, void *to, hsa_agent_t to_agent, const void *from,
	      hsa_agent_t from_agent, size_t size);

/* A test; its name is printed when it passed. */
struct lab_test {
	const char *name;
	void (*run)(struct lab *lab);
};
/* Runs all of them, or those named on the command line; returns the exit status. */
int lab_main(const struct lab_test *tests, int argc, char **argv);

#endif
